"""`State`: the heap as it stands at one point of the interpretation; cheap to fork, joined entry by entry.

Objects are made in one of two layers. What module-level code makes lies in the *base*, shared by every state, and is
never changed after; what runs below a constructor lies in the state's own layers, and so do its changed copies of base
objects. `fork()` copies nothing: both states look at what there was as at a layer below their own. An object is copied
when a state writes to it that did not make it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from modgraph.graph.model import SourceLocation
from modgraph.prediction.domain.dict_views import DictView
from modgraph.prediction.domain.events import Cell
from modgraph.prediction.domain.fields import Role
from modgraph.prediction.domain.limits import ITEMS_OF_A_NAME, ITEMS_OF_A_TUPLE, ITEMS_OF_AN_ENTRY, ITEMS_OF_AN_OBJECT
from modgraph.prediction.domain.mapping_views import MappingView
from modgraph.prediction.domain.objects import (
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
from modgraph.prediction.domain.values import Address, Constant, FunctionValue, TupleValue, Unknown, Value

if TYPE_CHECKING:
    from modgraph.prediction.project.registries import Registry
    from modgraph.source.index import Statement

_SHOWING = (DictView, MappingView)
"""Kinds of objects that show what others hold."""

ObjectType = TypeVar("ObjectType", bound=HeapObject)
Layers = tuple[dict[int, HeapObject], ...]


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something the prediction leaves open, found while interpreting; `tree.py` makes `Problem`s of them."""

    reason: str
    where: SourceLocation | None = None
    address: Address | None = None
    """The module whose content it leaves open; None where it is the whole model."""


@dataclass(slots=True)
class Base:
    """Objects made at module level, and the counter of addresses; one for all states of a machine."""

    objects: dict[int, HeapObject] = field(default_factory=dict)
    next_index: int = 1
    through_numpy: set[int] = field(default_factory=set)
    """Arrays that come of tensors, in a run that is followed."""
    cast: set[int] = field(default_factory=set)
    """Tensors that a run has made, by address, of which it is known that an autocast may change their dtype."""
    kept: set[int] = field(default_factory=set)
    """Those that a conversion gave back as they were, which it does not where there is one."""
    uncast: set[int] = field(default_factory=set)
    """Tensors that a run has made, by address or way, whose dtype an autocast around the model leaves as it is."""
    ways: int = 0
    """How many numbers were given to tensors that calls have given back; see `Address.handed`."""
    copied: int = 0
    """How many entries of layers were copied for undecided branches, in this prediction."""
    joined: int = 0
    """Objects that were joined since it was last asked whether work is left."""
    made: int = 0
    """Words of memory that were made, in this prediction."""
    work: int = 0
    """Units of work that no steps, copies or items stand for, in this prediction."""
    has_open_keys: bool = False
    """A size that is left open was a key, or an element of a set, at some time: of any two, equality is asked then."""
    modules: int = 0
    """How many modules and parameters were made."""
    globals: dict[tuple[str, str], Value] = field(default_factory=dict)
    """Module-level names assigned by functions that ran at module level."""
    floor: int = 0
    """Objects below it are older than the construction or call that is being watched; see `memo.py`."""
    older: set[int] = field(default_factory=set)
    """Older objects of states' own layers that were read while watched."""
    older_changed: set[int] = field(default_factory=set)
    """Older objects that were changed while watched."""
    shared: set[int] = field(default_factory=set)
    """Objects of the base that were looked at while watched, as the base has them."""
    keyed: set[int] = field(default_factory=set)
    """Objects whose contents are part of a key that `contents` holds."""
    contents: dict[tuple[int, ...], object] = field(default_factory=dict)
    """Keys of contents, kept until one of the objects is changed."""
    unsettled: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Containers that statements not yet run may change, with the name whose evaluation made them."""
    homes: dict[int, tuple[str, str, str]] = field(default_factory=dict)
    """Of containers made at module level: module and name whose evaluation made them, and the attribute of a class."""
    looked_up: dict[tuple[int, tuple[str, ...]], bool | Unknown] = field(default_factory=dict)
    """What came of looking for a key that such a container lacked; see `lookups.py`."""
    looking: set[tuple[int, tuple[str, ...]]] = field(default_factory=set)
    held: dict[int, FunctionValue] = field(default_factory=dict)
    """By their holders: functions that names around them lead to."""
    identities: dict[Value, list[tuple[Value, int]]] = field(default_factory=dict)
    """The numbers that `id()` gave of values that are no objects of the heap, by what they are equal to."""
    placed: dict[int, bool] = field(default_factory=dict)
    """The objects of the heap of which `id()` was asked; whether names led to each when it was."""
    walked: int = 0
    """Objects that were walked over to see which are still there."""
    registries: dict[tuple[str, str], Registry] = field(default_factory=dict)
    replayed: set[tuple[str, int]] = field(default_factory=set)
    """Module and line of the statements that were run for what they register."""
    reached: dict[str, int] = field(default_factory=dict)
    """Lines that the modules have come to whose import is followed; see `import_progress.py`."""
    put_off: dict[str, list[tuple[str, Statement]]] = field(default_factory=dict)
    """Of these: statements below, with the names that they make up."""
    bound_in_between: set[tuple[str, str]] = field(default_factory=set)
    """Names that such statements have bound anew, after what effects have made of them."""
    waiting: set[tuple[str, int, str]] = field(default_factory=set)
    """Module, line and name of plain statements that run with registrations; see `textual_order.py`."""
    replayed_steps: int = 0
    unfollowed: dict[tuple[str, int], Unknown] = field(default_factory=dict)
    """Those of which it is not known what they register."""
    require: Callable[[], None] = lambda: None
    """Asked now and then where much is copied at once; `LimitError` where that is too much."""
    settle: Callable[[int], None] = lambda _: None
    """Runs the statements that may have changed such a container; see `registries.py`."""
    unassigned: Callable[[State, tuple[str, str]], Value | None] = lambda _, __: None
    """What a module's name is for a state that has not assigned it."""
    inherited: Callable[[State, int, str], Value | None] = lambda _, __, ___: None
    """What a class has under a name that is not in its own namespace as the state has it."""
    parted: set[int] = field(default_factory=set)
    """Addresses of classes that have had a name on some paths only; see `several.py`."""
    outer: list[State] = field(default_factory=list)
    """The states in the midst of which module-level code runs; seen only through an import cycle."""


