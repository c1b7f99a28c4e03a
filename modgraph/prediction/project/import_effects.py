"""What importing the target's file does besides binding names: it is run, in the order of the imports, before all else.

A module is evaluated name by name, so a statement whose call sets a class attribute, a `global` or a name through
`globals()`, and one that sets an attribute of another module, would not be seen. What can be told by its syntax to do
so is executed; what stands before it in its module is evaluated first, as it was then. Only for modules of the project:
installed packages are many, and seldom do this to what a model is made of.
"""

from __future__ import annotations

import ast
import textwrap
from typing import TYPE_CHECKING

from modgraph.graph.model import SourceLocation
from modgraph.prediction.code import names
from modgraph.prediction.code.import_order import Imported, is_installed
from modgraph.prediction.domain.calling import Raised
from modgraph.prediction.domain.frames import Frame
from modgraph.prediction.domain.limits import MAX_IMPORT_WORK, MAX_REPLAYED_STATEMENTS, MAX_REPLAYED_STEPS, LimitError
from modgraph.prediction.domain.objects import EnvironmentObject
from modgraph.prediction.domain.values import Address, ClassValue, FunctionValue, Unknown, Value
from modgraph.prediction.project import (
    import_progress,
    module_effects,
    mutating_calls,
    mutation_summaries,
    registries,
    side_effects,
)
from modgraph.prediction.project.side_effects import Effect
from modgraph.prediction.python import classes
from modgraph.source.changed_objects import root_name
from modgraph.source.index import Statement
from modgraph.source.modules import SourceError, SourceModule
from modgraph.source.quiet import python_tree
from modgraph.source.reached import Reached, telling

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_DEFINING = ("class", "function", "import")


def run(machine: Machine, source: SourceModule) -> None:
    """Runs such statements of the module and of those that it imports; a problem for each that cannot be followed."""
    if is_installed(source):
        return
    try:
        with machine.at_most(MAX_IMPORT_WORK):
            _run_all(machine, source)
    except LimitError as limit:
        machine.frames.clear()
        machine.problem(Reached(f"what importing {source.name} changes is not followed to its end: {limit}"))
    finally:
        import_progress.finish(machine)


def _run_all(machine: Machine, source: SourceModule) -> None:
    imported = registries.imported_with(machine, source.name)
    modules = [each for each in imported.modules.values() if not is_installed(each)]
    modules = [each for each in modules if each.name not in machine.modules.whole]
    found = _changers(modules)
    effects = {each.name: effects for each in modules if (effects := _effects(machine, each, found))}
    if not effects:
        return
    ordered: list[Effect] = []
    side_effects.in_order(source.name, imported, effects, set(), ordered)
    _follow(machine, source, imported, ordered)


def _follow(machine: Machine, source: SourceModule, imported: Imported, ordered: list[Effect]) -> None:
    reached: dict[str, int] = {}
    at_once = _imported_at_once(imported, source.name)
    followed = ordered[:MAX_REPLAYED_STATEMENTS]
    import_progress.begin(machine, followed)
    for number, effect in enumerate(followed):
        last = followed[number - 1].source.name if number else None
        import_progress.come_to(machine, imported, followed[number:], last)
        _evaluate_before(machine, effect, reached, imported)
        before = None if effect.source.name in at_once else dict(machine.base.globals)
        why = _run_once(machine, effect)
        if before is not None:
            _forget_order(machine, effect, before)
        if why is not None:
            line = effect.statement.first_line
            place = SourceLocation(effect.source.file, line)
            reason = telling(
                f"what this statement changes when {effect.source.name} is imported is not known: {why}", why
            )
            machine.base.unfollowed[(effect.source.name, line)] = Unknown(reason, place)
            machine.problem(reason, None, place)


def _imported_at_once(imported: Imported, root: str) -> set[str]:
    """The modules that importing the root brings; the others are imported by functions, if they run."""
    found: set[str] = set()
    pending = [root]
    while pending:
        name = pending.pop()
        source = imported.modules.get(name)
        if name in found or source is None:
            continue
        found.add(name)
        try:
            lines = {each.line for each in source.index.imports if not each.type_checking}
        except SourceError:
            continue
        for line, other in imported.imports.get(name, ()):
            if line in lines or not line or not source.lines[line - 1][:1].isspace():
                pending.append(other)
    return found


def _forget_order(machine: Machine, effect: Effect, before: dict[tuple[str, str], Value]) -> None:
    """What a module that a function imports sets in others is set when that function runs, which is not followed."""
    place = SourceLocation(effect.source.file, effect.statement.first_line)
    why = Unknown(f"it is set when {effect.source.name} is imported, which a function does", place)
    held = machine.base.globals
    held.update({key: why for key, value in held.items() if before.get(key) is not value})


def _changers(modules: list[SourceModule]) -> mutation_summaries.Changers:
    """Of the modules that may hold any, and of those that mention these."""
    looked = [each for each in modules if mutation_summaries.may_change(each)]
    read: dict[str, list[tuple[str, mutation_summaries.Function]]] = {}
    while True:
        found = mutation_summaries.changers_in(looked, read)
        words = found.others | found.arguments
        further = [each for each in modules if each not in looked and not each.words.isdisjoint(words)] if words else []
        if not further:
            return found
        looked += further


