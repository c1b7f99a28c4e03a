"""Arithmetic and kin: on Python's own values directly, on everything else through its special methods."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from modgraph.names import last_name
from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.limits import MAX_VALUE_SIZE
from modgraph.prediction.domain.objects import InstanceObject, ListObject, SetObject, TensorObject
from modgraph.prediction.domain.registry import is_argv
from modgraph.prediction.domain.state import room_of
from modgraph.prediction.domain.values import (
    NONE,
    NOT_IMPLEMENTED,
    SIZE,
    Address,
    Choice,
    ClassValue,
    Constant,
    EnumMember,
    FunctionValue,
    GenericAlias,
    KnownClass,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.paths import partial_texts
from modgraph.prediction.paths.possible_tensors import made_of_possible
from modgraph.prediction.paths.recording import operate_on_unknown
from modgraph.prediction.python import (
    annotation_parts,
    classes,
    enumerations,
    exceptions,
    hashing,
    node_text,
    rich_comparison,
    text,
    unordered,
)
from modgraph.prediction.python.items import index_of
from modgraph.prediction.python.plain import number_unknown
from modgraph.prediction.python.stand_ins import Identity, OtherTextError
from modgraph.source.reached import Reached

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "@": operator.matmul,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}

METHODS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "truediv",
    "//": "floordiv",
    "%": "mod",
    "**": "pow",
    "@": "matmul",
    "<<": "lshift",
    ">>": "rshift",
    "&": "and",
    "|": "or",
    "^": "xor",
}


TOO_LONG = Reached(f"a sequence of more than {MAX_VALUE_SIZE} items")


def binary(machine: Machine, symbol: str, left: Value, right: Value) -> Value:
    """left symbol right."""
    if isinstance(left, Constant) and isinstance(right, Constant):
        return constants(machine, symbol, left.value, right.value)
    if isinstance(left, Choice):
        return machine.distribute(left, lambda each: binary(machine, symbol, each, right))
    if isinstance(right, Choice):
        return machine.distribute(right, lambda each: binary(machine, symbol, left, each))
    if symbol == "%" and isinstance(left, Constant) and isinstance(left.value, str):
        return text.percent(machine, left.value, right)
    built_in = _sequences(machine, symbol, left, right)
    if built_in is not None:
        return built_in
    if isinstance(left, EnumMember) or isinstance(right, EnumMember):
        flags = enumerations.combined(machine, symbol, left, right)
        if flags is not None:
            return flags
        plain = [_plain_member(machine, side) for side in (left, right)]
        if plain != [left, right]:
            return binary(machine, symbol, plain[0], plain[1])
    for receiver, other, name in _sides(machine, METHODS[symbol], left, right):
        method = _special(machine, receiver, name)
        if isinstance(method, FunctionValue) and isinstance(other, Unknown) and receiver is right:
            _perhaps(machine, method, receiver, other)
        elif method is not None:
            result = machine.call(method, (receiver, other))
            if isinstance(result, Choice) and NOT_IMPLEMENTED in result.alternatives:
                return machine.unknown(f"whether {symbol} is answered is not known", result)
            if result != NOT_IMPLEMENTED:
                return result
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        if symbol == "+" and (partial_texts.ends_of(left) or partial_texts.ends_of(right)):
            return text.put_together(machine, (left, right))
        if symbol == "/" and machine.data_of is not None:  # one of them may be a path
            sides = [each.value for each in (left, right) if isinstance(each, Constant)]
            machine.file_changes.is_path(each for each in sides if isinstance(each, str))
        return _unknown_result(machine, symbol, left, right)
    first = right if left == NONE else left
    if symbol == "|" and (machine.is_class(first) or isinstance(first, GenericAlias)):
        return annotation_parts.united(left, right)
    names = [_type_name(machine, side) for side in (left, right)]
    if any(
        isinstance(side, Constant) and (side.value is None or isinstance(side.value, str)) for side in (left, right)
    ):
        # Neither the tensor nor the other has answered.
        names = [
            "Tensor" if _is_plain_tensor(machine, side) else name
            for side, name in zip((left, right), names, strict=True)
        ]
    if "?" in names:
        return machine.unknown(f"{symbol} of {names[0]} and {names[1]} is not modelled")
    if symbol == "*" and (repeated := _repeated_text(machine, left, right)) is not None:
        return repeated
    raise machine.raises("TypeError", f"unsupported operand type(s) for {symbol}: '{names[0]}' and '{names[1]}'")


def _perhaps(machine: Machine, method: Value, receiver: Value, other: Unknown) -> None:
    """The method is called, unless what is not known answers for both."""

    def asked() -> Value:
        machine.call(method, (receiver, other))
        return NONE

    machine.fork([lambda: NONE, asked], other.reason)


def _repeated_text(machine: Machine, left: Value, right: Value) -> Value | None:
    """A text repeated as often as an object says by `__index__`; None where it is something else."""
    for one, other in ((left, right), (right, left)):
        is_text = isinstance(one, Constant) and isinstance(one.value, (str, bytes))
        if is_text and isinstance(other, Address) and (number := index_of(machine, other)) is not None:
            return binary(machine, "*", one, Constant(number))
    return None


def _sides(machine: Machine, name: str, left: Value, right: Value) -> list[tuple[Value, Value, str]]:
    """Whose special methods are asked, in order: of the right operand where it is of another class, and first where
    that is derived from the left one's and has a method of its own."""
    mirrored = f"__r{name}__"
    sides = [(left, right, f"__{name}__"), (right, left, mirrored)]
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return sides
    if isinstance(machine.class_of(left), ClassValue) and machine.class_of(left) == machine.class_of(right):
        return sides[:1]
    if machine.state.find(left, TensorObject) is not None and _says_itself(machine, right, mirrored):
        return sides[1:]  # what torch cannot make a tensor of is left to the other
    if rich_comparison.is_derived(machine, right, left) and _special(machine, left, mirrored) != _special(
        machine, right, mirrored
    ):
        sides.reverse()
    return sides


