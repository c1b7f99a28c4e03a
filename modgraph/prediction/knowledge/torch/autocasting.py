"""torch.autocast, as a context and as a decorator: inside, torch chooses the dtypes of what its functions give."""

from __future__ import annotations

from modgraph.prediction.domain.assumed import CAST, NOTHING
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import TensorObject
from modgraph.prediction.domain.registry import constant, models
from modgraph.prediction.domain.values import (
    FALSE,
    NONE,
    TRUE,
    BoundMethod,
    Choice,
    Constant,
    Device,
    Dtype,
    FunctionValue,
    KnownFunction,
    ModuleReference,
    Unknown,
    Value,
)
from modgraph.prediction.knowledge.tensors.elements import COMPLEX
from modgraph.prediction.knowledge.torch.uncast import is_cast

_DEPTH = ("torch", "<autocast>")
"""Where a state keeps in how many contexts it is."""
_NAMES = (
    *("torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast"),
    *("torch.cuda.amp.autocast", "torch.cpu.amp.autocast", "torch.cuda.amp.custom_fwd", "torch.amp.custom_fwd"),
    *("torch.cuda.amp.autocast_mode.autocast", "torch.cpu.amp.autocast_mode.autocast"),
)


constant("torch.cuda.amp", ModuleReference("torch.cuda.amp"))


@models(*_NAMES)
def context(arguments: Arguments, machine: Machine) -> Value:
    """As a decorator without arguments, the function itself; called, something that is a context and a decorator."""
    given = arguments.positional
    if given and not isinstance(given[0], (Constant, Unknown, Device)):
        return decorated(arguments, machine)
    is_of_device = not arguments.function.startswith(("torch.cuda.", "torch.cpu."))
    enabled = arguments.get(2 if is_of_device else 0, "enabled", TRUE)
    if enabled == FALSE:
        return KnownFunction("torch._transparent")
    if _is_no_bool(machine, enabled):
        device = arguments.get(0, "device_type", NONE) if is_of_device else Constant(arguments.function.split(".")[1])
        dtype = arguments.get(1, "dtype", NONE)
        is_sure = device == Constant("cpu") and dtype in (NONE, Dtype("bfloat16"), Dtype("float16"))
        return KnownFunction("torch._autocast_refused" if is_sure else "torch._autocast_in_doubt")
    return KnownFunction("torch._autocast")


def _is_no_bool(machine: Machine, value: Value) -> bool:
    if isinstance(value, Constant):
        return not isinstance(value.value, bool)
    return machine.state.find(value, TensorObject) is not None


@models("torch._autocast_refused.__enter__", "torch._autocast_in_doubt.__enter__")
def refuse(arguments: Arguments, machine: Machine) -> Value:
    """Whether it is enabled must be a bool: torch refuses a tensor, where a device that is not there does not switch it
    off before."""
    if "refused" in arguments.function:
        raise machine.raises("TypeError", "set_autocast_enabled(): argument 'enabled' (position 2) must be bool")
    machine.may_refuse("TypeError")
    return enter(arguments, machine)


@models("torch._autocast", "torch._autocast_refused", "torch._autocast_in_doubt")
def decorated(arguments: Arguments, machine: Machine) -> Value:
    """The function, which is known by its code where it runs. What has none, as a module, is called at any time: dtypes
    are not known from here on."""
    if not arguments.positional:
        return NONE
    function = arguments.positional[0]
    plain = function.function if isinstance(function, BoundMethod) else function
    if isinstance(plain, FunctionValue):
        machine.modules.autocast.add(id(plain.definition.node))
    else:
        enter(arguments, machine)
    return function


@models(*(f"torch.set_autocast{kind}_enabled" for kind in ("", "_cpu", "_ipu", "_xla")))
def switch(arguments: Arguments, machine: Machine) -> Value:
    """Until it is switched again, which need not be in the same function."""
    if FALSE not in (*arguments.positional, *arguments.keywords.values()):
        enter(arguments, machine)
    return NONE


@models(
    *(f"torch.set_autocast_{kind}dtype" for kind in ("", "cpu_", "gpu_", "ipu_", "xla_")),
    *("torch.set_autocast_cache_enabled", "torch.clear_autocast_cache"),
)
def set_further(arguments: Arguments, machine: Machine) -> Value:
    """Which dtype it is where torch chooses one, which is not known anyway."""
    return NONE


@models(
    *(f"torch.get_autocast_{kind}dtype" for kind in ("", "cpu_", "gpu_", "ipu_", "xla_")),
    *("torch.is_autocast_cache_enabled", "torch.is_autocast_ipu_enabled", "torch.is_autocast_xla_enabled"),
)
def asked_further(arguments: Arguments, machine: Machine) -> Value:
    return Unknown("depends on where torch chooses dtypes", machine.where, inert=True)


@models("torch._autocast.__enter__")
def enter(arguments: Arguments, machine: Machine) -> Value:
    machine.state.globals[_DEPTH] = Constant(_depth(machine) + 1)
    return NONE


@models("torch._autocast.__exit__")
def leave(arguments: Arguments, machine: Machine) -> Value:
    left = _depth(machine) - 1
    if left > 0:
        machine.state.globals[_DEPTH] = Constant(left)
    else:
        machine.state.globals.pop(_DEPTH, None)
    return NONE


@models("torch.is_autocast_enabled", "torch.is_autocast_cpu_enabled")
def asked(arguments: Arguments, machine: Machine) -> Value:
    """Nothing is around what runs: that is taken for granted, and told where the program asks for it."""
    if may_cast(machine):
        return Unknown("depends on where torch chooses dtypes", None, inert=True)
    if machine.frames and not machine.is_asked_by_torch:
        if machine.assumed is NOTHING:
            return Unknown("depends on whether an autocast is around it", machine.where, inert=True)
        machine.asked.add(arguments.function)
    return FALSE


def _depth(machine: Machine) -> int:
    held = machine.state.globals.get(_DEPTH)
    return held.value if isinstance(held, Constant) and isinstance(held.value, int) else 1 if held is not None else 0


def may_cast(machine: Machine) -> bool:
    """torch may choose another dtype here than the arguments say."""
    if _DEPTH in machine.state.globals:
        return True
    codes = machine.modules.autocast
    return bool(codes) and any(
        frame.function is not None and id(frame.function.definition.node) in codes for frame in machine.frames
    )


# ---- one that the caller may put around ------------------------------------------------------------------------------

_CAST_TO = ("bfloat16", "float16")
_AROUND = "depends on whether an autocast is around it"


def may_be_cast(arguments: Arguments, machine: Machine) -> bool:
    """This run is to have an autocast around the model, which gives what torch makes in it other dtypes; that there is
    none is taken for granted elsewhere."""
    return is_cast(machine, arguments.get(0, "input", NONE)) and machine.asks(CAST)


def cast_around(machine: Machine, name: str) -> Value:
    """The dtype of such a tensor, which has that one without."""
    others = ("complex32",) if name in COMPLEX else _CAST_TO
    return machine.choice([Dtype(each) for each in dict.fromkeys((name, *others))], _AROUND)


def is_around(value: Value) -> bool:
    """The dtype of such a tensor, in a run that is to have an autocast around it."""
    return isinstance(value, Choice) and value.reason == _AROUND


def as_usual(value: Value) -> Value:
    """A dtype to convert to: that something is made like another tensor is no test of whether this was cast."""
    return value.alternatives[0] if isinstance(value, Choice) and value.reason == _AROUND else value
