"""ONNX files that are small and would become large: what is said once and counts with each call, or with each other."""

from __future__ import annotations

import json
from typing import Any

import onnx
from onnx import TensorProto, helper

PART = 4
"""The files are of a fourth of the size, for a fourth of the limits and of what is promised: what grows with the size of
a file, or with one number that it says, has the same room."""
HALF = 2
"""Of each of two numbers, where what is done is their product."""
WHOLE = "as much as is allowed"
"""The one of the whole size."""


def model(nodes: list[Any], functions: list[Any] | None = None, **more: Any) -> onnx.ModelProto:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, "n"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "net", [x], [y], **more)
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("lib", 1)]
    return helper.make_model(graph, functions=functions or [], opset_imports=opsets)


def function(name: str, *called: str) -> onnx.FunctionProto:
    """One that calls others, one after the other."""
    nodes, value = [], "a"
    for number, other in enumerate(called):
        domain = "" if other == "Relu" else "lib"
        nodes.append(helper.make_node(other, [value], [f"v{number}"], domain=domain))
        value = f"v{number}"
    return helper.make_function("lib", name, ["a"], [value], nodes, [helper.make_opsetid("", 20)])


def facts(held: Any, **said: str) -> None:
    for key, value in said.items():
        entry = held.metadata_props.add()
        entry.key, entry.value = f"modgraph.{key}", value


def calls_of(inner: list[Any], number: int, *, inputs: int = 1) -> onnx.ModelProto:
    """One function with these nodes, called again and again."""
    names = [f"a{k}" for k in range(inputs)]
    held = helper.make_function("lib", "F", names, ["o"], inner, [helper.make_opsetid("", 20)])
    given = ["x"] * inputs
    return model([helper.make_node("F", given, [f"v{k}"], name=f"f{k}", domain="lib") for k in range(number)], [held])


