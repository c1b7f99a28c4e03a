"""MG211: what is given to `CrossEntropyLoss` has been through a softmax."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.scopes import Scope, scopes
from modgraph.rules.subject import FileSubject
from modgraph.source.dotted_names import dotted
from modgraph.source.torch_names import torch_class

_FUNCTIONS = frozenset(["torch.softmax", "torch.nn.functional.softmax", "torch.special.softmax"])
_DEPTH = 4


def find_in_file(file: FileSubject) -> Iterator[Found]:
    layers = _layers(file)
    losses = {name for name, made in layers.items() if made == "CrossEntropyLoss"}
    outer = scopes(file)[0]
    for scope in scopes(file):
        for call in scope.nodes:
            if not isinstance(call, ast.Call) or not _is_cross_entropy(scope, outer, call, losses):
                continue
            given = [*call.args[:1], *(each.value for each in call.keywords if each.arg == "input")]
            if given and (line := _softmax(scope, outer, given[0], layers)) is not None:
                where = "" if line == given[0].lineno else f" (line {line})"
                yield Found(
                    call,
                    f"cross entropy applies log_softmax itself, and is given the result of a softmax{where}: its "
                    "gradients are small where the model is wrong; give it the scores as they are",
                )


def _layers(file: FileSubject) -> dict[str, str]:
    """Attributes that each class that has them makes one layer of torch: "self.criterion" -> "CrossEntropyLoss"."""
    found: dict[str, set[str]] = {}
    for scope in scopes(file)[1:]:
        for name, stores in scope.assigned.items():
            if name.startswith("self."):
                made = {_made(scope, value) or "" for _, value in stores}
                found.setdefault(name, set()).update(made)
    return {name: next(iter(made)) for name, made in found.items() if len(made) == 1 and "" not in made}


def _made(scope: Scope, value: ast.expr | None) -> str | None:
    """ "Softmax", for `nn.Softmax(dim=1)`; moved to a device as well."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in ("to", "cuda"):
        value = value.func.value
    return torch_class(scope.path(value.func)) if isinstance(value, ast.Call) else None


def _made_by(scope: Scope, outer: Scope, name: str, layers: dict[str, str]) -> str | None:
    """The class of torch of what a name is."""
    if name in layers:
        return layers[name]
    home = scope if name in scope.assigned or name in scope.parameters else outer
    return _made(home, home.value(name))


def _is_cross_entropy(scope: Scope, outer: Scope, call: ast.Call, losses: set[str]) -> bool:
    if scope.path(call.func) == "torch.nn.functional.cross_entropy":
        return True
    if isinstance(call.func, ast.Call):
        return _made(scope, call.func) == "CrossEntropyLoss"
    name = dotted(call.func)
    return name is not None and (name in losses or _made_by(scope, outer, name, {}) == "CrossEntropyLoss")


def _softmax(scope: Scope, outer: Scope, node: ast.expr, layers: dict[str, str], depth: int = 0) -> int | None:
    """The line of the softmax that an expression certainly is the result of."""
    if depth > _DEPTH:
        return None
    if isinstance(node, ast.Name):
        value = scope.value(node.id)
        return _softmax(scope, outer, value, layers, depth + 1) if value is not None else None
    if not isinstance(node, ast.Call):
        return None
    name = dotted(node.func)
    if scope.path(node.func) in _FUNCTIONS:
        return node.lineno
    if isinstance(node.func, ast.Call):
        return node.lineno if _made(scope, node.func) == "Softmax" else None
    if name in layers or name == "self.softmax":
        return node.lineno if layers.get(name) == "Softmax" else None
    if isinstance(node.func, ast.Attribute) and node.func.attr == "softmax":
        return node.lineno if (name or "").partition(".")[0] not in scope.file.summary.imports else None
    if name is None:
        return None
    return node.lineno if _made_by(scope, outer, name, layers) == "Softmax" else _of_model(scope, outer, name)


