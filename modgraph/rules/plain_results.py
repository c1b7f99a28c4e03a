"""Expressions whose value certainly is a plain tensor, and no Parameter."""

from __future__ import annotations

import ast

from modgraph.rules.facts import Method, Store, attribute_of
from modgraph.rules.mg103_parameter_no_more import CHANGING, FUNCTIONS
from modgraph.rules.subject import Subject

_MAKING = frozenset(
    f"torch.{name}"
    for name in (
        *("arange", "empty", "empty_like", "eye", "from_numpy", "full", "full_like", "linspace", "logspace", "ones"),
        *(
            "ones_like",
            "rand",
            "rand_like",
            "randint",
            "randn",
            "randn_like",
            "randperm",
            "tensor",
            "zeros",
            "zeros_like",
        ),
    )
)
_DEPTH = 6


def is_plain_tensor(subject: Subject, node: ast.expr | None, method: Method, depth: int = 0) -> bool:
    """A function of torch makes it, or an operation on what is a tensor itself."""
    if node is None or depth > _DEPTH:
        return False
    if isinstance(node, ast.Name):
        values = method.values.get(node.id, [])
        return len(values) == 1 and node.id not in method.parameters and _of_name(subject, values[0], method, depth)
    if isinstance(node, ast.Call):
        if subject.reads.path_of(node.func) in _MAKING:
            return True
        if subject.reads.path_of(node.func) in FUNCTIONS:
            return True
        function = node.func
        is_method = isinstance(function, ast.Attribute) and (function.attr in CHANGING)
        return is_method and is_tensor(subject, function.value, method, depth + 1)  # type: ignore[attr-defined]
    if isinstance(node, ast.BinOp):
        sides = (node.left, node.right)
        return any(is_tensor(subject, each, method, depth + 1) for each in sides)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return is_tensor(subject, node.operand, method, depth + 1)
    return False


def _of_name(subject: Subject, value: ast.expr | None, method: Method, depth: int) -> bool:
    return is_plain_tensor(subject, value, method, depth + 1)


def is_tensor(subject: Subject, node: ast.expr, method: Method, depth: int = 0) -> bool:
    """It is a tensor, a Parameter perhaps."""
    name = attribute_of(node, method.receiver) if method.receiver else None
    if name is not None:
        return name in parameters_of(subject)
    return subject.reads.is_parameter(node) or is_plain_tensor(subject, node, method, depth)


def _is_on_every_path(subject: Subject, stores: list[Store]) -> bool:
    """The first store is no part of a branch, or of a test in whose other arm a Parameter is stored too."""
    first = stores[0]
    if first.statement in first.method.node.body:
        return True
    around = first.method.parents.get(first.statement)
    if not isinstance(around, ast.If) or around not in first.method.node.body or first.statement not in around.body:
        return False
    return any(each.statement in around.orelse and subject.reads.is_parameter(each.value) for each in stores)


def parameters_of(subject: Subject) -> dict[str, int]:
    """Attributes that the constructor certainly makes Parameters, with the line."""
    if "certain parameters" not in subject.notes:
        facts = subject.facts
        deleted = {
            attribute_of(target, method.receiver)
            for method in facts.methods.values()
            for statement in method.deletes
            for target in statement.targets
        }
        changed = {
            call.args[1].value
            for _, call in facts.calls_of("delattr", "setattr")
            if len(call.args) > 1 and isinstance(call.args[1], ast.Constant)
        }
        subject.notes["certain parameters"] = {
            name: stores[0].statement.lineno
            for name, stores in facts.stored.items()
            if stores[0].method.name == "__init__"
            and subject.reads.is_parameter(stores[0].value)
            and _is_on_every_path(subject, stores)
            and name not in deleted
            and name not in changed
            and name not in facts.methods
        }
    found: dict[str, int] = subject.notes["certain parameters"]
    return found
