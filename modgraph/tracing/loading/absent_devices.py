"""Devices that this machine does not have, and that a model's code asks for: `torch.zeros(4, device="cuda")`.

Research code is written for the device of its authors. Where a run ends for want of one, it is made anew, in a process
of its own in which the CPU stands for it: what is made there is made here, and what is moved there stays. What the code
decides by asking for the device nobody knows, so such a graph is never complete.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from modgraph.graph.events import ErrorEvent
from modgraph.tracing.basics.patches import Patches
from modgraph.tracing.basics.sites import location_of, site_of

ACCELERATORS = ("cuda", "mps", "xpu", "hpu", "mtia")
"""Devices that code asks for by name. Source: the device types of `torch.device` that PyTorch documents."""
_MOVING = {"cuda": "cuda", "xpu": "xpu", "hpu": "hpu", "mtia": "mtia", "pin_memory": "cuda"}
"""Methods of a tensor that move it to a device, or nearer to it, and which."""
_MOST_ASKED = 1_000_000
"""Times, after which nothing stands in any more: code that waits for a tensor to be there would wait for ever."""
_NOT_THERE = re.compile(
    r"not (?:compiled|linked) with (?:support for )?(?:cuda|xpu|mps|hpu|mtia)|no nvidia driver|no cuda gpus"
    r"|no cuda-capable device|accelerator device when none is available"
    r"|(?:^|runtimeerror: )device index must not be negative$"
    r"|without aten_\w+ library|from the '(?:cuda|mps|xpu)' backend|no attribute '_cuda|mps backend is supported only",
    re.IGNORECASE,
)
"""What torch says where a device is not there; of a tensor's index, where the code takes it for one of a device."""
_MIXED = re.compile("found two different devices|on the same device", re.IGNORECASE)
"""What it says of tensors without values, of which there are some on every device."""


def is_for_want_of_a_device(message: str, *, fake: bool = False) -> bool:
    """A run ended with this message because the code asks for a device that the machine does not have.

    Args:
        fake: it was a run on tensors without values.
    """
    found = _NOT_THERE.search(message) or (_MIXED.search(message) if fake else None)
    return found is not None and not _accelerated()


def _accelerated() -> bool:
    return bool(torch.cuda.is_available() or torch.backends.mps.is_available())


class AbsentDevices:
    """Inside, in this thread, the CPU stands for every accelerator that is not there.

    Nothing changes where the machine has an accelerator.
    """

    def __init__(self) -> None:
        self._asked: dict[str, tuple[str | None, int | None]] = {}
        """By name: where it was asked for first."""
        self._stands_in = False
        self._times = 0
        self._undo = contextlib.ExitStack()

    def __enter__(self) -> AbsentDevices:
        if not _accelerated():
            self._stands_in = True
            self._undo.enter_context(_OnCPU(self._note))
            self._replace_types()
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def doubts(self) -> Iterator[ErrorEvent]:
        """What makes the graph less than complete."""
        # Of a type, `torch.cuda.FloatTensor`, nobody sees where it is used.
        unseen = {"cuda": (None, None)} if self._stands_in else {}
        for device, (file, line) in (self._asked or unseen).items():
            yield ErrorEvent(
                message=f"{device} is asked for, and this machine has none: the CPU stands for it, and where the code"
                " asks which device there is, the model may be another",
                file=file,
                line=line,
            )

    def _note(self, device: str) -> None:
        self._times += 1
        if self._times > _MOST_ASKED:
            raise RuntimeError(f"{device} is asked for more than {_MOST_ASKED:,} times, and this machine has none")
        if device not in self._asked:
            self._asked[device] = _user_line()

    def _replace_types(self) -> None:
        """`torch.cuda.FloatTensor`, and the functions by which code asks which device is current."""

        def noting(answer: Any) -> Any:
            def stand_in(*_given: object, **_named: object) -> Any:
                self._note("cuda")
                return answer

            return stand_in

        stands_in: dict[str, Any] = {name: getattr(torch, name) for name in _TYPES}
        stands_in |= {"current_device": noting(0), "set_device": noting(None), "synchronize": noting(None)}
        patches = Patches(self._undo)
        for name, other in stands_in.items():
            patches.replace(torch.cuda, name, other)


class _OnCPU(TorchFunctionMode):  # type: ignore[misc]
    def __init__(self, note: Callable[[str], None]) -> None:
        super().__init__()
        self._note = note

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in _MOVING and args and isinstance(args[0], torch.Tensor):
            self._note(_MOVING[name])
            return args[0]
        args = tuple(self._here(value, is_device=name in _TAKING and place == 1) for place, value in enumerate(args))
        named = {key: self._here(value, is_device=key == "device") for key, value in (kwargs or {}).items()}
        return func(*args, **named)

    def _here(self, value: Any, *, is_device: bool) -> Any:
        """What is here, in the place of a device that is not, or of a type of its tensors; else the value itself."""
        if isinstance(value, torch.device):
            kind = value.type
        elif is_device and type(value) is str:
            kind = "cuda" if value.startswith("torch.cuda.") else value.partition(":")[0]
        else:
            kind = "cuda" if is_device and type(value) is int else ""
        if kind not in ACCELERATORS:
            return value
        self._note(kind)
        return value.replace("torch.cuda.", "torch.") if str(value).startswith("torch.") else torch.device("cpu")


_TAKING = frozenset(["to", "type"])
"""Methods of a tensor whose first argument may be a device, or a type that says one."""
_TYPES = [name for name in dir(torch.cuda) if name.endswith("Tensor") and hasattr(torch, name)]
"""`torch.cuda.FloatTensor` and its kin."""


def _user_line() -> tuple[str | None, int | None]:
    """Where the user's code stands that is being run."""
    place = location_of(site_of(sys._getframe(1), None))
    return (None, None) if place is None else (place.file, place.line)
