"""Flat ONNX graphs made by hand, regrouped: what no exporter gives on demand, as calls in pieces."""

from __future__ import annotations

import json

import numpy
import onnx
import onnx_ir as ir
import pytest

from modgraph.errors import ExportError
from modgraph.export.onnx.cut import SCOPE, Place, Run, cut, scope_of, scope_text
from modgraph.export.onnx.regroup import WEIGHT, ModuleFacts, clone_constants, regroup
from modgraph.export.onnx.verify import difference, operators, prove
from modgraph.options import OnnxOptions

BLOCK = "model.Block"


class Flat:
    """A flat model that grows: `op("Add", ["x", "y"], "a:Block@2")` gives the value it makes."""

    def __init__(self, *inputs: str):
        self.values = {name: self.value(name) for name in inputs}
        self.inputs = list(self.values.values())
        self.nodes: list[ir.Node] = []
        self.weights: list[ir.Value] = []

    def value(self, name, shape=(2, 2)):
        return ir.Value(name=name, type=ir.TensorType(ir.DataType.FLOAT), shape=ir.Shape(shape))

    def weight(self, name, shape=(2, 2), fill=1.0):
        value = self.value(name, shape)
        value.const_value = ir.tensor(numpy.full(shape, fill, dtype="float32"), name=name)
        self.values[name] = value
        self.weights.append(value)
        return name

    def op(self, kind, inputs, scope="", attributes=()):
        node = ir.Node("", kind, [self.values[name] for name in inputs], attributes, name=f"n{len(self.nodes)}")
        name = f"v{len(self.nodes)}"
        node.outputs[0].name = name
        node.outputs[0].type, node.outputs[0].shape = ir.TensorType(ir.DataType.FLOAT), ir.Shape((2, 2))
        places = []
        for text in scope.split():
            path, _, call = text.partition("@")
            places.append(Place(path, int(call or 1) - 1, BLOCK if "relu" not in path else "torch.nn.ReLU"))
        node.metadata_props[SCOPE] = scope_text(places)
        self.nodes.append(node)
        self.values[name] = node.outputs[0]
        return name

    def model(self, *outputs):
        graph = ir.Graph(
            self.inputs,
            [self.values[name] for name in outputs],
            nodes=self.nodes,
            initializers=self.weights,
            opset_imports={"": 20},
            name="net",
        )
        return ir.Model(graph, ir_version=10)


def grouped(flat, facts=None, **options):
    """The model as ONNX, after the proof that it is the flat one and a full check."""
    clone_constants(flat.graph, {name for name in flat.graph.initializers if "." in name}, ir)
    result = regroup(flat, facts or ModuleFacts(), OnnxOptions(**options), ir)
    prove(flat, result.model)
    proto = ir.to_proto(result.model)
    onnx.checker.check_model(proto, full_check=True)
    return proto


def calls(proto):
    return [(node.name, node.op_type) for node in proto.graph.node]


def test_equal_blocks_share_a_function_and_read_their_own_weights():
    flat = Flat("x")
    x = "x"
    for number in range(3):
        weight = flat.weight(f"blocks.{number}.w", fill=float(number))
        x = flat.op("Add", [flat.op("MatMul", [x, weight], f"blocks.{number}"), x], f"blocks.{number}")
    proto = grouped(flat.model(x))
    assert calls(proto) == [("blocks.0", "Block"), ("blocks.1", "Block"), ("blocks.2", "Block")]
    assert [list(node.input)[1:] for node in proto.graph.node] == [[f"blocks.{n}.w"] for n in range(3)]
    (function,) = proto.functions
    assert (function.domain, function.name, list(function.input)) == ("model", "Block", ["x0", "w"])
    props = {entry.key: entry.value for entry in function.metadata_props}
    assert json.loads(props["modgraph.members"]) == ["blocks.0", "blocks.1", "blocks.2"]


@pytest.mark.parametrize(("dedup", "functions"), [("shape", 2), ("structure", 1), ("none", 2)])
def test_widths_keep_blocks_apart_unless_structure_alone_counts(dedup, functions):
    flat = Flat("x")
    first = flat.op("MatMul", ["x", flat.weight("a.w")], "a")
    first = flat.op("Relu", [first], "a")
    wide = flat.op("MatMul", [first, flat.weight("b.w", (2, 3))], "b")
    flat.values[wide].shape = ir.Shape((2, 3))
    out = flat.op("Relu", [wide], "b")
    flat.values[out].shape = ir.Shape((2, 3))
    proto = grouped(flat.model(out), dedup=dedup)
    assert len(proto.functions) == functions
    shapes = [bool(value.type.tensor_type.HasField("shape")) for f in proto.functions for value in f.value_info]
    assert any(shapes) == (dedup != "structure")  # what is shared between widths says nothing of shapes


