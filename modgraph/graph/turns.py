"""Predicted calls and operations that stand for several of a run: the turns of a loop of which only one is predicted.

What ran in all turns is as the run has it. What did not run is put beside one turn: behind the last, of what it takes;
before the first, of what is made of it, or before the last where that would go back in the order of the run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from modgraph.graph.model import Call, Edge, Operation

MAX_PAIRS = 1_000_000
"""Ways in the turns of all loops together; of more, those of one turn are said to be predicted."""


def told_by_run(
    edges: Iterable[Edge], standing: Mapping[str, Sequence[str]], observed: Collection[tuple[str, str]]
) -> set[tuple[str, str]]:
    """Edges of the run that were predicted: of what stands for several turns, those inside of each turn, and those from
    and to what stands for one."""
    found: set[tuple[str, str]] = set()
    left = MAX_PAIRS
    for edge in edges:
        ones, others = (standing.get(end, (end,)) for end in (edge.producer, edge.consumer))
        if len(ones) > 1 and len(others) > 1:
            pairs = list(zip(ones, others, strict=True)) if len(ones) == len(others) else []
        else:
            pairs = [(one, other) for one in ones for other in others]
        left -= len(pairs)
        found.update(pair for pair in (pairs if left > 0 else pairs[:1]) if pair in observed)
    return found


class Order:
    """When each call and operation of a run happened, as far as the run tells: its edges stand in the order in which
    tensors were read, its calls and its operations each in the order in which they began."""

    def __init__(self, calls: Iterable[Call], operations: Iterable[Operation], edges: Iterable[Edge]) -> None:
        self._ranks: dict[str, float] = {}
        self._places: dict[str, int] = {}
        for rank, edge in enumerate(edges):
            self._ranks.setdefault(edge.consumer, rank)
        self._reading = frozenset(self._ranks)
        for ends in ([f"call:{call.index}" for call in calls], [each.id for each in operations]):
            earliest = -1.0
            for place, end in enumerate(ends):
                self._places[end] = place
                earliest = self._ranks.setdefault(end, earliest)  # what reads nothing has begun behind the one before

    def goes_on(self, producer: str, consumer: str) -> bool:
        """Whether the consumer does not begin before the producer, for all that is known."""
        one, other = self._places.get(producer), self._places.get(consumer)
        if one is not None and other is not None and producer.partition(":")[0] == consumer.partition(":")[0]:
            return one < other
        if consumer not in self._reading or producer not in self._ranks:
            return True
        return self._ranks[producer] < self._ranks[consumer]

    def put(self, end: str, behind: str) -> None:
        """Something that did not run stands behind what it takes."""
        rank = self._ranks.get(behind, -1.0)
        self._ranks[end] = max(self._ranks.get(end, rank), rank)
