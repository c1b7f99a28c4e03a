"""What may not be there, what may have been replaced, and what has no order: each model is built with several values of
its argument, or several hash seeds, and must be one that the prediction allows."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from modgraph.graph.model import Graph
from tests.prediction.test_soundness import HEADER, TRUTHS, _built, _contradictions

pytestmark = pytest.mark.needs_torch

BUFFERS = "self.a = nn.ReLU(); self.register_buffer('b', torch.zeros(2)); self.p = nn.Parameter(torch.zeros(3))\n"

CASES: dict[str, tuple[tuple[Any, ...], str]] = {
    "membership and lengths of a ModuleDict": (
        TRUTHS,
        """
        m = nn.ModuleDict({"a": nn.ReLU()})
        if n:
            m["b"] = nn.ReLU()
        self.a = nn.Linear(5 if "b" in m else 6, 1)
        self.b = nn.Linear(len(list(m.children())), len(m))
        self.c = nn.Linear(len(list(m.keys())), len(m.items()))
        self.d = nn.Linear(len("".join(m)), len([1 for _ in m.values()]))
        """,
    ),
    "torch's stores in the `__dict__` of one of two children": (
        TRUTHS,
        """
        self.a = nn.Sequential(nn.ReLU(), nn.ReLU()) if n else nn.Linear(2, 3)
        self.b = nn.Linear(len(self.a.__dict__["_modules"]) + 1, 2 if "_parameters" in self.a.__dict__ else 3)
        self.c = nn.Linear(len(self.a.__dict__.get("_parameters", "")) + 1, 2)
        self.d = nn.Sequential(*self.a.__dict__["_modules"].values())
        """,
    ),
    "sizes that a view may not fit": (
        (2, 3, 4, 5),
        """
        def tried(shape, *wanted):
            try:
                torch.zeros(shape).view(*wanted)
                return nn.ReLU()
            except RuntimeError:
                return nn.Tanh()
        self.a, self.b, self.c = tried(6, n, -1), tried((n, 4), 2, 6), tried((n, 4), -1, 4)
        try:
            torch.zeros(n).reshape(2, 2)
            self.d = nn.ReLU()
        except RuntimeError:
            self.d = nn.Tanh()
        """,
    ),
    "walks over a child in the middle": (
        TRUTHS,
        """
        m = nn.Module()
        m.a = nn.Linear(1, 1)
        if n:
            m.b = nn.Linear(2, 2)
        m.c = nn.Linear(3, 3)
        self.a = nn.Sequential(*list(m.children())[1:])
        self.b = nn.Sequential(*[nn.ReLU() for _ in m.children()])
        self.c = nn.Linear(len(list(m.modules())), len(list(m.parameters())))
        self.d = nn.Linear(2 if "b" in [name for name, _ in m.named_children()] else 3, 1)
        self.e = nn.Linear(2 if "b" in m._modules else 3, len(m._modules))
        self.f = nn.Linear([name for name, _ in m.named_parameters()].index("c.bias"), 1)
        """,
    ),
    "a loop over children, one of which is there on some paths": (
        TRUTHS,
        """
        self.a = nn.Linear(1, 1)
        if n:
            self.b = nn.Linear(2, 2)
        self.c = nn.Linear(3, 3)
        count = 0
        for child in self.children():
            child.bias = None
            count += 1
        for p in self.parameters():
            p.requires_grad = False
        self.d = nn.Linear(count, 1)
        """,
    ),
    "a loop that ends at an unknown module": (
        (lambda: None, lambda: __import__("torch").nn.Sequential(__import__("torch").nn.ReLU())),
        """
        self.a = nn.Linear(1, 1)
        self.b = n()
        self.c = nn.Linear(3, 3)
        for child in list(self.modules())[1:]:
            if not isinstance(child, nn.Linear):
                break
            child.bias = None
        """,
    ),
    "children that are taken from an iterator and changed": (
        TRUTHS,
        """
        m = nn.Module()
        m.a = nn.Sequential()
        if n:
            m.b = nn.Sequential()
        m.c = nn.Sequential()
        list(m.children())[1].append(nn.ReLU())
        self.m = m
        """,
    ),
    "ParameterList and ParameterDict after a branch": (
        TRUTHS,
        """
        p = nn.ParameterList([torch.zeros(1)])
        d = nn.ParameterDict({"a": torch.zeros(1)})
        if n:
            p.append(torch.zeros(1)); d["b"] = torch.zeros(1)
        self.a = nn.Linear(len(p), len(list(p)))
        self.b = nn.Linear(5 if "b" in d else 6, len(d))
        self.c = nn.Linear(len(list(d.values())), len("".join(d.keys())))
        self.p = p
        """,
    ),
    "an unknown place of a ParameterList": (
        (0, 1, -1),
        "self.p = nn.ParameterList([torch.zeros(1), torch.zeros(2)]); self.p[n] = nn.Parameter(torch.zeros(4))",
    ),
    "an unknown key of a ParameterDict": (
        ("a", "b", "c"),
        """
        self.p = nn.ParameterDict({"a": torch.zeros(1), "b": torch.zeros(2)})
        self.p[n] = torch.zeros(4)
        self.l = nn.Linear(len(self.p), 1)
        """,
    ),
    "suppressed errors of something unknown": (
        ({}, {"a": 1}),
        """
        size = 3
        with contextlib.suppress(KeyError):
            n["a"]; size = 5
        self.a = nn.Linear(size, 1)
        """,
    ),
    "an import that is suppressed does not suppress other operations": (
        ({"a": 1},),
        """
        with contextlib.suppress(ImportError):
            n["a"]
            self.a = nn.Linear(1, 1)
        """,
    ),
    "an unknown name set to None": (("a", "b", "p", "c"), BUFFERS + "setattr(self, n, None)"),
    "an unknown name set to a tensor": (
        ("b", "c"),
        BUFFERS + "setattr(self, n, torch.ones(5))\nself.q = nn.Linear(self.b.shape[0], 1)",
    ),
    "an unknown name set to a module": (("a", "b", "c"), BUFFERS + "setattr(self, n, nn.Tanh())"),
    "an unknown name set to a parameter": (
        ("a", "b", "p", "c"),
        BUFFERS + "setattr(self, n, nn.Parameter(torch.ones(5)))",
    ),
    "an unknown name set by Module.__setattr__": (("a", "b", "p"), BUFFERS + "super().__setattr__(n, None)"),
    "an unknown name set to a function": (
        ("size", "other"),
        """
        class Sized:
            def size(self):
                return 3
        class Inner(nn.Module):
            def size(self):
                return 3
        sized, inner = Sized(), Inner()
        setattr(sized, n, lambda: 7)
        setattr(inner, n, lambda: 7)
        self.a = nn.Linear(sized.size(), inner.size())
        """,
    ),
    "an unknown name deleted": (
        ("w", "v"),
        "self.w = 1; self.v = 2\ndelattr(self, n)\nself.a = nn.Linear(2 if hasattr(self, 'w') else 3, 1)",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_torch_builds_is_what_may_be(name: str, predict_source: Callable[..., Graph]) -> None:
    values, body = CASES[name]
    text = HEADER + textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 8) + "\n"
    graph = predict_source(text)
    for value in values:
        assert _contradictions(graph, _built(text, value)) == []


SETS = """\
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        S = {"a", "bb", "ccc"}
        self.a = nn.Linear(len(max(S, key=lambda each: 1)), len(sorted(S, key=lambda each: 0)[0]))
        listed = list(S)
        listed.sort(key=lambda each: 0)
        self.b = nn.Linear(len(listed[0]), len({1: each for each in S}[1]))
        self.c = nn.ModuleDict({each: nn.ReLU() for each in S})
        self.d = nn.ModuleDict({each: nn.ReLU() for each in S}.copy().items())
        n = 0
        for each in S:
            n = n * 3 + len(each)
        self.e = nn.Linear(n, 1)
        n = 0
        for each in {"a", "bb", "ccc", "dddd", "eeeee", "ffffff"}:
            n = n * 3 % 7 + len(each)
        self.f = nn.Linear(n, 1)
        self.g = nn.Linear(len(max(S, key=len)), len(sorted(S, key=len)[1]))
