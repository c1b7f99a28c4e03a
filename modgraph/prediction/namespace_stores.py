"""Stores that change what functions, classes or other people's modules are, past every name that is followed:
`f.__code__ = ...`, `vars(nn).update(...)`, `builtins.len = ...`. Each is said, with its line.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from modgraph.graph.model import SourceLocation
from modgraph.prediction import registries
from modgraph.prediction.import_order import is_installed
from modgraph.prediction.knowledge import registry
from modgraph.prediction.names import is_of_standard_library
from modgraph.prediction.values import Unknown
from modgraph.source.dotted_names import dotted
from modgraph.source.integers import parse
from modgraph.source.modules import SourceModule
from modgraph.source.walking import walk

if TYPE_CHECKING:
    from modgraph.prediction.machine import Interpreter

_OF_FUNCTIONS = frozenset({"__defaults__", "__kwdefaults__", "__code__", "__globals__", "__closure__", "cell_contents"})
_OF_CLASSES = frozenset({"__bases__", "__mro__"})
_NAMESPACES = frozenset({"__kwdefaults__", "__globals__", "f_globals", "f_locals", "f_builtins"})
_CHANGING = frozenset({"update", "setdefault", "pop", "popitem", "clear", "__setitem__", "__delitem__", "__ior__"})
_CALLED = _CHANGING | {"FunctionType", "setattr", "delattr"}
_MAY_STORE = re.compile(
    r"__(?:defaults|kwdefaults|code|globals|closure|bases|mro|dict|builtins)__|\bcell_contents\b|\bf_\w+\b|\bFunctionType\b|"
    r"\bvars\s*\(|\b(?:set|del)attr\s*\(|\bimport\b.*\bbuiltins\b|(?<!\bself)\.\s*\w+\s*[-+*/|&]?=[^=]"
)
"""What a text holds in which there is such a store: most hold none, and need not be parsed."""
UNITS_WALKED = 2
_MOST_SHOWN = 60


def tell(machine: Interpreter, source: SourceModule) -> None:
    """A problem for each in the module, and in those of the project that it imports."""
    for module in registries.imported_with(machine, source.name).modules.values():
        if is_installed(module) or not module.facts.has(_MAY_STORE):
            continue
        if module.facts.stores is None:
            machine.spend(len(module.text) * UNITS_WALKED)
            module.facts.stores = _candidates(module)
        for line, what in _stores(machine, module, module.facts.stores):
            reason = f"{what} changes what other code finds, which is not followed"
            machine.problem(reason, None, SourceLocation(module.file, line))


def _candidates(module: SourceModule) -> list[ast.expr]:
    """What may be such a store, by its syntax alone: asked once for a text."""
    try:
        tree = parse(module.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found: list[ast.expr] = []
    for node in walk(tree):
        if isinstance(node, ast.Attribute):
            own = (dotted(node) or "").partition(".")[0] not in module.index.imported
            if isinstance(node.ctx, ast.Load) or (own and node.attr not in _OF_FUNCTIONS | _OF_CLASSES):
                continue
        elif isinstance(node, ast.Subscript):
            if isinstance(node.ctx, ast.Load) or (isinstance(node.value, ast.Name) and node.value.id != "__builtins__"):
                continue
        elif not isinstance(node, ast.Call) or _last(node) not in _CALLED:
            continue
        found.append(node)
    return found


def _last(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _stores(machine: Interpreter, module: SourceModule, found: list[ast.expr]) -> Iterator[tuple[int, str]]:
    for node in found:
        if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
            if _is_told(machine, module, node):
                yield node.lineno, f"`{_shown(node)} = ...`"
        elif isinstance(node, ast.Call) and _is_changing(machine, module, node):
            yield node.lineno, f"`{_shown(node.func)}(...)`"


def _is_told(machine: Interpreter, module: SourceModule, node: ast.Attribute | ast.Subscript) -> bool:
    if isinstance(node, ast.Subscript):
        return _is_namespace(machine, module, node.value)
    if node.attr == "__defaults__" and (dotted(node) or "").endswith(".__new__.__defaults__"):
        return False  # of a namedtuple, which is followed
    if node.attr in _OF_FUNCTIONS or node.attr in _OF_CLASSES:
        return True
    return _is_library(machine, module, node.value, node.attr)


def _is_changing(machine: Interpreter, module: SourceModule, call: ast.Call) -> bool:
    called = call.func
    if isinstance(called, ast.Attribute) and called.attr in _CHANGING:
        return _is_namespace(machine, module, called.value)
    name = (dotted(called) or "").rpartition(".")[2]
    if name == "FunctionType":
        return True
    if name not in ("setattr", "delattr") or len(call.args) < 2:
        return False
    given = call.args[1]
    attribute = given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else None
    known = _OF_FUNCTIONS | _OF_CLASSES
    return attribute in known or _is_library(machine, module, call.args[0], attribute)


def _is_namespace(machine: Interpreter, module: SourceModule, node: ast.expr) -> bool:
    """The names of a function's module, of a frame, or of a module that is not the project's."""
    if isinstance(node, ast.Attribute):
        if node.attr in _NAMESPACES:
            return True
        return node.attr == "__dict__" and _is_foreign(machine, module, node.value)
    if isinstance(node, ast.Name):
        return node.id == "__builtins__"
    if isinstance(node, ast.Call) and dotted(node.func) == "vars" and len(node.args) == 1:
        return _is_foreign(machine, module, node.args[0])
    return False


def _place(module: SourceModule, node: ast.expr) -> str | None:
    """The import path of what a name, or an attribute of it, stands for; None where it is not imported."""
    first, _, rest = (dotted(node) or "").partition(".")
    imported = module.index.imported.get(first)
    if imported is None:
        return "builtins" if first == "__builtins__" and not rest else None
    place = module.absolute(imported.module, imported.level)
    return ".".join(part for part in (place, imported.attribute, rest) if part)


def _is_foreign(machine: Interpreter, module: SourceModule, node: ast.expr) -> bool:
    """A module, or a class of one, that is not the project's."""
    place = _place(module, node)
    if place is None:
        return False
    source = machine.finder.source(place.partition(".")[0])
    return source is None or is_installed(source) or is_of_standard_library(source)


def _is_library(machine: Interpreter, module: SourceModule, node: ast.expr, name: str | None) -> bool:
    """A module of Python itself, and a name in it of which it is known what it does."""
    place = _place(module, node)
    if place is None or not _is_foreign(machine, module, node) or place.partition(".")[0] == "torch":
        return False
    if name is None:
        return registry.has_package(place)
    known = registry.lookup(f"{place}.{name}")
    return known is not None and not isinstance(known, Unknown)


def _shown(node: ast.expr) -> str:
    text = dotted(node) or ast.unparse(node)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
