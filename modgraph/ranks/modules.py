"""The modules of all processes, each once, and what of them is not the same in all."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from modgraph.graph.distributed import RankDifference
from modgraph.graph.model import BufferInfo, Graph, ModuleNode, ParameterInfo
from modgraph.graph.paths import parameter_path
from modgraph.ranks.alignment import Alignment, Rows, merged_sharding, shape_text
from modgraph.ranks.words import on_ranks, spoken

Tensor = TypeVar("Tensor", ParameterInfo, BufferInfo)


def merged_modules(graphs: Sequence[Graph], aligned: Alignment) -> tuple[list[ModuleNode], list[RankDifference]]:
    """The modules in the order of the first process, and behind what they follow those that others have."""
    rows: Rows[ModuleNode] = Rows()
    for process, graph in enumerate(graphs):
        rows.lay(process, graph.modules, _path, lambda *_: None)
    merging = _Merging(graphs, aligned)
    nodes = [merging.node(rows.slots[slot]) for slot in rows.order]
    return _settled(nodes), merging.differences


def _settled(nodes: Sequence[ModuleNode]) -> list[ModuleNode]:
    """Modules and tensors that are the same as something that is there, and is no alias itself; else by themselves."""
    modules = {node.path: node.alias_of for node in nodes}
    tensors: dict[str, str | None] = {}
    for node in nodes:
        held: tuple[ParameterInfo | BufferInfo, ...] = (*node.parameters, *node.buffers)
        for tensor in held:
            path = parameter_path(node.path, tensor.name)
            tensors[path] = None if tensors.get(path, tensor.alias_of) is None else tensor.alias_of
    return [
        replace(
            node,
            alias_of=_first(node.alias_of, modules),
            parameters=tuple(replace(one, alias_of=_first(one.alias_of, tensors)) for one in node.parameters),
            buffers=tuple(replace(one, alias_of=_first(one.alias_of, tensors)) for one in node.buffers),
        )
        for node in nodes
    ]


def _first(alias: str | None, aliases: Mapping[str, str | None]) -> str | None:
    """What stands for itself at the end of a row of aliases; None where there is nothing."""
    followed: set[str] = set()
    while alias is not None and alias in aliases and alias not in followed:
        if aliases[alias] is None:
            return alias
        followed.add(alias)
        alias = aliases[alias]
    return None


def _path(node: ModuleNode) -> Hashable:
    return node.path


class _Merging:
    def __init__(self, graphs: Sequence[Graph], aligned: Alignment) -> None:
        self._graphs, self._aligned = graphs, aligned
        self._absent: set[str] = set()
        self.differences: list[RankDifference] = []

    def node(self, found: dict[int, ModuleNode]) -> ModuleNode:
        """One module of all processes that have it; a name that holds None in some is the module of the others."""
        there = {one: node for one, node in found.items() if _is_there(node)} or found
        first = next(iter(there.values()))
        self._compare(first.path, there)
        members = self._aligned.members
        calls = {members[one].calls[call] for one, node in found.items() for call in node.calls}
        return replace(
            first,
            predicted=_any([node.predicted for node in found.values()]),
            observed=_any([node.observed for node in found.values()]),
            calls=tuple(sorted(calls)),
            ranks=self._callers(found),
            repeat=None,
            parameters=self._tensors(first.path, "parameter", {one: node.parameters for one, node in there.items()}),
            buffers=self._tensors(first.path, "buffer", {one: node.buffers for one, node in there.items()}),
        )

    def _callers(self, found: dict[int, ModuleNode]) -> tuple[int, ...]:
        ranks: list[int] = []
        for one, node in found.items():
            ranks += node.ranks if node.ranks is not None else self._graphs[one].model.ranks if node.calls else ()
        return tuple(sorted(ranks))

    def _compare(self, path: str, there: dict[int, ModuleNode]) -> None:
        ranks = self._ranks(there)
        if len(ranks) < len(self._aligned.world):
            if not any(path.startswith(f"{above}.") for above in self._absent):
                self._say(path, f"is there {on_ranks(ranks)} alone")
            self._absent.add(path)
        classes = self._by_rank({one: node.class_name or "of an unknown class" for one, node in there.items()})
        if len(set(classes.values())) > 1:
            self._say(path, f"is {spoken(classes)}")
        same = self._by_rank(
            {one: f"the same as {node.alias_of}" if node.alias_of else "one by itself" for one, node in there.items()}
        )
        if len(set(same.values())) > 1:
            self._say(path, f"is {spoken(same)}")
        counts = {
            rank: _times(sum(rank in (graph.calls[call].ranks or graph.model.ranks) for call in node.calls))
            for one, node in there.items()
            for graph in (self._graphs[one],)
            for rank in graph.model.ranks
        }
        if len(set(counts.values())) > 1:
            self._say(path, f"is called {spoken(counts)}")

    def _tensors(self, path: str, kind: str, found: dict[int, tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
        by_name: dict[str, dict[int, Tensor]] = {}
        for one, tensors in found.items():
            for tensor in tensors:
                by_name.setdefault(tensor.name, {})[one] = tensor
        merged = []
        for name, held in by_name.items():
            if len(held) < len(found):
                self._say(path, f"has {kind} {name} {on_ranks(self._ranks(held))} alone")
            shapes = self._by_rank({one: shape_text(tensor.shape) for one, tensor in held.items()})
            if len(set(shapes.values())) > 1:
                self._say(path, f"has {kind} {name} of shape {spoken(shapes)}")
            sharding = merged_sharding([tensor.sharding for tensor in held.values()])
            merged.append(replace(next(iter(held.values())), sharding=sharding))
        return tuple(merged)

    def _ranks(self, found: Iterable[int]) -> list[int]:
        return sorted(rank for one in found for rank in self._graphs[one].model.ranks)

    def _by_rank(self, texts: dict[int, str]) -> dict[int, str]:
        return {rank: text for one, text in texts.items() for rank in self._graphs[one].model.ranks}

    def _say(self, path: str, message: str) -> None:
        self.differences.append(RankDifference(module=path, message=message))


def _is_there(node: ModuleNode) -> bool:
    return node.class_name != "NoneType" and node.observed is not False


def _any(answers: Sequence[bool | None]) -> bool | None:
    return None if None in answers else any(answers)


def _times(count: int) -> str:
    return "never" if count == 0 else "once" if count == 1 else f"{count} times"
