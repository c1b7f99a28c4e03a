"""Where an interpretation is given up in the midst of several paths: what all of them, as far as they came, agree on.

A limit ends the path that runs. What that one alone has done is not what the model is: the others go on without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from modgraph.prediction.domain.limits import LimitError
from modgraph.prediction.domain.state import State
from modgraph.prediction.paths.joining import join

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

ENDINGS = (LimitError, RecursionError, MemoryError)
"""What gives an interpretation up, and is told with what there is."""
_REASON = "depends on which way the code goes"


def join_others(machine: Machine, others: Iterable[State], since: int) -> None:
    """Makes the machine's state what holds on the path that was given up and on the others.

    Args:
        others: their states; as they were where the paths parted, if they have not run.
        since: objects from that address on were made on one path only.
    """
    with without_limit(machine):
        for other in others:
            if other is not machine.state:
                machine.state = join(machine.state, other, _REASON, machine.where, since)


@contextmanager
def without_limit(machine: Machine) -> Iterator[None]:
    """The work is used up; inside, what is told of it is made."""
    base = machine.base
    require, base.require = base.require, lambda: None
    try:
        yield
    finally:
        base.require = require


def first_of(*kept: list[State]) -> list[State]:
    """Of states that many turns or returns have left, the first: what it lacks is on some paths only."""
    return [states[0] for states in kept if states]