_PRISTINE = object()
"""The epoch of a state that has changed nothing of the base."""


_CLASSES_OF_A_UNIT = 32
"""Of a set of them, copied in one unit of work."""


_HOLDER = EnvironmentObject()
"""What stands at the address of a holder: nothing that can be changed."""


class State:
    """Heap and problems at one point; `machine.state` is the current one."""

    __slots__ = ("base", "below", "classes", "epoch", "events", "globals", "objects", "problems", "token")

    def __init__(self, base: Base) -> None:
        self.base = base
        self.objects: dict[int, HeapObject] = {}
        """Those made or changed since the last fork."""
        self.below: Layers = ()
        """Those of before, the latest layer first; never changed. A layer that two states share lies before they
        parted."""
        self.globals: dict[tuple[str, str], Value] = {}
        """Module-level names assigned from inside functions, by module and name."""
        self.problems: list[Trouble] = []
        self.token: object = object()
        self.classes: frozenset[int] = frozenset()
        """Classes made or changed in this state; all others are as the base has them."""
        self.epoch: object = _PRISTINE
        """Equal in states that have changed copies of the same objects of the base; see `memo.py`."""
        self.events: Cell | None = None
        """What a run of `forward` has done so far; None where no run is followed."""

    def fork(self) -> State:
        """A state of its own with the same contents; from here on neither sees what the other does."""
        if self.objects:
            self._put_below()
        self.base.work += 1 + (len(self.globals) + len(self.problems)) // 20
        other = State(self.base)
        other.below = self.below
        other.globals = dict(self.globals)
        other.problems = list(self.problems)
        other.classes = self.classes
        other.epoch = self.epoch
        other.events = self.events
        self.token = object()
        return other

    def _put_below(self) -> None:
        """Makes a layer of `objects`; of those that are not much larger, one with it, so that layers stay few."""
        layer = self.objects
        below = self.below
        while below and len(below[0]) <= 2 * len(layer):
            layer = {**below[0], **layer}
            below = below[1:]
            self.base.copied += len(layer)
        self.below = (layer, *below)
        self.objects = {}

    def parted(self, other: State) -> tuple[list[int], list[int]]:
        """Objects that either state made or changed since the two parted, oldest first; they count as changed here.
        Then those of them that are not the same object in both."""
        common = _shared(self.below, other.below)
        own = self.below[: len(self.below) - common]
        theirs_alone = other.below[: len(other.below) - common]
        if own:
            self.objects = _flat((self.objects, *own))
            self.below = self.below[len(own) :]
        mine = self.objects
        theirs = _flat((other.objects, *theirs_alone)) if theirs_alone else other.objects
        parted = sorted(mine.keys() | theirs.keys())
        return parted, [index for index in parted if mine.get(index) is not theirs.get(index)]

    def counts_changes_of(self, other: State) -> None:
        """What the other has changed may be changed here."""
        if self.classes is not other.classes:
            self._count_classes(other.classes)
        if self.epoch is not other.epoch:
            self.epoch = object()

    def _count_classes(self, more: AbstractSet[int]) -> None:
        """They count as changed here. The set is copied, which is work where there are many."""
        self.base.work += (len(self.classes) + len(more)) // _CLASSES_OF_A_UNIT
        self.classes |= more

    def is_as(self, other: State) -> bool:
        """Nothing was changed since the one was forked from the other, and nothing in it."""
        return (
            self.below is other.below
            and not self.objects
            and self.globals == other.globals
            and self.events is other.events
            and len(self.problems) == len(other.problems)
        )

    def changed_since(self, other: State) -> list[int]:
        """Objects that may differ from those of a state that was forked earlier and not changed, oldest first."""
        common = _shared(self.below, other.below)
        own, theirs = self.below[: len(self.below) - common], other.below[: len(other.below) - common]
        return sorted(set(self.objects).union(*own, *theirs))

    @property
    def is_pristine(self) -> bool:
        """It has changed nothing of the base."""
        return self.epoch is _PRISTINE

    def bound(self, key: tuple[str, str]) -> Value | None:
        """What was assigned under that module and name, in this state or at module level."""
        return self.globals.get(key) or self.base.globals.get(key)

    def get(self, index: int) -> HeapObject | None:
        """The object at that address in this state's own layers."""
        found = self.objects.get(index)
        if found is None:
            for layer in self.below:
                found = layer.get(index)
                if found is not None:
                    break
        return found

    def everything(self) -> dict[int, HeapObject]:
        """What `get` finds, by address."""
        return _flat((self.objects, *self.below))

    def above(self, layers: Layers) -> dict[int, HeapObject]:
        """What it has besides these layers, by address."""
        known = {id(layer) for layer in layers}
        return _flat((self.objects, *(layer for layer in self.below if id(layer) not in known)))

    def held(self, function: FunctionValue) -> FunctionValue:
        """A function that was just made, with a holder: an address that stands for it where a value may be the
        function, and is not known."""
        base = self.base
        index = base.next_index
        base.next_index = index + 1
        base.held[index] = function = replace(function, holder=index)
        base.objects[index] = _HOLDER
        return function

    def allocate(self, item: HeapObject) -> Address:
        """A fresh address for `item`, which is this state's own from now on."""
        index = self.base.next_index
        self.base.next_index = index + 1
        item.owner = self.token
        self.objects[index] = item
        kind = type(item)
        self.base.made += _room(item)
        if kind is ModuleObject or (kind is TensorObject and getattr(item, "is_parameter", False)):
            self.base.modules += 1
        elif kind is ClassObject:
            self._count_classes({index})
        return Address(index)

    def read(self, address: Address) -> HeapObject:
        """The object, to look at. Never change it."""
        index = address.index
        found = self.objects.get(index)
        if found is None:
            for layer in self.below:
                found = layer.get(index)
                if found is not None:
                    break
        if found is not None:
            if index < self.base.floor:
                self.base.older.add(index)
            return found.seen_in(self) if isinstance(found, _SHOWING) else found
        found = self.base.objects.get(index)
        if found is None:
            outer = (state.get(index) for state in reversed(self.base.outer))
            return next(item for item in outer if item is not None)
        if self.base.floor:
            self.base.shared.add(index)
        if isinstance(found, _SHOWING):
            return found.seen_in(self)
        if index in self.base.unsettled:
            self.base.settle(index)
            return self.get(index) or self.base.objects[index]
        return found

    def class_at(self, address: Address) -> ClassObject:
        """`read` of a class: most are as the base has them, below all layers."""
        index = address.index
        base = self.base
        found = base.objects.get(index) if index not in self.classes else None
        if type(found) is not ClassObject:
            found = self.read(address)
            assert type(found) is ClassObject
        elif base.floor:
            base.shared.add(index)
        return found

    def write(self, address: Address) -> HeapObject:
        """The object, to change in place: this state's own, copied first where another state sees it too."""
        item = self.read(address)
        base = self.base
        if address.index < base.floor:
            base.older_changed.add(address.index)
        if address.index in base.keyed:
            base.keyed.clear()
            base.contents.clear()
        if item.owner is not self.token or address.index not in self.objects:
            if self.get(address.index) is None:
                self.epoch = object()
            item = item.copy()
            self.base.made += _room(item)
            item.owner = self.token
            self.objects[address.index] = item
            if type(item) is ClassObject:
                self._count_classes({address.index})
        return item

    def find(self, value: object, kind: type[ObjectType]) -> ObjectType | None:
        """The object of that kind behind `value`, to look at; None where `value` is no address of one."""
        if type(value) is Address:
            item = self.read(value)
            if isinstance(item, kind):
                return item
        return None

    def change(self, address: Address, kind: type[ObjectType]) -> ObjectType:
        """`write`, for an address known to lead to a `kind`."""
        item = self.write(address)
        assert isinstance(item, kind)
        return item

    def addresses(self) -> Iterator[Address]:
        """Those of this state's own layer, oldest first."""
        return (Address(index) for index in sorted(self.everything()))


