"""Siamese networks: inputs go through the same layers, each by itself, and what comes of them is brought together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import TypeAlias

from modgraph.graph.dataflow import operation_word
from modgraph.graph.idioms.flow import Flow
from modgraph.graph.idioms.idiom import Idiom
from modgraph.graph.idioms.likeness import Likeness
from modgraph.graph.model import Edge, ModuleNode
from modgraph.names import last_name

MOST_BRANCHES = 8
_HELD = ("embedding",)
"""Words of layers that look up: a table that two inputs share is no network that they share."""
_OF_SEVERAL = ("rnn", "module", "multihead_attention")
"""Words of layers that are a network by themselves."""
_TURNING = ("t", "T", "mT", "transpose", "swapaxes", "swapdims")
_PRODUCTS = ("matmul", "mm", "bmm")
_Branches: TypeAlias = tuple[int, ...]


def find(flow: Flow) -> Iterator[Idiom]:
    """All that is proven: one for each call in which there are such branches."""
    looked_at: set[tuple[int, _Branches]] = set()
    met: set[int] = set()
    for node in flow.graph.modules:
        calls = [each for each in node.calls if flow.graph.calls[each].observed is not False]
        homes = {flow.graph.calls[each].parent for each in calls}
        home = homes.pop() if len(homes) == 1 else None
        if len(calls) < 2 or len(calls) > MOST_BRANCHES or home is None or home in met:
            continue
        branches = _branches(flow, calls)
        # What is done with the branches is the same, whichever of their layers leads to them.
        if branches is None or (home, branches) in looked_at:
            continue
        looked_at.add((home, branches))
        if _are_alike(flow, branches, home):
            met.add(home)
            yield _idiom(flow, node, calls, home, len(branches))


def _idiom(flow: Flow, node: ModuleNode, calls: list[int], home: int, branches: int) -> Idiom:
    return Idiom(
        kind="siamese",
        detail=f"{branches} branches",
        module=flow.graph.calls[home].module,
        call=home,
        whole=True,
        members=tuple(f"call:{each}" for each in calls),
        facts={"branches": branches, "shared": node.path},
    )


def _branches(flow: Flow, calls: list[int]) -> _Branches | None:
    """The inputs of each branch, as bits; None where these calls are not of a network that branches share."""
    if not _is_network(flow, calls[0]):
        return None
    roots = [_roots(flow, call) for call in calls]
    branches = tuple(dict.fromkeys(roots))
    apart = all(one and not one & other for one in branches for other in branches if one is not other)
    return branches if len(branches) > 1 and apart and len(set(Counter(roots).values())) == 1 else None


def _roots(flow: Flow, call: int) -> int:
    """The inputs of which a call's data comes, as bits."""
    found = 0
    for end in flow.within(call):
        found |= flow.roots(end) or 0
    return found


def _is_network(flow: Flow, call: int) -> bool:
    """Whether it is certain, and has weights that are more than a table."""
    if flow.index.is_leaf_call(call):
        step = flow.step(f"call:{call}")
        return step is not None and (step.is_weighing or step.word == "rnn")
    weighing = flow.weighing(call)
    steps = [flow.step(each) for each in weighing or ()]
    return any(step is not None and step.word not in _HELD for step in steps)


def _are_alike(flow: Flow, branches: _Branches, home: int) -> bool:
    """All that is done with one is done with each other, and it is more than one layer."""
    likeness = Likeness(flow, branches)
    forms = [_form(flow, likeness, branch) for branch in branches]
    if forms[0] is None or any(form != forms[0] for form in forms) or not _is_encoder(flow, branches[0], home):
        return False
    given = _handed_on(flow, likeness, branches)
    is_same = given is not None and bool(given[0]) and all(each == given[0] for each in given)
    return is_same and _all_meet(flow, branches)


def _form(flow: Flow, likeness: Likeness, branch: int) -> Counter[int] | None:
    """All that is done with these inputs alone, each step by its number; None where one is not certain."""
    form: Counter[int] = Counter()
    for end in flow.into:
        if end.startswith("output:") or not _is_of(flow, end, branch) or _is_turned(flow, end, branch):
            continue
        number = likeness.number(end)
        if number is None:
            return None
        form[number] += 1
    return form


def _is_of(flow: Flow, end: str, branch: int) -> bool:
    """It comes of these inputs alone."""
    own = flow.roots(end) or 0
    return bool(own) and not own & ~branch


def _is_turned(flow: Flow, end: str, branch: int) -> bool:
    """Whether it only lays rows as columns for the products in which branches meet: `one @ other.t()`."""
    each, edges = flow.index.operations.get(end), flow.into.get(end, [])
    if each is None or last_name(each.name.removesuffix(".__get__")) not in _TURNING or len(edges) != 1:
        return False
    rank, places = len(edges[0].tensor.shape or ()), list(each.arguments.values())
    if places and not (rank and all(type(one) is int for one in places)):
        return False
    if places and sorted(place % rank for place in places) != [rank - 2, rank - 1]:
        return False
    users = [flow.index.operations.get(edge.consumer) for edge in flow.out.get(end, ())]
    return bool(users) and all(user is not None and _is_product(flow, user.id, branch) for user in users)


def _is_product(flow: Flow, end: str, branch: int) -> bool:
    return operation_word(flow.index.operations[end].name) in _PRODUCTS and not _is_of(flow, end, branch)


def _before_turned(flow: Flow, edge: Edge, branch: int) -> Edge:
    return flow.into[edge.producer][0] if _is_turned(flow, edge.producer, branch) else edge


def _is_encoder(flow: Flow, branch: int, home: int) -> bool:
    """Whether it has two layers that weigh, or a container with one: the cell of an RNN weighs both of its inputs."""
    weighing = 0
    for end in flow.into:
        step = flow.step(end) if _is_of(flow, end, branch) else None
        if step is None or not (step.is_weighing or step.word in _OF_SEVERAL):
            continue
        weighing += 1
        if step.home != home or step.word in _OF_SEVERAL:
            return True
    return weighing > 1


def _fed(flow: Flow) -> Iterator[tuple[str, list[Edge]]]:
    """The operations and calls, each with what leads to it."""
    yield from ((end, edges) for end, edges in flow.into.items() if end.startswith(("op:", "call:")))


def _handed_on(flow: Flow, likeness: Likeness, branches: _Branches) -> list[set[int]] | None:
    """Of each branch, what goes into steps that take something else too; None where that is not known."""
    found: list[set[int]] = [set() for _ in branches]
    for end, edges in _fed(flow):
        for edge, (branch, given) in product(edges, zip(branches, found, strict=True)):
            if not _is_of(flow, edge.producer, branch) or _is_of(flow, end, branch):
                continue
            number = likeness.of_edge(_before_turned(flow, edge, branch))
            if number is None:
                return None
            given.add(number)
    return found


def _all_meet(flow: Flow, branches: _Branches) -> bool:
    """Whether there are steps that take what comes of one and of another, and each branch goes into one."""
    meeting: set[int] = set()
    for _, edges in _fed(flow):
        origins = {origin for edge in edges if edge.certain and (origin := flow.roots(edge.producer))}
        here = [branch for branch in branches if any(not origin & ~branch for origin in origins)]
        if len(here) > 1:
            meeting.update(here)
    return len(meeting) == len(branches)
