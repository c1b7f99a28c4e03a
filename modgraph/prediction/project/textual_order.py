"""Plain statements that change a container of their module, where registrations stand before them.

`MODELS.pop("A")` below a decorator that registers A: it runs with the registrations, in the order of the text, not with
the statement that made the container.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from modgraph.prediction.code.import_order import is_installed
from modgraph.prediction.domain.objects import DictObject, ListObject, SetObject
from modgraph.prediction.domain.values import Address, Value
from modgraph.prediction.project import registries
from modgraph.prediction.project.side_effects import changes_in_place
from modgraph.source.index import Statement
from modgraph.source.modules import SourceModule

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_CONTAINERS = (DictObject, ListObject, SetObject)


def waits(machine: Machine, source: SourceModule, name: str, statement: Statement, value: Value | None) -> bool:
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


def unless_changed(machine: Machine, source: SourceModule, name: str, value: Value | None, line: int) -> Value | None:
    """What the statements above that line have made of a name, where no call in between can have changed it."""
    base, home = machine.base, (source.name, name)
    changed = home in base.globals or home in base.bound_in_between
    if not changed and isinstance(value, Address):
        item = base.objects.get(value.index) or machine.state.read(value)
        if isinstance(item, _CONTAINERS) and not is_installed(source):
            effects = registries.effects_of(machine, home)
            changed = any(each.source is source and each.statement.first_line < line for each in effects)
    return machine.unknown(f"what {name} is here, after a call may have changed it, is not known") if changed else value
