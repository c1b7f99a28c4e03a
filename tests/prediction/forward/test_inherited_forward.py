"""Classes derived from torch's layers that call `super().forward(x)`: the operation of the layer, and what it is given."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch
torch = pytest.importorskip("torch")

PRELUDE = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
BASES = {
    "Linear": ("4, 4", "2x4"),
    "Conv1d": ("2, 4, 3", "1x2x8"),
    "Conv2d": ("2, 4, 3", "1x2x8x8"),
    "ConvTranspose2d": ("2, 4, 3", "1x2x8x8"),
    "BatchNorm2d": ("2", "1x2x8x8"),
    "InstanceNorm2d": ("2", "1x2x8x8"),
    "LayerNorm": ("8", "2x8"),
    "GroupNorm": ("2, 4", "2x4x8"),
    "RMSNorm": ("8", "2x8"),
    "Embedding": ("8, 4", "2x3:int64"),
    "ReLU": ("", "2x3"),
    "GELU": ("", "2x3"),
    "PReLU": ("", "2x3"),
    "Softmax": ("1", "2x3"),
    "Sigmoid": ("", "2x3"),
    "Dropout": ("", "2x3"),
    "MaxPool2d": ("2", "1x2x8x8"),
    "AdaptiveAvgPool2d": ("2", "1x2x8x8"),
    "AdaptiveAvgPool1d": ("2", "1x2x8"),
    "AvgPool1d": ("2", "1x2x8"),
    "Upsample": ("None, 2", "1x2x8x8"),
    "PixelShuffle": ("2", "1x4x8x8"),
    "ZeroPad2d": ("1", "1x2x8x8"),
    "ReflectionPad2d": ("1", "1x2x8x8"),
    "Flatten": ("", "2x3x4"),
    "Unfold": ("2", "1x2x8x8"),
}
TEXT = """
class Own(nn.{base}):
    def __init__(self):
        super().__init__({arguments})
        self.before = nn.Identity()
        {more}
    def forward(self, x):
        return super().forward(self.before(x))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.own = {own}
        self.after = nn.Identity()
    def forward(self, x):
        return self.after(self.own(x))
"""


def predicted(folder: Path, text: str, inputs: list[str]) -> Graph:
    file = folder / "net.py"
    file.write_text(PRELUDE + text, encoding="utf-8")
    return modgraph.predict(f"{file}:Net", inputs=inputs)


def _traced(text: str, shape: str) -> Graph:
    module = types.ModuleType("net")
    exec(PRELUDE + text, vars(module))
    sizes, _, dtype = shape.partition(":")
    given = torch.zeros(tuple(map(int, sizes.split("x"))), dtype=getattr(torch, dtype or "float32"))
    return modgraph.trace(module.Net().eval(), given)


def _flow(graph: Graph) -> Any:
    names = {f"op:{place}": f"{each.name} {place}" for place, each in enumerate(graph.operations)}
    names |= {f"call:{call.index}": call.module for call in graph.calls}
    edges = {
        (names.get(each.producer, each.producer), names.get(each.consumer, each.consumer))
        for each in graph.edges
        if each.certain
    }
    return sorted(edges), [each.name for each in graph.operations]


@pytest.mark.parametrize("base", BASES)
def test_its_operation_is_that_of_a_run(tmp_path: Path, base: str) -> None:
    arguments, shape = BASES[base]
    text = TEXT.format(base=base, arguments=arguments, more="", own="Own()")
    graph = predicted(tmp_path, text, [shape])
    assert graph.problems == ()
    assert _flow(graph) == _flow(_traced(text, shape))


def test_further_parameters_are_not_given_to_it(tmp_path: Path) -> None:
    text = TEXT.format(base="Linear", arguments="4, 4", more="self.low = nn.Parameter(torch.zeros(4, 4))", own="Own()")
    assert _flow(predicted(tmp_path, text, ["2x4"])) == _flow(_traced(text, "2x4"))


def test_a_weight_that_is_computed_is(tmp_path: Path) -> None:
    own = "torch.nn.utils.parametrizations.weight_norm(Own())"
    text = TEXT.format(base="Conv1d", arguments="2, 4, 3", more="", own=own)
    edges, _ = _flow(predicted(tmp_path, text, ["1x2x8"]))
    real, _ = _flow(_traced(text, "1x2x8"))
    weight = "own.parametrizations.weight.0"
    assert [end.split()[0] for start, end in real if start == weight] == ["torch.conv1d"]
    assert [end.split()[0] for start, end in edges if start == weight] == ["torch.conv1d"]


@pytest.mark.parametrize(
    "layer", ["Dropout(0.5)", "Dropout2d()", "AlphaDropout()", "FeatureAlphaDropout()", "Identity()"]
)
def test_a_dropout_in_eval_mode_gives_back_its_input(tmp_path: Path, layer: str) -> None:
    text = f"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.drop, self.b = nn.ReLU(), nn.{layer}, nn.ReLU()
    def forward(self, x):
        x = self.a(x)
        y = self.drop(x)
        y.mul_(2)
        return self.b(y + 1 + x) if y is x else x
"""
    graph = predicted(tmp_path, text, ["1x2x4x4"])
    assert graph.problems == ()
    assert _flow(graph) == _flow(_traced(text, "1x2x4x4"))


