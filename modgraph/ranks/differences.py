"""What was not the same in all processes: told once, with what each process has.

A graph that was merged before says with its differences what each of its processes has, so that merging it with others
tells the same as merging all at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from modgraph.graph.distributed import RankDifference, RankValue
from modgraph.graph.model import Graph
from modgraph.ranks.words import spoken

Key = tuple[str, str]
"""A module's path, and what of it."""


class Differences:
    """Collects differences of several graphs; of one module and matter, the first."""

    def __init__(self, graphs: Sequence[Graph]) -> None:
        self._ranks = [graph.model.ranks for graph in graphs]
        self._told: list[dict[Key, dict[int, str]]] = [
            {(one.module, one.about): _by_rank(one) for one in graph.rank_differences} for graph in graphs
        ]
        self.found: dict[Key, RankDifference] = {}

    def by_rank(self, module: str, about: str, texts: Mapping[int, str]) -> dict[int, str]:
        """What each rank has, from what each graph has, by its position."""
        values: dict[int, str] = {}
        for process, text in texts.items():
            told = self._told[process].get((module, about)) if about else None
            values.update(told or dict.fromkeys(self._ranks[process], text))
        return dict(sorted(values.items()))

    def compare(self, module: str, about: str, texts: Mapping[int, str], verb: str) -> bool:
        """Tell what the graphs at these positions have, if that differs, and whether it does."""
        values = self.by_rank(module, about, texts)
        return self.tell(module, about, values, f"{verb} {spoken(values)}")

    def tell(self, module: str, about: str, values: Mapping[int, str], message: str) -> bool:
        """Tell what these ranks have, in these words, if that differs, and whether it does."""
        if len(set(values.values())) < 2:
            return False
        told = tuple(RankValue(rank=rank, text=text) for rank, text in sorted(values.items()))
        difference = RankDifference(module=module, message=message, about=about, values=told)
        self.found.setdefault((module, about), difference)
        return True


def _by_rank(one: RankDifference) -> dict[int, str]:
    return {value.rank: value.text for value in one.values}


def all_differences(graphs: Sequence[Graph], *found: Differences) -> list[RankDifference]:
    """Each once: those of merged graphs that are not told anew, with more processes, and the new ones."""
    new = {key: difference for each in found for key, difference in each.found.items()}
    known = [one for graph in graphs for one in graph.rank_differences]
    kept = [one for one in known if not one.about or (one.module, one.about) not in new]
    return list(dict.fromkeys([*kept, *new.values()]))
