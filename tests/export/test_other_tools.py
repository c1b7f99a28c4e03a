"""Graphs for other tools: JSON for Model Explorer, GraphML."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import networkx
import pytest

from modgraph.cli.output import destination
from modgraph.export import FORMATS, render
from modgraph.export.formats import format_of

NODE = {
    "id": str,
    "label": str,
    "namespace": str,
    "attrs": list,
    "incomingEdges": list,
    "outputsMetadata": list,
    "style": dict,
}
"""Fields of a node. Source: `GraphNode` in `graph_builder.py` of google-ai-edge/model-explorer."""
EDGE = {"sourceNodeId", "sourceNodeOutputId", "targetNodeInputId"}


def explored(graph) -> dict:
    """The one graph of a collection, each field of the type that the viewer has for it."""
    collection = json.loads(str(render(graph, "model-explorer")))
    assert set(collection) == {"label", "graphs"}
    (inner,) = collection["graphs"]
    for node in inner["nodes"]:
        assert all(isinstance(value, NODE[key]) for key, value in node.items())
        pairs = [*node["attrs"], *(pair for tensor in node["outputsMetadata"] for pair in tensor["attrs"])]
        assert all(set(pair) == {"key", "value"} and isinstance(pair["value"], str) for pair in pairs)
        assert all(set(edge) == EDGE for edge in node["incomingEdges"])
    return inner


@pytest.mark.parametrize("net", ["residual", "states", "predicted", "masked", "harmful"])
def test_ids_are_unique_and_every_edge_has_its_node(nets, net):
    nodes = explored(nets[net]().graph())["nodes"]
    ids = [node["id"] for node in nodes]
    assert len(ids) == len(set(ids)) > 1
    assert {edge["sourceNodeId"] for node in nodes for edge in node["incomingEdges"]} <= set(ids)


def test_containers_are_layers_and_calls_and_operations_are_nodes(nets):
    graph = explored(nets["residual"](2).graph())
    found = {(node["namespace"], node["label"]): node for node in graph["nodes"]}
    fed = found["blocks/1", "add"]["incomingEdges"]
    assert [edge["targetNodeInputId"] for edge in fed] == ["0", "1"]
    assert found["", "input x"]["incomingEdges"] == []
    assert {"key": "weight", "value": "4×4 float32"} in found["blocks/0", "Linear"]["attrs"]
    assert graph["groupNodeAttributes"]["blocks/0"] == {"path": "blocks.0", "class": "model.Block"}


def test_a_layer_of_another_container_stands_with_its_caller_whatever_the_containers_are_called(sketch):
    net = sketch()
    net.module("enc", "model.Enc")
    net.module("encoder", "model.Encoder")
    net.modules("encoder.fc Linear *")
    net.enter("enc")
    x = net.call("encoder.fc", "input:x")
    net.leave()
    net.output(x)
    (linear,) = (node for node in explored(net.graph())["nodes"] if node["label"] == "Linear")
    assert linear["namespace"] == "enc"


def test_a_prediction_is_its_tree(nets):
    graph = explored(nets["predicted"]().graph())
    assert ("blocks/2", "LayerNorm") in {(node["namespace"], node["label"]) for node in graph["nodes"]}
    assert all(node["incomingEdges"] == [] for node in graph["nodes"])


@pytest.mark.parametrize("net", ["residual", "states", "predicted", "masked", "harmful"])
def test_graphml_is_read_back_as_the_same_graph(nets, net):
    graph = nets[net]().graph()
    read = networkx.parse_graphml(str(render(graph, "graphml")))
    whole = graph.to_networkx()
    assert read.number_of_nodes() == whole.number_of_nodes()
    assert read.number_of_edges() == len(set(whole.edges()))
    if net == "residual":
        assert read.nodes["module:blocks.0.fc1"]["parameters"] == 16
        assert {data["shape"] for _, _, data in read.edges(data=True) if data["kind"] == "dataflow"} >= {"1×8", "1×4"}


@pytest.mark.parametrize("tensors", [1, 2])
def test_graphml_is_always_read_as_the_same_kind_of_graph(sketch, tensors):
    net = sketch()
    net.modules("a Linear *", "b Linear *")
    made = net.call("a", "input:x")
    net.call("b", *[made] * tensors)
    net.builder.edges[-1] = dataclasses.replace(
        net.builder.edges[-1], tensor=dataclasses.replace(net.builder.edges[-1].tensor, shape=(1, 9))
    )
    read = networkx.parse_graphml(str(render(net.graph(), "graphml")))
    assert type(read) is networkx.DiGraph
    (edge,) = (data for tail, head, data in read.edges(data=True) if (tail, head) == ("call:1", "call:2"))
    assert (edge["tensors"], edge["shape"]) == (tensors, "1×9" if tensors == 1 else "1×8, 1×9")


def test_the_longest_suffix_names_the_format(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert format_of(Path("net.model-explorer.json")) == "model-explorer"
    assert format_of(Path("net.json")) == "json"
    assert destination("net.model-explorer.json", None, default=("svg",)).formats == ("model-explorer",)
    assert FORMATS["graphml"].extension == "graphml"
