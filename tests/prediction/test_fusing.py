"""A class that is built on both sides of a branch keeps its name: only what differs is open.

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
class Block(nn.Module):
    def __init__(self, a, bias=True):
        super().__init__()
        self.fc = nn.Linear(a, 3, bias=bias)
        self.norm = nn.LayerNorm(3)
def helper(c):
    if c:
        return nn.Linear(4, 5)
    return nn.Linear(4, 6)
ACT = nn.ReLU()
class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
"""
FORMS = {
    "attribute": "if n: self.x = nn.Linear(4, 5)\nelse: self.x = nn.Linear(4, 6)",
    "elif": "if n == 0: self.x = nn.Linear(4, 5)\nelif n == 1: self.x = nn.Linear(4, 6)\nelse: self.x = nn.Linear(4, 7)",
    "replaced": "self.x = nn.Linear(4, 5)\nif n: self.x = nn.Linear(4, 6)",
    "element": "l = []\nl.append(nn.Linear(4, 5) if n else nn.Linear(4, 6))\nself.s = nn.Sequential(*l, nn.ReLU())",
    "helper": "self.x = helper(n)\nself.l = nn.ModuleList([helper(n), helper(not n)])",
    "tuple": "a, b = (nn.Linear(4, 5), nn.ReLU()) if n else (nn.Linear(4, 6), nn.ReLU())\nself.a, self.b = a, b",
    "own class": "self.x = Block(4) if n else Block(5, False)",
    "dict": "self.x = [nn.Linear(4, 5), nn.Linear(4, 6), nn.Linear(4, 7)][n]",
    "child": "self.l = nn.ModuleList([nn.Linear(4, 5), nn.Linear(4, 6), nn.Linear(4, 7)])\nself.x = self.l[n]",
    "lambdas": "self.x = {0: lambda: nn.Linear(4, 5), 1: lambda: nn.Linear(4, 6), 2: lambda: nn.Linear(4, 7)}[n]()",
    "or": "x = nn.Linear(4, 5) if n else None\nself.x = x or nn.Linear(4, 6)",
    "break": "for i in range(3):\n    self.x = nn.Linear(4, i + 1)\n    if i == n: break",
    "inside": "self.x = Block(4)\nif n: self.x.fc = nn.Linear(2, 2)",
    "parameter": "self.p = nn.Parameter(torch.zeros(1, 4)) if n else nn.Parameter(torch.zeros(1, 5))",
    "buffer": "self.register_buffer('b', torch.zeros(3) if n else torch.ones(4))",
    "match": "match n:\n    case 1: self.x = nn.Linear(4, 5)\n    case _: self.x = nn.Linear(4, 6)",
    "containers": "self.s = nn.Sequential(nn.Linear(4, 5), nn.ReLU()) if n else nn.Sequential(nn.Linear(4, 6), nn.ELU(), nn.ELU())",
}


def models(predict_source: Callable[..., Graph], body: str) -> tuple[Graph, list[Any]]:
    import torch
    from torch import nn

    text = HEADER + textwrap.indent(body, " " * 8)
    namespace: dict[str, Any] = {"__name__": "net", "torch": torch, "nn": nn}
    exec(compile(text, "net.py", "exec", dont_inherit=True), namespace)
    return predict_source(text), [namespace["Net"](n) for n in range(3)]


def check(graph: Graph, model: Any) -> None:
    """What the graph says holds of the model; what it leaves open may be anything."""
    nodes = {node.path: node for node in graph.modules}
    for path, module in model.named_modules(remove_duplicate=False):
        if path not in nodes:
            above = path.rpartition(".")[0]
            assert any(p.module == above and "may have" in p.message for p in graph.open_places), path
            continue
        node = nodes[path]
        if node.class_name is None:
            continue
        assert node.class_name.rpartition(".")[2] == type(module).__name__
        tensors = dict(module.named_parameters(recurse=False)) | dict(module.named_buffers(recurse=False))
        for said in (*node.parameters, *node.buffers):
            shape = tuple(tensors[said.name].shape)
            assert said.shape is not None
            assert len(said.shape) == len(shape)
            assert all(a in (None, b) for a, b in zip(said.shape, shape, strict=True))
        for parameter in node.parameters:
            assert parameter.trainable in (None, tensors[parameter.name].requires_grad)
        if node.alias_of is not None:
            assert model.get_submodule(node.alias_of) is module


