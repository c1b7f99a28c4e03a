"""What `forward` of two predicted models does under a condition that nobody can decide: where it is not plainly the
same, it cannot be told whether it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Mapping
from typing import Literal

from modgraph.changes.matching import Matching
from modgraph.changes.model import Undecided
from modgraph.graph.dataflow import operation_word
from modgraph.graph.model import Condition, Graph

WHAT = "what forward does under a condition"
_VAGUE = ("depends on", "another way")
"""They begin conditions that name no test: two of one text need not be one."""
_OTHER_ARM = re.compile(r"not (?:\((?P<inner>.*)\)|(?P<bare>.*))", re.DOTALL)
_Place = tuple[str, str]
"""A module by its path in the new graph, and the text of a condition."""


def under_conditions(old: Graph, new: Graph, matching: Matching) -> list[Undecided]:
    """What is left alone of two predictions, by module and condition.

    Args:
        old, new: with what depends on conditions.
    """
    one = _Parts(old, matching.to_new)
    two = _Parts(new, {path: path for path in matching.to_old})
    found = []
    for module, text in dict.fromkeys([*one.parts, *two.parts]):
        at = (module, text)
        if one.parts.get(at) == two.parts.get(at) and not text.startswith(_VAGUE):
            continue
        side: Literal["old", "new", "both"] = "both"
        if at not in one.parts or at not in two.parts:
            side = "old" if at in one.parts else "new"
        reason = text if text.startswith(_VAGUE) else f"depends on `{text}`" if text else ""
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


class _Parts:
    """Calls, operations and edges of one graph that are not certain.

    Args:
        names: modules that both graphs have, as the new one calls them.
    """

    def __init__(self, graph: Graph, names: Mapping[str, str]) -> None:
        self.parts: dict[_Place, Counter[Hashable]] = {}
        self.places: dict[_Place, str | None] = {}
        self._graph = graph
        self._names = names
        self._operations = {each.id: each for each in graph.operations}
        unsure = {each.id for each in graph.operations if not each.certain}
        for call in graph.calls:
            if not call.certain:
                unsure.add(f"call:{call.index}")
                self._add(call.parent, call.condition, ("call", names.get(call.module, f"other {call.module}")))
        for each in graph.operations:
            if not each.certain:
                self._add(each.call, each.condition, ("op", operation_word(each.name)))
        for edge in graph.edges:
            if not edge.certain and unsure.isdisjoint((edge.producer, edge.consumer)):
                way = self._word(edge.producer), self._word(edge.consumer)
                self._add(self._around(edge.consumer), edge.condition, ("way", *way))

    def _add(self, call: int | None, condition: Condition | None, part: Hashable) -> None:
        module = self._names.get("" if call is None else self._graph.calls[call].module)
        if module is None:
            return  # it is told that the other side has no such module
        text = "" if condition is None else condition.text
        other_arm = _OTHER_ARM.fullmatch(text)
        at = (module, text if other_arm is None else other_arm["inner"] or other_arm["bare"])
        self.parts.setdefault(at, Counter())[part, other_arm is None] += 1
        if condition is not None and condition.file is not None and at not in self.places:
            self.places[at] = f"{condition.file}:{condition.line}" if condition.line else condition.file

    def _around(self, end: str) -> int | None:
        """The call in which an end is."""
        kind, _, name = end.partition(":")
        if kind == "op":
            return self._operations[end].call
        return self._graph.calls[int(name)].parent if kind == "call" else None

    def _word(self, end: str) -> Hashable:
        kind, _, name = end.partition(":")
        if kind == "op":
            return operation_word(self._operations[end].name)
        if kind == "call":
            module = self._graph.calls[int(name)].module
            return self._names.get(module, f"other {module}")
        return kind if kind == "const" else end
