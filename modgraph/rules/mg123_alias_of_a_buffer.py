"""MG123: a second name for a buffer, which keeps the old tensor when the module is converted."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modgraph.rules.facts import Store, attribute_of
from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.subject import Subject


def find(subject: Subject) -> Iterator[Found]:
    init = subject.facts.methods.get("__init__")
    if init is None:
        return
    buffers, tensors = _buffers(subject)
    if not buffers:
        return
    for store in subject.facts.stores:
        if store.method is not init or store.name in buffers or len(subject.facts.stores_of(store.name)) > 1:
            continue
        kept = [
            each for each in _kept(store) if attribute_of(each, init.receiver) in buffers or _is_one_of(each, tensors)
        ]
        if kept and subject.is_module:
            shown = ast.unparse(kept[0])
            yield Found(
                store.statement,
                f"`self.{store.name}` keeps the tensor of the buffer `{shown}` itself: after to(), half() or double() "
                "it is the old one; read the buffer where it is needed",
                store.name,
            )


def _buffers(subject: Subject) -> tuple[set[str], set[str]]:
    """Names of buffers, and the local names of their tensors in the constructor."""
    names: set[str] = set()
    tensors: set[str] = set()
    for method, call in subject.facts.calls_of("register_buffer"):
        if attribute_of(call.func, method.receiver) is None or len(call.args) < 2:
            continue
        if isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str):
            names.add(call.args[0].value)
            if isinstance(call.args[1], ast.Name) and method.name == "__init__":
                tensors.add(call.args[1].id)
    return names, tensors


def _kept(store: Store) -> list[ast.expr]:
    value = store.value
    if isinstance(value, (ast.List, ast.Tuple)):
        return value.elts
    if isinstance(value, ast.Dict):
        return value.values
    return [value] if value is not None else []


def _is_one_of(node: ast.expr, names: set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


RULE = Rule(
    code="MG123",
    name="stale-buffer-alias",
    severity="info",
    summary="A second name for a buffer keeps the old tensor when the module is moved or cast.",
    why="""\
`to()`, `half()` and their kin change parameters in place, but put a new tensor into each buffer. A list or attribute
that holds the buffer's tensor keeps the old one, on the old device and in the old precision.

Read `self.buffer` where it is needed, or make the list in a property.
""",
    find=find,
    default=False,
    invalid=(
        Invalid(
            """\
import torch
from torch import nn

class Anchors(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("small", torch.ones(4))
        wide = torch.zeros(4)
        self.register_buffer("wide", wide)
        self.levels = [self.small, self.wide]
        self.first = self.small
        self.base = wide
""",
            (10, 11, 12),
        ),
    ),
    valid=(
        Valid(
            """\
import torch
from torch import nn

class Anchors(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("small", torch.ones(4))
        self.layer = nn.Linear(8, 8)
        self.layers = [self.layer]
        self.size = self.small.numel()

    def forward(self, x):
        self.levels = [self.small]
        return x
""",
            "modules stay the same; a number; made anew in each call",
        ),
    ),
)
