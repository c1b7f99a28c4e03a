"""MG304: `forward` uses a submodule that is None, was deleted, was never set, or is no element of its container."""

from __future__ import annotations

from collections.abc import Iterator

from modgraph.rules.forward_rule import reported
from modgraph.rules.missing_looks import is_something_missing
from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.subject import Subject


def find(subject: Subject) -> Iterator[Found]:
    return reported(subject, "MG304", is_something_missing)


RULE = Rule(
    code="MG304",
    name="missing-submodule",
    severity="error",
    summary="forward uses a submodule that is None, was deleted, was never set, or is not in its container.",
    why="""\
A layer that was renamed in the constructor and not in `forward`, one that is still the None it began as, one that was
deleted: the model is built, moved and given to an optimizer without a word, and the first call raises an AttributeError
or "'NoneType' object is not callable". So does a key that an `nn.ModuleDict` does not have, and an index beyond an
`nn.ModuleList`, as of a loop that counts to another number. Set the layer in the constructor, or test for None before
the call. Nothing is said where another method, a subclass or other code of the file sets it or fills the container, nor
where a test keeps `forward` from the call.
Ignore it in a class that is only made to be derived from, elsewhere.
""",
    find=find,
    invalid=(
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Linear(8, 8)
        self.norm = None

    def forward(self, x):
        return self.norm(self.layer1(x))
""",
            (10,),
        ),
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(8, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.classifier(self.encoder(x))
""",
            (10,),
        ),
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(8, 8)
        self.head = nn.Linear(8, 2)
        del self.head

    def forward(self, x):
        return self.head(self.stem(x))
""",
            (11,),
        ),
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleDict({"coarse": nn.Linear(8, 2), "fine": nn.Linear(8, 10)})

    def forward(self, x):
        return self.heads["final"](x)
""",
            (9,),
        ),
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self, depth: int = 4):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(8, 8) for _ in range(4)])

    def forward(self, x):
        for i in range(5):
            x = self.blocks[i](x)
        return x
""",
            (10,),
        ),
    ),
    valid=(
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self, norm=None):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.norm = norm
        self.act = None

    def forward(self, x):
        x = self.layer(x)
        if self.act is not None:
            x = self.act(x)
        return self.norm(x)
""",
            "it may be given, and a test keeps from the call",
        ),
        Valid(
            """\
from torch import nn

class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = None

    def forward(self, x):
        return self.head(x)

class Net(Base):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 2)
""",
            "a class that is made of it sets the layer",
        ),
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = None

    def forward(self, x):
        return self.head(x)

def build():
    net = Net()
    net.head = nn.Linear(8, 2)
    return net
""",
            "other code sets the layer",
        ),
    ),
)
