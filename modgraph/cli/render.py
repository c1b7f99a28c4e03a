"""`modgraph render GRAPH.json`: draws a saved graph again, or what is in an ONNX file."""

from __future__ import annotations

import argparse

from modgraph.cli.console import Console
from modgraph.cli.output import add_picture_arguments, destination, write_graph
from modgraph.errors import ConfigError, ExitStatus
from modgraph.source.kinds import READ

_EPILOG = """\
examples:
  modgraph render modgraph-out/Net.json --format png
  modgraph render Net.json --depth 1 -o overview.svg
  modgraph render Net.json --format text -o -
  modgraph render net.onnx --format svg,json

exit status:
  0 written   1 a format that was asked for could not be written   2 nothing could be written
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.usage, parser.epilog = "%(prog)s GRAPH [options]", _EPILOG
    parser.add_argument("graph", metavar="GRAPH", help=", ".join(READ))
    add_picture_arguments(parser, default="svg")


def run(arguments: argparse.Namespace, console: Console) -> ExitStatus:
    """Write the graph in every format that was asked for."""
    from modgraph.api import load
    from modgraph.export import FORMATS
    from modgraph.export.text.summary import check_columns

    where = destination(arguments.output, arguments.format, default=("svg",))
    where.check(n_models=1)
    check_columns(arguments.columns)
    tables = [name for name, format in FORMATS.items() if format.has_columns]
    if arguments.columns and not set(tables).intersection(where.formats):
        raise ConfigError(
            "--columns is about the text and the tables alone",
            hint=f"add --format {tables[0]} (or {', '.join(tables[1:])}), and -o - to see it at once",
        )
    return write_graph(load(arguments.graph), where, arguments, console)