def test_a_call_in_pieces_is_joined_where_nothing_stands_between_for_both():
    flat = Flat("x", "y")
    a = flat.op("Relu", ["x"], "a")
    between = flat.op("Neg", [a])  # reads the first piece: it can come after both
    beside = flat.op("Abs", ["y"])  # the second piece reads it: it can come before both
    b = flat.op("Add", [a, beside], "a")
    out = flat.op("Add", [between, b])
    proto = grouped(flat.model(out))
    assert calls(proto) == [("Abs", "Abs"), ("a", "Block"), ("Neg", "Neg"), ("Add", "Add")]


def test_a_call_in_pieces_with_work_between_for_both_is_two_functions():
    flat = Flat("x")
    a = flat.op("Abs", [flat.op("Relu", ["x"], "a")], "a")
    between = flat.op("Neg", [a])
    out = flat.op("Add", [flat.op("Exp", [between], "a"), a], "a")
    proto = grouped(flat.model(out))
    assert calls(proto) == [("a", "Block"), ("Neg", "Neg"), ("a#2", "Block_2")]


def test_a_value_made_inside_and_read_outside_is_an_output_of_the_function():
    flat = Flat("x")
    inner = flat.op("Relu", ["x"], "a")
    last = flat.op("Neg", [inner], "a")
    proto = grouped(flat.model(flat.op("Add", [inner, last]), inner))
    (function,) = proto.functions
    assert len(function.output) == 2
    assert list(proto.graph.node[0].output) == ["v0", "a.1"]
    assert [value.name for value in proto.graph.output] == ["v2", "v0"]


def test_a_child_called_twice_has_two_names_and_one_function():
    flat = Flat("x")
    x = flat.op("Neg", [flat.op("Abs", ["x"], "a a.f")], "a a.f")
    x = flat.op("Neg", [flat.op("Abs", [x], "a a.f@2")], "a a.f@2")
    x = flat.op("Neg", [flat.op("Abs", [x], "a@2 a.f@3")], "a@2 a.f@3")
    x = flat.op("Neg", [flat.op("Abs", [x], "a@2 a.f@4")], "a@2 a.f@4")
    proto = grouped(flat.model(x))
    assert calls(proto) == [("a", "Block_2"), ("a@2", "Block_2")]
    inner = next(function for function in proto.functions if function.name == "Block_2")
    assert [node.name for node in inner.node] == ["f", "f@2"]


def test_a_grandchild_called_by_its_grandparent_is_a_call_of_the_grandparent():
    flat = Flat("x")
    x = flat.op("Neg", [flat.op("Abs", ["x"], "a a.f")], "a a.f")
    x = flat.op("Exp", [x], "a")
    x = flat.op("Neg", [flat.op("Abs", [x], "a.f@2")], "a.f@2")
    proto = grouped(flat.model(x))
    assert calls(proto) == [("a", "Block_2"), ("a.f", "Block")]
    inner = next(function for function in proto.functions if function.name == "Block")
    members = next(entry.value for entry in inner.metadata_props if entry.key == "modgraph.members")
    assert json.loads(members) == ["a.f", "a.f@2"]


def test_a_module_called_from_a_stranger_keeps_its_own_path():
    flat = Flat("x")
    x = flat.op("Neg", [flat.op("Abs", ["x"], "a shared")], "a shared")
    proto = grouped(flat.model(flat.op("Exp", [x], "a")))
    (call, _) = next(
        function for function in proto.functions if len(function.node) == 2 and function.name == "Block_2"
    ).node
    assert {entry.key: entry.value for entry in call.metadata_props}["modgraph.module"] == "shared"
    assert {entry.key: entry.value for entry in call.metadata_props}["modgraph.outside"] == "true"


def test_a_weight_that_two_modules_share_is_one_initialiser():
    flat = Flat("x")
    weight = flat.weight("a.w")
    x = flat.op("Relu", [flat.op("MatMul", ["x", weight], "a")], "a")
    x = flat.op("Relu", [flat.op("MatMul", [x, weight], "b")], "b")
    proto = grouped(flat.model(x))
    assert [value.name for value in proto.graph.initializer] == ["a.w"]
    assert [list(node.input)[-1] for node in proto.graph.node] == ["a.w", "a.w"]


