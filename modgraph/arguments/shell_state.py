"""What a shell stands for at one place of a text, and the commands that change it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from modgraph.arguments.shell_places import Places
from modgraph.arguments.shell_programs import ends_well
from modgraph.arguments.shell_values import BASE, HOME, MANY, PATH, Values, is_special
from modgraph.arguments.shell_words import COMMAND, Token, UnsureError, Words
from modgraph.prediction.calls_elsewhere import OPEN

MAX_FOLDERS = 8
"""To which one text changes."""
_PREPARES = re.compile(r"(?:.*/)?(?:activate|conda\.sh|\.bashrc|\.bash_profile)")
"""Files of tools, and of the user: what they do to a shell does not change what a script starts."""
_HOOK = re.compile(r"""eval\s+["']?\$\(\s*conda\s+shell\.(?:bash|posix)\s+hook\s*\)["']?""")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SET = re.compile(r"[-+][exuE]*o?")
_MAKES_FOLDERS = ("-p", "-v", "-pv", "-vp", "--parents", "--verbose")
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
        places: what lies around the text.
        is_for_readers: a text that a reader types from: what it names is taken to be there, and to end well.
    """

    def __init__(self, places: Places, *, is_for_readers: bool) -> None:
        self.places, self._is_for_readers = places, is_for_readers
        self.state = State("", Values(is_for_readers=is_for_readers))
        self.is_posix = False
        self.folders: dict[str, None] = {}
        """To which the text changes."""
        self._nested = 0
        """In how many blocks, or other shells, the command stands."""

    def begin(self, options: str) -> None:
        """The shell is started with options: letters."""
        self.state.options = frozenset(options)
        self.state.values.is_strict = "u" in options

    def _words(self, token: Token, before: str = "") -> list[str]:
        return self.state.values.words(token, is_posix=self.is_posix, before=before)

    def _opens(self, redirects: Sequence[tuple[str, Token]]) -> bool:
        """The files that a command reads and writes are there, or can be."""
        streams = {0, 1, 2}
        all_open = [self._opens_one(operator, token, streams) for operator, token in redirects]
        return all(all_open)

    def _opens_one(self, written: str, token: Token, streams: set[int]) -> bool:
        """
        Args:
            streams: numbers of those that are open; what is opened is added.
        """
        named, operator = self._words(token), written.lstrip("0123456789")
        number = int(written[: -len(operator)][:9] or ("0" if operator[0] == "<" else "1"))
        if any(".py" in each for each in named) and operator != "<<<":
            raise UnsureError
        is_open = operator == "<<<" or self._leads(operator, number, named, streams)
        if operator in ("<&", ">&") and named == ["-"]:
            streams.discard(number)
        elif is_open:
            streams.add(number)
        return is_open

    def _leads(self, operator: str, number: int, named: list[str], streams: set[int]) -> bool:
        if len(named) != 1 or MANY in named[0]:
            return self._is_for_readers  # in a script, an error where there are none, or several
        if operator in ("<&", ">&"):
            if named[0].isdecimal():
                return int(named[0][:9]) in streams
            if named[0] == "-":
                return number != 1 or self._is_for_readers
            if operator == "<&" or number != 1:
                return False
        if self._is_for_readers:
            return operator == "<" or not self.places.is_no_file(self.state.here, named[0])
        if operator == "<":
            return self.places.can_be_read(self.state.here, named[0])
        return self.places.can_be_written(self.state.here, named[0])

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
        return self._makes(token)

    def _makes(self, token: Token) -> bool:
        """The commands in a word end well."""
        return all(part.kind != COMMAND or self._is_made_by(part.text) for part in token.parts)

    def _is_made_by(self, command: str) -> bool:
        """A command of `$(...)` ends well: one of a few, whose words are known to be right."""
        read, words = Words(command, is_for_readers=False), list[str]()
        try:
            while (token := read.next()).kind == "word":
                words += self._words(token)
        except UnsureError:
            return False
        return token.kind == "end" and ends_well(words)

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
        place = here if not named[0] else self.places.found(here, named[0])
        is_there = place is not None and self.places.is_folder(place)
        if not is_there and named[0].strip("./") == os.path.basename(self.places.top):
            place, is_there = self.places.top, True  # as it is called where it was cloned
        if self._is_for_readers and not is_there:
            place = os.path.normpath(os.path.join(here, named[0].replace(BASE, self.places.place)))
        elif not is_there:
            return False
        self.state.here = place
        if place is not None and len(self.folders) < MAX_FOLDERS:
            self.folders[place] = None
        return True

    def _mkdir(self, words: list[str]) -> bool:
        options = [each for each in words[1:] if each.startswith("-")]
        named = [each for each in words[1:] if not each.startswith("-")]
        if not all(each in _MAKES_FOLDERS for each in options):
            return self._is_for_readers
        is_with_those_above = any("p" in each for each in options)
        all_well = [self.places.make(self.state.here, each, with_those_above=is_with_those_above) for each in named]
        return self._is_for_readers or (bool(named) and all(all_well))

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
