"""A target that names something of a class."""

from __future__ import annotations

from pathlib import Path

import pytest

import modgraph
from modgraph.errors import TargetError

TEXT = """
from torch import nn
class Net(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.fc = nn.Linear(width, 2)
    @classmethod
    def small(cls, *, depth=1):
        return cls(width=2)
    @classmethod
    def sized(cls, width):
        return cls(width)
    @staticmethod
    def large():
        return Net(8)
    def forward(self, x):
        return self.fc(x)
"""


@pytest.mark.parametrize(("name", "width"), [("Net.small", 2), ("Net.large", 8), ("Net.sized(3)", 3), ("Net", 4)])
def test_what_a_class_makes_of_itself_is_a_model(tmp_path: Path, name: str, width: int) -> None:
    (tmp_path / "net.py").write_text(TEXT)
    graph = modgraph.predict(f"{tmp_path}/net.py:{name}")
    assert graph.complete
    assert graph.modules[1].parameters[0].shape == (2, width)


def test_what_it_wants_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(TEXT)
    graph = modgraph.predict(f"{tmp_path}/net.py:Net.sized")
    assert graph.problems[0].message.endswith("argument 'width' is not given: sized(width)")
    assert graph.modules[1].class_name == "torch.nn.modules.linear.Linear"


def test_a_method_of_its_instances_is_none(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(TEXT)
    with pytest.raises(TargetError, match=r"forward in net\.py is a method of the instances of Net") as caught:
        modgraph.predict(f"{tmp_path}/net.py:Net.forward")
    assert caught.value.hint is not None
    assert caught.value.hint.endswith("net.py:Net")
