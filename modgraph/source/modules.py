"""Import path -> `SourceModule`: a file's index, and libcst trees of single statements, parsed when they are reached.

Nothing is imported: a `ModuleFinder` looks for files as Python's own path finder does.
"""

from __future__ import annotations

import importlib.machinery
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

import libcst as cst

from modgraph.doors.reading import leads_out, lies_in, read
from modgraph.errors import TargetError
from modgraph.source.files import decode, repository_of
from modgraph.source.index import Definition, ModuleIndex, Statement
from modgraph.source.index_cache import indexed
from modgraph.source.literals import assigned_literal
from modgraph.source.nesting import MAX_NESTING, depth_of
from modgraph.source.parsed import Parsed

BYTES_READ, BYTES_SEARCHED, BYTES_INDEXED = 100, 10, 4
"""How much of a file is read, searched for words, and indexed in a unit of work: about a microsecond. An index counts
the same where it is kept on disk, so that what is foretold does not depend on what was read before."""
UNITS_OF_A_TREE, UNITS_PARSED = 10, 2
"""Units that libcst needs for a piece of source, and for each character of it."""

_WORD = re.compile(r"[^\W\d]\w*")
_TOKEN = re.compile(r"\"\"\"[\s\S]*?\"\"\"|\w+|[^\w\s]|\n")
MAX_TOKENS = 500_000
"""Words, signs and line ends of one file; `ast` takes up to 1 KB for each. Of a file of Python's length a tenth."""
MAX_PARSED_TOKENS = 300_000
"""The same of all statements that are parsed for one prediction; libcst takes up to 3 KB for each, and keeps it."""
_MAX_KEPT = 64
_MAX_KEPT_TEXT = 4_000_000
"""Texts, and characters of them all, whose facts are kept in memory: of a file with many models, each prediction asks
for the same."""
_ASKED_OFTEN = 20
"""Names looked for in a text one by one; for more, its words are collected."""
_EXTENSIONS = tuple(importlib.machinery.EXTENSION_SUFFIXES)

_BINDS_UNWRITTEN = re.compile(
    r"\bimport\s*\*|\b(?:globals|locals|vars|exec|eval|setattr|__import__|__dict__|__getattr__|import_module)\b|"
    r"\bsys\.modules\b"
)
"""What the text of a module has in it that binds names which stand nowhere in it."""


class SourceError(TargetError):
    """A file that cannot be read as Python: says where."""


def decode_source(data: bytes) -> str:
    """The text of a Python file: its own encoding (PEP 263, BOM), newlines as "\\n".

    Raises:
        SyntaxError: the encoding it declares does not exist or does not fit.
    """
    return decode(data).replace("\r\n", "\n").replace("\r", "\n")


def _for_nothing(units: int) -> None:
    """Who reads it outside of a prediction has no budget."""


def plain(word: str) -> str:
    """A name without what tells its styles apart: "ConvHead" and "conv_head" are the same."""
    return word.replace("_", "").lower()


def n_tokens(text: str, most: int) -> int:
    """How many words, signs and line ends a text has, counted up to `most` and one more; a text in three quotes is
    one."""
    return sum(1 for _ in islice(_TOKEN.finditer(text), most + 1))


@dataclass
class ParsedTokens:
    """What libcst was given for one prediction."""

    spent: int = 0


