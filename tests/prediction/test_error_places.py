"""Errors are said where the user can fix them: at the user's line, or with the signature that was not met."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import modgraph
from modgraph.errors import TargetError
from modgraph.graph.model import Graph


@pytest.mark.parametrize(
    ("call", "line"), [("nn.Linear(1, 'x')", 6), ("nn.Conv2d(3, 4, 3, groups=2)", 6), ("make()", 8)]
)
def test_what_torch_raises_is_at_the_line_of_the_user(
    predict_source: Callable[..., Graph], call: str, line: int
) -> None:
    text = f"class Net(nn.Module):\n  def __init__(self):\n    self.a = {call}\ndef make():\n  return nn.Linear(1, 'x')"
    text = text.replace("self.a", "super().__init__(); self.a")
    (problem,) = predict_source(text).problems
    assert (problem.file, problem.line) == ("net.py", line)
    assert "(in torch/nn/modules/" in problem.message


@pytest.mark.parametrize("call", ["Net(depth=4)", "Net(dept=4)", "Net(1, 2, 3)"])
def test_arguments_that_do_not_fit_are_an_error_with_the_signature(call: str, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "from torch import nn\nclass Net(nn.Module):\n    def __init__(self, width, depth=2):\n        pass\n"
    )
    with pytest.raises(TargetError, match=r"Net\(width, depth=2\)"):
        modgraph.predict(f"{tmp_path / 'net.py'}:{call}")
