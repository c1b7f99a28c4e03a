"""itertools.groupby: neighbours with equal keys, each group as an iterator over what the groups share."""

from __future__ import annotations

from dataclasses import dataclass

from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ListObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.suspended import Lost, Steps
from modgraph.prediction.domain.values import FALSE, NONE, TRUE, Address, Constant, TupleValue, Unknown, Value
from modgraph.prediction.knowledge.stdlib import sorting
from modgraph.prediction.python import producing


@dataclass(frozen=True)
class _Groups:
    """What the iterator over groups and the groups themselves share: the item that was taken last, and its key."""

    machine: Machine
    source: Address
    key: Value
    shared: Address
    """A list on the heap, as paths that part have one each: number of the group that is not over, whether an item
    waits, and the item and its key, once there is one."""

    def read(self) -> tuple[Value, Value, Value, Value] | Unknown | None:
        """None before the first item."""
        held = self.machine.state.find(self.shared, ListObject)
        if held is None or held.open is not None or len(held.items) not in (2, 4):
            return self.machine.unknown("how far the groups have come is not known")
        if len(held.items) == 2:
            return None
        number, waits, item, key = held.items
        return number, waits, item, key

    def write(self, *values: Value) -> None:
        self.machine.state.change(self.shared, ListObject).items = list(values)

    def take(self, number: Value) -> Value | None:
        """The next item waits then; its key. None where there is none."""
        item = producing.take(self.machine, self.source)
        if item is None:
            return None
        found = sorting.made_by(self.machine, self.key, item)
        self.write(number, TRUE, item, found)
        return found

    def number(self) -> Constant:
        held = self.machine.state.find(self.shared, ListObject)
        number = held.items[0] if held is not None and held.items else NONE
        return Constant(number.value + 1 if isinstance(number, Constant) and isinstance(number.value, int) else 0)

    def steps(self) -> Steps:
        target: Value | None = None
        while True:
            now = self.read()
            if isinstance(now, Unknown):
                yield Lost(now)
                return now
            number = self.number()
            if now is None:
                found = self.take(number)
            else:
                found = now[3]
                self.write(number, *now[1:])
            while target is not None and found is not None:
                same = self.machine.equal(target, found)
                if same is None:
                    why = self._unknown_key(found)
                    yield Lost(why)
                    return self._others(why)
                if not same:
                    break
                found = self.take(number)
            if found is None:
                return self._others(producing.ended(self.machine, self.source))
            target = found
            yield TupleValue((found, self._group(number, found)))

    def _unknown_key(self, found: Value) -> Unknown:
        """Why it is not known which items stand in a group, which the key itself is not."""
        held = self.machine.state.find(self.shared, ListObject)
        waiting = [] if held is None else held.items[2:3]
        left = [value for value in producing.left_in(self.machine, self.source) if value != self.source]
        why = self.machine.unknown("the key of a group is not known", found)
        return points_to.read_within(self.machine, why, [*waiting, *left])

    def _others(self, why: Unknown | None) -> Unknown | None:
        """Why there may be groups that are not known: what is done with an item may be done with theirs."""
        if why is not None:
            left = [value for value in producing.left_in(self.machine, self.source) if value != self.source]
            self.machine.may_be_called(left, why, ("__eq__",))
            self.machine.may_be_called([self.key], why, ("__call__",))
            self.machine.may_be_called([self.source], why, ("__next__",))
        return why

    def _group(self, number: Value, target: Value) -> Address:
        changes = (self.shared, self.source, self.key)
        return producing.made_by(self.machine, lambda _: self.members(number, target), [], *changes)

    def members(self, number: Value, target: Value) -> Steps:
        while True:
            now = self.read()
            if now is None or isinstance(now, Unknown):
                if now is not None:
                    yield Lost(now)
                return now
            current, waits, item, found = now
            if current != number:
                return None
            if waits == FALSE:
                taken = self.take(number)
                if taken is None:
                    return self._others(producing.ended(self.machine, self.source))
                now = self.read()
                if now is None or isinstance(now, Unknown):
                    return now
                item, found = now[2], now[3]
            same = self.machine.equal(target, found)
            if same is None:
                why = self._unknown_key(found)
                yield Lost(why)
                return self._others(why)
            if not same:
                return None
            self.write(number, FALSE, item, found)
            yield item


@models("itertools.groupby")
def group_by(arguments: Arguments, machine: Machine) -> Value:
    """A group is over as soon as the next one is asked for."""
    source = producing.iterator_of(machine, arguments.get(0, "iterable", NONE))
    shared = machine.allocate(ListObject([Constant(0), FALSE]))
    groups = _Groups(machine, source, arguments.get(1, "key", NONE), shared)
    return producing.made_by(machine, lambda _: groups.steps(), [], shared, source, groups.key)
