"""Arguments of `forward` that have a default: what other values lead to is told beside, with its condition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.export.text.summary import summary
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
        ("none", "b", "not (depth is None)"),
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
    assert "depends on not (depth is None); not in this run" in rows["b"]
    assert "never called" in rows["c"]
