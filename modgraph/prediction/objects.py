"""The mutable objects that stand behind an `Address`: what Python itself changes in place.

Each lies on the heap of a `State`, and is changed only through `State.write`, which copies those that another state
still sees.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from modgraph.graph.model import SourceLocation
from modgraph.prediction.values import (
    Address,
    Choice,
    ClassValue,
    Constant,
    KnownClass,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from modgraph.prediction.definitions import ClassDefinition


@dataclass(slots=True, eq=False)
class HeapObject:
    """Base of what an `Address` leads to. Change one only after `State.write(address)` has given it to you."""

    owner: object = field(default=None, init=False, repr=False)
    """Token of the state that may change it in place; kept by `State`."""

    def copy(self) -> HeapObject:
        """The same contents, in containers of its own (values are shared)."""
        raise NotImplementedError

    def references(self) -> Iterator[Value]:
        """Every value held, in order."""
        raise NotImplementedError


@dataclass(slots=True, eq=False)
class ListObject(HeapObject):
    """A list, deque or instance of a list subclass."""

    items: list[Value] = field(default_factory=list)
    """Where `open` is set, only what certainly stands first."""
    open: Unknown | None = None
    """Why further items may follow; None where `items` is everything."""
    cls: Value = field(default_factory=lambda: KnownClass("builtins.list"))
    attributes: dict[str, Value] = field(default_factory=dict)

    def copy(self) -> ListObject:
        return ListObject(list(self.items), self.open, self.cls, dict(self.attributes))

    def references(self) -> Iterator[Value]:
        yield from self.items
        yield from self.attributes.values()


@dataclass(slots=True, eq=False)
class DictObject(HeapObject):
    """A dict, OrderedDict, defaultdict or instance of a dict subclass, in order of insertion."""

    entries: dict[Value, Value] = field(default_factory=dict)
    """Keys are hashable values: Constant, TupleValue, ClassValue, EnumMember, Address (by identity), ..."""
    open: Unknown | None = None
    """Why there may be further entries."""
    cls: Value = field(default_factory=lambda: KnownClass("builtins.dict"))
    attributes: dict[str, Value] = field(default_factory=dict)

    @property
    def unsure(self) -> Unknown | None:
        """Why it may have other keys than those of `entries`: it is open, or one of them is on some paths only."""
        if self.open is not None:
            return self.open
        return next((each for each in self.entries.values() if type(each) is Unknown and each.optional), None)

    def copy(self) -> DictObject:
        return DictObject(dict(self.entries), self.open, self.cls, dict(self.attributes))

    def references(self) -> Iterator[Value]:
        for key, value in self.entries.items():
            yield key
            yield value
        yield from self.attributes.values()


class ViewObject(DictObject):
    """`__dict__` of an instance or a class: `shown` holds names, which become `entries` when these are asked for."""

    __slots__ = ("_entries", "shown")

    def __init__(self, shown: Mapping[str, Value], open_: Unknown | None, attributes: dict[str, Value]) -> None:
        self._entries: dict[Value, Value] | None = None
        self.shown = shown
        self.open = open_
        self.cls = KnownClass("builtins.dict")
        self.attributes = attributes
        self.owner = None

    @property
    def entries(self) -> dict[Value, Value]:
        if self._entries is None:
            self._entries = {Constant(name): value for name, value in self.shown.items()}
        return self._entries

    @entries.setter
    def entries(self, new: dict[Value, Value]) -> None:
        self._entries = new

    def peek(self, key: Value) -> Value | None:
        """The entry of a key."""
        if self._entries is not None:
            return self._entries.get(key)
        return self.shown.get(key.value) if type(key) is Constant and type(key.value) is str else None


@dataclass(slots=True, eq=False)
class SetObject(HeapObject):
    """A set or frozenset; `items` keeps the order of insertion, so that nothing depends on hashes."""

    items: dict[Value, None] = field(default_factory=dict)
    open: Unknown | None = None
    cls: Value = field(default_factory=lambda: KnownClass("builtins.set"))
    attributes: dict[str, Value] = field(default_factory=dict)

    def copy(self) -> SetObject:
        return SetObject(dict(self.items), self.open, self.cls, dict(self.attributes))

    def references(self) -> Iterator[Value]:
        yield from self.items
        yield from self.attributes.values()


class Source:
    """Where an iterator takes its items from, one at a time, when it is asked for them."""

    __slots__ = ()

    def step(self, machine: Any, address: Address) -> Value | Ended:
        """The next item for the iterator at that address.

        Raises:
            Raised: what Python would raise in place of giving it.
        """
        raise NotImplementedError

    def references(self) -> tuple[Value, ...]:
        """Values that what runs to make an item starts from."""
        return ()

    def forgotten(self, why: Unknown) -> None:
        """Code that is not known may have taken any number of items."""


@dataclass(frozen=True, slots=True)
class Ended:
    """There is no further item, or none that is known."""

    why: Unknown | None = None
    """Why there may be others all the same."""


STALE = -1
"""Items asked of a source, where paths that asked for more and for fewer have met: what it gives next is not known."""


@dataclass(slots=True, eq=False)
class IteratorObject(HeapObject):
    """iter(x), a generator, a zip: what `next` takes from."""

    items: list[Value] = field(default_factory=list)
    """Those that are there already; they come before those of `source`."""
    position: int = 0
    open: Unknown | None = None
    source: Source | None = None
    taken: int = 0
    """Items asked of `source`."""
    running: Any = None
    """The suspended code of a source that has begun; states share it, and `taken` tells for which of them it stands."""

    def copy(self) -> IteratorObject:
        return IteratorObject(list(self.items), self.position, self.open, self.source, self.taken, self.running)

    def references(self) -> Iterator[Value]:
        yield from self.items[self.position :]
        if self.source is not None:
            yield from self.source.references()


@dataclass(slots=True, eq=False)
class InstanceObject(HeapObject):
    """An instance of a plain class: a config, a dataclass, an exception, any helper object."""

    cls: Value
    """ClassValue or KnownClass."""
    attributes: dict[str, Value] = field(default_factory=dict)
    """Its `__dict__`."""
    open: Unknown | None = None
    """Why it may have further attributes, or others than these."""
    arguments: tuple[tuple[str, Value], ...] = ()
    where: SourceLocation | None = None
    shuffled: Unknown | None = None
    """Why the order of its attributes is not known."""

    def copy(self) -> InstanceObject:
        return InstanceObject(self.cls, dict(self.attributes), self.open, self.arguments, self.where, self.shuffled)

    def references(self) -> Iterator[Value]:
        yield from self.attributes.values()


@dataclass(slots=True, eq=False)
class ModuleObject(HeapObject):
    """An instance of nn.Module or of a subclass.

    The four stores hold what torch's own hold, in order of first registration; the key `OPEN` ("?") with an `Unknown`
    says that further entries may stand at its position.
    """

    cls: Value
    attributes: dict[str, Value] = field(default_factory=dict)
    """Its `__dict__`, without the stores."""
    modules: dict[str, Value] = field(default_factory=dict)
    """Address of a ModuleObject, NONE for a slot that holds None, Unknown, or a Choice of these."""
    parameters: dict[str, Value] = field(default_factory=dict)
    """Address of a TensorObject, NONE, Unknown, Choice."""
    buffers: dict[str, Value] = field(default_factory=dict)
    non_persistent: dict[str, bool | None] = field(default_factory=dict)
    """Names of `buffers` that are not in the state dict; None where that is not known."""
    initialised: bool = False
    """Module.__init__ has run."""
    open: Unknown | None = None
    """Why plain attributes may have been set that are not here."""
    arguments: tuple[tuple[str, Value], ...] = ()
    """Of the constructor, bound to parameter names; defaults are not filled in."""
    where: SourceLocation | None = None
    """The call that made it."""
    shuffled: Unknown | None = None
    """Why the order of its plain attributes is not known."""

    def copy(self) -> ModuleObject:
        return ModuleObject(
            self.cls,
            dict(self.attributes),
            dict(self.modules),
            dict(self.parameters),
            dict(self.buffers),
            dict(self.non_persistent),
            self.initialised,
            self.open,
            self.arguments,
            self.where,
            self.shuffled,
        )

    def references(self) -> Iterator[Value]:
        yield from self.modules.values()
        yield from self.parameters.values()
        yield from self.buffers.values()
        yield from self.attributes.values()


class Sizes(tuple[int | None, ...]):
    """A shape in which a size is not known, with the reason."""

    why: Unknown | Choice | None

    def __new__(cls, sizes: tuple[int | None, ...], why: Unknown | Choice | None) -> Sizes:
        made = super().__new__(cls, sizes)
        made.why = why
        return made


LEAF = "<leaf>"
"""Attribute of a tensor that was itself asked to need a gradient, not because of what it is computed from."""


@dataclass(slots=True, eq=False)
class TensorObject(HeapObject):
    """A tensor: shape and dtype, and the elements themselves where they are few and known."""

    shape: tuple[int | None, ...] | None = None
    """None for a size that is not known; None altogether where the number of dimensions is not known, or for a lazy
    parameter."""
    dtype: str | None = "float32"
    is_parameter: bool = False
    is_buffer: bool = False
    """Made by nn.Buffer: registered by plain assignment."""
    persistent: bool = True
    """Of an nn.Buffer."""
    requires_grad: bool | None = False
    lazy: bool = False
    """UninitializedParameter or UninitializedBuffer."""
    elements: tuple[int | float | bool, ...] | None = None
    """All elements, row by row; None where they are not known or too many."""
    device: str | None = "cpu"
    cls: Value | None = None
    """A subclass of Tensor or Parameter with source; None for torch's own."""
    attributes: dict[str, Value] = field(default_factory=dict)
    """What was set on it by name (`p._no_weight_decay = True`)."""
    where: SourceLocation | None = None
    """The statement that registered it first."""
    unsized: Unknown | Choice | None = None
    """What `shape` depends on where it is None."""

    def copy(self) -> TensorObject:
        return TensorObject(
            self.shape,
            self.dtype,
            self.is_parameter,
            self.is_buffer,
            self.persistent,
            self.requires_grad,
            self.lazy,
            self.elements,
            self.device,
            self.cls,
            dict(self.attributes),
            self.where,
            self.unsized,
        )

    def references(self) -> Iterator[Value]:
        yield from self.attributes.values()


