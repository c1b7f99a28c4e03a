"""What a test has decided of one value it has decided of all that depend on it, and of none that another test decides,
though it reads the same. Torch runs each model in either way."""

from __future__ import annotations

from pathlib import Path

import pytest

from modgraph.graph.model import Graph
from tests.prediction.forward.judged import predicted, wrong

pytestmark = pytest.mark.needs_torch
NET = """
class Held:
    def __init__(self, value):
        self.value = value


def pick(x):
    if x.sum() > 0:
        return None
    return 1


def mask(x):
    if pick(x) is None:
        return None
    return torch.ones(2, 1, 1, 4, dtype=torch.bool)[:, :, 0]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Linear(4, 4)

    def forward(self, x):
%s
        return self.c(x)
"""
FOLLOWED = {
    "what a function gives": """
        m = mask(x)
        if m is not None:
            m = torch.where(m, torch.tensor(0.0), torch.finfo(x.dtype).min)
        x = x[:, None]
        if m is not None:
            x = x + m
    """,
    "the same by a keyword": """
        m = mask(x)
        x = x[:, None]
        x = x if m is None else x.masked_fill(mask=m, value=torch.finfo(torch.float32).min)
    """,
    "by what another gives": """
        a = pick(x)
        b = None if a is None else x.sum(0, keepdim=True)
        if b is not None:
            x = torch.maximum(x, b)
    """,
    "the least of two": """
        x = x * min([x.sum(), x.mean()])
    """,
}
K = "(2 if {1} is None else 3) if {0} is None else (3 if {1} is None else 2)"
"""Always 2 if both come of one test; 3 if they differ."""
NOT_CONFUSED = {
    "two calls": f"""
        m, n = pick(x), pick(-x)
        x = torch.zeros({K.format("m", "n")}, 4)
    """,
    "two turns": f"""
        m = n = pick(x)
        for _ in range(2):
            m, n = n, pick(x)
            x = -x
        x = torch.zeros({K.format("m", "n")}, 4)
    """,
    "turns of which nobody knows how many there are": f"""
        m = n = pick(x)
        k, t = 2, x.abs().sum()
        while t < 99:
            m, x, t = n, -x, t * 2 + 9
            n = pick(x)
            k = {K.format("m", "n")}
        x = torch.zeros(k, 4)
    """,
    "two calls on either of two paths": f"""
        if x[0, 0] > 0:
            m = n = pick(x)
        else:
            m, n = pick(x), pick(-x)
        x = torch.zeros({K.format("m", "n")}, 4)
    """,
    "objects made of two": f"""
        m, n = Held(pick(x)), Held(pick(-x))
        x = torch.zeros({K.format("m.value", "n.value")}, 4)
    """,
    "objects made of two on either of two paths": f"""
        if x[0, 0] > 0:
            p = pick(x)
            m = Held((p, p))
        else:
            m = Held((pick(x), pick(-x)))
        a, b = m.value
        x = torch.zeros({K.format("a", "b")}, 4)
    """,
}


def _shape(graph: Graph) -> tuple[object, ...] | None:
    return next(call.outputs[0].shape for call in graph.calls if call.module == "c" and call.outputs)


@pytest.mark.parametrize("body", FOLLOWED.values(), ids=FOLLOWED)
def test_a_value_that_a_test_has_decided_is_known_behind_it(body: str, tmp_path: Path):
    text = NET % body.strip("\n ").join(("        ", ""))

    assert wrong(tmp_path, text, ["2x4"]) == []
    graph = predicted(tmp_path, text, ["2x4"])
    assert not [each for each in graph.problems if each.stage == "forward"]
    assert all(call.certain for call in graph.calls)
    assert _shape(graph) is not None
    assert None not in _shape(graph)


@pytest.mark.parametrize("body", NOT_CONFUSED.values(), ids=NOT_CONFUSED)
def test_another_test_that_reads_the_same_decides_nothing(body: str, tmp_path: Path):
    assert wrong(tmp_path, NET % body.strip("\n ").join(("        ", "")), ["2x4"]) == []
