"""The arguments of a call as values, as far as the text of the file says them; nothing is executed.

A name stands for what it is assigned, where that happens once: in the function that the call stands in, or at the top
of the file. What is assigned twice, or changed later (`config["width"] = 3`), is not known.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from modgraph.source.assignments import pairs
from modgraph.source.changed_objects import bound_by, changed_by_method, root_name, stored_in
from modgraph.source.dotted_names import dotted
from modgraph.source.modules import SourceModule
from modgraph.source.targets import Ref

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_MAX_DEPTH = 40
_MAX_NUMBER = 2**63
_MAX_EXPONENT = 64
_MAX_ITEMS = 4096
"""Of a repeated or joined list, or text."""
MAX_VALUES = 20_000
"""Expressions looked at for the arguments of one call: in lists of lists, each twice the last, are very many."""
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
}  # fmt: skip

Arguments = tuple[tuple[Any, ...], tuple[tuple[str, Any], ...]]


class _UnknownError(Exception):
    """The text alone does not say it."""


Written = tuple["_Scope", ast.Call]


def written_calls(tree: ast.Module, module: SourceModule) -> dict[str, list[Written]]:
    """By the dotted name that is called: the calls outside classes that have arguments, in the order of the text."""
    found: dict[str, list[Written]] = {}
    pending: list[tuple[Iterable[ast.AST], _Scope]] = [
        (_own_nodes(tree.body), _Scope(tree.body, None, module, _changed(tree)))
    ]
    while pending:
        nodes, scope = pending.pop()
        for node in nodes:
            if isinstance(node, _Function):
                pending.append((nodes, scope))
                inner = _Scope(node.body, scope, module, scope.changed, node.args)
                pending.append((_own_nodes(node.body), inner))
                break
            if isinstance(node, ast.Call) and (node.args or node.keywords) and (name := dotted(node.func)) is not None:
                found.setdefault(name, []).append((scope, node))
    return found


def calls_with_values(calls: Iterable[Written]) -> Iterator[Arguments]:
    """Positional and keyword arguments of those of the calls whose arguments are all known."""
    yield from filter(None, (_known(scope, call) for scope, call in calls))


def calls_at_lines(calls: Iterable[Written]) -> Iterator[tuple[Arguments, int]]:
    """The same, each with the line on which the call begins."""
    for scope, call in calls:
        found = _known(scope, call)
        if found is not None:
            yield found, call.lineno


def _known(scope: _Scope, call: ast.Call) -> Arguments | None:
    try:
        return scope.arguments(call)
    except _UnknownError:
        return None


class _Scope:
    """The names of a function, or of the top of a file, and what they are assigned."""

    def __init__(
        self,
        body: Iterable[ast.stmt],
        outer: _Scope | None,
        module: SourceModule,
        changed: frozenset[str],
        parameters: ast.arguments | None = None,
    ) -> None:
        self.outer = outer
        self.module = module
        self.changed = changed
        self.outermost: _Scope = self if outer is None else outer.outermost
        self.n_values = 0
        """Expressions looked at for the call that is read; counted in the outermost scope."""
        self.bound: dict[str, list[ast.expr | None]] = {}
        """Every binding of a name; None for one that is no plain assignment."""
        for name, default in _defaults(parameters) if parameters is not None else ():
            self.bound.setdefault(name, []).append(default)
        for name, value in _bindings(body):
            self.bound.setdefault(name, []).append(value)

    def arguments(self, call: ast.Call) -> Arguments:
        """The arguments of a call in this scope, `*` and `**` taken apart."""
        self.outermost.n_values = 0
        keywords: dict[str, Any] = {}
        for keyword in call.keywords:
            value = self.value(keyword.value)
            given = {keyword.arg: value} if keyword.arg is not None else value
            if not isinstance(given, dict) or not all(isinstance(key, str) for key in given):
                raise _UnknownError
            keywords.update({str(key): item for key, item in given.items()})
        found = tuple(self._items(call.args, 0)), tuple(keywords.items())
        if _written_size(found, MAX_VALUES) > MAX_VALUES:
            raise _UnknownError
        return found

    def value(self, node: ast.expr, depth: int = 0) -> Any:
        """What an expression is worth.

        Raises:
            _UnknownError: the text does not say.
        """
        self._count(depth)
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return self._named(name, depth)
            case ast.Tuple(elts=items):
                return tuple(self._items(items, depth))
            case ast.List(elts=items):
                return self._items(items, depth)
            case ast.Dict(keys=keys, values=values):
                written = zip(keys, values, strict=True)
                return self._dict([(self._key(key, depth), self.value(item, depth + 1)) for key, item in written])
            case ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords) if not self._is_bound("dict"):
                return self._dict([(self._text(k.arg), self.value(k.value, depth + 1)) for k in keywords])
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Not() as sign, operand=operand):
                return _signed(sign, self.value(operand, depth + 1))
            case ast.BinOp(left=left, op=op, right=right):
                return _reckoned(op, self.value(left, depth + 1), self.value(right, depth + 1))
            case ast.Subscript(value=whole, slice=index):
                return _item(self.value(whole, depth + 1), self.value(index, depth + 1))
            case ast.Attribute():
                return self._imported(dotted(node))
        raise _UnknownError

    def _count(self, depth: int) -> None:
        self.outermost.n_values += 1
        if depth > _MAX_DEPTH or self.outermost.n_values > MAX_VALUES:
            raise _UnknownError

    def _items(self, nodes: list[ast.expr], depth: int) -> list[Any]:
        found: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                several = self.value(node.value, depth + 1)
                if not isinstance(several, list | tuple):
                    raise _UnknownError
                if len(found) + len(several) > MAX_VALUES:
                    raise _UnknownError
                found.extend(several)
            else:
                found.append(self.value(node, depth + 1))
        return found

    def _key(self, node: ast.expr | None, depth: int) -> Any:
        if node is None:  # **another
            raise _UnknownError
        return self.value(node, depth + 1)

    def _text(self, name: str | None) -> str:
        if name is None:
            raise _UnknownError
        return name

    def _dict(self, items: list[tuple[Any, Any]]) -> dict[Any, Any]:
        try:
            return dict(items)
        except TypeError as error:  # a key without a hash
            raise _UnknownError from error

    def _is_bound(self, name: str) -> bool:
        return name in self.bound or (self.outer is not None and self.outer._is_bound(name))

    def _named(self, name: str, depth: int) -> Any:
        if name in self.bound:
            values = self.bound[name]
            if len(values) != 1 or values[0] is None or name in self.changed:
                raise _UnknownError
            return self.value(values[0], depth + 1)
        if self.outer is not None:
            return self.outer._named(name, depth)
        return self._imported(name)

    def _imported(self, name: str | None) -> Ref:
        """A class or function by its import path, where the dotted name leads to one."""
        first, _, rest = (name or "").partition(".")
        if name is None or self._is_bound(first):
            raise _UnknownError
        definition = self.module.index.definitions.get(name)
        if definition is not None:
            return Ref(f"{self.module.name}.{name}")
        for imported in self.module.index.imports_of.get(first, ()):
            if imported.attribute != "*" and not imported.type_checking:
                home = self.module.absolute(imported.module, imported.level)
                if imported.attribute is None and home.partition(".")[0] == first:
                    return Ref(name)
                return Ref(".".join(part for part in (home, imported.attribute, rest) if part))
        raise _UnknownError


def _own_nodes(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Every node of some statements, in the order of the text, without what stands in functions and classes."""
    pending = list(body)[::-1]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.ClassDef):
            continue
        yield node
        if not isinstance(node, _Function):
            pending.extend([*ast.iter_child_nodes(node)][::-1])


