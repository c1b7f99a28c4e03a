"""Ctrl-C while the models of a tree are analyzed: it ends at once, and the same command goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NET = "from torch import nn\nclass {name}(nn.Linear):\n    def __init__(self): super().__init__(2, 2)\n"


@pytest.mark.fresh_process
@pytest.mark.skipif(os.name != "posix", reason="Windows has no SIGINT for one process")
def test_the_same_command_goes_on(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory):
    names = "ABCD"
    for name in names:
        (tmp_path / f"{name.lower()}.py").write_text(NET.format(name=name))
    command = [sys.executable, "-m", "modgraph", "analyze", "--all", "--static", "--format", "json", "--jobs", "1"]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "MODGRAPH_CACHE": str(tmp_path_factory.mktemp("cache")),  # whose key no other test takes away
    }
    first = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert first.stdout is not None
    assert first.stdout.readline().startswith("[1/4] predicted")  # as it comes
    first.send_signal(signal.SIGINT)
    _, told = first.communicate(timeout=60)
    assert first.returncode == 130, told
    assert "interrupted; what is finished is in " in told
    assert "the same command goes on" in told
    out = tmp_path / "modgraph-out"
    n_done = len((out / "manifest.jsonl").read_text("utf-8").splitlines())
    assert n_done < len(names)
    assert f"{len(names) - n_done} not done yet" in (out / "index.md").read_text("utf-8")
    second = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert second.returncode == 0, second.stderr
    assert [line for line in second.stdout.splitlines() if line.startswith("[")][-1].startswith("[4/4]")
    assert second.stdout.count("predicted  ") == len(names) - n_done
    assert "4 models · 4 predicted" in (out / "index.md").read_text("utf-8")
