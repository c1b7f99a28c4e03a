"""The modules as a table in Markdown, for a comment, a report or a README: the rows of the summary."""

from __future__ import annotations

from modgraph.doors.printing import in_cell, markdown, markdown_code
from modgraph.export.look.options import PictureOptions
from modgraph.export.text.arguments import assumed_line, no_calls_line, open_shapes_line, open_ways_line
from modgraph.export.text.columns import ModuleColumn, columns_of
from modgraph.export.text.left_out import left_out_line
from modgraph.export.text.suggestions import suggestions_markdown
from modgraph.export.text.summary import MAX_LINES
from modgraph.export.text.tree import ModuleTree, Row
from modgraph.export.text.weights import weights_line
from modgraph.graph.model import Graph


def render(graph: Graph, options: PictureOptions | None) -> str:
    """A line that names the model, and the table; identical rows beside each other are one row, with ×N.

    Raises:
        ConfigError: there is no such column.
        ExportError: there is no such module as `options` name.
    """
    options = options or PictureOptions()
    tree = ModuleTree(graph, fold=options.fold, focus=options.focus)
    rows, cut = tree.fitting(MAX_LINES) if options.depth is None else tree.cut_at(options.depth)
    columns = columns_of(graph, options.columns)
    columns = [each for each in columns if each.column.kept or any(each.text(row) for row in rows)]
    said = [f"**{markdown(graph.model.name)}**", *([markdown(graph.model.target)] if graph.model.target else [])]
    head = ["module", *(markdown(each.column.title) for each in columns)]
    said += [*([cut] if cut else []), *([] if graph.complete else ["partial"])]
    if graph.model.assumed is not None:
        said.append(f"assumed: {markdown(assumed_line(graph))}")
    if (unpredicted := no_calls_line(graph)) != "":
        said.append(f"forward {markdown(unpredicted)}")
    if (unknown := open_shapes_line(graph)) != "":
        said.append(f"shapes {markdown(unknown)}")
    if (unfollowed := open_ways_line(graph)) != "":
        said.append(f"other ways {markdown(unfollowed)}")
    if graph.model.missing_weights:
        said.append(f"weights {markdown(weights_line(graph.model.missing_weights))}")
    if graph.model.left_out:
        said.append(f"left out {markdown(left_out_line(graph.model.left_out))}")
    lines = [
        " · ".join(said),
        "",
        _line(head),
        _line(["---", *("---:" if each.column.right else "---" for each in columns)]),
    ]
    lines += [_line([_name(graph, row), *(_field(each, row) for each in columns)]) for row in rows]
    lines += suggestions_markdown(graph)
    return "\n".join(lines) + "\n"


def _field(column: ModuleColumn, row: Row) -> str:
    text = column.text(row)
    return text if column.column.right else in_cell(markdown(text))  # numbers are nobody's words


def _name(graph: Graph, row: Row) -> str:
    """The path as code; where a row stands for several, the last of them behind it."""
    if row.path == "":
        return in_cell(markdown(graph.model.name) if not row.branches else markdown(row.name))
    first = in_cell(markdown_code(row.path))
    return f"{first} – {in_cell(markdown_code(row.last))} ×{row.members}" if row.members > 1 else first


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
