"""Stores past every name that is followed are said with their line, and those that are followed are not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from modgraph.graph.model import Graph

PRELUDE = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
"""What the fixture writes before a text."""
NET = """

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 1)
"""
FUNCTIONS = "import builtins, math, sys, types\ndef f(a=1, *, b=2): return a\ndef g(a=4): return a\n"
TOLD = [
    "nn.__dict__['Linear'] = nn.Bilinear",
    "vars(nn).update(Linear=nn.Bilinear)",
    "builtins.len = lambda _: 2",
    "setattr(builtins, 'len', lambda _: 2)",
    "__builtins__['len'] = lambda _: 2",
    "math.sqrt = lambda _: 3",
    "f.__defaults__ = (5,)",
    "setattr(f, '__defaults__', (5,))",
    "f.__kwdefaults__['b'] = 3",
    "f.__kwdefaults__ = {'b': 3}",
    "f.__code__ = g.__code__",
    "f.__globals__['W'] = 8",
    "f.__globals__.update(W=8)",
    "(lambda x: lambda: x)(1).__closure__[0].cell_contents = 9",
    "h = types.FunctionType(f.__code__, {'W': 11})",
    "def h(): sys._getframe(1).f_globals['W'] = 9",
    "class Other: pass\nOther.__bases__ = (dict,)",
]
FOLLOWED = [
    "class Other: pass\nOther.x = 4\nOther().__dict__.update(a=1)\nvars(Other())['b'] = 3",
    "print(f.__defaults__, f.__code__, f.__globals__['f'], vars(nn)['Linear'])",
    "builtins.profile = lambda function: function",
    "sys.stdout = sys.stderr",
    "from collections import namedtuple\nPair = namedtuple('Pair', 'a b')\nPair.__new__.__defaults__ = (1, 2)",
]


@pytest.mark.parametrize("statement", TOLD)
def test_what_changes_functions_classes_and_other_modules_is_said(
    predict_source: Callable[..., Graph], statement: str
) -> None:
    graph = predict_source(FUNCTIONS + statement + NET)
    assert not graph.complete
    told = [problem for problem in graph.problems if "changes what other code finds" in problem.message]
    assert len(told) == 1
    assert told[0].line == len((PRELUDE + FUNCTIONS + statement).splitlines())


@pytest.mark.parametrize("statement", FOLLOWED)
def test_what_is_followed_is_not_said(predict_source: Callable[..., Graph], statement: str) -> None:
    assert predict_source(FUNCTIONS + statement + NET).complete
