"""Import path -> `SourceModule`: a file's index, and libcst trees of single statements, parsed when they are reached.

Nothing is imported: a `ModuleFinder` looks for files as Python's own path finder does. A statement's tree comes without
positions (libcst computes them too slowly); `Parsed` pairs it with the `ast` of the same lines, which has them.
"""

from __future__ import annotations

import ast
import importlib.machinery
import os
import re
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

import libcst as cst

from modgraph.errors import TargetError
from modgraph.graph.model import SourceLocation
from modgraph.source.files import decode
from modgraph.source.index import Definition, ModuleIndex, Statement
from modgraph.source.index_cache import indexed
from modgraph.source.literals import assigned_literal

_WORD = re.compile(r"[^\W\d]\w*")
_EXTENSIONS = tuple(importlib.machinery.EXTENSION_SUFFIXES)


class SourceError(TargetError):
    """A file that cannot be read as Python: says where."""


def decode_source(data: bytes) -> str:
    """The text of a Python file: its own encoding (PEP 263, BOM), newlines as "\\n".

    Raises:
        SyntaxError: the encoding it declares does not exist or does not fit.
    """
    return decode(data).replace("\r\n", "\n").replace("\r", "\n")


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
            found.add(node.name)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            elsewhere.update(node.names)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update((each.asname or each.name).partition(".")[0] for each in node.names)
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)):
            found.update(each.target.id for each in ast.walk(node) if isinstance(each, ast.NamedExpr))
        else:
            bound = getattr(node, "name", None) or getattr(node, "rest", None)
            if isinstance(bound, str):  # `except ... as name`, and the captures of a `match`
                found.add(bound)
            pending.extend(ast.iter_child_nodes(node))
    return frozenset(found - elsewhere)


_MAX_PAIRED = 300
"""Pieces of source that keep their `ast` beside their libcst tree: it is large, and asked for once per statement."""

_paired: deque[Parsed] = deque()


def plain(word: str) -> str:
    """A name without what tells its styles apart: "ConvHead" and "conv_head" are the same."""
    return word.replace("_", "").lower()


class Parsed:
    """The libcst tree of a few lines of a file, and the line of every statement and call in it."""

    def __init__(self, lines: Sequence[str], first_line: int, file: str) -> None:
        """`lines` hold whole statements of one indentation; the first of them is line `first_line` of `file`.

        Raises:
            libcst.ParserSyntaxError: libcst does not know this syntax.
        """
        self.file = file
        self.first_line = first_line
        first = lines[0].lstrip("\f")
        text = "\n".join([first, *lines[1:]]) + "\n"
        indented = first[:1] in (" ", "\t")
        # A block of its own keeps the indentation as it is; removing it would change strings of several lines.
        module = cst.parse_module("if 1:\n" + text if indented else text)
        self._offset = first_line - (2 if indented else 1)
        self._text = "if 1:\n" + text if indented else text
        self._indented = indented
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

    @cached_property
    def _pairs(self) -> dict[int, ast.stmt]:
        """id of a libcst statement -> the same in `ast`; ids are stable, as `self.statements` keeps the nodes."""
        pairs: dict[int, ast.stmt] = {}
        body = ast.parse(self._text).body
        if self._indented:
            block = body[0]
            assert isinstance(block, ast.If)
            body = block.body
        _pair(self.statements, body, pairs)
        _paired.append(self)
        if len(_paired) > _MAX_PAIRED:
            vars(_paired.popleft()).pop("_pairs", None)
        return pairs

    def bound_by(self, function: cst.FunctionDef) -> frozenset[str]:
        """The names that a function in it binds by statements of its own: local ones, wherever it reads them."""
        node = self._pairs.get(id(function))
        return local_names(node) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else frozenset()

    @cached_property
    def _calls(self) -> dict[int, dict[int, int]]:
        return {}

    def mentions(self, word: str) -> bool:
        """The text of these lines has that word in it."""
        return word in self._text

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


