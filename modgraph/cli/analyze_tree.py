"""`modgraph analyze --all PATH`: every root model of a tree, told as they come."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from modgraph.cli.arguments import count
from modgraph.cli.console import Console
from modgraph.cli.ending import status_of
from modgraph.cli.onnx_arguments import onnx_options
from modgraph.cli.output import check_color, destination, picture_options
from modgraph.doors.printing import printable
from modgraph.errors import ConfigError, ExitStatus, TargetError
from modgraph.options import DEFAULT_DIRECTORY, TraceOptions

if TYPE_CHECKING:
    from modgraph.batch.manifest import Record
    from modgraph.batch.running import Batch

_NOT_HERE = ("input", "against", "focus", "columns", "dynamic", "suggest")
"""Options of one model."""


def add_tree_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of a whole tree."""
    group = parser.add_argument_group("a whole tree")
    group.add_argument(
        "--all",
        action="store_true",
        help="each root model below TARGET (.), resumable, indexed",
    )
    group.add_argument("--jobs", type=count, metavar="N", help="models in parallel; default: by cores and memory")
    group.add_argument("--retry", action="store_true", help="repeat failed models")


def check_alone(arguments: argparse.Namespace) -> None:
    """Raises ConfigError where an option of a whole tree is given, and there is to be none."""
    for name in ("jobs", "retry"):
        if getattr(arguments, name):
            raise ConfigError(f"--{name} is of use with --all alone", hint="modgraph analyze --all PATH")


def run(arguments: argparse.Namespace, options: TraceOptions, console: Console) -> ExitStatus:
    """Analyze them; the status of the worst."""
    from modgraph.batch.running import DEFAULT_TIMEOUT, analyze_tree
    from modgraph.export.picture.overview import forward_fault, state_word

    given = [name for name in _NOT_HERE if getattr(arguments, name, None)]
    if given:
        shown = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise ConfigError(f"{shown} belongs to one model, and --all does many", hint="leave one of them out")
    where = destination(arguments.output, arguments.format, default=("svg", "json"))
    if where.directory is None:
        raise ConfigError("--all writes many files", hint=f"name a directory: -o {DEFAULT_DIRECTORY}/")
    onnx = onnx_options(arguments, where)
    check_color(arguments)

    def tell(record: Record, n_done: int, n_all: int) -> None:
        why = forward_fault(record.facts) or record.reason
        if why or not console.quiet:
            reason = f": {_one_line(why)}" if why else ""
            word = state_word(record.state, record.facts)
            console.result(f"[{n_done}/{n_all}] {word:9}  {printable(record.name)}{reason}")
            console.flush()

    folder = arguments.target or "."
    try:
        batch = analyze_tree(
            folder,
            replace(options, timeout=options.timeout or DEFAULT_TIMEOUT),
            output=where.directory,
            formats=where.formats if where.asked else None,
            static=arguments.static,
            picture=picture_options(arguments),
            onnx=onnx,
            assume=arguments.assume,
            forward=arguments.forward,
            jobs=arguments.jobs,
            retry=arguments.retry,
            on_result=tell,
        )
    except KeyboardInterrupt as stop:
        console.note(f"interrupted; what is finished is in {where.directory}, and the same command goes on from there")
        return status_of(stop)
    if batch.distrusted is not None:
        hint = f" ({batch.distrusted.hint})" if batch.distrusted.hint else ""
        console.note(f"note: what git ignores is looked at too: {batch.distrusted.message}{hint}")
    for left_out in batch.left_out:
        console.note(f"note: {left_out.place} is left out: {_one_line(left_out.reason)}")
    if not console.quiet:
        console.result(batch.overview().verdict)
    before = len(batch.records) - batch.executed
    if before:
        console.note(f"{before} of them were finished before and have not changed")
    console.note(f"wrote {batch.index} and {batch.index.with_suffix('.md')}")
    for problem in batch.problems:
        console.error(problem)
    if not batch.records and not batch.problems:
        raise _nothing_found(folder, batch)
    return batch.status


def _nothing_found(folder: str, batch: Batch) -> TargetError:
    files = "1 file" if batch.n_files == 1 else f"{batch.n_files:,} files"
    if not batch.n_files:
        hint = "what git ignores, `exclude` of [tool.modgraph], and folders such as build and venv are not looked at"
        return TargetError(f"there is no file of Python below {folder}", hint=hint)
    what = "a class derived from nn.Module, an instance of one, or a function that builds one"
    hint = f"looked for: {what}; a model can be named: modgraph analyze file.py:NAME"
    return TargetError(
        f"no model found below {folder}: {files} of Python read, none with one that can be built", hint=hint
    )


def _one_line(text: str) -> str:
    first = printable(" ".join(text.split()))
    return first if len(first) <= 200 else first[:199] + "…"
