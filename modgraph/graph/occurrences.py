"""The run as a tree: each call of a module and each operation at the place where it took part.

A module that is called twice occurs twice. A container that is never called itself (a `ModuleList`) stands around the
calls of its children where those follow each other undisturbed; where a loop alternates between two lists, neither
can be drawn as one box, so both are left out and their children stand in the caller. Modules that were not called
stand in their container, after the sibling registered before them; without any call the tree is the tree of modules.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from modgraph.graph.dataflow import contracted_edges, stands_for_itself
from modgraph.graph.given_back import in_doubt
from modgraph.graph.idioms.idiom import Idiom
from modgraph.graph.index import GraphIndex
from modgraph.graph.model import Call, Condition, Edge, Graph, Operation, TensorInfo
from modgraph.graph.outputs import output_end, unknown_outputs

Key = tuple[int, int, int, int]


@dataclass(eq=False, slots=True, kw_only=True)
class Occurrence:
    """One module, operation, input, output, parameter or constant, where it takes part in the run."""

    path: str
    """Of the module; for an operation, of the module inside whose call it ran; for a parameter, its own."""
    parent: Occurrence | None
    call: Call | None = None
    operation: Operation | None = None
    end: str | None = None
    """The end of edges that it stands for ("call:3"); None for a container and for what was not called."""
    key: Key = (0, 0, 0, 0)
    """Sorts leaves as they ran."""
    children: list[Occurrence] = field(default_factory=list)
    turn: bool = False
    """It stands for no module, but for one turn of a loop in the `forward` of `path` (`loops.py`)."""
    first: int = 0
    """The leaves below it, in the order of the tree, are those from `first` up to, not including, `past`."""
    past: int = 0

    @property
    def is_module(self) -> bool:
        """Whether it stands for a module, not for an operation or an end of the data."""
        if self.turn or self.operation is not None:
            return False
        return self.end is None or self.end.startswith("call:")


@dataclass(eq=False, slots=True, kw_only=True)
class Link:
    """A tensor that goes from one leaf to another."""

    source: Occurrence
    target: Occurrence
    tensor: TensorInfo
    certain: bool = True
    """False where it depends on what is not decided whether it goes there."""
    is_taken: bool = True
    """False where it did not go there in the run."""
    in_doubt: bool = False
    """It may have been taken from before the source, which gave it back as it was."""
    condition: Condition | None = None
    """On what it depends, where that is a test of the program."""


class Run:
    """The occurrences of a graph and the links between its leaves.

    Args:
        views: keep views and shape bookkeeping as operations.
        said: by path, what is to be said of modules beside what the graph says; it tells blocks apart.
    """

    def __init__(self, graph: Graph, *, views: bool = False, said: Mapping[str, tuple[Any, ...]] | None = None) -> None:
        self.graph = graph
        self.said = said or {}
        self.idioms: Mapping[str, Idiom] = {}
        """By path, what readers call a module that is proven to be it."""
        self.also: Mapping[str, tuple[str, ...]] = {}
        """By path, further names of modules that are not shown by themselves."""
        self.lenders: frozenset[str] = frozenset()
        """Paths of layers that are never called, and shown as their one parameter, which others use."""
        self.index = GraphIndex(graph)
        growth = _Growth(self.index, contracted_edges(self.index, views=views))
        self.replace(growth.root, growth.links)

    def replace(self, root: Occurrence, links: list[Link]) -> None:
        """Make `root` and `links` all there is of the run."""
        self.root = root
        self.leaves: list[Occurrence] = []
        self._number_leaves()
        self.links = links
        self.incoming: list[list[Link]] = [[] for _ in self.leaves]
        self.outgoing: list[list[Link]] = [[] for _ in self.leaves]
        for link in links:
            self.outgoing[link.source.first].append(link)
            self.incoming[link.target.first].append(link)

    @cached_property
    def call_numbers(self) -> dict[int, tuple[int, int]]:
        """By call, which of its module's calls it is, from 1, and how many there are; recomputed ones do not count."""
        numbers: dict[int, tuple[int, int]] = {}
        for node in self.graph.modules:
            calls = [index for index in node.calls if _counts(self.graph.calls[index])]
            numbers.update({index: (number, len(calls)) for number, index in enumerate(calls, start=1)})
        return numbers

    def _number_leaves(self) -> None:
        for occurrence in preorder(self.root):
            occurrence.first = len(self.leaves)
            if occurrence.end is not None and not occurrence.children:
                self.leaves.append(occurrence)
                occurrence.past = len(self.leaves)
        for occurrence in reversed(list(preorder(self.root))):
            if occurrence.children:
                occurrence.past = max(child.past for child in occurrence.children)
            elif occurrence.end is None:
                occurrence.past = occurrence.first


