"""Copies of objects behind fresh addresses, what was shared inside still shared: deepcopy, construction from memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from modgraph.prediction.state import State
from modgraph.prediction.values import (
    Address,
    BoundMethod,
    Choice,
    ClassObject,
    DictObject,
    EnvironmentObject,
    FunctionValue,
    HeapObject,
    InstanceObject,
    IteratorObject,
    ListObject,
    ModuleObject,
    PartialValue,
    SetObject,
    TensorObject,
    TupleValue,
    Value,
)

if TYPE_CHECKING:
    from modgraph.prediction.machine import Interpreter


def copy_deep(machine: Interpreter, value: Value) -> Value:
    """copy.deepcopy: the value with copies of all that can change, behind fresh addresses."""
    copier = _Copier(machine.state)
    result = copier.mapped(value)
    copier.finish()
    return result


class Relocation:
    """Copies of given objects at fresh addresses; values that point to others of them are redirected."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.copies: dict[Address, Address] = {}
        self.pending: list[HeapObject] = []

    def take(self, address: Address, item: HeapObject) -> Address:
        """Makes a copy of `item`, known so far under `address`."""
        copied = item.copy()
        fresh = self.copies[address] = self.state.allocate(copied)
        self.pending.append(copied)
        return fresh

    def finish(self) -> None:
        """Redirects what the copies hold; a loop, so that depth costs no stack."""
        while self.pending:
            self.fill(self.pending.pop())

    def address(self, value: Address) -> Address:
        return self.copies.get(value, value)

    def mapped(self, value: Value) -> Value:
        """The counterpart of a value."""
        if isinstance(value, Address):
            return self.address(value)
        if isinstance(value, TupleValue):
            return TupleValue(tuple(self.mapped(item) for item in value.items), value.cls)
        if isinstance(value, PartialValue):
            keywords = tuple((name, self.mapped(item)) for name, item in value.keywords)
            return PartialValue(self.mapped(value.function), tuple(map(self.mapped, value.positional)), keywords)
        if isinstance(value, BoundMethod):
            return BoundMethod(value.function, self.mapped(value.receiver))
        if isinstance(value, Choice):
            return Choice(tuple(self.mapped(item) for item in value.alternatives), value.reason, value.where)
        if isinstance(value, FunctionValue) and value.closure in self.copies:
            return replace(value, closure=self.copies[value.closure])
        return value

    def fill(self, item: HeapObject) -> None:
        """Puts the counterparts of everything the object holds in their places."""
        if isinstance(item, (ListObject, IteratorObject)):
            item.items = [self.mapped(each) for each in item.items]
        elif isinstance(item, SetObject):
            item.items = {self.mapped(each): None for each in item.items}
        elif isinstance(item, DictObject):
            item.entries = {self.mapped(key): self.mapped(each) for key, each in item.entries.items()}
        elif isinstance(item, ModuleObject):
            item.modules = self.mapping(item.modules)
            item.parameters = self.mapping(item.parameters)
            item.buffers = self.mapping(item.buffers)
            item.arguments = tuple((name, self.recorded(each)) for name, each in item.arguments)
        elif isinstance(item, EnvironmentObject):
            item.names = self.mapping(item.names)
            item.parent = self.address(item.parent) if item.parent is not None else None
        if isinstance(item, (ListObject, DictObject, SetObject, InstanceObject, ModuleObject, TensorObject)):
            item.attributes = self.mapping(item.attributes)

    def mapping(self, entries: dict[str, Value]) -> dict[str, Value]:
        return {name: self.mapped(each) for name, each in entries.items()}

    def recorded(self, value: Value) -> Value:
        """The counterpart of a constructor's argument, which may be reachable by its record alone."""
        return self.mapped(value)


class _Copier(Relocation):
    """Copies whatever it meets, except classes and the environments of functions."""

    def address(self, value: Address) -> Address:
        found = self.copies.get(value)
        if found is not None:
            return found
        item = self.state.read(value)
        return value if isinstance(item, (ClassObject, EnvironmentObject)) else self.take(value, item)

    def recorded(self, value: Value) -> Value:
        return value
