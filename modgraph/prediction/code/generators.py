"""The body of a generator function, statement by statement, suspended at each `yield`.

Only statements in which a `yield` stands are executed here; all others as everywhere. Where it is not known which
`yield` comes next, what follows runs as usual, and no item is known any more.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from modgraph.prediction.code import contexts, control, names, raising, targets
from modgraph.prediction.code.loop_ends import HOW_FAR, may_have_ended
from modgraph.prediction.domain.calling import Raised
from modgraph.prediction.domain.frames import Frame, Loop, Outcome
from modgraph.prediction.domain.limits import MAX_LOOP_ITERATIONS, MAX_YIELDED
from modgraph.prediction.domain.objects import EnvironmentObject, InstanceObject, IteratorObject
from modgraph.prediction.domain.state import State
from modgraph.prediction.domain.suspended import Lost, Steps
from modgraph.prediction.domain.values import NONE, Address, Constant, TupleValue, Unknown, Value
from modgraph.prediction.paths.guards import Guard, Leaving
from modgraph.prediction.python import node_text, producing
from modgraph.source import nodes
from modgraph.source.reached import Reached

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

Stepping: TypeAlias = "Generator[Value | Lost, None, Outcome]"
_Given: TypeAlias = "Generator[Value | Lost, None, Value]"


def generator(machine: Machine, frame: Frame, node: nodes.FunctionDef) -> Address:
    """What a call of a generator function gives; nothing of its body has run."""

    def start() -> tuple[Steps, Frame]:
        own = replace(frame, loops=[], returns=[], yields=[])
        return _body(machine, own, node), own

    changes = (frame.environment, *((frame.receiver,) if frame.receiver is not None else ()))
    return producing.suspended(machine, start, changes, MAX_YIELDED)


def _body(machine: Machine, frame: Frame, node: nodes.FunctionDef) -> Steps:
    since = machine.base.next_index
    try:
        outcome = yield from _block(machine, frame, node.body, is_inner=False)
    except Raised as raised:
        if not frame.returns:
            raise
        machine.may_raise(raised)
        outcome = "dead"
    frame.returned = control.finish_returns(machine, frame, outcome, since)
    return None


def _block(machine: Machine, frame: Frame, block: Sequence[nodes.Node], is_inner: bool = True) -> Stepping:
    """Args:
    is_inner: a `yield` may come after the block.
    """
    assert frame.function is not None
    yielding = frame.function.definition.yielding
    last = next((i for i in range(len(block) - 1, -1, -1) if block[i] in yielding), -1)
    for place, statement in enumerate(block):
        if statement not in yielding:
            outcome = machine.execute(frame, (statement,))
        else:
            machine.step()
            frame.statement = statement
            executor = _EXECUTORS.get(type(statement))
            outcome = yield from (executor or _lost)(machine, frame, statement)
        if outcome != "normal":
            return outcome
        if _may_have_left(frame) and (is_inner or place < last):
            yield Lost(machine.unknown("it is not known whether the generator comes to its next `yield`"))
    return "normal"


def _may_have_left(frame: Frame) -> bool:
    """Some paths have come to the end of the function, or of the turn of a loop, and do not do what follows."""
    return bool(frame.returns) or any(loop.breaks or loop.continues for loop in frame.loops)


def _lost(machine: Machine, frame: Frame, statement: Any, why: Unknown | None = None) -> Stepping:
    """Executes the statement as one of any function: what it yields is not followed."""
    yield Lost(why or machine.unknown("what the generator yields is not known"))
    return machine.execute_one(frame, statement)


# ---- the yields themselves -------------------------------------------------------------------------------------------


def _given(machine: Machine, frame: Frame, node: nodes.Yield) -> _Given:
    """Yields; what the expression is then worth."""
    if _may_have_left(frame):
        yield Lost(machine.unknown("it is not known whether the generator comes to this `yield`"))
    if node.value is None or not node.is_from:
        yield machine.evaluate(frame, node.value) if node.value is not None else NONE
        return _arrived(machine, frame)
    inner = machine.evaluate(frame, node.value)
    walking = producing.walk(machine, inner, by_demand=True)
    while True:
        try:
            item = next(walking)
        except StopIteration as stop:
            if stop.value is not None:
                yield Lost(stop.value)
            break
        yield item
        if frame.sent != NONE or frame.thrown is not None:
            why = machine.unknown("what is sent to an inner generator is not followed")
            machine.expose([inner, frame.sent], why)
            frame.sent, frame.thrown = NONE, None
            yield Lost(why)
            break
    return _returned(machine, inner)


def _returned(machine: Machine, inner: Value) -> Value:
    """What `yield from` is worth once all items have come: of what has no code of its own, None."""
    if isinstance(inner, (TupleValue, Constant)):
        return NONE
    if machine.state.find(inner, IteratorObject) is not None:
        return producing.returned(machine, inner)
    held = machine.state.read(inner) if isinstance(inner, Address) else None
    if isinstance(inner, Address) and producing.is_plain(machine, inner, held):
        return NONE
    return machine.unknown("what an inner generator returns is not known")


def _return(machine: Machine, frame: Frame, node: nodes.Return) -> Stepping:
    if not isinstance(node.value, nodes.Yield):
        return (yield from _lost(machine, frame, node))
    frame.value = yield from _given(machine, frame, node.value)
    return "return"


def _arrived(machine: Machine, frame: Frame) -> Value:
    """What was sent to the `yield` that the code goes on at.

    Raises:
        Raised: what was thrown there.
    """
    sent, thrown = frame.sent, frame.thrown
    frame.sent, frame.thrown = NONE, None
    if thrown is not None:
        raise raising.raised_from(machine, thrown)
    return sent


def _expression(machine: Machine, frame: Frame, node: nodes.Expr) -> Stepping:
    if not isinstance(node.value, nodes.Yield):
        return (yield from _lost(machine, frame, node))
    yield from _given(machine, frame, node.value)
    return "normal"


def _assign(machine: Machine, frame: Frame, node: nodes.Assign) -> Stepping:
    if not isinstance(node.value, nodes.Yield):
        return (yield from _lost(machine, frame, node))
    value = yield from _given(machine, frame, node.value)
    for target in node.targets:
        targets.assign(machine, frame, target, value)
    return "normal"


# ---- compound statements ---------------------------------------------------------------------------------------------


def _if(machine: Machine, frame: Frame, node: nodes.If) -> Stepping:
    current = node
    while True:
        value = machine.test(frame, current.test)
        truth = machine.truth(value)
        if truth is None:
            yield Lost(Unknown(node_text.reason_of_test(machine, current.test, value), machine.where))
            return control.execute_if(machine, frame, current)
        if truth:
            return (yield from _block(machine, frame, current.body))
        following = nodes.following(current)
        if following is None:
            return (yield from _block(machine, frame, current.orelse))
        frame.statement = current = following


def _for(machine: Machine, frame: Frame, node: nodes.For) -> Stepping:
    found = producing.walk(machine, machine.evaluate(frame, node.iter), by_demand=True)
    since, loop, why = machine.base.next_index, Loop(), None
    frame.loops.append(loop)
    outcome: Outcome = "normal"
    while outcome == "normal":
        frame.statement = node
        machine.step()
        try:
            item = next(found)
        except StopIteration as stop:
            why = stop.value
            break
        targets.assign(machine, frame, node.target, item)
        outcome = yield from _turn(machine, frame, node, loop, since)
    if why is not None and outcome == "normal":
        yield Lost(why)

        def turn() -> Outcome:
            targets.assign(machine, frame, node.target, why)
            return machine.execute(frame, node.body)

        outcome = control.unknown_turns(machine, frame, turn, why.reason, since)
    frame.loops.pop()
    return (yield from _after_loop(machine, frame, node, loop, outcome, since))


def _while(machine: Machine, frame: Frame, node: nodes.While) -> Stepping:
    since, loop = machine.base.next_index, Loop()
    n_returns = len(frame.returns)
    frame.loops.append(loop)
    outcome: Outcome = "normal"
    for _ in range(MAX_LOOP_ITERATIONS):
        frame.statement = node
        machine.step()
        value = machine.test(frame, node.test)
        truth = machine.truth(value)
        if truth is None or (truth and may_have_ended(loop, len(frame.returns) - n_returns)):
            reason = HOW_FAR if truth else node_text.reason_of_test(machine, node.test, value)
            yield Lost(Unknown(reason, machine.where))
            outcome = control.unknown_while(machine, frame, node, reason, since)
            break
        if truth is False:
            break
        outcome = yield from _turn(machine, frame, node, loop, since)
        if outcome != "normal":
            break
    else:
        reason = Reached(f"a loop of more than {MAX_LOOP_ITERATIONS} turns")
        yield Lost(machine.unknown(reason))
        outcome = control.unknown_while(machine, frame, node, reason, since)
    frame.loops.pop()
    return (yield from _after_loop(machine, frame, node, loop, outcome, since))


def _turn(machine: Machine, frame: Frame, node: nodes.For | nodes.While, loop: Loop, since: int) -> Stepping:
    outcome: Outcome
    try:
        outcome = yield from _block(machine, frame, node.body)
    except Raised as raised:
        if not loop.breaks and not loop.continues:
            raise
        machine.may_raise(raised)
        outcome = "dead"
    return control.end_turn(machine, frame, outcome, since)


def _after_loop(
    machine: Machine, frame: Frame, node: nodes.For | nodes.While, loop: Loop, outcome: Outcome, since: int
) -> Stepping:
    if outcome == "normal":
        control.leave_before_else(machine, loop, node.orelse)
        try:
            outcome = yield from _block(machine, frame, node.orelse)
        except Raised as raised:
            outcome = control.only_broken(machine, loop, raised)
    elif outcome == "break":
        outcome = "normal"
    return control.join_breaks(machine, frame, outcome, loop, since)


def _try(machine: Machine, frame: Frame, node: nodes.Try) -> Stepping:
    loops, since, leaving = len(frame.loops), machine.base.next_index, Leaving(frame)
    outcome: Outcome = "normal"
    failure: Raised | None = None
    partial: list[tuple[Raised, State]] = []
    try:
        outcome = yield from _guarded(machine, frame, _block(machine, frame, node.body), bool(node.handlers), partial)
        if outcome == "normal":
            outcome = yield from _block(machine, frame, node.orelse)
    except Raised as raised:
        failure = raised.kept()
        del frame.loops[loops:]
    handlers, is_certain = raising.handlers_of(machine, frame, node, failure) if failure is not None else ([], True)
    if failure is not None and handlers and (not is_certain or len(handlers) > 1 or node.is_star):
        yield Lost(machine.unknown("which exception is raised is not known"))
        partial.append((failure, machine.state))
        outcome, failure = "dead", None
    elif failure is not None and handlers:
        handler = handlers[0]
        if handler.name is not None:
            names.bind(machine, frame, handler.name, failure.exception)
        outer, frame.handling = frame.handling, failure
        failure = None
        try:
            outcome = yield from _block(machine, frame, handler.body)
        except Raised as raised:
            failure = raised.kept()
        frame.handling = outer
    if partial:
        outcome, failure = _or_raised(
            machine, frame, outcome, failure, partial, lambda error: _handled(machine, frame, node, error), since
        )
    if node.finalbody:
        leaving.run(machine, lambda: machine.execute(frame, node.finalbody))
        value = frame.value
        final = yield from _block(machine, frame, node.finalbody)
        if final != "normal":
            return final
        frame.value = value
    if failure is not None:
        raise failure
    return outcome


def _handled(machine: Machine, frame: Frame, node: nodes.Try, error: Raised) -> Outcome:
    """Runs the handlers that may take what is raised; what they yield is not followed."""
    since = machine.base.next_index
    paths = raising.handled(machine, frame, node, error)
    return control.run_paths(machine, frame, paths, "depends on which exception is raised", since)


def _or_raised(
    machine: Machine,
    frame: Frame,
    outcome: Outcome,
    failure: Raised | None,
    partial: list[tuple[Raised, State]],
    handle: Callable[[Raised], Outcome],
    since: int,
) -> tuple[Outcome, Raised | None]:
    """How a block ends, joined with the paths that raised in it while others went on."""

    def ends() -> Outcome:
        if failure is not None:
            raise failure
        return outcome

    paths: list[control.Path] = [] if outcome == "dead" and failure is None else [(machine.state, ends)]
    paths += [(state, lambda error=error: handle(error)) for error, state in partial]  # type: ignore[misc]
    try:
        return control.run_paths(machine, frame, paths, "depends on whether an exception is raised", since), None
    except Raised as raised:
        return "dead", raised.kept()


def _guarded(
    machine: Machine, frame: Frame, steps: Stepping, doubts: bool, raised: list[tuple[Raised, State]]
) -> Stepping:
    """The steps of a block inside a `try`; where some paths raise and others do not, they are not followed.

    Args:
        raised: gets these paths.
    """
    while True:
        partial = Guard(doubts)
        machine.guards.append(partial)
        try:
            found = next(steps)
        except StopIteration as stop:
            outcome: Outcome = stop.value
            found = None
        finally:
            machine.guards.pop()
            raised += partial
        if partial:
            why = machine.unknown("it is not known whether an exception is raised")
            yield Lost(why)
            held = machine.state.find(frame.environment, EnvironmentObject)
            machine.expose(list(held.names.values()) if held is not None else [], why)
        if found is None:
            return outcome
        yield found


def _with(machine: Machine, frame: Frame, node: nodes.With) -> Stepping:
    if len(node.items) != 1:
        return (yield from _lost(machine, frame, node))
    manager = machine.evaluate(frame, node.items[0].item)
    enter = machine.find_attribute(manager, "__enter__")
    found = machine.state.find(manager, InstanceObject)
    if enter is None or (found is not None and contexts.is_generated(found)):
        return (yield from _lost(machine, frame, node))
    given = machine.call(enter) if not isinstance(enter, Unknown) else enter
    if node.items[0].asname is not None:
        targets.assign(machine, frame, node.items[0].asname, given)
    since, leaving = machine.base.next_index, Leaving(frame)
    outcome: Outcome = "normal"
    failure: Raised | None = None
    partial: list[tuple[Raised, State]] = []
    try:
        outcome = yield from _guarded(machine, frame, _block(machine, frame, node.body), True, partial)
    except Raised as raised:
        failure = raised.kept()
    leaving.run(machine, lambda: _left(machine, manager))
    if failure is None and outcome != "dead":
        contexts.call_exit(machine, manager, None)
    elif failure is not None:
        swallows = contexts.call_exit(machine, manager, failure)
        if swallows is None:
            machine.may_raise(failure)
            yield Lost(machine.unknown("whether an exception is swallowed is not known"))
        if swallows is not False:
            outcome, failure = "normal", None
    if partial:
        outcome, failure = _or_raised(
            machine, frame, outcome, failure, partial, lambda error: _swallowed(machine, manager, error), since
        )
    if failure is not None:
        raise failure
    return outcome


def _left(machine: Machine, manager: Value) -> Outcome:
    contexts.call_exit(machine, manager, None)
    return "normal"


def _swallowed(machine: Machine, manager: Value, error: Raised) -> Outcome:
    swallows = contexts.call_exit(machine, manager, error)
    if swallows is False:
        raise error
    if swallows is None:
        machine.may_raise(error)
    return "normal"


_EXECUTORS: dict[type[nodes.Node], Callable[..., Stepping]] = {
    nodes.Expr: _expression,
    nodes.Assign: _assign,
    nodes.Return: _return,
    nodes.If: _if,
    nodes.For: _for,
    nodes.While: _while,
    nodes.Try: _try,
    nodes.With: _with,
}