def _counts(call: Call) -> bool:
    return not call.recomputed and call.observed is not False


def preorder(root: Occurrence) -> Iterator[Occurrence]:
    """`root` and everything below it, parents first; iterative, as trees may be thousands deep."""
    pending = [root]
    while pending:
        occurrence = pending.pop()
        yield occurrence
        pending.extend(reversed(occurrence.children))


class _Growth:
    """Builds the tree of one graph."""

    def __init__(self, index: GraphIndex, edges: tuple[Edge, ...]) -> None:
        self.index = index
        self.edges = edges
        self.links: list[Link] = []
        self.root = Occurrence(path="", parent=None)
        self.of_call: dict[int, Occurrence] = {}
        self.of_end: dict[str, Occurrence] = {}
        self.around: dict[tuple[int, str], Occurrence] = {}
        self.sources: dict[tuple[str, int | str], Occurrence] = {}
        self.aliases: dict[str, list[str]] = {}
        for node in index.graph.modules:
            if node.alias_of is not None:
                self.aliases.setdefault(node.alias_of, []).append(node.path)
        self._add_calls()
        self._add_operations()
        self._add_links()
        self._sort()
        self._add_uncalled()

    def _add_calls(self) -> None:
        recomputed: set[int] = set()
        for call in self.index.graph.calls:
            if call.recomputed or call.parent in recomputed:
                recomputed.add(call.index)
                continue
            if call.parent is None and call.module == "" and self.root.call is None:
                self.root.call = call
                self.of_call[call.index] = self.root
                if stands_for_itself(self.index, call.index):
                    self._lone_root(call)
                continue
            parent = self.root if call.parent is None else self.of_call[call.parent]
            path = self._name_at(call, parent)
            holder = self._holder(path, parent)
            leaf = self.index.is_leaf_call(call.index)
            occurrence = Occurrence(path=path, parent=holder, call=call, key=(call.index, 0, 1, 0))
            if leaf:
                occurrence.end = f"call:{call.index}"
                self.of_end[occurrence.end] = occurrence
            holder.children.append(occurrence)
            self.of_call[call.index] = occurrence

    def _lone_root(self, call: Call) -> None:
        """A model that is a single layer is drawn as that layer inside itself."""
        end = f"call:{call.index}"
        leaf = Occurrence(path="", parent=self.root, call=call, end=end, key=(call.index, 0, 1, 0))
        self.of_end[end] = leaf
        self.root.children.append(leaf)

    def _name_at(self, call: Call, parent: Occurrence) -> str:
        """The path by which the caller reaches the module: its own, or that of an alias inside the caller."""
        if self._is_below(call.module, parent.path):
            return call.module
        for alias in self.aliases.get(call.module, ()):
            if self._is_below(alias, parent.path):
                return alias
        return call.module

    def _is_below(self, path: str, ancestor: str) -> bool:
        at: str | None = path
        while at is not None:
            if at == ancestor:
                return True
            at = self.index.parents[at]
        return False

    def _holder(self, path: str, caller: Occurrence) -> Occurrence:
        """Where a call stands: in its caller, or in the uncalled containers between them."""
        between: list[str] = []
        at = self.index.parents[path]
        while at is not None and at != caller.path:
            between.append(at)
            at = self.index.parents[at]
        if at is None:
            return caller
        holder = caller
        for step in reversed(between):
            found = self.around.get((id(holder), step))
            if found is None:
                found = Occurrence(path=step, parent=holder)
                self.around[id(holder), step] = found
                holder.children.append(found)
            holder = found
        return holder

    def _add_operations(self) -> None:
        wanted = {end for edge in self.edges for end in (edge.producer, edge.consumer)}
        after = self._calls_before()
        for number, operation in enumerate(self.index.graph.operations):
            if operation.id not in wanted:
                continue
            parent = self.root if operation.call is None else self.of_call.get(operation.call)
            if parent is None:
                continue
            occurrence = Occurrence(
                path=parent.path,
                parent=parent,
                operation=operation,
                end=operation.id,
                key=(after[number], 1, 1, number),
            )
            parent.children.append(occurrence)
            self.of_end[operation.id] = occurrence

    def _calls_before(self) -> list[int]:
        """For each operation the last call that is known to have begun before it; -1 for none.

        Operations are in the order in which they ran, so what ran before an earlier one ran before a later one too.
        """
        before: list[int] = []
        of_operation: dict[str, int] = {}
        latest: dict[int | None, int] = {}
        for operation in self.index.graph.operations:
            reached = latest.get(operation.call, -1 if operation.call is None else operation.call)
            for edge in self.index.incoming.get(operation.id, ()):
                source = self.of_end.get(edge.producer)
                reached = max(reached, of_operation.get(edge.producer, -1), source.key[0] if source else -1)
            of_operation[operation.id] = latest[operation.call] = reached
            before.append(reached)
        return before

    def _add_links(self) -> None:
        doubted = in_doubt(self.index.graph.edges)
        read = {producer for producer, consumer in doubted if consumer not in self.of_end}  # through a view
        own = {(edge.producer, edge.consumer) for edge in self.index.graph.edges} if read else set()
        for edge in self.edges:
            target = self._target(edge)
            if target is None:
                continue
            source = self._source(edge, target)
            if source is not None:
                taken = edge.observed is not False
                way = (edge.producer, edge.consumer)
                self.links.append(
                    Link(
                        source=source,
                        target=target,
                        tensor=edge.tensor,
                        certain=edge.certain,
                        is_taken=taken,
                        in_doubt=way in doubted or (edge.producer in read and way not in own),
                        condition=edge.condition if edge.condition and edge.condition.line is not None else None,
                    )
                )

        for each in unknown_outputs(self.index.graph):  # no edge may lead there, and it is an output
            self._output(output_end(each.name))

    def _target(self, edge: Edge) -> Occurrence | None:
        is_output = edge.consumer.startswith("output:")
        return self._output(edge.consumer) if is_output else self.of_end.get(edge.consumer)

    def _output(self, end: str) -> Occurrence:
        target = self.of_end.get(end)
        if target is None:
            key = (len(self.index.graph.calls), 0, 0, len(self.of_end))
            target = Occurrence(path="", parent=self.root, end=end, key=key)
            self.root.children.append(target)
            self.of_end[end] = target
        return target

    def _source(self, edge: Edge, target: Occurrence) -> Occurrence | None:
        source = self.of_end.get(edge.producer)
        kind, _, name = edge.producer.partition(":")
        if source is not None or kind not in ("input", "param", "const"):
            return source
        if kind == "input":
            source = Occurrence(path="", parent=self.root, end=edge.producer, key=(-1, 0, 0, len(self.of_end)))
            self.root.children.append(source)
            self.of_end[edge.producer] = source
            return source
        # A parameter is shown beside each of its users and a constant once in each container that uses it, else they
        # would tie distant parts together. What is handed to a container stands before it.
        home, user = target.parent or self.root, target
        if kind == "param":
            home, user = self._where_held(name, target)
        place = edge.consumer if kind == "param" and user is target else id(home)
        source = self.sources.get((edge.producer, place))
        if source is None:
            path = name if kind == "param" else home.path
            key = (*_begin(user)[:2], 0, len(self.sources))
            source = Occurrence(path=path, parent=home, end=edge.producer, key=key)
            self.sources[edge.producer, place] = source
            home.children.append(source)
        return source

    def _where_held(self, name: str, target: Occurrence) -> tuple[Occurrence, Occurrence]:
        """The innermost container around `target` inside of which the module is that has a parameter, and what of that
        container is, or holds, `target`; beside `target` where its own call does not lie in such a one."""
        owner = name.rpartition(".")[0]
        home, user = target.parent or self.root, target
        while home.parent is not None and not self._is_below(owner, home.path):
            home, user = home.parent, home
        return home, user

    def _sort(self) -> None:
        """Children as they ran; containers that do not hold together are dissolved."""
        for occurrence in reversed(list(preorder(self.root))):
            if not occurrence.children:
                continue
            _dissolve_interrupted(occurrence)
            if occurrence is not self.root:
                occurrence.key = occurrence.children[0].key

    def _add_uncalled(self) -> None:
        """Modules without a call below them, at their place among their siblings."""
        at: dict[str, Occurrence] = {}
        for occurrence in preorder(self.root):
            if occurrence.is_module:
                at.setdefault(occurrence.path, occurrence)
        ran = bool(self.index.graph.calls)
        active = self._with_calls()
        previous: dict[str, str] = {}
        for node in self.index.graph.modules[1:]:
            parent_name = self.index.parents[node.path] or ""
            before = previous.get(parent_name)
            previous[parent_name] = node.path
            if node.path in at or node.class_name == "NoneType" or node.path in active:
                continue
            holder = self._nearest(parent_name, at, active)
            if holder is None or (ran and parent_name not in active and parent_name != ""):
                continue
            occurrence = Occurrence(path=node.path, parent=holder, key=holder.key)
            place = self._after(holder, at.get(before) if before is not None else None)
            holder.children.insert(place, occurrence)
            at[node.path] = occurrence

    def _with_calls(self) -> set[str]:
        active: set[str] = set()
        for node in self.index.graph.modules:
            if node.calls:
                step: str | None = node.path
                while step is not None and step not in active:
                    active.add(step)
                    step = self.index.parents[step]
        for occurrence in preorder(self.root):
            active.add(occurrence.path)
        return active

    def _nearest(self, path: str, at: dict[str, Occurrence], active: set[str]) -> Occurrence | None:
        """The box in which a module below `path` is shown; None inside a leaf call, which stands for all of it."""
        step: str | None = path
        while step is not None:
            found = at.get(step)
            if found is not None:
                return None if found.end is not None else found
            if step not in active:
                return None
            step = self.index.parents[step]
        return self.root

    @staticmethod
    def _after(holder: Occurrence, before: Occurrence | None) -> int:
        if before is not None and before.parent is holder:
            # Near the end, as a rule: what is added last was added after it.
            return next(i for i in range(len(holder.children), 0, -1) if holder.children[i - 1] is before)
        if before is None:
            return next((i for i, child in enumerate(holder.children) if child.is_module), len(holder.children))
        outputs = [i for i, child in enumerate(holder.children) if child.end and child.end.startswith("output:")]
        return outputs[0] if outputs else len(holder.children)


