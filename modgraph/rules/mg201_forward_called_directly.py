"""MG201: `self.layer.forward(x)`: hooks are passed over."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modgraph.findings import Edit, Fix
from modgraph.rules.edits import end_of
from modgraph.rules.facts import Method, attribute_of
from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.subject import Subject

_HOLDING = ("ModuleList", "Sequential")


def find(subject: Subject) -> Iterator[Found]:
    for method, call in subject.facts.calls_of("forward"):
        function = call.func
        if not isinstance(function, ast.Attribute) or not _is_submodule(subject, method, function.value):
            continue
        if subject.is_module:
            shown = ast.unparse(function.value)
            edit = Edit(*end_of(subject, function.value), *end_of(subject, function), "")
            yield Found(
                call,
                f"{shown}.forward() passes over the hooks of the module; write {shown}(...)",
                fix=Fix("call the module", (edit,)),
            )


def _is_submodule(subject: Subject, method: Method, node: ast.expr) -> bool:
    name = attribute_of(node, method.receiver)
    if name is not None:
        stores = subject.facts.stores_of(name)
        return bool(stores) and all(subject.reads.is_module(store.value, store.method) for store in stores)
    holder = node.value if isinstance(node, ast.Subscript) else _looped_over(method, node)
    name = attribute_of(holder, method.receiver) if holder is not None else None
    stores = subject.facts.stores_of(name) if name is not None else []
    return bool(stores) and all(
        isinstance(store.value, ast.Call) and subject.reads.torch_class(store.value.func) in _HOLDING
        for store in stores
    )


def _looped_over(method: Method, node: ast.expr) -> ast.expr | None:
    """`self.layers`, for the variable of `for layer in self.layers`."""
    if not isinstance(node, ast.Name) or node.id in method.values:
        return None
    loops = [each for each in method.loops if isinstance(each.target, ast.Name) and each.target.id == node.id]
    return loops[0].iter if len(loops) == 1 else None


RULE = Rule(
    code="MG201",
    name="direct-forward",
    severity="warning",
    summary="`forward` of a submodule is called directly, past its hooks.",
    why="""\
Calling a module runs its hooks around `forward`: those of pruning, quantisation, distributed training, profiling.
`self.layer.forward(x)` runs none of them. Write `self.layer(x)`.
""",
    find=find,
    default=False,
    invalid=(
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.layers = nn.ModuleList([nn.Linear(8, 8)])

    def forward(self, x):
        x = self.body.forward(x)
        for layer in self.layers:
            x = layer.forward(x)
        return x
""",
            (10, 12),
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.layers = nn.ModuleList([nn.Linear(8, 8)])

    def forward(self, x):
        x = self.body(x)
        for layer in self.layers:
            x = layer(x)
        return x
""",
        ),
    ),
    valid=(
        Valid(
            """\
from torch import nn

class Net(nn.Linear):
    def __init__(self, other):
        super().__init__(8, 8)
        self.other = other

    def forward(self, x):
        return super().forward(self.other.forward(x))

    def again(self, x):
        return self.forward(x)
""",
            "the base's forward, its own, and that of something unknown",
        ),
    ),
)
