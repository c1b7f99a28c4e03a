"""Where the functions are used that call a class: a builder with parameters is told by its callers what it passes on.

`def build(args): return Net(args.width)` says nothing of `args`; the script says it that calls `build`, or what calls
`build` in a file between them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from modgraph.arguments.call_sites import MAX_SCOPES, CallSites, outermost_functions
from modgraph.source.dotted_names import dotted
from modgraph.source.syntax import callable_bare, main_test

MAX_NAMES = 8
"""Functions and classes of one file whose users are looked for."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A file, with the names in it that are to be used elsewhere."""

    path: Path
    names: frozenset[str]
    is_plain: bool = True
    """They say no more to a caller than where they are followed by themselves."""

    @property
    def module(self) -> str:
        """The last part of its name as others import it."""
        return self.path.parent.name if self.path.stem == "__init__" else self.path.stem


def providers_of(path: Path, tree: ast.Module, scopes: Iterable[str], *, is_plain: bool) -> Provider | None:
    """The functions of a file in which calls stand, where others have to say what these are given; of a method its
    class. None where there are none.

    Args:
        scopes: qualified names of outermost functions and methods.
        is_plain: see `Provider`.
    """
    bodies = dict(outermost_functions(tree.body))
    names = [
        scope.partition(".")[0]
        for scope in scopes
        if scope in bodies and ("." in scope or not callable_bare(bodies[scope]))
    ]
    return Provider(path, frozenset(list(dict.fromkeys(names))[:MAX_NAMES]), is_plain) if names else None


def use_sites(path: Path, tree: ast.Module, providers: Iterable[Provider]) -> CallSites | None:
    """Where a file names what others provide; None where it does not."""
    plain, others = set[str](), set[str]()
    for each in providers:
        (plain if each.is_plain else others).update(_names_for(path, tree, each))
    names = plain | others
    if not names:
        return None
    tables = _tables_of(tree, names)
    names |= tables
    scopes: dict[str, bool] = {}
    for scope, node in outermost_functions(tree.body):
        if _uses(node, names - {scope}):
            scopes[scope] = callable_bare(node, bound="." in scope)
    if not scopes and not _uses(tree, names):
        return None
    in_script = any(main_test(statement) for statement in tree.body)
    ordered = sorted(scopes, key=lambda scope: not scopes[scope])
    called = frozenset(names)
    return CallSites(tuple(ordered[:MAX_SCOPES]), in_script, (), called, called & plain - others - tables)


def _tables_of(tree: ast.Module, names: set[str]) -> set[str]:
    """Names of the module that are given something in which one of the names stands: a table of classes."""
    return {
        target.id
        for statement in tree.body
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None
        for target in (statement.targets if isinstance(statement, ast.Assign) else [statement.target])
        if isinstance(target, ast.Name) and _uses(statement.value, names)
    }


def _names_for(path: Path, tree: ast.Module, provider: Provider) -> set[str]:
    """The names under which a file has those of a provider: imported one by one, all of them, or as attributes."""
    if path == provider.path:
        return set(provider.names)
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            last = (node.module or "").rpartition(".")[2]
            for each in node.names:
                if each.name in provider.names:
                    found.add(each.asname or each.name)
                elif each.name == provider.module or (each.name == "*" and last == provider.module):
                    found |= provider.names
        elif isinstance(node, ast.Import) and any(
            each.name.rpartition(".")[2] == provider.module for each in node.names
        ):
            found |= provider.names
    return found


def _uses(node: ast.AST, names: set[str]) -> bool:
    """One of the names is read, by itself or as an attribute of a module."""
    return any(
        (isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load) and inner.id in names)
        or (isinstance(inner, ast.Attribute) and inner.attr in names and dotted(inner) is not None)
        for inner in ast.walk(node)
    )
