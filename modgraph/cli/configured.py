"""The models of a project, for a command that was given none: `targets` of its [tool.modgraph]."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from modgraph.cli.console import Console
from modgraph.errors import ConfigError, TargetError

if TYPE_CHECKING:
    from modgraph.source.targets import Target


def configured_targets(command: str) -> tuple[Path, tuple[str, ...]]:
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


def found_targets(folder: Path, text: str, console: Console) -> tuple[Target, ...]:
    """The models of one of them; none, where it is not there, which is said: it keeps no other back."""
    from modgraph.api import find_targets

    try:
        return find_targets(text, cwd=folder)
    except TargetError as error:
        console.error(error)
        return ()
