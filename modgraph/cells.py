"""Places in a notebook told as cell and line: "net.ipynb:cell 3", line 2, wherever a graph or an error names one."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from modgraph.doors.reading import NOTEBOOK_BYTES, read
from modgraph.errors import CheckWarning, ModgraphError
from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import Graph, LeftOut, SourceLocation
from modgraph.source.notebooks import SUFFIX, Notebook, NotebookError, read_notebook
from modgraph.source.targets import Target

_MAX_NAMED = 3


def in_cells(graph: Graph, target: Target) -> Graph:
    """The graph with places in cells; as it is for a target that is no notebook. What was left out of the notebook is
    said in a `CheckWarning`."""
    notebook = _notebook(target)
    if notebook is None:
        return graph
    told = _Told(notebook, target.relative_file)
    builder = GraphBuilder.of(graph)
    builder.modules = [replace(one, source=told.source(one.source)) for one in graph.modules]
    builder.calls = [replace(one, source=told.source(one.source)) for one in graph.calls]
    builder.operations = [replace(one, source=told.source(one.source)) for one in graph.operations]
    builder.gaps = [replace(one, source=told.source(one.source)) for one in graph.gaps]
    builder.model = replace(graph.model, left_out=tuple(map(told.left_out, graph.model.left_out)))
    builder.problems = []
    for problem in graph.problems:
        file, line = told.place(problem.file, problem.line)
        builder.problems.append(replace(problem, file=file, line=line, message=told.text(problem.message)))
    if notebook.left_out:
        named = ", ".join(f"cell {number} ({why})" for number, why in notebook.left_out[:_MAX_NAMED])
        more = f" and {len(notebook.left_out) - _MAX_NAMED} more" if len(notebook.left_out) > _MAX_NAMED else ""
        warnings.warn(
            f"{target.relative_file}: left out, as it is no Python: {named}{more}", CheckWarning, stacklevel=2
        )
    return builder.build()


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

    def source(self, found: SourceLocation | None) -> SourceLocation | None:
        if found is None or found.file != self._file:
            return found
        cell, line = self._notebook.place(found.line)
        return SourceLocation(f"{self._file}:cell {cell}", line, found.column)

    def place(self, file: str | None, line: int | None) -> tuple[str | None, int | None]:
        if file != self._file or line is None:
            return file, line
        cell, line = self._notebook.place(line)
        return f"{file}:cell {cell}", line

    def left_out(self, found: LeftOut) -> LeftOut:
        file, line = self.place(found.file, found.line)
        _, last = self.place(found.file, found.last_line)
        return replace(found, file=file or found.file, line=line or found.line, last_line=last or found.last_line)

    def text(self, message: str) -> str:
        def in_cell(match: re.Match[str]) -> str:
            cell, line = self._notebook.place(int(match[1]))
            return f"{self._file}:cell {cell}:{line}"

        return self._in_text.sub(in_cell, message)
