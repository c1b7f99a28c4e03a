"""Who is told of the stages of an analysis."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

Watch = Callable[[str], AbstractContextManager[Any]]
"""Told the name of each stage; what it returns is entered while the stage lasts, and may give a `heard.Watcher`."""


def unwatched(_stage: str) -> AbstractContextManager[Any]:
    """Nobody looks."""
    return nullcontext()
