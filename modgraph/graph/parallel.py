"""Alike blocks beside each other: experts, heads, branches, that are fed by the same and meet in the same.

The members of a list count, where at least three of them agree in everything but the number of rows that went through
(a router may send each expert another share), and none depends on another. What is done once for each of them, the
choice of its rows or its weight in a sum, goes with them: operations of the same word whose neighbours are of the same
groups, as many as there are members, or one less where they add up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import replace
from itertools import groupby

from modgraph.graph.dataflow import operation_word
from modgraph.graph.model import TensorInfo
from modgraph.graph.occurrences import Link, Occurrence, Run, preorder
from modgraph.graph.repeats import Likeness

FEWEST = 3
"""Fewer are as quickly read as what stands for them."""
ROUNDS = 12
"""How far from a member what goes with it may lie."""


class AnyRows(Likeness):
    """A likeness that overlooks the first size of every tensor."""

    def tensor_text(self, tensor: TensorInfo) -> str:
        """All but the first size, and the type."""
        return f"{tensor.shape and tensor.shape[1:]} {tensor.dtype}"

    def passage(self, group: list[Occurrence], block: Occurrence) -> Hashable | None:
        """Turns may differ in the rows that are picked for them; rows that grow fewer at each turn are no choice."""
        return super().passage(group, block) if self._carries_on(group[-1], block) else None

    def _carries_on(self, before: Occurrence, block: Occurrence) -> bool:
        """Whether something comes from `before` to `block` in the whole shape in which `before` was given it."""
        given: dict[int, set[str]] = {}
        for link in self.crossing(before, self.run.incoming):
            given.setdefault(link.target.first - before.first, set()).add(str(link.tensor.shape))
        return not block.turn or any(
            str(link.tensor.shape) in given.get(link.target.first - block.first, ())
            for link in self.crossing(block, self.run.incoming)
            if before.first <= link.source.first < before.past
        )


class RoutedRows(Likeness):
    """A likeness that overlooks the first size of what passes through turns that differ in it alone: two blocks are
    alike to whose experts the data sends other numbers of rows.

    Args:
        turns: those turns.
    """

    def __init__(self, run: Run, turns: Iterable[Occurrence]) -> None:
        self._routed = {step for turn in turns for step in preorder(turn)}
        super().__init__(run)

    def result_text(self, _call: Occurrence, tensor: TensorInfo) -> str:
        """All but the first size, and the type, where rows are picked."""
        return self.tensor_text(_any_rows(tensor) if _call in self._routed else tensor)

    def link_text(self, link: Link) -> str:
        """The same of an arrow to or from such a step."""
        if link.source in self._routed or link.target in self._routed:
            link = replace(link, tensor=_any_rows(link.tensor))
        return super().link_text(link)


def _any_rows(tensor: TensorInfo) -> TensorInfo:
    return replace(tensor, shape=(None, *tensor.shape[1:])) if tensor.shape else tensor


class Parallel:
    """Finds the groups of one run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._likeness: AnyRows | None = None

    def groups(self, parent: Occurrence) -> list[list[Occurrence]]:
        """Children of `parent` that stand beside each other and are alike, and what goes with them."""
        found = [members for members in self._candidates(parent) if self._is_parallel(members)]
        if not found:
            return []
        colors = Colors(self.run, parent, found)
        return without_cycles(found, self._going_with(colors, found), colors)

    def _candidates(self, parent: Occurrence) -> list[list[Occurrence]]:
        """Neighbours in a list that are alike, by the order in which they are registered."""
        called: dict[str, dict[str, Occurrence]] = {}
        modules, parents = self.run.index.modules, self.run.index.parents
        for child in parent.children:
            if child.is_module and child.first < child.past:
                owner = parents[child.path] or ""
                if (modules[owner].class_name or "").startswith("torch.nn.modules.container.Module"):
                    called.setdefault(owner, {}).setdefault(child.path, child)
        found: list[list[Occurrence]] = []
        for owner, members in called.items():
            if len(members) < FEWEST:
                continue
            listed = [members.get(node.path) for node in self.run.index.children[owner]]
            for _, group in groupby(listed, key=self._likeness_of):
                alike = [member for member in group if member is not None]
                if len(alike) >= FEWEST:
                    found.append(alike)
        return found

    def _likeness_of(self, member: Occurrence | None) -> int | None:
        if self._likeness is None:
            self._likeness = AnyRows(self.run)
        return None if member is None else self._likeness.strict[member]

    def _is_parallel(self, members: list[Occurrence]) -> bool:
        """Whether each is called once, and what any of them makes reaches none of them."""
        if any(len(self.run.index.modules[member.path].calls) > 1 for member in members):
            return False
        inside = {leaf for member in members for leaf in range(member.first, member.past)}
        reached: set[int] = set()
        pending = list(inside)
        while pending:
            leaf = pending.pop()
            for link in self.run.outgoing[leaf]:
                target = link.target.first
                if target in inside and leaf not in inside:
                    return False
                if target not in inside and target not in reached:
                    reached.add(target)
                    pending.append(target)
        own = [range(member.first, member.past) for member in members]
        return not any(
            link.target.first in inside and link.target.first not in span
            for span in own
            for leaf in span
            for link in self.run.outgoing[leaf]
        )

    def _going_with(self, colors: Colors, found: list[list[Occurrence]]) -> list[list[Occurrence]]:
        """Operations that are done once for each member."""
        groups: dict[Hashable, list[Occurrence]] = {}
        for child, color in colors.settled().items():
            if child.operation is not None:
                groups.setdefault(color, []).append(child)
        sizes = {len(members) for members in found}
        kept = []
        for color, operations in groups.items():
            short = 1 if color in colors.chained else 0
            if any(len(operations) in (size, size - short) for size in sizes) and len(operations) >= FEWEST - short:
                kept.append(operations)
        return kept