class SourceModule:
    """A module as a file: its index at once, its statements' trees when asked for."""

    def __init__(self, name: str, path: Path, file: str, is_package: bool) -> None:
        self.name = name
        """Import name: "torch.nn.modules.conv"."""
        self.path = path
        self.file = file
        """For a SourceLocation: relative to the directory from which it is importable."""
        self.is_package = is_package
        self._parsed: dict[tuple[int, int], Parsed] = {}

    @cached_property
    def text(self) -> str:
        """Raises SourceError where the file cannot be read or decoded."""
        try:
            with open(self.path, "rb") as file:
                return decode_source(file.read())
        except OSError as error:
            raise SourceError(f"cannot be read: {error.strerror}", file=self.file) from error
        except SyntaxError as error:
            raise SourceError(error.msg, file=self.file, line=error.lineno or 1) from error

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def words(self) -> frozenset[str]:
        """Every name and keyword in the text, also in its strings and comments; none where it cannot be read."""
        try:
            return frozenset(map(sys.intern, set(_WORD.findall(self.text))))
        except SourceError:
            return frozenset()

    @cached_property
    def plain_words(self) -> frozenset[str]:
        """The same, however they are written."""
        return frozenset(map(sys.intern, map(plain, self.words)))

    @cached_property
    def index(self) -> ModuleIndex:
        """Raises SourceError (with file, line, column, text) where the file is no Python."""
        try:
            return indexed(self.text, self.file)
        except SyntaxError as error:
            said = error.msg if error.msg.startswith("invalid syntax") else f"invalid syntax: {error.msg}"
            raise SourceError(said, file=self.file, line=error.lineno, column=error.offset, text=error.text) from error
        except (ValueError, RecursionError, MemoryError) as error:
            raise SourceError(f"cannot be parsed: {error or 'nested too deeply'}", file=self.file) from error

    @property
    def package(self) -> str:
        """What relative imports start from."""
        return self.name if self.is_package else self.name.rpartition(".")[0]

    def absolute(self, module: str, level: int) -> str:
        """The import name of a relative import: absolute("conv", 1) in torch.nn.modules.rnn."""
        if level == 0:
            return module
        parts = self.package.split(".")
        base = ".".join(parts[: len(parts) - level + 1])
        return f"{base}.{module}" if module and base else base or module

    def parse(self, first_line: int, last_line: int) -> Parsed:
        """The tree of these lines, which must hold whole statements.

        Raises:
            SourceError: libcst does not know this syntax.
        """
        key = (first_line, last_line)
        found = self._parsed.get(key)
        if found is None:
            found = self._parsed[key] = self._parse(self.lines[first_line - 1 : last_line], first_line)
        return found

    def definition(self, name: str) -> Parsed:
        """The tree of a class or function by qualified name; its one statement is the definition.

        Raises:
            KeyError: there is none of that name.
        """
        definition = self.index.definitions[name]
        return self.parse(definition.first_line, definition.last_line)

    def statement(self, statement: Statement) -> Parsed:
        return self.parse(statement.first_line, statement.last_line)

    def literal(self, statement: Statement) -> tuple[str, object] | None:
        """Name and value of a statement that gives one name a plain literal, as most of a config class do, or a long
        list of such: no tree of libcst is needed for it, and making one takes a hundred times as long."""
        if statement.kind != "assign":
            return None
        return assigned_literal(self.lines[statement.first_line - 1 : statement.last_line])

    def header(self, definition: Definition) -> Parsed:
        """The tree of a class with `pass` for its body: decorators and bases, at no cost for the methods."""
        if definition.inline:
            return self.parse(definition.first_line, definition.last_line)
        key = (definition.first_line, -definition.body_line)
        found = self._parsed.get(key)
        if found is None:
            lines = self.lines[definition.first_line - 1 : definition.body_line - 1]
            body = self.lines[definition.body_line - 1]
            indentation = body[: len(body) - len(body.lstrip(" \t\f"))]
            found = self._parsed[key] = self._parse([*lines, f"{indentation}pass"], definition.first_line)
        return found

    def _parse(self, lines: Sequence[str], first_line: int) -> Parsed:
        try:
            return Parsed(lines, first_line, self.file)
        except (cst.ParserSyntaxError, RecursionError, ValueError) as error:
            raise SourceError(f"libcst cannot parse this: {error}", file=self.file, line=first_line) from error


@dataclass(frozen=True)
class NamespacePackage:
    """Directories without `__init__.py` that together are a package."""

    name: str
    directories: tuple[str, ...]


