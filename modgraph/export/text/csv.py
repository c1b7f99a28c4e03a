"""The modules as CSV: a line for each, numbers as they are, in the units that the headings name."""

from __future__ import annotations

import csv
import io

from modgraph.doors.printing import csv_field
from modgraph.export.look.options import PictureOptions
from modgraph.export.text.columns import Value, columns_of
from modgraph.export.text.tree import ModuleTree
from modgraph.graph.model import Graph


def render(graph: Graph, options: PictureOptions | None) -> str:
    """RFC 4180 but for the ends of its lines, which are "\\n". Nothing is folded: each module has its line, with its
    path; that of the model itself is the model's name.

    A count of which a part is not known is ">=9408", or "?". What a spreadsheet would compute has an apostrophe before
    it.

    Raises:
        ConfigError: there is no such column.
        ExportError: there is no such module as `options` name.
    """
    options = options or PictureOptions()
    columns = columns_of(graph, options.columns, kept=True)
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(["module", *(each.heading for each in columns)])
    for row in ModuleTree(graph, fold=False, focus=options.focus).every(options.depth):
        values = [row.path or graph.model.name, *(each.value(row) for each in columns)]
        writer.writerow([_field(value) for value in values])
    return written.getvalue()


def _field(value: Value) -> str | int | float | None:
    return csv_field(value) if isinstance(value, str) else value
