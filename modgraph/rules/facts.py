"""A class as the rules see it first: what its methods store, change and call, from one walk over its `ast`.

Nothing is decided here. A rule that finds nothing suspicious among these facts is done with the class; only for the
others is the class interpreted.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

_LEAVES = frozenset((ast.Name, ast.Constant, ast.Load, ast.Store, ast.Pass, ast.Global, ast.Nonlocal, ast.Break))


class Method:
    """A function in the body of a class."""

    __slots__ = ("assigns", "calls", "functions", "name", "node", "receiver", "returns")

    def __init__(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.node = node
        self.name = node.name
        self.receiver = _receiver(node)
        """Name of its first parameter, "self"; "" for a static method."""
        self.assigns: list[ast.Assign | ast.AnnAssign | ast.AugAssign] = []
        self.calls: list[ast.Call] = []
        self.returns: list[ast.Return] = []
        self.functions: list[ast.AST] = []
        """Functions and lambdas inside it; what they do is listed too."""
        self._walk()

    def _walk(self) -> None:
        """In the order of the text."""
        pending: list[ast.AST] = list(reversed(self.node.body))
        while pending:
            node = pending.pop()
            kind = type(node)
            if kind in _LEAVES or kind is ast.ClassDef:
                continue
            if kind is ast.Call:
                self.calls.append(node)  # type: ignore[arg-type]
            elif kind in (ast.Assign, ast.AnnAssign, ast.AugAssign):
                self.assigns.append(node)  # type: ignore[arg-type]
            elif kind is ast.Return:
                self.returns.append(node)  # type: ignore[arg-type]
            elif kind in (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda):
                self.functions.append(node)
            below: list[ast.AST] = []
            for name in node._fields:
                value = getattr(node, name, None)
                if type(value) is list:
                    below.extend(each for each in value if isinstance(each, ast.AST))
                elif isinstance(value, ast.AST):
                    below.append(value)
            below.reverse()
            pending.extend(below)


class Store:
    """`self.name = value` in a method; `value` is None where it is a part of what is unpacked."""

    __slots__ = ("method", "name", "statement", "target", "value")

    def __init__(
        self, name: str, method: Method, statement: ast.stmt, target: ast.Attribute, value: ast.expr | None
    ) -> None:
        self.name = name
        self.method = method
        self.statement = statement
        self.target = target
        self.value = value


class Change:
    """`self.name.append(value)`, `self.name[key] = value`, `self.name += value`: what changes the object in place."""

    __slots__ = ("how", "method", "name", "node", "values")

    def __init__(self, name: str, how: str, method: Method, node: ast.AST, values: list[ast.expr]) -> None:
        self.name = name
        self.how = how
        """"append", "[]", "+=", ..."""
        self.method = method
        self.node = node
        self.values = values


class ClassFacts:
    """One class of a file."""

    def __init__(self, node: ast.ClassDef, qualname: str) -> None:
        self.node = node
        self.qualname = qualname
        self.methods: dict[str, Method] = {}
        self.body_assigns: list[ast.Assign | ast.AnnAssign] = []
        """Of the class's own body."""
        self._read(node.body)
        self.stores: list[Store] = []
        self.changes: list[Change] = []
        for method in self.methods.values():
            if method.receiver:
                self.stores.extend(_stores(method))
                self.changes.extend(_changes(method))

    def _read(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.methods[statement.name] = Method(statement)
            elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
                self.body_assigns.append(statement)
            elif isinstance(statement, (ast.If, ast.Try, ast.With)):
                self._read(statement.body)
                self._read(getattr(statement, "orelse", []))

    def stores_of(self, name: str) -> list[Store]:
        return [store for store in self.stores if store.name == name]


def classes(tree: ast.Module) -> Iterator[tuple[ast.ClassDef, str]]:
    """Every class of a file with its qualified name, those inside functions too, outer ones first."""
    pending: list[tuple[ast.AST, str]] = [(node, "") for node in reversed(tree.body)]
    while pending:
        node, prefix = pending.pop()
        below = prefix
        if isinstance(node, ast.ClassDef):
            yield node, prefix + node.name
            below = f"{prefix}{node.name}."
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            below = f"{prefix}{node.name}.<locals>."
        for name in ("orelse", "finalbody", "handlers", "cases", "body"):
            block = getattr(node, name, None)
            if type(block) is list:
                pending.extend(
                    (each, below)
                    for each in reversed(block)
                    if isinstance(each, (ast.stmt, ast.excepthandler, ast.match_case))
                )


def attribute_of(node: ast.AST, receiver: str) -> str | None:
    """ "x" for `self.x`."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == receiver:
        return node.attr
    return None


def _receiver(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Name) and decorator.id in ("staticmethod", "classmethod"):
            return ""
    places = [*node.args.posonlyargs, *node.args.args]
    return places[0].arg if places else ""


def _stores(method: Method) -> Iterator[Store]:
    for statement in method.assigns:
        if isinstance(statement, ast.AugAssign):
            continue
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if statement.value is None:
            continue
        for target in targets:
            for place, value in _pairs(target, statement.value):
                name = attribute_of(place, method.receiver)
                if name is not None and isinstance(place, ast.Attribute):
                    yield Store(name, method, statement, place, value)


def _pairs(target: ast.expr, value: ast.expr | None) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """(place, value) of one assignment; the value of a part is None where it does not stand there by itself."""
    if isinstance(target, (ast.Tuple, ast.List)):
        same = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
        for number, each in enumerate(target.elts):
            yield from _pairs(each, value.elts[number] if same else None)  # type: ignore[union-attr]
    elif isinstance(target, ast.Starred):
        yield from _pairs(target.value, None)
    else:
        yield target, value


_CHANGING = frozenset(["append", "extend", "insert", "appendleft", "extendleft", "add", "update", "setdefault"])


def _changes(method: Method) -> Iterator[Change]:
    for call in method.calls:
        function = call.func
        if isinstance(function, ast.Attribute) and function.attr in _CHANGING:
            name = attribute_of(function.value, method.receiver)
            if name is not None:
                values = [*call.args, *(keyword.value for keyword in call.keywords)]
                yield Change(name, function.attr, method, call, values)
    for statement in method.assigns:
        if isinstance(statement, ast.AugAssign):
            name = attribute_of(statement.target, method.receiver)
            if name is not None:
                yield Change(name, "+=", method, statement, [statement.value])
            elif isinstance(statement.target, ast.Subscript):
                name = attribute_of(statement.target.value, method.receiver)
                if name is not None:
                    yield Change(name, "[]", method, statement, [statement.value])
        elif statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                if isinstance(target, ast.Subscript):
                    name = attribute_of(target.value, method.receiver)
                    if name is not None:
                        yield Change(name, "[]", method, statement, [statement.value])
