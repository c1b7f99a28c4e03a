"""sum and math.prod: of items that are there on some paths only, each path has its own; what is not known may be a
tensor."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.limits import MAX_LOOP_ITERATIONS
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import IteratorObject, TensorObject
from modgraph.prediction.domain.registry import Model, models
from modgraph.prediction.domain.values import Address, Choice, Constant, TupleValue, Unknown, Value
from modgraph.prediction.paths import recording
from modgraph.prediction.python import iteration, producing
from modgraph.prediction.python.counted import count
from modgraph.prediction.python.plain import folded, is_number, number_unknown


@dataclass(frozen=True, slots=True)
class _Kind:
    """What is made of the items, and of none."""

    name: str
    symbol: str
    start: int
    methods: tuple[str, ...]
    operation: str


_SUM = _Kind("sum", "+", 0, ("__add__", "__radd__"), "torch.Tensor.add")
_PRODUCT = _Kind("prod", "*", 1, ("__mul__", "__rmul__"), "torch.Tensor.mul")


def may_be_tensors(machine: Machine, why: Unknown) -> bool:
    """In a run of `forward`: items of which no more is known than this may be tensors."""
    if not machine.is_recording or why.inert:
        return False
    return any(machine.state.find(Address(index), TensorObject) is not None for index in why.may_be)


@models("builtins.sum")
def total(arguments: Arguments, machine: Machine) -> Value:
    return _of_each(_SUM, arguments, machine)


@models("math.prod")
def product(arguments: Arguments, machine: Machine) -> Value:
    given = arguments.positional[0]
    if isinstance(given, TupleValue) and all(isinstance(each, Constant) for each in given.items):
        return _PRODUCT_OF_NUMBERS(arguments, machine)
    return _of_each(_PRODUCT, arguments, machine)


_PRODUCT_OF_NUMBERS: Model = folded(math.prod, "math.prod")


def _of_each(kind: _Kind, arguments: Arguments, machine: Machine) -> Value:
    given, start = arguments.positional[0], arguments.get(1, "start", Constant(kind.start))

    def of(one: Value) -> Value:
        return _of_all(kind, machine, one, start, [*arguments.positional[1:], *arguments.keywords.values()])

    if isinstance(given, Choice) and machine.is_recording and iteration.are_plain(machine, given.alternatives):
        return machine.distribute(given, of)
    return of(given)


def _of_all(kind: _Kind, machine: Machine, given: Value, result: Value, others: list[Value]) -> Value:
    if isinstance(given, Address) and machine.state.find(given, IteratorObject) is not None:
        return _in_turn(kind, machine, given, result)
    items = machine.iterate_in_any_order(given)
    if isinstance(items, Unknown):
        machine.may_be_called([given, *others], items, kind.methods)
        return _with_others(kind, machine, result, items)
    count(machine, len(items))
    for item in items:
        result = machine.binary(kind.symbol, result, item)
    return result


def _in_turn(kind: _Kind, machine: Machine, iterator: Address, result: Value) -> Value:
    """Each item is taken in before the next one is made."""
    for _ in range(MAX_LOOP_ITERATIONS):
        item = producing.take(machine, iterator)
        if item is None:
            why = producing.ended(machine, iterator)
            return result if why is None else _with_others(kind, machine, result, why)
        result = machine.binary(kind.symbol, result, item)
    return number_unknown(machine, f"a {kind.name} of more than {MAX_LOOP_ITERATIONS} items")


def _with_others(kind: _Kind, machine: Machine, result: Value, why: Unknown) -> Value:
    """The result, into which any number of items may go of which no more is known than this."""
    if may_be_tensors(machine, why):
        paths: list[Callable[[], Value]] = [lambda: result, lambda: _with_another(kind, machine, result, why)]
        return machine.fork(paths, why.reason)
    reason = f"{kind.name} of something not known"
    if points_to.is_plain(result) and not why.may_be:
        return number_unknown(machine, reason, why)
    return points_to.read(machine, machine.unknown(reason, why), [result, why])


def _with_another(kind: _Kind, machine: Machine, result: Value, why: Unknown) -> Value:
    """The same with one of them; of a number and a tensor torch makes a tensor."""
    if not is_number(result):
        return machine.binary(kind.symbol, result, why)
    return recording.operation_on_possible(machine, kind.operation, why)
