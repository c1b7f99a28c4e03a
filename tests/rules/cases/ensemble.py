"""Constructors chosen from a table, deep copies, and a class that is given its modules."""

import copy

from torch import nn

KINDS = {"linear": nn.Linear, "bilinear": nn.Bilinear}


class Member(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, width)


class Ensemble(nn.Module):
    def __init__(self, width, number):
        super().__init__()
        prototype = Member(width)
        self.members = [copy.deepcopy(prototype) for _ in range(number)]  # finds MG101
        self.kinds = dict(KINDS)

    def forward(self, x):
        return sum(member.layer(x) for member in self.members)


class Given(nn.Module):
    def __init__(self, members, names):
        super().__init__()
        self.names = list(names)
        self.members = members
        self.table = dict(zip(names, members))


class Chosen(nn.Module):
    def __init__(self, width, plain, heads=None):
        super().__init__()
        self.members = [Member(width), Member(width)]
        self.pool = nn.Sequential(*self.members) if plain else nn.ModuleList(self.members)
        self.heads = heads or []
