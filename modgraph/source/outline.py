"""A file of which no more is parsed than is asked for: what stands at its top at once, each class and function alone.

The text is cut where a line without indentation begins a class, a function or a decorator. Where a cut could stand in a
string, the file is parsed whole: a string that is cut leaves an odd number of quotes, or no Python.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from modgraph.source.mangling import spell_private
from modgraph.source.quiet import python_tree
from modgraph.source.refusing_text import MAX_TOKENS
from modgraph.source.summaries import Summary, imports_torch, read_statement

# Each begins with a letter by itself, for which Python looks far faster than for the beginning of a line.
_BEGIN = re.compile(r"\n(?:(?:class|def|async[ ]def)\b|@)")
_HEAD = re.compile(r"\n(class|def|async[ ]def)[ \t]+(\w+)")
_END = re.compile(r"\n[^\s#)\]}]")
_CLASS_HEAD = re.compile(r"class[ \t]+\w+[ \t]*(?:\((?:[^()#'\"]|\([^()#'\"]*\))*\))?[ \t]*:")
_INNER_CLASS = re.compile(r"\n[ \t]+class\b")
_CLASS_IN_LINE = re.compile(r"class\b(?:(?<=[;:]class)|(?<=[;:][ ]class))")
_INNER_FORWARD = re.compile(r"def forward\b")
_SMALL = 4_000
"""Characters of a text that is as well parsed whole."""
Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class Part(NamedTuple):
    """A class or function at the top of a file."""

    is_class: bool
    name: str
    start: int
    end: int
    """Of its text."""
    line: int
    """In which it begins."""
    n_lines: int


class UncertainError(Exception):
    """The text has to be parsed whole."""


class Outline:
    """A text, cut.

    Raises:
        UncertainError: it is not certain where to cut.
        SyntaxError, ValueError, RecursionError, MemoryError: it is no Python, as far as it is parsed.
    """

    def __init__(self, text: str) -> None:
        if not _SMALL <= len(text) <= MAX_TOKENS or "\r" in text or "\f" in text:
            raise UncertainError
        self.text = text
        self.parts = list(_parts(text))
        names = [part.name for part in self.parts]
        if len(set(names)) < len(names):
            raise UncertainError
        self.rest = self._parsed_rest()
        """What stands at the top beside classes and functions."""
        self._nodes: dict[str, Definition] = {}

    def _parsed_rest(self) -> ast.Module:
        kept, at = [], 0
        for part in self.parts:
            kept += [self.text[at : part.start], "\n" * self.text.count("\n", part.start, part.end)]
            at = part.end
        rest = "".join((*kept, self.text[at:]))
        try:
            tree = python_tree(rest)
        except SyntaxError:
            raise UncertainError from None
        spell_private(tree, rest)
        names, lines = {part.name for part in self.parts}, [part.line for part in self.parts]
        for each in ast.walk(tree):
            if isinstance(each, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and each.name in names:
                raise UncertainError
            if isinstance(each, (ast.Constant, ast.JoinedStr)) and _spans(each, lines):
                raise UncertainError  # what looked like a definition is a part of a text
        return tree

    def node(self, part: Part) -> Definition:
        """A class or function, parsed."""
        if part.name not in self._nodes:
            # Below as many lines as there are before it, so that it is at its place.
            own = "\n" * (part.line - 1) + self.text[part.start : part.end]
            tree = python_tree(own)
            spell_private(tree, own)
            found = tree.body[0]
            if len(tree.body) != 1 or not isinstance(found, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                raise SyntaxError(f"no single definition of {part.name}")
            self._nodes[part.name] = found
        return self._nodes[part.name]

    def defined(self, name: str, *, is_class: bool) -> Definition | None:
        """The class or function of that name."""
        found = next((part for part in self.parts if part.name == name and part.is_class is is_class), None)
        return None if found is None else self.node(found)

    def has_class_inside(self, part: Part) -> bool:
        """A class may stand in it."""
        bounds = (self.text, part.start, part.end)
        return _INNER_CLASS.search(*bounds) is not None or _CLASS_IN_LINE.search(*bounds) is not None

    def has_inside(self, part: Part) -> bool:
        """A class, or a `forward`, may stand in it."""
        return _INNER_FORWARD.search(self.text, part.start, part.end) is not None or self.has_class_inside(part)

    def summary(self) -> Summary:
        """As `summarize` makes it of the whole tree."""
        found = Summary()
        for statement in self.rest.body:
            read_statement(statement, found)
        for part in self.parts:
            read_statement(self._in_short(part), found)
        found.has_torch = imports_torch(found)
        return found

    def _in_short(self, part: Part) -> ast.stmt:
        """As much of it as a summary needs: the names of functions, the heads of classes in which nothing stands."""
        if not part.is_class:
            nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
            return ast.FunctionDef(name=part.name, args=nothing, body=[], decorator_list=[])
        return self.node(part) if self.has_inside(part) else self.head(part)

    def head(self, part: Part) -> ast.stmt:
        """A class with its bases; what stands in its body may be missing."""
        if part.name in self._nodes:
            return self._nodes[part.name]
        head = None if self.text[part.start] == "@" else _CLASS_HEAD.match(self.text, part.start, part.end)
        return self.node(part) if head is None else python_tree(f"{head[0]} pass").body[0]


def _parts(text: str) -> Iterator[Part]:
    before = f"\n{text}"  # a line end before each line; so places in it are one further than in the text
    at, line, counted = 0, 1, 0
    while (begin := _BEGIN.search(before, at)) is not None:
        head = _HEAD.search(before, begin.start())
        if head is None or not head[2].isascii() or not _is_decorated(before, begin, head):
            raise UncertainError
        end = _END.search(before, head.end())
        start, at = begin.start(), end.start() if end is not None else len(text)
        own = text[start:at]
        if own.count('"""') % 2 or own.count("'''") % 2:
            raise UncertainError
        line += text.count("\n", counted, start)
        counted = start
        yield Part(head[1] == "class", head[2], start, at, line, own.count("\n"))


def _is_decorated(text: str, begin: re.Match[str], head: re.Match[str]) -> bool:
    """From the first decorator to what it is of, nothing begins but decorators."""
    at: re.Match[str] | None = begin
    while at is not None and at.start() < head.start():
        if not at[0].startswith("\n@"):
            return False
        at = _END.search(text, at.end())
    return at is not None and at.start() == head.start()


def _spans(node: ast.expr, lines: Sequence[int]) -> bool:
    """One of these lines is among those of a node; they are in order."""
    if node.end_lineno is None or node.end_lineno == node.lineno:
        return False
    at = bisect_left(lines, node.lineno)
    return at < len(lines) and lines[at] <= node.end_lineno