def test_a_layer_of_one_operator_stays_that_operator_or_is_a_function_on_demand():
    def flat():
        made = Flat("x")
        return made.model(made.op("Neg", [made.op("Relu", ["x"], "a a.relu")], "a"))

    assert [node.name for node in grouped(flat()).functions[0].node] == ["relu", "Neg"]
    assert sorted(function.name for function in grouped(flat(), leaf="function").functions) == ["Block", "ReLU"]


def test_depth_says_how_far_functions_are_nested():
    flat = Flat("x")
    x = flat.op("Neg", [flat.op("Abs", ["x"], "a a.f")], "a a.f")
    proto = grouped(flat.model(flat.op("Exp", [x], "a")), depth=1)
    assert [node.name for node in proto.functions[0].node] == ["f/Abs", "f/Neg", "Exp"]


def test_small_constants_are_written_where_they_are_used():
    flat = Flat("x")
    two = flat.weight("two", fill=2.0)  # no parameter: its name has no dot
    x = "x"
    for number in range(2):
        x = flat.op("Neg", [flat.op("Mul", [x, two], f"b.{number}")], f"b.{number}")
    proto = grouped(flat.model(x))
    (function,) = proto.functions
    assert [node.op_type for node in function.node] == ["Constant", "Mul", "Neg"]
    assert list(function.input) == ["x0"]
    assert not proto.graph.initializer


def test_an_if_in_a_shared_function_takes_what_its_arms_read():
    flat = Flat("x")
    x = "x"
    for number in range(2):
        weight = flat.weight(f"b.{number}.w")
        arms = []
        for kind in ("Add", "Sub"):
            node = ir.Node("", kind, [flat.values[x], flat.values[weight]], name="arm")
            node.outputs[0].name = f"{kind}{number}"
            node.outputs[0].type, node.outputs[0].shape = flat.values[x].type, flat.values[x].shape
            arms.append(ir.Graph([], node.outputs, nodes=[node], name=kind, opset_imports={"": 20}))
        chosen = flat.op(
            "IsNaN", [flat.op("ReduceSum", [x], f"b.{number}", [ir.AttrInt64("keepdims", 0)])], f"b.{number}"
        )
        flat.values[chosen].type = ir.TensorType(ir.DataType.BOOL)
        for name in (chosen, f"v{int(chosen[1:]) - 1}"):
            flat.values[name].shape = ir.Shape(())
        graphs = [ir.AttrGraph("then_branch", arms[0]), ir.AttrGraph("else_branch", arms[1])]
        x = flat.op("If", [chosen], f"b.{number}", graphs)
    proto = grouped(flat.model(x))
    (function,) = proto.functions
    assert list(function.input) == ["x0", "w"]
    assert calls(proto) == [("b.0", "Block"), ("b.1", "Block")]


def test_an_input_that_is_an_output_passes_through():
    flat = Flat("x")
    proto = grouped(flat.model("x", flat.op("Neg", ["x"])))
    assert [value.name for value in proto.graph.output] == ["x", "v0"]


def test_modules_without_operators_are_listed_in_what_holds_them():
    flat = Flat("x")
    x = flat.op("Neg", [flat.op("Abs", ["x"], "a")], "a")
    modules = {"": "model.Net", "a": BLOCK, "a.drop": "torch.nn.Dropout", "gone": "torch.nn.Identity"}
    proto = grouped(flat.model(x), ModuleFacts(modules=modules))
    inside = {entry.key: entry.value for entry in proto.functions[0].metadata_props}
    outside = {entry.key: entry.value for entry in proto.metadata_props}
    assert json.loads(inside["modgraph.elided"]) == {"drop": "torch.nn.Dropout"}
    assert json.loads(outside["modgraph.elided"]) == {"gone": "torch.nn.Identity"}


