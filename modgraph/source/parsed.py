"""A few lines of a file as a libcst tree, and the place in the file of every statement and call in it.

A tree comes without positions (libcst computes them too slowly); it is paired with the `ast` of the same lines, which
has them.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import cached_property

import libcst as cst

from modgraph.doors.memory import require_memory
from modgraph.graph.model import SourceLocation
from modgraph.source.mangling import bound_as, has_private, imported_as, mangle_syntax, mangled, spelled
from modgraph.source.quiet import python_tree


def local_names(function: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """Names that the body of a function binds, those it declares global or nonlocal left out."""
    found: set[str] = set()
    elsewhere: set[str] = set()
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                found.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(bound_as(node))
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            elsewhere.update(node.names)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update(map(imported_as, node.names))
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            found.update(_walruses(node))
        elif isinstance(node, ast.Lambda):
            pending.append(node.args)
        else:
            bound = getattr(node, "name", None) or getattr(node, "rest", None)
            if isinstance(bound, str):  # `except ... as name`, and the captures of a `match`
                found.add(bound)
            pending.extend(ast.iter_child_nodes(node))
    return frozenset(found - elsewhere)


def _walruses(comprehension: ast.AST) -> Iterator[str]:
    """Names that `:=` in a comprehension binds around it; that in a lambda binds a name of the lambda."""
    pending = [comprehension]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.NamedExpr):
            yield node.target.id
        pending.extend(ast.iter_child_nodes(node.args if isinstance(node, ast.Lambda) else node))


_INDENTED_BY_FORM_FEED = re.compile(r"^[ \t]*\f", re.MULTILINE)


def without_form_feeds(lines: Sequence[str]) -> Sequence[str]:
    """The lines with the indentation that Python counts, from the last form feed in it on, which libcst does not know;
    lines inside of a string are as they were."""
    text = "\n".join(lines)
    if not _INDENTED_BY_FORM_FEED.search(text):
        return lines
    indented = lines[0].lstrip("\f")[:1] in (" ", "\t")
    offset = 2 if indented else 1  # a block of its own, whose first line is line 2
    found = list(lines)
    last = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO("if 1:\n" + text if indented else text).readline):
            row, column = token.start
            if row > last and column and token.type not in (tokenize.INDENT, tokenize.DEDENT):
                line = found[row - offset]
                if not line[:column].strip(" \t\f"):
                    found[row - offset] = line[:column].rpartition("\f")[2] + line[column:]
            if token.type not in (tokenize.INDENT, tokenize.DEDENT):
                last = max(last, token.end[0] - (token.string == "\n"))
    except (tokenize.TokenError, SyntaxError, IndexError):
        pass  # libcst says what is wrong with it
    return found


_MAX_PAIRED = 300
"""Pieces of source that keep their `ast` beside their libcst tree: it is large, and asked for once per statement."""

_paired: deque[Parsed] = deque()


_TREE_BYTES = 32 * 2**20
_TREE_BYTES_OF_A_CHARACTER = 2_000
"""What the parser may take; of dense source 2,300 bytes a character were measured, with the nodes of Python."""


class Parsed:
    """The libcst tree of a few lines of a file, and the line of every statement and call in it."""

    def __init__(self, lines: Sequence[str], first_line: int, file: str, class_name: str | None = None) -> None:
        """`lines` hold whole statements of one indentation; the first of them is line `first_line` of `file`, and they
        stand in a class of that name.

        Raises:
            libcst.ParserSyntaxError: libcst does not know this syntax.
            MemoryError: there is too little memory for its tree.
        """
        self.file = file
        self.first_line = first_line
        lines = without_form_feeds(lines)
        first = lines[0]
        text = "\n".join([first, *lines[1:]]) + "\n"
        indented = first[:1] in (" ", "\t")
        # A block of its own keeps the indentation as it is; removing it would change strings of several lines.
        # Its parser is no Python: it ends the process where its memory ends.
        require_memory(_TREE_BYTES + len(text) * _TREE_BYTES_OF_A_CHARACTER)
        module = cst.parse_module("if 1:\n" + text if indented else text)
        self._offset = first_line - (2 if indented else 1)
        self._text = "if 1:\n" + text if indented else text
        self._indented = indented
        self._class_name = class_name
        self._private = has_private(text)
        self._bound: dict[int, str] = {}
        self._locations: dict[tuple[int, int], SourceLocation] = {}
        self._located: list[tuple[cst.CSTNode, cst.CSTNode | None]] = []
        """The nodes whose ids are keys of `_locations`, so that no other gets such an id."""
        outer: Sequence[cst.CSTNode] = module.body
        if indented:
            block = outer[0]
            assert isinstance(block, cst.If)
            outer = block.body.body
        self.statements: tuple[cst.BaseStatement, ...] = tuple(
            node for node in outer if isinstance(node, cst.BaseStatement)
        )
        if self._private or not text.isascii():
            for statement in self.statements:
                self._bound.update(_spell(statement, class_name))

    @cached_property
    def _pairs(self) -> dict[int, ast.stmt]:
        """id of a libcst statement -> the same in `ast`; ids are stable, as `self.statements` keeps the nodes."""
        pairs: dict[int, ast.stmt] = {}
        tree = python_tree(self._text)
        if self._private:
            mangle_syntax(tree, self._class_name)
        body = tree.body
        if self._indented:
            block = body[0]
            assert isinstance(block, ast.If)
            body = block.body
        _pair(self.statements, body, pairs)
        _paired.append(self)
        if len(_paired) > _MAX_PAIRED:
            vars(_paired.popleft()).pop("_pairs", None)
        return pairs

    def bound_as(self, node: cst.CSTNode, written: str) -> str:
        """The name that a definition, or a part of `import a.b`, binds."""
        return self._bound.get(id(node), written)

    def bound_by(self, function: cst.FunctionDef) -> frozenset[str]:
        """The names that a function in it binds by statements of its own: local ones, wherever it reads them."""
        node = self._pairs.get(id(function))
        return local_names(node) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else frozenset()

    @cached_property
    def _calls(self) -> dict[int, dict[int, int]]:
        return {}

    def mentions(self, word: str) -> bool:
        """The text of these lines has that word in it, or may have it, written otherwise."""
        return word in self._text or self._private or not self._text.isascii()

    def line(self, statement: cst.CSTNode) -> int:
        """1-based line of a statement; that of the first one for a node that is none."""
        found = self._pairs.get(id(statement))
        return self._offset + (found.lineno if found is not None else 1 + self._indented)

    def location(self, statement: cst.CSTNode, expression: cst.CSTNode | None = None) -> SourceLocation:
        """Place of `expression` (a call: where it begins) in `statement`, else of the statement."""
        key = (id(statement), id(expression))
        place = self._locations.get(key)
        if place is None:
            place = self._locations[key] = self._location(statement, expression)
            self._located.append((statement, expression))
        return place

    def _location(self, statement: cst.CSTNode, expression: cst.CSTNode | None) -> SourceLocation:
        found = self._pairs.get(id(statement))
        if found is None:
            return SourceLocation(self.file, self.line(statement))
        if expression is not None and (found.end_lineno != found.lineno):
            calls = self._calls.get(id(statement))
            if calls is None:
                calls = self._calls[id(statement)] = _pair_calls(statement, found)
            line = calls.get(id(expression))
            if line is not None:
                return SourceLocation(self.file, self._offset + line)
        return SourceLocation(self.file, self._offset + found.lineno)


def _pair(nodes: Sequence[cst.CSTNode], twins: Sequence[ast.stmt], pairs: dict[int, ast.stmt]) -> None:
    """Walks two trees of the same text side by side."""
    position = 0
    for node in nodes:
        if position >= len(twins):
            return
        if isinstance(node, cst.SimpleStatementLine):
            pairs[id(node)] = twins[position]
            for small in node.body:
                if position < len(twins):
                    pairs[id(small)] = twins[position]
                position += 1
            continue
        twin = twins[position]
        position += 1
        pairs[id(node)] = twin
        for suite, block in _suites(node, twin):
            _pair(suite, block, pairs)


def _suites(node: cst.CSTNode, twin: ast.stmt) -> Iterator[tuple[Sequence[cst.CSTNode], Sequence[ast.stmt]]]:
    body = getattr(node, "body", None)
    if isinstance(body, cst.BaseSuite):
        yield _inner(body), getattr(twin, "body", ())
    for handler, other in zip(getattr(node, "handlers", ()), getattr(twin, "handlers", ()), strict=False):
        yield _inner(handler.body), other.body
    for case, match_case in zip(getattr(node, "cases", ()), getattr(twin, "cases", ()), strict=False):
        yield _inner(case.body), match_case.body
    orelse = getattr(node, "orelse", None)
    if isinstance(orelse, cst.If):
        yield [orelse], getattr(twin, "orelse", ())
    elif isinstance(orelse, cst.Else):
        yield _inner(orelse.body), getattr(twin, "orelse", ())
    finalbody = getattr(node, "finalbody", None)
    if finalbody is not None:
        yield _inner(finalbody.body), getattr(twin, "finalbody", ())


def _inner(suite: cst.BaseSuite) -> Sequence[cst.CSTNode]:
    return suite.body


def _pair_calls(statement: cst.CSTNode, twin: ast.stmt) -> dict[int, int]:
    """id of a libcst call -> its first line, for the calls of one statement outside its blocks."""
    calls: list[int] = []
    _collect_calls(statement, calls)
    twins = sorted(
        (node for node in _walk_expressions(twin) if isinstance(node, ast.Call)),
        key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0),
    )
    if len(calls) != len(twins):
        return {}
    return {call: _begin(node) for call, node in zip(calls, twins, strict=True)}


def _begin(node: ast.Call) -> int:
    """The line of what is called: of `a\\n.b()` that of `.b`."""
    function = node.func
    return (function.end_lineno or node.lineno) if isinstance(function, ast.Attribute) else node.lineno


def _walk_expressions(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            yield child
            yield from _walk_expressions(child)


_FIELDS: dict[type[cst.CSTNode], tuple[str, ...]] = {}


def _collect_calls(node: cst.CSTNode, calls: list[int]) -> None:
    """ids of the calls below `node` in the order of their closing parentheses."""
    kind = type(node)
    names = _FIELDS.get(kind)
    if names is None:
        names = tuple(
            field.name for field in fields(kind) if "whitespace" not in field.name and field.name not in _TRIVIA
        )
        if kind is cst.IfExp:
            names = ("body", "test", "orelse")
        _FIELDS[kind] = names
    for name in names:
        value = getattr(node, name)
        if isinstance(value, cst.CSTNode):
            if not isinstance(value, (cst.BaseSuite, cst.Else, cst.Finally, cst.If)):
                _collect_calls(value, calls)
        elif isinstance(value, (list, tuple)):
            for item in value:
                if isinstance(item, cst.CSTNode) and not isinstance(item, (cst.ExceptHandler, cst.MatchCase)):
                    _collect_calls(item, calls)
    if kind is cst.Call:
        calls.append(id(node))


_TRIVIA = frozenset({"lpar", "rpar", "leading_lines", "lines_after_decorators", "comma", "semicolon", "dot", "equal"})


def _spell(tree: cst.CSTNode, class_name: str | None) -> dict[int, str]:
    """Spells the names of a tree as Python does.

    Returns:
        By id of a definition, or of a part of `import a.b`, what it binds, where that is not what is written.
    """
    bound: dict[int, str] = {}
    pending: list[tuple[cst.CSTNode, str | None]] = [(tree, class_name)]
    while pending:
        node, owner = pending.pop()
        if isinstance(node, cst.Name):
            # No other holds a node of a tree that was just parsed.
            object.__setattr__(node, "value", spelled(node.value, owner))
            continue
        pending.extend(_parts(node, owner, bound))
    return bound


def _parts(node: cst.CSTNode, owner: str | None, bound: dict[int, str]) -> Iterator[tuple[cst.CSTNode, str | None]]:
    left: tuple[object, ...] = ()
    inside: object = None
    if isinstance(node, (cst.ClassDef, cst.FunctionDef)):
        left = (node.name,)
        object.__setattr__(node.name, "value", spelled(node.name.value, None))
        bound[id(node)] = mangled(node.name.value, owner)
        inside = node.body if isinstance(node, cst.ClassDef) else None
    elif isinstance(node, cst.Arg):
        left = (node.keyword,)
    elif isinstance(node, cst.MatchKeywordElement):
        left = (node.key,)
    elif isinstance(node, cst.ImportAlias) and isinstance(node.name, cst.Attribute):
        left = (node.name,)
        bound[id(node)] = mangled(_first(node.name), owner)
    elif isinstance(node, cst.ImportFrom) and isinstance(node.module, cst.Attribute):
        left = (node.module,)
    for each in left:
        if isinstance(each, cst.CSTNode):
            yield each, None
    for child in node.children:
        if not any(child is each for each in left):
            yield child, node.name.value if child is inside and isinstance(node, cst.ClassDef) else owner


def _first(node: cst.BaseExpression) -> str:
    while isinstance(node, cst.Attribute):
        node = node.value
    return node.value if isinstance(node, cst.Name) else ""