"""


def test_what_has_no_order_is_not_claimed(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(SETS)
    known = {node.path: node for node in graph.modules if node.class_name is not None}
    shapes = {path: node.parameters[0].shape for path, node in known.items() if node.parameters}
    assert shapes["g"] == (2, 3)
    for seed in ("0", "1", "2"):
        code = (
            SETS + "for k, m in Net().named_modules():\n    print(k, *(m.weight.shape if hasattr(m, 'weight') else ()))"
        )
        real = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        lines = [line.split(" ") for line in real.stdout.splitlines()]
        there = {path: tuple(map(int, sizes)) for path, *sizes in lines}
        assert [path for path in known if path in there] == [path for path in there if path in known]
        for path, shape in shapes.items():
            if shape is not None:
                assert all(ours in (None, size) for ours, size in zip(shape, there[path], strict=True))


@pytest.mark.parametrize(
    "body",
    [
        "self.a = nn.LazyConv2d(3, 2, groups=7); self.a(torch.zeros(1, 7, 4, 4))",
        "nn.LazyLinear(2).requires_grad_(False)",
    ],
)
def test_what_a_lazy_layer_refuses(body: str, predict_source: Callable[..., Graph]) -> None:
    text = HEADER + " " * 8 + body + "\n"
    with pytest.raises((RuntimeError, ValueError)):
        _built(text, 0)
    assert predict_source(text).problems != ()
