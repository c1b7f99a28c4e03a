"""What a verification may not condemn, what it may not prove, and edges that only a look at each side effect gives."""

from __future__ import annotations

import io
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

import modgraph
from modgraph.export.text.run import verification_text
from modgraph.graph.build import GraphBuilder
from modgraph.tracing import run as tracing_run
from modgraph.tracing.basics import tensors
from modgraph.tracing.recording import verification
from modgraph.tracing.restoring import fingerprints

pytestmark = [pytest.mark.needs_torch, pytest.mark.filterwarnings("ignore")]
X = torch.randn(2, 4)
GENERATOR = torch.Generator()


class Net(nn.Module):
    def __init__(self, forward, **parts):
        super().__init__()
        self.a, self.b, self.same = nn.Linear(4, 4), nn.Linear(4, 4), nn.Identity()
        for name, part in parts.items():
            setattr(self, name, part)
        self.function = forward

    def forward(self, *args):
        return self.function(self, *args)


def traced(forward, *args, parts=None, **options):
    return modgraph.trace(Net(forward, **(parts or {})), args or (X.clone(),), **options)


def proof(forward, *args, **options):
    return traced(forward, *args, verify=True, **options)


# What is right is not condemned


def views_of_one(self, first, second):
    return self.same(first) + 1, second + 2


def given_back_beside_others(self, x):
    a, b = torch.broadcast_tensors(self.a(x), torch.ones(4))
    return a * 2, b * 2


def a_distribution(self, x):
    return torch.distributions.Normal(self.a(x), 1.0).rsample()


def filled_by_index(self, x):
    out = torch.empty(3, 4)
    for row in range(3):
        out[row] = self.a(x)[0]
    return out


def grown(self, x):
    y = self.a(x) * 1
    y.resize_(64, 4)
    y[2:] = 0
    return y


def never_written(self, x):
    return self.a(x) + torch.empty_like(x).mul(0).nan_to_num(0)


def own_generator(self, x):
    torch.rand(2, 4, generator=GENERATOR)
    return self.a(x) + torch.rand(2, 4, generator=GENERATOR)


def other_default_type(self, x):
    torch.set_default_dtype(torch.float64)
    y = torch.ones(4)
    torch.set_default_dtype(torch.float32)
    return self.a(x) + y


def shared_with_numpy(self, x):
    y = self.a(x)
    torch.from_numpy(y.detach().numpy()[1:]).mul_(2)
    return self.b(y)


ONE = torch.randn(8)


@pytest.mark.parametrize(
    ("forward", "args"),
    [
        (views_of_one, (ONE[:4], ONE[4:])),
        (views_of_one, tuple(torch.randn(4, 2).unbind(1))),
        *(
            (forward, ())
            for forward in (
                *(given_back_beside_others, a_distribution, filled_by_index, grown, never_written, own_generator),
                *(other_default_type, shared_with_numpy),
            )
        ),
    ],
)
def test_what_is_right_is_not_condemned(forward, args):
    graph = proof(forward, *args)
    assert graph.problems == ()
    assert graph.verification.proven


def test_threads_share_the_record():
    def forward(self, x):
        def work(module):
            for _ in range(5):
                y = module(x)
            return y

        with ThreadPoolExecutor(4) as pool:
            return sum(pool.map(work, self.many))

    many = nn.ModuleList(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)) for _ in range(4))
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(3):
            graph = proof(forward, parts={"many": many})
            assert graph.problems == ()
            assert graph.verification.proven
    finally:
        sys.setswitchinterval(before)


# What is not known is not proven


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.w, self.v = nn.Parameter(torch.rand(4, 4)), nn.Parameter(torch.rand(4, 4))

    def forward(self, x):
        return torch.softmax((x @ self.w) @ (x @ self.v).T, -1) @ x


@pytest.mark.parametrize("model", [Attention(), nn.Sequential(Attention())])
def test_edges_inside_a_leaf_are_needed(model, monkeypatch):
    def without(graph, recipes, *more):
        builder = GraphBuilder.of(graph)
        builder.edges[:] = [
            edge for edge in graph.edges if not (edge.producer.startswith("op:") and edge.consumer.startswith("op:"))
        ]
        return verification.verified(builder.build(), recipes, *more)

    assert modgraph.trace(model, (X,), verify=True).verification.proven
    monkeypatch.setattr(tracing_run, "verified", without)
    assert not modgraph.trace(model, (X,), verify=True).verification.proven


def saved_and_loaded(self, x):
    file = io.BytesIO()
    torch.save(self.a(x), file)
    file.seek(0)
    return self.b(torch.load(file))


@pytest.mark.parametrize(
    ("forward", "at_least"),
    [
        (lambda self, x: self.b(torch.tensor(self.a(x).tolist())), 1),
        (lambda self, x: self.b(torch.from_numpy(self.a(x).numpy() * 2)), 2),
        (saved_and_loaded, 2),
    ],
)
def test_what_went_round_outside_is_a_gap_of_the_proof(forward, at_least):
    graph = proof(forward)
    assert graph.verification.gaps >= at_least
    assert graph.to_json()
    from modgraph.export.text.table import Pen

    assert verification_text(graph, 100, Pen(color=False))[0].startswith("verified with ")


@pytest.mark.parametrize(
    "forward",
    [
        lambda self, x: {self.a(x)},
        lambda self, x: iter((self.a(x),)),
        lambda self, x: (self.a(x) for _ in range(2)),
    ],
)
def test_nothing_compared_is_nothing_proven(forward):
    graph = proof(forward)
    assert not graph.verification.proven
    assert [gap.kind for gap in graph.gaps] == ["output"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.complex64])