def room_of(value: Value) -> int:
    """Words of memory that a value takes which is no object of the heap: a tuple, a text, a long number."""
    if type(value) is TupleValue:
        return ITEMS_OF_A_TUPLE + len(value.items)
    if type(value) is not Constant:
        return 0
    held = value.value
    if isinstance(held, str | bytes):
        return len(held) // 8
    return held.bit_length() // 64 if type(held) is int else 0


def _room(item: HeapObject) -> int:
    """Words of memory that it takes, roughly. Views of others are left out: to ask for their entries makes them."""
    room = ITEMS_OF_AN_OBJECT
    for name, words in _ROOM.get(type(item), ()):
        room += words * len(getattr(item, name))
    return room


_WORDS = {
    Role.CELLS: 1,
    **dict.fromkeys((Role.ENTRIES, Role.MEMBERS), ITEMS_OF_AN_ENTRY),
    **dict.fromkeys((Role.STORE, Role.ATTRIBUTES), ITEMS_OF_A_NAME),
}
_ROOM: dict[type[HeapObject], list[tuple[str, int]]] = {
    kind: [(name, _WORDS[role]) for name, role in kind.ROLES.items() if role in _WORDS]
    for kind in (ListObject, DictObject, SetObject, IteratorObject, InstanceObject, ModuleObject)
}


def _shared(first: Layers, second: Layers) -> int:
    """How many layers, the oldest ones, are those of both."""
    common = 0
    for mine, theirs in zip(reversed(first), reversed(second), strict=False):
        if mine is not theirs:
            break
        common += 1
    return common


def _flat(layers: Layers) -> dict[int, HeapObject]:
    """Layers in one, where the first has the last word."""
    flat: dict[int, HeapObject] = {}
    for layer in reversed(layers):
        flat.update(layer)
    return flat
