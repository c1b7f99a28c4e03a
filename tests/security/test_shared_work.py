"""The work that the predictions of one command share: many models of a usual size do not meet its end."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from modgraph.cli import main
from modgraph.prediction import predict_graph, together
from modgraph.prediction.domain.limits import MAX_SHARED_WORK
from modgraph.prediction.together import Together
from modgraph.source.targets import parse_target

NET = """
class Net{0}(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Conv2d(3, {0}, 3), nn.BatchNorm2d({0}), nn.ReLU())
        self.b = nn.MultiheadAttention({0}, 1)
"""


def written(folder: Path, n: int) -> Path:
    path = folder / "model.py"
    path.write_text("from torch import nn\n" + "".join(NET.format(k) for k in range(1, n + 1)))
    return path


@pytest.mark.parametrize("reads", [True, False])
def test_what_is_read_again_takes_nothing_of_what_is_shared(tmp_path: Path, reads: bool) -> None:
    shared, taken = Together(reads=reads), []
    model = written(tmp_path, 6)
    for number in range(1, 7):
        before = shared.left
        predict_graph(parse_target(f"{model}:Net{number}"), shared)
        taken.append(before - shared.left)
    assert taken[0] > 4 * max(taken[1:])
    assert 500 * max(taken[1:]) < MAX_SHARED_WORK


def test_a_prediction_may_read_again_where_nothing_else_is_left_for_it(tmp_path: Path) -> None:
    shared = Together(reads=False)
    model = written(tmp_path, 2)
    predict_graph(parse_target(f"{model}:Net1"), shared)
    shared.left = 60_000
    assert not predict_graph(parse_target(f"{model}:Net2"), shared).problems


def test_each_target_that_is_named_adds_to_it() -> None:
    assert Together(reads=True, named=1).left == MAX_SHARED_WORK
    assert Together(reads=True, named=91).left == MAX_SHARED_WORK + 90 * together.UNITS_OF_A_NAMED_TARGET
    assert Together(reads=True, named=1_000).left == Together(reads=True, named=together.MAX_NAMED_TARGETS).left


def test_a_configuration_of_many_models_is_compared_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, 6)
    names = [f"model.py:Net{number}" for number in range(1, 7)]
    (tmp_path / "pyproject.toml").write_text(f"[tool.modgraph]\ntargets = {names}\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for line in (["init", "-q"], ["add", "."], ["commit", "-qm", "a"]):
        subprocess.run([*git, *line], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(together, "MAX_SHARED_WORK", 700_000)
    monkeypatch.setattr(together, "UNITS_OF_A_NAMED_TARGET", 50_000)
    assert main(["diff", "HEAD"]) == 0
