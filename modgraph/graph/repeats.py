"""Which neighbouring blocks are alike, so that one of them can stand for all.

Alike are siblings with the same class, arguments (but for one that says their place), parameter shapes, inner wiring,
names of what is called inside, states, hooks, findings and problems, each fed by the one before (and by nothing else
than what all of them get, such as a mask, or its own of a row of inputs, such as the keys and values of a cache). What
differs in anything, also in a problem, is not alike: a fold must not hide it. Nor does a fold hide which calls share
weights: it stands for calls of one module, or of as many as it has members.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Hashable, Mapping
from functools import cached_property
from typing import Any

from modgraph.graph.codec import encode
from modgraph.graph.dataflow import operation_word
from modgraph.graph.index import parents_of
from modgraph.graph.model import Call, Graph, ModuleNode, Operation, Repeat, TensorInfo
from modgraph.graph.numbering import numbering_of
from modgraph.graph.occurrences import Link, Occurrence, Run, preorder
from modgraph.graph.paths import relative_path

Source = tuple[str, tuple[int, ...]]
"""Where data comes from: the number of a leaf, or a row of inputs and the place in it."""
_NUMBER = re.compile(r"[0-9]{1,9}")
_LAST_NUMBER = re.compile(r"(?<![0-9])([0-9]{1,9})\]?$")


def mark_repeats(graph: Graph) -> Graph:
    """`graph` with `ModuleNode.repeat` filled: the group (path of its first member) and its size, None where unlike."""
    repeats = find_repeats(graph)
    if not repeats and all(node.repeat is None for node in graph.modules):
        return graph
    modules = tuple(
        node if node.repeat == repeats.get(node.path) else dataclasses.replace(node, repeat=repeats.get(node.path))
        for node in graph.modules
    )
    return dataclasses.replace(graph, modules=modules)


def find_repeats(graph: Graph) -> dict[str, Repeat]:
    """By path, the group of each module that stands beside others like it.

    A module that occurs several times (it is called repeatedly) counts where every occurrence says the same.
    """
    if not _has_siblings(graph):
        return {}
    run = Run(graph)
    likeness = Likeness(run)
    found: dict[str, Repeat | None] = {}
    for occurrence in preorder(run.root):
        for group in likeness.groups(occurrence):
            if not group[0].is_module:
                continue
            paths = [member.path for member in group]
            siblings = len({run.index.parents[path] for path in paths}) == 1 and len(set(paths)) == len(paths)
            repeat = Repeat(group=paths[0], count=len(paths)) if len(paths) > 1 and siblings else None
            for member in group:
                if member.path:
                    agreed = found.get(member.path, repeat) == repeat
                    found[member.path] = repeat if agreed else None
    return {path: repeat for path, repeat in found.items() if repeat is not None}


def _has_siblings(graph: Graph) -> bool:
    """Whether two modules of one class stand side by side: else no group can be found."""
    parents = parents_of({node.path: node for node in graph.modules})
    met: set[tuple[str | None, str | None]] = set()
    for node in graph.modules:
        place = (parents[node.path], node.class_name)
        if place in met:
            return True
        met.add(place)
    return False


class Likeness:
    """Compares the occurrences of one run.

    `strict` numbers are equal where two occurrences agree in everything; `loose` ones where they agree but for sizes,
    arguments and the number of repeated parts.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self._numbers: dict[Hashable, int] = {}
        self.boxed: dict[Occurrence, list[Occurrence]] = {}
        """What is known to be alike (`series.py`, `shared.py`): each with all of its group."""
        self.shared: set[Occurrence] = set()
        """Of these, calls of one module beside each other (`shared.py`), and what goes with them."""
        self._links_at = self._links_by_container()
        self._remarks = remarks_by_module(run.graph)
        self._numbering = numbering_of(run.index)
        self.strict: dict[Occurrence, int] = {}
        for occurrence in reversed(list(preorder(run.root))):
            self.strict[occurrence] = self._number(self._signature(occurrence))

    @cached_property
    def loose(self) -> dict[Occurrence, int]:
        loose: dict[Occurrence, int] = {}
        for occurrence in reversed(list(preorder(self.run.root))):
            parts: list[int] = []
            for child in occurrence.children:
                if not parts or parts[-1] != loose[child]:
                    parts.append(loose[child])
            loose[occurrence] = self._number(("loose", self._loose_facts(occurrence), tuple(parts)))
        return loose

    def tensor_text(self, tensor: TensorInfo) -> str:
        """What must be equal of two tensors."""
        return f"{tensor.shape} {tensor.dtype}"

    def result_text(self, _call: Occurrence, tensor: TensorInfo) -> str:
        """What must be equal of what two calls give."""
        return self.tensor_text(tensor)

    def link_text(self, link: Link) -> str:
        """What must be equal of two arrows. The kind of numbers that may go along one is often not known of some of
        several blocks alone, and not drawn."""
        if link.certain:
            return self.tensor_text(link.tensor)
        return f"perhaps {self.tensor_text(dataclasses.replace(link.tensor, dtype=None))}"

    def groups(self, parent: Occurrence) -> list[list[Occurrence]]:
        """The children of `parent`, in order, neighbours that are alike in one list."""
        groups: list[list[Occurrence]] = []
        pattern: Hashable = None
        met: set[Hashable] = set()
        for child in parent.children:
            if child in self.boxed:
                if self.boxed[child][0] is child:
                    groups.append(list(self.boxed[child]))
                continue
            last = groups[-1] if groups and groups[-1][0] not in self.boxed else None
            may_repeat = child.is_module or child.turn
            link = None
            if last is not None and may_repeat and self.strict[last[0]] == self.strict[child]:
                link = self.passage(last, child)
            if last is None or link is None or (len(last) > 1 and link != pattern) or not _may_join(last, child, met):
                groups.append([child])
                met = {_called(child)}
                continue
            pattern = link
            last.append(child)
            met.add(_called(child))
        return groups

    def passage(self, group: list[Occurrence], block: Occurrence) -> Hashable | None:
        """How `block` is fed by the last of `group` and by what is around them; None where it does not follow it."""
        before = group[-1]
        if block.first == block.past:
            return "uncalled" if block.turn or self._are_numbered(before, block) else None
        fed = sorted(self._inflow(block, before))
        if not any(where == "before" for _, where, _, _ in fed):
            return None
        if len(group) == 1 and not self._could_begin(before, fed):
            return None
        spill = self._outflow(before, block)
        if not spill <= self._outflow(block, None):
            return None
        return (tuple(fed), tuple(sorted(spill)))

    def _are_numbered(self, one: Occurrence, other: Occurrence) -> bool:
        """Whether two modules without calls, of which the wiring is not known, are members of one series.

        So are those of a list, and blocks whose names differ in their last number ("stage1", "stage2"). Two layers
        `key` and `query` may be alike, yet each has its own part.
        """
        if other.path.endswith("]"):
            return True
        parent = self.run.index.modules[self.run.index.parents[other.path] or ""]
        if (parent.class_name or "").startswith("torch.nn.modules.container."):
            return True
        stems = {each.path.rstrip("0123456789") for each in (one, other)}
        return len(stems) == 1 and bool(self.run.index.children[other.path])

    def _inflow(self, block: Occurrence, before: Occurrence | None) -> list[tuple[int, str, Source, str]]:
        """What enters `block`: its leaf, whether from the block before or from around, which leaf there, the shape."""
        found: list[tuple[int, str, Source, str]] = []
        for link in self.crossing(block, self.run.incoming):
            source = link.source.first
            inside = before is not None and before.first <= source < before.past
            where, origin = "around", _own_of_a_row(block, link.source) or _leaf(source)
            if inside and before is not None:
                where, origin = "before", _leaf(source - before.first)
            found.append((link.target.first - block.first, where, origin, self.link_text(link)))
        return found

    def _could_begin(self, block: Occurrence, fed: list[tuple[int, str, Source, str]]) -> bool:
        """Whether the first block gets as many tensors as the others, and the same from around."""
        own = self._inflow(block, None)
        if sorted((leaf, text) for leaf, _, _, text in own) != sorted((leaf, text) for leaf, _, _, text in fed):
            return False
        return {item for item in fed if item[1] == "around"} <= set(own)

    def _outflow(self, block: Occurrence, following: Occurrence | None) -> set[tuple[int, int]]:
        """What leaves `block` elsewhere than to the next one: its leaf and the user; all outputs count as one."""
        found = set()
        for link in self.crossing(block, self.run.outgoing):
            target = link.target.first
            if following is not None and following.first <= target < following.past:
                continue
            is_output = link.target.end is not None and link.target.end.startswith("output:")
            found.add((link.source.first - block.first, -1 if is_output else target))
        return found

    @staticmethod
    def crossing(block: Occurrence, table: list[list[Link]]) -> list[Link]:
        """What passes between `block` and what is around it."""
        links = (link for leaf in range(block.first, block.past) for link in table[leaf])
        return [
            link
            for link in links
            if not (block.first <= link.source.first < block.past and block.first <= link.target.first < block.past)
        ]

    def _number(self, signature: Hashable) -> int:
        return self._numbers.setdefault(signature, len(self._numbers))

    def _signature(self, occurrence: Occurrence) -> Hashable:
        inner = sorted(
            (link.source.first - occurrence.first, link.target.first - occurrence.first, self.link_text(link))
            for link in self._links_at.get(occurrence, ())
        )
        parts = tuple(self.strict[child] for child in occurrence.children)
        return (self._facts(occurrence), parts, self._names_in(occurrence), tuple(inner))

    @staticmethod
    def _names_in(occurrence: Occurrence) -> Hashable:
        """What is called there, by the names that it has in there; what has its home elsewhere by its first place.

        Two blocks may call like layers in a like order and yet share others: `a, a, b, b` and `a, b, a, b`.
        """
        start = f"{occurrence.path}." if occurrence.path else ""
        names: dict[str, int | str] = {}
        rows = (child.children if child.turn else (child,) for child in occurrence.children)
        called = [step for row in rows for step in row if step.is_module]
        for step in called:
            inside = not occurrence.turn and step.path.startswith(start)
            names.setdefault(step.path, step.path[len(start) :] if inside else len(names))
        return tuple(names[step.path] for step in called)

    def _facts(self, occurrence: Occurrence) -> Hashable:
        if occurrence.operation is not None:
            return (self._loose_facts(occurrence), _depends(occurrence.operation))
        if not occurrence.is_module:
            return self._loose_facts(occurrence)
        node = self.run.index.modules[occurrence.path]
        call = occurrence.call
        ran: Hashable = None
        if call is not None:
            shapes = tuple(self.result_text(occurrence, tensor) for tensor in call.outputs)
            ran = (shapes, call.error, call.direct, len(self.run.index.modules[call.module].calls), _depends(call))
        remarks = (self._remarks.get(node.path, ()), self.run.said.get(node.path, ()))
        return (node_facts(node, self._numbering.get(node.path)), remarks, ran)

    def _loose_facts(self, occurrence: Occurrence) -> Hashable:
        if occurrence.turn:
            return "turn"
        if occurrence.operation is not None:
            return ("operation", operation_word(occurrence.operation.name))
        if occurrence.end is not None and not occurrence.is_module:
            kind, _, name = occurrence.end.partition(":")
            owner = occurrence.parent.path if occurrence.parent is not None else ""
            return (kind, relative_path(name, f"{owner}." if owner else "") if kind == "param" else "")
        node = self.run.index.modules[occurrence.path]
        return ("module", node.class_name, node.registered, node.predicted, node.observed, node.alias_of is None)

    def _links_by_container(self) -> dict[Occurrence, list[Link]]:
        """Each link under the smallest container that holds both its ends."""
        found: dict[Occurrence, list[Link]] = {}
        for link in self.run.links:
            holder = link.source.parent
            while holder is not None and not holder.first <= link.target.first < holder.past:
                holder = holder.parent
            if holder is not None:
                found.setdefault(holder, []).append(link)
        return found


