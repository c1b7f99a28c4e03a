"""Which top-level statements of a text a name needs: what binds it, what binds the names in that, and so on.

For notebooks, whose other cells train, plot and download. A statement counts as binding also where it changes an
attribute or an item of a name, or calls a method on it that changes a container or a module. Whatever else a call
changes is not followed.
"""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from modgraph.source.containers import CHANGING
from modgraph.source.dotted_names import dotted
from modgraph.source.integers import parse

_OF_MODULES = frozenset(
    (
        "add_module",
        "register_module",
        "register_buffer",
        "register_parameter",
        "register_forward_hook",
        "register_forward_pre_hook",
    )
)
"""Methods of `nn.Module` that change what it holds."""
_SETTINGS = ("sys.path.", "os.chdir", "torch.set_", "warnings.filter")
"""Calls of a statement of their own that change how what follows is found or built."""


@dataclass(frozen=True, slots=True)
class _Facts:
    binds: frozenset[str]
    uses: frozenset[str]
    always: bool


def needed_statements(text: str, names: Iterable[str]) -> frozenset[int]:
    """Numbers of the top-level statements that `names` need, from 0 on.

    Raises:
        SyntaxError, ValueError, RecursionError: as parsing does.
    """
    tree: ast.Module = parse(text)
    lines = text.split("\n")
    facts = [_facts(node, lines) for node in tree.body]
    by_name: dict[str, list[int]] = {}
    for number, each in enumerate(facts):
        for name in each.binds:
            by_name.setdefault(name, []).append(number)
    kept: set[int] = set()
    pending = [name for name in names if name]
    seen: set[str] = set()
    for number, each in enumerate(facts):
        if each.always:
            kept.add(number)
            pending.extend(each.uses)
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        for number in by_name.get(name, ()):
            if number not in kept:
                kept.add(number)
                pending.extend(facts[number].uses)
    return frozenset(kept)


def _facts(node: ast.stmt, lines: list[str]) -> _Facts:
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
    table = symtable.symtable("\n".join(lines[first - 1 : node.end_lineno]) + "\n", "cell", "exec")
    binds = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()} | {
        symbol.get_name() for symbol in table.get_symbols() if symbol.is_namespace()
    }
    uses = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced()}
    uses |= set(_globals_below(table))
    star = isinstance(node, ast.ImportFrom) and any(each.name == "*" for each in node.names)
    binds |= set(_changed(node))
    return _Facts(frozenset(binds), frozenset(uses), star or _is_setting(node))


def _globals_below(table: symtable.SymbolTable) -> Iterator[str]:
    pending = list(table.get_children())
    while pending:
        inner = pending.pop()
        pending.extend(inner.get_children())
        for symbol in inner.get_symbols():
            if symbol.is_global() and symbol.is_referenced():
                yield symbol.get_name()


def _changed(node: ast.stmt) -> Iterator[str]:
    """Names of which a simple statement changes an attribute, an item, or by a method what they hold."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        targets = [node.target]
    elif isinstance(node, ast.Delete):
        targets = node.targets
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function = node.value.func
        if isinstance(function, ast.Attribute) and function.attr in CHANGING | _OF_MODULES:
            targets = [function]
        elif isinstance(function, ast.Name) and function.id in ("setattr", "delattr") and node.value.args:
            targets = [ast.Attribute(node.value.args[0], "", ast.Store())]
    for target in targets:
        inner: ast.AST = target
        while isinstance(inner, ast.Attribute | ast.Subscript | ast.Starred):
            inner = inner.value
        if isinstance(inner, ast.Name) and inner is not target:
            yield inner.id


def _is_setting(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    return (dotted(node.value.func) or "").startswith(_SETTINGS)
