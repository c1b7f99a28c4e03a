"""Whether equal numbers and texts are one object is not promised by Python, and not predicted."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest

from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch
NET = """
class Text:
    def __init__(self, owner): self.owner = owner
    def __str__(self):
        self.owner.b = nn.GELU()
        return ""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {}
"""


@pytest.mark.parametrize("test", ["int('257') is int('257')", "''.join(['a', 'b']) is 'ab'", "float('1.5') is 1.5"])
def test_identity_of_equal_values_is_unknown(predict_source: Callable[..., Graph], test: str) -> None:
    graph = predict_source(NET.format(f"self.a = nn.ReLU() if {test} else nn.Tanh()"))
    assert not graph.complete


@pytest.mark.parametrize(
    "statement",
    [
        "self.a = nn.ReLU() if (1 == 1) is True else nn.Tanh()",
        "self.a = nn.ReLU() if int('3') is int('4') else nn.Tanh()",
        "self.a = nn.ReLU() if None is not None else nn.Tanh()",
        "print(Text(self), 'done')",
    ],
)
def test_what_python_promises_is_known(agrees: Callable[[str], Graph], statement: str) -> None:
    agrees(NET.format(statement))


FUNCTIONS = {
    "lambdas of a loop": """
        fs = []
        for i in range(3): fs.append(lambda x: x)
        RESULT = [len(set(fs)), fs[0] is fs[1], fs[0] == fs[1], fs[0] is fs[0], fs.index(fs[2]), len({f: 1 for f in fs})]
    """,
    "functions of a loop of a function": """
        def make():
            fs = []
            for i in range(3):
                def f(): return i
                fs.append(f)
            return fs
        fs = make() + make()
        RESULT = [len(set(fs)), fs[0] is fs[1], fs[0] == fs[3]]
    """,
    "lambdas of a comprehension": """
        fs = [lambda x: x for _ in range(3)]
        RESULT = [len(set(fs)), fs[0] is fs[1], fs[0] == fs[2]]
    """,
    "functions of the module": """
        def f(): pass
        class C:
            def m(self): pass
        RESULT = [f is f, f == f, len({f, f}), {f: 1}[f], C.m is C.m, len({C.m, C.m})]
    """,
    "one function several times": """
        def outer():
            def act(x): return x
            fs = [act] * 3
            return [len(set(fs)), fs[0] is fs[1], fs.count(act), act in fs]
        RESULT = outer()
    """,
}
SHOWN = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleDict({str(RESULT).replace(".", "_"): nn.Identity()})
"""


@pytest.mark.parametrize("text", FUNCTIONS.values(), ids=FUNCTIONS)
def test_each_function_is_an_object_of_its_own(agrees: Callable[[str], Graph], text: str) -> None:
    agrees(textwrap.dedent(text) + SHOWN)


@pytest.mark.parametrize("test", ["list[int] is list[int]", "partial(max, 1) == partial(max, 1)"])
def test_equal_ones_may_be_two(predict_source: Callable[..., Graph], test: str) -> None:
    text = f"from functools import partial\nRESULT = {test}\n"
    assert not predict_source(text + SHOWN).complete
