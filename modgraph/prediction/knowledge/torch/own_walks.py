"""Walks over modules some of which have methods of their own for that, step by step as torch's own methods go.

Source of all: torch/nn/modules/module.py.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Mapping

from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ModuleObject, SetObject
from modgraph.prediction.domain.suspended import Lost, Steps
from modgraph.prediction.domain.values import NONE, Address, Choice, Constant, TupleValue, Unknown, Value
from modgraph.prediction.knowledge.torch import live_walks
from modgraph.prediction.python import producing

_Given = Generator[Value | Lost, None, None]


def _all_of(
    machine: Machine, address: Address, method: str, given: tuple[Value, ...], named: Mapping[str, Value]
) -> _Given:
    """What a method of the module gives, one after the other."""
    found = machine.call(machine.get_attribute(address, method), given, named)
    walking = producing.walk(machine, found, by_demand=True)
    while True:
        try:
            item = next(walking)
        except StopIteration as stop:
            if stop.value is not None:
                yield Lost(stop.value)
            return
        yield item


def _iterator(machine: Machine, address: Address, steps: Callable[[], _Given]) -> Address:
    def body() -> Steps:
        yield from steps()
        return None

    return producing.suspended(machine, lambda: (body(), None), [address], sys.maxsize)


def seconds(machine: Machine, address: Address, method: str, named: Mapping[str, Value]) -> Address:
    """Of the pairs that a method of the module gives, what stands second: `parameters` of `named_parameters`."""

    def steps() -> _Given:
        for item in _all_of(machine, address, method, (), named):
            yield item if isinstance(item, Lost) else machine.get_item(item, Constant(1))

    return _iterator(machine, address, steps)


def modules(machine: Machine, address: Address, memo: Value, prefix: str, unique: Value) -> Address:
    """`named_modules`, which asks each child for its own."""
    given = isinstance(memo, Address) and machine.state.find(memo, SetObject) is not None
    visited = memo if isinstance(memo, Address) and given else machine.allocate(SetObject())

    def steps() -> _Given:
        if address in machine.state.change(visited, SetObject).items:
            return
        if machine.truth(unique) is not False:
            machine.call(machine.get_attribute(visited, "add"), (address,))
        yield TupleValue((Constant(prefix), address))
        for entry in live_walks.entries(machine, address, "modules"):
            if isinstance(entry, Lost):
                yield entry
                continue
            name, child = entry
            if isinstance(child, (Unknown, Choice)):
                yield Lost(Unknown(child.reason, child.where))
            elif isinstance(child, Address):
                path = Constant(f"{prefix}.{name}" if prefix else name)
                yield from _all_of(machine, child, "named_modules", (visited, path, unique), {})

    return _iterator(machine, address, steps)


def members(machine: Machine, address: Address, held_by: Value, prefix: Value, recurse: bool, unique: Value) -> Address:
    """`_named_members`: what a function gives of each module, by its whole name."""

    def owners() -> _Given:
        if recurse:
            yield from _all_of(machine, address, "named_modules", (), {"prefix": prefix, "remove_duplicate": unique})
        else:
            yield TupleValue((prefix, address))

    def steps() -> _Given:
        seen: set[Value] = set()
        for owner in owners():
            if isinstance(owner, Lost):
                yield owner
                continue
            path, module = (machine.get_item(owner, Constant(place)) for place in (0, 1))
            pairs = machine.iterate(machine.call(held_by, (module,)))
            if isinstance(pairs, Unknown) or machine.state.find(module, ModuleObject) is None:
                yield Lost(machine.unknown("what a module holds is not known", module))
                continue
            for pair in pairs:
                name, value = (machine.get_item(pair, Constant(place)) for place in (0, 1))
                if value == NONE or value in seen:
                    continue
                if machine.truth(unique) is not False:
                    seen.add(value)
                yield TupleValue((_joined(machine, path, name), value))

    return _iterator(machine, address, steps)


def _joined(machine: Machine, path: Value, name: Value) -> Value:
    if not isinstance(path, Constant) or not isinstance(name, Constant):
        return machine.unknown("a name is not known", path, name)
    return Constant(f"{path.value}.{name.value}") if path.value else name
