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


def given_to(call: ast.Call) -> list[ast.expr]:
    """What stands as an argument of a call."""
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def locals_of(node: Function) -> frozenset[str]:
    """The names that a function binds, those of functions in it left out."""
    return _told(node)[0]


def gives(node: Function) -> bool:
    """A function returns or yields something."""
    return isinstance(node, ast.Lambda) or _told(node)[1]


_TOLD = "_told_of_it"


def _told(node: Function) -> tuple[frozenset[str], bool]:
    """Both, found in one walk, and kept with the node: many trees of classes come to one function."""
    found: tuple[frozenset[str], bool] | None = getattr(node, _TOLD, None)
    if found is None:
        found = _walked(node)
        setattr(node, _TOLD, found)
    return found


def _walked(node: Function) -> tuple[frozenset[str], bool]:
    found = set(parameters_of(node))
    found |= {each.arg for each in (node.args.vararg, node.args.kwarg) if each is not None}
    outer: set[str] = set()
    is_giving = False
    for each in inside(node):
        if isinstance(each, ast.Name):
            if isinstance(each.ctx, ast.Store):
                found.add(each.id)
        elif isinstance(each, (*FUNCTIONS, ast.ClassDef)):
            found.add(each.name)
        elif isinstance(each, (ast.Import, ast.ImportFrom)):
            found |= {name.asname or name.name.partition(".")[0] for name in each.names}
        elif isinstance(each, (ast.Global, ast.Nonlocal)):
            outer |= set(each.names)
        elif isinstance(each, (ast.Yield, ast.YieldFrom)):
            is_giving = True
        elif isinstance(each, ast.Return):
            is_giving = is_giving or each.value is not None
    return frozenset(found - outer), is_giving


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
