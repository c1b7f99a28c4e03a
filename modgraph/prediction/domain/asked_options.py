"""Options of the command line that a script asks for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AskedOption:
    """One that is known."""

    name: str
    """Under which the script reads it."""
    flag: str | None
    """The longest string that selects it; None of an argument by position."""
    action: str | None
    """ "store_true"; None where it takes a word."""
    default: object = None
    """None also where it is not known."""
    choices: tuple[object, ...] = ()
