"""`modgraph embed README.md`: pictures of models in Markdown files, drawn where a comment asks for them."""

from __future__ import annotations

import argparse
import os
import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from modgraph.cli.console import Console
from modgraph.cli.output import add_shown_arguments, picture_options
from modgraph.doors.printing import clean, printable
from modgraph.errors import ConfigError, ExitStatus, ModgraphError, TargetError
from modgraph.options import MEASURES, TraceOptions

if TYPE_CHECKING:
    from modgraph.embedding import Embedded, Wish
    from modgraph.graph.model import Graph

_EPILOG = """\
A comment on a line of its own asks for a picture. It is inserted below, for light and for dark backgrounds:

  <!-- modgraph: model.py:Net --depth 1 -o images/net.svg -->

Its options are --input, --depth, --no-fold, --no-idioms, --focus, --direction, --color, --show-views and -o; paths are
relative to the file. A picture that would not change is left alone.

examples:
  modgraph embed README.md
  modgraph embed README.md docs/*.md --check     # in CI: is every picture fresh?

exit status:
  0 fresh, or drawn   1 with --check: a picture is not fresh   2 one cannot be drawn, or something could not be read
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.usage, parser.epilog = "%(prog)s FILE.md ... [options]", _EPILOG
    parser.add_argument("files", metavar="FILE.md", nargs="+", help="Markdown files")
    parser.add_argument("--check", action="store_true", help="write nothing; list the pictures that are not fresh")
    parser.add_argument("--run", action="store_true", help="also run the models; by default they are only predicted")


def run(arguments: argparse.Namespace, console: Console) -> ExitStatus:
    """Draw the pictures of every file, or tell which are not fresh; the status of the worst."""
    from modgraph.embedding import embed

    status = ExitStatus.OK
    for name in dict.fromkeys(arguments.files):
        try:
            graph_of = partial(_graph_of, console=console, runs=arguments.run)
            found = embed(Path(name), _wish_of, graph_of, only_look=arguments.check, runs=arguments.run)
        except ConfigError as error:
            if len(arguments.files) == 1:
                raise
            console.error(error)
            status = ExitStatus.FAILED
            continue
        status = max(status, *(_told(name, each, console, only_look=arguments.check) for each in found))
    return status


def _wish_of(words: str) -> Wish:
    """What the words of a comment ask for.

    Raises:
        ConfigError: they name no target, or an option that a picture does not have.
        ExportError: an option has a value that it cannot have.
    """
    from modgraph.embedding import Wish

    parser = _CommentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("target", metavar="TARGET")
    parser.add_argument("--input", action="append", default=[])
    parser.add_argument("--color", dest="color_by", choices=MEASURES, default="kind")
    parser.add_argument("-o", "--output")
    add_shown_arguments(parser)
    try:
        given = parser.parse_args(shlex.split(words))
    except ValueError as error:  # a quotation that does not end
        raise ConfigError(f"<!-- modgraph: {clean(words)} -->: {error}") from None
    image = None if given.output is None else Path(given.output)
    return Wish(target=given.target, inputs=tuple(given.input), options=picture_options(given), image=image)


class _CommentParser(argparse.ArgumentParser):
    """Of the words of a comment, which the user did not type now: no usage is printed, and nothing ends."""

    def error(self, message: str) -> NoReturn:
        options = " ".join(name for name in sorted(self._option_string_actions) if name.startswith("--"))
        raise ConfigError(
            f"the comment cannot be used: {clean(message)}",
            hint=f"it reads <!-- modgraph: model.py:Net --depth 1 -->; its options are {options}",
        )


def _graph_of(wish: Wish, folder: Path, *, console: Console, runs: bool) -> Graph:
    from modgraph.api import analyze_target, find_targets
    from modgraph.source.input_groups import parse_inputs

    home = Path(os.path.abspath(folder))
    found = find_targets(wish.target, cwd=home)
    if len(found) != 1:
        names = ", ".join(each.name for each in found)
        raise TargetError(
            f"{wish.target} has {len(found)} models: {names}", hint=f"name one: {found[0].typed(found[0].name)}"
        )
    return analyze_target(
        found[0], specs=parse_inputs(wish.inputs), options=TraceOptions(), static=not runs, watch=console.stage
    )


def _told(name: str, found: Embedded, console: Console, *, only_look: bool) -> ExitStatus:
    what = f"{name}:{found.line}: {printable(found.target)}"
    if isinstance(found.error, ModgraphError):
        console.error(found.error)
        return ExitStatus.FAILED
    if found.passed_over:
        console.note(f"{what}: drawn of a run, and left as it is without --run")
        return ExitStatus.OK
    if found.fresh:
        console.note(f"{what}: fresh")
        return ExitStatus.OK
    if only_look:
        console.warning(f"{what} is not drawn as it would be now: modgraph embed {name}")
        return ExitStatus.PARTIAL
    console.result(f"{what} → {', '.join(map(str, found.images))}\n")
    return ExitStatus.OK
