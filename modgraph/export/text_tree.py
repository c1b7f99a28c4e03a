"""The tree of modules as rows: which are shown, folded where blocks read the same, cut at a depth that fits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from modgraph.export.states import SIGNS, State, StateKind, states_of
from modgraph.graph.index import GraphIndex, name_below
from modgraph.graph.model import Call, Graph, ModuleNode, Shape


@dataclass(frozen=True, slots=True)
class Count:
    """A number of elements."""

    known: int = 0
    partial: bool = False
    """There are more, whose number is not known."""

    def __add__(self, other: Count) -> Count:
        return Count(self.known + other.known, self.partial or other.partial)

    @property
    def text(self) -> str:
        """ "9,408", "≥ 9,408", "?", or "" for none."""
        if self.partial:
            return f"≥ {self.known:,}" if self.known else "?"
        return f"{self.known:,}" if self.known else ""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the tree."""

    branches: str
    """What leads to the name: "│  ├─ "."""
    name: str
    class_name: str = ""
    output: str = ""
    parameters: str = ""
    calls: str = ""
    states: tuple[State, ...] = ()
    inside: str = ""
    """What a collapsed module holds."""


@dataclass(slots=True)
class _Group:
    """Neighbouring siblings that read the same; `first` stands for all."""

    first: ModuleNode
    last: ModuleNode
    count: int = 1


@dataclass(slots=True)
class _Facts:
    """What is shown of one module."""

    parameters: Count
    states: tuple[State, ...]
    inside: Counter[StateKind] = field(default_factory=Counter)
    below: int = 0


