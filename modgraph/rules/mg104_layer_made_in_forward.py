"""MG104: a layer with parameters, a dropout or a Parameter that is made anew in each forward pass."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modgraph.names import last_name
from modgraph.rules.facts import Method, attribute_of, enclosing, is_unconditional
from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.state import learns
from modgraph.rules.subject import Subject
from modgraph.source import module_classes, torch_names
from modgraph.source.dotted_names import dotted

_PARAMETERS = ("torch.nn.Parameter", "torch.nn.parameter.Parameter")


def find(subject: Subject) -> Iterator[Found]:
    if "forward" not in subject.facts.methods:
        return
    for method in subject.facts.reached("forward"):
        if method.name == "__init__":
            continue
        yield from _parameters_made_again(subject, method)
        for made, name in (*_made_and_called(subject, method), *_made_and_kept(subject, method)):
            if _is_meant(method, made) or not subject.is_module:
                continue
            if _is_dropout(subject, made):
                yield Found(
                    made,
                    f"{_shown(made)} is made anew in each call: it is always in training mode, eval() does not reach "
                    "it; make it in __init__, or use the function with training=self.training",
                    name,
                )
            elif learns(subject.reads, made):
                yield Found(
                    made,
                    f"{_shown(made)} is made anew in each call: its weights are fresh each time and never trained; "
                    "make it in __init__",
                    name,
                )


def _may_learn(subject: Subject, method: Method, call: ast.Call) -> bool:
    """By its name alone it may make a module with something to learn, or with a mode."""
    name = dotted(call.func) or ""
    if not name or name.partition(".")[0] in (method.receiver, *method.parameters, *method.values):
        return False
    path = subject.reads.path_of(call.func) or ""
    if path.startswith("torch."):
        return torch_names.torch_class(path) in torch_names.LEARNING | torch_names.MODAL | {"Sequential"}
    return not module_classes.makes_no_modules(path) and last_name(name)[0].isupper()


def _shown(call: ast.Call) -> str:
    return f"`{ast.unparse(call.func)}(...)`"


def _is_dropout(subject: Subject, call: ast.Call) -> bool:
    if subject.reads.torch_class(call.func) not in torch_names.MODAL:
        return False
    return not (call.args and isinstance(call.args[0], ast.Constant) and call.args[0].value == 0)


def _made_and_called(subject: Subject, method: Method) -> Iterator[tuple[ast.Call, str | None]]:
    """Calls of what may be a layer, whose result is called at once or by a local name of no other use."""
    told: set[str] = set()
    for call in method.calls:
        made = call.func
        if isinstance(made, ast.Call):
            inner = _on_device(made)
            if inner is not None and _may_learn(subject, method, inner):
                yield inner, None
        elif isinstance(made, ast.Name) and made.id not in told and made.id in method.values:
            values = [_on_device(each) if isinstance(each, ast.Call) else None for each in method.values[made.id]]
            learning = [each for each in values if each is not None and _may_learn(subject, method, each)]
            if not learning or not _is_only_called(method, made.id, len(values)):
                continue
            # In one arm of a test it may be a pooling, in another one a layer.
            if len(values) == 1 or all(
                each is not None and subject.reads.is_module_class(each.func) for each in values
            ):
                told.add(made.id)
                yield from ((each, made.id) for each in learning)


def _made_and_kept(subject: Subject, method: Method) -> Iterator[tuple[ast.Call, str | None]]:
    """The same of what `forward` itself stores on the module in each call, and calls there."""
    facts = subject.facts
    for store in facts.stores if method.name == "forward" else ():
        inner = _on_device(store.value) if store.method is method and isinstance(store.value, ast.Call) else None
        if inner is None or not _may_learn(subject, method, inner):
            continue
        others = (each.value for each in facts.stores_of(store.name) if each is not store)
        if not all(isinstance(each, ast.Constant) and each.value is None for each in others):
            continue
        first = min((each.lineno for each in method.returns), default=store.statement.lineno)
        if not is_unconditional(method, store.statement) or first < store.statement.lineno:
            continue
        uses = [
            method.parents.get(node)
            for node in ast.walk(method.node)
            if attribute_of(node, method.receiver) == store.name and isinstance(node.ctx, ast.Load)  # type: ignore[attr-defined]
        ]
        # Where more is done with it than to call it, weights may be put into it.
        if uses and all(isinstance(each, ast.Call) and attribute_of(each.func, method.receiver) for each in uses):
            yield inner, store.name


def _on_device(call: ast.Call) -> ast.Call | None:
    """The constructor's call, whatever device or precision its result is moved to; `eval`, `train` and what else is
    done to it say that it is meant."""
    while isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call):
        if call.func.attr not in ("to", "cuda", "half", "float", "double", "cpu", "bfloat16"):
            return None
        call = call.func.value
    return call


def _is_only_called(method: Method, name: str, stores: int) -> bool:
    """No weights are put into it and nobody else is given it."""
    called = method.called.get(name, 0)
    return bool(called) and method.names.get(name, 0) == called + stores


def _parameters_made_again(subject: Subject, method: Method) -> Iterator[Found]:
    """`self.scale = nn.Parameter(...)` in each `forward`, of what the constructor has made a Parameter."""
    facts = subject.facts
    for store in facts.stores if method.name == "forward" else ():
        made = _parameter(subject, store.value) if store.method is method else None
        if made is None or not is_unconditional(method, store.statement) or _is_meant(method, store.statement):
            continue
        if any(each.lineno < store.statement.lineno for each in method.returns):
            continue
        before = [
            _parameter(subject, each.value) for each in facts.stores_of(store.name) if each.method.name == "__init__"
        ]
        if not before or not all(each is not None and _is_trained(each) for each in (*before, made)):
            continue
        if subject.is_module:
            yield Found(
                store.statement,
                f"`self.{store.name}` is made anew in each call: an optimizer goes on with the Parameter of the "
                "constructor, and this one is never trained; give the result a local name",
                store.name,
            )


def _parameter(subject: Subject, value: ast.expr | None) -> ast.Call | None:
    is_call = isinstance(value, ast.Call) and subject.reads.path_of(value.func) in _PARAMETERS
    return value if is_call else None  # type: ignore[return-value]


def _is_trained(made: ast.Call) -> bool:
    return len(made.args) < 2 and all(each.arg == "data" for each in made.keywords)


def _is_meant(method: Method, node: ast.AST) -> bool:
    """It is made only in training, only once, or with a seed of its own."""
    if method.is_seeded:
        return True
    return any(
        isinstance(each, (ast.FunctionDef, ast.Lambda))
        or (
            isinstance(each, ast.If)
            and any(word in ast.unparse(each.test) for word in ("training", "hasattr", "is None"))
        )
        for each in enclosing(method, node)
    )


RULE = Rule(
    code="MG104",
    name="stateful-module-in-forward",
    severity="warning",
    summary="A layer with parameters, a dropout, or a Parameter of the constructor is made anew in each forward pass.",
    why="""\
