"""The scorer of recorded cases, and the page that is made of its figures, on cases made up here."""

from __future__ import annotations

import json
import lzma
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SCORER = runpy.run_path(str(HERE / "score_cases.py"))
LINEAR, RELU = "torch.nn.Linear", "torch.nn.ReLU"
TRUTH = [["a", LINEAR], ["b", RELU]]


@pytest.mark.parametrize(
    ("claimed", "verdict"),
    [
        (TRUTH, "exact"),
        ([["a", "torch.nn.modules.linear.Linear"], ["b", RELU]], "exact"),
        ([["a", "?"], ["b", RELU]], "unknown"),
        ([["a", LINEAR], ["?", "?"]], "unknown"),
        ([["a", LINEAR], ["b", RELU], ["?", "?"]], "unknown"),
        ("?", "unknown"),
        ([["a", LINEAR]], "wrong"),
        ([["a", RELU], ["b", RELU]], "wrong"),
        ([["b", RELU], ["a", LINEAR]], "wrong"),
        ([*TRUTH, ["c", RELU]], "wrong"),
        ([*TRUTH, ["c", "?"]], "wrong"),
    ],
)
def test_a_verdict(claimed, verdict):
    found = SCORER["compare"](claimed, TRUTH)
    assert [kind for kind in ("exact", "unknown", "wrong") if found[kind]] == [verdict]


def test_what_lies_below_an_unknown_child_is_unknown():
    assert SCORER["compare"]([["a", "?"]], [["a", LINEAR], ["a.b", RELU]])["unknown"] == 1


def test_nodes_are_counted():
    found = SCORER["compare"]([["a", LINEAR], ["b", LINEAR], ["c", "?"]], TRUTH)
    assert (found["nodes"], found["claimed"], found["right"]) == (2, 3, 1)


def test_the_page_has_figures_and_causes(tmp_path):
    (tmp_path / "madeup.py").write_text(
        "import os\nfrom torch import nn\n\nclass Net(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n"
        "        self.a = nn.Linear(n, n)\n        self.b = nn.ReLU() if n > 1 or os.environ.get('B') else nn.Tanh()\n"
    )
    row = {"package": "madeup", "class": "madeup.Net", "kinds": [], "params": [], "buffers": [], "tree": TRUTH}
    rows = [{**row, "id": str(n), "args": {"n": n}, "children": TRUTH} for n in (1, 2, 3)]
    rows[2]["children"] = [["a", LINEAR], ["b", LINEAR]]
    with lzma.open(tmp_path / "madeup.class.jsonl.xz", "wt") as file:
        file.writelines(json.dumps(one) + "\n" for one in rows)
    page = tmp_path / "accuracy.md"
    subprocess.run(
        [sys.executable, str(HERE / "accuracy.py"), "--cases", str(tmp_path), "--path", str(tmp_path), "-o", str(page)],
        check=True, capture_output=True,
    )  # fmt: skip
    text = page.read_text("utf-8")
    assert "| madeup | 3 | 33.33 | 100.00 | 33.33 | 33.33 | 80.00 | 66.67 | 33.33 | 33.33 | 100.00 | 100.00 |" in text
    assert "| **wrong**: something claimed is false | 1 | 1 |" in text
    assert "| the answer depends on the machine it runs on | 1 | 1 |" in text
    assert str(tmp_path) not in text
