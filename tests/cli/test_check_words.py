"""What `modgraph check` says beside its findings; run in this process."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from modgraph.cli import main

BAD = """\
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = [nn.Linear(2, 2)]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.py").write_text(BAD)
    return tmp_path


def check(*arguments: str) -> int:
    return main(["check", "--no-cache", *arguments])


def test_a_diff_speaks_of_what_only_unsafe_fixes_would_fix(capsys):
    assert check("--diff", "bad.py") == 0
    assert "nothing would be changed; 1 more can be fixed with --unsafe-fixes" in capsys.readouterr().err
    assert check("--diff", "--unsafe-fixes", "bad.py") == 1
    told = "new keys in the state dict, and new parameters to train: Net.blocks; older checkpoints lack them"
    assert capsys.readouterr().err == f"note: {told}\n1 file would be changed\n"


def test_one_finding_is_one(capsys):
    assert check("--write-baseline", "base.json") == 0
    assert "1 finding is known from now on" in capsys.readouterr().err


def test_standard_input_is_shown_too(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    assert check("-", "--stdin-filename", "other.py") == 1
    assert "7 |         self.blocks = [nn.Linear(2, 2)]\n  |         ^^^^" in capsys.readouterr().out


def test_nothing_is_said_of_no_files_where_none_could_be_read(capsys):
    assert check("nowhere.py") == 2
    assert capsys.readouterr().out == ""


def test_a_key_of_the_configuration_can_be_given(capsys):
    assert check("--config", 'ignore=["MG101"]') == 0
    assert check("--config", "nowhere.toml") == 2
    assert "no such file" in capsys.readouterr().err


def test_findings_are_findings_though_nobody_reads_them(monkeypatch):
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    gone: list[bool] = []
    monkeypatch.setattr("modgraph.cli.console.Console.reader_has_gone", lambda _: gone.append(True))
    monkeypatch.setattr(sys, "stdout", Closed())
    assert check("bad.py") == 1
    assert gone


@pytest.mark.parametrize("inside", [(), ("notes.txt",), ("one.ipynb",)])
def test_a_folder_without_any_python_is_told_of(capsys, folder: Path, inside: tuple[str, ...]):
    (folder / "wrong").mkdir()
    for name in inside:
        (folder / "wrong" / name).write_text("{}")
    assert check("wrong", "bad.py", "--exit-zero") == 0
    assert "warning: there is no file of Python in wrong" in capsys.readouterr().err
    assert check("wrong", "bad.py", "--exit-zero", "--no-empty") == 2
    assert "error: there is no file of Python in wrong" in capsys.readouterr().err
    assert check(".", "--exit-zero", "--no-empty") == 0
    assert "no file of Python" not in capsys.readouterr().err


def test_a_selection_of_which_all_is_excluded_is_told_of(capsys):
    assert check("bad.py", "--force-exclude", "--exclude", "bad.py") == 0
    assert "all that was named is excluded (1 file)" in capsys.readouterr().err
    assert check("bad.py", "--force-exclude", "--exclude", "bad.py", "--no-empty") == 2


def test_bases_that_are_not_found_are_counted_once(capsys, folder: Path):
    bases = "from somewhere import First, Second\n" + BAD
    classes = [BAD.replace("Net(nn.Module)", f"Net{n}({base})") for n, base in enumerate(["First", "First", "Second"])]
    (folder / "bad.py").write_text("\n".join([bases.replace("Net(nn.Module)", "Net(First)"), *classes]))
    for _ in range(2):
        main(["check", "--cache-dir", str(folder / "kept"), "bad.py"])
        assert "2 bases not found, the classes of which are not judged" in capsys.readouterr().out
