"""What a run of `forward` does, as the interpretation sees it: calls of modules and operations, in order.

A state holds its events as a chain of cells, the latest first, so that a fork shares them for nothing. Where two states
join, what both did since they parted becomes one `Either` (`paths/joining_events.py`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from modgraph.graph.model import SourceLocation
from modgraph.prediction.domain.conditions_told import negated, plain
from modgraph.prediction.domain.values import Address, Facts, Value


@dataclass(frozen=True, slots=True)
class Seen:
    """A tensor at the moment of an event."""

    name: str
    """Where it stood: "x", "args[0]", "output[1]"."""
    indices: tuple[int, ...]
    """Addresses of the objects that it is: several where it is one on one path and another on the other; none where it
    is only known that something was given."""
    shape: tuple[int | None, ...] | None = None
    dtype: str | None = None
    device: str | None = None
    handed: tuple[int, ...] = ()
    """For each of `indices`, under which number it was given back by a call, or itself; nothing where none was."""
    is_possible: bool = False
    """It may be something else, and `indices` are those that it may be, or be made of."""
    is_partial: bool = False
    """On some paths something else stands here, or nothing."""
    unknown: str = ""
    """Why nothing is known of what stands here, which may be a tensor, several, or none."""

    @property
    def ways(self) -> tuple[int, ...]:
        """For each of `indices`, what tells who has handed it on."""
        return self.handed or self.indices


@dataclass(frozen=True, slots=True)
class Handed:
    """A tensor that was there before a call, and that the call gives: the same object from here on goes two ways."""

    number: int
    index: int
    of: int
    """The way that it had come until then: its address, or the number of an earlier one."""


@dataclass(frozen=True, slots=True)
class Enter:
    """A call of a module begins."""

    module: Address
    inputs: tuple[Seen, ...]
    where: SourceLocation | None
    is_layer: bool
    """Its class is torch's own, of which calls of other modules alone are told."""
    direct: bool = False
    """`module.forward(...)` is called, past `__call__` and every hook."""
    name: str | None = None
    """Under which the module that calls it has it as a child."""
    own: tuple[Seen, ...] = ()
    """Of a layer of torch: its parameters and buffers, which the run may have made or changed."""
    possible: tuple[Seen, ...] = ()
    """What it is given that is not known, and may be a tensor."""
    by_class: bool = False
    """A `__call__` of its own class runs; that of `nn.Module`, which it may call, is a call that begins inside."""


@dataclass(frozen=True, slots=True)
class Leave:
    """The call that began last, and has not ended, ends."""

    outputs: tuple[Seen, ...] = ()
    error: str | None = None
    is_known: bool = True
    """False where it may give other tensors than those of `outputs`, or more or fewer."""
    written: tuple[int, ...] = ()
    """Addresses of the tensors that a layer was given, and has written into."""
    handed: tuple[Handed, ...] = ()
    unknown: tuple[tuple[int, Seen], ...] = ()
    """What it gives of which nothing is known, each with how many of `outputs` stand before it."""


@dataclass(frozen=True, slots=True)
class Operate:
    """An operation of torch."""

    name: str
    """As torch knows it: "torch.Tensor.add"."""
    inputs: tuple[Seen, ...]
    outputs: tuple[Seen, ...]
    where: SourceLocation | None
    written: tuple[int, ...] = ()
    """Addresses of the tensors that it writes into."""
    key: Value | None = None
    """What stands in the brackets, of an item that is read or written."""
    handed: tuple[Handed, ...] = ()
    possible: tuple[Seen, ...] = ()
    """What it is given that is not known, and may be a tensor."""
    unknown: str = ""
    """Of what it is given besides tensors: why something is not known."""
    arguments: tuple[tuple[str, Any], ...] = ()
    """Literals that it is given and that are told, by name."""


@dataclass(frozen=True, slots=True)
class Alias:
    """What was computed as one tensor is another object from here on too: `Parameter(x)`. Either may be the number of a
    way that a tensor has come."""

    index: int
    of: int
    tensor: int | None = None
    """The address of the tensor, where `index` is such a number."""
    is_sure: bool = True
    """False where numpy has computed it: it may come of that, or of something else."""


@dataclass(frozen=True, slots=True)
class Assume:
    """A test that cannot be decided is taken to come out this way, on the path on which this stands."""

    text: str
    """In Python: "x.sum() > 0"."""
    truth: bool
    where: SourceLocation | None
    is_earlier: bool = False
    """It was made before: one of several values is taken here, and it has decided which."""
    of: tuple[object, ...] | None = field(default=None, compare=False, repr=False)
    """What the names in it were then: with others it is another test of the same text. None where that is not known."""
    is_later: bool = field(default=False, compare=False, repr=False)
    """A test of the same text was made before in the same call of a function, when these were something else."""
    facts: Facts = field(default=frozenset(), compare=False, repr=False)
    """What holds of the run, where it comes out so."""

    @property
    def condition(self) -> str:
        """What holds on the path, in Python."""
        return plain(self.text) if self.truth else negated(self.text)


@dataclass(frozen=True, slots=True)
class Refusal:
    """What did not take what it was given, where a run was refused."""

    inputs: tuple[Seen, ...]
    operation: str = ""
    """Of torch: "torch.cat"; empty where a module refused."""
    module: Address | None = None
    """The innermost module that was called: the one that refused, or that called the operation."""
    is_binding: bool = False
    """`forward` of the module takes other arguments."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Something ran of which it is not known what it does: it may call modules."""

    reason: str
    where: SourceLocation | None
    """The line of the user's, where it ran in torch's code."""
    inside: str = ""
    """What of torch's is called in that line then: "LSTM", "pack_padded_sequence"."""