def test_one_changed_value_of_many_is_told(dtype):
    values = torch.randn(400_000, generator=torch.Generator().manual_seed(0)).to(dtype)
    other, swapped, rounded = values.clone(), values.clone(), values.clone()
    other[123_456] += 2 * values.abs().max()
    swapped[100], swapped[101] = values[101] * 1, values[100] * 1
    rounded *= 1 + 1e-7
    before = fingerprints.fingerprint(values)
    assert fingerprints.difference(before, fingerprints.fingerprint(other)) is not None
    assert fingerprints.difference(before, fingerprints.fingerprint(rounded)) is None
    if dtype is torch.float32:
        assert fingerprints.difference(before, fingerprints.fingerprint(swapped)) is not None
    other[123_456] = torch.nan
    assert "NaN" in fingerprints.difference(before, fingerprints.fingerprint(other))


class Wrap(torch.Tensor):
    """A tensor that holds another and hands every function on to it."""

    @staticmethod
    def __new__(cls, inner):
        made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        bare = [item.inner if isinstance(item, Wrap) else item for item in args]
        return Wrap(func(*bare, **(kwargs or {})))


def test_a_tensor_around_another_comes_from_what_made_that(flows):
    graph = proof(lambda self, x: self.b((Wrap(self.a(x)) * 2).inner))
    assert flows(graph) == ["a -> mul", "b -> output:0", "input:args[0] -> a", "mul -> b"]
    assert graph.problems == ()
    assert not graph.verification.proven or graph.verification.gaps


def test_what_a_step_used_is_let_go(monkeypatch):
    most = 0
    hold = verification._Rerun._hold

    def counted(self, slot, tensor):
        nonlocal most
        hold(self, slot, tensor)
        most = max(most, len(self._made))

    def forward(self, x):
        for _ in range(20):
            x = torch.relu(x) + 1
        return self.a(x)

    monkeypatch.setattr(verification._Rerun, "_hold", counted)
    assert proof(forward).verification.proven
    assert most <= 4


# Edges of side effects


def statistics_of_a_layer(self, x):
    return self.bn(x) + self.bn.running_mean


def rows_kept_small(self, x):
    self.rows(torch.ones(1, dtype=torch.long))
    return x @ self.rows.weight.T


def applied(self, x):
    y = self.a(x) * 1
    y.apply_(lambda value: value + 1)
    return y * 2


def values_of_a_sparse_one(self, x):
    y = self.a(x).to_sparse()
    y._values().mul_(2)
    return y.to_dense()


def gradient(self, x):
    with torch.enable_grad():
        (x @ self.a.weight.T).sum().backward()
    return x @ self.a.weight.grad


@pytest.mark.parametrize(
    ("forward", "edge", "mode"),
    [
        (statistics_of_a_layer, "bn -> add", "train"),
        (rows_kept_small, "rows -> T", "eval"),
        (applied, "apply_ -> mul#2", "eval"),
        (values_of_a_sparse_one, "mul_ -> to_dense", "eval"),
        (gradient, "backward -> matmul#2", "eval"),
    ],
)
def test_what_is_written_on_the_side_has_its_edge(forward, edge, mode, flows):
    parts = {"bn": nn.BatchNorm1d(4), "rows": nn.Embedding(3, 4, max_norm=0.1)}
    graph = proof(forward, mode=mode, parts=parts)
    assert edge in flows(graph)
    assert graph.verification.differences == ()


def test_weights_written_into_a_scripted_layer_lead_to_its_call(flows):
    def forward(self, x):
        with torch.no_grad():
            self.scripted.weight.copy_(torch.eye(4) * x.mean())
        return self.scripted(x)

    graph = proof(forward, parts={"scripted": torch.jit.script(nn.Linear(4, 4))})
    assert "copy_ -> scripted" in flows(graph)
    assert [info.name for info in graph.calls[1].inputs] == ["input"]
    assert graph.verification.proven


def test_no_argument_is_one_too_many():
    graph = traced(lambda self, x: torch.block_diag(*[x * 1 for _ in range(1100)]))
    assert sum(edge.consumer == graph.operations[-1].id for edge in graph.edges) == 1100


def test_what_is_not_looked_at_is_said(monkeypatch):
    monkeypatch.setattr(tensors, "MAX_VISITED", 50)
    given = [[X.clone()] for _ in range(100)]
    graph = traced(lambda self, x: self.same(x)[0][0] * 2, given)
    assert "limit" in {gap.kind for gap in graph.gaps}
    few = traced(lambda self, x: torch.stack([x * 1 for _ in range(60)]))
    assert few.gaps == ()
    assert sum(edge.consumer == few.operations[-1].id for edge in few.edges) == 60


def test_rows_written_through_views_cost_an_edge_each():
    def forward(self, x):
        out = torch.zeros(100, 4)
        for row in out.unbind():
            row.copy_(x[0])
        return sum(out[row] for row in range(100))

    assert len(proof(forward).edges) < 800


def test_a_model_without_calls_is_the_leaf_and_its_operations_have_edges_among_themselves(flows):
    class Plain(nn.Module):
        def forward(self, x):
            return (x + 1).mul(2)

    assert flows(proof_of(Plain())) == ["add -> mul", "input:x -> root", "root -> output:0"]


def proof_of(model):
    graph = modgraph.trace(model, (X.clone(),), verify=True)
    assert graph.verification.proven
    return graph


def test_statistics_are_taken_anew_after_every_write():
    def forward(self, x):
        y = x * 1
        self.same(y)
        y.data.mul_(10)
        self.same(y)
        array = y.numpy()
        array *= 10
        self.same(y)
        return y

    graph = traced(forward, torch.ones(2, 4), stats=True)
    assert [call.inputs[0].statistics.mean for call in graph.calls[1:]] == [1.0, 10.0, 100.0]
