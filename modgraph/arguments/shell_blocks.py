"""Which lines of a shell script are commands that run for sure: not those of a text that is handed on (`<<EOF`, quotes
over several lines), of an arm of `if` or `case`, of a function, behind `||`, behind a test, or behind `exit`; nor those
of a group that stands there."""

from __future__ import annotations

import re
from dataclasses import dataclass

_HANDED_ON = re.compile(r"(?<!<)<<(-?)\s*\\?([\"']?)([A-Za-z_][\w-]*)\2(?!<)")
_OPENS = {"if": False, "case": False, "while": False, "until": False, "select": False, "for": True}
"""First words of a block, and whether what stands in it runs: a loop over words has some."""
_CLOSES = ("fi", "esac", "done")
_BETWEEN = ("then", "do", "else", "elif", "!", "time")
_TESTS = ("[", "[[", "test", "false", "grep", "egrep", "command", "which", "type")
"""Commands that are run for what they find, and not for what they do."""
_FUNCTION = re.compile(r"(?:function\s+[\w:.-]+\s*(?:\(\s*\))?|[\w:.-]+\s*\(\s*\))\s*(\{|\()?")
_LEAVES = re.compile(
    r"(?:(?:builtin|command)\s+)*(?:(?:exit|return|logout)(?![^\s)])|exec\s+(?!\d*[<>])|kill\s.*\$\$|set\s+-\w*n)"
)
"""The shell is gone then: it has ended, is another program, or runs nothing any more."""
_IN_FAILURE = re.compile(r"(?:\w+\s+)*exit\s+[1-9]")
_TRAPS = re.compile(r"trap\s+(?!-|''|\"\").*\sERR\b")
_TRAPS_ALL = re.compile(r"trap\s.*\b(?:exit|kill|exec|return)\b.*\s(?:DEBUG|RETURN)\b")
"""What is run then, where a command fails or before each of them, may end the shell."""
_PIPEFAIL = re.compile(r"set\s+(?!\+).*\bpipefail\b")
_FAILS = re.compile(r"(?:builtin\s+)?(?:false(?![^\s)])|let\s)|\(\(|\w+=[\"']?(?:\$\(|`)\s*false\b")
"""Builtins that fail, or that fail where a number is 0."""
_PROGRAMS = r"(?:python[\d.]*|torchrun|deepspeed|accelerate)"
_NAMED_LIKE_ONE = re.compile(
    rf"(?<![\w./-])(?:function\s+{_PROGRAMS}(?![^\s({{])|{_PROGRAMS}\s*\(\s*\)"
    rf"|alias\s+{_PROGRAMS}=(?![\"']?[\w./~-]*python[\d.]*[\"']?\s*$))"
)
"""A function or an alias: from here on, the name stands for something else."""
_FAILING = re.compile(r"set\s+(?:-\w+\s+)*-(?:[a-zA-Z]*e|\w*o\s+errexit)")
"""The shell ends from here on where a command fails."""
_LEAVES_TURN = ("break", "continue")
_CHAINS = ("&&", "||", "|")


@dataclass
class _Block:
    word: str
    """The first one."""
    runs: bool
    """What stands in it runs, where that before it does."""
    is_doubtful: bool
    """As what stands in its place is."""


