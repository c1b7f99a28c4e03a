"""Source that no constructor should have: whatever it is, the prediction ends, with an unknown or an error of ours."""

from __future__ import annotations

import importlib.util
import runpy
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from modgraph.errors import TargetError
from modgraph.graph.model import Graph
from modgraph.prediction.deep_stack import with_deep_stack

SWEEP = runpy.run_path(str(Path(__file__).parents[1] / "oracle/robustness_sweep.py"))

BODIES = {
    "a constructor that makes itself": "self.a = Net()",
    "functions that call each other": "self.a = ping(self)",
    "while True": "\n".join(["while True:", "    self.n = 1"]),
    "a range without end": "\n".join(["for i in range(10 ** 15):", "    self.add_module(str(i), nn.ReLU())"]),
    "a list of all numbers": "self.l = nn.ModuleList([nn.ReLU() for _ in range(10 ** 12)])",
    "a string without end": "self.add_module('a' * 10 ** 11, nn.ReLU())",
    "a number without end": "self.a = nn.Linear(10 ** 10 ** 10, 1)",
    "a shift without end": "self.a = nn.Linear(1 << 10 ** 12, 1)",
    "a factorial without end": "\n".join(["import math", "self.a = nn.Linear(math.factorial(10 ** 9), 1)"]),
    "a list that is doubled": "\n".join(["x = [1]", "for _ in range(200): x = x + x", "self.a = nn.Linear(len(x), 1)"]),
    "a list extended by itself": "\n".join(
        ["x = [1]", "for _ in range(99): x.extend(x)", "self.a = nn.Linear(len(x), 1)"]
    ),
    "a string that is doubled": "\n".join(
        ["x = 'a'", "for _ in range(99): x = f'{x}{x}' + x", "self.add_module(x, None)"]
    ),
    "an iterator without end": "\n".join(
        ["import itertools", "self.l = nn.ModuleList(nn.ReLU() for _ in itertools.count())"]
    ),
    "a generator without end": "self.l = nn.ModuleList(endless())",
}
LANGUAGE = """
class Base(Base): pass
class Loop1(Loop2): pass
class Loop2(Loop1): pass
class Meta(type):
    def __call__(cls, *args): return cls
    def __prepare__(name, bases): return {}
    def __getattr__(cls, name): return cls
class Odd(metaclass=Meta): pass
class Name(*[nn.Module], **{}): pass
def ping(x): return pong(x)
def pong(x): return ping(x)
def endless():
    while True:
        yield nn.ReLU()
"""


BEGIN = """
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()"""


@pytest.mark.parametrize("name", BODIES)
def test_what_has_no_end_is_unknown_in_time(name: str, predict_source: Callable[..., Graph]) -> None:
    lines = "".join(f"        {line}\n" for line in BODIES[name].splitlines())
    started = time.process_time()
    graph = predict_source(
        f"{LANGUAGE}\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n{lines}",
        with_torch=False,
    )
    assert graph.problems, "nothing is said to be unknown"
    assert not any("internal error" in problem.message for problem in graph.problems)
    assert time.process_time() - started < 40


@pytest.mark.parametrize("word", ["break", "continue"])
@pytest.mark.parametrize("line", ["{word}", "if open('x').read(): {word}"])
def test_what_the_parser_takes_and_python_refuses_is_said(word: str, line: str, predict_source: Callable[..., Graph]):
    body = f"{BEGIN}\n        self.a = nn.ReLU()\n        {line.format(word=word)}\n        self.b = nn.ReLU()\n"
    with pytest.raises(SyntaxError):
        compile(body, "net.py", "exec")
    (problem,) = {each.message for each in predict_source(body, with_torch=False).problems if "Python" in each.message}
    assert f"'{word}' outside of a loop" in problem


@pytest.mark.parametrize("name", ["Base", "Loop1", "Odd", "Name", "ping"])
def test_odd_classes_and_functions_end_as_a_graph_or_an_error(name: str, predict_source: Callable[..., Graph]) -> None:
    try:
        graph = predict_source(LANGUAGE, name, with_torch=False)
    except TargetError:
        return
    assert graph.modules


@pytest.mark.parametrize(
    "text",
    [
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear(" + "(" * 3000 + "1" + ")" * 3000 + ", 2)",
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear(" + "1 + " * 2500 + "1, 2)",
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear(1" + "0" * 6000 + ", 2)",
        "class Net[T: int, *Ts](nn.Module):\n    type Width = int\n    def __init__[S](self):\n        super().__init__()\n        self.a = nn.ReLU()",
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear(t'{1}', 2)",
        "class Net(nn.Module):\n    def __init__(self):\n        try:\n            super().__init__()\n        except A, B:\n            pass",
        "class Net(nn.Module):\n    def __init__(self): self.a = nn.Linear(0777, print 1)",
        "class Net(nn.Module):\n" + "".join("    " * depth + "if 1:\n" for depth in range(1, 90)) + "    " * 90 + "x = 1",
    ],
    ids=["parentheses", "a long sum", "a long number", "type parameters", "t-string", "bare except list", "python 2", "blocks"],
)  # fmt: skip
def test_any_text_ends_as_a_graph_or_an_error(text: str, predict_source: Callable[..., Graph]) -> None:
    try:
        graph = predict_source(text, with_torch=False)
    except TargetError:
        return
    assert graph.modules


def test_modules_that_import_each_other_and_themselves(tmp_path: Path, predict_source: Callable[..., Graph]) -> None:
    (tmp_path / "one.py").write_text("from two import B\nfrom one import A\nclass A(B): pass\n")
    (tmp_path / "two.py").write_text("from one import A\nclass B(A): pass\n")
    graph = predict_source("from one import A\nclass Net(nn.Module, A):\n    pass\n", with_torch=False)
    assert graph.modules


@pytest.mark.skipif(
    importlib.util.find_spec("test.test_ast") is None, reason="this Python comes without the standard library's tests"
)
def test_a_sample_of_the_standard_library_is_predicted_without_a_fault() -> None:
    result = with_deep_stack(lambda: SWEEP["sweep"]("stdlib", 25, files=20))
    assert result.predicted + result.refused > 8
    assert result.faults == []
