"""`raise`, `assert`, `try`: exceptions that certainly occur, and those that some paths raise."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from modgraph.prediction.code import allowances, control, exception_groups, names
from modgraph.prediction.domain.calling import PROCESS_ENDS, Raised
from modgraph.prediction.domain.frames import Frame, Outcome, place_outside_torch
from modgraph.prediction.domain.limits import MAX_MESSAGE_STEPS, LimitError, TooDeepError
from modgraph.prediction.domain.objects import InstanceObject
from modgraph.prediction.domain.state import State
from modgraph.prediction.domain.values import NONE, Choice, ClassValue, KnownClass, TupleValue, Unknown, Value
from modgraph.prediction.paths import recording
from modgraph.prediction.paths.guards import OPERATION, Guard, Leaving, may_be_gone
from modgraph.prediction.python import exceptions, node_text
from modgraph.source import nodes

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


_EXCEPTION = KnownClass("builtins.BaseException")


def execute_raise(machine: Machine, frame: Frame, node: nodes.Raise) -> Outcome:
    if node.exc is None:
        if frame.handling is not None:
            raise frame.handling
        raise machine.raises("RuntimeError", "No active exception to reraise")
    raised = raised_from(machine, _exception(machine, frame, node.exc))
    exceptions.keep_context(machine, raised.exception)
    if node.cause is not None:
        exceptions.keep_cause(machine, raised.exception, _cause(machine, frame, node.cause))
    raise raised


def _cause(machine: Machine, frame: Frame, node: nodes.Expression) -> Value:
    """What follows `from`; a class is instantiated.

    Raises:
        Raised: TypeError, where it is no exception.
    """
    cause = machine.evaluate(frame, node)
    if isinstance(cause, (ClassValue, KnownClass)):
        cause = machine.call(cause)
    if cause != NONE and not isinstance(cause, (Unknown, Choice)) and machine.is_instance(cause, _EXCEPTION) is False:
        raise machine.raises("TypeError", "exception causes must derive from BaseException")
    return cause


def _exception(machine: Machine, frame: Frame, node: nodes.Expression) -> Value:
    """What is raised. A message that takes long to make is left out: nothing depends on it."""
    limit = machine.limit
    if not isinstance(node, nodes.Call):
        return machine.evaluate(frame, node)
    before, frames, depth = machine.state, len(machine.frames), machine.depth
    since = machine.base.next_index
    machine.state = before.fork()
    machine.limit = min(limit, machine.steps + MAX_MESSAGE_STEPS)
    try:
        return machine.evaluate(frame, node)
    except TooDeepError:
        raise
    except LimitError:
        if machine.exhausted or machine.steps > limit:
            raise
        del machine.frames[frames:]
        machine.depth = depth
        why = machine.unknown("what the message of an exception does is not known")
        allowances.take_back(machine, before, since, why)
        return machine.evaluate(frame, node.func)
    finally:
        machine.limit = limit


def raised_from(machine: Machine, value: Value) -> Raised:
    """The exception that `raise value` raises; a class is instantiated."""
    if isinstance(value, (ClassValue, KnownClass)):
        value = machine.call(value)
    cls = machine.class_of(value)
    if machine.is_instance(value, _EXCEPTION) is False:
        raise machine.raises("TypeError", "exceptions must derive from BaseException")
    name = cls.name if isinstance(cls, (ClassValue, KnownClass)) else "builtins.Exception"
    raised = Raised(value, name, _message(machine, value), machine.where)
    raised.asked = place_outside_torch(machine.frames)
    return raised


def _message(machine: Machine, value: Value) -> str:
    instance = machine.state.find(value, InstanceObject)
    arguments = instance.attributes.get("args") if instance is not None else None
    if isinstance(arguments, TupleValue):
        return ", ".join(exceptions.text_without_effects(machine, item) or "..." for item in arguments.items)
    return "..."


def execute_assert(machine: Machine, frame: Frame, node: nodes.Assert) -> Outcome:
    tested = machine.test(frame, node.test)
    holds = machine.truth(tested)  # asked once: `__bool__` may change something

    def fails() -> Value:
        given = (machine.evaluate(frame, node.msg),) if node.msg is not None else ()
        said = exceptions.text_without_effects(machine, given[0]) if given else None
        raise machine.raises("AssertionError", said or node_text.source_of(node.test), given)

    if holds is False:
        fails()
    if holds is None and node.msg is not None and machine.guards:
        machine.fork([lambda: NONE, fails], node_text.reason_of_test(machine, node.test, tested))
    elif holds is None:
        machine.may_fail("AssertionError")
    return "normal"


def execute_try(machine: Machine, frame: Frame, node: nodes.Try) -> Outcome:
    if not node.finalbody:
        return _execute_handled(machine, frame, node)
    last, frames, since = node.finalbody, len(machine.frames), machine.base.next_index
    is_followed = bool(machine.guards) or _leaves(last)
    leaving, guard = Leaving(frame), Guard(doubts=is_followed, expects=not node.handlers)
    begun = machine.state.events
    outcome: Outcome = "dead"
    failure: Raised | None = None
    machine.guards.append(guard)
    try:
        outcome = _execute_handled(machine, frame, node) if node.handlers else machine.execute(frame, node.body)
    except Raised as raised:
        failure = raised.kept()
        del machine.frames[frames:]
    finally:
        machine.guards.pop()
    recording.leave_calls(machine, guard, begun)
    leaving.run(machine, lambda: machine.execute(frame, last))
    value, ended = frame.value, machine.state

    def go_on() -> Outcome:
        final = _finally(machine, frame, last, failure)
        if final != "normal":
            return final
        frame.value = value
        if failure is not None:
            raise failure
        return outcome

    paths: list[control.Path] = [(ended, go_on)] if outcome != "dead" or failure is not None else []
    if is_followed:
        paths += _swallowed(machine, frame, last, guard)
    machine.state = ended
    if not paths:
        return "dead"
    if paths == [(ended, go_on)]:
        return go_on()
    return control.run_paths(machine, frame, paths, "depends on whether an exception is raised", since)


def _finally(machine: Machine, frame: Frame, last: nodes.Block, failure: Raised | None) -> Outcome:
    if failure is not None and failure.name == PROCESS_ENDS:
        return "normal"
    outer = frame.handling
    frame.handling = failure or outer
    try:
        return machine.execute(frame, last)
    finally:
        frame.handling = outer


def _swallowed(machine: Machine, frame: Frame, last: nodes.Block, guard: Guard) -> list[control.Path]:
    """Runs `finally` on the paths that raised while others went on. Those that it ends otherwise go on; the others are
    what leaves the statement."""
    paths: list[control.Path] = []
    for error, state in guard:
        machine.state = state
        try:
            final = _finally(machine, frame, last, error)
        except Raised as raised:
            machine.may_raise(raised)
            continue
        if final == "normal":
            machine.may_raise(error)
        elif final != "dead":
            paths.append((machine.state, control.ending(frame, final, frame.value)))
    return paths


@lru_cache(maxsize=1024)
def _leaves(block: nodes.Block) -> bool:
    """The end of the block may not be reached: an exception that is under way ends with it."""
    return any(
        isinstance(each, (nodes.Return, nodes.Break, nodes.Continue))
        or (not isinstance(each, (nodes.FunctionDef, nodes.ClassDef)) and any(map(_leaves, nodes.blocks(each))))
        for each in block
    )


def _execute_handled(machine: Machine, frame: Frame, node: nodes.Try) -> Outcome:
    """The statement without its `finally`."""
    since = machine.base.next_index
    machine.guards.append(Guard(doubts=bool(node.handlers)))
    begun = machine.state.events
    outcome: Outcome
    certain: Raised | None = None
    frames = len(machine.frames)
    try:
        may_be_gone(machine)
        outcome = machine.execute(frame, node.body)
        may_be_gone(machine)
    except Raised as raised:
        certain = raised.kept()
        outcome = "dead"
        del machine.frames[frames:]
    finally:
        partial = machine.guards.pop()
    recording.leave_calls(machine, partial, begun)
    paths: list[control.Path] = []
    unhandled: list[tuple[Raised, State]] = []
    if certain is None:
        orelse = node.orelse
        ended = outcome

        def go_on() -> Outcome:
            return machine.execute(frame, orelse) if ended == "normal" else ended

        paths.append((machine.state, go_on))
    else:
        partial = [(certain, machine.state), *partial]
    for error, state in partial:
        machine.state = state
        further, is_certain = _handling_paths(machine, frame, node, error)
        paths += further
        if not is_certain:
            unhandled.append((error, state))
    return _handled(machine, frame, paths, unhandled, since)


def _handled(
    machine: Machine, frame: Frame, paths: list[control.Path], unhandled: list[tuple[Raised, State]], since: int
) -> Outcome:
    """Runs the paths; what none of the handlers takes leaves the statement."""
    if paths:
        if unhandled and machine.guards:
            machine.guards[-1].extend(unhandled)
        return control.run_paths(machine, frame, paths, "depends on whether an exception is raised", since)
    failure, machine.state = unhandled[0]
    if machine.guards:
        machine.guards[-1].extend(unhandled[1:])
    try:
        raise failure
    finally:
        del failure, paths, unhandled  # else they and this frame would keep each other


def handled(machine: Machine, frame: Frame, node: nodes.Try, raised: Raised) -> list[control.Path]:
    """The paths on which the handlers of a statement take what the present state raises. What none of them takes leaves
    the statement.

    Raises:
        Raised: none of them takes it.
    """
    state = machine.state
    paths, is_certain = _handling_paths(machine, frame, node, raised)
    if not paths:
        raise raised
    if not is_certain and machine.guards:
        machine.guards[-1].append((raised, state))
    return paths


def _handling_paths(machine: Machine, frame: Frame, node: nodes.Try, raised: Raised) -> tuple[list[control.Path], bool]:
    """A path from here for each handler that may take the exception; whether one of them does."""
    if node.is_star:
        return exception_groups.handling(machine, frame, node, raised)
    found, is_certain = handlers_of(machine, frame, node, raised)
    return [(machine.state.fork(), _handling(machine, frame, each, raised)) for each in found], is_certain


def handlers_of(
    machine: Machine, frame: Frame, node: nodes.Try, raised: Raised
) -> tuple[list[nodes.ExceptHandler], bool]:
    """The handlers that may take the exception, the likes of which is not always known; whether one of them does. Of
    those of `except*`, several may."""
    if node.is_star:
        return list(node.handlers), False
    found: list[nodes.ExceptHandler] = []
    for handler in node.handlers if raised.name != PROCESS_ENDS else ():
        takes: bool | None = True
        if handler.type is not None:
            classes = machine.evaluate(frame, handler.type)
            takes = None if isinstance(classes, Unknown) else machine.is_instance(raised.exception, classes)
            if raised.name == OPERATION and only_imports(machine, classes):
                takes = False
        if takes is not False:
            found.append(handler)
        if takes:
            return found, True
    return found, False


_IMPORT_ERROR = KnownClass("builtins.ModuleNotFoundError")


def only_imports(machine: Machine, classes: Value) -> bool:
    """These classes take what importing raises, and nothing else."""
    return machine.is_subclass(_IMPORT_ERROR, classes) is not False and not _takes_more(machine, classes)


def _takes_more(machine: Machine, classes: Value) -> bool:
    """A handler of these classes takes more than what importing raises."""
    each = classes.items if isinstance(classes, TupleValue) else (classes,)
    return any(machine.is_subclass(one, KnownClass("builtins.ImportError")) is not True for one in each)


def _handling(machine: Machine, frame: Frame, handler: nodes.ExceptHandler, raised: Raised) -> Callable[[], Outcome]:

    def handle() -> Outcome:
        outer, frame.handling = frame.handling, raised
        bound = handler.name
        if bound is not None:
            names.bind(machine, frame, bound, raised.exception)
        try:
            outcome = machine.execute(frame, handler.body)
        finally:
            frame.handling = outer
        if bound is not None and outcome == "normal":
            names.forget(machine, frame, bound)
        return outcome

    return handle
