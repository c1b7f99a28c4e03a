"""Live models exported by torch.onnx and regrouped: each is captured once, and run in ONNX Runtime beside PyTorch."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy
import onnx
import onnx_ir
import onnxruntime
import pytest
import torch
from torch import nn

import modgraph
from modgraph.errors import ConfigError, ExportWarning
from modgraph.export.onnx import capture as onnx_capture
from modgraph.export.onnx.cut import Place
from modgraph.options import OnnxOptions, dynamic_size
from tests.export.onnx_live_models import (
    Branches,
    Counts,
    Decides,
    Everything,
    Foreign,
    Gives,
    GivesDataclass,
    Inner,
    Pair,
    Recurrent,
)

pytestmark = [pytest.mark.needs_torch, pytest.mark.usefixtures("onnx_table")]


IDS = torch.tensor([[1, 2, 3], [4, 5, 6]])
GIVEN = {"gain": torch.full((1,), 1.5)}


def perturbed(model):
    """At initialisation a model may give next to nothing, where any tolerance passes."""
    generator = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        parameter.data.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    for name, buffer in model.named_buffers():
        if name.endswith("running_var"):
            buffer.copy_(0.5 + torch.rand(buffer.shape, generator=generator))
        elif name.endswith("running_mean"):
            buffer.copy_(torch.randn(buffer.shape, generator=generator))
    return model.eval()


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Model class, arguments and options -> (model, graph, file); one export for each."""
    folder = tmp_path_factory.mktemp("onnx")

    @cache
    def export(kind, **options):
        torch.manual_seed(0)
        model = perturbed(kind())
        args = {Everything: (IDS, GIVEN), Recurrent: (torch.randn(2, 5, 4),)}.get(kind, (torch.ones(2, 4),))
        file = folder / f"{kind.__name__}-{len(list(folder.iterdir()))}.onnx"
        graph = modgraph.export_onnx(model, file, args, **options)
        return model, args, graph, file

    return export


def facts(file: Path) -> dict[str, str]:
    loaded = onnx.load(str(file), load_external_data=False)
    return {entry.key: entry.value for entry in loaded.metadata_props}


def flat_tensors(result):
    return [leaf for leaf in torch.utils._pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]


def assert_equal_results(model, args, file):
    """ONNX Runtime gives what PyTorch gives, which is not nothing."""
    with torch.no_grad():
        wanted = [tensor.numpy() for tensor in flat_tensors(model(*args))]
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    inputs = dict(zip([value.name for value in session.get_inputs()], flat_tensors(args), strict=True))
    got = session.run(None, {name: tensor.numpy() for name, tensor in inputs.items()})
    assert len(got) == len(wanted)
    assert wanted[-1].std() > 0.1
    for one, other in zip(got, wanted, strict=True):
        assert abs(one - other).max() / abs(other).max() < 1e-5


def functions_of(file):
    return {function.name: function for function in onnx.load(str(file), load_external_data=False).functions}


@pytest.mark.parametrize("kind", [Everything, Recurrent, Branches])
def test_a_model_runs_in_onnx_runtime_and_gives_pytorchs_numbers(exported, kind):
    model, args, graph, file = exported(kind)
    assert graph.problems == ()
    onnx.checker.check_model(str(file), full_check=True)
    assert (facts(file)["modgraph.kind"], facts(file)["modgraph.tier"]) == ("executable", "A")
    assert_equal_results(model, args, file)


def test_calls_are_named_after_modules_and_share_functions(exported):
    *_, file = exported(Everything)
    loaded = onnx.load(str(file))
    named = {node.name: node.op_type for node in loaded.graph.node}
    assert {"emb", "mid", "mid.inner", "mid@2", "norm", "out"} <= named.keys()
    members = next(entry for entry in functions_of(file)["Inner"].metadata_props if entry.key == "modgraph.members")
    assert json.loads(members.value) == ["mid.inner", "mid.inner@2", "mid.inner@3"]
    elided = next(entry for entry in functions_of(file)["Inner"].metadata_props if entry.key == "modgraph.elided")
    assert json.loads(elided.value) == {"drop": "torch.nn.modules.dropout.Dropout"}
    assert [value.name for value in loaded.graph.output] == ["logits", "hidden.0", "hidden.1"]
    assert sorted(value.name for value in loaded.graph.input) == ["given_gain", "ids"]


