"""Plain statements that change a container of their module, where registrations stand before them.

`MODELS.pop("A")` below a decorator that registers A: it runs with the registrations, in the order of the text, not with
the statement that made the container.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from modgraph.graph.model import SourceLocation
from modgraph.prediction import handed, names, registries
from modgraph.prediction.frames import LimitError
from modgraph.prediction.import_order import is_installed
from modgraph.prediction.objects import DictObject, EnvironmentObject, ListObject, SetObject
from modgraph.prediction.side_effects import Effect, changes_in_place
from modgraph.prediction.values import Address, Unknown, Value
from modgraph.source.index import Statement
from modgraph.source.modules import SourceModule
from modgraph.source.reached import Reached

if TYPE_CHECKING:
    from modgraph.prediction.machine import Interpreter

_CONTAINERS = (DictObject, ListObject, SetObject)


def waits(machine: Interpreter, source: SourceModule, name: str, statement: Statement, value: Value | None) -> bool:
    """The statement changes the container that the name stands for, and runs later, with what registers in it."""
    if not changes_in_place(statement, name) or not isinstance(value, Address) or is_installed(source):
        return False
    own = (source.name, name)
    module, bound, _ = machine.base.homes.get(value.index, (*own, ""))
    home = (module, bound)
    if home != own and home not in machine.base.registries:
        return False
    if not isinstance(machine.base.objects.get(value.index) or machine.state.read(value), _CONTAINERS):
        return False
    key = (source.name, statement.first_line)
    if key not in registries.with_effects(machine, home).found:
        return False
    machine.base.waiting.add((*key, name))
    return True


def has_waited(machine: Interpreter, effect: Effect, name: str) -> bool:
    """The statement has not run with those that make up the name."""
    return (effect.source.name, effect.statement.first_line, name) in machine.base.waiting


def unless_changed(
    machine: Interpreter, source: SourceModule, name: str, value: Value | None, line: int
) -> Value | None:
    """What the statements above that line have made of a name, where no call in between can have changed it."""
    base, home = machine.base, (source.name, name)
    changed = home in base.globals or home in base.bound_in_between
    if not changed and isinstance(value, Address):
        item = base.objects.get(value.index) or machine.state.read(value)
        if isinstance(item, _CONTAINERS) and not is_installed(source):
            effects = registries.effects_of(machine, home)
            changed = any(each.source is source and each.statement.first_line < line for each in effects)
    return machine.unknown(f"what {name} is here, after a call may have changed it, is not known") if changed else value


def from_first_registration(ordered: list[Effect], name: str) -> list[Effect]:
    """Without the plain statements before it, which run with the one that makes the container, and those of other
    names that the same statement binds."""
    own = [each for each in ordered if not each.plain or changes_in_place(each.statement, name)]
    first = next((place for place, each in enumerate(own) if not each.plain), len(own))
    return own[first:]


def change(machine: Interpreter, source: SourceModule, name: str, statement: Statement, environment: Address) -> None:
    """Executes a statement that changes the object of a name; what takes too long leaves the object open."""
    bound = machine.state.change(environment, EnvironmentObject)
    value = bound.names[name]
    if not handed.concerns(machine, source, statement, name, bound):
        return
    try:
        machine.module_statement(source, statement, environment)
    except LimitError as limit:
        if machine.exhausted:
            raise
        place = SourceLocation(source.file, statement.first_line)
        machine.expose([value], Unknown(Reached(f"what this statement changes is not known: {limit}"), place))


def run(machine: Interpreter, effect: Effect, name: str) -> None:
    """Executes a plain statement that has waited."""
    value = names.global_name(machine, effect.source.name, name)
    if value is None:
        return
    with machine.at_module_level():
        environment = machine.state.allocate(EnvironmentObject(names={name: value}))
        change(machine, effect.source, name, effect.statement, environment)
