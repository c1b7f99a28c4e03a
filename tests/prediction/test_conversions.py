"""What converts, moves or resizes the tensors of a model: `_apply`, `half`, `set_`, `right_inverse`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch

Agrees = Callable[[str], Graph]

LAYER = """
import torch.nn.utils.parametrize as parametrize

class Extra(nn.Linear):
    def _apply(self, fn, recurse=True):
        super()._apply(fn, recurse)
        self.extra = nn.ReLU()
        return self

class Fixed(nn.Linear):
    def _apply(self, fn, recurse=True):
        return self
    def to(self, *args, **keywords):
        self.never = nn.ReLU()
        return self

class Applied(nn.Linear):
    def apply(self, fn):
        self.extra = nn.ReLU()
        return super().apply(fn)

class Corner(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).T
    def right_inverse(self, a):
        return a.triu()[:2, :2]

class Twice(nn.Module):
    def forward(self, x):
        return torch.cat([x, x])
    def right_inverse(self, a):
        return a[:2]

class LowRank(nn.Module):
    def forward(self, u, v):
        return u @ v
    def right_inverse(self, W):
        U, S, V = torch.linalg.svd(W, full_matrices=False)
        return U[:, :1] * S[:1], V[:1]

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.LSTM(3, 4))
        self.register_buffer("b", torch.zeros(3, 4))
        {}
"""


@pytest.mark.parametrize(
    "body",
    [
        "self.half()",
        "self.a.to(torch.bfloat16)",
        "self.a.to(dtype=torch.float64)",
        "self.a._apply(lambda t: t.half())",
        "self._apply(lambda t: t.double(), recurse=False)",
        "self.a[0]._apply(lambda t: t[:1])",
        "seen = []; self._apply(lambda t: (seen.append(t), t)[1]); self.c = nn.Linear(len(seen), 1)",
        "self.c = Extra(2, 3); self.half()",
        "self.c = nn.Sequential(Extra(2, 3)); self.c.cpu()",
        "self.c = Extra(2, 3); self.a.half()",
        "self.c = Fixed(2, 3); self.half(); self.to(torch.float64)",
        "self.c = nn.Sequential(Applied(2, 3)); self.apply(lambda m: None)",
    ],
)
def test_what_goes_through_apply(agrees: Agrees, body: str) -> None:
    agrees(LAYER.format(body))


@pytest.mark.parametrize(
    "change",
    [
        *("set_(torch.zeros(2, 3))", "set_()", "t_()", "transpose_(0, 1)", "swapaxes_(0, 1)", "swapdims_(-1, 0)"),
        *("unsqueeze_(0)", "squeeze_()", "squeeze_(1)", "as_strided_((2, 2), (1, 1))", "zero_()", "mul_(2)"),
        *("sub_(1)", "clamp_(0, 1)", "copy_(torch.zeros(3))", "fill_diagonal_(0)", "tril_()", "square_()"),
        *("lt_(1)", "cumsum_(0)", "masked_fill_(torch.ones(4, 3) > 0, 1)", "renorm_(2, 0, 1)"),
    ],
)
def test_what_changes_a_tensor_in_its_place(agrees: Agrees, change: str) -> None:
    agrees(LAYER.format(f"self.c = nn.Linear(3, 4)\n        with torch.no_grad(): self.c.weight.{change}"))


@pytest.mark.parametrize(
    "body",
    [
        "self.b.resize_(2, 5)",
        "self.b.resize_((7,))",
        "self.b.resize_as_(torch.zeros(9, 1))",
        "self.b.t_()",
        "self.b.data = torch.zeros(2, dtype=torch.float64)",
        "x = torch.arange(6).reshape(2, 3); x.t_(); self.c = nn.Linear(int(x[0, 1]), len(x))",
        "self.b.data.t_()",
    ],
)
def test_what_changes_a_buffer(agrees: Agrees, body: str) -> None:
    agrees(LAYER.format(body))


def test_set_refuses_another_dtype(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(LAYER.format("self.b.set_(torch.zeros(2, dtype=torch.float64))"))
    assert "raises RuntimeError" in str(graph.problems)


@pytest.mark.parametrize(
    ("layer", "what"),
    [("3, 3", "Corner(), unsafe=True"), ("3, 4", "Twice()"), ("3, 4", "LowRank()"), ("3, 4", "nn.Tanh()")],
)
def test_a_right_inverse_of_another_shape(
    predict_source: Callable[..., Graph], described: Callable[[Graph], list[object]], layer: str, what: str
) -> None:
    text = LAYER.format(
        f'self.c = nn.Linear({layer})\n        parametrize.register_parametrization(self.c, "weight", {what})'
    )
    import torch
    from torch import nn

    namespace: dict[str, object] = {"torch": torch, "nn": nn, "__name__": "net"}
    exec(text, namespace)
    real = {name: tuple(each.shape) for name, each in namespace["Net"]().c.named_parameters()}  # type: ignore[operator]
    graph = predict_source(text)
    assert graph.problems == ()
    nodes = {node.path: node for node in graph.modules}
    found = {
        f"{path.removeprefix('c').removeprefix('.')}.{each.name}".removeprefix("."): each.shape
        for path, node in nodes.items()
        if path == "c" or path.startswith("c.")
        for each in node.parameters
    }
    assert found == real


def test_a_right_inverse_that_is_not_known_is_no_error(predict_source: Callable[..., Graph]) -> None:
    text = LAYER.replace("torch.linalg.svd(W, full_matrices=False)", "unknown_library.svd(W)")
    body = 'self.c = nn.Linear(3, 4)\n        parametrize.register_parametrization(self.c, "weight", LowRank())'
    graph = predict_source("import unknown_library\n" + text.format(body))
    assert graph.problems
    assert "cannot be built" not in str(graph.problems)


@pytest.mark.parametrize(
    "body",
    [
        "self.c = torch.nn.utils.remove_spectral_norm(torch.nn.utils.spectral_norm(nn.Linear(2, 3)))",
        "self.c = torch.nn.utils.remove_weight_norm(torch.nn.utils.weight_norm(nn.Linear(2, 3)))",
        "self.__setstate__(self.__dict__); self.c = nn.ReLU()",
    ],
)
def test_what_torch_builds_is_built(agrees: Agrees, body: str) -> None:
    agrees(LAYER.format(body))


def test_a_flag_has_a_length(agrees: Agrees) -> None:
    text = "import enum\nclass E(enum.IntFlag):\n    A = 1\n    B = 2\n    C = 4\n    D = A | C\n"
    agrees(text + LAYER.format("self.c = nn.Linear(len(E.D), len(E.A | E.B | E.C))"))
