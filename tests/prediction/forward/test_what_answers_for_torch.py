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
