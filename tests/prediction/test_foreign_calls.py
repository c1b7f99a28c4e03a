"""A call into an installed package that has nothing to do with torch has a part of the work of a prediction."""

from __future__ import annotations

from pathlib import Path

import modgraph

PARSER = """
def parse(text, depth=0):
    found = []
    while True:
        for mark in ("(", "[", "{", "<", "#"):
            if text.peek(mark):
                found.append(parse(text.rest(mark), depth + 1))
                break
            elif text.ends(mark):
                return found
        else:
            if text.more():
                found.append(text.next())
            else:
                return found
"""
NET = """
import os
from torch import nn
from template_parser import parse

class Net(nn.Module):
    def __init__(self, source=None):
        super().__init__()
        self.tree = parse(os.environ)
        self.layer = nn.Linear(2, 3)
"""


def test_what_takes_too_long_there_costs_its_own_value_alone(tmp_path: Path) -> None:
    packages, project = tmp_path / "site-packages", tmp_path / "project"
    packages.mkdir()
    project.mkdir()
    (packages / "template_parser.py").write_text(PARSER, encoding="utf-8")
    file = project / "net.py"
    file.write_text(NET, encoding="utf-8")
    graph = modgraph.predict(f"{file}:Net", path=[str(project), str(packages)])
    layer = next((node for node in graph.modules if node.path == "layer"), None)
    assert layer is not None
    assert layer.class_name == "torch.nn.modules.linear.Linear"
