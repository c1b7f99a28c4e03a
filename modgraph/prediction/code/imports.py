"""Import statements inside functions, blocks and class bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from modgraph.prediction.code import names, targets, whole_modules
from modgraph.prediction.domain.calling import Raised
from modgraph.prediction.domain.definitions import dotted
from modgraph.prediction.domain.frames import Frame, Outcome
from modgraph.prediction.domain.values import Value
from modgraph.prediction.paths.guards import Guard

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


_UNITS_OF_A_NAME = 6


def import_modules(machine: Machine, frame: Frame, node: cst.Import) -> Outcome:
    for alias in node.names:
        module = dotted(alias.name) or ""
        bound = alias.asname.name if alias.asname is not None else None
        top = frame.parsed.bound_as(alias, module.partition(".")[0])
        name = bound.value if isinstance(bound, cst.Name) else top
        if frame.function is not None:
            machine.note_import(module)
        _execute(machine, frame, module)
        value = _guarded(machine, module, None, name if bound is None else f"{name} ")
        targets.assign(machine, frame, cst.Name(name), value)
    return "normal"


def import_names(machine: Machine, frame: Frame, node: cst.ImportFrom) -> Outcome:
    module = (dotted(node.module) if node.module is not None else None) or ""
    source = machine.finder.source(frame.module)
    absolute = source.absolute(module, len(node.relative)) if source is not None else module
    if frame.function is not None:
        machine.note_import(absolute)
    for alias in () if isinstance(node.names, cst.ImportStar) else node.names:
        _execute(machine, frame, absolute, str(alias.name.value))
    _execute(machine, frame, absolute)
    if isinstance(node.names, cst.ImportStar):
        _import_all(machine, frame, absolute)
        return "normal"
    for alias in node.names:
        attribute = alias.name.value
        assert isinstance(attribute, str)
        if frame.function is not None:
            machine.note_import(f"{absolute}.{attribute}")
        bound = alias.asname.name if alias.asname is not None else alias.name
        value = _guarded(machine, absolute, attribute, attribute)
        assert isinstance(bound, cst.BaseExpression)
        targets.assign(machine, frame, bound, value)
    return "normal"


def _execute(machine: Machine, frame: Frame, module: str, attribute: str | None = None) -> None:
    """Of a module of the project: what importing it does."""
    if frame.module in machine.modules.whole:
        whole_modules.require(machine, module, attribute)


def _guarded(machine: Machine, module: str, attribute: str | None, bound: str) -> Value:
    """The imported value. A module that is not on the path raises only where code is prepared for that: elsewhere the
    path given may just not be all of it."""
    try:
        return names.import_name(machine, module, attribute, bound)
    except Raised as raised:
        if any(not isinstance(guard, Guard) or guard.expects for guard in machine.guards):
            raise
        return machine.unknown(raised.message)


def _import_all(machine: Machine, frame: Frame, module: str) -> None:
    source = machine.finder.source(module)
    if source is None:
        machine.problem(f"from {module} import *: its source is not there")
        return
    public = source.index.public_names
    machine.spend(len(public) * _UNITS_OF_A_NAME)
    for name in public:
        value = names.module_attribute(machine, module, name)
        if value is not None:
            names.bind(machine, frame, name, value)
