"""Whatever the graph: a structural file that the checker takes, with every module in it."""

from __future__ import annotations

import json

import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from modgraph.export.look.agreement import reached_modules
from modgraph.export.onnx.structural import render
from modgraph.graph.index import GraphIndex

RELAXED = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def metadata(proto) -> dict[str, str]:
    return {entry.key: entry.value for entry in proto.metadata_props}


def bodies(model):
    return [model.graph.node, *(function.node for function in model.functions)]


@RELAXED
@given(data=st.data())
def test_any_graph_passes_the_checker(graphs, data):
    graph = data.draw(graphs)
    content = render(graph)
    model = onnx.load_from_string(content)
    onnx.checker.check_model(model, full_check=True)
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    assert metadata(model)["modgraph.kind"] == "structural"
    assert render(graph) == content
    assert {node.domain for body in bodies(model) for node in body} <= {"modgraph"}
    for body in bodies(model):
        names = [node.name for node in body]
        assert len(set(names)) == len(names)


@RELAXED
@given(data=st.data())
def test_every_module_that_ran_or_did_not_is_in_the_file(graphs, data):
    """As a node by its path, as a member of a function, or among those not called inside a leaf."""
    graph = data.draw(graphs)
    index = GraphIndex(graph)
    model = onnx.load_from_string(render(graph))
    members = {
        member.rpartition("@")[0] or member
        for function in model.functions
        for member in json.loads(metadata(function)["modgraph.members"])
    }
    nodes = [node for body in bodies(model) for node in body]
    paths = {metadata(node).get("modgraph.path") for node in nodes}
    shared = [node for node in nodes if "modgraph.path" not in metadata(node)]
    inside = [name for node in nodes for name in json.loads(metadata(node).get("modgraph.not_called", "[]"))]
    called = {call.module for call in graph.calls}
    reached = reached_modules(index)
    for node in graph.modules:
        stands = node.path in called or node.path not in reached
        if not stands or node.alias_of is not None or node.class_name == "NoneType" or node.path == "":
            continue
        if any(above.alias_of is not None for above in graph.modules if node.path.startswith(above.path)):
            continue
        assert node.path in members | paths or shared or inside, node.path


def test_a_chain_deeper_than_the_checker_follows_is_written_flat(deep_graph):
    model = onnx.load_from_string(render(deep_graph))
    onnx.checker.check_model(model, full_check=True)
    assert len(model.functions) < 100
    names = [node.name for body in bodies(model) for node in body]
    assert sum(name.endswith("leaf") for name in names) == 1


@pytest.fixture
def deep_graph():
    from modgraph.graph.build import GraphBuilder
    from modgraph.graph.model import Call, ModelInfo, ModuleNode

    builder = GraphBuilder(ModelInfo(name="Deep", class_name=None, target=None))
    path = ""
    for depth in range(250):
        builder.modules.append(ModuleNode(path=path, class_name="m.Wrap", observed=True, calls=(depth,)))
        builder.calls.append(Call(index=depth, module=path, parent=depth - 1 if depth else None))
        path = f"{path}.inner" if path else "inner"
    builder.modules.append(ModuleNode(path=f"{path}.leaf", class_name="m.Leaf", observed=True, calls=(250,)))
    builder.calls.append(Call(index=250, module=f"{path}.leaf", parent=249))
    return builder.build()
