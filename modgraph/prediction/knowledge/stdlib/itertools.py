"""itertools, over iterables that are known; what never ends is cut at a limit and open from there."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from modgraph.names import last_name
from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.limits import ITEMS_OF_A_TUPLE, MAX_VALUE_SIZE
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import IteratorObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.suspended import Lost, Steps
from modgraph.prediction.domain.values import NONE, Address, Choice, Constant, TupleValue, Unknown, Value
from modgraph.prediction.python import producing
from modgraph.source.reached import Reached

_ENDLESS = 512
"""Items given of an iterator without an end; a zip or islice with a finite partner needs no more."""
_UNITS_OF_A_SUM = 3
_LARGEST = 20_000
"""Items a product or permutation may give."""
_LARGEST_IN_ALL = 1_000_000
"""Items that those items may hold."""


def _iterator(machine: Machine, items: Iterable[Value], why: Unknown | None = None) -> Address:
    iterator = IteratorObject(list(items))
    machine.makes(len(iterator.items))
    iterator.open = why
    return machine.allocate(iterator)


def _tuples(machine: Machine, rows: Sequence[tuple[Value, ...]]) -> list[Value]:
    machine.makes(sum(ITEMS_OF_A_TUPLE + len(row) for row in rows))
    return [TupleValue(row) for row in rows]


def _columns(machine: Machine, values: Iterable[Value]) -> list[list[Value]] | Unknown:
    columns = []
    for value in values:
        items = machine.iterate(value)
        if isinstance(items, Unknown):
            return items
        columns.append(items)
    return columns


def _number(value: Value) -> int | None:
    return value.value if isinstance(value, Constant) and isinstance(value.value, int) else None


@models("itertools.chain")
def chain(arguments: Arguments, machine: Machine) -> Value:
    given = machine.allocate(IteratorObject(list(arguments.positional), 0, arguments.open))
    return producing.made_by(machine, lambda columns: _chained(machine, columns[0]), [given], *arguments.positional)


@models("itertools.chain.from_iterable")
def chain_from_iterable(arguments: Arguments, machine: Machine) -> Value:
    return producing.made_by(machine, lambda columns: _chained(machine, columns[0]), arguments.positional[-1:])


def _chained(machine: Machine, iterables: Address) -> Steps:
    while (iterable := producing.take(machine, iterables)) is not None:
        column = producing.iterator_of(machine, iterable)
        while (item := producing.take(machine, column)) is not None:
            yield item
        why = producing.ended(machine, column)
        if why is not None:
            yield Lost(why)
    return producing.ended(machine, iterables)


@models("itertools.repeat")
def repeat(arguments: Arguments, machine: Machine) -> Value:
    times = arguments.get(1, "times", NONE)
    count = _number(times)
    if times == NONE:
        return _iterator(machine, [arguments.positional[0]] * _ENDLESS, machine.unknown("itertools.repeat has no end"))
    if count is None:
        why = machine.unknown("how often is repeated is not known", times)
        return _iterator(machine, [], points_to.read(machine, why, arguments.positional[:1]))
    if count > MAX_VALUE_SIZE:
        why = machine.unknown(Reached(f"more than {MAX_VALUE_SIZE} repetitions"))
        return _iterator(machine, [], points_to.read(machine, why, arguments.positional[:1]))
    return _iterator(machine, [arguments.positional[0]] * count)


@models("itertools.count")
def count(arguments: Arguments, machine: Machine) -> Value:
    item, step = arguments.get(0, "start", Constant(0)), arguments.get(1, "step", Constant(1))
    machine.spend(_ENDLESS * _UNITS_OF_A_SUM)
    items: list[Value] = []
    for _ in range(_ENDLESS):
        items.append(item)
        item = machine.binary("+", item, step)
    return _iterator(machine, items, machine.unknown("itertools.count has no end"))


@models("itertools.cycle")
def cycle(arguments: Arguments, machine: Machine) -> Value:
    items = machine.iterate(arguments.positional[0])
    if isinstance(items, Unknown):
        return _iterator(machine, [], points_to.read_within(machine, items, arguments.positional[:1]))
    endless = itertools.islice(itertools.cycle(items), _ENDLESS)
    return _iterator(machine, endless, machine.unknown("itertools.cycle has no end") if items else None)


@models("itertools.islice")
def slice_of(arguments: Arguments, machine: Machine) -> Value:
    """It takes no more from the other iterator than it comes to."""
    iterable, *bounds = arguments.positional
    numbers = [_number(bound) for bound in bounds]
    if any(number is None and bound != NONE for number, bound in zip(numbers, bounds, strict=True)):
        why = machine.unknown("the bounds of a slice are not known", *bounds)
        why = points_to.read_within(machine, why, [iterable])
        machine.expose([iterable], why)
        return _iterator(machine, [], why)
    if any(number is not None and number < 0 for number in numbers) or numbers[2:] == [0]:
        message = "Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize."
        raise machine.raises("ValueError", message)
    given = slice(*numbers)
    start, stop, stride = given.start or 0, given.stop, given.step or 1

    def steps(columns: list[Address]) -> Steps:
        count, wanted = 0, start
        while stop is None or count < stop:
            item = producing.take(machine, columns[0])
            if item is None:
                return producing.ended(machine, columns[0])
            count += 1
            if count > wanted:
                wanted += stride
                yield item
        return None

    return producing.made_by(machine, steps, [iterable])


@models("itertools.product", "itertools.permutations", "itertools.combinations")
def combinatorial(arguments: Arguments, machine: Machine) -> Value:
    name = last_name(arguments.function)
    number = arguments.keywords.get("repeat", Constant(1)) if name == "product" else arguments.get(1, "r", NONE)
    size = _number(number)
    given = arguments.positional if name == "product" else arguments.positional[:1]
    columns = _columns(machine, given)
    if isinstance(columns, Unknown) or (size is None and (name != "permutations" or number != NONE)):
        why = columns if isinstance(columns, Unknown) else machine.unknown("how many are combined is not known")
        return _iterator(machine, [], points_to.read_within(machine, why, given))
    width = len(columns) * (size or 0) if name == "product" else size or len(columns[0])
    if width > _LARGEST:
        why = machine.unknown(Reached(f"combinations of more than {_LARGEST} items"))
        return _iterator(machine, [], points_to.read_within(machine, why, given))
    largest = min(_LARGEST, _LARGEST_IN_ALL // max(width, 1))
    if name == "product":
        rows: Iterable[tuple[Value, ...]] = itertools.product(*columns, repeat=size or 0)
    elif name == "permutations":
        rows = itertools.permutations(columns[0], size)
    else:
        rows = itertools.combinations(columns[0], size or 0)
    listed = list(itertools.islice(rows, largest + 1))
    if len(listed) > largest:
        why = machine.unknown(Reached(f"more than {largest} combinations"))
        return _iterator(machine, [], points_to.read_within(machine, why, given))
    return _iterator(machine, _tuples(machine, listed))


@models("itertools.pairwise")
def pairwise(arguments: Arguments, machine: Machine) -> Value:
    def steps(columns: list[Address]) -> Steps:
        last = producing.take(machine, columns[0])
        while last is not None and (item := producing.take(machine, columns[0])) is not None:
            pair, last = TupleValue((last, item)), item
            yield pair
        return producing.ended(machine, columns[0])

    return producing.made_by(machine, steps, arguments.positional[:1])


def _is_no_none(value: Value) -> bool:
    return isinstance(value, Choice) and NONE not in value.alternatives


def _accumulated(machine: Machine, function: Value, total: Value, item: Value) -> Value:
    if isinstance(function, Choice):
        return machine.distribute(function, lambda each: _accumulated(machine, each, total, item))
    return machine.binary("+", total, item) if function == NONE else machine.call(function, (total, item))


@models("itertools.accumulate")
def accumulate(arguments: Arguments, machine: Machine) -> Value:
    function, initial = arguments.get(1, "func", NONE), arguments.keywords.get("initial", NONE)

    def steps(columns: list[Address]) -> Steps:
        total: Value | None = None
        if isinstance(initial, (Unknown, Choice)) and not _is_no_none(initial):
            yield Lost(machine.unknown("whether there is an initial value is not known", initial))
        elif initial != NONE:
            total = initial
            yield total
        for item in producing.walked(machine, columns[0]):
            if isinstance(item, Lost):
                yield item
                total = total if total is not None else item.why
            elif total is None:
                total = item
                yield total
            else:
                total = _accumulated(machine, function, total, item)
                yield total
        return None

    return producing.made_by(machine, steps, arguments.positional[:1], function)


@models("itertools.zip_longest")
def zip_longest(arguments: Arguments, machine: Machine) -> Value:
    columns = _columns(machine, arguments.positional)
    fill = arguments.keywords.get("fillvalue", NONE)
    if isinstance(columns, Unknown):
        return _iterator(machine, [], points_to.read_within(machine, columns, (*arguments.positional, fill)))
    return _iterator(machine, _tuples(machine, list(itertools.zip_longest(*columns, fillvalue=fill))))


@models("itertools.starmap")
def starmap(arguments: Arguments, machine: Machine) -> Value:
    function = arguments.positional[0]

    def steps(columns: list[Address]) -> Steps:
        for row in producing.walked(machine, columns[0]):
            if isinstance(row, Lost):
                yield row
                continue
            given = machine.iterate(row)
            if isinstance(given, Unknown):
                yield Lost(given)
                yield machine.invoke(function, Arguments("", (), {}, machine.where, given))
            else:
                yield machine.call(function, given)
        return None

    return producing.made_by(machine, steps, arguments.positional[1:2], function)


@models("itertools.takewhile", "itertools.dropwhile")
def while_true(arguments: Arguments, machine: Machine) -> Value:
    function, iterable = arguments.positional
    takes = arguments.function.endswith("takewhile")

    def steps(columns: list[Address]) -> Steps:
        holds = True
        for item in producing.walked(machine, columns[0]):
            if isinstance(item, Lost):
                yield item
                continue
            verdict = machine.truth(machine.call(function, (item,))) if holds else False
            if verdict is None:
                yield Lost(machine.unknown("a condition is not known", item))
            elif verdict is False and takes:
                return None
            holds = verdict is not False
            if verdict is None or holds is takes:
                yield item
        return None

    return producing.made_by(machine, steps, [iterable], function)


@models("itertools.compress")
def compress(arguments: Arguments, machine: Machine) -> Value:
    def steps(columns: list[Address]) -> Steps:
        found = producing.rows(machine, columns)
        while True:
            try:
                row = next(found)
            except StopIteration as stop:
                why: Unknown | None = stop.value
                return why
            keeps = machine.truth(row[1])
            if keeps is None:
                yield Lost(machine.unknown("what is kept is not known", row[1]))
            if keeps is not False:
                yield row[0]

    return producing.made_by(machine, steps, arguments.positional[:2])


@models("itertools.tee")
def tee(arguments: Arguments, machine: Machine) -> Value:
    """What its iterators share is not followed."""
    why = machine.unknown(f"{arguments.function} is not interpreted")
    column = producing.iterator_of(machine, arguments.positional[0])
    producing.asked_unknown_times(machine, column, why)
    return points_to.read(machine, why, arguments.positional[:1])
