"""A part of the sweep over changed models: who fails is found at its line, by the prediction and, where it is certain for
every input, by the check; who runs is not reported."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

pytestmark = pytest.mark.needs_torch
torch = pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).parent))
try:
    import mutations
finally:
    sys.path.pop(0)

NAMES = ("LeNet", "SmallUnet", "Tagger", "ImageVae", "CrossAttention", "CellLoop", "Experts", "Crnn")
MODELS = {model.call: model for model in mutations.models(["own"])}


@pytest.fixture(scope="module")
def asked() -> mutations.Asked:
    return mutations.Asked()


@pytest.mark.parametrize("name", NAMES)
def test_changed_numbers_are_found_where_they_fail_and_nowhere_else(name: str, asked: mutations.Asked) -> None:
    found = mutations.Sweep()
    mutations.sweep(MODELS[name], asked, 6, 1, found)
    assert not found.unusable
    assert len(found.rows) == 7
    assert [row for row in found.rows if row.verdict not in ("right line", "runs")] == []
    assert [row for row in found.rows if row.of_check == "false alarm"] == []
    failing = [row for row in found.rows if row.truth.stage]
    assert failing
    assert torch.nn.init.kaiming_uniform_.__module__ == "torch.nn.init", "the process is left without initialisation"
    assert all(row.of_check in ("right line", "silent") for row in failing)


def test_what_is_certain_for_every_input_is_found_by_the_check(asked: mutations.Asked) -> None:
    model = MODELS["LeNet"]
    text = model.file.read_text(encoding="utf-8")
    new = text.replace("self.fc2 = nn.Linear(120, 84)", "self.fc2 = nn.Linear(121, 84)")
    row = mutations.row_of(model, new, "121", mutations.classes_of(new, "LeNet"), asked)
    assert (row.verdict, row.of_check) == ("right line", "right line")
    assert "mat1 and mat2 shapes cannot be multiplied" in row.truth.error


def test_the_judge_sees_a_wrong_line_a_missed_fault_and_a_false_alarm(asked: mutations.Asked) -> None:
    model = MODELS["LeNet"]
    text = model.file.read_text(encoding="utf-8")
    new = text.replace("self.fc2 = nn.Linear(120, 84)", "self.fc2 = nn.Linear(121, 84)")
    row = mutations.row_of(model, new, "121", mutations.classes_of(new, "LeNet"), asked)
    below = replace(row.told, line=row.told.line + 1)
    assert replace(row, told=below, is_same_statement=False).verdict == "other line"
    assert replace(row, told=mutations.Outcome()).verdict == "missed"
    assert replace(row, truth=mutations.Outcome()).verdict == "false alarm"
    assert replace(row, truth=mutations.Outcome()).of_check == "false alarm"
    assert replace(row, checked=[1]).of_check == "other line"
    assert mutations.changed("a = f(16)\nb\n", mutations.Site(1, 6, 8, 16), 3) == "a = f(3)\nb\n"
