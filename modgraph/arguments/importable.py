"""Which modules the process of a model may import for the sake of its arguments: a training script trains when it is
imported.

What the model's own module imports is imported anyway. Another module of the project counts where its text shows that
importing it only defines: nothing at its top level but definitions, plain values, and imports of modules like itself.
"""

from __future__ import annotations

import ast
from functools import cached_property
from pathlib import Path

from modgraph.prediction.answer.found_arguments import NameOf
from modgraph.prediction.code.whole_modules import is_of_project
from modgraph.source.dotted_names import dotted
from modgraph.source.integers import parse
from modgraph.source.modules import ModuleFinder, SourceError, SourceModule
from modgraph.source.syntax import FunctionNode, main_test
from modgraph.source.targets import Target

_MAX_MODULES = 200
"""Modules of the project that are looked at."""
_NAMES = """dict list tuple set frozenset range len int float str bool max min sum sorted namedtuple field partial
    TypeVar NewType getLogger compile join dirname abspath exists Path NamedTuple Enum IntEnum OrderedDict
    defaultdict SimpleNamespace device dataclass"""
_HARMLESS = frozenset(_NAMES.split())
"""Functions, by their last names, whose calls only make a value."""


class Importable:
    """Of one model.

    Args:
        finder: finds modules as they are found where the model runs.
    """

    def __init__(self, target: Target, module: SourceModule, finder: ModuleFinder) -> None:
        self._target = target
        self._finder = finder
        self._module = module
        self._plain: dict[Path, bool] = {}

    def name(self, source: SourceModule, qualname: str) -> str | None:
        """The import path of what a module defines, where the model runs; None where it is not to be imported there."""
        path = source.path.resolve()
        if self._target.file is not None and path == self._target.file:
            return f"{self._target.module}.{qualname}"
        here = self._finder.source(source.name)
        if here is None or here.path.resolve() != path:
            return None
        if not is_of_project(here) or path in self._loaded or self._is_plain(here):
            return f"{source.name}.{qualname}"
        return None

    def named_in(self, finder: ModuleFinder) -> NameOf:
        """`name`, of modules as another file finds them."""

        def name_of(module: str, qualname: str) -> str | None:
            source = finder.source(module)
            return None if source is None else self.name(source, qualname)

        return name_of

    @cached_property
    def _loaded(self) -> set[Path]:
        """Files of the project that importing the model's module imports, as far as its text says."""
        found: set[Path] = {self._module.path.resolve()}
        pending = [self._module]
        while pending and len(found) < _MAX_MODULES:
            for each in self._imports(pending.pop()):
                path = each.path.resolve()
                if path not in found:
                    found.add(path)
                    pending.append(each)
        return found

    def _imports(self, source: SourceModule) -> list[SourceModule]:
        """Modules of the project that a module imports when it is imported, with the packages that they are in."""
        try:
            imports = source.index.imports
        except SourceError:
            return []
        names: dict[str, None] = {}
        for each in imports:
            home = source.absolute(each.module, each.level)
            for name in (home, f"{home}.{each.attribute}"):
                parts = name.split(".")
                names.update(dict.fromkeys(".".join(parts[:end]) for end in range(1, len(parts) + 1)))
        found = (self._finder.source(name) for name in names)
        return [each for each in found if each is not None and is_of_project(each)]

    def _is_plain(self, source: SourceModule) -> bool:
        path = source.path.resolve()
        if path not in self._plain:
            self._plain[path] = True  # modules that import each other are plain together
            packages = [self._finder.source(name) for name in _around(source.name)]
            needed = [*self._imports(source), *(each for each in packages if each is not None)]
            self._plain[path] = (
                len(self._plain) <= _MAX_MODULES
                and _only_defines(source)
                and all(each.path.resolve() in self._loaded or self._is_plain(each) for each in needed)
            )
        return self._plain[path]


def _around(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts))]


def _only_defines(source: SourceModule) -> bool:
    try:
        tree = parse(source.text)
    except (SourceError, SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return all(_defines(statement) for statement in tree.body)


def _defines(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Import | ast.ImportFrom | ast.Pass):
        return True
    if isinstance(statement, FunctionNode):
        given = statement.args
        defaults = [*given.defaults, *(each for each in given.kw_defaults if each is not None)]
        return all(_is_harmless(each) for each in (*statement.decorator_list, *defaults))
    if isinstance(statement, ast.ClassDef):
        header = (*statement.decorator_list, *statement.bases, *(each.value for each in statement.keywords))
        return all(_is_harmless(each) for each in header) and all(map(_defines, statement.body))
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        return statement.value is None or _is_harmless(statement.value)
    if isinstance(statement, ast.If):
        if main_test(statement):
            return all(map(_defines, statement.orelse))
        return _is_harmless(statement.test) and all(map(_defines, (*statement.body, *statement.orelse)))
    if isinstance(statement, ast.Try):
        handled = (each for handler in statement.handlers for each in handler.body)
        return all(map(_defines, (*statement.body, *handled, *statement.orelse, *statement.finalbody)))
    return False


def _is_harmless(node: ast.expr) -> bool:
    """Evaluating it makes a value and does nothing else, as far as its text says."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call):
            name = dotted(inner.func)
            if name is None or name.rpartition(".")[2] not in _HARMLESS:
                return False
        elif isinstance(inner, ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr):
            return False
    return True
