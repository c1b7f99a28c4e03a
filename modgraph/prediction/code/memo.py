"""Construction once per class and arguments: equal layers and blocks are interpreted twice, then instantiated.

A construction or call is remembered only where it depended on nothing but its arguments: these are immutable, or
objects whose whole contents are part of the key; no other object made before was read, and none was changed. The first
construction only marks the key, so that what is made once is not copied, unless it took long.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from modgraph.graph.model import SourceLocation
from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.fields import BY_NAME, Role
from modgraph.prediction.domain.limits import MAX_KEPT_OBJECTS, MAX_KEY_OBJECTS, MAX_REMEMBERED_OBJECTS, MIN_LONG_STEPS
from modgraph.prediction.domain.objects import (
    ClassObject,
    DictObject,
    HeapObject,
    InstanceObject,
    IteratorObject,
    ListObject,
    ModuleObject,
    SetObject,
    TensorObject,
)
from modgraph.prediction.domain.state import State
from modgraph.prediction.domain.values import (
    Address,
    Choice,
    ClassValue,
    Constant,
    Device,
    Dtype,
    EnumMember,
    FunctionValue,
    KnownClass,
    KnownFunction,
    ModuleReference,
    PartialValue,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.paths import guards
from modgraph.prediction.paths.relocation import Relocation
from modgraph.prediction.paths.shared_memory import current
from modgraph.prediction.python import literal_texts

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_IMMUTABLE = frozenset(
    {Constant, Dtype, Device, ClassValue, KnownClass, KnownFunction, EnumMember, ModuleReference, Unknown}
)

_EMPTY = frozenset({Constant, Dtype, Device, KnownClass, KnownFunction, ModuleReference, Unknown})
"""Values that hold no others."""

_PLAIN = (ListObject, DictObject, SetObject, InstanceObject)
"""What can be part of a key: its contents are everything that there is to it."""


@dataclass(slots=True)
class Key:
    """What a construction or call depends on. Not changed once it is made."""

    parts: tuple[object, ...]
    closure: tuple[Address, ...] = ()
    """The objects reachable from the arguments; their contents are in `parts`."""

    @property
    def watched(self) -> frozenset[int]:
        return frozenset(address.index for address in self.closure)


@dataclass(frozen=True)
class Fragment:
    """The objects that a construction or call made, as they were at its end."""

    result: Value
    objects: tuple[tuple[Address, HeapObject], ...]
    closure: tuple[Address, ...]
    doubtful: bool
    """What was done may raise."""
    shared: tuple[int, ...]
    """Objects of the base that it looked at: it holds in every state that has not changed them."""


@dataclass(frozen=True)
class _Contents:
    """The contents of everything reachable from some objects, as a number: equal numbers, equal contents."""

    number: int
    closure: tuple[Address, ...]
    objects: tuple[HeapObject, ...]


def key_of(machine: Machine, callee: object, arguments: Arguments) -> Key | None:
    """What the call depends on; None where that cannot be told."""
    if arguments.open is not None:
        return None
    values = (*arguments.positional, *arguments.keywords.values())
    roots: list[Address] = []
    apart: list[int] = []
    for position, value in enumerate(values):
        if type(value) is Address:
            if machine.state.get(value.index) is not None:
                roots.append(value)
        elif not _immutable(value):
            return None
        elif literal_texts.computed(machine, value):
            apart.append(position)
    names = (*arguments.keywords, *apart)
    if not roots:
        return Key((callee, values, names))
    contents = _contents(machine, tuple(root.index for root in roots))
    if contents is None:
        return None
    place = {address: position for position, address in enumerate(contents.closure)}
    parts = tuple(
        ("<object>", place[value]) if isinstance(value, Address) and value in place else value for value in values
    )
    return Key((callee, parts, names, contents.number), contents.closure)


def _contents(machine: Machine, roots: tuple[int, ...]) -> _Contents | None:
    base, state = machine.base, machine.state
    known = base.contents.get(roots)
    base.work += len(known.closure) // 4 if isinstance(known, _Contents) else 0
    if isinstance(known, _Contents) and all(
        state.get(at.index) is item for at, item in zip(known.closure, known.objects, strict=True)
    ):
        return known
    found = _walk(machine, roots)
    if found is not None:
        base.contents[roots] = found
        base.keyed.update(address.index for address in found.closure)
    return found


def _walk(machine: Machine, roots: tuple[int, ...]) -> _Contents | None:
    state = machine.state
    closure: dict[Address, int] = {}
    pending = [Address(index) for index in roots]
    for address in pending:
        closure.setdefault(address, len(closure))
    pending = list(closure)
    seen: list[HeapObject] = []
    tokens: list[object] = []
    for address in pending:
        item = state.get(address.index)
        if item is None or type(item) not in _PLAIN or len(closure) > MAX_KEY_OBJECTS:
            return None
        seen.append(item)
        machine.base.work += 3
        tokens.append(type(item).__name__)
        tokens.extend(rule(getattr(item, name)) for name, role in item.ROLES.items() if (rule := _TOKENS.get(role)))
        for value in item.references():
            if type(value) is Address and state.get(value.index) is not None:
                if value not in closure:
                    closure[value] = len(closure)
                    pending.append(value)
                tokens.append(("<object>", closure[value]))
            elif _immutable(value) or type(value) is Address:
                tokens.append(value)
                if literal_texts.computed(machine, value):
                    tokens.append("<computed>")
            else:
                return None
    machine.base.work += len(tokens) // 2
    number = machine.caches.contents.setdefault(tuple(tokens), len(machine.caches.contents))
    return _Contents(number, tuple(pending), tuple(seen))


_TOKENS: dict[Role, Callable[[Any], object]] = {
    **dict.fromkeys((Role.CELLS, Role.ENTRIES, Role.MEMBERS), len),
    **dict.fromkeys(BY_NAME, tuple),
    **dict.fromkeys((Role.REST, Role.REASON, Role.ORDER), lambda held: held),
    **dict.fromkeys((Role.VALUE, Role.FLAT, Role.FINAL, Role.SHAPE), lambda held: held),
    **dict.fromkeys((Role.FIXED, Role.LINK, Role.MEMORY, Role.COUPLED), lambda held: held),
    Role.FLAGS: lambda held: tuple(held.items()),
}
"""What a key says of the fields of a role, besides the values that they hold."""


def _immutable(value: Value) -> bool:
    if type(value) in _IMMUTABLE:
        return True
    if isinstance(value, FunctionValue):
        return value.closure is None
    if isinstance(value, Choice) and value.when:  # an equal one may have come of another test
        return False
    return isinstance(value, (TupleValue, Choice, PartialValue)) and all(map(_immutable, value.parts()))


def recall(machine: Machine, key: Key, where: SourceLocation | None) -> Value | None:
    """What was remembered under that key, made anew."""
    fragment = _kept(machine, key)
    state, base = machine.state, machine.base
    if fragment is None:
        return None
    if not state.is_pristine and any(state.get(index) is not None for index in fragment.shared):
        return None
    if base.floor:
        base.shared.update(fragment.shared)
    base.older.update(address.index for address in key.closure if address.index < base.floor)
    if not fragment.doubtful and not fragment.objects and type(fragment.result) is Constant:
        return fragment.result
    if fragment.doubtful:
        machine.may_fail(guards.CALL)
    machine.makes(0)  # what is made here costs no steps
    relocation = Relocation(machine.state)
    relocation.copies.update(zip(fragment.closure, key.closure, strict=True))
    for address, item in fragment.objects:
        relocation.take(address, item)
    relocation.finish()
    result = relocation.mapped(fragment.result)
    if machine.state.find(result, ModuleObject) is not None:
        assert isinstance(result, Address)
        machine.state.change(result, ModuleObject).where = where
    return result


def _kept(machine: Machine, key: Key) -> Fragment | None:
    names = machine.state.globals
    if not names:
        return machine.caches.fragments.get(key.parts)
    before, fragment = machine.caches.fragments_here.get(key.parts, (None, None))
    return fragment if before == names else None


def watch(machine: Machine, key: Key, make: Callable[[], Value]) -> Value:
    """What `make` gives; kept for the next time, where it has touched nothing that the key does not speak of."""
    base = machine.base
    epoch = machine.state.epoch
    floor, older, changed, shared = base.floor, base.older, base.older_changed, base.shared
    since, problems, before = base.next_index, machine.told, machine.steps
    doubts = machine.doubts
    names = dict(machine.state.globals)
    base.floor, base.older, base.older_changed, base.shared = since, set(), set(), set()
    try:
        result = make()
        apart = not base.older_changed and base.older <= key.watched and machine.state.epoch is epoch
        if apart and machine.state.globals == names and machine.told == problems:
            _remember(machine, key, result, since, machine.steps - before, machine.doubts > doubts)
    finally:
        older.update(index for index in base.older if index < floor)
        changed.update(index for index in base.older_changed if index < floor)
        shared |= base.shared
        base.floor, base.older, base.older_changed, base.shared = floor, older, changed, shared
    return result


def _remember(machine: Machine, key: Key, result: Value, since: int, steps: int, doubtful: bool) -> None:
    """Keeps a copy of what was just made; of modules that took few steps, only the second time they are made."""
    is_module = machine.state.find(result, ModuleObject) is not None
    is_first = key.parts not in (machine.caches.fragments_here if machine.state.globals else machine.caches.fragments)
    if is_module and steps < MIN_LONG_STEPS and is_first:
        _keep(machine, key, None)
        return
    found = _made(machine, key, result, since)
    if found is None:
        return
    machine.caches.remembered += len(found) + 1
    if machine.caches.remembered > MAX_KEPT_OBJECTS:
        machine.caches.fragments.clear()
        machine.caches.fragments_here.clear()
        machine.caches.remembered = 0
    ordered = sorted(found.items(), key=lambda entry: entry[0].index)
    _keep(machine, key, Fragment(result, tuple(ordered), key.closure, doubtful, _with_bases(machine)))


def _keep(machine: Machine, key: Key, fragment: Fragment | None) -> None:
    names = machine.state.globals
    if names:
        machine.caches.fragments_here[key.parts] = dict(names), fragment
    else:
        machine.caches.fragments[key.parts] = fragment


def _with_bases(machine: Machine) -> tuple[int, ...]:
    """Objects of the base that were looked at; with a class, what it inherits from."""
    found = set(machine.base.shared)
    for index in machine.base.shared:
        item = machine.base.objects.get(index)
        if isinstance(item, ClassObject):
            found.update(cls.address.index for cls in item.mro if isinstance(cls, ClassValue))
    return tuple(sorted(found))


def _made(machine: Machine, key: Key, result: Value, since: int) -> dict[Address, HeapObject] | None:
    """Copies of the objects that lead from the result to what is older; None where they are too many, or where
    something older than the call stays reachable that is not part of the key."""
    watched, state = key.watched, machine.state
    found: dict[Address, HeapObject] = {}
    pending: list[Value] = [result]
    while pending:
        value = pending.pop()
        if type(value) is Unknown and value.may_be:
            return None
        if type(value) is not Address:
            if type(value) not in _EMPTY:
                pending.extend(value.parts())
        elif value.index < since:
            if key.closure and value.index not in watched and state.get(value.index) is not None:
                return None
        elif value not in found:
            item = state.read(value)
            suspended = isinstance(item, IteratorObject) and item.source is not None
            if suspended or isinstance(item, ClassObject) or len(found) > MAX_REMEMBERED_OBJECTS:
                return None
            found[value] = item.copy()
            machine.base.work += 5
            pending.extend(points_to.held_by(item))
            if isinstance(item, ModuleObject):
                pending.extend(argument for _, argument in item.arguments)
    return found if _share_no_more(state, found, since) else None


def _share_no_more(state: State, found: dict[Address, HeapObject], since: int) -> bool:
    """Forgets the memory of what nothing leads to any more, where one tensor alone has it; False where several have."""
    lost: set[Address] = set()
    for item in found.values():
        inside = [each for each in item.memory if each.index >= since] if isinstance(item, TensorObject) else []
        gone = [each for each in inside if each not in found]
        if not isinstance(item, TensorObject) or not gone:
            continue
        if not lost.isdisjoint(gone):
            return False
        lost.update(gone)
        item.elements = current(state, item).elements
        item.memory = tuple(each for each in item.memory if each not in gone)
    return True
