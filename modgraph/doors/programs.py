"""The one finder of programs: on the PATH, and never in the working directory, which may be what is analysed."""

from __future__ import annotations

import os


def find(name: str) -> str | None:
    """A program's absolute path; None where it is not installed.

    An entry of the PATH that is empty or relative means the working directory, as does its own path; Windows looks
    there first.
    """
    here = os.path.realpath(os.curdir)
    file = f"{name}.exe" if os.name == "nt" else name
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if not os.path.isabs(folder) or os.path.realpath(folder) == here:
            continue
        path = os.path.join(folder, file)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None
