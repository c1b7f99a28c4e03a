"""What runs in torch's own code, and is not known, is told at the line of the user's that calls it, with its name."""

from __future__ import annotations

from pathlib import Path

import pytest

import modgraph

PRELUDE = """\
import torch
from torch import nn

"""

MODELS = {
    "a function": (
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(8, 4, batch_first=True)

    def forward(self, x):
        y, _ = self.rnn(torch.vmap(torch.neg)(x))  # here
        return y
""",
        ["x=2x3x8"],
        "what vmap calls is not known: ",
        "",
    ),
    "a layer": (
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)

    def forward(self, x, mask):
        return self.encoder(  # here
            x, src_key_padding_mask=mask
        )
""",
        ["x=2x5x8", "mask=2x5:bool"],
        "what TransformerEncoder calls is not known: ",
        "encoder",
    ),
    "a class derived from a layer": (
        """
class Own(nn.LSTM):
    def forward(self, x):
        return super().forward(torch.vmap(torch.neg)(x))  # here

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = Own(8, 4, batch_first=True)

    def forward(self, x):
        return self.rnn(x)[0]
""",
        ["x=2x3x8"],
        "what vmap calls is not known: ",
        "rnn",
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_line_is_that_of_the_user(name: str, tmp_path: Path) -> None:
    text, inputs, message, module = MODELS[name]
    file = tmp_path / "net.py"
    file.write_text(PRELUDE + text, encoding="utf-8")
    lines = (PRELUDE + text).splitlines()
    graph = modgraph.predict(f"{file}:Net", inputs=inputs)
    first = graph.problems[0]
    assert first.message.startswith(message)
    assert first.module == module
    assert first.line is not None
    assert lines[first.line - 1].endswith("# here")
    places = [each for problem in graph.problems for each in (problem, *problem.places)]
    assert {each.file for each in places} == {"net.py"}
    shapes = [tuple(map(str, tensor.shape or ())) for given in graph.model.inputs for tensor in given.tensors]
    assert shapes == [tuple(each.partition("=")[2].partition(":")[0].split("x")) for each in inputs]


LAYERS = {
    "an encoder": ("nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)", "self.layer(x)"),
    "a sequence": ("nn.Sequential(nn.Linear(8, 8), nn.Sequential(nn.ReLU(), nn.Linear(8, 8)))", "self.layer(x)"),
    "attention": ("nn.MultiheadAttention(8, 2, batch_first=True)", "self.layer(x, x, x)[0]"),
}


@pytest.mark.parametrize("name", LAYERS)
def test_calls_inside_of_torchs_layers_are_where_a_run_has_them(name: str, tmp_path: Path) -> None:
    layer, call = LAYERS[name]
    text = f"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = {layer}

    def forward(self, x):
        x = x + 1
        return {call}
"""
    file = tmp_path / "net.py"
    file.write_text(PRELUDE + text, encoding="utf-8")
    predicted = modgraph.predict(f"{file}:Net", inputs=["2x5x8"])
    graph = modgraph.analyze(f"{file}:Net", inputs=["2x5x8"])
    assert not predicted.problems
    assert [(each.module, each.source) for each in predicted.calls] == [
        (each.module, each.source) for each in graph.calls
    ]
    assert all(each.observed and each.predicted for each in graph.calls)
    assert {each.source.file for each in predicted.operations if each.source is not None} == {"net.py"}


def test_a_tensor_that_stands_at_several_places_is_one(tmp_path: Path) -> None:
    text = """
from torch.distributions import Categorical

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 4)

    def forward(self, x):
        y = self.a(x)
        z = y + 1
        return {"both": (y, z, y), "again": [z, y], "policy": Categorical(logits=y)}
"""
    file = tmp_path / "net.py"
    file.write_text(PRELUDE + text, encoding="utf-8")
    predicted = modgraph.predict(f"{file}:Net", inputs=["2x8"]).calls[0].outputs
    ran = modgraph.analyze(f"{file}:Net", inputs=["2x8"]).calls[0].outputs
    assert [(each.name, each.shape) for each in predicted] == [(each.name, each.shape) for each in ran]
    assert len(ran) == 3
