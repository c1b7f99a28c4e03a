"""What changes a value that may be one of several objects may have changed each of them: nothing of them is claimed.

Each model is built with several values of its argument, which the prediction does not know, and must be one that the
prediction allows.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch

HEADER = """\
import torch
from torch import nn
class C:
    pass
def both():
    return nn.Sequential(nn.ReLU()), nn.Sequential(nn.ReLU())
class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
"""
SIX = "l = [nn.Sequential() for _ in range(6)]\n"
EITHER = "x, y = both()\na = x\nfor i in range(n):\n    a = y\n"
KEPT = "\nself.x, self.y = x, y"

CHANGES = {
    "item of a list": SIX + "l[n].append(nn.ReLU())\nself.l = nn.ModuleList(l)",
    "item of a list, many": "l = [nn.Sequential() for _ in range(70)]\nl[n].append(nn.ReLU())\nself.l = nn.ModuleList(l)",
    "taken out of a list": SIX + "m = list(l)\nl.pop(n).append(nn.ReLU())\nself.l = nn.ModuleList(m)",
    "entry of a dict": SIX + "d = dict(enumerate(l))\nd[n].append(nn.ReLU())\nself.l = nn.ModuleList(l)",
    "entry of a dict, by get": SIX + "dict(enumerate(l)).get(n).append(nn.ReLU())\nself.l = nn.ModuleList(l)",
    "child of a list": SIX + "self.l = nn.ModuleList(l)\nself.l[n].append(nn.ReLU())",
    "attribute": "self.x, self.y = both()\ngetattr(self, 'xyxyxy'[n]).append(nn.ReLU())",
    "one of five": SIX
    + "a, b, c, d, e, f = l\n"
    + "x = a if n == 0 else b if n == 1 else c if n == 2 else d if n == 3 else e\n"
    + "x.append(nn.ReLU())\nself.l = nn.ModuleList(l)",
    "any number in a list": "a, l = nn.Sequential(), []\nfor i in range(n):\n    l.append(a)\n"
    + "for x in l:\n    x.append(nn.ELU())\nself.a = a",
    "any number in a ModuleList": "a, l = nn.Sequential(), nn.ModuleList()\nfor i in range(n):\n    l.append(a)\n"
    + "for x in l:\n    x.append(nn.ELU())\nself.a = a",
    "any number in a ModuleDict": "a, l = nn.Sequential(), nn.ModuleDict()\nfor i in range(n):\n    l[str(i)] = a\n"
    + "for x in l.values():\n    x.append(nn.ELU())\nself.a = a",
    "repeated": "a = nn.Sequential()\nfor x in [nn.Module()] + [a] * n:\n    x.append(nn.ELU()) if x is a else None\nself.a = a",
    "gathered": SIX + "[x for i, x in enumerate(l) if i == n][0].append(nn.ELU())\nself.l = nn.ModuleList(l)",
    "gathered in a dict": "a = nn.Sequential()\nd = {i: a for i in range(n + 1)}\nd[0].append(nn.ELU())\nself.a = a",
    "sorted": SIX + "sorted(l, key=lambda m: l.index(m) * (n - 2))[0].append(nn.ELU())\nself.l = nn.ModuleList(l)",
    "the greatest": SIX + "max(l, key=lambda m: l.index(m) * (n - 2)).append(nn.ELU())\nself.l = nn.ModuleList(l)",
    "method": EITHER + "a.append(nn.ELU())" + KEPT,
    "attribute set": EITHER + "a.z = nn.ELU()" + KEPT,
    "attribute set by name": EITHER + "setattr(a, 'z' + str(n), nn.ELU())" + KEPT,
    "attribute removed": EITHER + "a.z = nn.ELU()\ndel a.z\ndel a[0]" + KEPT,
    "item set": EITHER + "a[0] = nn.ELU()" + KEPT,
    "in place": EITHER + "a += nn.Sequential(nn.ELU())" + KEPT,
    "given to a function": EITHER + "(lambda m: m.append(nn.ELU()))(a)" + KEPT,
    "held in a tuple": EITHER + "t = (1, a)\nt[1].append(nn.ELU())" + KEPT,
    "a copy's": EITHER + "import copy\nc = copy.deepcopy([x, y, a])\nc[2].append(nn.ELU())\nself.l = nn.ModuleList(c)",
    "a plain object": "x, y = C(), C()\nx.d = y.d = 1\na = x\nfor i in range(n):\n    a = y\na.d = 7\n"
    + "self.l = nn.Linear(x.d, y.d)",
    "a parameter": "x, y = nn.Linear(1, 1), nn.Linear(1, 1)\na = x\nfor i in range(n):\n    a = y\n"
    + "a.weight.requires_grad_(False)\na.bias = None"
    + KEPT,
    "child of a child": "self.d = nn.ModuleDict({'x': nn.Module()})\nself.l = nn.ModuleList([nn.Module()])\n"
    + "for i in range(n):\n    self.l[0] = self.d['x']\nself.l[0].z = nn.ReLU()",
}
ORDERS = {
    "attributes": "c = C()\nif n:\n    c.a, c.b = 1, 2\nelse:\n    c.b = 2\n    c.a = 1\n"
    + "self.l = nn.Linear(list(vars(c).values())[0], 1)",
    "attributes of a module": "if n:\n    self.a, self.b = 1, 2\nelse:\n    self.b = 2\n    self.a = 1\n"
    + "self.l = nn.Linear([v for k, v in vars(self).items() if k in 'ab'][0], 1)",
    "entries after unknown ones": "d = {**{str(i): i + 5 for i in range(n)}, 'a': 3}\n"
    + "self.l = nn.Linear(list(d.values())[0], 1)",
    "entries of a dict": "r, d = nn.ReLU(), {}\nif n:\n    d['a'] = r\n    d['b'] = nn.ELU()\nelse:\n    d['b'] = nn.ELU()\n"
    + "    d['a'] = r\nself.s = nn.Sequential(*d.values())",
}


@pytest.mark.parametrize("body", CHANGES.values(), ids=CHANGES.keys())
def test_each_object_that_it_may_be_may_have_changed(predict_source: Callable[..., Graph], body: str) -> None:
    _allows(predict_source, body)


@pytest.mark.parametrize("body", ORDERS.values(), ids=ORDERS.keys())
def test_an_order_on_which_paths_differ_is_not_claimed(predict_source: Callable[..., Graph], body: str) -> None:
    _allows(predict_source, body)


def test_what_it_cannot_be_stays(predict_source: Callable[..., Graph]) -> None:
    source = HEADER + textwrap.indent(
        EITHER + "z = nn.Sequential(nn.Linear(2, 3))\na.append(nn.ELU())\nself.z = z" + KEPT, " " * 8
    )
    graph = predict_source(source)
    assert not [each for each in graph.open_places if each.module == "z"]
    assert [node.class_name for node in graph.modules if node.path == "z.0"] == ["torch.nn.modules.linear.Linear"]


def _allows(predict_source: Callable[..., Graph], body: str) -> None:
    source = HEADER + textwrap.indent(textwrap.dedent(body), " " * 8)
    graph = predict_source(source)
    for given in (0, 1, 5):
        namespace: dict[str, Any] = {"__name__": "net"}
        exec(compile(source, "net.py", "exec", dont_inherit=True), namespace)
        _allowed(graph, namespace["Net"](given))


def _allowed(graph: Graph, model: Any) -> None:
    """Every module is claimed with its class and shapes, or stands at a place of which more or others may be there."""
    claimed = {node.path: node for node in graph.modules}
    open_ = {path.removesuffix("?").removesuffix(".") for path, node in claimed.items() if node.class_name is None}
    told = {each.module for each in graph.open_places}
    real = dict(model.named_modules(remove_duplicate=False))
    for path, module in real.items():
        if any(path == place or path.startswith(f"{place}.") or not place for place in open_):
            continue
        node = claimed[path]
        cls = type(module)
        assert node.class_name in (f"{cls.__module__}.{cls.__qualname__}", "net.Net"), path
        names = [name for name, tensor in module._parameters.items() if tensor is not None]
        assert path in told or [each.name for each in node.parameters] == names
        for each in node.parameters:
            tensor = module._parameters[each.name]
            assert tensor is not None or path in told
            if tensor is not None:
                assert each.shape is None or all(a in (None, b) for a, b in zip(each.shape, tensor.shape, strict=True))
                assert each.trainable in (None, tensor.requires_grad), path
    for path, node in claimed.items():
        if node.class_name is not None and not any(path.startswith(f"{place}.") for place in open_):
            assert path in real
