"""The models of a project, for a command that was given none: `targets` of its [tool.modgraph]."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from modgraph.cli.console import Console
from modgraph.errors import ConfigError, ExitStatus, TargetError

if TYPE_CHECKING:
    from modgraph.doors.borders import Border
    from modgraph.source.targets import Target


Thing = TypeVar("Thing")

MAX_TARGETS = 1_000
"""Of a configuration, and models of them: each is looked for, and is a graph and a picture."""


def configured_targets(command: str) -> tuple[Path, Sequence[str]]:
    """The folder against which they are read, and the targets as they are written.

    Args:
        command: what the user might have written instead: "modgraph analyze model.py".

    Raises:
        ConfigError: there are none, or the configuration cannot be used.
    """
    from modgraph.config import FILE, Configs

    config = Configs().of(str(Path.cwd() / FILE))
    if not config.targets:
        raise ConfigError(
            "no target was named, and [tool.modgraph] of no pyproject.toml from here upwards names any",
            file=config.file,
            hint=f'name one ({command}), or list the project\'s models there: targets = ["model.py:Net"]',
        )
    return Path(config.folder), tuple(dict.fromkeys(config.targets))


def as_many_as_are_taken(found: Sequence[Thing], console: Console) -> tuple[Sequence[Thing], ExitStatus]:
    """The first of the targets or models of a configuration; that others are left out is an error, which is said."""
    if len(found) <= MAX_TARGETS:
        return found, ExitStatus.OK
    console.error(
        ConfigError(
            f"[tool.modgraph] names {len(found):,} models: only the first {MAX_TARGETS:,} are taken",
            hint="name the others on the command line",
        )
    )
    return found[:MAX_TARGETS], ExitStatus.FAILED


def targets_within(text: str, border: Border, folder: Path, path: Sequence[str] | None = None) -> tuple[Target, ...]:
    """The models of a target that nobody but a configuration has named; nothing beyond the border of its project is
    looked at.

    Raises:
        TargetError: it lies beyond it, is not there, or has no model in it.
    """
    from modgraph.source.roots import models_of
    from modgraph.source.targets import parse_target

    return models_of(parse_target(text, path=path, cwd=folder, border=border))


def found_targets(folder: Path, text: str, console: Console) -> tuple[Target, ...]:
    """The models of one of them; none, where it is not there, which is said: it keeps no other back."""
    from modgraph.doors.borders import border_around

    try:
        return targets_within(text, border_around(folder), folder)
    except TargetError as error:
        console.error(error)
        return ()
