"""`except*`: each handler takes its part of a group of exceptions; what none takes is raised after them."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from modgraph.prediction.code import control, names
from modgraph.prediction.domain.calling import PROCESS_ENDS, Arguments, Raised
from modgraph.prediction.domain.frames import Frame, Outcome
from modgraph.prediction.domain.objects import InstanceObject
from modgraph.prediction.domain.registry import known_class, models
from modgraph.prediction.domain.values import Address, Constant, KnownClass, TupleValue, Unknown, Value
from modgraph.prediction.paths.guards import Guard
from modgraph.source import nodes

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

BASE = "builtins.BaseExceptionGroup"
_GROUPS = (KnownClass(BASE), KnownClass("builtins.ExceptionGroup"))
_EXCEPTION = KnownClass("builtins.Exception")
_NOT_FOLLOWED = "which exceptions are in a group is not followed"

Parts: TypeAlias = "tuple[Value | None, Value | None]"
"""What a handler takes of an exception, and what is left of it."""


if hasattr(builtins, "BaseExceptionGroup"):  # from Python 3.11 on
    known_class(BASE, "builtins.BaseException")
    known_class("builtins.ExceptionGroup", BASE, "builtins.Exception")


@models(*(each.name for each in _GROUPS))
def made(arguments: Arguments, machine: Machine) -> Value:
    """A group of exceptions that are known, of the class that fits them; of others, what it is is not known."""
    given = arguments.positional
    held = machine.iterate(given[1]) if len(given) == 2 and not arguments.keywords else None
    if not isinstance(held, list) or not held or arguments.open is not None:
        return machine.unknown(_NOT_FOLLOWED)
    kinds = {machine.is_instance(each, _EXCEPTION) for each in held}
    if kinds == {True} or (arguments.function == BASE and None not in kinds and _are_exceptions(machine, held)):
        return _group(machine, given[0], held)
    machine.may_fail("TypeError")
    return machine.unknown(_NOT_FOLLOWED)


def _are_exceptions(machine: Machine, values: list[Value]) -> bool:
    return all(machine.is_instance(each, KnownClass("builtins.BaseException")) for each in values)


@models(f"{BASE}.@message", f"{BASE}.@exceptions")
def of_group(arguments: Arguments, machine: Machine) -> Value:
    """Its first argument; a tuple of what the second holds."""
    given = _arguments(machine, arguments.positional[0])
    if given is None:
        return machine.unknown(_NOT_FOLLOWED)
    if arguments.function.endswith("message"):
        return given[0]
    held = machine.iterate(given[1])
    return TupleValue(tuple(held)) if isinstance(held, list) else machine.unknown(_NOT_FOLLOWED, held)


def handling(machine: Machine, frame: Frame, node: nodes.Try, raised: Raised) -> tuple[list[control.Path], bool]:
    """The path on which the handlers take what they take of an exception, and it is raised on what they leave; whether
    all of that happens there."""
    if raised.name == PROCESS_ENDS:
        return [], False
    if isinstance(raised.exception, Unknown):
        return [_some(machine, frame, node, raised)], True
    classes: list[Value] = [
        machine.evaluate(frame, each.type) if each.type is not None else _EXCEPTION for each in node.handlers
    ]
    left: Value | None = raised.exception
    taken: list[tuple[nodes.ExceptHandler, Value]] = []
    for handler, cls in zip(node.handlers, classes, strict=True):
        parts = _split(machine, left, cls) if left is not None else (None, None)
        if parts is None:
            return [_some(machine, frame, node, raised)], True
        if parts[0] is not None:
            taken.append((handler, parts[0]))
        left = parts[1]
    if not taken:
        return [], False
    is_group = any(machine.class_of(raised.exception) == each for each in _GROUPS)
    run = _Run(machine, frame, raised, left)
    given = [(handler, part if is_group else _group(machine, "", [part])) for handler, part in taken]
    return [(machine.state.fork(), lambda: run.each(given))], True


def _split(machine: Machine, exception: Value, classes: Value) -> Parts | None:
    """What these classes take of an exception; None where that is not known."""
    verdict = None if isinstance(classes, Unknown) else machine.is_instance(exception, classes)
    if verdict:
        return exception, None
    is_group = machine.is_instance(exception, _GROUPS[0])
    if is_group is False and verdict is False:
        return None, exception
    given = _arguments(machine, exception)
    held = machine.iterate(given[1]) if given is not None and verdict is False else None
    if given is None or not isinstance(held, list):
        return None
    taken: list[Value] = []
    left: list[Value] = []
    for each in held:
        parts = _split(machine, each, classes)
        if parts is None:
            return None
        taken += [parts[0]] if parts[0] is not None else []
        left += [parts[1]] if parts[1] is not None else []
    if not taken:
        return None, exception
    text = given[0]
    return _group(machine, text, taken), _group(machine, text, left) if left else None


def _arguments(machine: Machine, exception: Value) -> tuple[Value, ...] | None:
    """Text and exceptions of a group of Python's own classes."""
    item = machine.state.find(exception, InstanceObject)
    given = item.attributes.get("args") if item is not None and item.cls in _GROUPS else None
    return given.items if isinstance(given, TupleValue) and len(given.items) == 2 else None


