"""The graph of a prediction, with what is predicted beside where the surroundings are taken for granted.

What both have is claimed for all surroundings. The rest (a module of which there is another with an environment
variable, a call of it) holds under the assumption alone: it is not certain, and has that as its condition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import Call, Condition, Edge, Graph, ModuleNode, Operation, Surroundings

_Item = TypeVar("_Item", ModuleNode, Call, Operation, Edge)
_Key = tuple[object, ...]


def under_assumption(claimed: Graph, usual: Graph, assumed: Surroundings) -> Graph:
    """The modules of the first, which has its calls where a run could be followed, and what the second has beside."""
    condition = assumed.condition
    builder = GraphBuilder.of(claimed)
    builder.modules = _modules(claimed, usual, condition)
    mine, theirs = _keys_of_calls(claimed), _keys_of_calls(usual)
    certain = {mine[call.index] for call in claimed.calls if call.certain}
    builder.calls = [_marked(call, theirs[call.index] in certain, condition) for call in usual.calls]
    my_operations = _keys_of_operations(claimed, mine)
    their_operations = _keys_of_operations(usual, theirs)
    certain |= {my_operations[each.id] for each in claimed.operations if each.certain}
    builder.operations = [_marked(each, their_operations[each.id] in certain, condition) for each in usual.operations]
    my_ends = {**{f"call:{index}": key for index, key in mine.items()}, **my_operations}
    their_ends = {**{f"call:{index}": key for index, key in theirs.items()}, **their_operations}
    ways = {_way(edge, my_ends) for edge in claimed.edges if edge.certain}
    builder.edges = [_marked(edge, _way(edge, their_ends) in ways, condition) for edge in usual.edges]
    builder.problems = [each for each in claimed.problems if each.stage != "forward"]
    builder.problems += [each for each in usual.problems if each.stage == "forward"]
    model = usual.model
    builder.model = replace(
        builder.model, inputs=model.inputs, mode=model.mode, assumed=assumed, open_ways=model.open_ways
    )
    return builder.build()


def _marked(item: _Item, is_claimed: bool, condition: Condition) -> _Item:
    """What depends on a branch as well keeps that as its condition."""
    return item if is_claimed or not item.certain else replace(item, certain=False, condition=condition)


def _modules(claimed: Graph, usual: Graph, condition: Condition) -> list[ModuleNode]:
    known = {node.path: node for node in claimed.modules}
    calls = {node.path: node.calls for node in usual.modules}
    found: list[ModuleNode] = []
    for node in usual.modules:
        mine = known.pop(node.path, None)
        if mine is not None and mine.alias_of is None and node.alias_of is not None:
            # Its calls are those of the other path there, and it may be an instance of its own elsewhere.
            found.append(replace(mine, alias_of=node.alias_of, certain=False, condition=condition, calls=node.calls))
        elif mine is not None and (mine.class_name is not None or node.class_name is None):
            found.append(replace(mine, calls=calls[node.path]))
        else:
            found.append(replace(node, certain=False, condition=condition))
    return [*found, *(replace(node, calls=()) for node in known.values())]


def _keys_of_calls(graph: Graph) -> dict[int, _Key]:
    """What a call is: of which module, inside of which call, which of several there."""
    found: dict[int, _Key] = {}
    counted: Counter[_Key] = Counter()
    for call in graph.calls:
        line = None if call.source is None else (call.source.file, call.source.line)
        key = (None if call.parent is None else found[call.parent], call.module, call.direct, line)
        found[call.index] = (*key, counted[key])
        counted[key] += 1
    return found


def _keys_of_operations(graph: Graph, calls: Mapping[int, _Key]) -> dict[str, _Key]:
    found: dict[str, _Key] = {}
    counted: Counter[_Key] = Counter()
    for each in graph.operations:
        line = None if each.source is None else (each.source.file, each.source.line)
        key = (None if each.call is None else calls[each.call], each.name, line)
        found[each.id] = (*key, counted[key])
        counted[key] += 1
    return found


def _way(edge: Edge, ends: Mapping[str, _Key]) -> tuple[object, ...]:
    return ends.get(edge.producer, edge.producer), ends.get(edge.consumer, edge.consumer), edge.tensor.name