class Colors:
    """Groups the children of a container by what they are and by the groups of their neighbours."""

    fixed = False
    """The groups that are given stay as they are, whatever is beside their members."""

    def __init__(self, run: Run, parent: Occurrence, found: list[list[Occurrence]]) -> None:
        self.run = run
        self.parent = parent
        self.members = {member: number for number, members in enumerate(found) for member in members}
        self.at: dict[int, Occurrence] = {
            leaf: child for child in parent.children for leaf in range(child.first, child.past)
        }
        self.color: dict[Occurrence, Hashable] = {child: self._first(child) for child in parent.children}
        self.before = {child: self._neighbours(child, ahead=False) for child in parent.children}
        self.after = {child: self._neighbours(child, ahead=True) for child in parent.children}
        self.chains = self._chains()
        self.chained: set[Hashable] = set()

    def word(self, child: Occurrence) -> Hashable | None:
        """What may be done once for each member, by its name; None of what is never one of several."""
        return operation_word(child.operation.name) if child.operation is not None else None

    def settled(self) -> dict[Occurrence, Hashable]:
        """The colours when they divide no further."""
        count = len(set(self.color.values()))
        for _ in range(ROUNDS):
            sides: dict[int, Hashable] = {}
            told = {
                child: color if self.fixed and child in self.members else (color, self._sides(child, sides))
                for child, color in self.color.items()
            }
            numbers: dict[Hashable, int] = {}
            self.color = {child: numbers.setdefault(color, len(numbers)) for child, color in told.items()}
            if len(numbers) == count:
                break
            count = len(numbers)
        self.chained = {self.color[child] for child in self.chains}
        return self.color

    def _first(self, child: Occurrence) -> Hashable:
        if child in self.members:
            return ("member", self.members[child])
        word = self.word(child)
        return ("other", child.first) if word is None else ("operation", word)

    def _neighbours(self, child: Occurrence, *, ahead: bool) -> list[Occurrence | int]:
        """Children of the container, and leaves outside of it, that `child` is joined to."""
        table = self.run.outgoing if ahead else self.run.incoming
        ends = (
            (link.target if ahead else link.source).first
            for leaf in range(child.first, child.past)
            for link in table[leaf]
        )
        return list(dict.fromkeys(self.at.get(end, end) for end in ends if self.at.get(end) is not child))

    def _chains(self) -> dict[Occurrence, list[Occurrence]]:
        """Operations of one word that feed each other, each with all of its chain: a sum that grows."""
        links = {
            child: next(
                (one for one in self.before[child] if isinstance(one, Occurrence) and self._same(one, child)), None
            )
            for child in self.color
            if self.word(child) is not None
        }
        chains: dict[Occurrence, list[Occurrence]] = {}
        for child, feeder in links.items():
            if feeder is not None:
                chain = chains.setdefault(feeder, [feeder])
                chain.append(child)
                chains[child] = chain
        return chains

    def _same(self, one: Occurrence, other: Occurrence) -> bool:
        return self.word(one) is not None and self.color[one] == self.color[other]

    def _sides(self, child: Occurrence, known: dict[int, Hashable]) -> Hashable:
        """The colours before and after `child`, or its chain; `known`: those of chains, so that each is walked once."""
        chain = self.chains.get(child)
        if chain is None:
            chain = [child]
        elif id(chain) in known:
            return known[id(chain)]
        inside = set(chain)
        sides = tuple(
            frozenset(self._of(one) for each in chain for one in table[each] if one not in inside)
            for table in (self.before, self.after)
        )
        known[id(chain)] = sides
        return sides

    def _of(self, end: Occurrence | int) -> Hashable:
        return ("outside", end) if isinstance(end, int) else self.color[end]