@dataclass(frozen=True, slots=True)
class Either:
    """One of two things happened."""

    reason: str
    where: SourceLocation | None
    first: tuple[Event, ...]
    second: tuple[Event, ...]
    twins: tuple[tuple[int, int], ...] = ()
    """Tensors of the second path, and those of the first that stand for both from here on."""
    instead: tuple[tuple[Either, tuple[Event, ...]], ...] = field(default=(), compare=False, repr=False)
    """Where one path has left two others that have met: how it was told what these did, and what is told now of the one
    that goes on, behind what they did until then. A path that has left them later knows it as it was told before."""
    known: Inside | None = field(default=None, init=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Repeat:
    """What happens in one turn of a loop that runs a number of times that is not known."""

    reason: str
    where: SourceLocation | None
    events: tuple[Event, ...]
    known: Inside | None = field(default=None, init=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Inside:
    """What an `Either` or a `Repeat` holds at any depth. Paths that part again and again hold what came before twice
    each time: to walk over all of it takes the number of ways through it, and to ask what is known one look."""

    number: int
    """Of events, each as often as paths lead to it."""
    depths: tuple[int, ...]
    """On each path: how many more calls begin than end. In a loop none."""
    is_plain: bool
    """Nothing is called or computed in it: there are tests, and what is lost."""


Event: TypeAlias = Enter | Leave | Operate | Alias | Assume | Lost | Either | Repeat


class Cell:
    """An event, and what happened before it."""

    __slots__ = ("before", "depth", "event", "number", "tested")

    def __init__(self, before: Cell | None, event: Event) -> None:
        self.before = before
        self.event = event
        self.number: int = 1 if before is None else before.number + 1
        self.depth: int | None = None
        """How many calls are open after it; found when it is asked for."""
        self.tested: Cell | None = self if isinstance(event, Assume) else None if before is None else before.tested
        """The last test that has come out so on this path, and on no other that has met it."""


def since(chain: Cell | None, earlier: Cell | None) -> tuple[Event, ...]:
    """The events of `chain` that came after `earlier`, in order; all where that is no part of it."""
    found: list[Event] = []
    while chain is not None and chain is not earlier:
        found.append(chain.event)
        chain = chain.before
    return tuple(reversed(found))


def facts_of(chain: Cell | None) -> Facts:
    """What holds of the run on a path, as tests have come out so."""
    found: set[tuple[str, bool]] = set()
    cell = None if chain is None else chain.tested
    while cell is not None:
        assert isinstance(cell.event, Assume)
        found |= cell.event.facts
        cell = None if cell.before is None else cell.before.tested
    return frozenset(found)


def common(first: Cell | None, second: Cell | None) -> Cell | None:
    """The last cell that two chains share."""
    while first is not second:
        if first is None or second is None:
            return None
        if first.number >= second.number:
            first, second = (first.before, second) if first.number > second.number else (first.before, second.before)
        else:
            second = second.before
    return first


def in_order(chain: Cell | None) -> Iterator[Event]:
    """All events, the earliest first."""
    return iter(since(chain, None))


def every_event(events: Iterable[Event]) -> Iterator[Event]:
    """The events, and those on the paths and in the turns that they hold, as often as paths lead to each; in no
    order."""
    pending = list(events)
    while pending:
        event = pending.pop()
        yield event
        if isinstance(event, Either):
            pending += (*event.first, *event.second)
        elif isinstance(event, Repeat):
            pending += event.events


def each_event(events: Iterable[Event]) -> Iterator[Event]:
    """The same, in order, with what paths share once."""
    pending = [iter(events)]
    seen: set[int] = set()
    while pending:
        event = next(pending[-1], None)
        if event is None:
            pending.pop()
        elif not isinstance(event, (Either, Repeat)):
            yield event
        elif id(event) not in seen:
            seen.add(id(event))
            yield event
            pending.append(iter((*event.first, *event.second) if isinstance(event, Either) else event.events))


def number_of(events: Iterable[Event]) -> int:
    """How many `every_event` gives."""
    return sum(1 + inside(each).number if isinstance(each, (Either, Repeat)) else 1 for each in events)


def opened(events: Iterable[Event]) -> int:
    """How many more calls begin than end."""
    depth = 0
    for event in events:
        if isinstance(event, Either):
            depth += max(inside(event).depths)
        else:
            depth += 1 if isinstance(event, Enter) else -1 if isinstance(event, Leave) else 0
    return depth


def opened_since(chain: Cell | None, earlier: Cell | None) -> int:
    """`opened` of what `since` gives: what is known of a cell is found once."""
    cell = chain
    while cell is not None and earlier is not None and cell.number > earlier.number:
        cell = cell.before
    return _depth(chain) - (_depth(earlier) if cell is earlier else 0)


def _depth(chain: Cell | None) -> int:
    pending: list[Cell] = []
    while chain is not None and chain.depth is None:
        pending.append(chain)
        chain = chain.before
    depth = 0 if chain is None or chain.depth is None else chain.depth
    for cell in reversed(pending):
        depth += opened((cell.event,))
        cell.depth = depth
    return depth


def inside(event: Either | Repeat) -> Inside:
    """What it holds; found once."""
    known = event.known
    if known is None:
        arms = (event.first, event.second) if isinstance(event, Either) else (event.events,)
        depths = tuple(map(opened, arms)) if isinstance(event, Either) else ()
        known = Inside(sum(map(number_of, arms)), depths, all(map(is_plain, itertools.chain(*arms))))
        object.__setattr__(event, "known", known)  # what is found of it, and no part of it
    return known


def is_plain(event: Event) -> bool:
    """Nothing is called or computed in it."""
    return inside(event).is_plain if isinstance(event, (Either, Repeat)) else isinstance(event, (Assume, Lost))
