"""What ends an interpretation before it has come to its end, and the one guard through which every way in goes.

A limit, an exception of the code that is interpreted, or a fault of ours is an `Unknown` there, never an exception.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from modgraph.errors import ModgraphError
from modgraph.graph.model import SourceLocation
from modgraph.prediction.domain.calling import Raised
from modgraph.prediction.domain.limits import ENDLESS, NO_MEMORY, TOO_NESTED, EndlessError, LimitError
from modgraph.prediction.domain.values import Unknown
from modgraph.source.reached import Reached

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

Result = TypeVar("Result")
RAISES = "raises "
"""How the reason begins where the code that is interpreted raised."""

FAILS = "one path fails, "
"""How the reason begins where one of several paths raised, and is not followed further."""


def attempt(
    machine: Machine,
    function: Callable[[], Result],
    otherwise: Callable[[Unknown], Result],
    where: SourceLocation | None = None,
) -> Result:
    """What the function gives, or `otherwise` of why it did not come to its end.

    Args:
        where: the place of the reason, where what ends it has none of its own.

    Raises:
        ModgraphError: the function does; what is asked for is not there.
    """
    frames, depth = len(machine.frames), machine.depth
    try:
        return function()
    except ModgraphError:
        raise
    except Exception as error:
        if machine.strict and not is_ending(error):
            raise
        why = unknown(error, where)
    del machine.frames[frames:]
    machine.depth = depth
    return otherwise(why)


def is_ending(error: BaseException) -> bool:
    """It is of the code that is interpreted, or a limit: no fault of the interpreter."""
    return isinstance(error, (Raised, LimitError, RecursionError, MemoryError))


def unknown(error: Exception, where: SourceLocation | None = None) -> Unknown:
    """Why nothing more is known, at the line of the user's that leads to it."""
    if isinstance(error, Raised):
        reason = f"{RAISES}{error.name.removeprefix('builtins.')}: {error.message}"
        if error.asked is not None and error.where is not None:
            reason = f"{reason} (in {error.where.file})"
        return Unknown(reason, error.asked or error.where or where)
    return Unknown(reason_of(error), error.where if isinstance(error, EndlessError) else where)


def reason_of(error: Exception) -> str:
    """In the words of a problem."""
    if isinstance(error, RecursionError):
        return Reached(TOO_NESTED)
    if isinstance(error, MemoryError):
        return Reached(NO_MEMORY)
    if isinstance(error, EndlessError):
        return ENDLESS
    if isinstance(error, LimitError):
        return Reached(error)
    return f"internal error of the interpreter: {type(error).__name__}: {error}"
