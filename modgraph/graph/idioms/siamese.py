"""Siamese networks: inputs go through the same layers, each by itself, and what comes of them is brought together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator

from modgraph.graph.idioms.flow import KEEPING, MOST_STEPS, Flow
from modgraph.graph.idioms.idiom import Idiom
from modgraph.graph.model import ModuleNode

MOST_BRANCHES = 8
_HELD = ("embedding",)
"""Words of layers that look up: a table that two inputs share is no network that they share."""


def find(flow: Flow) -> Iterator[Idiom]:
    """All that is proven: one for each call in which there are such branches."""
    met: set[int] = set()
    for node in flow.graph.modules:
        calls = [each for each in node.calls if flow.graph.calls[each].observed is not False]
        homes = {flow.graph.calls[each].parent for each in calls}
        home = homes.pop() if len(homes) == 1 else None
        if len(calls) < 2 or len(calls) > MOST_BRANCHES or home is None or home in met:
            continue
        idiom = _idiom(flow, node, calls, home)
        if idiom is not None:
            met.add(home)
            yield idiom


def _idiom(flow: Flow, node: ModuleNode, calls: list[int], home: int) -> Idiom | None:
    roots = [_roots(flow, call) for call in calls]
    branches = list(dict.fromkeys(roots))
    apart = all(one and not one & other for one in branches for other in branches if one is not other)
    if len(branches) < 2 or not apart or len(set(Counter(roots).values())) > 1 or not _is_network(flow, calls[0]):
        return None
    forms = [_form(flow, branch) for branch in branches]
    if forms[0] is None or any(form != forms[0] for form in forms) or not _all_meet(flow, branches):
        return None
    return Idiom(
        kind="siamese",
        detail=f"{len(branches)} branches",
        module=flow.graph.calls[home].module,
        call=home,
        whole=True,
        members=tuple(f"call:{each}" for each in calls),
        facts={"branches": len(branches), "shared": node.path},
    )


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


def _form(flow: Flow, branch: int) -> Counter[Hashable] | None:
    """All that is done with these inputs alone: by what, and what each step takes; None where one is not certain."""
    form: Counter[Hashable] = Counter()
    for end, edges in flow.into.items():
        own = flow.roots(end) or 0
        if end.startswith("output:") or not own or own & ~branch or _is_view(flow, end):
            continue
        if flow.step(end) is None or not all(edge.certain for edge in edges):
            return None
        form[_label(flow, end), tuple(sorted(_label(flow, _behind_views(flow, edge.producer)) for edge in edges))] += 1
    return form


def _is_view(flow: Flow, end: str) -> bool:
    step = flow.step(end)
    return step is not None and step.word in KEEPING and step.node.startswith("op:")


def _behind_views(flow: Flow, end: str) -> str:
    """What is seen through views: they change nothing that is known of a branch."""
    for _ in range(MOST_STEPS):
        above = flow.into.get(end, ()) if _is_view(flow, end) else ()
        if len(above) != 1:
            break
        end = above[0].producer
    return end


def _label(flow: Flow, end: str) -> str:
    """The same for the same step of two branches."""
    kind, _, name = end.partition(":")
    if kind == "call":
        return flow.graph.calls[int(name)].module
    if kind == "op":
        return f"{flow.index.operations[end].name}()"
    return end if kind == "param" else f"{kind}:"


def _all_meet(flow: Flow, branches: list[int]) -> bool:
    """Whether there are steps that take what comes of one and of another, and each branch goes into one."""
    meeting: set[int] = set()
    for end, edges in flow.into.items():
        if not end.startswith(("op:", "call:")):
            continue
        origins = {origin for edge in edges if edge.certain and (origin := flow.roots(edge.producer))}
        here = [branch for branch in branches if any(not origin & ~branch for origin in origins)]
        if len(here) > 1:
            meeting.update(here)
    return len(meeting) == len(branches)
