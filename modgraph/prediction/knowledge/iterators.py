"""itertools, over iterables that are known; what never ends is cut at a limit and open from there."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from modgraph.prediction.knowledge.registry import Arguments, Machine, models
from modgraph.prediction.values import (
    NONE,
    Address,
    Constant,
    IteratorObject,
    TupleValue,
    Unknown,
    Value,
)

_ENDLESS = 512
"""Items given of an iterator without an end; a zip or islice with a finite partner needs no more."""
_LARGEST = 20_000
"""Items a product or permutation may give."""


def _iterator(machine: Machine, items: Iterable[Value], why: Unknown | None = None) -> Address:
    iterator = IteratorObject(list(items))
    iterator.open = why
    return machine.allocate(iterator)


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
    return _chained(machine, arguments.positional)


@models("itertools.chain.from_iterable")
def chain_from_iterable(arguments: Arguments, machine: Machine) -> Value:
    items = machine.iterate(arguments.positional[-1])
    return _iterator(machine, [], items) if isinstance(items, Unknown) else _chained(machine, items)


def _chained(machine: Machine, values: Iterable[Value]) -> Value:
    joined: list[Value] = []
    for value in values:
        items = machine.iterate(value)
        if isinstance(items, Unknown):
            return _iterator(machine, joined, items)
        joined.extend(items)
    return _iterator(machine, joined)


@models("itertools.repeat")
def repeat(arguments: Arguments, machine: Machine) -> Value:
    times = arguments.get(1, "times", NONE)
    count = _number(times)
    if times == NONE:
        return _iterator(machine, [arguments.positional[0]] * _ENDLESS, machine.unknown("itertools.repeat has no end"))
    if count is None:
        return _iterator(machine, [], machine.unknown("how often is repeated is not known", times))
    return _iterator(machine, [arguments.positional[0]] * count)


@models("itertools.count")
def count(arguments: Arguments, machine: Machine) -> Value:
    item, step = arguments.get(0, "start", Constant(0)), arguments.get(1, "step", Constant(1))
    items: list[Value] = []
    for _ in range(_ENDLESS):
        items.append(item)
        item = machine.binary("+", item, step)
    return _iterator(machine, items, machine.unknown("itertools.count has no end"))


@models("itertools.cycle")
def cycle(arguments: Arguments, machine: Machine) -> Value:
    items = machine.iterate(arguments.positional[0])
    if isinstance(items, Unknown):
        return _iterator(machine, [], items)
    endless = itertools.islice(itertools.cycle(items), _ENDLESS)
    return _iterator(machine, endless, machine.unknown("itertools.cycle has no end") if items else None)


@models("itertools.islice")
def slice_of(arguments: Arguments, machine: Machine) -> Value:
    iterable, *bounds = arguments.positional
    numbers = [_number(bound) for bound in bounds]
    if any(number is None and bound != NONE for number, bound in zip(numbers, bounds, strict=True)):
        return _iterator(machine, [], machine.unknown("the bounds of a slice are not known", *bounds))
    source = machine.state.find(iterable, IteratorObject)
    if source is not None and source.open is not None and len(numbers) == 1 and numbers[0] is not None:
        rest = source.items[source.position :]
        if numbers[0] <= len(rest):
            assert isinstance(iterable, Address)
            machine.state.change(iterable, IteratorObject).position += numbers[0]
            return _iterator(machine, rest[: numbers[0]])
    items = machine.iterate(iterable)
    if isinstance(items, Unknown):
        return _iterator(machine, [], items)
    return _iterator(machine, itertools.islice(items, *numbers))


@models("itertools.product", "itertools.permutations", "itertools.combinations")
def combinatorial(arguments: Arguments, machine: Machine) -> Value:
    name = arguments.function.rpartition(".")[2]
    size = _number(arguments.get(1, "r", NONE)) if name != "product" else None
    columns = _columns(machine, arguments.positional if name == "product" else arguments.positional[:1])
    if isinstance(columns, Unknown) or (name == "combinations" and size is None):
        why = columns if isinstance(columns, Unknown) else machine.unknown("how many are combined is not known")
        return _iterator(machine, [], why)
    if name == "product":
        rows: Iterable[tuple[Value, ...]] = itertools.product(
            *columns, repeat=_number(arguments.keywords.get("repeat", NONE)) or 1
        )
    elif name == "permutations":
        rows = itertools.permutations(columns[0], size)
    else:
        rows = itertools.combinations(columns[0], size or 0)
    listed = list(itertools.islice(rows, _LARGEST + 1))
    if len(listed) > _LARGEST:
        return _iterator(machine, [], machine.unknown(f"more than {_LARGEST} combinations"))
    return _iterator(machine, [TupleValue(row) for row in listed])


@models("itertools.groupby")
def group_by(arguments: Arguments, machine: Machine) -> Value:
    """Neighbours with equal keys; each group is there at once."""
    items, key = machine.iterate(arguments.positional[0]), arguments.get(1, "key", NONE)
    if isinstance(items, Unknown):
        return _iterator(machine, [], items)
    groups: list[tuple[Value, list[Value]]] = []
    for item in items:
        found = item if key == NONE else machine.call(key, (item,))
        same = machine.equal(groups[-1][0], found) if groups else False
        if same is None:
            return _iterator(machine, [], machine.unknown("the key of a group is not known", found))
        if not same:
            groups.append((found, []))
        groups[-1][1].append(item)
    return _iterator(machine, [TupleValue((found, _iterator(machine, members))) for found, members in groups])


@models("itertools.pairwise")
def pairwise(arguments: Arguments, machine: Machine) -> Value:
    items = machine.iterate(arguments.positional[0])
    if isinstance(items, Unknown):
        return _iterator(machine, [], items)
    return _iterator(machine, [TupleValue(pair) for pair in itertools.pairwise(items)])


@models("itertools.accumulate")
def accumulate(arguments: Arguments, machine: Machine) -> Value:
    items = machine.iterate(arguments.positional[0])
    if isinstance(items, Unknown):
        return _iterator(machine, [], items)
    function, initial = arguments.get(1, "func", NONE), arguments.keywords.get("initial", NONE)
    pending = items if initial == NONE else [initial, *items]
    totals: list[Value] = pending[:1]
    for item in pending[1:]:
        if function == NONE:
            totals.append(machine.binary("+", totals[-1], item))
        else:
            totals.append(machine.call(function, (totals[-1], item)))
    return _iterator(machine, totals)


@models("itertools.zip_longest")
def zip_longest(arguments: Arguments, machine: Machine) -> Value:
    columns = _columns(machine, arguments.positional)
    if isinstance(columns, Unknown):
        return _iterator(machine, [], columns)
    fill = arguments.keywords.get("fillvalue", NONE)
    rows = itertools.zip_longest(*columns, fillvalue=fill)
    return _iterator(machine, [TupleValue(tuple(row)) for row in rows])


@models("itertools.starmap")
def starmap(arguments: Arguments, machine: Machine) -> Value:
    rows = _columns(machine, [arguments.positional[1]])
    if isinstance(rows, Unknown):
        return _iterator(machine, [], rows)
    columns = _columns(machine, rows[0])
    if isinstance(columns, Unknown):
        return _iterator(machine, [], columns)
    return _iterator(machine, [machine.call(arguments.positional[0], row) for row in columns])


@models("itertools.takewhile", "itertools.dropwhile")
def while_true(arguments: Arguments, machine: Machine) -> Value:
    function, iterable = arguments.positional
    items = machine.iterate(iterable)
    if isinstance(items, Unknown):
        return _iterator(machine, [], items)
    for position, item in enumerate(items):
        verdict = machine.truth(machine.call(function, (item,)))
        if verdict is None:
            return _iterator(machine, [], machine.unknown("a condition is not known", item))
        if not verdict:
            return _iterator(
                machine, items[:position] if arguments.function.endswith("takewhile") else items[position:]
            )
    return _iterator(machine, items if arguments.function.endswith("takewhile") else [])


@models("itertools.tee", "itertools.compress")
def not_interpreted(arguments: Arguments, machine: Machine) -> Value:
    return machine.unknown(f"{arguments.function} is not interpreted")
