"""Under torchrun each process writes files of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLE = Path(__file__).parents[2] / "samples" / "mlp.py"


@pytest.mark.parametrize(
    ("variables", "output", "file"),
    [
        ({"RANK": "1", "WORLD_SIZE": "2"}, "out/", "out/MLP.rank1.json"),
        ({"RANK": "0", "WORLD_SIZE": "2"}, "net.json", "net.rank0.json"),
        ({"RANK": "0", "WORLD_SIZE": "1"}, "out/", "out/MLP.json"),
        ({"RANK": "one", "WORLD_SIZE": "2"}, "net.json", "net.json"),
    ],
)
def test_the_rank_stands_in_the_name(tmp_path, variables, output, file):
    outside = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
    ran = subprocess.run(
        [sys.executable, "-m", "modgraph", "analyze", str(SAMPLE), "--static", "--format", "json", "-o", output],
        cwd=tmp_path, capture_output=True, text=True, env={**outside, **variables},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert [str(found.relative_to(tmp_path)) for found in tmp_path.rglob("*.json")] == [file]
