"""Words of a shell, as bash reads them: quotes, backslashes, variables. A form that is not understood whole ends the
reading (`UnsureError`): nothing is said of what stands behind it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


class UnsureError(Exception):
    """From here on it is not known what the shell does."""


TEXT, VARIABLE, ONE, TILDE, SEVERAL, COMMAND, NUMBER, FOLDER = range(8)
"""Kinds of parts: as written; a variable's value; one word without a blank that is not known; what `~` stands for; any
words, or none; what a command prints; a sum; the folder of the script."""


@dataclass(frozen=True, slots=True)
class Part:
    """Of a word."""

    kind: int
    text: str = ""
    """Of a variable its name, of a command the command."""
    is_quoted: bool = False
    default: str | None = None
    """Of `${NAME:-default}`."""
    is_for_unset: bool = False
    """Of `${NAME-default}`: not for one that is empty."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word, or what stands between words."""

    kind: str
    """"word", "redirect", "end", or the operator itself."""
    place: int
    raw: str = ""
    """As it is written."""
    parts: tuple[Part, ...] = ()

    def assigns(self) -> re.Match[str] | None:
        """The name that a word gives a value, as far as it begins with one."""
        first = self.parts[0] if self.parts else None
        return _NAMED.match(first.text) if first and first.kind == TEXT and not first.is_quoted else None


