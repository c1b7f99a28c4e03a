"""What `=`, `for` and `with` assign to: names, attributes, items, and any nesting of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import libcst as cst

from modgraph.prediction.code import names
from modgraph.prediction.domain.frames import Frame
from modgraph.prediction.domain.objects import ListObject
from modgraph.prediction.domain.values import Unknown, Value
from modgraph.prediction.python import attribute_changes

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


def assign(machine: Machine, frame: Frame, target: cst.BaseExpression, value: Value) -> None:
    """target = value."""
    if type(target) is cst.Name:
        names.bind(machine, frame, target.value, value)
    elif type(target) is cst.Attribute:
        owner = machine.evaluate(frame, target.value)
        attribute_changes.assign(machine, owner, target.attr.value, value)
    elif type(target) is cst.Subscript:
        owner = machine.evaluate(frame, target.value)
        machine.set_item(owner, machine.subscript_key(frame, target), value)
    elif isinstance(target, (cst.Tuple, cst.List)):
        unpack(machine, frame, target.elements, value)


def delete(machine: Machine, frame: Frame, target: cst.BaseExpression) -> None:
    """del target."""
    if type(target) is cst.Name:
        names.unbind(machine, frame, target.value)
    elif type(target) is cst.Attribute:
        attribute_changes.delete(machine, machine.evaluate(frame, target.value), target.attr.value)
    elif type(target) is cst.Subscript:
        owner = machine.evaluate(frame, target.value)
        machine.delete_item(owner, machine.subscript_key(frame, target))
    elif isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            delete(machine, frame, element.value)


def unpack(machine: Machine, frame: Frame, elements: Sequence[cst.BaseElement], value: Value) -> None:
    """a, *b, c = value."""
    found = machine.iterate(value)
    starred = [position for position, element in enumerate(elements) if isinstance(element, cst.StarredElement)]
    if isinstance(found, Unknown):
        if not isinstance(value, Unknown):
            machine.may_refuse("ValueError")
        for element in elements:
            single: Value = found
            if isinstance(element, cst.StarredElement):
                single = machine.allocate(ListObject([], found))
            assign(machine, frame, element.value, single)
        return
    wanted = len(elements) - len(starred)
    if len(found) < wanted or (not starred and len(found) > wanted):
        problem = "too many values to unpack" if len(found) > wanted else "not enough values to unpack"
        raise machine.raises("ValueError", f"{problem} (expected {wanted}, got {len(found)})")
    if not starred:
        for element, item in zip(elements, found, strict=True):
            assign(machine, frame, element.value, item)
        return
    before, after = starred[0], len(elements) - starred[0] - 1
    middle: list[Value] = found[before : len(found) - after]
    parts: list[Value] = [*found[:before], machine.allocate(ListObject(middle)), *found[len(found) - after :][:after]]
    for element, item in zip(elements, parts, strict=True):
        assign(machine, frame, element.value, item)


def bound_names(target: cst.BaseExpression) -> list[str]:
    """The plain names in a target."""
    if isinstance(target, cst.Name):
        return [target.value]
    if isinstance(target, (cst.Tuple, cst.List)):
        return [name for element in target.elements for name in bound_names(element.value)]
    return []
