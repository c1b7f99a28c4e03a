"""Calls that run the constructor of a base: `super().__init__()` and its other spellings, and what registers."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from modgraph.names import last_name
from modgraph.rules.facts import Method, attribute_of
from modgraph.rules.subject import Subject
from modgraph.source.dotted_names import dotted
from modgraph.source.torch_names import MODULE_METHODS, REGISTERING


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


def may_initialise(subject: Subject, call: ast.Call, method: Method) -> bool:
    """It may run `nn.Module.__init__`: a constructor of a base, or anything that is given the object itself."""
    if is_base_init(call) or (isinstance(call.func, ast.Name) and call.func.id in ("super", "exec", "eval")):
        return True
    if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call):
        inner = call.func.value.func
        if isinstance(inner, ast.Name) and inner.id == "super":
            return True
    name = attribute_of(call.func, method.receiver)
    if name is not None:
        return name not in REGISTERING and _method_may_initialise(subject, name)
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return any(isinstance(each, ast.Name) and each.id == method.receiver for each in given)


def _method_may_initialise(subject: Subject, name: str) -> bool:
    """A method of the class, or one of a base that is not torch's, may do it; those of `nn.Module` do not."""
    known: dict[str, bool] = subject.notes.setdefault("methods that may initialise", {})
    if name not in known:
        known[name] = False  # meanwhile, for methods that call one another
        own = subject.facts.methods.get(name)
        if own is not None:
            known[name] = any(may_initialise(subject, call, own) for call in own.calls)
        else:
            is_torchs = all(subject.reads.torch_class(base) == "Module" for base in subject.facts.node.bases)
            known[name] = not (is_torchs and name in MODULE_METHODS)
    return known[name]


def registering(subject: Subject, method: Method, statements: Iterable[ast.stmt]) -> ast.stmt | None:
    """The first statement that registers something on self, where one certainly does: each arm of a test has one."""
    for each in statements:
        if isinstance(each, ast.If):
            arms = [arm for arm in (each.body, each.orelse) if not (arm and isinstance(arm[-1], ast.Raise))]
            found = [registering(subject, method, arm) for arm in arms]
            if found and all(found):
                return found[0]
        elif isinstance(each, ast.With):
            first = registering(subject, method, each.body)
            if first is not None:
                return first
        elif registers(subject, method, each):
            return each
    return None


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