def test_facts_of_one_call_are_not_told_of_all():
    flat = Flat("x")
    x = "x"
    for number in range(2):
        x = flat.op("Exp", [flat.op("Neg", [flat.op("Abs", [x], f"b.{number} b.{number}.f")], f"b.{number} b.{number}.f")], f"b.{number}")  # fmt: skip
    facts = {"b.0.f": {"modgraph.source": "model.py:3", "modgraph.flops": "8"}}
    facts["b.1.f"] = {"modgraph.source": "model.py:3", "modgraph.flops": "16"}
    proto = grouped(flat.model(x), ModuleFacts(calls=facts))
    shared = next(function for function in proto.functions if function.name == "Block_2")
    props = {entry.key: entry.value for entry in shared.node[0].metadata_props}
    assert props["modgraph.source"] == "model.py:3"
    assert "modgraph.flops" not in props


def test_a_weight_that_is_called_as_an_input_of_the_function_keeps_apart_from_it():
    flat = Flat("x")
    x = flat.op("Relu", [flat.op("MatMul", ["x", flat.weight("x0")], "a")], "a")
    model = flat.model(x)
    made = regroup(model, ModuleFacts(), OnnxOptions(), ir).model
    prove(model, made)
    onnx.checker.check_model(ir.to_proto(made), full_check=True)
    (function,) = made.functions.values()
    assert len({value.name for value in function.inputs}) == 2


def test_a_module_whose_weights_are_inputs_of_the_model_is_not_called_without_operators():
    flat = Flat("x")
    x = flat.op("Neg", [flat.op("MatMul", ["x", flat.weight("a.fc.w")], "a")], "a")
    model = flat.model(x)
    weight = model.graph.initializers.pop("a.fc.w")
    weight.const_value = None
    weight.metadata_props[WEIGHT] = "true"
    model.graph.inputs.append(weight)
    facts = ModuleFacts(modules={"a": BLOCK, "a.fc": "torch.nn.Linear", "a.drop": "torch.nn.Dropout"})
    (function,) = regroup(model, facts, OnnxOptions(), ir).model.functions.values()
    assert json.loads(function.metadata_props["modgraph.elided"]) == {"drop": "torch.nn.Dropout"}


def wrong(change):
    """A flat model, and its hierarchical form with one thing wrong."""
    flat = Flat("x")
    x = flat.op("Sub", [flat.op("Abs", ["x"], "a"), "x"], "a")
    model = flat.model(x)
    made = regroup(model, ModuleFacts(), OnnxOptions(), ir).model
    change(next(iter(made.functions.values())))
    return model, made


def swap(function):
    node = function[1]
    first, second = node.inputs
    node.replace_input_with(0, second)
    node.replace_input_with(1, first)


def lie(function):
    function[0].outputs[0].shape = ir.Shape((9, 9))


def lie_of_an_input(function):
    function.inputs[0].shape = ir.Shape((9, 9))


def rename(function):
    function[1].name = function[0].name


@pytest.mark.parametrize(
    ("change", "why"),
    [(swap, "compute something else"), (lie, r"\[9,9\]"), (lie_of_an_input, r"\[9,9\]"), (rename, "same name")],
)
def test_the_proof_finds_what_is_wrong(change, why):
    with pytest.raises(ExportError, match=why):
        prove(*wrong(change))


def test_operators_are_counted_without_constants():
    flat = Flat("x")
    flat.op("Neg", [flat.op("Neg", ["x"])])
    assert operators(flat.model("v1").graph) == {("", "Neg"): 2}


def test_differences_are_relative_and_never_hide_what_is_not_finite():
    one = numpy.array([1.0, 2.0])
    assert difference([one], [one * 1.001]) == pytest.approx(0.001, rel=0.01)
    assert difference([one], [numpy.array([1.0, numpy.nan])]) == float("inf")
    assert difference([one * 0], [one * 0]) == 0
    assert difference([one * 1e-9], [one * 0]) == float("inf")
    assert difference([one], []) == float("inf")
    assert difference([one + 1j], [one + 2j]) > 0.1


def test_scopes_are_read_back():
    node = ir.Node("", "Relu", [], name="n")
    assert scope_of(node) == ()
    places = (Place("a", 0, "m.A"), Place("a.b", 2, "m.B"))
    node.metadata_props[SCOPE] = scope_text(places)
    assert scope_of(node) == places
    assert places[1].text == "a.b@3"


def test_cutting_keeps_every_node_once():
    flat = Flat("x")
    x = flat.op("Abs", [flat.op("Relu", ["x"], "a")], "b b.c")
    items = cut(flat.model(flat.op("Neg", [x], "b")).graph)
    assert [type(item) for item in items] == [Run, Run]
    assert [len(item.steps) for item in items] == [1, 2]
