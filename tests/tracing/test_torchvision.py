"""Well-known networks against torch's own forward hooks and `named_modules`."""

import pytest
import torch

from modgraph.options import TraceOptions
from modgraph.tracing import trace_graph

pytestmark = pytest.mark.needs_torch


@pytest.fixture
def models(torchvision_models):
    return torchvision_models


def observed_by_hooks(model, x):
    """What torch's own forward hooks see: modules with the shapes of what they return, in the order in which calls begin."""
    names = {module: name for name, module in model.named_modules()}
    seen, open_calls = [], []

    def before(module, args):
        open_calls.append(len(seen))
        given = [tensor for a in args for tensor in (a if isinstance(a, list) else [a])]
        seen.append([names[module], [tuple(tensor.shape) for tensor in given], None])

    def after(module, args, output):
        first = output[0] if isinstance(output, tuple) else output
        seen[open_calls.pop()][2] = tuple(first.shape)

    handles = [m.register_forward_pre_hook(before) for m in names] + [m.register_forward_hook(after) for m in names]
    with torch.no_grad():
        model.eval()(x)
    for handle in handles:
        handle.remove()
    return seen


CASES = {
    "resnet18": ({}, 64),
    "googlenet": ({"aux_logits": False, "init_weights": False}, 64),
    "vit_b_16": ({"image_size": 32}, 32),
    "densenet121": ({}, 64),
}


@pytest.mark.parametrize("name", CASES)
def test_tree_calls_shapes_and_joins(models, name, flows):
    arguments, size = CASES[name]
    model = getattr(models, name)(**arguments)
    x = torch.randn(1, 3, size, size)
    expected = observed_by_hooks(model, x)
    joins = count_joins(model, x)
    graph = trace_graph(model, (x,), {}, TraceOptions())

    assert graph.complete
    assert [(n.path, n.class_name.rpartition(".")[2]) for n in graph.modules] == [
        (path, type(module).__name__) for path, module in model.named_modules(remove_duplicate=False)
    ]
    assert [
        [c.module, [i.shape for i in c.inputs], c.outputs[0].shape if c.outputs else None] for c in graph.calls
    ] == expected
    assert graph.model.parameters == sum(p.numel() for p in model.parameters())
    assert graph.model.buffers == sum(b.numel() for b in model.buffers())

    incoming = {op.id: [e for e in graph.edges if e.consumer == op.id] for op in graph.operations}
    outgoing = {op.id: [e for e in graph.edges if e.producer == op.id] for op in graph.operations}
    found = sorted(
        len(incoming[op.id]) for op in graph.operations if op.name.rpartition(".")[2] in ("add", "add_", "cat")
    )
    assert found == joins
    assert all(outgoing[op.id] for op in graph.operations if op.name.rpartition(".")[2] in ("add", "add_", "cat"))


def count_joins(model, x):
    """The tensors that meet in each addition and concatenation outside torch's own layers, counted below torch functions."""
    from torch.utils._python_dispatch import TorchDispatchMode

    found, inside = [], []
    for module in model.modules():
        is_layer = type(module).__module__.startswith("torch.nn.modules") and not module._modules
        if is_layer or isinstance(module, torch.nn.MultiheadAttention):
            module.register_forward_pre_hook(lambda m, a: inside.append(m))
            module.register_forward_hook(lambda m, a, o: inside.pop() and None)

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if not inside and func.overloadpacket in (torch.ops.aten.add, torch.ops.aten.add_):
                found.append(sum(isinstance(a, torch.Tensor) for a in args[:2]))
            if not inside and func.overloadpacket is torch.ops.aten.cat:
                found.append(len(args[0]))
            return func(*args, **(kwargs or {}))

    with torch.no_grad(), Mode():
        model.eval()(x)
    for module in model.modules():
        module._forward_hooks.clear()
        module._forward_pre_hooks.clear()
    return sorted(found)
