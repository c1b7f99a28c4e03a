"""`GraphBuilder`: mutable while a graph grows; `build()` checks every invariant once."""

from __future__ import annotations

from collections.abc import Iterable

from modgraph.errors import GraphError
from modgraph.graph.index import parent_path
from modgraph.graph.model import (
    BackwardRecord,
    Call,
    Edge,
    Finding,
    Gap,
    Graph,
    ModelInfo,
    ModuleNode,
    Operation,
    Problem,
)


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
        self.findings: list[Finding] = []
        self.problems: list[Problem] = []

    @classmethod
    def of(cls, graph: Graph) -> GraphBuilder:
        """A builder that holds all of `graph`."""
        builder = cls(graph.model)
        builder.modules.extend(graph.modules)
        builder.calls.extend(graph.calls)
        builder.operations.extend(graph.operations)
        builder.edges.extend(graph.edges)
        builder.gaps.extend(graph.gaps)
        builder.backward.extend(graph.backward)
        builder.findings.extend(graph.findings)
        builder.problems.extend(graph.problems)
        return builder

    def build(self) -> Graph:
        """The graph, its modules in depth-first order (siblings as they were added).

        Raises:
            GraphError: something names a module, call or operation that is not there, or stands twice.
        """
        modules = _depth_first(self.modules)
        paths = {node.path for node in modules}
        _check_modules(modules, paths, len(self.calls))
        _check_calls(self.calls, modules, paths)
        ends = _check_operations(self.operations, len(self.calls))
        _check_edges(self.edges, ends, len(self.calls))
        for record in self.backward:
            _require(record.module in paths, f"backward names module {record.module!r}, which does not exist")
        for problem in self.problems:
            _require(
                problem.module is None or problem.module in paths,
                f"a problem names module {problem.module!r}, which does not exist",
            )
        return Graph(
            model=self.model,
            modules=tuple(modules),
            calls=tuple(self.calls),
            operations=tuple(self.operations),
            edges=tuple(self.edges),
            gaps=tuple(self.gaps),
            backward=tuple(self.backward),
            findings=tuple(self.findings),
            problems=tuple(self.problems),
        )


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise GraphError(otherwise)


def _depth_first(nodes: Iterable[ModuleNode]) -> list[ModuleNode]:
    """The nodes, each directly followed by what lies below it; iterative, as trees may be thousands deep."""
    by_path: dict[str, ModuleNode] = {}
    for node in nodes:
        _require(node.path not in by_path, f"module {node.path!r} stands twice")
        by_path[node.path] = node
    _require("" in by_path, 'a graph needs a root, the module with path ""')
    children: dict[str, list[ModuleNode]] = {}
    for node in by_path.values():
        parent = parent_path(node.path, by_path)
        if parent is not None:
            children.setdefault(parent, []).append(node)
    ordered: list[ModuleNode] = []
    pending = [by_path[""]]
    while pending:
        node = pending.pop()
        ordered.append(node)
        pending.extend(reversed(children.get(node.path, ())))
    return ordered


def _check_modules(modules: list[ModuleNode], paths: set[str], n_calls: int) -> None:
    seen: set[str] = set()
    for node in modules:
        if node.alias_of is not None:
            _require(node.alias_of in paths, f"{node.path!r} is an alias of {node.alias_of!r}, which does not exist")
            _require(node.alias_of in seen, f"{node.path!r} is an alias of {node.alias_of!r}, which comes after it")
        for index in node.calls:
            _require(0 <= index < n_calls, f"module {node.path!r} names call {index}, of {n_calls}")
        seen.add(node.path)


def _check_calls(calls: list[Call], modules: list[ModuleNode], paths: set[str]) -> None:
    for position, call in enumerate(calls):
        _require(call.index == position, f"call {call.index} stands at position {position}")
        _require(call.module in paths, f"call {call.index} names module {call.module!r}, which does not exist")
        _require(
            call.parent is None or 0 <= call.parent < position,
            f"call {call.index} names call {call.parent} as its parent, which did not begin before it",
        )
    listed = {(node.path, index) for node in modules for index in node.calls}
    made = {(call.module, call.index) for call in calls}
    for path, index in sorted(listed ^ made):
        raise GraphError(f"module {path!r} and call {index} do not agree on whether the call was the module's")


def _check_operations(operations: list[Operation], n_calls: int) -> set[str]:
    ids: set[str] = set()
    for operation in operations:
        _require(operation.id not in ids, f"operation {operation.id} stands twice")
        _require(
            operation.call is None or 0 <= operation.call < n_calls,
            f"operation {operation.id} names call {operation.call}, of {n_calls}",
        )
        ids.add(operation.id)
    return ids


def _check_edges(edges: list[Edge], operations: set[str], n_calls: int) -> None:
    for edge in edges:
        for end, kinds in ((edge.producer, _PRODUCERS), (edge.consumer, _CONSUMERS)):
            kind, _, rest = end.partition(":")
            _require(kind in kinds and rest != "", f"{end!r} is no end of an edge")
            if kind == "call":
                _require(rest.isdecimal() and int(rest) < n_calls, f"an edge ends at {end!r}, of {n_calls} calls")
            elif kind == "op":
                _require(end in operations, f"an edge ends at {end!r}, which does not exist")


_PRODUCERS = frozenset({"call", "op", "input", "param", "const"})
_CONSUMERS = frozenset({"call", "op", "output"})
