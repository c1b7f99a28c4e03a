"""Two states into one: where paths meet after a branch, a loop, a `try`.

What both agree on stays known; what differs becomes a Choice or an Unknown at its place; what only one has is an
Unknown marked `optional`. `widen` is for a loop body of unknown count: whatever one pass changes, any number of passes
may have changed, so what grew is open.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace
from operator import is_not
from typing import TypeVar

from modgraph.graph.model import SourceLocation
from modgraph.prediction import partial_texts
from modgraph.prediction.limits import MAX_ALTERNATIVES, MAX_COMPARED_OBJECTS
from modgraph.prediction.objects import (
    STALE,
    ClassObject,
    DictObject,
    EnvironmentObject,
    HeapObject,
    InstanceObject,
    IteratorObject,
    ListObject,
    ModuleObject,
    SetObject,
    TensorObject,
)
from modgraph.prediction.orders import common_start, contradicting, merged_order
from modgraph.prediction.state import State
from modgraph.prediction.values import OPEN, Address, Choice, TupleValue, Unknown, Value

KeyType = TypeVar("KeyType")


def choice_of(values: Iterable[Value], reason: str, where: SourceLocation | None) -> Value:
    """One of `values`: itself where they are all the same, a Choice where they are few, else an Unknown."""
    found: dict[Value, None] = {}
    values = tuple(values)
    for value in values:
        for alternative in value.alternatives if isinstance(value, Choice) else (value,):
            if isinstance(alternative, Unknown):
                return partial_texts.any_of(alternative, values)
            found[alternative] = None
    alternatives = tuple(found)
    if len(alternatives) == 1:
        return alternatives[0]
    if not alternatives or len(alternatives) > MAX_ALTERNATIVES:
        return Unknown(reason, where)
    return Choice(alternatives, reason, where)


def join(first: State, second: State, reason: str, where: SourceLocation | None, since: int) -> State:
    """`first`, changed into what holds on either path. Objects from address `since` on were made on one path only."""
    _Joiner(first, second, reason, where, since).run()
    return first


def join_later(
    first: State, later: State, changed: Iterable[int], reason: str, where: SourceLocation | None, since: int
) -> None:
    """Changes `first` into what holds there or in `later`, where only these objects may be others than in a state that
    `first` already allows for."""
    _Joiner(first, later, reason, where, since).run(changed)


def widen(
    before: State, after: State, reason: str, where: SourceLocation | None, since: int, keeps_names: bool = False
) -> bool:
    """Changes `before` into what holds after any number of passes, one of which leads to `after`; False if nothing
    had to change. With `keeps_names`, what a module has registered since may be there, but nothing else of its kind."""
    widener = _Widener(before, after, reason, where, since)
    widener.keeps_names = keeps_names
    return widener.run()


class _Joiner:
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
        self.changed = False

    def run(self, parted: Iterable[int] | None = None) -> bool:
        base = self.first.base.objects
        first, second = self.first, self.second
        if parted is None:
            parted = first.parted(second)
        first.counts_changes_of(second)
        for index in parted:
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
                continue
            merged = mine.copy()
            merged.owner = self.first.token
            before = self.changed
            self.changed = False
            self.merge(merged, other, index)
            if self.changed or not self.growth_is_open:
                first.objects[index] = merged
            self.changed = self.changed or before
        if self.first.globals != self.second.globals:
            self.first.globals = self.names_of_modules(self.first.globals, self.second.globals)
        common = common_start(self.first.problems, self.second.problems)
        known = set(self.first.problems[common:])
        self.first.problems.extend(problem for problem in self.second.problems[common:] if problem not in known)
        return self.changed

    def unknown(self, optional: bool = False) -> Unknown:
        return Unknown(self.reason, self.where, optional=optional)

    def value(self, mine: Value, other: Value) -> Value:
        """What either is."""
        if mine == other:
            return mine
        if isinstance(mine, Address) and isinstance(other, Address) and self.alike(mine, other):
            return mine
        if isinstance(mine, Unknown) and (mine.optional or not isinstance(other, Unknown) or not other.optional):
            return self.text(mine, other)
        self.changed = True
        if isinstance(other, Unknown):
            return partial_texts.either(other, mine, settle=self.growth_is_open)
        if isinstance(mine, TupleValue) and isinstance(other, TupleValue) and len(mine.items) == len(other.items):
            items = tuple(self.value(a, b) for a, b in zip(mine.items, other.items, strict=True))
            return TupleValue(items, mine.cls)
        return self.differing(mine, other)

    def differing(self, mine: Value, other: Value) -> Value:
        return choice_of((mine, other), self.reason, self.where)

    def text(self, mine: Unknown, other: Value) -> Unknown:
        """Of a text that is partly known: what is known of either."""
        both = partial_texts.either(mine, other, settle=self.growth_is_open)
        self.changed = self.changed or both is not mine
        return both

    def alike(self, mine: Address, other: Address) -> bool:
        """Both were made after the paths parted, and hold the same: then either stands for both."""
        if self.twins.get(other.index) == mine.index:
            return True
        if mine.index < self.since or other.index < self.since:
            return False
        twins, originals = dict(self.twins), dict(self.originals)
        if _isomorphic(self.first, mine, self.second, other, twins, originals, self.since):
            self.twins, self.originals = twins, originals
            return True
        return False

    def mapping(
        self, mine: dict[KeyType, Value], other: dict[KeyType, Value], optional: bool = True
    ) -> dict[KeyType, Value]:
        """Entry by entry, in an order that keeps each one's predecessors before it."""
        common = common_start(mine, other)
        first = mine if common == len(mine) else dict(itertools.islice(mine.items(), common))
        parted = list(itertools.compress(first, map(is_not, first.values(), other.values())))
        if common == len(mine) == len(other) and not parted:
            return mine
        merged = dict(first)
        for key in parted:
            merged[key] = self.value(mine[key], other[key])
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
        merged: dict[tuple[str, str], Value] = {}
        base = self.first.base
        for key in {**mine, **other}:
            left = mine.get(key) or base.unassigned(self.first, key)
            right = other.get(key) or base.unassigned(self.second, key)
            merged[key] = self.value(left, right) if left and right else self.single(left or right or self.unknown())
        return merged

    def store(self, mine: dict[str, Value], other: dict[str, Value]) -> dict[str, Value]:
        """What a module registers: where the paths contradict each other in the order of some names, these are
        optional, which leaves their places open."""
        merged = self.mapping(mine, other)
        for key in contradicting(list(mine), list(other)):
            self.changed = True
            merged[key] = self.unknown(optional=True)
        return merged

    def single(self, value: Value) -> Value:
        """An entry that only one path has."""
        if isinstance(value, Unknown):
            return replace(value, optional=True)
        return self.unknown(optional=True)

    def open(self, mine: Unknown | None, other: Unknown | None) -> Unknown | None:
        if mine is not None:
            return mine if other is None else self.text(mine, other)
        self.changed = self.changed or other is not None
        return other

    def sequence(self, mine: list[Value], other: list[Value]) -> tuple[list[Value], Unknown | None]:
        """Items by position, as long as they correspond; why there may be others after them."""
        alike = common_start(mine, other)
        common = mine[:alike]
        rest = zip(mine[alike:], other[alike:], strict=False)
        if len(mine) == len(other):
            return [*common, *(self.value(a, b) for a, b in rest)], None
        self.changed = True
        for a, b in rest:
            if a != b and not (isinstance(a, Address) and isinstance(b, Address) and self.alike(a, b)):
                break
            common.append(a)
        return common, self.unknown()

    def merge(self, mine: HeapObject, other: HeapObject, index: int) -> None:
        """Changes `mine`, a copy, into what either is."""
        if isinstance(mine, ClassObject) and isinstance(other, ClassObject):
            mine.namespace = self.namespace(mine.namespace, other.namespace, index)
            return
        merger = _MERGERS.get(type(mine))
        if merger is None or type(other) is not type(mine):
            return
        merger(self, mine, other)

    def namespace(self, mine: dict[str, Value], other: dict[str, Value], index: int) -> dict[str, Value]:
        """Of a class: what one path alone has set, the other finds in the class as it was, or in its bases."""
        merged: dict[str, Value] = {}
        base = self.first.base
        for name in {**mine, **other}:
            left = mine.get(name) or base.inherited(self.first, index, name)
            right = other.get(name) or base.inherited(self.second, index, name)
            merged[name] = self.value(left, right) if left and right else self.single(left or right or self.unknown())
        return merged

    def cls(self, mine: Value, other: Value) -> Value:
        """Of an object whose class was replaced on one path."""
        if mine == other or isinstance(mine, Unknown):
            return mine
        self.changed = True
        return self.unknown()


