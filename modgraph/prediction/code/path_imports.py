"""Modules of the project that are imported on some paths only, or inside a `try`: executed in the state of the path.

Each state says which of them it has. Where paths meet of which only some have imported a module, what that has changed
is joined as everything else is; a later import is a fork: one path has nothing left to do, the other executes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from modgraph.prediction.domain.calling import Raised
from modgraph.prediction.domain.state import State
from modgraph.prediction.domain.values import DELETED, NONE, TRUE, Unknown, Value, remaining
from modgraph.prediction.paths.guards import Guard

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_IMPORTED = "<imported>"
"""Stands in place of a module's name, for those that the state has imported."""


def is_imported(machine: Machine, module: str) -> bool | None:
    """Whether the module is imported already; None where only some of the paths that lead here have done it."""
    if module not in machine.modules.on_paths:
        return module in machine.modules.whole
    key = (_IMPORTED, module)
    mark = remaining(machine.state.bound(key))
    return None if isinstance(mark, Unknown) else mark is not None


def is_parted(machine: Machine) -> bool:
    """What is done here need not be done on all paths, or may be broken off where something goes on."""
    return bool(machine.undecided or machine.guards)


def are_in(machine: Machine, state: State) -> bool:
    """The state has modules of its own, which the base has not."""
    return any((_IMPORTED, module) in state.globals for module in machine.modules.on_paths)


def note(machine: Machine, module: str) -> None:
    """A module is executed on all paths, which some have imported before without success."""
    if module in machine.modules.on_paths:
        machine.base.globals[(_IMPORTED, module)] = TRUE


@contextmanager
def imported_here(machine: Machine, module: str) -> Iterator[None]:
    """The module is executed inside, in the present state. A path on which it raises has not imported it."""
    key = (_IMPORTED, module)
    _forget_names(machine, module)
    machine.modules.on_paths.add(module)
    machine.state.globals[key] = TRUE
    outer = list(machine.guards)
    inner = Guard(any(isinstance(each, Guard) and each.doubts for each in outer), expects=False)
    if outer:
        machine.guards.append(inner)
    frames = len(machine.frames)
    try:
        with machine.with_own_steps():
            yield
    except Raised:
        machine.state.globals[key] = DELETED
        raise
    finally:
        del machine.frames[frames:]
        if outer:
            machine.guards.pop()
            for _, state in inner:
                state.globals[key] = DELETED
            machine.guards[-1].extend(inner)


def _forget_names(machine: Machine, module: str) -> None:
    """What another path has bound in the module is not there when it is executed."""
    machine.modules.namespaces.pop(module, None)
    for key in [key for key in (*machine.base.globals, *machine.state.globals) if key[0] == module]:
        machine.state.globals[key] = DELETED


def on_the_others(machine: Machine, module: str, execute: Callable[[], None]) -> None:
    """Of a module that some paths have imported: the others do it now."""
    mark = {(_IMPORTED, module): TRUE}
    _part(machine, lambda: machine.state.globals.update(mark), execute, f"whether {module} has been imported before")


def perhaps(machine: Machine, module: str, execute: Callable[[], None]) -> None:
    """Of a module that may be another than the one that is found."""
    _part(machine, lambda: None, execute, f"which {module} is imported")


def _part(machine: Machine, first: Callable[[], None], second: Callable[[], None], what: str) -> None:
    def path(run: Callable[[], None]) -> Callable[[], Value]:
        def done() -> Value:
            run()
            return NONE

        return done

    with nullcontext() if machine.module_depth else machine.at_module_level():
        machine.fork([path(first), path(second)], f"depends on {what}")
