"""ONNX files read back: those of modgraph with their modules, any other as far as it says."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

import modgraph
from modgraph.cli import main
from modgraph.errors import ExitStatus, GraphError
from modgraph.graph.model import Call, Edge, Graph, ModelInfo, ModelInput, ModuleNode, SourceLocation, TensorInfo
from modgraph.graph.onnx_facts import number_of, place_of, shape_of
from modgraph.graph.onnx_reading import load_onnx
from modgraph.graph.onnx_types import dtype_of, element_type_of


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
        ("input:x", "call:1"),  # a function that calls no other is a leaf
        ("param:onnx::w_1", "call:1"),
        ("op:0", "op:1"),
        ("call:1", "op:2"),  # read in the arms of the If
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


DTYPES = {
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "bfloat16": TensorProto.BFLOAT16,
    "float8_e4m3fn": TensorProto.FLOAT8E4M3FN,
    "float8_e5m2fnuz": TensorProto.FLOAT8E5M2FNUZ,
    "float8_e8m0fnu": TensorProto.FLOAT8E8M0,
    "uint4": TensorProto.UINT4,
    "int64": TensorProto.INT64,
    "bool": TensorProto.BOOL,
    "complex64": TensorProto.COMPLEX64,
}


@pytest.mark.parametrize("dtype", DTYPES)
def test_element_types_have_torchs_names_on_both_ways(tmp_path, dtype):
    tensor = TensorInfo(name="x", shape=(2, 3), dtype=dtype)
    graph = Graph(
        model=ModelInfo(name="Net", class_name="m.Net", target=None, inputs=(ModelInput(name="x", tensors=(tensor,)),)),
        modules=(ModuleNode(path="", class_name="m.Net", observed=True, calls=(0,)),),
        calls=(Call(index=0, module="", parent=None),),
        edges=(Edge(producer="input:x", consumer="output:y", tensor=tensor),),
    )
    graph.save(tmp_path / "net.onnx")
    (value,) = onnx.load(str(tmp_path / "net.onnx")).graph.input
    assert value.type.tensor_type.elem_type == DTYPES[dtype]
    (given,) = load_onnx(tmp_path / "net.onnx").model.inputs
    assert given.tensors[0].dtype == dtype


@pytest.mark.needs_torch
def test_the_names_of_element_types_are_torchs():
    torch = pytest.importorskip("torch")
    names = {dtype_of(name) for name in TensorProto.DataType.keys()}  # noqa: SIM118 - no dict
    known = {name for name in names if element_type_of(name) is not None}
    assert {name for name in known if not isinstance(getattr(torch, name, None), torch.dtype)} == set()
    assert names - known <= {"undefined", "string", "float4e2m1", "float6e2m3", "float6e3m2"}


def test_an_element_type_of_a_later_onnx_is_unknown(tmp_path):
    model = plain_model()
    model.graph.input[0].type.tensor_type.elem_type = 99
    model.graph.initializer[0].data_type = 99
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    graph = load_onnx(tmp_path / "net.onnx")
    assert graph.model.inputs[0].tensors[0].dtype is None
    assert graph.modules[0].parameters[0].dtype is None


def test_a_function_that_calls_itself_is_refused(tmp_path):
    calls_itself = helper.make_node("F", ["x"], ["y"], domain="lib", name="f")
    function = helper.make_function("lib", "F", ["x"], ["y"], [calls_itself], [helper.make_opsetid("lib", 1)])
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, [1])] for name in "xy"]
    graph = helper.make_graph([calls_itself], "net", *ends)
    file = tmp_path / "net.onnx"
    onnx.save(helper.make_model(graph, functions=[function], opset_imports=[helper.make_opsetid("lib", 1)]), file)
    with pytest.raises(GraphError, match="calls itself"):
        load_onnx(file)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("float32[64, 3]", (64, 3)),
        ("float32[]", ()),
        ("float32[1 2]", None),
        ("float32[1, 2 3]", None),
        (f"float32[{'9' * 5_000}]", None),
    ],
)
def test_a_shape_that_is_none_counts_as_not_said(text: str, said: object) -> None:
    assert shape_of(text) == said


def test_a_number_of_many_digits_counts_as_not_said() -> None:
    assert place_of("model.py:12") == SourceLocation("model.py", 12)
    assert place_of(f"model.py:{'1' * 5_000}") is None
    assert (number_of("12"), number_of("1" * 5_000), number_of("x")) == (12, None, None)
