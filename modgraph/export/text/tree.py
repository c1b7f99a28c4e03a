"""The tree of modules as rows: which are shown, folded where blocks read the same, cut at a depth that fits."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from modgraph.export.look.agreement import SHOWN_STATES, Remark, is_unknown, remarks_of
from modgraph.export.look.arguments import argument_text
from modgraph.export.look.held_tensors import held_words, is_unnamed
from modgraph.export.look.labels import class_title, member_range, shape_text, usual_dtype
from modgraph.export.look.parts import State
from modgraph.export.look.style import STATES
from modgraph.graph.counts import Count
from modgraph.graph.focus import module_at
from modgraph.graph.index import GraphIndex, name_below
from modgraph.graph.model import Graph, ModuleNode, TensorInfo
from modgraph.graph.module_costs import ModuleCost, ModuleCosts, mean
from modgraph.graph.numbering import numbering_of
from modgraph.graph.paths import relative_path
from modgraph.graph.repeats import node_facts, remarks_by_module
from modgraph.graph.sizes import elements


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the tree."""

    path: str
    """Of the module, or of the first of those that it stands for."""
    branches: str
    """What leads to the name: "│  ├─ "."""
    name: str
    class_name: str = ""
    tensors: str = ""
    """Of its own, where the graph was read from a file of weights."""
    output: str = ""
    parameters: Count = field(default_factory=Count)
    calls: str = ""
    input: str = ""
    arguments: str = ""
    source: str = ""
    """Where the instance is made, or its class defined; of the first of those that it stands for."""
    remarks: tuple[Remark, ...] = ()
    inside: str = ""
    """What a collapsed module holds."""
    last: str = ""
    """Path of the last of those that it stands for."""
    members: int = 1
    """How many those are."""
    cost: ModuleCost = field(default_factory=ModuleCost)
    """Of one of those that it stands for, on average."""
    parameter_share: float | None = None
    """Of all parameters of the model, from 0 to 1."""
    time_share: float | None = None
    """Of the time that a run takes."""


@dataclass(slots=True)
class _Group:
    """Neighbouring siblings that read the same; `first` stands for all."""

    members: list[ModuleNode]

    @property
    def first(self) -> ModuleNode:
        return self.members[0]

    @property
    def last(self) -> ModuleNode:
        return self.members[-1]

    @property
    def count(self) -> int:
        return len(self.members)


@dataclass(slots=True)
class _Facts:
    """What is shown of one module."""

    parameters: Count
    remarks: tuple[Remark, ...]
    inside: Counter[State] = field(default_factory=Counter)
    below: int = 0


