"""Modules that give back the very tensor they were given: whoever reads it, before or behind them, is drawn from there.

The judge is a run of the same model in which each of them gives a copy: there are as many tensors then as ways.
"""

from __future__ import annotations

import sys
import types
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.graph.model import Graph
from modgraph.merge import merge

pytestmark = pytest.mark.needs_torch
torch = pytest.importorskip("torch")

PRELUDE = """
import torch
import torch.nn.functional as F
from dataclasses import dataclass
from torch import nn

class DropPath(nn.Module):
    def __init__(self, p=0.1):
        super().__init__()
        self.p = p
    def forward(self, x):
        if self.p == 0.0 or not self.training:
            return x
        return x * torch.rand(1)

class MaybeNorm(nn.Module):
    def __init__(self, on=False):
        super().__init__()
        self.on, self.norm = on, nn.LayerNorm(4)
    def forward(self, x):
        return self.norm(x) if self.on else x

class Ignoring(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
    def forward(self, x):
        self.inner(x)
        return x

class Swapped(nn.Module):
    def forward(self, x, y):
        return y, x

class Listed(nn.Module):
    def forward(self, x, y):
        return [each for each in (x, y)]

class Named(nn.Module):
    def forward(self, x, y):
        return {"x": x, "more": [y, (x + 1,)]}

@dataclass
class Record:
    x: torch.Tensor
    y: torch.Tensor

class Recorded(nn.Module):
    def forward(self, x, y):
        return Record(x, y * 2)

class Weight(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(4))
    def forward(self):
        return self.w

class Block(nn.Module):
    def __init__(self, number):
        super().__init__()
        self.fc, self.drop = nn.Linear(4, 4), nn.Dropout()
        self.short = nn.Identity() if number % 2 else nn.Linear(4, 4)
    def forward(self, x):
        return self.drop(self.fc(self.drop(x))) + self.short(x)
"""
MODEL = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)
        self.p, self.q = ({step}), ({step})
    def forward(self, x):
        {body}
