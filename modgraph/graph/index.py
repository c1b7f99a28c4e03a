"""Parents, children, producers and consumers of a graph, computed once."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from functools import cached_property

from modgraph.graph.model import Call, Edge, Graph, ModuleNode, Operation


def parent_path(path: str, paths: Container[str]) -> str | None:
    """The longest of `paths` that `path` lies below; None for the root, path "".

    A path cannot be cut at its last dot: names may hold dots ("a.b" set by setattr) and the keys of a hidden dict too
    ("heads['a.b']"). So the parent is looked up among the paths there are.
    """
    if path == "":
        return None
    end = len(path)
    while (end := path.rfind(".", 0, end)) > 0:
        if path[:end] in paths:
            return path[:end]
    return ""


def parents_of(paths: Iterable[str]) -> dict[str, str | None]:
    """`parent_path` of each of the paths, among these: in time that goes with their lengths, however many dots they
    have."""
    parents: dict[str, str | None] = {}
    around: list[tuple[str, str]] = []
    for key, path in sorted((_key(path), path) for path in paths):
        while around and not key.startswith(around[-1][0]):
            around.pop()
        parents[path] = None if path == "" else around[-1][1] if around else ""
        if path:
            around.append((f"{key}\0", path))
    return parents


def _key(path: str) -> str:
    """By which what lies below a path comes right behind it: a dot is less than any other character."""
    return path.replace("\1", "\1\2").replace("\0", "\1\1").replace(".", "\0")


def name_below(path: str, parent: str) -> str:
    """`path` as seen from `parent`: name_below("layer1.0.conv", "layer1") == "0.conv"."""
    return path[len(parent) + 1 :] if parent else path


class GraphIndex:
    """Look-ups into one `Graph`. Make one per view and keep it; every table is built on first use."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @cached_property
    def modules(self) -> dict[str, ModuleNode]:
        return {node.path: node for node in self.graph.modules}

    @cached_property
    def parents(self) -> dict[str, str | None]:
        found = parents_of(self.modules)
        return {path: found[path] for path in self.modules}

    @cached_property
    def children(self) -> dict[str, tuple[ModuleNode, ...]]:
        children: dict[str, list[ModuleNode]] = {path: [] for path in self.modules}
        for path, parent in self.parents.items():
            if parent is not None:
                children[parent].append(self.modules[path])
        return {path: tuple(nodes) for path, nodes in children.items()}

    @cached_property
    def child_calls(self) -> dict[int | None, tuple[Call, ...]]:
        """Calls made directly inside a call; under None, those made inside no other."""
        inside: dict[int | None, list[Call]] = {None: []}
        for call in self.graph.calls:
            inside.setdefault(call.index, [])
            inside.setdefault(call.parent, []).append(call)
        return {index: tuple(calls) for index, calls in inside.items()}

    @cached_property
    def operations(self) -> dict[str, Operation]:
        return {operation.id: operation for operation in self.graph.operations}

    @cached_property
    def incoming(self) -> dict[str, tuple[Edge, ...]]:
        return _grouped((edge.consumer, edge) for edge in self.graph.edges)

    @cached_property
    def outgoing(self) -> dict[str, tuple[Edge, ...]]:
        return _grouped((edge.producer, edge) for edge in self.graph.edges)

    @cached_property
    def run_finished(self) -> bool:
        """Whether the model ran, or was followed, to its end."""
        outermost = self.child_calls[None]
        failed = any(call.error is not None for call in outermost)
        return bool(outermost) and not failed and not any(p.stage == "trace" for p in self.graph.problems)

    @cached_property
    def all_calls_told(self) -> bool:
        """Whether a module without calls is one that is never called: of a prediction nothing may be left open."""
        is_followed = self.graph.traced or not any(p.stage == "forward" for p in self.graph.problems)
        return self.run_finished and is_followed

    def is_leaf_call(self, index: int) -> bool:
        """Whether no other call began inside this one."""
        return not self.child_calls.get(index)

    def below(self, path: str) -> Iterator[ModuleNode]:
        """Every module below `path`, in the graph's order."""
        pending = list(reversed(self.children.get(path, ())))
        while pending:
            node = pending.pop()
            yield node
            pending.extend(reversed(self.children[node.path]))


def _grouped(pairs: Iterable[tuple[str, Edge]]) -> dict[str, tuple[Edge, ...]]:
    groups: dict[str, list[Edge]] = {}
    for key, edge in pairs:
        groups.setdefault(key, []).append(edge)
    return {key: tuple(edges) for key, edges in groups.items()}