class ModuleTree:
    """The rows of a graph's modules."""

    def __init__(self, graph: Graph, *, fold: bool = True) -> None:
        self._graph = graph
        self._index = GraphIndex(graph)
        self._fold = fold
        self._dtype = _main_dtype(graph)
        self._groups: dict[str, list[_Group]] = {}
        self._facts = self._all_facts()
        self._likeness: dict[str, int] = {}
        self._group_all()

    @property
    def states(self) -> dict[str, tuple[State, ...]]:
        """The states of every module, by path."""
        return {path: facts.states for path, facts in self._facts.items()}

    def fitting(self, lines: int) -> tuple[list[Row], str]:
        """The rows of the greatest depth at which they are at most `lines`, and what was cut, in words."""
        rows, depth = self.rows(1), 1
        while any(row.inside for row in rows):
            deeper = self.rows(depth + 1)
            if len(deeper) > lines:
                break
            rows, depth = deeper, depth + 1
        if len(rows) > lines:
            return self._shortened(rows, lines)
        return rows, self._said(depth, rows)

    def cut_at(self, depth: int) -> tuple[list[Row], str]:
        """The rows down to `depth` levels below the root, and what was cut, in words."""
        rows = self.rows(depth)
        return rows, self._said(depth, rows)

    def rows(self, depth: int) -> list[Row]:
        """The root and everything down to `depth` levels below it."""
        root = _Group(self._index.modules[""], self._index.modules[""])
        rows: list[Row] = []
        pending = [(root, "", "", 0)]
        while pending:
            group, branches, below, level = pending.pop()
            groups = self._groups[group.first.path]
            rows.append(self._row(group, branches, collapsed=bool(groups) and level >= depth))
            if level >= depth:
                continue
            for position in reversed(range(len(groups))):
                last = position == len(groups) - 1
                pending.append(
                    (groups[position], below + ("└─ " if last else "├─ "), below + ("   " if last else "│  "), level + 1)
                )
        return rows

    def _row(self, group: _Group, branches: str, *, collapsed: bool) -> Row:
        node = group.first
        facts = self._facts[node.path]
        count = f" ×{group.count}" if group.count > 1 else ""
        return Row(
            branches=branches,
            name=self._name(group) + count,
            class_name=short_class(node.class_name),
            output=self._output(node),
            parameters=facts.parameters.text,
            calls=str(len(node.calls)) if node.calls or any(s.kind == "never called" for s in facts.states) else "",
            states=facts.states,
            inside=self._inside(node) if collapsed else "",
        )

    def _name(self, group: _Group) -> str:
        parent = self._index.parents[group.first.path]
        if parent is None:
            return self._graph.model.name
        first, last = name_below(group.first.path, parent), name_below(group.last.path, parent)
        return first if group.count == 1 else f"{first} – {last}"

    def _inside(self, node: ModuleNode) -> str:
        facts = self._facts[node.path]
        groups = self._groups[node.path]
        kinds = [
            f"{group.count} × {short_class(group.first.class_name)}" if group.count > 1 else short_class(group.first.class_name)
            for group in groups
        ]
        content = ", ".join(kinds) if len(kinds) <= 2 else f"{facts.below} modules"
        marks = [f"{SIGNS[kind]} {facts.inside[kind]}" for kind in SIGNS if facts.inside[kind]]
        return " · ".join([f"▸ {content}", *([f"{' · '.join(marks)} inside"] if marks else [])])

    def _output(self, node: ModuleNode) -> str:
        shapes = [self._outputs(self._graph.calls[index]) for index in node.calls]
        return shapes[0] + (" …" if any(shape != shapes[0] for shape in shapes) else "") if shapes else ""

    def _outputs(self, call: Call) -> str:
        if not call.outputs:
            return ""
        first = call.outputs[0]
        dtype = f" {first.dtype}" if first.dtype not in (None, self._dtype) else ""
        more = f" +{len(call.outputs) - 1}" if len(call.outputs) > 1 else ""
        return shape_text(first.shape) + dtype + more

    def _all_facts(self) -> dict[str, _Facts]:
        states = states_of(self._index)
        shared = self._below_an_alias()
        facts: dict[str, _Facts] = {}
        for node in self._graph.modules:
            facts[node.path] = _Facts(Count() if node.path in shared else _own_parameters(node), states[node.path])
        for node in reversed(self._graph.modules):  # children before their parents
            parent = self._index.parents[node.path]
            if parent is None:
                continue
            own, above = facts[node.path], facts[parent]
            if node.registered:
                above.parameters += own.parameters
            above.inside.update(own.inside)
            above.inside.update(state.kind for state in own.states)
            above.below += own.below + 1
        return facts

    def _below_an_alias(self) -> set[str]:
        """Modules that stand under a second name, and all below them: what they hold is counted at the first."""
        shared: set[str] = set()
        for node in self._graph.modules:
            if node.alias_of is not None or self._index.parents[node.path] in shared:
                shared.add(node.path)
        return shared

    def _group_all(self) -> None:
        """Find the siblings that read the same, from the leaves up."""
        numbers: dict[object, int] = {}
        for node in reversed(self._graph.modules):
            groups = self._groups_of(node)
            self._groups[node.path] = groups
            inner = tuple(
                (name_below(group.first.path, node.path), group.count, self._likeness[group.first.path])
                for group in groups
            )
            self._likeness[node.path] = numbers.setdefault((self._reading(node), inner), len(numbers))

    def _groups_of(self, node: ModuleNode) -> list[_Group]:
        groups: list[_Group] = []
        for child in self._index.children[node.path]:
            if groups and self._fold and self._likeness[groups[-1].first.path] == self._likeness[child.path]:
                groups[-1].last = child
                groups[-1].count += 1
            else:
                groups.append(_Group(child, child))
        return list(self._unfold_pairs(groups))

    def _unfold_pairs(self, groups: list[_Group]) -> Iterator[_Group]:
        """Two leaves side by side are shown as they are: folding them saves a line and hides a name."""
        for group in groups:
            if group.count == 2 and not self._index.children[group.first.path]:
                yield _Group(group.first, group.first)
                yield _Group(group.last, group.last)
            else:
                yield group

    def _reading(self, node: ModuleNode) -> object:
        """Everything that must be equal for two modules to be folded: a fold must not hide a difference."""
        states = tuple(
            (state.kind, _relative(node.path, state.detail) if state.kind == "same as" else state.detail)
            for state in self._facts[node.path].states
        )
        shapes = tuple(tuple(tensor.shape for tensor in self._graph.calls[index].outputs) for index in node.calls)
        parameters = tuple(
            (p.name, p.shape, p.dtype, p.trainable, p.alias_of and _relative(node.path, p.alias_of))
            for p in node.parameters
        )
        return (node.class_name, repr(dict(node.arguments)), states, shapes, parameters, len(node.buffers))

    def _said(self, depth: int, rows: Sequence[Row]) -> str:
        if not any(row.inside for row in rows):
            return ""
        return f"shown to depth {depth}"

    def _shortened(self, rows: list[Row], lines: int) -> tuple[list[Row], str]:
        """The first and the last of `rows`; those between are counted, with their states."""
        head, tail = rows[: lines - 6], rows[-5:]
        hidden = rows[lines - 6 : -5]
        marks = Counter(state.kind for row in hidden for state in row.states)
        said = " · ".join(f"{SIGNS[kind]} {marks[kind]}" for kind in SIGNS if marks[kind])
        gap = Row(branches="│  ", name=f"… {len(hidden)} more", inside=f"{said} among them" if said else "")
        return [*head, gap, *tail], f"shown to depth 1, {len(hidden)} rows left out"


def _own_parameters(node: ModuleNode) -> Count:
    total = Count()
    for parameter in node.parameters:
        if parameter.alias_of is None:
            total += _elements(parameter.shape)
    return total


def _elements(shape: Shape | None) -> Count:
    if shape is None or not all(isinstance(size, int) for size in shape):
        return Count(0, partial=True)
    return Count(math.prod(size for size in shape if isinstance(size, int)))


def _relative(path: str, other: str) -> tuple[int, str]:
    """`other` as seen from `path`: how many levels up, and then down which way."""
    here, there = path.split("."), other.split(".")
    common = 0
    while common < min(len(here), len(there)) and here[common] == there[common]:
        common += 1
    return len(here) - common, ".".join(there[common:])


def _main_dtype(graph: Graph) -> str:
    """The dtype that is not worth a word: that of most parameters."""
    dtypes = Counter(p.dtype for node in graph.modules for p in node.parameters if p.dtype is not None)
    return dtypes.most_common(1)[0][0] if dtypes else "float32"


def short_class(class_name: str | None) -> str:
    """The class without its module: "Conv2d"; "?" where it is not known."""
    if class_name is None:
        return "?"
    return "None" if class_name == "NoneType" else class_name.rpartition(".")[2]


def shape_text(shape: Shape | None) -> str:
    """ "1×64×56×56"; "scalar" without dimensions, "?" for what is not known."""
    if shape is None:
        return "?"
    return "×".join("?" if size is None else str(size) for size in shape) or "scalar"