def _dissolve_interrupted(parent: Occurrence) -> None:
    """Sorts the children of `parent`; of an uncalled container that others interrupt, the children take its place."""
    while True:
        parent.children.sort(key=lambda child: child.key)
        broken = _interrupted(parent.children)
        if not broken:
            return
        kept: list[Occurrence] = []
        for child in parent.children:
            if child in broken:
                for grandchild in child.children:
                    grandchild.parent = parent
                kept.extend(child.children)
            else:
                kept.append(child)
        parent.children[:] = kept


def _interrupted(children: list[Occurrence]) -> set[Occurrence]:
    broken: set[Occurrence] = set()
    for child, following in itertools.pairwise(children):
        if child.call is None and child.end is None and following.key < _last_key(child):
            broken.add(child)
    return broken


def _begin(occurrence: Occurrence) -> Key:
    """When the first call or operation in it began, before anything is sorted."""
    pending, keys = [occurrence], []
    while pending:
        at = pending.pop()
        if at.call is None and at.operation is None and at.children:
            pending.extend(at.children)
        else:
            keys.append(at.key)
    return min(keys)


def _last_key(container: Occurrence) -> Key:
    """When the last call below an uncalled container began."""
    last = container.children[-1]
    while last.call is None and last.children:
        last = last.children[-1]
    return last.key