class Blocks:
    """Of one text, command by command in their order.

    Args:
        quotes_go_on: quotes may end on a later line, as in a script; in other texts they may be apostrophes.
    """

    def __init__(self, *, quotes_go_on: bool = False) -> None:
        self._quotes_go_on = quotes_go_on
        self._quote = ""
        """The one that has begun and not ended."""
        self._open: list[_Block] = []
        self._ends: list[tuple[str, bool]] = []
        """Lines that end the texts which are handed on, and whether tabs may stand before them."""
        self._has_left = False
        self._ends_where_it_fails = False
        """After `set -e`."""
        self._may_have_ended = False
        """The command before is a test that nothing looks at, and may have failed."""
        self._fails_in_pipes = False
        """After `set -o pipefail`."""
        self._doubtful = False
        """What stands before in its chain may keep it from running."""
        self._chain = ""
        """What connects the next command to the one before, where a line ended with that."""

    def is_handed_on(self, line: str) -> bool:
        """A line is part of such a text, or its end."""
        if self._quote:
            self._read_quotes(line)
            return True
        if not self._ends:
            return False
        end, indented = self._ends[0]
        if (line.lstrip("\t") if indented else line).rstrip() == end:
            del self._ends[0]
        return True

    def after(self, line: str) -> None:
        """What a line of commands hands on stands below it."""
        line = line[: self._read_quotes(line)]
        for found in _HANDED_ON.finditer(line):
            if line.count("((", 0, found.start()) <= line.count("))", 0, found.start()):  # else it is a shift
                self._ends.append((found[3], bool(found[1])))
        if not self._quotes_go_on:
            self._quote = ""

    def _read_quotes(self, line: str) -> int:
        """Where the line's comment begins."""
        before = " "
        for place, letter in enumerate(line):
            if before == "\\" and self._quote != "'":
                before = " "
                continue
            if letter == self._quote:
                self._quote = ""
            elif letter in "\"'" and not self._quote:
                self._quote = letter
            elif letter == "#" and before.isspace() and not self._quote:
                return place
            before = letter
        return len(line)

    def runs(self, command: str, connected_by: str, *, has_turns: bool = True) -> bool:
        """Whether a command runs for sure.

        Args:
            command: with the words of the shell before it.
            connected_by: what stands between it and the one before: ";", "&&", "" at the beginning of a line.
            has_turns: if it begins a loop over words, there are some.
        """
        command = command.strip()
        connected_by = connected_by or self._chain
        self._chain = connected_by if not command and connected_by in _CHAINS else ""
        if not command:
            return False
        if connected_by not in _CHAINS:
            self._doubtful = False
        elif connected_by == "||":
            self._doubtful = True
        in_pipe = self._may_have_ended and connected_by == "|" and self._fails_in_pipes
        if self._may_have_ended and connected_by not in _CHAINS:
            self._has_left = True
        rest = self._past_blocks(command)
        if not has_turns and self._open:
            self._open[-1].runs = False
        word = rest.partition(" ")[0].rstrip(")")
        certain = not self._doubtful and not self._has_left and all(block.runs for block in self._open)
        if certain:
            self._set(rest)
        fails = word in _TESTS or _FAILS.match(rest) is not None
        self._may_have_ended = in_pipe or (
            certain and self._ends_where_it_fails and fails and not command.startswith("! ")
        )
        self._doubtful = self._doubtful or word in _TESTS or rest.startswith("((") or command.startswith("! ")
        if certain and word in _LEAVES_TURN:
            self._leave("for")
        elif certain and _LEAVES.match(rest) is not None:
            self._has_left = not self._leave("(")
            self._may_have_ended = self._ends_where_it_fails and _IN_FAILURE.match(rest) is not None
        if _NAMED_LIKE_ONE.search(command) is not None:
            self._has_left = True
        for _ in range(rest.count(")") - rest.count("(")):
            if self._open and self._open[-1].word == "(":
                self._close()
        return certain

    def _set(self, command: str) -> None:
        """A command may say where the shell ends."""
        for says in (_FAILING, _TRAPS):
            self._ends_where_it_fails = self._ends_where_it_fails or says.match(command) is not None
        self._fails_in_pipes = self._fails_in_pipes or _PIPEFAIL.match(command) is not None
        self._has_left = self._has_left or _TRAPS_ALL.match(command) is not None

    def _leave(self, word: str) -> bool:
        """The rest of the innermost such block does not run; whether there is one."""
        places = [place for place, block in enumerate(self._open) if block.word == word]
        for block in self._open[places[-1] :] if places else ():
            block.runs = False
        return bool(places)

    def _begin(self, word: str, *, runs: bool) -> None:
        self._open.append(_Block(word, runs and not self._doubtful, self._doubtful))

    def _close(self) -> None:
        if self._open:
            self._doubtful = self._open.pop().is_doubtful or self._doubtful

    def _past_blocks(self, command: str) -> str:
        """What stands behind the words that open and close blocks."""
        while command:
            function = _FUNCTION.match(command)
            word, _, rest = command.partition(" ")
            if function is not None:
                self._begin({"(": "(", "{": "function"}.get(function[1], "function without a body"), runs=False)
                command = command[function.end() :].lstrip()
            elif word == "{" or (command.startswith("(") and not command.startswith("((")):
                if self._open and self._open[-1].word == "function without a body":
                    self._open[-1].word = "function" if word == "{" else "("
                else:
                    self._begin(command[0], runs=True)
                command = command[1:].lstrip()
            elif word in _OPENS:
                self._begin(word, runs=_OPENS[word])
                return command if word in ("for", "case", "select") else rest
            elif word in _CLOSES or word == "}":
                self._close()
                command = rest.lstrip()
            elif word in _BETWEEN:
                command = rest.lstrip()
            else:
                return command
        return ""