def _depends(part: Call | Operation) -> Hashable:
    """On what it depends that it is there."""
    return None if part.depends_on is None else (part.depends_on.text, part.observed is False)


def _leaf(number: int) -> Source:
    return "", (number,)


def _own_of_a_row(block: Occurrence, source: Occurrence) -> Source | None:
    """An input that is `block`'s by its number, as "past[3][0]" is that of "h.3": the same for all blocks of a row."""
    kind, _, name = (source.end or "").partition(":")
    place = _LAST_NUMBER.search(block.path)
    numbers = [int(number) for number in _NUMBER.findall(name)]
    if kind != "input" or place is None or not numbers:
        return None
    return _NUMBER.sub("#", name), (numbers[0] - int(place[1]), *numbers[1:])


def _called(block: Occurrence) -> Hashable:
    """The modules of which `block` is a call."""
    return tuple(step.path for step in block.children if step.is_module) if block.turn else block.path


def _may_join(group: list[Occurrence], block: Occurrence, met: set[Hashable]) -> bool:
    """Whether all of `group` and `block` are calls of the same, or each of another; `met`: what `group` calls.

    Of `a, a, b, b`, drawn once, no one could tell which calls share their weights.
    """
    called = _called(block)
    again = called in met
    return not called or len(group) == 1 or again == (len(met) == 1)


