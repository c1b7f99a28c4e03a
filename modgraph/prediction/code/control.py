"""`if`, `for`, `while`: which way the code goes, on which states, and where paths meet again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from modgraph.graph.model import SourceLocation
from modgraph.prediction.code import idle_turns, targets
from modgraph.prediction.code.loop_ends import HOW_FAR, Ends
from modgraph.prediction.domain.calling import Raised
from modgraph.prediction.domain.frames import Frame, Loop, Outcome
from modgraph.prediction.domain.limits import MAX_LOOP_ITERATIONS, MAX_WIDENINGS
from modgraph.prediction.domain.objects import ListObject, ModuleObject
from modgraph.prediction.domain.state import State
from modgraph.prediction.domain.suspended import Walk
from modgraph.prediction.domain.values import NONE, Address, Choice, Constant, SliceValue, TupleValue, Unknown, Value
from modgraph.prediction.paths import assuming, failed, given_up, havoc, recording
from modgraph.prediction.paths.guards import forget
from modgraph.prediction.paths.joining import join, join_results
from modgraph.prediction.paths.parting import joined_as_parted
from modgraph.prediction.paths.widening import widen
from modgraph.prediction.python import may_items, node_text, producing, unordered
from modgraph.source import nodes
from modgraph.source.reached import Reached, root_of

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

Path = tuple[State, Callable[[], Outcome]]


def run_paths(machine: Machine, frame: Frame, paths: Sequence[Path], reason: str, since: int) -> Outcome:
    """Runs each path on its state. Those that fall through are joined and go on; returns, breaks and continues are kept
    with the frame until the function or the loop ends; paths that raise are dropped, unless all do.

    Raises:
        Raised: every path raises; that of the first one.
    """
    where = machine.where
    ended: list[tuple[Outcome, Value, State]] = []
    raised: list[tuple[Raised, State]] = []
    machine.undecided += 1
    try:
        for state, path in paths:
            machine.state = state
            try:
                outcome = path()
            except Raised as error:
                raised.append((error.kept(), machine.state))
            else:
                ended.append((outcome, frame.value, machine.state))
    except given_up.ENDINGS:
        going = [kept for outcome, _, kept in ended if outcome != "dead"]
        place = len(ended) + len(raised) + 1
        given_up.join_others(machine, [*going, *(other for other, _ in paths[place:])], since)
        raise
    finally:
        machine.undecided -= 1
    alive = [entry for entry in ended if entry[0] != "dead"]
    if not ended:
        raise failed.leave(machine, raised, reason, where, since)
    failed.drop(machine, raised)
    if alive:
        machine.state = alive[0][2]
        failed.tell(machine, raised, reason)
    if len(alive) == 1 and len(ended) == 1:
        outcome, frame.value, machine.state = alive[0]
        return outcome
    fallen: list[State] = []
    for outcome, value, state in alive:
        if not keep_left(frame, outcome, value, state):
            fallen.append(state)
    if not fallen:
        return "dead"
    machine.state = join_states(fallen, reason, where, since)
    return "normal"


def keep_left(frame: Frame, outcome: Outcome, value: Value, state: State) -> bool:
    """Keeps a path that leaves the function, or a turn of its innermost loop; False where it does neither."""
    if outcome == "return":
        frame.returns.append((value, state))
    elif outcome == "break":
        frame.loops[-1].breaks.append(state)
    elif outcome == "continue":
        frame.loops[-1].continues.append(state)
    else:
        return False
    return True


def ending(frame: Frame, outcome: Outcome, value: Value) -> Callable[[], Outcome]:
    """A path that only comes to its end, with that value of the function."""

    def end() -> Outcome:
        frame.value = value
        return outcome

    return end


def join_states(states: Sequence[State], reason: str, where: SourceLocation | None, since: int) -> State:
    """All of them in one. Those that parted last are joined first, so that what they did together is told once."""

    def both(earlier: State, later: State) -> State:
        return join(earlier, later, reason, where, since)

    return joined_as_parted(states, lambda state: state.events, both)


def finish_returns(machine: Machine, frame: Frame, outcome: Outcome, since: int) -> Value:
    """At the end of a function: the choice of what its paths returned, on their joined states. In a run of `forward`
    those that parted last are joined first."""
    results = list(frame.returns)
    if outcome == "return":
        results.append((frame.value, machine.state))
    elif outcome != "dead":
        results.append((NONE, machine.state))
    if not results:
        return NONE
    reason, where = "depends on which `return` is reached", machine.where
    if not machine.is_recording:
        return machine.settle(results, [], reason, where, since)

    def both(earlier: tuple[Value, State], later: tuple[Value, State]) -> tuple[Value, State]:
        value = join_results(earlier[1], earlier[0], later[1], later[0], reason, where, since)
        return value, earlier[1]

    value, machine.state = joined_as_parted(results, lambda end: end[1].events, both)
    return value


def execute_if(machine: Machine, frame: Frame, node: nodes.If) -> Outcome:
    current: nodes.If = node
    while True:
        value = machine.test(frame, current.test)
        truth = machine.truth(value)
        if machine.is_recording:
            truth = assuming.told(machine, frame, node_text.condition_of(current.test), value, truth)
        if truth is None:
            return _fork_if(machine, frame, current, value)
        if truth:
            return machine.execute(frame, current.body)
        following = nodes.following(current)
        if following is None:
            return machine.execute(frame, current.orelse)
        frame.statement = current = following


def _fork_if(machine: Machine, frame: Frame, node: nodes.If, value: Value) -> Outcome:
    since = machine.base.next_index
    other = machine.state.fork()
    reason = node_text.reason_of_test(machine, node.test, value)
    if machine.is_recording:
        text = node_text.condition_of(node.test)
        at = assuming.moment()
        assuming.assume(machine, frame, machine.state, text, True, value, at=at)
        assuming.assume(machine, frame, other, text, False, value, at=at)

    def otherwise() -> Outcome:
        following = nodes.following(node)
        if following is not None:
            frame.statement = following
            return execute_if(machine, frame, following)
        return machine.execute(frame, node.orelse)

    paths: list[Path] = [
        (machine.state, lambda: machine.execute(frame, node.body)),
        (other, otherwise),
    ]
    return run_paths(machine, frame, paths, reason, since)


def execute_for(machine: Machine, frame: Frame, node: nodes.For) -> Outcome:
    iterable, some = _iterable(machine, frame, node.iter)
    since = machine.base.next_index
    if some is not None:
        return _loop_over_some(machine, frame, node, some, since)
    if isinstance(iterable, Choice):
        return _loop_over_each(machine, frame, node, iterable, since)
    return _loop_over(machine, frame, node, iterable, since)


def _loop_over_each(machine: Machine, frame: Frame, node: nodes.For, iterable: Choice, since: int) -> Outcome:
    """The loop over one of a few, which of them is not known: each on a path of its own."""
    places = assuming.possible(machine, iterable)
    if len(places) == 1:
        return _loop_over(machine, frame, node, iterable.alternatives[places[0]], since)
    states = [machine.state, *(machine.state.fork() for _ in places[1:])]

    def path(place: int) -> Outcome:
        assuming.assume_again(machine, iterable.tests_of(place))
        return _loop_over(machine, frame, node, iterable.alternatives[place], since)

    paths: list[Path] = [(state, partial(path, place)) for place, state in zip(places, states, strict=True)]
    return run_paths(machine, frame, paths, iterable.reason, since)


def _loop_over(machine: Machine, frame: Frame, node: nodes.For, iterable: Value, since: int) -> Outcome:
    elements = unordered.elements(machine, iterable)
    if elements is not None and not node.orelse and not _breaks(node):

        def alone(item: Value) -> Outcome:
            return _loop(machine, frame, node, producing.in_turn([item]), since)

        if idle_turns.run(machine, frame, node.target, elements, alone):
            return "normal"
    ways = unordered.orders(elements) if elements is not None else None
    if ways is None:
        counts = isinstance(iterable, Constant) and isinstance(iterable.value, range)
        outcome = _loop(machine, frame, node, producing.walk(machine, iterable, whole=True), since, counts=counts)
        if isinstance(node.iter, nodes.Call) and isinstance(iterable, Address):  # nothing else holds it
            producing.close(machine, iterable)
        return outcome
    states = [machine.state, *(machine.state.fork() for _ in ways[1:])]
    paths: list[Path] = [
        (state, lambda way=way: _loop(machine, frame, node, producing.in_turn(way), since))  # type: ignore[misc]
        for state, way in zip(states, ways, strict=True)
    ]
    return run_paths(machine, frame, paths, "depends on the order of a set", since)


def _iterable(machine: Machine, frame: Frame, node: nodes.Expression) -> tuple[Value, tuple[list[Value], str] | None]:
    """What is iterated over; of a slice with bounds that are not known, the items that may be in it, and why."""
    if not isinstance(node, nodes.Subscript):
        return machine.evaluate(frame, node), None
    value = machine.evaluate(frame, node.value)
    key = machine.subscript_key(frame, node)
    if isinstance(key, SliceValue) and key.step == NONE:
        bounds = [each for each in (key.lower, key.upper) if isinstance(each, (Unknown, Choice))]
        if bounds and (isinstance(value, TupleValue) or machine.state.find(value, _SLICED) is not None):
            found = machine.iterate(value)
            if isinstance(found, list):
                return value, (found, bounds[0].reason)
    return machine.get_item(value, key), None


_SLICED: Any = (ListObject, ModuleObject)


def _loop_over_some(
    machine: Machine, frame: Frame, node: nodes.For, some: tuple[list[Value], str], since: int
) -> Outcome:
    """A turn for each item, or none: which of them are there is not known, but their order is."""
    found, reason = some
    outcome: Outcome = "normal"
    with _loop_in(machine, frame, since) as loop:
        for item in found:
            machine.step()

            def turn(item: Value = item) -> Outcome:
                targets.assign(machine, frame, node.target, item)
                return machine.execute(frame, node.body)

            outcome = end_turn(machine, frame, _turn(machine, frame, _maybe(machine, frame, turn, reason)), since)
            if outcome != "normal":
                break
    return _leave(machine, frame, outcome, loop, node.orelse, since)


def _loop(machine: Machine, frame: Frame, node: nodes.For, found: Walk, since: int, *, counts: bool = False) -> Outcome:
    """`counts`: it goes over numbers, one of which says no more than another."""
    with _loop_in(machine, frame, since) as loop:
        ends = Ends(machine, frame, loop, can_go_back=counts)
        outcome, why = _known_turns(machine, frame, node, found, since, ends)
        if why is not None:

            def turn() -> Outcome:
                targets.assign(machine, frame, node.target, why)
                return machine.execute(frame, node.body)

            outcome = unknown_turns(machine, frame, turn, why.reason, since)
    return _leave(machine, frame, outcome, loop, node.orelse, since)


@contextmanager
def _loop_in(machine: Machine, frame: Frame, since: int) -> Iterator[Loop]:
    """A loop of the frame. Where it is given up, what those turns left that may have ended it, or begun the next, holds
    as well."""
    loop = Loop()
    frame.loops.append(loop)
    try:
        yield loop
    except given_up.ENDINGS:
        given_up.join_others(machine, given_up.first_of(loop.breaks, loop.continues), since)
        raise
    finally:
        frame.loops.pop()


def _known_turns(
    machine: Machine, frame: Frame, node: nodes.For, found: Walk, since: int, ends: Ends
) -> tuple[Outcome, Unknown | None]:
    """The turns for items that are known, and why there may be others after them."""
    left: Unknown | None = None
    while True:
        machine.step()
        before = machine.state.events
        try:
            item = next(found)
        except StopIteration as stop:
            return "normal", stop.value
        ends.begins_turn()
        if ends.is_open_and_alike:
            ends.go_back()
            return "normal", Unknown(HOW_FAR, machine.where, inert=True)
        if machine.state.events is not before and ends.is_told and ends.is_open:  # a generator that calls modules
            unknown = Unknown("how many items are taken from a generator is not known", machine.where)
            recording.lost(machine, unknown)
            return "normal", unknown
        why = may_items.doubt(item) or left

        def turn(item: Value = item) -> Outcome:
            plain = item.item if isinstance(item, (may_items.Several, may_items.Perhaps)) else item
            targets.assign(machine, frame, node.target, plain)
            return machine.execute(frame, node.body)

        if isinstance(item, may_items.Several) and why is not None:
            outcome = unknown_turns(machine, frame, turn, why.reason, since)
            left = why if left is None and _breaks(node) else left
        else:
            whole = turn if why is None else _maybe(machine, frame, turn, why.reason)
            outcome = end_turn(machine, frame, _turn(machine, frame, whole), since)
        if outcome != "normal":
            return outcome, None


@lru_cache(maxsize=1024)
def _breaks(node: nodes.For) -> bool:
    """A turn may end the loop: what comes after an unknown number of turns may not run."""
    pending: list[nodes.Node] = [*node.body]
    while pending:
        part = pending.pop()
        if isinstance(part, nodes.Break):
            return True
        if isinstance(part, (nodes.For, nodes.While)):  # its own breaks end it; those of its `else` end this loop
            pending.extend(part.orelse)
        elif not isinstance(part, (nodes.Expression, nodes.FunctionDef, nodes.ClassDef)):
            pending.extend(part.children)
    return False


def _maybe(machine: Machine, frame: Frame, turn: Callable[[], Outcome], reason: str) -> Callable[[], Outcome]:
    """A turn for an item of which it is not known whether it is there."""

    def both() -> Outcome:
        paths: list[Path] = [(machine.state, turn), (machine.state.fork(), lambda: "normal")]
        return run_paths(machine, frame, paths, reason, machine.base.next_index)

    return both


def _turn(machine: Machine, frame: Frame, turn: Callable[[], Outcome]) -> Outcome:
    """One turn of a loop; where it raises, the paths that left it before go on without that one.

    Raises:
        Raised: there are none.
    """
    try:
        return turn()
    except Raised as raised:
        loop = frame.loops[-1]
        if not loop.breaks and not loop.continues:
            raise
        machine.may_raise(raised)
        return "dead"


def end_turn(machine: Machine, frame: Frame, outcome: Outcome, since: int) -> Outcome:
    """Joins the paths that continue with the next turn."""
    loop = frame.loops[-1]
    going = [machine.state] if outcome in ("normal", "continue") else []
    if loop.continues:
        going += loop.continues
        loop.continues = []
        if outcome == "return":
            frame.returns.append((frame.value, machine.state))
        elif outcome == "break":
            loop.breaks.append(machine.state)
    if not going:
        return outcome
    if len(going) > 1 or outcome not in ("normal", "continue"):
        machine.state = join_states(going, "depends on which `continue` is reached", machine.where, since)
    return "normal"


def _leave(machine: Machine, frame: Frame, outcome: Outcome, loop: Loop, orelse: nodes.Block, since: int) -> Outcome:
    """After the last turn: `else`, and the paths that broke out before."""
    if outcome == "normal":
        leave_before_else(machine, loop, orelse)
        try:
            outcome = machine.execute(frame, orelse)
        except Raised as raised:
            outcome = only_broken(machine, loop, raised)
    elif outcome == "break":
        outcome = "normal"
    return join_breaks(machine, frame, outcome, loop, since)


def leave_before_else(machine: Machine, loop: Loop, orelse: nodes.Block) -> None:
    """A path on which a turn of unknown number ended the loop goes round its `else`."""
    if loop.may_break and orelse:
        loop.breaks.append(machine.state.fork())


def only_broken(machine: Machine, loop: Loop, raised: Raised) -> Outcome:
    """`else` raises: only the paths that broke out of the loop go on.

    Raises:
        Raised: there are none.
    """
    if not loop.breaks:
        raise raised
    machine.may_raise(raised)
    return "dead"


def join_breaks(machine: Machine, frame: Frame, outcome: Outcome, loop: Loop, since: int) -> Outcome:
    """How a loop ends, the paths that broke out of it being among those that go on."""
    if not loop.breaks:
        return outcome
    left = list(loop.breaks)
    if outcome == "normal":
        left.append(machine.state)
    else:  # a `break` or `continue` in `else` is of the loop around
        keep_left(frame, outcome, frame.value, machine.state)
    machine.state = join_states(left, "depends on which `break` is reached", machine.where, since)
    return "normal"


def execute_while(machine: Machine, frame: Frame, node: nodes.While) -> Outcome:
    since = machine.base.next_index
    outcome: Outcome = "normal"
    with _loop_in(machine, frame, since) as loop:
        ends = Ends(machine, frame, loop)
        for _ in range(MAX_LOOP_ITERATIONS):
            machine.step()
            ends.begins_turn()
            ends.require_end(lambda: _any_turns(machine, frame, node, HOW_FAR, since, is_tested=False)[1])
            value = machine.test(frame, node.test)
            truth = machine.truth(value)
            if truth and (machine.steps > machine.widened_from or ends.is_open or ends.has_many):
                ends.go_back()
                outcome = unknown_while(machine, frame, node, HOW_FAR, since, is_tested=False)
                break
            if truth is None:
                reason = node_text.reason_of_test(machine, node.test, value)
                outcome = unknown_while(machine, frame, node, reason, since)
                break
            if truth is False:
                break
            turn = _turn(machine, frame, lambda: machine.execute(frame, node.body))
            outcome = end_turn(machine, frame, turn, since)
            if outcome != "normal":
                break
        else:
            reason = Reached(f"a loop of more than {MAX_LOOP_ITERATIONS} turns")
            machine.problem(reason)
            outcome = unknown_while(machine, frame, node, reason, since, is_tested=False)
    return _leave(machine, frame, outcome, loop, node.orelse, since)


def unknown_while(
    machine: Machine, frame: Frame, node: nodes.While, reason: str, since: int, *, is_tested: bool = True
) -> Outcome:
    """Any number of turns. Where a `return` or an exception alone ends them, what stands behind them is not reached.

    Args:
        is_tested: the test before the first of them has been made, and what it gave is not known.
    """
    may_end = bool(frame.loops[-1].breaks)
    outcome, is_left = _any_turns(machine, frame, node, reason, since, is_tested=is_tested)
    goes_elsewhere = bool(frame.returns) or (bool(machine.guards) and bool(machine.guards[-1]))
    return "dead" if machine.is_recording and goes_elsewhere and not (may_end or is_left) else outcome


def _any_turns(
    machine: Machine, frame: Frame, node: nodes.While, reason: str, since: int, *, is_tested: bool
) -> tuple[Outcome, bool]:
    """How they end, and whether the test or a `break` may end them."""
    told, may_end = machine.told, is_tested
    is_behind = is_tested and machine.is_recording  # of each turn, the test that says whether there is another

    def turn() -> Outcome:
        nonlocal may_end
        if not is_behind:
            may_end = machine.truth(machine.test(frame, node.test)) is not True or may_end
        outcome = machine.execute(frame, node.body)
        may_end = may_end or outcome == "break" or bool(frame.loops[-1].breaks)
        if is_behind:
            outcome = end_turn(machine, frame, outcome, since)
            if outcome == "normal":
                machine.test(frame, node.test)
        return outcome

    outcome = unknown_turns(machine, frame, turn, reason, since)
    return outcome, may_end or machine.told != told


def unknown_turns(machine: Machine, frame: Frame, turn: Callable[[], Outcome], reason: str, since: int) -> Outcome:
    """Any number of turns: the body is run until another turn changes nothing any more that is not already open."""
    loop = frame.loops[-1]
    if not machine.is_recording:
        return _widened(machine, frame, turn, reason, since)
    before, loop.breaks = loop.breaks, []  # those that have left it earlier are none of these turns
    try:
        return _widened(machine, frame, turn, reason, machine.base.next_index)
    finally:
        loop.breaks += before


def _widened(machine: Machine, frame: Frame, turn: Callable[[], Outcome], reason: str, since: int) -> Outcome:
    where = machine.where
    loop = frame.loops[-1]
    guard = machine.guards[-1] if machine.guards else []
    n_returns, n_raised = len(frame.returns), len(guard)
    for number in range(MAX_WIDENINGS):
        if machine.is_recording:  # what this turn begins with holds what the one before it began with
            del frame.returns[n_returns:]
            forget(guard, n_raised)
        before, begun = machine.state, machine.base.next_index
        since_turn = begun if number else None
        machine.state = before.fork()
        machine.undecided += 1
        try:
            outcome = turn()
        except Raised as raised:
            machine.may_raise(raised)
            outcome = "dead"
        except given_up.ENDINGS:
            given_up.join_others(machine, [before], since)
            raise
        finally:
            machine.undecided -= 1
        after = [machine.state] if outcome in ("normal", "continue", "break") else []
        loop.may_break |= outcome == "break" or bool(loop.breaks)
        after += loop.continues + loop.breaks
        loop.continues, loop.breaks = [], []
        if outcome == "return":
            frame.returns.append((frame.value, machine.state))
        if machine.is_recording and len(after) > 1:  # what happens in a turn is told once, however it ends
            after = [join_states(after, "depends on how a turn ends", where, begun)]
        machine.state = before
        changed = False
        for state in after:
            parted = before.changed_since(state) if number == MAX_WIDENINGS - 1 else []
            changed = widen(before, state, reason, where, since, keeps_names=number == 0, turn=since_turn) or changed
            there = [Address(index) for index in parted if havoc.is_there(machine, index)]
            machine.expose(there, Unknown(reason, where))
        if not changed:
            return "normal"
    limit = "a loop runs a number of times that is not known, and not all that it changes is known"
    root, place = root_of(reason)
    machine.problem(Reached(f"{limit}: {reason}", root, place))
    return "normal"
