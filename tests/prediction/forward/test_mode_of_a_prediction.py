"""The mode for which `forward` is predicted: it can be said, it is told wherever the calls are, and a run judges it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import modgraph
from modgraph.cli import main
from modgraph.errors import ConfigError
from modgraph.export import render
from modgraph.export.text.summary import summary
from tests.prediction.forward.judged import PRELUDE, THREE_LAYERS

NET = (
    THREE_LAYERS
    + """
    def forward(self, x):
        x = self.a(x)
        return self.c(x) if self.training else self.b(x)
"""
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "net.py").write_text(PRELUDE + NET, encoding="utf-8")
    return tmp_path / "net.py"


@pytest.mark.parametrize("mode", ["eval", "train"])
def test_what_is_certain_is_what_a_run_in_that_mode_does(file, mode):
    graph = modgraph.predict(f"{file}:Net", inputs=["2x4"], mode=mode)
    space: dict = {}
    exec(PRELUDE + NET, space)
    real = modgraph.trace(space["Net"](), torch.ones(2, 4), mode=mode)
    assert [call.module for call in graph.calls if call.certain] == [call.module for call in real.calls]
    assert graph.model.mode == real.model.mode == mode


@pytest.mark.parametrize("mode", ["eval", "train"])
def test_it_is_told_in_every_form(file, mode):
    graph = modgraph.analyze(f"{file}:Net", static=True, mode=mode)
    assert f"predicted ({mode})" in summary(graph).splitlines()[0]
    for form in ("dot", "mermaid"):
        assert f"predicted ({mode})" in str(render(graph, form))


def test_a_tree_without_calls_has_no_mode(file):
    graph = modgraph.predict(f"{file}:Net", forward=False)
    assert graph.model.mode is None
    assert "predicted (" not in summary(graph)


def test_the_command_takes_it_where_forward_is_predicted(file, monkeypatch, capsys):
    monkeypatch.chdir(file.parent)
    assert main(["analyze", "net.py", "--static", "--mode", "train", "--format", "json", "-o", "-"]) == 0
    assert '"mode": "train"' in capsys.readouterr().out
    assert main(["analyze", "net.py", "--static", "--mode", "train", "--no-forward"]) == 2
    assert "--mode is of no use with --static" in capsys.readouterr().err


def test_there_are_two(file):
    with pytest.raises(ConfigError, match="mode is one of"):
        modgraph.predict(f"{file}:Net", mode="test")
