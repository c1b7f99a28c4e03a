"""What is given to a library that is not interpreted, and may be called there: a thread's target, a hook, a handler.

What it may change is not known from there on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import libcst as cst

from modgraph.prediction import namespaces, possible
from modgraph.prediction.exposure import is_there
from modgraph.prediction.knowledge import registry
from modgraph.prediction.knowledge.registry import Arguments, Raised
from modgraph.prediction.objects import DictObject, InstanceObject, ListObject, ModuleObject, SetObject, ViewObject
from modgraph.prediction.values import (
    MODULE,
    NONE,
    Address,
    BoundMethod,
    Choice,
    ClassValue,
    FunctionValue,
    KnownFunction,
    PartialValue,
    TupleValue,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from modgraph.prediction.machine import Interpreter

_MOST = 200
"""Values that are looked at; of more it is taken that one of them may be called."""
_CHANGING = frozenset({"builtins.setattr", "builtins.delattr", "builtins.exec", "builtins.eval"})
_WHEN_WRITTEN_OUT = ("__call__", "__reduce__", "__reduce_ex__", "__getstate__")
"""Methods of a class with source that a library calls of an object that it is given."""


def given(machine: Interpreter, function: Unknown, arguments: Arguments) -> Unknown:
    """What the call of something inert gives; whatever it may call of what it is given has been called, or not."""
    if not registry.may_call(function):
        return function
    values = [*arguments.positional, *arguments.keywords.values()]
    called = list(_called(machine, values))
    if not called:
        return function
    why = Unknown(f"given to what may call it: {function.reason}", arguments.where or function.where)
    for each in called:
        _run_perhaps(machine, each, why)
    machine.expose(values, why)
    kept = machine.allocate(ListObject(values))
    # It may be called later too: when the thread is started.
    return replace(function, may_be=function.may_be | {kept.index})


def of_object(machine: Interpreter, attribute: Value, receiver: Address) -> Value:
    """An attribute that a class of a library, not interpreted, gives its instance: a method of it may call those of the
    instance's own class."""
    item = machine.state.read(receiver)
    if not isinstance(attribute, Unknown) or not registry.may_call(attribute) or not isinstance(item, InstanceObject):
        return attribute
    return replace(attribute, may_be=attribute.may_be | {receiver.index})


def run_methods(machine: Interpreter, function: Unknown) -> None:
    """A method of a library's class is called, on an instance of a class with source that is derived from it: it may
    call each of that class's own."""
    if not registry.may_call(function):
        return
    for index in sorted(function.may_be):
        item = machine.state.read(Address(index)) if is_there(machine, index) else None
        if isinstance(item, InstanceObject) and isinstance(item.cls, ClassValue):
            for method in _own_functions(machine, item.cls):
                _run_perhaps(machine, method, function, Address(index))


def _own_functions(machine: Interpreter, cls: ClassValue) -> Iterator[FunctionValue]:
    for base in machine.mro(cls):
        if isinstance(base, ClassValue):
            shown = machine.state.find(namespaces.class_dict(machine, base), ViewObject)
            names = list(shown.shown) if shown is not None else []
            for name in names[:_MOST]:
                found = machine.class_attribute(base, name)
                if isinstance(found, FunctionValue) and name not in ("__init__", "__new__") and _changes(found):
                    yield found


def _called(machine: Interpreter, values: list[Value]) -> Iterator[Value]:
    """Those of the values, and of what containers among them hold, that change something when they are called."""
    pending, seen = list(values), set[Address]()
    looked_at = 0
    while pending:
        value = pending.pop()
        looked_at += 1
        if looked_at > _MOST:
            return
        if isinstance(value, Choice):
            pending.extend(value.alternatives)
        elif isinstance(value, TupleValue):
            pending.extend(value.items)
        elif isinstance(value, PartialValue):
            pending.extend((value.function, *value.positional))
        elif isinstance(value, Address) and value not in seen:
            seen.add(value)
            item = machine.state.read(value)
            if isinstance(item, (ListObject, SetObject)):
                pending.extend(item.items)
            elif type(item) is DictObject:
                pending.extend(item.entries.values())
            elif isinstance(item, (InstanceObject, ModuleObject)) and _is_called(machine, item):
                yield value
        elif isinstance(value, ClassValue):
            if any(isinstance(base, Unknown) and registry.may_call(base) for base in machine.mro(value)):
                yield from _own_functions(machine, value)
        elif _changes(value):
            yield value


def _is_called(machine: Interpreter, item: InstanceObject | ModuleObject) -> bool:
    cls = item.cls
    # Calling a module runs its `forward`, which registers nothing.
    names = _WHEN_WRITTEN_OUT[1:] if isinstance(item, ModuleObject) else _WHEN_WRITTEN_OUT
    found = [machine.class_attribute(cls, name) for name in names] if isinstance(cls, ClassValue) else []
    return any(isinstance(each, FunctionValue) and not each.definition.module.startswith("torch.") for each in found)


def _changes(value: Value) -> bool:
    if isinstance(value, BoundMethod):
        return isinstance(value.receiver, Address) and (
            isinstance(value.function, KnownFunction) or _changes(value.function)
        )
    if isinstance(value, KnownFunction):
        return value.name in _CHANGING or value.name.startswith(f"{MODULE}.")
    return isinstance(value, FunctionValue) and _may_change(value.definition.node)


@lru_cache(maxsize=1024)
def _may_change(node: cst.CSTNode) -> bool:
    """The function calls something, or stores somewhere else than in its own names."""
    finder = _Changes()
    node.visit(finder)
    return finder.found


class _Changes(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found = False

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, (cst.Call, cst.Del, cst.Global, cst.Nonlocal, cst.Import, cst.ImportFrom, cst.AugAssign)):
            self.found = True
        elif isinstance(node, (cst.AssignTarget, cst.AnnAssign, cst.NamedExpr, cst.For, cst.With)):
            target = getattr(node, "target", None)
            self.found = self.found or not isinstance(target, cst.Name)
        return not self.found


def _run_perhaps(machine: Interpreter, function: Value, why: Unknown, receiver: Value | None = None) -> None:
    """A function of a module may change what its names lead to: it is run, on a path of its own."""
    if not isinstance(function, FunctionValue) or function.closure is not None:
        return
    some = possible.nowhere(why)

    def run() -> Value:
        try:
            given = [some] * len(machine.function_signature(function) or ())
            machine.call(function, given if receiver is None else [receiver, *given[1:]])
        except Raised:
            pass  # in a thread it ends the thread alone
        return NONE

    machine.fork([lambda: NONE, run], why.reason)
