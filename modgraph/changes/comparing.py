"""Old Graph + new Graph -> `Changes`: matches the modules, compares each pair, and says what is on one side alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from modgraph.changes.alignment import ascending
from modgraph.changes.conditional import under_conditions
from modgraph.changes.counterparts import counterparts
from modgraph.changes.facts import Facts
from modgraph.changes.flow import flows, place_of
from modgraph.changes.matching import Matching, match
from modgraph.changes.model import (
    Changed,
    Changes,
    Field,
    FindingChange,
    Flow,
    NotCompared,
    Renamed,
    Rewritten,
    Side,
    Subtree,
    Total,
    Undecided,
    by_side,
    sorted_by_path,
)
from modgraph.changes.openness import Openness
from modgraph.changes.runs import certain_part, run_totals, runs_of
from modgraph.changes.shares import Shares
from modgraph.changes.signatures import SIGNATURE, signature_fields
from modgraph.changes.state import state_changes
from modgraph.changes.trees import Tree, added, own_parameters
from modgraph.errors import GraphError
from modgraph.graph.assumed import as_assumed
from modgraph.graph.model import Finding, Graph
from modgraph.graph.untaken import as_run

Methods = Mapping[str, Mapping[str, str]]
"""By class, the text of each of its methods, without layout."""

_BUILDING = ("__init__", "class body")
_NOT_SAID = (SIGNATURE,)
"""Of these, what differs is told otherwise."""
"""Of these texts, those of which the graph shows the most."""


def compare(old: Graph, new: Graph, *, methods: tuple[Methods, Methods] | None = None) -> Changes:
    """What differs. What one of them leaves open is in `undecided`, and is no difference.

    Args:
        methods: of the classes of either graph whose source is at hand.

    Raises:
        GraphError: nothing is known of one of the models.
    """
    drawn = old, new  # with what depends on conditions, as any picture has it
    assumed = tuple(_assumed(old, new))
    whole = as_assumed(old), as_assumed(new)
    old, new = _compared(old), _compared(new)
    for graph, side in ((old, "old"), (new, "new")):
        _require_something(graph, side)
    matching = match(old, new)
    runs, not_compared = runs_of(old, new, whole)
    not_compared = (*not_compared, *assumed)
    depending = whole if runs.forward == "predicted" else None
    facts = Facts(matching, runs, depending)
    texts: tuple[Methods, Methods] = ({}, {}) if methods is None else methods
    changed = [
        change for one, other in matching.to_new.items() if (change := _changed(matching, facts, texts, one, other))
    ]
    lone_new, open_new = _lone(matching.new, matching.to_old, (facts.new_open, facts.old_open), "old")
    lone_old, open_old = _lone(matching.old, matching.to_new, (facts.old_open, facts.new_open), "new")
    renamed, moved = _renamed(matching)
    same = counterparts(old, new, matching.to_new, turned=matching.turned) if runs.calls else {}
    followed = flows(matching, same, depending, facts.leeway) if runs.calls else ((), ())
    ways, untold = followed or ((), ())
    if followed is None:
        reason = "have too much of it between modules that the other has not"
        not_compared = (*not_compared, NotCompared(what="dataflow", side="both", reason=reason))
    told = _told((*changed, *renamed, *moved), (*lone_new, *lone_old))
    conditional = under_conditions(*whole, matching, same, shapes=runs.outputs) if runs.forward == "predicted" else []
    effects = _with_effect(changed, ways, _callers(whole, lone_old, lone_new))
    shares = Shares(matching, changed, (*renamed, *moved))
    state, checkpoint = state_changes(matching, texts)
    return Changes(
        old=_side(old),
        new=_side(new),
        forward=runs.forward,
        totals=_totals(old, new, matching),
        added=lone_new,
        removed=lone_old,
        renamed=shares.of_renamed(renamed),
        moved=shares.of_renamed(moved),
        changed=sorted_by_path(shares.of_changed(changed)),
        dataflow=ways,
        findings=_findings(matching, [*open_old, *open_new]),
        rewritten=() if methods is None or runs.forward == "run" else _rewritten(matching, *methods, told, effects),
        state=state,
        checkpoint=checkpoint,
        undecided=sorted_by_path(
            [
                *facts.undecided,
                *open_new,
                *open_old,
                *_open_on_both(matching, facts),
                *conditional,
                *_untold_ways(facts, untold),
            ]
        ),
        not_compared=by_side(not_compared),
        graphs=drawn,
        pairs=tuple(matching.to_new.items()),
    )


def _told(pairs: Iterable[Changed | Renamed], lone: Iterable[Subtree]) -> list[str]:
    """Paths of modules of which something is said."""
    return [path for one in pairs for path in (one.old, one.new)] + [one.path for one in lone]


def _compared(graph: Graph) -> Graph:
    """What of a graph is compared: what ran, or what `forward` is sure to do."""
    if graph.traced:
        return as_run(graph)
    sure = certain_part(as_assumed(graph))
    modules = (replace(node, certain=own.certain) for node, own in zip(sure.modules, graph.modules, strict=True))
    return replace(sure, modules=tuple(modules))


def _assumed(old: Graph, new: Graph) -> Iterator[NotCompared]:
    """What is compared of a prediction holds under its assumption."""
    sides: tuple[tuple[Literal["old", "new", "both"], Graph], ...] = (("old", old), ("new", new))
    texts = {side: graph.model.assumed.text for side, graph in sides if graph.model.assumed is not None}
    if len(set(texts.values())) == 1 and len(texts) == 2:
        sides, texts = (("both", old),), {"both": texts["old"]}
    for side, _ in sides:
        if side in texts:
            words = "are" if side == "both" else "is"
            reason = f"{words} predicted for usual ones: {texts[side]}"
            yield NotCompared(what="other surroundings", side=side, reason=reason)


def _require_something(graph: Graph, side: str) -> None:
    root = graph.modules[0]
    if root.class_is_open and all(node.class_is_open for node in graph.modules):
        reason = f": {graph.problems[0].headline}" if graph.problems else ""
        raise GraphError(
            f"nothing is known of the {side} model {graph.model.target or graph.model.name}{reason}",
            hint="compare graphs of real runs: modgraph diff --run, or two files that `modgraph analyze` wrote",
        )


def _side(graph: Graph) -> Side:
    known: Literal["predicted", "traced", "predicted and traced", "nothing"] = (
        "predicted and traced"
        if graph.predicted and graph.traced
        else "predicted"
        if graph.predicted
        else "traced"
        if graph.traced
        else "nothing"
    )
    return Side(
        name=graph.model.name,
        class_name=graph.model.class_name,
        target=graph.model.target,
        known_by=known,
        complete=graph.complete,
        modules=len(graph.modules),
        parameters=graph.model.parameters,
    )


# --- pairs ---------------------------------------------------------------------------------------------------------


def _changed(matching: Matching, facts: Facts, texts: tuple[Methods, Methods], old: str, new: str) -> Changed | None:
    fields = (*facts.fields(old, new), *_of_signature(matching, texts, old, new))
    if not fields:
        return None
    return Changed(
        old=old,
        new=new,
        old_class=matching.old.nodes[old].class_name,
        new_class=matching.new.nodes[new].class_name,
        fields=fields,
        old_parameters=matching.old.parameters[old],
        new_parameters=matching.new.parameters[new],
    )


def _of_signature(matching: Matching, texts: tuple[Methods, Methods], old: str, new: str) -> Iterator[Field]:
    one, other = matching.old.nodes[old], matching.new.nodes[new]
    if matching.old.class_of(old) == matching.new.class_of(new) and other.alias_of is None:
        yield from signature_fields(texts[0].get(one.class_name or "", {}), texts[1].get(other.class_name or "", {}))


_RAN = frozenset(["calls", "outputs", "output_dtypes", "operations"])
"""Kinds of fields that say what `forward` does."""


def _callers(graphs: tuple[Graph, Graph], *lone: Iterable[Subtree]) -> Iterator[str]:
    """Paths of modules right around those that are on one side alone and called there."""
    for graph, subtrees in zip(graphs, lone, strict=True):
        called = {call.module for call in graph.calls}
        yield from (one.path.rpartition(".")[0] for one in subtrees if one.path in called)


def _with_effect(changed: Iterable[Changed], ways: Iterable[Flow], callers: Iterable[str]) -> set[str]:
    """Paths of modules of which, or below which, it is told what `forward` does in another way.

    Args:
        callers: those whose calls are told, as the other side has no such module.
    """
    places = [place for one in changed if any(each.kind in _RAN for each in one.fields) for place in (one.old, one.new)]
    places += [place_of(end) for way in ways for end in (way.producer, way.consumer)]
    return _and_around([*places, *callers])


def _and_around(paths: Iterable[str]) -> set[str]:
    found = set(paths)
    for path in tuple(found):
        while path:
            path = path.rpartition(".")[0]
            found.add(path)
    return found


def _rewritten(
    matching: Matching, old: Methods, new: Methods, told: Iterable[str], with_effect: set[str]
) -> tuple[Rewritten, ...]:
    """Modules of one class on both sides, whose methods are not the same text. A method of one side alone is called by
    others, whose text differs then, or is the `forward` that took the place of an inherited one. What builds a module
    is named where nothing is told of the module and of those below it, the paths `told`; what runs, where no effect
    is told."""
    found: list[Rewritten] = []
    accounted = _and_around(told)
    for path, other in matching.to_new.items():
        name, kind = matching.old.nodes[path].class_name, matching.new.nodes[other].class_name
        same = matching.old.class_of(path) == matching.new.class_of(other)
        if name not in old or kind not in new or not same or matching.new.nodes[other].alias_of is not None:
            continue
        assert name is not None
        assert kind is not None
        one, two = _with_new_names(old[name], matching, path, other), new[kind]
        names = sorted({*one, *two}.difference(_NOT_SAID))
        differing = [each for each in names if one.get(each) != two.get(each)]
        if path in accounted or other in accounted:
            differing = [each for each in differing if each not in _BUILDING]
        if path in with_effect or other in with_effect:
            differing = [each for each in differing if each in _BUILDING]
        said = tuple(each for each in differing if each == "forward" or (each in one and each in two))
        if said:
            found.append(Rewritten(old=path, new=other, class_name=kind, methods=said))
    return sorted_by_path(found)


def _with_new_names(methods: Mapping[str, str], matching: Matching, path: str, other: str) -> Mapping[str, str]:
    """The methods, with children of `path` as they are called now: that they are renamed is told already."""
    old, new = matching.old, matching.new
    stayed = [child for child in old.children[path] if new.parents.get(matching.to_new.get(child, "")) == other]
    names = {old.name(child): new.name(matching.to_new[child]) for child in stayed}
    if all(before == after for before, after in names.items()):
        return methods
    return {
        method: re.sub(r"\bself\.(\w+)", lambda found: f"self.{names.get(found[1], found[1])}", text)
        for method, text in methods.items()
    }


def _renamed(matching: Matching) -> tuple[tuple[Renamed, ...], tuple[Renamed, ...]]:
    """Modules under another name in the same parent, and those in another parent or out of their row's order."""
    renamed: list[Renamed] = []
    moved: list[Renamed] = []
    old, new = matching.old, matching.new
    shifted = _shifted(matching)
    for path, other in matching.to_new.items():
        if not path or path in shifted:
            continue
        stayed = matching.to_new.get(old.parents[path]) == new.parents[other]
        if stayed and old.name(path) == new.name(other):
            continue
        below = sum(matching.to_new.get(inner, "").startswith(f"{other}.") for inner in old.below(path))
        one = Renamed(old=path, new=other, class_name=new.nodes[other].class_name, modules=1 + below)
        in_row = old.name(path).isdecimal() and new.name(other).isdecimal()
        (renamed if stayed and not in_row else moved).append(one)
    return sorted_by_path(renamed), sorted_by_path(moved)


