"""Which blocks are alike: torch-free graphs made by hand."""

from __future__ import annotations

import dataclasses
import runpy
from pathlib import Path

import pytest

import modgraph
from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import Finding, Graph, HookInfo, ParameterInfo, Problem, Repeat
from modgraph.graph.occurrences import Run, preorder
from modgraph.graph.repeats import find_repeats, mark_repeats

made_by_hand = runpy.run_path(str(Path(__file__).parents[1] / "export" / "conftest.py"))
Sketch = made_by_hand["Sketch"]
residual_net = made_by_hand["residual_net"]
predicted_net = made_by_hand["predicted_net"]
shared_source_net = made_by_hand["shared_source_net"]


def groups(graph: Graph) -> dict[str, Repeat]:
    """Those of blocks alone, not of the layers in them."""
    return {path: repeat for path, repeat in find_repeats(graph).items() if path.count(".") == 1}


def changed(graph: Graph, path: str, **fields: object) -> Graph:
    modules = [dataclasses.replace(node, **fields) if node.path == path else node for node in graph.modules]
    return dataclasses.replace(graph, modules=tuple(modules))


def test_alike_residual_blocks_are_one_group():
    expected = Repeat(group="blocks.0", count=3)
    assert groups(residual_net(3).graph()) == {f"blocks.{number}": expected for number in range(3)}


def test_mark_repeats_fills_the_nodes_and_nothing_else():
    graph = residual_net(2).graph()
    marked = mark_repeats(graph)
    by_path = {node.path: node.repeat for node in marked.modules}
    assert by_path["blocks.1"] == Repeat(group="blocks.0", count=2)
    assert by_path["stem"] is None
    assert dataclasses.replace(marked, modules=graph.modules) == graph
    assert mark_repeats(marked) == marked


def test_a_block_of_another_width_ends_the_group():
    found = groups(residual_net(5, broken=2).graph())
    assert found["blocks.0"] == Repeat(group="blocks.0", count=2)
    assert found["blocks.3"] == Repeat(group="blocks.3", count=2)
    assert "blocks.2" not in found


@pytest.mark.parametrize(
    "fields",
    [
        {"class_name": "model.Other"},
        {"arguments": {"stride": 2}},
        {"predicted": False},
        {"observed": False},
        {"registered": False},
        {"hooks": (HookInfo(kind="forward", name="mypkg.log"),)},
    ],
)
def test_a_difference_in_any_field_of_a_block_or_of_a_layer_in_it_ends_the_group(fields):
    graph = residual_net(3).graph()
    assert "blocks.1" not in groups(changed(graph, "blocks.1", **fields))
    assert "blocks.1" not in groups(changed(graph, "blocks.1.act", **fields))


def test_findings_and_problems_end_a_group_unless_all_blocks_have_them():
    graph = residual_net(3).graph()
    builder = GraphBuilder.of(graph)
    builder.findings.append(Finding(code="MG101", message="", module="blocks.1"))
    assert "blocks.1" not in groups(builder.build())
    builder.findings.extend(Finding(code="MG101", message="", module=f"blocks.{number}") for number in (0, 2))
    assert groups(builder.build())["blocks.1"].count == 3
    builder.problems.append(Problem(stage="trace", message="unsure", module="blocks.2.fc1"))
    assert groups(builder.build())["blocks.0"].count == 2


def test_branches_of_a_fork_are_no_group():
    net = Sketch()
    net.modules("heads ModuleList", "heads.0 Linear *", "heads.1 Linear *", "heads.2 Linear *")
    net.output(net.op("torch.cat", *[net.call(f"heads.{number}", "input:x") for number in range(3)]))
    assert groups(net.graph()) == {}


