"""Arguments in, results out: one file per command, each with `add_arguments` and `run`.

`main` is the only place that turns a `ModgraphError` into a message and a status.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shlex
import sys
from collections.abc import Sequence
from typing import NoReturn

from modgraph.cli.ending import ending
from modgraph.cli.streams import guarded, put, tell
from modgraph.doors.printing import printable
from modgraph.errors import ExitStatus, ModgraphError

COMMANDS = {
    "analyze": "predict, trace and merge a model, and write its graph",
    "check": "look for mistakes in models, such as layers that nn.Module does not see",
    "diff": "what changed between two models, files or revisions of a git repository",
    "bisect": "the first commit at which a checkpoint no longer fits a model",
    "history": "the commits at which the keys of a model's state dict changed",
    "render": "draw a saved graph again, without the model",
    "embed": "pictures of models in Markdown files, kept fresh",
}


@ending
@guarded
def main(argv: Sequence[str]) -> int:
    """Run one command.

    Args:
        argv: the arguments behind the program's name.

    Returns:
        The exit status: 0, 1 or 2 as the command's help says, 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP.
    """
    from modgraph.cli.console import Console

    try:
        parser, command = _parsers(argv)
        _require_command(argv, parser)
        arguments, unknown = parser.parse_known_args(_names_kept(argv))
        if unknown:
            command.error(_said_of(unknown, command))
    except SystemExit as stop:  # argparse leaves this way, after --help (0) and on bad usage (2)
        return int(stop.code or 0)
    console = Console(color=arguments.color, quiet=arguments.quiet, verbose=arguments.verbose, debug=arguments.debug)
    status: ExitStatus = ExitStatus.OK
    try:
        _require_place()
        status = importlib.import_module(f"modgraph.cli.{arguments.command}").run(arguments, console)
        console.flush()
    except ModgraphError as error:
        console.error(error)
        return ExitStatus.FAILED
    finally:
        console.close()
    return int(status)


def _require_command(argv: Sequence[str], parser: _Parser) -> None:
    """Ends with what to type where a model stands in the place of the command."""
    first = next((word for word in argv if not word.startswith("-")), None)
    if first is None or first in COMMANDS:
        return
    if os.path.exists(first) or first.partition(":")[0].endswith((".py", ".ipynb")):
        parser.error(f"{first} is no command; for its graph: modgraph analyze {shlex.quote(first)}")
    from difflib import get_close_matches

    near = get_close_matches(first, list(COMMANDS), 1)
    commands = ", ".join(COMMANDS)
    parser.error(f"{first} is no command; " + (f"did you mean {near[0]}?" if near else f"the commands are {commands}"))


def _require_place() -> None:
    """Raises ModgraphError where there is no working directory, against which every path is read."""
    try:
        os.getcwd()
    except OSError as error:
        why = "is not there any more" if isinstance(error, FileNotFoundError) else f"cannot be used ({error.strerror})"
        raise ModgraphError(f"the working directory {why}: change to another one, and try again") from None


def _names_kept(argv: Sequence[str]) -> list[str]:
    """The arguments, where what follows `--` is names alone, as pre-commit and scripts give those of files: `-` there
    is no standard input, and a further `--` nothing to be left out. `argparse` does not tell where it stood."""
    words = list(argv)
    names = words.index("--") + 1 if "--" in words else len(words)
    return words[:names] + [f"./{word}" if word in ("-", "--") else word for word in words[names:]]


def _said_of(unknown: Sequence[str], command: _Parser) -> str:
    """What is wrong with arguments that the command does not have."""
    import difflib

    option = next((word.partition("=")[0] for word in unknown if word.startswith("--")), None)
    if option is not None and option in command.options:
        return f"{option} stands behind the command: {command.prog} {option} ..."
    near = [] if option is None else difflib.get_close_matches(option, command.options, n=1, cutoff=0.75)
    meant = f"; did you mean {near[0]}?" if near else ""
    return f"unrecognized arguments: {' '.join(unknown)}{meant}"


def _parsers(argv: Sequence[str]) -> tuple[_Parser, _Parser]:
    """The parser, with the arguments of the one command that `argv` asks for, as the others need not be imported; and
    that of the command."""
    shared = _Parser(add_help=False)
    group = shared.add_argument_group("output")
    group.add_argument("-h", "--help", action="help", help="show this help message")
    group.add_argument("--quiet", "-q", action="store_true", help="print findings, problems and errors only")
    group.add_argument("--verbose", "-v", action="store_true", help="print what is done, and how long it took")
    group.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser = _Parser(
        prog="modgraph",
        description="See, check and document a PyTorch model.",
        epilog="example: modgraph analyze model.py --input 1x3x224x224\n\n`modgraph COMMAND --help` has the rest.",
        formatter_class=_Help,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    asked = next((word for word in argv if word in COMMANDS), None)
    measures = _measures() if asked in ("analyze", "render") else ()
    group.add_argument(
        "--color",
        action=_Color,
        choices=_WHEN + measures,
        default="auto",
        metavar="WHAT",
        help=f"{'|'.join(measures)}; {'|'.join(_WHEN)}" if measures else argparse.SUPPRESS,
    )
    shared.set_defaults(color_by="kind")
    of_command = parser
    for name, summary in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            parents=[shared],
            add_help=False,
            formatter_class=_Help,
            allow_abbrev=False,
        )
        if name == asked:
            importlib.import_module(f"modgraph.cli.{name}").add_arguments(command)
            of_command = command
    return parser, of_command


def _measures() -> tuple[str, ...]:
    """What the colours of a picture can say; only a command that draws imports the options of pictures."""
    from modgraph.options import MEASURES

    return MEASURES


class _Parser(argparse.ArgumentParser):
    """What it says of arguments repeats them: a script may have taken them from others."""

    @property
    def options(self) -> list[str]:
        """As they are written: "--input"."""
        return [name for name in self._option_string_actions if name.startswith("--")]

    def error(self, message: str) -> NoReturn:
        super().error(printable(message))

    def _print_message(self, message: str, file: object = None) -> None:
        """What cannot be printed is said, which `argparse` does not."""
        if file is sys.stdout:
            put(lambda: sys.stdout.write(message))
        else:
            tell(message)


class _Help(argparse.RawDescriptionHelpFormatter):
    """Finds out how wide the terminal is without `shutil`: argparse makes one of these for every argument."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=_columns() - 2)


def _columns() -> int:
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return max(int(given), 40)
    try:
        return max(os.get_terminal_size(sys.stdout.fileno()).columns, 40)
    except (OSError, ValueError, AttributeError):  # no terminal, or no such stream
        return 80


_WHEN = ("auto", "always", "never")


class _Color(argparse.Action):
    """When the terminal is coloured, or what the colours of a picture say; both may be given."""

    def __call__(self, _parser: object, namespace: argparse.Namespace, value: object, _option: object = None) -> None:
        setattr(namespace, self.dest if value in _WHEN else "color_by", value)


class _Version(argparse.Action):
    """Prints the version; an action of its own so that reading it costs nothing when it is not asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str, **_: object) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, help="print the version")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from modgraph._version import __version__

        put(lambda: sys.stdout.write(f"modgraph {__version__}\n"))
        parser.exit()
