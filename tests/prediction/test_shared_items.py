"""Lists that stand at many places of others: what is done with them is counted at each place, before it is done."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from modgraph.graph.model import Graph

PART = 8
"""Of the limits; an eighth says as much in an eighth of the time."""
SECONDS = 60 / PART
"""Of a machine that is slow; without the count these take minutes."""

NET = """
import copy, dataclasses, functools, operator, json
import numpy as np

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        rows = [[0] * 1000] * 100000
        flat = list(range(20000)) * 5
        row = tuple(flat[:90000])
        {}
        self.a = nn.Linear(1, 1)
"""


@pytest.mark.parametrize(
    "body",
    [
        "x = torch.tensor([[0] * 100000] * 99999)",
        "x = np.array(rows)",
        "x = str(rows), repr(rows), json.dumps(rows)",
        "x = sorted(rows), min(rows)",
        "x = np.sum(rows)",
        "for i in range(3): x = torch.tensor([[0, *range(i)] * 1000] * 1000 * 100)",
        "x = torch.tensor([range(20000)] * 100000)",
    ],
)
def test_what_is_too_much_is_not_done(predict_source: Callable[..., Graph], body: str) -> None:
    started = time.process_time()
    graph = predict_source(NET.format(body))
    assert time.process_time() - started < 5
    assert [module.path for module in graph.modules] == ["", "a"]


@pytest.mark.parametrize(
    "body",
    [
        "x = 7.5 in flat",
        "x = str(flat)",
        "x = flat < [*flat, 1]",
        "x = {row: 1}[row]",
        "x = dataclasses.asdict(dataclasses.make_dataclass('D', ['a'])(rows))",
        "x = torch.arange(4096) + 1",
    ],
)
def test_what_is_much_ends_at_the_limit(
    predict_source: Callable[..., Graph], lower_limits: Callable[[int], None], body: str
) -> None:
    lower_limits(PART)
    started = time.process_time()
    graph = predict_source(NET.format(f"for i in range(20000): {body}"))
    assert time.process_time() - started < SECONDS
    assert "raises" not in str(graph.problems)


def test_the_shape_of_rows_that_are_one_is_known(predict_source: Callable[..., Graph]) -> None:
    body = "x = torch.tensor([[1.5, 2] * 500] * 10000); self.b = nn.Linear(*x.shape); self.c = nn.Parameter(x)"
    graph = predict_source(NET.format(body))
    assert graph.problems == ()
    (parameter,) = graph.modules[0].parameters
    assert (parameter.shape, parameter.dtype) == ((10000, 1000), "float32")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("sorted([3, 1, 2] * 1000)[0]", 1),
        ("sum([1] * 100000)", 100000),
        ("len(str([1] * 1000))", 3000),
        ("max([[1, 2], [3, 4]])[1]", 4),
        ("int(torch.tensor([[1, 2]] * 3).sum())", 9),
    ],
)
def test_what_is_little_is_known(predict_source: Callable[..., Graph], expression: str, value: int) -> None:
    graph = predict_source(NET.format(f"self.b = nn.Linear({expression}, 1)"))
    assert graph.problems == ()
    assert next(module for module in graph.modules if module.path == "b").arguments["in_features"] == value
