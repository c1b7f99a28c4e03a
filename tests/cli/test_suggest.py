"""`modgraph analyze --suggest`: what is asked for, and where it goes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from modgraph.cli import main
from modgraph.suggesting import KINDS

NET = """
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(16, 64)
        self.down = nn.Linear(64, 16)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block() for _ in range(3)])
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "net.py").write_text(NET)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


@pytest.fixture
def said(capsys: pytest.CaptureFixture):
    """said(words...): status, output and errors of the command."""

    def run(*words: str) -> tuple[int, str, str]:
        status = main(["analyze", *words])
        return status, *capsys.readouterr()

    return run


def test_the_summary_ends_with_what_was_asked_for(said):
    _, out, _ = said("net.py", "--static", "--suggest", "lora, compile", "--format", "json")
    assert re.findall("^suggested (.*)$", out, re.MULTILINE) == ["lora", "compile"]
    assert '\n  target_modules = ["up", "down"]\n' in out
    assert "suggested" not in said("net.py", "--static", "--format", "json")[1]


def test_all_is_each_of_them_and_a_saved_graph_can_be_asked(said):
    said("net.py", "--static", "--format", "json", "-o", "net.json")
    assert "suggestions" not in json.loads(Path("net.json").read_text())
    status, out, _ = said("net.json", "--suggest", "all", "--format", "json", "-o", "-")
    assert [each["kind"] for each in json.loads(out)["suggestions"]] == list(KINDS)
    assert status == 0


def test_in_markdown_they_are_blocks_and_tables(said):
    _, out, _ = said("net.py", "--static", "--suggest", "fsdp", "--format", "markdown", "-o", "-")
    assert "```python\nfrom net import Block\ntransformer_layer_cls = {Block}\n```" in out
    assert "| block | `Block` | 3 | 6,384 |" in out


@pytest.mark.parametrize("words", [["--suggest", "peft"], ["--suggest", ","], ["--all", "--suggest", "lora"]])
def test_what_cannot_be_suggested_is_refused(words: list[str], said):
    target = "." if "--all" in words else "net.py"
    status, _, err = said(target, "--static", *words)
    assert status == 2
    assert "suggest" in err
    assert not Path("modgraph-out").exists()


def test_names_of_others_are_text(said):
    """A name that would act on a terminal, end a block of code, or leave a text of Python."""
    names = ["\x1b[31mred", 'quo"te', "```", "a\\b", "::error::x"]
    lines = [f"        self.add_module({name!r}, nn.Linear(16, 16))" for name in names]
    Path("net.py").write_text(NET.replace("        self.down = nn.Linear(64, 16)", "\n".join(lines)))
    _, out, _ = said("net.py", "--static", "--suggest", "all", "--format", "markdown,json")
    assert "\x1b" not in out
    assert not any(line.startswith("::") for line in out.splitlines())
    page = Path("modgraph-out/Net.md").read_text()
    assert "\x1b" not in page
    for each in json.loads(Path("modgraph-out/Net.json").read_text())["suggestions"]:
        compile(each["paste"], "pasted", "exec")
    assert page.count("````") >= 2
