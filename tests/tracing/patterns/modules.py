"""Modules of every kind and in every place: each call is seen, under the right name."""

from __future__ import annotations

import copy
import functools

import torch
import torch.nn.functional as F
from torch import nn

from .notation import lin, pattern

FAKE_PARAMETERS = "a parameter that is fake is made and copied by other functions of torch"


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = lin()

    def forward(self, x):
        return torch.tanh(self.l(x))


@pattern("first(first.0) first(first.0)", "input:x -> first.0 -> first.0#2 -> output:0")
class OneModuleUnderTwoNames(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = self.second = nn.Sequential(lin())

    def forward(self, x):
        return self.second(self.first(x))


@pattern("a a a", "input:x -> a -> a#2 -> a#3 -> output:0")
def called_repeatedly(self, x):
    for _ in range(3):
        x = self.a(x)
    return x


@pattern("root(root(a))", "input:x -> a -> output:0")
def module_that_calls_itself(self, x, depth=2):
    return self.a(x) if depth == 0 else self(x, depth - 1)


@pattern(
    "tree(tree.l tree(tree.l) tree(tree.l))",
    """input:x -> tree.l -> tree.l#2, tree.l#3
    tree.l#2, tree.l#3 -> add -> output:0""",
    parts={"tree": lambda: Tree()},
)
def tree_of_calls_of_one_module(self, x):
    return self.tree(x, 1)


class Tree(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = lin()

    def forward(self, x, depth):
        y = self.l(x)
        return self(y, depth - 1) + self(y, depth - 1) if depth else y


@pattern("blocks[0] blocks[1]", "input:x -> blocks[0] -> blocks[1] -> output:0")
class InAPlainList(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = [lin(), lin()]

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


@pattern(
    "heads['p'] heads['q'](heads['q'].l)",
    """input:x -> heads['p'] -> add
    input:x -> heads['q'].l -> tanh -> add -> output:0""",
)
class InAPlainDict(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = {"p": lin(), "q": Block()}

    def forward(self, x):
        return self.heads["p"](x) + self.heads["q"](x)


@pattern("fn.closure['hidden']", "input:x -> fn.closure['hidden'] -> add -> output:0")
class InAClosure(nn.Module):
    def __init__(self):
        super().__init__()
        hidden = lin()
        self.fn = lambda x: hidden(x) + 1

    def forward(self, x):
        return self.fn(x)


@pattern("shared", "input:x -> shared -> output:0")
class OnTheClass(nn.Module):
    shared = lin()

    def forward(self, x):
        return self.shared(x)


@pattern("fn.keywords['layer']", "input:x -> fn.keywords['layer'] -> output:0")
class InAPartial(nn.Module):
    def __init__(self):
        super().__init__()
        self.fn = functools.partial(lambda x, layer: layer(x), layer=lin())

    def forward(self, x):
        return self.fn(x)


class Holder:
    def __init__(self):
        self.inner = lin()


@pattern("box.inner", "input:x -> box.inner -> output:0")
class InAPlainObject(nn.Module):
    def __init__(self):
        super().__init__()
        self.box = Holder()

    def forward(self, x):
        return self.box.inner(x)


MODULE_LEVEL = lin()


@pattern("a <Linear>[0]", "input:x -> a -> <Linear>[0] -> output:0")
def at_the_level_of_the_python_module(self, x):
    return MODULE_LEVEL(self.a(x))


@pattern(
    "<Linear>[0] <Linear>[1]",
    """input:x -> <Linear>[0] -> <Linear>[1] -> output:0
    kaiming_uniform_#2, uniform_#2 -> <Linear>[0]
    kaiming_uniform_, uniform_ -> <Linear>[1]""",
    fake=FAKE_PARAMETERS,
)
def made_in_forward(self, x):
    """The outer layer is made first and called last; the weights of both are made by the run."""
    return lin()(lin()(x))


@pattern(
    "<Linear>[0] b",
    """input:x -> <Linear>[0] -> b -> output:0
    param:a.weight -> data -> clone -> <Linear>[0]
    param:a.bias -> data#2 -> clone#2 -> <Linear>[0]""",
    fake=FAKE_PARAMETERS,
)
def deep_copied_in_forward(self, x):
    return self.b(copy.deepcopy(self.a)(x))


@pattern("direct:a b", "input:x -> a -> b -> output:0")
def leaf_called_by_its_forward(self, x):
    return self.b(self.a.forward(x))


@pattern("direct:block(block.l) b", "input:x -> block.l -> tanh -> b -> output:0", parts={"block": Block})
def container_called_by_its_forward(self, x):
    return self.b(self.block.forward(x))


class Encodes(nn.Module):
    def __init__(self):
        super().__init__()
        self.w, self.l = nn.Parameter(torch.ones(4, 4)), lin()

    def encode(self, x):
        return self.l(x @ self.w)


@pattern("e.l", "param:e.w -> matmul\ninput:x -> matmul -> e.l -> output:0", parts={"e": Encodes})
def another_method_than_forward(self, x):
    return self.e.encode(x)


@pattern(
    "a(a.forward.closure['inner']) b",
    "input:x -> a.forward.closure['inner'] -> add -> b -> output:0",
)
class ReplacedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = lin(), lin()
        inner = lin()
        self.a.forward = lambda x: inner(x) + 1

    def forward(self, x):
        return self.b(self.a(x))


class Scaled(nn.Linear):
    def forward(self, x):
        return super().forward(x) * 2


@pattern("s b", "input:x -> s -> b -> output:0\nlinear -> mul", parts={"s": lambda: Scaled(4, 4)})
def forward_of_the_base_class(self, x):
    """`super().forward` is no call of its own."""
    return self.b(self.s(x))


@pattern(
    "a",
    "input:x -> a -> mul -> add -> output:0\nparam:ps.0 -> mul\nparam:ps.1 -> add",
    parts={"ps": lambda: nn.ParameterList([torch.rand(4), torch.rand(4)])},
)
def parameter_list(self, x):
    return self.a(x) * self.ps[0] + self.ps[1]


@pattern(
    "a",
    "input:x -> a -> mul -> output:0\nparam:ps.scale -> mul",
    parts={"ps": lambda: nn.ParameterDict({"scale": torch.rand(4)})},
)
def parameter_dict(self, x):
    return self.a(x) * self.ps["scale"]


@pattern(
    "layers.0 layers.1",
    "input:x -> layers.0 -> layers.1 -> output:0",
    parts={"layers": lambda: nn.ModuleList([lin(), lin()])},
)
def module_list(self, x):
    for layer in self.layers:
        x = layer(x)
    return x


@pattern(
    "layers.q layers.p",
    "input:x -> layers.q -> layers.p -> output:0",
    parts={"layers": lambda: nn.ModuleDict({"p": lin(), "q": lin()})},
)
def module_dict(self, x):
    return self.layers["p"](self.layers["q"](x))


@pattern(
    "s(s.0 s.1(s.1.0 s.1.1)) b",
    "input:x -> s.0 -> s.1.0 -> s.1.1 -> b -> output:0",
    parts={"s": lambda: nn.Sequential(lin(), nn.Sequential(lin(), nn.ReLU()))},
)
def nested_sequentials(self, x):
    return self.b(self.s(x))


@pattern(
    "lazy b",
    "input:x -> lazy -> b -> output:0",
    parts={"lazy": lambda: nn.LazyLinear(4)},
    fake_xfail="a lazy parameter takes the device of its memory, which torch gives as meta under a fake mode",
)
def lazy_layer(self, x):
    return self.b(self.lazy(x))


@pattern(
    "n(n.parametrizations.weight(n.parametrizations.weight.0)) b",
    """param:n.parametrizations.weight.original0 -> n.parametrizations.weight.0
    param:n.parametrizations.weight.original1 -> n.parametrizations.weight.0 -> linear -> b -> output:0
    param:n.bias, input:x -> linear""",
    parts={"n": lambda: nn.utils.parametrizations.weight_norm(lin())},
)
def parametrised_weight_norm(self, x):
    """The layer called another inside, so that it is a container, and its function a step."""
    return self.b(self.n(x))


class Symmetric(nn.Module):
    def forward(self, w):
        return w.triu() + w.triu(1).t()


@pattern(
    "n(n.parametrizations.weight(n.parametrizations.weight.0)) b",
    """param:n.parametrizations.weight.original -> n.parametrizations.weight.0 -> linear -> b -> output:0
    triu -> add
    triu#2 -> t -> add
    param:n.bias -> linear
    input:x -> linear""",
    parts={"n": lambda: _parametrised()},
)
def parametrised_by_hand(self, x):
    return self.b(self.n(x))


def _parametrised():
    layer = lin()
    nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    return layer


@pattern(
    "n b",
    "input:x -> n -> b -> output:0\n_weight_norm -> linear",
    parts={"n": lambda: torch.nn.utils.weight_norm(lin())},
)
def weight_normed_by_a_hook(self, x):
    return self.b(self.n(x))


@pattern(
    "q(q.0 q.1) b",
    "input:x -> q.0 -> q.1 -> b -> output:0",
    parts={
        "q": lambda: torch.ao.quantization.quantize_dynamic(
            nn.Sequential(lin(), nn.ReLU()), {nn.Linear}, dtype=torch.qint8
        )
    },
)
def quantised_layer(self, x):
    return self.b(self.q(x))


@pattern(
    "embed head",
    "input:ids -> embed -> head -> output:0",
    args=lambda: (torch.tensor([[1, 2]]),),
)
class TiedWeights(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(6, 4), nn.Linear(4, 6, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        return self.head(self.embed(ids))


@pattern(
    "embed",
    "input:ids -> embed -> linear -> output:0\nparam:embed.weight -> linear",
    args=lambda: (torch.tensor([[1, 2]]),),
    parts={"embed": lambda: nn.Embedding(6, 4)},
)
def weight_of_an_embedding_used_as_head(self, ids):
    return F.linear(self.embed(ids), self.embed.weight)


@pattern(
    "a", "input:x -> a -> mul -> output:0\nparam:scale -> mul", parts={"scale": lambda: nn.Parameter(torch.rand(4))}
)
def parameter_of_a_container(self, x):
    return self.a(x) * self.scale


@pattern("l b", "input:x -> l -> b -> output:0\nmatmul -> add", parts={"l": lambda: OwnLeaf()})
def parameters_of_a_leaf_are_its_own(self, x):
    return self.b(self.l(x))


class OwnLeaf(nn.Module):
    def __init__(self):
        super().__init__()
        self.w, self.shift = nn.Parameter(torch.rand(4, 4)), nn.Parameter(torch.rand(4))

    def forward(self, x):
        return x @ self.w + self.shift


@pattern("", "input:x -> root -> output:0\nmatmul -> add")
class RootThatCallsNobody(OwnLeaf):
    pass


class OwnCall(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = lin()

    def __call__(self, x):
        return self.l(x)


@pattern("o(o.l) b", "input:x -> o.l -> b -> output:0", parts={"o": OwnCall})
def class_that_answers_calls_by_itself(self, x):
    return self.b(self.o(x))


@pattern("a", "input:x -> a -> output:0")
class NoneForAChild(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = lin(), None
        self.register_module("c", None)

    def forward(self, x):
        return self.a(x)


@pattern(
    "late b",
    """input:x -> late -> b -> output:0
    param:a.weight -> data -> clone -> late
    param:a.bias -> data#2 -> clone#2 -> late""",
    fake=FAKE_PARAMETERS,
)
def registered_in_forward(self, x):
    if not hasattr(self, "late"):
        self.late = copy.deepcopy(self.a)
    return self.b(self.late(x))


@pattern("b", "input:x -> b -> output:0")
def child_replaced_in_forward(self, x):
    """The names are those that the modules had before the run."""
    self.a = self.b
    return self.a(x)


@pattern("parent.0 parent.0", "input:x -> parent.0 -> parent.0#2 -> output:0")
class CycleInTheTree(nn.Module):
    def __init__(self):
        super().__init__()
        self.parent = nn.Sequential(lin())
        self.parent.add_module("up", self)

    def forward(self, x):
        return self.parent[0](self.parent[0](x))


@pattern("frozen a", "input:x -> frozen -> a -> output:0")
class FrozenPart(nn.Module):
    """Its flags are neither those of the rest nor of the traced run."""

    def __init__(self):
        super().__init__()
        self.frozen, self.a = nn.BatchNorm1d(4).eval().requires_grad_(False), lin()

    def forward(self, x):
        return self.a(self.frozen(x))
