"""Copies of objects behind fresh addresses, what was shared inside still shared: deepcopy, construction from memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from modgraph.prediction import possible
from modgraph.prediction.fields import BY_NAME, REASONS, Role
from modgraph.prediction.objects import (
    LEAF,
    ClassObject,
    DictObject,
    EnvironmentObject,
    HeapObject,
    IteratorObject,
    TensorObject,
)
from modgraph.prediction.state import State
from modgraph.prediction.values import (
    NONE,
    Address,
    BoundMethod,
    Choice,
    ClassValue,
    Constant,
    PartialValue,
    TupleValue,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from modgraph.prediction.machine import Interpreter


_PICKLING = ("__getstate__", "__setstate__", "__reduce__", "__reduce_ex__", "__getnewargs__", "__getnewargs_ex__")
"""Methods by which a class says what a copy is made of. Source: `copy._reconstruct`, `object.__reduce_ex__`."""
_TORCH = ("torch.", "builtins.")
"""Theirs give back what was there; they fill in what older pickles lack."""


def copy_deep(machine: Interpreter, value: Value, memo: Value = NONE) -> Value:
    """copy.deepcopy: the value with copies of all that can change, behind fresh addresses."""
    copier = _Copier(machine.state)
    own = _with_own_copies(machine, value)
    given = memo
    told = machine.state.find(memo, DictObject)
    if told is not None and memo not in machine.copied and (told.entries or told.open is not None):
        why = machine.unknown("what a deep copy is told to be a copy already is not followed", told.open or NONE)
        return possible.either_of(why, [value, memo])
    if own and memo == NONE:
        given = machine.allocate(DictObject())
    known = machine.copied.setdefault(given, {}) if isinstance(given, Address) else {}
    copier.made.update((old, new) for old, new in known.items() if _is_there(machine, new))
    for address, method in own.items():
        if address not in copier.made:
            copier.made[address] = known[address] = _own_copy(machine, address, method, given)
            copier.made.update((old, new) for old, new in known.items() if _is_there(machine, new))
    copier.state = machine.state
    result = copier.mapped(value)
    copier.finish()
    if copier.computed:
        machine.may_fail("RuntimeError")
        machine.problem(
            "deepcopy raises RuntimeError for a tensor that was computed from parameters, unless in no_grad"
        )
    known.update(copier.copies)
    return result


def own_method(machine: Interpreter, value: Address, *names: str) -> Value | None:
    """The first of these methods that its class, or a base of it, has in source that is not torch's own."""
    cls = machine.class_of(value)
    for base in machine.mro(cls) if isinstance(cls, ClassValue) else ():
        if isinstance(base, ClassValue) and not base.name.startswith(_TORCH):
            for name in names:
                found = machine.own_attribute(base, name)
                if found is not None:
                    return found
    return None


def is_pickled_its_own_way(machine: Interpreter, value: Address) -> Unknown | None:
    """Why a copy may hold something else than the original: its class says itself what goes into one."""
    if own_method(machine, value, *_PICKLING) is None:
        return None
    return machine.unknown("its class says itself what a copy of it holds")


def _is_there(machine: Interpreter, value: Value) -> bool:
    """A copy that was made on another path is not."""
    if not isinstance(value, Address):
        return True
    return machine.state.get(value.index) is not None or value.index in machine.base.objects


def _with_own_copies(machine: Interpreter, value: Value) -> dict[Address, Value | None]:
    """What lies behind a value and is copied by its own class, with the method; None where it is pickled."""
    found: dict[Address, Value | None] = {}
    seen: set[Address] = set()
    pending = [value]
    while pending:
        one = pending.pop()
        pending.extend(reversed(list(one.parts())) if isinstance(one, _COPIED_INSIDE) else ())
        if not isinstance(one, Address) or one in seen:
            continue
        seen.add(one)
        if not len(seen) % _AT_ONCE:
            machine.spend(_AT_ONCE * _UNITS_OF_A_LOOK)
        item = machine.state.read(one)
        if isinstance(item, (ClassObject, EnvironmentObject)):
            continue
        method = own_method(machine, one, "__deepcopy__")
        if method is not None or is_pickled_its_own_way(machine, one) is not None:
            found[one] = method
        else:
            pending.extend(reversed(list(item.references())))
    return found


def _own_copy(machine: Interpreter, address: Address, method: Value | None, memo: Value) -> Value:
    if method is not None:
        return machine.call(method, (address, memo))
    why = is_pickled_its_own_way(machine, address)
    assert why is not None
    machine.expose([address], why)  # what its methods are given is the original
    return why


