"""Dataflow of a graph between calls, as it can be held against that of another: operations are only passed through."""

from __future__ import annotations

import collections
from collections.abc import Iterator

from modgraph.graph.model import Graph

Way = tuple[str, str]
"""From which call, input or parameter data comes, and to which call or output."""


def ways(graph: Graph, every_way: bool = False, or_from: bool = False) -> set[Way]:
    """From which calls, inputs and parameters data comes to each call and output, through any operations.

    Args:
        every_way: what depends on a test that cannot be decided counts too.
        or_from: so do all that a tensor which was given back as it was may have been taken from.
    """
    found = ways_of_one_tensor(graph, every_way)
    return {way for alternatives in found for way in (alternatives if or_from else alternatives[:1])}


def missed_ways(real: Graph, told: Graph) -> set[Way]:
    """Ways of a real run that another graph has in no way. A tensor that a call gives back as it was is one object for
    torch: either graph may name any who gave it."""
    possible = ways(told, every_way=True, or_from=True)
    return {each[0] for each in ways_of_one_tensor(real) if possible.isdisjoint(each)}


def ways_of_one_tensor(graph: Graph, every_way: bool = False) -> set[tuple[Way, ...]]:
    """The same by tensor: first where it comes from, then who else may have given it."""
    names: dict[str, str] = {}
    counted: collections.Counter[str] = collections.Counter()
    for call in graph.calls:
        if call.observed is not False and (call.certain or every_way):
            counted[call.module] += 1
            names[f"call:{call.index}"] = f"{call.module} #{counted[call.module]}"
    incoming: dict[str, list[tuple[str, ...]]] = {}
    for edge in graph.edges:
        if edge.observed is not False and (edge.certain or every_way):
            incoming.setdefault(edge.consumer, []).append((edge.producer, *edge.or_from))
    return {
        tuple(
            (names.get(each, each), "output" if consumer.startswith("output:") else names.get(consumer, consumer))
            for each in ends
        )
        for consumer in incoming
        if not consumer.startswith("op:")
        for ends in _ends(consumer, incoming)
    }


def _ends(consumer: str, incoming: dict[str, list[tuple[str, ...]]]) -> Iterator[tuple[str, ...]]:
    """What each tensor that goes there comes from, behind any operations."""
    pending = list(incoming[consumer])
    seen: set[tuple[str, ...]] = set()
    while pending:
        alternatives = pending.pop()
        if alternatives in seen:
            continue
        seen.add(alternatives)
        first, *others = alternatives
        if first.startswith("op:"):
            further = [each for each in others if not each.startswith("op:")]
            pending += [(*each, *further) for each in incoming.get(first, ())]
            continue
        ends = [each for each in alternatives if not each.startswith(("op:", "const:"))]
        if not first.startswith("const:"):
            # Where an operation may have given the very same tensor, it may come from any that the operation was given.
            behind = [way for each in others if each.startswith("op:") for way in _behind(each, incoming)]
            yield tuple(dict.fromkeys((*ends, *behind)))


def _behind(operation: str, incoming: dict[str, list[tuple[str, ...]]]) -> Iterator[str]:
    """All that an operation's tensors come from, behind any operations."""
    pending, seen = [operation], {operation}
    while pending:
        for alternatives in incoming.get(pending.pop(), ()):
            for each in alternatives:
                if each in seen:
                    continue
                seen.add(each)
                if each.startswith("op:"):
                    pending.append(each)
                elif not each.startswith("const:"):
                    yield each