def _group(machine: Machine, text: Value | str, held: Sequence[Value]) -> Address:
    only = all(machine.is_instance(each, _EXCEPTION) for each in held)
    text = Constant(text) if isinstance(text, str) else text
    given = TupleValue((text, TupleValue(tuple(held))))
    return machine.allocate(InstanceObject(_GROUPS[only], {"args": given}, where=machine.where))


def _raised(machine: Machine, exception: Value, raised: Raised) -> Raised:
    cls = machine.class_of(exception)
    name = cls.name if isinstance(cls, KnownClass) else _GROUPS[1].name
    found = Raised(exception, name, raised.message, raised.where)
    found.asked = raised.asked
    return found


def _some(machine: Machine, frame: Frame, node: nodes.Try, raised: Raised) -> control.Path:
    """Of a group that is not known each handler may take something, and something may be left."""
    why = machine.unknown(_NOT_FOLLOWED)

    def run() -> Outcome:
        handlers = _Run(machine, frame, raised, None)
        for handler in node.handlers:
            since = machine.base.next_index
            skipped: control.Path = (machine.state.fork(), _nothing)
            path: control.Path = (machine.state, _running(handlers, handler, why))
            control.run_paths(machine, frame, [path, skipped], _NOT_FOLLOWED, since)
        machine.may_raise(_raised(machine, why, raised))
        return "normal"

    return machine.state.fork(), run


def _running(handlers: _Run, handler: nodes.ExceptHandler, part: Value) -> Callable[[], Outcome]:
    def run() -> Outcome:
        handlers.one(handler, part)
        return "normal"

    return run


def _nothing() -> Outcome:
    return "normal"


@dataclass
class _Run:
    """Runs handlers one after the other; what they raise is raised in the end, several in a group."""

    machine: Machine
    frame: Frame
    raised: Raised
    left: Value | None
    found: list[Raised] = field(default_factory=list)
    is_followed: bool = True

    def each(self, given: list[tuple[nodes.ExceptHandler, Value]]) -> Outcome:
        """Raises:
        Raised: a handler has raised something, or none has taken all.
        """
        machine = self.machine
        for handler, part in given:
            self.one(handler, part)
        if not self.is_followed:
            why: Value = machine.unknown("what is raised where exceptions are handled in groups is not followed")
            raise _raised(machine, why, self.raised)
        left = [_raised(machine, self.left, self.raised)] if self.left is not None else []
        raised = [*self.found, *left]
        if len(raised) == 1:
            raise raised[0]
        if raised:
            raise _raised(machine, _group(machine, "", [each.exception for each in raised]), self.raised)
        return "normal"

    def one(self, handler: nodes.ExceptHandler, part: Value) -> None:
        machine, frame = self.machine, self.frame
        outer, frame.handling = frame.handling, _raised(machine, part, self.raised)
        if handler.name is not None:
            names.bind(machine, frame, handler.name, part)
        frames = len(machine.frames)
        guard = Guard()
        machine.guards.append(guard)
        try:
            machine.execute(frame, handler.body)
        except Raised as raised:
            if raised.name == PROCESS_ENDS:
                raise
            self.is_followed = self.is_followed and raised is not frame.handling
            self.found.append(raised.kept())
            del machine.frames[frames:]
        finally:
            machine.guards.pop()
            frame.handling = outer
        if handler.name is not None:
            names.forget(machine, frame, handler.name)
        self._keep(guard)

    def _keep(self, guard: Guard) -> None:
        """What a handler may raise goes on as a group that is not known, as if those after it did nothing."""
        machine, going = self.machine, self.machine.state
        if guard:
            machine.problem("what is raised where exceptions are handled in groups is not followed")
        for error, state in guard:
            machine.state = state
            why = machine.unknown("what is raised where exceptions are handled in groups is not followed")
            machine.may_raise(error if error.name == PROCESS_ENDS else _raised(machine, why, self.raised))
        machine.state = going
