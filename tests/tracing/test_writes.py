"""Dataflow through in-place writes, views, buffers, and steps that give back what they were given."""

import pytest
import torch
from torch import nn

pytestmark = pytest.mark.needs_torch
X = torch.ones(2, 4)


class Net(nn.Module):
    """A model whose forward is a function of itself and x."""

    def __init__(self, forward, **parts):
        super().__init__()
        for name, part in parts.items():
            if isinstance(part, torch.Tensor) and not isinstance(part, nn.Parameter):
                self.register_buffer(name, part)
            else:
                setattr(self, name, part)
        self.function = forward

    def forward(self, x):
        return self.function(self, x)


def lin():
    return nn.Linear(4, 4)


def test_write_through_a_view_reaches_a_later_reader_of_the_base(traced, flows):
    def forward(self, x):
        y = self.a(x)
        y[0].add_(1)
        return self.b(y)

    assert flows(traced(Net(forward, a=lin(), b=lin()), X)) == [
        "__getitem__ -> add_",
        "a -> __getitem__",
        "a -> b",
        "add_ -> b",
        "b -> output:0",
        "input:x -> a",
    ]


def test_write_into_the_base_reaches_a_reader_of_an_old_view(traced, flows):
    def forward(self, x):
        y = self.a(x)
        view = y[0]
        y.mul_(2)
        return self.b(view)

    assert {"__getitem__ -> b", "mul_ -> b"} <= set(flows(traced(Net(forward, a=lin(), b=lin()), X)))


def test_writes_into_other_parts_do_not_reach_a_view(traced, flows):
    def forward(self, x):
        y = self.a(x)
        first, second = y[0], y[1]
        first.zero_()
        return self.b(second)

    edges = flows(traced(Net(forward, a=lin(), b=lin()), X))
    assert "zero_ -> b" not in edges
    assert "__getitem__#2 -> b" in edges


def test_setitem_into_a_fresh_buffer(traced, flows):
    def forward(self, x):
        buffer = torch.zeros(2, 4)
        buffer[0] = self.a(x)[0]
        return buffer[0]

    edges = flows(traced(Net(forward, a=lin()), X))
    assert {"zeros -> __setitem__", "__getitem__ -> __setitem__", "a -> __getitem__"} <= set(edges)
    assert {"__setitem__ -> __getitem__#2", "__getitem__#2 -> output:0"} <= set(edges)


def test_out_argument(traced, flows):
    def forward(self, x):
        out = torch.empty(2, 4)
        torch.add(self.a(x), 1, out=out)
        return self.b(out)

    edges = flows(traced(Net(forward, a=lin(), b=lin()), X))
    assert {"a -> add", "add -> b"} <= set(edges)
    assert "empty -> add" not in edges


class MutatesAndReturnsNone(nn.Module):
    def forward(self, x):
        x.mul_(2)


def test_module_that_changes_its_input_and_returns_none(traced, flows, calls):
    def forward(self, x):
        y = self.a(x)
        self.m(y)
        return self.b(y)

    graph = traced(Net(forward, a=lin(), m=MutatesAndReturnsNone(), b=lin()), X)
    assert calls(graph) == ["", "a", "m", "b"]
    assert flows(graph) == ["a -> m", "b -> output:0", "input:x -> a", "m -> b"]


def test_inplace_activation_of_torch(traced, flows):
    graph = traced(Net(lambda self, x: self.r(y := self.a(x)) + y, a=lin(), r=nn.ReLU(inplace=True)), X)
    assert flows(graph) == ["a -> r", "add -> output:0", "input:x -> a", "r -> add"]


def test_registered_buffer_written_then_read(traced, flows):
    def forward(self, x):
        self.state.copy_(x)
        return self.state + 1

    graph = traced(nn.Sequential(Net(forward, state=torch.zeros(2, 4)), lin()), X)
    assert flows(graph) == ["0 -> 1", "1 -> output:0", "copy_ -> add", "input:input -> 0"]
    inside = traced(Net(lambda s, x: s.lin(forward(s, x)), state=torch.zeros(2, 4), lin=lin()), X)
    assert flows(inside) == ["add -> lin", "copy_ -> add", "input:x -> copy_", "lin -> output:0"]


