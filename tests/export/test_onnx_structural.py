"""The structural ONNX file: nested functions, shared bodies, the edges of the trace and no others."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import warnings

import onnx
import pytest

from modgraph.errors import ExportError, ExportWarning
from modgraph.export.onnx.structural import render
from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import (
    Call,
    Edge,
    ModelInfo,
    ModuleNode,
    Operation,
    ParameterInfo,
    Problem,
    SourceLocation,
    TensorInfo,
)

X = TensorInfo(name="", shape=(1, 4), dtype="float32")
LINEAR = "torch.nn.modules.linear.Linear"


def out(shape=(1, 4), dtype="float32"):
    return (TensorInfo(name="output", shape=shape, dtype=dtype),)


def network(*, features=(4, 4), blocks=2, **root):
    """`for block in blocks: x = block(x)`, each block `fc(x) + x`, then `head`, which is never called."""
    builder = GraphBuilder(ModelInfo(name="Net", class_name="model.Net", target="model.py:Net"))
    modules, calls = builder.modules, builder.calls
    modules.append(ModuleNode(path="", class_name="model.Net", observed=True, calls=(0,), **root))
    calls.append(Call(index=0, module="", parent=None))
    before = "input:x"
    modules.append(ModuleNode(path="blocks", class_name="torch.nn.modules.container.ModuleList", observed=True))
    for number in range(blocks):
        index, size = len(calls), features[number % len(features)]
        path = f"blocks.{number}"
        line = SourceLocation("model.py", 20)
        weight = (ParameterInfo(name="weight", shape=(size, size), dtype="float32"),)
        modules.append(ModuleNode(path=path, class_name="model.Block", observed=True, calls=(index,)))
        modules.append(
            ModuleNode(
                path=f"{path}.fc",
                class_name=LINEAR,
                observed=True,
                calls=(index + 1,),
                parameters=weight,
                arguments={
                    "in_features": size,
                    "bias": True,
                    "p": 0.5,
                    "init": None,
                    "norm": {"$ref": "torch.nn.ReLU"},
                },
            )
        )
        calls.append(Call(index=index, module=path, parent=0, source=line))
        calls.append(Call(index=index + 1, module=f"{path}.fc", parent=index, outputs=out(), source=line))
        builder.operations.append(Operation(id=f"op:{number}", name="torch.Tensor.__add__", call=index))
        builder.edges += [
            Edge(producer=before, consumer=f"call:{index + 1}", tensor=X),
            Edge(producer=f"call:{index + 1}", consumer=f"op:{number}", tensor=X),
            Edge(producer=before, consumer=f"op:{number}", tensor=X),
        ]
        before = f"op:{number}"
    builder.edges.append(Edge(producer=before, consumer="output:0", tensor=X))
    modules.append(ModuleNode(path="head", class_name=LINEAR, observed=True, arguments={"in_features": 4}))
    return builder


def checked(builder_or_graph):
    graph = builder_or_graph.build() if isinstance(builder_or_graph, GraphBuilder) else builder_or_graph
    model = onnx.load_from_string(render(graph))
    onnx.checker.check_model(model, full_check=True)
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    return model


def metadata(proto):
    return {entry.key: entry.value for entry in proto.metadata_props}


def attributes(node):
    return {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}


def wiring(nodes):
    return [(node.op_type, list(node.input), list(node.output)) for node in nodes]


def test_equal_blocks_are_one_function_and_edges_pass_through_its_interface():
    model = checked(network())
    (block,) = model.functions
    assert (block.name, block.domain) == ("Block", "modgraph")
    assert wiring(block.node) == [("Linear", ["x0"], ["fc"]), ("add", ["fc", "x0"], ["add"])]
    assert (list(block.input), list(block.output)) == (["x0"], ["add"])
    assert wiring(model.graph.node) == [
        ("Block", ["x"], ["blocks.0"]),
        ("Block", ["blocks.0"], ["output_0"]),
        ("Linear", [], ["head"]),
    ]
    assert [value.name for value in model.graph.input] == ["x"]
    assert [value.name for value in model.graph.output] == ["output_0"]


def test_blocks_that_differ_in_a_shape_are_two_functions():
    model = checked(network(features=(4, 8), blocks=4))
    assert [function.name for function in model.functions] == ["Block", "Block_2"]
    assert [node.op_type for node in model.graph.node] == ["Block", "Block_2", "Block", "Block_2", "Linear"]
    members = [json.loads(metadata(function)["modgraph.members"]) for function in model.functions]
    assert members == [["blocks.0", "blocks.2"], ["blocks.1", "blocks.3"]]


def test_a_shared_body_names_no_single_caller_and_a_single_one_does():
    shared = checked(network()).functions[0].node[0]
    assert shared.name == "fc"
    assert "modgraph.path" not in metadata(shared)
    assert "modgraph.call" not in metadata(shared)
    assert metadata(shared)["modgraph.source"] == "model.py:20"
    alone = checked(network(blocks=1)).functions[0].node[0]
    assert metadata(alone)["modgraph.path"] == "blocks.0.fc"
    assert metadata(alone)["modgraph.call"] == "2"


def test_calls_in_the_model_say_path_index_and_line():
    node = checked(network()).graph.node[1]
    facts = metadata(node)
    assert node.name == "blocks.1"
    assert (facts["modgraph.path"], facts["modgraph.call"], facts["modgraph.source"]) == (
        "blocks.1",
        "3",
        "model.py:20",
    )


def test_constructor_arguments_are_attributes():
    model = checked(network())
    node = model.functions[0].node[0]
    assert attributes(node) == {
        "in_features": 4,
        "bias": 1,
        "p": 0.5,
        "init": b"None",
        "norm": b"torch.nn.ReLU",
        "class": LINEAR.encode(),
    }
    assert metadata(node)["modgraph.parameters"] == '{"weight": "float32[4, 4]"}'


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ([1, 2], [1, 2]),
        ([1, 2.5], [1.0, 2.5]),
        (["a", "b"], [b"a", b"b"]),
        ([], b"[]"),
        ([[1], 2], b"[[1], 2]"),
        (2**70, str(2**70).encode()),
        ([2**200, 0.5], f"[{2**200}, 0.5]".encode()),
        ([1.5, float("-inf")], [1.5, float("-inf")]),
        (object, b'"<type>"'),
        (1e300, b"1e+300"),
        ({"a": 1}, b'{"a": 1}'),
        ({"$repr": "Config(...)"}, b"Config(...)"),
        (float("inf"), float("inf")),
        (False, 0),
    ],
)
def test_any_argument_has_an_attribute(value, written):
    builder = GraphBuilder(ModelInfo(name="Net", class_name="model.Net", target=None))
    builder.modules.append(ModuleNode(path="", class_name="model.Net", predicted=True, arguments={"value": value}))
    (node,) = checked(builder).graph.node
    assert attributes(node)["value"] == written


def test_values_have_shapes_where_they_are_known():
    model = checked(network())
    known = {
        value.name: [size.dim_value for size in value.type.tensor_type.shape.dim]
        for value in model.functions[0].value_info
    }
    assert known == {"x0": [1, 4], "fc": [1, 4], "add": [1, 4]}
    assert [value.name for value in model.graph.value_info] == ["blocks.0"]


def test_a_never_called_module_is_a_marked_node_without_inputs():
    head = checked(network()).graph.node[-1]
    assert (head.name, list(head.input), list(head.output)) == ("head", [], ["head"])
    assert metadata(head)["modgraph.state"] == "✕ never called"


def test_the_file_says_what_it_is():
    facts = metadata(checked(network()))
    assert facts["modgraph.kind"] == "structural"
    assert facts["modgraph.tier"] == "C"
    assert facts["modgraph.weights"] == "none"
    assert facts["modgraph.graph"] == "traced"
    assert facts["modgraph.complete"] == "true"
    assert "modgraph.edges_left_out" not in facts


def test_the_problems_stand_in_the_file():
    builder = network()
    builder.problems.append(Problem(stage="export", message="no translation for grouped_mm"))
    assert json.loads(metadata(checked(builder))["modgraph.problems"]) == ["export: no translation for grouped_mm"]


def predicted(*nodes: tuple[str, str | None]):
    builder = GraphBuilder(ModelInfo(name="Net", class_name="model.Net", target=None))
    builder.modules.append(ModuleNode(path="", class_name="model.Net", predicted=True))
    builder.modules += [ModuleNode(path=path, class_name=name, predicted=True) for path, name in nodes]
    return builder


def test_a_prediction_has_every_module_and_no_edge():
    builder = predicted(("a", "m.Block"), ("a.fc", LINEAR), ("b", "m.Block"), ("b.fc", LINEAR), ("none", "NoneType"))
    model = checked(builder)
    assert wiring(model.graph.node) == [("Block", [], ["a"]), ("Block", [], ["b"])]
    (block,) = model.functions
    assert wiring(block.node) == [("Linear", [], ["fc"]), ("Result", [], ["result"])]
    assert metadata(model)["modgraph.graph"] == "predicted"


def test_a_model_without_parts_is_one_node():
    assert wiring(checked(predicted()).graph.node) == [("Net", [], ["Net"])]


def test_an_unknown_child_and_an_open_place_are_nodes():
    model = checked(predicted(("a", None), ("?", None)))
    assert [(node.op_type, node.name) for node in model.graph.node] == [("Unknown", "a"), ("Unknown", "?")]


def test_a_leaf_and_a_container_of_one_class_name_do_not_share_it():
    """Else the leaf's node would be a call of the container's function."""
    builder = predicted(("a", "m.Block"), ("a.fc", LINEAR), ("b", "m.Block"), ("c", "other.Block"))
    model = checked(builder)
    assert [node.op_type for node in model.graph.node] == ["Block", "Block_2", "Block_3"]
    assert [function.name for function in model.functions] == ["Block"]


def test_a_class_with_the_name_of_a_node_type_of_ours_is_numbered():
    builder = predicted(("a", "m.Result"), ("a.fc", LINEAR))
    assert [node.op_type for node in checked(builder).graph.node] == ["Result_2"]


def test_inputs_and_outputs_without_a_known_shape_are_nodes():
    builder = network()
    unknown = TensorInfo(name="", shape=None, dtype="float32")
    builder.edges = [
        Edge(producer="input:x", consumer="call:2", tensor=unknown),
        Edge(producer="op:1", consumer="output:0", tensor=unknown),
    ]
    model = checked(builder)
    assert not model.graph.input
    assert not model.graph.output
    types = [node.op_type for node in model.graph.node]
    assert types[0] == "Input"
    assert "Output" in types


def test_an_output_that_is_an_input_keeps_its_own_name():
    builder = network(blocks=0)
    builder.edges = [Edge(producer="input:x", consumer=f"output:{name}", tensor=X) for name in ("0", "y")]
    builder.modules[0] = ModuleNode(path="", class_name="model.Net", observed=True, calls=(0,))
    model = checked(builder)
    assert [value.name for value in model.graph.input] == ["x"]
    assert [value.name for value in model.graph.output] == ["output_0", "y"]


def test_an_output_written_by_two_has_both():
    """A buffer that was filled slot by slot is made by every write."""
    builder = network()
    builder.edges.append(Edge(producer="op:0", consumer="output:0", tensor=X))
    model = checked(builder)
    assert wiring(model.graph.node)[-1] == ("Output", ["blocks.1", "blocks.0"], ["output_0"])


def test_a_parameter_stands_in_the_function_of_its_module():
    builder = network()
    gamma = ParameterInfo(name="gamma", shape=(4,), dtype="float32")
    blocks = ("blocks.0", "blocks.1")
    builder.modules = [
        dataclasses.replace(node, parameters=(gamma,)) if node.path in blocks else node for node in builder.modules
    ]
    for number in range(2):
        tensor = TensorInfo(name="", shape=(4,), dtype="float32")
        builder.edges.append(Edge(producer=f"param:blocks.{number}.gamma", consumer=f"op:{number}", tensor=tensor))
    model = checked(builder)
    (block,) = model.functions
    parameter = block.node[0]
    assert (parameter.op_type, attributes(parameter)) == ("Parameter", {"name": b"gamma"})
    assert list(block.node[-1].input) == ["fc", "x0", "gamma"]


def test_a_constant_stands_around_all_that_read_it():
    builder = network()
    for consumer in ("op:0", "op:1"):
        builder.edges.append(Edge(producer="const:0", consumer=consumer, tensor=X))
    model = checked(builder)
    assert wiring(model.graph.node)[:2] == [("Constant", [], ["constant"]), ("Block", ["x", "constant"], ["blocks.0"])]


def test_interleaved_containers_lose_the_edge_that_runs_back_and_say_so():
    """Two containers that take turns, as on two threads, cannot be nested functions with all of their edges."""
    builder = GraphBuilder(ModelInfo(name="Net", class_name="model.Net", target=None))
    for path, calls in (("", (0,)), ("a", (1,)), ("a.0", (2,)), ("a.1", (5,)), ("b", (3,)), ("b.0", (4,))):
        builder.modules.append(ModuleNode(path=path, class_name="m.M", observed=True, calls=calls))
    for index, (path, parent) in enumerate((("", None), ("a", 0), ("a.0", 1), ("b", 0), ("b.0", 3), ("a.1", 1))):
        builder.calls.append(Call(index=index, module=path, parent=parent, outputs=out()))
    builder.edges += [
        Edge(producer="call:2", consumer="call:4", tensor=X),
        Edge(producer="call:4", consumer="call:5", tensor=X),
    ]
    model = checked(builder)
    assert metadata(model)["modgraph.edges_left_out"] == "1"


def test_a_leaf_with_outputs_that_look_alike_is_not_said_to_have_given_either():
    """An LSTM gives h and c of one shape: an edge tells the shape, not which of them."""
    builder = GraphBuilder(ModelInfo(name="Net", class_name="model.Net", target=None))
    builder.modules.append(ModuleNode(path="", class_name="model.Net", observed=True, calls=(0,)))
    builder.modules.append(ModuleNode(path="lstm", class_name="torch.nn.LSTM", observed=True, calls=(1,)))
    builder.modules.append(ModuleNode(path="fc", class_name=LINEAR, observed=True, calls=(2,)))
    state = TensorInfo(name="", shape=(1, 2), dtype="float32")
    builder.calls.append(Call(index=0, module="", parent=None))
    builder.calls.append(Call(index=1, module="lstm", parent=0, outputs=(*out(), *out((1, 2)), *out((1, 2)))))
    builder.calls.append(Call(index=2, module="fc", parent=0, outputs=out()))
    builder.edges.append(Edge(producer="call:1", consumer="call:2", tensor=state))
    builder.edges.append(Edge(producer="call:1", consumer="call:2", tensor=X))
    lstm, linear = checked(builder).graph.node
    assert list(lstm.output) == ["lstm.0", "lstm.1", "lstm.2", "lstm.3"]
    assert list(linear.input) == ["lstm.3", "lstm.0"]


def test_repeated_calls_have_names_of_their_own():
    builder = GraphBuilder(ModelInfo(name="Net", class_name="model.Net", target=None))
    builder.modules.append(ModuleNode(path="", class_name="model.Net", observed=True, calls=(0,)))
    builder.modules.append(ModuleNode(path="act", class_name="torch.nn.ReLU", observed=True, calls=(1, 2)))
    builder.calls.append(Call(index=0, module="", parent=None))
    builder.calls += [Call(index=index, module="act", parent=0, outputs=out()) for index in (1, 2)]
    builder.edges.append(Edge(producer="call:1", consumer="call:2", tensor=X))
    assert wiring(checked(builder).graph.node) == [("ReLU", [], ["act"]), ("ReLU", ["act"], ["act@2"])]


def test_a_module_shared_by_blocks_is_named_as_each_block_names_it():
    """Else no two blocks that share an activation would be one function."""
    builder = GraphBuilder(ModelInfo(name="Net", class_name="model.Net", target=None))
    builder.modules.append(ModuleNode(path="", class_name="model.Net", observed=True, calls=(0,)))
    builder.modules.append(ModuleNode(path="a", class_name="m.Block", observed=True, calls=(1,)))
    builder.modules.append(ModuleNode(path="a.act", class_name="torch.nn.ReLU", observed=True, calls=(2, 4)))
    builder.modules.append(ModuleNode(path="b", class_name="m.Block", observed=True, calls=(3,)))
    builder.modules.append(ModuleNode(path="b.act", class_name="torch.nn.ReLU", observed=True, alias_of="a.act"))
    for index, (path, parent) in enumerate((("", None), ("a", 0), ("a.act", 1), ("b", 0), ("a.act", 3))):
        builder.calls.append(Call(index=index, module=path, parent=parent, outputs=out()))
    model = checked(builder)
    assert [node.name for function in model.functions for node in function.node if node.op_type == "ReLU"] == ["act"]
    assert json.loads(metadata(model)["modgraph.aliases"]) == {"b.act": "a.act"}


def test_a_failed_run_is_written_up_to_its_failure():
    builder = network()
    builder.calls[4] = Call(index=4, module="blocks.1.fc", parent=3, error="RuntimeError: shapes")
    builder.calls[0] = Call(index=0, module="", parent=None, error="RuntimeError: shapes")
    builder.edges = builder.edges[:3]
    builder.problems.append(Problem(stage="trace", message="RuntimeError: shapes", module="blocks.1.fc"))
    model = checked(builder)
    assert [function.name for function in model.functions] == ["Block", "Block_2"]
    failed = next(node for node in model.functions[1].node if node.name == "fc")
    assert metadata(failed)["modgraph.error"] == "RuntimeError: shapes"
    assert metadata(model)["modgraph.complete"] == "false"


@pytest.mark.parametrize("dtype", ["bfloat16", "int64", "bool", "complex64", "float8_e4m3fn", "uint16"])
def test_dtypes_are_those_of_onnx(dtype: str):
    builder = network(blocks=0)
    tensor = TensorInfo(name="", shape=("s0", None, 3), dtype=dtype)
    builder.edges = [Edge(producer="input:x", consumer="output:0", tensor=tensor)]
    (given,) = checked(builder).graph.input
    name = {"float8_e4m3fn": "FLOAT8E4M3FN"}.get(dtype, dtype.upper())
    assert given.type.tensor_type.elem_type == getattr(onnx.TensorProto, name)
    sizes = given.type.tensor_type.shape.dim
    assert [size.WhichOneof("value") for size in sizes] == ["dim_param", None, "dim_value"]


def test_the_same_graph_gives_the_same_bytes_under_another_hash_seed(tmp_path):
    path = tmp_path / "net.json"
    network(features=(4, 8), blocks=3).build().save(path)
    code = (
        "import sys, hashlib\n"
        "from modgraph.graph.serial import load\n"
        "from modgraph.export import render\n"
        "print(hashlib.sha256(render(load(sys.argv[1]), 'onnx')).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code, str(path)],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_without_onnx_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ExportError) as caught:
        render(network().build())
    assert caught.value.hint == 'pip install "modgraph[onnx]"'


@pytest.mark.parametrize("suffix", ["onnx", "json", "dot"])
def test_a_file_that_cannot_be_run_is_said_to_be_none_that_runs(tmp_path, suffix):
    """Of a graph alone there is no more, whatever it was made of; the line that is named is the caller's."""
    file = tmp_path / f"net.{suffix}"
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        network().build().save(file)
    told = [one for one in said if issubclass(one.category, ExportWarning)]
    assert len(told) == (suffix == "onnx")
    for one in told:
        assert f"{file} shows the structure alone" in str(one.message)
        assert "modgraph.export_onnx" in str(one.message)
        assert one.filename == __file__
