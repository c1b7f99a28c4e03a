"""What a name in a file means, followed through imports into other files; which classes are modules.

Files are found where the project lies and on Python's path, and read, never imported. A class of which nothing can be
found is no module, unless the configuration says so, or `source/module_classes.py` takes what derives from it for one.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from modgraph.doors.reading import lies_in, read
from modgraph.names import last_name
from modgraph.source import module_classes, torch_names
from modgraph.source.editable import editable, file_of
from modgraph.source.files import decode
from modgraph.source.mangling import spell_private
from modgraph.source.outline import Outline, UncertainError
from modgraph.source.quiet import python_tree
from modgraph.source.source_roots import Roots, roots_around
from modgraph.source.summaries import Summary, summarize
from modgraph.source.territory import Territory, territory_of
from modgraph.source.torch_place import is_of_torch, without_shadows

MAX_STEPS = 40
"""Imports and bases followed for one name; more is a cycle."""

MAX_OUTLINES = 40
MAX_TREES, MAX_SMALL_TREES, MAX_TREES_TEXT = 8, 64, 1_000_000
"""Parsed files kept for further questions; more where their text is small together, in bytes."""

MAX_BODY = 20_000
"""Characters of a function's text that are looked at."""
_LIBRARY = os.path.join(os.path.dirname(os.__file__), "")
_DEFINED = re.compile(r"^(def|class)[ \t]+(\w+)", re.MULTILINE)
_NEXT = re.compile(r"^(?:def|class|@)", re.MULTILINE)
_CONTAINER = re.compile(
    r"(?:return|=|else|or)\s*(?:[\[{(]|(?:list|tuple|dict|set|OrderedDict|collections\.\w+|deque)\()"
)
_MEMBER = re.compile(r"def[ \t]+(\w+)|^(?: {2,4}|\t)(\w+)[ \t]*(?::[^=\n]*)?=(?!=)", re.MULTILINE)


class Costly(Exception):  # noqa: N818 - not a mistake of anybody's
    """A class would have to be interpreted, and whoever asked would rather look for the answer elsewhere first."""


class EnoughTried(Exception):  # noqa: N818 - not a mistake of anybody's
    """What trying the fixes of a file may cost is spent."""


