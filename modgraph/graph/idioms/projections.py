"""From a tensor back to the layer with weights that made it."""

from __future__ import annotations

from dataclasses import dataclass

from modgraph.graph.dataflow import VIEWS
from modgraph.graph.idioms.axes import Layout, followed, labelled
from modgraph.graph.idioms.flow import CONVOLUTIONS, DROPOUTS, MOST_STEPS, PARTS, PICKS, Flow, Step, are_apart, words_of
from modgraph.graph.model import Edge

FEATURES = "features"
"""The label of what a layer with weights computes; others are of what it is given."""
OTHERS = "others"

_TURNING = (
    VIEWS
    | DROPOUTS
    | words_of(
        """clone add sub mul div truediv neg cat concat stack repeat repeat_interleave tile normalize norm rms_norm
    layer_norm flatten T mT"""
    )
)
"""Words of steps that may stand between a projection and attention: views, positions that turn, caches, norms."""
SHAPING = VIEWS | DROPOUTS | frozenset(("clone", "flatten", "T", "mT"))


@dataclass(frozen=True, slots=True)
class Projected:
    """A tensor that a layer with weights has made."""

    by: Step
    path: tuple[Edge, ...]
    """From what the layer gives on, to the tensor."""
    layout: Layout | None
    """Which of the tensor's dimensions are of the features of the layer."""


def projected(flow: Flow, edge: Edge, words: frozenset[str] = _TURNING) -> Projected | None:
    """The layer that made a tensor, by steps of these words alone."""
    pending: list[tuple[Edge, tuple[Edge, ...]]] = [(edge, (edge,))]
    seen: set[str] = set()
    while pending and len(seen) < MOST_STEPS:
        edge, path = pending.pop()
        step = flow.step(edge.producer)
        if step is None or edge.producer in seen:
            continue
        if step.is_weighing:
            return Projected(step, path, followed(flow, _features(flow, step, path[0]), path))
        seen.add(edge.producer)
        if step.word in words:
            above = [each for each in flow.into.get(step.node, ()) if each.certain]
            pending += [(each, (each, *path)) for each in reversed(above)]
    return None


def _features(flow: Flow, step: Step, given: Edge) -> Layout | None:
    shape = given.tensor.shape
    rank = len(shape or ())
    if step.word == "einsum":
        parts = str(step.arguments.get("equation", "")).replace(" ", "").partition("->")
        data, weight = (flow.operand(step.node, place) for place in (0, 1))
        sides = parts[0].split(",")
        if data is None or weight is None or len(sides) != 2 or len(parts[2]) != rank or "." in parts[0]:
            return None
        known = sides[0] if flow.is_weight(weight) else sides[1]
        return labelled(shape, lambda place: OTHERS if parts[2][place] in known else FEATURES)
    at = 1 if step.word in CONVOLUTIONS | {"conv_transpose"} else rank - 1
    return labelled(shape, lambda place: FEATURES if place == at else OTHERS)


def are_distinct(flow: Flow, one: Projected, other: Projected) -> bool:
    """Whether two are of different layers, or different parts of what one gives."""
    if one.by.node != other.by.node:
        return one.by.module is None or other.by.module is None or one.by.module.path != other.by.module.path
    for mine, theirs in zip(one.path, other.path, strict=False):
        if (mine.producer, mine.consumer, mine.output) == (theirs.producer, theirs.consumer, theirs.output):
            continue
        if mine.producer != theirs.producer:
            return False
        if mine.output != theirs.output:
            return True
        if mine.consumer == theirs.consumer:
            continue
        first, second = flow.step(mine.consumer), flow.step(theirs.consumer)
        if first is None or second is None or first.word not in PICKS or second.word not in PICKS:
            return False
        return bool(first.arguments) and first.arguments != second.arguments
    return False


__all__ = ["FEATURES", "OTHERS", "PARTS", "SHAPING", "Projected", "are_apart", "are_distinct", "projected"]
