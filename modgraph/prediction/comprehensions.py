"""Comprehensions and generator expressions; these run at once, as if consumed where they stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import libcst as cst

from modgraph.prediction import expressions, items, names, targets
from modgraph.prediction.frames import Frame
from modgraph.prediction.limits import MAX_PLAIN_STEPS
from modgraph.prediction.values import (
    NONE,
    Address,
    DictObject,
    EnvironmentObject,
    IteratorObject,
    ListObject,
    SetObject,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from modgraph.prediction.machine import Interpreter


def list_of(machine: Interpreter, frame: Frame, node: cst.ListComp) -> Value:
    found, unknown = _collect(machine, frame, node)
    return machine.allocate(ListObject(found, unknown))


def generator_of(machine: Interpreter, frame: Frame, node: cst.GeneratorExp) -> Value:
    found, unknown = _collect(machine, frame, node)
    return machine.allocate(IteratorObject(found, 0, unknown))


def set_of(machine: Interpreter, frame: Frame, node: cst.SetComp) -> Value:
    found, unknown = _collect(machine, frame, node)
    return machine.allocate(SetObject(dict.fromkeys(found), unknown))


def dict_of(machine: Interpreter, frame: Frame, node: cst.DictComp) -> Value:
    address = machine.allocate(DictObject())

    def add(inner: Frame) -> None:
        key = expressions.evaluate(machine, inner, node.key)
        items.assign(machine, address, key, expressions.evaluate(machine, inner, node.value))

    unknown = _run(machine, frame, node.for_in, add)
    if unknown is not None:
        machine.state.change(address, DictObject).open = unknown
    return address


def _collect(
    machine: Interpreter, frame: Frame, node: cst.ListComp | cst.SetComp | cst.GeneratorExp
) -> tuple[list[Value], Unknown | None]:
    found: list[Value] = []
    unknown = _run(
        machine, frame, node.for_in, lambda inner: found.append(expressions.evaluate(machine, inner, node.elt))
    )
    return ([], unknown) if unknown is not None else (found, None)


def _run(machine: Interpreter, frame: Frame, clause: cst.CompFor, add: Callable[[Frame], None]) -> Unknown | None:
    """Calls `add` in a scope of its own for every turn; the reason where the turns are not known."""
    iterable = expressions.evaluate(machine, frame, clause.iter)
    environment = machine.allocate(EnvironmentObject(parent=frame.environment))
    inner = Frame(
        frame.module,
        frame.parsed,
        environment,
        frame.function,
        frame.receiver,
        frame.class_scope,
        frame.statement,
        frame.global_names,
        yields=frame.yields,
    )
    return _turns(machine, inner, clause, iterable, add)


def _turns(
    machine: Interpreter, inner: Frame, clause: cst.CompFor, iterable: Value, add: Callable[[Frame], None]
) -> Unknown | None:
    found = machine.iterate(iterable)
    if isinstance(found, Unknown):
        # One turn for what it touches besides its own result, then forgotten.
        machine.fork([lambda: NONE, lambda: _probe(machine, inner, clause, found, add)], found.reason)
        return found
    unknown: Unknown | None = None
    started, modules = machine.steps, machine.base.modules
    for item in found:
        machine.step()
        targets.assign(machine, inner, clause.target, item)
        unknown = _one_turn(machine, inner, clause, add) or unknown
        if machine.steps - started > MAX_PLAIN_STEPS and machine.base.modules == modules:
            return machine.unknown(f"more than {MAX_PLAIN_STEPS} steps for values without a module")
    return unknown


def _probe(
    machine: Interpreter, inner: Frame, clause: cst.CompFor, element: Unknown, add: Callable[[Frame], None]
) -> Value:
    targets.assign(machine, inner, clause.target, element)
    _one_turn(machine, inner, clause, add)
    return NONE


def _one_turn(machine: Interpreter, inner: Frame, clause: cst.CompFor, add: Callable[[Frame], None]) -> Unknown | None:
    for condition in clause.ifs:
        value = expressions.test(machine, inner, condition.test)
        truth = machine.truth(value)
        if truth is False:
            return None
        if truth is None:
            add(inner)
            return machine.unknown(expressions.reason_of_test(machine, condition.test, value))
    if clause.inner_for_in is not None:
        nested = expressions.evaluate(machine, inner, clause.inner_for_in.iter)
        return _turns(machine, inner, clause.inner_for_in, nested, add)
    add(inner)
    return None


def bind_outside(machine: Interpreter, frame: Frame, name: str, value: Value) -> None:
    """name := value, which a comprehension binds in the scope around it."""
    address: Address | None = frame.environment
    function = frame
    for candidate in reversed(machine.frames):
        if candidate.function is frame.function and candidate.module == frame.module:
            function = candidate
            break
    if address is not None:
        names.bind(machine, function, name, value)
