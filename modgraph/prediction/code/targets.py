"""What `=`, `for` and `with` assign to: names, attributes, items, and any nesting of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from modgraph.prediction.code import names
from modgraph.prediction.domain.frames import Frame
from modgraph.prediction.domain.objects import ListObject
from modgraph.prediction.domain.values import Unknown, Value
from modgraph.prediction.python import attribute_changes
from modgraph.source import nodes

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


def assign(machine: Machine, frame: Frame, target: nodes.Expression, value: Value) -> None:
    """target = value."""
    if type(target) is nodes.Name:
        names.bind(machine, frame, target.value, value)
    elif type(target) is nodes.Attribute:
        owner = machine.evaluate(frame, target.value)
        attribute_changes.assign(machine, owner, target.attr, value)
    elif type(target) is nodes.Subscript:
        owner = machine.evaluate(frame, target.value)
        machine.set_item(owner, machine.subscript_key(frame, target), value)
    elif isinstance(target, (nodes.Tuple, nodes.List)):
        unpack(machine, frame, target.elements, value)


@dataclass(frozen=True, slots=True)
class Place:
    """What is read and then written by `target += value`."""

    read: Callable[[], Value]
    write: Callable[[Value], None]


def place_of(machine: Machine, frame: Frame, target: nodes.Expression) -> Place:
    """Where a target leads to: its receiver and its index are evaluated here, and not again."""
    if type(target) is nodes.Attribute:
        owner, name = machine.evaluate(frame, target.value), target.attr
        return Place(
            lambda: machine.get_attribute(owner, name),
            lambda value: attribute_changes.assign(machine, owner, name, value),
        )
    if type(target) is nodes.Subscript:
        owner = machine.evaluate(frame, target.value)
        key = machine.subscript_key(frame, target)
        return Place(lambda: machine.get_item(owner, key), lambda value: machine.set_item(owner, key, value))
    return Place(
        lambda: machine.evaluate(frame, target),
        lambda value: assign(machine, frame, target, value),
    )


def delete(machine: Machine, frame: Frame, target: nodes.Expression) -> None:
    """del target."""
    if type(target) is nodes.Name:
        names.unbind(machine, frame, target.value)
    elif type(target) is nodes.Attribute:
        attribute_changes.delete(machine, machine.evaluate(frame, target.value), target.attr)
    elif type(target) is nodes.Subscript:
        owner = machine.evaluate(frame, target.value)
        machine.delete_item(owner, machine.subscript_key(frame, target))
    elif isinstance(target, (nodes.Tuple, nodes.List)):
        for element in target.elements:
            delete(machine, frame, element)


def unpack(machine: Machine, frame: Frame, elements: Sequence[nodes.Expression], value: Value) -> None:
    """a, *b, c = value."""
    found = machine.iterate(value)
    starred = [position for position, element in enumerate(elements) if isinstance(element, nodes.Starred)]
    if isinstance(found, Unknown):
        if not isinstance(value, Unknown):
            machine.may_refuse("ValueError")
        for element in elements:
            if isinstance(element, nodes.Starred):
                assign(machine, frame, element.value, machine.allocate(ListObject([], found)))
            else:
                assign(machine, frame, element, found)
        return
    wanted = len(elements) - len(starred)
    if len(found) < wanted or (not starred and len(found) > wanted):
        problem = "too many values to unpack" if len(found) > wanted else "not enough values to unpack"
        raise machine.raises("ValueError", f"{problem} (expected {wanted}, got {len(found)})")
    if not starred:
        for element, item in zip(elements, found, strict=True):
            assign(machine, frame, element, item)
        return
    before, after = starred[0], len(elements) - starred[0] - 1
    middle: list[Value] = found[before : len(found) - after]
    parts: list[Value] = [*found[:before], machine.allocate(ListObject(middle)), *found[len(found) - after :][:after]]
    for element, item in zip(elements, parts, strict=True):
        assign(machine, frame, element.value if isinstance(element, nodes.Starred) else element, item)


def bound_names(target: nodes.Expression) -> list[str]:
    """The plain names in a target."""
    if isinstance(target, nodes.Name):
        return [target.value]
    if isinstance(target, (nodes.Tuple, nodes.List)):
        return [name for element in target.elements for name in bound_names(element)]
    if isinstance(target, nodes.Starred):
        return bound_names(target.value)
    return []
