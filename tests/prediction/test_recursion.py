"""Functions that call themselves without end, deeper than they are followed, or an unknown number of times."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from modgraph.graph.model import Graph
from modgraph.prediction.domain.limits import MAX_CALL_DEPTH

pytestmark = pytest.mark.needs_torch

ENDLESS = {
    "a function": ("def f(n): return f(n + 1)", "f(0)"),
    "two functions": ("def f(n): return g(n)\ndef g(n): return f(n)", "f(0)"),
    "a lambda": ("f = lambda n: f(n + 1)", "f(0)"),
    "a method": ("class A:\n    def go(self): return self.go()", "A().go()"),
    "a property": ("class A:\n    @property\n    def p(self): return self.p", "A().p"),
    "__getattr__": ("class A:\n    def __getattr__(self, name): return self.other", "A().p"),
    "__setattr__": ("class A:\n    def __setattr__(self, name, value): self.x = value", "A().y = 2"),
    "a constructor": ("class A:\n    def __init__(self): self.a = A()", "A()"),
    "a module": (
        "class A(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = A()",
        "self.a = A()",
    ),
    "__new__": ("class A:\n    def __new__(cls): return A()", "A()"),
    "an operator": ("class A:\n    def __add__(self, other): return self + other", "A() + A()"),
    "__bool__": ("class A:\n    def __bool__(self): return bool(self)", "if A(): pass"),
    "a generator": ("def f(n):\n    for x in f(n + 1): yield x", "list(f(0))"),
    "a function given to another": ("def f(n): return list(map(f, [n]))", "f(0)"),
}


@pytest.mark.parametrize(("header", "statement"), ENDLESS.values(), ids=ENDLESS.keys())
def test_nothing_is_claimed_behind_recursion_without_end(
    predict_source: Callable[..., Graph], header: str, statement: str
) -> None:
    text = (
        f"{header}\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        {statement}\n"
    )
    text += "        self.after = nn.Linear(1, 1)\n"
    with pytest.raises(RecursionError):
        _net(text)()
    graph = predict_source(text)
    assert not any(node.path == "after" and node.class_name is not None for node in graph.modules)
    assert any("calls inside each other" in each.message and each.line is not None for each in graph.problems)


@pytest.mark.parametrize("statement", ["f(0)", "WIDTH = f(0)", "for width in [1]: f(0)", "class A: width = f(0)"])
def test_a_module_that_recurses_without_end_is_told(predict_source: Callable[..., Graph], statement: str) -> None:
    text = f"def f(n): return f(n + 1)\n{statement}\n"
    text += "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.ReLU()\n"
    with pytest.raises(RecursionError):
        _net(text)
    graph = predict_source(text)
    assert not graph.complete
    assert any("calls inside each other" in each.message and each.line is not None for each in graph.problems)


@pytest.mark.parametrize("statement", ["raise ValueError('no')", "WIDTH = int('a')", "f()"])
def test_a_module_that_raises_is_told(predict_source: Callable[..., Graph], statement: str) -> None:
    text = f"def f(): raise ValueError\n{statement}\n"
    text += "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.ReLU()\n"
    with pytest.raises(ValueError):  # noqa: PT011 - of three kinds
        _net(text)
    problems = [each for each in predict_source(text).problems if "ValueError" in each.message]
    assert [each.line is not None for each in problems] == [True]


def test_what_is_deep_and_has_an_end_is_followed(agrees: Callable[[str], Graph]) -> None:
    agrees(
        f"""
        MADE = []
        def f(n):
            if n:
                f(n - 1)
            else:
                MADE.append(1)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                f({MAX_CALL_DEPTH // 2})
                self.after = nn.Sequential(*[nn.ReLU() for _ in MADE])
        """
    )


DEEP = """
MADE = []
N = 0
class C:
    n = 0
def f(n):
    global N
    N += 1
    C.n += 1
    MADE.append(n)
    if n < 400:
        return f(n + 1)
    return "x"
def register(function, n=0):
    return register(function, n + 1) if n < 400 else MADE.append(function)
def busy(function=None):
    global N
    for i in range(9000):
        N += 1
        C.n += 1
        MADE.append(i)
    return function
"""
BUILT = """
self.after = nn.ModuleList([nn.ReLU() for _ in MADE[:3]])
self.b = nn.Linear(N + 1, 1)
self.c = nn.Linear(C.n + 1, 1)
"""
TOO_LONG = {
    "in a constructor": ("", "f(0)"),
    "at module level": ("f(0)", ""),
    "in a default": ("def g(x=f(0)): return x", "g()"),
    "in a class": ("class D:\n    x = f(0)", "D.x"),
    "in a message": ("", "try:\n    raise ValueError(f(0))\nexcept ValueError:\n    pass"),
    "in a decorator": ("@register\ndef g(): pass", ""),
    "caught": ("def g(n): return g(n + 1)", "try:\n    g(0)\n    N = 3\nexcept RecursionError:\n    MADE.append(1)"),
    "a long message": ("", "try:\n    raise ValueError(busy())\nexcept ValueError:\n    pass"),
    "a long decorator": ("@busy\ndef g(): pass", ""),
    "a long decorator inside": ("", "@busy\ndef g(): pass"),
    "a thread": ("import threading", "t = threading.Thread(target=busy)\nt.start()\nt.join()"),
}


@pytest.mark.parametrize(("header", "body"), TOO_LONG.values(), ids=TOO_LONG.keys())
def test_what_is_not_followed_to_its_end_may_have_changed_anything(
    claims_that_fail: Callable[..., list[Any]], header: str, body: str
) -> None:
    assert claims_that_fail(body.replace("N = 3", "MADE.append(2)") + BUILT, DEEP + header) == []


UNDECIDED = """
MADE = []
class A:
    n = 0
    def __init__(self, n, flag):
        MADE.append(n)
        A.n = n
        if flag and n < 6:
            self.a = A(n + 1, flag)
def late(n, flag):
    if n == 6:
        MADE.append(n)
    if flag and n < 6:
        late(n + 1, flag)
def one(n, flag):
    if flag and n < 9:
        other(n + 1, flag)
def other(n, flag):
    if n == 9:
        A.n = n
    if flag and n < 9:
        one(n + 1, flag)
"""


@pytest.mark.parametrize("call", ["A(0, flag)", "late(0, flag)", "one(0, flag)"])
def test_recursion_of_an_unknown_depth_may_change_what_it_changes(
    claims_that_fail: Callable[..., list[Any]], call: str
) -> None:
    body = f"{call}\nself.after = nn.ModuleList([nn.ReLU() for _ in MADE])\nself.b = nn.Linear(A.n + 1, 1)"
    assert claims_that_fail(body, UNDECIDED) == []


def _net(text: str) -> Any:
    namespace: dict[str, Any] = {"__name__": "net"}
    prelude = "import torch\nfrom torch import nn\n"
    exec(compile(prelude + textwrap.dedent(text), "net.py", "exec", dont_inherit=True), namespace)
    return namespace["Net"]
