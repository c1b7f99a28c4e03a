"""Which lines of a shell script are commands that run for sure: not those of a text that is handed on (`<<EOF`), of an
arm of `if` or `case`, of a function, behind `||`, behind a test, or behind `exit`."""

from __future__ import annotations

import re

_HANDED_ON = re.compile(r"(?<!<)<<(-?)\s*([\"']?)([A-Za-z_]\w*)\2(?!<)")
_OPENS = {"if": False, "case": False, "while": False, "until": False, "select": False, "for": True}
"""First words of a block, and whether what stands in it runs: a loop over words has some."""
_CLOSES = ("fi", "esac", "done")
_BETWEEN = ("then", "do", "else", "elif", "!", "time")
_TESTS = ("[", "[[", "test", "false")
_FUNCTION = re.compile(r"(?:function\s+[\w:.-]+\s*(?:\(\s*\))?|[\w:.-]+\s*\(\s*\))\s*(\{|\()?")
_LEAVES = ("exit", "return")


class Blocks:
    """Of one text, command by command in their order."""

    def __init__(self) -> None:
        self._open: list[tuple[str, bool]] = []
        """First words of the blocks around, and whether they run."""
        self._ends: list[tuple[str, bool]] = []
        """Lines that end the texts which are handed on, and whether tabs may stand before them."""
        self._has_left = False
        self._doubtful = False
        """What stands before in its chain may keep it from running."""

    def is_handed_on(self, line: str) -> bool:
        """A line is part of such a text, or its end."""
        if not self._ends:
            return False
        end, indented = self._ends[0]
        if (line.lstrip("\t") if indented else line).rstrip() == end:
            del self._ends[0]
        return True

    def after(self, line: str) -> None:
        """What a line of commands hands on stands below it."""
        self._ends += [(found[3], bool(found[1])) for found in _HANDED_ON.finditer(line)]

    def runs(self, command: str, connected_by: str) -> bool:
        """Whether a command runs for sure.

        Args:
            command: with the words of the shell before it.
            connected_by: what stands between it and the one before: ";", "&&", "" at the beginning of a line.
        """
        if connected_by not in ("&&", "||", "|"):
            self._doubtful = False
        elif connected_by == "||":
            self._doubtful = True
        rest = self._past_blocks(command.strip())
        word = rest.partition(" ")[0]
        certain = not self._doubtful and not self._has_left and all(runs for _, runs in self._open)
        self._doubtful = self._doubtful or word in _TESTS
        self._has_left = self._has_left or (certain and word in _LEAVES)
        return certain

    def _past_blocks(self, command: str) -> str:
        """What stands behind the words that open and close blocks."""
        while command:
            function = _FUNCTION.match(command)
            word, _, rest = command.partition(" ")
            if function is not None:
                self._open.append(("function", False))
                command = command[function.end() :].lstrip()
                if function[1] is None:
                    self._open[-1] = ("function without a body", False)
            elif word == "{":
                if self._open and self._open[-1][0] == "function without a body":
                    self._open[-1] = ("function", False)
                else:
                    self._open.append(("{", True))
                command = rest.lstrip()
            elif word in _OPENS:
                self._open.append((word, _OPENS[word]))
                return command if word in ("for", "case", "select") else rest
            elif word in _CLOSES or word == "}":
                if self._open:
                    self._open.pop()
                command = rest.lstrip()
            elif word in _BETWEEN:
                command = rest.lstrip()
            else:
                return command
        return ""
