"""Copies of objects at fresh addresses, what was shared inside still shared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from modgraph.prediction.domain.fields import BY_NAME, REASONS, Role
from modgraph.prediction.domain.objects import (
    HeapObject,
    IteratorObject,
    TensorObject,
)
from modgraph.prediction.domain.state import State
from modgraph.prediction.domain.values import (
    Address,
    Constant,
    Unknown,
    Value,
)

_UNITS_OF_A_COPY = 8
"""Units of work that an object takes besides what it holds."""
AT_ONCE = 1_000
"""Objects that are copied between two looks at what is left."""


class Relocation:
    """Copies of given objects at fresh addresses; values that point to others of them are redirected."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.copies: dict[Address, Address] = {}
        self.pending: list[HeapObject] = []
        self.viewing: list[TensorObject] = []

    def take(self, address: Address, item: HeapObject) -> Address:
        """Makes a copy of `item`, known so far under `address`."""
        self.state.base.work += _UNITS_OF_A_COPY
        copied = item.copy()
        fresh = self.copies[address] = self.state.allocate(copied)
        self.pending.append(copied)
        if isinstance(copied, TensorObject) and copied.memory:
            self.viewing.append(copied)
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
            if not number % AT_ONCE:
                self.state.base.require()
        for item in self.viewing:  # what they share with others that were copied they share with the copies
            item.memory = tuple(self.copies.get(each, each) for each in item.memory)
        self.viewing.clear()

    def address(self, value: Address) -> Address:
        copy = self.copies.get(value, value)
        return copy if copy.handed == value.handed else Address(copy.index, value.handed)

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
    Role.MEMORY: lambda to, held: tuple(to.copies.get(each, each) for each in held),
    Role.NOTED_VALUES: lambda to, held: tuple((name, to.recorded(each)) for name, each in held),
}
"""What becomes of what the fields of a role hold; the others hold nothing that has a counterpart."""
