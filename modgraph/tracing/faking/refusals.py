"""What tensors without values refused to tell, where the model caught the error and went on.

What left the model is no concern of this: it is the error of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack as _dispatch_modes

from modgraph.graph.events import ErrorEvent
from modgraph.tracing.basics.failures import user_line
from modgraph.tracing.basics.patches import Patches
from modgraph.tracing.faking.fake_mode import KnowingMode

MAX_KEPT = 1000
"""Errors remembered; one raised at the same line again is told once anyway."""
_BY_VALUE = frozenset(
    {
        *("DataDependentOutputException", "DynamicOutputShapeException", "GuardOnDataDependentSymNode"),
        *("UnsupportedOperatorException", "UnsupportedFakeTensorException", "UnsupportedMutationAliasingException"),
    }
)
"""Exceptions by which torch says that a fake tensor has no values to go by, or an operator no shape without them."""
_ASKED: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (torch.SymBool, ("__bool__",)),
    (torch.SymInt, ("__bool__", "__int__", "__index__", "__float__")),
    (torch.SymFloat, ("__bool__", "__int__", "__float__")),
)
"""The methods by which Python asks what is a number only with values."""


class Refusals:
    """The errors, in the order in which they were raised."""

    def __init__(self) -> None:
        self._noted: dict[int, tuple[BaseException, str]] = {}

    def note(self, error: BaseException, path: str, *, asked: bool = False) -> None:
        """It was raised while the module at `path` was called.

        Args:
            asked: whatever its type, as a value was asked for that a fake tensor has not.
        """
        if len(self._noted) < MAX_KEPT and (asked or type(error).__name__ in _BY_VALUE):
            self._noted.setdefault(id(error), (error, path))

    def left(self, error: BaseException | None) -> None:
        """It left the model, with those that it comes from."""
        seen: set[int] = set()
        while error is not None and id(error) not in seen:
            seen.add(id(error))
            self._noted.pop(id(error), None)
            error = error.__cause__ or error.__context__

    def told(self) -> Iterator[ErrorEvent]:
        """What the model caught, each place once; nothing is remembered afterwards."""
        places: set[tuple[str, str | None, int | None]] = set()
        for error, path in self._noted.values():
            file, line = user_line(error)
            if (path, file, line) not in places:
                places.add((path, file, line))
                kind = type(error).__name__
                yield ErrorEvent(
                    message=f"without weights no value is known: the model caught that ({kind}), and may have gone "
                    "another way than it goes with them",
                    module=path,
                    file=file,
                    line=line,
                )
        self._noted.clear()


def watch_operators(note: Callable[[BaseException], None], patches: Patches) -> None:
    """Have `note` told of operators that have no shape without values; no torch function tells of those in C++."""
    for mode in _dispatch_modes():
        if isinstance(mode, KnowingMode):
            patches.replace(mode, "on_unsupported", note)


def watch_numbers(note: Callable[[BaseException], None], patches: Patches) -> None:
    """Have `note` told of what is raised where Python asks for a number or a decision that depends on values."""
    if not any(isinstance(mode, FakeTensorMode) for mode in _dispatch_modes()):
        return
    for kind, names in _ASKED:
        for name in names:
            original = vars(kind).get(name)
            if original is not None:
                patches.replace(kind, name, _noting(original, note))


def _noting(original: Callable[[Any], Any], note: Callable[[BaseException], None]) -> Callable[[Any], Any]:
    def ask(self: Any) -> Any:
        try:
            return original(self)
        except RuntimeError as error:
            note(error)
            raise

    return ask
