"""The row, circle or pill of one unit: its words and what is said of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from modgraph.export.arguments import argument_text
from modgraph.export.folding import Unit
from modgraph.export.kinds import class_kind, join_sign, operation_kind
from modgraph.export.labels import (
    class_title,
    clean,
    count_text,
    cut,
    cut_end,
    elements,
    number_text,
    shape_text,
)
from modgraph.export.parts import Mark, Row
from modgraph.export.states import is_open_place, marks_inside, marks_of
from modgraph.graph.dataflow import operation_word
from modgraph.graph.index import name_below
from modgraph.graph.model import ModuleNode, ParameterInfo
from modgraph.graph.occurrences import Occurrence, Run

TOOLTIP_LENGTH = 400


def sign_of(run: Run, occurrence: Occurrence) -> str | None:
    """The sign of an operation that is drawn as a circle: one in which several data meet."""
    if occurrence.operation is None:
        return None
    sources = {link.source.first for link in run.incoming[occurrence.first]}
    return join_sign(operation_word(occurrence.operation.name)) if len(sources) > 1 else None


def row_of(run: Run, unit: Unit, below: str) -> Row:
    """The row of `unit` in a card that stands inside the frame of the module `below`."""
    occurrence = unit.occurrence
    if occurrence.operation is not None:
        return _operation_row(occurrence)
    if not occurrence.is_module:
        return _tensor_row(run, occurrence, below)
    node = run.index.modules[occurrence.path]
    marks = marks_of(run, occurrence)
    title = class_title(node.class_name)
    detail = argument_text(node)
    if unit.series:
        return _series_row(run, unit, below)
    collapsed = unit.collapsed or bool(run.index.children[node.path] and occurrence.end is None)
    if collapsed:
        title, detail = f"▸ {title}", inside_text(run, node)
        marks += marks_inside(run, occurrence)
    if is_open_place(node.path):
        title = "…"
    return Row(
        kind="other" if collapsed else class_kind(title),
        title=cut(title),
        detail=detail,
        path=cut(range_text(unit.members, below)),
        count=count_text(parameters_below(run, node)),
        copies=len(unit.members),
        collapsed=collapsed,
        muted=any(mark.state == "never called" for mark in marks),
        tooltip=_module_tooltip(node, occurrence),
        marks=marks,
    )


def _series_row(run: Run, unit: Unit, below: str) -> Row:
    """Many containers that are like open ones, in one row."""
    nodes = [run.index.modules[member.path] for member in unit.members]
    names = list(dict.fromkeys(class_title(node.class_name) for node in nodes))
    parameters = [parameter for node in nodes for parameter in parameters_below(run, node)]
    return Row(
        kind="other",
        title=f"▸ {cut(', '.join(names))}",
        detail=f"{len(nodes)} like those above",
        path=cut(range_text(unit.members, below)),
        count=count_text(parameters),
        collapsed=True,
        tooltip=cut_end(f"{nodes[0].path} to {nodes[-1].path}", TOOLTIP_LENGTH),
    )


def _operation_row(occurrence: Occurrence) -> Row:
    operation = occurrence.operation
    assert operation is not None
    word = operation_word(operation.name)
    return Row(
        kind=operation_kind(word),
        title=cut(word),
        tooltip=cut_end(operation.name, TOOLTIP_LENGTH),
    )


def _tensor_row(run: Run, occurrence: Occurrence, below: str) -> Row:
    """A parameter or constant that a container uses directly."""
    kind, _, name = (occurrence.end or "").partition(":")
    tensor = run.outgoing[occurrence.first][0].tensor if run.outgoing[occurrence.first] else None
    shape = shape_text(tensor.shape) if tensor is not None else ""
    if kind != "param":
        return Row(kind="other", title="constant", detail=shape, tooltip="a tensor made outside the model")
    owner, _, last = name.rpartition(".")
    node = run.index.modules.get(owner)
    own = next((p for p in node.parameters if p.name == last), None) if node is not None else None
    buffer = any(b.name == last for b in node.buffers) if node is not None else False
    numbers = elements(own.shape) if own is not None else None
    return Row(
        kind="other" if buffer else "weights",
        title="buffer" if buffer else "Parameter",
        detail=shape,
        path=cut(path_below(name, below)),
        count=number_text(numbers) if numbers else "",
        tooltip=cut_end(name, TOOLTIP_LENGTH),
    )


def path_below(path: str, frame: str) -> str:
    """`path` as seen from the frame; whole where it does not lie below it."""
    return name_below(path, frame) if frame == "" or path.startswith(f"{frame}.") else path


def range_text(members: list[Occurrence], below: str = "") -> str:
    """ "layer1.0 – 1" for the members of a fold, the first as seen from the frame `below`."""
    first, last = members[0].path, members[-1].path
    text = path_below(first, below)
    if first == last:
        return text
    if last.endswith("]") and "[" in last:
        return f"{text} – {last[last.rfind('[') :]}"
    end, start = last.rpartition(".")[2], first.rpartition(".")[2]
    stem = start.rstrip("0123456789")
    if stem == end.rstrip("0123456789"):
        end = end[len(stem) :] or end
    return f"{text} – {end}"


def parameters_below(run: Run, node: ModuleNode) -> list[ParameterInfo]:
    """Parameters of a module and of all below it, a shared module counted once."""
    found = list(node.parameters)
    for inner in run.index.below(node.path):
        if inner.alias_of is None:
            found.extend(inner.parameters)
    return found


def inside_text(run: Run, node: ModuleNode) -> str:
    """What a collapsed container holds: "2 × BasicBlock", or how many layers."""
    children = _filled(run, node)
    while len(children) == 1 and run.index.children[children[0].path]:
        children = _filled(run, children[0])
    counted = Counter(class_title(child.class_name) for child in children)
    text = ", ".join(
        f"{number} × {name}" if number > 1 or len(counted) == 1 else name for name, number in counted.items()
    )
    if len(counted) <= 2 and len(text) <= 28:
        return clean(text)
    leaves = sum(not run.index.children[inner.path] for inner in run.index.below(node.path))
    return "1 layer" if leaves == 1 else f"{leaves} layers"


def _filled(run: Run, node: ModuleNode) -> list[ModuleNode]:
    return [child for child in run.index.children[node.path] if child.class_name != "NoneType"]


def _module_tooltip(node: ModuleNode, occurrence: Occurrence) -> str:
    parts = [node.path or "the model", node.class_name or "unknown class"]
    if node.arguments:
        plain = [
            f"{key}={value}" for key, value in node.arguments.items() if isinstance(value, int | float | str | bool)
        ]
        if plain:
            parts.append(", ".join(plain))
    if occurrence.call is not None and occurrence.call.outputs:
        shapes = ", ".join(shape_text(tensor.shape) for tensor in occurrence.call.outputs[:4])
        parts.append(f"→ {shapes}")
    return cut_end(" · ".join(parts), TOOLTIP_LENGTH)


def said_once(rows: tuple[Row, ...]) -> tuple[tuple[Row, ...], tuple[Mark, ...]]:
    """`rows` without the marks that all of them share, and those marks."""
    if len(rows) == 1 or not rows[0].marks or any(row.marks != rows[0].marks for row in rows):
        return rows, ()
    return tuple(replace(row, marks=()) for row in rows), rows[0].marks
