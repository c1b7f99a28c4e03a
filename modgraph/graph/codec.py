"""Frozen dataclasses <-> plain JSON values, by their type hints; fields that hold their default are left out."""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache, partial
from typing import Any, TypeVar

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
        TypeError, KeyError, ValueError: `value` is no such object, or one of its fields is of another type.
    """
    decoder: Callable[[Any], T] = _decoder(kind)  # type: ignore[arg-type]
    return decoder(value)


@cache
def _decoder(hint: Any) -> Callable[[Any], Any]:
    """What makes a value of that type out of a JSON value, and refuses others."""
    if hint is Any:
        return _as_it_is
    if isinstance(hint, type) and is_dataclass(hint):
        return _dataclass(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _union(arguments)
    if origin is typing.Literal:
        return partial(_one_of, arguments)
    if origin is tuple:
        if arguments[-1] is Ellipsis:
            return partial(_every, _decoder(_resolved(arguments[0])))
        return partial(_each, tuple(_decoder(_resolved(each)) for each in arguments))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return partial(_mapping, _decoder(_resolved(arguments[1])))
    return _PLAIN[hint]


def _resolved(hint: Any) -> Any:
    """A type that stands as a string inside of another: `typing.get_type_hints` leaves those of an alias."""
    text = hint.__forward_arg__ if isinstance(hint, typing.ForwardRef) else hint
    return _NAMED[text] if isinstance(text, str) else hint


_NAMED = {"int | str | None": int | str | None}


def _as_it_is(value: Any) -> Any:
    return value


def _dataclass(kind: type) -> Callable[[Any], Any]:
    decoders: dict[str, Callable[[Any], Any]] = {}

    def made(value: Any) -> Any:
        if type(value) is not dict:
            raise TypeError(f"an object is needed for {kind.__name__}")
        if not decoders:  # not before: a class may hold others of its kind
            decoders.update({name: _decoder(hint) for name, hint in _hints(kind).items()})
        return kind(**{name: decoders[name](content) for name, content in value.items() if name in decoders})

    return made


def _union(options: tuple[Any, ...]) -> Callable[[Any], Any]:
    optional = type(None) in options
    decoders = [_decoder(option) for option in options if option is not type(None)]

    def made(value: Any) -> Any:
        if value is None and optional:
            return None
        if optional and type(value) is float and not math.isfinite(value):
            return None
        for decoder in decoders[:-1]:
            with suppress(TypeError, ValueError):
                return decoder(value)
        return decoders[-1](value)

    return made


def _one_of(choices: tuple[Any, ...], value: Any) -> Any:
    if type(value) is not str or value not in choices:
        raise ValueError(f"one of {choices} is needed")
    return value


def _every(decoder: Callable[[Any], Any], value: Any) -> tuple[Any, ...]:
    if type(value) is not list:
        raise TypeError("a list is needed")
    return tuple(map(decoder, value))


def _each(decoders: tuple[Callable[[Any], Any], ...], value: Any) -> tuple[Any, ...]:
    if type(value) is not list or len(value) != len(decoders):
        raise TypeError(f"a list of {len(decoders)} is needed")
    return tuple(decoder(item) for decoder, item in zip(decoders, value, strict=True))


def _mapping(decoder: Callable[[Any], Any], value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        raise TypeError("an object is needed")
    return {as_text(name): decoder(item) for name, item in value.items()}


def as_text(value: Any) -> str:
    """`value`, which is a text of JSON, as one that can be written to a file; raises TypeError where it is none."""
    if type(value) is not str:
        raise TypeError("a text is needed")
    # Half of a surrogate pair can be written in JSON, and in no file.
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")


def _whole(value: Any) -> int:
    if type(value) is not int or not -_MOST <= value <= _MOST:
        raise TypeError("a whole number of 64 bits is needed")
    return value


def _real(value: Any) -> float:
    if type(value) is not float:
        return _whole(value)
    if not math.isfinite(value):
        raise TypeError("a finite number is needed")
    return value


def _truth(value: Any) -> bool:
    if type(value) is not bool:
        raise TypeError("true or false is needed")
    return value


_MOST = 2**63
"""No size, index or count is larger; the decimal digits of a number without bound could not even be printed."""
_PLAIN: dict[Any, Callable[[Any], Any]] = {str: as_text, int: _whole, float: _real, bool: _truth}


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _default(field: Field[Any]) -> Any:
    if field.default is not MISSING:
        return field.default
    return field.default_factory() if field.default_factory is not MISSING else MISSING
