"""Git LFS: a file that is a pointer to what is kept elsewhere, where a graph was looked for."""

from __future__ import annotations

import shlex
from pathlib import Path

from modgraph.doors.reading import beginning
from modgraph.errors import GraphError

_BEGINNING = b"version https://git-lfs.github.com/spec/"


def is_pointer(file: str | Path) -> bool:
    """Whether a file is what git holds in place of one that Git LFS keeps."""
    try:
        return beginning(file, len(_BEGINNING)) == _BEGINNING
    except OSError:
        return False


def refuse_pointer(file: str | Path) -> None:
    """Raises GraphError where a file is such a pointer."""
    if is_pointer(file):
        raise GraphError(
            "this is a pointer of Git LFS, not the graph itself",
            file=str(file),
            hint=f"fetch the file: git lfs pull --include {shlex.quote(str(file))}",
        )
