"""A file that does something when it is imported: it prints, and writes a marker where an environment variable says.

Scripts like this are common: they read data, start an experiment, download weights. Looking at the model must not
set that off, so a static analysis leaves no marker. Without `MODGRAPH_SAMPLE_MARKER` the import only prints.
"""

import os
from pathlib import Path

import torch
from torch import nn

print("side_effect.py: this line runs on import")

marker = os.environ.get("MODGRAPH_SAMPLE_MARKER")
if marker:
    Path(marker).write_text("side_effect.py was imported\n", encoding="utf-8")


class Autoencoder(nn.Module):
    def __init__(self, features: int = 12, code: int = 3) -> None:
        super().__init__()
        self.encoder = nn.Linear(features, code)
        self.activation = nn.Tanh()
        self.decoder = nn.Linear(code, features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.decoder(self.activation(self.encoder(x)))
