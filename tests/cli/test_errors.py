"""Bad input: one clear message, status 2, no traceback."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

NET = """
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x, scale=1.0):
        return self.fc(x) * scale
"""


def write(folder: Path, text: str, name: str = "model.py") -> str:
    (folder / name).write_text(text)
    return name


def said(run) -> str:
    """What was said, after checking how: status 2, one error, nothing on standard output."""
    assert run.returncode == 2, (run.returncode, run.stdout, run.stderr)
    assert "Traceback" not in run.stderr
    assert run.stderr.count("error:") == 1
    assert run.stdout == ""
    return run.stderr


def test_missing_file(modgraph, tmp_path):
    write(tmp_path, NET)
    message = said(modgraph("analyze", "modle.py"))
    assert "modle.py does not exist" in message
    assert "did you mean model.py?" in message


def test_directory(modgraph, tmp_path):
    write(tmp_path, NET)
    message = said(modgraph("analyze", "."))
    assert ". is a directory" in message
    assert "./model.py" in message


def test_syntax_error_names_file_and_line(modgraph, tmp_path):
    write(tmp_path, "import torch\n\nclass Net(:\n    pass\n")
    message = said(modgraph("analyze", "model.py"))
    assert "--> model.py:3" in message
    assert "class Net(:" in message


def test_no_module_in_the_file_says_what_is_there(modgraph, tmp_path):
    write(tmp_path, "class Config: pass\ndef train(): pass\n")
    message = said(modgraph("analyze", "model.py"))
    assert "no nn.Module" in message
    assert "class Config, function train" in message


def test_unknown_class_suggests_the_nearest(modgraph, tmp_path):
    write(tmp_path, NET)
    message = said(modgraph("analyze", "model.py:Nett"))
    assert "'Nett'" in message
    assert "Net" in message.replace("Nett", "")


@pytest.mark.needs_torch
@pytest.mark.parametrize("spec", ["y=1x4", "x=1x4,scale=2", "x=1x"])
def test_wrong_input_says_what_forward_accepts(modgraph, tmp_path, spec):
    write(tmp_path, NET)
    message = said(modgraph("analyze", "model.py", "--input", spec))
    if spec == "y=1x4":
        assert "forward" in message
        assert "x" in message
        assert "scale" in message


@pytest.mark.needs_torch
def test_too_many_inputs_says_what_forward_accepts(modgraph, tmp_path):
    write(tmp_path, NET)
    message = said(modgraph("analyze", "model.py", "--input", "1x4", "--input", "1x4", "--input", "1x4"))
    assert "forward" in message


def test_unknown_format(modgraph, tmp_path):
    write(tmp_path, NET)
    message = said(modgraph("analyze", "model.py", "--format", "svg,jpeg"))
    assert "jpeg" in message
    assert "png" in message


def test_unwritable_output_directory(modgraph, tmp_path):
    write(tmp_path, NET)
    write(tmp_path, "", "taken")
    message = said(modgraph("analyze", "model.py", "-o", "taken/out"))
    assert "taken" in message


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_output_directory_without_permission(modgraph, tmp_path):
    write(tmp_path, NET)
    (tmp_path / "locked").mkdir(mode=0o500)
    assert "permission" in said(modgraph("analyze", "model.py", "-o", "locked/out"))


def test_two_formats_into_one_file(modgraph, tmp_path):
    write(tmp_path, NET)
    assert "standard output" in said(modgraph("analyze", "model.py", "--format", "svg,json", "-o", "-"))


def test_unknown_module(modgraph):
    assert "no_such_package" in said(modgraph("analyze", "no_such_package.models:Net"))


def test_render_of_what_is_no_graph(modgraph, tmp_path):
    write(tmp_path, "{}", "graph.json")
    assert "graph.json" in said(modgraph("render", "graph.json"))


def test_render_of_a_missing_file(modgraph):
    assert "graph.json" in said(modgraph("render", "graph.json"))


@pytest.mark.parametrize(
    "arguments",
    [(), ("analyse", "model.py"), ("analyze",), ("analyze", "m.py", "--depth", "0"), ("analyze", "m.py", "--nofold"),
     ("analyze", "m.py", "--timeout", "soon"), ("analyze", "m.py", "--memory-limit", "much")],
)  # fmt: skip
def test_bad_usage_is_status_2(modgraph, arguments):
    run = modgraph(*arguments)
    assert run.returncode == 2
    assert "usage: modgraph" in run.stderr


def test_debug_shows_the_traceback(modgraph):
    assert "Traceback" in modgraph("analyze", "missing.py", "--debug").stderr
