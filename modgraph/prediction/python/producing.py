"""Iterators that make each item when it is asked for: generators, zip and kin, walks over lists that change meanwhile.

The code behind an iterator is suspended where it has given an item, and goes on in the state of whoever asks for the
next one. It can go on once: where two paths part and both ask, the second one's answer is not known, and neither is
what the code would have done for it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass

from modgraph.prediction.domain import dict_views, points_to
from modgraph.prediction.domain.calling import Raised
from modgraph.prediction.domain.frames import EnoughError, Frame
from modgraph.prediction.domain.limits import MAX_CALL_DEPTH, MAX_LOOP_ITERATIONS, MAX_YIELDED, TOO_DEEP, TooDeepError
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import (
    STALE,
    DictObject,
    Ended,
    EnvironmentObject,
    HeapObject,
    IteratorObject,
    ListObject,
    SetObject,
    Source,
    ViewObject,
)
from modgraph.prediction.domain.state import State
from modgraph.prediction.domain.suspended import Lost, Steps, Walk
from modgraph.prediction.domain.values import (
    NONE,
    Address,
    KnownClass,
    Unknown,
    Value,
)
from modgraph.prediction.paths import havoc, several
from modgraph.prediction.paths.widening import widen
from modgraph.prediction.python import iterables, steady, unordered
from modgraph.prediction.python.may_items import Rest, rest_of
from modgraph.source.reached import Reached


@dataclass(slots=True)
class _Running:
    steps: Steps
    frame: Frame | None
    given: int = 0
    sent: bool = False
    """Something was sent to it: a `yield` is not always worth None."""
    busy: bool = False
    noted: bool = False
    """It stands in `left_open`, or in one of `driving`."""


@dataclass(frozen=True, slots=True, eq=False)
class Suspended(Source):
    """Code that makes the items one after another; it begins when the first is asked for."""

    start: Callable[[], tuple[Steps, Frame | None]]
    changes: tuple[Value, ...] = ()
    """What the code may change, or reaches it: what is open where it cannot be followed."""
    most: int = MAX_LOOP_ITERATIONS
    """Items it is asked for by what wants all of them."""
    forget: Callable[[Unknown], None] | None = None
    """Makes the names unknown that the code binds outside of itself."""

    def step(self, machine: Machine, address: Address) -> Value | Ended:
        running = machine.state.change(address, IteratorObject).running
        if running is None:
            running = _Running(*self.start())
        item = machine.state.change(address, IteratorObject)
        item.running = running
        if running.busy:
            raise machine.raises("ValueError", "generator already executing")
        if running.given != item.taken:
            return self._given_up(machine, running, "an iterator that another path has taken from is not followed")
        if machine.depth >= MAX_CALL_DEPTH:
            raise TooDeepError(TOO_DEEP)
        item.taken += 1
        running.given += 1
        found = _resumed(machine, running, lambda: next(running.steps))
        _note_open(machine, address, running, found)
        return _rest(machine, running, found.why) if isinstance(found, Lost) else found

    def references(self) -> tuple[Value, ...]:
        return self.changes

    def _given_up(self, machine: Machine, running: _Running, reason: str) -> Ended:
        why = machine.unknown(reason)
        reached = list(self.changes)
        if running.frame is not None and running.frame.function is not None:
            reached.append(running.frame.function)
        for value in self.changes:
            environment = machine.state.find(value, EnvironmentObject)
            while environment is not None:
                reached.extend(environment.names.values())
                environment = machine.state.find(environment.parent, EnvironmentObject)
        machine.expose(reached, why)
        self.forgotten(why)
        return Ended(why)

    def forgotten(self, why: Unknown) -> None:
        if self.forget is not None:
            self.forget(why)


def _note_open(machine: Machine, address: Address, running: _Running, found: object) -> None:
    function = running.frame.function if running.frame is not None else None
    if running.noted or isinstance(found, Ended) or function is None or not function.definition.ends_with_effects:
        return
    running.noted = True
    (machine.driving[-1] if machine.driving else machine.left_open).append(address)


def settle_open(machine: Machine) -> None:
    """Generators that were begun and that no name stands for may be given up; one that a loop runs through is held."""
    waiting, machine.left_open = machine.left_open, []
    held = set(_named(machine)) if waiting else set()
    for address in waiting:
        item = machine.state.find(address, IteratorObject) if havoc.is_there(machine, address.index) else None
        running = item.running if item is not None else None
        if item is None or running is None or running.given != item.taken:
            continue
        if running.busy or address in held:
            machine.left_open.append(address)
        else:
            _may_be_closed(machine, address)


def _named(machine: Machine) -> Iterator[Value]:
    for frame in machine.frames:
        environment = machine.state.find(frame.environment, EnvironmentObject)
        if environment is not None:
            yield from environment.names.values()
    yield from machine.state.globals.values()
    yield from machine.base.globals.values()


def _may_be_closed(machine: Machine, address: Address) -> None:
    why = machine.unknown("when a generator that was begun is given up is not known")

    def ends() -> Value:
        close(machine, address)
        return NONE

    machine.fork([lambda: NONE, ends], why.reason)
    if machine.state.find(address, IteratorObject) is not None:
        _finish(machine, address, why)


def take_held(machine: Machine, iterator: Address, begun: list[Address]) -> Value | None:
    """The next item, for a loop that holds the iterators which that begins."""
    machine.driving.append(begun)
    try:
        return take(machine, iterator)
    finally:
        machine.driving.pop()


def _resumed(machine: Machine, running: _Running, resume: Callable[[], Value | Lost]) -> Value | Lost | Ended:
    """Runs the code up to where it gives something."""
    frames, depth = len(machine.frames), machine.depth
    running.busy = True
    if running.frame is not None:
        running.frame.undecided = machine.undecided
        machine.frames.append(running.frame)
        machine.depth += 1
    try:
        return resume()
    except StopIteration as stop:
        return Ended(stop.value, running.frame.returned if running.frame is not None else None)
    finally:
        running.busy = False
        del machine.frames[frames:]
        machine.depth = depth


def _rest(machine: Machine, running: _Running, why: Unknown) -> Ended:
    """What follows runs once, to see what it touches: how far it really comes is not known."""
    before, since, where = machine.state, machine.base.next_index, machine.where
    given: list[Value] = []
    machine.state = before.fork()
    machine.undecided += 1
    try:
        for _ in range(MAX_YIELDED):
            if running.frame is not None and running.sent:
                running.frame.sent = points_to.nowhere(why)
            found = _resumed(machine, running, lambda: next(running.steps))
            if isinstance(found, Ended):
                break
            if not isinstance(found, Lost):
                given.append(found)
    except EnoughError:
        pass  # it has given as many as were asked for
    except Raised as raised:
        machine.may_raise(raised)
    finally:
        machine.undecided -= 1
    if running.frame is not None:
        given.extend(running.frame.yields or ())  # of statements that are not suspended where they yield
    after, machine.state = machine.state, before
    widen(before, after, why.reason, why.where or where, since)
    return Ended(points_to.further(why, given))


@dataclass(frozen=True, slots=True, eq=False)
class _Cursor(Source):
    """A place in a list, which may change behind it and before it."""

    items: Address

    def step(self, machine: Machine, address: Address) -> Value | Ended:
        item = machine.state.change(address, IteratorObject)
        held = machine.state.read(self.items)
        assert isinstance(held, ListObject)
        if item.taken == STALE:
            return Ended(machine.unknown("how many items were taken from an iterator is not known"))
        if item.taken < len(held.items):
            item.taken += 1
            return held.items[item.taken - 1]
        return Ended(held.open)

    def references(self) -> tuple[Value, ...]:
        return (self.items,)


@dataclass(frozen=True, slots=True, eq=False)
class _ByNext(Source):
    """An iterator that is written as a class."""

    owner: Value
    most: int = MAX_YIELDED

    def step(self, machine: Machine, address: Address) -> Value | Ended:  # noqa: ARG002 - it keeps its own place
        partial: list[tuple[Raised, State]] = []
        machine.guards.append(partial)
        try:
            found = machine.call(machine.get_attribute(self.owner, "__next__"))
        except Raised as raised:
            if raised.name != _STOP:
                raise
            return Ended()
        finally:
            machine.guards.pop()
        if machine.guards:
            machine.guards[-1].extend(each for each in partial if each[0].name != _STOP)
        if any(raised.name == _STOP for raised, _ in partial):
            why = machine.unknown("how many items an iterator gives is not known")
            machine.expose([self.owner], why)
            return Ended(why)
        return found

    def references(self) -> tuple[Value, ...]:
        return (self.owner,)


_STOP = "builtins.StopIteration"


# ---- for whoever takes -----------------------------------------------------------------------------------------------


def take(machine: Machine, address: Address) -> Value | None:
    """The next item of an iterator; None where there is none or none is known, and then its `open` says why.

    Raises:
        Raised: the code that makes it raises.
    """
    item = machine.state.change(address, IteratorObject)
    if item.position < len(item.items):
        item.position += 1
        return item.items[item.position - 1]
    if item.source is None:
        return None
    machine.step()
    try:
        found = item.source.step(machine, address)
    except Raised:
        _finish(machine, address, None)
        raise
    if isinstance(found, Ended):
        _finish(machine, address, found.why, found.value)
        return None
    return found


def can_go_on(machine: Machine, address: Address) -> bool:
    """It is a generator whose code is suspended, or has not begun."""
    item = machine.state.change(address, IteratorObject)
    return item.position == len(item.items) and isinstance(item.source, Suspended)


def has_begun(machine: Machine, address: Address) -> bool:
    return machine.state.change(address, IteratorObject).running is not None


def go_on(machine: Machine, address: Address, sent: Value = NONE, thrown: Value | None = None) -> Value | None:
    """generator.send(...) and generator.throw(...) of one that can: the next item; None where there is none.

    Raises:
        Raised: the code that makes it raises; TypeError, where something is sent before the first item.
    """
    running = machine.state.change(address, IteratorObject).running
    if running is None:
        raise machine.raises("TypeError", "can't send non-None value to a just-started generator")
    frame: Frame | None = running.frame
    if frame is None:
        return take(machine, address)
    frame.sent, frame.thrown = sent, thrown
    running.sent = running.sent or sent != NONE
    try:
        return take(machine, address)
    finally:
        frame.sent, frame.thrown = NONE, None


def close(machine: Machine, iterator: Address) -> None:
    """generator.close(): what stands in `finally` around the place where it is suspended runs."""
    item = machine.state.find(iterator, IteratorObject)
    if item is None or not isinstance(item.source, Suspended):
        return
    running = item.running
    if running is not None and running.frame is not None and running.given == item.taken and not running.busy:
        leaving = machine.raises("GeneratorExit", "")
        try:
            _resumed(machine, running, lambda: running.steps.throw(leaving))
        except Raised as raised:
            if raised is not leaving and raised.name != leaving.name:
                raise
    _finish(machine, iterator, None)


def _finish(machine: Machine, address: Address, why: Unknown | None, value: Value | None = None) -> None:
    item = machine.state.change(address, IteratorObject)
    item.returned = value
    item.source = item.running = None
    item.open = item.open or why


def drain(machine: Machine, address: Address) -> tuple[list[Value], Unknown | None]:
    """Everything that is left in an iterator, and why there may be more."""
    item = machine.state.change(address, IteratorObject)
    found = item.items[item.position :]
    item.position = len(item.items)
    source = item.source
    begun: list[Address] = []
    while source is not None:
        given = take_held(machine, address, begun)
        if given is None:
            break
        found.append(given)
        if isinstance(source, (Suspended, _ByNext)) and len(found) > source.most:
            _finish(machine, address, machine.unknown(Reached(f"a generator of more than {source.most} items")))
            break
    machine.left_open.extend(begun)
    return found, ended(machine, address)


def drain_maybe(
    machine: Machine, iterator: Address, why: Value, ends: Callable[[Value], bool | None] = lambda _: None
) -> list[Value]:
    """What is left, item by item, where it is not known after which no more is asked for.

    Args:
        ends: whether no more is asked for after an item.
    """
    found: list[Value] = []
    reason = machine.unknown("", why).reason or "depends on which item is the last that is asked for"

    def further() -> Value:
        while (item := take(machine, iterator)) is not None:
            found.append(item)
            is_last = ends(item)
            if is_last:
                break
            if is_last is None and len(found) < _MOST_ENDS:
                machine.fork([lambda: NONE, further], reason)
                break
        return NONE

    machine.fork([lambda: NONE, further], reason)
    return found


_MOST_ENDS = 64
"""Places at which a walk may have ended that are followed apart: each is a path inside the one before."""


def walk(machine: Machine, value: Value, by_demand: bool = False, whole: bool = False) -> Walk:
    """The items of an iterable, each taken when it is asked for; returns why there may be others.

    Args:
        by_demand: who walks is itself asked for each item; only then the first ones of what has no end are of use.
        whole: items that may not be there are given too, `Several` among them.

    Raises:
        Raised: what Python would raise, for a dict or set that has another size than before too.
    """
    item = machine.state.read(value) if isinstance(value, Address) else None
    if isinstance(value, Address) and isinstance(item, IteratorObject):
        return (yield from _left(machine, value, by_demand, whole))
    if isinstance(value, Address) and is_plain(machine, value, item):
        return (yield from _inside(machine, value, whole))
    own = iterables.own_iterator(machine, value)
    if own is not None:
        return (yield from walk(machine, iterator_by_next(machine, value) if own == value else own, by_demand, whole))
    if by_demand and several.has_iterator(machine, value):
        why = machine.unknown("which iterator is asked is not known", value)
        machine.expose([value], why)
        return why
    found = machine.iterate(value)
    if isinstance(found, Unknown):
        return found
    yield from found
    return None


def is_plain(machine: Machine, value: Address, item: HeapObject | None) -> bool:
    """A list, dict or set whose class has no `__iter__` of its own."""
    if not isinstance(item, (ListObject, DictObject, SetObject)):
        return False
    own = isinstance(getattr(item, "cls", None), KnownClass)
    return own or not iterables.overrides(machine, value)


def in_turn(found: list[Value]) -> Walk:
    """A walk over these."""
    yield from found
    return None


def _left(machine: Machine, iterator: Address, by_demand: bool, whole: bool) -> Walk:
    item = machine.state.find(iterator, IteratorObject)
    if item is not None and item.open is not None and item.source is None and not by_demand:
        return item.open
    source, count = item.source if item is not None else None, 0
    whole = whole and item is not None and item.open is None
    begun: list[Address] = []
    try:
        while (found := take(machine, iterator) if by_demand else take_held(machine, iterator, begun)) is not None:
            yield found
            count += 1
            if isinstance(source, (Suspended, _ByNext)) and count > source.most:
                return machine.unknown(Reached(f"a generator of more than {source.most} items"))
    finally:
        machine.left_open.extend(begun)
    if whole and isinstance(source, Rest):
        return (yield from in_turn(list(source.items)))
    return ended(machine, iterator)


def _places(machine: Machine, address: Address) -> Walk:
    held = machine.state.read(address)
    assert isinstance(held, ListObject)
    place = 0
    while True:
        held = machine.state.read(address)
        assert isinstance(held, ListObject)
        if place >= len(held.items):
            return held.open
        yield held.items[place]
        place += 1


# ---- for whoever makes -----------------------------------------------------------------------------------------------


def suspended(
    machine: Machine,
    start: Callable[[], tuple[Steps, Frame | None]],
    changes: Iterable[Value] = (),
    most: int = MAX_LOOP_ITERATIONS,
    forget: Callable[[Unknown], None] | None = None,
) -> Address:
    """A new iterator over what the code gives that `start` begins."""
    return machine.allocate(IteratorObject(source=Suspended(start, tuple(changes), most, forget)))


def iterator_of(machine: Machine, value: Value) -> Address:
    """iter(value).

    Raises:
        Raised: TypeError, where it is no iterable.
    """
    item = machine.state.read(value) if isinstance(value, Address) else None
    if isinstance(value, Address) and isinstance(item, IteratorObject):
        return value
    if isinstance(value, Address) and is_plain(machine, value, item):
        return iterator_over(machine, value)
    own = iterables.own_iterator(machine, value)
    if own is not None:
        return iterator_by_next(machine, value) if own == value else iterator_of(machine, own)
    found = machine.iterate(value)
    if isinstance(found, Unknown):
        return machine.allocate(IteratorObject([], 0, found))
    return machine.allocate(IteratorObject(found))


def iterator_over(machine: Machine, container: Address) -> Address:
    """What the `__iter__` of list, dict and set themselves gives."""
    item = machine.state.read(container)
    if isinstance(item, ListObject) and item.open is not None:
        return machine.allocate(IteratorObject(list(item.items), 0, item.open))
    if isinstance(item, ListObject) and item.cls not in dict_views.VIEWS:
        return machine.allocate(IteratorObject(source=_Cursor(container)))
    inside = Suspended(lambda: (_inside(machine, container), None))
    found = unordered.elements(machine, container)
    if found is not None:
        return unordered.iterator(machine, lambda _: found, inside)
    return machine.allocate(IteratorObject(source=inside))


def _inside(machine: Machine, container: Address, whole: bool = False) -> Walk:
    item = machine.state.read(container)
    if isinstance(item, ListObject):
        if whole and (rest := rest_of(item)) is not None:
            return (yield from in_turn([*item.items, *rest]))
        if item.cls in dict_views.VIEWS:
            watched = item.attributes.get(dict_views.VIEWED)
            if whole and watched is not None and _has_some_keys(machine, watched):
                return (yield from steady.walked_in_part(machine, watched, item.cls))
            keys = steady.keys_of(machine, watched) if watched is not None and item.open is None else None
            if isinstance(keys, list):  # it shows what is there now
                return (yield from steady.walked(machine, watched, keys, None, item.cls))
            return (yield from steady.walked(machine, watched, list(item.items), item.open))
        return (yield from _places(machine, container))
    if whole and _has_some_keys(machine, container):
        return (yield from steady.walked_in_part(machine, container, dict_views.VIEWS[0]))
    keys = steady.keys_of(machine, container) if isinstance(item, ViewObject) else None
    found = keys or iterables.items_of(machine, item)
    return found if isinstance(found, Unknown) else (yield from steady.walked(machine, container, found, None))


def _has_some_keys(machine: Machine, value: Value) -> bool:
    """A dict whose keys are known, some of them being there on some paths only."""
    held = machine.state.find(value, DictObject)
    return held is not None and type(held) is DictObject and held.open is None and held.unsure is not None


def iterator_by_next(machine: Machine, value: Value) -> Address:
    """An iterator over what calls of `value.__next__` give."""
    return machine.allocate(IteratorObject(source=_ByNext(value)))


def made_by(
    machine: Machine, steps: Callable[[list[Address]], Steps], iterables: Iterable[Value], *functions: Value
) -> Address:
    """An iterator over what `steps` makes of the iterators of these iterables; nothing is taken before it is asked."""
    columns = [iterator_of(machine, value) for value in iterables]
    return suspended(machine, lambda: (steps(columns), None), (*columns, *functions))


def walked(machine: Machine, column: Address) -> Iterator[Value | Lost]:
    """Every item of an iterator. Those that are not known are one, which comes once it is told that they are lost: what
    is done with an item may be done with them."""
    while (item := take(machine, column)) is not None:
        yield item
    why = ended(machine, column)
    if why is not None:
        yield Lost(why)
        yield why


def ended(machine: Machine, column: Address) -> Unknown | None:
    """Why an iterator that gave nothing may have more."""
    item = machine.state.find(column, IteratorObject)
    return item.open if item is not None else None


def returned(machine: Machine, iterator: Value) -> Value:
    """What a generator has returned that has ended; None of any other."""
    item = machine.state.find(iterator, IteratorObject)
    if item is None or item.returned is None:
        return machine.unknown("what a generator returns is not followed")
    return item.returned


def stopped(machine: Machine, iterator: Address) -> Raised:
    """The exception that says that an iterator has no more: that which ends a generator has what it returns."""
    value = returned(machine, iterator)
    machine.state.change(iterator, IteratorObject).returned = NONE
    return machine.raises("StopIteration", "", () if value == NONE else (value,))


def rows(machine: Machine, columns: list[Address]) -> Generator[tuple[Value, ...], None, Unknown | None]:
    """One item of each, until one of them ends; they are taken in order, so that columns may share an iterator."""
    if not columns:
        return None
    while True:
        row: list[Value] = []
        for column in columns:
            item = take(machine, column)
            if item is None:
                why = ended(machine, column)
                rest = [value for each in columns if each != column for value in left_in(machine, each)]
                if why is not None:
                    for each in columns:
                        asked_unknown_times(machine, each, why)
                return why and points_to.either_of(why, [*row, *rest])
            row.append(item)
        yield tuple(row)


def asked_unknown_times(machine: Machine, column: Address, why: Unknown) -> None:
    """It is not known how many of the items of an iterator have been taken."""
    left = left_in(machine, column)
    machine.may_be_called([column], why, ("__next__",))
    item = machine.state.change(column, IteratorObject)
    item.items = item.items[: item.position]
    item.source = item.running = None
    item.open = points_to.either_of(item.open or why, left)


def left_in(machine: Machine, column: Address) -> list[Value]:
    """What an iterator may still give, where that can be seen without asking it; else itself."""
    item = machine.state.find(column, IteratorObject)
    assert item is not None
    given: list[Value] = item.items[item.position :]
    why = item.open
    held = machine.state.read(item.source.items) if isinstance(item.source, _Cursor) else None
    if isinstance(held, ListObject):
        given, why = held.items, held.open
    elif item.source is not None:
        given = [column]
    return [*given, why] if why is not None else given
