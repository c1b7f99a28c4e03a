"""Paths of `forward` on which torch refuses: what a `try` makes of them, and what is told where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.needs_torch
torch = pytest.importorskip("torch")

from tests.prediction.forward.judged import predicted, wrong  # noqa: E402 needs torch

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 3)
    def forward(self, x):
"""
ONE_OF_TWO = [
    """
        try:
            return self.a(x if x.sum() > 0 else x[:, :2])
        except RuntimeError:
            return self.b(x)
""",
    """
        y = x if x.sum() > 0 else x[:, :2]
        try:
            y = y @ self.a.weight
        except RuntimeError:
            y = self.b(x)
        return y.relu()
""",
    """
        try:
            y = self.b(x[:, :3]) if x.sum() > 0 else self.a(x)
        except RuntimeError:
            y = self.b(x)
        return y
""",
]


@pytest.mark.parametrize("text", ONE_OF_TWO)
def test_what_a_try_catches_of_one_of_two_tensors(tmp_path: Path, text: str) -> None:
    assert wrong(tmp_path, NET + text, ["2x4"]) == []
    calls = {call.module: call for call in predicted(tmp_path, NET + text, ["2x4"]).calls}
    assert not calls["b"].certain


BOTH = """
        if x.sum() > 0:
            y = self.b(x[:, :3])
        else:
            y = self.a(x[:, :2])
        return y
"""


def test_where_both_paths_fail_neither_is_certain(tmp_path: Path) -> None:
    assert wrong(tmp_path, NET + BOTH, ["2x4"]) == []
    graph = predicted(tmp_path, NET + BOTH, ["2x4"])
    assert [(call.module, call.certain) for call in graph.calls] == [("", True), ("b", False), ("a", False)]
    message = graph.problems[0].message
    assert "(2, 3)" in message
    assert "(2, 2)" in message


def test_a_path_that_fails_is_told(tmp_path: Path) -> None:
    text = f"{NET}        y = self.a(x)\n        if x.sum() > 0:\n            y = self.b(x[:, :3])\n        return y\n"
    graph = predicted(tmp_path, text, ["2x4"])
    assert not graph.complete
    assert "one path fails" in graph.problems[0].message
    assert graph.problems[0].line == text.count("\n", 0, text.index("self.b(x")) + 4  # the lines before it


def test_a_path_that_is_there_to_raise_is_not_told(tmp_path: Path) -> None:
    text = f"{NET}        if x.sum() > 9:\n            raise ValueError('large')\n        return self.a(x)\n"
    graph = predicted(tmp_path, text, ["2x4"])
    assert graph.problems == ()
    assert [call.module for call in graph.calls] == ["", "a"]
