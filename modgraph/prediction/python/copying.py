"""Copies of objects behind fresh addresses, what was shared inside still shared: deepcopy, construction from memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.mapping_views import PROXY
from modgraph.prediction.domain.objects import (
    LEAF,
    ClassObject,
    DictObject,
    EnvironmentObject,
    TensorObject,
)
from modgraph.prediction.domain.state import State
from modgraph.prediction.domain.values import (
    NONE,
    Address,
    BoundMethod,
    Choice,
    ClassValue,
    PartialValue,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.paths import several
from modgraph.prediction.paths.relocation import AT_ONCE, Relocation

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


_PICKLING = ("__getstate__", "__setstate__", "__reduce__", "__reduce_ex__", "__getnewargs__", "__getnewargs_ex__")
"""Methods by which a class says what a copy is made of. Source: `copy._reconstruct`, `object.__reduce_ex__`."""
_TORCH = ("torch.", "builtins.")
"""Theirs give back what was there; they fill in what older pickles lack."""


def copy_deep(machine: Machine, value: Value, memo: Value = NONE) -> Value:
    """copy.deepcopy: the value with copies of all that can change, behind fresh addresses."""
    copier = _Copier(machine.state)
    own = _with_own_copies(machine, value)
    given = memo
    told = machine.state.find(memo, DictObject)
    if told is not None and memo not in machine.copied and (told.entries or told.open is not None):
        why = machine.unknown("what a deep copy is told to be a copy already is not followed", told.open or NONE)
        return points_to.either_of(why, [value, memo])
    if own and memo == NONE:
        given = machine.allocate(DictObject())
    known = machine.copied.setdefault(given, {}) if isinstance(given, Address) else {}
    copier.made.update((old, new) for old, new in known.items() if _is_there(machine, new))
    for address in own:
        if address not in copier.made:
            made = several.decided(machine, (address,), lambda one=address: _own_copy(machine, one, given))  # type: ignore[misc]
            copier.made[address] = known[address] = made
            if made == address and address != value:  # what is no other object is not kept, and asked for each time
                machine.may_be_called([address], machine.unknown(_HOW_OFTEN), ("__deepcopy__",))
            copier.made.update((old, new) for old, new in known.items() if _is_there(machine, new))
    copier.state = machine.state
    result = copier.mapped(value)
    copier.finish()
    if copier.refused is not None:
        raise machine.raises("TypeError", "cannot pickle 'mappingproxy' object")
    if copier.computed:
        machine.may_fail("RuntimeError")
        machine.problem(
            "deepcopy raises RuntimeError for a tensor that was computed from parameters, unless in no_grad"
        )
    known.update(copier.copies)
    return result


_HOW_OFTEN = "how often an object is asked for a copy is not known"


def own_method(machine: Machine, value: Address, *names: str) -> Value | None:
    """The first of these methods that its class, or a base of it, has in source that is not torch's own."""
    cls = machine.class_of(value)
    for base in machine.mro(cls) if isinstance(cls, ClassValue) else ():
        if isinstance(base, ClassValue) and not base.name.startswith(_TORCH):
            for name in names:
                found = machine.own_attribute(base, name)
                if found is not None:
                    return found
    return None


def is_pickled_its_own_way(machine: Machine, value: Address) -> Unknown | None:
    """Why a copy may hold something else than the original: its class says itself what goes into one."""
    if own_method(machine, value, *_PICKLING) is None:
        return None
    return machine.unknown("its class says itself what a copy of it holds")


def _is_there(machine: Machine, value: Value) -> bool:
    """A copy that was made on another path is not."""
    if not isinstance(value, Address):
        return True
    return machine.state.get(value.index) is not None or value.index in machine.base.objects


def _with_own_copies(machine: Machine, value: Value) -> list[Address]:
    """What lies behind a value and is copied by its own class."""
    found: list[Address] = []
    seen: set[Address] = set()
    pending = [value]
    while pending:
        one = pending.pop()
        pending.extend(reversed(list(one.parts())) if isinstance(one, _COPIED_INSIDE) else ())
        if not isinstance(one, Address) or one in seen:
            continue
        seen.add(one)
        if not len(seen) % AT_ONCE:
            machine.spend(AT_ONCE * _UNITS_OF_A_LOOK)
        item = machine.state.read(one)
        if isinstance(item, (ClassObject, EnvironmentObject)):
            continue
        if own_method(machine, one, "__deepcopy__", *_PICKLING) is not None:
            found.append(one)
        else:
            pending.extend(reversed(list(item.references())))
    return found


def _own_copy(machine: Machine, address: Address, memo: Value) -> Value:
    method = own_method(machine, address, "__deepcopy__")
    if method is not None:
        return machine.call(method, (address, memo))
    why = is_pickled_its_own_way(machine, address)
    if why is None:  # here its class has no method for it
        return copy_deep(machine, address, memo)
    machine.expose([address], why)  # what its methods are given is the original
    return why


_UNITS_OF_A_LOOK = 6
"""Units of work that it takes to find out whether an object is copied by its own class."""


_COPIED_INSIDE = (TupleValue, PartialValue, BoundMethod, Choice)
"""Of which a copy is another one; functions, classes and members of an Enum are copied as themselves. Source:
`copy._deepcopy_dispatch`."""


class _Copier(Relocation):
    """Copies whatever it meets, except classes and the environments of functions."""

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self.made: dict[Address, Value] = {}
        """Copies that are there already: made by classes themselves, or with the same memo."""
        self.refused: DictObject | None = None
        """A MappingProxyType, which has no copy."""
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
        if isinstance(item, DictObject) and item.cls == PROXY:
            self.refused = self.refused or item
        if isinstance(item, TensorObject) and item.requires_grad and not item.is_parameter:
            self.computed = self.computed or LEAF not in item.attributes
        return self.take(value, item)

    def recorded(self, value: Value) -> Value:
        return value