def _shifted(matching: Matching) -> set[str]:
    """Members of numbered rows that have another number only because others came, went or moved."""
    found: set[str] = set()
    old, new = matching.old, matching.new
    for path, other in matching.to_new.items():
        pairs = [
            (child, matching.to_new[child])
            for child in old.children[path]
            if child in matching.to_new and new.parents.get(matching.to_new[child]) == other
        ]
        if not all(_is_row(tree, tree.children[at]) for tree, at in ((old, path), (new, other))):
            continue
        if matching.turned:
            pairs.sort(key=lambda pair: new.position[pair[1]])
            kept = ascending([old.position[child] for child, _ in pairs])
        else:
            kept = ascending([new.position[there] for _, there in pairs])
        found |= {child for place, (child, _) in enumerate(pairs) if place in kept}
    return found


def _is_row(tree: Tree, children: list[str]) -> bool:
    return [tree.name(path) for path in children] == [str(number) for number in range(len(children))]


# --- one side alone ------------------------------------------------------------------------------------------------


def _lone(
    here: Tree, pairs: dict[str, str], openness: tuple[Openness, Openness], side: Literal["old", "new"]
) -> tuple[tuple[Subtree, ...], list[Undecided]]:
    """Outermost modules of one tree that the other has not, and those of which that cannot be told.

    Args:
        openness: of this tree, and of the other one.
        side: which of the two models the other tree is.
    """
    open_here, open_there = openness
    own: Literal["old", "new"] = "new" if side == "old" else "old"
    found: list[Subtree] = []
    undecided: list[Undecided] = []
    for path, node in here.nodes.items():
        if path in pairs or here.parents[path] not in pairs:
            continue
        parent = pairs[here.parents[path]]
        reason_there = open_there.children_of(parent) if node.registered else open_there.hidden_in(parent)
        reason = open_here.existence_of(path) if reason_there is None else reason_there
        if reason is None:
            inside = [path, *(inner for inner in here.below(path) if inner not in pairs)]
            found.append(
                Subtree(
                    path=path,
                    class_name=node.class_name,
                    modules=len(inside),
                    parameters=added(*(own_parameters(here.nodes[inner]) for inner in inside)),
                    in_total=added(*(here.own[inner] for inner in inside)),
                )
            )
            continue
        old, new = (None, path) if side == "old" else (path, None)
        of_other = reason_there is not None
        place = open_there.place(reason, parent) if of_other else open_here.place(reason, path)
        leaves_open = side if of_other else own
        undecided.append(
            Undecided(
                old=old,
                new=new,
                what="module",
                side=leaves_open,
                reason=reason,
                old_place=place if leaves_open == "old" else None,
                new_place=place if leaves_open == "new" else None,
            )
        )
    return sorted_by_path(found), undecided