def _unknown_result(machine: Machine, symbol: str, left: Value, right: Value) -> Value:
    """Only sums and multiples can be lists of modules; of numbers, and with any other operator, it is a number."""
    numbers = [side.value for side in (left, right) if isinstance(side, Constant)]
    wanted = {"+": (int, float), "*": (float,)}.get(symbol, ())
    operate_on_unknown(machine, left, right)
    for failure in _failures(symbol, left, right):
        machine.may_refuse(failure)
    if symbol == "*" and any(type(n) is str for n in numbers):
        return replace(number_unknown(machine, "an operand is not known", left, right), text=(("", ""),))
    if symbol in ("-", "/", "//", "%", "**", "<<", ">>", "^", "@") or any(type(n) in wanted for n in numbers):
        return number_unknown(machine, "an operand is not known", left, right)
    return _made(machine, machine.unknown("an operand is not known", left, right), METHODS[symbol], left, right)


def _made(machine: Machine, found: Unknown, name: str, *operands: Value) -> Value:
    return made_of_possible(machine, found, f"torch.Tensor.{name}", Arguments("", operands))


def _failures(symbol: str, left: Value, right: Value) -> list[str]:
    """What the operator raises for some values, though not for all."""
    number = _of_numbers(symbol, left, right)
    known = right if isinstance(left, Unknown) else left
    numeric = isinstance(known, Unknown) or (isinstance(known, Constant) and isinstance(known.value, (int, float)))
    return [each for each in (number, None if numeric else "TypeError") if each is not None]


def _of_numbers(symbol: str, left: Value, right: Value) -> str | None:
    """The same for numbers."""
    if symbol in ("/", "//", "%") and isinstance(right, Unknown):
        return "ZeroDivisionError"
    if symbol in ("<<", ">>") and isinstance(right, Unknown):
        return "ValueError"
    if symbol == "**" and not (isinstance(left, Constant) and left.value):
        negative = not isinstance(right, Constant) or (type(right.value) in (int, float) and right.value < 0)
        return "ZeroDivisionError" if negative else None
    return None


def in_place(machine: Machine, symbol: str, left: Value, right: Value) -> Value:
    """left symbol= right: a list is changed in place, an object by its own method."""
    if isinstance(left, Choice):
        return machine.distribute(left, lambda each: in_place(machine, symbol, each, right))
    if isinstance(left, Address):
        method = _special(machine, left, f"__i{METHODS[symbol]}__")
        made = machine.call(method, (left, right)) if method is not None else NOT_IMPLEMENTED
        if isinstance(made, Choice) and NOT_IMPLEMENTED in made.alternatives:
            return machine.unknown(f"whether {symbol}= is answered is not known", made)
        if made != NOT_IMPLEMENTED:
            return made
        if machine.state.find(left, ListObject) is not None:
            if symbol == "+":
                return _extended(machine, left, right)
            if symbol == "*":
                return _repeated(machine, left, right)
    elif isinstance(left, Unknown):
        machine.expose([left], left)
        if is_argv(left):
            return Unknown("sys.argv is changed", machine.where)
    elif isinstance(left, Choice) and any(isinstance(each, Address) for each in left.alternatives):
        return machine.distribute(left, lambda each: in_place(machine, symbol, each, right))
    return binary(machine, symbol, left, right)


