"""`State`: the heap as it stands at one point of the interpretation; cheap to fork, joined entry by entry.

Objects are made in one of two layers. What module-level code makes lies in the *base*, shared by every state, and is
never changed after; what runs below a constructor lies in the state's own layer, and so do its changed copies of base
objects. `fork()` copies one dict; an object is copied when a state writes to it that did not make it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from modgraph.graph.model import SourceLocation
from modgraph.prediction.values import Address, ClassObject, HeapObject, ModuleObject, TensorObject, Unknown, Value

if TYPE_CHECKING:
    from modgraph.prediction.registries import Registry

ObjectType = TypeVar("ObjectType", bound=HeapObject)


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
    copied: int = 0
    """How many entries of states were copied for undecided branches, in this prediction."""
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
    keyed: set[int] = field(default_factory=set)
    """Objects whose contents are part of a key that `contents` holds."""
    contents: dict[tuple[int, ...], object] = field(default_factory=dict)
    """Keys of contents, kept until one of the objects is changed."""
    unsettled: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Containers that statements not yet run may change, with the name whose evaluation made them."""
    claimed: set[int] = field(default_factory=set)
    """Containers that are or were among these."""
    registries: dict[tuple[str, str], Registry] = field(default_factory=dict)
    replayed: set[tuple[str, int]] = field(default_factory=set)
    """Module and line of the statements that were run for what they register."""
    replayed_steps: int = 0
    unfollowed: dict[tuple[str, int], Unknown] = field(default_factory=dict)
    """Those of which it is not known what they register."""
    settle: Callable[[int], None] = lambda _: None
    """Runs the statements that may have changed such a container; see `registries.py`."""
    outer: list[dict[int, HeapObject]] = field(default_factory=list)
    """Layers of the states in the midst of which module-level code runs; seen only through an import cycle."""


class State:
    """Heap and problems at one point; `machine.state` is the current one."""

    __slots__ = ("base", "changed", "globals", "has_classes", "history", "objects", "problems", "token")

    def __init__(self, base: Base) -> None:
        self.base = base
        self.objects: dict[int, HeapObject] = {}
        self.globals: dict[tuple[str, str], Value] = {}
        """Module-level names assigned from inside functions, by module and name."""
        self.changed: set[int] = set()
        """Objects made or changed since the last fork."""
        self.history: list[set[int]] = []
        """`changed` as it was at each fork before that; a set that two states share lies before they parted."""
        self.problems: list[Trouble] = []
        self.token: object = object()
        self.has_classes = False
        """A class was made or changed in this state; else all are as the base has them."""

    def fork(self) -> State:
        """A state of its own with the same contents; from here on neither sees what the other does."""
        other = State(self.base)
        other.objects = dict(self.objects)
        self.base.copied += len(self.objects)
        other.globals = dict(self.globals)
        other.problems = list(self.problems)
        other.has_classes = self.has_classes
        self.history.append(self.changed)
        other.history = list(self.history)
        self.changed = set()
        self.token = object()
        return other

    def parted(self, other: State) -> list[int]:
        """Objects that either state made or changed since the two parted, oldest first; they count as changed here."""
        common = 0
        for mine, theirs in zip(self.history, other.history, strict=False):
            if mine is not theirs:
                break
            common += 1
        since = self.changed.union(other.changed, *self.history[common:], *other.history[common:])
        self.history = self.history[:common]
        self.changed = since
        self.has_classes = self.has_classes or other.has_classes
        return sorted(since)

    def allocate(self, item: HeapObject) -> Address:
        """A fresh address for `item`, which is this state's own from now on."""
        index = self.base.next_index
        self.base.next_index = index + 1
        item.owner = self.token
        self.objects[index] = item
        self.changed.add(index)
        kind = type(item)
        if kind is ModuleObject or (kind is TensorObject and getattr(item, "is_parameter", False)):
            self.base.modules += 1
        elif kind is ClassObject:
            self.has_classes = True
        return Address(index)

    def read(self, address: Address) -> HeapObject:
        """The object, to look at. Never change it."""
        index = address.index
        found = self.objects.get(index)
        if found is not None:
            if index < self.base.floor:
                self.base.older.add(index)
        else:
            found = self.base.objects.get(index)
            if found is None:
                return next(layer[index] for layer in reversed(self.base.outer) if index in layer)
            if index in self.base.unsettled:
                self.base.settle(index)
                return self.objects.get(index) or self.base.objects[index]
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
            item = item.copy()
            item.owner = self.token
            self.objects[address.index] = item
            self.changed.add(address.index)
            if type(item) is ClassObject:
                self.has_classes = True
        return item

    def find(self, value: object, kind: type[ObjectType]) -> ObjectType | None:
        """The object of that kind behind `value`, to look at; None where `value` is no address of one."""
        if isinstance(value, Address):
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
        return (Address(index) for index in sorted(self.objects))
