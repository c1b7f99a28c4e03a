"""`-o` and `--format` of the commands that write a graph: where each file goes, and writing it."""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from modgraph.cli.arguments import count, names
from modgraph.cli.console import Console
from modgraph.cli.warned import told_by
from modgraph.errors import ConfigError, ExitStatus, ExportError, ExportWarning, ModgraphError
from modgraph.graph.model import Graph
from modgraph.options import DEFAULT_DIRECTORY, DIRECTIONS, LOOKS

if TYPE_CHECKING:
    from modgraph.export import PictureOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Which formats are written, and where."""

    formats: tuple[str, ...]
    asked: bool
    """The user named the formats; otherwise they are the default ones, which may fall back on others."""
    directory: Path | None = None
    file: Path | None = None
    """Exactly one of `directory`, `file` and `stdout` is set."""
    stdout: bool = False

    rank: int | None = None
    """Of this process, where `torchrun` has started several: each writes files of its own."""

    def of_this_rank(self) -> Destination:
        """The same, with the rank of this process in the name of every file, where it is one of several."""
        rank, world = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
        if not (rank.isdecimal() and world.isdecimal() and int(rank) < int(world) and int(world) > 1):
            return self
        marked = replace(self, rank=int(rank))
        if self.file is None or (self.file.exists() and not self.file.is_file()):
            return marked
        return replace(marked, file=self.file.with_name(f"{marked.stem(self.file.stem)}{self.file.suffix}"))

    def stem(self, stem: str) -> str:
        """The name of a file without its extension."""
        return stem if self.rank is None else f"{stem}.rank{self.rank}"

    def check(self, *, n_models: int) -> None:
        """Find out before the work what would be known only after it.

        Raises:
            ConfigError: several results are asked for where there is room for one.
            ExportError: the place cannot be written.
        """
        if self.directory is None and (n_models > 1 or len(self.formats) > 1):
            what = f"{n_models} models" if n_models > 1 else f"the formats {', '.join(self.formats)}"
            raise ConfigError(
                f"{what} do not fit into {'standard output' if self.stdout else self.file}",
                hint="name one model and one format (model.py:Net --format svg), or a directory with -o DIR",
            )
        place = self.directory if self.directory is not None else self.file.parent if self.file else None
        if place is not None:
            from modgraph.export.files import refuse_linked_default

            if self.directory is not None:
                refuse_linked_default(self.directory)
            _check_writable(place)


def add_picture_arguments(parser: argparse.ArgumentParser, *, default: str) -> None:
    """The options that say what is written, where, and how deep a picture goes."""
    from modgraph.export import FORMATS

    output = parser.add_argument_group(f"what is written, by default as {default}")
    output.add_argument("--format", metavar="LIST", help=", ".join(FORMATS))
    output.add_argument("-o", "--output", metavar="DIR", help="modgraph-out/; FILE for one file; - for stdout")
    add_shown_arguments(output)
    output.add_argument("--columns", type=names, default=(), metavar="LIST", help="of the tables: class,flops,time,...")
    figure = "dark; paper: a figure to print; --width 3.25in, 180mm"
    output.add_argument("--style", choices=LOOKS, default="screen", metavar="STYLE", help=figure)
    output.add_argument("--width", metavar="LEN", help=argparse.SUPPRESS)  # told of beside --style: help is long enough


def add_shown_arguments(output: argparse._ActionsContainer) -> None:
    """The options that say what of a model a picture shows: those of a command, and of a comment in a Markdown file."""
    add = output.add_argument
    add("--depth", type=count, metavar="N", help="levels of a picture; default: those readable")
    add("--no-fold", action="store_true", help="blocks one by one; --no-idioms; --show-views")
    add("--no-idioms", action="store_true", help=argparse.SUPPRESS)  # told of beside --no-fold: help is long enough
    add("--show-views", action="store_true", help=argparse.SUPPRESS)  # the same
    add("--focus", default="", metavar="PATH", help="draw one module, and what it connects to")
    told = "top to bottom, or left to right"
    add("--direction", choices=DIRECTIONS, default="TB", metavar="|".join(DIRECTIONS), help=told)
    output.set_defaults(columns=(), style="screen", width=None)


def picture_options(arguments: argparse.Namespace) -> PictureOptions:
    """What the options say of pictures, and of the table of the format `text`.

    Raises:
        ExportError: one has a value that it cannot have.
    """
    from modgraph.export import PictureOptions

    return PictureOptions(
        depth=arguments.depth,
        idioms=not arguments.no_idioms,
        fold=not arguments.no_fold,
        direction=arguments.direction,
        focus=arguments.focus,
        views=arguments.show_views,
        color=arguments.color_by,
        columns=arguments.columns,
        style=arguments.style,
        width=arguments.width,
    )


def shown_text(graph: Graph, arguments: argparse.Namespace, console: Console, *, color: bool = False) -> str:
    """The format `text` as wide as the terminal, in the characters that it has."""
    from modgraph.export.text.summary import summary

    return summary(
        graph,
        width=console.width,
        color=color,
        unicode=console.unicode,
        encoding=console.encoding,
        depth=arguments.depth,
        fold=not arguments.no_fold,
        idioms=not arguments.no_idioms,
        columns=arguments.columns,
        focus=arguments.focus,
    )


def check_color(arguments: argparse.Namespace) -> None:
    """Raises ConfigError where the colours are to say what nobody measures, ExportError where a picture is nothing that
    there is."""
    picture_options(arguments)
    if arguments.color_by in ("flops", "time", "memory") and not arguments.profile:
        raise ConfigError(
            f"--color {arguments.color_by} needs figures that only --profile measures",
            hint="add --profile, or colour by what every graph has: --color parameters",
        )


def destination(output: str | None, formats: str | None, *, default: tuple[str, ...]) -> Destination:
    """What `-o` and `--format` ask for.

    A name with a suffix is a file, whose format the suffix names; any other name, and one that ends in "/" or is a
    directory already, is a directory.

    Raises:
        ConfigError: `-o` and `--format` contradict each other, or say nothing.
        ExportError: a format does not exist, or the suffix of a file names none.
    """
    from modgraph.export import FORMATS, check_format, format_of

    asked = tuple(dict.fromkeys(name.strip() for name in formats.split(",") if name.strip())) if formats else ()
    if formats is not None and not asked:
        raise ConfigError("--format names no format", hint=f"formats are {', '.join(FORMATS)}")
    for name in asked:
        check_format(name)
    if output == "-":
        return Destination(formats=asked or ("json",), asked=True, stdout=True)
    if output is None:
        return Destination(formats=asked or default, asked=bool(asked), directory=Path(DEFAULT_DIRECTORY))
    if not output:
        raise ConfigError("-o names no place", hint="name a directory or a file, or - for standard output")
    path = Path(output)
    if path.exists() and not path.is_file() and not path.is_dir() and asked:
        return Destination(formats=asked, asked=True, file=path)  # a pipe or a device, such as /dev/stdout
    if path == Path(DEFAULT_DIRECTORY) and path.is_symlink():
        # The user's own word is followed; a link at the place that nobody named may have come with what is analysed.
        path = Path(os.path.realpath(path))
    if path.is_symlink() and not path.exists() and not path.suffix:
        # Named by the user, it is followed, and what it leads to is made, as for a file in it.
        path = Path(os.path.relpath(os.path.realpath(path)))
    if output.endswith(("/", os.sep)) or path.is_dir() or not path.suffix:
        return Destination(formats=asked or default, asked=bool(asked), directory=path)
    try:
        named = format_of(path)
    except ExportError as error:
        error.hint = f"{error.hint}; a directory of that name is written {output}/"
        raise
    if len(asked) == 1 and asked != (named,):
        raise ConfigError(
            f"-o {output} is a file of format {named}, and --format asks for {asked[0]}",
            hint=f"leave --format out, or name a file that ends in .{FORMATS[asked[0]].extension}",
        )
    return Destination(formats=asked or (named,), asked=True, file=path)


def _check_writable(directory: Path) -> None:
    """Raises ExportError where files cannot be made in `directory`, or it cannot be made itself."""
    existing = directory
    while not existing.exists() and existing.parent != existing:
        existing = existing.parent
    if not existing.is_dir():
        raise ExportError(f"cannot write into {directory}: {existing} is a file", hint="choose a directory with -o DIR")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise ExportError(f"cannot write into {directory}: permission denied", hint="choose a directory with -o DIR")


def write_graph(
    graph: Graph,
    where: Destination,
    arguments: argparse.Namespace,
    console: Console,
    *,
    stem: str | None = None,
    onnx: Sequence[Path] = (),
) -> ExitStatus:
    """Write every format; one that fails does not keep the others from being written.

    Args:
        stem: file name without extension, where several models go into one directory.
        onnx: the files of the onnx format where they are made already, the model last.

    Returns:
        OK; PARTIAL where a format that was asked for could not be written and another was.

    Raises:
        ExportError: nothing could be written.
    """
    with _export_warnings() as said:
        paths, notes, failures = _written(graph, where, arguments, console, stem, onnx)
    for note in dict.fromkeys((*notes, *said)):
        console.note(f"note: {note}")
    for error in failures:
        console.error(error)
    for path in paths:
        console.note(f"wrote {path}")
    if "onnx" in where.formats and not onnx and not any(each.stage == "export" for each in graph.problems):
        runs = "" if graph.traced else "; without --static the model is exported, and runs"
        console.note(f"note: the ONNX file shows the structure alone, and is not for running{runs}")
    return ExitStatus.PARTIAL if failures else ExitStatus.OK


@contextmanager
def _export_warnings() -> Iterator[list[str]]:
    """What is warned of while files are written, each time, to be said as everything else is."""
    said: list[str] = []
    with told_by(said.append, ExportWarning):
        warnings.simplefilter("always", ExportWarning)
        yield said


def write_interrupted(
    graph: Graph, where: Destination, arguments: argparse.Namespace, console: Console, *, stem: str | None = None
) -> ExitStatus:
    """Write what there is of a run that Ctrl-C ended, and say in one line where it is.

    Raises:
        ExportError: nothing could be written.
    """
    paths, _, _ = _written(graph, where, arguments, console, stem)
    place = ", ".join(map(str, paths)) if paths else "standard output"
    console.note(f"interrupted; what was {'recorded' if graph.calls else 'found out'} until then is in {place}")
    return ExitStatus.INTERRUPTED


def _written(
    graph: Graph,
    where: Destination,
    arguments: argparse.Namespace,
    console: Console,
    stem: str | None,
    onnx: Sequence[Path] = (),
) -> tuple[Sequence[Path], Sequence[str], Sequence[ModgraphError]]:
    """The files, what is to be said of them, and which formats failed."""
    from modgraph.doors.reading import OWN_BYTES, read
    from modgraph.export import FORMATS, make_default, put_files, render, write, write_file
    from modgraph.graph.focus import module_at
    from modgraph.graph.index import GraphIndex

    options = picture_options(arguments)
    if options.focus:
        module_at(GraphIndex(graph), options.focus)
    with console.stage("draw"):
        if where.directory is not None:
            make_default(where.directory)
            written = write(
                graph,
                where.formats,
                where.directory,
                options=options,
                asked=where.asked,
                stem=stem,
                ready={"onnx": onnx},
            )
            return written.paths, written.notes, written.failures
        (name,) = where.formats
        made = onnx if name == "onnx" else ()
        if made and where.file is not None and (where.file.is_file() or not where.file.exists()):
            return put_files(made, where.file.parent, named=where.file), (), ()
        if len(made) > 1:
            raise ExportError(
                "the weights are too large for one file, and there is no place for a second",
                hint="name a file with -o",
            )
        if name == "text" and where.stdout:
            console.result(shown_text(graph, arguments, console))
            return (), (), ()
        content = read(made[-1], OWN_BYTES) if made else render(graph, name, options)
        if where.file is not None:
            write_file(where.file, content)
            return (where.file,), (), ()
        if isinstance(content, bytes):
            console.result_bytes(content)
        elif FORMATS[name].for_people:
            console.result(content)
        else:
            console.document(content)
    return (), (), ()
