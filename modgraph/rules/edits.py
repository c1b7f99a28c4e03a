"""Changes of a file's text at places that `ast` gives."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from modgraph.findings import Edit

if TYPE_CHECKING:
    from modgraph.rules.subject import Subject


def characters(lines: Sequence[str], line: int, column: int) -> int:
    """A column of `ast`, which counts bytes of UTF-8, in characters."""
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    if text.isascii():
        return column
    data, starts = _in_bytes(text)
    block = min(max(column, 0) // _BLOCK, len(starts) - 1)
    begin, before = starts[block]
    return before + len(data[begin : max(column, begin)].decode("utf-8", "ignore"))


_BLOCK = 1_000
"""Bytes of a line from one place whose column is known to the next: a line may be very long, and much be said of it."""


@lru_cache(maxsize=16)
def _in_bytes(text: str) -> tuple[bytes, list[tuple[int, int]]]:
    """A line, and of every `_BLOCK` bytes where the first character in them begins: in bytes, in characters."""
    data = text.encode("utf-8", "replace")
    starts = [(0, 0)]
    for place in range(_BLOCK, len(data) + 1, _BLOCK):
        begin, before = starts[-1]
        while place > begin and place < len(data) and data[place] & 0xC0 == 0x80:
            place -= 1
        starts.append((place, before + len(data[begin:place].decode("utf-8", "ignore"))))
    return data, starts


def span(subject: Subject, node: ast.expr | ast.stmt) -> tuple[int, int, int, int]:
    """Line and column of its beginning and its end, in characters."""
    lines = subject.file.lines
    end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
    start = characters(lines, node.lineno, node.col_offset)
    return node.lineno, start, end_line, characters(lines, end_line, end_column)


def source(subject: Subject, node: ast.expr | ast.stmt) -> str:
    line, column, end_line, end_column = span(subject, node)
    return between(subject, (line, column), (end_line, end_column))


def between(subject: Subject, start: tuple[int, int], end: tuple[int, int]) -> str:
    """The text from one place (line, column) to another."""
    lines = subject.file.lines[start[0] - 1 : end[0]]
    if len(lines) == 1:
        return lines[0][start[1] : end[1]]
    return "".join([lines[0][start[1] :], *lines[1:-1], lines[-1][: end[1]]])


def start_of(subject: Subject, node: ast.expr | ast.stmt) -> tuple[int, int]:
    return span(subject, node)[:2]


def end_of(subject: Subject, node: ast.expr | ast.stmt) -> tuple[int, int]:
    return span(subject, node)[2:]


def insert(place: tuple[int, int], text: str) -> Edit:
    return Edit(*place, *place, text)


def replace(subject: Subject, node: ast.expr | ast.stmt, text: str) -> Edit:
    return Edit(*span(subject, node), text)


def around(subject: Subject, node: ast.expr | ast.stmt, before: str, after: str) -> tuple[Edit, Edit]:
    return insert(start_of(subject, node), before), insert(end_of(subject, node), after)


def newline(subject: Subject) -> str:
    """How the lines of the file end."""
    first = subject.file.lines[0] if subject.file.lines else ""
    return next((each for each in ("\r\n", "\n", "\r") if first.endswith(each)), "\n")


def nn_name(subject: Subject) -> str | None:
    """How the class can name `torch.nn`: "nn", "torch.nn", "tnn"; None where its file imports nothing of the kind, or
    the class uses the name for something else."""
    whole: str | None = None
    for bound, (module, attribute, level) in subject.file.summary.imports.items():
        path = f"{module}.{attribute}" if attribute else module
        if level or bound in _own_names(subject):
            continue
        if path == "torch.nn":
            return bound
        if path == "torch":
            whole = whole or f"{bound}.nn"
    return whole


def container_name(subject: Subject, name: str) -> str | None:
    """How the class can name `torch.nn.<name>`: as it is imported itself, or by way of `torch.nn`."""
    nn = nn_name(subject)
    if nn is not None:
        return f"{nn}.{name}"
    for bound, (module, attribute, level) in subject.file.summary.imports.items():
        if not level and (module, attribute) == ("torch.nn", name) and bound not in _own_names(subject):
            return bound
    return None


def _own_names(subject: Subject) -> frozenset[str]:
    """Names that the class binds somewhere within, as parameters or locals."""
    if "own names" not in subject.notes:
        bound: set[str] = set()
        for node in ast.walk(subject.facts.node):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                bound.add(node.id)
            elif isinstance(node, ast.arg):
                bound.add(node.arg)
            elif isinstance(node, ast.alias):
                bound.add(node.asname or node.name)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                bound.add(node.name)
        subject.notes["own names"] = frozenset(bound)
    found: frozenset[str] = subject.notes["own names"]
    return found
