"""The settings of the model in `model.py`, as a dataclass with a derived value."""

from dataclasses import dataclass


@dataclass
class ModelConfig:
    vocab_size: int = 500
    dim: int = 32
    depth: int = 2
    expansion: int = 3
    activation: str = "silu"
    dropout: float = 0.1
    num_classes: int = 6

    @property
    def hidden(self) -> int:
        return self.dim * self.expansion
