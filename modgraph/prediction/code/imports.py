"""Import statements inside functions, blocks and class bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modgraph.prediction.code import names, star_imports, whole_modules
from modgraph.prediction.domain.calling import Raised
from modgraph.prediction.domain.frames import Frame, Outcome
from modgraph.prediction.domain.values import Value
from modgraph.prediction.paths.guards import Guard
from modgraph.source import nodes

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


_UNITS_OF_A_NAME = 6


def import_modules(machine: Machine, frame: Frame, node: nodes.Import) -> Outcome:
    for alias in node.names:
        if frame.function is not None:
            machine.note_import(alias.name)
        execute(machine, frame, alias.name)
        value = _guarded(machine, alias.name, None, alias.bound if alias.asname is None else f"{alias.bound} ")
        names.bind(machine, frame, alias.bound, value)
    return "normal"


def import_names(machine: Machine, frame: Frame, node: nodes.ImportFrom) -> Outcome:
    source = machine.finder.source(frame.module)
    absolute = source.absolute(node.module, node.level) if source is not None else node.module
    if frame.function is not None:
        machine.note_import(absolute)
    for alias in node.names:
        execute(machine, frame, absolute, alias.name)
    execute(machine, frame, absolute)
    if not node.names:
        _import_all(machine, frame, absolute)
        return "normal"
    for alias in node.names:
        if frame.function is not None:
            machine.note_import(f"{absolute}.{alias.name}")
        names.bind(machine, frame, alias.bound, _guarded(machine, absolute, alias.name, alias.name))
    return "normal"


def execute(machine: Machine, frame: Frame, module: str, attribute: str | None = None) -> None:
    """What importing a module of the project does."""
    if frame.module in machine.modules.whole:
        with whole_modules.failing_as(machine, _is_expected(machine)):
            whole_modules.require(machine, module, attribute)


def _guarded(machine: Machine, module: str, attribute: str | None, bound: str) -> Value:
    """The imported value. A module that is not on the path raises only where code is prepared for that: elsewhere the
    path given may just not be all of it."""
    try:
        return names.import_name(machine, module, attribute, bound)
    except Raised as raised:
        if _is_expected(machine):
            raise
        return machine.unknown(raised.message)


def _is_expected(machine: Machine) -> bool:
    guards = any(not isinstance(guard, Guard) or guard.expects for guard in machine.guards)
    return guards or machine.modules.failing_is_expected


def _import_all(machine: Machine, frame: Frame, module: str) -> None:
    source = machine.finder.source(module)
    if source is None:
        machine.problem(f"from {module} import *: its source is not there")
        return
    if not star_imports.is_as_written(machine, module):
        for name in star_imports.listed(machine, module)[0]:
            execute(machine, frame, module, name)
        star_imports.bring(machine, frame, module)
        return
    public = source.index.public_names
    machine.spend(len(public) * _UNITS_OF_A_NAME)
    for name in public:
        value = names.module_attribute(machine, module, name)
        if value is not None:
            names.bind(machine, frame, name, value)