@pytest.mark.parametrize("body", FORMS.values(), ids=FORMS)
def test_what_differs_is_open_and_the_class_is_kept(predict_source: Callable[..., Graph], body: str) -> None:
    graph, built = models(predict_source, body)
    assert graph.problems
    open_ = {node.path for node in graph.modules if node.class_name is None}
    assert open_ <= {"s.1", "s.2"}, "an activation differs, or is there on one path only"
    for model in built:
        check(graph, model)
        totals = sum(p.numel() for p in model.parameters())
        assert graph.model.parameters in (None, totals)


def test_arguments_that_show_nowhere_leave_nothing_open(predict_source: Callable[..., Graph]) -> None:
    graph, built = models(predict_source, "self.x = nn.Conv2d(3, 8, 3, stride=2) if n else nn.Conv2d(3, 8, 3)")
    assert graph.problems == ()
    assert "stride" not in graph.modules[1].arguments
    assert graph.model.parameters == sum(p.numel() for p in built[0].parameters())


EITHER = "self.b = Block(4)\nself.z = nn.Module()\nself.z.fc = [self.b, Block(5), Block(6)][n]\n"
SHARED = {
    "one on one path, two on the other": "if n:\n    self.x = nn.Linear(2, 3)\n    y = nn.Linear(2, 3)\n"
    "else:\n    self.x = y = nn.Linear(2, 3)\ny.requires_grad_(False)\ny.extra = nn.ReLU()",
    "held on one path": "y = None\nif n: self.x = nn.Linear(2, 3)\nelse:\n    self.x = nn.Linear(2, 3)\n    y = [self.x]\n"
    "if y:\n    for p in y[0].parameters(): p.requires_grad = False",
    "an earlier turn's": "l = []\nfor i in range(2):\n    x = nn.ReLU()\n    l.append(x)\n    if i == n: break\n"
    "self.l = nn.ModuleList(l)\nself.x = x",
    "the module's own": "self.a = ACT if n else nn.ReLU()\nself.b = ACT",
    "parameters of one of two": "a = nn.Linear(2, 3)\ny = a\nif n: y = nn.Linear(2, 3)\nself.x = a\n"
    "for p in y.parameters(): p.requires_grad = False",
    "frozen below": EITHER + "self.z.requires_grad_(False)",
    "frozen one by one": EITHER + "for p in self.z.parameters(): p.requires_grad = False",
    "frozen by name": EITHER + "for k, p in self.z.named_parameters(): p.requires_grad_(False)",
    "frozen in a copy": EITHER + "import copy\nself.c = copy.deepcopy(self.z)\nself.c.requires_grad_(False)",
    "given a child": EITHER + "for m in self.z.children(): m.tag = nn.ReLU()",
    "applied to": EITHER
    + "self.z.apply(lambda m: m.add_module('t', nn.ELU()) if isinstance(m, nn.LayerNorm) else None)",
    "reparametrised": "self.z = nn.Linear(2, 2)\nif n: self.z = nn.Linear(2, 3)\nnn.utils.weight_norm(self.z)",
    "all of an open list": "z = nn.Module()\nl = [z]\nif n: l.append(nn.Module())\n"
    "for m in l: m.tag = nn.ReLU()\nself.z = z",
    "parameters of one of two lists": "a = nn.Linear(2, 3)\nb = nn.ReLU()\nself.x = a\n"
    "for m in ([a], [b], [a, b])[n]: m.requires_grad_(False)",
}


@pytest.mark.parametrize("body", SHARED.values(), ids=SHARED)
def test_what_is_shared_on_one_path_only_is_not_claimed(predict_source: Callable[..., Graph], body: str) -> None:
    """Two objects that stand for each other on some places, and for others elsewhere, are no longer told apart."""
    graph, built = models(predict_source, body)
    assert graph.problems or body == SHARED["all of an open list"]
    for model in built:
        check(graph, model)


@pytest.mark.parametrize("name", ["double", "half"])
def test_what_is_below_one_of_two_modules_may_be_converted(predict_source: Callable[..., Graph], name: str) -> None:
    graph, _ = models(predict_source, EITHER + f"self.z.{name}()")
    dtypes = {parameter.dtype for node in graph.modules for parameter in node.parameters}
    assert dtypes == {None}, "each of the three may have been converted, or not"


def test_what_may_be_trained_is_said(predict_source: Callable[..., Graph]) -> None:
    graph, _ = models(predict_source, "self.x = nn.Linear(2, 3)\nif n: self.x.requires_grad_(False)")
    assert [p.message for p in graph.problems] == ["whether parameter 'weight' of 'x' is trainable is not known"]
