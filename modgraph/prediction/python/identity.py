"""`is`: what is one object, what is certainly two, and what Python may have made once or twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from modgraph.prediction.domain.assumed import CAST
from modgraph.prediction.domain.frames import Frame
from modgraph.prediction.domain.objects import MAY_BE, EnvironmentObject, TensorObject
from modgraph.prediction.domain.registry import INSTALLED
from modgraph.prediction.domain.sizes import is_open, same_sizes
from modgraph.prediction.domain.values import (
    NONE,
    Address,
    BoundMethod,
    Choice,
    ClassMethod,
    ClassValue,
    Constant,
    Device,
    EnumMember,
    FunctionValue,
    GenericAlias,
    PartialValue,
    PropertyValue,
    SliceValue,
    StaticMethod,
    SuperValue,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.paths import partial_texts
from modgraph.prediction.python import literal_texts
from modgraph.source import nodes

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


def any_alternative(answers: list[bool | None]) -> bool | None:
    """What is the same for each."""
    return answers[0] if answers and all(answer is answers[0] for answer in answers) else None


def identical(machine: Machine, left: Value, right: Value) -> bool | None:
    """left is right."""
    if is_one(left, right):
        return True
    if isinstance(left, Address) and left == right and left.index in machine.base.kept and machine.asks(CAST):
        return None
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
    if isinstance(left, EnumMember) and isinstance(right, EnumMember):
        return same_member(left, right)
    if isinstance(left, Address) and isinstance(right, Address) and left != right:
        return None if _may_be_one_tensor(machine, left, right) else False
    if isinstance(left, Constant) and isinstance(right, Constant) and (is_open(left.value) or is_open(right.value)):
        return None if left.value == right.value else False
    if left is right or left != right:
        return left is right
    if isinstance(left, Constant):
        one = literal_texts.is_kept(machine, left) and literal_texts.is_kept(machine, right)
        return True if one or _is_one_object(left.value) else None  # made twice or once, as Python likes
    if isinstance(left, FunctionValue):
        return True if is_of_a_module(left) else None
    if isinstance(left, _MADE_ANEW) and left != TupleValue(()):
        return None
    return True


def _may_be_one_tensor(machine: Machine, left: Address, right: Address) -> bool:
    """One of them was made of the other, by what may give its argument back, and is like it."""
    first, second = (machine.state.find(each, TensorObject) for each in (left, right))
    if first is None or second is None or (MAY_BE not in first.attributes and MAY_BE not in second.attributes):
        return False
    if first.shape is not None and second.shape is not None and not same_sizes(first.shape, second.shape):
        return False
    return not {left, *_origins(machine, first)}.isdisjoint({right, *_origins(machine, second)})


def _origins(machine: Machine, tensor: TensorObject) -> Iterator[Address]:
    seen: set[Address] = set()
    held: TensorObject | None = tensor
    while held is not None and isinstance(origin := held.attributes.get(MAY_BE), Address) and origin not in seen:
        yield origin
        seen.add(origin)
        held = machine.state.find(origin, TensorObject)


def is_one(left: Value, right: Value) -> bool:
    """Both are what one name of an Enum class stands for, whichever member that is."""
    return (
        left is right and isinstance(left, Choice) and all(isinstance(each, EnumMember) for each in left.alternatives)
    )


def same_member(left: EnumMember, right: EnumMember) -> bool:
    """They are one, also where the value of one of them is not known."""
    if left == right or left.cls != right.cls or left.name != right.name:
        return left == right
    return any(isinstance(each.value, (Unknown, Choice)) for each in (left, right))


def is_of_a_module(function: FunctionValue) -> bool:
    """Its `def` runs once, with its module or class."""
    definition = function.definition
    outermost = function.owner is not None or definition.node in definition.parsed.statements
    return outermost and definition.name != "<lambda>" and "<locals>" not in definition.qualname


def stays(machine: Machine, value: Value) -> bool:
    """It is as long as the program, or there is one of it: no other object comes to lie where it lies."""
    if isinstance(value, Constant):
        return literal_texts.is_kept(machine, value) or _is_one_object(value.value)
    if isinstance(value, FunctionValue):
        return is_of_a_module(value)
    return not isinstance(value, (Unknown, Choice, *_MADE_ANEW))


def maybe_another(held: Value, value: Value) -> bool:
    """Of equal values here: Python may hold them for two, by their identity."""
    if held is value:
        return False
    if isinstance(value, TupleValue) and isinstance(held, TupleValue):
        return any(maybe_another(*pair) for pair in zip(held.items, value.items, strict=True))
    return is_by_identity(value)


def is_by_identity(value: Value) -> bool:
    """Equal ones, or what holds equal ones, may be two for Python."""
    if isinstance(value, TupleValue):
        return any(is_by_identity(each) for each in value.items)
    if type(value) is Constant:
        return is_no_number(value.value)
    return isinstance(value, PartialValue) or (isinstance(value, FunctionValue) and not is_of_a_module(value))


def is_no_number(value: object) -> bool:
    """A nan, which equals nothing, itself included: containers know it by its identity."""
    return isinstance(value, (float, complex)) and value != value


def turn(machine: Machine, frame: Frame, node: nodes.Node) -> int:
    """How many functions a `def` or lambda in a loop has made before: each turn makes another."""
    made = machine.state.change(frame.environment, EnvironmentObject).made
    number = made.get(id(node), 0)
    made[id(node)] = number + 1
    return number


_MADE_ANEW = (
    BoundMethod,
    ClassMethod,
    Device,
    GenericAlias,
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
