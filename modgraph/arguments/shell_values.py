"""Variables of a shell, and the words that bash makes of what is written, as far as that is known."""

from __future__ import annotations

import re

from modgraph.arguments.shell_words import (
    COMMAND,
    FOLDER,
    NUMBER,
    ONE,
    SEVERAL,
    TEXT,
    TILDE,
    VARIABLE,
    Part,
    Token,
    UnsureError,
)
from modgraph.prediction.calls_elsewhere import OPEN

BASE, MANY, PATH, HOME, _BASE_AT_FIRST = "\1", "\2", "\3", "\4", "\5"
"""What is not written out: the folder of the script; any words, or none; the folders of programs, and of the user, as
they were; the folder of the script, as long as no other is changed to."""
_MOST = 1_000
_SPECIAL = re.compile(
    r"BASH.*|PATH|IFS|CDPATH|ENV|HOME|POSIXLY_CORRECT|SHELLOPTS|E?UID|PPID|GROUPS|S?RANDOM|SECONDS|LINENO|EPOCH.*|FUNC\w+"
    r"|GLOBIGNORE|EXECIGNORE|(?:OLD)?PWD|OPT(?:IND|ARG|ERR)|PIPESTATUS|_|HIST.*|COMP.*|DIRSTACK|TMOUT|TIMEFORMAT|PS[0-4]"
    r"|PROMPT.*|LD_PRELOAD|REPLY|MAPFILE|COPROC|SHLVL|PYTHONHOME|PYTHONSTARTUP|\d+"
)
_NO_TEXT = re.compile(r"[*?\[\\]")
"""Of a value that stands without quotes: the shell looks for files."""
_LEFT_OUT = re.compile(r"\.\.\.|^[^\w./~\"']+$|^\[-|[^\[]\]$")
"""Of a word that a reader sees: that others may stand there, or none."""
_RANGE = re.compile(r"\{(0|[1-9]\d{0,8})\.\.(0|[1-9]\d{0,8})\}")
_SEQUENCE = re.compile(r"\s*seq\s+(?:(\S+)\s+)?(\S+)\s*")
_SUM = re.compile(r"\s*-?\s*\w+\s*(?:[-+*]\s*\w+\s*)*", re.ASCII)
_TERM = re.compile(r"\w+", re.ASCII)
_WHOLE = re.compile(r"0|[1-9]\d{0,8}", re.ASCII)


def is_special(name: str) -> bool:
    """The shell itself, or Python, gives a variable a meaning."""
    return _SPECIAL.fullmatch(name) is not None


