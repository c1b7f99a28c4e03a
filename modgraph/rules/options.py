"""What a caller may ask of a check, beside what the configuration of the project says."""

from __future__ import annotations

from typing import Literal, NamedTuple


class CheckOptions(NamedTuple):
    """Plain data, as it travels to other processes."""

    select: tuple[str, ...] | None = None
    """In place of the configuration's."""
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    """Beside the configuration's."""
    exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    isolated: bool = False
    """No configuration is read."""
    config: tuple[str, ...] = ()
    """A file that is read in place of those that would be found, and "KEY=VALUE" that hold above it."""
    strict: bool = False
    """What is only possible is reported too."""
    fix: Literal["no", "safe", "unsafe"] = "no"
    write: bool = True
    """Fixed files are written; otherwise what they would be is in the report alone."""
    cache: str | None = None
    """Directory in which findings are kept; None for none."""
    folders: tuple[str, ...] = ()
    """Those that were named to be checked, by their absolute paths: what lies in one may be imported from it."""
    tells_imports: bool = False
    """It is told which imports of the files lead to nothing that is read."""
    jobs: int | None = None
    """Processes; None for as many as pay."""
