"""Scripts that hold a configuration: `model = dict(type="Net", depth=50)`. Nothing is executed for that."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from modgraph.source.dotted_names import dotted
from modgraph.source.integers import parse
from modgraph.source.syntax import FunctionNode, main_test
from modgraph.source.targets import Unsaid

MAX_WORK = 500_000
"""Values and names that are looked at in one file; a value that is met twice counts twice."""
MAX_VALUES = 20_000
"""In one value."""
_MAX_DEPTH = 100
_MAX_ITEMS = 1_000
"""Of a list that is made by `+` and `*`."""
_MAX_NUMBER = 2**63
_SAYS_NOTHING = Unsaid("the file does not say it as a literal")
_LATER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.GeneratorExp)
"""What may be run again after its statement."""
_MAY_CALL = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, ast.Lambda, ast.GeneratorExp, ast.comprehension)
_OPERATIONS = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Subscript, ast.Attribute, ast.JoinedStr)
_MORE_OPERATIONS = (ast.Starred, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp)
"""What runs methods of its operands."""
_ALL_NAMES = frozenset({"globals", "locals", "vars", "exec", "eval", "__import__", "modules", "setattr", "__dict__"})
"""What gives a script its own names under other names."""


class _TooMuchError(ValueError):
    """What the file holds would take too long, or too much memory, to be looked at."""


def python_config(text: str) -> dict[str, Any] | None:
    """By name, what the statements at the top of a script give it, as far as the text says; `Unsaid` where it does not.
    None of a file that is no Python, or holds too much: what is returned has at most `MAX_WORK` values, those counted
    twice that stand in two places, and is nested at most so deeply."""
    names = _Names()
    try:
        for statement in parse(text).body:
            names.run(statement)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return names.values


class _Names:
    """What the names of a script hold while its statements pass."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self._made_of: dict[str, frozenset[str]] = {}
        """Names whose objects may be a part of what a name holds."""
        self._later = _Mentioned()
        """By functions and classes of the file, which may be called by whatever is no plain expression."""
        self._left = MAX_WORK

    def run(self, statement: ast.stmt) -> None:
        """One statement."""
        if isinstance(statement, ast.If) and main_test(statement):
            for each in statement.orelse:
                self.run(each)
            return
        if isinstance(statement, ast.Pass) or (
            isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        ):
            return
        mentioned = _Mentioned()
        mentioned.see(statement)
        for part in _outermost(statement, _LATER):
            self._later.see(part)
        target, value = _given(statement)
        if _is_only_defined(statement):
            self._lose({statement.name} if isinstance(statement, FunctionNode) else mentioned.bound, set())
        elif target is not None and value is not None and not self._may_change(value):
            self._lose_operands(value)
            self._give(target, value)
        else:  # whatever it names may be another afterwards, and all that this is a part of
            self._lose_with_functions(mentioned)

    def _work(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise _TooMuchError("it holds too much")

    def _give(self, name: str, node: ast.expr) -> None:
        used = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        known = _Reading(self.values, self._work).value(node)
        self._work(_size(known))
        self._made_of[name] = frozenset(used).union(*(self._made_of.get(each, ()) for each in used))
        self._work(len(self._made_of[name]))
        self.values[name] = known

    def _may_change(self, node: ast.expr) -> bool:
        """It may call something, which may change what has a name here."""
        return any(
            isinstance(each, _MAY_CALL)
            or (isinstance(each, ast.Call) and (dotted(each.func) != "dict" or "dict" in self.values))
            for each in ast.walk(node)
        )

    def _lose_operands(self, node: ast.expr) -> None:
        """What is an operand beside one that is not known, whose class may have methods of the file for that."""
        for each in _outermost(node, (*_OPERATIONS, *_MORE_OPERATIONS)):
            mentioned = _Mentioned()
            mentioned.see(each)
            if any(isinstance(self.values.get(name, _SAYS_NOTHING), Unsaid) for name in mentioned.named):
                self._lose_with_functions(mentioned)

    def _lose_with_functions(self, mentioned: _Mentioned) -> None:
        everything = mentioned.all_names or self._later.all_names
        bound = {*self.values, *mentioned.bound} if everything else mentioned.bound | self._later.declared
        self._lose(bound, mentioned.named | self._later.named)

    def _lose(self, bound: set[str], named: set[str]) -> None:
        """The names of the one may be other objects, those of both may have changed."""
        self._work(len(bound) + len(named) + len(self.values))
        changed = bound | {name for name in named if not _is_fixed(self.values.get(name, _SAYS_NOTHING))}
        touched = changed.union(*(self._made_of.get(each, ()) for each in changed))
        for name, value in self.values.items():
            if name in bound or not isinstance(value, dict | list | tuple):
                continue
            self._work(len(self._made_of[name]))
            if name in touched or self._made_of[name] & touched:
                self.values[name] = _SAYS_NOTHING
        for name in bound:
            self.values[name] = _SAYS_NOTHING


class _Mentioned:
    """Names in a part of a script."""

    def __init__(self) -> None:
        self.bound: set[str] = set()
        """Those that it may give to something else; in what is called later, most of these are its own."""
        self.declared: set[str] = set()
        """As global, in a function."""
        self.named: set[str] = set()
        self.all_names = False
        """It may be any."""

    def see(self, part: ast.AST) -> None:
        """All of what stands below."""
        for node in ast.walk(part):
            if isinstance(node, ast.Name):
                (self.named if isinstance(node.ctx, ast.Load) else self.bound).add(node.id)
                self.all_names |= node.id in _ALL_NAMES
            elif isinstance(node, ast.Attribute):
                self.all_names |= node.attr in _ALL_NAMES
            elif isinstance(node, ast.alias):
                self.all_names |= node.name == "*"
                self.bound.update({(node.asname or node.name).partition(".")[0]} - {"*"})
            elif isinstance(node, ast.Global):
                self.declared.update(node.names)
            elif not isinstance(node, ast.Constant | ast.keyword | ast.ImportFrom):
                # The names of functions, caught errors, captures of a match: whatever the syntax has for a name.
                self.bound.update(value for _, value in ast.iter_fields(node) if isinstance(value, str))


def _outermost(node: ast.AST, kinds: tuple[type[ast.AST], ...]) -> Iterator[ast.AST]:
    pending = [node]
    while pending:
        each = pending.pop()
        if isinstance(each, kinds):
            yield each
        else:
            pending += ast.iter_child_nodes(each)


def _is_only_defined(statement: ast.stmt) -> bool:
    """It gives a name to what runs nothing of the file: an import of a name, a function."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return all(each.name != "*" for each in statement.names)
    if not isinstance(statement, FunctionNode) or statement.decorator_list:
        return False
    defaults = (*statement.args.defaults, *filter(None, statement.args.kw_defaults))
    return all(isinstance(each, ast.Constant) for each in defaults)


def _size(value: Any) -> int:
    """How many values are in it.

    Raises:
        _TooMuchError: more than `MAX_VALUES`, or they are nested too deeply.
    """
    count, pending = 0, [(value, 0)]
    while pending:
        held, depth = pending.pop()
        count += 1
        if isinstance(held, dict):
            pending += [(each, depth + 1) for each in held.values()]
        elif isinstance(held, list | tuple):
            pending += [(each, depth + 1) for each in held]
        if count + len(pending) > MAX_VALUES or depth > _MAX_DEPTH:
            raise _TooMuchError("it holds too much")
    return count


def _given(statement: ast.stmt) -> tuple[str | None, ast.expr | None]:
    """The one name that a statement gives a value, and that; None of any other statement."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AnnAssign) and next(_outermost(statement.annotation, (ast.Call,)), None) is None:
        targets = [statement.target]
    if len(targets) != 1 or not isinstance(targets[0], ast.Name) or not hasattr(statement, "value"):
        return None, None
    return targets[0].id, statement.value


class _Reading:
    """Values of expressions."""

    def __init__(self, names: Mapping[str, Any], work: Callable[[int], None]) -> None:
        self._names = names
        self._work = work

    def value(self, node: ast.expr | None) -> Any:
        """What it gives; `Unsaid` where that is not plain."""
        self._work(1)
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
            found = _computed(type(node.op), self.value(node.left), self.value(node.right))
            self._work(len(found) if isinstance(found, list | tuple) else 1)
            return found
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
                self._work(len(value))
                found.update(value)
                continue
            name = self.value(key)
            if not isinstance(name, (str, int)):
                return _SAYS_NOTHING
            found[name] = value
        return found

    def _call(self, node: ast.Call) -> Any:
        """That of `dict`, which most of such files are made of."""
        if dotted(node.func) != "dict" or node.args or "dict" in self._names:
            return _SAYS_NOTHING
        return self._mapping(
            (None if each.arg is None else ast.Constant(each.arg), each.value) for each in node.keywords
        )


def _is_fixed(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


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
