"""`modgraph diff OLD NEW`: what changed between two models."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from modgraph.cli.arguments import seconds, size
from modgraph.cli.console import Console
from modgraph.errors import ConfigError, ExitStatus, GraphError
from modgraph.names import plural
from modgraph.options import Device, Mode, TraceOptions

if TYPE_CHECKING:
    from modgraph.changes.model import Changes

_EPILOG = """\
OLD and NEW are each
  net.json                 a graph that `modgraph analyze` wrote
  model.py:Net             a target, as for `modgraph analyze`; it is predicted, and nothing is executed
  HEAD~1:model.py:Net      the same at a revision of the git repository here; nothing is checked out
  main:net.json            a graph that is stored in the repository
  net.onnx                 an ONNX file, compared with another one
OLD alone is a revision: each of targets = [...] in [tool.modgraph] is compared with its state there

examples:
  modgraph diff HEAD~1:model.py:Net model.py:Net
  modgraph diff main:model.py:Net model.py:Net --format markdown -o comment.md
  modgraph diff old.json new.json -o changes.svg
  modgraph diff origin/main --format markdown -o changes/
  modgraph diff main:model.py:Net model.py:Net --fail-on checkpoint --emit-map keys.txt

exit status:
  0 no difference known   1 different   2 not comparable: one side could not be read or found
