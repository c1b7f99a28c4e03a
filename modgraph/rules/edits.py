"""Changes of a file's text at places that `ast` gives."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from modgraph.findings import Edit

if TYPE_CHECKING:
    from modgraph.rules.subject import Subject


def characters(lines: Sequence[str], line: int, column: int) -> int:
    """A column of `ast`, which counts bytes of UTF-8, in characters."""
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    return column if text.isascii() else len(text.encode("utf-8", "replace")[:column].decode("utf-8", "ignore"))


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
    """How the file names `torch.nn`: "nn", "torch.nn", "tnn"; None where it imports nothing of the kind."""
    for bound, (module, attribute, level) in subject.file.summary.imports.items():
        path = f"{module}.{attribute}" if attribute else module
        if level == 0 and path == "torch.nn":
            return bound
    for bound, (module, attribute, level) in subject.file.summary.imports.items():
        if level == 0 and module == "torch" and not attribute:
            return f"{bound}.nn"
    return None
