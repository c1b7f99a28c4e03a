"""Findings of the check in the graph: where they stand, and what the run adds to them."""

from __future__ import annotations

from pathlib import Path

import pytest

import modgraph
from modgraph.cli import main
from modgraph.errors import CheckWarning

SOURCE = """\
from torch import nn


class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = [nn.Linear(2, 2, bias=False)]

    def forward(self, x):
        return self.kept[0](self.kept[0](x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rows = {"a": nn.Linear(2, 2), "b": nn.Linear(2, 2)}
        self.first = Part()
        self.second = Part()

    def forward(self, x):
        return self.second(self.first(self.rows["a"](x)))


class Elsewhere(nn.Module):
    def __init__(self):
        super().__init__()
        self.rows = [nn.Linear(2, 2), nn.Linear(2, 2)]
"""


@pytest.fixture
def target(tmp_path: Path) -> str:
    (tmp_path / "model.py").write_text(SOURCE)
    return f"{tmp_path / 'model.py'}:Net"


def test_a_static_graph_has_the_findings_about_its_classes_and_no_others(target):
    graph = modgraph.analyze(target, static=True)
    assert [(found.code, found.module, found.line, found.attribute) for found in graph.findings] == [
        ("MG101", "first.kept[0]", 7, "kept"),
        ("MG101", "second.kept[0]", 7, "kept"),
        ("MG101", "", 16, "rows"),
    ]
    assert all(found.file == "model.py" and "run" not in found.message for found in graph.findings)
    assert modgraph.load(saved(graph, target)) == graph


def saved(graph: modgraph.Graph, target: str) -> Path:
    path = Path(target.partition(":")[0]).with_name("graph.json")
    graph.save(path)
    return path


@pytest.mark.needs_torch
def test_a_run_says_how_often_what_is_hidden_was_called_and_what_it_holds(target):
    graph = modgraph.analyze(target, inputs=["1x2"])
    said = {found.module: found.message for found in graph.findings}
    assert said["first.kept[0]"].endswith("; called 2 times in this run; its 4 parameters reach no optimizer")
    assert said[""].endswith("; called once in this run; their 12 parameters reach no optimizer")


def test_a_target_by_import_path_and_a_clean_file_have_none(tmp_path):
    (tmp_path / "clean.py").write_text("from torch import nn\n\n\nclass Net(nn.Module):\n    pass\n")
    assert modgraph.analyze(f"{tmp_path / 'clean.py'}:Net", static=True).findings == ()
    assert modgraph.analyze("torch.nn:Linear(2, 3)", static=True).findings == ()


def test_a_check_that_fails_is_told_of_and_costs_the_findings_alone(target, monkeypatch):
    (Path(target.partition(":")[0]).parent / "pyproject.toml").write_text("[tool.modgraph]\nselekt = []\n")
    with pytest.warns(CheckWarning, match=r"model.py was not checked.*no key 'selekt' \(.*pyproject.toml\)"):
        graph = modgraph.analyze(target, static=True)
    assert graph.complete
    assert graph.findings == ()

    def fail(*_: object) -> None:
        raise ZeroDivisionError("here")

    monkeypatch.setattr("modgraph.diagnosis.check_paths", fail)
    with pytest.warns(CheckWarning, match="modgraph itself failed: ZeroDivisionError: here"):
        assert modgraph.analyze(target, static=True) == graph


def test_the_command_says_so_in_its_own_words(target, capsys, monkeypatch):
    folder = Path(target.partition(":")[0]).parent
    (folder / "pyproject.toml").write_text("[tool.modgraph]\nselekt = []\n")
    monkeypatch.chdir(folder)
    assert main(["analyze", "model.py:Net", "--static", "--format", "json", "-o", "net.json"]) == 0
    said = capsys.readouterr().err
    assert "warning: model.py was not checked" in said
    assert "CheckWarning" not in said


@pytest.mark.parametrize(
    ("layer", "asks"), [("nn.Linear(5, 2)", False), ("Picky()", True)], ids=["fails with every input", "with some"]
)
def test_inputs_are_asked_for_where_any_can_help(tmp_path, layer, asks):
    text = f"""
import torch
from torch import nn

class Picky(nn.Module):
    def forward(self, x):
        return x[int(x.abs().sum() * 0) + x.shape[0]]

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = {layer}

    def forward(self, x):
        return self.b(self.a(x))
"""
    (tmp_path / "net.py").write_text(text)
    graph = modgraph.analyze(f"{tmp_path}/net.py:Net")
    assert not graph.complete
    assert any("inputs were inferred" in problem.message for problem in graph.problems) is asks
    assert [finding.code for finding in graph.findings] == ([] if asks else ["MG301"])
