"""Events that many paths share are asked once for what they hold, and told as if each path were walked."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable

import pytest

from modgraph.prediction.domain.events import (
    Alias,
    Assume,
    Cell,
    Either,
    Enter,
    Event,
    Leave,
    Lost,
    Repeat,
    each_event,
    every_event,
    inside,
    is_plain,
    number_of,
    opened,
    opened_since,
    since,
)
from modgraph.prediction.domain.values import Address
from modgraph.prediction.project.registries import _stands_behind_in


def _walked_depth(events: Iterable[Event]) -> int:
    """`opened`, by a walk over every path."""
    depth = 0
    for event in events:
        if isinstance(event, Either):
            depth += max(_walked_depth(event.first), _walked_depth(event.second))
        depth += isinstance(event, Enter) - isinstance(event, Leave)
    return depth


def _events(draw: random.Random, made: list[Event], levels: int) -> tuple[Event, ...]:
    """A few events, some of which stand elsewhere too."""
    found: list[Event] = []
    for number in range(draw.randrange(5)):
        choice = draw.randrange(8)
        if made and choice == 0:
            found.append(draw.choice(made))
        elif levels and choice < 4:
            arms = (_events(draw, made, levels - 1), _events(draw, made, levels - 1))
            found.append(Either("why", None, *arms) if choice < 3 else Repeat("why", None, arms[0]))
        else:
            leaves = (Enter(Address(number), (), None, False), Leave(), Lost("why", None), Assume("x", True, None))
            found.append(draw.choice([*leaves, Alias(number, 1)]))
    made += found
    return tuple(found)


@pytest.mark.parametrize("seed", range(40))
def test_what_paths_hold_is_what_a_walk_over_each_finds(seed: int) -> None:
    events = _events(random.Random(seed), [], 4)
    every = list(every_event(events))
    assert number_of(events) == len(every)
    assert opened(events) == _walked_depth(events)
    assert set(map(id, each_event(events))) == set(map(id, every))
    for each in every:
        below = every_event((each,))
        kinds = {type(part) for part in below if not isinstance(part, (Either, Repeat))}
        assert is_plain(each) == (kinds <= {Lost, Assume})
    chain: Cell | None = None
    cells = [chain]
    for each in events:
        chain = Cell(chain, each)
        cells.append(chain)
    elsewhere = Cell(None, Leave())
    for later, earlier in itertools.product(cells, [*cells, elsewhere]):
        assert opened_since(later, earlier) == _walked_depth(since(later, earlier))


def test_paths_that_part_again_and_again_are_no_more_work_than_what_they_share() -> None:
    enter = Enter(Address(1), (), None, False)
    shared: tuple[Event, ...] = (enter, Lost("why", None))
    for _ in range(200):
        shared = (Either("why", None, shared, shared),)
    assert number_of(shared) == 3 * 2**200 - 1
    assert opened(shared) == 1
    assert sum(1 for _ in each_event(shared)) < 1_000
    assert isinstance(shared[0], Either)
    assert inside(shared[0]).depths == (1, 1)


@pytest.mark.parametrize(
    ("text", "behind"),
    [
        ("for k in TABLE:", True),
        ("for k in \n TABLE:", True),
        ("join TABLE:", False),
        ("inTABLE:", False),
        ("TABLE", False),
    ],
)
def test_a_name_behind_in(text: str, behind: bool) -> None:
    assert _stands_behind_in(text, text.index("TABLE")) == behind
