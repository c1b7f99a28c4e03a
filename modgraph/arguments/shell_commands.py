"""Commands of a shell that start a script of Python, in a text: a README, a shell script, a Makefile.

A command counts where it begins with Python, behind a prompt, variables, what runs a command in its turn (`nohup`,
`srun`), or a launcher of several processes (`torchrun`). What stands in a sentence or behind another program does not.
"""

from __future__ import annotations

import operator
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from modgraph.arguments.shell_blocks import Blocks
from modgraph.prediction.calls_elsewhere import OPEN

MAX_FOLDERS = 8
"""To which one text changes."""
_MAX_LINE = 4_000
_DOCUMENTS = (".md", ".rst")
_FENCE = re.compile(r"\s*(?:```|~~~)[^`]*$")
_IN_TEXT = re.compile(r"(?<!`)(`{1,3})(?!`)([^`]+)\1(?!`)")
_NEXT = re.compile(r"\s(?:&&?|\|\|?)(?=\s|$)|\s?;(?=\s|$)")
"""Ends a command, and another one follows."""
_REST = re.compile(r"(?:^|\s)(?:[\d&]?>{1,2}|<(?=\s))")
"""What a command reads and writes: no words of it."""
_REDIRECTED = re.compile(r"""(?:^|\s)(?:[\d&]?>{1,2}(?:&[\d-]|\s*(?:"[^"]*"|'[^']*'|\S+))|<\s+\S+)""")
"""What the files are that it reads and writes."""
_COMMENT = re.compile(r"(?:^|\s)#")
_OPEN = re.compile(r"[$*?<>()`;&|]|\.\.\.|^\[-|^\[[^\]]*$|^[^\[]*\]$|^\{.*\}$|\{[^\"']*,[^\"']*\}|^\W+$|^~")
"""Of a word: that something stands for it, which the shell or the reader is to put there."""
_BEFORE = re.compile(
    r"(?:\s*(?:[-*+>$%](?=\s)|\d+[.)](?=\s)|\(\w+\)\s*\$(?=\s)|[!@({](?=[\s\w./])|(?:then|do|else)\b)\s*)*"
)
"""Before a command: marks of a list, prompts, words of a shell."""
_PUT_THERE = re.compile(r"\$\w+|\$\{(?![@*])(?:[^{}\s\[]|\[(?![@*]))*\}|<[\w.:/|-]+>")
"""A part of a word for which one text is put there; not all words of a command line or of an array (`${ARGS[@]}`)."""
_PROMPT = re.compile(r"^\s*(?:[-*+>$%@](?=\s|\w)|\d+[.)](?=\s)|\(\w+\)\s*\$(?=\s))\s*")
_OPEN_FOLDER = re.compile(r"^-|[$*?<>()`;&|~\s]")
_END_OF_SENTENCE = re.compile(r"[^.][.,;:!]$")
_VARIABLE = re.compile(r"[A-Za-z_]\w*=")
_RUNS = frozenset(
    ("nohup", "env", "time", "srun", "exec", "nice", "mpirun", "mpiexec", "xvfb-run", "numactl", "sudo", "poetry", "uv")
)
"""Programs that run the command behind them, and their options."""
_PYTHON = re.compile(r"(?:[\w./~-]*/)?python[\d.]*")
_FLAGS = re.compile(r"-[bBdEiIOPqsSuv]+")
_WITH_WORD = ("-W", "-X")
_LAUNCHERS = ("torchrun", "deepspeed", "accelerate")
_LAUNCHER_MODULES = ("torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch")
_ALONE = frozenset(["--standalone", "--multi_gpu", "--multi-gpu", "--use_env", "--use-env", "--cpu", "--mps", "--tpu"])
"""Options of launchers without a word."""
_NO_FILE = frozenset(["-m", "--module", "--no_python", "--no-python", "-c"])
_CD = re.compile(r"(?:[({]\s*)?(?:cd|pushd|popd)(?=\s|$)\s*(.*)")
_OF_FILE = re.compile(
    r"""["']?(?:\$\(|`)\s*dirname\s+(?:--\s+)?["']?\$\{?(?:0|BASH_SOURCE(?:\[0\])?)\}?["']?\s*(?:\)|`)"""
)
"""The folder of a shell script, as it says it."""


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


