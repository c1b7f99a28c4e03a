"""The modules of all processes, each once, and what of them is not the same in all."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from modgraph.graph.codec import encode
from modgraph.graph.index import GraphIndex, name_below
from modgraph.graph.model import BufferInfo, Graph, ModuleNode, ParameterInfo
from modgraph.graph.paths import is_below, parameter_path
from modgraph.graph.sizes import sizes_text
from modgraph.ranks.alignment import Alignment, Rows, merged_sharding
from modgraph.ranks.differences import Differences
from modgraph.ranks.words import on_ranks, spoken

_MOST_NAMES = 5
"""Of children in another order, from the first of them on."""
Tensor = TypeVar("Tensor", ParameterInfo, BufferInfo)


def merged_modules(graphs: Sequence[Graph], aligned: Alignment) -> tuple[list[ModuleNode], Differences]:
    """The modules in the order of the first process, and behind what they follow those that others have."""
    rows: Rows[ModuleNode] = Rows()
    for process, graph in enumerate(graphs):
        rows.lay(process, graph.modules, _path, lambda *_: None)
    merging = _Merging(graphs, aligned)
    nodes = [merging.node(rows.slots[slot]) for slot in rows.order]
    merging.compare_order()
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
        self.differences = Differences(graphs)

    def node(self, found: dict[int, ModuleNode]) -> ModuleNode:
        """One module of all processes that have it; a name that holds None in some is the module of the others."""
        there = {one: node for one, node in found.items() if _is_there(node)} or found
        first = next(iter(there.values()))
        self._compare(first.path, there)
        holding = {one: node for one, node in found.items() if one in there or node.parameters or node.buffers}
        members = self._aligned.members
        calls = {members[one].calls[call] for one, node in found.items() for call in node.calls}
        return replace(
            first,
            predicted=_any([node.predicted for node in found.values()]),
            observed=_any([node.observed for node in found.values()]),
            calls=tuple(sorted(calls)),
            ranks=self._callers(found),
            repeat=None,
            parameters=self._tensors(first.path, "parameter", {one: node.parameters for one, node in holding.items()}),
            buffers=self._tensors(first.path, "buffer", {one: node.buffers for one, node in holding.items()}),
        )

    def _callers(self, found: dict[int, ModuleNode]) -> tuple[int, ...]:
        ranks: list[int] = []
        for one, node in found.items():
            ranks += node.ranks if node.ranks is not None else self._graphs[one].model.ranks if node.calls else ()
        return tuple(sorted(ranks))

    def _compare(self, path: str, there: dict[int, ModuleNode]) -> None:
        texts = {one: "there" if one in there else "not there" for one in range(len(self._graphs))}
        values = self.differences.by_rank(path, "presence", texts)
        ranks = [rank for rank, text in values.items() if text == "there"]
        if len(ranks) < len(self._aligned.world):
            if not is_below(path, self._absent):
                self.differences.tell(path, "presence", values, f"is there {on_ranks(ranks)} alone")
            self._absent.add(path)
        classes = {one: node.class_name or "of an unknown class" for one, node in there.items()}
        self._say(path, "class", classes, "is")
        same = {
            one: f"the same as {node.alias_of}" if node.alias_of else "one by itself" for one, node in there.items()
        }
        self._say(path, "identity", same, "is")
        registered = {one: "registered" if node.registered else "hidden" for one, node in there.items()}
        self._say(path, "registration", registered, "is")
        self._compare_arguments(path, there)
        counts = {
            rank: _times(sum(rank in (graph.calls[call].ranks or graph.model.ranks) for call in node.calls))
            for one, node in there.items()
            for graph in (self._graphs[one],)
            for rank in graph.model.ranks
            if rank in ranks
        }
        self.differences.tell(path, "calls", counts, f"is called {spoken(counts)}")

    def _compare_arguments(self, path: str, there: dict[int, ModuleNode]) -> None:
        unknown = {name for node in there.values() for name in node.unknown_arguments}
        if len({node.class_name for node in there.values()}) > 1:
            return
        for name in dict.fromkeys(name for node in there.values() for name in node.arguments):
            if name not in unknown:
                values = {one: _argument(node, name) for one, node in there.items()}
                self._say(path, f"argument {name}", values, f"has argument {name}")

    def _tensors(self, path: str, kind: str, found: dict[int, tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
        by_name: dict[str, dict[int, Tensor]] = {}
        for one, tensors in found.items():
            for tensor in tensors:
                by_name.setdefault(tensor.name, {})[one] = tensor
        merged = []
        for name, held in by_name.items():
            self._compare_tensor(path, f"{kind} {name}", held, found)
            sharding = merged_sharding([tensor.sharding for tensor in held.values()])
            merged.append(replace(next(iter(held.values())), sharding=sharding))
        return tuple(merged)

    def _compare_tensor(self, path: str, name: str, held: dict[int, Tensor], among: Iterable[int]) -> None:
        texts = {one: "there" if one in held else "not there" for one in among}
        values = self.differences.by_rank(path, name, texts)
        ranks = [rank for rank, text in values.items() if text == "there"]
        self.differences.tell(path, name, values, f"has {name} {on_ranks(ranks)} alone")
        for about, verb, of in _TENSOR_FACTS:
            facts = {one: text for one, tensor in held.items() if (text := of(tensor)) is not None}
            self._say(path, f"{about} of {name}", facts, f"has {name} {verb}".rstrip())

    def compare_order(self) -> None:
        """Children that are registered in another order, of those that all have: that of parameters is another too."""
        orders = [_children(graph) for graph in self._graphs]
        for parent in orders[0]:
            all_rows = [order.get(parent, []) for order in orders]
            shared = set(all_rows[0]).intersection(*all_rows[1:])
            rows = [[name for name in row if name in shared] for row in all_rows]
            unlike = next((place for place, names in enumerate(zip(*rows, strict=True)) if len(set(names)) > 1), 0)
            texts = {one: ", ".join(row[unlike : unlike + _MOST_NAMES]) for one, row in enumerate(rows)}
            self._say(parent, "order", texts, "registers in the order")

    def _say(self, path: str, about: str, texts: Mapping[int, str], verb: str) -> None:
        self.differences.compare(path, about, texts, verb)


def _shape(tensor: ParameterInfo | BufferInfo) -> str:
    return sizes_text(tensor.shape)


def _dtype(tensor: ParameterInfo | BufferInfo) -> str | None:
    return tensor.dtype


def _flag(tensor: ParameterInfo | BufferInfo) -> str | None:
    if isinstance(tensor, ParameterInfo):
        return None if tensor.trainable is None else "trained" if tensor.trainable else "frozen"
    saved = {None: None, True: "in the state dict", False: "not in the state dict"}
    return saved[tensor.persistent]


def _tie(tensor: ParameterInfo | BufferInfo) -> str:
    return f"tied to {tensor.alias_of}" if tensor.alias_of else "by itself"


_TENSOR_FACTS: tuple[tuple[str, str, Callable[[ParameterInfo | BufferInfo], str | None]], ...] = (
    ("shape", "of shape", _shape),
    ("dtype", "of dtype", _dtype),
    ("use", "", _flag),
    ("tie", "", _tie),
)
"""What is compared of a tensor, and the words before what it is; None where that is not known."""


def _argument(node: ModuleNode, name: str) -> str:
    if name not in node.arguments:
        return "at its default"
    return json.dumps(encode(node.arguments[name]), sort_keys=True, default=str)


def _children(graph: Graph) -> dict[str, list[str]]:
    """The names of each module's children, in order."""
    parents = GraphIndex(graph).parents
    found: dict[str, list[str]] = {}
    for node in graph.modules:
        parent = parents[node.path]
        if parent is not None and _is_there(node):
            found.setdefault(parent, []).append(name_below(node.path, parent))
    return found


def _is_there(node: ModuleNode) -> bool:
    return node.class_name != "NoneType" and node.observed is not False


def _any(answers: Sequence[bool | None]) -> bool | None:
    return None if None in answers else any(answers)


def _times(count: int) -> str:
    return "never" if count == 0 else "once" if count == 1 else f"{count} times"
