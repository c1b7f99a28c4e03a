"""Which module of the project is being executed, or was: where an import fails or does not end, it is of that one."""

from __future__ import annotations

import os
import sys
import traceback
from types import CodeType

from modgraph.tracing.basics.origins import is_installed, is_own


def imported_line(thread: int) -> tuple[str, int] | None:
    """File and line of the innermost module of the project that a thread executes; None where there is none."""
    frame = sys._current_frames().get(thread)
    while frame is not None:
        file = _module_file(frame.f_code)
        if file is not None:
            return file, frame.f_lineno
        frame = frame.f_back
    return None


def failed_line(error: BaseException | None) -> tuple[str, int] | None:
    """The same of what was executed when an exception was raised."""
    found = None
    for frame, line in traceback.walk_tb(None if error is None else error.__traceback__):
        file = _module_file(frame.f_code)
        found = found if file is None else (file, line)
    return found


def _module_file(code: CodeType) -> str | None:
    if code.co_name != "<module>" or code.co_filename.startswith("<"):
        return None
    file = os.path.abspath(code.co_filename)
    return None if is_installed(file) or is_own(file) else file
