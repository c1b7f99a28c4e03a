"""Calls that run the constructor of a base: `super().__init__()` and its other spellings, and what registers."""

from __future__ import annotations

import ast

from modgraph.names import last_name
from modgraph.rules.facts import Method, attribute_of
from modgraph.rules.subject import Subject
from modgraph.source.dotted_names import dotted
from modgraph.source.torch_names import REGISTERING


def is_base_init(call: ast.Call) -> bool:
    """`super().__init__()`, `super(Net, self).__init__()`, `Base.__init__(self)`."""
    return isinstance(call.func, ast.Attribute) and call.func.attr == "__init__"


def is_super_init(call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "__init__":
        return False
    made = call.func.value
    return isinstance(made, ast.Call) and isinstance(made.func, ast.Name) and made.func.id == "super"


def is_module_init(subject: Subject, call: ast.Call) -> bool:
    """`nn.Module.__init__(self)`."""
    return is_base_init(call) and subject.reads.torch_class(call.func.value) == "Module"  # type: ignore[attr-defined]


def may_initialise(call: ast.Call, method: Method) -> bool:
    """It may run `nn.Module.__init__`: a constructor of a base, or anything that is given the object itself."""
    if is_base_init(call) or (isinstance(call.func, ast.Name) and call.func.id in ("super", "exec", "eval")):
        return True
    if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call):
        inner = call.func.value.func
        if isinstance(inner, ast.Name) and inner.id == "super":
            return True
    if attribute_of(call.func, method.receiver) is not None:
        return call.func.attr not in REGISTERING  # type: ignore[attr-defined]
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return any(isinstance(each, ast.Name) and each.id == method.receiver for each in given)


def registers(subject: Subject, method: Method, statement: ast.stmt) -> bool:
    """The statement certainly registers a module, parameter or buffer on self."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        return isinstance(function, ast.Attribute) and (
            attribute_of(function, method.receiver) is not None and function.attr in REGISTERING
        )
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
        return False
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    if not any(attribute_of(target, method.receiver) is not None for target in targets):
        return False
    if subject.reads.is_parameter(statement.value):
        return True
    made = subject.reads.made(statement.value, method)
    named = all(last_name(dotted(each.func) or "")[:1].isupper() for each in made)  # files are not read for less
    return named and subject.reads.is_module(statement.value, method)
