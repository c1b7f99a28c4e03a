"""How the nodes of a picture are joined: the main path, what is written on the arrows, tags instead of long arrows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from modgraph.graph.occurrences import Link

LONGEST_TOTAL = 2_000
"""Ranks that all arrows together may pass: each is a node to the layout engine, and long arrows are what stalls it.

Estimated before the engine is asked: with 5,000, a hundred layers with one mask took it more than 30 s."""
MOST_USERS = 12
"""A source with more users is shown by tags beside those that are further than `NEAR`."""
NEAR = 3
"""Ranks between a source and a user whose arrow is easily followed."""
MOST_CONTAINERS = 4
"""A source with users in more containers is shown by tags."""


@dataclass(eq=False, slots=True, kw_only=True)
class Wire:
    """What goes from one node to another; nodes are numbered in the order of the run."""

    tail: int
    head: int
    label: str
    main: bool = False
    written: bool = False
    """The label is shown."""
    certain: bool = True
    """False where no data may go there: it depends on what is not decided."""
    links: Sequence[Link] = ()
    """All that it stands for."""
    is_taken: bool = True
    """False where none went there in the run."""
    in_doubt: bool = False
    """It may come from before the tail, which gave it back as it was."""
    times: int = 1
    """Calls that it stands for, where a module that is called several times is drawn once."""
    condition: str = ""
    """On what it depends, where nothing at its ends says so: "only if flag"."""
    tagged: bool = False
    """A tag beside the head names the tail instead of an arrow."""

    @property
    def text(self) -> str:
        """What stands beside it: "×3 · 64×56×56 · only if flag"."""
        return self.text_of(self.label if self.written else "")

    def text_of(self, label: str) -> str:
        """`label` behind the number of calls, where it stands for several, and before what it depends on."""
        times = f"×{self.times}" if self.times > 1 else ""
        return " · ".join(part for part in (times, label, self.condition) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """What the wiring needs to know of a node."""

    weight: int
    """Rows in it: the main path is the one with most."""
    container: int
    """Number of the frame that it stands in."""
    outermost: int
    """Number of the outermost frame around it; -1 for none."""
    source: bool = False
    sink: bool = False
    shape: str = ""
    """Of its data, where the node itself shows it: a pill, a parameter."""
    joins: bool = False
    """A circle: only its main arrow is written on, so that no label meets another."""
    elementwise: bool = False
    """A circle whose result has the shape of what goes in: nothing is written on its arrows."""


@dataclass(eq=False, slots=True)
class Wiring:
    nodes: list[NodeFacts]
    wires: list[Wire]
    out: list[list[Wire]] = field(init=False)
    into: list[list[Wire]] = field(init=False)

    def __post_init__(self) -> None:
        self.out = [[] for _ in self.nodes]
        self.into = [[] for _ in self.nodes]
        for wire in self.wires:
            self.out[wire.tail].append(wire)
            self.into[wire.head].append(wire)

    def settle(self) -> None:
        """Marks the main path, the labels that are written, and the wires that become tags."""
        self._mark_main_path()
        self._tag_wide_sources()
        self._tag_long_wires()
        self._choose_labels()

    def _mark_main_path(self) -> None:
        """The way from an input to an output with most rows on it, one that the run went before others."""
        starts = [number for number, node in enumerate(self.nodes) if node.source]
        best: dict[int, tuple[int, int, int]] = {number: (0, 0, -number) for number in starts}
        before: dict[int, Wire] = {}
        for number in range(len(self.nodes)):
            for wire in self.into[number]:
                if wire.tail < wire.head and wire.tail in best:
                    untaken, rows, _ = best[wire.tail]
                    score = (untaken - (not wire.is_taken), rows + self.nodes[number].weight, -wire.tail)
                    if number not in best or score > best[number]:
                        best[number] = score
                        before[number] = wire
        ends = [number for number, node in enumerate(self.nodes) if node.sink and number in before]
        ends = ends or [number for number in range(len(self.nodes)) if number in before]
        if not ends:
            return
        step: int | None = max(ends, key=lambda number: (*best[number][:2], -number))
        while step is not None and step in before:
            before[step].main = True
            step = before[step].tail

    def _tag_wide_sources(self) -> None:
        ranks: list[int] = []
        for number, node in enumerate(self.nodes):
            wires = self.out[number]
            if len({self.nodes[wire.head].container for wire in wires}) > MOST_CONTAINERS:
                for wire in wires:
                    wire.tagged = not wire.main and self.nodes[wire.head].container != node.container
            if len(wires) > MOST_USERS:
                ranks = ranks or self.ranks()
                for wire in wires:
                    wire.tagged |= not wire.main and ranks[wire.head] - ranks[number] > NEAR

    def _tag_long_wires(self) -> None:
        ranks = self.ranks()

        def span(wire: Wire) -> int:
            return ranks[wire.head] - ranks[wire.tail] - 1

        drawn = [wire for wire in self.wires if not wire.tagged and wire.tail < wire.head]
        total = sum(span(wire) for wire in drawn)
        for wire in sorted(drawn, key=span, reverse=True):
            if total <= LONGEST_TOTAL:
                return
            if not wire.main:
                wire.tagged = True
                total -= span(wire)

    def ranks(self) -> list[int]:
        """Rows of the layout, by the longest way to each node."""
        ranks = [0] * len(self.nodes)
        for number in range(len(self.nodes)):
            for wire in self.into[number]:
                if wire.tail < number and not wire.tagged:
                    ranks[number] = max(ranks[number], ranks[wire.tail] + 1)
        return ranks

    def _choose_labels(self) -> None:
        """A shape is written where it differs from the last one written on the way, and once for each source.

        One of which all sizes differ says nothing. It is written again where the main path leaves an outermost frame:
        there the reader takes a breath.
        """
        known: dict[int, str] = {}
        for number, node in enumerate(self.nodes):
            written = {node.shape or known.get(number, "")}
            first: Callable[[Wire], tuple[bool, int]] = lambda wire: (not wire.main, wire.head)  # noqa: E731
            for wire in sorted(self.out[number], key=first):
                head = self.nodes[wire.head]
                leaves = wire.main and node.outermost not in (-1, head.outermost)
                silent = not wire.label.strip("…×") or wire.tagged or head.sink or head.elementwise or node.elementwise
                silent = silent or (head.joins and not wire.main)
                wire.written = not silent and (wire.label not in written or leaves)
                if wire.written:
                    written.add(wire.label)
                if wire.main or wire.head not in known:
                    known[wire.head] = wire.label if wire.label in written else known.get(number, node.shape)
