"""Whether equal numbers and texts are one object is not promised by Python, and not foretold."""

from __future__ import annotations

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
