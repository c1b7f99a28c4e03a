"""`targets` of [tool.modgraph]: the models of a project, where a command is given none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from modgraph.cli import main

NET = "from torch import nn\n\nclass {name}(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(4, {width})\n\n    def forward(self, x):\n        return self.fc(x)\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").touch()
    (tmp_path / "pkg" / "a.py").write_text(NET.format(name="A", width=2))
    (tmp_path / "b.py").write_text(NET.format(name="B", width=3))
    configure(tmp_path, "pkg/a.py", "b.py:B", "pkg.a:A")
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "deep")
    return tmp_path


def configure(folder: Path, *targets: str) -> None:
    (folder / "pyproject.toml").write_text(f"[tool.modgraph]\ntargets = {json.dumps(targets)}\n")


def test_each_target_is_a_graph_with_files_of_its_own(project: Path, capsys):
    assert main(["analyze", "--static", "--format", "json"]) == 0
    written = {file.name: json.loads(file.read_text()) for file in Path("modgraph-out").glob("*.json")}
    assert {name: graph["model"]["target"] for name, graph in written.items()} == {
        "A.json": "pkg/a.py:A",
        "B.json": "b.py:B",
        "A_2.json": "pkg.a:A",
    }
    assert written["B.json"]["model"]["parameters"] == 4 * 3 + 3
    assert capsys.readouterr().out.count("predicted") >= 3


def test_one_that_is_not_there_keeps_no_other_back(project: Path, capsys):
    configure(project, "gone.py", "b.py:B", "b.py:Nothing")
    assert main(["analyze", "--static", "--format", "json"]) == 2
    told = capsys.readouterr().err
    assert "gone.py does not exist" in told
    assert "no class or function 'Nothing'" in told
    assert [file.name for file in Path("modgraph-out").glob("[!.]*")] == ["B.json"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('target = ["b.py"]', "did you mean 'targets'?"),
        ('targets = "b.py"', "targets must be a list of strings"),
        ("targets = []", "no target was named"),
    ],
)
def test_what_cannot_be_used_is_said(project: Path, capsys, text: str, said: str):
    (project / "pyproject.toml").write_text(f"[tool.modgraph]\n{text}\n")
    assert main(["analyze", "--static"]) == 2
    assert said in capsys.readouterr().err


def test_all_are_compared_with_a_revision(project: Path, git, capsys):
    git("init", "-q", "-b", "main", cwd=project)
    git.commit(cwd=project)
    assert main(["diff", "HEAD"]) == 0
    assert capsys.readouterr().out.count("no difference") == 3
    (project / "pkg" / "a.py").write_text(NET.format(name="A", width=20))
    (project / "c.py").write_text(NET.format(name="C", width=5))
    configure(project, "pkg/a.py", "b.py:B", "c.py:C")
    assert main(["diff", "HEAD", "--format", "markdown", "-o", "changes"]) == 1
    capsys.readouterr()
    found = {file.name: file.read_text(encoding="utf-8") for file in Path("changes").iterdir()}
    assert found.keys() == {"A.md", "B.md", "C.md"}
    assert found["A.md"].startswith("<!-- modgraph:pkg/a.py:A -->\n")
    assert "parameters 10 → 100 (+90)" in found["A.md"]
    assert "fc.weight: 2×4 → 20×4" in found["A.md"]
    assert "no difference" in found["B.md"]
    assert found["C.md"].startswith("<!-- modgraph:c.py:C -->\n")
    assert "a new model" in found["C.md"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "'nowhere' is no revision"),
        (["HEAD", "--format", "json"], "do not fit into one json"),
        (["HEAD", "-o", "x.md"], "one for each target"),
    ],
)
def test_what_cannot_be_compared_is_said(project: Path, git, capsys, arguments: list[str], said: str):
    git("init", "-q", "-b", "main", cwd=project)
    git.commit(cwd=project)
    assert main(["diff", *arguments]) == 2
    assert said in capsys.readouterr().err
