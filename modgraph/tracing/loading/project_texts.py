"""What stands in the files of a project that is imported: where its functions are, and how often a name is bound."""

from __future__ import annotations

import ast
import builtins
import importlib.util
import linecache
import os
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from modgraph.errors import RAISED_BY_OTHERS
from modgraph.source.integers import parse
from modgraph.source.needed_statements import bound_names
from modgraph.tracing.basics.origins import is_installed, is_own

NAMES_OF_ALL = (
    *("__globals__", "f_globals", "f_locals", "__builtins__", "__subclasses__", "get_objects", "get_referrers"),
    *("__getattribute__", "getattr_static"),
)
"""Who says one of these in a text may see what is not bound, and nobody is told."""


@dataclass(slots=True)
class _File:
    definitions: dict[tuple[str, int], ast.AST] = field(default_factory=dict)
    """By name and first line."""
    classes: dict[str, list[ast.AST]] = field(default_factory=dict)
    bindings: dict[str, set[object]] = field(default_factory=dict)


class Texts:
    """Each file is read once."""

    def __init__(self) -> None:
        self.n_read = 0
        """Pieces of code that were looked at."""
        self._files: dict[str, _File | None] = {}

    def anew(self) -> Texts:
        """For another reading of the same files."""
        other = Texts()
        other._files = self._files
        return other

    def is_bound_once(self, names: Mapping[str, Any], name: str) -> bool:
        """A name of a module stands for one thing from the time it is bound on; of those of packages it is taken so."""
        file = names.get("__file__")
        if not isinstance(file, str) or not is_project_file(file):
            return True
        found = self._file(file)
        return found is not None and len(found.bindings.get(name, ())) <= 1

    def tree_of(self, found: Any) -> ast.AST | None:
        """Where a function or a class is defined; None where that is not plain."""
        if isinstance(found, type):
            place = getattr(sys.modules.get(found.__module__), "__file__", None)
            file = self._file(place) if isinstance(place, str) else None
            there = [] if file is None else file.classes.get(found.__name__, [])
            return there[0] if len(there) == 1 and not getattr(there[0], "decorator_list", None) else None
        code = found.__code__
        file = self._file(code.co_filename)
        is_itself = not hasattr(found, "__wrapped__") and found.__globals__.get("__file__") == code.co_filename
        return file.definitions.get((code.co_name, code.co_firstlineno)) if file is not None and is_itself else None

    def _file(self, file: str) -> _File | None:
        if file not in self._files:
            self._files[file] = _read("".join(linecache.getlines(file)))
        return self._files[file]


def _read(text: str) -> _File | None:
    try:
        tree: ast.Module = parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found = _File()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            found.definitions[node.name, first] = node
        elif isinstance(node, ast.ClassDef):
            found.classes.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.Global):
            for name in node.names:
                found.bindings.setdefault(name, set()).update((object(), object()))
    for statement in tree.body:
        for name, key in _bindings(statement):
            found.bindings.setdefault(name, set()).add(key)
    return found


def _bindings(statement: ast.stmt) -> Iterator[tuple[str, object]]:
    """Each name that a statement binds, with what tells one way of binding it from another."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        home = statement.module if isinstance(statement, ast.ImportFrom) else None
        for alias in statement.names:
            root = alias.name if alias.asname or home else alias.name.partition(".")[0]
            yield alias.asname or alias.name.partition(".")[0], (home, root)
        return
    for name in bound_names(statement):
        yield name, object()


def is_project_file(file: str) -> bool:
    """It is neither of a package nor of modgraph."""
    return bool(file) and not (file.startswith("<") or is_installed(file) or is_own(file))


def is_of_project(found: Any) -> bool:
    """A function, a class or a module is of the project's own code."""
    if isinstance(found, types.FunctionType):
        return is_project_file(found.__code__.co_filename)
    home = found if isinstance(found, types.ModuleType) else sys.modules.get(getattr(found, "__module__", None) or "")
    file = getattr(home, "__dict__", {}).get("__file__")
    return isinstance(file, str) and is_project_file(file)


def unbound_of(names: Mapping[str, Any]) -> Iterable[str]:
    """Names of a module that are not bound, as their statements were left out."""
    return getattr(names.get("__builtins__"), "unbound", ())


NAMES_OF_NOTES = ("__annotations__", "get_type_hints", "get_annotations")
"""Who says one of these may see how many names of a module have a kind."""
NAMES_OF_LOGS = ("loggerDict", "getChildren")
"""Which logs were asked for."""
NAMES_OF_MODULES = (".modules", "import modules", '"modules"', "'modules'")
"""Which modules were imported."""
NAMES_OF_HOOKS = ("addaudithook", "setprofile", "settrace")
"""Who is told of all that Python does."""
_HARMLESS = "sys.modules[__name__]"


