"""Whether an autocast is around a model is its caller's: both ways are told. Torch is the judge."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.prediction.forward.judged import predicted, wrong
from tests.prediction.forward.test_ways_of_sizes import run

LONG = 'torch.is_autocast_enabled("cpu") or x.sum() > 1_000_000 or x.abs().max() > 1_000_000'


@pytest.mark.needs_torch
@pytest.mark.parametrize("test", ['torch.is_autocast_enabled("cpu")', LONG])
def test_a_caller_may_have_put_one_around(test: str, tmp_path: Path) -> None:
    import torch

    source = (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)\n\n    def forward(self, x):\n"
        f"        if {test}:\n            x = self.a(x)\n        return self.b(x)\n"
    )
    graph = predicted(tmp_path, source, ["2x4"])
    certain = {call.module for call in graph.calls if call.certain}
    told = {call.module for call in graph.calls}
    without = run(source, torch.zeros(2, 4))
    with torch.autocast("cpu"):
        within = run(source, torch.zeros(2, 4))
    assert without is not None
    assert within is not None
    assert certain <= set(without)
    assert set(without) | set(within) <= told
    (condition,) = {call.condition.text for call in graph.calls if call.condition is not None}
    assert condition.removeprefix("depends on ").strip("`") == test  # whole, however long it is


CAST = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x):
        {body}
"""
WITHIN = [
    "torch.autocast('cpu')", "torch.autocast('cpu', torch.bfloat16, True, False)", "torch.autocast('cpu', enabled=False)",
    "torch.autocast('cpu', enabled=x.sum() > 0)", "torch.autocast('cpu', enabled=torch.tensor(False))",
    "torch.autocast('cpu', enabled=1)", "torch.autocast('cpu', None, 0)", "torch.autocast('cpu', enabled=None)",
    "torch.cpu.amp.autocast()", "torch.cuda.amp.autocast()",
    "torch.cuda.amp.autocast(False)", "torch.amp.autocast('cpu', enabled=self.training)",
]  # fmt: skip
BODIES = [
    *(f"with {each}:\n            return self.a(x)" for each in WITHIN),
    "return torch.autocast('cpu')(self.a)(x)",
    "torch.set_autocast_enabled('cpu', True)\n        y = self.a(x)\n"
    "        torch.set_autocast_enabled('cpu', False)\n        return y",
    "torch.set_autocast_enabled('cpu', False)\n        return self.a(x)",
]


@pytest.mark.needs_torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("body", BODIES)
def test_what_is_said_of_one_of_its_own_is_so(body: str, tmp_path: Path) -> None:
    assert wrong(tmp_path, CAST.format(body=body), ["2x4"]) == []


@pytest.mark.parametrize("body", [BODIES[2], BODIES[4], BODIES[10], BODIES[-1]])
def test_it_is_known_where_none_is_entered(body: str, tmp_path: Path) -> None:
    graph = predicted(tmp_path, CAST.format(body=body), ["2x4"])
    is_refused = any("must be bool" in each.message for each in graph.problems)
    assert is_refused or [each.dtype for call in graph.calls for each in call.outputs] == ["float32", "float32"]


def test_one_for_a_gpu_is_not_known_to_do_nothing(tmp_path: Path) -> None:
    graph = predicted(tmp_path, CAST.format(body=BODIES[9]), ["2x4"])
    assert [each.dtype for call in graph.calls for each in call.outputs] == [None, None]
