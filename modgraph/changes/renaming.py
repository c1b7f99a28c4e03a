"""Modules without anything of their own, such as a pooling layer, that are called by another name now: known again by
what they are and by where they stand in the flow of data. Where two of one side are the same in both, nobody can tell
which is which, and none is taken for the other.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from modgraph.changes.places import place_in_operation
from modgraph.changes.trees import Tree
from modgraph.graph.dataflow import operation_word
from modgraph.graph.model import Edge

Around = tuple[Hashable, ...]
"""What leads into a module and out of it, in words that are the same on both sides."""


def renamed_in_flow(old: Tree, new: Tree, to_new: Mapping[str, str]) -> list[tuple[str, str]]:
    """Pairs of modules in one parent that are equal in all but their names, with the same neighbours in the flow."""
    to_old = {new_path: path for path, new_path in to_new.items()}
    lone = _lone(old, to_new), _lone(new, to_old)
    if not all(lone):
        return []
    flows = (
        _Flow(old, {path: to_new.get(path) for path in old.nodes}, lone[0]),
        _Flow(new, {path: path if path in to_old else None for path in new.nodes}, lone[1]),
    )
    homes: tuple[dict[Hashable, list[str]], dict[Hashable, list[str]]] = ({}, {})
    for path in lone[0]:
        home = to_new[old.parents[path]], old.prints[path], flows[0].around(path)
        homes[0].setdefault(home, []).append(path)
    for path in lone[1]:
        home = new.parents[path], new.prints[path], flows[1].around(path)
        homes[1].setdefault(home, []).append(path)
    return [
        (paths[0], homes[1][home][0])
        for home, paths in homes[0].items()
        if len(paths) == 1 and len(homes[1].get(home, ())) == 1
    ]


def _lone(tree: Tree, pairs: Mapping[str, str]) -> list[str]:
    """The outermost modules of known class that the other side has not, and that are called."""
    return [
        path
        for path, node in tree.nodes.items()
        if path not in pairs
        and tree.parents[path] in pairs
        and node.class_name not in (None, "NoneType")
        and any(tree.nodes[inner].calls for inner in (path, *tree.below(path)))
    ]


class _Flow:
    """The edges that cross the border of one of the modules `lone`.

    Args:
        names: each module as the new graph calls it; None of one that is on this side alone.
    """

    def __init__(self, tree: Tree, names: Mapping[str, str | None], lone: Iterable[str]) -> None:
        self.tree = tree
        self.names = names
        self.operations = {each.id: each for each in tree.graph.operations}
        self.homes = {inner: path for path in lone for inner in (path, *tree.below(path))}
        self.crossing: dict[str, list[Hashable]] = {}
        for edge in tree.graph.edges:
            ends = self._home(edge.producer), self._home(edge.consumer)
            if ends[0] == ends[1]:
                continue
            if ends[0] is not None:
                self.crossing.setdefault(ends[0], []).append(("to", self._label(edge.consumer), self._place(edge)))
            if ends[1] is not None:
                self.crossing.setdefault(ends[1], []).append(("from", self._label(edge.producer), edge.tensor.name))

    def around(self, path: str) -> Around:
        """What crosses the border of one of them, in no order of its own."""
        return tuple(sorted(self.crossing.get(path, ()), key=repr))

    def _home(self, end: str) -> str | None:
        module = self._module(end)
        return None if module is None else self.homes.get(module)

    def _module(self, end: str) -> str | None:
        kind, _, name = end.partition(":")
        number = int(name) if kind == "call" else self.operations[end].call if kind == "op" else None
        return None if number is None else self.tree.graph.calls[number].module

    def _label(self, end: str) -> Hashable:
        """What an end of an edge is, whatever it is called."""
        kind, _, name = end.partition(":")
        module = self._module(end)
        word = operation_word(self.operations[end].name) if kind == "op" else ""
        if module is None:
            return kind, word or ("" if kind == "const" else name)
        known = self.names.get(module)
        what: Hashable = ("is", known) if known is not None else ("like", self.tree.prints.get(module))
        return kind, what, word

    def _place(self, edge: Edge) -> str:
        """Where an operation or module takes it."""
        operation = self.operations.get(edge.consumer)
        return edge.tensor.name if operation is None else place_in_operation(operation.name, edge.tensor.name)