def _open_on_both(matching: Matching, facts: Facts) -> list[Undecided]:
    """Modules that may have further children, or hide further modules, on both sides."""
    found = []
    for path, other in matching.to_new.items():
        old, new = facts.old_open.hidden_in(path), facts.new_open.hidden_in(other)
        known = None not in (matching.old.nodes[path].class_name, matching.new.nodes[other].class_name)
        if old is not None and new is not None and known:
            found.append(
                Undecided(
                    old=path,
                    new=other,
                    what="further modules",
                    side="both",
                    reason="; ".join(sorted({old, new})),
                    old_place=facts.old_open.place(old, path),
                    new_place=facts.new_open.place(new, other),
                )
            )
    return found


def _untold_ways(facts: Facts, ways: Iterable[Flow]) -> Iterator[Undecided]:
    """Ways of data that one side has, where the other leaves open whether it has them."""
    matching = facts.matching
    for way in ways:
        here = place_of(way.consumer)
        there = (matching.to_new if way.side == "old" else matching.to_old).get(here)
        openness = facts.new_open if way.side == "old" else facts.old_open
        reason = "" if there is None else openness.reason(there)
        place = None if there is None else openness.place(reason, there)
        yield Undecided(
            old=here if way.side == "old" else there,
            new=there if way.side == "old" else here,
            what=f"way of data {way.producer} → {way.consumer}",
            side="new" if way.side == "old" else "old",
            reason=reason,
            old_place=None if way.side == "old" else place,
            new_place=place if way.side == "old" else None,
        )


