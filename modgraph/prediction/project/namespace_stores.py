"""Stores that change what functions, classes or other people's modules are, past every name that is followed:
`f.__code__ = ...`, `vars(nn).update(...)`, `builtins.len = ...`. Each is said, with its line.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from modgraph.graph.model import SourceLocation
from modgraph.names import last_name
from modgraph.prediction.code.import_order import is_installed
from modgraph.prediction.domain import registry
from modgraph.prediction.domain.values import Unknown
from modgraph.prediction.project import registries
from modgraph.prediction.python.standard_sources import is_of_standard_library
from modgraph.source import containers
from modgraph.source.dotted_names import dotted
from modgraph.source.integers import parse
from modgraph.source.modules import SourceModule
from modgraph.source.walking import children

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_OF_FUNCTIONS = frozenset({"__defaults__", "__kwdefaults__", "__code__", "__globals__", "__closure__", "cell_contents"})
_OF_CLASSES = frozenset({"__bases__", "__mro__"})
_NAMESPACES = frozenset({"__kwdefaults__", "__globals__", "f_globals", "f_locals", "f_builtins"})
_CHANGING = containers.DICT | (containers.OPERATORS & vars(dict).keys())
_CALLED = _CHANGING | {"FunctionType", "setattr", "delattr"}
_MAY_STORE = re.compile(
    r"__(?:defaults|kwdefaults|code|globals|closure|bases|mro|dict|builtins)__|\bcell_contents\b|\bf_\w+\b|\bFunctionType\b|"
    r"\bvars\s*\(|\b(?:set|del)attr\s*\(|\bbuiltins\b|(?<!\bself)\.\s*\w+\s*[-+*/|&]?=[^=]"
)
"""What a text holds in which there is such a store: most hold none, and need not be parsed."""
UNITS_WALKED = 2
_MOST_SHOWN = 60


def tell(machine: Machine, source: SourceModule) -> None:
    """A problem for each that runs when the module is imported, and those of the project that it imports."""
    if is_installed(source):
        return  # what it imports with it is installed too, and not looked at
    modules = registries.imported_with(machine, source.name).modules.values()
    project = [each for each in modules if not is_installed(each)]
    for module in project:
        for owner, node in _of_module(machine, module):
            if not owner or _runs_on_import(machine, project, owner):
                _tell(machine, module, node)


def tell_run(machine: Machine, source: SourceModule) -> None:
    """A problem for each that stands in a function which the prediction has run."""
    if is_installed(source):
        return
    run = {(each.module, each.qualname.partition(".<locals>")[0]) for each in machine.caches.costs}
    for module in registries.imported_with(machine, source.name).modules.values():
        if not is_installed(module):
            for owner, node in _of_module(machine, module):
                if (module.name, owner) in run:
                    _tell(machine, module, node)


def _of_module(machine: Machine, module: SourceModule) -> list[tuple[str, ast.expr]]:
    facts = module.facts
    if not facts.has(_MAY_STORE):
        return []
    if facts.stores is None:
        machine.spend(len(module.text) * UNITS_WALKED)
        found = _owned(_tree(module))
        facts.stores = [
            (owner, node) for owner, node in found if isinstance(node, ast.expr) and _is_candidate(module, node)
        ]
    return facts.stores


def _tell(machine: Machine, module: SourceModule, node: ast.expr) -> None:
    what = _store(machine, module, node)
    if what is not None:
        reason = f"{what} changes what other code finds, which is not followed"
        machine.problem(reason, None, SourceLocation(module.file, node.lineno))


def _tree(module: SourceModule) -> ast.Module:
    try:
        return parse(module.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


# ---- what runs on import ---------------------------------------------------------------------------------------------


def _owned(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Every node with the qualified name of the outermost function in which it runs, "" where it runs on import. What
    runs only where the module is the program is left out."""
    pending: list[tuple[str, str, ast.AST]] = [("", "", each) for each in reversed(tree.body)]
    while pending:
        owner, prefix, node = pending.pop()
        if isinstance(node, ast.If) and not owner and _is_program(node.test):
            pending.extend(("", prefix, each) for each in reversed(node.orelse))
            continue
        yield owner, node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not owner:
            body = set(map(id, node.body))
            name = prefix + node.name
            pending.extend((name if id(each) in body else "", prefix, each) for each in reversed(children(node)))
        elif isinstance(node, ast.ClassDef) and not owner:
            bases = set(map(id, node.bases))
            name = f"{prefix}{node.name}"
            # A class that derives from another calls its functions when it is called itself.
            pending.extend(
                (name, prefix, each) if id(each) in bases else ("", f"{name}.", each)
                for each in reversed(children(node))
            )
        else:
            pending.extend((owner, prefix, each) for each in reversed(children(node)))