def test_data_attribute_keeps_the_flow(traced, flows):
    graph = traced(Net(lambda self, x: self.b(self.a(x).data), a=lin(), b=lin()), X)
    assert flows(graph) == ["a -> data", "b -> output:0", "data -> b", "input:x -> a"]


def test_view_of_a_parameter_is_returned_and_the_parameter_read_again(traced, flows):
    def forward(self, x):
        transposed = self.a.weight.t()
        return self.b(x @ transposed) @ self.a.weight

    graph = traced(Net(forward, a=lin(), b=lin()), X)
    assert "param:a.weight -> t" in flows(graph)
    assert "param:a.weight -> matmul#2" in flows(graph)
    assert "t -> matmul#2" not in flows(graph)


def test_module_that_returns_a_view_of_its_parameter(traced, flows):
    class Weight(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(4, 4))

        def forward(self):
            return self.w.t()

    graph = traced(Net(lambda self, x: x @ self.g(), g=Weight()), X)
    assert flows(graph) == ["g -> matmul", "input:x -> matmul", "matmul -> output:0"]


def test_identity_and_the_original_both_used(traced, flows):
    def forward(self, x):
        y = self.a(x)
        return self.i(y) + self.b(y)

    graph = traced(Net(forward, a=lin(), i=nn.Identity(), b=lin()), X)
    assert {"a -> i", "i -> add", "b -> add"} <= set(flows(graph))


def test_identity_of_the_input(traced, flows):
    graph = traced(Net(lambda self, x: self.a(self.i(x)), i=nn.Identity(), a=lin()), X)
    assert flows(graph) == ["a -> output:0", "i -> a", "input:x -> i"]


def test_dropout_in_eval_is_a_step(traced, flows):
    graph = traced(nn.Sequential(lin(), nn.Dropout(), lin()), X)
    assert flows(graph) == ["0 -> 1", "1 -> 2", "2 -> output:0", "input:input -> 0"]


@pytest.mark.parametrize("step", [lambda t: t.to(torch.float32), lambda t: t.contiguous(), lambda t: t.float()])
def test_conversion_that_changes_nothing_is_no_step(traced, flows, step):
    graph = traced(Net(lambda self, x: self.b(step(self.a(x))), a=lin(), b=lin()), X)
    assert graph.operations == ()
    assert flows(graph) == ["a -> b", "b -> output:0", "input:x -> a"]


def test_only_the_shape_is_read(traced, flows):
    def forward(self, x):
        y = self.a(x)
        z = self.b(x)
        return z.reshape_as(y) + torch.zeros_like(y) + z.type_as(y.double()).expand_as(y)

    edges = flows(traced(Net(forward, a=lin(), b=lin()), X))
    assert "a -> reshape_as" not in edges
    assert "a -> zeros_like" not in edges
    assert "a -> expand_as" not in edges
    assert {"b -> reshape_as", "reshape_as -> add", "zeros_like -> add"} <= set(edges)


def test_many_writes_into_one_tensor_stay_linear(traced):
    def forward(self, x):
        y = torch.zeros(300, 4)
        for i in range(300):
            y[i] = self.a(x)[0]
        return self.b(y)

    graph = traced(Net(forward, a=lin(), b=lin()), X)
    assert len(graph.edges) < 300 * 6


