"""Memory that torch gives as it was, made zeros: what a run and its repetition find in it is then the same.

Whatever such memory holds is right, so that no model can tell.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from modgraph.tracing.basics.tensors import quietly

_GIVE_MEMORY = frozenset(
    {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "new"}
)
_GROW = frozenset({"resize_", "resize_as_"})
"""They give their first argument more memory."""


def with_zeros(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, that torch calls `name`, with zeros in what it leaves unwritten; itself where it leaves nothing."""
    if name in _GIVE_MEMORY:
        return _Giving(function, is_legacy=name == "new")
    return _Growing(function) if name in _GROW else function


class _Giving:
    """A function that makes a tensor without values."""

    def __init__(self, function: Callable[..., Any], *, is_legacy: bool) -> None:
        self._function = function
        self._is_legacy = is_legacy
        """It is `x.new`: given a list it makes a tensor of these values, given a tensor an alias of it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = self._function(*args, **kwargs)
        is_empty = not self._is_legacy or all(type(size) in (int, torch.Size) for size in args[1:])
        if isinstance(result, torch.Tensor) and kwargs.get("out") is None and is_empty:
            _zero(result, 0)
        return result


class _Growing:
    """A function that makes a tensor larger, in place."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with quietly():
            before = _bytes_of(args[0]) if args else None
        result = self._function(*args, **kwargs)
        if before is not None:
            _zero(args[0], before)
        return result


def _bytes_of(tensor: torch.Tensor) -> int | None:
    try:
        return int(tensor.untyped_storage().nbytes())
    except (RuntimeError, NotImplementedError):  # it has no memory of its own
        return None


def _zero(tensor: torch.Tensor, start: int) -> None:
    """Zeros from byte `start` of its memory on; no version counter moves, as none would have."""
    with quietly(), torch.no_grad():
        now = _bytes_of(tensor)
        if now is None or now <= start or tensor.device.type == "meta":
            return
        memory = torch.empty(0, dtype=torch.uint8, device=tensor.device)
        memory.set_(tensor.untyped_storage(), start, (now - start,), (1,)).zero_()