@pytest.mark.parametrize(
    "call",
    [
        "F.dropout(x, 0.5, self.training)",
        "F.dropout3d(x, 0.5, False)",
        "F.alpha_dropout(x)",
        "torch.dropout(x, 0.5, False)",
    ],
)
def test_so_does_the_function(tmp_path: Path, call: str) -> None:
    text = f"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.ReLU(), nn.ReLU()
    def forward(self, x):
        x = self.a(x)
        y = {call}
        return self.b(x) if y is x else x
"""
    graph = predicted(tmp_path, text, ["1x2x4x4x4"])
    assert [call.module for call in graph.calls] == [call.module for call in _traced(text, "1x2x4x4x4").calls]


def test_what_looks_at_shapes_alone_is_given_no_data(tmp_path: Path) -> None:
    text = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)
    def forward(self, x):
        x = self.a(x)
        found = [torch.zeros_like(x), x.new_zeros(x.shape), torch.randn_like(x), torch.full_like(x, 2.0), x.new_ones(8)]
        found += [torch.empty_like(x).normal_(), torch.rand(x.shape), torch.bernoulli(x.sigmoid()), x.type_as(found[0])]
        found += [torch.empty(8).copy_(x[0]), x.clone().fill_(1.0), x.view(16).view_as(found[0])]
        total = x
        for each in found:
            total = total + each
        return self.b(total)
"""
    assert _flow(predicted(tmp_path, text, ["2x8"])) == _flow(_traced(text, "2x8"))


def test_the_items_of_a_tensor_are_parts_of_it(tmp_path: Path) -> None:
    text = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(8, 8), nn.Identity(), nn.Identity()
        self.pair = nn.Parameter(torch.zeros(2, 8))
    def forward(self, x):
        x = self.a(x)
        first, second = x
        left, right = map(lambda item: item * 2, self.pair)
        total = self.b(first + second) + left - right
        for item in x:
            total = self.c(total + item)
        return total + list(x)[1] + torch.stack([item for _, item in zip(range(2), x)]) + [item for item in x][0]
"""
    assert _flow(predicted(tmp_path, text, ["2x8"])) == _flow(_traced(text, "2x8"))


def test_an_item_that_is_written_to_writes_to_the_tensor(tmp_path: Path) -> None:
    text = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Identity(), nn.Identity()
    def forward(self, x):
        x = x * 2
        for item in x:
            self.a(item).add_(1)
        return self.b(x)
"""
    assert _flow(predicted(tmp_path, text, ["2x8"])) == _flow(_traced(text, "2x8"))


def test_a_number_has_no_items(tmp_path: Path) -> None:
    text = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Identity()
    def forward(self, x):
        return [self.a(item) for item in x.sum()]
"""
    (problem,) = predicted(tmp_path, text, ["2x8"]).problems
    assert "TypeError" in problem.message