class _Variables:
    """Those of a shell that stand for several words, or for none, where they are not in quotes."""

    def __init__(self) -> None:
        self._several: set[str] = set()
        self._assigned: set[str] = set()
        self._splits = False
        """Words end elsewhere than at a space."""

    def read(self, command: str) -> None:
        """A command may give some a value."""
        loop = _LOOP.match(command)
        if loop is not None:
            self._assigned.add(loop[1])
            self._note(loop[1], any(_holds_several(word) for word in _words(loop[2])))
            return
        for name, value in _ASSIGNED.findall(_ASSIGNING.sub("", command)):
            self._splits = self._splits or name == "IFS"
            self._assigned.add(name)
            self._note(name, _holds_several(value))

    def _note(self, name: str, is_several: bool) -> None:
        (self._several.add if is_several else self._several.discard)(name)

    def is_assigned(self, name: str) -> bool:
        return name in self._assigned

    def are_counted(self, command: str) -> bool:
        """It is known how many words the command has, as far as variables say it."""
        words = _IN_QUOTES.sub("q", command).split()
        for before, word in zip(["", *words], words, strict=False):
            names = _VARIABLES.findall(word)
            if names and (self._splits or not self._several.isdisjoint(names)):
                return False
            is_options = not before.startswith("-") or "=" in before
            if _VARIABLE_ALONE.fullmatch(word) and is_options and not before.endswith(".py"):
                return False  # `--depth 3 $MORE`
        return _ESCAPED_TEXT.search(_IN_QUOTES.sub("q", command)) is None


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return [""]


def _holds_several(value: str) -> bool:
    """A value as it stands in the text; of a loop, one of its words."""
    inside = value[1:-1] if value[:1] in "\"'" and value[-1:] == value[:1] else value
    return not inside.strip() or " " in inside or "\t" in inside or _OF_COMMANDS.search(inside) is not None