def test_a_tied_weight_is_held_once(exported):
    *_, file = exported(Everything)
    shapes = [list(tensor.dims) for tensor in onnx.load(str(file)).graph.initializer]
    assert shapes.count([7, 4]) == 1


def test_the_arms_of_a_condition_stay_in_the_function_of_their_module(exported):
    *_, file = exported(Branches)
    (function,) = functions_of(file).values()
    assert function.name == "Arm"
    assert [node.op_type for node in function.node][-1] == "If"
    assert list(function.input) == ["x0", "fc.weight", "fc.bias"]


def test_the_strict_exporter_names_modules_from_the_model_too(tmp_path, monkeypatch):
    """It is what torch falls back to where the other one fails, as after a condition was run under a dispatch mode."""

    def strictly(model, args, kwargs, _options):
        return torch.onnx.export(
            torch.export.export(model, args, dict(kwargs), strict=True), dynamo=True, optimize=False
        )

    monkeypatch.setattr(onnx_capture, "_exported", strictly)
    model = perturbed(Branches())
    graph = modgraph.export_onnx(model, tmp_path / "net.onnx", torch.ones(2, 4))
    assert graph.problems == ()
    (function,) = functions_of(tmp_path / "net.onnx").values()
    assert list(function.input) == ["x0", "fc.weight", "fc.bias"]
    nodes = onnx.load(str(tmp_path / "net.onnx")).graph.node
    assert [node.name for node in nodes] == ["a", "b"]
    assert_equal_results(model, (torch.ones(2, 4),), tmp_path / "net.onnx")


def test_weights_have_the_names_of_the_model_whatever_the_exporter_calls_them(tmp_path, monkeypatch):
    own = onnx_capture._exported

    def exported_without_paths(*given):
        program = own(*given)
        held = program.model.graph.initializers
        for number, (name, value) in enumerate(list(held.items())):
            del held[name]
            value.name = f"{name.rpartition('.')[2]}_{number}"
            held[value.name] = value
        return program

    monkeypatch.setattr(onnx_capture, "_exported", exported_without_paths)
    model = perturbed(Branches())
    graph = modgraph.export_onnx(model, tmp_path / "net.onnx", torch.ones(2, 4))
    assert graph.problems == ()
    (function,) = functions_of(tmp_path / "net.onnx").values()
    assert list(function.input) == ["x0", "fc.weight", "fc.bias"]
    weights = {tensor.name for tensor in onnx.load(str(tmp_path / "net.onnx")).graph.initializer}
    assert weights == {name for name, _ in model.named_parameters()}
    assert_equal_results(model, (torch.ones(2, 4),), tmp_path / "net.onnx")


def test_nothing_of_this_machine_is_in_the_file(exported):
    *_, file = exported(Everything)
    content = file.read_bytes()
    assert str(Path(__file__).parent).encode() not in content
    assert b"site-packages" not in content
    assert b"return self.drop" not in content
    assert b"pkg.torch" not in content


def test_buffers_that_a_run_writes_into_are_told(exported):
    _, _, graph, file = exported(Counts)
    assert [problem.stage for problem in graph.problems] == ["export"]
    assert "each run begins with the buffer count as saved: ONNX keeps no state" in graph.problems[0].message
    assert json.loads(facts(file)["modgraph.mutated_buffers"]) == ["count"]
    assert facts(file)["modgraph.tier"] == "A"


def test_an_object_that_cannot_be_taken_apart_is_named_with_what_to_do(exported):
    _, _, graph, _ = exported(Gives)
    (problem,) = graph.problems
    assert "forward returns a" in problem.message
    assert ".Own, which torch.export does not take apart: put its tensors into a tuple or dict" in problem.message
    assert "functorch" not in problem.message