def _of_model(scope: Scope, outer: Scope, name: str) -> int | None:
    """The same of what a model gives that is made of a class of the file: each `return` of its `forward` is a softmax;
    or of a Sequential that ends in one."""
    home = scope if name in scope.assigned or name in scope.parameters else outer
    value = home.value(name)
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in ("to", "cuda"):
        value = value.func.value
    if not isinstance(value, ast.Call):
        return None
    if _made(home, value) == "Sequential":
        last = value.args[-1] if value.args else None
        return last.lineno if isinstance(last, ast.Call) and _made(home, last) == "Softmax" else None
    made = dotted(value.func)
    file = scope.file
    known: dict[str, int | None] = file.notes.setdefault("softmax of classes", {})
    if made is not None and made not in known:
        is_module = made in file.summary.classes and file.project.is_module(file.path, made)
        known[made] = _of_forward(file, outer, made) if is_module else None
    return known[made] if made is not None else None


def _of_forward(file: FileSubject, outer: Scope, made: str) -> int | None:
    """The line of the softmax that each `return` of the `forward` of a class gives the result of."""
    node = file.project.class_node(file.path, made)
    forward = (
        [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "forward"] if node else []
    )
    inside = next((each for each in scopes(file) if forward and each.node is forward[-1]), None)
    if node is None or inside is None:
        return None
    returns = [each.value for each in inside.nodes if isinstance(each, ast.Return)]
    layers = _of_class(file, node)
    lines = [_softmax(inside, outer, each, layers, 1) if each is not None else None for each in returns]
    return lines[0] if lines and all(line is not None for line in lines) else None


def _of_class(file: FileSubject, node: ast.ClassDef) -> dict[str, str]:
    """The layers of torch that one class keeps."""
    own = [each for each in scopes(file) if each.node in node.body]
    found: dict[str, set[str]] = {}
    for scope in own:
        for name, stores in scope.assigned.items():
            found.setdefault(name, set()).update(_made(scope, value) or "" for _, value in stores)
    return {name: next(iter(made)) for name, made in found.items() if len(made) == 1 and name.startswith("self.")}


RULE = Rule(
    code="MG211",
    name="softmax-before-cross-entropy",
    severity="warning",
    summary="The result of a softmax is given to a cross entropy, which applies one itself.",
    why="""\
`nn.CrossEntropyLoss` takes scores and applies `log_softmax` to them. Given probabilities, it takes these for scores
between 0 and 1: the loss cannot come near 0, and the gradient is small just where the model is wrong. It learns,
slowly, which is why nobody notices.

Give the loss the scores, and apply the softmax where probabilities are wanted. Or let the model return `log_softmax`,
with `nn.NLLLoss`.
""",
    find_in_file=find_in_file,
    words=("CrossEntropyLoss", "cross_entropy"),
    default=False,
    invalid=(
        Invalid(
            """\
import torch
import torch.nn.functional as F
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 3)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, x):
        x = self.fc(x)
        return self.softmax(x)

criterion = nn.CrossEntropyLoss()
net = Net()

def train(batches):
    for images, labels in batches:
        output = net(images)
        criterion(output, labels).backward()

def loss(scores, labels):
    probabilities = F.softmax(scores, dim=1)
    return F.cross_entropy(probabilities, labels)
""",
            (21, 25),
        ),
    ),
    valid=(
        Valid(
            """\
import torch.nn.functional as F
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 3)

    def forward(self, x):
        x = self.fc(x)
        if not self.training:
            return F.softmax(x, dim=1)
        return x

criterion = nn.CrossEntropyLoss()
net = Net()

def train(batches):
    for images, labels in batches:
        criterion(net(images), labels).backward()

def loss(scores, labels):
    return F.nll_loss(F.log_softmax(scores, dim=1), labels) + F.cross_entropy(F.log_softmax(scores, dim=1), labels)
""",
            "the softmax is left out in training; log_softmax changes nothing when it is applied twice",
        ),
    ),
)
