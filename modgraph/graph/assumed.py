"""What a prediction takes for granted of the surroundings (`ModelInfo.assumed`), and what depends on that alone.

Such modules, calls, operations and edges are not certain, and have the assumption as their condition. Who is told of it
once, as the reader of a picture is, reads the graph as if it held; who asks what is claimed reads it without them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from modgraph.graph.build import GraphBuilder
from modgraph.graph.index import parents_of
from modgraph.graph.model import (
    BufferInfo,
    Call,
    Condition,
    Edge,
    Graph,
    ModelInfo,
    ModuleNode,
    Operation,
    ParameterInfo,
)
from modgraph.graph.paths import is_open_place

_Item = TypeVar("_Item", ModuleNode, Call, Operation, Edge)


def as_assumed(graph: Graph) -> Graph:
    """The graph as it is where the assumption holds: what depends on that alone is certain."""
    if graph.model.assumed is None:
        return graph
    condition = graph.model.assumed.condition
    return replace(
        graph,
        model=_with_totals(graph) if depends_on_surroundings(graph) else graph.model,
        modules=_without(graph.modules, condition),
        calls=_without(graph.calls, condition),
        operations=_without(graph.operations, condition),
        edges=_without(graph.edges, condition),
    )


def _with_totals(graph: Graph) -> ModelInfo:
    """The model with its numbers of elements, which are not claimed, where all modules and shapes are known."""
    if any(node.class_name is None for node in graph.modules):
        return graph.model
    own = [node for node in graph.modules if node.registered and node.alias_of is None]
    parameters = [each for node in own for each in node.parameters if each.alias_of is None]
    buffers = [each for node in own for each in node.buffers if each.alias_of is None]
    return replace(
        graph.model,
        class_name=graph.modules[0].class_name,
        parameters=_elements(parameters),
        trainable_parameters=_elements([each for each in parameters if each.trainable]),
        buffers=_elements(buffers),
    )


def _elements(tensors: Sequence[ParameterInfo | BufferInfo]) -> int | None:
    total = 0
    for each in tensors:
        sizes = [size for size in each.shape or () if isinstance(size, int)]
        if each.shape is None or len(sizes) != len(each.shape):
            return None
        total += math.prod(sizes)
    return total


def _without(items: Sequence[_Item], condition: Condition) -> tuple[_Item, ...]:
    return tuple(replace(each, certain=True, condition=None) if each.condition == condition else each for each in items)


def claimed_tree(graph: Graph) -> Graph:
    """The graph with the modules that are claimed for all surroundings, and without calls: where another module stands
    in others, it is not known what stands there."""
    if not depends_on_surroundings(graph):
        return graph
    builder = GraphBuilder.of(graph)
    builder.modules, builder.calls, builder.operations, builder.edges = [], [], [], []
    parents = parents_of({node.path: node for node in graph.modules})
    opened: set[str | None] = set()
    for node in graph.modules:
        if parents[node.path] in opened:
            opened.add(node.path)
            continue
        if not node.certain:
            opened.add(node.path)
            known = ModuleNode(path=node.path, class_name=None, predicted=node.predicted, registered=node.registered)
            node = replace(known, source=node.source)
        builder.modules.append(replace(node, calls=()))
    kept = {node.path for node in builder.modules}
    builder.modules = [each if each.alias_of in kept else replace(each, alias_of=None) for each in builder.modules]
    return builder.build()


def depends_on_surroundings(graph: Graph) -> bool:
    """Which modules there are is assumed, of some."""
    return any(not node.certain and not is_open_place(node.path) for node in graph.modules)
