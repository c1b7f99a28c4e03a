"""What `forward` of two predicted models does under a condition that nobody can decide: compared as what is certain is,
call by call, operation by operation, and by the ways of data. Where it is not the same under the same condition on both
sides, it cannot be told whether the models differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from modgraph.changes.counterparts import counterparts
from modgraph.changes.flow import MOST_STEPS, outer_key
from modgraph.changes.leeway import VAGUE
from modgraph.changes.matching import Matching
from modgraph.changes.model import Undecided
from modgraph.changes.places import elsewhere, place_in_operation
from modgraph.graph.model import Call, Condition, Edge, Graph, Operation, TensorInfo
from modgraph.names import is_in_parentheses

WHAT = "what forward does under a condition"
_Place = tuple[str, str]
"""A module by its path in the new graph, and the text of a condition."""
_Way = tuple[Hashable, frozenset[str]]
"""Where data comes from, and on which conditions on its way."""


def under_conditions(
    old: Graph, new: Graph, matching: Matching, same: Mapping[str, str], *, shapes: bool
) -> list[Undecided]:
    """What is left alone of two predictions, by module and condition.

    Args:
        old, new: with what depends on conditions.
        same: calls and operations of the old graph that are certain, and what they are in the new one.
        shapes: both are predicted for the same inputs, so that shapes say something.
    """
    if not (_Uncertain(old) or _Uncertain(new)):
        return []
    one, two = _both(old, new, matching, same, shapes)
    found = []
    differing = {at for at in (*one.parts, *two.parts) if one.parts.get(at) != two.parts.get(at)}
    differing |= set(_at_other_places(one, two))
    for module, text in dict.fromkeys([*one.parts, *two.parts]):
        at = (module, text)
        if at not in differing and not text.startswith(VAGUE):
            continue
        side: Literal["old", "new", "both"] = "both"
        if at not in one.parts or at not in two.parts:
            side = "old" if at in one.parts else "new"
        reason = text if text.startswith(VAGUE) else f"depends on `{text}`" if text else ""
        found.append(
            Undecided(
                old=matching.to_old[module],
                new=module,
                what=WHAT,
                side=side,
                reason=reason,
                old_place=one.places.get(at),
                new_place=two.places.get(at),
            )
        )
    return found


def _both(old: Graph, new: Graph, matching: Matching, same: Mapping[str, str], shapes: bool) -> tuple[_Parts, _Parts]:
    """Both sides in the words of the new one. What is certain is what it is where that alone is compared: so there is
    one pairing, under which all is the same or is not."""
    unsure = _Uncertain(old), _Uncertain(new)
    pairs = counterparts(old, new, matching.to_new, turned=matching.turned, uncertain=True)
    pairs = {end: other for end, other in pairs.items() if end in unsure[0].ends and other in unsure[1].ends}
    pairs.update((end, other) for end, other in same.items() if end not in unsure[0].ends)
    paths: dict[str, str | None] = {node.path: matching.to_new.get(node.path) for node in old.modules}
    sides = (
        _Side(old, paths, {end: pairs.get(end, ("old", end)) for end in unsure[0].all}, unsure[0], frozenset(same)),
        _Side(
            new,
            {node.path: node.path if node.path in matching.to_old else None for node in new.modules},
            {end: end for end in unsure[1].all},
            unsure[1],
            frozenset(same.values()),
        ),
    )
    parts = _Parts(sides[0], shapes, past=True), _Parts(sides[1], shapes, past=True)
    if not all(each.is_whole for each in parts):
        return _Parts(sides[0], shapes, past=False), _Parts(sides[1], shapes, past=False)
    return parts


def _at_other_places(one: _Parts, two: _Parts) -> Iterator[_Place]:
    """Where the same data comes in at another place of a call or an operation."""
    for consumer, olds in one.arrivals.items():
        news = two.arrivals.get(consumer)
        if news is None or (consumer not in one.open and consumer not in two.open) or Counter(olds) == Counter(news):
            continue
        for way in elsewhere(olds, news):
            for parts in (one, two):
                if (consumer, way) in parts.at:
                    yield parts.at[consumer, way]


class _Uncertain:
    """Calls and operations of a graph that are not certain, or are inside of a call that is not."""

    def __init__(self, graph: Graph) -> None:
        self.all = [*(f"call:{call.index}" for call in graph.calls), *(each.id for each in graph.operations)]
        self.ends: dict[str, Call | Operation] = {}
        for call in graph.calls:
            if not call.certain or f"call:{call.parent}" in self.ends:
                self.ends[f"call:{call.index}"] = call
        for each in graph.operations:
            if not each.certain or f"call:{each.call}" in self.ends:
                self.ends[each.id] = each
        self._in_edges = any(not edge.certain for edge in graph.edges)

    def __bool__(self) -> bool:
        return bool(self.ends) or self._in_edges


@dataclass(slots=True)
class _Side:
    graph: Graph
    paths: Mapping[str, str | None]
    """Of each module, as the new graph calls it; None of one that is here alone."""
    keys: Mapping[str, Hashable]
    """Of calls and operations, what they are on both sides."""
    unsure: _Uncertain
    paired: frozenset[str]
    """What is certain, and is on the other side too."""
    outgoing: dict[str, list[Edge]] = field(init=False, default_factory=dict)
    operations: dict[str, Operation] = field(init=False)

    def __post_init__(self) -> None:
        self.operations = {each.id: each for each in self.graph.operations}
        for edge in self.graph.edges:
            self.outgoing.setdefault(edge.producer, []).append(edge)

    def key(self, end: str) -> Hashable:
        return self.keys[end] if end in self.keys else outer_key(end, self.paths)

    def is_lone(self, end: str) -> bool:
        """Whether it is told that the other side has it not: a certain call or operation, or what a module does that is
        here alone."""
        if end in self.unsure.ends:
            return self.is_inside_lone(end)
        return end in self.keys and end not in self.paired

    def is_inside_lone(self, end: str) -> bool:
        """Whether a module calls it that is here alone: it is told of that module, whatever this does."""
        call = self.around(end)
        return call is not None and self.paths[self.graph.calls[call].module] is None

    def around(self, end: str) -> int | None:
        """The call in which an end is."""
        kind, _, name = end.partition(":")
        if kind == "op":
            return self.operations[end].call
        return self.graph.calls[int(name)].parent if kind == "call" else None

    def is_certain(self, edge: Edge) -> bool:
        """Whether it is there in any case, or in any where a module is called that is here alone."""
        ends = (edge.producer, edge.consumer)
        if edge.certain and not any(end in self.unsure.ends for end in ends):
            return True
        return any(map(self.is_inside_lone, ends))


class _Parts:
    """Calls, operations and ways of data of one graph that are not certain.

    Args:
        past: ways are followed past what is certain and here alone, as the others are.
    """

    def __init__(self, side: _Side, shapes: bool, *, past: bool) -> None:
        self.parts: dict[_Place, Counter[Hashable]] = {}
        self.places: dict[_Place, str | None] = {}
        self.arrivals: dict[Hashable, list[tuple[_Way, str]]] = {}
        """What comes in at each end, and at which place."""
        self.at: dict[tuple[Hashable, _Way], _Place] = {}
        """Of the ways that are not certain, where that is."""
        self.open: set[Hashable] = set()
        """Ends at which such ways come in."""
        self.is_whole = True
        """There are no more ways than can be followed."""
        self._side = side
        self._shapes = shapes
        self._past = past
        self._vague = Counter(
            (edge.consumer, edge.tensor.name) for edge in side.graph.edges if _text(edge.condition).startswith(VAGUE)
        )
        for end, each in side.unsure.ends.items():
            home = each.parent if isinstance(each, Call) else each.call
            given = self._tensors(each.outputs) if isinstance(each, Call) else ()
            around = None if home is None else side.keys[f"call:{home}"]
            self._add(home, each.condition, (side.keys[end], around, given))
        self._follow()

    def _tensors(self, tensors: Iterable[TensorInfo]) -> tuple[Hashable, ...]:
        return tuple((each.shape, each.dtype) for each in tensors) if self._shapes else ()

    def _add(self, call: int | None, condition: Condition | None, part: Hashable) -> _Place | None:
        module = self._side.paths["" if call is None else self._side.graph.calls[call].module]
        if module is None:
            return None  # it is told that the other side has no such module
        text = _text(condition)
        at = (module, _of_either_arm(text))
        self.parts.setdefault(at, Counter())[part, text] += 1
        if condition is not None and condition.file is not None and at not in self.places:
            self.places[at] = f"{condition.file}:{condition.line}" if condition.line else condition.file
        return at

    def _follow(self) -> None:
        steps = 0
        for producer, edges in self._side.outgoing.items():
            if self._past and self._side.is_lone(producer):
                continue
            pending = [(edge, frozenset[str]()) for edge in reversed(edges)]
            seen: set[tuple[str, frozenset[str]]] = set()
            while pending:
                edge, passed = pending.pop()
                if not self._side.is_certain(edge):
                    passed |= {_text(edge.condition)}
                if not self._past or not self._side.is_lone(edge.consumer):
                    self._arrive(producer, edge, passed)
                elif (edge.consumer, passed) not in seen:
                    seen.add((edge.consumer, passed))
                    further = self._side.outgoing.get(edge.consumer, ())
                    steps += len(further)
                    pending.extend((each, passed) for each in reversed(further))
            if steps > MOST_STEPS:
                self.is_whole = False
                return

    def _arrive(self, producer: str, edge: Edge, passed: frozenset[str]) -> None:
        way, consumer = (self._side.key(producer), passed), self._side.key(edge.consumer)
        self.arrivals.setdefault(consumer, []).append((way, self._place(edge)))
        if not passed:
            return
        self.open.add(consumer)
        at = self._add(
            self._side.around(edge.consumer), self._known(edge), (way, consumer, self._tensors([edge.tensor]))
        )
        if at is not None:
            self.at.setdefault((consumer, way), at)

    def _place(self, edge: Edge) -> str:
        """Where it comes in; "" where the end of the way says so already."""
        if edge.consumer.startswith("call:"):
            return edge.tensor.name
        operation = self._side.operations.get(edge.consumer)
        return "" if operation is None else place_in_operation(operation.name, edge.tensor.name)

    def _known(self, edge: Edge) -> Condition | None:
        """The condition of an edge. One that names no test is that of the end which depends on one: of all that comes
        in there, it is what is left."""
        ends = [self._side.unsure.ends[end] for end in (edge.consumer, edge.producer) if end in self._side.unsure.ends]
        is_left = self._vague[edge.consumer, edge.tensor.name] == 1 and _text(edge.condition).startswith(VAGUE)
        if ends and (is_left or edge.condition is None):
            return ends[0].condition
        return edge.condition


def _text(condition: Condition | None) -> str:
    return "" if condition is None else condition.text


def _of_either_arm(text: str) -> str:
    """The test, of a condition that is this test or that it comes out otherwise."""
    rest = text.removeprefix("not ")
    if rest == text:
        return text
    if is_in_parentheses(rest):
        return rest[1:-1]
    return text if " " in rest else rest