class TextFacts:
    """What a text of Python says by itself, whichever module it is of."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.searches: dict[re.Pattern[str], bool] = {}
        self._index: ModuleIndex | None = None

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(map(sys.intern, set(_WORD.findall(self.text))))

    @cached_property
    def plain_words(self) -> frozenset[str]:
        return frozenset(map(sys.intern, map(plain, self.words)))

    def has(self, pattern: re.Pattern[str]) -> bool:
        """Whether the pattern matches somewhere in it."""
        if pattern not in self.searches:
            self.searches[pattern] = pattern.search(self.text) is not None
        return self.searches[pattern]

    def index(self, file: str) -> ModuleIndex:
        """Raises as `index.read_index` does."""
        if self._index is None:
            self._index = indexed(self.text, file)
        return self._index


_kept: dict[str, TextFacts] = {}


def facts_of(text: str) -> TextFacts:
    """The facts of a text; of the latest texts always the same object."""
    found = _kept.pop(text, None) or TextFacts(text)
    _kept[text] = found
    while len(_kept) > _MAX_KEPT or (len(_kept) > 1 and sum(map(len, _kept)) > _MAX_KEPT_TEXT):
        del _kept[next(iter(_kept))]
    return found


class SourceModule:
    """A module as a file: its index at once, its statements' trees when asked for."""

    def __init__(self, name: str, path: Path, file: str, is_package: bool) -> None:
        self.name = name
        """Import name: "torch.nn.modules.conv"."""
        self.path = path
        self.file = file
        """For a SourceLocation: relative to the directory from which it is importable."""
        self.is_package = is_package
        self.spend: Callable[[int], None] = _for_nothing
        """Told what reading it costs, before it is done."""
        self._parsed: dict[tuple[int, int], Parsed] = {}
        self._n_asked = 0
        self.tokens = ParsedTokens()
        """Shared by the modules of one finder."""

    @cached_property
    def text(self) -> str:
        """Raises SourceError where the file cannot be read or decoded, or is longer than what can be parsed."""
        try:
            data = read(self.path)
            self.spend(len(data) // BYTES_READ)
            text = decode_source(data)
        except OSError as error:
            raise SourceError(f"cannot be read: {error.strerror}", file=self.file) from error
        except SyntaxError as error:
            raise SourceError(error.msg, file=self.file, line=error.lineno or 1) from error
        if len(text) > MAX_TOKENS and n_tokens(text, MAX_TOKENS) > MAX_TOKENS:
            raise SourceError(
                f"{self.file} is too long to be read: more than {MAX_TOKENS:,} words and signs", file=self.file
            )
        return text

    @cached_property
    def facts(self) -> TextFacts:
        return facts_of(self.text)

    @property
    def lines(self) -> list[str]:
        return self.facts.lines

    @cached_property
    def words(self) -> frozenset[str]:
        """Every name and keyword in the text, also in its strings and comments; none where it cannot be read."""
        try:
            self.spend(len(self.text) // BYTES_SEARCHED)
            return self.facts.words
        except SourceError:
            return frozenset()

    @cached_property
    def plain_words(self) -> frozenset[str]:
        """The same, however they are written."""
        try:
            return self.facts.plain_words
        except SourceError:
            return frozenset()

    def may_bind(self, name: str) -> bool:
        """Whether importing it could bind that name: no where its text neither has it nor makes names up. Asked before
        the index is made, which takes longer than to read the text a hundred times over."""
        if self.is_package or "index" in vars(self) or not name.isascii():
            return True
        try:
            self._n_asked += 1
            stands_there = name in (self.text if self._n_asked < _ASKED_OFTEN else self.words)
            return stands_there or self.facts.has(_BINDS_UNWRITTEN)
        except SourceError:
            return True

    @cached_property
    def index(self) -> ModuleIndex:
        """Raises SourceError (with file, line, column, text) where the file is no Python."""
        try:
            self.spend(len(self.text) // BYTES_INDEXED)
            return self.facts.index(self.file)
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
        self.spend(UNITS_OF_A_TREE + sum(map(len, lines)) * UNITS_PARSED)
        depth = depth_of(lines)
        if depth > MAX_NESTING:
            raise SourceError(f"nested more than {MAX_NESTING} levels deep", file=self.file, line=first_line)
        self.spend(depth * depth // 2)
        left = MAX_PARSED_TOKENS - self.tokens.spent
        spent = sum(n_tokens(line, left) + 1 for line in lines) if sum(map(len, lines)) > 200 else len(lines)
        if spent > left:
            why = f"more than {MAX_PARSED_TOKENS:,} words and signs of source are needed"
            raise SourceError(why, file=self.file, line=first_line)
        self.tokens.spent += spent
        try:
            return Parsed(lines, first_line, self.file)
        except (cst.ParserSyntaxError, SyntaxError, RecursionError, MemoryError, ValueError) as error:
            raise SourceError(f"libcst cannot parse this: {error}", file=self.file, line=first_line) from error
        except BaseException as error:  # a panic of its native parser is none of `Exception`
            if type(error).__name__ != "PanicException":
                raise
            raise SourceError("libcst cannot parse this: its parser failed", file=self.file, line=first_line) from error


@dataclass(frozen=True)
class NamespacePackage:
    """Directories without `__init__.py` that together are a package."""

    name: str
    directories: tuple[str, ...]


@dataclass(frozen=True)
class CompiledModule:
    """A module that exists, without Python source: built in, or an extension."""

    name: str
    path: Path | None = None
    """None for one that is built in."""


Found = SourceModule | NamespacePackage | CompiledModule


_LIBRARY = os.path.dirname(os.__file__)


class Shared:
    """What several finders on one search path know, while no file changes: modules with what was read and parsed of
    them. For those who ask for many targets of one file."""

    def __init__(self) -> None:
        self.modules: dict[tuple[str, str], SourceModule] = {}
        self.listed: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
        self.imports: dict[SourceModule, tuple[list[tuple[int, str]], str | None]] = {}


class ModuleFinder:
    """Finds modules below a search path, without importing anything; remembers what it found.

    `fallback` are further roots, searched only for packages that no entry of the search path has.
    """

    def __init__(self, search_path: Sequence[str | os.PathLike[str]], fallback: Sequence[str] = ()) -> None:
        self.roots = tuple(dict.fromkeys(os.path.abspath(os.fspath(entry) or ".") for entry in search_path))
        self.fallback = tuple(fallback)
        self.spend: Callable[[int], None] = _for_nothing
        """Given to the modules that are found: told what reading them costs."""
        self._tokens = ParsedTokens()
        self._found: dict[str, Found | None] = {}
        self._listed: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
        self.imports: dict[SourceModule, tuple[list[tuple[int, str]], str | None]] = {}
        """Of modules that were looked at: line and name of what they import, and why there may be more."""
        self._modules: dict[tuple[str, str], SourceModule] = {}
        """By name and path."""

    def share(self, known: Shared) -> None:
        """Keeps what it finds among what others on the same search path have found."""
        self._modules, self._listed, self.imports = known.modules, known.listed, known.imports

    def add(self, module: SourceModule) -> None:
        """Makes a module findable under its name, whatever the path says: the file of a target."""
        module.spend = self._spend
        module.tokens = self._tokens
        self._found[module.name] = module

    def _spend(self, units: int) -> None:
        self.spend(units)

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
            folders, files = self._entries(directory)
            base = os.path.join(directory, last)
            if last in folders and "__init__.py" in self._entries(base)[1]:
                return self._module(name, os.path.join(base, "__init__.py"), directory, True)
            if f"{last}.py" in files:
                return self._module(name, f"{base}.py", directory, False)
            compiled = next((file for extension in _EXTENSIONS if (file := last + extension) in files), None)
            if compiled is not None:
                return CompiledModule(name, Path(directory, compiled))
            if last in folders:
                namespace.append(base)
        return NamespacePackage(name, tuple(namespace)) if namespace else None

    def _entries(self, directory: str) -> tuple[frozenset[str], frozenset[str]]:
        """Names of the directories and of the files in a directory; listed once, as most names that are asked for are
        of no file."""
        found = self._listed.get(directory)
        if found is None:
            folders: set[str] = set()
            files: set[str] = set()
            try:
                with os.scandir(directory) as entries:
                    for entry in entries:
                        if entry.is_symlink() and self._leads_out(directory, entry.path):
                            continue
                        (folders if entry.is_dir() else files).add(entry.name)
            except OSError:
                pass
            found = self._listed[directory] = frozenset(folders), frozenset(files)
        return found

    def _leads_out(self, directory: str, path: str) -> bool:
        """Whether a link in a directory leads to what is neither on the search path nor of the same repository: what
        is read there would be shown. Where packages are installed, links are the user's own."""
        parts = Path(directory).parts
        own = any(lies_in(directory, place) for place in (_LIBRARY, *self.fallback))
        if own or "site-packages" in parts or "dist-packages" in parts:
            return False
        top = repository_of(os.path.realpath(directory))
        return leads_out(path, *self.roots, os.curdir, *(() if top is None else (top,)))

    def _module(self, name: str, path: str, directory: str, is_package: bool) -> SourceModule:
        parent = name.rpartition(".")[0].replace(".", "/")
        file = (f"{parent}/" if parent else "") + os.path.relpath(path, directory).replace(os.sep, "/")
        found = self._modules.get((name, path))
        if found is None or found.file != file:
            found = self._modules[name, path] = SourceModule(name, Path(path), file, is_package)
        found.spend, found.tokens = self._spend, self._tokens  # of whoever asks now
        return found


BUNDLED = Path(__file__).parents[1] / "prediction" / "knowledge" / "torch_stubs"
"""Source of torch's modules that comes with modgraph: read where torch itself is not on the path, never imported."""


def finder_for(search_path: Sequence[str | os.PathLike[str]]) -> ModuleFinder:
    """A finder below `search_path`, with the bundled source of torch for where torch is not there."""
    return ModuleFinder(search_path, (str(BUNDLED),))
