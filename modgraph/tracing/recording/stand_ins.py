"""A `forward` that is recorded, in place of the user's own: for those who look at it, it is the user's own."""

from __future__ import annotations

import copy
import types
from collections.abc import Callable
from typing import Any

_COPIED = ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__")


class StandIn:
    """A callable that compares, and answers for its code, closure, defaults and attributes, as another one does.

    What is not the same is its identity, and that C code which asks for a Python function finds none.
    """

    __slots__ = ("__dict__", "__weakref__", "original")

    original: Callable[..., Any]

    def __init__(self, original: Callable[..., Any]) -> None:
        object.__setattr__(self, "original", original)
        state = object.__getattribute__(self, "__dict__")
        state.update(getattr(original, "__dict__", {}))
        state.update((name, getattr(original, name)) for name in _COPIED if hasattr(original, name))

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self.original)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.original, name, value)
        object.__getattribute__(self, "__dict__")[name] = value

    def __delattr__(self, name: str) -> None:
        delattr(self.original, name)
        object.__getattribute__(self, "__dict__").pop(name, None)

    def __eq__(self, other: object) -> bool:
        return bool(self.original == own(other))

    def __hash__(self) -> int:
        return hash(self.original)

    def __repr__(self) -> str:
        return repr(self.original)

    def __copy__(self) -> Any:
        return copy.copy(self.original)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return copy.deepcopy(self.original, memo)

    def __reduce_ex__(self, protocol: Any) -> Any:
        reduce: Callable[..., Any] = self.original.__reduce_ex__
        return self.__qualname__ if isinstance(self.original, types.FunctionType) else reduce(protocol)


def own(value: Any) -> Any:
    """What a stand-in stands for; anything else as it is."""
    return object.__getattribute__(value, "original") if issubclass(type(value), StandIn) else value
