"""What the interpreter computes with: frozen values, some of which lead to an object that can change.

A value never changes, so states share it freely. What Python mutates (a list, a dict, an instance, a tensor) is an
object on the heap of a `State` (see `objects.py`); the value is its `Address`, so that `a = b = []` stays one list.

The few kinds of values that are made with nearly every expression are not frozen dataclasses: these take five times as
long to make. They are not changed either.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from modgraph.graph.model import SourceLocation
from modgraph.prediction.domain.limits import MAX_VALUE_SIZE, LimitError
from modgraph.prediction.domain.sizes import OPEN_KINDS, hash_of, same

if TYPE_CHECKING:
    from modgraph.prediction.domain.definitions import FunctionDefinition

OPEN = "?"
"""Key under which a mapping of registered names holds an `Unknown`: further entries may stand at this position."""

MODULE = "torch.nn.modules.module.Module"
"""Definition site of `nn.Module`: whatever has it in its MRO is a `ModuleObject`."""


Ends = tuple[tuple[str, str], ...]
"""How a text that is not known as a whole may begin and end; in between stands anything, or nothing."""


ValueType = TypeVar("ValueType", bound="Value")


class Value:
    """Base of everything an expression evaluates to.

    `PARTS` names the fields of a kind that hold values: each a value or None, a tuple of values, or a tuple of pairs of
    a name and a value. What walks over values, or puts others in their places, follows from it.
    """

    __slots__ = ()
    PARTS: ClassVar[tuple[str, ...]] = ()

    def parts(self) -> Iterator[Value]:
        """The values that it holds."""
        for name in self.PARTS:
            held = getattr(self, name)
            if isinstance(held, Value):
                yield held
            else:
                for each in held or ():
                    part = each if isinstance(each, Value) else each[1]
                    if part is not None:
                        yield part

    def mapped(self: ValueType, function: Callable[[Value], Value]) -> ValueType:
        """The same with the counterparts of its parts; itself where these are the parts themselves."""
        changed = {}
        for name in self.PARTS:
            held = getattr(self, name)
            new = _mapped(held, function)
            if new is not held:
                changed[name] = new
        return replace(self, **changed) if changed else self  # type: ignore[type-var]


def _mapped(held: Any, function: Callable[[Value], Value]) -> Any:
    if isinstance(held, Value):
        return function(held)
    if not held:
        return held
    new = tuple(
        function(each) if isinstance(each, Value) else (each[0], each[1] and function(each[1])) for each in held
    )
    same = all(a is b or (type(a) is tuple and a[1] is b[1]) for a, b in zip(new, held, strict=True))
    return held if same else new


@dataclass(slots=True, unsafe_hash=True)
class Unknown(Value):
    """Not knowable without running the code. Wrong is worse: when in doubt, this."""

    reason: str
    """ "depends on os.environ": completes "unknown, because it ..." or stands alone; no final full stop."""
    where: SourceLocation | None = None
    """Where it became unknown."""
    inert: bool = False
    """Nothing that a model registers can be reached through it (a logger, a package of helpers): calling it, or an
    attribute of it, with a module or list as argument does not open that argument."""
    optional: bool = False
    """Of an entry (an attribute, a registered name): it exists on some paths only."""
    text: Ends | None = None
    """It is a text that begins and ends in one of these ways; see `partial_texts.py`."""
    may_be: frozenset[int] = frozenset()
    """Addresses of objects that it may be, or hold, and that are described elsewhere; see `possible.py`."""
    outside: bool = False
    """It comes from outside the program (a file, a device, the environment): an operation on it may raise."""
    library: str = ""
    """Import path of what it comes from, where that is a library which is not interpreted; of what a function of torch
    gives, that of the function and `GIVEN`."""

    @property
    def is_doubtful(self) -> bool:
        """An operation on it may raise."""
        return self.outside or not self.inert


GIVEN = "()"
"""Ends the import path of a function, of what a call of it gives: that is no function of that name."""


def is_of_torch(value: Unknown) -> bool:
    """It is what a function of torch gives, which may be a tensor, or several."""
    return value.library.startswith("torch.") and value.library.endswith(GIVEN)


Facts = frozenset[tuple[str, bool]]
"""Questions that have one answer in all of a run, and these."""


@dataclass(frozen=True, slots=True)
class Tested:
    """A test that came out this way, on a path of a run that is followed."""

    text: str
    """In Python: "x.sum() > 0"."""
    truth: bool
    where: SourceLocation | None
    facts: Facts = field(default=frozenset(), compare=False, repr=False)
    """What holds of the run on that path."""


def are_possible(facts: Facts) -> bool:
    """None of them is the contrary of another."""
    return not any((question, not truth) in facts for question, truth in facts)


Tests = tuple[Tested, ...]


def facts_in(tests: Tests) -> Facts:
    """What holds of the run where they all have come out so."""
    return frozenset().union(*(each.facts for each in tests))


@dataclass(frozen=True, slots=True)
class Choice(Value):
    """One of a few known values, which of them is not known; never nested, never of one. Made by `machine.choice`."""

    PARTS = ("alternatives",)
    alternatives: tuple[Value, ...]
    reason: str
    """ "depends on `config.x` (model.py:12)"."""
    where: SourceLocation | None = None
    when: tuple[Tests, ...] = ()
    """Of each alternative, in a run that is followed: how tests came out on the path that gives it, which is taken with
    these alone; nothing where that is not known. Empty where it is known of none."""

    def tests_of(self, place: int) -> Tests:
        return self.when[place] if place < len(self.when) else ()

    def facts(self) -> tuple[Facts, ...]:
        """Of all tests, in order: two choices that are equal may have come of two tests that read the same."""
        return tuple(each.facts for tests in self.when for each in tests)


@dataclass(slots=True, eq=False)
class Constant(Value):
    """An immutable Python value: None, bool, int, float, complex, str, bytes, Ellipsis, NotImplemented, range.

    Equal only to a constant of the same type that nothing tells from it: `Constant(1) != Constant(True)`, and
    `Constant(0.0) != Constant(-0.0)`. Python's equality is `machine.equal`.
    """

    value: Any

    def __eq__(self, other: object) -> bool:
        if type(other) is not Constant:
            return False
        mine, theirs = self.value, other.value
        if mine is theirs:
            return True
        kind = type(mine)
        if kind in OPEN_KINDS:
            return same(mine, theirs)  # which writes no condition
        return kind is type(theirs) and mine == theirs and (kind not in _TOLD_APART or repr(mine) == repr(theirs))

    def __hash__(self) -> int:
        value = self.value
        return hash(value) if type(value) is str else _hash_of(value)


_TOLD_APART = frozenset({float, complex, range})
"""Of these, equal ones may show that they are two: noughts by their sign, ranges by their ends."""
_OWN_HASH = 1024
"""Whole numbers below it, of either sign, are few: their hashes are their own."""


def _hash_of(value: Any) -> int:
    """A hash that no author of a source can make equal for many values. Python's of numbers are known: 2**61 - 1 and
    each multiple of it have the same, and a dict of such keys takes the square of their number. That of bytes begins
    at random in each process."""
    if type(value) in OPEN_KINDS:
        return hash_of(value)
    if type(value) is int or type(value) is bool:
        if -_OWN_HASH < value < _OWN_HASH:
            return hash(value)
        return hash(value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True))
    if isinstance(value, float):
        return hash(_FLOAT.pack(value + 0.0))  # 0.0, of -0.0 too: they are equal
    if isinstance(value, complex):
        return hash(_FLOAT.pack(value.real + 0.0) + _FLOAT.pack(value.imag + 0.0))
    if isinstance(value, range):
        # Equal ones have the same items.
        return hash((_hash_of(value[0]), _hash_of(value[-1]))) if value else 0
    return hash(value)


_FLOAT = struct.Struct("<d")


def _length(numbers: range) -> int:
    """len(numbers), also where that is more than Python can say."""
    beyond = numbers.stop - numbers.start + numbers.step - (1 if numbers.step > 0 else -1)
    return max(0, beyond // numbers.step)


def number_key(value: Any) -> Constant:
    """What is the same of two plain values that Python takes for equal, 1, 1.0 and True, and of no others: the key of
    a dict that is to hold them."""
    if isinstance(value, complex):
        value = value + 0.0 if value.imag else value.real  # -0.0 becomes 0.0
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, range):
        value = (*value[:2], _length(value))
    return Constant(int(value) if isinstance(value, bool) else value)


NONE = Constant(None)
TRUE = Constant(True)
FALSE = Constant(False)
NOT_IMPLEMENTED = Constant(NotImplemented)


@dataclass(frozen=True, slots=True)
class Dtype(Value):
    """A torch dtype by its own name: "float32" (`torch.float` is the same)."""

    name: str


@dataclass(frozen=True, slots=True)
class Device(Value):
    """A torch device: "cpu", "meta", "cuda:0"."""

    name: str


@dataclass(frozen=True, slots=True)
class TupleValue(Value):
    """A tuple, a `torch.Size`, or an instance of a namedtuple class (then `cls` is that class)."""

    PARTS = ("items",)
    items: tuple[Value, ...]
    cls: Value | None = None
    """ClassValue or KnownClass of a tuple subclass; None for a plain tuple."""
    weight: int = field(init=False, compare=False, repr=False)
    """Items, those of tuples inside included: a tuple is hashed, compared and walked as a whole."""
    hashed: int | None = field(init=False, default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        weight = len(self.items) + weight_of(self.items)
        object.__setattr__(self, "weight", weight)
        if weight > MAX_VALUE_SIZE:
            raise _too_heavy("tuple")

    def is_like(self, other: TupleValue) -> bool:
        """Of the same class and length."""
        return self.cls == other.cls and len(self.items) == len(other.items)

    def made_of(self, part: Value) -> Value:
        """A part of it: a slice of a torch.Size is one, that of any other is a plain tuple."""
        return TupleValue(part.items, SIZE) if self.cls == SIZE and isinstance(part, TupleValue) else part

    def __hash__(self) -> int:
        """Made once: a tuple that is long is hashed as a whole."""
        if self.hashed is None:
            object.__setattr__(self, "hashed", hash((self.items, self.cls)))
        assert self.hashed is not None
        return self.hashed


def weight_of(values: Iterable[Value | None]) -> int:
    """Values inside these, each at all its places: they are hashed, compared and walked as a whole."""
    weight = 0
    for value in values:
        kind = type(value)
        if kind is TupleValue or kind is PartialValue or kind is SliceValue or kind is PropertyValue:
            weight += value.weight  # type: ignore[union-attr]
    return weight


def _too_heavy(kind: str) -> Exception:
    return LimitError(f"a {kind} of more than {MAX_VALUE_SIZE} items, those of tuples inside included")


@dataclass(frozen=True, slots=True)
class SliceValue(Value):
    """slice(lower, upper, step); absent parts are NONE."""

    PARTS = ("lower", "upper", "step")
    lower: Value
    upper: Value
    step: Value
    weight: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", 3 + weight_of((self.lower, self.upper, self.step)))
        if self.weight > MAX_VALUE_SIZE:
            raise _too_heavy("slice")


@dataclass(slots=True, eq=False)
class Address(Value):
    """A mutable object on the heap; equal addresses are the same object (`is`)."""

    index: int
    handed: int | None = None
    """Of a tensor that a call gave back as it was, the number of that: the same object, come another way. Equality does
    not ask for it."""

    def __eq__(self, other: object) -> bool:
        return type(other) is Address and self.index == other.index

    def __hash__(self) -> int:
        return self.index

    @property
    def way(self) -> int:
        """What tells which call has given it: its own index, where none has that was given it."""
        return self.index if self.handed is None else self.handed


@dataclass(frozen=True, slots=True)
class FunctionValue(Value):
    """A function whose source is at hand: `def` or lambda."""

    PARTS = ("closure", "defaults", "wrapped", "within")
    definition: FunctionDefinition
    closure: Address | None = None
    """Environment in which it was defined; None at module level."""
    defaults: tuple[tuple[str, Value], ...] = ()
    """Evaluated where it was defined, by parameter name."""
    owner: ClassValue | None = None
    """Class in whose body it stands: what zero-argument `super()` starts from."""
    wrapped: Value | None = None
    """The function it stands for, by functools.wraps: gives its name and signature."""
    manager: bool = False
    """A generator function under contextlib.contextmanager: a call of it gives a context manager."""
    within: TupleValue | None = None
    """Such context managers that stand above its `def` as decorators: each call is made within them, the last the
    innermost."""
    awaited: bool = False
    """The body of an `async def`, as it runs when the coroutine is waited for."""
    turn: int = 0
    """How many the same `def` or lambda has made before, in a loop."""
    holder: int = field(default=0, compare=False)
    """An address that stands for it among those of the objects that a value may be; 0 where nothing is around it."""

    @property
    def name(self) -> str:
        return self.definition.name


@dataclass(frozen=True, slots=True)
class GeneratedMethod(Value):
    """A method that no source shows: `__init__` of a dataclass."""

    cls: ClassValue
    kind: str


@dataclass(frozen=True, slots=True)
class KnownFunction(Value):
    """A callable modelled by the registry, by qualified name: "builtins.len", "builtins.list.append", "torch.empty"."""

    name: str


@dataclass(slots=True, unsafe_hash=True)
class BoundMethod(Value):
    """`receiver.function`: the receiver is passed first. Of known ones, `function` is a KnownFunction."""

    PARTS = ("function", "receiver")
    function: Value
    receiver: Value


@dataclass(frozen=True, slots=True)
class ClassValue(Value):
    """A class whose source is at hand; bases, MRO and namespace are in the `ClassObject` at `address`."""

    name: str
    """Definition site: "package.models.resnet.BasicBlock"; "f.<locals>.Inner" below its module for a local one."""
    address: Address


@dataclass(slots=True, eq=False)
class KnownClass(Value):
    """A class that is not read from source, by qualified name: "builtins.dict", "enum.Enum", nn.Module itself."""

    name: str
    of_typing: bool = False
    """It stands for an alias of typing, `List`, which tells only where it is asked what an annotation is made of."""

    def __eq__(self, other: object) -> bool:
        return type(other) is KnownClass and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


SIZE = KnownClass("torch.Size")
CACHED = KnownClass("functools._lru_cache_wrapper")


@dataclass(frozen=True, slots=True)
class ModuleReference(Value):
    """An imported module or package: "torch.nn.functional"."""

    name: str


@dataclass(frozen=True, slots=True)
class PartialValue(Value):
    """functools.partial."""

    PARTS = ("function", "positional", "keywords")
    function: Value
    positional: tuple[Value, ...] = ()
    keywords: tuple[tuple[str, Value], ...] = ()
    weight: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        given = (self.function, *self.positional, *(value for _, value in self.keywords))
        object.__setattr__(self, "weight", len(given) + weight_of(given))
        if self.weight > MAX_VALUE_SIZE:
            raise _too_heavy("partial")


@dataclass(frozen=True, slots=True)
class PropertyValue(Value):
    """A property (also a functools.cached_property) in the namespace of a class."""

    PARTS = ("getter", "setter", "deleter")
    getter: Value
    setter: Value | None = None
    deleter: Value | None = None
    weight: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", 3 + weight_of((self.getter, self.setter, self.deleter)))
        if self.weight > MAX_VALUE_SIZE:
            raise _too_heavy("property")


@dataclass(frozen=True, slots=True)
class StaticMethod(Value):
    PARTS = ("function",)
    function: Value


@dataclass(frozen=True, slots=True)
class ClassMethod(Value):
    PARTS = ("function",)
    function: Value


@dataclass(slots=True, unsafe_hash=True)
class SuperValue(Value):
    """super(cls, receiver): looks up names in the MRO of the receiver's class, after `cls`."""

    PARTS = ("receiver",)
    cls: Value
    receiver: Value