@dataclass(frozen=True)
class CompiledModule:
    """A module that exists, without Python source: built in, or an extension."""

    name: str


Found = SourceModule | NamespacePackage | CompiledModule


class ModuleFinder:
    """Finds modules below a search path, without importing anything; remembers what it found.

    `fallback` are further roots, searched only for packages that no entry of the search path has.
    """

    def __init__(self, search_path: Sequence[str | os.PathLike[str]], fallback: Sequence[str] = ()) -> None:
        self.roots = tuple(dict.fromkeys(os.path.abspath(os.fspath(entry) or ".") for entry in search_path))
        self.fallback = tuple(fallback)
        self._found: dict[str, Found | None] = {}
        self._listed: dict[str, frozenset[str]] = {}
        self.imports: dict[str, tuple[list[tuple[int, str]], str | None]] = {}
        """Of modules that were looked at: line and name of what they import, and why there may be more."""

    def add(self, module: SourceModule) -> None:
        """Makes a module findable under its name, whatever the path says: the file of a target."""
        self._found[module.name] = module

    def find(self, name: str) -> Found | None:
        """The module of that import name; None where nothing on the path has it."""
        if name not in self._found:
            self._found[name] = self._search(name)
        return self._found[name]

    def source(self, name: str) -> SourceModule | None:
        return found if isinstance(found := self.find(name), SourceModule) else None

    @property
    def files_read(self) -> list[str]:
        """Of the modules whose text was asked for."""
        return [str(m.path) for m in self._found.values() if isinstance(m, SourceModule) and "text" in vars(m)]

    def _search(self, name: str) -> Found | None:
        parent, _, last = name.rpartition(".")
        if not last.isidentifier() and not last.replace("-", "_").isidentifier():
            return None
        if parent:
            package = self.find(parent)
            if isinstance(package, SourceModule) and package.is_package:
                return self._in_directories(name, last, [str(package.path.parent)])
            if isinstance(package, NamespacePackage):
                return self._in_directories(name, last, package.directories)
            return CompiledModule(name) if f"{name}" in sys.builtin_module_names else None
        if name in sys.builtin_module_names:
            return CompiledModule(name)
        found = self._in_directories(name, last, self.roots)
        if (found is None or isinstance(found, NamespacePackage)) and self.fallback:
            found = self._in_directories(name, last, self.fallback) or found
        return found

    def _in_directories(self, name: str, last: str, directories: Sequence[str]) -> Found | None:
        namespace: list[str] = []
        for directory in directories:
            entries = self._entries(directory)
            base = os.path.join(directory, last)
            is_directory = last in entries and os.path.isdir(base)
            if is_directory and "__init__.py" in self._entries(base):
                return self._module(name, os.path.join(base, "__init__.py"), directory, True)
            if f"{last}.py" in entries and os.path.isfile(f"{base}.py"):
                return self._module(name, f"{base}.py", directory, False)
            if any(last + extension in entries for extension in _EXTENSIONS):
                return CompiledModule(name)
            if is_directory:
                namespace.append(base)
        return NamespacePackage(name, tuple(namespace)) if namespace else None

    def _entries(self, directory: str) -> frozenset[str]:
        """What lies in a directory; listed once, as most names that are asked for are of no file."""
        found = self._listed.get(directory)
        if found is None:
            try:
                found = frozenset(os.listdir(directory))
            except OSError:
                found = frozenset()
            self._listed[directory] = found
        return found

    def _module(self, name: str, path: str, directory: str, is_package: bool) -> SourceModule:
        parent = name.rpartition(".")[0].replace(".", "/")
        file = (f"{parent}/" if parent else "") + os.path.relpath(path, directory).replace(os.sep, "/")
        return SourceModule(name, Path(path), file, is_package)


BUNDLED = Path(__file__).parents[1] / "prediction" / "knowledge" / "torch_stubs"
"""Source of torch's modules that comes with modgraph: read where torch itself is not on the path, never imported."""


def finder_for(search_path: Sequence[str | os.PathLike[str]]) -> ModuleFinder:
    """A finder below `search_path`, with the bundled source of torch for where torch is not there."""
    return ModuleFinder(search_path, (str(BUNDLED),))
