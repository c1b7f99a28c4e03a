"""`modgraph analyze` of a file that holds no source: a graph, weights, an exported program. Nothing is run."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from modgraph.cli.analyze_tree import check_alone
from modgraph.cli.console import Console
from modgraph.cli.output import check_color, destination, write_graph
from modgraph.cli.suggest import check_suggestions, with_suggestions
from modgraph.errors import ConfigError, ExitStatus
from modgraph.options import TraceOptions

if TYPE_CHECKING:
    from modgraph.source.kinds import Kind


def run(arguments: argparse.Namespace, options: TraceOptions, kind: Kind, console: Console) -> ExitStatus:
    """Read the file, write its graph, say what is in it.

    Raises:
        ConfigError: something is asked of a run.
    """
    from modgraph.api import read_checkpoint, with_checkpoint
    from modgraph.cli.analyze import report, status_of
    from modgraph.export import file_stems
    from modgraph.export.text.summary import check_columns
    from modgraph.loading import load_file

    check_alone(arguments)
    _refuse_a_run(arguments, options, kind)
    where = destination(arguments.output, arguments.format, default=("svg", "json")).of_this_rank()
    where.check(n_models=1)
    check_color(arguments)
    check_columns(arguments.columns)
    check_suggestions(arguments)
    checkpoint = None if arguments.against is None else read_checkpoint(arguments.against, options)
    with console.stage("read"):
        graph = with_suggestions(with_checkpoint(load_file(arguments.target, kind), checkpoint), arguments)
    stem = where.stem(next(iter(file_stems([graph.model.name]))))
    written = write_graph(graph, where, arguments, console, stem=stem)
    report(graph, where, arguments, console)
    return max(written, status_of(graph))


def _refuse_a_run(arguments: argparse.Namespace, options: TraceOptions, kind: Kind) -> None:
    asked = [f"--{name.replace('_', '-')}" for name in options.changed(reading=arguments.against is not None)]
    asked += ["--input"] * bool(arguments.input)
    if asked:
        are = "is" if len(asked) == 1 else "are"
        article = "an" if kind.called[0] in "aeiouAEIOU" else "a"
        raise ConfigError(
            f"{', '.join(asked)} {are} of no use with {article} {kind.called}, of which nothing is run",
            hint="leave it out, or name the source of the model: model.py:Net",
        )
