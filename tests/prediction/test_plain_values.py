"""What a constructor is given and nobody knows is no child where the class uses it as a number, text, flag or object of
options; torch is the judge of what is one."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent, indent
from types import SimpleNamespace
from typing import Any

import pytest

from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch

OPTIONS = SimpleNamespace(dim=4, depth=2, scale=2.0, kind="a")
USES: dict[str, tuple[Any, str, str]] = {
    "a layer's size, handed on as well": (4, "self.fc = nn.Linear(value, 2)\nself.sub = Sub(value)", "pass"),
    "the attribute is a layer's size": (4, "self.fc = nn.Linear(self.value, 2)\nself.sub = Sub(self.value)", "pass"),
    "an option of a function": (0.5, "pass", "return nn.functional.dropout(x, self.value, self.training)"),
    "an option by keyword": (2, "pass", "return nn.functional.avg_pool1d(x, kernel_size=self.value)"),
    "a keyword of a method": (1, "pass", "return x.topk(k=self.value, dim=-1)"),
    "compared with a text": ("sum", "pass", "return x.sum() if self.value == 'sum' else x"),
    "one of several texts": ("sum", "pass", "return x.sum() if self.value in ('sum', 'mean') else x"),
    "a size in view": (4, "pass", "return x.view(-1, self.value)"),
    "a bound of a slice": (2, "pass", "return x[:, : self.value]"),
    "part of a text": ("a", "pass", "print(f'this is {self.value}')"),
    "a flag": (True, "pass", "return -x if self.value else x"),
    "a flag that is negated": (False, "pass", "return x if not self.value else -x"),
    "beside an attribute by a computed name": (
        4,
        "self.fc = nn.Linear(value, 2)\nself.layer0 = nn.ReLU()",
        "return getattr(self, f'layer{x}')",
    ),
    "an object of options": (OPTIONS, "self.fc = nn.Linear(value.dim, value.depth)\nself.sub = Sub(value.dim)", "pass"),
}
MODULES: dict[str, tuple[str, str]] = {
    "called": ("self.fc = nn.Linear(2, 2)", "return self.value(x)"),
    "one attribute is read": ("self.fc = nn.Linear(value.in_features, 2)", "pass"),
    "it is called, and attributes are read": (
        "self.fc = nn.Linear(value.in_features, value.out_features)",
        "return self.value(x)",
    ),
    "handed on": ("self.sub = Sub(value)", "pass"),
    "asked whether it is there": ("self.fc = nn.Linear(2, 2)", "return x if self.value is None else self.value(x)"),
    "tested by the constructor": ("self.fc = nn.Linear(2, 2)\nif value:\n    self.n = 3", "pass"),
    "compared by the constructor": ("self.n = value == 'relu' or value in ('gelu', 'silu')", "pass"),
    "shown by the constructor": ("self.text = f'{value}'", "pass"),
    "it may be a number or a module": (
        "if isinstance(value, int):\n    self.fc = nn.Linear(value, 2)",
        "return self.value(x)",
    ),
}


def source(init: str, forward: str) -> str:
    return (
        dedent("""
        class Sub(nn.Module):
            def __init__(self, given):
                super().__init__()
                self.fc = nn.Linear(2, 2)

        class Net(nn.Module):
            def __init__(self, value):
                super().__init__()
                self.value = value
        """)
        + indent(init, " " * 8)
        + "\n\n    def forward(self, x):\n"
        + indent(forward, " " * 8)
    )


def children(text: str, value: Any) -> set[str]:
    import torch

    namespace: dict[str, Any] = {"torch": torch, "nn": torch.nn}
    exec(text, namespace)
    return {name for name, _ in namespace["Net"](value).named_children()}


@pytest.mark.parametrize("use", USES)
def test_a_plain_value_is_no_child(predict_source: Callable[..., Graph], use: str) -> None:
    value, init, forward = USES[use]
    text = source(init, forward)
    found = {node.path for node in predict_source(text).modules if node.registered} - {""}
    truth = children(text, value)
    assert "value" not in truth
    assert {path for path in found if "." not in path} == truth


@pytest.mark.parametrize("use", MODULES)
def test_a_module_that_is_given_stays_a_child(predict_source: Callable[..., Graph], use: str) -> None:
    import torch

    text = source(*MODULES[use])
    assert "value" in children(text, torch.nn.Linear(2, 2))
    found = {node.path: node.class_name for node in predict_source(text).modules}
    assert found.get("value", "absent") is None  # there may be one, and its class is not known


def test_an_assignment_elsewhere_decides_nothing(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source("""
        class Base(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.part = size
                self.fc = nn.Linear(size, 2)
        class Net(Base):
            def __init__(self, part):
                super().__init__(3)
                self.part = part
        """)
    assert "part" in {node.path for node in graph.modules}


def test_what_arithmetic_gives_is_no_child(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source("""
        class Net(nn.Module):
            def __init__(self, block):
                super().__init__()
                self.planes = 4
                self.rest = 4 - block.size
                self.one = self.make(block, 8)
            def make(self, block, planes):
                made = block(self.planes, self.rest)
                self.planes = planes * block.expansion
                return made
        """)
    assert [node.path for node in graph.modules] == ["", "one"]


def test_a_product_may_be_a_module(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source("""
        class Net(nn.Module):
            def __init__(self, part, n):
                super().__init__()
                self.parts = part * n
            def forward(self, x):
                return self.parts(x)
        """)
    assert "parts" in {node.path for node in graph.modules}