def _is_program(test: ast.expr) -> bool:
    """`__name__ == "__main__"`, or TYPE_CHECKING."""
    if isinstance(test, ast.Compare) and isinstance(test.left, ast.Name):
        return test.left.id == "__name__" and isinstance(test.ops[0], ast.Eq)
    return last_name(dotted(test) or "") == "TYPE_CHECKING"


def _runs_on_import(machine: Machine, modules: list[SourceModule], owner: str) -> bool:
    """A statement that runs on import mentions the function, or one that mentions it; by its name alone, so that it may
    be another of that name. A method is taken to run where its class is mentioned."""
    pending, seen = [owner], set[str]()
    while pending:
        name = pending.pop().partition(".")[0]
        if name in seen:
            continue
        seen.add(name)
        for module in modules:
            if name in module.facts.words:
                owners = _mentions(machine, module).get(name, set())
                if "" in owners:
                    return True
                pending.extend(owners)
    return False


def _mentions(machine: Machine, module: SourceModule) -> dict[str, set[str]]:
    facts = module.facts
    if facts.mentions is None:
        machine.spend(len(module.text) * UNITS_WALKED)
        facts.mentions = {}
        for owner, node in _owned(_tree(module)):
            for name in _mentioned(node):
                facts.mentions.setdefault(name, set()).add(owner)
    return facts.mentions


def _mentioned(node: ast.AST) -> tuple[str, ...]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        return (node.attr,)
    if isinstance(node, (ast.Import, ast.ImportFrom)):  # under another name
        return tuple(last_name(each.name) for each in node.names if each.asname not in (None, each.name))
    return ()


# ---- what is a store -------------------------------------------------------------------------------------------------


def _is_candidate(module: SourceModule, node: ast.expr) -> bool:
    """It may be such a store, by its syntax alone."""
    if isinstance(node, ast.Attribute):
        own = (dotted(node) or "").partition(".")[0] not in module.index.imported
        return not isinstance(node.ctx, ast.Load) and (not own or node.attr in _OF_FUNCTIONS | _OF_CLASSES)
    if isinstance(node, ast.Subscript):
        named = isinstance(node.value, ast.Name) and node.value.id != "__builtins__"
        return not isinstance(node.ctx, ast.Load) and not named
    return isinstance(node, ast.Call) and _last(node) in _CALLED


def _last(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _store(machine: Machine, module: SourceModule, node: ast.expr) -> str | None:
    """The store as it is told; None where it is none."""
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        return f"`{_shown(node)} = ...`" if _is_told(machine, module, node) else None
    is_changing = isinstance(node, ast.Call) and _is_changing(machine, module, node)
    return f"`{_shown(node.func)}(...)`" if is_changing and isinstance(node, ast.Call) else None


def _is_told(machine: Machine, module: SourceModule, node: ast.Attribute | ast.Subscript) -> bool:
    if isinstance(node, ast.Subscript):
        return _is_namespace(machine, module, node.value)
    if node.attr == "__defaults__" and (dotted(node) or "").endswith(".__new__.__defaults__"):
        return False  # of a namedtuple, which is followed
    if node.attr in _OF_FUNCTIONS or node.attr in _OF_CLASSES:
        return True
    return _is_library(machine, module, node.value, node.attr)


def _is_changing(machine: Machine, module: SourceModule, call: ast.Call) -> bool:
    called = call.func
    if isinstance(called, ast.Attribute) and called.attr in _CHANGING:
        return _is_namespace(machine, module, called.value)
    name = last_name(dotted(called) or "")
    if name == "FunctionType":
        return True
    if name not in ("setattr", "delattr") or len(call.args) < 2:
        return False
    given = call.args[1]
    attribute = given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else None
    known = _OF_FUNCTIONS | _OF_CLASSES
    return attribute in known or _is_library(machine, module, call.args[0], attribute)


def _is_namespace(machine: Machine, module: SourceModule, node: ast.expr) -> bool:
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


def _is_foreign(machine: Machine, module: SourceModule, node: ast.expr) -> bool:
    """A module, or a class of one, that is not the project's."""
    place = _place(module, node)
    if place is None:
        return False
    source = machine.finder.source(place.partition(".")[0])
    return source is None or is_installed(source) or is_of_standard_library(source)


def _is_library(machine: Machine, module: SourceModule, node: ast.expr, name: str | None) -> bool:
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
