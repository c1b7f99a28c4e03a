"""Running a model under the trace, with a look at everything that must be as before; and edges in words."""

from __future__ import annotations

import contextlib
import gc
import random
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest


class State:
    """What a trace may not change, as values that compare."""

    def __init__(self, model, tensors) -> None:
        import numpy
        import torch
        from torch import nn

        from modgraph.tracing.recording.tree import Tree

        registered = list(model.modules())
        known = set(map(id, registered))
        hidden = [module for module, _ in Tree(model).modules() if id(module) not in known]
        self.modules = [*registered, *hidden]
        self.tensors = [*model.parameters(), *model.buffers(), *tensors]
        self.tensors += [t for module in hidden for t in (*module.parameters(False), *module.buffers(False))]
        self.values = [None if torch.nn.parameter.is_lazy(t) else t.detach().clone() for t in self.tensors]
        self.facts = [self.of_tensor(t) for t in self.tensors]
        self.attributes = [dict(m.__dict__) for m in self.modules]
        self.stores = [
            {name: list(store.items()) for name, store in m.__dict__.items() if isinstance(store, dict)}
            for m in self.modules
        ]
        self.classes = [type(m) for m in self.modules]
        self.forwards = [vars(kind).get("forward") for m in self.modules for kind in type(m).__mro__]
        self.random = (random.getstate(), torch.get_rng_state(), numpy.random.get_state()[1])
        self.process = self.of_process(nn)
        self.threads = set(threading.enumerate())

    @staticmethod
    def of_tensor(t):
        return (type(t), t.requires_grad, t.grad, None if t.layout != __import__("torch").strided else t.dtype)

    @staticmethod
    def of_process(nn):
        import torch

        return (
            nn.Module.__call__,
            nn.Module._call_impl,
            threading.Thread.start,
            threading.Thread._bootstrap_inner,
            ThreadPoolExecutor.submit,
            torch.compile,
            torch.jit.ScriptFunction.__call__,
            sys.getrecursionlimit(),
            torch.is_grad_enabled(),
            torch._C._len_torch_function_stack(),
            torch._C._len_torch_dispatch_stack(),
            gc.get_threshold(),
            gc.get_freeze_count() > 0,
        )

    def check(self) -> None:
        import numpy
        import torch
        from torch import nn

        assert [type(m) for m in self.modules] == self.classes
        for module, attributes, stores in zip(self.modules, self.attributes, self.stores, strict=True):
            assert list(module.__dict__) == list(attributes)
            assert all(module.__dict__[name] is value for name, value in attributes.items())
            for name, items in stores.items():
                now = list(module.__dict__[name].items())
                assert [key for key, _ in now] == [key for key, _ in items]
                assert all(a is b for (_, a), (_, b) in zip(now, items, strict=True)), name
        for tensor, value, facts in zip(self.tensors, self.values, self.facts, strict=True):
            now = self.of_tensor(tensor)
            assert now[:2] == facts[:2]
            assert now[2] is facts[2]
            assert now[3] == facts[3]
            if value is not None and value.layout == torch.strided and not value.is_nested:
                torch.testing.assert_close(tensor.detach(), value, rtol=0, atol=0, equal_nan=True)
        assert [vars(k).get("forward") for m in self.modules for k in type(m).__mro__] == self.forwards
        assert random.getstate() == self.random[0]
        assert torch.equal(torch.get_rng_state(), self.random[1])
        assert (numpy.random.get_state()[1] == self.random[2]).all()
        assert self.of_process(nn) == self.process
        assert set(threading.enumerate()) <= self.threads  # one of an earlier test may end meanwhile


@pytest.fixture
def traced():
    """`traced(model, *args, **kwargs)`: the graph, after a check that nothing was left changed."""

    def run(model, *args, options=None, complete=True, emit=None, **kwargs):
        from modgraph.graph.events import Event, replay
        from modgraph.options import TraceOptions
        from modgraph.tracing import trace_graph
        from modgraph.tracing.basics.tensors import tensors_in

        state = State(model, [tensor for _, tensor in tensors_in((args, kwargs), "")])
        lines: list[str] = []
        graph = trace_graph(model, args, kwargs, options or TraceOptions())
        state.check()
        again = trace_graph(
            model, args, kwargs, options or TraceOptions(), emit=lambda event: lines.append(event.to_json())
        )
        state.check()
        assert again == graph, "a second run, and one that tells its events as they happen, give another graph"
        assert replay(Event.from_json(line) for line in lines) == graph
        if complete:
            assert graph.problems == ()
        return graph

    return run


@pytest.fixture
def unchanged():
    """`with unchanged(model, tensors)`: afterwards everything is as it was before."""

    @contextlib.contextmanager
    def check(model, tensors):
        state = State(model, tensors)
        yield
        state.check()

    return check


@pytest.fixture
def flows():
    """`flows(graph)`: its edges as "producer -> consumer", calls by module, operations by the last part of their name."""
    return edges_in_words


@pytest.fixture
def calls():
    """`calls(graph)`: the modules called, in order."""
    return lambda graph: [call.module for call in graph.calls]


def edges_in_words(graph) -> list[str]:
    names: dict[str, str] = {}
    seen: Counter[str] = Counter()
    for end, name in (
        *((f"call:{call.index}", call.module or "root") for call in graph.calls),
        *((op.id, op.name.rpartition(".")[2]) for op in graph.operations),
    ):
        seen[name] += 1
        names[end] = name if seen[name] == 1 else f"{name}#{seen[name]}"
    return sorted(
        f"{names.get(edge.producer, edge.producer)} -> {names.get(edge.consumer, edge.consumer)}"
        for edge in graph.edges
    )