_LOOP = re.compile(r"for\s+(\w+)\s+in\b\s*(.*)")
_ASSIGNING = re.compile(r"^\s*(?:export|local|declare|readonly|typeset)\s+(?:-\w+\s+)*")
_ASSIGNED = re.compile(r"""(?:^|\s)([A-Za-z_]\w*)=("(?:\\.|[^"\\])*"|'[^']*'|\S*)""")
_IN_QUOTES = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*\"""")
_VARIABLES = re.compile(r"\$\{?(\w+)")
_VARIABLE_ALONE = re.compile(r"\$(?:\w+|\{\w+\})")
_ESCAPED_TEXT = re.compile(r"\$q")
"""`$'a\\tb'`, `$"a"`: texts that bash reads in its own way, once what stands in quotes is `q`."""
_OF_COMMANDS = re.compile(r"\$[*@(]|\$\{[*@]|`")


class Document:
    """A text with commands."""

    def __init__(self, text: str, path: str, top: str) -> None:
        """
        Args:
            path: where it stands.
            top: folder of its project.
        """
        self._lines = text.splitlines()
        self._is_document = path.lower().endswith(_DOCUMENTS)
        self._is_makefile = not self._is_document and not path.lower().endswith((".sh", ".bash"))
        self._place, self._top = os.path.dirname(path), top
        self._here: str | None = ""
        """Folder of the next command; None where that is not known."""
        self._elsewhere: dict[str, None] = {}
        is_script = not self._is_document and not self._is_makefile
        self._blocks = Blocks(quotes_go_on=is_script)
        self._variables = _Variables()

    def commands(self) -> Iterator[Command]:
        """In the order in which they stand."""
        is_fenced = False
        for number, line in self._joined():
            if self._is_document and (_FENCE.match(line) or not (is_fenced or line.strip())):
                is_fenced ^= _FENCE.match(line) is not None
                self._here, self._blocks = "", Blocks()
                continue
            if self._is_makefile or not (is_fenced or not self._is_document):  # a shell for each line
                self._blocks = Blocks()
            if self._is_makefile:
                self._here = ""
            if self._blocks.is_handed_on(line):
                continue
            comment = _COMMENT.search(line)
            yield from self._of_line(number, line[: comment.start()] if comment else line, is_fenced=is_fenced)
            self._blocks.after(line)

    def _joined(self) -> Iterator[tuple[int, str]]:
        """Lines, those that a backslash continues in one, each with the number of its first."""
        number = 0
        while number < len(self._lines):
            first, line = number, self._lines[number]
            while line.rstrip().endswith("\\") and number + 1 < len(self._lines) and len(line) < _MAX_LINE:
                number += 1
                line = f"{line.rstrip()[:-1]} {self._lines[number]}"
            number += 1
            if len(line) < _MAX_LINE:
                yield first + 1, line

    def _of_line(self, number: int, line: str, *, is_fenced: bool) -> Iterator[Command]:
        if not self._is_document or is_fenced or "`" not in line:
            yield from self._of_commands(number, line, may_be_prose=self._is_document and not is_fenced)
            return
        for each in _IN_TEXT.finditer(line):  # a sentence, with commands in it
            self._blocks = Blocks()
            yield from self._of_commands(number, each[2])

    def _of_commands(self, number: int, text: str, *, may_be_prose: bool = False) -> Iterator[Command]:
        if may_be_prose and _END_OF_SENTENCE.search(text.rstrip()):
            return
        begin, connected_by = 0, ""
        for end in [*(each.span() for each in _NEXT.finditer(text)), (len(text), len(text))]:
            command, before = text[begin : end[0]], text[:begin]
            bare = _PROMPT.sub("", command, 1)
            loop = _LOOP.match(bare.strip())
            has_turns = (loop is None or _has_turns(loop[2], self._variables)) and _counts(text[begin:])
            runs = may_be_prose or self._blocks.runs(bare, connected_by, has_turns=has_turns)
            self._variables.read(bare.strip())
            begin, connected_by = end[1], text[end[0] : end[1]].strip()
            marks = _BEFORE.match(command)
            command = command[marks.end() if marks else 0 :].lstrip()
            if before.count("'") % 2 or before.count('"') % 2:  # inside of quotes
                continue
            change = _CD.match(command)
            if change is not None:
                self._change(change[1].strip())
            elif ".py" in command and self._here is not None and runs:
                found = started(command)
                if found is not None and not self._variables.are_counted(command):
                    found = found[0], ()
                if found is not None:
                    yield Command(*found, number, self._here, () if self._here else tuple(self._elsewhere))

    def _change(self, place: str) -> None:
        """The commands that follow are given in another folder."""
        named = _OF_FILE.sub(lambda _: self._place, place).strip("\"' )")
        if self._here is None or not named or _OPEN_FOLDER.search(named.replace(self._place, ".")):
            self._here = None
            return
        place = os.path.join(self._here, named)
        if named.strip("./") == os.path.basename(self._top) and not os.path.isdir(os.path.join(self._place, place)):
            place = self._top  # as it is called where it was cloned
        self._here = os.path.normpath(place)
        if len(self._elsewhere) < MAX_FOLDERS:
            self._elsewhere[self._here] = None


def _has_turns(words: str, variables: _Variables) -> bool:
    """A loop over these words has some: one that is written out, or a variable that the text has given a value."""
    return any(
        _VARIABLE_ALONE.fullmatch(word) is None or variables.is_assigned(word.strip("${}")) for word in words.split()
    )


_COUNTING = re.compile(r"\s*for\s*\(\(\s*(\w+)\s*=\s*(-?\d+)\s*;\s*\1\s*(<=?|>=?|!=|==)\s*(-?\d+)\s*;")
_COMPARED = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "!=": operator.ne,
    "==": operator.eq,
}


def _counts(text: str) -> bool:
    """A loop over numbers that stands there has turns, as far as its numbers are written out."""
    loop = _COUNTING.match(text)
    return loop is None or _COMPARED[loop[3]](int(loop[2]), int(loop[4]))


def started(command: str) -> tuple[str, tuple[str, ...]] | None:
    """The script that a command starts, and the words behind it; None of any other command."""
    end = _REST.search(command)
    more = end is not None and _REDIRECTED.sub("", command[end.start() :]).strip(" )}&") != ""
    try:
        words = shlex.split((command[: end.start()] if end else command).strip())
    except ValueError:
        return None
    place = _script_in(words)
    if place is None or not words[place].endswith(".py") or _OPEN.search(words[place]):
        return None
    behind = [_PUT_THERE.sub(OPEN, word) for word in words[place + 1 :]]
    return words[place], () if more or any(_OPEN.search(word) for word in behind if word != OPEN) else tuple(behind)


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
        if words[at] not in _RUNS:
            return at
        at += 1
        while at < len(words) and (words[at].startswith("-") or words[at].isdigit() or words[at] == "run"):
            takes_word = words[at].startswith("-") and "=" not in words[at]
            at += 1
            following = words[at] if at < len(words) else ""
            is_word = not following.startswith("-") and _PYTHON.fullmatch(following) is None
            at += takes_word and is_word and following not in (*_RUNS, *_LAUNCHERS, "run")
    return None


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
