"""The GitLab example of docs/ci.md: its script run as a runner does, in a repository with a merge request."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
NET = """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, {width})
        self.blocks = {blocks}

    def forward(self, x):
        return self.fc(x)
"""


@pytest.fixture
def jobs() -> dict[str, Any]:
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8").partition("## GitLab")[2]
    block = re.search(r"```yaml\n(.*?)```", page, flags=re.DOTALL)
    assert block is not None
    found = yaml.safe_load(block[1])
    assert isinstance(found, dict)
    return found


@pytest.fixture
def repository(tmp_path: Path, git: Any) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git("init", "-q", "-b", "main", cwd=folder)
    configured = '[tool.modgraph]\ntargets = ["net.py:Net"]\n'
    git.commit("net.py", NET.format(width=4, blocks="[]"), "pyproject.toml", configured, cwd=folder)
    git.commit("net.py", NET.format(width=6, blocks="[nn.Linear(2, 2) for _ in range(3)]"), cwd=folder)
    return folder


@pytest.fixture
def run(python_words: list[str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    return partial(in_one_shell, python_words)


def in_one_shell(
    python: list[str], script: list[str], folder: Path, programs: Path
) -> subprocess.CompletedProcess[str]:
    """All lines in one shell that stops at the first failure. Installing writes down what it was asked for."""
    programs.mkdir()
    for name, line in (
        ("pip", f'echo "$@" >> "{programs}/pip.txt"'),
        ("modgraph", f'exec {shlex.join(python)} -m modgraph "$@"'),
    ):
        (programs / name).write_text(f"#!/usr/bin/env bash\n{line}\n")
        (programs / name).chmod(0o755)
    base = subprocess.run(["git", "rev-parse", "HEAD~1"], cwd=folder, capture_output=True, text=True, check=True)
    environment = {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")])),
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": base.stdout.strip(),
    }
    text = "\n".join(script)
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", text],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_its_jobs_leave_what_they_say(jobs: dict[str, Any], repository: Path, tmp_path: Path, run: Any):
    assert jobs.keys() == {"models"}
    for name, job in jobs.items():
        ran = run(job["script"], repository, tmp_path / name)
        assert ran.returncode == 0, ran.stderr
        assert (tmp_path / name / "pip.txt").read_text().strip() == "install modgraph[render]"
        for kept in [*job["artifacts"]["paths"], *job["artifacts"]["reports"].values()]:
            assert (repository / kept).exists(), kept
    out = repository / "modgraph-out"
    assert json.loads((out / "graphs" / "Net.json").read_text("utf-8"))["model"]["parameters"] == 8 * 6 + 6
    assert "parameters 36 → 54 (+18)" in (out / "changes" / "Net.md").read_text("utf-8")
    quality = json.loads((out / "codequality.json").read_text("utf-8"))
    assert [(each["location"]["path"], each["location"]["lines"]["begin"]) for each in quality] == [("net.py", 7)]


def test_what_cannot_be_done_fails_its_job(jobs: dict[str, Any], repository: Path, tmp_path: Path, run: Any):
    (repository / "pyproject.toml").write_text('[tool.modgraph]\ntargets = ["gone.py"]\n')
    ran = run(jobs["models"]["script"], repository, tmp_path / "programs")
    assert ran.returncode != 0
    assert "gone.py does not exist" in ran.stderr
