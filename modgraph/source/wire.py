"""A target, the inputs and the options as JSON, and back: how a request travels to the process that traces.

JSON has no tuples, sets, bytes or references, so what is not JSON is written as an object with one `$` key.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from modgraph.options import TraceOptions
from modgraph.source.inputs import InputSpec
from modgraph.source.targets import Built, Ref, Target, Unsaid


def encode(value: Any) -> Any:
    """A literal (also nested, also with `Ref`s and paths) as a JSON value.

    Raises:
        TypeError: it holds something that is no literal.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, list):
        return [encode(item) for item in value]
    for tag, kind, write, _ in _TAGGED:
        if isinstance(value, kind):
            return {tag: write(value)}
    raise TypeError(f"{type(value).__name__} is no literal")


def not_literal(value: Any) -> str | None:
    """Why `encode` does not take a value: "Linear is no literal"; None where it does."""
    try:
        encode(value)
    except TypeError as error:
        return str(error)
    return None


def decode(value: Any) -> Any:
    """What `encode` was given."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((tag, content),) = value.items()
    if tag == "$float":
        return float(content)
    return next(read for name, _, _, read in _TAGGED if name == tag)(content)


def _items(value: Any) -> list[Any]:
    return [encode(item) for item in value]


def _sorted_items(value: Any) -> list[Any]:
    return [encode(item) for item in sorted(value, key=repr)]


def _pairs(value: Mapping[Any, Any]) -> list[Any]:
    return [[encode(key), encode(item)] for key, item in value.items()]


_TAGGED: tuple[tuple[str, type[Any], Callable[[Any], Any], Callable[[Any], Any]], ...] = (
    ("$tuple", tuple, _items, lambda content: tuple(map(decode, content))),
    ("$set", set, _sorted_items, lambda content: set(map(decode, content))),
    ("$frozenset", frozenset, _sorted_items, lambda content: frozenset(map(decode, content))),
    ("$dict", dict, _pairs, lambda content: {decode(key): decode(item) for key, item in content}),
    ("$bytes", bytes, bytes.hex, bytes.fromhex),
    ("$complex", complex, lambda value: [encode(value.real), encode(value.imag)], lambda c: complex(*map(decode, c))),
    ("$ref", Ref, lambda value: value.name, Ref),
    (
        "$built",
        Built,
        lambda value: [encode(getattr(value, field.name)) for field in dataclasses.fields(value)],
        lambda content: Built(*map(decode, content)),
    ),
    ("$unsaid", Unsaid, lambda value: value.reason, Unsaid),
    ("$path", Path, str, Path),
    ("$ellipsis", type(...), lambda _: None, lambda _: ...),
)


def encode_fields(value: Target | InputSpec | TraceOptions) -> dict[str, Any]:
    """The fields of one of the three, as JSON values."""
    return {field.name: encode(getattr(value, field.name)) for field in dataclasses.fields(value)}


def decode_target(fields: Mapping[str, Any]) -> Target:
    """The target whose fields these are."""
    return Target(**{name: decode(value) for name, value in fields.items()})


def decode_input(fields: Mapping[str, Any]) -> InputSpec:
    """The input whose fields these are."""
    return InputSpec(**{name: decode(value) for name, value in fields.items()})


def decode_options(fields: Mapping[str, Any]) -> TraceOptions:
    """The options whose fields these are."""
    return TraceOptions(**{name: decode(value) for name, value in fields.items()})
