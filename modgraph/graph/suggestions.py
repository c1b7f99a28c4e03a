"""Names that are proposed for other tools: a part of `Graph`. Made by `modgraph.suggesting`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["lora", "fsdp", "compile", "quantize", "groups"]
"""What names are proposed for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestedEntry:
    """One name of a suggestion, or one that is left out of it."""

    role: str
    """What it is proposed as: "target", "save", "block", "outside", "layer", "skip", "decay", "no_decay", ..."""
    name: str
    """As it is pasted: the last name of modules, a class, a regular expression of full names."""
    count: int
    """Of the modules that it stands for; of the parameters, in `groups`. One that has several names counts once."""
    parameters: int | None
    """Number of their elements; None where one of them is not known."""
    class_name: str | None = None
    where: tuple[str, ...] = ()
    """Their paths; `*` stands for the numbers of repeated blocks."""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """What is proposed for one use."""

    kind: Kind
    paste: str
    """Lines of Python; "" where nothing can be proposed."""
    entries: tuple[SuggestedEntry, ...] = ()
    notes: tuple[str, ...] = ()
    """What to mind, a sentence each."""
    unknown: tuple[str, ...] = ()
    """What the graph leaves open, so that names may be missing."""
