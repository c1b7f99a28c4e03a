"""What a prediction knows of an argument, and what a layer of torch keeps of it, are one value in two forms."""

from __future__ import annotations

from pathlib import Path

import pytest

import modgraph
from modgraph.changes.model import Changes

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.needs_torch

LAYERS = (
    "nn.Conv1d(3, 4, 3, padding=1)", "nn.Conv2d(3, 4, 3, 2, 1, 2)", "nn.Conv3d(3, 4, 3)",
    "nn.ConvTranspose2d(3, 4, 4, 2, 1, output_padding=1, dilation=2)", "nn.MaxPool2d(2)", "nn.AvgPool2d(2, 2)",
    "nn.AdaptiveAvgPool2d(1)", "nn.FractionalMaxPool2d(2, output_size=1)", "nn.MaxUnpool2d(2)", "nn.LPPool2d(2, 2)",
    "nn.Unfold(2)", "nn.Fold(4, 2)", "nn.Upsample(scale_factor=2)", "nn.ZeroPad2d(1)", "nn.ReflectionPad1d(2)",
    "nn.ConstantPad3d(1, 0.5)", "nn.LayerNorm(4)", "nn.RMSNorm(4)", "nn.GroupNorm(2, 4)", "nn.Linear(4, 4)",
    "nn.LSTM(4, 4)", "nn.MultiheadAttention(8, 2)", "nn.TransformerEncoderLayer(8, 2)", "nn.Flatten()",
)  # fmt: skip


def compared(folder: Path, predicted: str, built: str) -> Changes:
    """Of a model with the layers `predicted` in its source, and one that is built with the layers `built`."""
    file = folder / "net.py"
    file.write_text(
        "from torch import nn\n\nclass Net(nn.Sequential):\n    def __init__(self):\n"
        f"        super().__init__({predicted})\n\n    def forward(self, x):\n        return x\n"
    )
    one = type("Net", (torch.nn.Sequential,), {"forward": lambda _self, x: x})
    layers = eval(f"[{built}]", {"nn": torch.nn})
    return modgraph.diff(modgraph.predict(f"{file}:Net"), modgraph.trace(one(*layers), torch.ones(1)))


def arguments(changes: Changes) -> list[tuple[str, str]]:
    return [(each.new, field.name) for each in changes.changed for field in each.fields if field.kind == "argument"]


def test_a_layer_is_the_same_however_it_keeps_what_it_was_given(tmp_path: Path):
    layers = ", ".join(LAYERS)
    assert arguments(compared(tmp_path, layers, layers)) == []


@pytest.mark.parametrize(
    ("predicted", "built", "name"),
    [
        ("nn.Conv2d(1, 1, 3)", "nn.Conv2d(1, 1, (3, 5))", "kernel_size"),
        ("nn.Conv2d(1, 1, 3, 2)", "nn.Conv2d(1, 1, 3, 3)", "stride"),
        ("nn.MaxPool2d(2)", "nn.MaxPool2d((2, 3))", "kernel_size"),
        ("nn.LayerNorm(3, elementwise_affine=False)", "nn.LayerNorm((3, 3), elementwise_affine=False)",
         "normalized_shape"),
        ("nn.Upsample(scale_factor=2)", "nn.Upsample(scale_factor=3)", "scale_factor"),
    ],
)  # fmt: skip
def test_another_value_is_another(tmp_path: Path, predicted: str, built: str, name: str):
    assert ("0", name) in arguments(compared(tmp_path, predicted, built))
