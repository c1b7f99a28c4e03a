"""Gated MLP (SwiGLU and kin): one projection, after an activation, times another of the same, projected back."""

from __future__ import annotations

from collections.abc import Iterator

from modgraph.graph.idioms.flow import ACTIVATIONS, CASTS, DROPOUTS, PICKS, Flow, Step, is_same
from modgraph.graph.idioms.idiom import Idiom
from modgraph.graph.idioms.projections import PARTS, Projected, are_distinct, projected
from modgraph.graph.model import Edge

NAME = "gated MLP"
_PARTED = CASTS | DROPOUTS | PARTS | PICKS
_KEPT = CASTS | DROPOUTS | {"norm"}


def find(flow: Flow) -> Iterator[Idiom]:
    """All that is proven."""
    for step in flow.steps(("mul", "glu")):
        idiom = _halved(flow, step) if step.word == "glu" else _gated(flow, step)
        if idiom is not None:
            yield idiom


def _gated(flow: Flow, step: Step) -> Idiom | None:
    first, second = flow.operand(step.node, 0), flow.operand(step.node, 1)
    if step.arguments or first is None or second is None or first.tensor.shape != second.tensor.shape:
        return None
    for gate, value in ((first, second), (second, first)):
        bent = flow.step(flow.before(gate, CASTS).producer)
        if bent is None or bent.word not in ACTIVATIONS:
            continue
        above = flow.only(bent.node) if bent.node.startswith("call:") else flow.operand(bent.node, 0)
        if above is None:
            continue
        one, other = projected(flow, above, _PARTED), projected(flow, value, _PARTED)
        if one is None or other is None or not _are_beside(flow, one, other):
            continue
        return _idiom(flow, one, (bent.node, step.node), other, ACTIVATIONS[bent.word])
    return None


def _halved(flow: Flow, step: Step) -> Idiom | None:
    """By `glu`, which does all of it with two halves."""
    above = flow.only(step.node) if step.node.startswith("call:") else flow.operand(step.node, 0)
    rank = len(above.tensor.shape or ()) if above is not None else 0
    if above is None or step.arguments.get("dim", -1) not in (-1, rank - 1):
        return None
    made = projected(flow, above, CASTS | DROPOUTS)
    return None if made is None else _idiom(flow, made, (step.node,), made, ACTIVATIONS["sigmoid"])


def _are_beside(flow: Flow, one: Projected, other: Projected) -> bool:
    """Two projections of the same tensor, or two halves of one."""
    if not are_distinct(flow, one, other) or one.by.word != "linear" or other.by.word != "linear":
        return False
    if one.by.node == other.by.node:
        return True
    mine, theirs = flow.data(one.by), flow.data(other.by)
    return mine is not None and theirs is not None and is_same(flow.before(mine, CASTS), flow.before(theirs, CASTS))


def _idiom(flow: Flow, one: Projected, members: tuple[str, ...], other: Projected, bent: str) -> Idiom | None:
    back = _projection_back(flow, members[-1])
    given = flow.data(one.by)
    if back is None or given is None or one.by.word != "linear":
        return None
    sizes = [_width(edge) for edge in (given, one.path[0], *flow.users(back.node)[:1])]
    if len(sizes) < 3 or sizes[0] is None or sizes[0] != sizes[2]:
        return None
    nodes = (*dict.fromkeys((one.by.node, other.by.node)), *members, back.node)
    call = flow.around(nodes)
    if call is None:
        return None
    weighing = flow.weighing(call)
    return Idiom(
        kind=NAME,
        detail=bent,
        module=flow.graph.calls[call].module,
        call=call,
        whole=weighing is not None and weighing <= set(nodes),
        members=nodes,
        facts={"activation": bent},
    )


def _projection_back(flow: Flow, node: str) -> Step | None:
    for _ in range(8):
        users = {each.consumer for each in flow.users(node)}
        step = flow.step(users.pop()) if len(users) == 1 else None
        if step is None:
            return None
        if step.is_weighing:
            return step if step.word == "linear" else None
        if step.word not in _KEPT:
            return None
        node = step.node
    return None


def _width(edge: Edge) -> int | str | None:
    return edge.tensor.shape[-1] if edge.tensor.shape else None
