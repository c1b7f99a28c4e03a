"""MG301: a layer or an operation of `forward` is given a shape that it does not take, whatever the input is."""

from __future__ import annotations

from collections.abc import Iterator

from modgraph.rules.forward_looks import sizes_are_in_question
from modgraph.rules.forward_rule import reported
from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.subject import Subject


def find(subject: Subject) -> Iterator[Found]:
    return reported(subject, "MG301", sizes_are_in_question)


RULE = Rule(
    code="MG301",
    name="shape-mismatch",
    severity="error",
    summary="A layer of forward is given a shape that it never takes.",
    why="""\
The sizes of a layer are settled when it is made, and what it is given is made by others: a `Linear(128, 10)` behind a
`Linear(32, 64)` raises a RuntimeError in the first run, "mat1 and mat2 shapes cannot be multiplied", after the data has
been loaded and the GPU taken. Reported is what fails with every input, in training and in evaluation: nothing is
assumed of the input, of its number of dimensions or of what a test in `forward` comes to. Change the size of one of the
two layers; the finding names both, and the lines in which they are made. Where only what the class is given by default
does not fit, the finding says `forward of Net()`. Ignore it for a class that is never run as it stands, of which
others replace a layer.
""",
    find=find,
    invalid=(
        Invalid(
            """\
import torch.nn.functional as F
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = x.view(-1, 16 * 5 * 5)
        x = F.relu(self.fc1(x))
        return self.fc2(x)
""",
            (17,),
        ),
        Invalid(
            """\
from torch import nn

class Tagger(nn.Module):
    def __init__(self, words=1000):
        super().__init__()
        self.embedding = nn.Embedding(words, 64)
        self.lstm = nn.LSTM(128, 32, batch_first=True)
        self.head = nn.Linear(32, 5)

    def forward(self, ids):
        states, _ = self.lstm(self.embedding(ids))
        return self.head(states)
""",
            (11,),
        ),
        Invalid(
            """\
import torch
from torch import nn

class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.left = nn.Linear(10, 16)
        self.right = nn.Linear(10, 24)

    def forward(self, x, y):
        return self.left(x) * self.right(y)
""",
            (11,),
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
        self.features = nn.Conv2d(3, 16, 3)
        self.fc = nn.Linear(1600, 10)

    def forward(self, x):
        return self.fc(torch.flatten(self.features(x), 1))
""",
            "whether the sizes fit depends on the input",
        ),
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.first = nn.Linear(8, width)
        self.short = nn.Linear(32, 2)
        self.long = nn.Linear(64, 2)

    def forward(self, x):
        x = self.first(x)
        return self.short(x) if x.size(1) == 32 else self.long(x)
""",
            "a branch avoids what does not fit",
        ),
    ),
)
