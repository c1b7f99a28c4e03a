"""What a run tells of a tensor that a call gives back as it was: the last that gave it, and who may be meant as well."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytestmark = pytest.mark.needs_torch
torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 needs torch

import modgraph  # noqa: E402
from modgraph.graph.model import Graph  # noqa: E402


class Net(nn.Module):
    def __init__(self, forward):
        super().__init__()
        self.a, self.p, self.q, self.b = nn.Linear(4, 4), nn.Dropout(), nn.Identity(), nn.Linear(4, 4)
        self.w = nn.Parameter(torch.ones(4))
        self.run = forward

    def forward(self, x):
        return self.run(self, x)


def traced(forward, **options) -> Graph:
    graph = modgraph.trace(Net(forward), torch.rand(2, 4), **options)
    assert not graph.problems
    return graph


def into(graph: Graph, consumer: str) -> list[tuple[str, ...]]:
    """Of what comes to a call or operation, or goes out: the producer, then those that it may be in its stead."""
    names = {f"call:{each.index}": each.module for each in graph.calls}
    names |= {each.id: each.name.rpartition(".")[2] for each in graph.operations}
    edges = [each for each in graph.edges if names.get(each.consumer, each.consumer) == consumer]
    return [tuple(names.get(end, end) for end in (each.producer, *each.or_from)) for each in edges]


def plain(self, x):
    return self.b(self.a(x))


def behind_a_dropout(self, x):
    h = self.a(x)
    self.p(h)
    return self.b(h)


def behind_two(self, x):
    return self.b(self.q(self.p(self.a(x))))


def behind_one_twice(self, x):
    h = self.p(self.a(x))
    return self.b(self.p(h))


def of_the_input(self, x):
    return self.b(self.q(x))


def of_a_parameter(self, x):
    return self.b(self.q(self.w))


def written_behind_it(self, x):
    h = self.a(x)
    self.p(h).relu_()
    return self.b(h)


def copied_behind_it(self, x):
    return self.b(self.p(self.a(x)).clone())


def through_functions(self, x):
    h = torch.nn.functional.dropout(self.a(x), 0.5, self.training)
    return self.b(h.contiguous().float().to("cpu"))


TOLD = {
    plain: [("a",)],
    behind_a_dropout: [("p", "a")],
    behind_two: [("q", "p", "a")],
    behind_one_twice: [("p", "p", "a")],
    of_the_input: [("q", "input:x")],
    of_a_parameter: [("q", "param:w")],
    written_behind_it: [("relu_",)],
    copied_behind_it: [("clone",)],
    through_functions: [("a",)],
}


@pytest.mark.parametrize("device", ["cpu", "fake"])
@pytest.mark.parametrize("forward", TOLD)
def test_whoever_gave_the_same_tensor_before_is_named(forward, device):
    assert into(traced(forward, device=device), "b") == TOLD[forward]


def test_where_no_versions_are_counted():
    def inside(self, x):
        with torch.inference_mode():
            self.p(self.q(self.a(x)))  # the first of a class takes no shortcut
            self.q(x)
            return self.b(self.q(self.p(self.a(x))))

    assert into(traced(inside), "b") == [("q", "p", "a")]


def test_with_other_values_there_are_two_tensors():
    assert into(traced(behind_a_dropout, mode="train"), "b") == [("a",)]
    assert into(traced(behind_two, mode="train"), "b") == [("q", "p")]


def test_all_that_is_told_of_each_operation_has_it_too():
    """With statistics, no shortcut is taken."""
    for forward in TOLD:
        assert into(traced(forward, stats=True), "b") == TOLD[forward]
        assert traced(forward, verify=True).verification.proven


def test_it_is_written_and_read(tmp_path):
    graph = traced(behind_two)
    graph.save(tmp_path / "net.json")
    assert modgraph.load(tmp_path / "net.json").edges == graph.edges


def normal(self, x):
    mu = self.a(x)
    found = torch.distributions.Normal(mu, self.w.exp())
    return found.loc + 1, found.scale - 1, mu * 2


def beside_others(self, x):
    mu = self.a(x)
    found = torch.distributions.Uniform(0.0, mu.abs() + self.w)
    other = torch.distributions.Categorical(logits=mu)
    return found.high + 1, other.log_prob(other.logits.argmax(-1)) - 1, mu * 2


@pytest.mark.parametrize("forward", [normal, beside_others])
def test_views_that_torchs_own_code_asks_for_come_of_their_tensors(forward):
    graph = traced(forward, verify=True)
    assert graph.verification.proven
    assert not any("broadcast" in each.name for each in graph.operations)
    assert into(graph, "mul")[-1] == ("a",)
    assert into(graph, "add")[-1] == (("a",) if forward is normal else ("add",))
    assert forward is not normal or into(graph, "sub") == [("exp",)]


def test_those_that_the_model_asks_for_are_its_step():
    def forward(self, x):
        mu = self.a(x)
        same, wide = torch.broadcast_tensors(mu, self.w)
        return same + 1, wide - 1, mu * 2

    graph = traced(forward)
    assert [into(graph, name) for name in ("add", "sub", "mul")] == [
        [("broadcast_tensors", "a")],
        [("broadcast_tensors",)],
        [("broadcast_tensors", "a")],
    ]


LISTED = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.p, self.b = nn.Linear(4, 4), nn.Dropout(), nn.Linear(4, 4)

    def forward(self, xs):
        h = self.a({FIRST}) + self.a({SECOND})
        return h + self.b(self.p(h))
"""


