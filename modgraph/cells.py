"""Places in a notebook told as cell and line: "net.ipynb:cell 3", line 2, wherever a graph or an error names one."""

from __future__ import annotations

import operator
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from typing import Any

from modgraph.doors.reading import NOTEBOOK_BYTES, read
from modgraph.errors import CheckWarning, ModgraphError
from modgraph.graph.model import Graph
from modgraph.source.notebooks import SUFFIX, Notebook, NotebookError, read_notebook
from modgraph.source.targets import Target

_MAX_NAMED = 3
_LAST = ("last_line", "end_line")
"""Fields of what goes on for some lines: of the last."""


def in_cells(graph: Graph, target: Target) -> Graph:
    """The graph with places in cells; as it is for a target that is no notebook. What was left out of the notebook is
    said in a `CheckWarning`."""
    notebook = _notebook(target)
    if notebook is None:
        return graph
    told: Graph = _Told(notebook, target.relative_file).in_all(graph)
    if notebook.left_out:
        named = ", ".join(f"cell {number} ({why})" for number, why in notebook.left_out[:_MAX_NAMED])
        more = f" and {len(notebook.left_out) - _MAX_NAMED} more" if len(notebook.left_out) > _MAX_NAMED else ""
        warnings.warn(
            f"{target.relative_file}: left out, as it is no Python: {named}{more}", CheckWarning, stacklevel=2
        )
    return told


@contextmanager
def errors_in_cells(target: Target) -> Iterator[None]:
    """Errors that name a line of a notebook name its cell."""
    try:
        yield
    except ModgraphError as error:
        notebook = _notebook(target)
        if notebook is not None:
            told = _Told(notebook, target.relative_file)
            error.file, error.line = told.place(error.file, error.line)
            error.message = told.text(error.message)
        raise


def _notebook(target: Target) -> Notebook | None:
    if target.file is None or target.file.suffix.lower() != SUFFIX:
        return None
    try:
        return read_notebook(read(target.file, NOTEBOOK_BYTES))
    except (OSError, NotebookError):
        return None


class _Told:
    def __init__(self, notebook: Notebook, file: str) -> None:
        self._notebook, self._file = notebook, file
        self._in_text = re.compile(rf"{re.escape(file)}:(\d{{1,7}})\b")

    def in_all(self, value: Any) -> Any:
        """A value with every place in it, whatever has it: what has a `file` and a `line`, and what texts name."""
        if type(value) is str:
            return self.text(value) if self._file in value else value
        if type(value) is tuple:
            items = tuple(map(self.in_all, value))
            return value if all(map(operator.is_, items, value)) else items
        if isinstance(value, Mapping):
            found = {key: self.in_all(item) for key, item in value.items()}
            return value if all(found[key] is value[key] for key in value) else found
        if not is_dataclass(value):
            return value
        before = {each.name: getattr(value, each.name) for each in fields(value) if each.init}
        after = {name: self.in_all(item) for name, item in before.items()}
        if before.get("file") == self._file and before.get("line") is not None:
            after["file"], after["line"] = self.place(self._file, before["line"])
            after.update(
                (name, self.place(self._file, before[name])[1]) for name in _LAST if before.get(name) is not None
            )
        changed = {name: item for name, item in after.items() if item is not before[name]}
        return replace(value, **changed) if changed else value  # type: ignore[type-var]

    def place(self, file: str | None, line: int | None) -> tuple[str | None, int | None]:
        if file != self._file or line is None:
            return file, line
        cell, line = self._notebook.place(line)
        return f"{file}:cell {cell}", line

    def text(self, message: str) -> str:
        def in_cell(match: re.Match[str]) -> str:
            cell, line = self._notebook.place(int(match[1]))
            return f"{self._file}:cell {cell}:{line}"

        return self._in_text.sub(in_cell, message)