def test_kv_cache_written_and_read_step_by_step(traced, flows):
    class Cached(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = lin(), lin()
            self.register_buffer("cache", torch.zeros(3, 2, 4))

        def forward(self, x):
            for step in range(3):
                self.cache[step] = self.a(x)
                x = self.b(self.cache[: step + 1].sum(0))
            return x

    edges = set(flows(traced(Cached(), X)))
    assert {"param:cache -> __setitem__", "__setitem__ -> __getitem__", "sum -> b", "b -> a#2"} <= edges
    assert {"__setitem__#2 -> __getitem__#2", "sum#2 -> b#2", "b#3 -> output:0"} <= edges


def test_parameter_written_in_forward_is_restored(traced):
    class MaxNorm(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.full((4, 4), 3.0))
            self.v = nn.Parameter(torch.full((4, 4), 3.0))

        def forward(self, x):
            with torch.no_grad():
                self.w.clamp_(max=1)
            self.v.data = torch.renorm(self.v.data, 2, 0, 1.0)
            return x @ self.w @ self.v

    traced(MaxNorm(), X)


def test_embedding_with_max_norm_is_restored(traced):
    traced(nn.Embedding(5, 4, max_norm=0.1), torch.arange(5))


def test_input_changed_in_place_is_restored(traced, flows):
    graph = traced(Net(lambda self, x: self.a(x.mul_(2)), a=lin()), torch.ones(2, 4))
    assert flows(graph) == ["a -> output:0", "input:x -> mul_", "mul_ -> a"]


def rows_written_one_by_one(n):
    def forward(self, x):
        out = torch.zeros(n, 2, 4)
        rows = [out[index] for index in range(n)]
        for index in range(n):
            out[index] = self.a(x)
        return self.b(rows[0])

    return Net(forward, a=lin(), b=lin())


def test_a_row_view_hears_of_the_write_into_its_own_row_only(traced):
    graph = traced(rows_written_one_by_one(100), X)
    (last,) = (f"call:{call.index}" for call in graph.calls if call.module == "b")
    names = {operation.id: operation.name.rpartition(".")[2] for operation in graph.operations}
    assert sorted(names[edge.producer] for edge in graph.edges if edge.consumer == last) == [
        "__getitem__",
        "__setitem__",
    ]


def test_a_cache_filled_step_by_step_under_kept_views_has_linear_edges(traced):
    def steps(n):
        def forward(self, x):
            keys = torch.zeros(n, 4)
            views, y = [keys[: step + 1] for step in range(n)], x[:1]
            for step in range(n):
                keys[step] = self.a(y)[0]
                y = self.b(views[step].mean(0, keepdim=True))
            return y

        return len(traced(Net(forward, a=lin(), b=lin()), X).edges)

    assert steps(60) < 2.2 * steps(30)


def test_places_that_lie_apart_have_no_element_in_common():
    import itertools

    from modgraph.tracing.recording.dataflow import _lie_apart, place

    base = torch.arange(48).view(4, 3, 4)
    rows = [
        base[i:j, k:m, n:o]
        for i, j in ((0, 2), (1, 4))
        for k, m in ((0, 1), (1, 3))
        for n, o in ((0, 2), (1, 2), (2, 4))
    ]
    rows += [base[1], base[:, 1], base[:, :, 3], base[2, 1:], base.view(-1)[5:30], base.view(-1)[::2], base.mT[1:2]]
    rows += [
        base.flatten(1)[:, 6:],
        base.diagonal(0, 0, 1),
        base.as_strided((3, 3), (1, 1)),
        base.expand(2, 4, 3, 4)[:, :2],
    ]
    n_apart = 0
    for a, b in itertools.product(rows, rows):
        share = not set(a.flatten().tolist()).isdisjoint(b.flatten().tolist())
        (low, high, lattice), (first, last, other) = place(a), place(b)
        if lattice or other:
            apart = _lie_apart(lattice or (low, high), other or (first, last))
            assert not (apart and share)
            n_apart += apart
    assert n_apart > 100


def test_writes_through_separate_views_all_reach_the_base(traced, flows):
    def forward(self, x):
        out = torch.zeros(3, 2, 4)
        for row in out.unbind():
            row.copy_(self.a(x))
        return self.b(out)

    edges = flows(traced(Net(forward, a=lin(), b=lin()), X))
    assert {"copy_ -> b", "copy_#2 -> b", "copy_#3 -> b"} <= set(edges)


def test_a_write_by_index_tensor_reaches_every_view(traced, flows):
    def forward(self, x):
        out = torch.zeros(3, 4)
        row = out[2]
        out[torch.tensor([0, 2])] = self.a(x)
        return self.b(row)

    assert "__setitem__ -> b" in flows(traced(Net(forward, a=lin(), b=lin()), X))


def test_memory_that_was_exported_and_freed_is_not_taken_for_what_comes_after():
    import numpy

    from modgraph.tracing.recording.dataflow import Dataflow

    memory, dataflow = numpy.zeros(4), Dataflow()
    tensor = torch.from_numpy(memory)
    dataflow.bind(tensor, ("op:0",))
    dataflow.export(tensor)
    assert dataflow.arrival(torch.from_numpy(memory))[0] == ("op:0",)
    del tensor
    assert dataflow.arrival(torch.from_numpy(memory))[0] == ("const:0",)
    dataflow.release()