class ModuleTree:
    """The rows of a graph's modules."""

    def __init__(self, graph: Graph, *, fold: bool = True, focus: str = "") -> None:
        self._graph = graph
        self._index = GraphIndex(graph)
        self._top = module_at(self._index, focus)
        self._fold = fold
        self._dtype = usual_dtype(graph) or "float32"
        self._groups: dict[str, list[_Group]] = {}
        self._facts = self._all_facts()
        self._likeness: dict[str, int] = {}
        self._costs = ModuleCosts(self._index)
        self._seconds = graph.profile.seconds if graph.profile is not None else None
        self._numbering = numbering_of(self._index)
        self._group_all()

    @property
    def hidden_parameters(self) -> Count:
        """Of the modules that are registered nowhere, and so in no total of the model."""
        total = Count()
        for node in self._graph.modules:
            if not node.registered and node.alias_of is None:
                total += self._facts[node.path].parameters
        return total

    def fitting(self, lines: int) -> tuple[list[Row], str]:
        """At most `lines` rows, and what was cut, in words.

        The tree is opened as deep as fits everywhere, and then, where lines are left, the first module of each make.
        """
        rows, depth = self._rows(1), 1
        while any(row.inside for row in rows):
            deeper = self._rows(depth + 1)
            if len(deeper) > lines:
                break
            rows, depth = deeper, depth + 1
        if len(rows) > lines:
            return _shortened(rows, lines), f"shown to depth {depth}, the middle left out"
        opened = self._open_examples(rows, depth, lines)
        if not opened:
            return rows, _said(depth, rows)
        rows = self._rows(depth, opened)
        return rows, _said(depth, rows, "; below that the first of each kind")

    def every(self, depth: int | None = None) -> list[Row]:
        """All rows, or those down to `depth` levels below the topmost."""
        return self._rows(sys.maxsize if depth is None else depth)

    def cut_at(self, depth: int) -> tuple[list[Row], str]:
        """The rows down to `depth` levels below the root, and what was cut, in words."""
        rows = self._rows(depth)
        return rows, _said(depth, rows)

    def _open_examples(self, rows: list[Row], depth: int, lines: int) -> set[str]:
        """Paths of collapsed modules that can be opened too, one of each make, in the order of the tree."""
        opened: set[str] = set()
        seen: set[object] = set()
        pending = [row for row in rows if row.inside]
        while pending:
            row = pending.pop(0)
            children = self._index.children[row.path]
            make = (row.class_name, frozenset(child.class_name for child in children))
            if make in seen:
                continue
            seen.add(make)
            wider = self._rows(depth, opened | {row.path})
            if len(wider) <= lines:
                opened.add(row.path)
                pending = [other for other in wider if other.inside]
        return opened

    def _rows(self, depth: int, opened: Collection[str] = ()) -> list[Row]:
        """The topmost and everything down to `depth` levels below it, and what is in the modules `opened`."""
        root = _Group([self._top])
        rows: list[Row] = []
        pending = [(root, "", "", 0)]
        while pending:
            group, branches, below, level = pending.pop()
            path = group.first.path
            groups = self._groups[path]
            collapsed = bool(groups) and level >= depth and path not in opened
            rows.append(self._row(group, branches, collapsed=collapsed))
            for position in reversed(range(0 if collapsed else len(groups))):
                last = position == len(groups) - 1
                turn, straight = ("└─ ", "   ") if last else ("├─ ", "│  ")
                pending.append((groups[position], below + turn, below + straight, level + 1))
        return rows

    def _row(self, group: _Group, branches: str, *, collapsed: bool) -> Row:
        node = group.first
        facts = self._facts[node.path]
        count = f" ×{group.count}" if group.count > 1 else ""
        return Row(
            path=node.path,
            branches=branches,
            name=self._name(group) + count,
            class_name="" if is_unnamed(node) else _class(node.class_name),
            tensors=", ".join(held_words(node, self._dtype)) if self._graph.stored is not None else "",
            output=self._shapes(node, "outputs"),
            parameters=facts.parameters,
            calls=self._calls(node, facts.remarks),
            input=self._shapes(node, "inputs"),
            arguments=argument_text(node),
            source=f"{node.source.file}:{node.source.line}" if node.source is not None else "",
            remarks=facts.remarks,
            inside=self._inside(node) if collapsed else "",
            last=group.last.path,
            members=group.count,
            cost=(cost := mean([self._costs[member.path] for member in group.members])),
            parameter_share=self._share(facts.parameters),
            time_share=cost.seconds / self._seconds if cost.seconds is not None and self._seconds else None,
        )

    def _share(self, parameters: Count) -> float | None:
        whole = self._graph.model.parameters
        return parameters.known / whole if whole and not parameters.partial else None

    def _name(self, group: _Group) -> str:
        parent = self._index.parents[group.first.path]
        if parent is None:
            return self._graph.model.name
        if group.first is self._top:
            return group.first.path
        first, last = name_below(group.first.path, parent), name_below(group.last.path, parent)
        return member_range(first, last)

    def _inside(self, node: ModuleNode) -> str:
        facts = self._facts[node.path]
        groups = self._groups[node.path]
        kinds = [f"{group.count} × {_kind(group.first)}" if group.count > 1 else _kind(group.first) for group in groups]
        content = ", ".join(kinds) if len(kinds) <= 2 else f"{facts.below} modules"
        marks = _counted(facts.inside)
        return " · ".join([f"▸ {content}", *([f"{marks} inside"] if marks else [])])

    def _shapes(self, node: ModuleNode, side: Literal["inputs", "outputs"]) -> str:
        calls = (self._graph.calls[index] for index in node.calls)
        shapes = [self._first_of(call.inputs if side == "inputs" else call.outputs) for call in calls]
        return shapes[0] + (" …" if any(shape != shapes[0] for shape in shapes) else "") if shapes else ""

    def _calls(self, node: ModuleNode, remarks: Sequence[Remark]) -> str:
        """How often it is called; of several calls of which some depend on a condition, one may exclude another, and in
        a loop of which the turns are not known there may be more."""
        number = len(node.calls)
        calls = [self._graph.calls[each] for each in node.calls]
        if any(each.may_repeat for each in calls):
            return f"≥ {sum(each.certain for each in calls)}"
        if number > 1 and not all(each.certain for each in calls):
            return f"≤ {number}"
        is_told = number or node.untaken or any(remark.state == "never called" for remark in remarks)
        return str(number) if is_told else ""

    def _first_of(self, tensors: Sequence[TensorInfo]) -> str:
        if not tensors:
            return ""
        first = tensors[0]
        dtype = f" {first.dtype}" if first.dtype not in (None, self._dtype) else ""
        more = f" +{len(tensors) - 1}" if len(tensors) > 1 else ""
        return shape_text(first.shape) + dtype + more

    def _all_facts(self) -> dict[str, _Facts]:
        remarks = remarks_of(self._index)
        shared = self._below_an_alias()
        facts: dict[str, _Facts] = {}
        for node in self._graph.modules:
            facts[node.path] = _Facts(Count() if node.path in shared else _own_parameters(node), remarks[node.path])
        for node in reversed(self._graph.modules):  # children before their parents
            parent = self._index.parents[node.path]
            if parent is None:
                continue
            own, above = facts[node.path], facts[parent]
            if node.registered:
                above.parameters += own.parameters
            above.inside.update(own.inside)
            above.inside.update(remark.state for remark in own.remarks)
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
        """Find the siblings that read the same, from the leaves up; unlike in a picture, one need not feed the next."""
        said = remarks_by_module(self._graph)
        numbers: dict[object, int] = {}
        for node in reversed(self._graph.modules):
            groups = self._groups_of(node)
            self._groups[node.path] = groups
            inner = tuple(
                (name_below(group.first.path, node.path), group.count, self._likeness[group.first.path])
                for group in groups
            )
            self._likeness[node.path] = numbers.setdefault(
                (self._reading(node), said.get(node.path, ()), inner), len(numbers)
            )

    def _groups_of(self, node: ModuleNode) -> list[_Group]:
        groups: list[_Group] = []
        for child in self._index.children[node.path]:
            if groups and self._fold and self._likeness[groups[-1].first.path] == self._likeness[child.path]:
                groups[-1].members.append(child)
            else:
                groups.append(_Group([child]))
        return list(self._unfold_pairs(groups))

    def _unfold_pairs(self, groups: list[_Group]) -> Iterator[_Group]:
        """Two leaves side by side are shown as they are: folding them saves a line and hides a name."""
        for group in groups:
            if group.count == 2 and not self._index.children[group.first.path]:
                yield _Group([group.first])
                yield _Group([group.last])
            else:
                yield group

    def _reading(self, node: ModuleNode) -> object:
        """Everything that must be equal for two modules to be folded: a fold must not hide a difference."""
        remarks = tuple(
            (remark.state, relative_path(remark.detail, node.path) if remark.state == "shared" else remark.detail)
            for remark in self._facts[node.path].remarks
        )
        calls = [self._graph.calls[index] for index in node.calls]
        ran = tuple(
            (
                call.error,
                call.direct,
                *(tuple((str(one.shape), one.dtype) for one in side) for side in (call.inputs, call.outputs)),
            )
            for call in calls
        )
        return (node_facts(node, self._numbering.get(node.path)), remarks, ran)