def node_facts(node: ModuleNode, numbered: Mapping[str, tuple[int, int]] | None = None) -> Hashable:
    """What a module says of itself, apart from its calls and its source; equal for modules that are alike.

    `numbered`: its arguments that follow its place (`numbering.py`).
    """
    arguments = {key: value for key, value in node.arguments.items() if key not in (numbered or ())}
    parameters = tuple(
        (p.name, p.shape, p.dtype, p.trainable, p.alias_of and relative_path(p.alias_of, node.path))
        for p in node.parameters
    )
    buffers = tuple(
        (b.name, b.shape, b.dtype, b.persistent, b.alias_of and relative_path(b.alias_of, node.path))
        for b in node.buffers
    )
    return (
        node.class_name,
        node.predicted,
        node.observed,
        node.registered,
        node.own_state_dict,
        node.extra_state,
        node.alias_of and relative_path(node.alias_of, node.path),
        _told_apart(arguments),
        tuple(sorted((numbered or {}).items())),
        parameters,
        buffers,
        tuple((hook.kind, hook.name) for hook in node.hooks),
    )


def _told_apart(arguments: Mapping[str, Any]) -> Hashable:
    """What is equal for equal arguments alone: 1 is neither True nor 1.0. As text, where they are not all plain."""
    if all(type(value) in _PLAIN for value in arguments.values()):
        return tuple(sorted((name, type(value).__name__, value) for name, value in arguments.items()))
    return json.dumps(encode(arguments), sort_keys=True, default=str)


_PLAIN = frozenset({bool, int, str})


def remarks_by_module(graph: Graph) -> dict[str, tuple[tuple[str, str], ...]]:
    """Findings and problems by module, without their places."""
    found: dict[str, list[tuple[str, str]]] = {}
    for finding in graph.findings:
        if finding.module is not None:
            found.setdefault(finding.module, []).append(("finding", finding.code))
    for problem in graph.open_places:
        if problem.module is not None:
            found.setdefault(problem.module, []).append((problem.stage, problem.message))
    return {path: tuple(sorted(remarks)) for path, remarks in found.items()}