@pytest.mark.parametrize(("kind", "why"), [(Decides, "data-dependent"), (Foreign, "twice")])
def test_what_cannot_be_exported_becomes_its_structure_with_the_reason(tmp_path, kind, why):
    file = tmp_path / "net.onnx"
    with pytest.warns(ExportWarning, match="structure alone") as told:
        graph = modgraph.export_onnx(kind(), file, torch.ones(2, 4))
    assert told[0].filename == __file__
    (problem,) = graph.problems
    assert problem.stage == "export"
    assert "structure alone" in problem.message
    assert why in problem.message
    assert problem.message in str(told[0].message)
    onnx.checker.check_model(str(file), full_check=True)
    assert facts(file)["modgraph.kind"] == "structural"


def test_open_sizes_take_other_sizes(exported):
    model, args, graph, file = exported(Everything, dynamic=("ids:0=batch", "ids:1=seq"))
    assert graph.problems == ()
    (ids,) = (value for value in onnx.load(str(file)).graph.input if value.name == "ids")
    assert [size.dim_param for size in ids.type.tensor_type.shape.dim] == ["batch", "seq"]
    assert_equal_results(model, (IDS[:1].repeat(5, 2), args[1]), file)


def test_weights_in_a_second_file(exported):
    model, args, _, file = exported(Everything, weights="external")
    data = file.with_name(f"{file.name}.data")
    weight = model.mid.inner.fc.weight.detach().numpy().tobytes()
    assert weight in data.read_bytes()
    assert weight not in file.read_bytes()
    onnx.checker.check_model(str(file), full_check=True)
    assert_equal_results(model, args, file)


def test_without_weights_they_are_inputs(exported):
    *_, file = exported(Everything, weights="none")
    names = [value.name for value in onnx.load(str(file)).graph.input]
    assert "mid.inner.fc.weight" in names
    assert facts(file)["modgraph.weights"] == "none"


def test_a_model_without_memory_is_exported_too(exported):
    *_, graph, file = exported(Everything, device="fake")
    assert graph.problems == ()
    assert facts(file)["modgraph.tier"] == "A"
    assert "emb.weight" in {value.name for value in onnx.load(str(file)).graph.input} or "out.weight" in {
        value.name for value in onnx.load(str(file)).graph.input
    }


def test_a_flat_model_says_the_module_of_every_node_where_functions_do_not_hold(tmp_path, monkeypatch):
    from modgraph.errors import ExportError
    from modgraph.export.onnx import file as onnx_file

    def refuse(*_):
        raise ExportError("on purpose")

    monkeypatch.setattr(onnx_file, "prove", refuse)
    model = perturbed(nn.Sequential(Inner(), Inner()))
    graph = modgraph.export_onnx(model, tmp_path / "net.onnx", torch.ones(2, 4))
    assert [problem.message for problem in graph.problems] == [
        "the ONNX file is flat, with the module on every node: the functions did not hold: on purpose"
    ]
    loaded = onnx.load(str(tmp_path / "net.onnx"))
    assert not loaded.functions
    paths = [
        entry.value for node in loaded.graph.node for entry in node.metadata_props if entry.key == "modgraph.module"
    ]
    assert {"0", "0.fc", "1", "1.fc"} == set(paths)
    assert facts(tmp_path / "net.onnx")["modgraph.tier"] == "B"
    read = modgraph.load(tmp_path / "net.onnx")
    layers = {"fc": "torch.nn.modules.linear.Linear", "drop": "torch.nn.modules.dropout.Dropout"}
    classes = {node.path: node.class_name for node in read.modules if node.path}
    assert classes == {
        path: kind
        for block in "01"
        for path, kind in {
            block: f"{Inner.__module__}.Inner",
            **{f"{block}.{name}": of for name, of in layers.items()},
        }.items()
    }
    assert {node.path: [held.name for held in node.parameters] for node in read.modules if node.parameters} == {
        "0.fc": ["weight", "bias"],
        "1.fc": ["weight", "bias"],
    }
    assert [call.module for call in read.calls] == ["", "0", "0.fc", "0.drop", "1", "1.fc", "1.drop"]
    places = [read.calls[operation.call].module for operation in read.operations]
    assert (places[0], places[-1]) == ("0.fc", "1")
    assert_equal_results(model, (torch.ones(2, 4),), tmp_path / "net.onnx")


