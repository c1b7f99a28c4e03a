"""MG303: a submodule is called with other arguments than its `forward` takes."""

from __future__ import annotations

from collections.abc import Iterator

from modgraph.rules.forward_looks import calls_may_not_fit
from modgraph.rules.forward_rule import reported
from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.subject import Subject


def find(subject: Subject) -> Iterator[Found]:
    return reported(subject, "MG303", calls_may_not_fit)


RULE = Rule(
    code="MG303",
    name="forward-arguments",
    severity="error",
    summary="A submodule is called with arguments that its forward does not take.",
    why="""\
Calling a module hands all arguments on to its `forward`, so type checkers see `Any` and say nothing of one too many,
one too few or a name that is not there; Python raises a TypeError in the first run. An `nn.Sequential` takes one
argument, whatever its elements take: a mask for one of them has to be handed on in a loop of one's own. Reported is
what every run comes to. Ignore it where another class, or a patch, replaces the `forward` that is called.
""",
    find=find,
    invalid=(
        Invalid(
            """\
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x, scale):
        return self.fc(x) * scale

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
""",
            (18,),
        ),
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 8), nn.ReLU())

    def forward(self, x, mask):
        return self.layers(x, mask)
""",
            (9,),
        ),
        Invalid(
            """\
from torch import nn

class Gate(nn.Module):
    def forward(self, x, gate=None):
        return x if gate is None else x * gate

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = Gate()

    def forward(self, x, mask):
        return self.gate(x, mask=mask)
""",
            (13,),
        ),
    ),
    valid=(
        Valid(
            """\
from torch import nn

class Block(nn.Module):
    def forward(self, x, mask=None, **options):
        return x

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()
        self.attention = nn.MultiheadAttention(8, 2)

    def forward(self, x, mask):
        x, _ = self.attention(x, x, x, attn_mask=mask)
        return self.block(x, mask, causal=True)
""",
            "forward takes them",
        ),
        Valid(
            """\
from torch import nn

class Block(nn.Module):
    def forward(self, x, scale):
        return x * scale

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x, scale=None):
        if scale is None:
            return self.block(x)
        return self.block(x, scale)
""",
            "a branch avoids it",
        ),
    ),
)
