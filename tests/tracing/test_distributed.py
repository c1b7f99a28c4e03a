"""Models that are spread over two processes, by torchrun and gloo: one graph of both, that of the model as it is alone.

`distributed_script.py` runs in both processes, once for all tests here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import modgraph

torch = pytest.importorskip("torch")
if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
    pytest.skip("torch is built without gloo", allow_module_level=True)
pytestmark = pytest.mark.needs_torch

SCRIPT = Path(__file__).with_name("distributed_script.py")
SPREAD = ("ddp", "fsdp2", "fsdp1", "fsdp1_orig", "tp")
WHOLE = SPREAD[:-1]
"""Those whose layers see whole tensors."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONFAULTHANDLER": "1"}
    ran = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", str(SCRIPT), str(folder)],
        capture_output=True, text=True, timeout=240, env=environment,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-4000:]
    return folder


@pytest.fixture(scope="module")
def plain(folder):
    return modgraph.load(folder / "plain.json")


@pytest.fixture(scope="module")
def told(folder):
    return json.loads((folder / "told.json").read_text())


def flow(graph):
    return [(edge.producer, edge.consumer, edge.tensor.shape) for edge in graph.edges]


@pytest.mark.parametrize("name", SPREAD)
def test_the_tree_is_that_of_the_model_alone(folder, plain, name):
    graph = modgraph.load(folder / f"{name}.json")
    assert graph.complete
    assert (graph.model.ranks, graph.model.world_size, graph.rank_differences) == ((0, 1), 2, ())
    assert [(node.path, node.class_name) for node in graph.modules] == [
        (node.path, node.class_name) for node in plain.modules
    ]
    assert [node.hooks for node in graph.modules] == [node.hooks for node in plain.modules]
    assert all(node.ranks == (0, 1) for node in graph.modules)
    for node, alone in zip(graph.modules, plain.modules, strict=True):
        facts = [[(one.name, one.shape, one.dtype, one.trainable) for one in each.parameters] for each in (node, alone)]
        assert facts[0] == facts[1], node.path
    assert graph.model.parameters == plain.model.parameters
    assert (graph.model.name, graph.model.class_name) == ("Net", "__main__.Net")


@pytest.mark.parametrize("name", WHOLE)
def test_the_run_is_that_of_the_model_alone(folder, plain, name):
    graph = modgraph.load(folder / f"{name}.json")
    calls = [
        [(call.module, call.parent, [(one.name, one.shape) for one in call.inputs]) for call in each.calls]
        for each in (graph, plain)
    ]
    assert calls[0] == calls[1]
    assert [(one.name, one.call) for one in graph.operations] == [(one.name, one.call) for one in plain.operations]
    assert flow(graph) == flow(plain)
    assert ("param:blocks.0.scale", "op:1", (8,)) in flow(graph)


@pytest.mark.parametrize("name", SPREAD)
def test_the_model_is_as_it_was_and_runs(told, name):
    assert told[name] == {"training": True, "parameters": True, "result": True}


def test_what_is_around_a_module_is_said(folder):
    around = {}
    for name in WHOLE:
        graph = modgraph.load(folder / f"{name}.json")
        around[name] = [(node.path, each.rpartition(".")[2]) for node in graph.modules for each in node.wrappers]
    assert around["ddp"] == [("", "DistributedDataParallel")]
    assert around["fsdp2"] == [(path, "FSDPModule") for path in ("", "blocks.0", "blocks.1")]
    assert around["fsdp1"] == [(path, "FullyShardedDataParallel") for path in ("", "blocks.0", "blocks.1")]


@pytest.mark.parametrize(
    ("name", "placements", "local"),
    [
        ("fsdp2", ("Shard(dim=0)",), {0: (8, 8), 1: (8, 8)}),
        ("tp", ("Shard(dim=0)",), {0: (8, 8), 1: (8, 8)}),
        # A row of 296 + 8 elements: norm 16, up 128 + 16, down 128 + 8, scale 8; each process has 152 of them.
        ("fsdp1", ("flattened",), {0: (128,), 1: (0,)}),
    ],
)
def test_a_parameter_says_how_it_is_spread(folder, name, placements, local):
    graph = modgraph.load(folder / f"{name}.json")
    weight = next(node for node in graph.modules if node.path == "blocks.0.up").parameters[0]
    assert weight.shape == (16, 8)
    assert weight.sharding.placements == placements
    assert {one.rank: one.shape for one in weight.sharding.local_shapes} == local


def test_a_spread_activation_shows_the_whole_and_what_each_process_holds(folder):
    graph = modgraph.load(folder / "tp.json")
    output = next(call for call in graph.calls if call.module == "blocks.0.up").outputs[0]
    assert output.shape == (5, 16)
    assert output.sharding.placements == ("Shard(dim=1)",) or output.sharding.placements == ("Shard(dim=-1)",)
    assert [one.shape for one in output.sharding.local_shapes] == [(5, 8), (5, 8)]
    named = {"op:" + edge.consumer.partition(":")[2]: edge for edge in graph.edges}
    assert named, "dataflow goes on behind the collective operation"
    down = next(call.index for call in graph.calls if call.module == "blocks.0.down")
    assert any(edge.producer == f"call:{down}" for edge in graph.edges)


@pytest.mark.parametrize("name", ["fsdp2", "fsdp1_orig"])
def test_the_backward_pass_shows_what_it_shows_of_the_model_alone(told, name):
    assert told[f"{name} backward"] == told["plain backward"]


def test_a_run_that_failed_leaves_a_model_that_runs(told):
    assert told["failed"] == ["ValueError: one row is too few", True]


def test_the_prediction_of_the_class_lines_up_with_the_wrapped_model(folder):
    graph = modgraph.load(folder / "analyzed.json")
    assert graph.complete, [problem.message for problem in graph.problems]
    assert all(node.predicted and node.observed for node in graph.modules)


def test_stages_say_whose_they_are(folder):
    graph = modgraph.load(folder / "pipe.json")
    assert [(node.path, node.ranks) for node in graph.modules] == [
        ("", (0, 1)), ("first", (0,)), ("second", (1,)), ("both", (0, 1))
    ]  # fmt: skip
    assert "is there on rank 0 alone" in [one.message for one in graph.rank_differences if one.module == "first"]


def test_other_batches_are_told_of(folder):
    graph = modgraph.load(folder / "uneven.json")
    assert [one.message for one in graph.rank_differences] == [
        "takes [2, 8] on rank 0, [3, 8] on rank 1",
        "gives [2, 3] on rank 0, [3, 3] on rank 1",
    ]


def test_a_process_that_died_is_named_and_nobody_waits_for_it(folder):
    graph = modgraph.load(folder / "alone.json")
    assert not graph.complete
    assert graph.model.ranks == (0,)
    assert graph.problems[-1].message.startswith("nothing is known of rank 1 of 2: it sent no graph within 1 s")
    assert [node.path for node in graph.modules][:2] == ["", "blocks"]


def test_where_nothing_is_spread_nothing_is_said():
    graph = modgraph.trace(torch.nn.Sequential(torch.nn.ReLU()), (torch.ones(2),))
    assert (graph.model.ranks, graph.model.world_size) == ((), None)
    assert "ranks" not in graph.to_json()
