"""Processes that did the same are one graph: that of any of them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from modgraph.graph import serial
from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import Call, Edge, Graph, ModelInfo, ModelInput, ModuleNode, ParameterInfo, TensorInfo
from modgraph.ranks import merge_ranks


def of_rank(graph, rank, world):
    return replace(graph, model=replace(graph.model, ranks=(rank,), world_size=world), rank_differences=())


@settings(
    max_examples=20,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data(), world=st.integers(1, 4))
def test_equal_graphs_are_that_graph_with_the_ranks_noted(graphs, data, world):
    graph = data.draw(graphs)
    merged = merge_ranks([of_rank(graph, rank, world) for rank in range(world)])
    ranks = tuple(range(world))
    modules = [replace(node, ranks=ranks if node.calls else (), repeat=None) for node in graph.modules]
    assert merged.modules == tuple(modules)
    assert merged.model == replace(graph.model, ranks=ranks, world_size=world)
    for part in ("calls", "operations", "edges", "parameter_gradients", "verification", "profile", "rank_differences"):
        assert getattr(merged, part) == getattr(of_rank(graph, 0, world), part), part
    assert set(merged.problems) == set(graph.problems)


@settings(
    max_examples=20,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_any_graphs_of_one_run_are_a_graph_that_can_be_read_back(graphs, data):
    first, second = data.draw(graphs), data.draw(graphs)
    halves = [
        replace(
            of_rank(graph, rank, 2),
            modules=tuple(
                replace(node, predicted=None, observed=True, class_name=node.class_name if node.path else "model.Net")
                for node in graph.modules
            ),
        )
        for rank, graph in enumerate((first, second))
    ]
    merged = merge_ranks(halves)
    assert serial.from_json(serial.to_json(merged)) == merged
    assert {node.path for node in merged.modules} == {node.path for graph in halves for node in graph.modules}
    assert max(len(first.calls), len(second.calls)) <= len(merged.calls) <= len(first.calls) + len(second.calls)


def test_a_call_may_make_calls_of_its_own_in_one_process_alone():
    def graph(rank: int, inner: bool) -> Graph:
        x = TensorInfo(name="x", shape=(2,), dtype="float32")
        inputs = (ModelInput(name="x", tensors=(x,)),)
        builder = GraphBuilder(
            ModelInfo(name="Net", class_name="Net", target=None, inputs=inputs, ranks=(rank,), world_size=2)
        )
        builder.modules = [
            ModuleNode(path=path, class_name="Net", predicted=None, observed=True, registered=True, calls=made)
            for path, made in (("", (0,)), ("a", (1,)), ("a.b", (2,) if inner else ()))
        ]
        calls = [Call(index=0, module="", parent=None), Call(index=1, module="a", parent=0)]
        builder.calls = [*calls, Call(index=2, module="a.b", parent=1)] if inner else calls
        last = "call:2" if inner else "call:1"
        builder.edges = [Edge(producer="input:x", consumer=last, tensor=x)]
        return builder.build()

    merged = merge_ranks([graph(0, inner=False), graph(1, inner=True)])
    assert [edge.consumer for edge in merged.edges] == ["call:2"]
    assert [call.module for call in merged.calls] == ["", "a", "a.b"]


def test_what_an_edge_reads_stays_where_another_process_has_a_module_and_this_one_none():
    """The name holds a module in one process; in the other it holds None, of which the record still tells a tensor."""

    def graph(rank: int, class_name: str) -> Graph:
        builder = GraphBuilder(ModelInfo(name="Net", class_name="Net", target=None, ranks=(rank,), world_size=2))
        weight = ParameterInfo(name=f"of_{rank}", shape=(2,), dtype="float32", trainable=True)
        builder.modules = [
            ModuleNode(path="", class_name="Net", predicted=None, observed=True, registered=True, calls=(0,)),
            ModuleNode(
                path="a", class_name=class_name, predicted=None, observed=True, registered=True, parameters=(weight,)
            ),
        ]
        builder.calls = [Call(index=0, module="", parent=None)]
        return builder.build()

    merged = merge_ranks([graph(0, "Net"), graph(1, "NoneType")])
    assert [tensor.name for tensor in merged.modules[1].parameters] == ["of_0", "of_1"]


def test_a_call_stands_behind_its_parent_where_another_process_began_calls_in_another_order():
    """`b` waits while `a` runs in another thread, and calls `b.c` afterwards: in the other process `b` came last."""

    def graph(rank: int, made: list[tuple[str, int | None]]) -> Graph:
        builder = GraphBuilder(ModelInfo(name="Net", class_name="Net", target=None, ranks=(rank,), world_size=2))
        builder.calls = [Call(index=index, module=path, parent=up) for index, (path, up) in enumerate(made)]
        builder.modules = [
            ModuleNode(
                path=path,
                class_name="Net",
                predicted=None,
                observed=True,
                registered=True,
                calls=tuple(call.index for call in builder.calls if call.module == path),
            )
            for path in ("", "a", "b", "b.c", "b.c.d")
        ]
        return builder.build()

    merged = merge_ranks(
        [
            graph(0, [("", None), ("a", 0), ("b", 0)]),
            graph(1, [("", None), ("b", 0), ("a", 0), ("b.c", 1), ("b.c.d", 3)]),
        ]
    )
    assert [(call.module, call.parent) for call in merged.calls] == [
        ("", None),
        ("a", 0),
        ("b", 0),
        ("b.c", 2),
        ("b.c.d", 3),
    ]
