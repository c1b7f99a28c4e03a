"""What the predictions of one command share: the work that they may take together, and what was read for them.

Each has limits of its own. A file of a hundred models that each nearly reach them would still take a hundred times as
long; so they are counted together too, in the order of the models. A model that costs little takes little of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from modgraph.errors import EndlessImportError
from modgraph.prediction.domain.limits import (
    MAX_NAMED_TARGETS,
    MAX_SHARED_WORK,
    UNITS_OF_A_NAMED_TARGET,
    UNITS_OF_A_NODE,
    UNITS_OF_A_PREDICTION,
)
from modgraph.source.modules import ModuleFinder, Shared, SourceModule
from modgraph.source.target_modules import module_of
from modgraph.source.targets import Target

MAX_MODULES = 1_000
MAX_TEXT = 8_000_000
"""Modules, and characters of them, that are kept with what was parsed of them; with more, all are forgotten."""


class Together:
    """Of one command.

    Args:
        reads: files are read once for all predictions: nothing changes them meanwhile.
        named: targets that somebody wrote down: each may take some more. How many models a file of them holds counts
            for nothing.
    """

    def __init__(self, *, reads: bool, named: int = 1) -> None:
        self.reads = reads
        self.left = MAX_SHARED_WORK + (min(max(named, 1), MAX_NAMED_TARGETS) - 1) * UNITS_OF_A_NAMED_TARGET
        self.read_before = 0
        """Work that reading other files than its own took one prediction: the others read the same ones again, and do
        not pay for that."""
        self.endless: dict[Path | None, EndlessImportError] = {}
        """By file: why its models cannot be built. It did not come to its end when it was imported."""
        self.needed_alone: dict[Path | None, Mapping[str, Any]] = {}
        """By file, of which a model was traced all the same: where its import did not come to its end."""
        self.files: set[str] = set()
        """Source files that its predictions have read."""
        self._known: dict[tuple[str, ...], Shared] = {}
        self._own: dict[tuple[str, str], SourceModule] = {}

    def source(self, target: Target) -> SourceModule | None:
        """The module of a target that names a file which is there; None for another."""
        if not self.reads or target.file is None or not target.file.is_file():
            return None
        key = (target.module, str(target.file))
        if key not in self._own:
            self._own.clear()
            self._own[key] = module_of(target)
        return self._own[key]

    def prepare(self, finder: ModuleFinder) -> None:
        """What was read for the predictions before serves this one."""
        if not self.reads:
            return
        known = self._known.get(finder.place)
        if known is None or _is_much(known):
            self._known.clear()
            known = self._known[finder.place] = Shared()
        finder.share(known)

    def take(self, work: int, reading: int, nodes: int) -> None:
        """Of the work that they share, what one prediction took and its graph takes until it is written.

        Args:
            reading: how much of the work went into reading other files than its own.
        """
        self.left -= work - min(reading, self.read_before) + UNITS_OF_A_PREDICTION + nodes * UNITS_OF_A_NODE
        if not self.reads:
            self.read_before = max(self.read_before, reading)


def _is_much(known: Shared) -> bool:
    text = sum(len(each.text) for each in known.modules.values() if "text" in vars(each))
    return len(known.modules) > MAX_MODULES or text > MAX_TEXT
