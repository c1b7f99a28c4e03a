"""What the evaluation of one module-level name may cost, and what is left of one that costs more: its own value is
unknown, and nothing else is.

Each name pays for its own statements and the calls they make, not for other names that these are the first to ask for:
how much is installed, and what was asked for before, then make no difference to what is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from modgraph.prediction.definitions import FunctionDefinition
from modgraph.prediction.frames import LimitError
from modgraph.prediction.import_order import is_installed
from modgraph.prediction.limits import (
    LIBRARY_UNDECIDED_DEPTH,
    MAX_LIBRARY_UNDECIDED_STEPS,
    MAX_NAME_DEPTH,
    MAX_STEPS,
    MAX_UNDECIDED_DEPTH,
    UNDECIDED_STEPS,
)
from modgraph.prediction.state import State
from modgraph.prediction.values import Address, Unknown, Value
from modgraph.source.reached import Reached

if TYPE_CHECKING:
    from modgraph.prediction.machine import Interpreter


@dataclass(slots=True)
class Allowance:
    """What one evaluation at module level may cost."""

    limit: int = MAX_STEPS
    """`machine.steps` at which it is used up."""
    frames: int = 0
    """How many frames were there before it began."""
    since: int = 0
    """Objects below this address are older."""
    of_library: bool = False
    """It is an installed package that is evaluated."""
    undecided: int = 0
    """Steps of it behind many undecided branches, counted by the sixty-four."""


def evaluated(machine: Interpreter, module: str, name: str, evaluate: Callable[[], Value | None]) -> Value | None:
    """What `evaluate` gives for a name of that module, at module level; Unknown where it costs too much.

    Raises:
        LimitError: the whole prediction's budget is used up.
    """
    if machine.module_depth >= MAX_NAME_DEPTH:
        return machine.unknown(
            Reached(f"{name}: more than {MAX_NAME_DEPTH} names of modules, each of which needs the next")
        )
    try:
        with machine.at_module_level(_of_library(machine, module)):
            return evaluate()
    except LimitError as limit:
        if machine.exhausted:
            raise
        return machine.unknown(Reached(f"{name}: {limit}"))


def count_undecided(machine: Interpreter) -> None:
    """Counts sixty-four steps where they lie behind many undecided branches, and counts them several times where they
    lie behind so many that each copies and joins states again and again.

    Raises:
        LimitError: an installed package takes too many such.
    """
    if machine.undecided > MAX_UNDECIDED_DEPTH:
        machine.steps += 64 * (UNDECIDED_STEPS - 1)
    allowance = machine.allowance
    if machine.undecided < LIBRARY_UNDECIDED_DEPTH or not allowance.of_library:
        return
    allowance.undecided += 64
    if allowance.undecided > MAX_LIBRARY_UNDECIDED_STEPS:
        note_costly(machine)
        raise LimitError(f"more than {MAX_LIBRARY_UNDECIDED_STEPS} steps for what is not decided")


def note_costly(machine: Interpreter) -> None:
    """The outermost function that a module-level name has called costs too much: where it is of an installed package,
    other names do not call it again."""
    for frame in machine.frames[machine.allowance.frames :]:
        if frame.function is not None:
            if _of_library(machine, frame.module):
                machine.costly.add(frame.function.definition)
            return


def require_cheap(machine: Interpreter, definition: FunctionDefinition) -> None:
    """Of a function that is called.

    Raises:
        LimitError: an earlier module-level name was given up in it, and it is such a name that asks for it.
    """
    if machine.module_depth and definition in machine.costly:
        raise LimitError(f"{definition.module}.{definition.qualname} takes too many steps")


def doubt_changes(machine: Interpreter, outer: State, limit: LimitError) -> None:
    """What was there before, and was being changed by what is given up, may be left half changed."""
    base, since = machine.base.objects, machine.allowance.since
    held = machine.state.above(outer.below).items()
    changed = [index for index, item in held if index < since and item is not (outer.get(index) or base.get(index))]
    machine.expose(map(Address, changed), Unknown(Reached(f"what changes it is not known: {limit}")))


def _of_library(machine: Interpreter, module: str) -> bool:
    found = machine.installed.get(module)
    if found is None:
        source = machine.finder.source(module)
        found = machine.installed[module] = source is not None and is_installed(source)
    return found
