"""Constants of a model, functional dropout, direct calls: what only those who ask are told."""

import torch
import torch.nn.functional as F
from torch import nn


class Preprocess(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = torch.tensor([0.485, 0.456, 0.406]).view(-1, 1, 1)  # finds MG203
        self.register_buffer("std", torch.tensor([0.229, 0.224, 0.225]).view(-1, 1, 1))
        self.epsilon = torch.tensor(1e-6)
        self.offsets = torch.arange(4)

    def forward(self, x):
        return (x - self.mean) / (self.std + self.epsilon) + self.offsets.to(x.device)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.preprocess = Preprocess()
        self.body = nn.Linear(8, 8)
        self.unused = nn.Linear(8, 8)  # finds MG204

    def forward(self, x):
        x = self.preprocess.forward(x)  # finds MG201
        x = F.dropout(self.body(x), 0.1)  # finds MG202
        x = F.dropout(x, 0.1, self.training)
        self.last = x  # finds MG205
        return x


class Probe(nn.Module):
    model_head = nn.Linear(8, 2)  # finds MG124

    def __init__(self, model):
        super().__init__()
        self.model = model
        model.body.register_backward_hook(print)  # finds MG206
        model.body.register_full_backward_hook(print)