_UNITS_OF_A_COPY = 8
"""Units of work that an object takes besides what it holds."""
_UNITS_OF_A_LOOK = 6
"""Units of work that it takes to find out whether an object is copied by its own class."""
_AT_ONCE = 1_000
"""Objects that are copied between two looks at what is left."""


class Relocation:
    """Copies of given objects at fresh addresses; values that point to others of them are redirected."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.copies: dict[Address, Address] = {}
        self.pending: list[HeapObject] = []

    def take(self, address: Address, item: HeapObject) -> Address:
        """Makes a copy of `item`, known so far under `address`."""
        self.state.base.work += _UNITS_OF_A_COPY
        copied = item.copy()
        fresh = self.copies[address] = self.state.allocate(copied)
        self.pending.append(copied)
        return fresh

    def finish(self) -> None:
        """Redirects what the copies hold; a loop, so that depth costs no stack.

        Raises:
            LimitError: they are too many; what was copied so far is of no use.
        """
        number = 0
        while self.pending:
            self.fill(self.pending.pop())
            number += 1
            if not number % _AT_ONCE:
                self.state.base.require()

    def address(self, value: Address) -> Address:
        return self.copies.get(value, value)

    def mapped(self, value: Value) -> Value:
        """The counterpart of a value."""
        kind = type(value)
        if kind is Constant:
            return value
        if isinstance(value, Unknown):
            return self.possible(value) if value.may_be else value
        if kind is Address:
            return self.address(cast(Address, value))
        return value.mapped(self.mapped)

    def possible(self, value: Unknown) -> Unknown:
        """It may be the counterpart of what it may be."""
        copies = [self.copies.get(Address(index)) for index in value.may_be]
        return replace(value, may_be=value.may_be.union(copy.index for copy in copies if copy is not None))

    def fill(self, item: HeapObject) -> None:
        """Puts the counterparts of everything the object holds in their places."""
        if isinstance(item, IteratorObject) and item.source is not None:
            item.source, item.open = None, Unknown("an iterator is not copied in the midst of what it walks over")
        for name, role in item.ROLES.items():
            rule = _FILLED.get(role)
            held = getattr(item, name)
            if rule is not None and held:
                setattr(item, name, rule(self, held))

    def mapping(self, entries: dict[str, Value]) -> dict[str, Value]:
        return {name: each if type(each) is Constant else self.mapped(each) for name, each in entries.items()}

    def recorded(self, value: Value) -> Value:
        """The counterpart of a constructor's argument, which may be reachable by its record alone."""
        return self.mapped(value)


_FILLED: dict[Role, Callable[[Relocation, Any], Any]] = {
    Role.CELLS: lambda to, held: [to.mapped(each) for each in held],
    Role.MEMBERS: lambda to, held: {to.mapped(each): None for each in held},
    Role.ENTRIES: lambda to, held: {to.mapped(key): to.mapped(each) for key, each in held.items()},
    **dict.fromkeys(BY_NAME, lambda to, held: to.mapping(held)),
    **dict.fromkeys(REASONS, lambda to, why: to.possible(why) if why.may_be else why),
    Role.VALUE: lambda to, held: to.mapped(held),
    Role.LINK: lambda to, held: to.address(held),
    Role.NOTED_VALUES: lambda to, held: tuple((name, to.recorded(each)) for name, each in held),
}
"""What becomes of what the fields of a role hold; the others hold nothing that has a counterpart."""


_COPIED_INSIDE = (TupleValue, PartialValue, BoundMethod, Choice)
"""Of which a copy is another one; functions, classes and members of an Enum are copied as themselves. Source:
`copy._deepcopy_dispatch`."""


class _Copier(Relocation):
    """Copies whatever it meets, except classes and the environments of functions."""

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self.made: dict[Address, Value] = {}
        """Copies that are there already: made by classes themselves, or with the same memo."""
        self.computed = False
        """A tensor that is no leaf of the graph of gradients was copied. Source: `torch.Tensor.__deepcopy__`."""

    def mapped(self, value: Value) -> Value:
        if isinstance(value, Address) and value in self.made:
            return self.made[value]
        return super().mapped(value) if isinstance(value, (Address, Unknown, *_COPIED_INSIDE)) else value

    def address(self, value: Address) -> Address:
        found = self.copies.get(value)
        if found is not None:
            return found
        item = self.state.read(value)
        if isinstance(item, (ClassObject, EnvironmentObject)):
            return value
        if isinstance(item, TensorObject) and item.requires_grad and not item.is_parameter:
            self.computed = self.computed or LEAF not in item.attributes
        return self.take(value, item)

    def recorded(self, value: Value) -> Value:
        return value