def names_any(files: Iterable[str], root: str, words: Iterable[str]) -> Iterator[tuple[str, str]]:
    """In which of these files, and of those of the project below a folder, which of these words stand."""
    for file in _texts_of(files, root):
        text = "".join(linecache.getlines(file)).replace(_HARMLESS, "")
        yield from ((file, word) for word in words if word in text)


def _texts_of(files: Iterable[str], root: str) -> Iterable[str]:
    modules = [getattr(each, "__dict__", {}).get("__file__") for each in list(sys.modules.values())]
    below = [each for each in modules if isinstance(each, str) and each.startswith(root + os.sep)]
    return dict.fromkeys((*files, *filter(is_project_file, below)))


def imported_of(
    node: ast.Import | ast.ImportFrom, names: Mapping[str, Any], before: frozenset[str] | None
) -> tuple[dict[str, Any], str | None]:
    """What an import would bind, and why it is not known to be harmless: only what was imported before it is.

    Args:
        before: modules of the project that had been imported when the statement was left out; None for any.
    """
    found: dict[str, Any] = {}
    if isinstance(node, ast.Import):
        for alias in node.names:
            root = alias.name.partition(".")[0]
            if not _is_there(alias.name, before):
                return found, f"imports {alias.name}, which nothing else has imported"
            found[alias.asname or root] = sys.modules.get(alias.name if alias.asname else root)
        return found, None
    try:
        home = importlib.util.resolve_name("." * node.level + (node.module or ""), names.get("__package__") or "")
    except ImportError:
        home = ""
    module = sys.modules.get(home)
    if not _is_there(home, before):
        return found, f"imports {home or 'a module'}, which nothing else has imported"
    for alias in node.names:
        there = {} if module is None else module.__dict__
        if alias.name == "*":
            return found, f"imports all names of {home}"
        if module is not None and is_of_project(module) and alias.name not in (*there, *unbound_of(there)):
            return found, f"imports {alias.name} of {home}, which could not be imported"
        if module is not None and not is_of_project(module) and alias.name not in there:
            return found, f"imports {alias.name} of {home}, which nothing else has imported"
        value = there.get(alias.name)
        if isinstance(value, types.ModuleType) and not _is_there(value.__name__, before):
            return found, f"imports {value.__name__}, which was imported later"
        found[alias.asname or alias.name] = value
    return found, None


def _is_there(name: str, before: frozenset[str] | None) -> bool:
    if is_of_project(builtins.__import__):
        return False
    if name in sys.modules:
        module = sys.modules[name]
        if not isinstance(module, types.ModuleType) or is_of_project(type(module)):
            return False
        return before is None or name in before or not is_of_project(module)
    root = name.partition(".")[0]
    if root not in sys.stdlib_module_names or root in sys.modules:
        return False  # what it does is not known, or a package would have another attribute
    if any(is_of_project(each) for each in (*sys.meta_path, *sys.path_hooks)):
        return False
    try:
        spec = importlib.util.find_spec(root)
    except RAISED_BY_OTHERS:
        return False
    places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or ())]
    return any(each in ("built-in", "frozen") or is_installed(each) for each in places if each)


def is_all_seen(node: ast.Import | ast.ImportFrom) -> bool:
    """All modules that are imported had been imported by others, too."""
    names = [each.name for each in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    return getattr(node, "level", 0) > 0 or all(name in sys.modules for name in names)


def asks_for_all(text: str, names: Iterable[str]) -> dict[str, bool]:
    """Which of these functions of Python a text may call with nothing, and whether that may be anywhere.

    False where each call with nothing is plain to see: in a function it then is asked for what is there alone.
    """
    if not any(name in text for name in (*names, *_RUNNING)):
        return {}
    try:
        tree: ast.Module = parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return dict.fromkeys(names, True)
    called, plain = set[int](), set[str]()
    found = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            is_given = bool(node.args) and not any(isinstance(each, ast.Starred) for each in node.args)
            if is_given or not (node.args or node.keywords):
                called.add(id(node.func))
                plain.update([] if is_given else [node.func.id])
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and id(node) not in called:
            found.add(node.id)
        elif isinstance(node, ast.Name) and node.id in _RUNNING:
            found.update(names)  # in the text that is run there, any may stand
    return {name: name in found for name in names if name in found or name in plain}


_RUNNING = ("eval", "exec", "compile")