def _said(depth: int, rows: Sequence[Row], further: str = "") -> str:
    return f"shown to depth {depth}{further}" if any(row.inside for row in rows) else ""


def _shortened(rows: list[Row], lines: int) -> list[Row]:
    """The first and the last of `rows`; those between are counted, with their states."""
    ends = min(5, lines // 3)
    head, hidden, tail = rows[: lines - ends - 1], rows[lines - ends - 1 : -ends], rows[-ends:]
    said = _counted(Counter(remark.state for row in hidden for remark in row.remarks))
    gap = Row(path="", branches="│  ", name=f"… {len(hidden)} more", inside=f"{said} among them" if said else "")
    return [*head, gap, *tail]


def _counted(states: Counter[State]) -> str:
    """ "▲ 1 · ✕ 2"."""
    return " · ".join(f"{STATES[state].sign} {states[state]}" for state in SHOWN_STATES if states[state])


def _own_parameters(node: ModuleNode) -> Count:
    """Of the module alone; more may be in one whose class is not known, and in a place left open."""
    total = Count(partial=is_unknown(node))
    for parameter in node.parameters:
        if parameter.alias_of is None:
            number = elements(parameter.shape)
            total += Count(number or 0, partial=number is None)
    return total


def _kind(node: ModuleNode) -> str:
    return "module" if is_unnamed(node) else _class(node.class_name)


def _class(class_name: str | None) -> str:
    return class_title(class_name, unknown="?")
