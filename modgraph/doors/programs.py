"""Programs of the system that are started by their name alone."""

from __future__ import annotations

import os
import shutil


def find_program(name: str) -> str | None:
    """The absolute path of a program on the PATH; None where there is none.

    Folders of the PATH that are relative are passed over, and so is the working directory, where Windows looks first:
    it may be a stranger's, and hold a program of that name.
    """
    here = os.path.realpath(os.curdir)
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if os.path.isabs(folder) and os.path.realpath(folder) != here:
            found = shutil.which(name, path=folder)
            if found is not None and os.path.isabs(found):
                return found
    return None