def without_cycles(
    members: list[list[Occurrence]], operations: list[list[Occurrence]], colors: Colors
) -> list[list[Occurrence]]:
    """All groups, but those that data would seem to go round in: nothing in a run comes before itself.

    `y[rows] += expert(x[rows])` writes into what the expert before it has written: drawn once, its steps would feed
    each other.
    """
    kept = [*members, *operations]
    cyclic = _on_cycles(kept, colors)
    kept = [*members, *(group for group in operations if group[0] not in cyclic)]
    cyclic = _on_cycles(kept, colors)
    return [group for group in kept if group[0] not in cyclic]


def _on_cycles(groups: list[list[Occurrence]], colors: Colors) -> set[Occurrence]:
    """The first of each group that, drawn as one thing, is on a way back to itself, or lies between two that are."""
    first = {member: group[0] for group in groups for member in group}
    feeders: dict[Occurrence, set[Occurrence]] = {}
    users: dict[Occurrence, set[Occurrence]] = {}
    for child, sources in colors.before.items():
        head = first.get(child, child)
        feeders.setdefault(head, set())
        users.setdefault(head, set())
        for source in sources:
            tail = first.get(source, source) if isinstance(source, Occurrence) else head
            if tail is not head:
                feeders[head].add(tail)
                users.setdefault(tail, set()).add(head)
    left = set(feeders)
    for table, back in ((feeders, users), (users, feeders)):
        open_ends = {thing: len(table[thing] & left) for thing in left}
        ends = [thing for thing, count in open_ends.items() if not count]
        while ends:
            thing = ends.pop()
            left.discard(thing)
            for other in back[thing] & left:
                open_ends[other] -= 1
                if not open_ends[other]:
                    ends.append(other)
    return left


def merged(neighbours: list[list[Occurrence]], parallel: Iterable[list[Occurrence]]) -> list[list[Occurrence]]:
    """The groups of a container, where those of `parallel` stand at the place of their first."""
    of = {member: group for group in parallel for member in group}
    sizes = Counter(id(of[group[0]]) for group in neighbours if len(group) == 1 and group[0] in of)
    placed: set[int] = set()
    result: list[list[Occurrence]] = []
    for group in neighbours:
        whole = of.get(group[0]) if len(group) == 1 else None
        if whole is None or sizes[id(whole)] < len(whole):
            result.append(group)
        elif id(whole) not in placed:
            placed.add(id(whole))
            result.append(whole)
    return result
