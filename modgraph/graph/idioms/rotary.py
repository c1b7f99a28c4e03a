"""Rotary positions (RoPE): each pair of features is turned by an angle, `x * cos + turned(x) * sin`.

The angle is seen: both factors are the cosine and the sine of one tensor, computed in the run. Tables that a
constructor has made prove nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from modgraph.graph.dataflow import VIEWS
from modgraph.graph.idioms.flow import KEEPING, PARTS, PICKS, Flow, Step, is_same
from modgraph.graph.idioms.idiom import Idiom
from modgraph.graph.idioms.projections import Projected
from modgraph.graph.model import Edge

NAME = "rotary position embedding"
_OF_ANGLES = VIEWS | frozenset(
    ("mul", "cat", "concat", "stack", "repeat", "repeat_interleave", "index_select", "clone")
)


class _Turned(NamedTuple):
    """A tensor that is turned, and the steps that do it."""

    tensor: Edge
    members: tuple[str, ...]


def find(flow: Flow) -> Iterator[Idiom]:
    """All that is proven: for each call in which tensors are turned, one."""
    found: dict[int, list[str]] = {}
    for step in flow.steps(("add", "mul", "stack", "cat", "concat")):
        turned = _turned(flow, step)
        if turned is not None and step.home is not None:
            found.setdefault(step.home, []).extend(turned.members)
    for call, members in found.items():
        yield Idiom(
            kind=NAME,
            module=flow.graph.calls[call].module,
            call=call,
            whole=flow.weighing(call) == set(),
            members=tuple(dict.fromkeys(members)),
        )


def is_turned(flow: Flow, made: Projected) -> bool:
    """On its way from the layer, a tensor is turned."""
    return any(
        (step := flow.step(edge.producer)) is not None and _turned(flow, step) is not None for edge in made.path[1:]
    )


def _turned(flow: Flow, step: Step) -> _Turned | None:
    if step.word == "mul":
        return _by_complex(flow, step)
    if step.word in ("stack", "cat", "concat"):
        return _in_pairs(flow, step)
    if step.word != "add" or step.arguments:
        return None
    sides = [_product(flow, flow.operand(step.node, place)) for place in (0, 1)]
    if sides[0] is None or sides[1] is None:
        return None
    by_word = {each.word: each for each in (sides[0], sides[1])}
    cosine, sine = by_word.get("cos"), by_word.get("sin")
    if cosine is None or sine is None or not is_same(cosine.angle, sine.angle):
        return None
    if cosine.form != sine.form or not _is_quarter_turn(flow, sine.tensor, cosine.tensor, cosine.form):
        return None
    return _Turned(cosine.tensor, (cosine.node, sine.node, step.node))


def _form_of(flow: Flow, step: Step | None) -> str:
    """How a step puts each angle there twice: "halves", "beside" each other; "" where it does not."""
    if step is None or step.arguments.get("dim", 0) != -1:
        return ""
    if step.word == "repeat_interleave":
        return "beside" if step.arguments.get("repeats") == 2 else ""
    if step.word not in ("cat", "concat", "stack"):
        return ""
    pieces, given = flow.pieces(step.node), flow.users(step.node)
    if len(pieces) == 1 and given:  # a tensor that is given twice is told once
        size, whole = (each.tensor.shape[-1] if each.tensor.shape else None for each in (pieces[0], given[0]))
        is_twice = whole == 2 if step.word == "stack" else type(size) is int and whole == 2 * size
    else:
        is_twice = len(pieces) == 2 and is_same(flow.before(pieces[0]), flow.before(pieces[1]))
    return "" if not is_twice else "beside" if step.word == "stack" else "halves"


class _Product(NamedTuple):
    """A tensor times the cosine or sine of an angle."""

    node: str
    word: str
    angle: Edge
    form: str
    tensor: Edge


def _product(flow: Flow, edge: Edge | None) -> _Product | None:
    step = None if edge is None else flow.step(edge.producer)
    if step is None or step.word != "mul" or step.arguments:
        return None
    first, second = flow.operand(step.node, 0), flow.operand(step.node, 1)
    if first is None or second is None:
        return None
    for tensor, factor in ((first, second), (second, first)):
        angle = _angle(flow, factor)
        if angle is not None:
            return _Product(step.node, *angle, tensor)
    return None


def _angle(flow: Flow, edge: Edge) -> tuple[str, Edge, str] | None:
    """ "cos" or "sin", of what, and how each angle stands there for two features: "halves", "beside", or "" for one."""
    form = ""
    for _ in range(16):
        made_by = edge.made_by or edge.producer
        step = flow.step(made_by)
        if step is None:
            return None
        above = flow.operand(step.node, 0)
        if step.word in ("cos", "sin"):
            is_known = above is not None and _is_of_positions(flow, above)
            if above is None or not is_known:
                return None
            angle = flow.before(above, KEEPING)
            return step.word, angle, form or _form_of(flow, flow.step(angle.producer))
        if step.word in ("cat", "concat", "stack", "repeat_interleave"):
            pieces = flow.pieces(step.node)
            form, above = _form_of(flow, step), pieces[0] if pieces else above
            if not form:
                return None
        elif step.word not in _OF_ANGLES | PICKS or (step.word == "mul" and "other" not in step.arguments):
            return None
        if above is None:
            return None
        edge = above
    return None


def _in_pairs(flow: Flow, step: Step) -> _Turned | None:
    """(a * cos - b * sin, a * sin + b * cos), put together as (a, b) are parts of one tensor."""
    pieces = flow.pieces(step.node)
    if len(pieces) != 2 or step.arguments.get("dim", 0) != -1:
        return None
    one, other = (flow.step(flow.before(each).producer) for each in pieces)
    if one is None or other is None or (one.word, other.word) != ("sub", "add") or one.arguments or other.arguments:
        return None
    first = [_product(flow, flow.operand(one.node, place)) for place in (0, 1)]
    second = [_product(flow, flow.operand(other.node, place)) for place in (0, 1)]
    found = [each for each in (*first, *second) if each is not None]
    if (
        len(found) < 4
        or any(each.form for each in found)
        or not all(is_same(each.angle, found[0].angle) for each in found)
    ):
        return None
    cosine, sine = found[0], found[1]
    by_word = {each.word: each for each in found[2:]}
    if (cosine.word, sine.word) != ("cos", "sin") or len(by_word) != 2:
        return None
    even, odd = flow.before(cosine.tensor), flow.before(sine.tensor)
    if not is_same(flow.before(by_word["sin"].tensor), even) or not is_same(flow.before(by_word["cos"].tensor), odd):
        return None
    whole = _halves(flow, even, odd, is_beside=step.word == "stack")
    return None if whole is None else _Turned(whole, (*(each.node for each in found), one.node, other.node, step.node))


def _is_of_positions(flow: Flow, edge: Edge) -> bool:
    """No layer with weights and no number that the model is given has part in it: whole numbers may be positions."""
    pending, seen = [edge], set[str]()
    while pending:
        edge = pending.pop()
        if edge.producer in seen:
            continue
        seen.add(edge.producer)
        if edge.producer.startswith("input:") and "int" not in (edge.tensor.dtype or ""):
            return False
        step = flow.step(edge.producer)
        if (step is None and edge.producer.startswith(("call:", "op:"))) or len(seen) > 60:
            return False
        if step is not None and (step.is_weighing or step.node.startswith("call:")):
            return False
        pending += flow.into.get(edge.producer, ())
    return True


def _is_quarter_turn(flow: Flow, turned: Edge, tensor: Edge, form: str) -> bool:
    """`turned` has (-b, a) where the tensor has (a, b): its halves, or each two that stand beside each other, as the
    `form` of the angles is."""
    joined = flow.before(turned, KEEPING | frozenset(("module",)))
    step = flow.step(joined.producer)
    if step is None or step.word not in ("cat", "concat", "stack") or step.arguments.get("dim", 0) not in (-1,):
        return False
    pieces = flow.pieces(step.node)
    if len(pieces) != 2 or form != ("beside" if step.word == "stack" else "halves"):
        return False
    negated = flow.step(flow.before(pieces[0]).producer)
    if negated is None or negated.word != "neg":
        return False
    second = flow.operand(negated.node, 0)
    if second is None:
        return False
    parts = _halves(flow, flow.before(pieces[1]), flow.before(second), is_beside=step.word == "stack")
    return parts is not None and is_same(flow.before(parts), flow.before(tensor))


def _halves(flow: Flow, first: Edge, second: Edge, *, is_beside: bool) -> Edge | None:
    """What two tensors are the first and the second half of; with `is_beside`, those at even and odd places."""
    one, other = flow.step(first.producer), flow.step(second.producer)
    if one is None or other is None:
        return None
    above, below = flow.operand(one.node, 0), flow.operand(other.node, 0)
    if above is None or below is None or not is_same(above, below):
        return None
    if one.node == other.node and one.word in PARTS:
        in_order = (first.output, second.output) == (0, 1)
        if one.word == "unbind" and is_beside:
            is_last = one.arguments.get("dim", 0) == -1 and (above.tensor.shape or (0,))[-1] == 2
            return above if in_order and is_last else None
        is_half = one.arguments.get("dim", 0) == -1 and first.tensor.shape == second.tensor.shape
        return above if in_order and is_half and not is_beside and one.word != "unbind" else None
    width = (above.tensor.shape or (None,))[-1]
    if one.word != "getitem" or other.word != "getitem" or type(width) is not int or width % 2:
        return None
    keys = tuple(str(each.arguments.get("key", "")).removeprefix("..., ") for each in (one, other))
    half = width // 2
    if is_beside:
        return above if keys in (("::2", "1::2"), ("0::2", "1::2")) or (width == 2 and keys == ("0", "1")) else None
    return (
        above
        if keys in ((f":{half}", f"{half}:"), (f"0:{half}", f"{half}:"), (f":{half}", f"{half}:{width}"))
        else None
    )


def _by_complex(flow: Flow, step: Step) -> _Turned | None:
    """Pairs of features as complex numbers, times numbers of length one."""
    first, second = flow.operand(step.node, 0), flow.operand(step.node, 1)
    if first is None or second is None or step.arguments:
        return None
    for tensor, factor in ((first, second), (second, first)):
        pairs = flow.step(tensor.producer)
        if pairs is not None and pairs.word == "view_as_complex" and _is_turn(flow, factor):
            above = flow.operand(pairs.node, 0)
            real = [
                each
                for each in flow.users(step.node)
                if (user := flow.step(each.consumer)) and user.word == "view_as_real"
            ]
            if above is not None and real:
                return _Turned(above, (pairs.node, step.node, real[0].consumer))
    return None


def _is_turn(flow: Flow, edge: Edge) -> bool:
    """`polar(ones, angle)`, as far back as it is handed on."""
    step = flow.step(flow.before(edge, (KEEPING - {"to", "type"}) | PICKS).producer)
    if step is None or step.word != "polar":
        return False
    length = flow.operand(step.node, 0)
    ones = None if length is None else flow.index.operations.get(length.producer)
    return ones is not None and ones.name.rpartition(".")[2] in ("ones_like", "ones")
