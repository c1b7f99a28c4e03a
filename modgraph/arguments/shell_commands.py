"""Commands of a shell that start a script of Python, in a text: a README, a shell script, a Makefile.

Of a shell script a command counts where it is run for sure, and its words are known: all that stands before it is of
a few forms whose whole effect is known (see `shell_runs`). What a reader types counts where it begins with Python,
behind a prompt, variables, what runs a command in its turn (`nohup`, `srun`), or a launcher of several processes
(`torchrun`).
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from modgraph.arguments.shell_places import Places
from modgraph.arguments.shell_runs import Run, Runner
from modgraph.arguments.shell_syntax import Reader
from modgraph.arguments.shell_texts import FENCE, is_code, reads_as_command, shown
from modgraph.arguments.shell_values import BASE, MANY, is_special
from modgraph.arguments.shell_words import UnsureError
from modgraph.prediction.calls_elsewhere import OPEN

_MAX_LINE = 4_000
"""Of what a reader types."""
_DOCUMENTS = (".md", ".rst")
_SCRIPTS = (".sh", ".bash")
_IN_TEXT = re.compile(r"(?<!`)(`{1,3})(?!`)([^`]+)\1(?!`)")
_PROMPT = re.compile(r"\s*(?:(?:[-*+>$%](?=\s)|[!@](?=[\w./])|\d+[.)](?=\s)|\(\w+\)\s*\$(?=\s))\s*)*")
"""Before a command: marks of a list, prompts."""
_RECIPE = re.compile(r"\t[@+\s]*(-)?[@+\s]*")
_CHOICE = re.compile(r"\s*(?:(ifn?(?:eq|def)|define)|(endif|endef))\b")
_OTHER_SHELL = re.compile(
    r"^[^\t\n#](?:[^\n#]*[\s:])??(?:SHELL|\.SHELLFLAGS|\.RECIPEPREFIX)\s*(?:[:?+!]*=|$)"
    r"|^(?:SHELL|\.SHELLFLAGS|\.RECIPEPREFIX)\s*(?:[:?+!]*=|$)|^(?:[^\n#\t]*\s)?\.ONESHELL",
    re.M,
)
"""Also where it is said for one target alone."""
_INTERPRETER = re.compile(
    r"#!\s*(?:/usr/bin/env\s+(?:-S\s+)?)?(?:/(?:usr/)?(?:local/)?bin/)?(bash|sh|dash)((?:\s+-[elux]+)*)[ \t]*"
)
_END_OF_SENTENCE = re.compile(r"[^.][.,;:!]$")
_BLOCK = re.compile(r"\s*(?:if|for|while|until|case|select|function|[({]|[\w.-]+\s*\(\s*\))(?![\w.])|.*(?:<<|[({]\s*$)")
"""Of a line that is not understood: those below it may belong to it."""
_VARIABLE = re.compile(r"[A-Za-z_]\w*=")
_RUNS = frozenset(
    ("nohup", "env", "time", "srun", "exec", "nice", "mpirun", "mpiexec", "xvfb-run", "numactl", "sudo", "poetry", "uv")
)
"""Programs that run the command behind them, and their options."""
_STAYING = {
    "nohup": re.compile(r"(?!)"),
    "env": re.compile(r"-|-i|-u.*|--ignore-environment|--unset(?:=.*)?"),
    "time": re.compile(r"-[pvafo]+|--(?:portability|verbose|append|format|output)(?:=.*)?"),
    "nice": re.compile(r"-n.*|-+[0-9]+|--adjustment(?:=.*)?"),
    "exec": re.compile(r"-[cl]*a?"),
    "sudo": re.compile(r"-[AbEHnSugk]+|--(?:preserve-env|user|group|non-interactive|set-home)(?:=.*)?"),
}
"""Options of those of which few are known with which the command is run where the shell stands."""
_MOVING = {
    "srun": re.compile(r"-D.*|--ch.*"),
    "mpirun": re.compile(r"--?w.*"),
    "mpiexec": re.compile(r"--?w.*"),
    "poetry": re.compile(r"-[CP].*|--(?:d|pr).*"),
    "uv": re.compile(r"--(?:dir|proj).*"),
}
"""Options of others, which have many, with which it may be run in another folder."""
_PYTHON = re.compile(r"(?:[\w./~-]*/)?python[\d.]*")
_FLAGS = re.compile(r"-[bBdEiIOPqsSuv]+")
_WITH_WORD = ("-W", "-X")
_LAUNCHERS = ("torchrun", "deepspeed", "accelerate")
_LAUNCHER_MODULES = ("torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch")
_ALONE = frozenset(["--standalone", "--multi_gpu", "--multi-gpu", "--use_env", "--use-env", "--cpu", "--mps", "--tpu"])
"""Options of launchers without a word."""
_NO_FILE = frozenset(["-m", "--module", "--no_python", "--no-python", "-c"])


@dataclass(frozen=True, slots=True)
class Command:
    """One that starts a script."""

    script: str
    """As it is written there."""
    words: tuple[str, ...]
    """Behind the script, with OPEN for what the shell or the reader is to put there; () where there are none, or it is
    not known how many there are."""
    line: int
    folder: str
    """Where it is given, relative to where the text is read: "" where no command before it says that."""
    elsewhere: tuple[str, ...]
    """Folders to which the text changes for other commands, where none is said for this one."""


class Document:
    """A text with commands."""

    def __init__(self, text: str, path: str, top: str) -> None:
        """
        Args:
            path: where it stands.
            top: folder of its project.
        """
        self._is_document = path.lower().endswith(_DOCUMENTS)
        self._is_script = path.lower().endswith(_SCRIPTS)
        self._is_rst = path.lower().endswith(".rst")
        self._text = text if self._is_script else text.replace("\r\n", "\n")
        if self._is_document:
            self._text = shown(self._text, is_rst=self._is_rst)
        self._place, self._top = os.path.dirname(path), top
        self._found: list[Command] = []
        self._lines: list[int] = []
        """Where they end, of the text that is read."""
        self._first = 1

    def commands(self) -> Iterator[Command]:
        """In the order in which they stand."""
        for _ in (
            self._of_script() if self._is_script else self._of_document() if self._is_document else self._of_makefile()
        ):
            found, self._found = self._found, []
            yield from found
        yield from self._found

    def _of_script(self) -> Iterator[None]:
        first = self._text.partition("\n")[0]
        found = _INTERPRETER.fullmatch(first)
        if first.startswith("#!") and found is None:
            return
        runner = self._runner(is_for_readers=False)
        runner.is_posix = found is not None and found[1] != "bash"
        runner.begin("".join(each for each in (found[2] if found else "") if each in "eux"))
        self._at(self._text, 1)
        reader = Reader(self._text, is_posix=runner.is_posix)
        try:
            while (commands := reader.next()) is not None:
                runner.run(commands)
                yield
        except UnsureError:
            return

    def _of_document(self) -> Iterator[None]:
        fenced: list[str] | None = None
        here: str | None = ""
        folders, begin = dict[str, None](), 0
        for number, line in self._joined():
            if FENCE.match(line):
                if fenced is not None:
                    folders |= self._typed("\n".join(fenced), begin, "", folders).folders
                fenced, begin, here = ([] if fenced is None else None), number + 1, ""
            elif fenced is not None:
                fenced.append(line)
            elif not line.strip():
                here = ""
            else:
                for text in [line] if "`" not in line else [each[2] for each in _IN_TEXT.finditer(line)]:
                    if "`" in line or not _END_OF_SENTENCE.search(text.rstrip()):
                        is_said = "`" not in line and not is_code(line, is_rst=self._is_rst)
                        runner = self._typed(text, number, here, folders, is_said=is_said)
                        here, folders = runner.state.here, runner.folders
            yield
        if fenced is not None:
            self._typed("\n".join(fenced), begin, "", folders)

    def _joined(self) -> Iterator[tuple[int, str]]:
        """Lines, each with its number; outside of fences, those that a backslash continues are one."""
        lines, number, is_fenced = self._text.split("\n"), 0, False
        while number < len(lines):
            first, line = number, lines[number]
            is_fenced ^= FENCE.match(line) is not None
            while not is_fenced and line.endswith("\\") and number + 1 < len(lines) and len(line) < _MAX_LINE:
                number += 1
                line = f"{line}\n{lines[number]}"
            number += 1
            yield first + 1, line if len(line) < _MAX_LINE else ""

    def _typed(
        self, text: str, first: int, here: str | None, folders: dict[str, None], *, is_said: bool = False
    ) -> Runner:
        """What a reader types, by the runner that then stands where the shell does.

        Args:
            is_said: the line may be one of a sentence.
        """
        runner = self._runner(is_for_readers=True, is_said=is_said)
        runner.state.here, runner.folders = here, dict(folders)
        if ".py" not in text and _CHANGES.search(text) is None:
            return runner
        lines = text.split("\n")
        for at, line in enumerate(lines):
            if at == 0 or not lines[at - 1].endswith("\\"):
                marks = _PROMPT.match(line)
                lines[at] = line[marks.end() :] if marks else line
        text = "\n".join(lines)
        self._at(text, first)
        reader = Reader(text, is_for_readers=True)
        while True:
            try:
                commands = reader.next()
            except UnsureError:
                line = text[reader.begin :].partition("\n")[0][:_MAX_LINE]
                if _BLOCK.match(line) or not reader.skip_line():
                    return runner
                continue
            try:
                if commands is None:
                    return runner
                runner.run(commands)
            except UnsureError:
                return runner

    def _of_makefile(self) -> Iterator[None]:
        """A shell for each line of a recipe, up to one that may fail."""
        if _OTHER_SHELL.search(self._text) is not None:
            return
        lines, number, n_open, has_left = self._text.split("\n"), 0, 0, False
        while number < len(lines):
            first = number
            while lines[number].endswith("\\") and number + 1 < len(lines):
                number += 1
            text, number = "\n".join(lines[first : number + 1]), number + 1
            recipe, choice = _RECIPE.match(text), _CHOICE.match(text)
            if choice is not None:
                n_open += 1 if choice[1] else -1
            elif recipe is None:
                has_left = has_left and not text.strip()
            elif not (n_open or has_left):
                has_left = not (self._recipe(text[recipe.end() :], first + 1) or recipe[1])
            yield

    def _recipe(self, text: str, number: int) -> bool:
        """Whether it ends well."""
        runner = self._runner(is_for_readers=True)
        self._at(text, number)
        if "$" in text:
            return ".py" in text  # what `make` puts there
        try:
            commands = Reader(text, is_for_readers=True).next()
            return commands is None or runner.run(commands)
        except UnsureError:
            return False

    def _runner(self, *, is_for_readers: bool, is_said: bool = False) -> Runner:
        def finds(run: Run) -> bool | None:
            script = started(run.words, self._place)
            if script is None:
                return False if _is_python(run.words) else None
            at = _script_in(run.words) or 0
            if run.is_sure and not (is_said and not reads_as_command(run.words[at + 1 :])):
                line = self._first + bisect_right(self._lines, run.place)
                others = () if run.here else tuple(runner.folders)
                self._found.append(Command(*script, line, run.here, others))
            return is_for_readers or places.has(os.path.join(run.here, script[0]))

        places = Places(self._place, self._top)
        runner = Runner(finds, places, is_for_readers=is_for_readers)
        return runner

    def _at(self, text: str, number: int) -> None:
        """A text is read, whose first line has this number."""
        self._first = number
        self._lines = [each.end() - 1 for each in re.finditer("\n", text)]


_CHANGES = re.compile(r"\bcd\b")


def _is_python(words: list[str]) -> bool:
    """It is known of a command that it starts Python, or a program in whose place the shell goes on."""
    at = _past_what_runs(words)
    named = words[0] if at is None or at >= len(words) else words[at]
    return (
        named in (*_RUNS, *_LAUNCHERS) or _PYTHON.fullmatch(named) is not None or words[0] in _RUNS - {"sudo", "exec"}
    )


def started(words: list[str], folder: str = "") -> tuple[str, tuple[str, ...]] | None:
    """The script that a command starts, and the words behind it; None of any other command.

    Args:
        folder: where the text with the command lies.
    """
    place = _script_in(words)
    if place is None or not words[place].endswith(".py") or OPEN in words[place] or MANY in words[: place + 1]:
        return None
    if any(_VARIABLE.match(each) and is_special(each.partition("=")[0]) for each in words[:place]):
        return None
    behind = tuple(each.replace(BASE, OPEN) for each in words[place + 1 :])
    return words[place].replace(BASE, folder), () if MANY in behind else behind


def _script_in(words: list[str]) -> int | None:
    """Where in a command the script stands."""
    at = _past_what_runs(words)
    if at is None or at >= len(words):
        return None
    if words[at] == "accelerate":
        return _launched(words, at + 2) if words[at + 1 : at + 2] == ["launch"] else None
    if words[at] in _LAUNCHERS:
        return _launched(words, at + 1)
    if _PYTHON.fullmatch(words[at]) is None:
        return None
    at += 1
    while at < len(words) and words[at].startswith("-"):
        if words[at] == "-m":
            return _launched(words, at + 2) if words[at + 1 : at + 2] and words[at + 1] in _LAUNCHER_MODULES else None
        if words[at] not in _WITH_WORD and _FLAGS.fullmatch(words[at]) is None:
            return None
        at += 1 + (words[at] in _WITH_WORD)
    return at if at < len(words) else None


def _past_what_runs(words: list[str]) -> int | None:
    """Where the command begins, behind variables and programs that run it; None where it is another program's."""
    at = 0
    while at < len(words):
        if _VARIABLE.match(words[at]):
            at += 1
            continue
        name = words[at]
        if name not in _RUNS:
            return at
        at += 1
        while at < len(words) and (words[at].startswith("-") or words[at].isdigit() or words[at] == "run"):
            takes_word = words[at].startswith("-") and "=" not in words[at]
            if _moves(name, words[at]):
                return None
            at += 1
            following = words[at] if at < len(words) else ""
            is_word = not following.startswith("-") and _PYTHON.fullmatch(following) is None
            at += takes_word and is_word and following not in (*_RUNS, *_LAUNCHERS, "run")
    return None


def _moves(program: str, option: str) -> bool:
    """The command may be run in another folder."""
    if not option.startswith("-"):
        return False
    if program in _STAYING:
        return _STAYING[program].fullmatch(option) is None
    return program in _MOVING and _MOVING[program].fullmatch(option) is not None


def _launched(words: list[str], at: int) -> int | None:
    """The script of a launcher: the first word that is neither an option nor the word of one."""
    while at < len(words) and words[at].startswith("-"):
        if words[at] in _NO_FILE:
            return None
        takes_word = "=" not in words[at] and words[at] not in _ALONE
        at += 1
        if takes_word and at < len(words) and not words[at].startswith("-"):
            if not words[at].endswith(".py"):
                at += 1
            elif words[at + 1 : at + 2] and words[at + 1].endswith(".py"):
                return None  # of two scripts, the first may be the word of the option
    return at if at < len(words) else None
