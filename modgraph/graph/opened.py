"""Calls of a run that made no other, and may have made one: where data went inside.

Of a call that made no other a run tells what came in and what went out. What may have been called inside can only be
put there where the ways between are known: those that the prediction has, as far as the run leaves one of them alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import Edge

Told = tuple[Edge, str, str]
"""A predicted edge, and its ends in the run."""


def open_call(builder: GraphBuilder, call: int, told: Sequence[Told], read: Collection[str]) -> bool:
    """Puts the ways inside the call in the place of those to and from it; False where they are not all known.

    Args:
        told: the predicted edges of which both ends are in the run.
        read: what the prediction says is read inside by what did not run.
    """
    edges = _Inside(builder, call, told, read).edges()
    if edges is None:
        return False
    builder.edges = edges
    return True


@dataclass(slots=True)
class _Inside:
    builder: GraphBuilder
    call: int
    told: Sequence[Told]
    read: Collection[str]

    def edges(self) -> list[Edge] | None:
        """All of the graph; None where the run, or the prediction, leaves open what is there instead."""
        name = f"call:{self.call}"
        own = {each.id for each in self.builder.operations if each.call == self.call}
        coming = {edge.producer: edge for edge in self.builder.edges if edge.consumer == name}
        leaving = [edge for edge in self.builder.edges if edge.producer == name]
        between = {
            (edge.consumer, edge.tensor.name): edge
            for edge in self.builder.edges
            if edge.consumer in own and edge.producer != name
        }
        ways = self._ways(own, {edge.consumer for edge in leaving})
        past = {(edge.producer, edge.consumer) for edge in self.builder.edges}
        known = {one for _, one, other in self.told if (one, other) in past or other in own}
        if not coming.keys() <= known.union(self.read, (one for found in ways.values() for _, one in found)):
            return None
        made: dict[tuple[str, str | None], Edge] = {}
        for place, found in ways.items():
            if place[0] not in own or place in between:
                continue
            if len(found) != 1:
                return None
            edge, producer = found[0]
            made[place] = self._edge(edge, producer, place[0], coming.get(producer))
        instead: dict[tuple[str, str | None], Edge] = {}
        for edge in leaving:
            found = ways.get((edge.consumer, edge.tensor.name), [])
            if len(found) != 1 or not self._may_leave(edge, found[0][1], own, coming):
                return None
            output = found[0][0].output
            instead[edge.consumer, edge.tensor.name] = replace(
                edge, producer=found[0][1], output=output, made_by=None, or_from=(), predicted=True
            )
        return list(self._in_order(name, own, made, instead))

    def _ways(
        self, own: Collection[str], behind: Collection[str]
    ) -> dict[tuple[str, str | None], list[tuple[Edge, str]]]:
        """By where data goes, from where it may come."""
        found: dict[tuple[str, str | None], dict[str, Edge]] = {}
        for edge, producer, consumer in self.told:
            if consumer in own or consumer in behind:
                found.setdefault((consumer, edge.tensor.name), {}).setdefault(producer, edge)
        return {place: [(edge, one) for one, edge in edges.items()] for place, edges in found.items()}

    @staticmethod
    def _may_leave(edge: Edge, producer: str, own: Collection[str], coming: Mapping[str, Edge]) -> bool:
        """The run says that it came from the call: it was made inside, or came in."""
        return not edge.or_others and (producer in own or producer in coming or producer in edge.or_from)

    @staticmethod
    def _edge(edge: Edge, producer: str, consumer: str, coming: Edge | None) -> Edge:
        tensor = edge.tensor if coming is None else replace(coming.tensor, name=edge.tensor.name)
        return replace(
            edge,
            producer=producer,
            consumer=consumer,
            tensor=tensor,
            output=edge.output if coming is None else coming.output,
            made_by=None if coming is None else coming.made_by,
            predicted=True,
            observed=True,
            certain=True,
            condition=None,
        )

    def _in_order(
        self,
        name: str,
        own: Collection[str],
        made: Mapping[tuple[str, str | None], Edge],
        instead: Mapping[tuple[str, str | None], Edge],
    ) -> Iterator[Edge]:
        """Each operation reads what was made inside behind what has come from outside."""
        rest = dict(made)
        ranks = {each.id: rank for rank, each in enumerate(self.builder.operations)}

        def until(rank: int) -> Iterator[Edge]:
            for place in sorted(rest, key=lambda place: ranks[place[0]]):
                if ranks[place[0]] <= rank:
                    yield rest.pop(place)

        for edge in self.builder.edges:
            if edge.consumer == name:
                continue
            if edge.producer == name:
                yield from until(len(ranks))
                yield instead[edge.consumer, edge.tensor.name]
                continue
            if edge.consumer in own:
                yield from until(ranks[edge.consumer])
            yield edge
        yield from until(len(ranks))
