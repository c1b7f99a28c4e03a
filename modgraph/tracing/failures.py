"""An exception of the user's code as an error of ours: the message, and the line of theirs that it came from."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
import traceback
from pathlib import Path

from modgraph.errors import TraceError

_OWN = str(Path(__file__).resolve().parent.parent) + os.sep
MAX_MESSAGE = 2000
"""Characters kept of a foreign exception's text."""


def trace_error(error: BaseException, doing: str, *, module: str | None = None, hint: str | None = None) -> TraceError:
    """`error` as a `TraceError`: "`doing` raised ValueError: ...", at the innermost line of the user's own code."""
    file, line = user_line(error)
    failure = TraceError(f"{doing} {_happened(error)}", module=module, cause=error, file=file, line=line, hint=hint)
    failure.__cause__ = error
    return failure


def describe(error: BaseException) -> str:
    """ "ValueError: text", without a trailing colon where there is no text."""
    text = str(error.msg if isinstance(error, SyntaxError) else error)
    text = text.strip()
    if len(text) > MAX_MESSAGE:
        text = text[:MAX_MESSAGE] + " ..."
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _happened(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"called sys.exit({'' if error.code is None else repr(error.code)})"
    return f"raised {describe(error)}"


def user_line(error: BaseException) -> tuple[str | None, int | None]:
    """File and line of the innermost frame that is neither installed code nor ours; (None, None) if there is none.

    Files are relative to the entry of `sys.path` from which they are importable. For a syntax error it is the line
    that does not parse.
    """
    if isinstance(error, SyntaxError) and error.filename and error.lineno and not is_installed(error.filename):
        return relative_file(error.filename), error.lineno
    places = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    places = [(file, line) for file, line in places if not file.startswith("<") and not _is_own(file)]
    own = [place for place in places if not is_installed(place[0])]
    # A model of an installed package is not torch's fault either.
    outside_torch = [place for place in places if not relative_file(place[0]).startswith("torch/")]
    for file, line in reversed(own or outside_torch or places):
        return relative_file(file), line
    return None, None


def raised_by_user(error: BaseException | None) -> bool:
    """The statement that raised stands in the user's code, not in torch, the standard library or a package."""
    if error is None or error.__traceback__ is None:
        return False
    frame, _ = list(traceback.walk_tb(error.__traceback__))[-1]
    file = frame.f_code.co_filename
    return not (file.startswith("<") or is_installed(file) or _is_own(file))


def _is_own(file: str) -> bool:
    return os.path.realpath(file).startswith(_OWN)


def is_installed(file: str) -> bool:
    """The file belongs to the standard library or to an installed package."""
    path = os.path.realpath(file)
    return any(path.startswith(root) for root in _installed_roots())


def _installed_roots() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    roots = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    roots.update(site.getsitepackages() if hasattr(site, "getsitepackages") else ())
    return tuple(sorted(os.path.realpath(root) + os.sep for root in roots if root))


def relative_file(file: str) -> str:
    """`file` relative to the longest entry of `sys.path` that holds it, with forward slashes; else its bare name."""
    path = Path(os.path.realpath(file))
    holders = [Path(os.path.realpath(entry)) for entry in sys.path if entry]
    holders = [holder for holder in holders if holder in path.parents]
    if not holders:
        return path.name
    # A package may itself lie inside a directory on the path; its files are named from the outermost package.
    root = max(holders, key=lambda holder: len(holder.parts))
    return path.relative_to(root).as_posix()