class _Widener(_Joiner):
    growth_is_open = True
    keeps_names = False

    def differing(self, mine: Value, other: Value) -> Value:  # noqa: ARG002 - neither says what a later turn makes of it
        return self.unknown()

    def gone(self, value: Value) -> Value:
        """An entry that a turn has removed: it is not there any more, or not yet."""
        if isinstance(value, Unknown) and value.optional:
            return value
        self.changed = True
        return self.single(value)

    def registered(self, mine: dict[str, Value], other: dict[str, Value]) -> dict[str, Value]:
        merged = {
            key: self.value(value, other[key]) if key in other else self.gone(value) for key, value in mine.items()
        }
        if other.keys() <= mine.keys():
            pass
        elif self.keeps_names:
            self.changed = True
            order = merged_order(list(mine), list(other))
            merged = {key: merged[key] if key in merged else self.single(other[key]) for key in order}
        elif not isinstance(further := merged.get(OPEN), Unknown) or further.text is not None:
            self.changed = True
            kept = self.unknown(optional=True)
            merged = {OPEN if value == kept else key: value for key, value in merged.items()}
            merged[OPEN] = self.unknown()
        for key in contradicting(list(mine), list(other)):
            merged[key] = self.gone(merged[key])
        return merged


def _merge_list(joiner: _Joiner, mine: ListObject, other: ListObject) -> None:
    mine.items, grown = joiner.sequence(mine.items, other.items)
    mine.open = joiner.open(mine.open, other.open or grown)
    mine.attributes = joiner.mapping(mine.attributes, other.attributes)


