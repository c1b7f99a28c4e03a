"""The names that a class body annotates, by its text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ClassObject
from modgraph.prediction.python import node_text
from modgraph.source import nodes
from modgraph.source.mangling import spelled
from modgraph.source.quiet import python_tree

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

ANNOTATED = "<annotated names>"
"""In the namespace of a class that no source shows: the names that it annotates, in order."""
_ANNOTATION = re.compile(r"\s*([^\W\d]\w*)\s*(?:\\\n\s*)?:(?!=)")


def annotated_texts(machine: Machine, item: ClassObject) -> Iterator[tuple[str, str]]:
    """Annotated names of a class body with the text of their annotations, in order."""
    definition = item.definition
    if definition is None:
        listed = item.namespace.get(ANNOTATED)
        yield from ((str(name.value), "") for name in getattr(listed, "items", ()))
        return
    if definition.entry is None:
        statements = list(definition.node.body)
    else:
        source = machine.finder.source(definition.module)
        statements = []
        for statement in definition.entry.body:
            if statement.kind in ("assign", "other", "delete") and source is not None:
                statements.extend(source.statement(statement).statements)
    for node in statements:
        if isinstance(node, nodes.AnnAssign) and isinstance(node.target, nodes.Name):
            yield node.target.value, node_text.source_of(node.annotation)


def annotated_names(machine: Machine, item: ClassObject) -> list[str]:
    """The names that a class body annotates, in order."""
    definition = item.definition
    source = machine.finder.source(definition.module) if definition is not None else None
    if source is None or definition is None or definition.entry is None:
        return [name for name, _ in annotated_texts(machine, item)]
    found: list[str] = []
    for statement in definition.entry.body:
        if statement.kind not in ("assign", "other", "delete"):
            continue
        lines = source.lines[statement.first_line - 1 : statement.last_line]
        if not any(";" in line for line in lines):  # no tree is needed, which takes far longer
            match = _ANNOTATION.match("\n".join(lines[:2]))
            found += [spelled(match[1], definition.name)] if match is not None else []
            continue
        body = ast.walk(python_tree("\n".join(("if 1:", *lines))))
        found += [
            spelled(node.target.id, definition.name)
            for node in body
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        ]
    return found