_NAMED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=")
_BLANKS = re.compile(r"(?:[ \t]|\\\n)*")
_COMMENT = re.compile(r"#[^\n]*")
_REDIRECT = re.compile(r"&>>?|[0-9]*(?:<<<|<<|>>|>\||[<>]&|<>|[<>])")
_OPERATOR = re.compile(r"&&|\|\||\|&|;;|[;&|()\n]")
_PLAIN = re.compile(r"[^ \t\n;&|<>()\\'\"$`*?\[{~]+")
_IN_QUOTES = re.compile(r"[^\"\\$`]+")
_IN_QUOTES_OF_A_LINE = re.compile(r"[^\"\\$`\n]+")
_PLACEHOLDER = re.compile(r"<[\w.:/|-]+>")
_STRANGE = re.compile(r"[\0-\x08\r\x0e-\x1f\x7f]")
"""Of a script, what bash takes in its own way, or hands on where an editor shows nothing."""
_SIMPLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)|\$([$?#])|\$([0-9@*!-])")
_BRACED = re.compile(
    r"\$\{(?:([A-Za-z_][A-Za-z0-9_]*|\d+)(?::?-(\"[^\"$`\\{}\n]*\"|[^\"'$`\\{}\n]*))?"
    r"|(#?[A-Za-z_][A-Za-z0-9_]*\[(?:[@*]|\d+)\]|[@*#]))\}"
)
_SUM = re.compile(r"\$\(\(([\w $+*-]*)\)\)", re.ASCII)
_NOT_IN_COMMANDS = re.compile(
    r"\b(?:case|kill|pkill|killall|exec|trap)\b|(?:^|[;|&(])\s*(?:yes|sleep|watch|tail\s.*-\w*[fF])\b"
)
"""They do something else than print, or may not end."""
_OF_FILE = r"""dirname\s+(?:--\s+)?(?P<q>["']?)\$\{?(?:0|BASH_SOURCE(?:\[0\])?)\}?(?P=q)"""
_FOLDER = re.compile(
    rf"""\s*(?:{_OF_FILE}|cd\s+(?:--\s+)?["']?\$\(\s*{_OF_FILE.replace("q>", "p>").replace("=q", "=p")}\s*\)["']?"""
    r"""\s*(?:>\s*/dev/null(?:\s+2>&1)?\s*)?&&\s*pwd(?:\s+-P)?)\s*"""
)
_FORMAT = r"(?:%-?[aAbBhCdDFgGHIjmMNRsSTuUVwWyYzZ]|[\w.:/=,@+-])+"
"""Of a date: of these, none has blanks or is nothing."""
_ONE_WORD = re.compile(
    rf"""\s*(?:date\s+(?:-u\s+)?(?:\+{_FORMAT}|(["'])\+{_FORMAT}\1|\+(["']){_FORMAT}\2)|hostname|whoami|nproc)\s*"""
)
_OF_USER = re.compile(r"[^\s/:;&|<>()\\'\"$`*?\[{~]+|(?=[\\'\"$`])")
"""Behind `~`: the folder of another user, of another kind, or nothing but text."""
_DEEPEST = 20


class Words:
    """Those of a text, one after the other.

    Args:
        is_for_readers: a text that a reader types from: `<name>` is to be put there, and no quotes go over its lines.
    """

    def __init__(self, text: str, *, is_for_readers: bool) -> None:
        self._text, self._is_for_readers = text, is_for_readers
        self.place = 0
        self._depth = 0

    def next(self) -> Token:
        """
        Raises:
            UnsureError: it is not understood.
        """
        text = self._text
        self.place = _end(_BLANKS, text, self.place)
        comment = _COMMENT.match(text, self.place)
        if comment is not None:
            self.place = comment.end()
        begin = self.place
        if begin >= len(text):
            return Token("end", begin)
        if self._is_for_readers and text[begin] == "<" and _PLACEHOLDER.match(text, begin):
            return self._word(begin)
        found = _REDIRECT.match(text, begin)
        if found is not None:
            self.place = found.end()
            if found[0].lstrip("0123456789") == "<<" or text.startswith("(", self.place):
                raise UnsureError
            return Token("redirect", begin, found[0])
        found = _OPERATOR.match(text, begin)
        if found is not None:
            self.place = found.end()
            return Token(found[0], begin, found[0])
        return self._word(begin)

    def follows(self, text: str) -> bool:
        """Whether a text stands right there."""
        return self._text.startswith(text, self.place)

    def _word(self, begin: int) -> Token:
        parts: list[Part] = []
        while self.place < len(self._text):
            more = self._parts()
            if not more:
                break
            parts += more
        raw = self._text[begin : self.place]
        if not raw or _STRANGE.search(raw) is not None:
            raise UnsureError
        return Token("word", begin, raw, _joined(parts))

    def _parts(self) -> list[Part]:
        """The next ones; none at the end of the word."""
        text, place = self._text, self.place
        plain = _PLAIN.match(text, place)
        if plain is not None:
            self.place = plain.end()
            return [Part(TEXT, plain[0])]
        letter = text[place]
        if letter == "\\":
            self.place += 2
            if self.place > len(text):
                raise UnsureError
            return [Part(TEXT) if text[place + 1] == "\n" else Part(TEXT, text[place + 1], is_quoted=True)]
        if letter == "'":
            return [Part(TEXT, self._until("'"), is_quoted=True)]
        if letter == '"':
            return self._in_quotes()
        if letter in "$`":
            return [self._expanded(is_quoted=False)]
        if letter in "*?[{~":
            self.place += 1
            if letter != "~":
                return [Part(SEVERAL, letter)]
            if place and text[place - 1] not in " \t\n=:":
                return [Part(TEXT, letter)]
            of_user = _OF_USER.match(text, self.place)
            self.place = of_user.end() if of_user else self.place
            return [Part(ONE) if of_user else Part(TILDE, letter)]
        found = _PLACEHOLDER.match(text, place) if self._is_for_readers else None
        if found is not None:
            self.place = found.end()
            return [Part(ONE)]
        return []

    def _until(self, quote: str) -> str:
        begin = self.place + 1
        line = self._text.find("\n", begin) if self._is_for_readers else -1
        end = self._text.find(quote, begin) if line < 0 else self._text.find(quote, begin, line)
        if end < 0:
            raise UnsureError
        self.place = end + 1
        return self._text[begin:end]

    def _in_quotes(self) -> list[Part]:
        text, parts = self._text, [Part(TEXT, "", is_quoted=True)]
        within = _IN_QUOTES_OF_A_LINE if self._is_for_readers else _IN_QUOTES
        self.place += 1
        while self.place < len(text):
            plain = within.match(text, self.place)
            if plain is not None:
                self.place = plain.end()
                parts.append(Part(TEXT, plain[0], is_quoted=True))
            elif text[self.place] == '"':
                self.place += 1
                return parts
            elif text[self.place] == "\\":
                following = text[self.place + 1 : self.place + 2]
                self.place += 2
                escaped = "" if following == "\n" else following if following in '$`"\\' else f"\\{following}"
                parts.append(Part(TEXT, escaped, is_quoted=True))
            elif text[self.place] == "\n":
                break
            else:
                parts.append(self._expanded(is_quoted=True))
        raise UnsureError

    def _expanded(self, *, is_quoted: bool) -> Part:
        """What `$` or a backtick begins."""
        text, place = self._text, self.place
        if text[place] == "`":
            inside = self._until("`")
            if "\\" in inside or "\n" in inside or "#" in inside or "<<" in inside or _NOT_IN_COMMANDS.search(inside):
                raise UnsureError
            return _command(inside, is_quoted=is_quoted)
        for pattern, build in ((_SIMPLE, _simple), (_BRACED, _braced), (_SUM, _sum)):
            found = pattern.match(text, place)
            if found is not None:
                self.place = found.end()
                return build(found, is_quoted)
        if text.startswith("$(", place) and not text.startswith("$((", place):
            return _command(self._in_brackets(), is_quoted=is_quoted)
        following = text[place + 1 : place + 2]
        if following in ("(", "{", "[") or (following in ("'", '"') and not is_quoted):
            raise UnsureError
        self.place += 1
        return Part(TEXT, "$", is_quoted=is_quoted)

    def _in_brackets(self) -> str:
        """The command of `$(...)`, of one line."""
        text, begin = self._text, self.place + 2
        self.place, self._depth = begin, self._depth + 1
        if self._depth > _DEEPEST:
            raise UnsureError
        while self.place < len(text):
            letter = text[self.place]
            if letter == ")":
                inside = text[begin : self.place]
                self.place, self._depth = self.place + 1, self._depth - 1
                if _NOT_IN_COMMANDS.search(inside) is not None:
                    raise UnsureError
                return inside
            if letter in "(\n#" or text.startswith("<<", self.place):
                raise UnsureError
            if letter in " \t;&|<>" or not self._parts():
                self.place += 1
        raise UnsureError


def _end(pattern: re.Pattern[str], text: str, place: int) -> int:
    found = pattern.match(text, place)
    return found.end() if found else place


def _joined(parts: list[Part]) -> tuple[Part, ...]:
    """Without empty ones, and texts that follow each other in one."""
    found: list[Part] = []
    texts: list[str] = []
    for at, part in enumerate(parts):
        if part.kind != TEXT:
            found.append(part)
            continue
        texts.append(part.text)
        following = parts[at + 1] if at + 1 < len(parts) else None
        if following is None or (following.kind, following.is_quoted) != (TEXT, part.is_quoted):
            if part.is_quoted or any(texts):
                found.append(Part(TEXT, "".join(texts), part.is_quoted))
            texts = []
    return tuple(found)


def _simple(found: re.Match[str], is_quoted: bool) -> Part:
    if found[1]:
        return Part(VARIABLE, found[1], is_quoted)
    return Part(ONE, "", is_quoted) if found[2] else _argument(found[3], is_quoted)


def _argument(name: str, is_quoted: bool, default: str | None = None) -> Part:
    """One of those with which the script is started."""
    return Part(SEVERAL, name) if name in "@*" else Part(VARIABLE, name, is_quoted, default)


def _braced(found: re.Match[str], is_quoted: bool) -> Part:
    if found[3]:
        return Part(ONE, "", is_quoted) if found[3][0] == "#" else Part(SEVERAL, found[3])
    default = found[2]
    is_for_unset = default is not None and found[0][2 + len(found[1])] == "-"
    return Part(VARIABLE, found[1], is_quoted, default.strip('"') if default is not None else None, is_for_unset)


def _sum(found: re.Match[str], is_quoted: bool) -> Part:
    return Part(NUMBER, found[1], is_quoted)


def _command(text: str, *, is_quoted: bool) -> Part:
    if (found := _FOLDER.fullmatch(text)) is not None:
        return Part(FOLDER, "." if found["p"] is None else "", is_quoted)
    return Part(ONE if _ONE_WORD.fullmatch(text) else COMMAND, text, is_quoted)
