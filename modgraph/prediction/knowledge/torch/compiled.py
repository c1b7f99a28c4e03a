"""torch.compile, torch.jit.script and torch.jit.trace of a module: the classes that stand around or instead of it."""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ModuleObject
from modgraph.prediction.domain.registry import constant, known_class, models
from modgraph.prediction.domain.values import (
    MODULE,
    NONE,
    TRUE,
    Address,
    ClassValue,
    Constant,
    KnownClass,
    KnownFunction,
    ModuleReference,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.knowledge.torch.torch_functions import transparent
from modgraph.prediction.paths import recording

OPTIMIZED = "torch._dynamo.eval_frame.OptimizedModule"
SCRIPTED = "torch.jit._script.RecursiveScriptModule"
TRACED = "torch.jit._trace.TracedModule"
TOP_TRACED = "torch.jit._trace.TopLevelTracedModule"

constant("torch.jit", ModuleReference("torch.jit"))
known_class("torch.jit._script.ScriptModule", MODULE)
known_class(SCRIPTED, "torch.jit._script.ScriptModule")
known_class(OPTIMIZED, MODULE)
known_class(TRACED, "torch.jit._script.ScriptModule")
known_class(TOP_TRACED, "torch.jit._script.ScriptModule")

_DEPTH = 60


def _given(arguments: Arguments, name: str) -> Value:
    return arguments.get(0, name, NONE)


@models("torch.compile")
def compile_(arguments: Arguments, machine: Machine) -> Value:
    """A module becomes the one child of an OptimizedModule; a function stays what it is."""
    value = _given(arguments, "model")
    item = machine.state.find(value, ModuleObject)
    if item is None or arguments.keywords.get("disable") == TRUE:
        return transparent(arguments, machine)
    made = ModuleObject(KnownClass(OPTIMIZED), modules={"_orig_mod": value}, initialised=True, where=arguments.where)
    return machine.allocate(made)


@models(f"{OPTIMIZED}.__getattr__")
def optimized_attribute(arguments: Arguments, machine: Machine) -> Value:
    """What the wrapper has not is asked of the module inside."""
    receiver, name = arguments.positional[:2]
    assert isinstance(receiver, Address)
    assert isinstance(name, Constant)
    modules = machine.state.change(receiver, ModuleObject).modules
    inner = modules["_orig_mod"]
    return inner if name.value == "_orig_mod" else machine.get_attribute(inner, str(name.value))


@models("torch.jit.script", "torch.jit._script.script")
def script(arguments: Arguments, machine: Machine) -> Value:
    value = _given(arguments, "obj")
    if machine.state.find(value, ModuleObject) is None:
        return transparent(arguments, machine)
    return _converted(machine, value, SCRIPTED, SCRIPTED, arguments)


@models(f"{OPTIMIZED}.__call__", f"{OPTIMIZED}.forward")
def optimized(arguments: Arguments, machine: Machine) -> Value:
    """What of the module inside is called from Python, and what is compiled, is for the compiler to say."""
    why = machine.unknown("what a compiled module calls is not known")
    machine.expose((*arguments.positional, *arguments.keywords.values()), why)
    if machine.is_recording:
        recording.lost(machine, why)
    return why


@models("torch.jit._script.ScriptModule.forward", *(f"{cls}.forward" for cls in (SCRIPTED, TRACED, TOP_TRACED)))
def compiled(arguments: Arguments, machine: Machine) -> Value:
    """It calls no modules that Python sees; what it gives is not in Python's source."""
    return Unknown("what a compiled module gives is not followed", arguments.where, inert=True)


@models("torch.jit.trace", "torch.jit._trace.trace")
def trace(arguments: Arguments, machine: Machine) -> Value:
    value = _given(arguments, "func")
    why = machine.unknown("how often it is run to be traced is not known")
    module = machine.state.find(value, ModuleObject)
    run = value if module is None else machine.get_attribute(value, "forward")
    machine.may_be_called([run], why, ("__call__",))
    if machine.state.find(value, ModuleObject) is None:
        return value
    return _converted(machine, value, TOP_TRACED, TRACED, arguments)


@models("torch.jit.freeze", "torch.jit.optimize_for_inference")
def frozen(arguments: Arguments, machine: Machine) -> Value:
    """Constants stand for the parameters, and most children are gone."""
    return machine.unknown("what is left of a frozen module is not known")


def _converted(machine: Machine, value: Value, top: str, below: str, arguments: Arguments, depth: int = 0) -> Value:
    """The same tree, of other classes; slots that hold None are left out."""
    item = machine.state.find(value, ModuleObject)
    if item is None:
        return value if isinstance(value, Unknown) else machine.unknown("what is compiled is not known", value)
    if depth > _DEPTH:
        return machine.unknown("the modules are nested too deeply")
    made = item.copy()
    made.cls = KnownClass(top)
    made.arguments = ()
    made.where = arguments.where
    made.modules = {
        name: _converted(machine, child, below, below, arguments, depth + 1)
        for name, child in item.modules.items()
        if child != NONE
    }
    return machine.allocate(made)


@models("torch.jit.isinstance", "torch._jit_internal._isinstance")
def is_instance(arguments: Arguments, machine: Machine) -> Value:
    """Of classes, what Python says; what is in a container is compared with its annotation as well."""
    target = arguments.get(1, "target_type", NONE)
    asked = target.items if isinstance(target, TupleValue) else (target,)
    is_plain = all(
        isinstance(each, ClassValue) or (isinstance(each, KnownClass) and not each.name.startswith("typing"))
        for each in asked
    )
    if not is_plain:
        return machine.unknown("torch.jit.isinstance of an annotation is not interpreted")
    return machine.call(KnownFunction("builtins.isinstance"), (arguments.get(0, "obj", NONE), target))
