"""MG210: a tensor assigned to the name of a Parameter."""

from __future__ import annotations

from collections.abc import Iterator

from modgraph.rules.facts import expects_error
from modgraph.rules.plain_results import is_plain_tensor, parameters_of
from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.subject import Subject

_OWN = ("__setattr__", "__delattr__", "register_parameter")


def find(subject: Subject) -> Iterator[Found]:
    facts = subject.facts
    if any(name in facts.methods for name in _OWN) or facts.calls_of("register_parametrization", "delattr"):
        return
    for store in facts.stores:
        made = parameters_of(subject).get(store.name)
        if made is None or store is facts.stores_of(store.name)[0] or expects_error(store.method, store.statement):
            continue
        if not is_plain_tensor(subject, store.value, store.method) or not subject.is_module:
            continue
        yield Found(
            store.statement,
            f"`self.{store.name}` is a Parameter (line {made}), and what is assigned is a tensor: torch raises a "
            f"TypeError; change it in place, self.{store.name}.copy_(...) below torch.no_grad(), or assign a Parameter",
            store.name,
        )


RULE = Rule(
    code="MG210",
    name="parameter-overwritten",
    severity="error",
    summary="A tensor is assigned to an attribute that is a Parameter.",
    why="""\
Under the name of a Parameter `nn.Module` takes a Parameter or None: `self.weight = self.weight * 0.9` raises a
TypeError, "cannot assign 'torch.FloatTensor' as parameter 'weight'", and does so where that line is reached.

In `forward`, give the result a local name. To change the values, `with torch.no_grad(): self.weight.mul_(0.9)`.
""",
    find=find,
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
        self.weight = nn.Parameter(torch.ones(8))
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x):
        self.weight = F.normalize(self.weight, dim=0)
        return x * self.weight

    def decay(self):
        smaller = self.scale * 0.9
        self.scale = smaller
""",
            (12, 17),
        ),
    ),
    valid=(
        Valid(
            """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, given):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8))
        self.scale = nn.Parameter(torch.ones(1))
        self.bias = nn.Parameter(torch.ones(1))
        self.plain = torch.ones(1)
        self.given = given

    def forward(self, x):
        self.weight.data = self.weight * 0.9
        self.scale = nn.Parameter(self.scale * 0.9)
        self.bias = None
        self.plain = self.plain * 2
        self.given = self.given * 2
        return x
""",
            "its data; a Parameter, None; no Parameters",
        ),
    ),
)
