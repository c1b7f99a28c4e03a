"""Names of a module whose objects its statements change under another name, or through a function.

The names of an installed package are evaluated one by one, each by the statements that bind it or change it by its
name; `kept = TABLE["a"]; kept["b"] = 1` is none of those of TABLE.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from weakref import WeakKeyDictionary

from modgraph.source.changed_objects import changed_by_method, root_name, stored_in
from modgraph.source.index import Definition, Statement
from modgraph.source.modules import SourceModule
from modgraph.source.quiet import tree_of_lines

_FRESH = frozenset(
    (
        *("abs", "all", "any", "bool", "dict", "enumerate", "float", "frozenset", "hasattr", "int", "isinstance"),
        *("issubclass", "len", "list", "print", "range", "repr", "set", "sorted", "str", "sum", "tuple", "type", "zip"),
    )
)
"""What they give is none of what they are given."""
_OTHER = re.compile(r"\s*[A-Za-z_]\w*\s*=\s*[A-Za-z_]\w*\s*(?:#.*)?")
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_known: WeakKeyDictionary[SourceModule, dict[str, int]] = WeakKeyDictionary()
_changers: WeakKeyDictionary[SourceModule, dict[str, str | None]] = WeakKeyDictionary()
_leaked: WeakKeyDictionary[SourceModule, dict[int, frozenset[str]]] = WeakKeyDictionary()


def changed_elsewhere(source: SourceModule) -> dict[str, int]:
    """By name: the line of a statement that may change its object without its name.

    Raises:
        SourceError: the file cannot be read.
    """
    if source not in _known:
        _known[source] = _changed(source)
    return _known[source]


def leaked(source: SourceModule, statement: Statement) -> frozenset[str]:
    """Names whose objects, or parts of them, what the statement binds or calls may be given or keep."""
    known = _leaked.setdefault(source, {})
    if statement.first_line not in known:
        known[statement.first_line] = frozenset(_names(_tree(source, statement)))
    return known[statement.first_line]


def changer(source: SourceModule, name: str) -> str | None:
    """The one other name of the module whose statements change the object of `name`, all of them below its own; None
    where it is not only that."""
    known = _changers.setdefault(source, {})
    if name not in known:
        known[name] = _changer(source, name)
    return known[name]


def _changer(source: SourceModule, name: str) -> str | None:
    keeping = [each for each in source.index.body if each.kind == "assign" and name in leaked(source, each)]
    if len(keeping) != 1 or len(keeping[0].names) != 1:
        return None
    other = keeping[0].names[0]
    changes = [each.first_line for each in source.index.statements[other] if other in each.touched]
    own = [each.last_line for each in source.index.statements[name]]
    if other in changed_elsewhere(source) or not changes or max(own) >= min(changes):
        return None
    called = (each for line in source.index.body for each in _calls_in(source, line))
    return None if any(name in _changed_by(source, function) for function in called) else other


def _calls_in(source: SourceModule, statement: Statement) -> list[str]:
    if statement.kind not in ("assign", "expression", "compound"):
        return []
    return _CALLED.findall("\n".join(source.lines[statement.first_line - 1 : statement.last_line]))


def is_bound_by_functions(source: SourceModule, name: str) -> bool:
    """A function of the module, which it calls itself, may bind that name of it."""
    if "global" not in source.text or re.search(rf"^\s+global\b.*\b{name}\b", source.text, re.M) is None:
        return False
    return name in changed_elsewhere(source)


def is_other_name(source: SourceModule, statement: Statement) -> bool:
    """`other = name`, and nothing else."""
    return _OTHER.fullmatch(source.lines[statement.first_line - 1]) is not None


def _changed(source: SourceModule) -> dict[str, int]:
    body = source.index.body
    touched = {name: each.first_line for each in body for name in each.touched}
    found: dict[str, int] = {}
    assigned = [each for each in body if each.kind == "assign"]
    for each in body:
        for function in _calls_in(source, each):
            for name in _changed_by(source, function):
                found.setdefault(name, each.first_line)
    pending = [each for each in assigned if not touched.keys().isdisjoint(each.names)]
    while pending:
        statement = pending.pop()
        changed = next(name for name in statement.names if name in touched or name in found)
        line = touched.get(changed, found.get(changed, 0))
        for name in (leaked(source, statement) | _twins(source, statement)) - found.keys() - {changed}:
            found[name] = line
            pending += [each for each in assigned if name in each.names]
    return found


def _twins(source: SourceModule, statement: Statement) -> frozenset[str]:
    """All names of `one = other = value`."""
    if len(statement.names) < 2:
        return frozenset()
    nodes = ast.iter_child_nodes(_tree(source, statement))
    return frozenset(statement.names) if any(len(getattr(each, "targets", ())) > 1 for each in nodes) else frozenset()


def _changed_by(source: SourceModule, function: str) -> Iterator[str]:
    """The module's names whose objects a function of it changes in place."""
    definition = source.index.definitions.get(function)
    if definition is None or definition.kind != "function":
        return
    for node in ast.walk(_tree(source, definition)):
        yield from node.names if isinstance(node, ast.Global) else ()
        changed = stored_in(node) or changed_by_method(node)
        name = root_name(changed) if changed is not None else None
        if name is not None and name in source.index.statements:
            yield name


def _tree(source: SourceModule, part: Statement | Definition) -> ast.AST:
    return tree_of_lines(source.lines, part.first_line, part.last_line)


def _names(node: ast.AST) -> Iterator[str]:
    """Names that are there as objects: not looked through, copied or asked for what they hold."""
    parts: list[ast.AST] = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Name):
        yield from [node.id] if isinstance(node.ctx, ast.Load) else ()
    elif isinstance(node, (ast.Compare, ast.Starred, ast.JoinedStr, ast.For, ast.comprehension)) or _is_fresh(node):
        parts = [each for each in parts if not isinstance(each, ast.Name)]
    elif isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        parts = [value for key, value in pairs if key is not None or not isinstance(value, ast.Name)]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        parts.remove(node.func)
    for each in parts:
        yield from _names(each)


def _is_fresh(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FRESH