def _bindings(body: Iterable[ast.AST]) -> Iterator[tuple[str, ast.expr | None]]:
    """Every name that some statements bind, and the value of a plain assignment."""
    plain: set[int] = set()
    for node in _own_nodes(body):
        assigned: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(node, ast.Assign):
            assigned = [pair for target in node.targets for pair in pairs(target, node.value)]
        elif isinstance(node, ast.AnnAssign):
            plain.add(id(node.target))
            assigned = [(node.target, node.value)] if node.value is not None else []
        elif isinstance(node, ast.NamedExpr):
            assigned = [(node.target, node.value)]
        elif (name := bound_by(node)) is not None and id(node) not in plain:
            yield name, None
        elif isinstance(node, ast.arg):
            yield node.arg, None  # of a lambda
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.name, None
        for target, value in assigned:
            if isinstance(target, ast.Name):
                plain.add(id(target))
                yield target.id, value


def _defaults(parameters: ast.arguments) -> Iterator[tuple[str, ast.expr | None]]:
    """Every parameter of a function, and what it is where the function is called without it."""
    positional = [*parameters.posonlyargs, *parameters.args]
    missing = len(positional) - len(parameters.defaults)
    for parameter, default in zip(positional, [*[None] * missing, *parameters.defaults], strict=True):
        yield parameter.arg, default
    for parameter, default in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True):
        yield parameter.arg, default
    for variadic in (parameters.vararg, parameters.kwarg):
        if variadic is not None:
            yield variadic.arg, None


