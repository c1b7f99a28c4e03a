"""Scripts that hold a configuration: `model = dict(type="Net", depth=50)`. Nothing is executed for that."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from modgraph.source.dotted_names import dotted
from modgraph.source.integers import parse
from modgraph.source.syntax import FunctionNode, main_test
from modgraph.source.targets import Unsaid

_MAX_ITEMS = 1_000
"""Of a list that is made by `+` and `*`."""
_MAX_NUMBER = 2**63
_SAYS_NOTHING = Unsaid("the file does not say it as a literal")


def python_config(text: str) -> dict[str, Any] | None:
    """By name, what the statements at the top of a script give it, as far as the text says; `Unsaid` where it does not.
    None of a file that is no Python."""
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    names = _Names()
    for statement in tree.body:
        names.run(statement)
    return names.values


class _Names:
    """What the names of a script hold while its statements pass."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self._made_of: dict[str, frozenset[str]] = {}
        """Names whose objects may be a part of what a name holds."""

    def run(self, statement: ast.stmt) -> None:
        """One statement."""
        if isinstance(statement, FunctionNode | ast.ClassDef):
            self.values[statement.name] = _SAYS_NOTHING
            return
        if isinstance(statement, ast.If) and main_test(statement):
            return
        if isinstance(statement, ast.Import | ast.ImportFrom):
            self.values.update(
                {(each.asname or each.name).partition(".")[0]: _SAYS_NOTHING for each in statement.names}
            )
            return
        target, value = _given(statement)
        if target is not None and value is not None and not _may_change(value):
            self._give(target, value)
        else:  # whatever it names may be another afterwards, and all that this is a part of
            self._lose({each.id for each in ast.walk(statement) if isinstance(each, ast.Name)})

    def _give(self, name: str, node: ast.expr) -> None:
        used = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        known = _Reading(self.values).value(node)
        self._made_of[name] = frozenset(used).union(*(self._made_of.get(each, ()) for each in used))
        self.values[name] = known

    def _lose(self, changed: set[str]) -> None:
        touched = changed.union(*(self._made_of.get(each, ()) for each in changed))
        for name, value in self.values.items():
            if name not in changed and not isinstance(value, dict | list | tuple):
                continue
            if name in touched or self._made_of.get(name, frozenset()) & touched:
                self.values[name] = _SAYS_NOTHING


def _given(statement: ast.stmt) -> tuple[str | None, ast.expr | None]:
    """The one name that a statement gives a value, and that; None of any other statement."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    if len(targets) != 1 or not isinstance(targets[0], ast.Name) or not hasattr(statement, "value"):
        return None, None
    return targets[0].id, statement.value


def _may_change(node: ast.expr) -> bool:
    """It calls something with what has a name here, which may change that."""
    inner = list(ast.walk(node))
    calls = [each for each in inner if isinstance(each, ast.Call) and dotted(each.func) != "dict"]
    names = [each for each in inner if isinstance(each, ast.Name) and each.id != "dict"]
    return any(isinstance(each, ast.NamedExpr) for each in inner) or bool(calls and names)


class _Reading:
    """Values of expressions."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names

    def value(self, node: ast.expr | None) -> Any:
        """What it gives; `Unsaid` where that is not plain."""
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, (type(None), bool, int, float, str)) else _SAYS_NOTHING
        if isinstance(node, ast.Name):
            return self._names.get(node.id, _SAYS_NOTHING)
        if isinstance(node, ast.List | ast.Tuple):
            items = [self.value(each) for each in node.elts]
            return items if isinstance(node, ast.List) else tuple(items)
        if isinstance(node, ast.Dict):
            return self._mapping(zip(node.keys, node.values, strict=True))
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self.value(node.operand)
            return -inner if _is_number(inner) else _SAYS_NOTHING
        if isinstance(node, ast.BinOp):
            return _computed(type(node.op), self.value(node.left), self.value(node.right))
        if isinstance(node, ast.Subscript):
            return _item(self.value(node.value), self.value(node.slice))
        return _SAYS_NOTHING

    def _mapping(self, pairs: Iterator[tuple[ast.expr | None, ast.expr]]) -> Any:
        found: dict[Any, Any] = {}
        for key, node in pairs:
            value = self.value(node)
            if key is None:
                if not isinstance(value, dict):
                    return _SAYS_NOTHING
                found.update(value)
                continue
            name = self.value(key)
            if not isinstance(name, (str, int)):
                return _SAYS_NOTHING
            found[name] = value
        return found

    def _call(self, node: ast.Call) -> Any:
        """That of `dict`, which most of such files are made of."""
        if dotted(node.func) != "dict" or node.args:
            return _SAYS_NOTHING
        return self._mapping(
            (None if each.arg is None else ast.Constant(each.arg), each.value) for each in node.keywords
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_ON_NUMBERS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}


def _computed(operator: type, left: Any, right: Any) -> Any:
    if _is_number(left) and _is_number(right) and operator in _ON_NUMBERS:
        try:
            found = _ON_NUMBERS[operator](left, right)
        except (ArithmeticError, ValueError):
            return _SAYS_NOTHING
        return found if abs(found) < _MAX_NUMBER else _SAYS_NOTHING
    if isinstance(left, list | tuple) and type(left) is type(right) and operator is ast.Add:
        return type(left)([*left, *right]) if len(left) + len(right) <= _MAX_ITEMS else _SAYS_NOTHING
    if isinstance(left, list | tuple) and type(right) is int and operator is ast.Mult:
        return left * right if len(left) * right <= _MAX_ITEMS else _SAYS_NOTHING
    return _SAYS_NOTHING


def _item(held: Any, key: Any) -> Any:
    try:
        return held[key] if isinstance(held, dict | list | tuple) else _SAYS_NOTHING
    except (KeyError, IndexError, TypeError):
        return _SAYS_NOTHING
