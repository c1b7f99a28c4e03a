"""Calls whose success depends on what is outside the program: files, devices, the environment, a network.

A `try` around one of them may go either way. What is imported of a package that is not interpreted (`subprocess`,
`torch.cuda`) is such a call too, unless it is there to inform; that needs no list.
"""

from __future__ import annotations

from modgraph.prediction.knowledge.parameters import TENSOR
from modgraph.prediction.knowledge.registry import Arguments, is_outside, outside
from modgraph.prediction.values import MODULE, NONE, Choice, Constant, Device, Unknown, Value

outside(
    *("builtins.open", "builtins.input"),
    *(f"os.{name}" for name in ("getcwd", "listdir", "makedirs", "walk", "mkdir", "stat", "chdir", "remove", "rename")),
    *(f"{owner}.{name}" for owner in ("os.path", "posixpath") for name in ("getsize", "getmtime")),
    *("socket.gethostname", "getpass.getuser"),
    *("torch.load", "torch.save", "torch.hub.load", "torch.hub.load_state_dict_from_url"),
    *("torch.utils.model_zoo.load_url", "torch.from_file", "torch.jit.load"),
    *(f"torch.cuda.{name}" for name in ("current_device", "get_device_capability", "get_device_properties")),
    *(f"torch.cuda.{name}" for name in ("get_device_name", "synchronize", "set_device", "memory_allocated")),
    *("torch.distributed.get_world_size", "torch.distributed.get_rank"),
    *(f"{MODULE}.{name}" for name in ("cuda", "xpu", "ipu", "mtia")),
    *(f"{TENSOR}.cuda", f"{TENSOR}.pin_memory"),
)

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
    return doubtful or is_outside(name)


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
