"""Whether a number of times is one: `[norm] * batch_norm` takes a module or leaves it out, and repeats nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from modgraph.rules.facts import Method, attribute_of
from modgraph.rules.reading import local_values
from modgraph.rules.subject import Subject

_MAX_DEPTH = 5
_COUNTING = re.compile(
    r"(?:^|_)(?:[a-z]|n_\w+|nb\w*|num\w*|\w*(?:depth|layer|block|times?|count|rep|step|stage|len|size|head|level|iter|cop(?:y|ies)"
    r"|group|hop|branch|order|range|dim|width|channel|expert|codebook|scale)\w*)$",
    re.IGNORECASE,
)
"""Names of numbers. Of an argument of which nothing is known but its name, nothing else tells that it is one."""
_BOOLEAN = frozenset(["bool", "isinstance", "issubclass", "hasattr", "callable", "any", "all"])
_NUMBERS = frozenset(["len", "max", "min", "round", "sum", "abs", "divmod", "pow"])


def is_count(subject: Subject, method: Method, times: ast.expr) -> bool:
    """The expression certainly is a number, that may be more than one, and no answer to a question."""
    return _is_count(subject, method, times, 0) is True


def _is_count(subject: Subject, method: Method, node: ast.expr, depth: int) -> bool | None:
    """None where nothing tells."""
    if depth > _MAX_DEPTH:
        return None
    if isinstance(node, ast.Constant):
        return type(node.value) is int and node.value not in (0, 1)
    if isinstance(node, (ast.Compare, ast.BoolOp)) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
        return _of_boolean(subject, method, node, depth)
    if isinstance(node, ast.BinOp):
        return not isinstance(node.op, (ast.BitAnd, ast.BitOr, ast.BitXor))
    if isinstance(node, ast.UnaryOp):
        return _is_count(subject, method, node.operand, depth + 1)
    if isinstance(node, ast.IfExp):
        return _most(_is_count(subject, method, each, depth + 1) for each in (node.body, node.orelse))
    if isinstance(node, ast.Call):
        return _of_call(subject, method, node, depth)
    if isinstance(node, ast.Name):
        return _of_name(subject, method, node.id, depth)
    if isinstance(node, ast.Attribute):
        own = attribute_of(node, method.receiver) if method.receiver else None
        return _of_attribute(subject, own, depth) if own is not None else _by_name(node.attr)
    if isinstance(node, ast.Subscript):
        key = node.slice
        told = _by_name(key.value) if isinstance(key, ast.Constant) and isinstance(key.value, str) else None
        return told if told is not None else _is_count(subject, method, node.value, depth + 1)
    return None


def _of_boolean(subject: Subject, method: Method, node: ast.expr, depth: int) -> bool | None:
    """`a or 3` may be a number; `a > 3`, `not a` and `a and b` of questions are none."""
    if not isinstance(node, ast.BoolOp):
        return False
    return _most(_is_count(subject, method, each, depth + 1) for each in node.values)


def _of_call(subject: Subject, method: Method, node: ast.Call, depth: int) -> bool | None:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name in _BOOLEAN:
        return False
    if name in _NUMBERS:
        return True
    return _is_count(subject, method, node.args[0], depth + 1) if name == "int" and node.args else None


def _of_name(subject: Subject, method: Method, name: str, depth: int) -> bool | None:
    told: list[bool | None] = []
    if name in method.parameters:
        told.append(_of_parameter(method, name))
    told += [_is_count(subject, method, each, depth + 1) for each in local_values(method, name)]
    if not told and name in subject.file.numbers:
        return True
    found = _most(told)
    return found if found is not None else _by_name(name)


def _of_parameter(method: Method, name: str) -> bool | None:
    """By its default and its annotation."""
    default = next(iter(method.parameters[name]), None)
    if isinstance(default, ast.Constant) and default.value is not None:
        return type(default.value) is int
    arguments = method.node.args
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if each.arg == name and each.annotation is not None:
            text = ast.unparse(each.annotation)
            return False if "bool" in text else True if "int" in text else None
    return None


def _of_attribute(subject: Subject, name: str, depth: int) -> bool | None:
    values = [(each.method, each.value) for each in subject.facts.stores_of(name) if each.value is not None]
    found = _most(_is_count(subject, method, value, depth + 1) for method, value in values if value is not None)
    return found if found is not None else _by_name(name)


def _by_name(name: str) -> bool | None:
    return True if _COUNTING.search(name) and not _ASKING.search(name) else None


_ASKING = re.compile(
    r"^(?:use|using|with|without|is|has|do|no|not|add|apply|enable|include|should)_"
    r"|(?:norm|bn|bias|dropout|act|activation|relu|flag|residual|skip)$",
    re.IGNORECASE,
)
"""Names of questions, whatever else is in them: `use_layers`, `layer_norm`."""


def _most(told: Iterable[bool | None]) -> bool | None:
    """One that is no number decides; else one that is."""
    each = list(told)
    return False if False in each else True if True in each else None
