"""Which module of the old graph is which of the new one: by path where that says enough, else by structure.

1. From the roots down. Of two modules that are one, the children of one name and class are one too; in a numbered row
   (`Sequential`, `ModuleList`) the rows are laid beside each other, so that an insertion is one insertion. What is left
   over of a parent and equal in all but its name was renamed; then what is alike.
2. What is left over anywhere and equal in all but its place was moved, the largest first; but not where something of
   its name stands at its place, and it is one of several that are equal.
3. What still stands at one place on both sides is one module that became another.
4. What is left over of a parent, equal in all but its name and at one place in the flow of data, was renamed: a layer
   without weights is known by that alone.

The answer does not depend on which graph is called old: the two are put in an order of their own first.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from modgraph.changes.alignment import MOST_CELLS, align, ascending, common
from modgraph.changes.renaming import renamed_in_flow
from modgraph.changes.trees import Numbers, Tree, shared_homes
from modgraph.graph.model import Graph

ALIKE = 600
"""From here on, of 1000, two modules of other names in one parent are one that was renamed and changed."""
_SAME, _CLASS = 1000, 500
_FEWEST_MODULES = 3
"""A subtree without any parameter is recognised elsewhere only where it has so many modules."""
_LONG_ROW = 2500
"""Cells of the table of a row; a longer one is cut first."""
_MOST_PAIRS = 2500
"""Of what is left over in one parent; beyond, only what is equal is recognised."""


@dataclass(slots=True)
class Matching:
    """Pairs of paths, and the two trees."""

    old: Tree
    new: Tree
    to_new: dict[str, str] = field(default_factory=dict)
    to_old: dict[str, str] = field(default_factory=dict)
    turned: bool = False
    """The new graph is the first in the order of their own: what decides between equals starts from it."""

    def translated(self, path: str) -> str | None:
        """A module of the old graph as the new one calls it: by its own path where neither side knows it on the other;
        None where the new model has another module there."""
        return self.to_new.get(path, None if path in self.to_old else path)


def match(old: Graph, new: Graph) -> Matching:
    """The pairs, with the root of one graph that of the other."""
    numbers = Numbers()
    homes = shared_homes(old, new)
    trees = Tree(old, numbers, homes[0]), Tree(new, numbers, homes[1])
    turned = _key(trees[0]) > _key(trees[1])
    if turned:
        found = {one: other for other, one in _Matcher(trees[1], trees[0]).pairs().items()}
    else:
        found = _Matcher(*trees).pairs()
    ordered = {path: found[path] for path in trees[0].nodes if path in found}
    return Matching(*trees, ordered, {new_path: path for path, new_path in ordered.items()}, turned)


def _key(tree: Tree) -> list[tuple[str, str]]:
    return [(path, repr(facts)) for path, facts in tree.facts.items()]


class _Matcher:
    def __init__(self, old: Tree, new: Tree) -> None:
        self.old = old
        self.new = new
        self.to_new: dict[str, str] = {}
        self.taken: set[str] = set()
        self._known: dict[tuple[int, int], int] = {}
        self._names_alone = old.names_alone, new.names_alone

    def pairs(self) -> dict[str, str]:
        self._descend([("", "")])
        self._find_moved()
        while replaced := self._replaced():
            self._descend(replaced)
            self._find_moved()
        while renamed := renamed_in_flow(self.old, self.new, self.to_new):
            self._descend(renamed)
        return self.to_new

    def _pair(self, old: str, new: str) -> None:
        self.to_new[old] = new
        self.taken.add(new)

    def _free_old(self, paths: Iterable[str]) -> list[str]:
        return [path for path in paths if path not in self.to_new]

    def _free_new(self, paths: Iterable[str]) -> list[str]:
        return [path for path in paths if path not in self.taken]

    def _descend(self, pairs: Iterable[tuple[str, str]]) -> None:
        pending = list(reversed(list(pairs)))
        while pending:
            old, new = pending.pop()
            if old in self.to_new or new in self.taken:
                continue
            self._pair(old, new)
            pending.extend(self._children(old, new))

    # --- children of one parent ------------------------------------------------------------------------------------

    def _children(self, old: str, new: str) -> list[tuple[str, str]]:
        olds, news = self._free_old(self.old.children[old]), self._free_new(self.new.children[new])
        if not self._are_numbered(olds, news):
            pairs = self._by_name(olds, news)
        elif self._names_alone[0] != self._names_alone[1]:
            # Of a file of weights the key is all that is known: layers without weights are not there, so that the
            # position among those that are says nothing.
            pairs = self._by_name(*self._with_tensors(olds, news))
        else:
            pairs = self._row(olds, news)
        return pairs + self._renamed(*_left(olds, news, pairs))

    def _with_tensors(self, olds: list[str], news: list[str]) -> tuple[list[str], list[str]]:
        return (
            [path for path in olds if self.old.has_tensors[path]],
            [path for path in news if self.new.has_tensors[path]],
        )

    def _are_numbered(self, olds: list[str], news: list[str]) -> bool:
        names = [self.old.name(path) for path in olds] + [self.new.name(path) for path in news]
        return bool(olds and news) and all(name.isascii() and name.isdecimal() for name in names)

    def _row(self, olds: list[str], news: list[str]) -> list[tuple[str, str]]:
        """The pairs of a numbered row. What is equal at both ends need not be laid beside each other in a table."""
        first = 0
        while first < min(len(olds), len(news)) and self._is_equal_pair(olds[first], news[first]):
            first += 1
        last = 0
        room = min(len(olds), len(news)) - first
        if len(olds) == len(news):
            while last < room and self._is_equal_pair(olds[-1 - last], news[-1 - last]):
                last += 1
        inner_old, inner_new = olds[first : len(olds) - last], news[first : len(news) - last]

        found = self._aligned(inner_old, inner_new)
        ends = list(zip(olds[:first], news[:first], strict=True))
        return [*ends, *found, *(zip(olds[len(olds) - last :], news[len(news) - last :], strict=True))]

    def _aligned(self, olds: list[str], news: list[str]) -> list[tuple[str, str]]:
        """The pairs of a row. A long one is cut where both sides have something that occurs once, and equal."""
        if len(olds) * len(news) <= _LONG_ROW:
            return self._laid_side_by_side(olds, news)
        prints = [self.old.prints[path] for path in olds], [self.new.prints[path] for path in news]
        counts = Counter(prints[0]), Counter(prints[1])
        there = {each: place for place, each in enumerate(prints[1]) if counts[1][each] == 1}
        once = [place for place, each in enumerate(prints[0]) if counts[0][each] == 1 and each in there]
        kept = ascending([there[prints[0][place]] for place in once])
        found = [(place, there[prints[0][place]]) for number, place in enumerate(once) if number in kept]
        return self._with_gaps(olds, news, found)

    def _laid_side_by_side(self, olds: list[str], news: list[str]) -> list[tuple[str, str]]:
        """What is most alike in all. In rows too long for a table what is equal is paired first, or what is of one
        class, whichever makes more of it alike: of a row in which every other block was changed, all are there."""
        if len(olds) * len(news) <= MOST_CELLS:
            return self._best(olds, news)
        rows: tuple[tuple[list[Hashable], list[Hashable]], ...] = (
            ([self.old.prints[path] for path in olds], [self.new.prints[path] for path in news]),
            ([self.old.class_of(path) for path in olds], [self.new.class_of(path) for path in news]),
        )
        ways = [self._with_gaps(olds, news, found) for row, other in rows if (found := common(row, other))]
        return max(ways, key=self._worth_of_all) if ways else self._best(olds, news)

    def _worth_of_all(self, pairs: list[tuple[str, str]]) -> int:
        return sum(self._worth(old, new) for old, new in pairs)

    def _worth(self, old: str, new: str) -> int:
        """What it counts for that two modules of a row are one; 0: they are not."""
        alike = self.likeness(old, new)
        weighs = self.old.has_tensors[old] or self.new.has_tensors[new]
        return 0 if alike < _CLASS else alike * (2 if weighs else 1)

    def _with_gaps(self, olds: list[str], news: list[str], found: list[tuple[int, int]]) -> list[tuple[str, str]]:
        """The pairs of these places, and those of what lies between them."""
        pairs: list[tuple[str, str]] = []
        old_at = new_at = 0
        for old, new in found:
            pairs += self._laid_side_by_side(olds[old_at:old], news[new_at:new])
            pairs.append((olds[old], news[new]))
            old_at, new_at = old + 1, new + 1
        return pairs + self._laid_side_by_side(olds[old_at:], news[new_at:])

    def _best(self, olds: list[str], news: list[str]) -> list[tuple[str, str]]:
        names = [self.old.name(path) for path in olds], [self.new.name(path) for path in news]
        prints = [self.old.prints[path] for path in olds], [self.new.prints[path] for path in news]
        known: dict[tuple[int, int], int] = {}

        def score(one: int, other: int) -> tuple[int, int]:
            kinds = (prints[0][one], prints[1][other])
            worth = known.get(kinds)
            if worth is None:
                worth = known[kinds] = self._worth(olds[one], news[other])
            return (worth, int(names[0][one] == names[1][other])) if worth else (0, 0)

        return [(olds[one], news[other]) for one, other in align(len(olds), len(news), score)]

    def _is_equal_pair(self, old: str, new: str) -> bool:
        same_name = self.old.name(old) == self.new.name(new)
        return same_name and self.old.prints[old] == self.new.prints[new]

    def _by_name(self, olds: list[str], news: list[str]) -> list[tuple[str, str]]:
        """Children of one name, where they are of one class or one is not known."""
        at = {self.new.name(path): path for path in news}
        pairs = []
        for path in olds:
            other = at.get(self.old.name(path))
            if other is not None and self._may_be_one(path, other):
                pairs.append((path, other))
        return pairs

    def _may_be_one(self, old: str, new: str) -> bool:
        classes = self.old.class_of(old), self.new.class_of(new)
        return None in classes or classes[0] == classes[1]

    def _renamed(self, olds: list[str], news: list[str]) -> list[tuple[str, str]]:
        """Of what is left over in one parent: what is equal, in order, then what is most alike."""
        pairs = self._equal(olds, news)
        left_old, left_new = _left(olds, news, pairs)
        if len(left_old) * len(left_new) > _MOST_PAIRS:
            return pairs
        ranked = sorted(
            (-alike, abs(place - other), place, other)
            for place, old in enumerate(left_old)
            for other, new in enumerate(left_new)
            if self._tells(self.old, old) and (alike := self.likeness(old, new)) >= ALIKE
        )
        used: tuple[set[int], set[int]] = (set(), set())
        for _, _, place, other in ranked:
            if place not in used[0] and other not in used[1]:
                used[0].add(place)
                used[1].add(other)
                pairs.append((left_old[place], left_new[other]))
        return pairs

    def _equal(self, olds: list[str], news: list[str]) -> list[tuple[str, str]]:
        """Pairs of one fingerprint, those of one name first; the others in order."""
        waiting: dict[int, deque[str]] = {}
        namesakes: dict[tuple[int, str], deque[str]] = {}
        for path in news:
            waiting.setdefault(self.new.prints[path], deque()).append(path)
            namesakes.setdefault((self.new.prints[path], self.new.name(path)), deque()).append(path)
        pairs: list[tuple[str, str]] = []
        later: list[str] = []
        taken: set[str] = set()
        for path in olds:
            if not self._tells(self.old, path):
                continue
            same = namesakes.get((self.old.prints[path], self.old.name(path)))
            if same:
                taken.add(same[0])
                pairs.append((path, same.popleft()))
            else:
                later.append(path)
        for path in later:
            same = waiting.get(self.old.prints[path], deque())
            while same and same[0] in taken:
                same.popleft()
            if same:
                pairs.append((path, same.popleft()))
        return pairs

    @staticmethod
    def _tells(tree: Tree, path: str) -> bool:
        """Whether a subtree has enough of its own to be recognised under another name: one `ReLU` is like another."""
        known = tree.nodes[path].class_name not in (None, "NoneType")
        return known and (tree.has_tensors[path] or tree.sizes[path] >= _FEWEST_MODULES)

    # --- elsewhere -------------------------------------------------------------------------------------------------

    def _find_moved(self) -> None:
        """What is left over anywhere and equal, the largest first; then named blocks that are most alike."""
        while True:
            olds = [path for path in self._free_old(self.old.nodes) if self._tells(self.old, path)]
            news = self._free_new(self.new.nodes)
            olds, news = self._without_heirs(olds, news)
            pairs = self._at_alike_places(
                sorted(olds, key=lambda path: -self.old.sizes[path]),
                sorted(news, key=lambda path: -self.new.sizes[path]),
            )
            if not pairs:
                return
            self._descend(pairs)

    def _at_alike_places(self, olds: list[str], news: list[str]) -> list[tuple[str, str]]:
        """Of what is equal, what is at places that are alike: that two layers are as large says nothing of two rows
        that came and went."""
        groups: tuple[dict[int, list[str]], dict[int, list[str]]] = ({}, {})
        for paths, tree, by_print in ((olds, self.old, groups[0]), (news, self.new, groups[1])):
            for path in paths:
                by_print.setdefault(tree.prints[path], []).append(path)
        pairs: list[tuple[str, str]] = []
        to_old = {new: old for old, new in self.to_new.items()}
        for kind, ones in groups[0].items():
            others = groups[1].get(kind, [])
            alone = len(ones) == len(others) == 1
            if len(ones) * len(others) > _MOST_PAIRS:
                near = self._equal(ones, others)
            else:
                near = _nearest(ones, others)
            pairs += [pair for pair in near if self._is_move(*pair, to_old, alone=alone)]
        return pairs

    def _is_move(self, old: str, new: str, to_old: Mapping[str, str], *, alone: bool) -> bool:
        """Whether two that are equal are at places that say that they are one.

        Args:
            alone: nothing else that is left over is equal to them.
        """
        homes = self.old.parents[old], self.new.parents[new]
        stayed = homes[0] in self.to_new, homes[1] in to_old
        common_end = _common_end(old, new)
        if all(stayed):
            return alone or common_end > 0 or self.to_new[homes[0]] == homes[1]
        if not any(stayed):
            classes = self.old.class_of(homes[0]), self.new.class_of(homes[1])
            if common_end:
                named = not _parts(old)[-1].isdecimal()
                return common_end > 1 or (named and alone and classes[0] == classes[1])
            return alone and self.old.sizes[old] >= _FEWEST_MODULES
        if common_end > 1 or (common_end and not _parts(old)[-1].isdecimal()):
            return True
        # It was put into something new that is in the module where it was, or taken out of what is gone.
        if stayed[0]:
            around, home = f"{self.to_new[homes[0]]}.", f"{new}."
        else:
            around, home = f"{to_old[homes[1]]}.", f"{old}."
        return alone and (around == "." or home.startswith(around))

    def _without_heirs(self, olds: list[str], news: list[str]) -> tuple[list[str], list[str]]:
        """Without those at whose place something of their name stands that is left over too: that it became. One more
        of many equal layers elsewhere, as in one block more, makes that no move."""
        counts = Counter(self.old.prints.values()), Counter(self.new.prints.values())
        to_old = {new: old for old, new in self.to_new.items()}

        def left_over(
            paths: list[str], tree: Tree, there: Mapping[str, str], taken: set[tuple[str | None, str]]
        ) -> list[str]:
            kept = []
            for path in paths:
                place = there.get(path.rpartition(".")[0]), tree.name(path)
                if place not in taken or all(count[tree.prints[path]] <= 1 for count in counts):
                    kept.append(path)
            return kept

        def places(paths: Iterable[str], tree: Tree) -> set[tuple[str | None, str]]:
            return {(path.rpartition(".")[0], tree.name(path)) for path in paths if path}

        return (
            left_over(olds, self.old, self.to_new, places(news, self.new)),
            left_over(news, self.new, to_old, places(self._free_old(self.old.nodes), self.old)),
        )

    # --- became another --------------------------------------------------------------------------------------------

    def _replaced(self) -> list[tuple[str, str]]:
        """What is left over at one place on both sides: one name, or one gap of a numbered row."""
        pairs: list[tuple[str, str]] = []
        for old, new in list(self.to_new.items()):
            olds, news = self._free_old(self.old.children[old]), self._free_new(self.new.children[new])
            if not olds or not news:
                continue
            if self._are_numbered(self.old.children[old], self.new.children[new]):
                pairs += self._in_gaps(old, new)
            else:
                at = {self.new.name(path): path for path in news}
                pairs += [(path, at[name]) for path in olds if (name := self.old.name(path)) in at]
        return pairs

    def _in_gaps(self, old: str, new: str) -> list[tuple[str, str]]:
        """Between the same neighbours as many of each: they became each other, in order."""
        olds, news = self.old.children[old], self.new.children[new]
        if any(self._names_alone):
            olds, news = self._with_tensors(olds, news)
        row = {path: place for place, path in enumerate(news)}
        pairs: list[tuple[str, str]] = []
        gap: list[str] = []
        begin = 0
        for path in [*olds, None]:
            other = self.to_new.get(path) if path is not None else None
            if path is not None and (other is None or other not in row):
                gap += [path] * (other is None)
                continue
            end = row[other] if other is not None else len(row)
            between = self._free_new(news[begin:end])
            if len(between) == len(gap):
                pairs += zip(gap, between, strict=True)
            gap, begin = [], max(begin, end)
        return pairs

    # --- how alike -------------------------------------------------------------------------------------------------

    def likeness(self, old: str, new: str) -> int:
        """0 for another class, 1000 for equal; between them by how many single facts and inner modules agree."""
        prints = self.old.prints[old], self.new.prints[new]
        if prints[0] == prints[1]:
            return _SAME
        found = self._known.get(prints)
        if found is None:
            found = self._known[prints] = self._measured(old, new)
        return found

    def _measured(self, old: str, new: str) -> int:
        one, other = self.old.facts[old], self.new.facts[new]
        if one[0] is None or one[0] != other[0]:
            return 0
        same, among = _agreement(dict.fromkeys(one[2:], 1), dict.fromkeys(other[2:], 1))
        if self.old.children[old] or self.new.children[new]:
            inner = _agreement(self.old.inner_prints(old), self.new.inner_prints(new))
            same, among = same + inner[0], among + inner[1]
        return _CLASS + (_SAME - _CLASS - 1) * same // max(among, 1)


def _parts(path: str) -> list[str]:
    """The names that lead to a module; what is held in a list, as what is in a row."""
    return path.replace("[", ".").replace("]", "").split(".")


def _common_end(old: str, new: str) -> int:
    """How many of the last names of two paths are the same."""
    count = 0
    for one, other in zip(reversed(_parts(old)), reversed(_parts(new)), strict=False):
        if one != other:
            break
        count += 1
    return count


def _nearest(olds: list[str], news: list[str]) -> list[tuple[str, str]]:
    """In pairs, those of which most of the last names are the same first; else in order."""
    ranked = sorted(
        ((-_common_end(old, new), abs(place - other), place, other))
        for place, old in enumerate(olds)
        for other, new in enumerate(news)
    )
    used: tuple[set[int], set[int]] = (set(), set())
    pairs: list[tuple[str, str]] = []
    for _, _, place, other in ranked:
        if place not in used[0] and other not in used[1]:
            used[0].add(place)
            used[1].add(other)
            pairs.append((olds[place], news[other]))
    return pairs


def _left(olds: list[str], news: list[str], pairs: list[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """What is in none of the pairs."""
    found = dict(pairs)
    taken = set(found.values())
    return [path for path in olds if path not in found], [path for path in news if path not in taken]


def _agreement(one: Mapping[Any, int], other: Mapping[Any, int]) -> tuple[int, int]:
    """How many of both are the same, and how many there are."""
    same = sum(min(count, other.get(thing, 0)) for thing, count in one.items())
    return 2 * same, sum(one.values()) + sum(other.values())
