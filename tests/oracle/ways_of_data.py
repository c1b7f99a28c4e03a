"""Dataflow of a graph between calls, as it can be held against that of another: operations are only passed through."""

from __future__ import annotations

import collections

from modgraph.graph.model import Graph


def ways(graph: Graph, every_way: bool = False, or_from: bool = False) -> set[tuple[str, str]]:
    """From which calls, inputs and parameters data comes to each call and output, through any operations.

    Args:
        every_way: what depends on a test that cannot be decided counts too.
        or_from: so do all that a tensor which was given back as it was may have been taken from.
    """
    names: dict[str, str] = {}
    counted: collections.Counter[str] = collections.Counter()
    for call in graph.calls:
        if call.observed is not False and (call.certain or every_way):
            counted[call.module] += 1
            names[f"call:{call.index}"] = f"{call.module} #{counted[call.module]}"
    incoming: dict[str, list[str]] = {}
    for edge in graph.edges:
        if edge.observed is not False and (edge.certain or every_way):
            incoming.setdefault(edge.consumer, []).extend((edge.producer, *(edge.or_from if or_from else ())))
    found: set[tuple[str, str]] = set()
    for consumer in incoming:
        if consumer.startswith("op:"):
            continue
        pending, seen = list(incoming[consumer]), set()
        while pending:
            producer = pending.pop()
            if producer in seen:
                continue
            seen.add(producer)
            if producer.startswith("op:"):
                pending += incoming.get(producer, ())
            elif not producer.startswith("const:"):
                end = "output" if consumer.startswith("output:") else names.get(consumer, consumer)
                found.add((names.get(producer, producer), end))
    return found