def _extended(machine: Machine, left: Address, right: Value) -> Value:
    """list += iterable."""
    found = machine.iterate(right)
    target = machine.state.change(left, ListObject)
    if isinstance(found, Unknown):
        unordered.forget(target)
        target.open = points_to.either_of(target.open or found, (found,))
    elif target.open is not None:
        unordered.grow(target, found)
        target.open = points_to.either_of(target.open, found)
    elif len(target.items) + len(found) > MAX_VALUE_SIZE:
        target.open = machine.unknown(TOO_LONG)
    else:
        target.items.extend(found)
    return left


def _repeated(machine: Machine, left: Address, right: Value) -> Value:
    """list *= number."""
    if isinstance(right, Choice):
        return machine.distribute(right, lambda each: _repeated(machine, left, each))
    made = _repeat(machine, left, right)
    if made is None:
        return binary(machine, "*", left, right)
    target = machine.state.change(left, ListObject)
    unordered.forget(target)
    found = machine.state.find(made, ListObject)
    if found is not None:
        target.items, target.open = list(found.items), found.open
    else:
        target.items, target.open = [], machine.unknown(TOO_LONG, made)
    return left


def constants(machine: Machine, symbol: str, left: Any, right: Any) -> Value:
    """The operator on Python's own values; too large a result is Unknown."""
    if isinstance(left, Identity) or isinstance(right, Identity):
        return number_unknown(machine, _OF_THE_PROCESS)
    if not _bounded(symbol, left, right):
        return machine.unknown(f"the result of {symbol} is larger than {MAX_VALUE_SIZE}")
    if symbol == "%" and isinstance(left, str):
        return text.percent(machine, left, Constant(right))
    try:
        result = _PYTHON[symbol](left, right)
        made = Constant(result)
        machine.makes(room_of(made))
        return made
    except (ArithmeticError, TypeError, ValueError) as error:
        raise exceptions.as_python(machine, error) from None


_OF_THE_PROCESS = "where an object lies is another number in every process"


def _bounded(symbol: str, left: Any, right: Any) -> bool:
    if symbol == "+" and isinstance(left, (str, bytes)) and isinstance(right, (str, bytes)):
        return len(left) + len(right) <= MAX_VALUE_SIZE
    if symbol == "*":
        for one, other in ((left, right), (right, left)):
            if isinstance(one, (str, bytes)) and isinstance(other, int):
                return len(one) * other <= MAX_VALUE_SIZE
        return not (isinstance(left, int) and isinstance(right, int)) or (
            left.bit_length() + right.bit_length() <= MAX_VALUE_SIZE
        )
    if symbol == "**" and isinstance(left, int) and isinstance(right, int):
        return right < 0 or left.bit_length() * right <= MAX_VALUE_SIZE
    if symbol == "<<" and isinstance(left, int) and isinstance(right, int):
        return left.bit_length() + right <= MAX_VALUE_SIZE
    return True


def _sequences(machine: Machine, symbol: str, left: Value, right: Value) -> Value | None:
    """+ and * of tuples and lists, | & - ^ of sets."""
    state = machine.state
    if symbol in ("+", "*") and any(classes.is_list_of_a_library(machine, side) for side in (left, right)):
        return machine.unknown("what the operators of a library's list give is not known", left, right)
    if symbol == "*":
        for sequence, count in ((left, right), (right, left)):
            repeated = _repeat(machine, sequence, count)
            if repeated is not None:
                return repeated
        return None
    if symbol == "+":
        if isinstance(left, TupleValue) and isinstance(right, TupleValue):
            if len(left.items) + len(right.items) > MAX_VALUE_SIZE:
                return machine.unknown(TOO_LONG)
            machine.makes(len(left.items) + len(right.items))
            return TupleValue(left.items + right.items, SIZE if SIZE in (left.cls, right.cls) else None)
        first = state.find(left, ListObject)
        second = state.find(right, ListObject)
        if first is not None and second is not None:
            if first.open is not None:
                why = points_to.read(machine, first.open, points_to.held_by(second))
                return machine.allocate(ListObject(list(first.items), why))
            if len(first.items) + len(second.items) > MAX_VALUE_SIZE:
                return machine.allocate(ListObject([], machine.unknown(TOO_LONG)))
            return machine.allocate(ListObject(first.items + second.items, second.open))
        if first is not None and isinstance(right, Unknown):
            return machine.allocate(ListObject(list(first.items), points_to.either_of(first.open or right, (right,))))
        return None
    return _sets(machine, symbol, left, right)


