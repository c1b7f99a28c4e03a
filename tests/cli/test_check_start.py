"""What a check of one file loads, and that it ends where it should: a commit waits for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = ("torch", "libcst", "networkx", "numpy", "onnx", "graphviz", "rich")
SPARED = ("dataclasses", "inspect", "subprocess", "json", "hashlib", "concurrent.futures", "shutil", "tomllib", "difflib",
          "importlib.metadata", "pathlib", "traceback")  # fmt: skip
"""Of the standard library: each costs milliseconds."""
CLEAN = "from torch import nn\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.layer = nn.Linear(2, 2)\n"


def loaded(tmp_path: Path, text: str, *, status: int = 0) -> list[str]:
    (tmp_path / "model.py").write_text(text)
    code = (
        "import sys\nsys.modules['torch'] = None\n"
        "before = set(sys.modules)\n"
        "from modgraph.cli import main\n"
        f"assert main(['check', 'model.py', '-q']) == {status}\n"
        "print('LOADED', *(name for name in sys.modules if sys.modules[name] is not None and name not in before))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT), "HOME": str(tmp_path)})  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()[-1].split()[1:]


@pytest.mark.parametrize("text", ["x = 1\n", CLEAN])
def test_a_clean_file_loads_nothing_heavy(tmp_path, text):
    there = loaded(tmp_path, text)
    assert [name for name in (*HEAVY, *SPARED) if name in there] == []


def test_the_interpreter_is_loaded_where_something_is_suspicious(tmp_path):
    there = loaded(tmp_path, CLEAN.replace("nn.Linear(2, 2)", "[nn.Linear(2, 2)] * 2"), status=1)
    assert "libcst" in there
    assert "networkx" not in there
