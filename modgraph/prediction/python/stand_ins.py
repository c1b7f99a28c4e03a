"""Python's own containers in the place of those with a class of their own: what they hold is known, and their text only
where it is that class's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn


class OtherTextError(Exception):
    """Something was asked of a container that only its own class knows, such as its text."""


class _Unwritten:
    def __repr__(self) -> NoReturn:
        raise OtherTextError

    def __str__(self) -> NoReturn:
        raise OtherTextError

    def __format__(self, spec: str) -> NoReturn:
        raise OtherTextError


class OtherList(_Unwritten, list[Any]):
    """Of another class than list, or a view."""

    def __getitem__(self, key: Any) -> NoReturn:
        raise OtherTextError


class OtherDict(_Unwritten, dict[Any, Any]):
    """Of another class than dict, which gives items as dict does."""


class FilledDict(OtherDict):
    """Of a class that gives something for what it lacks."""

    def __missing__(self, key: Any) -> NoReturn:
        raise OtherTextError


class ClosedDict(OtherDict):
    """Of a class that gives items in its own way."""

    def __getitem__(self, key: Any) -> NoReturn:
        raise OtherTextError


class OtherSet(_Unwritten, set[Any]):
    """Any set: its text has another order in every process."""


class OtherTuple(_Unwritten, tuple[Any, ...]):
    """Of a class whose text is not known."""


class Identity(_Unwritten, int):
    """What `id` gives: equal to itself alone, a key like another, and another number in every process."""

    __hash__ = int.__hash__

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # of `type(id(x))`
        return int

    def _is_another(self, *_: object) -> NoReturn:
        raise OtherTextError

    __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __pos__ = __abs__ = __invert__ = _is_another
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = __rfloordiv__ = _is_another
    __truediv__ = __rtruediv__ = __mod__ = __rmod__ = __divmod__ = __rdivmod__ = __pow__ = __rpow__ = _is_another
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _is_another
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _is_another
    __int__ = __index__ = __float__ = __complex__ = __round__ = __trunc__ = __floor__ = __ceil__ = _is_another
    real = property(_is_another)
    numerator = property(_is_another)
    bit_length = bit_count = conjugate = as_integer_ratio = to_bytes = _is_another  # type: ignore[assignment]


class MemberNumber(int):
    """A member of an Enum class that is a number as well; `texts` are what `repr` and `str` give, as far as known."""

    texts: tuple[str | None, str | None]

    def __repr__(self) -> str:
        return _told(self.texts[0])

    def __str__(self) -> str:
        return _told(self.texts[1])


class MemberText(str):
    """The same of one that is a text."""

    __slots__ = ("texts",)

    texts: tuple[str | None, str | None]

    def __repr__(self) -> str:
        return _told(self.texts[0])

    def __str__(self) -> str:
        return _told(self.texts[1])

    def __format__(self, spec: str) -> str:
        return format(_told(self.texts[1]), spec)


def _told(text: str | None) -> str:
    if text is None:
        raise OtherTextError
    return text


class Size(tuple[Any, ...]):
    """A torch.Size."""

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(repr, self))}])"


class NamedTuple(tuple[Any, ...]):
    """Of a class with names for its items, and no text of its own."""

    title: str
    fields: Sequence[str]

    def __repr__(self) -> str:
        pairs = zip(self.fields, self, strict=True)
        return f"{self.title}({', '.join(f'{name}={item!r}' for name, item in pairs)})"