def _effects(machine: Machine, source: SourceModule, found: mutation_summaries.Changers) -> list[Effect]:
    if not mutation_summaries.may_change(source) and source.words.isdisjoint(found.others | found.arguments):
        return []
    try:
        body = [statement for statement in source.index.body if statement.kind not in _DEFINING]
    except SourceError:
        return []
    return [Effect(source, each) for each in body if _is_effect(machine, source, each, found)]


def _is_effect(
    machine: Machine, source: SourceModule, statement: Statement, found: mutation_summaries.Changers
) -> bool:
    text = "\n".join(source.lines[statement.first_line - 1 : statement.last_line])
    if "(" not in text and "." not in text:
        return False
    try:
        tree = python_tree(textwrap.dedent(text))
    except (SyntaxError, ValueError, RecursionError):
        return False
    if mutation_summaries.is_effect(tree.body, found) or any(map(module_effects.is_default, ast.walk(tree))):
        return True
    targets = list(module_effects.attribute_targets(tree))
    imported = [each for each in targets if root_name(each) in source.index.imported]
    if imported:
        return any(module_effects.is_of_others(machine, source, each) for each in imported)
    return any(_is_of_a_module(source, name) for name in statement.touched)


def _is_of_a_module(source: SourceModule, name: str) -> bool:
    """The name stands for a module taken from `sys.modules`."""
    bound = [each for each in source.index.statements.get(name, ()) if name in each.names]
    return any("sys.modules" in "\n".join(source.lines[each.first_line - 1 : each.last_line]) for each in bound)


def _evaluate_before(machine: Machine, effect: Effect, reached: dict[str, int], imported: Imported) -> None:
    """The names that the module, and those that it imports, bind before that statement, as they are bound there."""
    source, line = effect.source, effect.statement.first_line
    patched = _attributes_set(effect)
    for at, other in imported.imports.get(source.name, ()):
        module = imported.modules.get(other)
        if patched and module is not None and at < line:
            _evaluate_imports(machine, module, patched)
    since = reached.get(source.name, 0)
    reached[source.name] = line
    for statement in source.index.body:
        if not since <= statement.first_line < line:
            continue
        if statement.kind == "import":
            continue
        for name in statement.names:
            value = names.global_name(machine, source.name, name)
            if statement.definition is not None and isinstance(value, ClassValue):
                for part in statement.definition.body:
                    for attribute in part.names if part.kind == "assign" else ():
                        classes.own_attribute(machine, value, attribute)
    if patched:
        _evaluate_imports(machine, source, patched, line)


def _attributes_set(effect: Effect) -> set[str]:
    text = "\n".join(effect.source.lines[effect.statement.first_line - 1 : effect.statement.last_line])
    return {target.attr for target in module_effects.attribute_targets(python_tree(textwrap.dedent(text)))}


def _evaluate_imports(machine: Machine, source: SourceModule, attributes: set[str], line: int | None = None) -> None:
    """What the module takes of these names from others, before they are other things there."""
    for each in source.index.imports:
        if each.attribute in attributes and (line is None or each.line < line):
            names.global_name(machine, source.name, each.name)


def _run_once(machine: Machine, effect: Effect) -> str | None:
    """Why it is not known what the statement changes; None where it was followed."""
    key = (effect.source.name, effect.statement.first_line)
    base = machine.base
    if key in base.replayed:
        return None
    base.replayed.add(key)
    if base.replayed_steps > MAX_REPLAYED_STEPS:
        return Reached(f"more than {MAX_REPLAYED_STEPS} steps")
    before, spent = machine.steps, machine.spent
    try:
        return _run(machine, effect)
    except LimitError as limit:
        if machine.exhausted:
            raise
        machine.frames.clear()
        return Reached(limit)
    finally:
        base.replayed_steps += machine.spent - spent
        machine.elsewhere += machine.steps - before
        machine.steps = before


def _run(machine: Machine, effect: Effect) -> str | None:
    source, statement = effect.source, effect.statement
    import_progress.run_own(machine, effect)
    values = [names.global_name(machine, source.name, name) for name in statement.names]
    if values:
        lost = next((each for each in values if isinstance(each, Unknown) and not each.inert), None)
        return lost.reason if lost is not None else None
    if any(_is_done(machine, source, statement, name) for name in statement.touched):
        return None
    if mutating_calls.is_done(machine, source, statement):
        return None
    return _execute(machine, source, statement)


def _is_done(machine: Machine, source: SourceModule, statement: Statement, name: str) -> bool:
    """The statement is one of those that make up the value of that name, and so has run with them."""
    if name not in source.index.bound:
        return False
    return isinstance(names.global_name(machine, source.name, name), (Address, ClassValue, FunctionValue))


def _execute(machine: Machine, source: SourceModule, statement: Statement) -> str | None:
    try:
        parsed = source.statement(statement)
    except SourceError as error:
        return error.message
    key = (source.name, statement.first_line)
    with machine.at_module_level():
        environment = machine.state.allocate(EnvironmentObject())
        machine.modules.executing[key] = environment
        machine.frames.append(Frame(source.name, parsed, environment))
        try:
            machine.execute(machine.frames[-1], parsed.statements)
        except Raised as raised:
            return f"raises {raised}"
        finally:
            machine.frames.pop()
            del machine.modules.executing[key]
    return None
