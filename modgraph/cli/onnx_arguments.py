"""The options of `--format onnx`, and the place in which such a file is made before it goes where it belongs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, get_args

from modgraph.cli.arguments import count_or_none
from modgraph.cli.output import Destination
from modgraph.doors import temporary
from modgraph.errors import ConfigError
from modgraph.options import Dedup, Leaf, OnnxOptions, Weights

if TYPE_CHECKING:
    from modgraph.exporting import Exporting

_NAMES = {
    "onnx_weights": "weights",
    "dynamic": "dynamic",
    "onnx_dedup": "dedup",
    "onnx_leaf": "leaf",
    "onnx_depth": "depth",
}


def add_onnx_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the onnx format."""
    group = parser.add_argument_group("the onnx format")
    group.add_argument(
        "--onnx-weights",
        choices=get_args(Weights),
        metavar="WHERE",
        help="embed (default), external (a file beside), none",
    )
    group.add_argument(
        "--dynamic", action="append", metavar="SIZE", help="a size left open: batch, ids:1=seq (repeatable)"
    )
    group.add_argument(
        "--onnx-dedup",
        choices=get_args(Dedup),
        metavar="WHAT",
        help="shared functions: shape (default), structure, none",
    )
    group.add_argument(
        "--onnx-leaf",
        choices=get_args(Leaf),
        metavar="WHAT",
        help="one-operator layers as operator or function",
    )
    group.add_argument(
        "--onnx-depth", type=count_or_none, metavar="N", help="how deep functions are nested; 0 is a flat model"
    )


def onnx_options(arguments: argparse.Namespace, where: Destination) -> OnnxOptions | None:
    """What is asked of the onnx format; None where no model is exported.

    Raises:
        ConfigError: something is asked of it, and it is not written or nothing is run; or it does not fit.
    """
    given = {name: value for name in _NAMES if (value := getattr(arguments, name)) is not None}
    shown = ", ".join(f"--{name.replace('_', '-')}" for name in given)
    if given and "onnx" not in where.formats:
        raise ConfigError(f"{shown} belongs to the onnx format, which is not written", hint="add --format onnx")
    if given and arguments.static:
        raise ConfigError(f"{shown} is of no use with --static, which exports no model", hint="leave one of them out")
    if arguments.static or "onnx" not in where.formats:
        return None
    fields: dict[str, Any] = {
        _NAMES[name]: tuple(value) if isinstance(value, list) else value for name, value in given.items()
    }
    options = OnnxOptions(**fields)
    if where.stdout and options.weights == "external":
        raise ConfigError("weights in a second file do not fit into standard output", hint="name a file with -o")
    return options


@contextmanager
def exporting_to(where: Destination, stem: str, options: OnnxOptions | None) -> Iterator[Exporting | None]:
    """An export into a directory that is there as long as this lasts; None where nothing is exported."""
    if options is None:
        yield None
        return
    from modgraph.exporting import Exporting

    name = where.file.name if where.file is not None else f"{stem}.onnx"
    with temporary.folder() as directory:
        yield Exporting(options, name, directory)
