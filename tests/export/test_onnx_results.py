"""What a model takes in and gives, in an exported file: names, None and numbers among results, state that it keeps."""

from __future__ import annotations

import json

import numpy
import onnx
import onnxruntime
import pytest
import torch
from torch import nn

import modgraph

pytestmark = pytest.mark.needs_torch

X = torch.tensor([[1.0, -2.0, 3.0, 0.5], [0.25, 2.0, -1.0, 4.0]])


class Gives(nn.Module):
    """`fc`, and what a function makes of the input and the layer's result."""

    def __init__(self, give):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.gain = nn.Parameter(torch.tensor([3.0, 1.0]))
        self.give = give

    def forward(self, x):
        return self.give(self, x, self.fc(x))


class Normed(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.norm = nn.BatchNorm1d(4, **options)
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return self.fc(self.norm(x))


def export(model, file, **options):
    """(graph, model of the file, its facts)"""
    torch.manual_seed(0)
    graph = modgraph.export_onnx(model, file, X, **options)
    loaded = onnx.load(str(file))
    onnx.checker.check_model(str(file), full_check=True)
    return graph, loaded, {entry.key: entry.value for entry in loaded.metadata_props}


def run(file):
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    assert [value.name for value in session.get_inputs()] == ["x"]
    return dict(zip([value.name for value in session.get_outputs()], session.run(None, {"x": X.numpy()}), strict=True))


@pytest.mark.parametrize(
    ("give", "tensors"),
    [
        (lambda _, x, y: (y, None, x + 1), {"output.0": 0, "output.2": 2}),
        (lambda _, x, y: {"loss": None, "logits": y, "aux": (None, x * 2)}, {"logits": "logits", "aux.1": ("aux", 1)}),
        (lambda _, x, y: (y, y, x), {"output.0": 0, "output.1": 1, "output.2": 2}),
        (lambda net, _, y: (y, net.gain), {"output.0": 0, "output.1": 1}),
        (lambda _, x, y: [y, torch.arange(5)], {"output.0": 0, "output.1": 1}),
        (lambda _, x, y: (y, 3, "text", 0.5), {"output.0": 0}),
    ],
    ids=["None in a tuple", "None in a dict", "one tensor twice", "a parameter", "a constant", "numbers and texts"],
)
def test_outputs_are_named_after_their_places(tmp_path, give, tensors):
    model = Gives(give).eval()
    graph, _, facts = export(model, tmp_path / "net.onnx")
    assert (graph.problems, facts["modgraph.tier"]) == ((), "A")
    got = run(tmp_path / "net.onnx")
    assert list(got) == list(tensors)
    wanted = model(X)
    for name, place in tensors.items():
        value = wanted
        for key in place if isinstance(place, tuple) else (place,):
            value = value[key]
        assert numpy.allclose(got[name], value.detach().numpy(), atol=1e-6), name
    read = modgraph.load(tmp_path / "net.onnx")
    assert [edge.consumer for edge in read.edges if edge.consumer.startswith("output:")] == [
        f"output:{name}" for name in tensors
    ]


def test_numbers_and_texts_among_results_stand_in_the_metadata(tmp_path):
    model = Gives(lambda _, x, y: {"y": y, "count": 3, "name": ["text"]}).eval()
    _, _, facts = export(model, tmp_path / "net.onnx")
    assert json.loads(facts["modgraph.literals"]) == {"count": 3, "name.0": "text"}
    assert model(X)["count"] == 3


def test_inputs_are_described_alike_whatever_the_file_holds(tmp_path):
    graph, _, runs = export(Normed().eval(), tmp_path / "net.onnx")
    graph.save(tmp_path / "structure.onnx")
    loaded = onnx.load(str(tmp_path / "structure.onnx"))
    structure = {entry.key: entry.value for entry in loaded.metadata_props}
    assert runs["modgraph.inputs"] == structure["modgraph.inputs"] == '{"x": "float32[2×4]"}'


@pytest.mark.parametrize(
    ("options", "mode", "n_problems"),
    [
        ({}, "train", 0),
        ({"track_running_stats": False}, "train", 0),
        ({}, "eval", 0),
    ],
)
def test_statistics_that_training_keeps_are_no_shortcoming_of_the_file(tmp_path, options, mode, n_problems):
    model = Normed(**options)
    graph, _, facts = export(model, tmp_path / "net.onnx", mode=mode)
    assert len(graph.problems) == n_problems
    assert facts["modgraph.tier"] == "A"
    written = ["norm.num_batches_tracked", "norm.running_mean", "norm.running_var"]
    expected = written if mode == "train" and not options else None
    assert json.loads(facts.get("modgraph.mutated_buffers", "null")) == expected
    got = run(tmp_path / "net.onnx")["output"]
    with torch.no_grad():
        assert numpy.allclose(got, model.train(mode == "train")(X).numpy(), atol=1e-5)
