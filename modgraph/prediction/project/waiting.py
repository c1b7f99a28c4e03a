"""Plain statements that change a container of their module, and wait for the registrations before them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modgraph.graph.model import SourceLocation
from modgraph.prediction.domain.limits import LimitError
from modgraph.prediction.domain.objects import EnvironmentObject
from modgraph.prediction.domain.values import Address, Unknown
from modgraph.prediction.project import mutating_calls
from modgraph.prediction.project.side_effects import Effect, changes_in_place
from modgraph.source.index import Statement
from modgraph.source.modules import SourceModule
from modgraph.source.reached import Reached

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


def has_waited(machine: Machine, effect: Effect, name: str) -> bool:
    """The statement has not run with those that make up the name."""
    return (effect.source.name, effect.statement.first_line, name) in machine.base.waiting


def from_first_registration(ordered: list[Effect], name: str) -> list[Effect]:
    """Without the plain statements before it, which run with the one that makes the container, and those of other
    names that the same statement binds."""
    own = [each for each in ordered if not each.plain or changes_in_place(each.statement, name)]
    first = next((place for place, each in enumerate(own) if not each.plain), len(own))
    return own[first:]


def change(machine: Machine, source: SourceModule, name: str, statement: Statement, environment: Address) -> None:
    """Executes a statement that changes the object of a name; what takes too long leaves the object open."""
    bound = machine.state.change(environment, EnvironmentObject)
    value = bound.names[name]
    if not mutating_calls.concerns(machine, source, statement, name, bound):
        return
    try:
        machine.module_statement(source, statement, environment)
    except LimitError as limit:
        if machine.exhausted:
            raise
        place = SourceLocation(source.file, statement.first_line)
        machine.expose([value], Unknown(Reached(f"what this statement changes is not known: {limit}"), place))


def run(machine: Machine, effect: Effect, name: str) -> None:
    """Executes a plain statement that has waited."""
    value = machine.global_name(effect.source.name, name)
    if value is None:
        return
    with machine.at_module_level():
        environment = machine.state.allocate(EnvironmentObject(names={name: value}))
        change(machine, effect.source, name, effect.statement, environment)
