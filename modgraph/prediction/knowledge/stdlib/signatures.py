"""inspect.signature and kin: the parameters of functions, methods and classes."""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import DictObject, EnvironmentObject, InstanceObject, ListObject
from modgraph.prediction.domain.registry import constant, known_class, models
from modgraph.prediction.domain.values import (
    NONE,
    Address,
    BoundMethod,
    ClassValue,
    Constant,
    FunctionValue,
    GeneratedMethod,
    KnownClass,
    PartialValue,
    StaticMethod,
    TupleValue,
    Value,
)

_PARAMETER = KnownClass("inspect.Parameter")
_EMPTY = KnownClass("inspect._empty")
_KINDS = {"positional": 0, "normal": 1, "varargs": 2, "keyword": 3, "varkw": 4}
_KIND_NAMES = ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD", "VAR_POSITIONAL", "KEYWORD_ONLY", "VAR_KEYWORD")

known_class("inspect.Parameter")
known_class("inspect.Signature")
known_class("inspect.FullArgSpec")
known_class("inspect._empty")
for _number, _name in enumerate(_KIND_NAMES):
    constant(f"inspect.Parameter.{_name}", Constant(_number))
constant("inspect.Parameter.empty", _EMPTY)
constant("inspect.Signature.empty", _EMPTY)

Parameters = list[tuple[str, str, Value | None]]


def parameters_of(machine: Machine, function: Value) -> Parameters | None:
    """Name, kind and default of each parameter, without a bound receiver; None where not known."""
    if isinstance(function, FunctionValue) and function.wrapped is not None:
        return parameters_of(machine, function.wrapped)
    if isinstance(function, FunctionValue):
        defaults = dict(function.defaults)
        return [(each.name, each.kind, defaults.get(each.name)) for each in function.definition.parameters]
    cached = machine.state.find(function, InstanceObject)
    if cached is not None and "__wrapped__" in cached.attributes:
        return parameters_of(machine, cached.attributes["__wrapped__"])
    if isinstance(function, StaticMethod):
        return parameters_of(machine, function.function)
    if isinstance(function, BoundMethod):
        inner = parameters_of(machine, function.function)
        return inner[1:] if inner is not None else None
    if isinstance(function, PartialValue):
        inner = parameters_of(machine, function.function)
        if inner is None:
            return None
        fixed = dict(function.keywords)
        rest = inner[len(function.positional) :]
        return [(name, "keyword" if name in fixed else kind, fixed.get(name, default)) for name, kind, default in rest]
    if isinstance(function, ClassValue):
        init = machine.class_attribute(function, "__init__")
        if isinstance(init, GeneratedMethod):
            return None
        inner = parameters_of(machine, init) if init is not None else []
        return inner[1:] if inner else inner
    return None


@models("inspect.signature")
def signature(arguments: Arguments, machine: Machine) -> Value:
    found = parameters_of(machine, arguments.positional[0])
    if found is None:
        machine.may_refuse("TypeError")
        return machine.unknown("a signature is not known", arguments.positional[0])
    entries: dict[Value, Value] = {}
    for name, kind, default in found:
        attributes: dict[str, Value] = {
            "name": Constant(name),
            "kind": Constant(_KINDS[kind]),
            "default": _EMPTY if default is None else default,
            "annotation": machine.unknown("an annotation is not evaluated"),
        }
        entries[Constant(name)] = machine.allocate(InstanceObject(_PARAMETER, attributes))
    parameters = machine.allocate(DictObject(entries, cls=KnownClass("collections.OrderedDict")))
    return machine.allocate(InstanceObject(KnownClass("inspect.Signature"), {"parameters": parameters}))


@models("inspect.getfullargspec")
def full_argument_specification(arguments: Arguments, machine: Machine) -> Value:
    found = parameters_of(machine, arguments.positional[0])
    if found is None:
        return machine.unknown("a signature is not known", arguments.positional[0])
    named: list[Value] = [Constant(name) for name, kind, _ in found if kind in ("positional", "normal")]
    only: list[Value] = [Constant(name) for name, kind, _ in found if kind == "keyword"]
    defaults = tuple(default for _, kind, default in found if default is not None and kind in ("positional", "normal"))

    def single(wanted: str) -> Value:
        return next((Constant(name) for name, kind, _ in found if kind == wanted), NONE)

    attributes: dict[str, Value] = {
        "args": machine.allocate(ListObject(named)),
        "varargs": single("varargs"),
        "varkw": single("varkw"),
        "defaults": TupleValue(defaults) if defaults else NONE,
        "kwonlyargs": machine.allocate(ListObject(only)),
    }
    return machine.allocate(InstanceObject(KnownClass("inspect.FullArgSpec"), attributes))


# ---- calls bound to a signature, running frames ----------------------------------------------------------------------

_BOUND = "inspect.BoundArguments"
_FRAME = "types.FrameType"
known_class(_BOUND)
known_class(_FRAME)


