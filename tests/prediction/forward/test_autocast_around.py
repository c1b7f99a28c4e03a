"""Whether an autocast is around a model is its caller's: both ways are told. Torch is the judge."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.prediction.forward.judged import predicted
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