A layer that `forward` makes has fresh random weights in each call, belongs to no optimizer and to no checkpoint, and
stands on the CPU whatever `to()` was told. A `Dropout` made there is always in training mode. A Parameter that takes
the place of the constructor's is not the one that an optimizer was given. Nothing is raised.

Make it in `__init__`; for dropout, `F.dropout(x, p, training=self.training)` does as well. Activations, poolings and
losses without weights lose nothing and are not reported.
""",
    find=find,
    invalid=(
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        x = nn.Linear(x.shape[-1], 8)(x)
        norm = nn.LayerNorm(8).to(x.device)
        x = norm(x)
        body = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
        return norm(body(x))
""",
            (5, 6, 8),
        ),
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        return self._tail(x)

    def _tail(self, x):
        return nn.Dropout(0.5)(x)
""",
            (8,),
        ),
        Invalid(
            """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.shares = nn.Parameter(torch.ones(3))

    def forward(self, x):
        self.shares = nn.Parameter(self.shares.softmax(-1))
        return x * self.shares
""",
            (10,),
        ),
        Invalid(
            """\
from torch import nn

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3)

    def forward(self, x):
        return self.conv(x)

class Net(nn.Module):
    def forward(self, x):
        return Block(16)(x)
""",
            (13,),
        ),
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        self.norm = nn.BatchNorm1d(x.shape[-1])
        return self.norm(x)
""",
            (5,),
        ),
    ),
    valid=(
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = None

    def forward(self, x):
        if self.norm is None:
            self.norm = nn.BatchNorm1d(x.shape[-1])
        return self.norm(x)
""",
            "made once; MG207 tells of it",
        ),
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def forward(self, x, y):
        x = nn.ReLU()(x)
        x = nn.Sequential(nn.Softmax(dim=-1), nn.Flatten())(x)
        return nn.MSELoss()(x, y)
""",
            "without weights and the same in training and evaluation: a matter of style",
        ),
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        x = nn.LayerNorm(x.shape[1:], elementwise_affine=False)(x)
        return nn.Dropout(0.5).train(self.training)(x)
""",
            "no weights; the mode is passed on",
        ),
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        conv = nn.Conv1d(1, 1, 3)
        conv.weight = self.kernel
        return conv(x)
""",
            "it is given weights that are kept elsewhere",
        ),
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        if self.training:
            x = nn.Dropout(0.5)(x)
        return x
""",
            "made only where it is to act",
        ),
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.build()

    def build(self):
        self.body = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1))

    def forward(self, x):
        return self.body(x)
""",
            "made once, by the constructor",
        ),
    ),
)
