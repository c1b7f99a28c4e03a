"""Models that look at, compare and copy their own methods take the same way while they are traced."""

import copy
import functools
import inspect
import pickle
import types

import pytest
import torch
from torch import nn

from modgraph.options import TraceOptions
from modgraph.tracing import trace_graph

pytestmark = pytest.mark.needs_torch
X = torch.ones(2, 4)


class Part(nn.Module):
    def __init__(self, switch=None):
        super().__init__()
        self.w = nn.Parameter(torch.ones(4))
        if switch:
            self.forward = switch(self)

    def forward(self, x, scale: float = 2.0, *, shift=0):
        """Scales."""
        return x * self.w * scale + shift

    def slow(self, x):
        return x * self.w


class Closed(nn.Module):
    factor = 3

    def make(factor):
        def forward(self, x):
            return x * factor

        return forward

    forward = make(factor)


def decorated(function):
    @functools.wraps(function)
    def inner(self, x):
        return function(self, x) + 1

    return inner


class Decorated(nn.Module):
    @decorated
    def forward(self, x):
        return x

    forward.flag = "set"


class Same(nn.Module):
    def slow(self, x):
        return x * 5

    forward = slow


def bound(part):
    return part.slow


def partial(part):
    return functools.partial(Part.slow, part)


def function(part):
    return lambda x: x * part.w * 4


LOOKS = {
    "equal": (lambda m: m.forward == m.slow, [Part(bound), Part(), Same()]),
    "equal the other way": (lambda m: m.slow == m.forward, [Part(bound), Same()]),
    "hash": (lambda m: len({m.forward, m.slow}), [Part(bound), Same(), Part()]),
    "code": (lambda m: m.forward.__code__.co_varnames, [Part(), Part(bound), Closed(), Part(function)]),
    "closure": (lambda m: [cell.cell_contents for cell in m.forward.__closure__ or ()], [Part(), Closed()]),
    "defaults": (lambda m: (m.forward.__defaults__, m.forward.__kwdefaults__), [Part(), Part(bound)]),
    "signature": (
        lambda m: str(inspect.signature(m.forward)),
        [Part(), Part(bound), Part(partial), Part(function), Closed(), Decorated()],
    ),
    "class signature": (lambda m: str(inspect.signature(type(m).forward)), [Part(), Decorated()]),
    "names": (
        lambda m: (m.forward.__name__, m.forward.__qualname__, m.forward.__module__, m.forward.__doc__),
        [Part(), Part(bound), Decorated()],
    ),
    "annotations": (lambda m: m.forward.__annotations__, [Part()]),
    "wrapped": (lambda m: hasattr(m.forward, "__wrapped__"), [Part(), Decorated(), Part(bound)]),
    "attribute": (lambda m: getattr(m.forward, "flag", None), [Part(), Decorated()]),
    "kinds": (
        lambda m: (
            inspect.ismethod(m.forward),
            inspect.isfunction(m.forward),
            isinstance(m.forward, functools.partial),
            inspect.isfunction(type(m).forward),
            isinstance(type(m).forward, types.FunctionType),
        ),
        [Part(), Part(bound), Part(partial), Part(function), Decorated()],
    ),
    "partial": (lambda m: m.forward.func is Part.slow, [Part(partial)]),
    "self": (lambda m: m.forward.__self__ is m, [Part(), Part(bound)]),
    "func": (lambda m: m.forward.__func__ == type(m).slow, [Part(), Part(bound), Same()]),
    "source": (lambda m: inspect.getsource(m.forward), [Part(), Closed(), Decorated()]),
    "own": (lambda m: "forward" in vars(m), [Part(), Part(bound)]),
    "pickled": (lambda m: pickle.loads(pickle.dumps(Part.forward)) is Part.forward, [Part()]),
}


@pytest.mark.parametrize(
    ("look", "part"), [pytest.param(look, part, id=name) for name, (look, parts) in LOOKS.items() for part in parts]
)
def test_what_code_sees_of_forward_is_the_same_while_it_is_traced(look, part):
    class Looks(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = part

        def forward(self, x):
            seen.append(look(self.part))
            return self.part(x)

    seen: list[object] = []
    model = Looks()
    model(X)
    graph = trace_graph(model, (X,), {}, TraceOptions())
    assert graph.problems == ()
    assert [call.module for call in graph.calls] == ["", "part"]
    assert seen[0] == seen[1]


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy], ids=["deep", "shallow"])
@pytest.mark.parametrize("switch", [None, bound, partial, function])
@pytest.mark.parametrize("direct", [False, True])
def test_a_copy_made_in_forward_runs_what_a_copy_runs(copied, switch, direct):
    class Copies(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = Part(switch)

        def forward(self, x):
            other = copied(self.part)
            with torch.no_grad():
                other.w = nn.Parameter(torch.full((4,), 5.0))
            result = other.forward(x) if direct else other(x)
            results.append(result)
            return result

    results: list[torch.Tensor] = []
    model = Copies()
    model(X)
    graph = trace_graph(model, (X,), {}, TraceOptions())
    assert torch.equal(*results)
    assert graph.problems == ()
    if not direct and not (switch is bound and copied is copy.copy):  # then the original runs inside
        assert len(graph.calls) == 2
        assert not any(call.direct for call in graph.calls)


@pytest.mark.parametrize("switch", [None, bound, partial, function])
def test_a_forward_of_its_own_called_directly_is_a_call(switch):
    class Calls(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = Part(switch)

        def forward(self, x):
            return self.part.forward(x)

    graph = trace_graph(Calls(), (X,), {}, TraceOptions())
    assert [(call.module, call.direct) for call in graph.calls] == [("", False), ("part", True)]


def test_scripting_and_symbolic_tracing_inside_forward():
    class Scripts(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = Same()

        def forward(self, x):
            return torch.jit.script(self.part)(x) + torch.fx.symbolic_trace(self.part)(x)

    results = trace_graph(Scripts(), (X,), {}, TraceOptions())
    assert results.problems == ()
