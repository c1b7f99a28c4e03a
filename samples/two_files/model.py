"""A model spread over files: settings in `config.py`, the block in `blocks.py`, and the model here.

Nothing in this file says how wide a layer is or which activation it has: the sizes come from a dataclass with a
derived property, the activation from a table that is looked up by name. The imports are found beside this file.
"""

from __future__ import annotations

from blocks import GatedBlock
from config import ModelConfig
from torch import Tensor, nn


class TextClassifier(nn.Module):
    def __init__(self, config: ModelConfig | None = None) -> None:
        super().__init__()
        config = config or ModelConfig()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.dim)
        self.blocks = nn.Sequential(*[GatedBlock(config) for _ in range(config.depth)])
        self.norm = nn.LayerNorm(config.dim)
        self.head = nn.Linear(config.dim, config.num_classes)

    def forward(self, input_ids: Tensor) -> Tensor:
        x = self.blocks(self.embedding(input_ids))
        return self.head(self.norm(x).mean(dim=1))
