"""`modgraph diff BASE`: a model that is gone, renamed, new, or cannot be compared is told as that."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from modgraph.cli import main
from modgraph.source import checkouts

NET = "from torch import nn\n\nclass {}(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(4, {})\n"


def config(*targets: str) -> tuple[str, str]:
    return "pyproject.toml", f"[tool.modgraph]\ntargets = {json.dumps(targets)}\n"


@pytest.fixture
def repository(git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    git("init", "-q", "-b", "main")
    git.commit("a.py", NET.format("A", 8), "c.py", NET.format("C", 8), *config("a.py:A", "c.py:C"))
    return folder


def markdown(status: int, base: str = "HEAD~1") -> dict[str, str]:
    """What is told of each model."""
    assert main(["diff", base, "--format", "markdown", "-o", "out"]) == status
    return {file.stem: file.read_text(encoding="utf-8") for file in Path("out").iterdir()}


def test_a_model_that_is_gone_is_told(repository: Path, git, capsys):
    Path("c.py").unlink()
    git.commit(*config("a.py:A"))
    told = markdown(1)
    assert "no difference" in told["A"]
    assert told["C"].startswith("<!-- modgraph:c.py:C -->\n\n### C\n\n**removed**\n")
    assert "c.py is not there any more" in told["C"]
    capsys.readouterr()
    assert main(["diff", "HEAD~1"]) == 1
    assert "removed: c.py:C\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "verdict", "why"),
    [
        ("x = 1\n", "removed", r"c.py has no C any more"),
        (NET.format("C", 9), "no target any more", r"c.py still has C, and \[tool.modgraph\] does not name it"),
    ],
)
def test_a_model_may_be_gone_though_its_file_is_there(repository: Path, git, text: str, verdict: str, why: str):
    git.commit("c.py", text, *config("a.py"))
    told = markdown(1)
    assert f"**{verdict}**" in told["C"]
    assert why in told["C"]


def test_one_of_several_in_a_file_is_gone(repository: Path, git):
    git.commit("two.py", NET.format("X", 1) + NET.format("Y", 1), *config("two.py"))
    git.commit("two.py", NET.format("X", 2))
    told = markdown(1)
    assert told.keys() == {"X", "Y"}
    assert "**removed**" in told["Y"]


def test_a_renamed_file_is_compared_with_what_it_was(repository: Path, git):
    """Whether or not its model was a target; and a new file that is not committed, by the name of its model."""
    git("mv", "a.py", "a2.py")
    git.commit("a2.py", NET.format("A", 16), *config("a2.py:A", "c.py:C"))
    assert set(markdown(1)) == {"A", "C"}
    assert "parameters 40 → 80 (+40)" in Path("out/A.md").read_text()
    assert "`HEAD~1:a.py:A`" in Path("out/A.md").read_text()
    git.commit(*config("c.py:C"))
    git("mv", "a2.py", "a3.py")
    git.commit("a3.py", NET.format("A", 32), *config("a3.py:A", "c.py:C"))
    assert "`HEAD~1:a2.py:A`" in markdown(1)["A"]
    Path("a3.py").unlink()
    Path("a4.py").write_text("# quite another file\n" * 99 + NET.format("A", 64))
    Path("pyproject.toml").write_text(config("a4.py:A", "c.py:C")[1])
    told = markdown(1, "HEAD")
    assert told.keys() == {"A", "C"}
    assert "`HEAD:a3.py:A`" in told["A"]


def test_a_module_that_moved_is_the_same_model(repository: Path, git):
    """Named by its file then and by its import path now: nothing is new or gone."""
    git.commit(*config("a:A", "c.py:C"))
    told = markdown(0)
    assert "no difference" in told["A"]


@pytest.mark.parametrize(
    ("files", "status", "said"),
    [
        (
            {"b.py": "class A(:\n"},
            2,
            "**not comparable**\n\ninvalid syntax (at the revision `HEAD~1`) (`HEAD~1:b.py:1`)",
        ),
        ({"b.py": "x = 1\n"}, 1, "**a new model**"),
        ({}, 1, "**a new model**"),
        ({"b.py": Path("a.py")}, 1, "**a new model**"),
        ({"b.py": Path("../outside.py")}, 2, "**not comparable**"),
    ],
)
def test_new_is_only_what_was_not_there(repository: Path, git, files, status: int, said: str):
    for name, text in files.items():
        if isinstance(text, Path):
            Path(name).symlink_to(text)
        else:
            Path(name).write_text(text)
    git.commit("other.txt", "")
    Path("b.py").unlink(missing_ok=True)
    git.commit("b.py", NET.format("B", 8), *config("a.py:A", "b.py:B", "c.py:C"))
    told = markdown(status)
    assert told["B"].startswith("<!-- modgraph:b.py:B -->\n")
    assert said in told["B"]


@pytest.mark.parametrize(
    ("target", "text", "stem", "why"),
    [
        ("gone.py:Gone", "", "Gone", "gone.py does not exist"),
        ("b.py", "class A(:\n", "b", "invalid syntax (b.py:1)"),
        ("b.py:B", "class A(:\n", "B", "invalid syntax (b.py:1)"),
        ("../out.py:Out", "", "Out", "lies outside of the project"),
        ("b.py:build", "from nowhere import make\n\ndef build():\n    return make()\n", "build", "nothing is known"),
    ],
)
def test_what_cannot_be_compared_is_in_the_markdown(repository: Path, git, capsys, target, text, stem, why):
    git.commit("b.py", text, *config("a.py:A", target, "c.py:C"))
    git.commit("other.txt", "")
    told = markdown(2)
    title = target.rpartition(":")[2]
    assert told.keys() == {"A", stem, "C"}
    assert told[stem].startswith(f"<!-- modgraph:{target} -->\n\n### {title}\n\n**not comparable**\n")
    assert why in told[stem].replace("\\", "")
    assert why.partition(" (")[0] in capsys.readouterr().err
    assert main(["diff", "HEAD~1", "--format", "markdown"]) == 2
    assert f"<!-- modgraph:{target} -->" in capsys.readouterr().out


def test_a_target_that_fails_now_is_not_told_as_removed_too(repository: Path, git):
    git.commit("c.py", "class C(:\n", *config("a.py:A", "c.py"))
    told = markdown(2)
    assert told.keys() == {"A", "c"}


def test_a_configuration_that_cannot_be_read_at_the_base_keeps_nothing_back(repository: Path, git, capsys):
    git.commit("pyproject.toml", "[tool.modgraph]\ntarget = []\n")
    git.commit(*config("a.py:A"))
    assert markdown(0).keys() == {"A"}
    said = capsys.readouterr().err
    assert "CheckWarning" in said
    assert "(HEAD~1:pyproject.toml)" in said
    assert "models that are gone since HEAD~1 are not told" in said


def test_the_revision_is_read_once_for_all_models(repository: Path, monkeypatch):
    read: list[str] = []
    write = checkouts._write
    monkeypatch.setattr(checkouts, "_write", lambda *given: (read.append(given[2].name), write(*given))[1])
    assert markdown(0, "HEAD").keys() == {"A", "C"}
    assert read == ["HEAD"]


def test_a_repository_below_the_configuration_is_not_that_of_the_targets(repository: Path, git, monkeypatch, capsys):
    inner = repository / "inner"
    inner.mkdir()
    git("init", "-q", "-b", "other", cwd=inner)
    git.commit("x.py", "", cwd=inner)
    monkeypatch.chdir(inner)
    assert main(["diff", "other"]) == 2
    assert "no target was named" in capsys.readouterr().err  # what stands above a repository does not govern it


@pytest.mark.parametrize(
    ("here", "named"), [(".", "'HEAD:a.py:A(n=1)' 'a.py:A(n=1)'"), ("below", "HEAD:model.py:Net model.py:Net")]
)
def test_a_map_of_several_models_is_refused_with_the_command_for_one(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys, here: str, named: str
):
    (repository / "pyproject.toml").write_text(config("a.py:A(n=1)", "c.py:C")[1], encoding="utf-8")
    (repository / "below").mkdir()
    monkeypatch.chdir(repository / here)
    assert main(["diff", "HEAD", "--emit-map", "my keys.txt"]) == 2
    said = capsys.readouterr().err
    assert "the configuration names a.py:A(n=1), c.py:C" in said
    assert f"modgraph diff {named} --emit-map 'my keys.txt'" in " ".join(said.split())
