"""`is`: what is one object, what is certainly two, and what Python may have made once or twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modgraph.prediction import literal_texts, partial_texts
from modgraph.prediction.knowledge.registry import INSTALLED
from modgraph.prediction.values import (
    NONE,
    BoundMethod,
    Choice,
    ClassMethod,
    ClassValue,
    Constant,
    Device,
    PartialValue,
    PropertyValue,
    SliceValue,
    StaticMethod,
    SuperValue,
    TupleValue,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from modgraph.prediction.machine import Interpreter


def any_alternative(answers: list[bool | None]) -> bool | None:
    """What is the same for each."""
    return answers[0] if answers and all(answer is answers[0] for answer in answers) else None


def identical(machine: Interpreter, left: Value, right: Value) -> bool | None:
    """left is right."""
    if isinstance(left, Choice):
        return any_alternative([identical(machine, each, right) for each in left.alternatives])
    if isinstance(right, Choice):
        return any_alternative([identical(machine, left, each) for each in right.alternatives])
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        if (left == INSTALLED and right == NONE) or (left == NONE and right == INSTALLED):
            return False
        return False if partial_texts.differ(left, right) else None
    if isinstance(left, ClassValue) and isinstance(right, ClassValue):
        return left.address == right.address
    if left is right or left != right:
        return left is right
    if isinstance(left, Constant):
        one = literal_texts.is_kept(machine, left) and literal_texts.is_kept(machine, right)
        return True if one or _is_one_object(left.value) else None  # made twice or once, as Python likes
    if isinstance(left, _MADE_ANEW) and left != TupleValue(()):
        return None
    return True


_MADE_ANEW = (
    BoundMethod,
    ClassMethod,
    Device,
    PartialValue,
    PropertyValue,
    SliceValue,
    StaticMethod,
    SuperValue,
    TupleValue,
)
"""Equal ones may have been made one after the other: `self.step is self.step` is False."""


def _is_one_object(value: object) -> bool:
    """Python promises, or each of its releases holds, that there is one object of that value."""
    return value is None or isinstance(value, bool) or value in (..., NotImplemented, "", b"") or _is_small(value)


def _is_small(value: object) -> bool:
    return type(value) is int and -5 <= value <= 256
