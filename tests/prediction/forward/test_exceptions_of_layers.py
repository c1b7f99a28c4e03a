"""What a layer refuses is quoted as torch raises it: the kind of exception, and no number that is not in the matter."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from torch import nn

from modgraph.prediction import predict_graph
from modgraph.source.inputs import InputSpec
from modgraph.source.targets import parse_target

Tensors = list[tuple[tuple[int, ...], str]]


def _of(*shapes: tuple[int, ...], dtype: str = "float32") -> Tensors:
    return [(shape, dtype) for shape in shapes]


def _each(*shapes: tuple[int, ...], dtypes: tuple[str, ...] = ("float64", "int64")) -> list[Tensors]:
    return [_of(shape) for shape in shapes] + [_of(shapes[0], dtype=dtype) for dtype in dtypes]


_PICTURES = _each((2, 4, 9, 8), (), (4,), (2, 4), (4, 9, 8), (2, 3, 9, 8), (2, 4, 9, 8, 5), (2, 4, 1, 1))
_VOLUMES = _each((2, 4, 9, 8, 7), (), (2, 4), (4, 9, 8, 7), (2, 3, 9, 8, 7), (2, 4, 9, 8))
_ROWS = _each((2, 4, 9), (), (4,), (2, 4), (2, 3, 9), (2, 4, 9, 8))
_WIDTH = _each((2, 4, 8), (), (4,), (8,), (2, 8), (2, 3, 7))
_PAIRS = [
    *(_of((2, 3), other) for other in ((2, 3), (3,), (2, 4), (3, 3), (2,))),
    *([((2, 3), "float32"), (shape, "int64")] for shape in ((2, 3), (2,), (3,))),
    *([((3,), "float32"), (shape, "int64")] for shape in ((), (1,), (2,))),
    [((2, 3), "int64"), ((2, 3), "int64")],
]
LAYERS: dict[str, list[Tensors]] = {
    **{f"nn.{name}2d({rest})": _PICTURES for name, rest in (("Conv", "4, 6, 3"), ("BatchNorm", "4"), ("MaxPool", "3"),
       ("AvgPool", "3"), ("InstanceNorm", "4, affine=True"), ("LPPool", "2, 3"), ("ReflectionPad", "2"))},
    **{f"nn.{name}3d({rest})": _VOLUMES for name, rest in (("Conv", "4, 6, 3"), ("BatchNorm", "4"), ("AvgPool", "3"))},
    **{f"nn.{name}1d({rest})": _ROWS for name, rest in (("Conv", "4, 6, 3"), ("BatchNorm", "4"), ("MaxPool", "3"))},
    **dict.fromkeys(("nn.Linear(8, 3)", "nn.LayerNorm(8)", "nn.RMSNorm(8)", "nn.GroupNorm(2, 4)", "nn.GLU()"), _WIDTH),
    **dict.fromkeys(("nn.RNN(8, 3)", "nn.LSTM(8, 3)", "nn.GRUCell(8, 3)", "nn.Softmax(2)", "nn.Unfold(2)"), _WIDTH),
    **dict.fromkeys(("nn.Upsample(size=(3, 4), mode='bicubic')", "nn.Upsample(size=3, mode='linear')"), _WIDTH),
    **{f"nn.{name}()": _PAIRS for name in ("CrossEntropyLoss", "NLLLoss", "BCELoss", "BCEWithLogitsLoss", "L1Loss")},
    "nn.EmbeddingBag(5, 3)": [_of((4,), (2,), dtype="int64"), _of((4,), (2, 2), dtype="int64"), _of((4,))],
}  # fmt: skip


def _refusal(model: nn.Module, tensors: Tensors) -> Exception | None:
    try:
        with torch.no_grad():
            model(*(torch.zeros(shape, dtype=getattr(torch, dtype)) for shape, dtype in tensors))
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("layer", LAYERS)
def test_the_exception_is_torchs(tmp_path: Path, layer: str) -> None:
    init = f"    def __init__(self):\n        super().__init__()\n        self.layer = {layer}\n"
    text = f"from torch import nn\nclass Net(nn.Module):\n{init}    def forward(self, *given):\n        return self.layer(*given)\n"
    (tmp_path / "net.py").write_text(text)
    model = eval(layer, {"nn": nn}).eval()
    n_refused = 0
    for tensors in LAYERS[layer]:
        inputs = [InputSpec(text="", name=None, shape=shape, dtype=dtype) for shape, dtype in tensors]
        graph = predict_graph(parse_target(f"{tmp_path / 'net.py'}:Net"), inputs=inputs)
        told = next(
            (found for each in graph.problems if (found := re.search(r"raises (\w+): (.*)", each.message))), None
        )
        error = _refusal(model, tensors)
        if error is None or told is None:
            assert told is None, (tensors, told)
            continue
        n_refused += 1
        known = re.findall(r"\d+", f"{error} {tensors} {layer} 8 32 64 {len(tensors[0][0])}")
        assert told[1] == type(error).__name__, (tensors, told[0], error)
        assert {*re.findall(r"\d+", told[2])} <= {*known, *map(str, range(6))}, (tensors, told[0], error)
    assert n_refused


def test_a_batch_norm_says_how_many_dimensions_it_wants(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "from torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.norm = nn.BatchNorm2d(4)\n    def forward(self, x):\n        return self.norm(x)\n"
    )
    given = [InputSpec(text="", name=None, shape=(4, 9, 8), dtype="float32")]
    (problem,) = predict_graph(parse_target(f"{tmp_path / 'net.py'}:Net"), inputs=given).problems
    assert "ValueError: expected 4D input (got 3D input)" in problem.message
