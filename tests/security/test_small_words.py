"""What is written into files acts no more than what is printed, and what is said of a link is true."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from modgraph.cli import main
from modgraph.doors.printing import markdown
from modgraph.export import render
from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import ModelInfo, ModuleNode, Problem


@pytest.mark.parametrize("word", ["::error::boo", "::add-mask::x", "##[error]boo", "##vso[task.complete]"])
@pytest.mark.parametrize("filler", range(60, 90, 3))
def test_no_line_that_is_wrapped_begins_as_a_command_does(word: str, filler: int):
    builder = GraphBuilder(
        ModelInfo(name=f"Net {'x' * filler} {word} {word}", class_name="net.Net", target="net.py:Net")
    )
    builder.modules.append(ModuleNode(path="", class_name="net.Net"))
    builder.problems.append(Problem(stage="predict", message=f"{'y' * filler} {word} {word}", module=""))
    text = render(builder.build(), "text")
    assert "boo" in text or "x" in text
    assert [
        line for line in text.splitlines() if line.lstrip().startswith("::") or "##[" in line or "##vso" in line
    ] == []


@pytest.mark.parametrize("text", ["ns/proj>", "see group/sub-group/pro.ject> now", "a/b>"])
def test_a_project_of_gitlab_is_no_reference(text: str):
    shown = markdown(text)
    word = next(each for each in text.split() if ">" in each)
    assert f"`{word}`" in shown


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_what_is_said_of_a_link_is_why_it_is_skipped(tmp_path: Path, monkeypatch, capfd):
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "script").write_text("#!/usr/bin/python\n")
    (tree / "ln.py").symlink_to("script")
    monkeypatch.chdir(tree)
    assert main(["check", "--no-cache", "."]) == 0
    assert "ln.py leads to a file that is not called .py" in capfd.readouterr().err
    (tree / "ln.py").unlink()
    (tmp_path / "net.py").touch()
    (tree / "ln.py").symlink_to("../net.py")
    assert main(["check", "--no-cache", "."]) == 0
    assert "ln.py leads out of the folder" in capfd.readouterr().err
