"""The annotations of a class: each is evaluated when it is asked for by its name, which few ever are."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from modgraph.prediction.domain.calling import Arguments, Raised
from modgraph.prediction.domain.frames import Frame
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ClassObject, EnvironmentObject, ViewObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import NONE, ClassValue, Constant, Unknown, Value
from modgraph.prediction.python import annotated
from modgraph.source import nodes
from modgraph.source.code_text import code_text
from modgraph.source.index import Statement
from modgraph.source.modules import SourceError, SourceModule
from modgraph.source.quiet import python_tree


def annotations_of(machine: Machine, cls: ClassValue) -> ViewObject:
    """What the class itself annotates, without what it inherits."""
    return ViewObject(_Annotations(machine, cls), None, {})


class _Annotations(Mapping[str, Value]):
    """By name: `get` evaluates the annotation, `items` and `values` give unknowns."""

    def __init__(self, machine: Machine, cls: ClassValue) -> None:
        self.machine = machine
        self.cls = cls
        item = machine.state.read(cls.address)
        assert isinstance(item, ClassObject)
        self.item = item
        self.names = dict.fromkeys(annotated.annotated_names(machine, item))

    def get(self, name: str, default: Any = None) -> Any:
        if name not in self.names:
            return default
        return evaluated(self.machine, self.cls, self.item, name) or self[name]

    def __getitem__(self, name: str) -> Value:
        if name not in self.names:
            raise KeyError(name)
        return Unknown("an annotation", self.machine.where)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def evaluated(machine: Machine, cls: ClassValue, item: ClassObject, name: str) -> Value | None:
    """What stands behind the colon; None where it is not one plain statement of a class with source."""
    definition = item.definition
    source = machine.finder.source(definition.module) if definition is not None else None
    if definition is None or definition.entry is None or source is None:
        return None
    statements = [each for each in definition.entry.body if each.kind in ("assign", "other", "delete")]
    found = [node for each in statements for node in _annotating(source, each, name)]
    if len(found) != 1:
        return None
    parsed, node = found[0]
    if any(each.module == "__future__" and each.attribute == "annotations" for each in source.index.imports):
        written = python_tree(code_text(node), mode="eval")
        return Constant(ast.unparse(written.body))
    environment = machine.allocate(EnvironmentObject(parent=item.closure))
    frame = Frame(definition.module, parsed, environment, class_scope=cls, statement=parsed.statements[0])
    machine.frames.append(frame)
    try:
        return machine.evaluate(frame, node)
    except Raised:
        return None
    finally:
        machine.frames.pop()


def _annotating(source: SourceModule, statement: Statement, name: str) -> Iterator[tuple[Any, nodes.Expression]]:
    lines = source.lines[statement.first_line - 1 : statement.last_line]
    if name not in statement.names or not any(":" in line for line in lines):
        return
    try:
        parsed = source.statement(statement)
    except SourceError:
        return
    for node in parsed.statements:
        if isinstance(node, nodes.AnnAssign) and isinstance(node.target, nodes.Name) and node.target.value == name:
            yield parsed, node.annotation


@models("inspect.get_annotations")
def get_annotations(arguments: Arguments, machine: Machine) -> Value:
    of = arguments.get(0, "obj", NONE)
    plain = len(arguments.positional) + len(arguments.keywords) == 1 and arguments.open is None
    if isinstance(of, ClassValue) and plain:
        return machine.allocate(annotations_of(machine, of))
    return Unknown("inspect is not interpreted", None)