def test_a_mask_that_all_get_does_not_part_them_but_one_that_only_some_get_does():
    net = Sketch()
    net.modules("blocks ModuleList", *[f"blocks.{number} Linear *" for number in range(4)])
    mask = net.op("torch.full")
    x = "input:x"
    for number in range(4):
        x = net.call(f"blocks.{number}", x, mask)
    net.output(x)
    assert groups(net.graph())["blocks.3"].count == 4

    net = Sketch()
    net.modules("blocks ModuleList", *[f"blocks.{number} Linear *" for number in range(4)])
    masks = [net.op("torch.full"), net.op("torch.ones")]
    x = "input:x"
    for number in range(4):
        x = net.call(f"blocks.{number}", x, masks[number // 2])
    net.output(x)
    assert groups(net.graph()).get("blocks.3", Repeat(group="", count=0)).group != "blocks.0"


def test_blocks_whose_results_are_used_elsewhere_are_no_group():
    net = Sketch()
    net.modules("enc ModuleList", *[f"enc.{number} Linear *" for number in range(3)], "dec Linear *")
    x, kept = "input:x", []
    for number in range(3):
        x = net.call(f"enc.{number}", x)
        kept.append(x)
    net.output(net.call("dec", net.op("torch.add", x, kept[0])))
    assert "enc.0" not in groups(net.graph())
    assert groups(net.graph())["enc.2"] == Repeat(group="enc.1", count=2)


def test_all_hidden_states_as_outputs_do_not_part_the_blocks():
    net = Sketch()
    net.modules("blocks ModuleList", *[f"blocks.{number} Linear *" for number in range(3)])
    x = "input:x"
    for number in range(3):
        x = net.call(f"blocks.{number}", x)
        net.output(x, f"hidden[{number}]")
    assert groups(net.graph())["blocks.0"].count == 3


def test_an_operation_between_two_blocks_parts_them():
    net = Sketch()
    net.modules("blocks ModuleList", *[f"blocks.{number} Linear *" for number in range(2)])
    net.output(net.call("blocks.1", net.op("torch.relu", net.call("blocks.0", "input:x"))))
    assert groups(net.graph()) == {}


def test_a_view_between_two_blocks_does_not_part_them():
    net = Sketch()
    net.modules("blocks ModuleList", *[f"blocks.{number} Linear *" for number in range(2)])
    net.output(net.call("blocks.1", net.op("torch.Tensor.view", net.call("blocks.0", "input:x"))))
    assert groups(net.graph())["blocks.1"].count == 2


def test_blocks_that_share_one_outer_module_stay_alike():
    net = Sketch()
    net.modules("act ReLU", "blocks ModuleList")
    x = "input:x"
    for number in range(3):
        net.module(f"blocks.{number}", "model.Block")
        net.modules(f"blocks.{number}.fc Linear *")
        net.module(f"blocks.{number}.act", "ReLU", alias_of="act")
        net.enter(f"blocks.{number}")
        x = net.call("act", net.call(f"blocks.{number}.fc", x))
        net.leave()
    net.output(x)
    assert groups(net.graph())["blocks.0"].count == 3


def test_a_tree_without_a_run_is_grouped_by_structure_in_lists_only():
    found = find_repeats(predicted_net().graph())
    assert found["blocks.2"] == Repeat(group="blocks.0", count=3)
    assert "heads.a" not in found


def test_a_parameter_of_the_model_itself_is_no_member_of_a_group():
    net = Sketch()
    net.modules("fc Linear *")
    token = ParameterInfo(name="class_token", shape=(1, 8), dtype="float32")
    net.nodes[""] = dataclasses.replace(net.nodes[""], parameters=(token,))
    net.output(net.op("torch.cat", net.call("fc", "input:x"), "param:class_token"))
    assert find_repeats(net.graph()) == {}


def test_unlike_blocks_with_one_mask_have_no_group():
    assert groups(shared_source_net().graph()) == {}


def test_a_container_whose_children_alternate_with_others_is_dissolved():
    net = Sketch()
    net.modules("convs ModuleList", "convs.0 Linear *", "convs.1 Linear *")
    net.modules("norms ModuleList", "norms.0 LayerNorm", "norms.1 LayerNorm")
    net.output(net.chain("convs.0 norms.0 convs.1 norms.1", "input:x"))
    run = Run(net.graph())
    parts = [occurrence.path for occurrence in run.root.children if occurrence.is_module]
    assert parts == ["convs.0", "norms.0", "convs.1", "norms.1"]


def test_calls_that_follow_each_other_keep_their_list_around_them():
    net = Sketch()
    net.modules("layers ModuleList", "layers.0 Linear *", "layers.1 LayerNorm")
    net.output(net.chain("layers.0 layers.1", "input:x"))
    (layers,) = [occurrence for occurrence in Run(net.graph()).root.children if occurrence.is_module]
    assert [child.path for child in layers.children] == ["layers.0", "layers.1"]


def test_every_leaf_is_counted_once_and_lies_within_its_parents():
    run = Run(residual_net(4).graph())
    assert [leaf.first for leaf in run.leaves] == list(range(len(run.leaves)))
    for occurrence in preorder(run.root):
        for child in occurrence.children:
            assert occurrence.first <= child.first <= child.past <= occurrence.past


def test_a_tree_of_two_thousand_levels_does_not_exhaust_the_stack():
    net = Sketch()
    path = ""
    for _ in range(2000):
        path = f"{path}.m" if path else "m"
        net.module(path, "model.Wrap")
        net.enter(path)
    net.module(f"{path}.fc", "Linear")
    net.output(net.call(f"{path}.fc", "input:x"))
    assert find_repeats(net.graph()) == {}


def crossed_net(orders: list[str]) -> Graph:
    """Blocks of two layers, called in these orders: "oott" is `one`, `one`, `two`, `two`."""
    net = Sketch()
    net.modules("blocks Sequential")
    for number in range(len(orders)):
        net.module(f"blocks.{number}", "model.Block")
        net.modules(f"blocks.{number}.one Linear *", f"blocks.{number}.two Linear *")
    x = "input:x"
    net.enter("blocks")
    for number, order in enumerate(orders):
        net.enter(f"blocks.{number}")
        for name in order:
            x = net.call(f"blocks.{number}.{'one' if name == 'o' else 'two'}", x)
        net.leave()
    net.leave()
    net.output(x)
    return net.graph()


def test_blocks_that_call_their_layers_in_another_order_are_not_alike():
    assert set(groups(crossed_net(["otot", "otot", "otot"])).values()) == {Repeat(group="blocks.0", count=3)}
    assert groups(crossed_net(["otot", "oott", "otot"])) == {}
    assert groups(crossed_net(["ot", "to"])) == {}


CONDITIONAL = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, width, always):
        super().__init__()
        self.a, self.b = nn.Linear(width, width), nn.Linear(width, width)
        self.always = always

    def forward(self, x, past=None):
        y = self.a(x)
        if self.always or past is not None:
            y = torch.tanh(y)
        return self.b(y) + x

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(8, i in ALWAYS) for i in range(4)])

    def forward(self, x, past=None):
        for block in self.blocks:
            x = block(x, past)
        return x
"""


@pytest.mark.parametrize(("always", "groups"), [("()", 1), ("range(4)", 1), ("(0, 1)", 2), ("(0,)", 1)])
def test_an_operation_that_may_be_done_is_not_folded_with_one_that_is(tmp_path, always, groups):
    (tmp_path / "net.py").write_text(CONDITIONAL.replace("ALWAYS", always), encoding="utf-8")
    graph = modgraph.predict(f"{tmp_path / 'net.py'}:Net", inputs=["2x8"])
    found = {node.repeat.group for node in graph.modules if node.repeat and node.path.count(".") == 1}
    assert len(found) == groups
