"""MG124: a module as an attribute of the class: one for all instances, registered in none."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modgraph.rules.facts import attribute_of
from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.subject import Subject
from modgraph.source import torch_names


def find(subject: Subject) -> Iterator[Found]:
    for statement in subject.facts.body_assigns:
        value = statement.value
        if value is None or isinstance(value, ast.Constant):
            continue
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        name = ast.unparse(target)
        calls = [each for each in _elements(value) if isinstance(each, ast.Call)]
        made = any(_is_stateful(subject, each) or _is_filled(subject, each, name) for each in calls)
        if not made or not subject.is_module:
            continue
        yield Found(
            statement,
            f"`{name}` is made once, for the class: all instances share it and none has it among its submodules; "
            "make it in __init__",
            name,
        )


def _elements(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, (ast.List, ast.Tuple)) else [node]


def _is_stateful(subject: Subject, call: ast.Call) -> bool:
    name = subject.reads.torch_class(call.func)
    if name is None:
        return subject.reads.is_module_class(call.func) is True
    if name in torch_names.CONTAINERS:
        return any(isinstance(each, ast.Call) and _is_stateful(subject, each) for each in _below(call))
    return name not in torch_names.STATELESS


def _is_filled(subject: Subject, call: ast.Call, name: str) -> bool:
    """A container of torch that is empty, and into which a method of the class puts something."""
    if call.args or subject.reads.torch_class(call.func) not in torch_names.CONTAINERS:
        return False
    facts = subject.facts
    if any(change.name == name for change in facts.changes):
        return True
    holders = (
        (call.func.value, method)
        for method, call in facts.calls_of(*torch_names.REGISTERING)
        if isinstance(call.func, ast.Attribute)
    )
    return any(attribute_of(holder, method.receiver) == name for holder, method in holders)


def _below(call: ast.Call) -> Iterator[ast.expr]:
    for each in call.args:
        yield from _elements(each)


RULE = Rule(
    code="MG124",
    name="class-level-module",
    severity="info",
    summary="A module is an attribute of the class, not of its instances.",
    why="""\
A module that is made in the body of a class exists once. All instances share it, and it is registered in none of
them: no parameters, no place in the state dict, not moved by `to()`.

Make it in `__init__`.
""",
    find=find,
    default=False,
    invalid=(
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    head = nn.Linear(8, 2)
    drops = [nn.Dropout(0.1)]
    body = nn.Sequential(nn.Linear(8, 8), nn.ReLU())

    def forward(self, x):
        return self.head(self.body(x))
""",
            (4, 5, 6),
        ),
    ),
    valid=(
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    head: nn.Linear
    kind = nn.Linear
    act = nn.ReLU()
    __constants__ = ["head"]

    def __init__(self):
        super().__init__()
        self.head = self.kind(8, 2)
""",
            "an annotation; the class itself; nothing to share",
        ),
    ),
)