def _merge_iterator(joiner: _Joiner, mine: IteratorObject, other: IteratorObject) -> None:
    if (mine.source, mine.taken) != (other.source, other.taken):
        joiner.changed = joiner.changed or mine.taken != STALE
        mine.source, mine.taken = mine.source or other.source, STALE
        mine.running = mine.running or other.running
    if mine.position != other.position:
        mine.open = joiner.open(mine.open, joiner.unknown())
        mine.items = []
        mine.position = 0
        return
    mine.items, grown = joiner.sequence(mine.items, other.items)
    mine.open = joiner.open(mine.open, other.open or grown)


def _merge_dict(joiner: _Joiner, mine: DictObject, other: DictObject) -> None:
    if joiner.growth_is_open and mine.entries.keys() != other.entries.keys():
        mine.open = joiner.open(mine.open, joiner.unknown())
        mine.entries = {
            key: joiner.value(value, other.entries[key]) for key, value in mine.entries.items() if key in other.entries
        }
    else:
        keys = list(mine.entries)
        mine.entries = joiner.mapping(mine.entries, other.entries)
        if contradicting(keys, list(other.entries)):
            mine.open = joiner.open(mine.open, joiner.unknown())
    mine.open = joiner.open(mine.open, other.open)
    mine.attributes = joiner.mapping(mine.attributes, other.attributes)


def _merge_set(joiner: _Joiner, mine: SetObject, other: SetObject) -> None:
    if mine.items.keys() != other.items.keys():
        joiner.changed = True
        mine.items = {key: None for key in mine.items if key in other.items}
        mine.open = mine.open or joiner.unknown()
    mine.open = joiner.open(mine.open, other.open)


def _merge_instance(joiner: _Joiner, mine: InstanceObject, other: InstanceObject) -> None:
    mine.cls = joiner.cls(mine.cls, other.cls)
    mine.attributes = joiner.mapping(mine.attributes, other.attributes)
    mine.open = joiner.open(mine.open, other.open)


def _merge_module(joiner: _Joiner, mine: ModuleObject, other: ModuleObject) -> None:
    mine.cls = joiner.cls(mine.cls, other.cls)
    mine.attributes = joiner.mapping(mine.attributes, other.attributes)
    store: Callable[[dict[str, Value], dict[str, Value]], dict[str, Value]] = joiner.store
    if isinstance(joiner, _Widener):
        store = joiner.registered
    mine.modules = store(mine.modules, other.modules)
    mine.parameters = store(mine.parameters, other.parameters)
    mine.buffers = store(mine.buffers, other.buffers)
    for name in {**mine.non_persistent, **other.non_persistent} if mine.non_persistent != other.non_persistent else ():
        if mine.non_persistent.get(name, False) != other.non_persistent.get(name, False):
            mine.non_persistent[name] = None
    mine.open = joiner.open(mine.open, other.open)
    mine.initialised = mine.initialised or other.initialised


