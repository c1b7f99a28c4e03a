"""Stores past every name that is followed are said with their line, and those that are followed are not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

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
FUNCTIONS = "import builtins, math, random, sys, types\ndef f(a=1, *, b=2): return a\ndef g(a=4): return a\n"
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
    "for _ in range(1): sys._getframe(0).f_globals['W'] = 9",
    "g(builtins.__dict__.update(len=g))",
    "class Other: pass\nOther.__bases__ = (dict,)",
]
FOLLOWED = [
    "class Other: pass\nOther.x = 4\nOther().__dict__.update(a=1)\nvars(Other())['b'] = 3",
    "print(f.__defaults__, f.__code__, f.__globals__['f'], vars(nn)['Linear'])",
    "builtins.profile = lambda function: function",
    "sys.stdout = sys.stderr",
    "def seed():\n    random.seed = None",
    "class Runner:\n    def run(self):\n        random.seed = None\n    def other(self): self.run()",
    "def main():\n    seed()\ndef seed():\n    random.seed = None\nif __name__ == '__main__':\n    main()",
    "def seed(): random.seed = None\ndef run(): seed()",
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


RUN_ON_IMPORT = [
    "def seed(): random.seed = None\nseed()",
    "def main(): seed()\ndef seed(): random.seed = None\nfor _ in range(2): main()",
    "class Runner:\n    def __init__(self): random.seed = None\nRunner()",
    "class Runner:\n    def __init__(self): random.seed = None\nclass Other(Runner): pass\nx = Other()",
    "def seed(f):\n    random.seed = None\n    return f\n@seed\ndef other(): pass",
    "class Runner:\n    random.seed = None",
    "def seed(): random.seed = None\nclass Runner:\n    x = seed()",
    "def seed(): random.seed = None\ndef other(x=seed()): pass",
]
RUN_BY_THE_MODEL = [
    "def seed(): random.seed = None\ndef init(): seed()",
    "def init():\n    def inner(): random.seed = None\n    inner()",
    "class Runner:\n    def __call__(self): random.seed = None\ndef init(): Runner()()",
]


@pytest.mark.parametrize("text", RUN_ON_IMPORT)
def test_what_runs_on_import_is_said(predict_source: Callable[..., Graph], text: str) -> None:
    graph = predict_source(FUNCTIONS + text + NET)
    assert ["`random.seed = ...` changes" in problem.message for problem in graph.problems] == [True]


@pytest.mark.parametrize("text", RUN_BY_THE_MODEL)
def test_what_the_model_runs_is_said(predict_source: Callable[..., Graph], text: str) -> None:
    graph = predict_source(f"{FUNCTIONS}{text}{NET}        init()\n")
    assert ["`random.seed = ...` changes" in problem.message for problem in graph.problems] == [True]
    assert predict_source(FUNCTIONS + text + NET).complete


def test_what_another_file_imports_and_calls_is_said(predict_source: Callable[..., Graph], tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text("import random\ndef seed():\n    random.seed = None\n", encoding="utf-8")
    assert predict_source(f"import helpers\nfrom helpers import seed{NET}").complete
    for call in (
        "import helpers\nhelpers.seed()",
        "from helpers import seed as s\ns()",
        "from helpers import *\nseed()",
    ):
        (problem,) = predict_source(call + NET).problems
        assert (problem.file, problem.line) == ("helpers.py", 3)
