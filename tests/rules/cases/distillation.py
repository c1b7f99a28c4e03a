"""A student and its teacher: what is hidden on purpose is left alone."""

import copy

from torch import nn


class Student(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Linear(width, width)
        self.projections = [nn.Linear(width, width), nn.Linear(width, width)]  # finds MG101


class Distiller(nn.Module):
    def __init__(self, student, teacher):
        super().__init__()
        self.student = student
        self._teacher = [teacher]
        self.frozen_copies = [copy.deepcopy(nn.Linear(4, 4))]
        self.target_networks = [nn.Linear(4, 4), nn.Linear(4, 4)]
        object.__setattr__(self, "reference", nn.Linear(4, 4))
        self.__dict__["plain"] = [nn.Linear(4, 4)]

    def forward(self, x):
        return self.student(x) - self._teacher[0](x)