def _merge_tensor(joiner: _Joiner, mine: TensorObject, other: TensorObject) -> None:
    if mine.shape is None or other.shape is None or len(mine.shape) != len(other.shape):
        joiner.changed = joiner.changed or mine.shape != other.shape
        mine.shape = None
    else:
        shape = tuple(a if a == b else None for a, b in zip(mine.shape, other.shape, strict=True))
        joiner.changed = joiner.changed or shape != mine.shape
        mine.shape = shape
    if mine.elements != other.elements:
        joiner.changed = joiner.changed or mine.elements is not None
        mine.elements = None
    if mine.dtype != other.dtype:
        joiner.changed = joiner.changed or mine.dtype is not None
        mine.dtype = None
    if mine.requires_grad != other.requires_grad:
        joiner.changed = joiner.changed or mine.requires_grad is not None
        mine.requires_grad = None
    if mine.lazy != other.lazy:
        joiner.changed = joiner.changed or not mine.lazy
        mine.lazy = True


def _merge_environment(joiner: _Joiner, mine: EnvironmentObject, other: EnvironmentObject) -> None:
    # A name that only one path bound: on the other its use would raise, so wherever it is used it has that value.
    some = frozenset(mine.names.keys() ^ other.names.keys())
    mine.names = joiner.mapping(mine.names, other.names, optional=False)
    mine.unsure |= other.unsure | some


_MERGERS: dict[type[HeapObject], Callable[[_Joiner, HeapObject, HeapObject], None]] = {
    ListObject: _merge_list,  # type: ignore[dict-item]
    IteratorObject: _merge_iterator,  # type: ignore[dict-item]
    DictObject: _merge_dict,  # type: ignore[dict-item]
    SetObject: _merge_set,  # type: ignore[dict-item]
    InstanceObject: _merge_instance,  # type: ignore[dict-item]
    ModuleObject: _merge_module,  # type: ignore[dict-item]
    TensorObject: _merge_tensor,  # type: ignore[dict-item]
    EnvironmentObject: _merge_environment,  # type: ignore[dict-item]
}


def _isomorphic(
    first: State,
    mine: Address,
    second: State,
    other: Address,
    twins: dict[int, int],
    originals: dict[int, int],
    since: int,
) -> bool:
    """The objects reachable from both addresses, made since, correspond one to one and hold the same."""
    pending = [(mine, other)]
    while pending:
        a, b = pending.pop()
        if a.index < since or b.index < since:
            if a != b:
                return False
            continue
        if b.index in twins:
            if twins[b.index] != a.index:
                return False
            continue
        if originals.setdefault(a.index, b.index) != b.index:
            return False
        twins[b.index] = a.index
        if len(twins) > MAX_COMPARED_OBJECTS:
            return False
        x, y = first.read(a), second.read(b)
        if type(x) is not type(y) or not _same_outside(x, y):
            return False
        left, right = list(x.references()), list(y.references())
        if len(left) != len(right):
            return False
        for v, w in zip(left, right, strict=True):
            if not _same_value(v, w, pending):
                return False
    return True


def _same_value(mine: Value, other: Value, pending: list[tuple[Address, Address]]) -> bool:
    if isinstance(mine, Address) and isinstance(other, Address):
        pending.append((mine, other))
        return True
    if isinstance(mine, TupleValue) and isinstance(other, TupleValue):
        return len(mine.items) == len(other.items) and all(
            _same_value(a, b, pending) for a, b in zip(mine.items, other.items, strict=True)
        )
    return mine == other


def _same_outside(x: HeapObject, y: HeapObject) -> bool:
    """What `references` does not give is the same."""
    if isinstance(x, ModuleObject) and isinstance(y, ModuleObject):
        return (
            x.cls == y.cls
            and list(x.modules) == list(y.modules)
            and list(x.parameters) == list(y.parameters)
            and list(x.buffers) == list(y.buffers)
            and list(x.attributes) == list(y.attributes)
            and x.non_persistent == y.non_persistent
        )
    if isinstance(x, InstanceObject) and isinstance(y, InstanceObject):
        return x.cls == y.cls and list(x.attributes) == list(y.attributes)
    if isinstance(x, TensorObject) and isinstance(y, TensorObject):
        return (x.shape, x.dtype, x.elements, x.is_parameter, x.requires_grad) == (
            y.shape,
            y.dtype,
            y.elements,
            y.is_parameter,
            y.requires_grad,
        )
    if isinstance(x, (ListObject, DictObject, SetObject)) and isinstance(y, type(x)):
        return x.cls == y.cls and x.open is None and y.open is None
    if isinstance(x, IteratorObject) and isinstance(y, IteratorObject):
        return x.source is None and y.source is None and x.open is None and y.open is None
    return isinstance(x, (EnvironmentObject, ClassObject))
