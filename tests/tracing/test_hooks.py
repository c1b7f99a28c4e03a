"""The user's own hooks: listed, and run as without a trace."""

import functools

import pytest
import torch
from torch import nn

pytestmark = pytest.mark.needs_torch
X = torch.ones(2, 4)


def pre(module, args):
    return (args[0] * 2,)


def post(module, args, output):
    return output + 1


class Callable:
    def __call__(self, *args):
        return None


def anything(*args, **kwargs):
    return None


def wrapped(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper


def test_inventory_of_every_kind(traced):
    net = nn.Sequential(nn.Linear(4, 4))
    layer = net[0]
    layer.register_forward_hook(functools.partial(anything, 1))
    layer.register_forward_pre_hook(wrapped(anything))
    layer.register_forward_pre_hook(anything, prepend=True, with_kwargs=True)
    layer.register_full_backward_pre_hook(Callable())
    layer.register_full_backward_hook(anything)
    layer.register_state_dict_pre_hook(anything)
    layer._register_state_dict_hook(anything)
    layer.register_load_state_dict_pre_hook(anything)
    layer.register_load_state_dict_post_hook(anything)
    layer.weight.register_hook(anything)
    layer.bias.register_post_accumulate_grad_hook(anything)
    layer.register_forward_hook(Callable().__call__)
    graph = traced(net, X)
    here = anything.__module__
    assert [(hook.kind, hook.name.removeprefix(f"{here}.")) for hook in graph.modules[1].hooks] == [
        ("forward_pre", "anything"),
        ("forward_pre", "anything"),
        ("forward", "anything"),
        ("forward", "Callable.__call__"),
        ("full_backward_pre", "Callable"),
        ("full_backward", "anything"),
        ("state_dict_pre", "anything"),
        ("state_dict", "anything"),
        ("load_state_dict_pre", "anything"),
        ("load_state_dict_post", "anything"),
        ("tensor", "anything"),
        ("post_accumulate_grad", "anything"),
    ]
    assert "0x" not in repr(graph)


def test_global_hooks_stand_beside_the_model(traced):
    handle = nn.modules.module.register_module_forward_hook(anything)
    try:
        graph = traced(nn.Sequential(nn.Linear(4, 4)), X)
    finally:
        handle.remove()
    assert [(hook.kind, hook.name.rpartition(".")[2]) for hook in graph.model.hooks] == [("global_forward", "anything")]


def test_hooks_that_replace_arguments_and_result(traced, flows):
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    net[0].register_forward_pre_hook(pre)
    net[0].register_forward_hook(post)
    graph = traced(net, X)
    # The layer is one node; what its hooks and it do inside stands among itself.
    assert flows(graph) == ["0 -> 1", "1 -> output:0", "input:input -> 0", "linear -> add", "mul -> linear"]
    assert [(op.name.rpartition(".")[2], op.call) for op in graph.operations] == [("mul", 1), ("linear", 1), ("add", 1)]


def test_hooks_run_in_their_order_with_their_values():
    from modgraph.options import TraceOptions
    from modgraph.tracing import trace_graph

    seen = []
    net = nn.Sequential(nn.Linear(4, 4)).eval()
    for name in "ab":
        net[0].register_forward_pre_hook(lambda m, a, name=name: seen.append(("pre", name, a[0].sum().item())))
        net[0].register_forward_hook(lambda m, a, o, name=name: seen.append(("post", name, o.sum().item())))
    with torch.no_grad():
        net(X)
    bare = list(seen)
    seen.clear()
    trace_graph(net, (X,), {}, TraceOptions())
    assert seen == bare
