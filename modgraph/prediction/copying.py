"""copy.deepcopy: fresh addresses throughout, what was shared inside still shared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modgraph.prediction.values import (
    Address,
    BoundMethod,
    Choice,
    ClassObject,
    DictObject,
    EnvironmentObject,
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
    """The value with copies of all that can change, behind fresh addresses."""
    return _Copier(machine).value(value)


class _Copier:
    def __init__(self, machine: Interpreter) -> None:
        self.machine = machine
        self.copies: dict[Address, Address] = {}
        self.pending: list[tuple[Address, HeapObject]] = []

    def value(self, value: Value) -> Value:
        result = self.mapped(value)
        while self.pending:
            _, item = self.pending.pop()
            self.fill(item)
        return result

    def mapped(self, value: Value) -> Value:
        """The counterpart of a value; objects behind it are filled later, so that depth costs no stack."""
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
        return value

    def address(self, value: Address) -> Address:
        found = self.copies.get(value)
        if found is not None:
            return found
        item = self.machine.state.read(value)
        if isinstance(item, (ClassObject, EnvironmentObject)):
            return value
        copied = item.copy()
        fresh = self.machine.allocate(copied)
        self.copies[value] = fresh
        self.pending.append((fresh, copied))
        return fresh

    def fill(self, item: HeapObject) -> None:
        """Puts the counterparts of everything the object holds in their places."""
        if isinstance(item, (ListObject, IteratorObject)):
            item.items = [self.mapped(each) for each in item.items]
        if isinstance(item, SetObject):
            item.items = {self.mapped(each): None for each in item.items}
        if isinstance(item, DictObject):
            item.entries = {self.mapped(key): self.mapped(each) for key, each in item.entries.items()}
        if isinstance(item, ModuleObject):
            item.modules = self.mapping(item.modules)
            item.parameters = self.mapping(item.parameters)
            item.buffers = self.mapping(item.buffers)
        if isinstance(item, (ListObject, DictObject, SetObject, InstanceObject, ModuleObject, TensorObject)):
            item.attributes = self.mapping(item.attributes)

    def mapping(self, entries: dict[str, Value]) -> dict[str, Value]:
        return {name: self.mapped(each) for name, each in entries.items()}
