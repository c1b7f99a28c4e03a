"""Live models of `test_onnx_live.py`, in a file that imports little: what it imports is followed wherever one of them is predicted."""

from __future__ import annotations

import dataclasses

import torch
from torch import nn
from torch.nn import functional


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.drop = nn.Dropout()

    def forward(self, x):
        return self.drop(self.fc(x)) + x


class Mid(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.bare = nn.Linear(4, 4)

    def forward(self, x):
        return self.inner(x) * 2, x + 1


class Everything(nn.Module):
    """Tied weights, a child called twice, a grandchild called directly, a child's weight used past the child."""

    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(7, 4)
        self.mid = Mid()
        self.norm = nn.BatchNorm1d(4)
        self.out = nn.Linear(4, 7, bias=False)
        self.out.weight = self.emb.weight

    def forward(self, ids, given, scale=None):
        x = self.norm(self.emb(ids).transpose(1, 2)).transpose(1, 2) * given["gain"]
        a, b = self.mid(x)
        c = self.mid.inner(b)
        d = functional.linear(c, self.mid.bare.weight)
        again, _ = self.mid(a)
        return {"logits": self.out(again + d if scale is None else (again + d) * scale), "hidden": (a, b)}


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 3, num_layers=2, batch_first=True)
        self.head = nn.Linear(3, 2)

    def forward(self, x):
        y, _ = self.lstm(x)
        return x, self.head(y[:, -1])


class Arm(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.fc(x), lambda x: x - 1, (x,))


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = Arm(), Arm()

    def forward(self, x):
        return self.b(self.a(x))


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x):
        self.count.add_(1)
        return self.fc(x) + self.count


class Decides(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return self.fc(x) if x.sum() > 0 else x


@torch.library.custom_op("modgraph_test::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@twice.register_fake
def _(x):
    return torch.empty_like(x)


class Foreign(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return twice(self.fc(x))


@dataclasses.dataclass
class Pair:
    first: torch.Tensor
    rest: list


class GivesDataclass(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return Pair(self.fc(x), [x + 1])


class Own:
    def __init__(self, held):
        self.held = held


class Gives(nn.Module):
    def forward(self, x):
        return x * 2, Own(x)