@dataclass(slots=True, eq=False)
class ClassObject(HeapObject):
    """What a `ClassValue` stands for; its namespace is filled name by name as names are asked for."""

    definition: ClassDefinition | None
    """None for a class made by a call (namedtuple, type, Enum("X", ...))."""
    bases: tuple[Value, ...]
    mro: tuple[Value, ...]
    """Itself first; ClassValue, KnownClass, or an Unknown where a base is not known."""
    namespace: dict[str, Value] = field(default_factory=dict)
    closure: Address | None = None
    fields: tuple[tuple[str, Value | None], ...] | None = None
    """Of a namedtuple class: names with defaults, None without one."""
    metaclass: ClassValue | KnownClass | None = None
    """Other than `type`."""

    def copy(self) -> ClassObject:
        namespace = dict(self.namespace)
        return ClassObject(self.definition, self.bases, self.mro, namespace, self.closure, self.fields, self.metaclass)

    def references(self) -> Iterator[Value]:
        yield from self.namespace.values()


@dataclass(slots=True, eq=False)
class EnvironmentObject(HeapObject):
    """The names of one running (or closed over) function, class body, comprehension, or module."""

    names: dict[str, Value] = field(default_factory=dict)
    parent: Address | None = None
    """The enclosing function's; None directly below the module."""

    unsure: frozenset[str] = frozenset()
    """Names that are bound on some paths only."""
    made: dict[int, int] = field(default_factory=dict)
    """How many functions each `def` or lambda in a loop has made."""

    def bind(self, name: str, value: Value) -> None:
        self.names[name] = value
        if self.unsure:
            self.unsure -= {name}

    def copy(self) -> EnvironmentObject:
        return EnvironmentObject(dict(self.names), self.parent, self.unsure, dict(self.made))

    def references(self) -> Iterator[Value]:
        yield from self.names.values()
