"""An arrow stands where data goes in some setting of a flag or an optional input: torch runs each of them."""

from __future__ import annotations

import types
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.graph.model import Graph
from tests.prediction.forward.judged import PRELUDE, THREE_LAYERS, predicted

torch = pytest.importorskip("torch")

NET = (
    THREE_LAYERS
    + """
    def forward(self, x, p={default}):
        y, z = self.a(x), self.b(x)
        {body}
"""
)
OF_OPTIONAL = [
    "return (x if p is None else p).unsqueeze(1)",
    "return (z if p is None else p).relu() + x",
    "return (x if p is None else p)[0]",
    "return -(x if p is None else p)",
    "return (q := z if p is None else p) + q",
    "return (p if p is not None else self.c(x)).relu()",
    "u = p\n        if u is None: u = y\n        return u.relu() + x",
    "if (u := p) is None: u = z\n        return u.relu().sum(-1) * y[0, 0]",
    "match p:\n            case None:\n                u = y\n            case _:\n                u = p\n        return u.tanh() + x",
    "return self.c(x if p is None else p)",
    "return torch.cat([y, z if p is None else p])",
]
OF_FLAG = [
    "d = {}\n        if p: d['u'] = y\n        return d.get('u', z).relu() + x",
    "l = [y]\n        if p: l.append(z)\n        return l[-1].relu() + x",
    "l = [y]\n        if p: l.append(z)\n        return self.c(l[-1][0])",
    "l = [y]\n        if p: l.append(z)\n        return -l[-1]",
    "return (y if p else z).relu()",
    "return self.c(y if p else z)",
    "return (p and y) if p else z",
]
SEVERAL = [
    *("max(1)", "max(dim=1)", "min(1)", "median(1)", "nanmedian(1)", "mode(1)", "kthvalue(1)", "sort(-1)", "topk(2)"),
    *("cummax(0)", "cummin(0)", "split(2)", "chunk(2)", "unbind(0)", "split_with_sizes([1, 2])", "tensor_split(2)"),
    *("hsplit(2)", "vsplit(3)", "unsafe_split(2)", "unsafe_chunk(2)", "nonzero(as_tuple=True)", "frexp()", "aminmax()"),
    *("unique(return_inverse=True)", "unique_consecutive(return_counts=True)", "svd()", "qr()", "geqrf()"),
    *("histogram(3)",),
]
ONE = ["max()", "min()", "median()", "nonzero()", "unique()", "unique_consecutive()", "relu()", "clone()"]
OF_LIST = [
    *(f"return l[-1].{method}[0].tanh()" for method in SEVERAL),
    *(f"return l[-1].{method}[0][0]" for method in SEVERAL if method != "aminmax()"),
    *(f"u, *v = l[-1].{method}\n        return u[None].tanh()" for method in SEVERAL),
    *(f"return l[-1].{method}[None].tanh()" for method in ONE),
    *(f"return l[-1].{method}.values[0].tanh()" for method in SEVERAL[:11]),
    *(f"return torch.cat(l[-1].{method})" for method in ("chunk(2)", "split(1)", "tensor_split(3)")),
    *(f"return x.relu() * l[-1].{asked}" for asked in ("is_floating_point()", "is_shared()", "is_complex()")),
    "return x.reshape(l[-1].size(0), -1)",
    "return l[-1].new_zeros(3, 4) + x",
    "return x.view_as(l[-1]) + x",
    "return torch.zeros_like(l[-1]) + x",
]
OF_FLAG += [f"l = [y]\n        if p: l.append(z)\n        {each}" for each in OF_LIST]
CASES = [*((each, None) for each in OF_OPTIONAL), *((each, False) for each in OF_FLAG)]


def _ends(graph: Graph) -> set[tuple[str, str]]:
    def told(end: str) -> str:
        kind, _, number = end.partition(":")
        if kind == "op":
            return graph.operations[int(number)].name
        return graph.calls[int(number)].module if kind == "call" else "output" if kind == "output" else end

    return {(told(each.producer), told(each.consumer)) for each in graph.edges}


