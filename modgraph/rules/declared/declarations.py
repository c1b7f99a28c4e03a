"""The declarations that stand in the body of a class: each string with its place."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from modgraph.rules.declared.constants import Constants, Variable
from modgraph.rules.declared.sources import assigned, members_of
from modgraph.rules.declared.table import ATTRIBUTES, Declared
from modgraph.rules.declared.values import Kind


@dataclass(frozen=True, slots=True)
class Declaration:
    """One string of a declaration."""

    attribute: str
    declared: Declared
    text: str
    node: ast.expr
    """Where it stands: a text, or what is a class."""
    is_dict: bool = False
    """It stands in a dict."""
    kind: Kind | None = None
    """The class that is meant, where it stands there itself."""

    variables: tuple[tuple[Variable, ast.expr], ...] = ()
    """At the top of files: those that hold it as far as these files say, with what each is given there."""

    @property
    def shown(self) -> str:
        """What the source says."""
        return str(self.node.value) if isinstance(self.node, ast.Constant) else self.text


def declarations(node: ast.ClassDef, constants: Constants) -> Iterator[Declaration]:
    """What a class declares, as far as it stands there as text, or in a constant."""
    for member in members_of(node):
        for target, value in assigned(member):
            declared = ATTRIBUTES.get(target.id) if isinstance(target, ast.Name) else None
            if declared is None or value is None or not isinstance(target, ast.Name):
                continue
            held = constants.of(value)
            for each, is_dict in strings(held.node, declared.values_too):
                if isinstance(each.value, str) and each.value:
                    yield Declaration(target.id, declared, each.value, each, is_dict, variables=held.variables)


def strings(node: ast.expr, values_too: bool, in_dict: bool = False) -> Iterator[tuple[ast.Constant, bool]]:
    """The constants of a list, tuple, set or dict that stands there, and whether they stand in a dict."""
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        for each in node.elts:
            if isinstance(each, ast.Constant):
                yield each, in_dict
            elif isinstance(each, (ast.List, ast.Tuple)):
                yield from strings(each, values_too, in_dict)
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant):
                yield key, True
            if values_too and isinstance(value, ast.Constant):
                yield value, True
            elif values_too:
                yield from strings(value, values_too, in_dict=True)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.BitOr)):
        yield from strings(node.left, values_too)
        yield from strings(node.right, values_too)
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("set", "list", "tuple", "frozenset", "dict"):
        for each in node.args:
            yield from strings(each, values_too)