"""
_FORMATS = ("text", "markdown", "json", "svg", "html")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.usage, parser.epilog = "%(prog)s OLD [NEW] [options]", _EPILOG
    parser.add_argument("old", metavar="OLD", help="a graph, a target, or REV:target")
    parser.add_argument(
        "new",
        metavar="NEW",
        nargs="?",
        help="the same; if left out, OLD is a revision, and each target of [tool.modgraph] is compared with it",
    )
    output = parser.add_argument_group("what is written")
    output.add_argument(
        "--format", choices=_FORMATS, metavar="NAME", help=f"{', '.join(_FORMATS)}; default: text, or the suffix of -o"
    )
    output.add_argument(
        "-o", "--output", metavar="FILE", help="default: standard output; a directory for several targets"
    )
    output.add_argument(
        "--fail-on",
        choices=("change", "checkpoint"),
        default="change",
        metavar="WHAT",
        help="status 1 for: change (default); checkpoint: only if one of OLD does not load into NEW",
    )
    output.add_argument(
        "--emit-map", metavar="FILE", help="write lines old.key: new.key, to load a checkpoint of OLD into NEW"
    )
    run_group = parser.add_argument_group("the run")
    run_group.add_argument("--run", action="store_true", help="build and run targets too, compare the runs")
    run_group.add_argument("--input", action="append", default=[], metavar="SPEC", help="an input of both models")
    run_group.add_argument(
        "--device", choices=get_args(Device), default="cpu", metavar="NAME", help="cpu, cuda, fake; default: cpu"
    )
    run_group.add_argument(
        "--mode",
        choices=get_args(Mode),
        default="eval",
        metavar="NAME",
        help="eval, train; default: eval; also for predictions; a saved graph of the other mode is refused",
    )
    run_group.add_argument("--profile", action="store_true", help="compare floating point operations too")
    run_group.add_argument("--timeout", type=seconds, metavar="SECONDS", help="for each run")
    run_group.add_argument("--memory-limit", type=size, metavar="SIZE", help="for each run: 4G, 512M")


def run(arguments: argparse.Namespace, console: Console) -> ExitStatus:
    """Compare, write, and say by the status whether there is a difference."""
    from modgraph.diffing import GraphFinder, compared, entered, unwrapped
    from modgraph.source.input_groups import parse_inputs

    finder = GraphFinder(
        run=arguments.run,
        specs=parse_inputs(arguments.input),
        options=_options(arguments),
        watch=console.stage,
    )
    if arguments.new is None:
        from modgraph.cli.diff_targets import run as diff_targets

        return diff_targets(arguments, finder, console)
    file, format = _destination(arguments)
    of_checkpoints = arguments.fail_on == "checkpoint"
    if arguments.emit_map == "-":
        raise ConfigError("--emit-map names a file", hint="--emit-map keys.txt")
    weights_alone = of_checkpoints and file is None and format == "text"
    inner = sides = finder.pair(arguments.old, arguments.new)
    entry = prefix = ""
    if weights_alone:
        sides, entry = entered(*sides)
        inner, prefix = unwrapped(*sides)
    try:
        changes = compared(*inner, weights_alone=weights_alone, mode=arguments.mode)
    except GraphError as error:
        raise GraphError(f"not comparable: {error.message}", hint=error.hint) from error
    write_changes(changes, file, format, console, of_checkpoints=of_checkpoints)
    if entry:
        console.note(f"of the entries of the file, {entry!r} is compared, which has most of the model's keys")
    if prefix:
        console.note(f"{prefix!r} taken off the keys of the weights: load_state_dict needs them without it")
    if arguments.emit_map is not None:
        # A map is of the keys as they lie in the file.
        raw = compared(*sides, weights_alone=True) if prefix else changes
        _write_map(raw, Path(arguments.emit_map), console)
    if file is not None and not console.quiet:
        from modgraph.export.diff.words import verdict

        console.note(verdict(changes))
        console.note(f"wrote {file}")
    return status_of(changes, arguments.fail_on, console)


def status_of(changes: Changes, fail_on: str, console: Console, named: str = "") -> ExitStatus:
    """Whether what was asked for has come about; what of it is not known is said, and fails nothing.

    Args:
        named: the model, where there are several.
    """
    if fail_on == "change":
        return ExitStatus.PARTIAL if changes else ExitStatus.OK
    of = f"{named}: " if named else ""
    state = changes.state
    if changes.checkpoint.fits is None:
        places = plural(len(state.undecided), "place")
        console.warning(f"{of}whether a checkpoint of the old model loads is not known: {places} left open")
    if state.misplaced:
        count = plural(len(state.misplaced), "key")
        console.warning(f"{of}{count} would load into another layer, the first: {state.misplaced[0]}")
    return ExitStatus.PARTIAL if changes.checkpoint.fits is False else ExitStatus.OK


def _write_map(changes: Changes, file: Path, console: Console) -> None:
    from modgraph.export import write_file
    from modgraph.export.diff.key_map import render

    write_file(file, render(changes))
    found = changes.checkpoint
    n_others = len(found.carried) - len(found.renames)
    left = len(found.lost) + len(found.fresh) + len(found.reshaped)
    said = [f"{len(found.renames):,} renamed"]
    said += [f"{n_others:,} that need more than a name, in comments"] * bool(n_others)
    said += [f"{left:,} that nothing explains"] * bool(left)
    console.note(f"wrote {file}: {', '.join(said)}")


def _destination(arguments: argparse.Namespace) -> tuple[Path | None, str]:
    """The file, None for standard output; and the format.

    Raises:
        ConfigError: the two contradict each other.
        ExportError: the name of the file is that of no format.
    """
    if arguments.output in (None, "-"):
        return None, arguments.format or "text"
    from modgraph.export.diff.formats import FORMATS, format_of

    file = Path(arguments.output)
    if file.is_dir():
        raise ConfigError(f"-o {file} is a directory, and a diff is one file", hint=f"-o {file / 'changes.md'}")
    if arguments.format is None:
        return file, format_of(file)
    is_device = file.exists() and not file.is_file()  # such as /dev/stdout, whose name says nothing
    if file.suffix and not is_device and (named := format_of(file)) != arguments.format:
        raise ConfigError(
            f"-o {file} is a file of format {named}, and --format asks for {arguments.format}",
            hint=f"leave --format out, or name a file that ends in .{FORMATS[arguments.format].extension}",
        )
    return file, arguments.format


def _options(arguments: argparse.Namespace) -> TraceOptions:
    options = TraceOptions.among(vars(arguments))
    asked = [f"--{name.replace('_', '-')}" for name in options.changed(but=("mode",))]
    if asked and not arguments.run:
        are = "is" if len(asked) == 1 else "are"
        raise ConfigError(f"{', '.join(asked)} {are} of use with --run alone", hint="add --run, which runs the models")
    return options


def write_changes(
    changes: Changes,
    file: Path | None,
    format: str,
    console: Console,
    *,
    below: Path | None = None,
    of_checkpoints: bool = False,
) -> None:
    """Write them into a file, or on standard output.

    Args:
        below: the directory that was named, where the file itself was not.
        of_checkpoints: as text, what becomes of a checkpoint alone.

    Raises:
        ExportError: the format cannot be written, or the file.
    """
    from modgraph.export import write_file
    from modgraph.export.diff.formats import render

    if file is None and format == "text":
        from modgraph.export.diff.text import render as text

        told = text(
            changes,
            width=console.width,
            color=console.color,
            unicode=console.unicode,
            encoding=console.encoding,
            of_checkpoints=of_checkpoints,
        )
        console.result(told)
        return
    with console.stage("draw"):
        written = render(changes, format)
    if file is None:
        console.document(written)
    else:
        write_file(file, written, below=below)
