"""MG102: parameters in a plain list, tuple, dict or set."""

from __future__ import annotations

from collections.abc import Iterator

from modgraph.rules import containers
from modgraph.rules.facts import attribute_of
from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.subject import Subject
from modgraph.rules.wrapping import wrap


def find(subject: Subject) -> Iterator[Found]:
    for hidden in containers.hidden_parameters(subject):
        if _has_its_own_optimizer(subject, hidden.name) or containers.is_looked_after(subject, hidden.name):
            continue
        yield Found(
            hidden.store.statement,
            f"{containers.counted(hidden, 'parameter')} in a plain {hidden.kind} `self.{hidden.name}`: not in "
            f"parameters(), state_dict() or to(); {containers.advice(hidden, 'Parameter')}",
            hidden.name,
            containers.places(subject, hidden),
            wrap(subject, hidden, "Parameter"),
        )


def _has_its_own_optimizer(subject: Subject, name: str) -> bool:
    """The class itself gives them to an optimizer of torch: they are trained, and not as parameters of the model."""
    for method in subject.facts.methods.values():
        for call in method.calls:
            path = subject.reads.path_of(call.func) or ""
            if path.startswith("torch.optim.") and any(
                attribute_of(each, method.receiver) == name for each in call.args
            ):
                return True
    return False


RULE = Rule(
    code="MG102",
    name="unregistered-parameter-container",
    severity="warning",
    summary="Parameters are kept in a plain list, tuple, dict or set, so `nn.Module` does not see them.",
    why="""\
A `Parameter` is registered when it is assigned to an attribute; inside a plain container it is an ordinary object. It
is missing from `parameters()`, so no optimizer updates it, from `state_dict()`, and `to()` leaves it where it is.

Use `nn.ParameterList` or `nn.ParameterDict`, or `register_parameter` for each of them. Functions such as `torch.stack`
and `torch.cat` take no ParameterList: give them `list(self.weights)`.
""",
    find=find,
    invalid=(
        Invalid(
            """\
import torch
from torch import nn

class Scales(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.scales = [nn.Parameter(torch.ones(1)) for _ in range(3)]
""",
            (7,),
            """\
import torch
from torch import nn

class Scales(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.scales = nn.ParameterList([nn.Parameter(torch.ones(1)) for _ in range(3)])
""",
        ),
        Invalid(
            """\
import torch
import torch.nn as nn
from torch.nn import Parameter

class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = {"gate": Parameter(torch.zeros(4, 4)), "mix": Parameter(torch.zeros(4))}
""",
            (8,),
            """\
import torch
import torch.nn as nn
from torch.nn import Parameter

class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = nn.ParameterDict({"gate": Parameter(torch.zeros(4, 4)), "mix": Parameter(torch.zeros(4))})
""",
        ),
        Invalid(
            """\
import torch
from torch import nn

class Prompts(nn.Module):
    def __init__(self):
        super().__init__()
        self.prompts = []
        for width in (4, 8):
            prompt = nn.Parameter(torch.empty(width))
            nn.init.normal_(prompt)
            self.prompts.append(prompt)
""",
            (7,),
            """\
import torch
from torch import nn

class Prompts(nn.Module):
    def __init__(self):
        super().__init__()
        self.prompts = nn.ParameterList()
        for width in (4, 8):
            prompt = nn.Parameter(torch.empty(width))
            nn.init.normal_(prompt)
            self.prompts.append(prompt)
""",
        ),
    ),
    valid=(
        Valid(
            """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scales = nn.ParameterList([nn.Parameter(torch.ones(1)) for _ in range(3)])
""",
            "a ParameterList registers its elements",
        ),
        Valid(
            """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scales = []
        for i in range(3):
            scale = nn.Parameter(torch.ones(1))
            self.register_parameter(f"scale{i}", scale)
            self.scales.append(scale)
""",
            "each of them is registered under a name of its own",
        ),
        Valid(
            """\
import torch
from torch import nn

class Explainer(nn.Module):
    def __init__(self):
        super().__init__()
        self.masks = [nn.Parameter(torch.ones(8)), nn.Parameter(torch.ones(4))]

    def explain(self, x):
        optimizer = torch.optim.Adam(self.masks, lr=0.1)
        return optimizer
""",
            "masks of an explainer that have an optimizer of their own",
        ),
        Valid(
            """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8))
        self.bias = nn.Parameter(torch.ones(8))
        self.all = [self.weight, self.bias]
""",
            "the elements are attributes themselves",
        ),
        Valid(
            """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scales = [torch.ones(1), torch.zeros(1)]
""",
            "plain tensors",
        ),
    ),
)
