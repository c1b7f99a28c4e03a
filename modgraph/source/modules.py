"""Import path -> `SourceModule`: a file's index, and nodes of single statements, made when they are reached.

Nothing is imported: a `ModuleFinder` looks for files as Python's own path finder does.
"""

from __future__ import annotations

import ast
import importlib.machinery
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from modgraph.doors.reading import NOTEBOOK_BYTES, SOURCE_BYTES, read
from modgraph.errors import TargetError
from modgraph.source import nodes
from modgraph.source.class_bodies import ClassBodies
from modgraph.source.editable import editable, file_of
from modgraph.source.files import decode
from modgraph.source.index import Definition, ModuleIndex, Statement
from modgraph.source.index_cache import indexed
from modgraph.source.integers import parse
from modgraph.source.kept_trees import KeptTrees, Measures, Piece
from modgraph.source.layer_parameters import BUNDLED_SOURCE
from modgraph.source.literals import assigned_literal
from modgraph.source.mangling import has_private
from modgraph.source.nesting import MAX_ALL_READINGS, MAX_NESTING, MAX_READINGS, MAX_TRIED, depth_of, readings_of
from modgraph.source.notebooks import SUFFIX as NOTEBOOK_SUFFIX
from modgraph.source.notebooks import NotebookError, read_notebook
from modgraph.source.parsed import Parsed
from modgraph.source.reached import Reached
from modgraph.source.refusing_text import TooMuchError, n_tokens, refuse
from modgraph.source.territory import Listing, refused, territory_of
from modgraph.source.torch_place import without_shadows

BYTES_READ, BYTES_SEARCHED, BYTES_INDEXED = 100, 10, 20
"""How much of a file is read, searched for words, and indexed in a unit of work: about a microsecond. An index counts
the same where it is kept on disk, so that what is predicted does not depend on what was read before."""
UNITS_OF_A_LINE, UNITS_OF_AN_ITEM = 10, 2
"""Units besides, for what ends a statement, and for what separates the items of a list: an index counts these."""
UNITS_OF_A_TREE, UNITS_PARSED = 10, 2
"""Units that libcst needs for a piece of source, and for each character of it."""
UNITS_READ_AGAIN, DEPTHS_OF_A_READING = 2, 10
"""Units of reading a word again, and levels of nodes inside each other that cost as much: see `nesting.py`."""

_CALLING_ANNOTATION = re.compile(r"[^=:]*:[^=]*\(")
_WORD = re.compile(r"[^\W\d]\w*")
MAX_PARSED_TOKENS = 300_000
"""The same of all statements that are parsed for one prediction; libcst takes up to 3 KB for each, and keeps it."""
_MAX_KEPT = 512
_MAX_KEPT_TEXT = 12_000_000
"""Texts, and characters of them all, whose facts are kept in memory: of a file with many models, each prediction asks
for the same, and of a large package a model asks for a hundred files. Fewer than one prediction asks for is none: each
is gone when the next asks for it."""
_ASKED_OFTEN = 20
"""Names looked for in a text one by one; for more, its words are collected."""
_GLOBAL = re.compile(r"(?:^|[;:])[ \t]*global\b((?:[^\n#;\\]|\\\n)*)", re.MULTILINE)
_DEFINED = re.compile(r"def (\w+)\(")
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


def _units_of_an_index(text: str) -> int:
    ends = text.count("\n") + text.count(";")
    return len(text) // BYTES_INDEXED + UNITS_OF_A_LINE * ends + UNITS_OF_AN_ITEM * text.count(",")


def _for_nothing(units: int) -> None:
    """Who reads it outside of a prediction has no budget."""


def plain(word: str) -> str:
    """A name without what tells its styles apart: "ConvHead" and "conv_head" are the same."""
    return word.replace("_", "").lower()


@dataclass
class ParsedTokens:
    """What libcst was given for one prediction."""

    spent: int = 0
    readings: int = 0
    """Those besides the first of each word and sign."""


