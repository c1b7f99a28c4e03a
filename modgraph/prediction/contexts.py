"""`with`: what a context manager gives, what it swallows, and what runs when its block is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from modgraph.prediction import expressions, statements, targets
from modgraph.prediction.frames import Frame, Outcome
from modgraph.prediction.knowledge.registry import Arguments, Machine, Raised, known_class, models
from modgraph.prediction.values import (
    FALSE,
    NONE,
    Address,
    ClassValue,
    Constant,
    FunctionValue,
    InstanceObject,
    IteratorObject,
    KnownClass,
    PartialValue,
    TupleValue,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from modgraph.prediction.machine import Interpreter

_GENERATED = "contextlib._GeneratorContextManager"
_SUPPRESS = "contextlib.suppress"
_NULL = "contextlib.nullcontext"

known_class(_GENERATED)
known_class(_SUPPRESS)
known_class(_NULL)


def execute_with(machine: Interpreter, frame: Frame, node: cst.With) -> Outcome:
    return _enter(machine, frame, node, node.items)


def _enter(machine: Interpreter, frame: Frame, node: cst.With, items: Sequence[cst.WithItem]) -> Outcome:
    """The block inside the first of these managers, and inside it the others."""
    if not items:
        return statements.run_block(machine, frame, node.body)
    manager = expressions.evaluate(machine, frame, items[0].item)

    def inside(given: Value) -> Outcome:
        name = items[0].asname
        if name is not None:
            assert isinstance(name.name, cst.BaseExpression)
            targets.assign(machine, frame, name.name, given)
        return _enter(machine, frame, node, items[1:])

    found = machine.state.find(manager, InstanceObject)
    if found is not None and found.cls == KnownClass(_GENERATED):
        return _around_yield(machine, frame, found.attributes["call"], inside)
    if isinstance(manager, Unknown):
        return inside(manager)
    iterator = machine.state.find(manager, IteratorObject)
    if iterator is not None:
        return inside(iterator.items[0] if iterator.items else NONE)
    enter = machine.find_attribute(manager, "__enter__")
    if enter is None or isinstance(enter, Unknown):
        return inside(machine.unknown("what the context manager gives is not known", enter or NONE))
    return _guarded(machine, frame, manager, lambda: inside(machine.call(enter)))


def _guarded(machine: Interpreter, frame: Frame, manager: Value, block: Callable[[], Outcome]) -> Outcome:
    """Runs the block, then `__exit__`, which may swallow what the block raises."""
    frames = len(machine.frames)
    try:
        outcome = block()
    except Raised as raised:
        del machine.frames[frames:]
        if _exit(machine, manager, raised) is not True:
            raise
        return "normal"
    if outcome != "dead":
        value = frame.value
        _exit(machine, manager, None)
        frame.value = value
    return outcome


def _exit(machine: Interpreter, manager: Value, raised: Raised | None) -> bool | None:
    """Calls `__exit__`; whether it swallows the exception."""
    leave = machine.find_attribute(manager, "__exit__")
    if leave is None or isinstance(leave, Unknown):
        return False
    given: tuple[Value, ...] = (NONE, NONE, NONE)
    if raised is not None:
        traceback = machine.unknown("a traceback is not kept")
        given = (machine.class_of(raised.exception), raised.exception, replace(traceback, inert=True))
    return machine.truth(machine.call(leave, given))


def _around_yield(machine: Interpreter, frame: Frame, call: Value, inside: Callable[[Value], Outcome]) -> Outcome:
    """Runs the generator of a @contextmanager with the block in the place of its `yield`."""
    outcomes: list[Outcome] = []

    def block(given: Value) -> None:
        machine.frames.append(frame)
        try:
            outcomes.append(inside(given))
        finally:
            machine.frames.pop()

    outer, machine.on_yield = machine.on_yield, block
    try:
        machine.call(call)
    finally:
        machine.on_yield = outer
    if not outcomes:  # it was given up before it came to its `yield`
        return inside(machine.unknown("what the context manager gives is not known"))
    return outcomes[-1]


def made_by_generator(machine: Interpreter, function: FunctionValue, arguments: Arguments) -> Address:
    """What a call of a function under @contextmanager gives: nothing of it runs before it is entered."""
    plain = replace(function, manager=False)
    call = PartialValue(plain, arguments.positional, tuple(arguments.keywords.items()))
    return machine.allocate(InstanceObject(KnownClass(_GENERATED), {"call": call}))


@models("contextlib.contextmanager")
def context_manager(arguments: Arguments, machine: Machine) -> Value:
    function = arguments.get(0, "func", NONE)
    if isinstance(function, FunctionValue) and function.definition.is_generator:
        return replace(function, manager=True)
    return Unknown("a context manager is not interpreted", machine.where, inert=True)


@models(_SUPPRESS)
def suppress(arguments: Arguments, machine: Machine) -> Value:
    return machine.allocate(InstanceObject(KnownClass(_SUPPRESS), {"exceptions": TupleValue(arguments.positional)}))


@models(f"{_SUPPRESS}.__exit__")
def leave_suppress(arguments: Arguments, machine: Machine) -> Value:
    receiver, cls, *_ = arguments.positional
    item = machine.state.find(receiver, InstanceObject)
    if item is None or not isinstance(cls, (ClassValue, KnownClass)):
        return FALSE
    verdict = machine.is_subclass(cls, item.attributes["exceptions"])
    return machine.unknown("which exceptions are suppressed is not known") if verdict is None else Constant(verdict)


@models(_NULL)
def null_context(arguments: Arguments, machine: Machine) -> Value:
    given = arguments.get(0, "enter_result", NONE)
    return machine.allocate(InstanceObject(KnownClass(_NULL), {"enter_result": given}))


@models(f"{_NULL}.__enter__", f"{_SUPPRESS}.__enter__")
def enter_plain(arguments: Arguments, machine: Machine) -> Value:
    item = machine.state.find(arguments.positional[0], InstanceObject)
    return item.attributes.get("enter_result", NONE) if item is not None else NONE


@models(f"{_NULL}.__exit__")
def leave_null(arguments: Arguments, machine: Machine) -> Value:
    return FALSE