# --- the whole model -----------------------------------------------------------------------------------------------


def _totals(old: Graph, new: Graph, matching: Matching) -> tuple[Total, ...]:
    found: list[Total] = []
    for name in ("parameters", "trainable_parameters", "buffers"):
        one, other = getattr(old.model, name), getattr(new.model, name)
        if None not in (one, other) and one != other:
            found.append(Total(name=name, old=one, new=other))
    counts = len(matching.old.nodes), len(matching.new.nodes)
    if counts[0] != counts[1] and not (old.problems or new.problems):
        found.append(Total(name="modules", old=counts[0], new=counts[1]))
    if old.profile is not None and new.profile is not None and old.profile.flops != new.profile.flops:
        found.append(Total(name="flops", old=old.profile.flops, new=new.profile.flops))
    return (*found, *run_totals(old, new))


def _findings(matching: Matching, undecided: Iterable[Undecided]) -> tuple[FindingChange, ...]:
    """Findings of one side alone: one and the same has the code, the module and the attribute in common. Of modules of
    which it cannot be told whether the other side has them, nothing is said."""
    old, new = matching.old.graph, matching.new.graph
    unsure_old, unsure_new = set[str | None](), set[str | None]()
    for each in undecided:
        unsure_old.update(() if each.old is None else (each.old, *matching.old.below(each.old)))
        unsure_new.update(() if each.new is None else (each.new, *matching.new.below(each.new)))

    def key(finding: Finding, path: str | None) -> tuple[str | None, ...]:
        return (finding.code, "" if finding.module is None else "in", path, finding.attribute)

    translated = [None if one.module is None else matching.translated(one.module) for one in old.findings]
    keyed_old = [(key(finding, path), finding) for finding, path in zip(old.findings, translated, strict=True)]
    keyed_new = [(key(finding, finding.module), finding) for finding in new.findings]
    counts_old, counts_new = Counter(one for one, _ in keyed_old), Counter(one for one, _ in keyed_new)
    gone, further = _beyond(keyed_old, counts_new), _beyond(keyed_new, counts_old)
    found = [_finding(finding, "old") for finding in gone if finding.module not in unsure_old]
    found += [_finding(finding, "new") for finding in further if finding.module not in unsure_new]
    return sorted_by_path(found)


def _beyond(keyed: Iterable[tuple[Any, Finding]], elsewhere: Counter[Any]) -> list[Finding]:
    left = Counter(elsewhere)
    found = []
    for key, finding in keyed:
        if left[key] > 0:
            left[key] -= 1
        else:
            found.append(finding)
    return found


def _finding(finding: Finding, side: Literal["old", "new"]) -> FindingChange:
    return FindingChange(
        side=side,
        code=finding.code,
        message=finding.message,
        module=finding.module,
        file=finding.file,
        line=finding.line,
    )
