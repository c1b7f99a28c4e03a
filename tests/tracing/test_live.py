"""A live model of the caller's, through the public functions."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

import modgraph
from modgraph.export.look.agreement import remarks_of
from modgraph.graph.index import GraphIndex

pytestmark = pytest.mark.needs_torch


class Scaled(nn.Module):
    def __init__(self, width: int = 4):
        super().__init__()
        self.fc = nn.Linear(width, 2)
        self.norm = nn.BatchNorm1d(2)

    def forward(self, x, depth=1.0, *, mode="sum"):
        y = self.norm(self.fc(x)) * depth
        return y.sum() if mode == "sum" else y


def test_a_lone_tensor_is_a_tuple_of_one():
    graph = modgraph.trace(Scaled(), torch.zeros(3, 4))
    assert graph.calls[0].inputs[0].shape == (3, 4)
    assert graph.complete


def test_arguments_of_the_model_may_be_named_like_options():
    graph = modgraph.trace(Scaled(), (torch.zeros(3, 4),), {"depth": torch.ones(()), "mode": "none"}, mode="eval")
    assert [given.name for given in graph.model.inputs] == ["x", "depth", "mode"]
    assert [output.shape for output in graph.calls[0].outputs] == [(3, 2)]


def test_without_arguments_inputs_are_inferred():
    graph = modgraph.trace(Scaled(width=7))
    assert graph.model.inputs[0].origin == "inferred"
    assert graph.calls[0].inputs[0].shape[-1] == 7


@pytest.mark.parametrize("device", ["cpu", "fake"])
@pytest.mark.parametrize("mode", ["eval", "train"])
@pytest.mark.parametrize("backward", [False, True])
def test_the_model_is_left_as_it_was(device, mode, backward):
    model = Scaled().train()
    model.fc.eval()
    before = copy.deepcopy(model.state_dict())
    flags = [module.training for module in model.modules()]
    attributes = [sorted(vars(module)) for module in model.modules()]
    state = torch.random.get_rng_state()
    graph = modgraph.trace(model, torch.randn(3, 4), device=device, mode=mode, backward=backward)
    assert graph.complete
    assert bool(graph.backward) == backward
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert [module.training for module in model.modules()] == flags
    assert [sorted(vars(module)) for module in model.modules()] == attributes
    assert all(parameter.grad is None for parameter in model.parameters())
    torch.random.set_rng_state(state)


def test_fake_says_the_same_shapes_as_cpu():
    real, fake = (modgraph.trace(Scaled(), torch.zeros(3, 4), device=device) for device in ("cpu", "fake"))
    assert [[t.shape for t in (*c.inputs, *c.outputs)] for c in real.calls] == [
        [t.shape for t in (*c.inputs, *c.outputs)] for c in fake.calls
    ]
    assert [(e.producer, e.consumer) for e in real.edges] == [(e.producer, e.consumer) for e in fake.edges]


def test_what_is_no_module_says_what_to_do():
    with pytest.raises(modgraph.InputError, match="not type"):
        modgraph.trace(Scaled)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_cuda_without_a_device_is_an_error_of_ours():
    with pytest.raises(modgraph.ModgraphError, match="cuda"):
        modgraph.trace(Scaled(), torch.zeros(3, 4), device="cuda")


def test_analyze_of_a_live_model_joins_both_halves():
    graph = modgraph.analyze(Scaled(), torch.zeros(3, 4))
    assert [(m.path, m.predicted, m.observed) for m in graph.modules] == [
        ("", True, True), ("fc", True, True), ("norm", True, True),
    ]  # fmt: skip
    assert graph.complete, graph.problems


def test_analyze_of_a_live_model_whose_arguments_are_not_known_predicts_no_more_than_it_can():
    graph = modgraph.analyze(Scaled(width=9), torch.zeros(3, 9))
    assert graph.complete, graph.problems
    (weight, _bias) = next(m for m in graph.modules if m.path == "fc").parameters
    assert weight.shape == (2, 9)


def test_analyze_of_a_live_model_whose_class_has_no_source():
    namespace: dict = {"nn": nn}
    exec("class Made(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(2, 2)\n"
         "    def forward(self, x):\n        return self.fc(x)", namespace)  # fmt: skip
    graph = modgraph.analyze(namespace["Made"](), torch.zeros(1, 2))
    assert (graph.predicted, graph.traced) == (False, True)
    assert [m.path for m in graph.modules] == ["", "fc"]
    assert signs(graph) == {}


class Deep(nn.Module):
    def __init__(self, depth=2, more=False, hidden=()):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(4, 4) for _ in range(depth))
        if more:
            self.more = nn.Linear(4, 4)
        self.hidden = [nn.Linear(4, 4) for _ in hidden]

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        for layer in self.hidden:
            x = layer(x)
        return x


def signs(graph: modgraph.Graph) -> dict[str, list[str]]:
    """What pictures and the summary say of its modules."""
    return {path: [each.state for each in said] for path, said in remarks_of(GraphIndex(graph)).items() if said}


@pytest.mark.parametrize("given", [{}, {"depth": 3}, {"depth": 1}])
def test_what_depends_on_how_a_live_model_was_built_is_no_remark(given: dict):
    graph = modgraph.analyze(Deep(**given), torch.zeros(1, 4))
    assert graph.complete, graph.problems
    assert signs(graph) == {}


def test_of_a_live_model_is_said_what_its_constructor_cannot_have_made():
    model = Deep()
    model.added = nn.Linear(4, 4)
    model.blocks[0].inner = nn.Linear(4, 4)
    graph = modgraph.analyze(model, torch.zeros(1, 4))
    told = {problem.module for problem in graph.problems}
    assert "added" in told
    assert {path for path, said in signs(graph).items() if "runtime only" in said} == told


def test_of_a_live_model_is_said_what_is_hidden():
    graph = modgraph.analyze(Deep(hidden=(1,)), torch.zeros(1, 4))
    assert "unregistered" in signs(graph)["hidden[0]"]


def test_a_failing_forward_leaves_the_calls_so_far():
    class Failing(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x):
            self.fc(x)
            raise ValueError("no such thing")

    graph = modgraph.trace(Failing(), torch.zeros(1, 4))
    assert [call.module for call in graph.calls] == ["", "fc"]
    assert "no such thing" in graph.problems[0].message


def test_tensors_do_not_reach_a_target():
    with pytest.raises(modgraph.InputError, match="process of its own"):
        modgraph.analyze("model.py:Net", torch.zeros(1))


def test_a_class_whose_module_is_nowhere_to_be_found_is_traced():
    kind = type("Net", (Scaled,), {"__module__": "gone.with.the.import"})
    graph = modgraph.trace(kind())
    assert graph.complete
    assert graph.model.inputs[0].origin == "inferred"


class BuiltLate(nn.Module):
    """Makes its layers when it first sees an input, as Keras does."""

    def __init__(self):
        super().__init__()
        self.built = False

    def forward(self, x):
        if not self.built:
            self.dense = nn.Sequential(nn.Linear(x.size(-1), 3), nn.ReLU())
            self.built = True
        return self.dense(x)


def test_a_layer_that_forward_registers_has_its_own_path_and_is_no_problem():
    graph = modgraph.analyze(BuiltLate(), torch.zeros(1, 5))
    assert [(m.path, m.registered, m.made_in_forward) for m in graph.modules] == [
        ("", True, False), ("dense", True, True), ("dense.0", True, True), ("dense.1", True, True),
    ]  # fmt: skip
    assert [call.module for call in graph.calls] == ["", "dense", "dense.0", "dense.1"]
    assert graph.complete, graph.problems


def test_a_scripted_module_keeps_its_flag():
    net = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))
    net[1].eval()
    scripted = torch.jit.script(net)
    before = [module.training for module in scripted.modules()]
    modgraph.trace(scripted, torch.zeros(1, 2))
    assert [module.training for module in scripted.modules()] == before == [True, True, False]
