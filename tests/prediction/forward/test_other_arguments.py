"""Arguments of `forward` that have a default: what other values lead to is told beside, with its condition."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.export.look.agreement import Remark, remarks_of
from modgraph.export.text.summary import summary
from modgraph.graph.index import GraphIndex
from tests.prediction.forward.judged import PRELUDE, predicted
from tests.prediction.forward.test_ways_of_sizes import run

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = (nn.Linear(4, 4) for _ in range(3))
        self.heads = nn.ModuleDict({"one": nn.Linear(4, 4), "two": nn.Linear(4, 4)})

    def forward(self, x, %s):
        %s
"""
T = "tensor"
CASES: dict[str, tuple[str, str, list[dict[str, Any]]]] = {
    "none": ("depth=None", "return self.a(x) if depth is None else self.a(x) + self.b(depth)", [{}, {"depth": T}]),
    "or": ("depth=None", "return self.a(x if depth is None else self.b(depth))", [{}, {"depth": T}]),
    "false": ("more=False", "return self.a(self.b(x) if more else x)", [{}, {"more": True}]),
    "text": (
        "mode='a'",
        "return self.a(x) if mode == 'a' else self.b(x) if mode == 'b' else self.c(x)",
        [{}, {"mode": "b"}, {"mode": "z"}],
    ),
    "key": ("mode='one'", "return self.heads[mode](x)", [{}, {"mode": "two"}]),
    "whole": ("k=0", "return self.a(self.b(x) if k > 1 else x)", [{}, {"k": 2}]),
    "turns": ("k=0", "y = self.a(x)\n        for _ in range(k): y = self.b(y)\n        return y", [{}, {"k": 2}]),
    "float": ("p=0.0", "return self.a(self.b(x) if p > 0 else x)", [{}, {"p": 0.5}]),
    "tuple": (
        "sizes=()",
        "y = self.a(x)\n        for _ in sizes: y = self.b(y)\n        return y",
        [{}, {"sizes": (1,)}],
    ),
    "by name alone": ("*, aux=None", "return self.a(x if aux is None else self.b(aux))", [{}, {"aux": T}]),
    "two": (
        "p=None, q=None",
        "y = self.a(x)\n        if p is not None:\n            y = self.b(p)\n"
        "            if q is not None: y = y * self.c(q)\n        return y",
        [{}, {"p": T}, {"p": T, "q": T}],
    ),
    "further by name": ("**kw", "return self.a(x) + (self.b(kw['m']) if 'm' in kw else 0)", [{}, {"m": T}]),
    "asked by name": (
        "**kw",
        "m = kw.get('m')\n        return self.a(x) if m is None else self.a(x) + self.b(m)",
        [{}, {"m": T}],
    ),
    "further": ("*more", "return self.a(x) + (self.b(more[0]) if more else 0)", [{}, {"": T}]),
    "each further": (
        "*more",
        "y = self.a(x)\n        for each in more: y = y + self.b(each)\n        return y",
        [{}, {"": T}],
    ),
}


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", CASES)
def test_what_other_arguments_call_has_a_call(name: str, tmp_path: Path) -> None:
    import torch

    parameters, body, runs = CASES[name]
    source = NET % (parameters, body)
    graph = predicted(tmp_path, source, ["x=3x4"])
    told = {call.module for call in graph.calls}
    certain = {call.module for call in graph.calls if call.certain}
    seen_at_all: set[str] = set()
    for given in runs:
        values = {key: torch.zeros(3, 4) if value is T else value for key, value in given.items()}
        further = [values.pop("")] if "" in values else []
        seen = run(source, torch.zeros(3, 4), *further, **values)
        assert seen is not None
        assert set(seen) <= told, given
        assert given or certain == set(seen)
        seen_at_all |= set(seen)
    assert told == seen_at_all
    assert all(call.condition is not None for call in graph.calls if not call.certain)
    assert not graph.problems


@pytest.mark.parametrize(
    ("name", "module", "condition"),
    [
        ("none", "b", "depth is not None"),
        ("whole", "b", "k > 1"),
        ("two", "c", "p is not None and q is not None"),
        ("further by name", "b", "'m' in kw"),
        ("further", "b", "more"),
    ],
)
def test_the_condition_is_as_the_source_has_it(name: str, module: str, condition: str, tmp_path: Path) -> None:
    parameters, body, _ = CASES[name]
    graph = predicted(tmp_path, NET % (parameters, body), ["x=3x4"])
    (call,) = (call for call in graph.calls if call.module == module)
    assert call.condition is not None
    assert (call.certain, call.condition.text) == (False, condition)