def _repeat(machine: Machine, sequence: Value, count: Value) -> Value | None:
    items: list[Value] | None = None
    if isinstance(sequence, TupleValue):
        items = list(sequence.items)
    source = machine.state.find(sequence, ListObject)
    if source is not None:
        if source.open is not None:
            return machine.allocate(ListObject([], points_to.read(machine, source.open, source.items)))
        items = source.items
    if items is None:
        return None
    if isinstance(count, EnumMember):
        count = _plain_member(machine, count)
    if isinstance(count, Address) and (number := index_of(machine, count)) is not None:
        count = Constant(number)
    if isinstance(count, Unknown):
        why = points_to.read(machine, count, items)
        return why if source is None else machine.allocate(ListObject([], why))
    if not isinstance(count, Constant) or not isinstance(count.value, int):
        return None
    if len(items) * count.value > MAX_VALUE_SIZE:
        return machine.unknown(TOO_LONG)
    if source is None:
        machine.makes(len(items) * max(count.value, 0))
    repeated = items * count.value
    if isinstance(sequence, TupleValue):
        return TupleValue(tuple(repeated), SIZE if sequence.cls == SIZE else None)
    return machine.allocate(ListObject(repeated))


def _sets(machine: Machine, symbol: str, left: Value, right: Value) -> Value | None:
    first, second = machine.state.find(left, SetObject), machine.state.find(right, SetObject)
    if first is None or second is None or symbol not in "|&-^":
        return None
    items, why = hashing.combined(machine, _ON_SETS[symbol], first.items, second.items)
    return machine.allocate(SetObject(items, first.open or second.open or why, classes.kind_of_set(machine, first.cls)))


_ON_SETS = {"|": "union", "&": "intersection", "-": "difference", "^": "symmetric_difference"}


def unary(machine: Machine, symbol: str, value: Value) -> Value:
    """-value, +value, ~value, not value."""
    if symbol == "not":
        truth = machine.truth(value)
        return (
            Constant(not truth) if truth is not None else machine.unknown(node_text.why_not_true(machine, value), value)
        )
    if isinstance(value, Choice):
        return machine.distribute(value, lambda each: unary(machine, symbol, each))
    if isinstance(value, Constant):
        try:
            if symbol == "-":
                return Constant(-value.value)
            if symbol == "+":
                return Constant(+value.value)
            return Constant(~value.value)
        except OtherTextError:
            return number_unknown(machine, _OF_THE_PROCESS)
        except TypeError as error:
            raise machine.raises("TypeError", str(error)) from None
    name = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}[symbol]
    method = _special(machine, value, name)
    if method is not None:
        return machine.call(method, (value,))
    inverted = enumerations.inverted(machine, value) if name == "__invert__" else None
    if inverted is not None:
        return inverted
    plain = _plain_member(machine, value)
    if plain is not value:
        return unary(machine, symbol, plain)
    operate_on_unknown(machine, value)
    return _made(machine, machine.unknown(f"{name} is not modelled", value), name, value)


def _is_plain_tensor(machine: Machine, value: Value) -> bool:
    item = machine.state.find(value, TensorObject)
    return item is not None and item.cls is None


def _says_itself(machine: Machine, value: Value, name: str) -> bool:
    """An object of the project with that method, which does not answer for torch's functions as well."""
    item = machine.state.find(value, InstanceObject)
    if item is None or not isinstance(_special(machine, value, name), FunctionValue):
        return False
    return machine.class_attribute(item.cls, "__torch_function__") is None


def _special(machine: Machine, receiver: Value, name: str) -> Value | None:
    """A special method of the receiver's class, to be called with the receiver."""
    if isinstance(receiver, Unknown):
        return None
    cls = machine.class_of(receiver)
    if isinstance(cls, Unknown):
        return None
    method = machine.class_attribute(cls, name)
    return None if isinstance(method, Unknown) else method


def _plain_member(machine: Machine, value: Value) -> Value:
    """The value of a member of an IntEnum, StrEnum or kin, which computes like its value."""
    return value.value if isinstance(value, EnumMember) and classes.is_plain_member(machine, value) else value


def _type_name(machine: Machine, value: Value) -> str:
    cls = machine.class_of(value)
    if isinstance(cls, ClassValue):
        unknown = any(isinstance(base, Unknown) for base in machine.mro(cls))
        return "?" if unknown else last_name(cls.name)
    if isinstance(cls, KnownClass):
        # Of a known class not every method need be modelled; Python's own say themselves what they cannot do.
        module, _, name = cls.name.rpartition(".")
        return name if module == "builtins" else "?"
    return "?"
