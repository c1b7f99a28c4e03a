"""torch.autocast, as a context and as a decorator: inside, torch chooses the dtypes of what its functions give."""

from __future__ import annotations

from modgraph.prediction.domain.assumed import NOTHING
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import (
    FALSE,
    NONE,
    BoundMethod,
    Constant,
    Device,
    FunctionValue,
    KnownFunction,
    Unknown,
    Value,
)

_DEPTH = ("torch", "<autocast>")
"""Where a state keeps in how many contexts it is."""
_NAMES = (
    *("torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast"),
    *("torch.cuda.amp.autocast", "torch.cpu.amp.autocast", "torch.cuda.amp.custom_fwd", "torch.amp.custom_fwd"),
)


@models(*_NAMES)
def context(arguments: Arguments, machine: Machine) -> Value:
    """As a decorator without arguments, the function itself; called, something that is a context and a decorator."""
    given = arguments.positional
    if given and not isinstance(given[0], (Constant, Unknown, Device)):
        return decorated(arguments, machine)
    is_off = arguments.keywords.get("enabled", NONE) == FALSE or FALSE in given
    return KnownFunction("torch._transparent" if is_off else "torch._autocast")


@models("torch._autocast")
def decorated(arguments: Arguments, machine: Machine) -> Value:
    """The function, which is known by its code where it runs."""
    if not arguments.positional:
        return NONE
    function = arguments.positional[0]
    plain = function.function if isinstance(function, BoundMethod) else function
    if isinstance(plain, FunctionValue):
        machine.modules.autocast.add(id(plain.definition.node))
    return function


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
    if machine.frames and not machine.frames[-1].module.startswith("torch."):
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
