"""Multi-head attention: softmax of the products of queries and keys, over the keys, which weighs the values."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from modgraph.graph.idioms.axes import COPIED, Axis, Layout, contraction, followed, labelled, labels, product
from modgraph.graph.idioms.caching import is_cached
from modgraph.graph.idioms.flow import CASTS, DROPOUTS, Flow, Step, words_of
from modgraph.graph.idioms.idiom import Idiom
from modgraph.graph.idioms.projections import FEATURES, SHAPING, Projected, are_distinct, projected
from modgraph.graph.idioms.rotary import is_turned
from modgraph.graph.model import Edge

NAME = "multi-head attention"
_OF_SCORES = SHAPING | words_of("add sub mul div truediv masked_fill where clamp tanh nan_to_num")
"""Words of steps that may stand between the product and the softmax: scales, masks, biases."""
_OF_WEIGHTS = SHAPING | frozenset(("masked_fill", "nan_to_num"))
_OF_VALUES = SHAPING | frozenset(("cat", "concat", "stack", "repeat", "repeat_interleave"))
_OF_ONE = SHAPING | frozenset(("add", "norm", "layer_norm", "rms_norm", "cat", "concat"))
_MOST = 60


@dataclass(frozen=True, slots=True)
class _Parts:
    """What attends, to what, with which weights."""

    members: tuple[str, ...]
    query: Edge
    key: Edge
    value: Edge
    letters: tuple[str, str, str, str]
    """Of the dimensions of the query, the key, the weights where they meet the values, and the values."""
    summed: frozenset[str]
    """Letters of the query and the key that are summed over."""
    result: str
    """The step that gives what was attended to."""
    causal: bool = False


def find(flow: Flow) -> Iterator[Idiom]:
    """All that is proven."""
    for step in flow.steps(("multihead_attention",)):
        idiom = _of_torch(flow, step)
        if idiom is not None:
            yield idiom
    for step in flow.steps(("scaled_dot_product_attention", "softmax")):
        parts = _fused(flow, step) if step.word != "softmax" else _written_out(flow, step)
        idiom = None if parts is None else _proven(flow, parts)
        if idiom is not None:
            yield idiom


def _of_torch(flow: Flow, step: Step) -> Idiom | None:
    heads, width = step.arguments.get("num_heads"), step.arguments.get("embed_dim")
    if step.module is None or type(heads) is not int or type(width) is not int or heads < 2:
        return None
    call = int(step.node.partition(":")[2])
    named = [
        next((each for each in flow.into.get(step.node, ()) if each.tensor.name == name), None)
        for name in ("query", "key")
    ]
    is_cross = named[0] is not None and named[1] is not None and _is_cross(flow, named[0], named[1])
    size = width // heads
    return Idiom(
        kind="multi-head cross-attention" if is_cross else NAME,
        detail=f"{heads} heads of {size}",
        module=step.module.path,
        call=call,
        whole=True,
        members=(step.node,),
        facts={"heads": heads, "head_size": size, **({"cross": True} if is_cross else {})},
    )


def _fused(flow: Flow, step: Step) -> _Parts | None:
    query, key, value = (flow.operand(step.node, place) for place in range(3))
    if query is None or key is None or value is None:
        return None
    ranks = {len(each.tensor.shape or ()) for each in (query, key, value)}
    if len(ranks) != 1 or not 3 <= (rank := ranks.pop()) <= 6:
        return None
    batch = "abcd"[: rank - 2]
    letters = (f"{batch}qx", f"{batch}kx", f"{batch}qk", f"{batch}ky")
    causal = step.arguments.get("is_causal") is True
    return _Parts((step.node,), query, key, value, letters, frozenset("x"), step.node, causal)


def _written_out(flow: Flow, softmax: Step) -> _Parts | None:
    """Of a softmax: the product of which it is, and the one that it weighs."""
    dim = softmax.arguments.get("dim")
    above = flow.only(softmax.node) if softmax.node.startswith("call:") else flow.operand(softmax.node, 0)
    if type(dim) is not int or above is None or (found := _product_behind(flow, above)) is None:
        return None
    scores, path = found
    made = contraction(flow, scores)
    given = flow.users(softmax.node)
    if made is None or not given or len(path[0].tensor.shape or ()) != len(made.result):
        return None
    layout = followed(flow, labelled(path[0].tensor.shape, lambda place: made.result[place]), path)
    if layout is None or not -len(layout) <= dim < len(layout):
        return None
    over = layout[dim]
    first, second = made.letters
    keys, queries = set(second) - set(first), set(first) - set(second)
    query, key, query_letters, key_letters = made.first, made.second, first, second
    if labels(over) <= queries:  # the other way round: what is called the key attends
        keys, queries = queries, keys
        query, key, query_letters, key_letters = made.second, made.first, second, first
    if not over or not labels(over) <= keys or keys - labels(over) - _ones(key, key_letters):
        return None
    summed = frozenset(set(first) & set(second) - set(made.result))
    for target, arrived, weights in _products_of(flow, softmax, layout):
        other = contraction(flow, target)
        if other is None:
            continue
        mine = 0 if other.first is arrived else 1
        own, theirs = other.letters[mine], other.letters[1 - mine]
        value = other.second if mine == 0 else other.first
        meeting = [axis for letter, axis in zip(own, weights, strict=True) if letter not in other.result]
        met = [axis for axis in meeting if axis]
        if met == [over] and set(own) & set(theirs) - set(other.result):
            members = (scores.node, softmax.node, target.node)
            letters = (query_letters, key_letters, own, theirs)
            return _Parts(members, query, key, value, letters, summed, target.node)
    return None


def _ones(edge: Edge, letters: str) -> set[str]:
    return {letter for letter, size in zip(letters, edge.tensor.shape or (), strict=False) if size == 1}


def _product_behind(flow: Flow, edge: Edge) -> tuple[Step, tuple[Edge, ...]] | None:
    """The product of two tensors of which scores are made, and the way from it."""
    pending: list[tuple[Edge, tuple[Edge, ...]]] = [(edge, (edge,))]
    seen: set[str] = set()
    while pending and len(seen) < _MOST:
        edge, path = pending.pop()
        step = flow.step(edge.producer)
        if step is None or step.node in seen:
            continue
        if contraction(flow, step) is not None and not step.is_weighing:
            return step, path
        seen.add(step.node)
        if step.word in _OF_SCORES:
            above = [each for each in flow.into.get(step.node, ()) if each.certain]
            if step.word in ("mul", "div", "truediv") and len(above) > 1:
                above = [each for each in above if all(other is each or flow.is_fixed(other) for other in above)]
            pending += [(each, (each, *path)) for each in reversed(above)]
    return None


def _products_of(flow: Flow, softmax: Step, layout: Layout) -> Iterator[tuple[Step, Edge, Layout]]:
    """Products that take what a softmax gives, by steps that keep it a row of weights."""
    pending = [(each, layout) for each in flow.users(softmax.node)]
    seen: set[str] = set()
    while pending and len(seen) < _MOST:
        edge, before = pending.pop()
        step = flow.step(edge.consumer)
        if step is None or edge.consumer in seen:
            continue
        made = contraction(flow, step)
        if made is not None and len(before) == len(edge.tensor.shape or ()):
            if edge in (made.first, made.second):
                yield step, edge, before
            continue
        seen.add(edge.consumer)
        if step.word not in _OF_WEIGHTS:
            continue
        for each in flow.users(step.node):
            after = followed(flow, before, (edge, each))
            if after is not None:
                pending.append((each, after))


@dataclass(frozen=True, slots=True)
class _Sizes:
    heads: int
    size: int
    key_heads: int


def _proven(flow: Flow, parts: _Parts) -> Idiom | None:
    """Multi-head attention, where queries, keys and values are of layers of their own, cut into heads."""
    query, key = projected(flow, parts.query), projected(flow, parts.key)
    value = projected(flow, parts.value, _OF_VALUES)
    if query is None or key is None or value is None:
        return None
    made = (query, key, value)
    if not all(are_distinct(flow, one, other) for one, other in ((query, key), (key, value), (query, value))):
        return None
    if (
        not _are_of_one(flow, key, value)
        or _is_above(flow, made)
        or (sizes := _sizes(parts, query, key, value)) is None
    ):
        return None
    sources = flow.data(query.by), flow.data(key.by)
    is_cross = sources[0] is not None and sources[1] is not None and _is_cross(flow, sources[0], sources[1])
    turned = is_turned(flow, query) and is_turned(flow, key)
    cached = is_cached(flow, key) and is_cached(flow, value)
    nodes = (*dict.fromkeys(each.by.node for each in made), *parts.members)
    call = flow.around(nodes)
    if call is None:
        return None
    return _idiom(flow, parts, sizes, nodes, call, is_cross, turned, cached)


def _idiom(
    flow: Flow, parts: _Parts, sizes: _Sizes, nodes: tuple[str, ...], call: int, cross: bool, turned: bool, cached: bool
) -> Idiom:
    kind = "multi-head cross-attention" if cross else NAME
    detail = f"{sizes.heads} heads of {sizes.size}"
    facts: dict[str, object] = {"heads": sizes.heads, "head_size": sizes.size}
    if sizes.key_heads != sizes.heads:
        kind = "multi-query attention" if sizes.key_heads == 1 else "grouped-query attention"
        detail += f", {sizes.key_heads} of keys" if sizes.key_heads > 1 else ""
        facts["key_heads"] = sizes.key_heads
    for name, holds in (("cross", cross), ("causal", parts.causal), ("rotary", turned), ("cache", cached)):
        if holds:
            facts[name] = True
    detail += "".join(
        f" · {word}" for word, holds in (("causal", parts.causal), ("RoPE", turned), ("KV cache", cached)) if holds
    )
    return Idiom(
        kind=kind,
        detail=detail,
        module=flow.graph.calls[call].module,
        call=call,
        whole=_is_whole(flow, call, nodes, parts.result),
        members=nodes,
        facts=facts,
    )


def _sizes(parts: _Parts, query: Projected, key: Projected, value: Projected) -> _Sizes | None:
    if query.layout is None or key.layout is None or value.layout is None:
        return None
    of_query, of_key, of_weights, of_value = parts.letters
    if (len(query.layout), len(key.layout), len(value.layout)) != (len(of_query), len(of_key), len(of_value)):
        return None
    split = [
        _split(layout, letters, parts.summed) for layout, letters in ((query.layout, of_query), (key.layout, of_key))
    ]
    (summed, beside), (key_summed, key_beside) = split
    own = [axis for letter, axis in zip(of_key, key.layout, strict=True) if letter not in of_query]
    met = [
        axis
        for letter, axis in zip(of_value, value.layout, strict=True)
        if letter in of_weights and letter not in of_query
    ]
    free = [axis for letter, axis in zip(of_value, value.layout, strict=True) if letter not in of_weights]
    shared = [axis for letter, axis in zip(of_value, value.layout, strict=True) if letter in of_weights]
    if not _are_of(summed) or not _are_of(key_summed) or any(FEATURES in labels(axis) for axis in (*own, *met)):
        return None
    size, heads = product(summed, FEATURES), product(beside, FEATURES)
    key_heads, copies = product(key_beside, FEATURES), product(key_beside, COPIED)
    values, width = product(shared, FEATURES), product(free, FEATURES)
    if (
        not size
        or not heads
        or not key_heads
        or not copies
        or not values
        or not width
        or heads < 2
        or size < 2
        or width < 2
    ):
        return None
    fits = key_heads == heads or heads % key_heads == 0
    return _Sizes(heads, size, key_heads) if fits and values in (heads, key_heads) else None


def _split(layout: Layout, letters: str, summed: frozenset[str]) -> tuple[list[Axis], list[Axis]]:
    pairs = list(zip(letters, layout, strict=True))
    return [axis for letter, axis in pairs if letter in summed], [
        axis for letter, axis in pairs if letter not in summed
    ]


def _are_of(axes: list[Axis]) -> bool:
    """They are of the features of a layer alone."""
    return bool(axes) and all(axis and labels(axis) == {FEATURES} for axis in axes)


def _is_above(flow: Flow, made: tuple[Projected, ...]) -> bool:
    """One of the layers works on what another gives: it is no projection beside it."""
    nodes = {each.by.node for each in made}
    for each in made:
        pending, seen = deque([each.by.node]), {each.by.node}
        while pending and len(seen) < 4 * _MOST:
            for edge in flow.into.get(pending.popleft(), ()):
                if edge.producer in nodes and edge.producer != each.by.node:
                    return True
                if edge.producer not in seen:
                    seen.add(edge.producer)
                    pending.append(edge.producer)
    return False


def _are_of_one(flow: Flow, key: Projected, value: Projected) -> bool:
    """Keys and values are made of the same: of one tensor, with positions added, or normalized, for one of them."""
    found: list[set[str]] = []
    for each in (key, value):
        edge = flow.data(each.by)
        pending, seen = deque([] if edge is None else [edge.producer]), set[str]()
        while pending and len(seen) < _MOST:
            node = pending.popleft()
            step = flow.step(node)
            seen.add(node)
            if step is not None and step.word in _OF_ONE and not step.is_weighing:
                pending.extend(above.producer for above in flow.into.get(node, ()) if above.producer not in seen)
        found.append({node for node in seen if not node.startswith(("param:", "const:"))})
    return bool(found[0] & found[1]) or key.by.node == value.by.node


def _is_cross(flow: Flow, query: Edge, key: Edge) -> bool:
    """The queries come of something that the keys do not come of, and the keys are not made of what the queries are."""
    one, other = flow.roots(query.producer), flow.roots(key.producer)
    return one is not None and other is not None and bool(one & ~other) and query.producer != key.producer


def _is_whole(flow: Flow, call: int, nodes: tuple[str, ...], result: str) -> bool:
    """Nothing else with weights is in the call than what attends, what makes ready for it, and one layer behind it."""
    weighing = flow.weighing(call)
    if weighing is None:
        return False
    rest = weighing.difference(nodes)
    pending, seen = list(nodes), set(nodes)
    within = flow.within(call) if rest else set()
    while pending:
        for edge in flow.into.get(pending.pop(), ()):
            if edge.producer not in seen and edge.producer in within:
                seen.add(edge.producer)
                pending.append(edge.producer)
    rest -= seen
    if not rest:
        return True
    behind = result
    for _ in range(_MOST):
        users = {each.consumer for each in flow.users(behind)}
        if len(users) != 1:
            return False
        behind = users.pop()
        step = flow.step(behind)
        if step is not None and step.is_weighing:
            return rest == {behind}
        if step is None or step.word not in SHAPING | CASTS | DROPOUTS | {"norm", "mul", "add"}:
            return False
    return False
