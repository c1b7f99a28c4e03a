"""Look-ups into a graph: parents by path, children, calls inside calls, neighbours in the dataflow."""

from __future__ import annotations

import pytest

from modgraph.graph.build import GraphBuilder
from modgraph.graph.index import GraphIndex, name_below, parent_path
from modgraph.graph.model import Call, Edge, ModelInfo, ModuleNode, Operation, Problem, TensorInfo

X = TensorInfo(name="x", shape=(1, 4), dtype="float32")


@pytest.mark.parametrize(
    ("path", "paths", "parent"),
    [
        ("", {""}, None),
        ("a", {"", "a"}, ""),
        ("a.b.c", {"", "a", "a.b"}, "a.b"),
        ("a.b.c", {"", "a"}, "a"),  # a module named "b.c"
        ("heads['k.v'].fc", {"", "heads['k.v']"}, "heads['k.v']"),
        ("blocks[0]", {"", "blocks"}, ""),
        ("ab.c", {"", "a"}, ""),
        (".a", {""}, ""),
        ("?", {""}, ""),
        ("a.?", {"", "a"}, "a"),
    ],
)
def test_the_parent_is_the_longest_path_above(path, paths, parent):
    assert parent_path(path, paths) == parent


@pytest.mark.parametrize(
    ("path", "parent", "name"), [("layer1.0.conv", "layer1", "0.conv"), ("conv", "", "conv"), ("a.b.c", "a", "b.c")]
)
def test_the_name_below_a_parent(path, parent, name):
    assert name_below(path, parent) == name


@pytest.fixture
def index() -> GraphIndex:
    """The root calls `a`, which calls `a.b` twice; an operation of the root reads what came of it."""
    builder = GraphBuilder(ModelInfo(name="Net", class_name=None, target=None))
    calls = {"": (0,), "a": (1,), "a.b": (2, 3), "a.c": (), "d": ()}
    builder.modules = [
        ModuleNode(path=path, class_name="m.M", observed=True, calls=made) for path, made in calls.items()
    ]
    parents = [None, 0, 1, 1]
    modules = ["", "a", "a.b", "a.b"]
    builder.calls = [
        Call(index=number, module=module, parent=parent)
        for number, (module, parent) in enumerate(zip(modules, parents, strict=True))
    ]
    builder.operations = [Operation(id="op:0", name="torch.add", call=0)]
    ends = [("input:x", "call:2"), ("call:2", "call:3"), ("call:3", "op:0"), ("input:x", "op:0"), ("op:0", "output:0")]
    builder.edges = [Edge(producer=producer, consumer=consumer, tensor=X) for producer, consumer in ends]
    return GraphIndex(builder.build())


def test_the_tree(index: GraphIndex):
    assert index.parents == {"": None, "a": "", "a.b": "a", "a.c": "a", "d": ""}
    assert {path: [child.path for child in children] for path, children in index.children.items()} == {
        "": ["a", "d"], "a": ["a.b", "a.c"], "a.b": [], "a.c": [], "d": [],
    }  # fmt: skip
    assert [node.path for node in index.below("")] == ["a", "a.b", "a.c", "d"]
    assert [node.path for node in index.below("d")] == []
    assert index.modules["a.c"].path == "a.c"


def test_the_calls(index: GraphIndex):
    assert {call: [inner.index for inner in inside] for call, inside in index.child_calls.items()} == {
        None: [0], 0: [1], 1: [2, 3], 2: [], 3: [],
    }  # fmt: skip
    assert [index.is_leaf_call(number) for number in range(4)] == [False, False, True, True]


def test_the_dataflow(index: GraphIndex):
    assert [edge.producer for edge in index.incoming["op:0"]] == ["call:3", "input:x"]
    assert [edge.consumer for edge in index.outgoing["input:x"]] == ["call:2", "op:0"]
    assert "input:x" not in index.incoming
    assert index.operations["op:0"].name == "torch.add"


def test_a_run_has_finished_unless_it_failed_or_never_was(index: GraphIndex):
    assert index.run_finished
    builder = GraphBuilder.of(index.graph)
    builder.problems.append(Problem(stage="merge", message="differs"))
    assert GraphIndex(builder.build()).run_finished
    builder.problems.append(Problem(stage="trace", message="stopped"))
    assert not GraphIndex(builder.build()).run_finished
    expected = GraphBuilder(ModelInfo(name="Net", class_name=None, target=None))
    expected.modules = [ModuleNode(path="", class_name=None, predicted=True)]
    assert not GraphIndex(expected.build()).run_finished


def test_a_graph_is_printed_in_a_line():
    from modgraph.graph.build import GraphBuilder
    from modgraph.graph.model import ModelInfo, ModuleNode

    builder = GraphBuilder(ModelInfo(name="Net", class_name="model.Net", target="model.py:Net"))
    paths = ["", *(f"layers.{number}" for number in range(300))]
    builder.modules.extend(
        ModuleNode(path=path, class_name="model.Layer", predicted=True, observed=None, parameters=()) for path in paths
    )
    graph = builder.build()
    assert repr(graph) == str(graph) == "<Graph 'Net': 301 modules, predicted>"
