"""The building block of the model in `model.py`, made from the settings in `config.py`."""

from config import ModelConfig
from torch import Tensor, nn

ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU, "silu": nn.SiLU}


class GatedBlock(nn.Module):
    """A gated feed-forward block with a residual connection; input and output are `(batch, length, dim)`."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.dim)
        self.gate = nn.Linear(config.dim, config.hidden)
        self.up = nn.Linear(config.dim, config.hidden)
        self.activation = ACTIVATIONS[config.activation]()
        self.down = nn.Linear(config.hidden, config.dim)
        self.dropout = nn.Dropout(config.dropout) if config.dropout > 0 else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(x)
        y = self.activation(self.gate(y)) * self.up(y)
        return x + self.dropout(self.down(y))
