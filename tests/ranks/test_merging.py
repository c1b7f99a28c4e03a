"""Graphs of several processes become one: what is there once, what says its ranks, what is told as a difference."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

import modgraph
from modgraph.errors import GraphError
from modgraph.graph import serial
from modgraph.graph.build import GraphBuilder
from modgraph.graph.distributed import LocalShape, Sharding
from modgraph.graph.model import (
    BufferInfo,
    Call,
    Edge,
    Graph,
    ModelInfo,
    ModuleNode,
    Operation,
    ParameterInfo,
    Problem,
    TensorInfo,
)
from modgraph.ranks import merge_ranks

LINEAR = "torch.nn.modules.linear.Linear"


def tensor(name: str, *shape: int, **fields) -> TensorInfo:
    return TensorInfo(name=name, shape=shape, dtype="float32", **fields)


def run(rank: int, called=("a", "b"), *, there=("a", "b"), operations=(), rows=4, world=2, problems=()) -> Graph:
    """A root that calls the children named, one after the other, and then runs the operations."""
    builder = GraphBuilder(ModelInfo(name="Net", class_name="model.Net", target=None, ranks=(rank,), world_size=world))
    calls = ["", *called]
    for path in ("", *there):
        indices = tuple(index for index, module in enumerate(calls) if module == path)
        builder.modules.append(ModuleNode(path=path, class_name=LINEAR, observed=True, calls=indices))
    data = tensor("x", rows, 8)
    for index, module in enumerate(calls):
        parent = 0 if index else None
        builder.calls.append(Call(index=index, module=module, parent=parent, inputs=(data,), outputs=(data,)))
    builder.operations = [Operation(id=f"op:{n}", name=name, call=0) for n, name in enumerate(operations)]
    steps = [f"call:{index}" for index in range(1, len(calls))] + [one.id for one in builder.operations]
    ends = ["input:x", *steps, "output:0"]
    builder.edges = [
        Edge(producer=one, consumer=other, tensor=tensor("", rows, 8)) for one, other in itertools.pairwise(ends)
    ]
    builder.problems.extend(problems)
    return builder.build()


def said(graph: Graph) -> list[tuple[str, str]]:
    return [(one.module, one.message) for one in graph.rank_differences]


def flow(graph: Graph) -> list[tuple[str, str, tuple[int, ...]]]:
    return [(edge.producer, edge.consumer, edge.ranks) for edge in graph.edges]


def test_what_all_did_is_there_once():
    merged = merge_ranks([run(1), run(0)])
    assert [call.module for call in merged.calls] == ["", "a", "b"]
    assert [call.ranks for call in merged.calls] == [(), (), ()]
    assert [node.ranks for node in merged.modules] == [(0, 1)] * 3
    assert (merged.model.ranks, merged.model.world_size) == ((0, 1), 2)
    assert merged.complete
    assert merged.rank_differences == ()


def test_stages_of_a_pipeline_stand_behind_one_another_and_say_whose_they_are():
    merged = merge_ranks([run(0, ["a", "c"], there=("a", "c")), run(1, ["b", "c"], there=("b", "c"))])
    assert [(node.path, node.ranks) for node in merged.modules] == [
        ("", (0, 1)),
        ("a", (0,)),
        ("b", (1,)),
        ("c", (0, 1)),
    ]
    assert [(call.module, call.ranks) for call in merged.calls] == [("", ()), ("a", (0,)), ("b", (1,)), ("c", ())]
    assert said(merged) == [("a", "is there on rank 0 alone"), ("b", "is there on rank 1 alone")]
    assert ("call:2", "call:3", (1,)) in flow(merged)


def test_a_module_that_one_process_does_not_call_says_so():
    merged = merge_ranks([run(0, ["a", "b"]), run(1, ["b"])])
    assert [node.ranks for node in merged.modules] == [(0, 1), (0,), (0, 1)]
    assert said(merged) == [("a", "is called once on rank 0, never on rank 1")]


def test_a_place_that_holds_none_in_one_process_is_the_module_of_the_other():
    with_none = run(1, ["a"])
    modules = [replace(node, class_name="NoneType") if node.path == "b" else node for node in with_none.modules]
    merged = merge_ranks([replace(with_none, modules=tuple(modules)), run(0)])
    assert next(node.class_name for node in merged.modules if node.path == "b") == LINEAR
    assert said(merged) == [("b", "is there on rank 0 alone")]


def test_operations_are_the_same_by_their_turn():
    merged = merge_ranks([run(0, operations=["torch.relu", "torch.add"]), run(1, operations=["torch.add"])])
    assert [(one.name, one.ranks) for one in merged.operations] == [("torch.relu", (0,)), ("torch.add", ())]
    assert said(merged) == [("", "runs torch.relu on rank 0 alone")]
    assert ("call:2", "op:1", (1,)) in flow(merged)


def test_another_batch_is_told_once_and_the_first_is_shown():
    merged = merge_ranks([run(0, rows=4), run(1, rows=3)])
    assert merged.calls[1].inputs[0].shape == (4, 8)
    assert said(merged) == [
        ("", "takes [4, 8] on rank 0, [3, 8] on rank 1"),
        ("", "gives [4, 8] on rank 0, [3, 8] on rank 1"),
    ]


def test_what_each_process_holds_of_a_parameter_stands_beside_the_whole():
    def sharded(rank: int, rows: int) -> Graph:
        local = (LocalShape(rank=rank, shape=(rows, 8)),)
        held = Sharding(placements=("Shard(dim=0)",), mesh=(2,), local_shapes=local)
        graph = run(rank)
        weight = ParameterInfo(name="weight", shape=(5, 8), dtype="float32", sharding=held)
        return replace(graph, modules=(*graph.modules[:-1], replace(graph.modules[-1], parameters=(weight,))))

    merged = merge_ranks([sharded(0, 3), sharded(1, 2)])
    weight = merged.modules[-1].parameters[0]
    assert weight.shape == (5, 8)
    assert [(one.rank, one.shape) for one in weight.sharding.local_shapes] == [(0, (3, 8)), (1, (2, 8))]
    assert said(merged) == []


def test_devices_of_one_kind_are_that_kind():
    def on(graph: Graph, device: str) -> Graph:
        calls = [replace(call, inputs=(replace(call.inputs[0], device=device),)) for call in graph.calls]
        return replace(graph, calls=tuple(calls))

    merged = merge_ranks([on(run(0), "cuda:0"), on(run(1), "cuda:1")])
    assert merged.calls[0].inputs[0].device == "cuda"


def test_a_process_without_a_graph_makes_it_partial():
    merged = merge_ranks([run(0, world=3), run(2, world=3)], missing={1: "it died"})
    assert [problem.message for problem in merged.problems] == ["nothing is known of rank 1 of 3: it died"]


def test_a_problem_of_one_process_says_which():
    problem = Problem(stage="trace", message="ValueError: too few", module="a")
    merged = merge_ranks([run(0), run(1, problems=[problem])])
    assert [one.message for one in merged.problems] == ["on rank 1: ValueError: too few"]
    both = merge_ranks([run(0, problems=[problem]), run(1, problems=[problem])])
    assert list(both.problems) == [problem]


def test_graphs_that_were_merged_can_be_merged_with_further_ones():
    at_once = merge_ranks([run(0, world=3), run(1, ["b"], world=3), run(2, world=3)])
    two = merge_ranks([run(0, world=3), run(1, ["b"], world=3)])
    assert [problem.message for problem in two.problems] == ["nothing is known of rank 2 of 3: there is no graph of it"]
    in_turn = merge_ranks([two, run(2, world=3)])
    assert in_turn == at_once
    assert in_turn.complete


NO = Problem(stage="trace", message="ValueError: too few", module="a")
FOUR = {
    "all the same": [run(rank, world=4) for rank in range(4)],
    "a module is missing": [
        run(0, world=4),
        run(1, ["b"], there=("b",), world=4),
        run(2, world=4),
        run(3, ["b"], there=("b",), world=4),
    ],
    "other batches": [run(rank, rows=4 - rank // 3, world=4) for rank in range(4)],
    "a batch that is another within one half": [run(rank, rows=4 - rank % 2, world=4) for rank in range(4)],
    "operations": [run(rank, operations=["torch.relu"] * (rank == 1) + ["torch.add"], world=4) for rank in range(4)],
    "problems": [run(rank, problems=[NO] * (rank in (1, 2)), world=4) for rank in range(4)],
}


@pytest.mark.parametrize("name", FOUR)
@pytest.mark.parametrize("halves", [((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2))])
def test_merging_halves_is_merging_all(name, halves):
    graphs = FOUR[name]
    parts = [merge_ranks([graphs[rank] for rank in half]) for half in halves]
    for each in (parts, [serial.from_json(part.to_json()) for part in parts]):
        merged = merge_ranks(each)
        whole = merge_ranks(graphs)
        assert set(merged.rank_differences) == set(whole.rank_differences)
        assert set(merged.problems) == set(whole.problems)
        assert {(call.module, call.ranks) for call in merged.calls} == {
            (call.module, call.ranks) for call in whole.calls
        }


def test_why_a_rank_is_missing_is_not_forgotten():
    part = merge_ranks([run(0, world=4), run(1, world=4)], missing={3: "it died"})
    merged = merge_ranks([part, run(2, world=4)])
    assert [problem.message for problem in merged.problems] == ["nothing is known of rank 3 of 4: it died"]


def with_module(graph: Graph, path: str, **fields: object) -> Graph:
    modules = [replace(node, **fields) if node.path == path else node for node in graph.modules]
    return replace(graph, modules=tuple(modules))


def weight(**fields: object) -> ParameterInfo:
    return ParameterInfo(**{"name": "weight", "shape": (10, 100), "dtype": "float32", **fields})


def test_what_one_process_holds_alone_is_in_the_totals():
    """A parameter of rank 1 counted for nothing."""
    known = [replace(run(rank), model=replace(run(rank).model, parameters=0, buffers=0)) for rank in (0, 1)]
    holding = with_module(known[1], "a", parameters=(weight(), weight(name="frozen", trainable=False)))
    holding = with_module(holding, "b", buffers=(BufferInfo(name="mask", shape=(7,), dtype="bool"),))
    model = merge_ranks([known[0], holding]).model
    assert (model.parameters, model.trainable_parameters, model.buffers) == (2000, 1000, 7)


PAIRS = {
    "trainable": ({}, {"trainable": False}, "has parameter weight trained on rank 0, frozen on rank 1"),
    "dtype": (
        {},
        {"dtype": "float16"},
        "has parameter weight of dtype float32 on rank 0, float16 on rank 1",
    ),
    "shape": (
        {},
        {"shape": (5,)},
        "has parameter weight of shape [10, 100] on rank 0, [5] on rank 1",
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_facts_of_a_tensor_that_differ_are_told(name):
    one, other, message = PAIRS[name]
    graphs = [with_module(run(rank), "a", parameters=(weight(**each),)) for rank, each in enumerate((one, other))]
    assert said(merge_ranks(graphs)) == [("a", message)]


def test_a_buffer_that_one_process_does_not_save_is_told():
    mask = BufferInfo(name="mask", shape=(7,), dtype="bool")
    graphs = [with_module(run(rank), "a", buffers=(replace(mask, persistent=rank == 0),)) for rank in (0, 1)]
    assert said(merge_ranks(graphs)) == [
        ("a", "has buffer mask in the state dict on rank 0, not in the state dict on rank 1")
    ]


def test_arguments_that_differ_are_told():
    given = [{"p": 0.1, "q": 1}, {"p": 0.9}]
    graphs = [with_module(run(rank), "a", arguments=each) for rank, each in enumerate(given)]
    assert said(merge_ranks(graphs)) == [
        ("a", "has argument p 0.1 on rank 0, 0.9 on rank 1"),
        ("a", "has argument q 1 on rank 0, at its default on rank 1"),
    ]
    unknown = with_module(graphs[1], "a", unknown_arguments=("p", "q"), arguments={})
    assert said(merge_ranks([graphs[0], unknown])) == []


def test_another_order_of_children_is_told():
    graphs = [run(0, there=("a", "b", "c")), run(1, there=("a", "c", "b"))]
    assert said(merge_ranks(graphs)) == [("", "registers in the order b, c on rank 0, c, b on rank 1")]
    assert said(merge_ranks([run(0), run(1, there=("c", "a", "b"))])) == [("c", "is there on rank 1 alone")]


def test_another_way_of_data_is_told_where_all_was_called():
    """Both call a and b; data goes from one to the other the other way round."""
    graphs = [run(0), run(1)]
    turned = {"call:1": "call:2", "call:2": "call:1"}
    edges = [
        replace(
            edge,
            producer=turned.get(edge.producer, edge.producer),
            consumer=turned.get(edge.consumer, edge.consumer),
        )
        for edge in graphs[1].edges
    ]
    merged = merge_ranks([graphs[0], replace(graphs[1], edges=tuple(edges))])
    assert said(merged) == [("", "passes input x to a on rank 0 alone")]
    inputs = [replace(edge, tensor=replace(edge.tensor, name="y")) for edge in graphs[1].edges[:1]]
    swapped = replace(graphs[1], edges=(*inputs, *graphs[1].edges[1:]))
    assert said(merge_ranks([graphs[0], swapped])) == [("", "passes input x to a on rank 0 alone")]


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ([], "there is no graph to merge"),
        ([run(0), run(0)], "two graphs are of rank 0"),
        ([run(0), run(1, world=3)], "these graphs are of different runs: of 2, 3 processes"),
        (
            [run(0), with_module(run(1), "", class_name="model.Other")],
            "these graphs are of different models: .*Linear on rank 0, model.Other on rank 1",
        ),
        ([run(0), replace(run(1), model=replace(run(1).model, ranks=()))], "graph 2 of 2 does not say which process"),
    ],
)
def test_what_cannot_be_merged_is_named(graphs, message):
    with pytest.raises(GraphError, match=message):
        merge_ranks(graphs)


def test_files_are_as_good_as_graphs(tmp_path):
    for rank in (0, 1):
        run(rank).save(tmp_path / f"{rank}.json")
    merged = modgraph.merge_ranks([tmp_path / "1.json", str(tmp_path / "0.json")])
    assert replace(merged, modules=()) == replace(merge_ranks([run(0), run(1)]), modules=())
    assert serial.from_json(merged.to_json()) == merged
    merged.save(tmp_path / "merged.txt")
    text = (tmp_path / "merged.txt").read_text()
    assert "ranks       0, 1 of 2" in text


def test_a_graph_of_one_process_is_itself():
    alone = replace(run(0), model=ModelInfo(name="Net", class_name="model.Net", target=None))
    assert modgraph.merge_ranks(alone) is alone
    assert merge_ranks([alone]) is alone
