"""Functions that are followed: their arguments, and the names that they bind."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from modgraph.rules.declared.known_functions import ADDING
from modgraph.rules.declared.values import NOTHING, ONLY_NONE, Frame, Text, Values

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True)
class Arguments:
    """Of a call, each by what it may be."""

    places: tuple[Values, ...] = ()
    names: tuple[tuple[str, Values], ...] = ()
    more: Values = NOTHING
    """What stands behind stars."""
    nodes: tuple[ast.expr, ...] = ()

    @property
    def all(self) -> Values:
        return self.more.union(*self.places, *(values for _, values in self.names))


NO_ARGUMENTS = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])


def constant(value: object) -> Values:
    return frozenset([Text(value)]) if isinstance(value, str) else ONLY_NONE


def owner_of(frame: Frame, name: str) -> Frame:
    """The frame in which a name is bound."""
    each: Frame | None = frame
    while each is not None:
        if name in each.locals:
            return each
        each = each.around
    return frame


def parameters_of(node: Function) -> list[str]:
    taken = node.args
    return [each.arg for each in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)]


def locals_of(node: Function) -> frozenset[str]:
    """The names that a function binds, those of functions in it left out."""
    found = set(parameters_of(node))
    found |= {each.arg for each in (node.args.vararg, node.args.kwarg) if each is not None}
    outer: set[str] = set()
    for each in inside(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            found.add(each.id)
        elif isinstance(each, (*FUNCTIONS, ast.ClassDef)):
            found.add(each.name)
        elif isinstance(each, (ast.Import, ast.ImportFrom)):
            found |= {name.asname or name.name.partition(".")[0] for name in each.names}
        elif isinstance(each, (ast.Global, ast.Nonlocal)):
            outer |= set(each.names)
    return frozenset(found - outer)


def gives(node: Function) -> bool:
    """A function returns or yields something."""
    if isinstance(node, ast.Lambda):
        return True
    return any(
        isinstance(each, (ast.Yield, ast.YieldFrom)) or (isinstance(each, ast.Return) and each.value is not None)
        for each in inside(node)
    )


def inside(node: ast.AST) -> Iterator[ast.AST]:
    pending = list(node.body) if isinstance(node, FUNCTIONS) else [node.body] if isinstance(node, ast.Lambda) else []
    while pending:
        each = pending.pop()
        yield each
        if not isinstance(each, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
            pending.extend(ast.iter_child_nodes(each))  # type: ignore[arg-type]


_CALLED = frozenset(("forward", "__call__", "__init__"))
_REGISTERING = frozenset(("add_module", "register_module", "register_parameter", "register_buffer", "set_submodule"))
_STORING = ADDING | _REGISTERING


def builds(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """A method may store something on its instance, beside `forward`."""
    if node.name in _CALLED or any(
        getattr(each, "id", "") in ("staticmethod", "classmethod") for each in node.decorator_list
    ):
        return False
    for each in inside(node):
        if isinstance(each, ast.Attribute) and (
            isinstance(each.ctx, ast.Store) or each.attr in (ADDING | _REGISTERING)
        ):
            return True
        if isinstance(each, ast.Name) and each.id == "setattr":
            return True
    return False
