"""Whether something in a file may change what a variable holds, by the look of what stands around its name."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from enum import Enum

from modgraph.rules.declared.functions import FUNCTIONS, locals_of

_READING = frozenset(
    (
        *("get", "items", "keys", "values", "copy", "index", "count", "union", "intersection", "difference"),
        *("issubset", "issuperset", "isdisjoint", "join", "format", "startswith", "endswith", "split"),
        *("lower", "upper"),
    )
)
"""Methods of lists, tuples, dicts, sets and texts that change nothing."""
_PLAIN = frozenset(
    (
        *("print", "len", "str", "repr", "list", "tuple", "dict", "set", "frozenset", "sorted", "isinstance", "any"),
        *("all", "enumerate", "zip", "reversed", "sum", "min", "max", "iter", "bool", "type", "map", "filter"),
    )
)
"""Functions of Python's that change nothing of what they are given."""
_LOOKING = (
    *(ast.Compare, ast.BinOp, ast.FormattedValue, ast.Starred),
    *(ast.Expr, ast.Assert, ast.If, ast.While),
)
"""What a name stands in without being handed on."""
_FIXED = (ast.Constant, ast.JoinedStr)
_ANYTHING = frozenset(("globals", "vars", "exec", "eval"))
"""What may bind any name."""


class Where(Enum):
    """What is looked through for changes of a variable."""

    LOCAL = "the function whose variable it is, and which ends when that returns"
    FILE = "the file at whose top it stands"
    OTHER = "another file, which may import it"


def changes(root: ast.AST, name: str, value: ast.expr, where: Where, is_foreign: Callable[[ast.expr], bool]) -> bool:
    """Whether something may change a variable, beside the one statement that gives it a value.

    Args:
        root: the function or file.
        value: what it is given.
        where: which of these it is.
        is_foreign: whether what is called belongs to a package of others.
    """
    is_fixed, is_local = _is_fixed(value), where is Where.LOCAL
    own = _imported_as(root, name) if where is Where.OTHER else frozenset([name])
    for node, around in _uses(root, own):
        if isinstance(node, ast.Call):
            is_written, is_read = _binds_by_text(node, name, where is Where.FILE), False
        elif isinstance(node, ast.Name):
            is_written, is_read = False, isinstance(node.ctx, ast.Load)
        elif node.attr != name or is_local:
            continue
        else:
            is_read = isinstance(node.ctx, ast.Load)
            is_written = not is_read and getattr(node.value, "id", "") not in ("self", "cls")
            is_read = is_read and where is Where.OTHER
        if is_written or (is_read and not is_fixed and not _is_harmless(node, around, is_foreign, is_local)):
            return True
    return False


def _is_fixed(value: ast.expr) -> bool:
    """It cannot be changed itself: a text, a tuple of such."""
    if isinstance(value, ast.Tuple):
        return all(map(_is_fixed, value.elts))
    return isinstance(value, _FIXED)


def _imported_as(root: ast.AST, name: str) -> frozenset[str]:
    aliases = [each for node in ast.walk(root) if isinstance(node, ast.ImportFrom) for each in node.names]
    is_all = any(each.name == "*" for each in aliases)
    return frozenset(each.asname or name for each in aliases if each.name == name) | ({name} if is_all else set())


def _uses(
    root: ast.AST, names: frozenset[str]
) -> Iterator[tuple[ast.Name | ast.Attribute | ast.Call, tuple[ast.AST, ...]]]:
    """Names, attributes and calls, with what they stand in, the nearest first. A function that has a variable of that
    name itself means another."""
    pending: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(root, ())]
    while pending:
        node, around = pending.pop()
        if node is not root and isinstance(node, (*FUNCTIONS, ast.Lambda)) and names & locals_of(node):
            continue
        if isinstance(node, (ast.Attribute, ast.Call)) or (isinstance(node, ast.Name) and node.id in names):
            yield node, around
        above = (node, *around[:5])
        pending += [(each, above) for each in ast.iter_child_nodes(node)]


def _binds_by_text(node: ast.Call, name: str, is_own: bool) -> bool:
    function = getattr(node.func, "id", getattr(node.func, "attr", ""))
    if function in _ANYTHING and isinstance(node.func, ast.Name):
        return is_own
    texts = [each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return function in ("setattr", "delattr", "__setattr__") and name in texts


def _is_harmless(
    node: ast.AST, around: tuple[ast.AST, ...], is_foreign: Callable[[ast.expr], bool], is_local: bool
) -> bool:
    """What a name stands in only reads what it holds."""
    if not around:
        return False
    above = around[0]
    if isinstance(above, (ast.For, ast.comprehension)):
        return above.iter is node
    if isinstance(above, ast.Call):
        return above.func is not node and _only_reads(above.func, is_foreign)
    if isinstance(above, ast.keyword):
        call = around[1] if len(around) > 1 else None
        return above.arg is None or (isinstance(call, ast.Call) and _only_reads(call.func, is_foreign))
    if isinstance(above, ast.Attribute):
        call = around[1] if len(around) > 1 else None
        return above.attr in _READING and isinstance(call, ast.Call) and call.func is above
    if isinstance(above, ast.Subscript):
        return isinstance(above.ctx, ast.Load) and (
            above.slice is node or _is_harmless(above, around[1:], is_foreign, is_local)
        )
    if isinstance(above, ast.Dict):  # `**plan`
        return any(key is None and value is node for key, value in zip(above.keys, above.values, strict=True))
    if isinstance(above, ast.Return):
        return is_local
    return isinstance(above, _LOOKING)


def _only_reads(function: ast.expr, is_foreign: Callable[[ast.expr], bool]) -> bool:
    return (isinstance(function, ast.Name) and function.id in _PLAIN) or is_foreign(function)
