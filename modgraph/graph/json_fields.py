"""The fields of one JSON object, each read with a clear message for what else may stand there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from modgraph.errors import GraphError
from modgraph.graph.model import Shape

MAX_DEPTH = 50
"""Lists and objects inside each other in the arguments of a module."""
_MAX_INTEGER = 2**128

T = TypeVar("T")
_ABSENT: Any = object()


class Fields:
    """The fields of one JSON object; each reader says in its error where the object stands and what was expected."""

    def __init__(self, values: Any, place: str) -> None:
        if not isinstance(values, dict):
            raise GraphError(f"{place or 'the document'}: expected an object, found {_named(values)}")
        self.values: dict[str, Any] = values
        self.place = place

    def read(self, key: str, expected: str, accepts: Callable[[Any], bool], default: Any = _ABSENT) -> Any:
        """The value of `key`, `default` where it is absent and one is given."""
        value = self.values.get(key, default)
        if value is _ABSENT:
            raise GraphError(f"{self.at(key)}: this field is missing")
        if value is not default and not accepts(value):
            raise GraphError(f"{self.at(key)}: expected {expected}, found {_named(value)}")
        return value

    def text(self, key: str, default: str = _ABSENT) -> str:
        value = self.values.get(key)
        return value if type(value) is str else cast(str, self.read(key, "a text", _is_text, default))

    def text_or_null(self, key: str, default: Any = _ABSENT) -> str | None:
        value = self.values.get(key)
        if type(value) is str:
            return value
        return cast("str | None", self.read(key, "a text or null", _IS_TEXT_OR_NULL, default))

    def choice(self, key: str, *choices: str, default: Any = _ABSENT) -> Any:
        expected = "one of " + ", ".join(json.dumps(choice) for choice in choices)
        return self.read(key, expected, lambda value: _is_text(value) and value in choices, default)

    def integer(self, key: str) -> int:
        return cast(int, self.read(key, "an integer of 128 bits", _is_integer))

    def integer_or_null(self, key: str, default: Any = _ABSENT) -> int | None:
        return cast("int | None", self.read(key, "an integer of 128 bits or null", _IS_INTEGER_OR_NULL, default))

    def flag(self, key: str, default: bool = _ABSENT) -> bool:
        value = self.values.get(key, default)
        return value if type(value) is bool else cast(bool, self.read(key, "true or false", _is_flag, default))

    def flag_or_null(self, key: str) -> bool | None:
        return cast("bool | None", self.read(key, "true, false or null", _IS_FLAG_OR_NULL))

    def number_or_null(self, key: str) -> float | None:
        value = self.read(key, 'a number, null, "NaN", "Infinity" or "-Infinity"', _is_statistic)
        return float(value) if isinstance(value, str) else cast("float | None", value)

    def shape(self, key: str) -> Shape | None:
        sizes = self.read(key, "a list of sizes (integer, text or null), or null", _IS_SHAPE_OR_NULL)
        return None if sizes is None else tuple(sizes)

    def integers(self, key: str) -> tuple[int, ...]:
        return tuple(self.read(key, "a list of integers", _ARE_INTEGERS))

    def ranks(self, key: str = "ranks") -> tuple[int, ...]:
        return self.integers_or_null(key) or ()

    def integers_or_null(self, key: str) -> tuple[int, ...] | None:
        if key not in self.values:
            return None
        numbers = self.read(key, "a list of integers", _ARE_INTEGERS, None)
        return None if numbers is None else tuple(numbers)

    def texts(self, key: str) -> tuple[str, ...]:
        if key not in self.values:
            return ()
        return tuple(self.read(key, "a list of texts", _ARE_TEXTS, []))

    def mapping(self, key: str) -> dict[str, Any]:
        found = cast("dict[str, Any]", self.read(key, "an object", _is_object))
        if found and _is_too_deep(found):
            raise GraphError(f"{self.at(key)}: nested more than {MAX_DEPTH} deep")
        return found

    def record(self, key: str) -> Fields:
        return Fields(self.read(key, "an object", _is_object), self.at(key))

    def record_or_null(self, key: str, parse: Callable[[Fields], T], default: Any = _ABSENT) -> T | None:
        value = self.read(key, "an object or null", _IS_OBJECT_OR_NULL, default)
        return None if value is None else parse(Fields(value, self.at(key)))

    def records(self, key: str, *, optional: bool = False) -> Iterator[Fields]:
        values = self.read(key, "a list", _is_list, [] if optional else _ABSENT)
        for position, value in enumerate(values):
            yield Fields(value, f"{self.at(key)}[{position}]")

    def at(self, key: str) -> str:
        return f"{self.place}.{key}" if self.place else key


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -_MAX_INTEGER <= value <= _MAX_INTEGER


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_too_deep(value: Any) -> bool:
    """Lists and objects stand in one another more than `MAX_DEPTH` deep."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [each for outer in level for each in (outer.values() if isinstance(outer, dict) else outer)]
        level = [each for each in level if isinstance(each, (dict, list))]
        if not level:
            return False
    return True


def _is_statistic(value: Any) -> bool:
    if value is None or value in ("NaN", "Infinity", "-Infinity"):
        return True
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_shape(value: Any) -> bool:
    return isinstance(value, list) and all(size is None or _is_text(size) or _is_integer(size) for size in value)


def _or_null(accepts: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or accepts(value)


def _is_list_of(accepts: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(accepts(entry) for entry in value)


_IS_TEXT_OR_NULL = _or_null(_is_text)
_IS_INTEGER_OR_NULL = _or_null(_is_integer)
_IS_FLAG_OR_NULL = _or_null(_is_flag)
_IS_SHAPE_OR_NULL = _or_null(_is_shape)
_IS_OBJECT_OR_NULL = _or_null(_is_object)
_ARE_INTEGERS = _is_list_of(_is_integer)
_ARE_TEXTS = _is_list_of(_is_text)


def _named(value: Any) -> str:
    """`value` in a message: what it is, and its text where that is short."""
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        if len(value) > 20 or any(isinstance(each, (dict, list)) for each in value):
            return "a list"
        return "a list" if len(str(value)) > 40 else f"the list {json.dumps(value, ensure_ascii=False)}"
    text = json.dumps(value[:100] if isinstance(value, str) else value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
