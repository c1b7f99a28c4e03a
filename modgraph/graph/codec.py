"""Frozen dataclasses <-> plain JSON values, by their type hints; fields that hold their default are left out."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, cast

T = TypeVar("T")


def encode(value: Any) -> Any:
    """`value` as JSON values: a dataclass as an object without the fields that hold their default."""
    if is_dataclass(value) and not isinstance(value, type):
        encoded = {}
        for field in fields(value):
            content = getattr(value, field.name)
            if content != _default(field):
                encoded[field.name] = encode(content)
        return encoded
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    return value


def decode(kind: type[T], value: Any) -> T:
    """The dataclass `kind` that `encode` turned into `value`; fields unknown here are ignored.

    Raises:
        TypeError, KeyError, ValueError: `value` is no such object.
    """
    return cast(T, _decode(kind, value))


def _decode(hint: Any, value: Any) -> Any:
    if value is None or hint is Any:
        return value
    if isinstance(hint, type) and is_dataclass(hint):
        if not isinstance(value, dict):
            raise TypeError(f"an object is needed for {hint.__name__}, not {value!r}")
        hints = _hints(hint)
        return hint(**{name: _decode(hints[name], content) for name, content in value.items() if name in hints})
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        inner = [option for option in typing.get_args(hint) if option is not type(None)]
        return _decode(inner[0], value) if len(inner) == 1 else value
    if origin is tuple:
        return tuple(_decode(typing.get_args(hint)[0], item) for item in value)
    return value


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _default(field: Field[Any]) -> Any:
    if field.default is not MISSING:
        return field.default
    return field.default_factory() if field.default_factory is not MISSING else MISSING
