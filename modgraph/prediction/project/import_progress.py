"""How far the modules have come whose import is followed: what stands below that line has not run yet.

The statements of a name run when the name is asked for. Where that is while an effect of an import runs, those below
the effect are put off: they run when the module has come to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from modgraph.prediction.code import allowances, names
from modgraph.prediction.code.import_order import Imported
from modgraph.prediction.domain.objects import EnvironmentObject
from modgraph.prediction.domain.values import ClassValue, Value
from modgraph.prediction.project.side_effects import Effect
from modgraph.source.index import Statement
from modgraph.source.modules import SourceModule

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_END = 1 << 60


def due(
    machine: Machine, source: SourceModule, name: str, given: list[Statement], listed: list[Statement]
) -> list[Statement]:
    """Those of the listed statements that run now, where `given` are all that make up the name. A name that is first
    bound below the line is asked for too early, and is as all of them leave it."""
    line = machine.base.reached.get(source.name)
    if line is None or not listed or listed[0].first_line > line or given is not source.index.statements.get(name):
        return listed
    now = [each for each in listed if each.first_line <= line]
    machine.base.put_off.setdefault(source.name, []).extend((name, each) for each in listed[len(now) :])
    return now


def is_at(machine: Machine, module: str, line: int) -> bool:
    """The module has come to that line and no further: its names are as they are there."""
    return machine.base.reached.get(module) == line


def is_ahead(machine: Machine, effect: Effect) -> bool:
    """The module has not come to that statement."""
    line = machine.base.reached.get(effect.source.name)
    return line is not None and effect.statement.first_line >= line


def begin(machine: Machine, ordered: list[Effect]) -> None:
    """Each of the modules comes first to the first of its effects."""
    for effect in ordered:
        machine.base.reached.setdefault(effect.source.name, effect.statement.first_line)


def come_to(machine: Machine, imported: Imported, effects: list[Effect], before: str | None) -> None:
    """The modules come to the first of these effects: its own to its line, those that import it to the import, and
    those without further effects to their end. `before` is the module of the effect before it."""
    module, line = effects[0].source.name, effects[0].statement.first_line
    reached = machine.base.reached
    leading = _leading_to(imported, module) if module != before else set()
    for other in [each for each in reached if module not in (before, each)]:
        lines = [at for at, each in imported.imports.get(other, ()) if at >= reached[other] and each in leading]
        own = [each.statement.first_line for each in effects if each.source.name == other]
        if lines:
            _go(machine, other, min([*lines, *own]))
        elif not own:
            _go(machine, other, _END)
    _go(machine, module, line)


def run_own(machine: Machine, effect: Effect) -> None:
    """What is put off of the statement itself."""
    _run_until(machine, effect.source.name, effect.statement.first_line + 1)


def finish(machine: Machine) -> None:
    """All modules have come to their end."""
    for module in list(machine.base.reached):
        _go(machine, module, _END)
    machine.base.reached.clear()


def _leading_to(imported: Imported, module: str) -> set[str]:
    """The module, and those that import it, or one that does."""
    importing: dict[str, list[str]] = {}
    for name, imports in imported.imports.items():
        for _, each in imports:
            importing.setdefault(each, []).append(name)
    found: set[str] = set()
    pending = [module]
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += importing.get(name, ())
    return found


def _go(machine: Machine, module: str, line: int) -> None:
    if line > machine.base.reached[module]:
        _run_until(machine, module, line)
        machine.base.reached[module] = line


def _run_until(machine: Machine, module: str, line: int) -> None:
    """Runs what is put off above that line, in its order."""
    source = machine.finder.source(module)
    while source is not None:
        waiting = machine.base.put_off.get(module, [])
        first = min((each for each in waiting if each[1].first_line < line), key=_line_of, default=None)
        if first is None:
            return
        waiting.remove(first)
        machine.base.reached[module] = max(machine.base.reached[module], first[1].first_line)
        _run(machine, source, *first)


def _line_of(put_off: tuple[str, Statement]) -> int:
    return put_off[1].first_line


def _run(machine: Machine, source: SourceModule, name: str, statement: Statement) -> None:
    key = (source.name, name)
    before = machine.global_name(*key)
    since = machine.base.next_index

    def evaluate() -> Value | None:
        environment = machine.state.allocate(EnvironmentObject({} if before is None else {name: before}))
        machine.modules.running[key] = environment
        try:
            names.run_statement(machine, source, name, statement, environment)
        finally:
            del machine.modules.running[key]
        return machine.state.change(environment, EnvironmentObject).names.get(name)

    value = allowances.evaluated(machine, source.name, f"{source.name}.{name}", evaluate)
    if value is before:
        return
    machine.base.globals.pop(key, None)
    machine.base.bound_in_between.add(key)
    machine.modules.namespaces.setdefault(source.name, {})[name] = value
    if not isinstance(value, ClassValue):
        machine.claim(key, since)
