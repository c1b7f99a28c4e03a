"""A model of which a finding says that its `forward` fails with every input: said in its line and in the index."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.arguments import projects

PART = """
    from torch import nn

    class Part(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1 = nn.Linear(10, 120)
            self.fc2 = nn.Linear(100, 10)

        def forward(self, x):
            return self.fc2(self.fc1(x))
    """
HOLDS = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = Part()
            self.head = nn.Linear(4, 4)

        def forward(self, x):
            return self.head(x)
    """


def analyzed(folder, *words):
    command = [sys.executable, "-m", "modgraph", "analyze", *words, "--static", "--format", "json", "-o", "out"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("text", "name", "marked"), [(PART, "net.py:Part", True), (PART + HOLDS, "net.py:Net", False)])
def test_the_finding_stands_in_the_line_and_the_index(tmp_path, text, name, marked):
    projects.write(tmp_path, {"net.py": text})
    run = analyzed(tmp_path, "--all", ".")
    (line,) = [each for each in run.stdout.splitlines() if each.startswith("[1/1]")]
    word = "partial" if marked else "predicted"
    assert line.startswith(f"[1/1] {word:9}  {name}: MG301 net.py:10: `self.fc2` (line 7) takes 100 features")
    assert ("1 of which forward fails" in run.stdout) == marked
    index = (tmp_path / "out" / "index.md").read_text()
    assert ("✖ partial, forward fails" in index) == marked
    assert f"- `{name}`: MG301 `net.py:10:`" in index
    assert ("forward fails</b>" in (tmp_path / "out" / "index.html").read_text()) == marked
    assert run.returncode == analyzed(tmp_path, "net.py").returncode