@dataclass(frozen=True, slots=True)
class EnumMember(Value):
    """A member of an Enum class."""

    PARTS = ("value",)
    cls: ClassValue
    name: str
    value: Value


_UNIONS = frozenset({"typing.Union", "types.UnionType"})


@dataclass(frozen=True, slots=True, eq=False)
class GenericAlias(Value):
    """`list[int]`, `Optional[int]`, `Mapping[str, Tensor]`: what a subscripted class or typing form gives."""

    PARTS = ("origin", "form", "args")
    origin: Value
    form: Value = NONE
    """What `get_origin` gives of it; NONE where that and `args` are not known."""
    args: Value = NONE
    """What `get_args` gives, a tuple."""

    def __eq__(self, other: object) -> bool:
        return type(other) is GenericAlias and self._compared == other._compared

    def __hash__(self) -> int:
        return hash(self._compared)

    @property
    def _compared(self) -> tuple[object, ...]:
        """Unions are equal whatever the order of their types, and whichever way they are written."""
        if getattr(self.form, "name", None) in _UNIONS and isinstance(self.args, TupleValue):
            return (frozenset(self.args.items),)
        return (self.origin, self.form, self.args)


DELETED = KnownFunction("<deleted>")
"""Stands in a namespace under a name that `del` took out of it."""


def remaining(found: Value | None) -> Value | None:
    """What a namespace holds under a name; None where it was deleted, unknown where it was on some paths."""
    if isinstance(found, Choice) and DELETED in found.alternatives:
        objects = frozenset(each.index for each in found.alternatives if type(each) is Address)
        return Unknown("it is deleted on some paths", found.where, optional=True, may_be=objects)
    return None if found == DELETED else found


def is_optional(value: Value) -> bool:
    """Of an entry: it is there on some paths only."""
    return type(value) is Unknown and value.optional
