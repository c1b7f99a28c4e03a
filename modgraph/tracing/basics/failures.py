"""An exception of the user's code as an error of ours: the message, and the line of theirs that it came from."""

from __future__ import annotations

import os
import re
import signal
import sys
import traceback
from functools import partial

from torch import nn

from modgraph.errors import RAISED_BY_OTHERS, TraceError
from modgraph.tracing.basics.origins import is_installed, is_own
from modgraph.tracing.basics.sharding import user_class
from modgraph.tracing.basics.sites import class_location, relative_file

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+|\b0x[0-9a-fA-F]{8,}")
MAX_MESSAGE = 2000
"""Characters kept of a foreign exception's text."""


def trace_error(error: BaseException, doing: str, *, module: str | None = None, hint: str | None = None) -> TraceError:
    """`error` as a `TraceError`: "`doing` raised ValueError: ...", at the innermost line of the user's own code."""
    file, line = user_line(error)
    failure = TraceError(f"{doing} {_happened(error)}", module=module, cause=error, file=file, line=line, hint=hint)
    failure.__cause__ = error
    return failure


def describe(error: BaseException) -> str:
    """ "ValueError: text", "package.module.Error: text"; without a trailing colon where there is no text."""
    text, kind = said(error), type(error)
    plain = kind.__module__ in ("builtins", "__main__")
    name = kind.__qualname__ if plain else f"{kind.__module__}.{kind.__qualname__}"
    return f"{name}: {text}" if text else name


def lacked_memory(error: BaseException) -> bool:
    """It says no more than that memory was asked for and not given; torch has no type of its own for that."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and "can't allocate memory" in said(error)
    )


def said(error: BaseException | None) -> str:
    """The text of an exception, the same on every machine and not longer than `MAX_MESSAGE`; "" for None.

    An exception of the user's code may raise another where it is asked for its text.
    """
    if error is None:
        return ""
    try:
        text = str(error.msg if isinstance(error, SyntaxError) else error).strip()
    except RAISED_BY_OTHERS as another:
        return f"(its text raised {type(another).__name__})"
    text = without_places(text)
    return text if len(text) <= MAX_MESSAGE else text[:MAX_MESSAGE] + " ..."


def without_places(text: str) -> str:
    """`text` without addresses, its absolute paths relative to where they are imported from, run from, or to "~"."""
    text = _ADDRESS.sub("", text)
    if os.sep not in text:
        return text
    home = os.path.expanduser("~")
    roots = {os.path.abspath(entry): "" for entry in (*sys.path, os.getcwd())}
    roots |= {os.path.realpath(root): "" for root in roots} | ({} if home in roots else {home: "~"})
    for root in sorted(roots, key=len, reverse=True):  # the innermost first
        if root.strip(os.sep):
            text = re.sub(_BEFORE + re.escape(root) + _AFTER, partial(_renamed, roots[root]), text)
    return text


_BEFORE = r"(?<![\w.~/\\-])"
_AFTER = r"(?:([/\\]+)|(?![\w.-]))"


def _renamed(name: str, found: re.Match[str]) -> str:
    """What stands for a directory: nothing in front of what lies in it, "." for itself; with a name, that."""
    if found[1] is None:
        return name or "."
    return f"{name}{found[1]}" if name else ""


def is_interruption(error: BaseException) -> bool:
    """A person pressed Ctrl-C. Where that raises no `KeyboardInterrupt`, the user's code raised it itself."""
    if not isinstance(error, KeyboardInterrupt):
        return False
    return signal.getsignal(signal.SIGINT) not in (signal.SIG_DFL, signal.SIG_IGN)


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
    places = [(file, line) for file, line in places if not file.startswith("<") and not is_own(file)]
    own = [place for place in places if not is_installed(place[0])]
    # A model of an installed package is not torch's fault either.
    outside_torch = [place for place in places if not relative_file(place[0]).startswith("torch/")]
    for file, line in reversed(own or outside_torch):  # a line of torch's own is nothing that anybody can mend
        return relative_file(file), line
    return None, None


def failure_of(error: BaseException, module: str | None) -> tuple[str, str | None, int | None]:
    """What is said of an exception that left a model, with file and line of the user's code.

    Args:
        module: path of the module at which it arose.
    """
    kind = _without_forward(error)
    if kind is None:
        return describe(error), *user_line(error)
    message = f"{kind.__qualname__} has no forward, so it cannot be called: write def forward(self, ...) in the class"
    place = None if module else class_location(kind)  # one inside is called from a line of the user's
    return message, *(user_line(error) if place is None else (place.file, place.line))


def _without_forward(error: BaseException) -> type | None:
    """The class that has no `forward`, where that is what an exception says; None of any other."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    unwritten = getattr(nn.Module.forward, "__code__", None)
    if not isinstance(error, NotImplementedError) or not frames or frames[-1].f_code is not unwritten:
        return None
    return user_class(type(frames[-1].f_locals["self"]))


def raised_by_user(error: BaseException | None) -> bool:
    """The statement that raised stands in the user's code, not in torch, the standard library or a package."""
    if error is None or error.__traceback__ is None:
        return False
    frame, _ = list(traceback.walk_tb(error.__traceback__))[-1]
    file = frame.f_code.co_filename
    return not (file.startswith("<") or is_installed(file) or is_own(file))
