"""Squeeze-and-excitation: channels are weighed by numbers that are made of their own means."""

from __future__ import annotations

from collections.abc import Iterator

from modgraph.graph.idioms.flow import ACTIVATIONS, CASTS, DROPOUTS, Flow, Step, is_same
from modgraph.graph.idioms.idiom import Idiom
from modgraph.graph.idioms.projections import SHAPING
from modgraph.graph.model import Edge

_GATES = frozenset(("sigmoid", "hardsigmoid"))
_MEANS = frozenset(
    ("mean", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_pool", "avg_pool")
)


def find(flow: Flow) -> Iterator[Idiom]:
    """All that is proven."""
    for step in flow.steps(("mul",)):
        first, second = flow.operand(step.node, 0), flow.operand(step.node, 1)
        if step.arguments or first is None or second is None:
            continue
        for data, gate in ((first, second), (second, first)):
            idiom = _squeezed(flow, step, data, gate)
            if idiom is not None:
                yield idiom
                break


def _squeezed(flow: Flow, step: Step, data: Edge, gate: Edge) -> Idiom | None:
    shape, scale = data.tensor.shape or (), gate.tensor.shape or ()
    if not 3 <= len(shape) <= 5 or len(scale) != len(shape) or scale[1] != shape[1]:
        return None
    if any(size != 1 for size in scale[2:]) or all(size == 1 for size in shape[2:]):
        return None
    bent = flow.step(flow.before(gate, SHAPING).producer)
    if bent is None or bent.word not in _GATES:
        return None
    edge, members, layers, between = _above(flow, bent), [bent.node, step.node], list[Step](), False
    for _ in range(16):
        if edge is None:
            return None
        edge = flow.before(edge, SHAPING)
        inner = flow.step(edge.producer)
        if inner is None:
            return None
        if inner.word in _MEANS and layers:
            return _idiom(flow, inner, layers, between, data, members)
        if inner.is_weighing:
            layers.append(inner)
        elif inner.word in ACTIVATIONS:
            between = between or len(layers) == 1
        elif inner.word not in CASTS | DROPOUTS | {"norm"}:
            return None
        edge = flow.data(inner) if inner.is_weighing else _above(flow, inner)
    return None


def _above(flow: Flow, step: Step) -> Edge | None:
    return flow.only(step.node) if step.node.startswith("call:") else flow.operand(step.node, 0)


def _idiom(flow: Flow, mean: Step, layers: list[Step], between: bool, data: Edge, members: list[str]) -> Idiom | None:
    """Of a mean over all places, made small and large again by two layers, with an activation between."""
    pooled = _above(flow, mean)
    given = flow.users(mean.node)
    if (
        len(layers) != 2
        or not between
        or pooled is None
        or not given
        or not is_same(flow.before(pooled), flow.before(data))
    ):
        return None
    shape = given[0].tensor.shape or ()
    if len(shape) < 2 or shape[1] != (data.tensor.shape or ())[1] or any(size != 1 for size in shape[2:]):
        return None
    inner = flow.users(layers[1].node)
    sizes = inner[0].tensor.shape if inner else None
    if not sizes or len(sizes) < 2:
        return None
    nodes = (mean.node, layers[1].node, layers[0].node, *members)
    call = flow.around(nodes)
    if call is None:
        return None
    return Idiom(
        kind="squeeze-and-excitation",
        detail=f"{sizes[1]} of {shape[1]} channels",
        module=flow.graph.calls[call].module,
        call=call,
        whole=flow.weighing(call) == {each.node for each in layers},
        members=nodes,
        facts={"channels": shape[1], "squeezed": sizes[1]},
    )
