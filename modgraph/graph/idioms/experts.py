"""A mixture of experts: the k best of a router's scores choose which of several equal modules work, and weigh them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from modgraph.graph.idioms.flow import KEEPING, PARTS, PICKS, Flow, Step, words_of
from modgraph.graph.idioms.idiom import Idiom
from modgraph.graph.idioms.projections import projected
from modgraph.graph.model import Edge

VALUE, CHOICE, GATE, CHOSEN = "value", "choice", "gate", "chosen"
"""What a tensor is: the best scores; which they are; scores by what was chosen; data by what was chosen."""
_OF_SCORES = KEEPING | words_of("softmax sigmoid add mul div truediv sub clamp tanh softplus")
_OF_VALUES = KEEPING | PARTS | PICKS | words_of("softmax sigmoid div truediv mul sum add clamp")
_OF_CHOICES = (
    KEEPING
    | PARTS
    | PICKS
    | words_of(
        """eq ne gt one_hot where nonzero any sum sort argsort bincount cumsum div floordiv floor_divide unique isin
        bool"""
    )
)
_LOOKING_UP = frozenset(("getitem", "gather", "index_select", "take_along_dim"))
_PUTTING = frozenset(("scatter", "scatter_add"))
_MOST_EXPERTS = 1024
_MOST_STEPS = 40


def find(flow: Flow) -> Iterator[Idiom]:
    """All that is proven."""
    for step in flow.steps(("topk",)):
        idiom = _mixture(flow, step)
        if idiom is not None:
            yield idiom


def _mixture(flow: Flow, best: Step) -> Idiom | None:
    scores = flow.operand(best.node, 0)
    shape = scores.tensor.shape if scores is not None else None
    k, n = best.arguments.get("k"), shape[-1] if shape else None
    if scores is None or type(k) is not int or type(n) is not int or not 0 < k < n <= _MOST_EXPERTS:
        return None
    if best.arguments.get("dim", -1) not in (-1, len(shape or ()) - 1) or best.arguments.get("largest") is False:
        return None
    router = projected(flow, scores, _OF_SCORES)
    if router is None:
        return None
    tags = _tags(flow, best, [each.producer for each in router.path[1:]], 60 + 40 * n)
    experts = _experts(flow, best, tags, n)
    if not experts:
        return None
    call = flow.around((router.by.node, best.node, *(f"call:{each}" for each in experts)))
    if call is None:
        return None
    inside = {node for each in experts for node in flow.weighing(each) or {f"call:{each}"}}
    weighing = flow.weighing(call)
    return Idiom(
        kind=f"top-{k} of {n} experts",
        module=flow.graph.calls[call].module,
        call=call,
        whole=weighing is not None and weighing <= inside | {router.by.node},
        members=(router.by.node, best.node, *(f"call:{each}" for each in experts)),
        facts={"k": k, "experts": n},
    )


def _tags(flow: Flow, best: Step, scores: list[str], most: int) -> dict[str, set[str]]:
    """By step, what its result is; from the best scores on."""
    tags: dict[str, set[str]] = {node: {VALUE} for node in scores}
    pending = [each.consumer for node in (best.node, *scores) for each in flow.users(node)]
    done = 0
    while pending and done < most * 4:
        node = pending.pop()
        step = flow.step(node)
        done += 1
        if step is None or node == best.node or node in scores or step.is_weighing:
            continue
        found = _tags_of(flow, step, best, tags)
        if found - tags.get(node, set()):
            tags[node] = tags.get(node, set()) | found
            pending += [each.consumer for each in flow.users(node)]
    return tags


def _tags_of(flow: Flow, step: Step, best: Step, tags: dict[str, set[str]]) -> set[str]:
    edges = [(edge, _of(edge, best, tags)) for edge in flow.into.get(step.node, ()) if edge.certain]
    first = [kinds for edge, kinds in edges if edge.tensor.name in ("args[0]", "input", "self")]
    mine = first[0] if len(first) == 1 else set()
    every = set[str]().union(*(kinds for _, kinds in edges)) if edges else set()
    found: set[str] = set()
    word = step.word
    by_choice = any(
        CHOICE in kinds for edge, kinds in edges if not edge.tensor.name.startswith(("args[0]", "input", "self"))
    )
    if word in _LOOKING_UP and by_choice:
        if VALUE in mine or GATE in mine:
            found.add(GATE)
        elif CHOICE in mine:
            found.add(CHOICE)
        else:
            found.add(CHOSEN)
    if word in _PUTTING and by_choice and VALUE in every:
        found.add(GATE)
    if word == "mul" and CHOICE in every and VALUE in every:
        found.add(GATE)
    if word in _OF_CHOICES and CHOICE in every and word not in _LOOKING_UP:
        found.add(CHOICE)
    if word == "getitem" and CHOICE in mine:
        found.add(CHOICE)
    if word in _OF_VALUES:
        found |= mine & {VALUE, GATE} if word in PICKS else every & {VALUE, GATE}
    if word in KEEPING and CHOSEN in mine:
        found.add(CHOSEN)
    return found


def _of(edge: Edge, best: Step, tags: dict[str, set[str]]) -> set[str]:
    if edge.producer == best.node:
        return {VALUE} if edge.output == 0 else {CHOICE} if edge.output == 1 else set()
    return tags.get(edge.producer, set())


def _experts(flow: Flow, best: Step, tags: dict[str, set[str]], n: int) -> list[int]:
    """The calls of the experts: of modules side by side and alike, as many as there are scores; each is given what was
    chosen, or all of it, and what it gives is weighed by a score that depends on the choice."""
    found: dict[int, None] = {}
    for node, kinds in tags.items():
        step = flow.step(node)
        if GATE in kinds or (step is not None and CHOSEN in kinds):
            for edge in flow.users(node):
                call = _weighed(flow, edge) if GATE in kinds else _child(flow, best, edge.consumer)
                if call is not None and call not in found:
                    found[call] = None
    gates = {call: gate for call in found if (gate := _gate_of(flow, call, tags)) is not None}
    experts = list(gates)
    paths = {flow.graph.calls[call].module for call in experts}
    if not paths:
        return []
    parents = {flow.index.parents[path] for path in paths}
    parent = parents.pop()
    if parents or parent is None:
        return []
    beside = [
        each for each in flow.index.children[parent] if each.class_name == flow.index.modules[min(paths)].class_name
    ]
    forms = {(each.class_name, tuple(map(str, each.arguments.items()))) for each in beside}
    if len(beside) != n or len(forms) != 1 or len({len(flow.index.children[each.path]) for each in beside}) != 1:
        return []
    called = [call for each in beside for call in each.calls if flow.graph.calls[call].observed is not False]
    home = {flow.graph.calls[call].parent for call in experts}
    mine = [call for call in called if flow.graph.calls[call].parent in home]
    if len(home) != 1 or sorted(mine) != sorted(experts) or len(paths) != n or len(experts) != n:
        return []
    if not all(_is_of_its_rows(flow, call, gates[call], tags) for call in experts):
        return []
    numbers = [_number_of(flow, gates[call], tags) for call in experts]
    return sorted(experts) if None not in numbers and len(set(numbers)) == n else []


def _is_of_its_rows(flow: Flow, call: int, gate: str, tags: dict[str, set[str]]) -> bool:
    """The scores are those of the rows that the expert is given, where both are looked up by indices."""
    inside = flow.within(call)
    given = [edge for node in sorted(inside) for edge in flow.into.get(node, ()) if edge.producer not in inside]
    rows = {_rows(flow, edge.producer) for edge in given if CHOSEN in tags.get(edge.producer, ())}
    mine = _rows(flow, gate)
    return not rows or mine is None or rows <= {mine, None}


def _rows(flow: Flow, node: str) -> tuple[str, int | None] | None:
    """The indices along the first dimension by which a tensor was looked up."""
    for _ in range(8):
        step = flow.step(node)
        if step is None:
            return None
        if step.word == "getitem":
            edges = [each for each in flow.into.get(node, ()) if each.tensor.name.startswith("args[1]")]
            first = min(edges, key=lambda each: each.tensor.name, default=None)
            return None if first is None else (first.producer, first.output)
        above = flow.operand(node, 0) if step.word in KEEPING else None
        if above is None:
            return None
        node = above.producer
    return None


def _number_of(flow: Flow, gate: str, tags: dict[str, set[str]]) -> str | None:
    """By which number a score is of one expert: what the choice is compared with, or the place that is looked up."""
    pending, seen = deque([gate]), {gate}
    while pending and len(seen) < _MOST_STEPS:
        step = flow.step(pending.popleft())
        if step is None:
            continue
        number = step.arguments.get("other") if step.word == "eq" else step.arguments.get("key")
        if type(number) is int or (isinstance(number, str) and any(each.isdecimal() for each in number.split(", "))):
            return str(number)
        for edge in flow.into.get(step.node, ()):
            if edge.producer in tags and edge.producer not in seen:
                seen.add(edge.producer)
                pending.append(edge.producer)
    return None


def _child(flow: Flow, best: Step, node: str) -> int | None:
    """The outermost call that holds a step, and not the choice."""
    if not node.startswith("call:") and flow.index.operations.get(node) is None:
        return None
    around = flow.around((best.node, node))
    call = int(node[5:]) if node.startswith("call:") else flow.index.operations[node].call
    while call is not None and flow.graph.calls[call].parent != around:
        call = flow.graph.calls[call].parent
    return call if call != around else None


def _weighed(flow: Flow, edge: Edge) -> int | None:
    """The call of which the result is multiplied by what the edge carries."""
    step = flow.step(edge.consumer)
    if step is None or step.word != "mul":
        return None
    others = [each for each in flow.into.get(step.node, ()) if each is not edge and each.certain]
    return _child_of(flow, flow.before(others[0]), step) if len(others) == 1 else None


def _child_of(flow: Flow, edge: Edge, user: Step) -> int | None:
    if not edge.producer.startswith(("call:", "op:")):
        return None
    call = int(edge.producer[5:]) if edge.producer.startswith("call:") else flow.index.operations[edge.producer].call
    while call is not None and flow.graph.calls[call].parent != user.home:
        call = flow.graph.calls[call].parent
    return call


def _gate_of(flow: Flow, call: int, tags: dict[str, set[str]]) -> str | None:
    """What makes the score, dependent on the choice, by which all that a call gives is multiplied; None where it is
    not."""
    gate: str | None = None
    for edge in _given_by(flow, call):
        step = flow.step(edge.consumer)
        for _ in range(8):
            if step is None or step.word not in KEEPING:
                break
            users = flow.users(step.node)
            step, edge = (flow.step(users[0].consumer), users[0]) if len(users) == 1 else (None, edge)
        if step is None or step.word != "mul":
            return None
        others = [each for each in flow.into.get(step.node, ()) if each is not edge]
        if len(others) != 1 or GATE not in tags.get(others[0].producer, ()):
            return None
        gate = others[0].producer
    return gate


def _given_by(flow: Flow, call: int) -> Iterator[Edge]:
    """What leaves a call: made inside, and read outside."""
    inside = flow.within(call)
    for node in inside:
        for edge in flow.out.get(node, ()):
            if edge.consumer not in inside:
                yield edge
