"""execute(machine, frame, block) -> Outcome: simple statements here, compound ones in `control.py`, `matching.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from modgraph.prediction.code import (
    annotation_calls,
    contexts,
    control,
    functions,
    imports,
    matching,
    names,
    raising,
    targets,
    unfinished,
)
from modgraph.prediction.domain.calling import Raised
from modgraph.prediction.domain.endings import reason_of
from modgraph.prediction.domain.frames import EnoughError, Frame, Outcome
from modgraph.prediction.domain.limits import LimitError
from modgraph.prediction.domain.objects import EnvironmentObject
from modgraph.prediction.domain.values import NONE, Address, Unknown, Value
from modgraph.prediction.paths import given_up, several
from modgraph.prediction.python import literal_texts, operators, producing
from modgraph.prediction.python.plain import lifted
from modgraph.source import nodes
from modgraph.source.index import Statement
from modgraph.source.modules import SourceError, SourceModule
from modgraph.source.reached import Reached

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

Executor = Callable[["Machine", Frame, Any], Outcome]


def execute(machine: Machine, frame: Frame, block: Sequence[nodes.Node]) -> Outcome:
    """Runs the statements in order until one of them leaves the block.

    Raises:
        Raised: what Python would certainly raise.
    """
    statement: nodes.Node | None = None
    try:
        for statement in block:
            outcome = execute_one(machine, frame, statement)
            if outcome != "normal":
                return outcome
    except given_up.ENDINGS as limit:
        if statement is not None:
            unfinished.note(limit, frame, block, statement)
        raise
    return "normal"


def execute_one(machine: Machine, frame: Frame, statement: nodes.Node) -> Outcome:
    """Runs one statement. A fault of the interpreter itself leaves what the statement binds unknown."""
    machine.step()
    outer, frame.statement = frame.statement, statement
    driving = machine.driving
    if driving:  # what this statement begins is no part of what a loop around it asks
        machine.driving = []
    executor = _executors().get(type(statement))
    try:
        if executor is None:
            machine.problem(f"{type(statement).__name__} is not interpreted")
            return "normal"
        outcome = executor(machine, frame, statement)
        if machine.left_open:
            producing.settle_open(machine)
        return outcome
    except (Raised, LimitError, EnoughError):
        raise
    except Exception as error:  # a defect here must not take the prediction with it
        if machine.strict:
            raise
        _give_up(machine, frame, statement, error)
        return "normal"
    finally:
        frame.statement = outer
        machine.driving = driving


def _give_up(machine: Machine, frame: Frame, statement: nodes.Node, error: Exception) -> None:
    unknown = machine.unknown(reason_of(error))
    machine.problem(unknown.reason, None, unknown.where)
    written: list[nodes.Expression] = []
    if isinstance(statement, nodes.Assign):
        written = list(statement.targets)
    elif isinstance(statement, (nodes.AnnAssign, nodes.AugAssign)):
        written = [statement.target]
    for target in written:
        targets.assign(machine, frame, target, unknown)
    if not written and frame.receiver is not None:
        machine.expose([frame.receiver], unknown)


def module_statement(
    machine: Machine, source: SourceModule, statement: Statement, environment: Address
) -> dict[str, Value]:
    """Executes a statement of a module's body in that environment; the names it binds with their values. One that
    binds several names is executed once."""
    key = (source.name, statement.first_line)
    binds_several = len(statement.names) > 1
    if binds_several and key in machine.modules.executed:
        return machine.modules.executed[key]
    if key in machine.modules.executing:
        partial = machine.state.read(machine.modules.executing[key])
        return dict(partial.names) if isinstance(partial, EnvironmentObject) else {}
    machine.modules.executing[key] = environment
    try:
        bound = run_module_statement(machine, source, statement, environment)
    except LimitError as limit:
        if binds_several and not machine.exhausted:  # its other names would take as long again
            machine.modules.executed[key] = dict.fromkeys(statement.names, machine.unknown(Reached(limit)))
        raise
    finally:
        del machine.modules.executing[key]
    if binds_several:
        machine.modules.executed[key] = bound
    return bound


def run_module_statement(
    machine: Machine, source: SourceModule, statement: Statement, environment: Address
) -> dict[str, Value]:
    """Executes a statement of a module's body; the names bound in the environment after it. What it raises or cannot
    be parsed leaves them unknown."""
    return _run_apart(machine, source, statement, Frame(source.name, _EMPTY, environment))


def run_class_statement(machine: Machine, source: SourceModule, statement: Statement, frame: Frame) -> dict[str, Value]:
    """The same for a statement of a class body; the frame says which class."""
    return _run_apart(machine, source, statement, frame)


def _run_apart(machine: Machine, source: SourceModule, statement: Statement, frame: Frame) -> dict[str, Value]:
    literal = source.literal(statement)
    if literal is not None:
        machine.step()
        names.bind(machine, frame, literal[0], lifted(machine, literal_texts.kept(machine, literal[1])))
        return dict(machine.state.change(frame.environment, EnvironmentObject).names)
    try:
        frame.parsed = source.statement(statement)
    except SourceError as error:
        return {name: machine.unknown(error.message) for name in statement.names}
    machine.frames.append(frame)
    failure: Value | None = None
    try:
        execute(machine, frame, frame.parsed.statements)
    except Raised as raised:
        machine.modules.failed += 1
        failure = machine.unknown(f"raises {raised}")
    finally:
        machine.frames.pop()
    found = machine.state.read(frame.environment)
    assert isinstance(found, EnvironmentObject)
    bound = dict(found.names if frame.class_scope is None else several.bound(found))
    if failure is not None:
        for name in statement.names:
            bound.setdefault(name, failure)
    return bound


class _NoSource:
    """Stands in until the statement is parsed."""

    file = ""
    first_line = 1


_EMPTY: Any = _NoSource()


# ---- simple statements -----------------------------------------------------------------------------------------------


def _expression(machine: Machine, frame: Frame, node: nodes.Expr) -> Outcome:
    if type(node.value) not in (nodes.SimpleString, nodes.ConcatenatedString):
        machine.evaluate(frame, node.value)
    return "normal"


def _assign(machine: Machine, frame: Frame, node: nodes.Assign) -> Outcome:
    value = machine.evaluate(frame, node.value)
    for target in node.targets:
        targets.assign(machine, frame, target, value)
    return "normal"


def _annotated(machine: Machine, frame: Frame, node: nodes.AnnAssign) -> Outcome:
    if node.value is not None:
        targets.assign(machine, frame, node.target, machine.evaluate(frame, node.value))
    if frame.function is None:
        annotation_calls.of_name(machine, frame, node.annotation)
    return "normal"


def _augmented(machine: Machine, frame: Frame, node: nodes.AugAssign) -> Outcome:
    if type(node.target) is nodes.Name and frame.function is not None:
        names.require_own(machine, frame, node.target.value)
    place = targets.place_of(machine, frame, node.target)
    current = place.read()
    value = machine.evaluate(frame, node.value)
    result = several.decided(
        machine, (current, value), lambda: operators.in_place(machine, node.operator, current, value)
    )
    if result is current and type(result) is Unknown and machine.is_recording:
        result = replace(result)
    place.write(result)
    return "normal"


def _delete(machine: Machine, frame: Frame, node: nodes.Del) -> Outcome:
    targets.delete(machine, frame, node.target)
    return "normal"


def _return(machine: Machine, frame: Frame, node: nodes.Return) -> Outcome:
    frame.value = machine.evaluate(frame, node.value) if node.value is not None else NONE
    return "return"


def _pass(machine: Machine, frame: Frame, node: nodes.Node) -> Outcome:
    return "normal"


def _break(machine: Machine, frame: Frame, node: nodes.Break) -> Outcome:
    return "break" if frame.loops else _outside(machine, "break")


def _continue(machine: Machine, frame: Frame, node: nodes.Continue) -> Outcome:
    return "continue" if frame.loops else _outside(machine, "continue")


def _outside(machine: Machine, word: str) -> Outcome:
    """The parser accepts it; Python does not, when it compiles the file."""
    machine.problem(f"'{word}' outside of a loop: Python refuses this file")
    return "normal"


def _global(machine: Machine, frame: Frame, node: nodes.Global) -> Outcome:
    frame.global_names |= set(node.names)
    return "normal"


def _nonlocal(machine: Machine, frame: Frame, node: nodes.Nonlocal) -> Outcome:
    frame.nonlocal_names |= set(node.names)
    return "normal"


def _function(machine: Machine, frame: Frame, node: nodes.FunctionDef) -> Outcome:
    names.bind(machine, frame, node.bound, functions.define_function(machine, frame, node))
    return "normal"


def _class(machine: Machine, frame: Frame, node: nodes.ClassDef) -> Outcome:
    names.bind(machine, frame, node.bound, functions.define_class(machine, frame, node))
    return "normal"


@cache
def _executors() -> dict[type[nodes.Node], Executor]:
    """Built at the first statement: the modules it names import this one."""
    return {
        nodes.Expr: _expression,
        nodes.Assign: _assign,
        nodes.AnnAssign: _annotated,
        nodes.AugAssign: _augmented,
        nodes.Del: _delete,
        nodes.Return: _return,
        nodes.Pass: _pass,
        nodes.Break: _break,
        nodes.Continue: _continue,
        nodes.Global: _global,
        nodes.Nonlocal: _nonlocal,
        nodes.FunctionDef: _function,
        nodes.ClassDef: _class,
        nodes.Import: imports.import_modules,
        nodes.ImportFrom: imports.import_names,
        nodes.Assert: raising.execute_assert,
        nodes.Raise: raising.execute_raise,
        nodes.Try: raising.execute_try,
        nodes.If: control.execute_if,
        nodes.For: control.execute_for,
        nodes.While: control.execute_while,
        nodes.With: contexts.execute_with,
        nodes.Match: matching.execute_match,
    }
