"""Classes that are made by functions."""

import torch.nn as nn
from torch.nn import functional as F


def make(width, layer=nn.Linear):
    inner = nn.Linear(width, width)

    class Net(nn.Module):
        def __init__(self, depth):
            super().__init__()
            self.rows = [nn.Linear(width, width) for _ in range(depth)]  # finds MG101
            self.given = [layer(2, 2)]
            self.inner = [inner]
            self.kept = nn.ModuleList([nn.Linear(width, width)])

        def forward(self, x):
            return nn.Linear(2, 2)(F.relu(x))  # finds MG104

    return Net


def of_something_else(nn):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rows = [nn.Linear(2, 2)]

    return Net


def of_a_base(Base):
    class Net(Base):
        def __init__(self):
            super().__init__()
            self.rows = [nn.Linear(2, 2)]

    return Net


class Maker:
    def make(self):
        @decorate
        class Net(nn.Module):
            """A net
that is not indented."""

            def __init__(self):
                super(Net, self).__init__()
                self.rows = [nn.Linear(2, 2)]

        class Plain(nn.Module):
            def __init__(self):
                super(Plain, self).__init__()
                self.rows = {"a": nn.Linear(2, 2)}  # finds MG101

        return Net, Plain


def decorate(cls):
    return cls