def test_a_file_with_other_results_is_not_left(tmp_path, monkeypatch):
    from modgraph.export.onnx import file as onnx_file

    monkeypatch.setattr(onnx_file, "run_file", lambda *_: [numpy.zeros((2, 4), dtype="float32")])
    graph = modgraph.export_onnx(perturbed(Inner()), tmp_path / "net.onnx", torch.ones(2, 4))
    assert "differ from those of PyTorch" in graph.problems[0].message
    assert facts(tmp_path / "net.onnx")["modgraph.kind"] == "structural"
    assert [path.name for path in tmp_path.iterdir()] == ["net.onnx"]


def test_the_exporter_still_uses_the_names_that_are_read(exported):
    """Where this fails, torch has renamed what `onnx_capture.py` reads: see which of its constants no longer holds."""
    version = f"torch {torch.__version__}"
    program = torch.onnx.export(
        perturbed(nn.Sequential(Inner())), (torch.ones(2, 4),), dynamo=True, optimize=False, verbose=False
    )
    assert isinstance(program.model, onnx_ir.Model), f"{version}: ONNXProgram.model is no onnx_ir.Model"
    signature = program.exported_program.graph_signature
    assert "0.fc.weight" in signature.inputs_to_parameters.values(), f"{version}: graph_signature"
    node = next(iter(program.model.graph))
    names = node.metadata_props.get(onnx_capture.NAME_SCOPES, "")
    assert names.startswith("['', '0', '0.fc', "), f"{version}: {onnx_capture.NAME_SCOPES} is {names!r}"
    classes = node.metadata_props.get(onnx_capture.CLASS_HIERARCHY, "")
    assert "'torch.nn.modules.linear.Linear'" in classes, f"{version}: {onnx_capture.CLASS_HIERARCHY} is {classes!r}"
    fx_node = node.meta.get(onnx_capture.FX_NODE)
    assert fx_node is not None, f"{version}: Node.meta has no {onnx_capture.FX_NODE!r}"
    stack = fx_node.meta.get(onnx_capture.MODULE_STACK)
    assert stack, f"{version}: fx nodes have no {onnx_capture.MODULE_STACK!r}"
    found = onnx_capture.node_scope(node, {})
    wanted = (Place("0", 0, f"{Inner.__module__}.Inner"), Place("0.fc", 0, "torch.nn.modules.linear.Linear"))
    assert found == wanted, f"{version}: {found}"
    del fx_node.meta[onnx_capture.MODULE_STACK]
    assert onnx_capture.node_scope(node, {}) == wanted, f"{version}: the names alone do not give the scope"


def test_the_key_of_a_stack_counts_the_calls():
    stack = {
        "L__self__": ("", "m.Net"),
        "L__self__a.b@2": ("a.b", "m.B"),
        "L__self__x": ("x", f"torch.{onnx_capture.NO_MODULE}"),
        "L__self__c": ("c", Inner),
    }
    assert onnx_capture.places_of(stack) == (Place("a.b", 2, "m.B"), Place("c", 0, f"{Inner.__module__}.Inner"))


def test_the_cause_of_a_failure_names_no_path():
    error = RuntimeError("step 2 failed")
    error.__cause__ = ValueError("bad in /home/someone/model.py\nmore")
    assert onnx_capture.cause_of(error) == "ValueError: bad in ..."
    kept = "see https://pytorch.org/docs/main/export.html for it"
    assert onnx_capture.cause_of(ValueError(kept)) == f"ValueError: {kept}"


