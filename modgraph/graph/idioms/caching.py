"""A cache of keys and values: what the model is given is put in front of what is new, and handed out again."""

from __future__ import annotations

import itertools

from modgraph.graph.idioms.axes import followed, labels
from modgraph.graph.idioms.flow import KEEPING, PICKS, Flow
from modgraph.graph.idioms.projections import FEATURES, Projected, _features
from modgraph.graph.model import Edge

_MOST = 40
_WORDS = KEEPING | PICKS | {"unbind"}


def is_cached(flow: Flow, made: Projected) -> bool:
    """On its way from the layer, a tensor is put behind one that the model is given, along no dimension of features,
    and both together are an output of the model."""
    for place, (before, after) in enumerate(itertools.pairwise(made.path)):
        step = flow.step(after.producer)
        if step is None or step.word not in ("cat", "concat"):
            continue
        pieces = flow.pieces(step.node)
        if len(pieces) != 2 or pieces[1] is not before or not _is_given(flow, pieces[0]):
            continue
        layout = followed(flow, _features(flow, made.by, made.path[0]), made.path[: place + 1])
        dim = step.arguments.get("dim", 0)
        if layout is None or type(dim) is not int or not -len(layout) <= dim < len(layout):
            continue
        if FEATURES not in labels(layout[dim]) and _is_handed_out(flow, step.node):
            return True
    return False


def _is_given(flow: Flow, edge: Edge) -> bool:
    return flow.before(edge, _WORDS).producer.startswith("input:")


def _is_handed_out(flow: Flow, node: str) -> bool:
    pending, seen = [node], {node}
    while pending and len(seen) < _MOST:
        for edge in flow.users(pending.pop()):
            if edge.consumer.startswith("output:"):
                return True
            step = flow.step(edge.consumer)
            if step is not None and step.word in KEEPING | {"stack"} and step.node not in seen:
                seen.add(step.node)
                pending.append(step.node)
    return False
