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
