"""Calls that no input reaches: fed by buffers, parameters, constants, random numbers."""

from __future__ import annotations

import math

import torch
from torch import nn

from .notation import lin, pattern


@pattern(
    "a table",
    "input:x -> a -> add\nparam:ids -> table -> add -> output:0",
    parts={"table": lambda: nn.Embedding(8, 4), "ids": lambda: torch.arange(2)},
)
def position_embedding_of_a_buffer(self, x):
    return self.a(x) + self.table(self.ids)


@pattern(
    "a table",
    "input:x -> a -> add\nparam:ids -> __getitem__ -> table -> add -> output:0",
    parts={"table": lambda: nn.Embedding(8, 4), "ids": lambda: torch.arange(8)},
)
def position_embedding_of_a_part_of_a_buffer(self, x):
    return self.a(x) + self.table(self.ids[: x.shape[0]])


@pattern(
    "a table",
    "input:x -> a -> add\narange -> table -> add -> output:0",
    parts={"table": lambda: nn.Embedding(8, 4)},
)
def position_embedding_of_a_range(self, x):
    return self.a(x) + self.table(torch.arange(x.shape[0]))


@pattern(
    "a",
    "input:x -> add -> a -> output:0\nparam:position -> add",
    parts={"position": lambda: nn.Parameter(torch.rand(2, 4))},
)
def position_parameter(self, x):
    return self.a(x + self.position)


@pattern(
    "a",
    "param:token -> expand -> cat -> a -> output:0\ninput:x -> cat",
    parts={"token": lambda: nn.Parameter(torch.rand(1, 4))},
)
def class_token(self, x):
    return self.a(torch.cat([self.token.expand(1, -1), x]))


@pattern("a", "param:seed -> a -> output:0", args=tuple, parts={"seed": lambda: torch.rand(1, 4)})
def no_input_at_all(self):
    return self.a(self.seed)


@pattern("a b", "zeros -> a -> add\ninput:x -> b -> add -> output:0")
def layer_fed_by_a_constant_made_in_forward(self, x):
    return self.a(torch.zeros(2, 4)) + self.b(x)


KEPT = torch.ones(2, 4)


@pattern("a b", "const:0 -> a -> add\ninput:x -> b -> add -> output:0")
def layer_fed_by_a_constant_of_the_python_module(self, x):
    return self.a(KEPT) + self.b(x)


@pattern("a b", "const:0 -> a -> add\ninput:x -> b -> add -> output:0")
class LayerFedByAPlainTensorAttribute(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = lin(), lin()
        self.plain = [torch.ones(2, 4)]

    def forward(self, x):
        return self.a(self.plain[0]) + self.b(x)


@pattern("a b", "const:0 -> a, b -> add -> output:0")
def one_constant_read_twice(self, x):
    return self.a(KEPT) + self.b(KEPT)


@pattern("a", "input:x -> a -> add\nrandn -> add -> output:0")
def noise(self, x):
    return self.a(x) + torch.randn(2, 4)


@pattern("a", "input:x -> a -> add\nrand_like -> mul -> add -> output:0")
def noise_like_a_tensor(self, x):
    y = self.a(x)
    return y + torch.rand_like(y) * 0.1


@pattern("a b", "tensor -> a -> add\ninput:x -> b -> add -> output:0")
def literal_numbers(self, x):
    return self.a(torch.tensor([[1.0, 2.0, 3.0, 4.0]])) + self.b(x)


@pattern(
    "a",
    "input:x -> a -> matmul -> add -> softmax -> output:0\na -> t -> matmul\nfull -> triu -> add",
)
def causal_mask(self, x):
    y = self.a(x)
    return (y @ y.t() + torch.full((2, 2), -math.inf).triu(1)).softmax(-1)


@pattern(
    "proj a",
    """arange -> __getitem__ -> mul -> sin -> cat
    mul -> cos -> cat -> proj -> add -> output:0
    input:x -> a -> add""",
    parts={"proj": lin},
)
def sinusoids(self, x):
    angles = torch.arange(2)[:, None] * 0.5
    return self.proj(torch.cat([angles.sin(), angles.cos()] * 2, -1)) + self.a(x)


@pattern(
    "a hyper",
    "param:code -> hyper -> view -> linear -> output:0\ninput:x -> a -> linear",
    parts={"hyper": lambda: nn.Linear(3, 16), "code": lambda: nn.Parameter(torch.rand(3))},
)
def weights_made_by_another_layer(self, x):
    return torch.nn.functional.linear(self.a(x), self.hyper(self.code).view(4, 4))


@pattern("a", "input:x -> a\nparam:fixed -> output:0", parts={"fixed": lambda: nn.Parameter(torch.rand(4))})
def parameter_returned_as_it_is(self, x):
    self.a(x)
    return self.fixed


@pattern("a", "input:x -> a -> output:0\ninput:x -> output:1")
def input_returned_as_it_is(self, x):
    return self.a(x), x