class Project:
    """The files in reach of a check, and what their classes derive from."""

    def __init__(
        self,
        module_bases: Collection[str] = (),
        path: list[str] | None = None,
        hidden_names: Collection[str] = (),
        strict: bool = False,
        folders: Sequence[str] = (),
    ) -> None:
        self.module_bases = frozenset(module_bases)
        self.path = sys.path if path is None else path
        self.hidden_names = frozenset(hidden_names)
        """Words in names of attributes that say, beside the usual ones, that modules are hidden."""
        self.folders = tuple(folders)
        """Those that were named to be checked: what lies in one may be imported from it."""
        self.strict = strict
        """What is only possible is reported too."""
        self.work = 0
        """What the interpretations for the present file have cost; only the interpretation counts."""
        self.work_apart = 0
        """The same of those for what may be left unsaid."""
        self.given_up: dict[str, None] = {}
        """Classes of the present file that were not interpreted, as it was enough."""
        self.cut: dict[str, str] = {}
        """Classes of the present file that were not followed to their end, with the limit that was reached."""
        self.unresolved: dict[str, None] = {}
        """Bases of classes of the present file that might have findings: whether these are modules is not known."""
        self.trying = False
        """Fixes are tried: `EnoughTried` is raised where it is enough."""
        self.reluctant = False
        """`Costly` is raised where a class would have to be interpreted."""
        self.believed: dict[str, None] = {}
        """Import paths of classes of which no file is found and that are taken for modules, for the present file."""
        self.read: dict[str, None] = {}
        """Files and folders that the findings of the present file depend on, those too that are not there."""
        self._summaries: dict[str, Summary | None] = {}
        self._files: dict[tuple[str, str], str | None] = {}
        self._roots: dict[str, Roots] = {}
        self._torch_folders: dict[tuple[str, ...], Sequence[str]] = {}
        self._territories: dict[str, Territory] = {}
        self._modules: dict[tuple[str, str], tuple[bool | None, dict[str, None], dict[str, None]]] = {}
        """With the files that the answer depends on, and what it believes."""
        self._trees: dict[str, ast.Module | None] = {}
        """The last that was asked for is the last one."""
        self._sizes: dict[str, int] = {}
        self._outlines: dict[str, Outline | None] = {}
        self._texts: dict[str, str] = {}
        """Of the file that is checked now: it may not be on disk as it is."""
        self._defined: dict[str, frozenset[str]] = {}
        self._named_tuples: dict[str, bool] = {}
        self._makers: dict[str, dict[str, bool]] = {}
        """By file and name at its top: whether that may give a list or dict."""
        self.interpreted: dict[tuple[Any, ...], Any] = {}
        """End states of constructors, with the files that each depends on; only the interpretation looks in."""
        self.holdings: dict[tuple[Any, ...], Any] = {}
        """What is asked of these states when fixes are tried."""
        self.shared: dict[tuple[str, ...], Any] = {}
        """What the interpretation has read and parsed of other files, by search path."""
        self.texts: dict[tuple[str, str], Any] = {}
        """The same of the texts of the file that is checked, by its name and the text."""
        self._answers: dict[tuple[str, str, str], tuple[bool, dict[str, None]]] = {}

    def add(self, file: str, summary: Summary, tree: ast.Module | None = None, text: str | None = None) -> None:
        """A file that is checked, so that it need not be read again."""
        self._texts = {os.path.abspath(file): text} if text is not None else {}
        self.believed = {}
        self._defined.pop(os.path.abspath(file), None)
        self._makers.pop(os.path.abspath(file), None)
        self._named_tuples.pop(os.path.abspath(file), None)
        self._summaries[os.path.abspath(file)] = summary
        if tree is not None:
            self._keep(os.path.abspath(file), tree)

    @contextmanager
    def described(self, file: str, summary: Summary) -> Iterator[None]:
        """In this context the names of a file mean what a summary of it says."""
        before = self._summaries.get(file), self._modules, self._answers
        self._summaries[file], self._modules, self._answers = summary, {}, {}
        try:
            yield
        finally:
            self._summaries[file], self._modules, self._answers = before

    def summary(self, file: str) -> Summary | None:
        """Of a file by its absolute path; None where it is no Python that can be read."""
        self.read[file] = None
        if file not in self._summaries:
            self._summaries[file] = self._short(file)
        return self._summaries[file]

    def _short(self, file: str) -> Summary | None:
        outline = self.outline(file)
        try:
            if outline is not None:
                return outline.summary()
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass  # as far as it was parsed: the whole of it says whether it is Python
        tree = self.tree(file)
        return None if tree is None else summarize(tree)

    def outline(self, file: str) -> Outline | None:
        """A file that is not checked, of which no more is parsed than is asked for; None where it is parsed whole, or
        has to be."""
        self.read[file] = None
        if file in self._trees or file in self._texts:
            return None
        if file not in self._outlines:
            while len(self._outlines) >= MAX_OUTLINES:
                del self._outlines[next(iter(self._outlines))]
            self._outlines[file] = _outlined(file)
        return self._outlines[file]

    def text(self, file: str) -> str | None:
        """What a file holds; None where it cannot be read."""
        self.read[file] = None
        if file in self._texts:
            return self._texts[file]
        try:
            return decode(read(file))
        except (OSError, SyntaxError, ValueError):
            return None

    def function(self, file: str, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """A function at the top of a file, the last of that name."""
        found = self._defined_at_the_top(file, ast.FunctionDef, name)
        return found if isinstance(found, (ast.FunctionDef, ast.AsyncFunctionDef)) else None

    def class_node(self, file: str, qualname: str) -> ast.ClassDef | None:
        """A class by its qualified name, the last one of that name."""
        first, *rest = qualname.split(".")
        node: ast.AST | None = self._defined_at_the_top(file, ast.ClassDef, first)
        for name in rest:
            node = _named(node).get((ast.ClassDef, name)) if isinstance(node, (ast.Module, ast.ClassDef)) else None
        return node if isinstance(node, ast.ClassDef) else None

    def _defined_at_the_top(self, file: str, kind: type[ast.stmt], name: str) -> ast.stmt | None:
        outline = self.outline(file)
        if outline is not None:
            try:
                return outline.defined(name, is_class=kind is ast.ClassDef)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                pass  # the whole of it says whether it is Python
        tree = self.tree(file)
        return None if tree is None else _named(tree).get((kind, name))

    def stores(self, file: str, name: str) -> Sequence[ast.stmt]:
        """The statements that give a variable of a file a value, those of functions that say `global` too."""
        tree = self.tree(file)
        return () if tree is None else _variables(tree).get(name, ())

    def may_make_containers(self, file: str, summary: Summary, name: str) -> bool:
        """Whether a name may be a function that gives a list or dict, by the look of the text of the file it is
        imported from: nothing is parsed for it."""
        if name in summary.classes:
            return False
        first, _, rest = name.partition(".")
        if name in summary.functions or first not in summary.imports:
            return name in summary.functions or first in summary.aliases or bool(summary.stars)
        module, attribute, level = summary.imports[first]
        home = self.find_file(file, module, level)
        last = last_name(rest or attribute)
        if home is None or not last or (rest and attribute):
            return home is not None and bool(last) and not (attribute or last)[0].isupper()
        self.read[home] = None
        if home not in self._makers:
            self._makers[home] = dict(_makers(self.text(home) or ""))
        return self._makers[home].get(last, not last[0].isupper())

    def members_named(self, file: str) -> frozenset[str]:
        """Names after `def` anywhere in a file, and those that are assigned where the body of a class may stand, by its
        text alone."""
        self.read[file] = None
        if file not in self._defined:
            self._defined[file] = frozenset(def_ or name for def_, name in _MEMBER.findall(self.text(file) or ""))
        return self._defined[file]

    def makes_named_tuples(self, file: str) -> bool:
        """Whether a file may make classes of named tuples: their makers stand in its text."""
        if file not in self._named_tuples:
            text = self.text(file) or ""
            self._named_tuples[file] = "namedtuple" in text or "NamedTuple" in text
        return self._named_tuples[file]

    def tree(self, file: str) -> ast.Module | None:
        """A file as it is parsed, its private names spelled out; None where it is no Python that can be read."""
        self.read[file] = None
        if file in self._trees:
            self._trees[file] = self._trees.pop(file)
        else:
            self._keep(file, _parsed(file))
        return self._trees[file]

    def _keep(self, file: str, tree: ast.Module | None) -> None:
        self._trees.pop(file, None)
        self._sizes[file] = _size(file)
        while len(self._trees) >= MAX_TREES and (
            len(self._trees) >= MAX_SMALL_TREES or sum(map(self._sizes.__getitem__, self._trees)) > MAX_TREES_TEXT
        ):
            del self._trees[next(each for each in self._trees if each not in self._texts)]
        self._trees[file] = tree

    def answered(self, key: tuple[str, str, str], ask: Callable[[], bool]) -> bool:
        """The answer to a question on a function (file, name, question), asked once; one that leads back to itself is
        answered with no."""
        if key not in self._answers:
            outer, self.read = self.read, {}
            self._answers[key] = (False, {})
            try:
                self._answers[key] = (ask(), self.read)
            finally:
                self.read = outer
        answer, files = self._answers[key]
        self.read.update(files)
        return answer

    # ---- files -------------------------------------------------------------------------------------------------------

    def find_file(self, importer: str, module: str, level: int) -> str | None:
        """The file of a module as an import statement in the file `importer` names it."""
        if level:
            folder = os.path.dirname(importer)
            for _ in range(level - 1):
                folder = os.path.dirname(folder)
            return self._in_folder(folder, module, importer)
        around = self.roots_of(importer)
        self.read.update(dict.fromkeys(around.depends))
        for folder in self._without_shadows(around.folders, module):
            found = self._in_folder(folder, module, importer)
            if found is not None:
                return found
        for folder in self._without_shadows(tuple(self.path), module):
            found = self._in_folder(os.path.abspath(folder or os.curdir), module, importer)
            if found is not None:
                return found
        return self._editable(module, importer)

    def _without_shadows(self, folders: tuple[str, ...], module: str) -> Sequence[str]:
        if not is_of_torch(module):
            return folders
        if folders not in self._torch_folders:
            self._torch_folders[folders] = without_shadows(folders, module)
        return self._torch_folders[folders]

    def _editable(self, module: str, importer: str) -> str | None:
        """The file of a module of a package that is installed to be edited where it lies."""
        packages = editable().packages
        name, rest = module, ""
        while name not in packages and name:
            name, _, last = name.rpartition(".")
            rest = f"{last}.{rest}" if rest else last
        if not name:
            return None
        self.territory(importer).follow(packages[name])
        if rest:
            return self._in_folder(packages[name], rest, importer)
        found = file_of(packages[name])
        return found if found is not None and self.territory(importer).has(found) else None

    def roots_of(self, file: str) -> Roots:
        """What the modules of a file's project are imported from, found out once for a folder."""
        folder = os.path.dirname(file)
        if folder not in self._roots:
            self._roots[folder] = roots(file, self.folders)
        return self._roots[folder]

    def _in_folder(self, folder: str, module: str, importer: str) -> str | None:
        """The file that a folder has for a module, if imports of the project of `importer` may lead to it."""
        key = (folder, module)
        if key not in self._files:
            found = next((os.path.abspath(each) for each in _options(folder, module) if os.path.isfile(each)), None)
            self._files[key] = found
        found, territory = self._files[key], self.territory(importer)
        if found is not None and not territory.has(found):
            found = None
        if found is None and not territory.is_installed(folder):  # may be there tomorrow
            self.read.update(dict.fromkeys(_options(folder, module)))
        return found

    def may_reach(self, path: str, importer: str) -> bool:
        """Whether a file belongs to the project of another, or to the user."""
        return self.territory(os.path.abspath(importer)).has(os.path.abspath(path))

    def territory(self, importer: str) -> Territory:
        """What imports of the project of a file, by its absolute path, may lead to; found out once for a folder."""
        home = os.path.dirname(importer)
        if home not in self._territories:
            self._territories[home] = territory_of(home, [entry for entry in self.path if entry], around=self.folders)
        return self._territories[home]

    # ---- names -------------------------------------------------------------------------------------------------------

    def absolute(self, summary: Summary, name: str) -> str | None:
        """The import path of a dotted name as far as the import statements of its file say: "nn.Linear" is
        "torch.nn.Linear". None for a name that no absolute import binds."""
        first, _, rest = name.partition(".")
        seen = 0
        while first in summary.aliases and first not in summary.imports and seen < MAX_STEPS:
            name = f"{summary.aliases[first]}.{rest}" if rest else summary.aliases[first]
            first, _, rest = name.partition(".")
            seen += 1
        bound = summary.imports.get(first)
        if bound is None or bound[2]:
            return None
        module, attribute, _ = bound
        return ".".join(part for part in (module, attribute, rest) if part)

    def homes(
        self, file: str, name: str, steps: int = MAX_STEPS, seen: set[tuple[str, str]] | None = None
    ) -> Iterator[tuple[str, str]]:
        """Where a dotted name of a file is defined: (file, qualified name), or ("", import path) where no file is
        found for it. `seen` are the names that were asked for on the way: star imports lead to one in many ways."""
        summary = self.summary(file)
        seen = set() if seen is None else seen
        if summary is None or steps <= 0 or (file, name) in seen:
            return
        seen.add((file, name))
        if name in summary.classes or name in summary.functions:
            yield file, name
            return
        first, _, rest = name.partition(".")
        if first in summary.imports:
            module, attribute, level = summary.imports[first]
            yield from self._imported(file, module, ".".join(p for p in (attribute, rest) if p), level, steps - 1, seen)
        elif first in summary.aliases:
            alias = summary.aliases[first]
            yield from self.homes(file, f"{alias}.{rest}" if rest else alias, steps - 1, seen)
        else:
            for module, level in summary.stars:
                yield from self._imported(file, module, name, level, steps - 1, seen)

    def _imported(
        self, importer: str, module: str, name: str, level: int, steps: int, seen: set[tuple[str, str]]
    ) -> Iterator[tuple[str, str]]:
        """What `from module import name` gives, `name` dotted; a part of it may be a module itself."""
        if not level and torch_names.torch_class(f"{module}.{name}"):
            yield "", f"{module}.{name}"
            return
        parts = name.split(".") if name else []
        for taken in range(len(parts) - 1, -1, -1):
            path = ".".join(part for part in (module, *parts[:taken]) if part)
            home = self.find_file(importer, path, level)
            if home is not None and not level and _is_of_python(home, module):
                break
            if home is not None:
                yield from self.homes(home, ".".join(parts[taken:]), steps, seen)
                return
        if not level:
            yield "", f"{module}.{name}" if name else module

    # ---- classes -----------------------------------------------------------------------------------------------------

    def is_module(self, file: str, name: str, steps: int = MAX_STEPS) -> bool | None:
        """Whether the dotted name is, in that file, a class derived from `nn.Module`; None where it is not known."""
        key = (file, name)
        if key not in self._modules:
            outer = self.read, self.believed
            self.read, self.believed = {}, {}
            self._modules[key] = (False, {}, {})  # a class that is, by mistake, its own base is none
            try:
                self._modules[key] = (self._is_module(file, name, steps), self.read, self.believed)
            except BaseException:
                del self._modules[key]
                raise
            finally:
                self.read, self.believed = outer
        answer, files, believed = self._modules[key]
        self.read.update(files)
        self.believed.update(believed)
        return answer

    def _is_module(self, file: str, name: str, steps: int) -> bool | None:
        unknown = False
        found = False
        for home, qualname in self.homes(file, name, steps):
            found = True
            answer = self._derives(home, qualname, steps) if home else self.is_module_path(qualname)
            if answer:
                return True
            unknown = unknown or answer is None
        if not found or unknown:
            return True if self._is_named(name) else None
        return False

    def _derives(self, file: str, qualname: str, steps: int) -> bool | None:
        summary = self.summary(file)
        bases = summary.classes.get(qualname) if summary is not None else None
        if summary is None or bases is None:
            return False  # a function
        found: dict[str, bool | None] = {}
        for base in bases:
            found[base] = self._base(file, qualname, base, steps - 1) if base else None
            if found[base]:
                return True  # whatever the others are: no file is read for them
        answer = module_classes.of_bases(found.values())
        if answer is not None or not module_classes.is_taken(answer, qualname in summary.forwards, summary.has_torch):
            return answer
        self._believe(file, (base for base, is_module in found.items() if is_module is None))
        return True

    def _believe(self, file: str, bases: Iterable[str]) -> None:
        """Bases of which nothing is found are taken for modules, by what derives from them."""
        for base in bases:
            self.believed.update((path, None) for home, path in self.homes(file, base) if not home)

    def _base(self, file: str, qualname: str, base: str, steps: int) -> bool | None:
        if steps <= 0:
            return None
        outer = qualname.rpartition(".")[0]
        summary = self.summary(file)
        if outer and summary is not None and f"{outer}.{base}" in summary.classes:
            return self.is_module(file, f"{outer}.{base}", steps)
        return self.is_module(file, base, steps)

    def is_module_path(self, path: str) -> bool | None:
        """The same for an import path of which no file was found."""
        if self._is_named(path):
            self.believed[path] = None
            return True
        return module_classes.of_path(path)

    def _is_named(self, name: str) -> bool:
        return name in self.module_bases or last_name(name) in self.module_bases


@lru_cache(maxsize=16)
def _variables(tree: ast.Module) -> dict[str, list[ast.stmt]]:
    """By name of a variable at the top: the statements that store it."""
    found: dict[str, list[ast.stmt]] = {}
    pending: list[tuple[ast.AST, ast.stmt]] = [(each, each) for each in tree.body]
    while pending:
        node, statement = pending.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.setdefault(node.id, []).append(statement)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            for each in ast.walk(node):
                if isinstance(each, ast.Global):
                    for name in each.names:
                        found.setdefault(name, []).append(each)
        else:
            pending += [(each, statement) for each in ast.iter_child_nodes(node)]
    return found


@lru_cache(maxsize=64)
def _named(node: ast.Module | ast.ClassDef) -> dict[tuple[type[ast.stmt], str], ast.stmt]:
    """The functions and classes of a body by their kind and name, the last of each."""
    found: dict[tuple[type[ast.stmt], str], ast.stmt] = {}
    for each in node.body:
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found[ast.FunctionDef, each.name] = each
        elif isinstance(each, ast.ClassDef):
            found[ast.ClassDef, each.name] = each
    return found


def _makers(text: str) -> Iterator[tuple[str, bool]]:
    """What a text defines at the top, by name, the first of each; whether it is a function that may give a list or
    dict, by its text."""
    known: set[str] = set()
    for defined in _DEFINED.finditer(text):
        if defined[2] not in known:
            known.add(defined[2])
            body = text[defined.start() : defined.start() + MAX_BODY]
            end = _NEXT.search(body, 1)
            found = defined[1] == "def" and _CONTAINER.search(body, 0, end.start() if end else len(body)) is not None
            yield defined[2], found


def _options(folder: str, module: str) -> tuple[str, str]:
    """The files that a module of a folder may be."""
    base = os.path.join(folder, *module.split(".")) if module else folder
    return os.path.join(base, "__init__.py"), f"{base}.py"


def _is_of_python(home: str, module: str) -> bool:
    """A file that was found is the standard library's, of a part of it that makes no modules."""
    if not module_classes.makes_no_modules(module) or not home.startswith(_LIBRARY):
        return False
    return "-packages" not in home[len(_LIBRARY) :]


def _size(file: str) -> int:
    try:
        return os.stat(file).st_size
    except OSError:
        return 0


def roots(file: str, named: Sequence[str] = ()) -> Roots:
    """Above the packages of a file, what its project is imported from, the folders that were named in which it lies,
    and the working directory."""
    own = folder = os.path.dirname(os.path.abspath(file))
    asked = [os.path.join(folder, "__init__.py")]
    while os.path.isfile(asked[-1]):
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
        asked.append(os.path.join(folder, "__init__.py"))
    around = roots_around(own)
    holding = [each for each in named if lies_in(own, each)]
    folders = (folder, own, *around.folders, *holding, os.getcwd())
    return Roots(tuple(dict.fromkeys(folders)), (*asked, *around.depends))


def _outlined(file: str) -> Outline | None:
    try:
        return Outline(decode(read(file)))
    except (UncertainError, OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _parsed(file: str) -> ast.Module | None:
    try:
        text = decode(read(file))
        tree = python_tree(text)
        spell_private(tree, text)
        return tree
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
