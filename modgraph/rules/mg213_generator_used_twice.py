"""MG213: `parameters()` is a generator, and is gone through a second time."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.scopes import Scope, scopes
from modgraph.rules.subject import FileSubject
from modgraph.source.dotted_names import dotted

_GIVING = ("parameters", "named_parameters", "buffers", "named_buffers", "modules", "named_modules", "children")
_LAZY = ("filter", "map", "zip", "enumerate", "reversed", "iter")
_CONSUMING = frozenset(["list", "tuple", "set", "frozenset", "dict", "sum", "sorted", "max", "min"])
_OF_TORCH = ("torch.optim.", "torch.nn.utils.clip_grad", "torch.nn.utils.parameters_to_vector")


def find_in_file(file: FileSubject) -> Iterator[Found]:
    methods = {node.name for node in ast.walk(file.tree) if isinstance(node, ast.FunctionDef)}
    for scope in scopes(file):
        for name, stores in scope.assigned.items():
            value = scope.value(name) if "." not in name else None
            if value is None or not _is_generator(scope, value, methods):
                continue
            used = [node for node in scope.reads(name) if _uses_up(scope, node)]
            again = _again(scope, used, stores[0][0])
            if again is not None:
                first, second = again
                where = "the turn of the loop before" if first is second else f"line {first.lineno}"
                yield Found(
                    second,
                    f"`{name}` is a generator, and {where} has used it up: here it gives nothing; "
                    "write list(...) around it",
                )


def _is_generator(scope: Scope, value: ast.expr, methods: set[str]) -> bool:
    """It can be gone through once: `model.parameters()`, a filter of it, a generator expression over it."""
    if isinstance(value, ast.GeneratorExp):
        return any(_gives(scope, node, methods) for node in ast.walk(value.generators[0].iter))
    if not isinstance(value, ast.Call):
        return False
    if isinstance(value.func, ast.Name) and value.func.id in _LAZY and not scope.assigned.get(value.func.id):
        return any(_gives(scope, each, methods) for given in value.args for each in ast.walk(given))
    if scope.path(value.func).startswith("itertools."):
        return any(_gives(scope, each, methods) for given in value.args for each in ast.walk(given))
    return _gives(scope, value, methods, surely=True)


def _gives(scope: Scope, node: ast.AST, methods: set[str], surely: bool = False) -> bool:
    """`model.parameters()`, of a module; `surely`: what other code defines under that name may be a list."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in _GIVING:
        return False
    if not surely:
        return True
    name = dotted(node.func.value)
    if name is None or node.func.attr in methods:
        return False
    if "." not in name:
        made = scope.value(name)
        owner = dotted(made.func) if isinstance(made, ast.Call) else None
        if owner is not None and scope.file.project.is_module(scope.file.path, owner):
            return True
    return scope.is_module(name, node.func.attr) and (name in scope.parameters or name.startswith("self."))


def _uses_up(scope: Scope, node: ast.AST) -> bool:
    """What goes through it to its end."""
    parent = scope.parents[node]
    if isinstance(parent, (ast.For, ast.comprehension)):
        return parent.iter is node and not _breaks(parent)
    if isinstance(parent, ast.keyword):
        parent = scope.parents[parent]
    if not isinstance(parent, ast.Call) or node is parent.func:
        return False
    is_builtin = isinstance(parent.func, ast.Name) and parent.func.id in _CONSUMING
    path = scope.path(parent.func)
    is_optimizer = path.startswith("torch.optim.") and path.rpartition(".")[2][:1].isupper()
    return is_builtin or is_optimizer or path.startswith(_OF_TORCH[1:])


def _breaks(node: ast.For | ast.comprehension) -> bool:
    return any(isinstance(each, (ast.Break, ast.Return, ast.Raise, ast.Yield)) for each in ast.walk(node))


def _again(scope: Scope, used: list[ast.Name | ast.Attribute], made: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """(first, second) use, where the first certainly comes before."""
    for number, first in enumerate(used):
        if len(scope.loops(first)) > len(scope.loops(made)):
            return first, first
        above = {id(each) for each in _deciding(scope, first)}
        for second in used[number + 1 :]:
            if above <= {id(each) for each in _deciding(scope, second)} and _same_branches(scope, first, second):
                return first, second
    return None


_DECIDING = (ast.If, ast.IfExp, ast.Try, ast.BoolOp, ast.Match, ast.ExceptHandler)


def _deciding(scope: Scope, node: ast.AST) -> Iterator[ast.AST]:
    return (each for each in scope.around(node) if isinstance(each, _DECIDING))


def _same_branches(scope: Scope, first: ast.AST, second: ast.AST) -> bool:
    """Of each condition around the first, both stand in the same branch; and nothing leaves between them."""
    return all(_branch(scope, each, first) == _branch(scope, each, second) for each in _deciding(scope, first))


def _branch(scope: Scope, condition: ast.AST, node: ast.AST) -> str:
    below = node
    for each in scope.around(node):
        if each is condition:
            break
        below = each
    for name, part in ast.iter_fields(condition):
        if part is below or (isinstance(part, list) and below in part):
            return name
    return ""


RULE = Rule(
    code="MG213",
    name="generator-used-twice",
    severity="warning",
    summary="`parameters()`, or a filter of it, is kept under a name and gone through twice; then it is empty.",
    why="""\
`model.parameters()` is a generator. Kept under a name and given to two optimizers, the second raises "optimizer got
an empty parameter list"; given to an optimizer first and to `clip_grad_norm_` in each step, nothing is clipped, and
nothing is said.

Write `list(model.parameters())`, or call `model.parameters()` each time.
""",
    find_in_file=find_in_file,
    words=("parameters()", "modules()", "buffers()", "children()"),
    default=False,
    invalid=(
        Invalid(
            """\
import torch
from torch import nn

model = nn.Linear(8, 8)
params = filter(lambda p: p.requires_grad, model.parameters())
print(sum(p.numel() for p in params))
optimizer = torch.optim.Adam(params, lr=1e-3)

def train(net, batches):
    net.train()
    weights = net.parameters()
    optimizer = torch.optim.SGD(list(net.parameters()), lr=0.1)
    for batch in batches:
        net(batch).sum().backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
""",
            (7, 15),
        ),
    ),
    valid=(
        Valid(
            """\
import torch
from torch import nn

def make(model, kind, trainer):
    params = [p for p in model.parameters() if p.requires_grad]
    print(len(params), sum(p.numel() for p in params))
    rest = filter(lambda p: p.requires_grad, model.parameters())
    if kind == "adam":
        return torch.optim.Adam(rest)
    else:
        return torch.optim.SGD(rest)

def other(trainer):
    known = trainer.parameters()
    print(sum(known), sum(known))
""",
            "a list; one use on each path; what may be no module",
        ),
    ),
)
