"""Arguments and results of every shape, and values that leave torch."""

import collections
import dataclasses

import numpy as np
import pytest
import torch
from torch import nn

import modgraph
from modgraph.options import TraceOptions

pytestmark = pytest.mark.needs_torch
X = torch.ones(2, 4)


class Net(nn.Module):
    def __init__(self, forward, **parts):
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part)
        self.function = forward

    def forward(self, x):
        return self.function(self, x)


def lin():
    return nn.Linear(4, 4)


@dataclasses.dataclass
class Pair:
    first: torch.Tensor
    second: list


Point = collections.namedtuple("Point", "left right")


@dataclasses.dataclass
class Output(collections.OrderedDict):
    """As mapping-like model outputs are: a dict whose entries are also fields."""

    logits: torch.Tensor = None
    hidden: tuple = None

    def __post_init__(self):
        for field in dataclasses.fields(self):
            if getattr(self, field.name) is not None:
                dict.__setitem__(self, field.name, getattr(self, field.name))


class Box:
    def __init__(self, value):
        self.value = value

    def __getattr__(self, name):
        raise AssertionError("a walk may not ask for attributes")

    def __eq__(self, other):
        raise AssertionError("nor compare")

    __hash__ = None

    @property
    def trap(self):
        raise AssertionError("nor run properties")


CONTAINERS = {
    "tuple": (lambda a, b: (a, b), ["output[0]", "output[1]"], ["0", "1"]),
    "list": (lambda a, b: [a, [b]], ["output[0]", "output[1][0]"], ["0", "1[0]"]),
    "ragged": (lambda a, b: [[a], [], [a, b]], ["output[0][0]", "output[2][1]"], ["0[0]", "2[1]"]),
    "dict": (lambda a, b: {"p": a, 3: b}, ["output['p']", "output[3]"], ["p", "3"]),
    "namedtuple": (lambda a, b: Point(a, b), ["output.left", "output.right"], ["left", "right"]),
    "dataclass": (lambda a, b: Pair(a, [b]), ["output.first", "output.second[0]"], ["first", "second[0]"]),
    "output": (lambda a, b: Output(a, (b,)), ["output.logits", "output.hidden[0]"], ["logits", "hidden[0]"]),
    "object": (lambda a, b: Box((a, b)), ["output.value[0]", "output.value[1]"], ["value[0]", "value[1]"]),
    "deque": (lambda a, b: collections.deque([a, b]), ["output[0]", "output[1]"], ["0", "1"]),
    "userdict": (lambda a, b: collections.UserDict(p=a, q=b), ["output['p']", "output['q']"], ["p", "q"]),
}


@pytest.mark.parametrize("kind", CONTAINERS)
def test_results_in_containers(traced, flows, kind):
    wrap, names, ends = CONTAINERS[kind]
    graph = traced(Net(lambda self, x: wrap(self.a(x), self.b(x)), a=lin(), b=lin()), X)
    assert [tensor.name for tensor in graph.calls[0].outputs] == names
    assert {f"a -> output:{ends[0]}", f"b -> output:{ends[1]}"} <= set(flows(graph))


@pytest.mark.parametrize("kind", CONTAINERS)
def test_containers_between_modules(traced, flows, kind):
    wrap, names, _ = CONTAINERS[kind]

    class Producer(nn.Module):
        def forward(self, x):
            return wrap(x * 1, x * 2)

    class Consumer(nn.Module):
        def forward(self, pair):
            return X * 3

    graph = traced(Net(lambda self, x: self.c(self.p(x)), p=Producer(), c=Consumer()), X)
    assert [tensor.name for tensor in graph.calls[2].inputs] == [n.replace("output", "pair", 1) for n in names]
    assert {"input:x -> p", "p -> c", "c -> output:0"} <= set(flows(graph))


def test_arguments_are_named_by_forward(traced):
    class Net(nn.Module):
        def forward(self, x, *rest, mask=None, **options):
            return x + rest[0] + mask + options["extra"][0]

    a, b, c = (torch.ones(2, 4) for _ in range(3))
    graph = traced(Net(), X, a, mask=b, extra=[c])
    names = ["x", "rest[0]", "mask", "extra[0]"]
    assert [tensor.name for tensor in graph.calls[0].inputs] == names
    assert [edge.producer for edge in graph.edges if edge.consumer == "call:0"] == [f"input:{name}" for name in names]
    assert [given.name for given in graph.model.inputs] == ["x", "rest[0]", "mask", "extra"]


