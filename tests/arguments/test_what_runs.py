"""Of several calls of a class, one with which its forward comes to an end is taken."""

from __future__ import annotations

import pytest

import modgraph
from tests.arguments import projects

pytestmark = pytest.mark.needs_torch

NET = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self, phase, width):
            super().__init__()
            self.phase = phase
            self.layer = nn.Linear(4, width)

        def forward(self, x):
            x = self.layer(x)
            if self.phase == "{broken}":
                raise RuntimeError("no longer supported")
            return x
    """


@pytest.mark.parametrize(("broken", "taken"), [("train", "test"), ("test", "train"), ("other", "train")])
def test_arguments_with_which_forward_ends_come_before_the_nearest(tmp_path, broken, taken):
    calls = {"one.py": "from net import Net\nNet('train', 3)\n", "two.py": "from net import Net\nNet('test', 5)\n"}
    projects.write(tmp_path, {"net.py": NET.format(broken=broken), **calls})
    graph = modgraph.analyze(f"{tmp_path}/net.py:Net")
    assert graph.complete
    assert [call.module for call in graph.calls] == ["", "layer"]
    assert f"phase='{taken}'" in graph.model.arguments_from.text
    width = {"train": 3, "test": 5}[taken]
    assert graph.calls[0].outputs[0].shape[-1] == width
    assert len(graph.model.arguments_from.others) == 1


def test_where_forward_ends_with_none_of_them_the_nearest_is_told(tmp_path):
    calls = {"one.py": "from net import Net\nNet('train', 3)\n", "two.py": "from net import Net\nNet('test', 5)\n"}
    net = NET.format(broken="").replace('if self.phase == ""', "if self.phase")
    projects.write(tmp_path, {"net.py": net, **calls})
    graph = modgraph.analyze(f"{tmp_path}/net.py:Net")
    assert not graph.complete
    assert "no longer supported" in graph.problems[0].message
    assert "phase='train'" in graph.model.arguments_from.text
