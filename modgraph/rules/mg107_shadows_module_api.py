"""MG107: a module or container under the name of a method of `nn.Module`: `self.modules = ...`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modgraph.rules.facts import Store
from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.subject import Subject
from modgraph.source import torch_names

_RARELY_MISSED = frozenset(
    [
        "bfloat16",
        "compile",
        "cpu",
        "cuda",
        "double",
        "extra_repr",
        "float",
        "forward",
        "half",
        "ipu",
        "mtia",
        "type",
        "xpu",
    ]
)
"""Methods that are seldom called from elsewhere: plain values under their names are left alone."""


def find(subject: Subject) -> Iterator[Found]:
    for store in subject.facts.stores:
        name = store.name
        if name not in torch_names.MODULE_METHODS or name in subject.facts.methods:
            continue
        if subject.reads.is_module(store.value, store.method):
            if subject.is_module:
                yield Found(
                    store.statement,
                    f"`self.{name}` is a method of nn.Module: the module is registered under the name, but "
                    f"`self.{name}` gives the method; use another name",
                    name,
                )
        elif name not in _RARELY_MISSED and _is_container(store) and subject.is_module:
            yield Found(
                store.statement,
                f"`self.{name}` takes the place of nn.Module's method {name}(), which torch calls itself; "
                "use another name",
                name,
            )


def _is_container(store: Store) -> bool:
    value = store.value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in ("list", "dict", "tuple"):
        return True
    return isinstance(value, (ast.List, ast.Dict, ast.Tuple, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp))


RULE = Rule(
    code="MG107",
    name="shadows-module-api",
    severity="warning",
    summary="A module or container is kept under the name of a method of `nn.Module`.",
    why="""\
A module assigned to `self.modules`, `self.forward` or another method's name is registered, but look-up still finds
the method. A plain list or dict is worse: it takes the method's place, and `parameters()`, `state_dict()` or
`train()` of this module, or of one above it, no longer work.

Use another name. Assigning a function or a bound method to `self.forward` is a way to choose an implementation and is
not reported.
""",
    find=find,
    invalid=(
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.modules = nn.ModuleList([nn.Linear(8, 8)])
        self.children = [1, 2]
        self.forward = nn.Linear(8, 8)
""",
            (6, 7, 8),
        ),
    ),
    valid=(
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self, fast, kind):
        super().__init__()
        self.forward = self.forward_fast if fast else self.forward_slow
        self.type = kind
        self.float = [1.0]
        self.layers = nn.ModuleList([nn.Linear(8, 8)])

    def forward_fast(self, x):
        return x

    def forward_slow(self, x):
        return x
""",
            "a choice of implementation; methods that nobody misses",
        ),
        Valid(
            """\
class Plan:
    def __init__(self):
        self.modules = []
        self.parameters = {}
""",
            "no module",
        ),
    ),
)
