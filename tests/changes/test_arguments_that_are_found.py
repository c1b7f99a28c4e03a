"""A class that wants arguments is compared as it is analyzed: with those that its project says, on each side."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import modgraph

GPT = """
from dataclasses import dataclass
from torch import nn


@dataclass
class Config:
    n_layer: int = {layers}
    width: int = 16


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(config.width), nn.Linear(config.width, config.width)

    def forward(self, x):
        return {result}


class GPT(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layer)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
"""
BEFORE, AFTER = "x + self.linear(self.norm(x))", "self.norm(x + self.linear(x))"


def _write(file: Path, layers: int, result: str) -> None:
    file.write_text(GPT.format(layers=layers, result=result), encoding="utf-8")


def test_another_default_and_another_forward_are_differences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _write(tmp_path / "old.py", 2, BEFORE)
    _write(tmp_path / "new.py", 3, AFTER)
    changes = modgraph.diff("old.py:GPT", "new.py:GPT")
    assert [node.path for node in changes.added] == ["blocks.2"]
    assert changes.dataflow
    assert not modgraph.diff("old.py:GPT", "old.py:GPT").dataflow


def test_of_a_revision_they_are_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "net.py"
    _write(file, 2, BEFORE)
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    for command in (("init", "-q"), ("add", "net.py"), (*who, "commit", "-qm", "two layers")):
        subprocess.run(("git", *command), cwd=tmp_path, check=True)
    _write(file, 3, BEFORE)
    changes = modgraph.diff("HEAD:net.py:GPT", "net.py:GPT")
    assert [node.path for node in changes.added] == ["blocks.2"]
    assert not changes.removed