@models("inspect.Signature.bind", "inspect.Signature.bind_partial")
def bind(arguments: Arguments, machine: Machine) -> Value:
    """Arguments by parameter name, in the order of the parameters."""
    receiver, *given = arguments.positional
    instance = machine.state.find(receiver, InstanceObject)
    held = instance.attributes["parameters"] if instance is not None else NONE
    parameters = machine.state.find(held, DictObject)
    if parameters is None or arguments.open is not None:
        return machine.unknown("the arguments that are bound are not known")
    rest, keywords, bound = list(given), dict(arguments.keywords), dict[Value, Value]()
    for name, parameter in parameters.entries.items():
        item = machine.state.find(parameter, InstanceObject)
        kind = item.attributes["kind"] if item is not None else NONE
        text = name.value if isinstance(name, Constant) else ""
        if kind == Constant(_KINDS["varargs"]):
            if rest:
                bound[name], rest = TupleValue(tuple(rest)), []
        elif kind == Constant(_KINDS["varkw"]):
            if keywords:
                bound[name] = machine.allocate(DictObject({Constant(key): each for key, each in keywords.items()}))
                keywords = {}
        elif rest and kind != Constant(_KINDS["keyword"]):
            bound[name] = rest.pop(0)
        elif text in keywords:
            bound[name] = keywords.pop(text)
        elif arguments.function.endswith("bind") and item is not None and item.attributes["default"] == _EMPTY:
            raise machine.raises("TypeError", f"missing a required argument: '{text}'")
    if rest or keywords:
        raise machine.raises("TypeError", "too many arguments, or an unexpected one")
    attributes: dict[str, Value] = {"arguments": machine.allocate(DictObject(bound)), "signature": receiver}
    return machine.allocate(InstanceObject(KnownClass(_BOUND), attributes))


@models(f"{_BOUND}.apply_defaults")
def apply_defaults(arguments: Arguments, machine: Machine) -> Value:
    instance = machine.state.find(arguments.positional[0], InstanceObject)
    assert instance is not None
    signature_ = machine.state.find(instance.attributes["signature"], InstanceObject)
    held = machine.state.find(signature_.attributes["parameters"], DictObject) if signature_ is not None else None
    bound = machine.state.find(instance.attributes["arguments"], DictObject)
    assert held is not None
    assert bound is not None
    complete: dict[Value, Value] = {}
    for name, parameter in held.entries.items():
        item = machine.state.find(parameter, InstanceObject)
        kind, default = (item.attributes["kind"], item.attributes["default"]) if item is not None else (NONE, _EMPTY)
        if name in bound.entries:
            complete[name] = bound.entries[name]
        elif kind == Constant(_KINDS["varargs"]):
            complete[name] = TupleValue(())
        elif kind == Constant(_KINDS["varkw"]):
            complete[name] = machine.allocate(DictObject())
        elif default != _EMPTY:
            complete[name] = default
    target = instance.attributes["arguments"]
    assert isinstance(target, Address)
    machine.state.change(target, DictObject).entries = complete
    return NONE


@models(f"{_BOUND}.@args", f"{_BOUND}.@kwargs")
def bound_parts(arguments: Arguments, machine: Machine) -> Value:
    return machine.unknown("how bound arguments are passed on is not modelled")


@models("inspect.currentframe", "sys._getframe")
def current_frame(arguments: Arguments, machine: Machine) -> Value:
    """The running frame, or one of those that called it."""
    above = arguments.get(0, "depth", Constant(0))
    depth = len(machine.frames) - 1
    if not isinstance(above, Constant) or not isinstance(above.value, int) or above.value > depth:
        return machine.unknown("which frame is meant is not known", above)
    return _frame(machine, depth - above.value)


def _frame(machine: Machine, depth: int) -> Value:
    return machine.allocate(InstanceObject(KnownClass(_FRAME), {"<depth>": Constant(depth)})) if depth >= 0 else NONE


def _depth(machine: Machine, value: Value) -> int | None:
    item = machine.state.find(value, InstanceObject)
    found = item.attributes.get("<depth>") if item is not None else None
    depth = found.value if isinstance(found, Constant) else None
    return depth if isinstance(depth, int) and depth < len(machine.frames) else None


@models(f"{_FRAME}.@f_back")
def outer_frame(arguments: Arguments, machine: Machine) -> Value:
    depth = _depth(machine, arguments.positional[0])
    return machine.unknown("the frame is not known") if depth is None else _frame(machine, depth - 1)


@models(f"{_FRAME}.@f_locals")
def frame_locals(arguments: Arguments, machine: Machine) -> Value:
    depth = _depth(machine, arguments.positional[0])
    if depth is None:
        return machine.unknown("the frame is not known")
    environment = machine.state.read(machine.frames[depth].environment)
    assert isinstance(environment, EnvironmentObject)
    return machine.allocate(DictObject({Constant(name): value for name, value in environment.names.items()}))


@models("inspect.getargvalues")
def argument_values(arguments: Arguments, machine: Machine) -> Value:
    """Names of the parameters, of `*args` and `**kwargs`, and all local names with their values."""
    depth = _depth(machine, arguments.positional[0])
    function = machine.frames[depth].function if depth is not None else None
    if function is None:
        return machine.unknown("the frame is not known", arguments.positional[0])
    known = function.definition.parameters
    named: list[Value] = [Constant(each.name) for each in known if each.kind in ("positional", "normal", "keyword")]
    extra = {each.kind: Constant(each.name) for each in known if each.kind in ("varargs", "varkw")}
    local = frame_locals(arguments, machine)
    names = machine.allocate(ListObject(named))
    return TupleValue((names, extra.get("varargs", NONE), extra.get("varkw", NONE), local))