"""
STEPS = [
    "nn.Dropout(0.1)",
    "nn.Identity()",
    "DropPath()",
    "MaybeNorm()",
    "Ignoring()",
    "nn.Sequential(nn.Linear(4, 4), nn.Dropout())",
    "nn.Sequential(nn.Identity(), nn.Dropout())",
    "nn.Sequential()",
]
BODIES = {
    "residual": "h = self.a(x); return self.b(self.p(h)) + h",
    "residual behind": "h = self.p(self.a(x)); return self.b(h) + h",
    "residual of the input": "return self.b(self.p(x)) + x",
    "pre-norm": "x = x + self.p(self.b(self.q(x))); return x + self.q(self.c(x))",
    "both": "h = self.a(x); d = self.p(h); return d + h, h - d, torch.cat([h, d, h]), torch.stack((d, h))",
    "dense": "fs = [x]; [fs.append(self.p(m(sum(fs)))) for m in (self.a, self.b)]; return torch.cat(fs, 1)",
    "u-net": "s = [self.a(x)]; s.append(self.b(self.p(s[0]))); y = self.q(s[1]); return self.c(y) + s.pop() * s.pop()",
    "gate": "h = self.a(x); g = torch.sigmoid(self.b(self.p(h))); return self.q(h) * g + h * (1 - g)",
    "loop": "h = self.a(x)\n        for _ in range(3):\n            r = h; h = self.b(self.p(h)) + r\n        return h",
    "twice": "h = self.a(x); d, e = self.p(h), self.p(h); return self.b(d) * self.c(e) + h",
    "chain": "h = self.a(x); d = self.p(h); e = self.q(d); return self.b(e) + d * h",
    "swapped": "h = self.a(x); d = self.p(h); h, d = d, h; return self.b(h) + self.c(d)",
    "attribute": "self.kept = self.a(x); d = self.p(self.kept); return self.b(d) + self.kept",
    "dict": "f = {'h': self.a(x)}; f['d'] = self.p(f['h']); return self.b(f['h']) * self.c(f['d']), f['h'] + 1",
    "views": "h = self.a(x); d = self.p(h); return h.view(-1) + 1, d.view(-1) + 2, h[0] + d[1]",
    "functions": "h = self.a(x); d = F.dropout(h, 0.5, self.training); e = self.p(d); return self.b(e.float()) + d + h",
    "conversions": "h = self.a(x); d = self.p(h); return self.b(h.contiguous()) + d.to(torch.float32)",
    "written anew": "h = self.a(x); d = self.p(h); h = h + 1; h += self.b(d); return self.q(h) + d",
    "inner functions": "f = lambda t: self.p(t); h = self.a(x); d = f(h); return self.b((lambda t: t)(h)) + d",
    "conditional expression": "h = self.a(x); d = self.p(h) if self.a.bias is not None else h; return self.b(d) + h",
    "keyword": "h = self.a(input=x); return self.b(input=self.p(h)) - h",
}
SEVERAL = {
    "Swapped()": "h, k = self.a(x), self.b(x); y, z = self.p(h, k); return y + h, z * k, self.c(y) - z",
    "Listed()": "h, k = self.a(x), self.b(x); y, z = self.p(h, k); return y + h, z * k, self.c(y) - z",
    "Named()": "h, k = self.a(x), self.b(x); d = self.p(h, k); return d['x'] + h, d['more'][0] * k, d['more'][1][0] - h",
    "Recorded()": "h, k = self.a(x), self.b(x); d = self.p(h, k); return d.x + h, d.y * k, self.c(d.x) - h",
    "Weight()": "return self.a(x) + self.p(), self.p.w * 2, self.b.weight * 3",
    "nn.Sequential(*[Block(i) for i in range(4)], nn.Identity())": "y = self.p(x); return self.b(y) + x",
    "nn.ModuleList([DropPath(i / 10) for i in range(3)])": (
        "fs = []\n        for d in self.p:\n            x = x + d(self.a(x)); fs += [x, d(x)]\n"
        "        return [self.c(each) for each in fs]"
    ),
}


def _model(file: Path, step: str, body: str) -> Any:
    text = PRELUDE + MODEL.format(step=step, body=body)
    file.write_text(text, encoding="utf-8")
    module = types.ModuleType("net")
    sys.modules["net"] = module  # where `dataclass` looks
    try:
        exec(compile(text, str(file), "exec"), vars(module))
    finally:
        del sys.modules["net"]
    return module.Net().eval()


def _apart(model: Any, given: Any) -> Graph:
    """A run in which each call that made no other gives copies of what it was given."""
    stack: list[Any] = []
    calling: set[Any] = set()

    def begins(module: Any, _: Any) -> None:
        calling.update(stack[-1:])
        stack.append(module)

    def ends(*_: Any) -> None:
        stack.pop()

    def copies(module: Any, args: Any, result: Any) -> Any:
        known = {id(each) for each in (*args, *module.parameters(recurse=False))}
        return None if module in calling else _copied(result, known)

    handles = [each.register_forward_pre_hook(begins) for each in model.modules()]
    handles += [each.register_forward_hook(ends) for each in model.modules()]
    model(given)
    for handle in handles:
        handle.remove()
    handles = [each.register_forward_hook(copies) for each in model.modules()]
    graph = modgraph.trace(model, given)
    for handle in handles:
        handle.remove()
    return graph


def _copied(value: Any, known: set[int]) -> Any:
    if isinstance(value, torch.Tensor):
        return value.clone() if id(value) in known else value
    if isinstance(value, dict):
        return {key: _copied(each, known) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_copied(each, known) for each in value)
    if hasattr(value, "__dataclass_fields__"):
        return type(value)(**{key: _copied(each, known) for key, each in vars(value).items()})
    return value


def _edges(graph: Graph) -> set[tuple[str, str]]:
    """With ends named by what they are and their place among those, as operations inside of calls differ."""
    outer = {call.parent for call in graph.calls}
    names: dict[str, str] = {}
    counted: Counter[str] = Counter()
    ends = [(f"call:{each.index}", each.module) for each in graph.calls]
    ends += [(each.id, f"{each.call} {each.name}") for each in graph.operations if each.call in outer]
    for end, kind in ends:
        names[end] = f"{kind} #{counted[kind]}"
        counted[kind] += 1
    kept = [each for each in graph.edges if each.observed is not False and not each.producer.startswith("const:")]
    told = [(each.producer, each.consumer) for each in kept]
    inside = {each.id for each in graph.operations} - names.keys()
    return {(names.get(one, one), names.get(two, two)) for one, two in told if inside.isdisjoint((one, two))}


def _is_as_told(tmp_path: Path, step: str, body: str) -> None:
    file = tmp_path / "net.py"
    model, given = _model(file, step, body), torch.ones(2, 4)
    expected = _edges(_apart(model, given))
    predicted = modgraph.predict(f"{file}:Net", inputs=["2x4"])
    run = modgraph.trace(model, given)
    assert predicted.problems == run.problems == ()
    assert _edges(predicted) == expected
    both = merge(predicted, run)
    assert _edges(both) == expected
    assert not any(edge.or_from for edge in both.edges)
    # The run alone says of each that it names falsely that it may be another.
    known = _edges(run)
    others = {(end, edge.consumer) for edge in run.edges for end in edge.or_from}
    assert len(expected - known) <= len(others)


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("step", STEPS[:4])
def test_a_tensor_is_taken_from_where_source_takes_it(tmp_path: Path, step: str, name: str) -> None:
    _is_as_told(tmp_path, step, BODIES[name])


@pytest.mark.parametrize("name", ["residual", "both", "gate", "twice"])
@pytest.mark.parametrize("step", STEPS[4:])
def test_containers_give_back_what_those_inside_them_do(tmp_path: Path, step: str, name: str) -> None:
    _is_as_told(tmp_path, step, BODIES[name])


@pytest.mark.parametrize("step", SEVERAL)
def test_of_several_tensors_each_has_come_its_own_way(tmp_path: Path, step: str) -> None:
    _is_as_told(tmp_path, step, SEVERAL[step])


def _into(graph: Graph, consumer: str) -> set[tuple[str, str]]:
    """What comes to a call of a module, or to an operation by its last name: from where, and under which condition."""
    paths = {f"call:{each.index}": each.module for each in graph.calls}
    names = paths | {each.id: each.name.rpartition(".")[2] for each in graph.operations}
    return {
        (names.get(each.producer, each.producer), each.condition.text if each.condition else "")
        for each in graph.edges
        if names.get(each.consumer, each.consumer) == consumer
    }


UNDECIDED = {
    "d = h\n        if h.sum() > 0: d = self.p(h)": {("p", "h.sum() > 0"), ("a", "not (h.sum() > 0)")},
    "e = self.p(h)\n        d = e if h.sum() > 0 else h": {("p", "h.sum() > 0"), ("a", "not (h.sum() > 0)")},
    "e = self.p(h)\n        d, e = (e, h) if h.sum() > 0 else (h, e)": {
        ("p", "h.sum() > 0"),
        ("a", "not (h.sum() > 0)"),
    },
    "if h.sum() > 0: d = self.p(h)\n        else: d = self.q(h)": {("p", "h.sum() > 0"), ("q", "not (h.sum() > 0)")},
    "e = self.p(h)\n        d = ([e] if h.sum() > 0 else [h])[0]": {("p", "h.sum() > 0"), ("a", "not (h.sum() > 0)")},
    "e = self.p(h); d = e.relu_()": {("relu_", "")},
    "d = h; self.p(h).relu_()": {("relu_", "")},
    "d = self.p(h); h.relu_()": {("relu_", "")},
}


@pytest.mark.parametrize("lines", UNDECIDED)
def test_of_two_paths_both_ways_are_told(tmp_path: Path, lines: str) -> None:
    file = tmp_path / "net.py"
    _model(file, "nn.Dropout()", f"h = self.a(x)\n        {lines}\n        return self.b(d)")
    assert _into(modgraph.predict(f"{file}:Net", inputs=["2x4"]), "b") == UNDECIDED[lines]


@pytest.mark.parametrize("turn", ["h = self.p(h)", "h = self.p(h) if self.a.bias is None else self.q(h)"])
def test_after_a_loop_of_unknown_length_it_may_have_come_either_way(tmp_path: Path, turn: str) -> None:
    file = tmp_path / "net.py"
    body = f"g = h = self.a(x)\n        for _ in range(int(x.sum())): {turn}\n        return self.b(h) + self.c(g)"
    _model(file, "nn.Dropout()", body)
    graph = modgraph.predict(f"{file}:Net", inputs=["2x4"])
    found = _into(graph, "b")
    assert {name for name, _ in found} == {"a", "p" if "if" not in turn else "q"}
    assert all(condition for _, condition in found)
    assert _into(graph, "c") == {("a", "")}


def test_a_change_of_what_is_added_is_seen(tmp_path: Path) -> None:
    graphs = []
    for number, added in enumerate(("h", "d")):
        file = tmp_path / f"net{number}.py"
        model = _model(file, "nn.Dropout()", f"h = self.a(x); d = self.p(h); return self.b(d) + {added}")
        predicted = modgraph.predict(f"{file}:Net", inputs=["2x4"])
        graphs.append((predicted, merge(predicted, modgraph.trace(model, torch.ones(2, 4)))))
    for old, new in zip(*graphs, strict=True):
        found = modgraph.diff(old, new).dataflow
        assert {each.side for each in found} == {"old", "new"}
        assert len(modgraph.diff(old, old).dataflow) == 0


def test_what_a_run_leaves_open_is_no_difference_and_said_to_be_open(tmp_path: Path) -> None:
    graphs = []
    for number, added in enumerate(("h", "d", "d * self.c(x)")):
        file = tmp_path / f"net{number}.py"
        model = _model(file, "nn.Dropout()", f"h = self.a(x); d = self.p(h); return self.b(d) + {added}")
        run = modgraph.trace(model, torch.ones(2, 4))
        graphs.append((merge(modgraph.predict(f"{file}:Net", inputs=["2x4"]), run), run))
    (before, open_before), (behind, open_behind), (_, other) = graphs
    for old, new in ((before, open_before), (open_behind, before), (behind, open_before), (open_before, open_behind)):
        changes = modgraph.diff(old, new)
        assert changes.dataflow == ()
        assert "from which of its givers a tensor is taken" in {each.what for each in changes.not_compared}
    assert "from which of its givers a tensor is taken" not in {
        each.what for each in modgraph.diff(before, behind).not_compared
    }
    assert modgraph.diff(before, other).dataflow != ()
