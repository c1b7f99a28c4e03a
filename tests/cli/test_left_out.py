"""What a file has beside its model is named in a note; what is left out for want of arguments makes the status 1."""

from __future__ import annotations

from modgraph.cli.analyze import _tell_left_out
from modgraph.cli.console import Console
from modgraph.errors import ArgumentsError, ExitStatus, TargetError, UnknownNameError
from modgraph.source.targets import parse_target

FILE = """
import torch
from torch import nn

class FocalLoss(nn.Module):
    def forward(self, x, target):
        return ((x - target) ** 2).mean()

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
"""


def test_what_stands_beside_the_model_is_one_note(modgraph, tmp_path):
    (tmp_path / "model.py").write_text(FILE)
    found = modgraph("analyze", "model.py", "--static", "--format", "json")
    assert found.returncode == 0, found.stderr
    assert "note: also in model.py: FocalLoss; to see one, name it: model.py:FocalLoss\n" in found.stderr
    assert sorted(file.name for file in (tmp_path / "modgraph-out").glob("*.json")) == ["Net.json"]


def test_what_lacks_arguments_counts_in_the_status(tmp_path, capsys):
    console = Console(color="never")
    (tmp_path / "model.py").write_text(FILE)
    target = parse_target("model.py:Net", cwd=tmp_path)

    def status(error: TargetError, *, beside: int) -> ExitStatus:
        return _tell_left_out([(target, error)], console, beside=beside)

    assert status(ArgumentsError("Net(width) cannot be called like that"), beside=1) == ExitStatus.PARTIAL
    assert status(UnknownNameError("it is not there"), beside=1) == ExitStatus.OK
    assert status(TargetError("it gives no nn.Module"), beside=1) == ExitStatus.OK
    assert status(ArgumentsError("Net(width) cannot be called like that"), beside=0) == ExitStatus.FAILED
    assert "Net(width) cannot be called like that" in capsys.readouterr().err