class Values:
    """Of the variables of one shell."""

    def __init__(self, *, is_for_readers: bool) -> None:
        self._is_for_readers = is_for_readers
        self._of: dict[str, str | None] = {"PATH": PATH, "HOME": HOME}
        """None where it is not known; a variable that is not here may not be set."""
        self.is_strict = False
        """The shell ends at a variable that is not set."""
        self._has_moved = False

    def copy(self) -> Values:
        found = Values(is_for_readers=self._is_for_readers)
        found._of, found.is_strict, found._has_moved = dict(self._of), self.is_strict, self._has_moved
        return found

    def give(self, name: str, value: str | None) -> None:
        self._of[name] = value
        if len(self._of) > _MOST:
            raise UnsureError

    def forget(self, name: str) -> None:
        self._of.pop(name, None)

    def move(self) -> None:
        """The shell goes to another folder."""
        self._has_moved = True

    def forget_differences(self, other: Values) -> None:
        """Only what both know is known."""
        for name in [*self._of, *(each for each in other._of if each not in self._of)]:
            if name not in other._of or name not in self._of:
                self.forget(name)
            elif self._of[name] != other._of[name]:
                self._of[name] = None
        self._has_moved = self._has_moved or other._has_moved

    def text(self, token: Token, begin: int = 0) -> str | None:
        """What a variable is given, by what stands behind the first letters of a word; None where it is not known."""
        found = ""
        for at, part in enumerate(token.parts):
            if part.kind == TEXT:
                text: str | None = part.text[begin:] if at == 0 else part.text
            elif part.kind == SEVERAL and part.text in ("*", "?", "[", "{"):
                text = part.text
            else:
                text = self._value(part)
            if text is None:
                return None
            found += text
        return found

    def words(self, token: Token, *, is_posix: bool = False, before: str = "") -> list[str]:
        """Those that a word stands for: with OPEN for what is not known of one, MANY for any number of them.

        Args:
            before: what stands before it.
        """
        if token.raw == "[":
            return ["["]
        if self._is_for_readers and _LEFT_OUT.search(token.raw) is not None:
            return [MANY]
        assigned = token.assigns() if is_posix else None
        found: list[str] = []
        last: str | None = None
        is_put = self._is_for_readers and (
            len(token.parts) > 1 or (before.startswith("-") and "=" not in before) or before.endswith(".py")
        )
        for part in token.parts:
            value = part.text if part.kind == TEXT else self._value(part)
            is_free = part.kind == VARIABLE and not part.is_quoted
            if part.kind == SEVERAL or (value is None and not part.is_quoted and not is_put):
                self._check(token)
                return [MANY]
            value = OPEN if value is None else value
            if not is_free:
                last = (last or "") + value
                continue
            if _NO_TEXT.search(value) is not None or (assigned and " " in value):
                self._check(token)
                return [MANY]
            found, last = _split(found, last, value)
        return self._told([*found, *([last] if last is not None else [])])

    def counted(self, token: Token) -> list[str]:
        """The first words of `{1..3}`, `$(seq 1 3)`; none where there may be none."""
        found = _RANGE.fullmatch(token.raw)
        if found is not None:
            return [found[1]] if found[1] == found[2] else [found[1], found[2]]
        if len(token.parts) != 1 or token.parts[0].kind != COMMAND or token.parts[0].is_quoted:
            return []
        found = _SEQUENCE.fullmatch(token.parts[0].text)
        ends = [self._whole(each or "1") for each in found.groups()] if found else []
        if len(ends) != 2 or ends[0] is None or ends[1] is None or ends[0] > ends[1]:
            return []
        return [str(ends[0])] if ends[0] == ends[1] else [str(ends[0]), str(ends[1])]

    def _whole(self, text: str) -> int | None:
        name = text.strip("${}") if text.startswith("$") else ""
        value = self._of.get(name) if name else text
        return int(value) if value is not None and _WHOLE.fullmatch(value) else None

    def _check(self, token: Token) -> None:
        """The shell may end where the values of a word are asked for."""
        for part in token.parts:
            if part.kind != SEVERAL:
                self._value(part)
            elif (self.is_strict and part.text in ("@", "*")) or (self.is_strict and part.text[:1].isalpha()):
                raise UnsureError

    def _value(self, part: Part) -> str | None:
        if part.kind == VARIABLE:
            return self._of_variable(part)
        if part.kind == NUMBER:
            return self._sum(part.text)
        if part.kind == FOLDER:
            return _BASE_AT_FIRST if part.text else BASE
        if part.kind == TILDE:
            return HOME
        return OPEN if part.kind == ONE else None

    def _of_variable(self, part: Part) -> str | None:
        value = self._of.get(part.text)
        if part.default is None:
            if part.text not in self._of and self.is_strict:
                raise UnsureError
            return value
        if part.text in self._of and value is not None:
            return value if part.is_for_unset else value or part.default
        if part.is_for_unset:
            return None  # it may be set, and empty
        is_one = part.default and not re.search(r"[\s*?\[\\~]", part.default)
        return OPEN if is_one else None

    def _sum(self, text: str) -> str:
        if _SUM.fullmatch(text.replace("$", "")) is None:
            raise UnsureError
        for term in _TERM.findall(text.replace("$", "")):
            value = self._of.get(term) if not term[0].isdigit() else term
            if value is None or _WHOLE.fullmatch(value) is None:
                raise UnsureError
        return OPEN

    def _told(self, words: list[str]) -> list[str]:
        first = OPEN if self._has_moved else BASE
        return [
            each.replace(_BASE_AT_FIRST, first).replace(HOME, OPEN).replace(PATH, OPEN) if each != MANY else each
            for each in words
        ]


def _split(found: list[str], last: str | None, value: str) -> tuple[list[str], str | None]:
    """Words that end, and the one that may go on, once a value without quotes follows."""
    pieces = re.split(r"[ \t\n]+", value)
    if pieces == [""]:
        return found, last
    first = (last or "") + pieces[0]
    if len(pieces) == 1:
        return found, first
    ended = [first] if pieces[0] or last is not None else []
    return [*found, *ended, *pieces[1:-1]], pieces[-1] or None
