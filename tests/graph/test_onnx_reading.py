"""ONNX files read back: those of modgraph with their modules, any other as far as it says."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

import modgraph
from modgraph.cli import main
from modgraph.errors import ExitStatus, GraphError
from modgraph.graph.onnx_reading import load_onnx


def plain_model():
    """A file of nobody's: `relu(x @ w)` in a local function, then a node with a graph inside."""
    arms = [
        helper.make_graph(
            [helper.make_node(kind, ["h"], [kind], name=kind)],
            kind,
            [],
            [helper.make_tensor_value_info(kind, TensorProto.FLOAT, [2, "n"])],
        )
        for kind in ("Neg", "Abs")
    ]
    function = helper.make_function(
        "lib",
        "Layer",
        ["a", "b"],
        ["c"],
        [helper.make_node("MatMul", ["a", "b"], ["m"]), helper.make_node("Relu", ["m"], ["c"])],
        [helper.make_opsetid("", 20)],
    )
    graph = helper.make_graph(
        [
            helper.make_node("Layer", ["x", "onnx::w_1"], ["h"], name="first/layer.0", domain="lib"),
            helper.make_node("If", ["flag"], ["y"], name="if", then_branch=arms[0], else_branch=arms[1]),
        ],
        "net",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, "n"]),
            helper.make_tensor_value_info("flag", TensorProto.BOOL, []),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, "n"])],
        [helper.make_tensor("onnx::w_1", TensorProto.FLOAT, [3, 3], [0.0] * 9)],
    )
    return helper.make_model(
        graph, functions=[function], opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("lib", 1)]
    )


def test_a_file_of_nobodys_has_its_nodes_shapes_weights_and_functions(tmp_path):
    onnx.save(plain_model(), tmp_path / "net.onnx")
    graph = load_onnx(tmp_path / "net.onnx")
    assert [(node.path, node.class_name) for node in graph.modules] == [("", None), ("first/layer_0", "lib.Layer")]
    assert [operation.name for operation in graph.operations] == ["onnx.MatMul", "onnx.Relu", "onnx.If"]
    assert [operation.call for operation in graph.operations] == [1, 1, 0]
    assert [(held.name, held.shape) for held in graph.modules[0].parameters] == [("onnx::w_1", (3, 3))]
    edges = {(edge.producer, edge.consumer) for edge in graph.edges}
    assert edges == {
        ("input:x", "op:0"),
        ("param:onnx::w_1", "op:0"),
        ("op:0", "op:1"),
        ("op:1", "op:2"),  # read in the arms of the If
        ("input:flag", "op:2"),
        ("op:2", "output:y"),
    }
    assert graph.model.inputs[0].tensors[0].shape == (2, "n")
    assert modgraph.load(tmp_path / "net.onnx") == graph


def test_it_can_be_drawn(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    onnx.save(plain_model(), "net.onnx")
    assert main(["render", "net.onnx", "--format", "dot,json", "-o", "out"]) == ExitStatus.OK
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["net.dot", "net.json"]
    assert modgraph.load(tmp_path / "out" / "net.json").operations


@pytest.mark.parametrize("content", [b"", b"{}", b"\x08\x0a", b"no onnx at all"])
def test_what_is_no_onnx_is_an_error(tmp_path, content):
    (tmp_path / "net.onnx").write_bytes(content)
    with pytest.raises(GraphError, match="no ONNX"):
        load_onnx(tmp_path / "net.onnx")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(GraphError, match="cannot read"):
        load_onnx(tmp_path / "net.onnx")


def test_a_predicted_structure_keeps_its_modules(tmp_path):
    predicted = modgraph.predict("samples/resnet.py:ResNet")
    predicted.save(tmp_path / "net.onnx")
    graph = load_onnx(tmp_path / "net.onnx")
    assert not graph.calls
    assert graph.predicted
    assert not graph.traced
    known = {node.path: node for node in predicted.modules}
    assert {node.path for node in graph.modules} == set(known)
    conv = next(node for node in graph.modules if node.path == "layer2.0.downsample.0")
    assert conv.class_name == known[conv.path].class_name
    assert [(held.name, held.shape) for held in conv.parameters] == [("weight", (128, 64, 1, 1))]
