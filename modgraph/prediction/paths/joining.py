"""Two states into one: where paths meet after a branch, a loop, a `try`.

What both agree on stays known; what differs becomes a Choice or an Unknown at its place; what only one has is an
Unknown marked `optional`. Modules of one class that were built on both paths become one, in which what differs is open.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from operator import is_not
from typing import TypeVar

from modgraph.graph.model import SourceLocation
from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.events import Alias, Cell
from modgraph.prediction.domain.limits import COPIES_OF_AN_ENTRY, MAX_ALTERNATIVES
from modgraph.prediction.domain.objects import (
    ClassObject,
    HeapObject,
    ModuleObject,
    TensorObject,
)
from modgraph.prediction.domain.state import State
from modgraph.prediction.domain.values import (
    DELETED,
    NONE,
    Address,
    Choice,
    Tests,
    TupleValue,
    Unknown,
    Value,
    is_optional,
    remaining,
)
from modgraph.prediction.paths import chosen_tests, fusing, joining_events, joining_fields, partial_texts, several
from modgraph.prediction.paths.isomorphism import isomorphic
from modgraph.prediction.paths.orders import common_start, merged_order

KeyType = TypeVar("KeyType")


_OBJECTS_BETWEEN_LOOKS = 1_000
"""Objects that are joined between two looks at what work is left."""
_UNITS_OF_AN_OBJECT, _ENTRIES_OF_A_UNIT = 3, 10
"""Units of work that it takes to join an object, and how many entries of two stores are compared in one."""


def choice_of(values: Iterable[Value], reason: str, where: SourceLocation | None) -> Value:
    """One of `values`: itself where they are all the same, a Choice where they are few, else an Unknown."""
    found: dict[Value, None] = {}
    values = tuple(values)
    for value in values:
        for alternative in value.alternatives if isinstance(value, Choice) else (value,):
            if isinstance(alternative, Unknown):
                return points_to.either_of(partial_texts.any_of(alternative, values), values)
            found[alternative] = None
    alternatives = tuple(found)
    if len(alternatives) == 1:
        return alternatives[0]
    if not alternatives or len(alternatives) > MAX_ALTERNATIVES:
        return points_to.further(Unknown(reason, where), alternatives)
    return Choice(alternatives, reason, where)


def join(first: State, second: State, reason: str, where: SourceLocation | None, since: int) -> State:
    """`first`, changed into what holds on either path. Objects from address `since` on were made on one path only."""
    Joiner(first, second, reason, where, since).run()
    return first


def join_results(
    first: State, mine: Value, second: State, other: Value, reason: str, where: SourceLocation | None, since: int
) -> Value:
    """`join` of two paths, and one of the values that they gave."""
    joiner = Joiner(first, second, reason, where, since)
    joiner.results = (mine, other)
    joiner.run()
    return joiner.results[0]


def join_later(
    first: State, later: State, changed: Iterable[int], reason: str, where: SourceLocation | None, since: int
) -> None:
    """Changes `first` into what holds there or in `later`, where only these objects may be others than in a state that
    `first` already allows for."""
    Joiner(first, later, reason, where, since).run(changed)


def description(state: State, choice: Choice) -> HeapObject | None:
    """What the modules, or the tensors, that a choice is of have in common, as one of that class; None where they are
    of several classes, or something else."""
    if not all(type(each) is Address for each in choice.alternatives):
        return None
    found = [state.read(each) for each in choice.alternatives if type(each) is Address]
    described = found[0].copy()
    if not isinstance(described, (ModuleObject, TensorObject)):
        return None
    joiner = Joiner(state, state, choice.reason, choice.where, state.base.next_index)
    for each in found[1:]:
        if not fusing.are_one_kind(described, each):
            return None
        fusing.merge(joiner, described, each)
    return described


class Joiner:
    """One join; remembers which objects of the second state stand for which of the first."""

    growth_is_open = False

    def __init__(self, first: State, second: State, reason: str, where: SourceLocation | None, since: int) -> None:
        self.first = first
        self.second = second
        self.reason = reason
        self.where = where
        self.since = since
        self.twins: dict[int, int] = {}
        self.originals: dict[int, int] = {}
        """The other way round: one object of the first state stands for one of the second."""
        self.adopted: set[int] = set()
        """Objects of the second state alone that are in the joined one already."""
        self.fused_depth = 0
        self.ways: dict[tuple[int, int], tuple[int, int]] = {}
        """Of a tensor that has come one way on the first path, and another on the second: the number that stands for
        both, and its address."""
        self.results: tuple[Value, Value] = (NONE, NONE)
        """What the two paths gave; the first becomes what is known of either."""
        self.changed = False

    def run(self, parted: Iterable[int] | None = None) -> bool:
        """Changes the first state into the joined one; whether that is another one.

        Raises:
            LimitError: the work is used up; neither state is changed then.
        """
        base = self.first.base.objects
        first, second = self.first, self.second
        differing = parted
        if parted is None:
            parted, differing = first.parted(second)
            first.base.work += len(parted) * _UNITS_OF_AN_OBJECT
            first.base.joined += len(parted)
        if first.base.joined > _OBJECTS_BETWEEN_LOOKS:  # no step comes between the joins of many paths
            first.base.joined = 0
            first.base.require()
        first.counts_changes_of(second)
        for index in differing or ():
            mine, other = first.get(index), second.get(index)
            if mine is other:
                continue
            mine = mine if mine is not None else base.get(index)
            other = other if other is not None else base.get(index)
            if mine is other or other is None:
                continue
            if mine is None:
                other.owner = None
                first.objects[index] = other
                self.adopted.add(index)
                continue
            merged = mine.copy()
            merged.owner = self.first.token
            before, n_ways = self.changed, len(self.ways)
            self.changed = False
            self.merge(merged, other, index)
            if self.changed or not self.growth_is_open or len(self.ways) > n_ways:
                first.objects[index] = merged
            self.changed = self.changed or before
        if self.first.globals != self.second.globals:
            self.first.globals = self.names_of_modules(self.first.globals, self.second.globals)
        given, further = self.results
        if given != further and type(given) is type(further) and _is_made(given):
            self.results = (self.value(given, further), NONE)
        elif given != further:
            self.results = (self.one_of(given, fusing.renamed(self, further)), NONE)
        else:
            self.results = (self.either_way(given, further), NONE)
        if self.twins and not self.growth_is_open:
            fusing.rename(self, parted)
        if self.first.events is not self.second.events or self.ways:
            self.join_events()
        common = common_start(self.first.problems, self.second.problems)
        known = set(self.first.problems[common:])
        self.first.problems.extend(problem for problem in self.second.problems[common:] if problem not in known)
        return self.changed

    def join_events(self) -> None:
        """What a run of `forward` did on either path."""
        first, second = self.ways_told()
        self.first.events = joining_events.joined(first, second, self.reason, self.where, self.twins)

    def ways_told(self) -> tuple[Cell | None, Cell | None]:
        """The events of both paths, and then which of the ways tensors have come there."""
        first, second = self.first.events, self.second.events
        for (mine, other), (number, tensor) in self.ways.items():
            first, second = Cell(first, Alias(number, mine, tensor)), Cell(second, Alias(number, other, tensor))
        return first, second

    def unknown(self, optional: bool = False, of: Iterable[Value] = ()) -> Unknown:
        """What is each of these on some path; plain where all of them are, though an operation on it may raise."""
        of = tuple(of)
        plain = bool(of) and all(map(points_to.is_plain, of))
        found = Unknown(self.reason, self.where, plain, optional, may_be=self.objects_of(of), outside=plain)
        found.library = points_to.library_of(of)
        return found

    def objects_of(self, values: Iterable[Value]) -> frozenset[int]:
        return points_to.objects_of(values)

    def including(self, why: Unknown, *values: Value) -> Unknown:
        """`why` of what may be each of these too: see `points_to.either_of`."""
        if why.inert and not all(map(points_to.is_plain, values)):
            why = replace(why, inert=False)
        if not why.library and (library := points_to.library_of(values)):
            why = replace(why, library=library)
        return points_to.with_objects(why, self.objects_of(values))

    def value(self, mine: Value, other: Value) -> Value:
        """What either is."""
        if mine == other:
            return self.either_way(mine, other)
        if isinstance(mine, Address) and isinstance(other, Address) and self.alike(mine, other):
            return self.either_way(mine, other)
        if isinstance(mine, Unknown) and (mine.optional or not isinstance(other, Unknown) or not other.optional):
            return self.text(mine, other)
        if isinstance(mine, Choice) and isinstance(other, Choice) and replace(other, when=mine.when) == mine:
            self.changed = self.changed or bool(mine.when)
            return replace(mine, when=())
        self.changed = True
        if isinstance(other, Unknown):
            return self.including(partial_texts.either(self.made(other), mine, settle=self.growth_is_open), mine)
        if isinstance(mine, TupleValue) and isinstance(other, TupleValue) and mine.is_like(other):
            items = tuple(self.value(a, b) for a, b in zip(mine.items, other.items, strict=True))
            return TupleValue(items, mine.cls)
        return self.differing(mine, other)

    def either_way(self, mine: Value, other: Value) -> Value:
        """`mine`, for which `other` stands as well; of a tensor that calls have given, by whichever it has come."""
        if mine is other:
            return mine
        if isinstance(mine, TupleValue) and isinstance(other, TupleValue):
            items = tuple(map(self.either_way, mine.items, other.items))
            is_same = all(new is old for new, old in zip(items, mine.items, strict=True))
            return mine if is_same else TupleValue(items, mine.cls)
        if isinstance(mine, Choice) and isinstance(other, Choice):
            return chosen_tests.in_both(mine, other)
        if not isinstance(mine, Address) or not isinstance(other, Address) or mine.handed == other.handed:
            return mine
        ways = (mine.way, other.way)
        if ways not in self.ways:
            self.first.base.ways += 1
            self.ways[ways] = (-self.first.base.ways, mine.index)
        return Address(mine.index, self.ways[ways][0])

    def differing(self, mine: Value, other: Value) -> Value:
        return self.one_of(mine, other)

    def one_of(self, mine: Value, other: Value) -> Value:
        """One of the two, with the tests that decide which."""
        found = choice_of((mine, other), self.reason, self.where)
        if not isinstance(found, Choice) or self.first.events is self.second.events:
            return found
        return chosen_tests.with_tests(found, (mine, other), self.tests)

    @cached_property
    def tests(self) -> tuple[Tests, Tests]:
        """How tests have come out on either path, since they parted."""
        return chosen_tests.of_paths(self.first.events, self.second.events)

    def text(self, mine: Unknown, other: Value) -> Unknown:
        """Of a text that is partly known: what is known of either."""
        both = self.including(partial_texts.either(mine, other, settle=self.growth_is_open), other)
        self.changed = self.changed or both is not mine
        return both

    def made(self, other: Unknown) -> Unknown:
        """What the other state does not know, as it is said here."""
        return other

    def alike(self, mine: Address, other: Address) -> bool:
        """Both were made after the paths parted, and hold the same: then either stands for both."""
        if self.twins.get(other.index) == mine.index:
            return True
        if mine.index < self.since or other.index < self.since or not self.made_apart(mine.index, other.index):
            return False
        twins, originals = dict(self.twins), dict(self.originals)
        self.first.base.work += len(twins) // _ENTRIES_OF_A_UNIT
        if isomorphic(self.first, mine, self.second, other, twins, originals, self.since, self.made_apart):
            self.twins, self.originals = twins, originals
            return True
        return not self.growth_is_open and fusing.fuse(self, mine, other)

    def made_apart(self, mine: int, other: int) -> bool:
        """Each of the two is there on its own path only: an earlier turn of a loop, or a module, may have made one."""
        base = self.first.base.objects
        if mine in base or other in base or self.second.get(mine) is not None:
            return False
        return other in self.adopted or self.first.get(other) is None

    def mapping(
        self, mine: dict[KeyType, Value], other: dict[KeyType, Value], optional: bool = True
    ) -> dict[KeyType, Value]:
        """Entry by entry, in an order that keeps each one's predecessors before it."""
        self.first.base.work += (len(mine) + len(other)) // _ENTRIES_OF_A_UNIT
        common = common_start(mine, other)
        first = mine if common == len(mine) else dict(itertools.islice(mine.items(), common))
        parted = list(itertools.compress(first, map(is_not, first.values(), other.values())))
        if common == len(mine) == len(other) and not parted:
            return mine
        merged = dict(first)
        for key in parted:
            merged[key] = self.value(mine[key], other[key])
        self.first.base.copied += COPIES_OF_AN_ENTRY * (len(mine) + len(other) - 2 * common)
        for key in merged_order(list(mine)[common:], list(other)[common:]):
            if key in mine and key in other:
                merged[key] = self.value(mine[key], other[key])
            else:
                self.changed = True
                only = mine[key] if key in mine else other[key]
                merged[key] = self.single(only) if optional else only
        return merged

    def names_of_modules(
        self, mine: dict[tuple[str, str], Value], other: dict[tuple[str, str], Value]
    ) -> dict[tuple[str, str], Value]:
        """Of a name that one path assigned, the other has what the module itself gives it."""
        merged: dict[tuple[str, str], Value] = {**mine, **other}
        base = self.first.base
        for key, last in merged.items():
            if mine.get(key) is last and other.get(key) is last:
                continue
            left = mine.get(key) or base.unassigned(self.first, key)
            right = other.get(key) or base.unassigned(self.second, key)
            merged[key] = self.value(left, right) if left and right else self.single(left or right or self.unknown())
        return merged

    def store(self, mine: dict[str, Value], other: dict[str, Value]) -> dict[str, Value]:
        """What a module registers."""
        return self.mapping(mine, other)

    def single(self, value: Value) -> Value:
        """An entry that only one path has."""
        if isinstance(value, Unknown):
            return replace(value, optional=True)
        return self.unknown(optional=True, of=(value,))

    def open(self, mine: Unknown | None, other: Unknown | None) -> Unknown | None:
        if mine is not None:
            return mine if other is None else self.text(mine, other)
        self.changed = self.changed or other is not None
        return None if other is None else self.made(other)

    def sequence(self, mine: list[Value], other: list[Value]) -> tuple[list[Value], Unknown | None]:
        """Items by position, as long as they correspond; why there may be others after them."""
        self.first.base.work += (len(mine) + len(other)) // _ENTRIES_OF_A_UNIT
        alike = common_start(mine, other)
        common = mine[:alike]
        rest = zip(mine[alike:], other[alike:], strict=False)
        if len(mine) == len(other):
            return [*common, *(self.value(a, b) for a, b in rest)], None
        self.changed = True
        for a, b in rest:
            if a != b and not (isinstance(a, Address) and isinstance(b, Address) and self.alike(a, b)):
                break
            common.append(self.either_way(a, b))
        return common, self.unknown(of=[*mine[len(common) :], *other[len(common) :]])

    def merge(self, mine: HeapObject, other: HeapObject, index: int) -> None:
        """Changes `mine`, a copy, into what either is."""
        if isinstance(mine, ClassObject) and isinstance(other, ClassObject):
            joining_fields.join_order(self, mine, other)
            mine.namespace = self.namespace(mine.namespace, other.namespace, index)
            if mine.mro != other.mro:  # its bases were replaced
                self.changed = self.changed or not isinstance(mine.mro[-1], Unknown)
                why = self.unknown()
                mine.bases, mine.mro = (why,), (mine.mro[0], why)
        elif type(mine) is type(other):
            joining_fields.join_fields(self, mine, other)

    def namespace(self, mine: dict[str, Value], other: dict[str, Value], index: int) -> dict[str, Value]:
        """Of a class: what one path alone has set, the other finds in the class as it was, or in its bases."""
        merged: dict[str, Value] = {}
        base = self.first.base
        for name in {**mine, **other}:
            left = mine.get(name) or base.inherited(self.first, index, name) or DELETED
            right = other.get(name) or base.inherited(self.second, index, name) or DELETED
            both = self.value(left, right)
            kept = remaining(left), remaining(right)
            if type(both) is Unknown and any(each is None or is_optional(each) for each in kept):
                both = replace(both, optional=True)
            if several.parts(name, both):
                base.parted.add(index)
            merged[name] = both
        return merged

    def cls(self, mine: Value | None, other: Value | None) -> Value | None:
        """Of an object whose class was replaced on one path."""
        if mine == other or isinstance(mine, Unknown):
            return mine
        self.changed = True
        return self.unknown()


def _is_made(value: Value) -> bool:
    """An object, or a tuple that holds some."""
    return type(value) is Address or (type(value) is TupleValue and bool(points_to.objects_of(value.items)))
