"""Where a file calls a class: the functions in which the calls stand, and whether it has a part for the script."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from modgraph.names import last_name
from modgraph.source.dotted_names import dotted
from modgraph.source.syntax import FunctionNode, callable_bare, main_test

MAX_SCOPES = 6
"""Functions of one file that are followed."""


@dataclass(frozen=True, slots=True)
class CallSites:
    """The calls of one class in one file."""

    scopes: tuple[str, ...]
    """Qualified names of the outermost functions in which they stand, those first that call these and need no
    arguments; methods too."""
    in_script: bool
    """The file has a part for the script."""
    names: tuple[str, ...] = ()
    """Names of the module whose assignment has a call, outside of functions."""
    called: frozenset[str] = frozenset()
    """The names under which the file has what is called."""
    plain: frozenset[str] = frozenset()
    """Those of them that say no more to a caller than where they are followed by themselves."""


def call_sites(tree: ast.Module, name: str) -> CallSites | None:
    """The calls of the class of that name; None where there are none."""
    names = names_of(tree, last_name(name))
    bodies = dict(outermost_functions(tree.body))
    called_in = {scope: _called(node) for scope, node in bodies.items()}
    scopes = [scope for scope, called in called_in.items() if any(last_name(each) in names for each in called)]
    if not scopes and not any(last_name(each) in names for each in _called_outside(tree)):
        return None
    callers = [
        scope
        for scope, called in called_in.items()
        if scope not in scopes
        and isinstance(bodies[scope], FunctionNode)
        and callable_bare(bodies[scope])
        and any(last_name(each) in map(last_name, scopes) for each in called)
    ]
    in_script = any(main_test(statement) for statement in tree.body)
    ordered = [*callers, *sorted(scopes, key=lambda scope: not callable_bare(bodies[scope], bound="." in scope))]
    bound = dict.fromkeys(name for name, called in _bound_outside(tree) if last_name(called) in names)
    called = frozenset(names)
    return CallSites(tuple(ordered[:MAX_SCOPES]), in_script, tuple(bound)[:MAX_SCOPES], called, called)


def names_of(tree: ast.Module, name: str) -> set[str]:
    """The class's own name, and those under which it is imported."""
    found = {name}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found.update(each.asname for each in node.names if each.name == name and each.asname)
    return found


def outermost_functions(body: Iterable[ast.stmt], outer: str = "") -> Iterable[tuple[str, FunctionNode]]:
    """The outermost functions, and the methods of classes, by qualified name."""
    for statement in body:
        if isinstance(statement, FunctionNode):
            yield f"{outer}{statement.name}", statement
        elif isinstance(statement, ast.ClassDef):
            yield from outermost_functions(statement.body, f"{outer}{statement.name}.")


def _called(node: ast.AST) -> list[str]:
    named = (_name_of(inner.func) for inner in ast.walk(node) if isinstance(inner, ast.Call))
    return [name for name in named if name is not None]


def _name_of(function: ast.expr) -> str | None:
    """What is called: `Net(...)`, `models.Net(...)`, `getattr(module, "Net")(...)`."""
    if isinstance(function, ast.Call) and dotted(function.func) == "getattr" and len(function.args) > 1:
        name = function.args[1]
        return name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else None
    return dotted(function)


def _bound_outside(tree: ast.Module) -> Iterable[tuple[str, str]]:
    """Names that are assigned outside of functions and classes, each with what is called in what they are given."""
    for node in _outside(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            called = _called(node.value)
            yield from (
                (inner.id, name)
                for target in targets
                for inner in ast.walk(target)
                if isinstance(inner, ast.Name)
                for name in called
            )


def _called_outside(tree: ast.Module) -> list[str]:
    """Calls outside of functions and classes."""
    named = (_name_of(node.func) for node in _outside(tree) if isinstance(node, ast.Call))
    return [name for name in named if name is not None]


def _outside(tree: ast.Module) -> Iterable[ast.AST]:
    """All nodes but those of functions and classes."""
    pending: list[ast.AST] = [*tree.body]
    while pending:
        node = pending.pop()
        if not isinstance(node, FunctionNode | ast.ClassDef):
            yield node
            pending.extend(ast.iter_child_nodes(node))
