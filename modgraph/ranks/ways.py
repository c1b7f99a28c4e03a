"""Ways of data that are not the same in all processes, though what they lead from and to is."""

from __future__ import annotations

from collections.abc import Sequence

from modgraph.graph.model import Call, Edge, Operation
from modgraph.ranks.differences import Differences
from modgraph.ranks.words import on_ranks


class Ways:
    """Compares the edges of a merged graph.

    Args:
        world: the ranks of all processes.
    """

    def __init__(
        self, calls: Sequence[Call], operations: Sequence[Operation], edges: Sequence[Edge], world: tuple[int, ...]
    ) -> None:
        self._calls = calls
        self._operations = {one.id: one for one in operations}
        self._edges = edges
        self._world = world

    def compare(self, differences: Differences) -> None:
        """Tell of each module the first way in it that only some processes have.

        Where something was called in some of them alone, that is told, and not which ways follow from it.
        """
        follows = {edge.consumer for edge in self._edges if not self._is_everywhere(edge.producer)}
        follows |= {edge.producer for edge in self._edges if not self._is_everywhere(edge.consumer)}
        for edge in self._edges:
            ends = (edge.producer, edge.consumer)
            if edge.ranks and all(self._is_everywhere(end) for end in ends) and not follows & set(ends):
                values = {rank: "has it" if rank in edge.ranks else "has it not" for rank in self._world}
                words = f"passes {self._words(edge.producer)} to {self._words(edge.consumer)}{self._place(edge)}"
                said = f"{words} {on_ranks(edge.ranks)} alone"
                differences.tell(self._holder(edge.consumer), "dataflow", values, said)

    def _is_everywhere(self, end: str) -> bool:
        kind, _, name = end.partition(":")
        if kind == "call":
            return not self._calls[int(name)].ranks
        return kind != "op" or not self._operations[end].ranks

    def _holder(self, end: str) -> str:
        """The module in which it is called."""
        kind, _, name = end.partition(":")
        index = self._calls[int(name)].parent if kind == "call" else None
        if kind == "op":
            index = self._operations[end].call
        return "" if index is None else self._calls[index].module

    def _words(self, end: str) -> str:
        kind, _, name = end.partition(":")
        if kind == "call":
            return self._calls[int(name)].module or "the model"
        return self._operations[end].name if kind == "op" else "a constant" if kind == "const" else f"{kind} {name}"

    @staticmethod
    def _place(edge: Edge) -> str:
        return f" as {edge.tensor.name}" if edge.tensor.name and not edge.consumer.startswith("output:") else ""
