"""Which line of the user's code made a call: cheap to take while it runs, turned into a location afterwards."""

from __future__ import annotations

import os
import re
import sys
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

from modgraph.graph.model import SourceLocation
from modgraph.tracing.basics.origins import internal_files, is_below, is_internal

Site = tuple[CodeType, int]
"""Code and offset of its instruction; the line is looked up later, as that costs more than the walk."""

stop_at: set[int] = set()
"""`id` of code objects at which a call of a module was made: what called them is known already."""


def site_of(frame: FrameType | None, otherwise: Site | None) -> Site | None:
    """The innermost of the user's lines from `frame` outwards; `otherwise` if a call of a module comes first."""
    internal = internal_files
    while frame is not None:
        code = frame.f_code
        if id(code) in stop_at:
            return otherwise
        known = internal.get(code.co_filename)
        if known is None:
            known = is_internal(code.co_filename)
        if not known:
            return (code, frame.f_lasti)
        frame = frame.f_back
    return otherwise


def location_of(site: Site | None) -> SourceLocation | None:
    """File, relative to its import root, and line."""
    if site is None:
        return None
    code, offset = site
    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= offset < end and number is not None:
            line = number
            break
    return SourceLocation(relative_file(code.co_filename), line)


def relative_file(filename: str) -> str:
    """`filename` as seen from the longest entry of `sys.path` above it, with "/"; its last part if there is none."""
    return _relative_to(filename, tuple(sys.path), os.getcwd())


@lru_cache(maxsize=1 << 12)
def _relative_to(filename: str, roots: tuple[str, ...], directory: str) -> str:
    path = os.path.abspath(filename)
    best = ""
    for entry in roots:
        root = os.path.abspath(entry or directory)
        if len(root) > len(best) and is_below(path, root.rstrip(os.sep)):
            best = root
    relative = os.path.relpath(path, best) if best else os.path.basename(path)
    return relative.replace(os.sep, "/")


def class_location(kind: type) -> SourceLocation | None:
    """Where `kind` is defined; None for a class made at run time or outside Python files.

    Found from a method upwards by text: parsing the file, as `inspect` does, takes longer than a whole trace.
    """
    import linecache

    module = sys.modules.get(kind.__module__)
    filename = getattr(module, "__file__", None)
    code = _first_method(kind, filename)
    filename = code.co_filename if code is not None else filename
    if not isinstance(filename, str) or filename.startswith("<"):
        return None
    lines = linecache.getlines(filename)
    key = (filename, kind.__name__, None if code is None else code.co_firstlineno)
    known = _found_lines.get(key)
    if known is None or known[0] is not lines:
        if len(_found_lines) >= _MAX_FOUND:
            _found_lines.clear()
        known = _found_lines[key] = (lines, _class_line(lines, kind.__name__, key[2]))
    return SourceLocation(relative_file(filename), known[1]) if known[1] is not None else None


_MAX_FOUND = 4096
_found_lines: dict[tuple[str, str, int | None], tuple[list[str], int | None]] = {}
"""Where classes begin, with the lines of the file in which they were sought: others are sought in again."""


def _class_line(lines: list[str], name: str, below: int | None) -> int | None:
    """The line at which the class of this name begins: the nearest above its method, else the first."""
    opening = re.compile(rf"\s*class\s+{re.escape(name)}\b")
    order = range(1, len(lines) + 1) if below is None else range(min(below, len(lines)), 0, -1)
    return next((number for number in order if opening.match(lines[number - 1])), None)


def _first_method(kind: type, filename: str | None) -> CodeType | None:
    name = f"{kind.__qualname__}."
    codes: list[CodeType] = []
    for member in vars(kind).values():
        function: Any = getattr(member, "__wrapped__", member)
        code = getattr(function, "__code__", None)
        if not isinstance(code, CodeType) or not getattr(function, "__qualname__", "").startswith(name):
            continue
        if filename is None or code.co_filename == filename:
            codes.append(code)
    return min(codes, key=lambda code: code.co_firstlineno, default=None)
