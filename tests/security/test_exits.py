"""A sys.exit() of others, wherever it stands, does not end ours."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

MODEL = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 3)
        {asked}
    def forward(self, x):
        return self.fc(x)
"""
ENDS = {
    "import": ("import sys\nsys.exit(0)\n", "pass", "return self.fc(x)"),
    "init": ("import sys\n", "sys.exit(0)", "return self.fc(x)"),
    "forward": ("import sys\n", "pass", "sys.exit(0)"),
    "train": ("import sys\n", "self.train = lambda mode=True: sys.exit(0)", "return self.fc(x)"),
    "property": (
        "import sys\nclass P:\n    @property\n    def shape(self): sys.exit(0)\n    def __getattr__(self, n): sys.exit(0)\n"
        "    def __repr__(self): sys.exit(0)\n    def __del__(self): sys.exit(0)\n    def __hash__(self): sys.exit(0)\n"
        "    def __eq__(self, o): sys.exit(0)\n    def __reduce_ex__(self, v): sys.exit(0)\n",
        "self.p = P()",
        "return self.fc(x)",
    ),
    "generator": ("", "pass", "raise GeneratorExit"),
    "interrupt": ("", "pass", "raise KeyboardInterrupt"),
    "os": ("import os\n", "pass", "os._exit(0)"),
    "text": ("class E(Exception):\n    def __str__(self): raise SystemExit(0)\n", "pass", "raise E()"),
}


@pytest.mark.needs_torch
@pytest.mark.parametrize("place", sorted(ENDS))
def test_where_the_model_ends_the_process_the_graph_is_written_and_says_so(tmp_path: Path, place: str) -> None:
    pytest.importorskip("torch")
    before, init, forward = ENDS[place]
    text = before + "from torch import nn\n" + MODEL.format(asked=init).replace("return self.fc(x)", forward)
    (tmp_path / "model.py").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "modgraph", "analyze", "model.py:Net", "--input", "1x2", "--format", "json", "-o", "out"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    graph = json.loads((tmp_path / "out/Net.json").read_text(encoding="utf-8"))
    assert any(module["class"] == "Linear" or "Linear" in str(module) for module in graph["modules"])
    if done.returncode == 0:
        assert place in ("import", "train", "property"), "a run that broke off is no whole one"
        assert (place == "import") is bool(graph["model"].get("left_out"))  # the statement alone, which binds nothing
        assert graph["calls"]
    else:
        assert done.returncode == 1
        assert graph["problems"]
