"""Modules of every kind and in every place: which are found, how they are named, that their calls are seen."""

import collections
import copy
import functools
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from modgraph.options import TraceOptions
from modgraph.tracing import trace_graph
from modgraph.tracing.recording.tree import Tree

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


def node(graph, path):
    return next(node for node in graph.modules if node.path == path)


def test_one_module_under_two_names(traced, calls):
    a = nn.Sequential(lin())
    graph = traced(Net(lambda self, x: self.second(self.first(x)), first=a, second=a), X)
    assert [(n.path, n.alias_of) for n in graph.modules] == [
        ("", None),
        ("first", None),
        ("first.0", None),
        ("second", "first"),
        ("second.0", "first.0"),
    ]
    assert calls(graph) == ["", "first", "first.0", "first", "first.0"]
    assert graph.model.parameters == 20


def test_tied_parameters(traced):
    net = Net(lambda self, x: self.head(self.a(x)), a=lin(), head=lin())
    net.head.weight = net.a.weight
    graph = traced(net, X)
    weight, bias = node(graph, "head").parameters
    assert (weight.alias_of, bias.alias_of) == ("a.weight", None)
    assert graph.model.parameters == 24


def test_called_repeatedly(traced, calls, flows):
    graph = traced(Net(lambda self, x: self.a(self.a(self.a(x))), a=lin()), X)
    assert node(graph, "a").calls == (1, 2, 3)
    assert flows(graph) == ["a -> a#2", "a#2 -> a#3", "a#3 -> output:0", "input:x -> a"]


