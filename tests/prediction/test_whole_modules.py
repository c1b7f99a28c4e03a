"""Modules of the project are executed from top to bottom; Python is the judge of what they leave."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest

from modgraph.graph.model import Graph

SCRIPTS = {
    "a class body fills a list": """
        REG = []
        class K:
            REG.append(1)
            for i in range(2):
                REG.append(i)
    """,
    "a container in a container": """
        REG = []
        ALL = {"r": REG}
        ALL["r"].append(3)
    """,
    "a default argument": """
        REG = []
        def f(x=REG.append(3)): pass
    """,
    "constructors": """
        REG = []
        class D:
            def __init__(self):
                REG.append(self)
        x = D()
        y = [D(), D()]
    """,
    "a decorator of a method": """
        REG = []
        def deco(f):
            REG.append(f)
            return f
        class R:
            @deco
            def m(self): pass
    """,
    "calls that are chained": """
        REG = []
        class R:
            @classmethod
            def add(cls, x):
                REG.append(x)
                return cls
        R.add(1).add(2)
    """,
    "attributes of a class that count, in their order": """
        import itertools
        ids = itertools.count(1)
        class K:
            A, B = next(ids), next(ids)
            C = [next(ids) for _ in range(2)]
        REG = [None] * K.C[-1]
    """,
    "instances that count, in a class": """
        class Spec:
            count = 0
            def __init__(self):
                Spec.count += 1
                self.n = Spec.count
        class K:
            a = Spec(); b = Spec()
            c = Spec()
        REG = [None] * (K.c.n * 2 + K.a.n)
    """,
    "__init_subclass__ sets an attribute of another class": """
        class C:
            width = 3
        class X:
            def __init_subclass__(cls):
                C.width = 5
        class Z(X): pass
        REG = [None] * C.width
    """,
    "a lambda sets an attribute": """
        class C:
            width = 3
        change = lambda: setattr(C, "width", 6)
        change()
        REG = [None] * C.width
    """,
    "a metaclass says how attributes are set": """
        class Doubles(type):
            def __setattr__(cls, name, value):
                super().__setattr__(name, value * 2)
        class C(metaclass=Doubles):
            width = 3
        C.width = 2
        REG = [None] * C.width
    """,
    "the names of the module, in their order": """
        def last(): pass
        class A: pass
        x = A()
        class B(A): pass
        REG = [each for name, each in list(globals().items()) if isinstance(each, type) and each.__name__ in "AB"]
        REG = [None] * (1 + (REG[0] is A))
    """,
    "os.path by its full name": """
        import os.path
        REG = [None] * len(os.path.join("a", "b"))
    """,
    "a training script": """
        part = nn.Linear(2, 2)
        optimizer = torch.optim.SGD(part.parameters(), lr=0.1)
        for epoch in range(2):
            optimizer.zero_grad()
            part(torch.zeros(1, 2)).sum().backward()
            optimizer.step()
        REG = [part]
    """,
}
NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.sizes = nn.Linear(len(REG) + 1, 1)
        self.parts = nn.ModuleList(each if isinstance(each, nn.Module) else nn.ReLU() for each in REG)
"""


@pytest.mark.needs_torch
@pytest.mark.parametrize("text", SCRIPTS.values(), ids=SCRIPTS)
def test_what_python_leaves(agrees: Callable[[str], Graph], text: str) -> None:
    agrees(textwrap.dedent(text) + NET)


def test_a_layer_is_replaced_by_setattr(predict_source: Callable[..., Graph]) -> None:
    text = """
        setattr(nn, "Linear", nn.Identity)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.l = nn.Linear(1, 1)
        """
    found = [(node.path, node.class_name) for node in predict_source(text).modules[1:]]
    assert found == [("l", "torch.nn.modules.linear.Identity")]


def test_a_script_that_takes_too_long_is_evaluated_name_by_name(predict_source: Callable[..., Graph]) -> None:
    text = """
        total = 0
        while total < 10_000_000:
            total += 1
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.l = nn.Linear(1, 1)
        """
    graph = predict_source(text)
    assert graph.complete
    assert [node.path for node in graph.modules] == ["", "l"]
