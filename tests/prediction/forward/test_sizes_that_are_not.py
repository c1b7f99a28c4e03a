"""A test on an open size that comes out "no" is a condition as much as one that comes out "yes"."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.prediction.forward.judged import predicted

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.ReLU(), nn.ReLU()

    def forward(self, x):
        n = x.shape[1]
        %s
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return self.a(x) if n % 2 else x", {"a: n % 2 != 0"}),
        ("return self.a(x) if n != 22 else x", {"a: n != 22"}),
        ("x = self.b(x)\n        return self.a(x) if n == 26 or n == 30 else x", {"a: n == 26 or n == 30"}),
        ("x = self.b(x)\n        return self.a(x) if n in (22, 26) else x", {"a: n == 22 or n == 26"}),
        ("return self.a(x) if n == 26 or n == 30 else x", {"a: n == 26 or n == 30", "n != 26", "n != 30"}),
        ("return {26: x}.get(n, self.a)(x)", {"n != 26"}),
        ("return x.squeeze(1)", {"n != 1"}),
        ("return torch.ones(n % 4 and 7)", {"n % 4 != 0"}),
        ("return self.a(x) if n - 5 else x", {"a: n != 5"}),
    ],
)
def test_it_is_told(body: str, expected: set[str], tmp_path: Path):
    graph = predicted(tmp_path, NET % body, ["x=batch x n"])

    (given,) = graph.model.inputs
    depending = {f"{call.module}: {call.condition.text}" for call in graph.calls if call.condition is not None}
    assert {*given.constraints, *given.followed, *depending} == expected


@pytest.mark.needs_torch
def test_torch_goes_the_other_way_where_it_does_not_hold(tmp_path: Path):
    import torch

    graph = predicted(tmp_path, NET % "return self.a(x) if n % 2 else x.sum()", ["x=batch x n"])
    (constraint,) = graph.model.inputs[0].followed
    namespace: dict[str, type[torch.nn.Module]] = {}
    exec((tmp_path / "net.py").read_text("utf-8"), namespace)

    told = graph.calls[0].outputs[0].shape
    assert told == ("batch", "n")
    for n in range(1, 9):
        shape = tuple(namespace["Net"]()(torch.ones(2, n)).shape)
        assert eval(constraint, {"n": n}) == (shape == (2, n))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return p(torch.arange(n))", {"n <= 40"}),
        ("return p(torch.arange(2, n + 2).unsqueeze(0).expand(3, -1))", {"n <= 38"}),
        ("return p(torch.arange(n - 1, -1, -1))", {"n <= 40"}),
        ("return p(torch.arange(n).clamp(max=39)), p(torch.arange(n) % 40)", set()),
    ],
)
def test_positions_are_rows_of_their_table(body: str, expected: set[str], tmp_path: Path):
    graph = predicted(tmp_path, NET % f"p = nn.Embedding(40, 8)\n        {body}", ["x=batch x n"])

    assert set(graph.model.inputs[0].constraints) == expected
    assert not graph.problems
