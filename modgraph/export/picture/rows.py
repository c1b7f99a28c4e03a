"""The row, circle or pill of one unit: its words and what is said of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from modgraph.export.look.agreement import is_unknown
from modgraph.export.look.arguments import argument_text
from modgraph.export.look.folding import Unit
from modgraph.export.look.held_tensors import is_unnamed, module_title, title_and_rest
from modgraph.export.look.idioms import brief, idiom_of
from modgraph.export.look.kinds import class_kind, join_sign, module_kind, operation_kind
from modgraph.export.look.labels import (
    class_title,
    clean,
    count_text,
    cut,
    cut_end,
    drawn_shape,
    member_range,
    number_text,
    shape_text,
)
from modgraph.export.look.parts import Kind, Mark, Row
from modgraph.export.look.states import call_text, conditional_mark, marks_inside, marks_inside_all, marks_of
from modgraph.graph.dataflow import operation_word
from modgraph.graph.idioms.idiom import Idiom
from modgraph.graph.index import name_below
from modgraph.graph.model import BufferInfo, ModuleNode, ParameterInfo
from modgraph.graph.numbering import numbered_text
from modgraph.graph.occurrences import Occurrence, Run
from modgraph.graph.paths import is_below, is_open_place
from modgraph.graph.sizes import elements
from modgraph.graph.torch_classes import layer_base

TOOLTIP_LENGTH = 400


def sign_of(run: Run, unit: Unit) -> str | None:
    """The sign of an operation that is drawn as a circle: one in which data meets, and of which no more is said."""
    occurrence = unit.occurrence
    if occurrence.operation is None or unit.series or conditional_mark(occurrence):
        return None
    sources = {link.source.first for link in run.incoming[occurrence.first]}
    return join_sign(operation_word(occurrence.operation.name)) if len(sources) > 1 else None


def row_of(run: Run, unit: Unit, below: str, *, plain: bool = False) -> Row:
    """The row of `unit` in a card that stands inside the frame of the module `below`.

    Args:
        plain: without the arguments that say how exactly a class of the user's does what it does.
    """
    occurrence = unit.occurrence
    if unit.middle:
        return _middle_row(run, unit, below)
    if unit.gathered:
        return _operations_row(run, unit)
    if occurrence.operation is not None:
        return replace(_operation_row(occurrence), copies=len(unit.members), marks=marks_of(run, occurrence))
    if not occurrence.is_module:
        return _tensor_row(run, occurrence, below)
    node = run.index.modules[occurrence.path]
    marks = marks_of(run, occurrence)
    title, detail = class_title(node.class_name), argument_text(node, plain=plain, call=occurrence.call)
    if is_unnamed(node):
        title, detail = title_and_rest(node)
    if unit.series:
        return _series_row(run, unit, below)
    idiom = idiom_of(run, unit.members)
    collapsed = unit.collapsed or bool(run.index.children[node.path] and occurrence.end is None)
    if collapsed:
        title, detail = f"▸ {module_title(node)}".rstrip(), inside_text(run, node)
        detail = brief(idiom) if idiom is not None else detail
        marks += marks_inside(run, occurrence)
    if is_open_place(node.path):
        title = "…"
    return Row(
        kind=_kind_of(node, title, collapsed),
        title=cut(title),
        detail=" · ".join(text for text in (detail, _call_of(run, unit)) if text),
        path=cut(range_text(unit.members, below)),
        count=parameters_text(run, node),
        copies=len(unit.members),
        collapsed=collapsed,
        muted=any(mark.state == "never called" for mark in marks),
        tooltip=_module_tooltip(node, occurrence, fold_text(run, unit.members), idiom),
        marks=marks,
    )


def _kind_of(node: ModuleNode, title: str, collapsed: bool) -> Kind:
    """A closed container has the colour of none, but where it derives from a layer: it is one, and holds more."""
    if collapsed:
        return module_kind(node) if layer_base(node.torch_base) else "other"
    return class_kind(title) if title == "…" else module_kind(node)


def _call_of(run: Run, unit: Unit) -> str:
    """Which of its calls a row is, where several layers or turns are not drawn as one."""
    folded = len(unit.members) > 1 or unit.collapsed or unit.block.occurrence.turn
    return "" if folded else call_text(run, unit.occurrence)


def fold_text(run: Run, members: list[Occurrence]) -> str:
    """What tells the members of a fold apart: "layer_idx 0 – 31"; "" for nothing."""
    first, last = (run.index.modules[member.path] for member in (members[0], members[-1]))
    return numbered_text(first, last)


def _series_row(run: Run, unit: Unit, below: str) -> Row:
    """Many containers that are like open ones, in one row."""
    nodes = [run.index.modules[member.path] for member in unit.members]
    names = list(dict.fromkeys(class_title(node.class_name) for node in nodes))
    return Row(
        kind="other",
        title=f"▸ {cut(', '.join(names))}",
        detail=f"{len(nodes)} like those above",
        path=cut(range_text(unit.members, below)),
        count=parameters_text(run, *nodes),
        collapsed=True,
        tooltip=cut_end(f"{nodes[0].path} to {nodes[-1].path}", TOOLTIP_LENGTH),
    )


def _middle_row(run: Run, unit: Unit, below: str) -> Row:
    """All that stands between the first and the last things of a container with too many, in one row."""
    modules = [member for member in unit.members if member.is_module and member.path]
    paths = dict.fromkeys(member.path for member in modules)
    nodes = [run.index.modules[path] for path in paths]
    kinds = Counter(_step_word(run, member) for member in unit.members)
    words = ", ".join(f"{number} × {word}" for word, number in kinds.most_common(2))
    return Row(
        kind="other",
        title=f"… {len(unit.members)} more",
        detail=cut_end(words + (", …" if len(kinds) > 2 else ""), TOOLTIP_LENGTH if len(kinds) < 3 else 60),
        path=cut(range_text([modules[0], modules[-1]], below)) if modules else "",
        count=parameters_text(run, *nodes),
        collapsed=True,
        tooltip=cut_end(words, TOOLTIP_LENGTH),
        marks=marks_inside_all(run, unit.members),
    )


def _step_word(run: Run, member: Occurrence) -> str:
    if member.operation is not None:
        return cut(operation_word(member.operation.name))
    if member.turn:
        return "turn of a loop"
    if member.is_module:
        return cut(class_title(run.index.modules[member.path].class_name))
    return "parameter" if (member.end or "").startswith("param:") else "tensor"


def _operation_row(occurrence: Occurrence) -> Row:
    operation = occurrence.operation
    assert operation is not None
    word = operation_word(operation.name)
    return Row(
        kind=operation_kind(word),
        title=cut(word),
        tooltip=cut_end(operation.name, TOOLTIP_LENGTH),
    )


def _operations_row(run: Run, unit: Unit) -> Row:
    """Operations that follow each other, in one row; what all of them depend on is said, else how many depend on
    something."""
    marks = {marks_of(run, member) for member in unit.members}
    words = [operation_word(member.operation.name) for member in unit.members if member.operation is not None]
    said = ", ".join(f"{number} × {word}" if number > 1 else word for word, number in Counter(words).items())
    return Row(
        kind="other",
        title=f"▸ {len(words)} operations",
        detail=cut_end(said, 28),
        collapsed=True,
        marks=marks.pop() if len(marks) == 1 else marks_inside_all(run, unit.members),
        tooltip=cut_end(", ".join(words), TOOLTIP_LENGTH),
    )


def _tensor_row(run: Run, occurrence: Occurrence, below: str) -> Row:
    """A parameter, buffer or tensor of no module that a container uses directly."""
    kind, _, name = (occurrence.end or "").partition(":")
    tensor = run.outgoing[occurrence.first][0].tensor if run.outgoing[occurrence.first] else None
    shape = drawn_shape(tensor.shape) if tensor is not None else ""
    if kind != "param":
        return Row(kind="other", title="tensor", detail=shape, tooltip="a tensor that no module registers")
    owner, _, last = name.rpartition(".")
    node = run.index.modules.get(owner)
    held: tuple[ParameterInfo | BufferInfo, ...] = (*node.parameters, *node.buffers) if node is not None else ()
    own = next((each for each in held if each.name == last), None)
    buffer = isinstance(own, BufferInfo)
    if node is not None and owner in run.lenders:
        return Row(
            kind=module_kind(node),
            title=cut(class_title(node.class_name)),
            detail=argument_text(node),
            path=cut(path_below(owner, below)),
            count=parameters_text(run, node),
            tooltip=cut_end(f"{name} · the weights of a layer that is not called", TOOLTIP_LENGTH),
        )
    numbers = elements(own.shape) if own is not None and not buffer else None
    shape = drawn_shape(own.shape) if own is not None else shape  # what is used of it may be a part
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
    return member_range(path_below(first, below), path_below(last, below))


def parameters_text(run: Run, *nodes: ModuleNode) -> str:
    """Number of parameters of `nodes` and all below them, a shared module counted once; "≥" where some are unknown.
    What a diff says was removed counts for itself alone: what is around it has it no more."""
    found: list[ParameterInfo] = []
    unknown = False
    removed = {path for path, marks in run.said.items() if any(mark.state == "removed" for mark in marks)}
    for node in nodes:
        gone = set() if node.path in removed or is_below(node.path, removed) else removed
        below = (
            inner
            for inner in run.index.below(node.path)
            if inner.alias_of is None and not (inner.path in gone or (gone and is_below(inner.path, gone)))
        )
        for each in (node, *below):
            found.extend(each.parameters)
            unknown = unknown or is_unknown(each)
    return count_text(found, unknown)


def inside_text(run: Run, node: ModuleNode) -> str:
    """What a collapsed container holds: "2 × BasicBlock", or how many layers."""
    children = _filled(run, node)
    while len(children) == 1 and run.index.children[children[0].path]:
        children = _filled(run, children[0])
    counted = Counter(module_title(child) or "module" for child in children)
    text = ", ".join(
        f"{number} × {name}" if number > 1 or len(counted) == 1 else name for name, number in counted.items()
    )
    if len(counted) <= 2 and len(text) <= 28:
        return clean(text)
    leaves = sum(not run.index.children[inner.path] for inner in run.index.below(node.path))
    return "1 layer" if leaves == 1 else f"{leaves} layers"


def _filled(run: Run, node: ModuleNode) -> list[ModuleNode]:
    return [child for child in run.index.children[node.path] if child.class_name != "NoneType"]


def _module_tooltip(node: ModuleNode, occurrence: Occurrence, numbers: str, idiom: Idiom | None) -> str:
    parts = [node.path or "the model", node.class_name or "unknown class"]
    if idiom is not None:
        parts.append(idiom.title)
    if numbers:
        parts.append(numbers)
    elif node.arguments:
        plain = [
            f"{key}={value}" for key, value in node.arguments.items() if isinstance(value, int | float | str | bool)
        ]
        if plain:
            parts.append(", ".join(plain))
    if occurrence.call is not None and occurrence.call.outputs:
        shapes = ", ".join(shape_text(tensor.shape) for tensor in occurrence.call.outputs[:4])
        parts.append(f"→ {shapes}")
    return cut_end(" · ".join(parts), TOOLTIP_LENGTH)


def _joins(upper: Row, lower: Row) -> bool:
    """Whether a norm or an activation may stand in the row of the layer before it."""
    plain = not (upper.marks or lower.marks or lower.collapsed or lower.muted or upper.muted)
    kinds = upper.kind == "weights" and lower.kind in ("norm", "activation")
    return plain and kinds and upper.copies == lower.copies == 1


def _joined(run: Run, upper: Row, lower: Row, units: list[Unit]) -> Row:
    """ "Conv2d 3×3 → 64 + BatchNorm2d + ReLU" of three rows."""
    nodes = [run.index.modules[unit.occurrence.path] for unit in units if unit.occurrence.is_module]
    words = " ".join(part for part in (lower.title, lower.detail) if part)
    return replace(
        upper,
        detail=f"{upper.detail} + {words}".strip(),
        count=parameters_text(run, *nodes),
        tooltip=cut_end(f"{upper.tooltip} + {lower.tooltip}", TOOLTIP_LENGTH),
    )


def joined_rows(run: Run, rows: list[Row], units: list[Unit]) -> list[Row]:
    """`rows`, where a norm or an activation stands in the row of the layer before it."""
    found: list[Row] = []
    held: list[list[Unit]] = []
    for row, unit in zip(rows, units, strict=True):
        if found and _joins(found[-1], row):
            held[-1].append(unit)
            found[-1] = _joined(run, found[-1], row, held[-1])
        else:
            found.append(row)
            held.append([unit])
    return found


def said_once(rows: tuple[Row, ...]) -> tuple[tuple[Row, ...], tuple[Mark, ...]]:
    """`rows` without the marks that all of them share, and those marks."""
    if len(rows) == 1 or not rows[0].marks or any(row.marks != rows[0].marks for row in rows):
        return rows, ()
    return tuple(replace(row, marks=()) for row in rows), rows[0].marks
