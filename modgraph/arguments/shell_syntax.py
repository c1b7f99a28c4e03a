"""Commands of a shell, as far as they are of a few forms that are understood whole."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from modgraph.arguments.shell_words import Token, UnsureError, Words


@dataclass(frozen=True, slots=True)
class Simple:
    """One that names a program, or gives variables values."""

    place: int
    words: tuple[Token, ...]
    redirects: tuple[tuple[str, Token], ...]
    is_test: bool = False
    """`[[ ... ]]`."""
    array: str = ""
    """The variable of `NAME=(...)`."""


@dataclass(frozen=True, slots=True)
class Group:
    """Of several, in braces or brackets, with `if`, `for`, `while` before them, or in a function."""

    kind: str
    """Its first word; "function" too."""
    bodies: tuple[Commands, ...]
    """Of `if`: tests and arms, in their order."""
    name: str = ""
    """Of a function; the variable of a loop."""
    words: tuple[Token, ...] | None = None
    """Over which a loop goes; None of one over the arguments of the script."""
    counts: tuple[int, bool] | None = None
    """Of `for ((...))`: the first number, and whether there is another one."""
    redirects: tuple[tuple[str, Token], ...] = ()


Command = Simple | Group


@dataclass(frozen=True, slots=True)
class Pipe:
    """Commands, each of which reads what the one before writes."""

    parts: tuple[Command, ...]
    is_negated: bool


@dataclass(frozen=True, slots=True)
class Chain:
    """Of `&&` and `||`."""

    pipes: tuple[Pipe, ...]
    operators: tuple[str, ...]
    is_behind: bool
    """Its end is not waited for (`&`)."""


Commands = tuple[Chain, ...]
_CLOSE = frozenset(["then", "elif", "else", "fi", "do", "done", "}", "]]", "in", "esac"])
_NOT_READ = frozenset(["case", "select", "coproc"])
_FUNCTION = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
_COUNTING = re.compile(
    r"\(\(\s*([A-Za-z_]\w*)\s*=\s*(0|[1-9]\d{0,8})\s*;\s*\1\s*(<=?)\s*(0|[1-9]\d{0,8})\s*;"
    r"\s*(?:\1\s*\+\+|\+\+\s*\1|\1\s*\+=\s*[1-9]\d?)\s*\)\)",
    re.ASCII,
)
_DEEPEST = 30


class Reader:
    """Of one text.

    Args:
        is_posix: the shell may be another one than bash.
    """

    def __init__(self, text: str, *, is_for_readers: bool = False, is_posix: bool = False) -> None:
        self._text, self._is_posix = text, is_posix
        self._words = Words(text, is_for_readers=is_for_readers)
        self._read: Token | None = None
        self._depth = 0
        self.begin = 0
        """Where the last command that was asked for begins."""

    def next(self) -> Commands | None:
        """What bash reads before it runs it: to the end of a line, or of the block that begins in it. None at the end.

        Raises:
            UnsureError: it is not understood.
        """
        while True:
            if self._read is None:
                self.begin = self._words.place
            if self._peek().kind != "\n":
                break
            self._take()
        self.begin = self._peek().place
        return None if self._peek().kind == "end" else self._commands(to_the_line=True)

    def skip_line(self) -> bool:
        """Go on behind the line that was not understood; whether there is one."""
        line = self._text.find("\n", self.begin)
        self._words.place, self._read, self._depth = line + 1, None, 0
        return line >= 0

    def _peek(self) -> Token:
        if self._read is None:
            self._read = self._words.next()
        return self._read

    def _take(self, *raw: str) -> Token:
        token = self._peek()
        if raw and token.raw not in raw:
            raise UnsureError
        self._read = None
        return token

    def _past_lines(self) -> None:
        while self._peek().kind == "\n":
            self._take()

    def _commands(self, *, to_the_line: bool = False) -> Commands:
        found: list[Chain] = []
        while True:
            if not to_the_line:
                self._past_lines()
                if self._peek().kind in (")", "end") or self._peek().raw in _CLOSE:
                    break
            elif self._peek().kind in ("\n", "end"):
                break
            chain = self._chain()
            end = self._peek().kind
            if end in ("&", ";") or (end == "\n" and not to_the_line):
                self._take()
            elif end != ")" and end not in ("\n", "end"):
                raise UnsureError
            found.append(replace(chain, is_behind=end == "&"))
            if end == ")" and to_the_line:
                raise UnsureError
        if not found:
            raise UnsureError
        return tuple(found)

    def _chain(self) -> Chain:
        pipes, operators = [self._pipe()], []
        while self._peek().kind in ("&&", "||"):
            operators.append(self._take().kind)
            self._past_lines()
            pipes.append(self._pipe())
        return Chain(tuple(pipes), tuple(operators), is_behind=False)

    def _pipe(self) -> Pipe:
        is_negated = False
        while self._peek().raw in ("!", "time"):
            is_negated ^= self._take().raw == "!"
        parts = [self._command()]
        while self._peek().kind in ("|", "|&"):
            if self._take().kind == "|&" and self._is_posix:
                raise UnsureError
            self._past_lines()
            parts.append(self._command())
        return Pipe(tuple(parts), is_negated)

    def _command(self) -> Command:
        self._depth += 1
        token = self._peek()
        if self._depth > _DEEPEST or token.raw in _CLOSE or token.raw in _NOT_READ:
            raise UnsureError
        builds = {"{": self._braces, "(": self._brackets, "if": self._if, "for": self._for, "function": self._function}
        if token.raw in ("while", "until"):
            found: Command = self._while()
        elif token.raw in builds:
            found = builds[token.raw]()
        else:
            found = self._simple()
        self._depth -= 1
        return found

    def _block(self, opens: str, closes: str) -> Commands:
        self._take(opens)
        found = self._commands()
        self._take(closes)
        return found

    def _braces(self) -> Group:
        return Group("{", (self._block("{", "}"),), redirects=self._redirects())

    def _brackets(self) -> Group:
        self._take("(")
        if self._words.follows("("):  # a sum
            raise UnsureError
        found = self._commands()
        self._take(")")
        return Group("(", (found,), redirects=self._redirects())

    def _if(self) -> Group:
        bodies: list[Commands] = []
        word = self._take("if").raw
        while word in ("if", "elif"):
            bodies.append(self._commands())
            self._take("then")
            bodies.append(self._commands())
            word = self._take("elif", "else", "fi").raw
        if word == "else":
            bodies.append(self._commands())
            self._take("fi")
        return Group("if", tuple(bodies), redirects=self._redirects())

    def _while(self) -> Group:
        kind = self._take().raw
        test = self._commands()
        return Group(kind, (test, self._block("do", "done")), redirects=self._redirects())

    def _for(self) -> Group:
        counting = _COUNTING.match(self._text, self._words.place + self._blanks())
        self._take("for")
        if counting is not None and not self._is_posix:
            self._words.place = counting.end()
            first, last = int(counting[2]), int(counting[4])
            counts = first, first < last or (first == last and counting[3] == "<=")
            name, words = counting[1], None
        else:
            counts = None
            name = self._take().raw
            words = self._over() if _FUNCTION.fullmatch(name) else None
        if self._peek().kind == ";":
            self._take()
        self._past_lines()
        return Group("for", (self._block("do", "done"),), name, words, counts, self._redirects())

    def _blanks(self) -> int:
        place = self._words.place
        return len(self._text[place : place + 20]) - len(self._text[place : place + 20].lstrip(" \t"))

    def _over(self) -> tuple[Token, ...] | None:
        """The words of a loop."""
        self._past_lines()
        if self._peek().raw != "in":
            return None
        self._take()
        words: list[Token] = []
        while self._peek().kind == "word":
            words.append(self._take())
        if self._peek().kind not in (";", "\n"):
            raise UnsureError
        return tuple(words)

    def _function(self) -> Group:
        self._take("function")
        name = self._take()
        if self._is_posix or name.kind != "word" or _FUNCTION.fullmatch(name.raw) is None:
            raise UnsureError
        if self._peek().kind == "(":
            self._take()
            self._take(")")
        return self._body(name.raw)

    def _body(self, name: str) -> Group:
        self._past_lines()
        if self._peek().raw not in ("{", "("):
            raise UnsureError
        return Group("function", ((Chain((Pipe((self._command(),), False),), (), is_behind=False),),), name)

    def _redirects(self) -> tuple[tuple[str, Token], ...]:
        found = []
        while self._peek().kind == "redirect":
            found.append(self._redirect())
        return tuple(found)

    def _redirect(self) -> tuple[str, Token]:
        operator = self._take().raw
        if self._peek().kind != "word":
            raise UnsureError
        token = self._take()
        if self._is_posix:
            kind = operator.lstrip("0123456789")
            is_number = token.raw.isdecimal() or token.raw == "-"
            if kind in ("&>", "&>>", "<<<") or (kind in ("<&", ">&") and not is_number):
                raise UnsureError
        return operator, token

    def _simple(self) -> Command:
        place, words, redirects = self._peek().place, list[Token](), list[tuple[str, Token]]()
        if self._peek().raw == "[[":
            return self._test()
        while True:
            token = self._peek()
            if token.kind == "redirect":
                redirects.append(self._redirect())
            elif token.kind == "word":
                words.append(self._take())
                if token.raw.endswith("=") and not token.parts[1:] and token.assigns() and self._words.follows("("):
                    return self._array(token)
            elif token.kind == "(" and len(words) == 1 and not redirects and _FUNCTION.fullmatch(words[0].raw):
                self._take()
                self._take(")")
                return self._body(words[0].raw)
            else:
                break
        if not (words or redirects) or self._peek().kind == "(":
            raise UnsureError
        return Simple(place, tuple(words), tuple(redirects))

    def _array(self, name: Token) -> Simple:
        """Of one line."""
        self._take("(")
        words = []
        while self._peek().kind == "word":
            words.append(self._take())
        self._take(")")
        found = name.assigns()
        if self._is_posix or found is None or self._peek().kind in ("word", "redirect", "("):
            raise UnsureError
        return Simple(name.place, tuple(words), (), array=found[1])

    def _test(self) -> Simple:
        place = self._take("[[").place
        words: list[Token] = []
        while self._peek().raw != "]]":
            token = self._take()
            if token.kind not in ("word", "&&", "||") and token.raw not in ("<", ">"):
                raise UnsureError
            words += [token] if token.kind == "word" else []
        self._take()
        if self._is_posix or not words:
            raise UnsureError
        return Simple(place, tuple(words), self._redirects(), is_test=True)
