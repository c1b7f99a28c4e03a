"""What a command prints: as wide as it is told, in the characters that there are, and with -q what is wrong alone."""

from __future__ import annotations

from pathlib import Path

import pytest

NET = """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = [nn.Linear(4, 4) for _ in range(3)]
        self.größe = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4), nn.ReLU())
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "net.py").write_text(NET, "utf-8")
    return tmp_path


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
@pytest.mark.parametrize("width", ["60", "140"])
@pytest.mark.parametrize("form", ["text", "csv", "markdown"])
def test_width_and_encoding_hold_in_a_pipe(folder: Path, modgraph, encoding: str, width: str, form: str):
    environment = {"PYTHONIOENCODING": encoding, "COLUMNS": width}
    arguments = ("analyze", "net.py", "--static", "--format", form, "-o", "-")
    run = modgraph(*arguments, cwd=folder, environment=environment, binary=True)
    assert run.returncode == 0, run.stderr
    text = run.stdout.decode(encoding)
    assert ("gr\\xf6\\xdfe" if encoding == "ascii" else "größe") in text
    assert ("▲" in text, "! unregistered" in text) == (encoding == "utf-8", encoding != "utf-8" and form != "csv") or (
        form == "csv"
    )
    if form == "text":
        assert max(map(len, text.splitlines())) <= int(width)
        assert (max(map(len, text.splitlines())) > 60) == (width == "140")


def test_a_document_is_utf8_whatever_people_are_shown(folder: Path, modgraph):
    arguments = ("analyze", "net.py", "--static", "--format", "mermaid", "-o", "-")
    plain = modgraph(*arguments, cwd=folder, binary=True).stdout
    assert modgraph(*arguments, cwd=folder, environment={"PYTHONIOENCODING": "cp1252"}, binary=True).stdout == plain


def test_quiet_prints_findings_and_problems_and_nothing_else(folder: Path, modgraph):
    arguments = ("analyze", "net.py:Net", "--static", "-q", "--format", "json")
    run = modgraph(*arguments, cwd=folder)
    (line,) = run.stdout.splitlines()
    assert line.startswith("net.py:7: MG101: 3 modules (Linear) in a plain list")
    assert (run.returncode, run.stderr) == (0, "")
    source = NET.replace("range(3)", "range(int(unknown()))") + "        self.more = unknown()\n"
    (folder / "net.py").write_text(f"from nowhere import unknown\n{source}", "utf-8")
    run = modgraph(*arguments, cwd=folder)
    loud = modgraph(*(each for each in arguments if each != "-q"), cwd=folder)
    assert run.returncode == 1
    assert run.stderr.count("warning: Net: predict: ") == loud.stderr.count("warning: predict: ") > 0
    assert "wrote" not in run.stderr
    assert all(" MG" in line for line in run.stdout.splitlines())


def test_quiet_leaves_standard_output_to_the_result(folder: Path, modgraph):
    run = modgraph("analyze", "net.py:Net", "--static", "-q", "-o", "-", cwd=folder)
    assert run.stdout.startswith("{")
    assert "MG101" in run.stderr
