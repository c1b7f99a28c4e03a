"""What one prediction may cost: counted in what is done, so that the same source gives the same graph on any machine.

*Steps* are statements and calls; names of modules have an allowance of their own (`allowances.py`). *Items* and
*copies* stand for memory. *Work* is the sum of all, and of what costs time without being any of them: reading and
parsing files, walking over objects, joining states. The clock is asked only as a last resort.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from modgraph.prediction.domain import stopping
from modgraph.prediction.domain.limits import (
    COPIES_OF_A_UNIT,
    ITEMS_OF_A_UNIT,
    LIBRARY_UNDECIDED_DEPTH,
    MAX_COPIED_OBJECTS,
    MAX_FORWARD_WORK,
    MAX_LIBRARY_UNDECIDED_STEPS,
    MAX_MADE_ITEMS,
    MAX_MADE_MODULES,
    MAX_MODULE_STEPS,
    MAX_SECONDS,
    MAX_STEPS,
    MAX_UNDECIDED_DEPTH,
    MAX_WORK,
    UNDECIDED_STEPS,
    UNITS_OF_A_STEP,
    LimitError,
)
from modgraph.prediction.domain.state import Base

if TYPE_CHECKING:
    from modgraph.prediction.domain.definitions import FunctionDefinition


@dataclass(slots=True)
class Allowance:
    """What one evaluation at module level may cost."""

    limit: int = MAX_STEPS
    """`machine.steps` at which it is used up."""
    steps: int = MAX_MODULE_STEPS
    """How many that are."""
    frames: int = 0
    """How many frames were there before it began."""
    since: int = 0
    """Objects below this address are older."""
    of_library: bool = False
    """It is an installed package that is evaluated."""
    undecided: int = 0
    """Steps of it behind many undecided branches, counted by the sixty-four."""


class Budget(ABC):
    """The counting half of the machine."""

    def __init__(self) -> None:
        self.base = Base()
        self.module_depth = 0
        self.steps = 0
        self.elsewhere = 0
        """Steps that module-level names have taken, which are not those of what happened to ask for them first."""
        self.limit = MAX_STEPS
        """`steps` at which what is evaluated is given up: the prediction, a module-level name, or a decorator."""
        self.widened_from = MAX_STEPS
        """`steps` from which a `while` is taken to have any number of turns: in what a library may call, it may go on
        without end."""
        self.undecided = 0
        """How many undecided branches and loops enclose what is running."""
        self.allowance = Allowance()
        """What the module-level name that is being evaluated may cost."""
        self.costly: set[FunctionDefinition] = set()
        """Functions of installed packages in which the evaluation of a module-level name was given up."""
        self.costly_packages: set[str] = set()
        """Installed packages a call into which was given up, where such calls have a limit of their own."""
        self.work_limit = MAX_WORK
        """`work` at which the prediction is given up, or a part of it that has a share of its own."""
        self.granted = MAX_WORK
        """What others have left of it, where it is shared."""
        self.sharing = ""
        """With whom: "all models of one command"."""
        self.unshared: Callable[[], int] = lambda: 0
        """How much of its work does not count there."""
        self.has_ended = False
        """The graph is made of what there is, however it ended."""
        self.deadline = 0.0
        self.until = math.inf
        """When it is over whatever is renewed: what it is a part of ends then."""
        self.forward_left = MAX_FORWARD_WORK
        """Units of what is still to be done with what was built."""

    def grant(self, units: int, sharing: str) -> None:
        """The work is shared with other predictions, which have left so much of it."""
        self.granted, self.sharing = units, sharing

    @property
    def has_spent_what_is_shared(self) -> bool:
        """Nothing is left for the others either."""
        return self.sharing != "" and self.work - self.unshared() > self.granted

    def renew(self) -> None:
        """All of it, for the next prediction."""
        self.restart()
        self.base.work = 0
        self.granted, self.sharing, self.has_ended = MAX_WORK, "", False
        self.work_limit = MAX_WORK
        self.forward_left = MAX_FORWARD_WORK
        self.deadline = min(self.until, time.monotonic() + MAX_SECONDS)

    def restart(self) -> None:
        """Steps and memory; the work that was done remains counted."""
        self.base.work = self.work
        self.steps = self.elsewhere = 0
        self.base.copied = self.base.made = self.base.modules = 0
        self.undecided = 0
        self.limit = MAX_STEPS

    @contextmanager
    def run_on(self, units: int | None = None) -> Iterator[None]:
        """What is done inside with what was built has what is left of the units for that.

        Args:
            units: units of work besides, which are not counted among those that are shared.
        """
        self.restart()
        before = self.work
        if units is not None:
            self.granted += units
        self.work_limit = before + (max(self.forward_left, 0) if units is None else units)
        self.deadline = time.monotonic() + MAX_SECONDS
        try:
            yield
        finally:
            self.forward_left -= self.work - before

    def step(self) -> None:
        """Counts one statement or call.

        Raises:
            LimitError: they, or the work, are used up.
        """
        self.steps += 1
        if self.steps > self.limit or self.steps & 63 == 0:
            self._check()

    def _check(self) -> None:
        if self.steps > self.limit:
            if not self.module_depth:
                raise LimitError(f"more than {MAX_STEPS} steps")
            if self.limit == self.allowance.limit:  # not that of a decorator, or of a message
                self.note_costly()
            raise LimitError(f"more than {self.allowance.steps} steps for a name of a module")
        if self.undecided:
            self._count_undecided()
        if self.elsewhere > MAX_STEPS:
            raise LimitError(f"more than {MAX_STEPS} steps for names of modules")
        if self.base.copied > MAX_COPIED_OBJECTS:
            raise LimitError(f"more than {MAX_COPIED_OBJECTS} objects copied for undecided branches")
        self.makes(0)
        self.require_work()

    def _count_undecided(self) -> None:
        """Counts sixty-four steps where they lie behind many undecided branches, and counts them several times where
        they lie behind so many that each copies and joins states again and again.

        Raises:
            LimitError: an installed package takes too many such.
        """
        if self.undecided > MAX_UNDECIDED_DEPTH:
            self.steps += 64 * (UNDECIDED_STEPS - 1)
        allowance = self.allowance
        if self.undecided < LIBRARY_UNDECIDED_DEPTH or not allowance.of_library:
            return
        allowance.undecided += 64
        if allowance.undecided > MAX_LIBRARY_UNDECIDED_STEPS:
            self.note_costly()
            raise LimitError(f"more than {MAX_LIBRARY_UNDECIDED_STEPS} steps for what is not decided")

    @abstractmethod
    def note_costly(self) -> None:
        """The outermost function that a module-level name has called costs too much: where it is of an installed
        package, other names do not call it again."""

    def require_work(self) -> None:
        """Asked before what may take long.

        Raises:
            LimitError: the work is used up.
            StoppedError: nobody waits for it any more.
        """
        stopping.require_wanted()
        if self.has_spent_what_is_shared and not self.has_ended:
            raise LimitError(f"more than the units of work that {self.sharing} may take together")
        if self.work > self.work_limit:
            raise LimitError(f"more than {self.work_limit} units of work")
        if time.monotonic() > self.deadline:
            raise LimitError(f"more than {MAX_SECONDS:g} seconds, on a machine that is slow or busy")

    def spend(self, units: int) -> None:
        """Counts work that no steps stand for.

        Raises:
            LimitError: it is used up.
        """
        self.base.work += units
        self.require_work()

    @contextmanager
    def at_most(self, units: int) -> Iterator[None]:
        """What is done inside has a share of the work; what it leaves is there for what comes after."""
        outer = self.work_limit
        self.work_limit = min(outer, self.work + units)
        try:
            yield
        finally:
            self.work_limit = outer

    def makes(self, count: int) -> None:
        """Counts items that one operation makes at once, which cost memory and no steps.

        Raises:
            LimitError: they are used up.
        """
        self.base.made += count
        if self.base.made > MAX_MADE_ITEMS:
            raise LimitError(f"more than {MAX_MADE_ITEMS} items of values")
        if self.base.modules > MAX_MADE_MODULES:
            raise LimitError(f"more than {MAX_MADE_MODULES} modules and parameters made")

    @property
    def work(self) -> int:
        """Units of work that were done."""
        base = self.base
        steps = UNITS_OF_A_STEP * (self.steps + self.elsewhere)
        return base.work + steps + base.made // ITEMS_OF_A_UNIT + base.copied // COPIES_OF_A_UNIT

    @property
    def exhausted(self) -> bool:
        """The whole prediction's budget is used up, not only that of a module-level name."""
        steps = self.elsewhere > MAX_STEPS or (not self.module_depth and self.steps > MAX_STEPS)
        room = self.base.made > MAX_MADE_ITEMS or self.base.copied > MAX_COPIED_OBJECTS
        room = room or self.base.modules > MAX_MADE_MODULES
        shared = self.has_spent_what_is_shared
        return steps or room or shared or self.work > self.work_limit or time.monotonic() > self.deadline

    @property
    def spent(self) -> int:
        """Steps of all that was evaluated, to be compared with an earlier answer."""
        return self.steps + self.elsewhere
