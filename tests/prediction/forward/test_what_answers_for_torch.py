"""Code of the project that answers in the place of torch's functions, and what chooses dtypes in its place: nothing is claimed
that it may have changed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.prediction.forward.judged import is_whole, predicted, wrong

pytestmark = pytest.mark.needs_torch

CLASSES = """
from torch.overrides import TorchFunctionMode

class Wide(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is torch.relu:
            return torch.zeros(9, 9)
        return super().__torch_function__(func, types, args, kwargs or {})

class Doubled(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return torch.cat([result, result]) if func is torch.relu else result

class Duck:
    def __init__(self, module):
        self.module = module

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return args[0].module(torch.ones(4, 3))

class Kept(torch.Tensor):
    def through(self, module):
        return module(self)

class Right:
    def __init__(self, module):
        self.module = module

    def __rmatmul__(self, other):
        return self.module(other)

    __radd__ = __rmatmul__

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.wide = nn.Linear(3, 3), nn.ReLU(), nn.Linear(9, 3)

    def forward(self, x):
        %s
"""
OPEN = {
    "a subclass of Tensor": "return self.wide(torch.relu(x.as_subclass(Wide)))",
    "a mode": "with Doubled():\n    return torch.relu(self.a(x))",
    "an object": "return torch.relu(Duck(self.a))",
    "a function that is given a module": "future = torch.jit.fork(self.a, x)\ny = self.b(x)\nreturn torch.jit.wait(future), y",
}
FOLLOWED = {
    "a subclass stays one": "return (x.as_subclass(Kept) + 1).through(self.a).through(self.b)",
    "the other operand": "return x @ Right(self.a), x + Right(self.b)",
}
COMPILED = """
import torch.nn.utils.parametrize as parametrize

class Twice(nn.Linear):
    def _call_impl(self, *given, **named):
        return torch.cat([super()._call_impl(*given, **named)] * 2)

class Upper(nn.Module):
    def forward(self, weight):
        return weight.triu()

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.ReLU()
        %s

    def forward(self, x):
        %s
"""
FOLLOWED_LAYERS = {
    "_call_impl of a class": (
        "self.c = Twice(3, 4)\nself.c.register_forward_hook(lambda m, i, o: o[:1])",
        "return self.c(x)",
    ),
    "a function that layers call": (
        "self.relu = F.relu",
        "F.relu = lambda y, inplace=False: torch.cat([y, y])\ny = self.b(x)\nF.relu = self.relu\nreturn y, F.relu(x)",
    ),
    "parametrizations that are kept": (
        "parametrize.register_parametrization(self.a, 'weight', Upper())",
        "with parametrize.cached():\n    y = self.a(self.a(x))\nreturn y, self.a.weight",
    ),
    "a scripted layer": ("self.c = torch.jit.script(nn.Linear(3, 3))", "return self.a(self.c(x))"),
    "a traced layer": ("self.c = torch.jit.trace(nn.Linear(3, 3), torch.ones(2, 3))", "return self.a(self.c(x))"),
}
OPEN_LAYERS = {
    "forward of a layer": ("", "nn.Linear.forward = lambda self, y: torch.cat([y, y])\nreturn self.a(x)"),
    "the call of all modules": (
        "call = nn.Module.__call__\nnn.Module.__call__ = lambda m, *y: torch.cat([call(m, *y)] * 2)",
        "return self.b(self.a(x))",
    ),
}
DTYPES = {
    "a context": "with torch.autocast('cpu', dtype=torch.bfloat16):\n    y = self.a(x)\n    z = y @ y.T\nreturn y, z, self.a(x)",
    "off": "with torch.autocast('cpu', enabled=False):\n    return self.a(x)",
    "a decorator": "run = torch.autocast('cpu', dtype=torch.bfloat16)(lambda y: self.a(y))\nreturn run(x)",
    "asked": "with torch.amp.autocast('cpu'):\n    return self.a(x) if torch.is_autocast_enabled('cpu') else self.b(x)",
    "asked of the dtype": "with torch.amp.autocast('cpu'):\n    y = self.a(x)\nreturn self.b(y) if y.dtype == x.dtype else y",
}


def _text(body: str) -> str:
    return CLASSES % body.replace("\n", "\n        ")


@pytest.mark.parametrize("case", OPEN)
def test_what_answers_in_its_place_is_not_known(case: str, tmp_path: Path):
    text = _text(OPEN[case])

    assert wrong(tmp_path, text) == []
    problems = predicted(tmp_path, text, ["2x3"]).problems
    assert [each.stage for each in problems] == ["forward"]


@pytest.mark.parametrize("case", FOLLOWED)
def test_followed(case: str, tmp_path: Path):
    text = _text(FOLLOWED[case])

    assert wrong(tmp_path, text) == []
    assert is_whole(predicted(tmp_path, text, ["2x3"]))


@pytest.mark.parametrize("case", DTYPES)
def test_dtypes_under_autocast_are_open(case: str, tmp_path: Path):
    text = _text(DTYPES[case])

    assert wrong(tmp_path, text) == []
    assert not predicted(tmp_path, text, ["2x3"]).problems


def _layers(built: str, forward: str) -> str:
    return COMPILED % (built.replace("\n", "\n        ") or "pass", forward.replace("\n", "\n        "))


@pytest.mark.parametrize("case", FOLLOWED_LAYERS)
def test_what_runs_in_a_layer_is_followed(case: str, tmp_path: Path):
    text = _layers(*FOLLOWED_LAYERS[case])

    assert wrong(tmp_path, text) == []
    assert is_whole(predicted(tmp_path, text, ["2x3"]))


@pytest.mark.parametrize("case", OPEN_LAYERS)
def test_nothing_is_claimed_of_a_layer_that_is_given_another_call(case: str, tmp_path: Path):
    text = _layers(*OPEN_LAYERS[case])

    assert wrong(tmp_path, text) == []
    assert any(each.stage == "forward" for each in predicted(tmp_path, text, ["2x3"]).problems)


def test_what_is_compiled_may_call_anything(tmp_path: Path):
    text = _layers("self.c = torch.compile(nn.Sequential(nn.Linear(3, 3)))", "return self.b(self.c(x))")

    problems = predicted(tmp_path, text, ["2x3"]).problems

    assert [(each.stage, each.line) for each in problems] == [
        ("forward", (tmp_path / "net.py").read_text("utf-8").split("\n").index("        return self.b(self.c(x))") + 1)
    ]