def test_module_that_calls_itself(traced, calls):
    class Recursive(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = lin()

        def forward(self, x, depth=2):
            return self.a(x) if depth == 0 else self(x, depth - 1)

    graph = traced(Recursive(), X)
    assert [(call.module, call.parent) for call in graph.calls] == [("", None), ("", 0), ("", 1), ("a", 2)]


HIDDEN = {
    "list": (lambda m: {"blocks": [m]}, lambda s: s.blocks[0], "blocks[0]"),
    "nested": (lambda m: {"blocks": [1, (m,)]}, lambda s: s.blocks[1][0], "blocks[1][0]"),
    "dict": (lambda m: {"heads": {"a.b": m}}, lambda s: s.heads["a.b"], "heads['a.b']"),
    "set": (lambda m: {"bag": {m}}, lambda s: next(iter(s.bag)), "bag[0]"),
    "deque": (lambda m: {"queue": collections.deque([m])}, lambda s: s.queue[0], "queue[0]"),
    "closure": (lambda m: {"fn": lambda x: m(x)}, lambda s: s.fn, "fn.closure['m']"),
    "partial": (lambda m: {"fn": functools.partial(apply, m=m)}, lambda s: s.fn, "fn.keywords['m']"),
    "method": (lambda m: {"fn": m.forward}, lambda s: s.fn.__self__, "fn.__self__"),
    "default": (lambda m: {"fn": lambda x, m=m: m(x)}, lambda s: s.fn, "fn.__defaults__[0]"),
    "object": (lambda m: {"box": Box(m)}, lambda s: s.box.inner, "box.inner"),
    "slots": (lambda m: {"box": Slotted(m)}, lambda s: s.box.inner, "box.inner"),
    "namedtuple": (lambda m: {"pair": Point(m)}, lambda s: s.pair.only, "pair.only"),
}


def apply(x, m):
    return m(x)


class Box:
    def __init__(self, inner):
        self.inner = inner

    def __eq__(self, other):
        raise AssertionError("a walk may not compare")

    __hash__ = None

    def __getattr__(self, name):
        raise AssertionError("a walk may not ask for attributes")


class Slotted:
    __slots__ = ("inner", "never_set")

    def __init__(self, inner):
        self.inner = inner


Point = collections.namedtuple("Point", "only")


@pytest.mark.parametrize("kind", HIDDEN)
def test_module_hidden_in(traced, calls, flows, kind):
    hide, find, path = HIDDEN[kind]
    net = Net(lambda self, x: find(self)(self.a(x)), a=lin())
    hidden = nn.Sequential(lin())
    for name, value in hide(hidden).items():
        net.__dict__[name] = value
    graph = traced(net, X)
    assert (node(graph, path).registered, node(graph, f"{path}.0").registered) == (False, True)
    assert calls(graph) == ["", "a", path, f"{path}.0"]
    assert flows(graph) == sorted([f"a -> {path}.0", "input:x -> a", f"{path}.0 -> output:0"])
    assert graph.model.parameters == 20


def test_module_on_the_class(traced, calls):
    class WithClassLevel(nn.Module):
        layer = lin()

        def forward(self, x):
            return self.layer(x)

    graph = traced(WithClassLevel(), X)
    assert calls(graph) == ["", "layer"]
    assert not node(graph, "layer").registered


def test_shared_hidden_modules_are_aliases(traced):
    net = Net(lambda self, x: [b(x) for b in self.blocks][-1])
    net.blocks = [lin()] * 2
    assert [(n.path, n.alias_of) for n in traced(net, X).modules] == [
        ("", None),
        ("blocks[0]", None),
        ("blocks[1]", "blocks[0]"),
    ]


def test_registered_module_kept_in_a_list_too_is_not_hidden(traced):
    net = Net(lambda self, x: self.order[0](x), a=lin())
    net.order = [net.a]
    net.owner = [net]
    assert [n.path for n in traced(net, X).modules] == ["", "a"]


def test_hidden_module_hides_another(traced, calls):
    inner = Net(lambda self, x: self.more[0](x))
    inner.more = [lin()]
    net = Net(lambda self, x: self.blocks[0](x))
    net.blocks = [inner]
    assert calls(traced(net, X)) == ["", "blocks[0]", "blocks[0].more[0]"]


def test_module_made_in_forward(traced, calls):
    graph = traced(Net(lambda self, x: nn.Sequential(lin())(lin()(lin()(x)))), X)
    assert calls(graph) == ["", "<Linear>[0]", "<Linear>[1]", "<Sequential>[0]", "<Sequential>[0].0"]
    assert [n.registered for n in graph.modules] == [True, False, False, False, True]


def test_module_made_in_forward_of_a_child_stands_below_it(traced, calls):
    inner = Net(lambda self, x: lin()(x))
    assert calls(traced(nn.Sequential(inner), X)) == ["", "0", "0.<Linear>[0]"]


def test_module_deepcopied_in_forward(traced, calls):
    graph = traced(Net(lambda self, x: copy.deepcopy(self.a)(x), a=lin()), X)
    assert calls(graph) == ["", "<Linear>[0]"]
    assert node(graph, "a").calls == ()


def test_forward_called_directly_on_leaf_and_container(traced, flows):
    graph = traced(
        Net(lambda self, x: self.seq.forward(self.a.forward(x)), a=lin(), seq=nn.Sequential(lin(), nn.ReLU())), X
    )
    assert [(c.module, c.direct) for c in graph.calls] == [
        ("", False),
        ("a", True),
        ("seq", True),
        ("seq.0", False),
        ("seq.1", False),
    ]
    assert "a -> seq.0" in flows(graph)


def test_super_forward_is_no_call_of_its_own(traced, calls):
    class Scaled(nn.Linear):
        def forward(self, x):
            return super().forward(x) * 2

    graph = traced(Net(lambda self, x: self.s(x), s=Scaled(4, 4)), X)
    assert calls(graph) == ["", "s"]


def test_other_method_uses_parameters_directly(traced, flows):
    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(4, 4))

        def encode(self, x):
            return x @ self.w

    graph = traced(Net(lambda self, x: self.e.encode(x), e=Encoder()), X)
    # The root called nobody, so it is the leaf, and what it uses is its own.
    assert [call.module for call in graph.calls] == [""]
    assert flows(graph) == ["input:x -> root", "root -> output:0"]
    graph = traced(Net(lambda self, x: self.a(self.e.encode(x)), e=Encoder(), a=lin()), X)
    assert {"input:x -> matmul", "param:e.w -> matmul", "matmul -> a"} <= set(flows(graph))


def test_parameter_of_a_container_used_directly(traced, flows):
    net = Net(lambda self, x: self.a(x) * self.scale, a=lin())
    net.scale = nn.Parameter(torch.ones(4))
    assert flows(traced(net, X)) == ["a -> mul", "input:x -> a", "mul -> output:0", "param:scale -> mul"]


def test_own_parameters_of_a_leaf_are_no_edges(traced, flows):
    class Leaf(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(4, 4))
            self.b = nn.Parameter(torch.ones(4))

        def forward(self, x):
            return x @ self.w + self.b

    graph = traced(Net(lambda self, x: self.l(x), l=Leaf()), X)
    assert flows(graph) == ["input:x -> l", "l -> output:0", "matmul -> add"]
    assert [op.call for op in graph.operations] == [1, 1]


def test_replaced_forward(traced, calls, flows):
    net = Net(lambda self, x: self.a(x), a=lin())
    inner = lin()
    net.a.forward = lambda x: inner(x) + 1
    graph = traced(net, X)
    assert calls(graph) == ["", "a", "a.forward.closure['inner']"]
    assert "a.forward.closure['inner'] -> add" in flows(graph)