def _changed(tree: ast.Module) -> frozenset[str]:
    """Names whose value is changed in place somewhere in the file, or bound anew from within a function."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Global | ast.Nonlocal):
            found.update(node.names)
        changed = stored_in(node) or changed_by_method(node)
        if changed is not None and (name := root_name(changed)) is not None:
            found.add(name)
    return frozenset(found)


def _written_size(value: Any, most: int) -> int:
    """How many values there are when it is written out, each at all its places; counted up to `most` and one more."""
    items = [*value, *value.values()] if isinstance(value, dict) else value
    if not isinstance(value, dict | list | tuple):
        return 1
    size = 1
    for item in items:
        size += _written_size(item, most - size)
        if size > most:
            break
    return size


def _signed(sign: ast.unaryop, value: Any) -> Any:
    if isinstance(sign, ast.Not) and isinstance(value, bool):
        return not value
    if isinstance(sign, ast.Not) or not isinstance(value, int | float):
        raise _UnknownError
    return -value if isinstance(sign, ast.USub) else +value


def _reckoned(op: ast.operator, left: Any, right: Any) -> Any:
    """The result of arithmetic with numbers, and of joining and repeating lists and tuples."""
    function = _ARITHMETIC.get(type(op))
    numbers = isinstance(left, int | float) and isinstance(right, int | float)
    joined = isinstance(op, ast.Add) and type(left) is type(right) and isinstance(left, list | tuple | str)
    repeated = isinstance(op, ast.Mult) and isinstance(left, list | tuple) and type(right) is int
    if function is None or not (numbers or joined or repeated):
        raise _UnknownError
    if numbers and isinstance(op, ast.Pow) and not (0 <= right <= _MAX_EXPONENT and abs(left) <= _MAX_EXPONENT):
        raise _UnknownError
    if (repeated and len(left) * right > _MAX_ITEMS) or (joined and len(left) + len(right) > _MAX_ITEMS):
        raise _UnknownError
    try:
        value = function(left, right)
    except (ArithmeticError, ValueError) as error:
        raise _UnknownError from error
    if isinstance(value, int | float) and not abs(value) < _MAX_NUMBER:
        raise _UnknownError
    return value


def _item(whole: Any, index: Any) -> Any:
    try:
        if isinstance(whole, dict) or (isinstance(whole, list | tuple) and type(index) is int):
            return whole[index]
    except (LookupError, TypeError) as error:
        raise _UnknownError from error
    raise _UnknownError
