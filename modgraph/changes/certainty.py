"""Which pairs of a matching are the only ones that could be: what the names of weights may be told by.

A matching takes the first of several that are alike, which does for a picture of a change. A tensor that is put under
another name for it would be wrong in silence. Where as many of one kind went as came, in the same order of registration
and of their calls, or where the names say which is which, there is one answer; else there is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Literal

from modgraph.changes.matching import Matching
from modgraph.changes.trees import Tree
from modgraph.names import last_name


@dataclass(frozen=True, slots=True)
class _Alike:
    """Modules that could be taken for each other, in the order of registration."""

    places: Mapping[str, int]
    names: Counter[str]
    order: list[int] | None
    """Their places in the order of their calls; None where that is not known."""


_NONE = _Alike({}, Counter(), None)


class Certainty:
    """Answers for one matching."""

    def __init__(self, matching: Matching) -> None:
        self._matching = matching
        self._known: dict[str, bool] = {}
        self._groups: dict[tuple[int, str | None, bool], dict[Hashable, _Alike]] = {}
        self._calls = _first_calls(matching.old), _first_calls(matching.new)

    def is_sure(self, old: str) -> bool:
        """Whether the module that `old` is paired with is the only one that it can be."""
        way: list[str] = []
        at = old
        while at not in self._known:
            way.append(at)
            new = self._matching.to_new.get(at)
            if new is None or not self._comes_along(at):
                self._known[at] = new is not None and self._is_only(at, new)
                break
            at = self._matching.old.parents[at]
        for each in way:
            self._known[each] = self._known[at]
        return self._known[old]

    def _comes_along(self, old: str) -> bool:
        """Whether it stands under its own name in what its parent became; the root is nobody's child."""
        matching = self._matching
        new = matching.to_new[old]
        if not old or not new:
            return False
        stayed = matching.to_new.get(matching.old.parents[old]) == matching.new.parents[new]
        return stayed and matching.old.name(old) == matching.new.name(new)

    def _is_only(self, old: str, new: str) -> bool:
        if not old or not new:
            return old == new
        matching = self._matching
        homes = matching.old.parents[old], matching.new.parents[new]
        stayed = matching.to_new.get(homes[0]) == homes[1]
        equal = matching.old.prints[old] == matching.new.prints[new]
        olds = self._free(0, homes[0] if stayed else None, old, equal=equal)
        news = self._free(1, homes[1] if stayed else None, new, equal=equal)
        names = last_name(old), last_name(new)
        if names[0] == names[1] and not names[0].isdecimal():
            return olds.names[names[0]] == news.names[names[0]] == 1
        if olds.places.get(old) != news.places.get(new) or len(olds.places) != len(news.places):
            return False
        return None in (olds.order, news.order) or olds.order == news.order

    def _free(self, side: Literal[0, 1], home: str | None, path: str, *, equal: bool) -> _Alike:
        """All that `path` could be taken for, and is not in its place on the other side: in its parent, where both
        sides have that, else anywhere.

        Args:
            equal: what is equal to it counts, else what is of its class.
        """
        matching = self._matching
        tree = matching.new if side else matching.old
        if (side, home, equal) not in self._groups:
            pairs = matching.to_old if side else matching.to_new
            groups: dict[Hashable, list[str]] = {}
            for each in tree.nodes if home is None else tree.children[home]:
                if each and (each not in pairs or not self._comes_along(pairs[each] if side else each)):
                    groups.setdefault(tree.prints[each] if equal else tree.class_of(each), []).append(each)
            self._groups[side, home, equal] = {
                kind: _Alike(
                    {one: place for place, one in enumerate(paths)},
                    Counter(map(last_name, paths)),
                    self._order(paths, self._calls[side]),
                )
                for kind, paths in groups.items()
            }
        kind = tree.prints[path] if equal else tree.class_of(path)
        return self._groups[side, home, equal].get(kind, _NONE)

    @staticmethod
    def _order(paths: list[str], calls: Mapping[str, int]) -> list[int] | None:
        """The places of these in the order of their calls; None where one is not called, or it is not known."""
        if any(path not in calls for path in paths):
            return None
        return sorted(range(len(paths)), key=lambda place: calls[paths[place]])


def _first_calls(tree: Tree) -> dict[str, int]:
    """By module, the first call of it or of one below it."""
    found: dict[str, int] = {}
    for call in tree.graph.calls:
        path: str | None = call.module
        while path is not None and path in tree.nodes and path not in found:
            found[path] = call.index
            path = tree.parents.get(path)
    return found