def test_parameter_list(traced, flows):
    parameters = nn.ParameterList([torch.ones(4), torch.ones(4)])
    net = Net(lambda self, x: self.a(x) * self.ps[0] + self.ps[1], ps=parameters, a=lin())
    assert {"param:ps.0 -> mul", "param:ps.1 -> add", "mul -> add"} <= set(flows(traced(net, X)))


def test_lazy_module_is_lazy_again(traced, calls):
    net = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d())
    graph = traced(net, X)
    assert calls(graph) == ["", "0", "1"]
    assert graph.calls[1].outputs[0].shape == (2, 3)
    assert node(graph, "0").hooks == ()
    assert isinstance(net[0], nn.LazyLinear)
    assert net[0].has_uninitialized_params()
    assert net(X).shape == (2, 3)


class OwnLazy(nn.modules.lazy.LazyModuleMixin, nn.Module):
    """Becomes nothing else; makes its parameter of others."""

    def __init__(self):
        super().__init__()
        self.weight = nn.UninitializedParameter()

    def initialize_parameters(self, x):
        self.weight.materialize((x.shape[-1],))
        self.register_parameter("scale", nn.Parameter(torch.ones(x.shape[-1]) * 2))
        with torch.no_grad():
            self.weight.copy_(self.scale + 1)

    def forward(self, x):
        return x * self.weight * self.scale


LAZY = {
    "linear": (lambda: nn.LazyLinear(3), (2, 4)),
    "linear without a bias": (lambda: nn.LazyLinear(3, bias=False), (2, 4)),
    "conv": (lambda: nn.LazyConv2d(2, 3), (1, 3, 5, 5)),
    "transposed": (lambda: nn.LazyConvTranspose1d(2, 3), (1, 3, 5)),
    "norm": (lambda: nn.LazyBatchNorm1d(), (2, 4)),
    "norm of instances": (lambda: nn.LazyInstanceNorm2d(affine=True), (1, 3, 5, 5)),
    "own": (OwnLazy, (2, 4)),
}


@pytest.mark.parametrize("name", LAZY)
@pytest.mark.parametrize("verify", [False, True])
def test_a_lazy_module_is_told_as_what_it_has_become(traced, flows, name, verify):
    make, shape = LAZY[name]

    def net():
        lazy = make()
        return Net(lambda self, x: self.lazy(self.lazy(x)) if name == "norm" else self.lazy(x).relu(), lazy=lazy)

    x, truth, plain = torch.rand(shape), net(), net()
    truth(x)
    graph = traced(plain, x, options=TraceOptions(verify=verify))
    found = node(graph, "lazy")
    kind = type(truth.lazy)
    assert found.class_name == f"{kind.__module__}.{kind.__qualname__}"
    assert {p.name: p.shape for p in found.parameters} == {n: p.shape for n, p in truth.lazy.named_parameters()}
    assert {b.name: b.shape for b in found.buffers} == {n: b.shape for n, b in truth.lazy.named_buffers()}
    assert graph.model.parameters == sum(p.numel() for p in truth.parameters())
    assert graph.model.buffers == sum(b.numel() for b in truth.buffers())
    assert set(flows(graph)) == set(flows(traced(truth, x)))
    if verify:
        assert graph.verification is not None
        assert not graph.verification.not_repeated
        assert graph.verification.repeated == graph.verification.identical
    assert plain.lazy.has_uninitialized_params()


def test_parametrised_and_weight_normed(traced, calls, flows):
    net = nn.Sequential(nn.utils.parametrizations.weight_norm(lin()), nn.utils.parametrizations.spectral_norm(lin()))
    graph = traced(net, X)
    assert "0.parametrizations.weight" in calls(graph)
    assert "linear -> linear#2" in flows(graph)
    old = torch.nn.utils.weight_norm
    graph = traced(nn.Sequential(old(lin()), lin()), X)
    assert "0 -> 1" in flows(graph)
    assert node(graph, "0").hooks[0].kind == "forward_pre"


def test_weight_drop_with_train_mode_batchnorm(traced):
    graph = traced(nn.Sequential(lin(), nn.BatchNorm1d(4), nn.Dropout()), X, options=TraceOptions(mode="train"))
    assert graph.model.mode == "train"


def test_frozen_child_stays_frozen_and_trains_are_restored(traced):
    net = nn.Sequential(lin(), nn.BatchNorm1d(4), nn.Sequential(nn.Dropout()))
    net[1].eval()
    traced(net, X)
    assert [m.training for m in net.modules()] == [True, True, False, True, True]