@pytest.mark.parametrize(
    ("first", "second", "inputs"),
    [
        ("xs[0]", "xs[1]", ["xs[0]=2x4", "xs[1]=2x4"]),
        ("xs['one']", "xs['two']", ["xs.one=2x4", "xs.two=2x4"]),
        ("xs.one", "xs['two'][0]", ["xs.one=2x4", "xs.two[0]=2x4"]),
    ],
)
def test_it_is_settled_by_source_whatever_the_inputs_stand_in(tmp_path, first, second, inputs):
    path = tmp_path / "net.py"
    path.write_text(LISTED.replace("{FIRST}", first).replace("{SECOND}", second), encoding="utf-8")
    graph = modgraph.analyze(f"{path}:Net", inputs=inputs)
    assert not graph.problems
    assert not any(edge.or_from for edge in graph.edges)
    assert all(part.predicted for part in (*graph.calls, *graph.operations, *graph.edges))
    sums = [each.id for each in graph.operations if each.name.endswith("add")]
    assert sorted(edge.producer for edge in graph.edges if edge.consumer == sums[1]) == ["call:4", sums[0]]


class Same(nn.Module):
    def __init__(self, turns):
        super().__init__()
        self.a, self.p, self.turns, self.b = nn.Linear(4, 4), nn.Dropout(), turns, nn.Linear(4, 4)


class Passed(Same):
    def forward(self, x):
        h = self.a(x)
        for _ in range(self.turns):
            h = self.p(h)
        return self.b(h)


class Asked(Same):
    def forward(self, x):
        h, y = self.a(x), x
        for _ in range(self.turns):
            y = self.b(self.p(h)) + y
        return y


@pytest.mark.parametrize("kind", [Passed, Asked])
def test_how_much_is_told_grows_with_the_calls_and_no_faster(kind):
    sizes = []
    for turns in (40, 80, 120):
        graph = modgraph.trace(kind(turns).eval(), torch.ones(1, 4))
        named = sum(len(edge.or_from) for edge in graph.edges)
        sizes.append((named, len(graph.to_json().replace(" ", "")) // 1000))
    for first, second, third in zip(*sizes, strict=True):
        assert abs((third - second) - (second - first)) <= 3


def test_of_many_the_first_and_the_last_are_named(tmp_path):
    graph = modgraph.trace(Passed(20).eval(), torch.ones(1, 4))
    calls = {f"call:{each.index}": each.module for each in graph.calls}
    (edge,) = (each for each in graph.edges if calls.get(each.consumer) == "b")
    numbers = [int(end.removeprefix("call:")) for end in (edge.producer, *edge.or_from)]
    assert numbers == [21, 20, 19, 18, 17, 4, 3, 2, 1]
    assert edge.or_others
    graph.save(tmp_path / "net.json")
    assert modgraph.load(tmp_path / "net.json").edges == graph.edges


@pytest.mark.parametrize("turns", [8, 9])
def test_others_are_told_of_where_there_are_any(turns):
    """The one before them all is the layer that made the tensor."""
    graph = modgraph.trace(Passed(turns).eval(), torch.ones(1, 4))
    edge = next(each for each in graph.edges if each.consumer == f"call:{turns + 2}")
    assert edge.or_others is (turns > 8)
    assert len(edge.or_from) == 8


def test_a_diff_takes_those_that_are_not_named_for_any():
    """Which of twenty is read cannot be told, and a reader of the very first is no other way."""

    class Other(Same):
        def forward(self, x):
            h = g = self.a(x)
            for place in range(self.turns):
                h = self.p(h)
                g = h if place == 8 else g
            return self.b(g)

    one, two = (modgraph.trace(kind(20).eval(), torch.ones(1, 4)) for kind in (Passed, Other))
    first = [replace(each, or_from=(), or_others=False) for each in one.edges]
    read = [replace(each, producer="call:10") if each.consumer == "call:22" else each for each in first]
    settled = replace(one, edges=tuple(read))
    for olds, news in ((settled, two), (two, settled)):
        assert not modgraph.diff(olds, news).dataflow
