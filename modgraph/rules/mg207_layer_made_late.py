"""MG207: a layer that the first forward pass makes and keeps."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modgraph.rules.facts import Method, Store, attribute_of, enclosing
from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.state import learns
from modgraph.rules.subject import Subject


def find(subject: Subject) -> Iterator[Found]:
    facts = subject.facts
    if "forward" not in facts.methods:
        return
    built = facts.reached("__init__")
    if any(_runs_itself(method) for method in built):
        return
    late = [method for method in facts.reached("forward") if method not in built]
    for store in facts.stores:
        if store.method in late and _is_first(store) and _is_learning(subject, store) and subject.is_module:
            yield Found(
                store.statement,
                f"`self.{store.name}` is made by the first call: an optimizer made before that does not have it, nor "
                "does a fresh model that loads a checkpoint; make it in __init__, or use a lazy layer",
                store.name,
            )


def _runs_itself(method: Method) -> bool:
    """The constructor calls the module, which has all of its layers then."""
    return any(
        (isinstance(call.func, ast.Name) and call.func.id == method.receiver)
        or attribute_of(call.func, method.receiver) in ("forward", "__call__")
        for call in method.calls
    )


def _is_first(store: Store) -> bool:
    """Under a condition that asks for the attribute itself."""
    tests = [each.test for each in enclosing(store.method, store.statement) if isinstance(each, ast.If)]
    for node in (node for test in tests for node in ast.walk(test)):
        if attribute_of(node, store.method.receiver) == store.name:
            return True
        if isinstance(node, ast.Constant) and node.value == store.name:  # hasattr(self, "name")
            return True
    return False


def _is_learning(subject: Subject, store: Store) -> bool:
    if subject.reads.is_parameter(store.value):
        return True
    made = subject.reads.made(store.value, store.method)
    return bool(made) and all(subject.reads.is_module_class(each.func) and learns(subject.reads, each) for each in made)


RULE = Rule(
    code="MG207",
    name="layer-made-late",
    severity="warning",
    summary="A layer or parameter is made by the first forward pass, and kept.",
    why="""\
What the first call makes is missing until then: an optimizer that was made before never updates it, a fresh model
cannot load a checkpoint that has it, and `to()` and `DistributedDataParallel` before that call do not reach it.

Make it in `__init__`. Where the size is only known from the input, `nn.LazyLinear` and its like are there from the
beginning, and a call with an example before the optimizer is made gives them their size. So does such a call here;
ignore the finding then.
""",
    find=find,
    default=False,
    invalid=(
        Invalid(
            """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = None

    def forward(self, x):
        if self.norm is None:
            self.norm = nn.BatchNorm1d(x.shape[-1]).to(x.device)
        return self._scaled(self.norm(x))

    def _scaled(self, x):
        if not hasattr(self, "scale"):
            self.scale = nn.Parameter(torch.ones(x.shape[-1]))
        return x * self.scale
""",
            (11, 16),
        ),
    ),
    valid=(
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LazyBatchNorm1d()
        self.act = None

    def forward(self, x):
        if self.act is None:
            self.act = nn.ReLU()
        return self.act(self.norm(x))
""",
            "a lazy layer; nothing to learn",
        ),
        Valid(
            """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = None
        self(torch.zeros(1, width))

    def forward(self, x):
        if self.norm is None:
            self.norm = nn.BatchNorm1d(x.shape[-1])
        return self.norm(x)
""",
            "the constructor calls it once",
        ),
    ),
)
