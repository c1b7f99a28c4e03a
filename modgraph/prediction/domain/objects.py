"""The mutable objects that stand behind an `Address`: what Python itself changes in place.

Each lies on the heap of a `State`, and is changed only through `State.write`, which copies those that another state
still sees.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from modgraph.graph.model import SourceLocation
from modgraph.prediction.domain.fields import Role, role, with_roles
from modgraph.prediction.domain.values import (
    Address,
    Choice,
    ClassValue,
    Constant,
    KnownClass,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from modgraph.prediction.domain.definitions import ClassDefinition

ObjectType = TypeVar("ObjectType", bound="HeapObject")


@dataclass(slots=True, eq=False)
class HeapObject:
    """Base of what an `Address` leads to. Change one only after `State.write(address)` has given it to you."""

    owner: object = field(default=None, init=False, repr=False)
    """Token of the state that may change it in place; kept by `State`."""

    ROLES: ClassVar[Mapping[str, Role]] = {}
    """Of each field; see `fields.py`, which makes `copy` and `references` of them."""
    FINAL: ClassVar[Mapping[str, object]] = {}
    """What fields of the role FINAL change into."""
    REASONS: ClassVar[tuple[str, ...]] = ()
    """The fields that say why there may be more."""

    def copy(self: ObjectType) -> ObjectType:
        """The same contents, in containers of its own (values are shared)."""
        raise NotImplementedError

    def references(self) -> Iterator[Value]:
        """Every value held, in order."""
        raise NotImplementedError


@with_roles
@dataclass(slots=True, eq=False)
class ListObject(HeapObject):
    """A list, deque or instance of a list subclass."""

    items: list[Value] = field(default_factory=list, metadata=role(Role.CELLS))
    """Where `open` is set, only what certainly stands first."""
    open: Unknown | None = field(default=None, metadata=role(Role.REST))
    """Why further items may follow; None where `items` is everything."""
    cls: Value = field(default_factory=lambda: KnownClass("builtins.list"), metadata=role(Role.VALUE))
    attributes: dict[str, Value] = field(default_factory=dict, metadata=role(Role.ATTRIBUTES))
    further: Unknown | None = field(default=None, metadata=role(Role.REASON))
    """Why it may have attributes that are not here."""


@with_roles
@dataclass(slots=True, eq=False)
class DictObject(HeapObject):
    """A dict, OrderedDict, defaultdict or instance of a dict subclass, in order of insertion."""

    entries: dict[Value, Value] = field(default_factory=dict, metadata=role(Role.ENTRIES))
    """Keys are hashable values: Constant, TupleValue, ClassValue, EnumMember, Address (by identity), ..."""
    open: Unknown | None = field(default=None, metadata=role(Role.REST))
    """Why there may be further entries."""
    cls: Value = field(default_factory=lambda: KnownClass("builtins.dict"), metadata=role(Role.VALUE))
    attributes: dict[str, Value] = field(default_factory=dict, metadata=role(Role.ATTRIBUTES))
    further: Unknown | None = field(default=None, metadata=role(Role.REASON))
    """Why it may have attributes that are not here."""

    @property
    def unsure(self) -> Unknown | None:
        """Why it may have other keys than those of `entries`: it is open, or one of them is on some paths only."""
        if self.open is not None:
            return self.open
        return next((each for each in self.entries.values() if type(each) is Unknown and each.optional), None)


VIEW_OF = "<view of>"
"""Attribute of a DictObject that is a view of an instance: the instance."""
VIEW_STORE = "<store>"
"""What of the instance it shows: "attributes" (`__dict__`), "modules" (`_modules`), "parameters", "buffers"."""


class ViewObject(DictObject):
    """`__dict__` of an instance or a class: `shown` holds names, which become `entries` when these are asked for."""

    __slots__ = ("_entries", "shown")

    def __init__(self, shown: Mapping[str, Value], open_: Unknown | None, attributes: dict[str, Value]) -> None:
        self._entries: dict[Value, Value] | None = None
        self.shown = shown
        self.open = open_
        self.cls = KnownClass("builtins.dict")
        self.attributes = attributes
        self.further = None
        self.owner = None

    @property
    def leaves_out(self) -> bool:
        """There are names that are found, and not listed."""
        return getattr(self.shown, "leaves_out", False)

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
        if self._entries is not None and (key in self._entries or not self.leaves_out):
            return self._entries.get(key)
        return self.shown.get(key.value) if type(key) is Constant and type(key.value) is str else None


@with_roles
@dataclass(slots=True, eq=False)
class SetObject(HeapObject):
    """A set or frozenset; `items` keeps the order of insertion, so that nothing depends on hashes."""

    items: dict[Value, None] = field(default_factory=dict, metadata=role(Role.MEMBERS))
    open: Unknown | None = field(default=None, metadata=role(Role.REST))
    cls: Value = field(default_factory=lambda: KnownClass("builtins.set"), metadata=role(Role.VALUE))
    attributes: dict[str, Value] = field(default_factory=dict, metadata=role(Role.ATTRIBUTES))
    further: Unknown | None = field(default=None, metadata=role(Role.REASON))
    """Why it may have attributes that are not here."""


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
    value: Value | None = None
    """What the code has returned that makes the items; None where that is not known, or where there is none."""


STALE = -1
"""Items asked of a source, where paths that asked for more and for fewer have met: what it gives next is not known."""


@with_roles
@dataclass(slots=True, eq=False)
class IteratorObject(HeapObject):
    """iter(x), a generator, a zip: what `next` takes from."""

    items: list[Value] = field(default_factory=list, metadata=role(Role.CELLS))
    """Those that are there already; they come before those of `source`."""
    position: int = field(default=0, metadata=role(Role.COUPLED))
    open: Unknown | None = field(default=None, metadata=role(Role.REST))
    source: Source | None = field(default=None, metadata=role(Role.COUPLED))
    taken: int = field(default=0, metadata=role(Role.COUPLED))
    """Items asked of `source`."""
    running: Any = field(default=None, metadata=role(Role.COUPLED))
    """The suspended code of a source that has begun; states share it, and `taken` tells for which of them it stands."""
    returned: Value | None = field(default=None, metadata=role(Role.COUPLED))
    """Of a generator that has ended: what it has returned; None where that is not known."""

    def references(self) -> Iterator[Value]:
        yield from self.items[self.position :]
        if self.returned is not None:
            yield self.returned
        if self.source is not None:
            yield from self.source.references()


@with_roles
@dataclass(slots=True, eq=False)
class InstanceObject(HeapObject):
    """An instance of a plain class: a config, a dataclass, an exception, any helper object."""

    cls: Value = field(metadata=role(Role.VALUE))
    """ClassValue or KnownClass."""
    attributes: dict[str, Value] = field(default_factory=dict, metadata=role(Role.ATTRIBUTES))
    """Its `__dict__`."""
    open: Unknown | None = field(default=None, metadata=role(Role.REASON))
    """Why it may have further attributes, or others than these."""
    arguments: tuple[tuple[str, Value], ...] = field(default=(), metadata=role(Role.NOTED_VALUES))
    where: SourceLocation | None = field(default=None, metadata=role(Role.PLACE))
    shuffled: Unknown | None = field(default=None, metadata=role(Role.REASON))
    """Why the order of its attributes is not known."""


@with_roles
@dataclass(slots=True, eq=False)
class ModuleObject(HeapObject):
    """An instance of nn.Module or of a subclass.

    The four stores hold what torch's own hold, in order of first registration; the key `OPEN` ("?") with an `Unknown`
    says that further entries may stand at its position.
    """

    cls: Value = field(metadata=role(Role.VALUE))
    attributes: dict[str, Value] = field(default_factory=dict, metadata=role(Role.ATTRIBUTES))
    """Its `__dict__`, without the stores."""
    modules: dict[str, Value] = field(default_factory=dict, metadata=role(Role.STORE))
    """Address of a ModuleObject, NONE for a slot that holds None, Unknown, or a Choice of these."""
    parameters: dict[str, Value] = field(default_factory=dict, metadata=role(Role.STORE))
    """Address of a TensorObject, NONE, Unknown, Choice."""
    buffers: dict[str, Value] = field(default_factory=dict, metadata=role(Role.STORE))
    non_persistent: dict[str, bool | None] = field(default_factory=dict, metadata=role(Role.FLAGS))
    """Names of `buffers` that are not in the state dict; None where that is not known."""
    initialised: bool | None = field(default=False, metadata=role(Role.FINAL, final=True))
    """Module.__init__ has run."""
    open: Unknown | None = field(default=None, metadata=role(Role.REASON))
    """Why plain attributes may have been set that are not here."""
    arguments: tuple[tuple[str, Value], ...] = field(default=(), metadata=role(Role.NOTED_VALUES))
    """Of the constructor, bound to parameter names; defaults are not filled in."""
    where: SourceLocation | None = field(default=None, metadata=role(Role.PLACE))
    """The call that made it."""
    shuffled: Unknown | None = field(default=None, metadata=role(Role.REASON))
    """Why the order of its plain attributes is not known."""
    mixed: Unknown | None = field(default=None, metadata=role(Role.ORDER))
    """Why the order of what it registers is not known."""


class Sizes(tuple[int | None, ...]):
    """A shape in which a size is not known, with the reason."""

    why: Unknown | Choice | None

    def __new__(cls, sizes: tuple[int | None, ...], why: Unknown | Choice | None) -> Sizes:
        made = super().__new__(cls, sizes)
        made.why = why
        return made


DERIVED = ""
"""The device of a tensor that is where those are which it is computed from, before it is said where."""
MIXED = "<mixed>"
"""Attribute of an open dict: its entries may stand in any order."""
OF_LEAF = "<of leaf>"
"""Attribute of a tensor that needs a gradient as it is a view of one that has it, or of a parameter."""
POOLED = "<pooled>"
"""Attribute of a tensor of the indices that a pool gives: the sizes of what it pooled."""
BELOW = "<below>"
"""Attribute of a tensor of whole numbers: what all of them are below, where that is known and they are not."""
BATCH = "<batch>"
"""Attribute of the numbers of packed sequences that go on at each step: how many there are at the first."""
CUT = "<cut>"
"""Attribute of the steps of packed sequences of which there are less than their lengths say."""
STEPS = "<steps>"
"""Attribute of a tensor: its shape, and how far apart the neighbours of each dimension lie; see `tensors/layout.py`."""
ONE_OF_SEVERAL = "<one of several>"
"""Attribute of a tensor that `chunk`, `split` or `unbind` gave: a view that torch does not let be changed in place."""
PERHAPS_SEVERAL = "<perhaps several>"
"""Attribute of a tensor of which nothing is known: it stands for what a function gave, which may be several of them."""
MAY_BE = "<may be>"
"""Attribute of a tensor that a function gave: the argument that it may be itself, as torch gives that back or not."""
A_VIEW = "<a view>"
"""Attribute of such a tensor that certainly has the memory of the argument."""
DETACHED = "<detached>"
"""Attribute of such a tensor of which gradients do not go to the argument, whose memory it has."""
LEAF = "<leaf>"
"""Attribute of a tensor that was itself asked to need a gradient, not because of what it is computed from."""
GIVEN = "<given>"
"""Attribute of a tensor that `forward` is given: whether it needs a gradient, and has one, its caller knows."""


@with_roles
@dataclass(slots=True, eq=False)
class TensorObject(HeapObject):
    """A tensor: shape and dtype, and the elements themselves where they are few and known."""

    shape: tuple[int | None, ...] | None = field(default=None, metadata=role(Role.SHAPE))
    """None for a size that is not known; None altogether where the number of dimensions is not known, or for a lazy
    parameter."""
    dtype: str | None = field(default="float32", metadata=role(Role.FLAT))
    is_parameter: bool | None = field(default=False, metadata=role(Role.FLAT))
    is_buffer: bool = field(default=False, metadata=role(Role.FIXED))
    """Made by nn.Buffer: registered by plain assignment."""
    requires_grad: bool | None = field(default=False, metadata=role(Role.FLAT))
    lazy: bool | None = field(default=False, metadata=role(Role.FINAL, final=False))
    """UninitializedParameter or UninitializedBuffer."""
    elements: tuple[int | float | bool, ...] | None = field(default=None, metadata=role(Role.FLAT))
    """All elements, row by row; None where they are not known or too many."""
    memory: tuple[Address, ...] = field(default=(), metadata=role(Role.MEMORY))
    """Tensors that it is a view of, or may be; see `knowledge/tensor_memory.py`."""
    writes: int | None = field(default=0, metadata=role(Role.FLAT))
    """How often its memory was written to."""
    seen: int | None = field(default=0, metadata=role(Role.FLAT))
    """The `writes` of those in `memory` when `elements` were taken."""
    device: str | None = field(default="cpu", metadata=role(Role.FLAT))
    cls: Value | None = field(default=None, metadata=role(Role.VALUE))
    """A subclass of Tensor or Parameter with source; None for torch's own."""
    attributes: dict[str, Value] = field(default_factory=dict, metadata=role(Role.ATTRIBUTES))
    """What was set on it by name (`p._no_weight_decay = True`)."""
    where: SourceLocation | None = field(default=None, metadata=role(Role.PLACE))
    """The statement that registered it first."""
    unsized: Unknown | Choice | None = field(default=None, metadata=role(Role.NOTE))
    """What `shape` depends on where it is None."""
    further: Unknown | None = field(default=None, metadata=role(Role.REASON))
    """Why it may have attributes that are not here."""


