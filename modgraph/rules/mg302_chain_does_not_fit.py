"""MG302: two layers of an `nn.Sequential` do not fit one behind the other."""

from __future__ import annotations

from collections.abc import Iterator

from modgraph.rules.forward_looks import sizes_are_in_question
from modgraph.rules.forward_rule import reported
from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.subject import Subject


def find(subject: Subject) -> Iterator[Found]:
    return reported(subject, "MG302", sizes_are_in_question)


RULE = Rule(
    code="MG302",
    name="chain-mismatch",
    severity="error",
    summary="A layer of an nn.Sequential does not take what the one before it gives.",
    why="""\
`nn.Sequential` hands the result of each layer to the next, and looks at no sizes when it is made: a BatchNorm2d(64)
behind a Conv2d with 32 channels raises a RuntimeError when the chain is called, and the traceback ends in torch, with
no word on which element it was. The finding stands at the call, names the two elements, and the lines in which they
are made; change one of the two sizes. Only what fails with every input is reported, and only where `forward` comes to
it on every path. Ignore it in a class whose chain is cut or extended elsewhere before it is run.
""",
    find=find,
    invalid=(
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 32, 3, padding=1),
            nn.BatchNorm2d(64),
            nn.ReLU(),
        )

    def forward(self, x):
        return self.body(x)
""",
            (13,),
        ),
        Invalid(
            """\
from torch import nn

class Head(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(512, 256), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, classes))

    def forward(self, x):
        return self.net(x)
""",
            (9,),
        ),
    ),
    valid=(
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.Sequential(nn.Linear(8, 16), nn.Linear(8, 32))

    def forward(self, x):
        return self.parts[0](x), self.parts[1](x)
""",
            "the elements are called one by one",
        ),
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, x):
        return self.net(x)
""",
            "it fits where the argument is 32",
        ),
    ),
)
