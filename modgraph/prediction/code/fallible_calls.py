"""Whether a call may as well raise: it reaches outside the program, or is given what may not be fit for it."""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.registry import is_outside
from modgraph.prediction.domain.values import MODULE, NONE, Choice, Constant, Device, Unknown, Value
from modgraph.prediction.python.classes import TENSOR

_NEVER_RAISING = frozenset(
    f"builtins.{name}"
    for name in ("isinstance", "hasattr", "getattr", "callable", "type", "id", "print", "bool", "str")
)
_MOVING = frozenset({f"{MODULE}.to", f"{TENSOR}.to"})
"""They take a device as their first argument."""
_ALWAYS_THERE = ("cpu", "meta")


def may_fail(name: str, found: Value, arguments: Arguments) -> bool:
    """A call that gave `found` may as well raise: it reaches outside, or is given what may not be fit for it."""
    if type(found) is not Unknown or name in _NEVER_RAISING:
        return is_outside(name) or _asks_for_device(name, arguments)
    doubtful = any(type(value) is Unknown and value.is_doubtful for value in arguments.positional)
    one_of_some = not name.startswith("torch.") and any(type(value) is Choice for value in arguments.positional)
    return doubtful or one_of_some or is_outside(name)


def _asks_for_device(name: str, arguments: Arguments) -> bool:
    """The call makes or moves something on a device that may not be there."""
    device = arguments.keywords.get("device", NONE)
    if device is not NONE and _may_be_absent(device):
        return True
    return name in _MOVING and len(arguments.positional) > 1 and _may_be_absent(arguments.positional[1])


def _may_be_absent(device: Value) -> bool:
    if isinstance(device, Choice):
        return any(map(_may_be_absent, device.alternatives))
    if isinstance(device, Constant):
        return isinstance(device.value, str) and not device.value.startswith(_ALWAYS_THERE)
    return isinstance(device, Unknown) or (isinstance(device, Device) and not device.name.startswith(_ALWAYS_THERE))


DEVICE = "torch.device"
NOT_KNOWN = "the device is not known"


def is_device(value: Unknown) -> bool:
    """It is a device, whichever."""
    return value.inert and value.reason.startswith(NOT_KNOWN)