@pytest.mark.parametrize(("body", "default"), CASES)
def test_an_arrow_is_there_in_some_run(body: str, default: Any, tmp_path: Path) -> None:
    text = NET.format(default=default, body=body)
    module = types.ModuleType("net")
    exec(compile(PRELUDE + text, "net.py", "exec"), vars(module))
    graph = predicted(tmp_path, text, ["3x4"])
    runs, ran = [], set()
    for given in (default, torch.ones(3, 4) if default is None else True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = modgraph.trace(module.Net().eval(), (torch.ones(3, 4), given))
        assert not run.problems
        runs.append(_ends(run))
        ran |= {each.name for each in run.operations}
    assert runs[0] <= _ends(graph) <= runs[0] | runs[1]
    assert {each.name for each in graph.operations} <= ran


@pytest.mark.parametrize(
    "made", ["dict(k=y, **{more})", "{{'k': y, **{more}}}", "dict({more}, k=y)", "(lambda **k: k)(**{more})"]
)
def test_what_one_of_two_mappings_holds_may_come_out(made: str, tmp_path: Path) -> None:
    given = made.replace("{{", "{").replace("}}", "}").replace("{more}", "({'u': z} if x.sum() > 0 else {})")
    graph = predicted(tmp_path, NET.format(default=None, body=f"return {given}.get('u', x)"), ["3x4"])
    told = {producer for producer, consumer in _ends(graph) if consumer == "output"}
    assert told == {"b", "input:x"}
    assert not any(each.certain for each in graph.edges if each.consumer.startswith("output"))


OF_DATA = [
    "if x[0, 0] > 0: h = self.a(x)\n        else:\n            if x[1, 0] > 0: return self.b(x)\n"
    "            h = x * 2\n        return self.c(h)",
    "if x[0, 0] > 0: h = self.a(x)\n        elif x[1, 0] > 0: return x\n        else: h = self.b(x)\n        return self.c(h)",
    "if x[0, 0] > 0:\n            if x[1, 0] > 0: return self.b(x)\n            h = x * 2\n"
    "        else: h = self.a(x)\n        return self.c(h)",
    "h = x\n        for _ in range(2):\n            if x[0, 0] > 0: h = self.a(h)\n            else:\n"
    "                if x[1, 0] > 0: return self.b(h)\n                h = h * 2\n            h = self.c(h)\n        return h",
    "h = self.a(x) if x[0, 0] > 0 else None\n        return self.c(h) if torch.is_tensor(h) else self.b(x)",
    "h = [self.a(x) if x[0, 0] > 0 else None, x]\n        found = [torch.is_tensor(each) for each in h]\n"
    "        return self.c(h[0]) if found[0] else self.b(x)",
]


@pytest.mark.parametrize("body", OF_DATA)
def test_arrows_behind_early_returns_are_those_of_some_run(body: str, tmp_path: Path) -> None:
    text = NET.format(default=None, body=body).replace("        y, z = self.a(x), self.b(x)\n", "")
    module = types.ModuleType("net")
    exec(compile(PRELUDE + text, "net.py", "exec"), vars(module))
    told = _ends(predicted(tmp_path, text, ["3x4"]))
    seen: set[tuple[str, str]] = set()
    for signs in product((1.0, -1.0), repeat=2):
        x = torch.ones(3, 4)
        x[0, 0], x[1, 0] = signs
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seen |= _ends(modgraph.trace(module.Net().eval(), (x,)))
    layers = {"a", "b", "c"}
    seen, told = ({each for each in found if layers & {*each}} for found in (seen, told))
    assert seen <= told
    # What a test said in one turn is not known in the next: a test of data may read something else there.
    assert "for _ in" in body or told <= seen
