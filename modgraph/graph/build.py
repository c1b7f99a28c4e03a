"""`GraphBuilder`: mutable while a graph grows; `build()` puts it in order and checks every invariant once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any, TypeVar

from modgraph.graph.checks import check, require
from modgraph.graph.distributed import RankDifference
from modgraph.graph.index import parents_of
from modgraph.graph.measures import Profile, Verification
from modgraph.graph.model import (
    BackwardRecord,
    Call,
    CheckpointComparison,
    Edge,
    Finding,
    Gap,
    Graph,
    ModelInfo,
    ModuleNode,
    Operation,
    Problem,
    TensorInfo,
)
from modgraph.graph.stored import Stored
from modgraph.graph.suggestions import Suggestion

_Owned = TypeVar("_Owned", Call, BackwardRecord)


class GraphBuilder:
    """Collects the parts of a graph in any order of modules; lists may be edited freely until `build()`.

    Example:
        builder = GraphBuilder(ModelInfo(name="Net", class_name="model.Net", target="model.py:Net"))
        builder.modules.append(ModuleNode(path="", class_name="model.Net", predicted=True))
        graph = builder.build()
    """

    def __init__(self, model: ModelInfo) -> None:
        self.model = model
        self.modules: list[ModuleNode] = []
        self.calls: list[Call] = []
        self.operations: list[Operation] = []
        self.edges: list[Edge] = []
        self.gaps: list[Gap] = []
        self.backward: list[BackwardRecord] = []
        self.parameter_gradients: list[TensorInfo] = []
        self.findings: list[Finding] = []
        self.problems: list[Problem] = []
        self.checkpoint: CheckpointComparison | None = None
        self.verification: Verification | None = None
        self.profile: Profile | None = None
        self.stored: Stored | None = None
        self.rank_differences: list[RankDifference] = []
        self.suggestions: list[Suggestion] = []

    @classmethod
    def of(cls, graph: Graph) -> GraphBuilder:
        """A builder that holds all of `graph`."""
        builder = cls(graph.model)
        for part in fields(graph)[1:]:
            held = getattr(graph, part.name)
            setattr(builder, part.name, list(held) if isinstance(held, tuple) else held)
        return builder

    def build(self) -> Graph:
        """The graph, its modules in depth-first order (siblings as they were added).

        An instance under several paths is called after the first of them in that order, and so are its calls.

        Raises:
            GraphError: something names a module, call or operation that is not there, stands twice, or contradicts
                something else.
        """
        modules = depth_first(self.modules)
        _check_aliases(modules)
        renamed = _first_paths(modules)
        parts: dict[str, Any] = {part.name: getattr(self, part.name) for part in fields(Graph)}
        parts |= {
            "modules": _renamed_modules(modules, renamed),
            "calls": _renamed_owners(self.calls, renamed),
            "backward": _renamed_owners(self.backward, renamed),
        }
        graph = Graph(**{name: _frozen(held) for name, held in parts.items()})
        check(graph)
        return graph


def depth_first(nodes: Iterable[ModuleNode]) -> list[ModuleNode]:
    """The nodes, each directly followed by what lies below it; iterative, as trees may be thousands deep.

    Raises:
        GraphError: a path stands twice, or there is no root.
    """
    by_path: dict[str, ModuleNode] = {}
    for node in nodes:
        require(node.path not in by_path, f"module {node.path!r} stands twice")
        by_path[node.path] = node
    require("" in by_path, 'a graph needs a root, the module with path ""')
    children: dict[str, list[ModuleNode]] = {}
    parents = parents_of(by_path)
    for node in by_path.values():
        parent = parents[node.path]
        if parent is not None:
            children.setdefault(parent, []).append(node)
    ordered: list[ModuleNode] = []
    pending = [by_path[""]]
    while pending:
        node = pending.pop()
        ordered.append(node)
        pending.extend(reversed(children.get(node.path, ())))
    return ordered


def _check_aliases(modules: Iterable[ModuleNode]) -> None:
    aliases = {node.path: node.alias_of for node in modules}
    for path, first in aliases.items():
        if first is not None:
            require(first in aliases, f"{path!r} is an alias of {first!r}, which does not exist")
            require(aliases[first] is None, f"{path!r} is an alias of {first!r}, which is an alias itself")


def _first_paths(modules: Iterable[ModuleNode]) -> dict[str, str]:
    """The first path in order of each instance that is called after a later one.

    Whoever adds modules meets them in an order of its own (what is hidden comes last, but stands below its holder).
    """
    first: dict[str, str] = {}
    for node in modules:
        first.setdefault(_instance(node), node.path)
    return {named: path for named, path in first.items() if named != path}


def _instance(node: ModuleNode) -> str:
    return node.path if node.alias_of is None else node.alias_of


def _frozen(held: Any) -> Any:
    return tuple(held) if isinstance(held, list) else held


def _renamed_owners(records: list[_Owned], renamed: dict[str, str]) -> list[_Owned]:
    return [replace(each, module=renamed[each.module]) if each.module in renamed else each for each in records]


def _renamed_modules(modules: list[ModuleNode], renamed: dict[str, str]) -> list[ModuleNode]:
    if not renamed:
        return modules
    moved = {renamed[node.path]: node.calls for node in modules if node.path in renamed}
    named = []
    for node in modules:
        first = renamed.get(_instance(node), _instance(node))
        calls = () if node.path in renamed else tuple(sorted((*node.calls, *moved.get(node.path, ()))))
        named.append(replace(node, alias_of=None if first == node.path else first, calls=calls))
    return named
