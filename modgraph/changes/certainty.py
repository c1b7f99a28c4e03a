"""Which pairs of a matching are the only ones that could be: what the names of weights may be told by.

A matching takes the first of several that are alike, which does for a picture of a change. A tensor that is put under
another name for it would be wrong in silence. Where as many of one kind went as came, in the same order of registration
and of their calls, or where the names say which is which, there is one answer; else there is none.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from modgraph.changes.matching import Matching
from modgraph.changes.trees import Tree
from modgraph.names import last_name


class Certainty:
    """Answers for one matching."""

    def __init__(self, matching: Matching) -> None:
        self._matching = matching
        self._known: dict[str, bool] = {}
        self._calls = _first_calls(matching.old), _first_calls(matching.new)

    def is_sure(self, old: str) -> bool:
        """Whether the module that `old` is paired with is the only one that it can be."""
        if old not in self._known:
            new = self._matching.to_new.get(old)
            self._known[old] = new is not None and (
                self.is_sure(self._matching.old.parents[old]) if self._comes_along(old) else self._is_only(old, new)
            )
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
        olds, news = self._alike(old, new)
        names = last_name(old), last_name(new)
        if names[0] == names[1] and not names[0].isdecimal():
            return (
                [last_name(each) for each in olds].count(names[0])
                == 1
                == [last_name(each) for each in news].count(names[0])
            )
        if len(olds) != len(news) or olds.index(old) != news.index(new):
            return False
        orders = (self._order(olds, self._calls[0]), self._order(news, self._calls[1]))
        return None in orders or orders[0] == orders[1]

    def _alike(self, old: str, new: str) -> tuple[list[str], list[str]]:
        """All that `old` and `new` could be taken for, in the order of registration: in their parents, where these are
        one, else anywhere."""
        matching = self._matching
        homes = matching.old.parents[old], matching.new.parents[new]
        stayed = matching.to_new.get(homes[0]) == homes[1]
        equal = matching.old.prints[old] == matching.new.prints[new]

        def kind(tree: Tree, path: str) -> Hashable:
            return tree.prints[path] if equal else tree.class_of(path)

        def free(tree: Tree, paths: Iterable[str], pairs: Mapping[str, str], wanted: Hashable) -> list[str]:
            return [
                path
                for path in paths
                if path and kind(tree, path) == wanted and (path not in pairs or went(tree, path))
            ]

        def went(tree: Tree, path: str) -> bool:
            return not self._comes_along(path if tree is matching.old else matching.to_old[path])

        olds = matching.old.children[homes[0]] if stayed else list(matching.old.nodes)
        news = matching.new.children[homes[1]] if stayed else list(matching.new.nodes)
        return (
            free(matching.old, olds, matching.to_new, kind(matching.old, old)),
            free(matching.new, news, matching.to_old, kind(matching.new, new)),
        )

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
