"""Comprehensions, and generator expressions, which run as they are consumed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from modgraph.prediction.code import names, targets, walruses
from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.frames import Frame
from modgraph.prediction.domain.limits import MAX_PLAIN_STEPS
from modgraph.prediction.domain.objects import (
    MIXED,
    DictObject,
    EnvironmentObject,
    InstanceObject,
    ListObject,
    SetObject,
)
from modgraph.prediction.domain.suspended import Lost, Steps
from modgraph.prediction.domain.values import NONE, TRUE, Constant, TupleValue, Unknown, Value
from modgraph.prediction.paths import assuming
from modgraph.prediction.python import hashing, items, node_text, producing, unordered
from modgraph.source import nodes
from modgraph.source.reached import Reached

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


def list_of(machine: Machine, frame: Frame, node: nodes.ListComp) -> Value:
    gathered = _collect(machine, frame, node)
    if gathered.in_any_order:
        return unordered.listed(machine, gathered.found)
    return machine.allocate(ListObject(gathered.found, gathered.why))


def set_of(machine: Machine, frame: Frame, node: nodes.SetComp) -> Value:
    gathered = _collect(machine, frame, node)
    elements, why = hashing.unique(machine, gathered.found)
    return machine.allocate(SetObject(elements, gathered.why or why))


def dict_of(machine: Machine, frame: Frame, node: nodes.DictComp) -> Value:
    since = machine.base.next_index
    address = machine.allocate(DictObject())
    replaced: dict[Value, list[Value]] = {}

    def add(inner: Frame) -> None:
        key = machine.evaluate(inner, node.key)
        value = machine.evaluate(inner, node.value)
        held = machine.state.find(address, DictObject)
        if held is not None and key in held.entries:
            replaced.setdefault(key, []).extend((held.entries[key], value))
        items.assign(machine, address, key, value)

    gathered = _Gathered(add)
    _run(machine, frame, node.for_in, gathered, since)
    why = machine.unknown("the order of a set depends on hashes") if gathered.in_any_order else gathered.why
    if why is not None:
        made = machine.state.change(address, DictObject)
        made.open = why if made.open is None else points_to.either_of(why, (made.open,))
        if gathered.in_any_order:
            made.attributes[MIXED] = TRUE
            made.entries.update({key: points_to.read(machine, why, each) for key, each in replaced.items()})
    return address


class _Gathered:
    """What a comprehension adds, turn by turn."""

    def __init__(self, add: Callable[[Frame], None]) -> None:
        self.add = add
        self.why: Unknown | None = None
        self.found: list[Value] = []
        self.in_any_order = False

    def clear(self) -> None:
        """Nothing was added yet."""
        self.why = None
        self.found.clear()

    def may_differ(self, why: Unknown) -> None:
        """What was added so far stands first; others may follow, of which each is added too."""
        self.why = self.why or points_to.plain(points_to.nowhere(why))


def _collect(machine: Machine, frame: Frame, node: nodes.ListComp | nodes.SetComp) -> _Gathered:
    """The items, or those that certainly come first."""

    def add(inner: Frame) -> None:
        value = machine.evaluate(inner, node.elt)
        if gathered.why is None:
            gathered.found.append(value)
        else:
            gathered.why = points_to.either_of(gathered.why, (value,))

    gathered = _Gathered(add)
    _run(machine, frame, node.for_in, gathered)
    return gathered


def _inside(machine: Machine, frame: Frame, clause: nodes.CompFor) -> Frame:
    """The scope of a comprehension in that frame."""
    own: set[str] = set()
    inner: nodes.CompFor | None = clause
    while inner is not None:
        own.update(targets.bound_names(inner.target))
        inner = inner.inner_for_in
    return Frame(
        frame.module,
        frame.parsed,
        machine.allocate(EnvironmentObject(parent=frame.environment)),
        frame.function,
        frame.receiver,
        None,  # the names of a class body are not seen in it
        frame.statement,
        frame.global_names - own,
        yields=frame.yields,
        around=frame,
    )


def _run(machine: Machine, frame: Frame, clause: nodes.CompFor, gathered: _Gathered, since: int | None = None) -> None:
    """Adds to `gathered` in a scope of its own for every turn."""
    iterable = machine.evaluate(frame, clause.iter)
    elements = unordered.elements(machine, iterable)
    if elements is not None and _apart(machine, frame, clause, elements, gathered, since):
        gathered.in_any_order = True
        return
    _turns(machine, _inside(machine, frame, clause), clause, iterable, gathered)


def _apart(
    machine: Machine,
    frame: Frame,
    clause: nodes.CompFor,
    elements: list[Value],
    gathered: _Gathered,
    since: int | None,
) -> bool:
    """Runs the turns for these in the order in which they stand, and keeps them where they changed nothing older: then
    they are the same in any order."""
    before = machine.state
    since = machine.base.next_index if since is None else since
    machine.state = before.fork()
    _turns(machine, _inside(machine, frame, clause), clause, TupleValue(tuple(elements)), gathered)
    changed = machine.state.above(before.below)
    if all(index >= since for index in changed) and machine.state.globals == before.globals and gathered.why is None:
        return True
    machine.state = before
    gathered.clear()
    return False


def _turns(machine: Machine, inner: Frame, clause: nodes.CompFor, iterable: Value, gathered: _Gathered) -> None:
    found = producing.walk(machine, iterable)
    started, modules = machine.steps, machine.base.modules
    while True:
        try:
            item = next(found)
        except StopIteration as stop:
            why: Unknown | None = stop.value
            break
        machine.step()
        targets.assign(machine, inner, clause.target, item)
        _one_turn(machine, inner, clause, clause.ifs, gathered)
        if machine.steps - started > MAX_PLAIN_STEPS and machine.base.modules == modules:
            limit = machine.unknown(Reached(f"more than {MAX_PLAIN_STEPS} steps for values without a module"))
            gathered.may_differ(limit)
            gathered.why = points_to.either_of(gathered.why or limit, gathered.found)
            return
    if why is not None:
        # One turn for what it touches besides its own result.
        gathered.may_differ(why)
        machine.fork([lambda: NONE, lambda: _probe(machine, inner, clause, why, gathered)], why.reason)


def _probe(machine: Machine, inner: Frame, clause: nodes.CompFor, element: Unknown, gathered: _Gathered) -> Value:
    targets.assign(machine, inner, clause.target, element)
    _one_turn(machine, inner, clause, clause.ifs, gathered)
    return NONE


def _one_turn(
    machine: Machine, inner: Frame, clause: nodes.CompFor, conditions: Sequence[nodes.Expression], gathered: _Gathered
) -> None:
    for position, condition in enumerate(conditions):
        value = machine.test(inner, condition)
        truth = machine.truth(value)
        if machine.is_recording:
            truth = assuming.told(machine, inner, node_text.source_of(condition), value, truth)
        if truth is False:
            return
        if truth is None:
            why = machine.unknown(node_text.reason_of_test(machine, condition, value))
            gathered.may_differ(why)
            text = node_text.source_of(condition) if machine.is_recording else ""
            _maybe(machine, inner, clause, conditions[position + 1 :], gathered, (why.reason, text))
            return
    if clause.inner_for_in is not None:
        nested = machine.evaluate(inner, clause.inner_for_in.iter)
        _turns(machine, inner, clause.inner_for_in, nested, gathered)
    else:
        gathered.add(inner)


def _maybe(
    machine: Machine,
    inner: Frame,
    clause: nodes.CompFor,
    conditions: Sequence[nodes.Expression],
    gathered: _Gathered,
    why: tuple[str, str],
) -> None:
    """A turn that is ended here, or goes on; for that reason, which is such a test."""
    reason, text = why

    def ends() -> Value:
        assuming.assume(machine, inner, machine.state, text, False)
        return NONE

    def goes_on() -> Value:
        assuming.assume(machine, inner, machine.state, text, True)
        _one_turn(machine, inner, clause, conditions, gathered)
        return NONE

    machine.fork([ends, goes_on], reason)


# ---- generator expressions -------------------------------------------------------------------------------------------


def generator_of(machine: Machine, frame: Frame, node: nodes.GeneratorExp) -> Value:
    """Nothing of it runs before the first item is asked for, but what stands after its first `in`."""
    iterable = _asked_at_once(machine, machine.evaluate(frame, node.for_in.iter))
    inner = _inside(machine, frame, node.for_in)
    bound = walruses.bound_by(node)

    def forget(why: Unknown) -> None:
        for name in bound:
            bind_outside(machine, inner, name, why)

    changes = (inner.environment, *((frame.receiver,) if frame.receiver is not None else ()))

    def start() -> tuple[Steps, Frame]:
        return _steps(machine, inner, node.for_in, iterable, node.elt), inner

    elements = unordered.elements(machine, iterable)
    if elements is None:
        return producing.suspended(machine, start, changes, forget=forget)

    def found(_: object) -> list[Value] | None:
        gathered = _Gathered(lambda each: gathered.found.append(machine.evaluate(each, node.elt)))
        return gathered.found if _apart(machine, frame, node.for_in, elements, gathered, None) else None

    return unordered.iterator(machine, found, producing.Suspended(start, changes, forget=forget))


def _asked_at_once(machine: Machine, iterable: Value) -> Value:
    """What stands after the first `in`, asked for its iterator where that may do something or raises.

    Raises:
        Raised: TypeError, where it is no iterable.
    """
    if isinstance(iterable, Constant) and not hasattr(iterable.value, "__iter__"):
        machine.iterate(iterable)
    if machine.state.find(iterable, InstanceObject) is not None:
        return producing.iterator_of(machine, iterable)
    return iterable


def _steps(machine: Machine, inner: Frame, clause: nodes.CompFor, iterable: Value, element: nodes.Expression) -> Steps:
    found = producing.walk(machine, iterable, by_demand=True)
    spent, modules = 0, machine.base.modules
    while True:
        before = machine.steps
        try:
            item = next(found)
        except StopIteration as stop:
            why: Unknown | None = stop.value
            break
        machine.step()
        targets.assign(machine, inner, clause.target, item)
        yield from _lazy_turn(machine, inner, clause, element)
        spent += machine.steps - before
        if spent > MAX_PLAIN_STEPS and machine.base.modules == modules:
            return machine.unknown(Reached(f"more than {MAX_PLAIN_STEPS} steps for values without a module"))
    if why is not None:
        yield Lost(why)
        targets.assign(machine, inner, clause.target, why)
        yield from _lazy_turn(machine, inner, clause, element)
    return None


def _lazy_turn(machine: Machine, inner: Frame, clause: nodes.CompFor, element: nodes.Expression) -> Steps:
    for condition in clause.ifs:
        value = machine.test(inner, condition)
        truth = machine.truth(value)
        if truth is False:
            return None
        if truth is None:
            yield Lost(machine.unknown(_why_taken(machine, inner, condition, value)))
    if clause.inner_for_in is None:
        yield machine.evaluate(inner, element)
        return None
    nested = machine.evaluate(inner, clause.inner_for_in.iter)
    return (yield from _steps(machine, inner, clause.inner_for_in, nested, element))


def _why_taken(machine: Machine, inner: Frame, condition: nodes.Expression, value: Value) -> str:
    """Why it is not known whether a generator gives an item. Whoever asks for it has other names: a test of those of
    the generator says nothing there."""
    reason, text = node_text.reason_of_test(machine, condition, value), node_text.source_of(condition)
    if reason.startswith(f"depends on `{text}`") and assuming.is_of_own_names(machine, inner, text):
        return "which items of a generator are taken is not known"
    return reason


def bind_outside(machine: Machine, frame: Frame, name: str, value: Value) -> None:
    """name := value, which a comprehension binds in the scope around it: so does a generator, whoever runs it."""
    while frame.around is not None:
        frame = frame.around
    names.bind(machine, frame, name, value)
