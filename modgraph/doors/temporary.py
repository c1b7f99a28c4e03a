"""The one maker of temporary folders: of a name that nobody can foresee, for this user alone, gone afterwards."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from modgraph.errors import ExportError

PREFIX = "modgraph-"
_VARIABLES = ("TMPDIR", "TEMP", "TMP")


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A folder of mode 0700, for as long as the context lasts.

    Raises:
        ExportError: there is no place for one.
    """
    try:
        made = tempfile.TemporaryDirectory(prefix=PREFIX, dir=_place(), ignore_cleanup_errors=True)
    except OSError as error:
        raise _none(error.strerror or str(error)) from error
    with made as name:
        yield Path(name)


@contextlib.contextmanager
def file() -> Iterator[IO[bytes]]:
    """A file without a name, for as long as the context lasts.

    Raises:
        ExportError: there is no place for one.
    """
    try:
        made = tempfile.TemporaryFile(dir=_place())  # noqa: SIM115
    except OSError as error:
        raise _none(error.strerror or str(error)) from error
    with made as handle:
        yield handle


def _place() -> str:
    """The system's folder for temporary files; never the working directory for want of another, as that may be what is
    analysed."""
    try:
        place = tempfile.gettempdir()
    except OSError:
        raise _none("no folder that there is can be written to") from None
    here = os.path.realpath(os.getcwd())
    if os.path.realpath(place) == here:
        named = [os.environ[name] for name in _VARIABLES if os.environ.get(name)]
        usual = ("/tmp", "/var/tmp", "/usr/tmp")
        if here not in map(os.path.realpath, (*named, *usual)):
            raise _none("no folder but the working directory can be written to")
    return place


def _none(why: str) -> ExportError:
    return ExportError(
        f"there is no place for temporary files: {why}", hint="name a folder with the environment variable TMPDIR"
    )