def test_none_child(traced):
    net = Net(lambda self, x: x * 1)
    net.register_module("absent", None)
    assert node(traced(net, X), "absent").class_name == "NoneType"


def test_module_without_hash_and_falsy(traced, calls):
    class Odd(nn.Module):
        __hash__ = None

        def __eq__(self, other):
            raise AssertionError("modules are compared by identity")

        def __bool__(self):
            raise AssertionError("and never asked whether they are true")

        def forward(self, x):
            return x + 1

    net = Net(lambda self, x: self._modules["odd"](x))
    net._modules["odd"] = Odd()
    graph = trace_graph(net, (X,), {}, TraceOptions())
    assert calls(graph) == ["", "odd"]
    assert net.training
    assert net._modules["odd"].training


def test_cycle_in_the_tree(traced):
    net = Net(lambda self, x: self.a(x), a=nn.Sequential(lin()))
    net.a.parent = net
    assert [(n.path, n.alias_of) for n in Tree(net).nodes] == [
        ("", None),
        ("a", None),
        ("a.0", None),
        ("a.parent", ""),
    ]


def test_thousand_deep(traced, calls):
    net = lin()
    for _ in range(1000):
        net = nn.Sequential(net)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        graph = trace_graph(net, (X,), {}, TraceOptions())
    finally:
        sys.setrecursionlimit(limit)
    assert len(graph.calls) == 1001
    assert graph.problems == ()
    assert len(graph.edges) == 2


def test_as_deep_as_the_bare_model_runs():
    net = lin()
    for _ in range(230):
        net = nn.Sequential(net)
    net(X)
    assert trace_graph(net, (X,), {}, TraceOptions()).complete


def test_arguments_and_source(traced):
    graph = traced(nn.Sequential(nn.Conv1d(2, 3, 3, padding=1, bias=False), nn.Dropout(0.25)), torch.ones(1, 2, 4))
    arguments = node(graph, "0").arguments
    assert (arguments["in_channels"], arguments["kernel_size"], arguments["bias"]) == (2, [3], False)
    assert node(graph, "1").arguments == {"p": 0.25}, "a default is not written"
    assert node(graph, "0").source.file == "torch/nn/modules/conv.py"
    line = node(graph, "0").source.line
    text = Path(nn.Conv1d.forward.__code__.co_filename).read_text().splitlines()[line - 1]
    assert text.startswith("class Conv1d(")


def test_call_sites(traced):
    def forward(self, x):
        y = self.a(x)
        return F.relu(
            self.b(y),
        )

    graph = traced(Net(forward, a=lin(), b=lin()), X)
    first = forward.__code__.co_firstlineno
    assert [(c.source.line - first) for c in graph.calls[1:]] == [1, 3]
    assert graph.operations[0].source.line - first == 2
    assert graph.calls[0].source is None


