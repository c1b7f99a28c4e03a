"""`modgraph diff REV:target`: the revision's own file is read, however it is named and whatever else is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from modgraph.cli import main

NET = "from torch import nn\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(4, {})\n"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"


@pytest.fixture
def repository(git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    git("init", "-q", "-b", "main")
    return folder


def test_an_absolute_path_is_that_of_the_revision(repository: Path, git, tmp_path: Path, capsys):
    git.commit("sub/model.py", NET.format(8))
    file = repository / "sub" / "model.py"
    file.write_text(NET.format(16))
    assert main(["diff", f"HEAD:{file}:Net", f"{file}:Net"]) == 1
    assert "parameters 40 → 80 (+40)" in capsys.readouterr().out
    (tmp_path / "model.py").write_text(NET.format(16))
    for outside in (str(tmp_path / "model.py"), "../model.py"):
        assert main(["diff", f"HEAD:{outside}:Net", f"{file}:Net"]) == 2
        assert "lies outside of the repository" in capsys.readouterr().err


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of the search path that is none of the repository's."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder


def test_a_module_of_the_repository_is_not_read_from_an_installed_copy(repository: Path, git, installed: Path, capsys):
    """Neither the target, nor what it imports; at the revision, nor now."""
    (installed / "pkg").mkdir()
    (installed / "pkg" / "__init__.py").touch()
    (installed / "pkg" / "net.py").write_text(NET.format(99))
    train = "from torch import nn\nfrom pkg.net import Net\n\nclass Train(nn.Sequential):\n    def __init__(self):\n        super().__init__(Net())\n"
    configured = '[tool.modgraph]\ntargets = ["pkg.net:Net", "train.py:Train"]\n'
    git.commit(
        "src/pkg/__init__.py", "", "src/pkg/net.py", NET.format(8), "train.py", train, "pyproject.toml", configured
    )
    Path("src/pkg/net.py").write_text(NET.format(16))
    for target in ("pkg.net:Net", "train.py:Train"):
        assert main(["diff", f"HEAD:{target}", target]) == 1
        assert "parameters 40 → 80 (+40)" in capsys.readouterr().out
    assert main(["diff", "HEAD"]) == 1
    told = capsys.readouterr().out
    assert told.count("predicted · 40 parameters") == told.count("predicted · 80 parameters") == 2


def test_what_is_installed_alone_is_nothing_of_a_revision(repository: Path, git, installed: Path, capsys):
    (installed / "foreign.py").write_text(NET.format(99))
    git.commit("pyproject.toml", '[tool.modgraph]\ntargets = ["foreign:Net"]\n')
    for arguments in (["HEAD:foreign:Net", "foreign:Net"], ["HEAD"]):
        assert main(["diff", *arguments]) == 2
        assert "foreign:Net is found outside of the repository alone" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["net.json", "net.onnx"])
def test_a_pointer_of_git_lfs_is_called_one(repository: Path, git, capsys, name: str):
    git.commit(name, POINTER)
    assert main(["diff", f"HEAD:{name}", name]) == 2
    told = capsys.readouterr().err
    assert f"{name} is kept by Git LFS" in told
    assert f"git show HEAD:{name} | git lfs smudge > old.{name[4:]}" in told
    assert main(["diff", name, name]) == 2
    told = capsys.readouterr().err
    assert "a pointer of Git LFS" in told
    assert f"git lfs pull --include {name}" in told


@pytest.mark.parametrize(
    "words", [["HEAD:model.py:Net", "model.py:Net"], ["HEAD"], ["HEAD:model.py:Net", "HEAD~1:model.py:Net"]]
)
def test_git_is_asked_for_each_revision_once(repository: Path, git, monkeypatch, words: list[str]):
    from modgraph.source import revisions

    git.commit("model.py", NET.format(8), "pyproject.toml", '[tool.modgraph]\ntargets = ["model.py:Net"]\n')
    git.commit("model.py", NET.format(16))
    Path("sub").mkdir()
    asked: list[str] = []
    ask = revisions.git
    monkeypatch.setattr(revisions, "git", lambda line, cwd: (asked.append(line[-1]), ask(line, cwd))[1])
    if len(words) == 1:
        monkeypatch.chdir("sub")  # the targets are written above
    assert main(["diff", *words]) == int(len(words) == 2 and "HEAD~1:model.py:Net" in words)
    names = {word.partition(":")[0] for word in words} - {"model.py"}
    assert sorted(asked) == sorted([*(f"{name}^{{commit}}" for name in names), *["--show-toplevel"] * len(names)])


WIDE = NET.replace("def __init__(self)", "def __init__(self, width)").replace("{}", "width")
SAYING = {
    "a configuration that names the class": ("conf/net.yaml", "type: Net\nwidth: {}\n"),
    "one as JSON": ("conf/net.json", '{{"type": "Net", "width": {}}}\n'),
    "a command line": ("README.md", "python train.py --width {}\n"),
}
TRAIN = (
    "import argparse\nfrom model import Net\nparser = argparse.ArgumentParser()\n"
    "parser.add_argument('--width', type=int, required=True)\nnet = Net(parser.parse_args().width)\n"
)


@pytest.mark.parametrize("case", SAYING)
def test_what_the_revision_says_of_the_arguments_counts(repository: Path, git, capsys, case: str):
    file, text = SAYING[case]
    script = ("train.py", TRAIN) if file == "README.md" else ()
    git.commit("model.py", WIDE, file, text.format(8), *script)
    git.commit(file, text.format(16))
    for new in ("HEAD:model.py:Net", "model.py:Net"):
        assert main(["diff", "HEAD~1:model.py:Net", new]) == 1
        assert "parameters 40 → 80 (+40)" in capsys.readouterr().out
