"""What counts as one key of a dict, or one element of a set: equal values, by `__hash__` and `__eq__` where a class
has its own."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from modgraph.names import last_name
from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ClassObject, DictObject, InstanceObject, ModuleObject, SetObject
from modgraph.prediction.domain.sizes import is_open
from modgraph.prediction.domain.values import (
    FALSE,
    NONE,
    TRUE,
    Address,
    Choice,
    ClassValue,
    Constant,
    EnumMember,
    FunctionValue,
    KnownClass,
    SliceValue,
    TupleValue,
    Unknown,
    Value,
    number_key,
)
from modgraph.prediction.paths import several
from modgraph.prediction.python import exceptions
from modgraph.prediction.python.counted import count
from modgraph.prediction.python.identity import is_by_identity, is_no_number, maybe_another

Elements = dict[Value, None]
_UNITS_OF_A_PAIR = 6
_WITHOUT_HASH = frozenset(
    {
        *(f"builtins.{name}" for name in ("list", "dict", "set", "bytearray", "dict_keys", "dict_items")),
        *(f"collections.{name}" for name in ("deque", "ChainMap", "UserDict", "UserList")),
        *("types.SimpleNamespace", "argparse.Namespace", "types.MappingProxyType"),
        *("torch.finfo", "torch.iinfo"),
    }
)
"""Classes of Python, and of torch, whose instances are compared by what they hold; those derived from them are too."""
_NUMBERS = frozenset({"builtins.int", "builtins.str", "builtins.float"})


def unique(machine: Machine, values: Iterable[Value]) -> tuple[Elements, Unknown | None]:
    """The elements of a set made of these values, and why there may be others."""
    kept: Elements = {}
    numbers: set[Constant] = set()
    careful = False
    why: Unknown | None = None
    for given in values:
        value = settled(machine, given)
        asked(machine, value)
        if value in kept:
            if maybe_another(_held(kept, value), value):
                return {}, machine.unknown("whether two elements of a set are equal is not known")
            continue
        require(machine, value)
        if isinstance(value, (Unknown, Choice)):
            why = why or machine.unknown("an element of a set is not known", value)
            continue
        special = is_special(machine, value)
        if type(value) is Constant and not careful and not special:
            if number_key(value.value) in numbers:
                continue
        elif special or careful:
            held = contains(machine, kept, value)
            if held is None:
                return {}, machine.unknown("whether two elements of a set are equal is not known")
            if held:
                continue
        if type(value) is Constant and not special:
            numbers.add(number_key(value.value))
        careful = careful or special
        kept[value] = None
    return kept, why


def _held(elements: Elements, value: Value) -> Value:
    """The element itself that is equal to the value."""
    return next(each for each in elements if each == value) if is_by_identity(value) else value


def settled(machine: Machine, key: Value) -> Value:
    """The key; where a part of a tuple is not known, it is a key that is not known either, and no text."""
    if not isinstance(key, TupleValue) or (part := _unsure_part(key)) is None:
        return key
    why = machine.unknown("a part of a key is not known", part)
    return points_to.either_of(replace(why, text=()), (key,))


def _unsure_part(key: TupleValue) -> Value | None:
    for each in key.items:
        if isinstance(each, (Unknown, Choice)):
            return each
        if isinstance(each, TupleValue) and (part := _unsure_part(each)) is not None:
            return part
    return None


def asked(machine: Machine, value: Value) -> None:
    """The hash of the value is asked for, and whether others with that hash are equal; how often is not followed."""
    if isinstance(value, TupleValue):
        for each in value.items:
            if isinstance(each, (Address, TupleValue)):
                asked(machine, each)
    elif isinstance(value, Address) and machine.state.find(value, InstanceObject) is not None:
        machine.may_be_called([value], machine.unknown("how often a hash is asked for is not known"), _ASKED)


_ASKED = ("__hash__", "__eq__")


def require(machine: Machine, value: Value) -> None:
    """Of what becomes a key or an element.

    Raises:
        Raised: TypeError, where it certainly has no hash.
    """
    if is_open_key(value):
        machine.base.has_open_keys = True
    if isinstance(value, TupleValue):
        count(machine, len(value.items))
        for each in value.items:
            if isinstance(each, (Address, TupleValue)):
                require(machine, each)
    elif isinstance(value, SliceValue) and sys.version_info < (3, 12):
        raise exceptions.exactly(machine, "TypeError", "unhashable type: 'slice'")
    elif isinstance(value, Address) and _is_unhashable(machine, value):
        cls = machine.class_of(value)
        name = last_name(cls.name) if isinstance(cls, (ClassValue, KnownClass)) else "object"
        raise exceptions.exactly(machine, "TypeError", f"unhashable type: '{name}'")
    elif isinstance(value, Address) and machine.data_of is not None:
        _own_hash(machine, value)  # what else it does is done, too


def _is_unhashable(machine: Machine, value: Value) -> bool:
    for base in machine.mro(machine.class_of(value)):
        if isinstance(base, KnownClass):
            if base.name in _WITHOUT_HASH:
                return True
            continue
        if not isinstance(base, ClassValue):
            return False
        own = {name: machine.own_attribute(base, name) for name in ("__hash__", "__eq__")}
        if own["__hash__"] is not None or base.name.startswith("torch."):
            return bool(own["__hash__"] == NONE)
        if isinstance(own["__eq__"], FunctionValue) or _is_mutable_data(machine, base):
            return True
    return False


def _is_mutable_data(machine: Machine, cls: ClassValue) -> bool:
    """A dataclass that compares its fields, and may change them: it is given no hash."""
    item = machine.state.find(cls.address, ClassObject)
    options = machine.state.find(item.namespace.get("<dataclass options>", NONE), DictObject) if item else None
    if options is None or options.open is not None:
        return False
    given = {name: options.entries.get(Constant(name), FALSE) for name in ("frozen", "unsafe_hash")}
    return options.entries.get(Constant("eq"), TRUE) == TRUE and all(each == FALSE for each in given.values())


def contains(machine: Machine, elements: Iterable[Value], value: Value) -> bool | None:
    """One of the elements is the same key as the value."""
    if isinstance(value, TupleValue) and _unsure_part(value) is not None:
        return None if any(type(each) is not Constant for each in elements) else False
    if isinstance(elements, dict) and value in elements:
        return None if maybe_another(_held(elements, value), value) else True
    is_sure = True
    for each in _counted(machine, elements):
        answer = same(machine, each, value)
        if answer:
            return True
        is_sure = is_sure and answer is not None
    return False if is_sure else None


def key_of(machine: Machine, elements: Iterable[Value], value: Value) -> Value | None:
    """The element that certainly is the same key as the value."""
    if isinstance(elements, dict) and value in elements:
        return value
    return next((each for each in _counted(machine, elements) if same(machine, each, value) is True), None)


def _counted(machine: Machine, elements: Iterable[Value]) -> Collection[Value]:
    """The elements, of which each is to be compared: that is work, however many steps it is told as."""
    found = elements if isinstance(elements, Collection) else list(elements)
    machine.spend(len(found) * _UNITS_OF_A_PAIR)
    return found


def is_open_key(value: Value) -> bool:
    """A size that is left open is it, or in it: whether it is the same key as another is a condition on it."""
    if type(value) is Constant:
        return is_open(value.value)
    if isinstance(value, SliceValue):
        return any(map(is_open_key, _bounds(value)))
    return isinstance(value, TupleValue) and any(map(is_open_key, value.items))


def _bounds(value: SliceValue) -> tuple[Value, Value, Value]:
    return value.lower, value.upper, value.step


def is_special(machine: Machine, value: Value) -> bool:
    """It may be the same key as another value that is not equal here."""
    if isinstance(value, (TupleValue, SliceValue)):
        parts = value.items if isinstance(value, TupleValue) else _bounds(value)
        count(machine, len(parts))
        is_number = _is_number if machine.base.has_open_keys else _is_fraction
        return any(is_special(machine, item) or is_number(item) for item in parts)
    if type(value) is Constant:
        return is_open(value.value)
    if isinstance(value, EnumMember):
        order = machine.mro(value.cls)
        return any(isinstance(base, KnownClass) and base.name in _NUMBERS for base in order)
    return isinstance(value, Address) and _compares_itself(machine, value)


def _is_fraction(value: Value) -> bool:
    return type(value) is Constant and type(value.value) in (bool, float, complex)


def _is_number(value: Value) -> bool:
    return type(value) is Constant and isinstance(value.value, (int, float, complex))


def _compares_itself(machine: Machine, value: Address) -> bool:
    item = machine.state.read(value)
    if isinstance(item, SetObject):
        return True
    if not isinstance(item, (InstanceObject, ModuleObject)) or not isinstance(item.cls, ClassValue):
        return False
    if isinstance(machine.class_attribute(item.cls, "__eq__"), FunctionValue) or _is_parted(machine, value):
        return True
    held = machine.state.find(item.cls.address, ClassObject)
    return isinstance(item, InstanceObject) and held is not None and "__dataclass_fields__" in held.namespace


def same(machine: Machine, left: Value, right: Value) -> bool | None:
    """The two are one key; None where that is not known."""
    if left == right:
        return None if maybe_another(left, right) else True
    if isinstance(left, (Unknown, Choice)) or isinstance(right, (Unknown, Choice)):
        return None
    if isinstance(left, Constant) and isinstance(right, Constant):
        return None if is_no_number(left.value) and is_no_number(right.value) else bool(left.value == right.value)
    if isinstance(left, TupleValue) and isinstance(right, TupleValue):
        return _same_parts(machine, left.items, right.items)
    if isinstance(left, SliceValue) and isinstance(right, SliceValue):
        return _same_parts(machine, _bounds(left), _bounds(right))
    if not is_special(machine, left) and not is_special(machine, right):
        return False
    first, second = _own_hash(machine, left), _own_hash(machine, right)
    if first is not None and second is not None and same(machine, first, second) is False:
        return False
    equal = machine.equal(left, right)
    return None if equal and (_is_parted(machine, left) or _is_parted(machine, right)) else equal


def _same_parts(machine: Machine, left: Sequence[Value], right: Sequence[Value]) -> bool | None:
    if len(left) != len(right):
        return False
    is_sure = True
    for pair in zip(left, right, strict=True):
        answer = same(machine, *pair)
        if answer is False:
            return False
        is_sure = is_sure and answer is not None
    return True if is_sure else None


def _is_parted(machine: Machine, value: Value) -> bool:
    """Which `__eq__` or `__hash__` its class has is not known."""
    return several.undecided(machine, (value,), ("__eq__", "__hash__")) is not None


def method_of(machine: Machine, value: Value) -> FunctionValue | None:
    """`__hash__` of its class, written in source; None where it has none, or it is not known which."""
    if not isinstance(value, Address) or _is_parted(machine, value):
        return None
    method = machine.class_attribute(machine.class_of(value), "__hash__")
    return method if isinstance(method, FunctionValue) else None


def _own_hash(machine: Machine, value: Value) -> Value | None:
    """What that gives; None where it is not known."""
    method = method_of(machine, value)
    found = machine.call(method, (value,)) if method is not None else None
    return found if isinstance(found, Constant) else None


def combined(machine: Machine, kind: str, left: Elements, right: Elements) -> tuple[Elements, Unknown | None]:
    """The elements that a set operation leaves."""
    if kind == "union":
        return unique(machine, [*left, *right])
    kept: Elements = {}
    sides = [(left, right)] if kind != "symmetric_difference" else [(left, right), (right, left)]
    for mine, others in sides:
        careful = any(is_special(machine, each) for each in (*mine, *others))
        for value in mine:
            held = contains(machine, others, value) if careful or value not in others else True
            if held is None:
                return {}, machine.unknown("whether two elements of a set are equal is not known")
            if held is (kind == "intersection"):
                kept[value] = None
    return kept, None


def counterparts(
    machine: Machine, left: Mapping[Value, object], right: Mapping[Value, object]
) -> list[Value | None] | None:
    """For each key of the one the same key of the other, None where it has none; None where that is not known."""
    both = (*left, *right)
    if not any(is_special(machine, each) or _is_fraction(each) for each in both):
        return [each if each in right else None for each in left]
    found: list[Value | None] = []
    for each in left:
        held = key_of(machine, right, each)
        if held is None and contains(machine, right, each) is None:
            return None
        found.append(held)
    return found
