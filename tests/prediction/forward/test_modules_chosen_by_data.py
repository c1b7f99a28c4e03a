"""Modules that data chooses, out of containers and by name: what a run calls is told, or that something is called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.prediction.forward import judged

pytestmark = pytest.mark.needs_torch
NET = """
import collections, functools, itertools, operator

class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(8))
    def forward(self, x):
        return x * self.w

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c, self.last = ({layer} for _ in range(4))
        self.ml = nn.ModuleList([{layer}, {layer}])
        self.md = nn.ModuleDict({{"a": {layer}, "b": {layer}}})
        self.reg = {{"a": self.a, "b": self.b}}
    def forward(self, x):
        k = int(x.sum() > 0)
        n, L = "ab"[k], [self.a, self.b]
        {body}
        return self.last(x)
"""
BODIES = [
    "x = next(itertools.islice(L, k, None))(x)",
    "for l in itertools.islice(L, k): x = l(x)",
    "for l in itertools.islice(self.ml, k): x = l(x)",
    "for l in itertools.islice(itertools.cycle(L), k + 1): x = l(x)",
    "for l in itertools.cycle(itertools.islice(L, k, k + 1)):\n            x = l(x)\n            break",
    "for l in itertools.repeat(self.a, k): x = l(x)",
    "for l, _ in itertools.zip_longest(L[:k], [0]): x = l(x) if l else x",
    "for l, _ in itertools.zip_longest(itertools.islice(L, k), [0]): x = l(x) if l else x",
    "for p in itertools.combinations(L, k): x = p[0](x) if p else x",
    "for p in itertools.product(itertools.islice(L, k), [0]): x = p[0](x)",
    "for _, g in itertools.groupby(L, key=lambda m: k * L.index(m)):\n            for l in g: x = l(x)",
    "for _, g in itertools.groupby(L, key=lambda m: x.sum() > 0): x = list(g)[0](x)",
    "x = self._modules[n](x)",
    "x = self._modules.get(n)(x)",
    "x = self._modules.get(n, self.c)(x)",
    "x = self._modules.setdefault(n, self.c)(x)",
    "x = vars(self)['_modules'][n](x)",
    "x = self.md._modules[n](x)",
    "x = self.ml._modules[str(k)](x)",
    "x = self._modules[n].forward(x)\n        x = self._modules[n](x)",
    "x = self.__getattr__(n)(x)",
    "x = nn.Module.__getattr__(self, n)(x)",
    "d = collections.OrderedDict(self.reg)\n        d.move_to_end(n)\n        x = d.popitem()[1](x)",
    "d = collections.OrderedDict(self.reg)\n        d.move_to_end(n)\n        x = list(d.values())[0](x)",
    "d = dict(self.reg)\n        d.pop(n)\n        x = d.popitem()[1](x)",
    "c = collections.Counter(L)\n        for l, _ in c.most_common(k): x = l(x)",
    "c = collections.Counter({self.a: k, self.b: 1})\n        for l in c.elements(): x = l(x)",
    "c = collections.Counter({self.a: k, self.b: 1}) - collections.Counter([self.a])\n        for l in c: x = l(x)",
    "for l in map(lambda m: m, itertools.islice(L, k)): x = l(x)",
    "x = functools.reduce(lambda y, l: l(y), itertools.islice(L, k), x)",
    "x = nn.Sequential(*itertools.islice(L, k))(x)",
    "f = {True: lambda y: self.a(y), False: lambda y: self.b(y)}.get(bool(k))\n        x = f(x)",
    "f = {1: functools.partial(self.a), 0: lambda y: self.c(self.b(y))}.get(k)\n        x = f(x)",
    "f = self.reg.get(n)\n        x = f(x)",
]
POSITIVE, NEGATIVE, ZERO = 1, -1, 0


def filling(number: int) -> Callable[[Any], None]:
    return lambda tensor: tensor.fill_(number)


def false(folder: Path, text: str) -> list[str]:
    """Calls that are told and do not happen, or happen and are not told."""
    graph = judged.predicted(folder, text, ["2x8"])
    found: list[str] = []
    for number in (POSITIVE, NEGATIVE, ZERO):
        real, registered = judged.real_run(folder / "net.py", ["2x8"], filling(number))
        if real.error is not None:
            continue
        found += judged._wrong_of_one(graph, real, registered)
        told = {call.module for call in graph.calls if not call.direct}
        if not [each for each in graph.problems if each.stage == "forward"]:
            found += [f"{each.path!r} is called" for each in real.calls if each.path not in told]
    return list(dict.fromkeys(found))


@pytest.mark.parametrize("layer", ["nn.Linear(8, 8)", "Own()"])
@pytest.mark.parametrize("body", BODIES)
def test_what_is_called_is_told(body: str, layer: str, tmp_path: Path):
    assert false(tmp_path, NET.format(layer=layer, body=body)) == []


@pytest.mark.parametrize("body", BODIES)
def test_a_certain_call_is_made_by_one_that_is_certain(body: str, tmp_path: Path):
    graph = judged.predicted(tmp_path, NET.format(layer="Own()", body=body), ["2x8"])

    assert [
        call.module for call in graph.calls if call.certain and call.parent and not graph.calls[call.parent].certain
    ] == []


def test_each_function_that_may_be_called_is_followed(tmp_path: Path):
    body = "f = {True: lambda y: self.a(y), False: lambda y: self.b(y)}.get(bool(k))\n        x = f(x)"
    graph = judged.predicted(tmp_path, NET.format(layer="Own()", body=body), ["2x8"])

    assert {call.module for call in graph.calls} >= {"a", "b", "last"}


@pytest.mark.parametrize(
    "body",
    [
        "import logging\n        log = logging.getLogger().info\n        log('here')\n        x = self.a(x)",
        "m = x.mean().item()\n        x = self.a(x) * m.__abs__() + m.conjugate()",
        "n = str(x.sum().item()).upper().strip()\n        x = self.a(x)",
        "h = self.a.register_forward_hook(lambda *_: None)\n        h.remove()\n        x = self.a(x)",
    ],
)
def test_a_method_of_what_is_not_known_calls_no_module(body: str, tmp_path: Path):
    graph = judged.predicted(tmp_path, NET.format(layer="nn.Linear(8, 8)", body=body), ["2x8"])

    assert judged.is_whole(graph)
    assert [call.module for call in graph.calls] == ["", "a", "last"]