@with_roles
@dataclass(slots=True, eq=False)
class ClassObject(HeapObject):
    """What a `ClassValue` stands for; its namespace is filled name by name as names are asked for."""

    definition: ClassDefinition | None = field(metadata=role(Role.FIXED))
    """None for a class made by a call (namedtuple, type, Enum("X", ...))."""
    bases: tuple[Value, ...] = field(metadata=role(Role.FIXED))
    mro: tuple[Value, ...] = field(metadata=role(Role.FIXED))
    """Itself first; ClassValue, KnownClass, or an Unknown where a base is not known."""
    namespace: dict[str, Value] = field(default_factory=dict, metadata=role(Role.NAMESPACE))
    closure: Address | None = field(default=None, metadata=role(Role.LINK))
    fields: tuple[tuple[str, Value | None], ...] | None = field(default=None, metadata=role(Role.FIXED))
    """Of a namedtuple class: names with defaults, None without one."""
    metaclass: ClassValue | KnownClass | None = field(default=None, metadata=role(Role.FIXED))
    """Other than `type`."""
    shuffled: Unknown | None = field(default=None, metadata=role(Role.REASON))
    """Why the order of its names is not known."""


@with_roles
@dataclass(slots=True, eq=False)
class EnvironmentObject(HeapObject):
    """The names of one running (or closed over) function, class body, comprehension, or module."""

    names: dict[str, Value] = field(default_factory=dict, metadata=role(Role.LOCALS))
    parent: Address | None = field(default=None, metadata=role(Role.LINK))
    """The enclosing function's; None directly below the module."""

    unsure: frozenset[str] = field(default=frozenset(), metadata=role(Role.COUPLED))
    """Names that are bound on some paths only."""
    made: dict[int, int] = field(default_factory=dict, metadata=role(Role.COUNTS))
    """How many functions each `def` or lambda in a loop has made."""
    is_shuffled: bool = field(default=False, metadata=role(Role.COUPLED))
    """In which order the names were bound first is not known; that of a class body tells."""

    def bind(self, name: str, value: Value) -> None:
        if self.unsure:
            self.is_shuffled |= name in self.unsure and name != next(reversed(self.names), name)
            self.unsure -= {name}
        self.names[name] = value
