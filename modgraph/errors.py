"""What modgraph raises, and the statuses its commands end with.

A `ModgraphError` is written for the person who reads it: what was wrong, where, and what to do. Everything else that
escapes is a defect of modgraph. A finding, a partial graph and an unknown are results, never exceptions.
"""

from __future__ import annotations

import enum
from typing import Any


class ExitStatus(enum.IntEnum):
    """What a command returns to the shell."""

    OK = 0
    """`analyze`: the graph is complete; `check`: clean; `diff`: the same."""
    PARTIAL = 1
    """`analyze`: written, but partial, or a checkpoint differs; `check`: findings; `diff`: different."""
    FAILED = 2
    """Nothing could be written, or what was asked for could not be used."""
    INTERRUPTED = 130
    """Ctrl-C."""
    SIGHUP = 129
    """The terminal was closed."""
    SIGTERM = 143
    """Another process asked for the end."""


RAISED_BY_OTHERS = (Exception, SystemExit, GeneratorExit)
"""What code that is not ours may raise wherever it is called. A `sys.exit()` there ends the call, not our process; a
person's Ctrl-C passes."""


class ModgraphError(Exception):
    """Base of every error that modgraph raises on purpose.

    Args:
        message: what was wrong, one or two sentences without modgraph's internals.
        file: the file it is about, as the user named it.
        line: 1-based line in `file`.
        column: 1-based column, in characters.
        text: the source line itself, shown with a caret under `column`.
        hint: what to do about it.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        text: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.line = line
        self.column = column
        self.text = text
        self.hint = hint
        if hint and hasattr(self, "add_note"):  # Python 3.11: shown below a traceback
            self.add_note(f"help: {hint}")

    def __str__(self) -> str:
        """The message, with the file in front where it does not name it itself: all that a traceback shows."""
        if self.file is None or self.file in self.message:
            return self.message
        return f"{self.file}{f':{self.line}' if self.line else ''}: {self.message}"


class TargetError(ModgraphError):
    """What was asked for is not there: names what was not found, and what was there instead."""


class MissingFileError(TargetError):
    """There is no such file or module."""


class UnknownNameError(TargetError):
    """The file or module is there, and has nothing of that name."""


class ArgumentsError(TargetError):
    """It is there, and cannot be called with the arguments that were given, or without any."""


class MissingArgumentsError(ArgumentsError):
    """What was named without arguments needs some, and nothing says which."""


class InputError(ModgraphError):
    """An input of the model does not fit: names the input, and what `forward` accepts."""


class TraceError(ModgraphError):
    """The user's code failed while the model was built or run.

    Args:
        module: path of the module at which it failed; "" for the root, None before any module was called.
        cause: the original exception, where there is one in this process.
    """

    def __init__(
        self,
        message: str,
        *,
        module: str | None = None,
        cause: BaseException | None = None,
        file: str | None = None,
        line: int | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, file=file, line=line, hint=hint)
        self.module = module
        self.cause = cause


class EndlessImportError(TraceError):
    """The user's file did not come to its end in time while it was imported: no model of it can be built."""


class ConfigError(ModgraphError):
    """`[tool.modgraph]`, or an option of a command or function, cannot be used."""


class ExportError(ModgraphError):
    """A format could not be written: names the format, and what is missing."""


class ResourceError(ModgraphError):
    """This machine, or a limit that it is under, has no process, thread, file or place left for what was asked."""


class GraphError(ModgraphError):
    """A graph breaks one of its own invariants, or a file is not a graph of a schema known here."""


class CheckWarning(UserWarning):
    """What the check finds in a file is missing from a graph, and why."""


class ExportWarning(UserWarning):
    """A file was written that shows less than one of its format may hold, and why."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while a model was run in a process of its own, which has ended.

    Args:
        graph: what was recorded until then; None where the model had not begun to run.
        why: what was done then, where there is no graph.
    """

    def __init__(self, graph: Any = None, why: ModgraphError | None = None) -> None:
        super().__init__()
        self.graph = graph
        self.why = why
