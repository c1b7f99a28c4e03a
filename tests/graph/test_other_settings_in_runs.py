"""A run under other arguments than the usual ones, beside the prediction: no call is in it twice, as one that was
predicted and did not run, and as one that ran and was not predicted."""

from __future__ import annotations

import types
import warnings
from itertools import product
from pathlib import Path

import pytest

import modgraph
from modgraph.merge import merge
from tests.prediction.forward.judged import PRELUDE, THREE_LAYERS, predicted

torch = pytest.importorskip("torch")

NET = (
    THREE_LAYERS
    + """
    def forward(self, x, p=False, q=False):
        {body}
        return x
"""
)
BODIES = [
    "if p: self.a(x)\n        x = self.b(x)",
    "if p:\n            if x[0, 0] > 0: self.a(x)\n        x = self.b(x)",
    "if p:\n            if x[0, 0] > 0: self.a(x)\n        x = self.b(x)\n        if not q:\n"
    "            if x[1, 0] > 0: self.c(x)",
    "match p:\n            case True:\n                if x[0, 0] > 0: x = self.a(x)\n        x = self.b(x)\n"
    "        x = x if q else self.c(x)",
    "for _ in range(2 if p else 1):\n            if q and x[0, 0] > 0: x = self.a(x)\n            x = self.b(x)",
]


@pytest.mark.parametrize("body", BODIES)
def test_each_call_of_a_run_is_there_once(body: str, tmp_path: Path) -> None:
    text = NET.format(body=body)
    module = types.ModuleType("net")
    exec(compile(PRELUDE + text, "net.py", "exec"), vars(module))
    graph = predicted(tmp_path, text, ["3x4"])
    for p, q, sign in product((False, True), (False, True), (1.0, -1.0)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = modgraph.trace(module.Net().eval(), (sign * torch.ones(3, 4), p, q))
        both = merge(graph, run)
        observed = [each.module for each in both.calls if each.observed]
        assert observed == [each.module for each in run.calls]
        missed = {each.module for each in both.calls if each.certain and each.predicted and not each.observed}
        assert not missed & {each.module for each in both.calls if not each.predicted}