def inner_graphs() -> onnx.ModelProto:
    """A graph of 20,000 nodes inside of a node, gone through with each call."""
    arm = helper.make_graph([helper.make_node("Neg", [f"q{k}"], [""]) for k in range(20_000 // PART)], "arm", [], [])
    return calls_of([helper.make_node("If", ["a0"], ["o"], then_branch=arm)], 5_000)


def parsed_texts() -> onnx.ModelProto:
    """JSON that stands in a function, or at a node of it."""
    text = json.dumps({f"m{k}": "net.A" for k in range(50_000 // PART)})
    proto = calls_of([helper.make_node("Relu", ["a0"], ["o"])], 5_000)
    facts(proto.functions[0], elided=text)
    return proto


def parsed_arguments() -> onnx.ModelProto:
    layer = helper.make_node("Layer", ["a0"], ["o"], name="layer", domain="modgraph")
    facts(layer, **{"class": "net.A", "arguments": json.dumps({"text": "x" * (1_000_000 // PART)})})
    return calls_of([layer], 5_000)


def doubling_inputs() -> onnx.ModelProto:
    """Eleven functions that double, each with many inputs."""
    names = [f"a{k}" for k in range(5_000 // PART)]
    functions = []
    for level in range(11):
        called = (f"F{level + 1}", "lib") if level < 10 else ("Sum", "")
        nodes = [helper.make_node(called[0], names, [f"o{k}"], domain=called[1]) for k in range(2)]
        functions.append(helper.make_function("lib", f"F{level}", names, ["o1"], nodes, [helper.make_opsetid("", 20)]))
    return model([helper.make_node("F0", ["x"] * len(names), ["y"], domain="lib")], functions)


def long_names() -> onnx.ModelProto:
    """Paths below a path, and ends of edges, that are long each time."""
    inner = [helper.make_node("Sum", ["a0"], ["o"], name="n")]
    proto = calls_of([helper.make_node("Relu", ["a0"], [f"o{k}"]) for k in range(20)] + inner, 5_000 // PART)
    weight = helper.make_tensor("w" * 1_000_000, TensorProto.FLOAT, [1], [0.0])
    proto.graph.initializer.append(weight)
    for node in proto.graph.node:
        node.input[0] = weight.name if node is proto.graph.node[0] else "x"
    return proto


def long_shapes() -> onnx.ModelProto:
    proto = calls_of([helper.make_node("Relu", ["a0"], ["o"])] * 20, 5_000 // PART)
    proto.functions[0].value_info.append(helper.make_tensor_value_info("a0", TensorProto.FLOAT, [1] * 100_000))
    proto.functions[0].value_info.append(helper.make_tensor_value_info("o", TensorProto.FLOAT, ["n" * 100_000]))
    return proto


def shapes_just_kept() -> onnx.ModelProto:
    """As long as a shape may be, with each edge and each call."""
    proto = calls_of([helper.make_node("Relu", ["a0"], ["o"])] * 20, 5_000 // PART)
    for name in ("a0", "o"):
        sizes = [f"{k}".rjust(200, "n") for k in range(64)]
        proto.functions[0].value_info.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes))
    return proto


def layers_of_long_shapes() -> onnx.ModelProto:
    """The same of calls, which say what they take and give."""
    proto = model([layer(["x", "w"], f"f{k}") for k in range(40_000 // PART)])
    sizes = [f"{k}".rjust(200, "n") for k in range(64)]
    proto.graph.value_info.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, sizes))
    return proto


def largest() -> onnx.ModelProto:
    """Just within the limits, or just beyond."""
    inner = [helper.make_node("Sum", ["a0", "a0", f"o{k}"], [f"o{k + 1}"], name="n" * 90) for k in range(38)]
    return calls_of(inner, 5_000)


def children_of_functions() -> onnx.ModelProto:
    proto = calls_of([helper.make_node("Relu", ["a0"], ["o"])], 5_000)
    facts(proto.functions[0], children=json.dumps({f"m{k}": "net.A" for k in range(50_000 // PART)}))
    return proto


def children_below_a_long_path() -> onnx.ModelProto:
    proto = calls_of([helper.make_node("Relu", ["a0"], ["o"])], 2)
    facts(proto.graph.node[0], path="p" * (1_000_000 // PART))
    facts(proto.functions[0], children=json.dumps({f"m{k}": "net.A" for k in range(50_000)}))
    return proto


def pieces() -> onnx.ModelProto:
    """Of one call, each with a result of its own."""
    nodes = [helper.make_node("L", ["x"], [f"v{k}"], name=f"f#{k}", domain="modgraph") for k in range(60_000 // PART)]
    nodes[0].name = "f"
    for node in nodes:
        facts(node, **{"class": "net.L"})
    proto = model(nodes)
    facts(proto, kind="structure")
    return proto


def with_passed(calls: list[dict[str, Any]], nodes: list[Any], **more: Any) -> onnx.ModelProto:
    proto = model(nodes, **more)
    facts(proto, kind="structure", classes='{"m": "net.M", "f": "net.L"}', passed=json.dumps(calls))
    return proto


def layer(inputs: list[str], name: str = "f") -> onnx.NodeProto:
    node = helper.make_node("L", inputs, [f"{name}o"], name=name, domain="modgraph")
    facts(node, **{"class": "net.L"})
    return node


def passed_in_a_row() -> onnx.ModelProto:
    names = ["m", *(f"m@{k}" for k in range(2, 100_000 // PART + 1))]
    before = [None, *names]
    return with_passed([{"place": name, "before": last} for name, last in zip(names, before, strict=False)], [])


def passed_before_the_first() -> onnx.ModelProto:
    return with_passed([{"place": "m"}] * (150_000 // PART), [layer(["x"])])


def passed_inside_of_each_other() -> onnx.ModelProto:
    names = ["", "m", *(f"m@{k}" for k in range(2, 100_000 // PART + 1))]
    return with_passed([{"place": name, "parent": names[k]} for k, name in enumerate(names[1:])], [])


TENSOR = [["", "float32", [2, "n"]]]


def passed_from_one_source() -> onnx.ModelProto:
    """From which much is read, each time of another shape."""
    other = [["", "float32", [3]]]
    calls = [{"place": "m", "producer": "input:x", "alone": True, "inputs": other, "outputs": other}]
    for k in range(2, 20_000 // HALF):
        calls.append({**calls[0], "place": f"m@{k}", "before": calls[-1]["place"]})
    return with_passed(calls, [layer(["x"], f"f{k}") for k in range(30_000 // HALF)])


def passed_one_after_the_other() -> onnx.ModelProto:
    """Each is put between one source and all that reads it."""
    calls = [{"place": "m", "producer": "input:x", "alone": True, "inputs": TENSOR, "outputs": TENSOR}]
    for k in range(2, 20_000 // HALF):
        calls.append({**calls[0], "place": f"m@{k}", "before": calls[-1]["place"], "producer": calls[-1]["place"]})
    return with_passed(calls, [layer(["x"], f"f{k}") for k in range(30_000 // HALF)])


def passed_to_one_reader() -> onnx.ModelProto:
    """Which reads much, each of a long shape."""
    sizes = [f"{k}".rjust(200, "n") for k in range(60)]
    held = [["", "float32", sizes]]
    calls = [{"place": "m", "readers": ["f"], "inputs": held, "outputs": held}] * 150
    proto = with_passed(calls, [layer([f"w{k}" for k in range(30_000 // PART)])])
    for k in range(30_000 // PART):
        name = f"w{k}"
        proto.graph.node.insert(0, helper.make_node("Neg", ["x"], [name]))
        proto.graph.value_info.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes if k < 150 else [1]))
    return proto


def passed_of_many_tensors() -> onnx.ModelProto:
    return with_passed([{"place": "m", "inputs": [1] * (700_000 // PART), "outputs": [1] * (700_000 // PART)}], [])


def tied_to_a_long_shape() -> onnx.ModelProto:
    proto = model([layer(["x", "w"])], initializer=[helper.make_tensor("w", TensorProto.FLOAT, [1] * 50_000, [0.0])])
    facts(proto, kind="structure", tied=json.dumps({f"m{k}.w": "w" for k in range(100_000 // PART)}))
    return proto


def owners_of_one_parameter() -> onnx.ModelProto:
    held = helper.make_tensor("w", TensorProto.FLOAT, [1], [0.0])
    call = [helper.make_node("F", ["x", "w"], [f"v{k}"], name=f"f{k}", domain="lib") for k in range(20_000 // HALF)]
    inner = [helper.make_node("Add", ["a", "b"], ["o"])]
    leaf = helper.make_function("lib", "F", ["a", "b"], ["o"], inner, [helper.make_opsetid("", 20)])
    proto = model(call, [leaf], initializer=[held])
    facts(proto, kind="structure", tied=json.dumps({f"m{k}.w": "w" for k in range(50_000 // HALF)}))
    return proto


def many_aliases() -> onnx.ModelProto:
    proto = model([layer(["x"])])
    facts(proto, kind="structure", aliases=json.dumps({f"q{k}": "f" for k in range(95_000 // PART)}))
    return proto


def long_aliases() -> onnx.ModelProto:
    """Of many dots, each of which is a container."""
    proto = model([layer(["x"])])
    facts(proto, kind="structure", aliases=json.dumps({f"{k}" + ".q" * (50_000 // PART): "f" for k in range(50)}))
    return proto


def many_problems() -> onnx.ModelProto:
    proto = model([layer(["x"])])
    facts(proto, kind="structure", problems=json.dumps(["trace: "] * (600_000 // PART)))
    return proto


AMPLIFYING = {
    "children of functions": children_of_functions,
    "children below a long path": children_below_a_long_path,
    "pieces of a call": pieces,
    "passed calls in a row": passed_in_a_row,
    "passed calls before the first": passed_before_the_first,
    "passed calls inside of each other": passed_inside_of_each_other,
    "passed calls from one source": passed_from_one_source,
    "passed calls one after the other": passed_one_after_the_other,
    "passed calls to one reader": passed_to_one_reader,
    "passed calls of many tensors": passed_of_many_tensors,
    "parameters tied to a long shape": tied_to_a_long_shape,
    "owners of one parameter": owners_of_one_parameter,
    "many aliases": many_aliases,
    "long aliases": long_aliases,
    "many problems": many_problems,
    "graphs inside of nodes": inner_graphs,
    "texts of functions": parsed_texts,
    "texts of nodes": parsed_arguments,
    "inputs that double": doubling_inputs,
    "long names": long_names,
    "long shapes": long_shapes,
    "shapes just kept": shapes_just_kept,
    "layers of long shapes": layers_of_long_shapes,
    WHOLE: largest,
}