def test_one_tensor_given_twice_is_named_for_its_first_place(traced):
    class Net(nn.Module):
        def forward(self, x, mask):
            return x + mask

    graph = traced(Net(), X, mask=X)
    assert [tensor.name for tensor in graph.calls[0].inputs] == ["x", "mask"]
    assert {edge.producer for edge in graph.edges if edge.consumer == "call:0"} == {"input:x"}


def test_keyword_arguments_only(traced, flows):
    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = lin()

        def forward(self, *, value, scale=1):
            return self.a(value) * scale

    graph = traced(Net(lambda self, x: self.inner(value=x, scale=2), inner=Inner()), X)
    assert flows(graph) == ["inner.a -> mul", "input:x -> inner.a", "mul -> output:0"]
    assert graph.calls[1].inputs[0].name == "value"


def test_no_tensor_input(traced, flows):
    class Positions(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(8, 4)

        def forward(self, n):
            return self.table(torch.arange(n))

    graph = traced(Positions(), 3)
    assert flows(graph) == ["arange -> table", "table -> output:0"]
    assert graph.model.inputs[0].literal == "3"


def test_no_tensor_output(traced, flows):
    class Shape(nn.Module):
        def forward(self, x):
            return tuple(x.shape)

    graph = traced(Net(lambda self, x: self.a(x).reshape(self.s(x)), a=lin(), s=Shape()), X)
    assert "input:x -> s" in flows(graph)
    assert graph.calls[2].outputs == ()


def test_distribution(traced, flows):
    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.m, self.s = lin(), lin()

        def forward(self, x):
            return torch.distributions.Normal(self.m(x), self.s(x).exp())

    edges = flows(traced(Net(lambda self, x: self.d(self.e(x).rsample()), e=Encoder(), d=lin()), X))
    assert {"e.s -> exp", "input:x -> e.m", "d -> output:0", "add -> d"} <= set(edges)
    assert any(edge.startswith("e.m -> ") for edge in edges)


def test_generator_whose_children_run_later(traced, calls, flows):
    class Lazily(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = lin(), lin()

        def forward(self, x):
            for layer in (self.a, self.b):
                yield layer(x)

    graph = traced(Net(lambda self, x: sum(self.g(x)), g=Lazily()), X)
    assert calls(graph) == ["", "g", "g.a", "g.b"]
    assert [call.parent for call in graph.calls] == [None, 0, 0, 0]
    assert {"input:x -> g.a", "g.a -> add", "g.b -> add#2"} <= set(flows(graph))


def test_packed_sequence(traced, flows):
    class Packed(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(4, 4)

        def forward(self, x):
            packed = nn.utils.rnn.pack_padded_sequence(x, [3, 2], enforce_sorted=True)
            out, _ = self.lstm(packed)
            return nn.utils.rnn.pad_packed_sequence(out)[0]

    edges = flows(traced(Packed(), torch.ones(3, 2, 4)))
    assert "_pack_padded_sequence -> lstm" in edges
    assert "lstm -> _pad_packed_sequence" in edges


def test_numpy_round_trip_that_shares_memory(traced, flows):
    graph = traced(Net(lambda self, x: self.b(torch.from_numpy(self.a(x).numpy())), a=lin(), b=lin()), X)
    assert "a -> b" in flows(graph)
    assert [gap.kind for gap in graph.gaps] == ["numpy"]


def test_numpy_round_trip_with_arithmetic_is_a_gap(traced, flows):
    graph = traced(Net(lambda self, x: self.b(torch.from_numpy(self.a(x).numpy() * 2)), a=lin(), b=lin()), X)
    assert "const:0 -> b" in flows(graph)
    assert [(gap.kind, gap.call) for gap in graph.gaps] == [("numpy", 0)]
    assert graph.complete
    graph = traced(Net(lambda self, x: self.b(torch.as_tensor(np.asarray(self.a(x)) * 2)), a=lin(), b=lin()), X)
    assert [gap.kind for gap in graph.gaps] == ["numpy"]


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (lambda y: y * y.sum().item(), "item"),
        (lambda y: torch.tensor(y.tolist()), "tolist"),
        (lambda y: y if y.sum() > 0 else -y, "bool"),
        (lambda y: y * float(y.sum()), "float"),
        (lambda y: y[: int(y.sum().abs() * 0) + 1], "int"),
        (lambda y: y * sum(1 for _ in range(torch.tensor(3))), "index"),
    ],
)
def test_values_that_leave_torch_are_gaps(traced, step, kind):
    graph = traced(Net(lambda self, x: self.b(step(self.a(x))), a=lin(), b=lin()), X)
    assert kind in [gap.kind for gap in graph.gaps]
    assert all(gap.source is not None and gap.source.file.endswith("test_values.py") for gap in graph.gaps)
    assert graph.complete


def test_iteration_over_a_tensor(traced, flows):
    graph = traced(Net(lambda self, x: sum(self.b(row) for row in self.a(x)), a=lin(), b=lin()), X)
    assert {"a -> unbind", "unbind -> b", "unbind -> b#2"} <= set(flows(graph))


def test_statistics_of_every_kind_of_tensor():
    from modgraph.tracing.recording.statistics import statistics_of

    def numbers(tensor):
        found = statistics_of(tensor)
        return found and (found.mean, found.std, found.min, found.max, found.numel)

    assert numbers(torch.tensor([1, 3])) == (2.0, 1.0, 1.0, 3.0, 2)
    assert numbers(torch.tensor([True, False])) == (0.5, 0.5, 0.0, 1.0, 2)
    assert numbers(torch.tensor([3 + 4j])) == (5.0, 0.0, 5.0, 5.0, 1)
    assert numbers(torch.empty(0, 3)) == (None, None, None, None, 0)
    assert numbers(torch.tensor([0.0, 2.0]).to_sparse()) == (2.0, 0.0, 2.0, 2.0, 2)
    assert numbers(torch.tensor([[0.0, 2.0]]).to_sparse_csr()) == (2.0, 0.0, 2.0, 2.0, 2)
    assert numbers(torch.quantize_per_tensor(torch.tensor([1.0, 3.0]), 1.0, 0, torch.quint8)) == (2.0, 1.0, 1.0, 3.0, 2)
    assert numbers(torch.ones(3, device="meta")) is None
    assert numbers(torch.full((100_000,), 300.0, dtype=torch.float16)) == (300.0, 0.0, 300.0, 300.0, 100_000)
    assert numbers(torch.full((9,), 3.0, dtype=torch.bfloat16))[:2] == (3.0, 0.0)
    assert numbers(torch.tensor([float("nan"), 1.0])) == (1.0, 0.0, 1.0, 1.0, 2)
    odd = statistics_of(torch.tensor([float("nan"), float("inf"), -float("inf"), 2.0, 4.0]))
    assert odd is not None
    assert (odd.mean, odd.std, odd.min, odd.max, odd.numel, odd.nan, odd.inf) == (3.0, 1.0, 2.0, 4.0, 5, 1, 2)
    none = statistics_of(torch.tensor([float("nan")]))
    assert none is not None
    assert (none.mean, none.numel, none.nan) == (None, 1, 1)
    assert numbers(torch.tensor(2.0, requires_grad=True)) == (2.0, 0.0, 2.0, 2.0, 1)
    nested = torch.nested.nested_tensor([torch.ones(2), torch.full((2,), 3.0)])
    assert numbers(nested) == (2.0, 1.0, 1.0, 3.0, 4)


def test_statistics_on_request_are_of_the_moment(traced):
    graph = traced(
        nn.Sequential(nn.Identity(), nn.ReLU(inplace=True)),
        torch.tensor([-1.0, 1.0]),
        options=TraceOptions(stats=True),
    )
    assert graph.calls[1].outputs[0].statistics.min == -1
    assert graph.calls[2].inputs[0].statistics.min == -1
    assert graph.calls[2].outputs[0].statistics.min == 0


class Claims:
    """Says that it is of a class that it is not of, as proxies do."""

    def __init__(self, kind):
        self.kind = kind

    @property
    def __class__(self):
        if self.kind is None:
            raise ValueError("asked for its class")
        return self.kind


@pytest.mark.parametrize("device", ["cpu", "fake"])
@pytest.mark.parametrize("kind", [dict, list, tuple, torch.Tensor, nn.Linear, torch.Generator, None])
def test_an_object_that_claims_to_be_of_another_class(kind, device):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(4, 4)
            self.held = [Claims(kind)]
            vars(self)["plain"] = Claims(kind)

        def forward(self, x, proxy):
            return self.lin(x), proxy

    for options in ({}, {"backward": True}, {"profile": True}, {"verify": device == "cpu"}):
        graph = modgraph.trace(Net(), (torch.ones(2, 4), Claims(kind)), device=device, **options)
        assert graph.problems == ()
        assert [call.module for call in graph.calls] == ["", "lin"]
