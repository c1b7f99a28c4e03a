"""What a shell stands for at one place of a text, and the commands that change it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from modgraph.arguments.shell_values import BASE, HOME, MANY, PATH, Values, is_special
from modgraph.arguments.shell_words import Token, UnsureError
from modgraph.prediction.calls_elsewhere import OPEN

MAX_FOLDERS = 8
"""To which one text changes."""
_PREPARES = re.compile(r"(?:.*/)?(?:activate|conda\.sh|\.bashrc|\.bash_profile)")
"""Files of tools, and of the user: what they do to a shell does not change what a script starts."""
_HOOK = re.compile(r"""eval\s+["']?\$\(\s*conda\s+shell\.(?:bash|posix)\s+hook\s*\)["']?""")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SET = re.compile(r"[-+][exuE]*o?")
_OPTIONS = {"errexit": "e", "nounset": "u", "xtrace": "x", "pipefail": "p"}


@dataclass
class State:
    here: str | None
    """Folder of the next command; None where that is not known."""
    values: Values
    options: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()

    def copy(self) -> State:
        return replace(self, values=self.values.copy())


class Shell:
    """Of one text.

    Args:
        has: whether a file or folder lies there, from the folder of the text or one above.
        place: the folder of the text.
        top: that of the project.
        is_for_readers: a text that a reader types from: what it names is taken to be there, and to end well.
    """

    def __init__(self, has: Callable[[str], bool], place: str, top: str, *, is_for_readers: bool) -> None:
        self._has, self._place, self._top, self._is_for_readers = has, place, top, is_for_readers
        self.state = State("", Values(is_for_readers=is_for_readers))
        self.is_posix = False
        self.folders: dict[str, None] = {}
        """To which the text changes."""
        self._nested = 0
        """In how many blocks, or other shells, the command stands."""
        self._made: set[str] = set()
        """Folders."""

    def begin(self, options: str) -> None:
        """The shell is started with options: letters."""
        self.state.options = frozenset(options)
        self.state.values.is_strict = "u" in options

    def _words(self, token: Token, before: str = "") -> list[str]:
        return self.state.values.words(token, is_posix=self.is_posix, before=before)

    def _opens(self, redirects: Sequence[tuple[str, Token]]) -> bool:
        """The files that a command reads and writes are there, or can be."""
        return all(list(map(self._opens_one, redirects)))

    def _opens_one(self, redirect: tuple[str, Token]) -> bool:
        operator, token = redirect
        named = self._words(token)
        if operator == "<<<" or (operator[1:] == "&" and token.raw.isdigit()) or token.raw == "-":
            return True
        if len(named) != 1 or named[0] == MANY or ".py" in named[0]:
            if any(".py" in each for each in named):
                raise UnsureError
            return self._is_for_readers
        if self._is_for_readers:
            return True
        if operator.startswith("<"):
            return OPEN not in named[0] and (named[0].startswith("/dev/null") or self._lies(named[0]))
        return self._can_be_made(named[0])

    def _can_be_made(self, named: str) -> bool:
        folder = os.path.dirname(named)
        if named.startswith("/dev/"):
            return named in ("/dev/null", "/dev/stdout", "/dev/stderr")
        if self.state.here is None or OPEN in folder or MANY in named:
            return False
        made = os.path.normpath(os.path.join(self.state.here, folder))
        return folder in ("", ".", "/tmp") or made in self._made or self._lies(folder)

    def _lies(self, named: str) -> bool:
        return self.state.here is not None and self._has(
            os.path.join(self.state.here, named.replace(BASE, self._place))
        )

    def _name(self, name: str) -> None:
        if is_special(name):
            raise UnsureError

    def _assign(self, token: Token) -> bool:
        """Whether it ends well."""
        found = token.assigns()
        assert found is not None
        name = found[1]
        value = self.state.values.text(token, found.end())
        if name == "PATH":
            self._path(value)
            return True
        self._name(name)
        self.state.values.give(name, None if found[2] else value)
        return self.state.values.ends_well(token)

    def _path(self, value: str | None) -> None:
        """Programs are found as before, or in a folder elsewhere that has them too."""
        places = (value or "").split(":")
        if PATH not in places or not all(each == PATH or each.startswith(("/", HOME)) for each in places):
            raise UnsureError

    def _cd(self, words: list[str]) -> bool:
        named = words[2:] if words[1:2] == ["--"] else words[1:]
        self.state.values.move()
        here, self.state.here = self.state.here, None
        if here is None or len(named) != 1 or OPEN in named[0] or MANY in named[0] or named[0].startswith("-"):
            return not named
        place = os.path.normpath(os.path.join(here, named[0].replace(BASE, self._place)))
        is_there = self._has(place) or place in self._made
        if not is_there and named[0].strip("./") == os.path.basename(self._top):
            place, is_there = self._top, True  # as it is called where it was cloned
        if is_there or self._is_for_readers:
            self.state.here = place
            if len(self.folders) < MAX_FOLDERS:
                self.folders[place] = None
        return is_there or self._is_for_readers

    def _mkdir(self, words: list[str]) -> bool:
        named = [each for each in words[1:] if not each.startswith("-")]
        if self.state.here is not None and MANY not in words:
            for each in named:
                place = os.path.normpath(os.path.join(self.state.here, each))
                while "-p" in words and os.path.dirname(place) not in ("", place):
                    self._made.add(place)
                    place = os.path.dirname(place)
                self._made.add(place)
        is_within = all(each[:1] not in ("/", OPEN, BASE) and MANY not in each and ".." not in each for each in named)
        return self._is_for_readers or ("-p" in words and is_within)

    def _set(self, words: list[str]) -> bool:
        if self._nested or len(words) == 1:
            raise UnsureError
        options, more = set(self.state.options), iter(words[1:])
        for word in more:
            if _SET.fullmatch(word) is None:
                raise UnsureError
            letters = set(word[1:]) - {"o"}
            if "o" in word:
                option = _OPTIONS.get(next(more, ""))
                if option is None or (self.is_posix and option == "p"):
                    raise UnsureError
                letters.add(option)
            options = options | letters if word[0] == "-" else options - letters
        self.begin("".join(options))
        return True

    def _export(self, rest: Sequence[Token]) -> bool:
        for token in rest[1:]:
            if token.assigns() is not None:
                if self.is_posix and " " in (self.state.values.text(token) or " "):
                    raise UnsureError
                self._assign(token)
            elif _NAME.fullmatch(token.raw) is None:
                raise UnsureError
        return True

    def _unset(self, rest: Sequence[Token]) -> bool:
        for token in rest[1:]:
            if _NAME.fullmatch(token.raw) is None or is_special(token.raw):
                raise UnsureError
            self.state.values.forget(token.raw)
        return True

    def _source(self, rest: Sequence[Token]) -> bool:
        last = rest[1].raw.rstrip("\"'") if len(rest) > 1 else ""
        if self.is_posix or _PREPARES.fullmatch(last) is None:
            raise UnsureError
        return self._is_for_readers

    def _eval(self, rest: Sequence[Token]) -> bool:
        if _HOOK.fullmatch(" ".join(token.raw for token in rest)) is None:
            raise UnsureError
        return self._is_for_readers

    def _printf(self, words: list[str]) -> bool:
        if words[1:2] and words[1].startswith(("-", MANY, OPEN)):
            raise UnsureError
        return "%" not in words[1].replace("%s", "") if words[1:] else False

    def _wait(self, words: list[str]) -> bool:
        return len(words) == 1

    def _ulimit(self, words: list[str]) -> bool:
        if words[1:2] not in (["-n"], ["-Sn"], ["-c"]):
            raise UnsureError
        return False

    def _changes(self, words: list[str], tokens: Sequence[Token]) -> bool | None:
        """A command that changes the shell, or may: whether it ends well; None of another one."""
        by_words = {
            "cd": self._cd,
            "mkdir": self._mkdir,
            "set": self._set,
            "printf": self._printf,
            "wait": self._wait,
            "ulimit": self._ulimit,
        }
        by_tokens = {
            "export": self._export,
            "unset": self._unset,
            "source": self._source,
            ".": self._source,
            "eval": self._eval,
        }
        if words[0] in by_words:
            return by_words[words[0]](words)
        return by_tokens[words[0]](tokens) if words[0] in by_tokens else None