@pytest.mark.needs_torch
def test_a_run_that_was_not_given_it_does_not_say_never(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(PRELUDE + NET % CASES["none"][:2], "utf-8")
    graph = modgraph.analyze(f"{tmp_path / 'net.py'}:Net", inputs=["x=3x4"])
    rows = {line.split()[1]: line for line in summary(graph).splitlines() if "Linear" in line}
    assert "depends on depth is not None; not in this run" in rows["b"]
    assert "never called" in rows["c"]


NOT_FOLLOWED: dict[str, tuple[str, str, list[dict[str, Any]]]] = {
    "name of a child": ("head='a'", "return getattr(self, head)(x)", [{}, {"head": "b"}, {"head": "c"}]),
    "each by name": (
        "**kw",
        "y = self.c(x)\n        for n in kw: y = getattr(self, n)(y)\n        return y",
        [{}, {"a": 1}, {"b": 1}],
    ),
    "to a child": ("**kw", "return self.sub(x, **kw)", [{}, {"deep": True}]),
    "and, or": ("act=True", "return (act and self.a or self.b)(x)", [{}, {"act": False}]),
    "or": ("f=None", "f = f or self.a\n        return f(x)", [{}, {"f": "b"}]),
    "its own": ("f=None", "f = f or self.a\n        return f(x)", [{}, {"f": "c"}]),
}
SUB = """
class Sub(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x, deep=False):
        return self.b(self.a(x) if deep else x)
"""
WITH_SUB = NET.replace("        self.heads", "        self.sub = Sub()\n        self.heads")


def _called(source: str, given: dict[str, Any]) -> set[str]:
    import torch

    scope: dict[str, Any] = {}
    exec(PRELUDE + source, scope)
    net = scope["Net"]().eval()
    seen: set[str] = set()
    for path, module in net.named_modules():
        module.register_forward_hook(lambda *_, path=path: seen.add(path))
    net(torch.zeros(3, 4), **{key: getattr(net, value) if key == "f" else value for key, value in given.items()})
    return seen


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", NOT_FOLLOWED)
def test_never_called_is_not_said_where_other_arguments_are_not_followed(name: str, tmp_path: Path) -> None:
    parameters, body, runs = NOT_FOLLOWED[name]
    source = SUB + WITH_SUB % (parameters, body)
    graph = predicted(tmp_path, source, ["x=3x4"])
    never = {path for path, said in remarks_of(GraphIndex(graph)).items() if "never called" in map(_state, said)}
    assert {call.module for call in graph.calls if call.certain} == _called(source, {})
    for given in runs:
        assert not _called(source, given) & never, given
    lines = (PRELUDE + source).splitlines()
    why = graph.model.open_ways
    assert why is not None
    assert why.line is not None
    assert lines[why.line - 1].strip() in body
    assert f":{why.line}" in summary(graph)
    assert json.loads(graph.to_json())["model"]["open_ways"]["line"] == why.line
    assert not graph.problems


def _state(remark: Remark) -> str:
    return remark.state


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_said_of_other_arguments_that_are_followed(name: str, tmp_path: Path) -> None:
    graph = predicted(tmp_path, NET % CASES[name][:2], ["x=3x4"])
    assert graph.model.open_ways is None


def test_never_called_is_not_said_where_forward_is_not_followed(tmp_path: Path) -> None:
    source = NET % ("k=0", "import absent\n        return absent.run(self, self.a(x))")
    graph = predicted(tmp_path, source, ["x=3x4"])
    assert graph.problems
    assert "never called" not in summary(graph)


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", NOT_FOLLOWED)
def test_what_ran_was_predicted_though_other_arguments_are_not_followed(name: str, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(PRELUDE + SUB + WITH_SUB % NOT_FOLLOWED[name][:2], "utf-8")
    graph = modgraph.analyze(f"{tmp_path / 'net.py'}:Net", inputs=["x=3x4"])
    assert all(call.predicted and call.observed for call in graph.calls)
    assert all(edge.predicted and edge.observed for edge in graph.edges)
    assert not graph.problems
    assert "never called" not in summary(graph)


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", ["none", "text", "turns", "further by name"])
def test_what_ran_is_as_it_is_predicted_alone(name: str, tmp_path: Path) -> None:
    source = NET % CASES[name][:2]
    alone = {call.module for call in predicted(tmp_path, source, ["x=3x4"]).calls if call.certain}
    graph = modgraph.analyze(f"{tmp_path / 'net.py'}:Net", inputs=["x=3x4"])
    assert {call.module for call in graph.calls if call.observed and call.predicted} == alone
    assert all(call.predicted for call in graph.calls)


@pytest.mark.needs_torch
@pytest.mark.parametrize("is_run", [False, True])
def test_what_may_be_called_stands_where_nothing_is_called_as_a_rule(is_run: bool, tmp_path: Path) -> None:
    """As a rule forward calls nothing, so that data ends at it."""
    source = NET % ("k=0", "for _ in range(k): x = self.a(x)\n        return x")
    graph = predicted(tmp_path, source, ["x=3x4"])
    if is_run:
        graph = modgraph.analyze(f"{tmp_path / 'net.py'}:Net", inputs=["x=3x4"])
    assert "a" in _called(source, {"k": 2})
    (call,) = [each for each in graph.calls if each.module == "a"]
    assert (call.certain, call.observed) == (False, False if is_run else None)
    assert {("input:x", "output:0"), (f"call:{call.index}", "output:0")} <= {
        (edge.producer, edge.consumer) for edge in graph.edges
    }
    assert graph.model.open_ways is None
    assert "a  Linear" not in "".join(line for line in summary(graph).splitlines() if "never called" in line)