@pytest.mark.parametrize(
    "layer", [nn.LSTM(4, 4), nn.GRU(4, 4, 2), nn.TransformerEncoderLayer(4, 2, 8), nn.MultiheadAttention(4, 2)]
)
def test_composite_layers_of_torch(traced, flows, layer):
    class Wrapped(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.head = layer, lin()

        def forward(self, x):
            out = self.layer(x, x, x) if isinstance(self.layer, nn.MultiheadAttention) else self.layer(x)
            return self.head(out[0] if isinstance(out, tuple) else out)

    edges = flows(traced(Wrapped(), torch.ones(3, 2, 4)))
    assert any(edge.endswith("-> head") for edge in edges)
    assert any(edge.startswith("input:x ->") for edge in edges)
    assert "head -> output:0" in edges


def test_lstm_cell_loop(traced, flows):
    class Loop(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.LSTMCell(4, 4)

        def forward(self, x):
            h = c = torch.zeros(2, 4)
            for step in x:
                h, c = self.cell(step, (h, c))
            return h

    graph = traced(Loop(), torch.ones(3, 2, 4))
    assert {"zeros -> cell", "cell -> cell#2", "cell#2 -> cell#3", "unbind -> cell#3"} <= set(flows(graph))
    assert [t.name for t in graph.calls[2].inputs] == ["input", "hx[0]", "hx[1]"]


def test_mixture_of_experts(traced, flows, calls):
    class Moe(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(4, 2)
            self.experts = nn.ModuleList(lin() for _ in range(2))

        def forward(self, x):
            choice = self.gate(x).argmax(-1)
            out = torch.zeros_like(x)
            for index, expert in enumerate(self.experts):
                chosen = choice == index
                if chosen.any():
                    out[chosen] = expert(x[chosen])
            return out

    graph = traced(Moe(), X)
    chosen = [call.module for call in graph.calls if call.module.startswith("experts.")]
    assert len(chosen) == 1
    edges = set(flows(graph))
    assert {"gate -> argmax", "argmax -> __eq__", f"{chosen[0]} -> __setitem__", "__setitem__ -> output:0"} <= edges
    assert [gap.kind for gap in graph.gaps] == ["bool", "bool"]


def test_chunk_cat_einsum(traced, flows):
    def forward(self, x):
        a, b = self.a(x).chunk(2, dim=-1)
        return torch.cat([a, torch.einsum("ij,ij->ij", a, b)], -1)

    assert flows(traced(Net(forward, a=lin()), X)) == [
        "a -> chunk",
        "cat -> output:0",
        "chunk -> cat",
        "chunk -> einsum",
        "chunk -> einsum",
        "einsum -> cat",
        "input:x -> a",
    ]


def test_class_that_answers_calls_by_itself(traced, flows):
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = lin()

        def __call__(self, value):
            return self.a(value) + 1

    assert flows(traced(Own(), X)) == ["a -> add", "add -> output:0", "input:value -> a"]


def test_own_call_that_goes_to_forward(traced):
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = lin()

        def __call__(self, value):
            return self.forward(value)

        def forward(self, x):
            return self.a(x)

    graph = traced(Own(), X)
    assert [(call.module, call.direct, call.parent) for call in graph.calls] == [("", False, None), ("a", False, 0)]


def test_modules_that_share_each_other_stay_bounded():
    from modgraph.tracing.recording.tree import MAX_ALIASES

    module = lin()
    for _ in range(40):
        module = nn.Sequential(module, module)
    assert len(Tree(module).nodes) <= MAX_ALIASES + 41


def test_children_that_hold_lists_of_their_siblings_are_walked_in_linear_time():
    from modgraph.tracing.recording import hidden

    looked_at = []
    original = hidden._contents

    def counted(value, *rest):
        looked_at.append(value)
        return original(value, *rest)

    children = [nn.Identity() for _ in range(300)]
    for child in children:
        child.__dict__["siblings"] = children
    hidden._contents = counted
    try:
        Tree(nn.ModuleList(children))
    finally:
        hidden._contents = original
    assert sum(value is children for value in looked_at) == 1


def test_a_set_of_modules_is_named_the_same_on_every_run():
    import itertools

    def names(layers):
        holder = nn.Module()
        holder.__dict__["held"] = set(layers)
        tree = Tree(holder)
        return [(node.path, tuple(p.shape for p in node.parameters), node.arguments) for node in tree.nodes]

    sizes = [3, 5, 2, 7, 4, 6]
    found = [
        names([nn.Linear(4, size) for size in order]) for order in itertools.islice(itertools.permutations(sizes), 40)
    ]
    found += [names([nn.Linear(4, size) for size in reversed(sizes)])]
    assert all(each == found[0] for each in found)
    assert len(found[0]) == 7


class OwnCall(nn.Module):
    """A layer with a `__call__` of its own, that may go on to that of `Module`."""

    def __init__(self, goes_on):
        super().__init__()
        self.lin, self.goes_on = lin(), goes_on

    def __call__(self, x):
        return super().__call__(x) if self.goes_on else self.lin(x)

    def forward(self, x):
        return self.lin(x)


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_submodule_with_its_own_call_is_one_call(traced, calls, goes_on):
    assert calls(traced(nn.Sequential(lin(), OwnCall(goes_on)), X)) == ["", "0", "1", "1.lin"]
    assert calls(traced(OwnCall(goes_on), X)) == ["", "lin"]


def test_a_module_with_its_own_call_that_calls_itself(traced, calls):
    class Again(nn.Module):
        def __call__(self, x, depth=2):
            return super().__call__(x, depth)

        def forward(self, x, depth):
            return self(x * 2, depth - 1) if depth else x

    assert calls(traced(Again(), X)) == ["", "", ""]


@pytest.mark.parametrize("direct", [False, True])
def test_a_forward_set_on_the_instance(traced, calls, flows, direct):
    import types

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = lin(), lin()
            self.a.forward = types.MethodType(lambda module, x: module.weight.sum() + x, self.a)

        def forward(self, x):
            return self.b(self.a.forward(x) if direct else self.a(x))

    graph = traced(Net(), X)
    assert calls(graph) == ["", "a", "b"]
    assert {"input:x -> a", "a -> b"} <= set(flows(graph))
    assert [call.direct for call in graph.calls] == [False, direct, False]
