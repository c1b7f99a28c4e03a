"""A notebook as Python: its code cells in a row, what is IPython's own left out; and places as cell and line.

`%magic`, `!command` and `name?` at the beginning of a statement become `pass`; behind an assignment they become the
call that IPython makes of them, whose value is known to nobody here. A cell whose first line is a `%%magic` is left
out, but for those that run Python (`%%time`). A cell that is no Python then is left out as well, and named.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from modgraph.doors.data import read_json
from modgraph.doors.reading import SOURCE_BYTES, shown
from modgraph.source.integers import parse

SUFFIX = ".ipynb"
MAX_CELLS = 20_000
"""Of one notebook."""
MAX_NESTED = 100
"""Brackets inside each other in a cell that is looked through for magics."""
_RUNS_PYTHON = frozenset(("time", "timeit", "capture", "prun", "memit", "mprun"))
"""Magics of a cell whose other lines are Python. Source: IPython, "Built-in magic commands"."""
_MAGIC = re.compile(r"[%!?]|[^\W\d][\w.]*\?{1,2}\s*\Z")
_ASSIGNED = re.compile(r"(?P<before>[^\W\d][\w., ]*?\s*=\s*)(?P<sign>[%!])(?P<rest>.*)\Z")
_PYTHON = frozenset(("python", "python3", "ipython"))


class NotebookError(ValueError):
    """It is no notebook, of another language, or larger than what is read."""


@dataclass(frozen=True, slots=True)
class Notebook:
    """The code of a notebook."""

    text: str
    """As one file of Python."""
    starts: tuple[int, ...]
    """The first line in `text` of each code cell."""
    cells: tuple[int, ...]
    """Its number among all cells, from 1 on."""
    left_out: tuple[tuple[int, str], ...] = ()
    """Cells that are no Python, by number, and why."""

    def place(self, line: int) -> tuple[int, int]:
        """The cell in which a line of `text` stands, and the line in it."""
        index = max(bisect_right(self.starts, line) - 1, 0)
        return (self.cells[index], line - self.starts[index] + 1) if self.starts else (1, line)


def read_notebook(data: bytes) -> Notebook:
    """The code in a notebook. Source of the format: nbformat, versions 3 and 4.

    Raises:
        NotebookError: it is none, of another language, or too large.
    """
    try:
        document = read_json(data)
    except ValueError as error:
        raise NotebookError(f"it is no notebook: {error}"[:200]) from None
    cells = _cells_of(document)
    if len(cells) > MAX_CELLS:
        raise NotebookError(f"it has {len(cells):,} cells, and at most {MAX_CELLS:,} are read")
    language = _language(document)
    if language is not None and language.lower() not in _PYTHON:
        raise NotebookError(f"its code is in {language[:40]}, not in Python")
    texts: list[str] = []
    starts: list[int] = []
    numbers: list[int] = []
    left_out: list[tuple[int, str]] = []
    line, size = 1, 0
    for number, text in _code(cells):
        size += len(text)
        if size > SOURCE_BYTES:
            raise NotebookError(f"its code is longer than {shown(SOURCE_BYTES)}")
        code, why = _python(text)
        if why is not None:
            left_out.append((number, why))
        texts.append(code)
        starts.append(line)
        numbers.append(number)
        line += code.count("\n") + 1
    return Notebook("\n".join(texts) + "\n", tuple(starts), tuple(numbers), tuple(left_out))


def _cells_of(document: Any) -> list[Any]:
    found = document.get("cells") if isinstance(document, dict) else None
    if found is None and isinstance(document, dict) and isinstance(document.get("worksheets"), list):
        sheets = [sheet for sheet in document["worksheets"] if isinstance(sheet, dict)]
        found = [cell for sheet in sheets for cell in (sheet.get("cells") or ())]
    if not isinstance(found, list):
        raise NotebookError("it is no notebook: it has no cells")
    return found


def _language(document: dict[str, Any]) -> str | None:
    metadata = document.get("metadata")
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        about = metadata.get(key) if isinstance(metadata, dict) else None
        said = about.get(name) if isinstance(about, dict) else None
        if isinstance(said, str):
            return said
    return None


def _code(cells: list[Any]) -> Iterator[tuple[int, str]]:
    """Number and text of each code cell."""
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        source = cell.get("source", cell.get("input", ""))
        if isinstance(source, list):
            source = "".join(each for each in source if isinstance(each, str))
        if isinstance(source, str):
            yield number, source.replace("\r\n", "\n").replace("\r", "\n")


def _python(text: str) -> tuple[str, str | None]:
    """A cell as Python, with as many lines; and why it is left out, where it is no Python."""
    empty = "\n" * text.count("\n")
    if _problem(text) is None:
        return text, None
    lines = text.split("\n")
    first = next((index for index, line in enumerate(lines) if line.strip()), None)
    if first is not None and lines[first].startswith("%%"):
        words = lines[first][2:].split()
        if not words or words[0] not in _RUNS_PYTHON:
            return empty, None
        lines[first] = ""
    code = "\n".join(_without_magics(lines))
    problem = _problem(code)
    return (code, None) if problem is None else (empty, problem)


def _problem(text: str) -> str | None:
    try:
        parse(text)
    except SyntaxError as error:
        return f"line {error.lineno or 1}: {error.msg}"
    except (ValueError, RecursionError, MemoryError):
        return "it cannot be parsed"
    return None


def _without_magics(lines: list[str]) -> Iterator[str]:
    """The lines, those of IPython replaced where a statement begins: not in a text, nor inside brackets."""
    state = _Scanner()
    for line in lines:
        if state.at_statement:
            bare = line.lstrip(" \t")
            indentation = line[: len(line) - len(bare)]
            if _MAGIC.match(bare):
                state.continued = bare.endswith("\\")
                state.in_magic = state.continued
                yield f"{indentation}pass"
                continue
            match = _ASSIGNED.match(bare)
            if match is not None:
                asked = "getoutput" if match["sign"] == "!" else "run_line_magic"
                line = f"{indentation}{match['before']}get_ipython().{asked}({match['rest']!r})"
        elif state.in_magic:
            state.continued = state.in_magic = line.endswith("\\")
            yield ""
            continue
        state.read(line)
        yield line


class _Scanner:
    """Whether a line begins a statement, by the brackets and texts of the lines before."""

    def __init__(self) -> None:
        self.quote = ""
        self.depth = 0
        self.continued = False
        self.in_magic = False

    @property
    def at_statement(self) -> bool:
        return not (self.quote or self.depth or self.continued)

    def read(self, line: str) -> None:
        self.continued = False
        at = 0
        while at < len(line):
            if self.quote:
                end = line.find(self.quote, at)
                escaped = line.find("\\", at)
                if 0 <= escaped < (end if end >= 0 else len(line)):
                    at = escaped + 2
                    continue
                if end < 0:
                    break
                at, self.quote = end + len(self.quote), ""
                continue
            sign = line[at]
            if sign == "#":
                break
            if sign in "\"'":
                self.quote = line[at : at + 3] if line[at : at + 3] == sign * 3 else sign
                at += len(self.quote)
                continue
            if sign in "([{":
                self.depth = min(self.depth + 1, MAX_NESTED)
            elif sign in ")]}":
                self.depth = max(self.depth - 1, 0)
            elif sign == "\\" and at == len(line) - 1:
                self.continued = True
            at += 1
        if len(self.quote) == 1:  # such a text ends with its line
            self.quote = ""


def only_statements(text: str, wanted: frozenset[int]) -> str:
    """The text with the top-level statements of these numbers alone, each on its own lines.

    Raises:
        SyntaxError, ValueError, RecursionError: as parsing does.
    """
    tree: ast.Module = parse(text)
    lines = text.split("\n")
    kept = [""] * len(lines)
    for number, node in enumerate(tree.body):
        if number in wanted:
            first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
            kept[first - 1 : node.end_lineno] = lines[first - 1 : node.end_lineno]
    return "\n".join(kept)
