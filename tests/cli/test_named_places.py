"""What is named and cannot be used: what it is, and a help that can be followed. What the user names is taken."""

from __future__ import annotations

import os
import subprocess

import pytest

import modgraph
from modgraph.cli import main
from modgraph.errors import ConfigError, ExitStatus, GraphError, ModgraphError

MODEL = "from torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self{}):\n        super().__init__()\n"


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(MODEL.format(""), encoding="utf-8")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes that have names")
@pytest.mark.parametrize(
    "command",
    [
        ["analyze", "pipe.py", "--static"],
        ["analyze", "pipe", "--static"],
        ["diff", "pipe.py", "net.py"],
        ["render", "pipe.json"],
        ["render", "pipe.onnx"],
        ["check", "--config", "pipe.toml", "net.py"],
        ["check", "pipe.py"],
    ],
    ids=" ".join,
)
def test_a_pipe_is_called_one_and_never_offered_again(command, capsys):
    for name in ("pipe.py", "pipe", "pipe.json", "pipe.onnx", "pipe.toml"):
        os.mkfifo(name)
    assert main(command) == ExitStatus.FAILED
    said = capsys.readouterr().err
    assert "a pipe" in said
    assert "did you mean" not in said
    assert "does not exist" not in said
    assert "help: " in said


@pytest.mark.parametrize("command", [["analyze", "-", "--static"], ["diff", "-", "net.py"], ["render", "-"]])
def test_standard_input_is_said_not_to_be_read(command, capsys):
    assert main(command) == ExitStatus.FAILED
    said = capsys.readouterr().err
    assert "standard input is not read" in said
    assert "help: write what comes of it into a file" in said


def test_a_name_that_was_typed_is_not_offered(capsys):
    os.symlink("nowhere.py", "link.py")
    assert main(["analyze", "link.py", "--static"]) == ExitStatus.FAILED
    said = capsys.readouterr().err
    assert "link.py does not exist" in said
    assert "did you mean link.py" not in said


def test_a_file_that_cannot_be_parsed_has_a_reason(tmp_path, capsys):
    (tmp_path / "deep.py").write_text("x = " + "-" * 100_000 + "1\n", encoding="utf-8")
    assert main(["analyze", "deep.py:Net", "--static"]) == ExitStatus.FAILED
    first = capsys.readouterr().err.splitlines()[0]
    assert first == "error: cannot be parsed: nested too deeply"


def test_a_file_that_is_too_large_to_be_checked_is_the_subject(tmp_path, capsys):
    (tmp_path / "big.py").write_bytes(b"#" * 8_000_001)
    assert main(["check", "big.py"]) == ExitStatus.FAILED
    said = capsys.readouterr().err
    assert "error: big.py is not checked: " in said
    assert "help: split the file" in said


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: modgraph.load("nope.json"), GraphError),
        (lambda: modgraph.load("nope.onnx"), GraphError),
        (lambda: modgraph.check(["nope"]), ConfigError),
    ],
)
def test_an_error_names_its_file_where_only_its_text_is_shown(call, kind):
    with pytest.raises(kind, match=r"^nope[.a-z]*: ") as caught:
        call()
    assert not caught.value.message.startswith("nope")


def test_the_text_of_an_error_names_its_file_once():
    assert str(ModgraphError("a.py is amiss", file="a.py")) == "a.py is amiss"
    assert str(ModgraphError("amiss", file="a.py", line=3)) == "a.py:3: amiss"
    assert str(ModgraphError("amiss")) == "amiss"


def git(*arguments):
    plain = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *plain, *arguments], check=True, capture_output=True)


def test_a_submodule_has_the_command_that_compares_it(tmp_path, capsys, monkeypatch):
    for folder in ("inner", "outer"):
        git("init", "-q", folder)
        (tmp_path / folder / "net.py").write_text(MODEL.format(""), encoding="utf-8")
        git("-C", folder, "add", ".")
        git("-C", folder, "commit", "-qm", "one")
    git("-C", "outer", "submodule", "add", "-q", str(tmp_path / "inner"), "sub")
    git("-C", "outer", "commit", "-qm", "two")
    monkeypatch.chdir("outer")
    assert main(["diff", "HEAD:sub/net.py:Net", "sub/net.py:Net"]) == ExitStatus.FAILED
    said = capsys.readouterr().err
    assert "help: compare it in there: cd sub && modgraph diff HEAD:net.py:Net net.py:Net" in said
    monkeypatch.chdir("sub")
    assert main(["diff", "HEAD:net.py:Net", "net.py:Net"]) == ExitStatus.OK


def test_arguments_that_are_missing_are_told_how_to_be_given_once(tmp_path, capsys):
    text = MODEL.format(", a, b") + "        self.x = nn.Linear(a, 2)\n        self.y = b()\n"
    (tmp_path / "args.py").write_text(text, "utf-8")
    main(["analyze", "args.py", "--static", "--format", "json"])
    said = capsys.readouterr().err
    assert said.count("def build(): return Net(...)") == 1
    main(["analyze", "args.py:Net(1, 2)", "--static", "--format", "json"])
    assert "def build()" not in capsys.readouterr().err


@pytest.mark.parametrize("named", ["modgraph-out", "modgraph-out/", "./modgraph-out"])
def test_a_folder_that_is_named_is_followed_and_one_that_is_not_is_refused(named, tmp_path, capsys):
    (tmp_path / "real").mkdir()
    os.symlink("real", "modgraph-out")
    assert main(["analyze", "net.py", "--static", "--format", "json"]) == ExitStatus.FAILED
    assert "is a link, which is not followed" in capsys.readouterr().err
    assert not list((tmp_path / "real").iterdir())
    assert main(["analyze", "net.py", "--static", "--format", "json", "-o", named]) == ExitStatus.OK
    assert [file.name for file in (tmp_path / "real").iterdir()] == ["Net.json"]
