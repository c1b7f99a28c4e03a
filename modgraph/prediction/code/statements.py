"""execute(machine, frame, block) -> Outcome: simple statements here, compound ones in `control.py`, `matching.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import libcst as cst

from modgraph.prediction.code import (
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
from modgraph.prediction.domain.values import NONE, Address, Value
from modgraph.prediction.paths import given_up, several
from modgraph.prediction.python import literal_texts, operators
from modgraph.prediction.python.plain import lifted
from modgraph.source.index import Statement
from modgraph.source.modules import SourceError, SourceModule
from modgraph.source.reached import Reached

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

Executor = Callable[["Machine", Frame, Any], Outcome]


def execute(machine: Machine, frame: Frame, block: Sequence[cst.CSTNode]) -> Outcome:
    """Runs the statements in order until one of them leaves the block.

    Raises:
        Raised: what Python would certainly raise.
    """
    statement: cst.CSTNode | None = None
    try:
        for statement in block:
            if type(statement) is cst.SimpleStatementLine:  # isinstance is slow on classes of libcst
                for small in statement.body:
                    outcome = execute_one(machine, frame, small)
                    if outcome != "normal":
                        return outcome
                continue
            outcome = execute_one(machine, frame, statement)
            if outcome != "normal":
                return outcome
    except given_up.ENDINGS as limit:
        if statement is not None:
            unfinished.note(limit, frame, block, statement)
        raise
    return "normal"


def execute_one(machine: Machine, frame: Frame, statement: cst.CSTNode) -> Outcome:
    """Runs one statement. A fault of the interpreter itself leaves what the statement binds unknown."""
    machine.step()
    outer, frame.statement = frame.statement, statement
    executor = _executors().get(type(statement))
    try:
        if executor is None:
            machine.problem(f"{type(statement).__name__} is not interpreted")
            return "normal"
        return executor(machine, frame, statement)
    except (Raised, LimitError, EnoughError):
        raise
    except Exception as error:  # a defect here must not take the prediction with it
        if machine.strict:
            raise
        _give_up(machine, frame, statement, error)
        return "normal"
    finally:
        frame.statement = outer


def _give_up(machine: Machine, frame: Frame, statement: cst.CSTNode, error: Exception) -> None:
    unknown = machine.unknown(reason_of(error))
    machine.problem(unknown.reason, None, unknown.where)
    written: list[cst.BaseExpression] = []
    if isinstance(statement, cst.Assign):
        written = [target.target for target in statement.targets]
    elif isinstance(statement, (cst.AnnAssign, cst.AugAssign)):
        written = [statement.target]
    for target in written:
        targets.assign(machine, frame, target, unknown)
    if not written and frame.receiver is not None:
        machine.expose([frame.receiver], unknown)


def run_block(machine: Machine, frame: Frame, suite: cst.BaseSuite) -> Outcome:
    return execute(machine, frame, suite.body)


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


def _expression(machine: Machine, frame: Frame, node: cst.Expr) -> Outcome:
    if type(node.value) not in (cst.SimpleString, cst.ConcatenatedString):
        machine.evaluate(frame, node.value)
    return "normal"


def _assign(machine: Machine, frame: Frame, node: cst.Assign) -> Outcome:
    value = machine.evaluate(frame, node.value)
    for target in node.targets:
        targets.assign(machine, frame, target.target, value)
    return "normal"


def _annotated(machine: Machine, frame: Frame, node: cst.AnnAssign) -> Outcome:
    if node.value is not None:
        targets.assign(machine, frame, node.target, machine.evaluate(frame, node.value))
    return "normal"


def _augmented(machine: Machine, frame: Frame, node: cst.AugAssign) -> Outcome:
    if type(node.target) is cst.Name and frame.function is not None:
        names.require_own(machine, frame, node.target.value)
    current = machine.evaluate(frame, node.target)
    value = machine.evaluate(frame, node.value)
    symbol = operators.AUGMENTED[type(node.operator)]
    result = several.decided(machine, (current, value), lambda: operators.in_place(machine, symbol, current, value))
    targets.assign(machine, frame, node.target, result)
    return "normal"


def _delete(machine: Machine, frame: Frame, node: cst.Del) -> Outcome:
    targets.delete(machine, frame, node.target)
    return "normal"


def _return(machine: Machine, frame: Frame, node: cst.Return) -> Outcome:
    frame.value = machine.evaluate(frame, node.value) if node.value is not None else NONE
    return "return"


def _pass(machine: Machine, frame: Frame, node: cst.CSTNode) -> Outcome:
    return "normal"


def _break(machine: Machine, frame: Frame, node: cst.Break) -> Outcome:
    return "break" if frame.loops else _outside(machine, "break")


def _continue(machine: Machine, frame: Frame, node: cst.Continue) -> Outcome:
    return "continue" if frame.loops else _outside(machine, "continue")


def _outside(machine: Machine, word: str) -> Outcome:
    """The parser accepts it; Python does not, when it compiles the file."""
    machine.problem(f"'{word}' outside of a loop: Python refuses this file")
    return "normal"


def _global(machine: Machine, frame: Frame, node: cst.Global) -> Outcome:
    frame.global_names |= {item.name.value for item in node.names}
    return "normal"


def _nonlocal(machine: Machine, frame: Frame, node: cst.Nonlocal) -> Outcome:
    frame.nonlocal_names |= {item.name.value for item in node.names}
    return "normal"


def _function(machine: Machine, frame: Frame, node: cst.FunctionDef) -> Outcome:
    names.bind(
        machine, frame, frame.parsed.bound_as(node, node.name.value), functions.define_function(machine, frame, node)
    )
    return "normal"


def _class(machine: Machine, frame: Frame, node: cst.ClassDef) -> Outcome:
    names.bind(
        machine, frame, frame.parsed.bound_as(node, node.name.value), functions.define_class(machine, frame, node)
    )
    return "normal"


@cache
def _executors() -> dict[type[cst.CSTNode], Executor]:
    """Built at the first statement: the modules it names import this one."""
    return {
        cst.Expr: _expression,
        cst.Assign: _assign,
        cst.AnnAssign: _annotated,
        cst.AugAssign: _augmented,
        cst.Del: _delete,
        cst.Return: _return,
        cst.Pass: _pass,
        cst.Break: _break,
        cst.Continue: _continue,
        cst.Global: _global,
        cst.Nonlocal: _nonlocal,
        cst.FunctionDef: _function,
        cst.ClassDef: _class,
        cst.Import: imports.import_modules,
        cst.ImportFrom: imports.import_names,
        cst.Assert: raising.execute_assert,
        cst.Raise: raising.execute_raise,
        cst.Try: raising.execute_try,
        cst.TryStar: raising.execute_try,
        cst.If: control.execute_if,
        cst.For: control.execute_for,
        cst.While: control.execute_while,
        cst.With: contexts.execute_with,
        cst.Match: matching.execute_match,
    }
