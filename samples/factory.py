"""A class that cannot be built without arguments, and a factory function that knows good ones.

`Stack` asks for its width and depth; `build()` supplies both, and can be given another depth. Layers get computed
names by `add_module`, and a class is passed as an argument and called later.
"""

from torch import Tensor, nn


class Stack(nn.Module):
    def __init__(self, width: int, depth: int, activation: type[nn.Module] = nn.ReLU) -> None:
        super().__init__()
        self.depth = depth
        for i in range(depth):
            self.add_module(f"linear{i}", nn.Linear(width, width))
            self.add_module(f"act{i}", activation())

    def forward(self, x: Tensor) -> Tensor:
        for i in range(self.depth):
            linear, act = getattr(self, f"linear{i}"), getattr(self, f"act{i}")
            x = x + act(linear(x))
        return x


def build(depth: int = 4, width: int = 16) -> Stack:
    return Stack(width, depth, activation=nn.GELU)
