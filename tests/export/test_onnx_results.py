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
from tests.export.onnx_result_models import Counts, Gives, Normed, Remembers, Tokens, TwoMore

pytestmark = [pytest.mark.needs_torch, pytest.mark.usefixtures("onnx_table")]

X = torch.tensor([[1.0, -2.0, 3.0, 0.5], [0.25, 2.0, -1.0, 4.0]])


def export(model, file, **options):
    """(graph, model of the file, its facts)"""
    torch.manual_seed(0)
    graph = modgraph.export_onnx(model, file, X, **options)
    loaded = onnx.load(str(file))
    onnx.checker.check_model(str(file), full_check=True)
    return graph, loaded, {entry.key: entry.value for entry in loaded.metadata_props}


def close_to_pytorch(model, args, kwargs, file):
    """Whether ONNX Runtime gives for each input by its name what PyTorch gives."""
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    wanted = model(*args, **kwargs).detach().numpy()
    named = {**dict(zip(["x"], args, strict=True)), **kwargs}
    (got,) = session.run(None, {value.name: named[value.name].numpy() for value in session.get_inputs()})
    return numpy.allclose(got, wanted, atol=1e-5)


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


@pytest.mark.parametrize(
    ("give", "names"),
    [
        (lambda _, x, y: {"add": y * 2, "mul": x + 2}, ["add", "mul"]),
        (lambda _, x, y: {"x": y, "linear": x * 3}, ["output.x", "linear"]),
        (lambda _, x, y: {"x": x, "linear": y}, ["output.x", "linear"]),
    ],
    ids=["names that the exporter gives to others", "name of an input", "an input under its name"],
)
def test_a_name_of_an_output_is_never_that_of_another_value(tmp_path, give, names):
    model = Gives(give).eval()
    graph, _, facts = export(model, tmp_path / "net.onnx")
    assert (graph.problems, facts["modgraph.tier"]) == ((), "A")
    got = run(tmp_path / "net.onnx")
    assert list(got) == names
    for array, tensor in zip(got.values(), model(X).values(), strict=True):
        assert numpy.allclose(array, tensor.detach().numpy(), atol=1e-6)


def test_a_live_model_and_its_inputs_are_as_they_were(tmp_path):
    model, x = Remembers().eval(), X.clone()
    modgraph.export_onnx(model, tmp_path / "net.onnx", x)
    assert (model.steps, model.last, model.count.item()) == (0, None, 0)
    assert torch.equal(x, X)


def test_a_buffer_that_is_given_is_compared_as_the_run_left_it(tmp_path):
    graph, _, facts = export(Counts().eval(), tmp_path / "net.onnx")
    assert [problem.message.partition(" as saved")[0] for problem in graph.problems] == [
        "the file runs, and each run begins with the buffer count"
    ]
    assert facts["modgraph.tier"] == "A"
    assert run(tmp_path / "net.onnx")["output.1"].tolist() == [1]


def test_results_in_half_precision_are_held_to_what_it_can_say(tmp_path):
    torch.manual_seed(0)
    blocks = [nn.Sequential(nn.Linear(32, 32), nn.GELU(), nn.LayerNorm(32)) for _ in range(6)]
    graph = modgraph.export_onnx(nn.Sequential(*blocks).half().eval(), tmp_path / "net.onnx", torch.randn(4, 32).half())
    assert graph.problems == ()


@pytest.mark.parametrize("dynamic", [(), ("batch",)])
def test_inputs_given_by_name_may_come_in_any_order(tmp_path, dynamic):
    model, kwargs = TwoMore().eval(), {"b": X + 1, "a": X * 2}
    graph = modgraph.export_onnx(model, tmp_path / "net.onnx", (X,), kwargs, dynamic=dynamic)
    assert graph.problems == ()
    assert close_to_pytorch(model, (X,), kwargs, tmp_path / "net.onnx")


def test_a_reason_names_no_path_of_this_machine(tmp_path, monkeypatch):
    from modgraph.export.onnx import file as onnx_file

    def refuse(*_):
        raise OSError(f"cannot open {tmp_path}/weights.bin")

    monkeypatch.setattr(onnx_file, "prove", refuse)
    _, _, facts = export(Normed().eval(), tmp_path / "net.onnx")
    assert facts["modgraph.tier"] == "B"
    assert facts["modgraph.reason"] == "the functions did not hold: OSError: cannot open ..."


def test_a_large_model_is_not_run(tmp_path, monkeypatch):
    from modgraph.export.onnx import file as onnx_file

    def run_nothing(*_):
        raise AssertionError("run")

    monkeypatch.setattr(onnx_file, "MAX_RUN", 10_000)
    monkeypatch.setattr(onnx_file, "run_file", run_nothing)
    model = nn.Sequential(nn.Linear(4, 64), nn.Linear(64, 64)).eval()
    graph, _, facts = export(model, tmp_path / "net.onnx", weights="external")
    assert (tmp_path / "net.onnx").stat().st_size < onnx_file.MAX_RUN
    assert (graph.problems, facts["modgraph.tier"]) == ((), "A")


def test_weights_too_large_for_one_file_go_into_a_second(tmp_path, monkeypatch):
    from modgraph.export.onnx import file as onnx_file

    monkeypatch.setattr(onnx_file, "MAX_EMBEDDED", 10)
    _, _, facts = export(Normed().eval(), tmp_path / "net.onnx")
    assert facts["modgraph.weights"] == "external"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.onnx", "net.onnx.data"]


def test_a_type_that_onnx_runtime_has_no_kernels_for_is_no_defect_of_the_file(tmp_path):
    graph = modgraph.export_onnx(Tokens().bfloat16().eval(), tmp_path / "net.onnx", torch.tensor([[1, 2, 3]]))
    assert graph.problems == ()
