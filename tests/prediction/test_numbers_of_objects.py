"""`__index__` and kin of a class of the source run wherever Python and torch make a number of its objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.needs_torch

HEADER = """
import math, random
class K:
    n = 0
    def __index__(self):
        K.n += 1
        return 1
k = K()
"""
ASKING = """
torch.zeros(3)[k] | torch.zeros(3)[k:] | torch.zeros(3, 3)[k, k] | torch.zeros(k) | torch.zeros(3).reshape(k, 3)
range(k) | [1, 2][k] | [1, 2][k:] | "abc"[k] | (1, 2)[k] | "a" * k | [0] * k | bytes(k) | bytearray(k) | hex(k) | int(k)
operator.index(k) | nn.Linear(k, k) | chr(k) | round(3.3, k) | "x".center(k) | math.gcd(k, 2) | random.randrange(k)
x = [1, 2, 3]; x[k] = 3 | x = [1, 2, 3]; del x[k] | x = [1]; x.insert(k, 2) | x = [1, 2]; x.pop(k)
list(itertools.islice([1, 2], k)) | list(itertools.repeat(1, k)) | "abc".find("a", k) | nn.ModuleList([nn.ReLU(), nn.Tanh()])[k]
"""


@pytest.mark.parametrize("statement", [each.strip() for each in ASKING.replace("\n", "|").split("|") if each.strip()])
def test_it_may_have_run(claims_that_fail: Callable[..., list[Any]], statement: str) -> None:
    assert claims_that_fail(f"{statement}\nself.a = nn.Linear(K.n + 1, 1)", HEADER) == []


RUN = """
L = []
def f(x):
    L.append(1)
    return x.sum()
class Part(nn.Module):
    def forward(self, x):
        L.append(1)
        return x
"""


@pytest.mark.parametrize(
    "call",
    [
        *(
            "torch.jit.trace(f, torch.zeros(1))",
            "torch.jit.trace(Part(), torch.zeros(1))",
            "torch.vmap(f)(torch.zeros(3, 1))",
        ),
        *("torch.func.grad(f)(torch.zeros(1))", "torch.func.jacrev(f)(torch.zeros(1))"),
        "x = torch.zeros(2, requires_grad=True); x.register_hook(lambda grad: L.append(1)); x.sum().backward()",
        "torch.autograd.functional.jacobian(f, torch.zeros(2))",
        "torch.func.functional_call(Part(), {}, (torch.zeros(1),))",
    ],
)
def test_what_torch_transforms_may_have_run(claims_that_fail: Callable[..., list[Any]], call: str) -> None:
    assert claims_that_fail(f"{call}\nself.a = nn.ModuleList([nn.ReLU() for _ in L])", RUN) == []


@pytest.mark.parametrize(
    "call", ["torch.zeros(*sizes)", "'a'.center(*sizes)", "random.randrange(*sizes)", "torch.zeros(k, *sizes)"]
)
def test_how_many_arguments_there_are_may_be_unknown(predict_source: Callable[..., Any], call: str) -> None:
    source = f"""{HEADER}
import os
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        sizes = os.environ["SIZES"].split()
        self.size = {call}
        self.fc = nn.Linear(2, 2)
"""
    graph = predict_source(source)
    assert [node.path for node in graph.modules if node.class_name == "torch.nn.modules.linear.Linear"] == ["fc"]
    assert not any("internal error" in problem.message for problem in graph.problems)