def test_a_name_alone_is_dimension_0_of_every_input():
    size = dynamic_size("batch")
    assert (size.input, size.dimension, size.name) == (None, 0, "batch")


@pytest.mark.parametrize("text", ["", "ids:1", "ids:x=a", "ids:1=2", "a b"])
def test_sizes_that_say_nothing(text):
    with pytest.raises(ConfigError, match="no dynamic size"):
        OnnxOptions(dynamic=(text,))


def test_an_input_that_is_not_there_cannot_be_left_open(tmp_path):
    graph = modgraph.export_onnx(Inner(), tmp_path / "net.onnx", torch.ones(2, 4), dynamic=["y:0=batch"])
    assert "no input 'y' is a tensor" in graph.problems[0].message
    assert facts(tmp_path / "net.onnx")["modgraph.kind"] == "structural"


def test_a_file_is_read_back_with_its_modules(exported):
    model, _, traced, file = exported(Everything)
    read = modgraph.load(file)
    assert {node.path for node in read.modules} == {path for path, _ in model.named_modules()}
    known = {node.path: node for node in traced.modules}
    assert {node.path: node.class_name for node in read.modules if node.path != "mid.bare"} == {
        path: node.class_name for path, node in known.items() if path != "mid.bare"
    }
    assert [buffer.name for node in read.modules for buffer in node.buffers] == ["running_mean", "running_var"]
    assert read.model.parameters == traced.model.parameters
    counts = {node.path: len(node.calls) for node in read.modules}
    assert (counts["mid"], counts["mid.inner"], counts["mid.inner.fc"], counts["mid.bare"]) == (2, 3, 3, 0)
    logits = next(edge for edge in read.edges if edge.consumer == "output:logits")
    assert logits.tensor.shape == (2, 3, 7)
    assert read.calls[int(logits.producer.removeprefix("call:"))].module == "out"


def test_without_the_exporters_packages_the_structure_is_written_and_what_to_install_said(tmp_path, monkeypatch):
    find = onnx_capture.importlib.util.find_spec
    monkeypatch.setattr(
        onnx_capture.importlib.util, "find_spec", lambda name: None if name == "onnxscript" else find(name)
    )
    graph = modgraph.export_onnx(Inner(), tmp_path / "net.onnx", torch.ones(2, 4))
    assert 'needs onnxscript: pip install "modgraph[onnx]"' in graph.problems[0].message
    assert facts(tmp_path / "net.onnx")["modgraph.kind"] == "structural"


def test_random_numbers_and_the_mode_of_a_live_model_are_left_alone(tmp_path):
    model = perturbed(Inner()).train()
    torch.manual_seed(3)
    before = torch.get_rng_state()
    modgraph.export_onnx(model, tmp_path / "net.onnx", torch.ones(2, 4))
    assert torch.equal(torch.get_rng_state(), before)
    assert model.training
    assert model.drop.training


def test_a_dataclass_is_looked_into(tmp_path):
    model = perturbed(GivesDataclass())
    graph = modgraph.export_onnx(model, tmp_path / "net.onnx", torch.ones(2, 4))
    assert graph.problems == ()
    assert [value.name for value in onnx.load(str(tmp_path / "net.onnx")).graph.output] == ["first", "rest.0"]
    assert "forward" not in vars(model)
    assert isinstance(model(torch.ones(2, 4)), Pair)


class ReadsAttributes(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)

    def forward(self, data):
        return self.fc(data.x)


@pytest.mark.parametrize("given", [None, (SimpleNamespace(x=torch.ones(2, 4)),)], ids=["inferred", "given"])
def test_an_object_that_is_given_is_told_in_our_words(tmp_path, given):
    (problem,) = modgraph.export_onnx(ReadsAttributes(), tmp_path / "net.onnx", given).problems
    said = "forward is given one object whose attributes are the tensors" if given is None else "SimpleNamespace"
    assert said in problem.message
    assert not re.search(r"modgraph\.|plain:|register_dataclass", problem.message)