class TextFacts:
    """What a text of Python says by itself, whichever module it is of."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.searches: dict[re.Pattern[str], bool] = {}
        self.imports: Any = None
        """What `prediction/code/import_order.py` reads from it."""
        self.functions: Any = None
        """What `prediction/project/mutation_summaries.py` reads from it."""
        self.changers: Any = None
        """What the same found last where this text was the last of several."""
        self.stores: list[tuple[str, ast.expr]] | None = None
        """What `prediction/project/namespace_stores.py` looks at in it, each with the function around it."""
        self.mentions: dict[str, set[str]] | None = None
        """Names, and the functions and classes of the module that mention them, for the same."""
        self.waiting_bodies: dict[tuple[int, int], tuple[bool, int]] = {}
        """By lines of a class: what `prediction/code/whole_modules.py` finds of its members, and how many it asked."""
        self.patched: frozenset[str] | None = None
        """What `prediction/code/patched_names.py` finds in it."""
        self._index: ModuleIndex | None = None

    @cached_property
    def refusal(self) -> str | None:
        """Why it is not given to a parser; None where it is."""
        try:
            refuse(self.text)
        except TooMuchError as error:
            return error.msg
        return None

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def words(self) -> frozenset[str]:
        text = self.text if self.is_ascii else f"{self.text}\n{self.normal_form}"
        return frozenset(map(sys.intern, set(_WORD.findall(text))))

    @cached_property
    def defined(self) -> frozenset[str]:
        """Names that stand behind `def`."""
        return frozenset(_DEFINED.findall(self.text))

    @cached_property
    def declared_global(self) -> frozenset[str]:
        """Names that a function may bind at module level."""
        found = _GLOBAL.findall(self.text) if "global" in self.text else ()
        return frozenset(name for each in found for name in _WORD.findall(each))

    @cached_property
    def is_ascii(self) -> bool:
        """No name in it can be written in two ways."""
        return self.text.isascii()

    @cached_property
    def plain_words(self) -> frozenset[str]:
        return frozenset(map(sys.intern, map(plain, self.words)))

    @cached_property
    def class_bodies(self) -> ClassBodies:
        """Of every class; of none where no name is private."""
        return ClassBodies(parse(self.text) if has_private(self.text) else None)

    def has(self, pattern: re.Pattern[str]) -> bool:
        """Whether the pattern matches somewhere in it."""
        if pattern not in self.searches:
            self.searches[pattern] = pattern.search(self.text) is not None
        return self.searches[pattern]

    @cached_property
    def normal_form(self) -> str:
        """The text with each name as Python reads it, and all else as it does not."""
        return unicodedata.normalize("NFKC", self.text)

    def has_in_names(self, pattern: re.Pattern[str]) -> bool:
        """Whether the pattern matches somewhere, however names are written."""
        if not self.is_ascii and pattern not in self.searches:
            self.searches[pattern] = pattern.search(self.normal_form) is not None
        return self.has(pattern)

    @cached_property
    def trees(self) -> KeptTrees:
        return KeptTrees(self.text)

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
        self._paid: set[str] = set()
        self._parsed: dict[tuple[int, int], Parsed] = {}
        self._n_asked = 0
        self.tokens = ParsedTokens()
        """Shared by the modules of one finder."""

    def spend_once(self, what: str, units: int) -> None:
        """Of what is remembered once it is found in its text."""
        if what not in self._paid:
            self.spend(units)
            self._paid.add(what)

    @cached_property
    def text(self) -> str:
        """Raises SourceError where the file cannot be read or decoded, or is longer than what can be parsed."""
        try:
            notebook = self.path.suffix.lower() == NOTEBOOK_SUFFIX
            data = read(self.path, NOTEBOOK_BYTES if notebook else SOURCE_BYTES)
            self.spend(len(data) // BYTES_READ)
            text = read_notebook(data).text if notebook else decode_source(data)
        except NotebookError as error:
            raise SourceError(str(error), file=self.file) from error
        except OSError as error:
            raise SourceError(f"cannot be read: {error.strerror}", file=self.file) from error
        except SyntaxError as error:
            raise SourceError(error.msg, file=self.file, line=error.lineno or 1) from error
        facts = facts_of(text)
        if facts.refusal is not None:
            raise SourceError(Reached(f"{self.file} is not read: {facts.refusal}"), file=self.file)
        return facts.text

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
            if self._n_asked >= _ASKED_OFTEN:
                stands_there = name in self.words
            else:
                stands_there = name in self.text
            if not stands_there and not self.facts.is_ascii:
                self.spend_once("its normal form", len(self.text) // BYTES_READ)
                stands_there = name in self.facts.normal_form
            return stands_there or self.facts.has_in_names(_BINDS_UNWRITTEN)
        except SourceError:
            return True

    @cached_property
    def index(self) -> ModuleIndex:
        """Raises SourceError (with file, line, column, text) where the file is no Python."""
        try:
            self.spend(_units_of_an_index(self.text))
            return self.facts.index(self.file)
        except SyntaxError as error:
            said = error.msg if error.msg.startswith("invalid syntax") else f"invalid syntax: {error.msg}"
            raise SourceError(said, file=self.file, line=error.lineno, column=error.offset, text=error.text) from error
        except (ValueError, RecursionError, MemoryError) as error:
            # Python's parser says of nesting that it has no memory left, and nothing else.
            why = "nested too deeply" if isinstance(error, RecursionError | MemoryError) else str(error)
            raise SourceError(f"cannot be parsed: {why or type(error).__name__}", file=self.file) from error

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
            found = self._parsed[key] = self._parse(self.lines[first_line - 1 : last_line], first_line, last_line)
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
        list of such: no tree of libcst is needed for it, and making one takes a hundred times as long. Not of one whose
        annotation calls something."""
        if statement.kind != "assign" or _CALLING_ANNOTATION.match(self.lines[statement.first_line - 1]):
            return None
        found = assigned_literal(self.lines[statement.first_line - 1 : statement.last_line])
        return found if found is not None and found[0] in statement.names else None

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
            found = self._parsed[key] = self._parse(
                [*lines, f"{indentation}pass"], definition.first_line, definition.last_line, "header"
            )
        return found

    def _class_around(self, first_line: int, last_line: int) -> str | None:
        """The innermost class in whose body these lines stand, where private names make it matter."""
        return self.facts.class_bodies.around(first_line, last_line)

    def _require_readable(self, measures: Measures, first_line: int) -> None:
        """Raises SourceError where libcst would read the same words and signs too often; else spends what it takes."""

        def refuse(why: str) -> SourceError:
            return SourceError(Reached(why), file=self.file, line=first_line)

        if measures.depth > MAX_NESTING:
            raise refuse(f"nested more than {MAX_NESTING} levels deep")
        if measures.readings.deepest_tried > MAX_TRIED:
            raise refuse(f"patterns, or what is deleted, nested more than {MAX_TRIED} levels deep")
        again = measures.readings.again + measures.depths // DEPTHS_OF_A_READING
        if again > MAX_READINGS:
            raise refuse(f"too much stands in brackets inside each other: more than {MAX_READINGS:,} readings")
        self.spend(measures.depth * measures.depth // 2 + again * UNITS_READ_AGAIN)
        self.tokens.readings += again
        if self.tokens.readings > MAX_ALL_READINGS:
            raise refuse(f"more than {MAX_ALL_READINGS:,} readings of what stands inside brackets are needed")

    def _parse(self, lines: Sequence[str], first_line: int, last_line: int, what: str = "") -> Parsed:
        """What the lines are, where not these lines of the file, `what` says."""
        self.spend(UNITS_OF_A_TREE + sum(map(len, lines)) * UNITS_PARSED)
        class_name = self._class_around(first_line, last_line)
        key = f"{first_line} {last_line} {what} {class_name or ''}"
        trees = self.facts.trees
        piece = trees.find(self.name, key)
        measures = self._measures(lines) if piece is None else piece.measures
        self._require_readable(measures, first_line)
        if measures.n_tokens > MAX_PARSED_TOKENS - self.tokens.spent:
            why = Reached(f"more than {MAX_PARSED_TOKENS:,} words and signs of source are needed")
            raise SourceError(why, file=self.file, line=first_line)
        self.tokens.spent += measures.n_tokens
        try:
            parsed = Parsed(lines, first_line, self.file, class_name, None if piece is None else piece.statements)
        except (nodes.NotParsedError, SyntaxError, RecursionError, MemoryError, ValueError) as error:
            raise SourceError(f"libcst cannot parse this: {error}", file=self.file, line=first_line) from error
        if piece is None:
            trees.add(self.name, key, Piece(measures, parsed.statements), sum(map(len, lines)))
        return parsed

    def _measures(self, lines: Sequence[str]) -> Measures:
        left = MAX_PARSED_TOKENS - self.tokens.spent
        n_words = sum(n_tokens(line, left) + 1 for line in lines) if sum(map(len, lines)) > 200 else len(lines)
        return Measures(*depth_of(lines), readings_of(lines), n_words)


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


class Shared:
    """What several finders on one search path know, while no file changes: modules with what was read and parsed of
    them. For those who ask for many targets of one file."""

    def __init__(self) -> None:
        self.modules: dict[tuple[str, str], SourceModule] = {}
        self.listed: dict[str, Listing] = {}
        self.imports: dict[SourceModule, tuple[list[tuple[int, str]], str | None]] = {}


class ModuleFinder:
    """Finds modules below a search path, without importing anything; remembers what it found.

    Args:
        fallback: further roots, searched only for packages that no entry of the search path has.
        home: folder of the file whose imports are followed: what they may lead to depends on it (`territory.py`).
            By default the first of the search path.
    """

    def __init__(
        self,
        search_path: Sequence[str | os.PathLike[str]],
        fallback: Sequence[str] = (),
        home: str | os.PathLike[str] | None = None,
    ) -> None:
        self.roots = tuple(dict.fromkeys(os.path.abspath(os.fspath(entry) or ".") for entry in search_path))
        self.fallback = tuple(fallback)
        where = os.fspath(home) if home is not None else next(iter(self.roots), os.curdir)
        self._territory = territory_of(where, self.roots, self.fallback)
        self.spend: Callable[[int], None] = _for_nothing
        """Given to the modules that are found: told what reading them costs."""
        self.reading = 0
        """What was told so far of modules that were found: others than those that were added."""
        self.on_module: Callable[[str], None] | None = None
        """Is told the name of each module that is found, once."""
        self._tokens = ParsedTokens()
        self._found: dict[str, Found | None] = {}
        self._refused: dict[str, str] = {}
        """By import name: what lies, or leads, outside of the project."""
        self._looked_in: dict[str, None] = {}
        self._listed: dict[str, Listing] = {}
        self.imports: dict[SourceModule, tuple[list[tuple[int, str]], str | None]] = {}
        """Of modules that were looked at: line and name of what they import, and why there may be more."""
        self._modules: dict[tuple[str, str], SourceModule] = {}
        """By name and path."""

    @property
    def place(self) -> tuple[str, ...]:
        """Where it looks, and what it may find there: finders of the same place find the same."""
        return (*self.roots, "", *self.fallback, "", *self._territory.project.folders)

    def module_of(self, file: str) -> SourceModule | None:
        """A module that was found before, by its file as messages show it."""
        return next((one for one in self._found.values() if isinstance(one, SourceModule) and one.file == file), None)

    def share(self, known: Shared) -> None:
        """Keeps what it finds among what others on the same search path have found."""
        self._modules, self._listed, self.imports = known.modules, known.listed, known.imports

    def start(self) -> None:
        """A prediction begins: what may be parsed for one counts anew."""
        self._tokens.spent = self._tokens.readings = 0

    def add(self, module: SourceModule) -> None:
        """Makes a module findable under its name, whatever the path says: the file of a target."""
        module.spend = self._spend
        module.tokens = self._tokens
        self._found[module.name] = module

    def _spend(self, units: int) -> None:
        self.spend(units)

    def _spend_on_others(self, units: int) -> None:
        self.reading += units
        self.spend(units)

    def find(self, name: str) -> Found | None:
        """The module of that import name; None where nothing on the path has it."""
        if name not in self._found:
            found = self._found[name] = self._search(name)
            if self.on_module is not None and found is not None:
                self.on_module(name)
        return self._found[name]

    def source(self, name: str) -> SourceModule | None:
        return found if isinstance(found := self.find(name), SourceModule) else None

    def readable(self, name: str) -> SourceModule | None:
        """The same, of what is Python: a mistake in a file that another imports is not the other's."""
        found = self.source(name)
        try:
            return found if found is None or found.index is not None else None
        except SourceError:
            return None

    def is_installed(self, module: SourceModule) -> bool:
        """Whether it is of an installed package, or of the standard library."""
        return self._territory.is_installed(str(module.path.parent))

    @property
    def files_read(self) -> list[str]:
        """Of the modules whose text was asked for."""
        return [str(each.path) for each in self.modules_read()]

    def modules_read(self) -> list[SourceModule]:
        """Those whose text was asked for."""
        return [each for each in self._found.values() if isinstance(each, SourceModule) and "text" in vars(each)]

    def files_below(self, directory: str) -> Iterator[SourceModule]:
        """Every Python file of a directory and of those in it that can be imported from; none of them by its import
        name. A link is not followed to a directory."""
        pending = [directory]
        while pending:
            here = pending.pop()
            listing = self.entries(here)
            for name in sorted(listing.files):
                if name.endswith(".py"):
                    yield self._module(f"<{os.path.join(here, name)}>", os.path.join(here, name), here, False)
            below = (os.path.join(here, name) for name in sorted(listing.folders, reverse=True) if name.isidentifier())
            pending += (each for each in below if not os.path.islink(each))

    def reads_the_same(self) -> bool:
        """Whether the files that were read still say what they said then."""
        try:
            return all(SourceModule(m.name, m.path, m.file, m.is_package).text == m.text for m in self.modules_read())
        except SourceError:
            return False

    @property
    def looked_in(self) -> list[str]:
        """Directories on which it depends what was found, and what was not: not those of installed packages."""
        return [each for each in self._looked_in if not self._territory.is_installed(each)]

    def refusal(self, name: str) -> str | None:
        """Why a module is not found that Python would find outside of the project: itself, or a package above it."""
        self.find(name)
        parts = name.split(".")
        above = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
        return next((refused(link, each) for each in above if (link := self._refused.get(each))), None)

    def _search(self, name: str) -> Found | None:
        parent, _, last = name.rpartition(".")
        if not last.isidentifier() and not last.replace("-", "_").isidentifier():
            return None
        if parent:
            package = self.find(parent)
            if isinstance(package, SourceModule) and package.is_package:
                return self._in_directories(name, last, [str(package.path.parent)])
            if isinstance(package, NamespacePackage):
                return self._in_directories(name, last, package.directories) or self._editable(name)
            return CompiledModule(name) if f"{name}" in sys.builtin_module_names else None
        if name in sys.builtin_module_names:
            return CompiledModule(name)
        found = self._in_directories(name, last, without_shadows(self.roots, name))
        if (found is None or isinstance(found, NamespacePackage)) and self.fallback:
            found = self._in_directories(name, last, self.fallback) or found
        return found or self._editable(name)

    def _editable(self, name: str) -> Found | None:
        """A package that is installed to be edited where it lies, for whom nothing stands on the path itself."""
        installed = editable()
        places = installed.namespaces.get(name, ())
        place = installed.packages.get(name)
        for each in (*places, *([place] if place is not None else ())):
            self._territory.follow(each)
        if place is not None and (file := file_of(place)) is not None and self._territory.has(file):
            self._looked_in[os.path.dirname(file)] = None
            is_package = os.path.basename(file) == "__init__.py"
            return self._module(name, file, os.path.dirname(os.path.dirname(file) if is_package else file), is_package)
        return NamespacePackage(name, places) if places else None

    def _in_directories(self, name: str, last: str, directories: Sequence[str]) -> Found | None:
        namespace: list[str] = []
        for directory in directories:
            here = self.entries(directory)
            base = os.path.join(directory, last)
            below = self.entries(base) if last in here.folders else None
            if below is not None and "__init__.py" in below.files:
                return self._module(name, os.path.join(base, "__init__.py"), directory, True)
            if f"{last}.py" in here.files:
                return self._module(name, f"{base}.py", directory, False)
            compiled = next((file for extension in _EXTENSIONS if (file := last + extension) in here.files), None)
            if compiled is not None:
                return CompiledModule(name, Path(directory, compiled))
            for link in (last, f"{last}.py"):
                if link in here.refused:
                    self._refused.setdefault(name, os.path.join(directory, link))
            if below is not None:
                namespace.append(base)
                if "__init__.py" in below.refused:
                    self._refused.setdefault(name, os.path.join(base, "__init__.py"))
        return NamespacePackage(name, tuple(namespace)) if namespace else None

    def entries(self, directory: str) -> Listing:
        """What is in a directory; listed once, as most names that are asked for are of no file."""
        self._looked_in[directory] = None
        found = self._listed.get(directory)
        if found is None:
            found = self._listed[directory] = self._territory.listing(directory)
        return found

    def _module(self, name: str, path: str, directory: str, is_package: bool) -> SourceModule:
        parent = name.rpartition(".")[0].replace(".", "/")
        inside = (
            path[len(directory) + 1 :] if path.startswith(f"{directory}{os.sep}") else os.path.relpath(path, directory)
        )
        file = (f"{parent}/" if parent else "") + inside.replace(os.sep, "/")
        found = self._modules.get((name, path))
        if found is None or found.file != file:
            found = self._modules[name, path] = SourceModule(name, Path(path), file, is_package)
        found.spend, found.tokens = self._spend_on_others, self._tokens  # of whoever asks now
        return found


def finder_for(
    search_path: Sequence[str | os.PathLike[str]], home: str | os.PathLike[str] | None = None
) -> ModuleFinder:
    """A finder below `search_path`, for a file in the folder `home`, with the bundled source of torch for where torch
    is not there."""
    return ModuleFinder(search_path, (BUNDLED_SOURCE,), home)
