"""U-Net and FPN: what was made smaller step by step grows again, and meets at each size what had that size before."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from modgraph.graph.idioms.flow import Flow, Step, words_of
from modgraph.graph.idioms.idiom import Idiom
from modgraph.graph.model import Edge

_GROWING = words_of(
    """interpolate upsample upsample_nearest upsample_bilinear conv_transpose conv_transpose1d conv_transpose2d
    conv_transpose3d pixel_shuffle"""
)
_MOST_JOINS = 200
_MOST = 24
_REGION = 400


@dataclass(frozen=True, slots=True)
class _Join:
    """Where what has grown meets what had its size before."""

    step: Step
    grown: Step
    """What made it grow."""
    small: Edge
    """What grew."""
    kept: Edge
    """What it meets."""


def find(flow: Flow) -> Iterator[Idiom]:
    """All that is proven."""
    joins = {each.step.node: each for each in itertools.islice(_joins(flow), _MOST_JOINS)}
    before = {node: _before(flow, each, joins) for node, each in joins.items()}
    followed = {found[0] for found in before.values() if found is not None and found[0] is not None}
    for last in joins:
        if last in followed:
            continue
        chain: list[_Join] = []
        weights: list[bool] = []
        node: str | None = last
        while node is not None and node not in [each.step.node for each in chain]:
            found = before[node]
            if found is None:
                break
            chain.append(joins[node])
            node, is_weighing = found
            weights.append(is_weighing)
        if node is None and len(chain) > 1:
            idiom = _idiom(flow, chain[::-1], weights[::-1])
            if idiom is not None:
                yield idiom


def _joins(flow: Flow) -> Iterator[_Join]:
    for number, step in enumerate(flow.steps(("cat", "concat", "add"))):
        if number > 50_000:
            return
        pieces = flow.pieces(step.node) if step.word != "add" else _summands(flow, step)
        if len(pieces) != 2 or not _is_of_pictures(pieces[0]) or _size(pieces[0]) != _size(pieces[1]):
            continue
        if step.word != "add" and step.arguments.get("dim", 0) not in (1, 1 - len(pieces[0].tensor.shape or ())):
            continue
        ways = [_grown(flow, each) for each in pieces]
        for mine, other in ((0, 1), (1, 0)):
            found = ways[mine]
            if found is not None and ways[other] is None:
                yield _Join(step, *found, pieces[other])


def _summands(flow: Flow, step: Step) -> list[Edge]:
    found = [flow.operand(step.node, place) for place in (0, 1)]
    return [each for each in found if each is not None] if not step.arguments else []


def _is_of_pictures(edge: Edge) -> bool:
    return len(edge.tensor.shape or ()) in (3, 4, 5)


def _size(edge: Edge) -> tuple[int | str | None, ...]:
    return (edge.tensor.shape or ())[2:]


def _is_smaller(one: Edge, other: Edge) -> bool:
    pairs = list(zip(_size(one), _size(other), strict=False))
    known = all(isinstance(a, int) and isinstance(b, int) and a < b for a, b in pairs)
    return bool(pairs) and len(_size(one)) == len(_size(other)) and known


def _above(flow: Flow, step: Step) -> Edge | None:
    """The picture of which a step makes one."""
    if step.node.startswith("call:") or not step.is_weighing:
        edges = [each for each in flow.into.get(step.node, ()) if _is_of_pictures(each) and not flow.is_fixed(each)]
        return edges[0] if len(edges) == 1 and edges[0].certain else None
    return flow.data(step)


def _grown(flow: Flow, edge: Edge) -> tuple[Step, Edge] | None:
    """By what it grew, and of what; steps behind that, which keep the size, are passed over."""
    size = _size(edge)
    for _ in range(_MOST):
        step = flow.step(edge.producer)
        above = None if step is None else _above(flow, step)
        if step is None or above is None:
            return None
        if step.word in _GROWING and _is_smaller(above, edge):
            return step, above
        if _size(above) != size:
            return None
        edge = above
    return None


def _before(flow: Flow, join: _Join, joins: dict[str, _Join]) -> tuple[str | None, bool] | None:
    """The join behind which the next one grows, None for the first; and whether there are weights between."""
    size = _size(join.small)
    pending, seen, found = [join.small], set[str](), dict[str, None]()
    has_weights = False
    while pending:
        edge = pending.pop()
        if edge.producer in seen or _size(edge) != size or not _is_of_pictures(edge):
            continue
        seen.add(edge.producer)
        if len(seen) > _REGION:
            return None
        if edge.producer in joins:
            found[edge.producer] = None
            continue
        step = flow.step(edge.producer)
        if step is None:
            continue
        has_weights = has_weights or step.is_weighing
        pending += flow.into.get(edge.producer, ())
    if len(found) > 1:
        return None
    return next(iter(found), None), has_weights


def _idiom(flow: Flow, chain: list[_Join], weights: list[bool]) -> Idiom | None:
    if not all(_is_smaller(one.kept, other.kept) for one, other in itertools.pairwise(chain)):
        return None
    bottom = _ancestors(flow, chain[0].small.producer)
    points: list[str] = []
    lateral: list[list[str]] = []
    for join in chain:
        found = _kept_from(flow, join.kept, bottom)
        if found is None:
            return None
        points.append(found[0])
        lateral.append(found[1])
    for deeper, point in itertools.pairwise(points):
        if point not in _ancestors(flow, deeper):
            return None
    if not any(lateral) and all(weights[1:]) and _is_one_way(flow, chain):
        return _unet(flow, chain, points)
    if all(lateral) and not any(weights[1:]) and all(each.step.word == "add" for each in chain):
        return _fpn(flow, chain, lateral)
    return None


def _kept_from(flow: Flow, edge: Edge, bottom: set[str]) -> tuple[str, list[str]] | None:
    """Where it was when it was still on the way down, and the layers with weights behind that."""
    weights: list[str] = []
    size = _size(edge)
    for _ in range(_MOST):
        if edge.producer in bottom:
            return edge.producer, weights
        step = flow.step(edge.producer)
        above = None if step is None else _above(flow, step)
        if step is None or above is None or _size(above) != size:
            return None
        if step.is_weighing:
            weights.append(step.node)
        edge = above
    return None


def _ancestors(flow: Flow, node: str) -> set[str]:
    found, pending = {node}, [node]
    while pending:
        for edge in flow.into.get(pending.pop(), ()):
            if edge.producer not in found:
                found.add(edge.producer)
                pending.append(edge.producer)
    return found


def _is_one_way(flow: Flow, chain: list[_Join]) -> bool:
    """What grows is read by that alone."""
    return all(
        {edge.consumer for edge in flow.out.get(join.small.producer, ())} == {join.grown.node} for join in chain[1:]
    )


def _unet(flow: Flow, chain: list[_Join], points: list[str]) -> Idiom | None:
    steps = [point for point in points if not point.startswith(("input:", "param:", "const:"))]
    members = (*reversed(steps), *(node for each in chain for node in (each.grown.node, each.step.node)))
    call = flow.around(members)
    if call is None:
        return None
    levels = len(chain) + 1
    return Idiom(
        kind="U-Net",
        detail=f"{levels} levels",
        module=flow.graph.calls[call].module,
        call=call,
        whole=True,
        members=members,
        facts={"levels": levels, "joined_by": "add" if chain[0].step.word == "add" else "cat"},
    )


def _fpn(flow: Flow, chain: list[_Join], lateral: list[list[str]]) -> Idiom | None:
    top = flow.step(chain[0].small.producer)
    read_by_others = [
        {edge.consumer for edge in flow.out.get(each.small.producer, ())} - {each.grown.node} for each in chain
    ]
    if top is None or not all(read_by_others) or not flow.out.get(chain[-1].step.node):
        return None
    made = [node for nodes in lateral for node in nodes]
    members = (*made, *(node for each in chain for node in (each.grown.node, each.step.node)))
    call = flow.around(members)
    if call is None:
        return None
    weighing = flow.weighing(call)
    above = set[str]().union(*(_ancestors(flow, node) for node in made)) - set(made)
    levels = len(chain) + 1
    return Idiom(
        kind="FPN",
        detail=f"{levels} levels",
        module=flow.graph.calls[call].module,
        call=call,
        whole=weighing is not None and not weighing & above,
        members=members,
        facts={"levels": levels},
    )
