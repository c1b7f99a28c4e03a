"""The networkx views: which nodes, which edges, and that they are the graph's own."""

from __future__ import annotations

import networkx
import pytest

from modgraph.errors import ConfigError
from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import Call, Edge, ModelInfo, ModuleNode, Operation, ParameterInfo, TensorInfo


@pytest.fixture
def residual():
    """`fc(x) + x`, with `fc` in a container that is itself never called."""
    builder = GraphBuilder(ModelInfo(name="Net", class_name="model.Net", target=None))
    weight = ParameterInfo(name="weight", shape=(3, 4), dtype="float32")
    builder.modules.append(ModuleNode(path="", class_name="model.Net", observed=True, calls=(0,)))
    builder.modules.append(ModuleNode(path="body", class_name="ModuleList", observed=True))
    builder.modules.append(
        ModuleNode(path="body.0", class_name="Linear", observed=True, calls=(1,), parameters=(weight,))
    )
    builder.calls.append(Call(index=0, module="", parent=None))
    builder.calls.append(Call(index=1, module="body.0", parent=0))
    builder.operations.append(Operation(id="op:0", name="torch.add", call=0))
    tensor = TensorInfo(name="", shape=(1, 4), dtype="float32")
    for producer, consumer in (
        ("input:x", "call:1"),
        ("call:1", "op:0"),
        ("input:x", "op:0"),
        ("input:x", "op:0"),
        ("op:0", "output:0"),
    ):
        builder.edges.append(Edge(producer=producer, consumer=consumer, tensor=tensor))
    return builder.build()


def test_the_hierarchy_is_the_tree_of_modules(residual):
    network = residual.to_networkx("hierarchy")
    assert list(network) == ["module:", "module:body", "module:body.0"]
    assert list(network.edges(data="kind")) == [
        ("module:", "module:body", "contains"),
        ("module:body", "module:body.0", "contains"),
    ]
    assert networkx.is_arborescence(network)
    assert network.nodes["module:body.0"]["parameters"] == 12
    assert network.nodes["module:body.0"]["class_name"] == "Linear"


def test_the_dataflow_joins_leaves_only(residual):
    network = residual.to_networkx("dataflow")
    assert set(network) == {"call:1", "op:0", "input:x", "output:0"}
    assert network.number_of_edges("input:x", "op:0") == 2
    assert network.edges["call:1", "op:0", 0] == {"kind": "dataflow", "shape": (1, 4), "dtype": "float32"}
    assert list(networkx.topological_sort(network))[-1] == "output:0"


def test_both_joins_modules_to_their_calls(residual):
    network = residual.to_networkx()
    assert network.has_edge("module:body.0", "call:1")
    assert {(a, b) for a, b, kind in network.edges(data="kind") if kind == "inside"} == {
        ("call:0", "call:1"),
        ("call:0", "op:0"),
    }
    assert networkx.has_path(network, "module:", "output:0")


def test_an_unknown_size_makes_the_number_of_parameters_unknown():
    builder = GraphBuilder(ModelInfo(name="Net", class_name=None, target=None))
    lazy = ParameterInfo(name="weight", shape=None, dtype=None)
    builder.modules.append(ModuleNode(path="", class_name=None, parameters=(lazy,)))
    assert builder.build().to_networkx("hierarchy").nodes["module:"]["parameters"] is None


def test_an_unknown_view_is_named(residual):
    with pytest.raises(ConfigError, match="'tree'"):
        residual.to_networkx("tree")
