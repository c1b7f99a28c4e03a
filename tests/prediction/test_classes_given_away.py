"""A class that is given to code which is not known may have other attributes afterwards."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch

TEXT = """
import torch
from torch import nn
from not_there_at_all import change
class Part(nn.Module):
    width = 3
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(self.width, 1)
class Config:
    width = 3
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        change({0})
        self.part = Part()
        self.b = nn.Linear(Config.width, 1)
        self.c = nn.Linear(2, 1)
"""


@pytest.mark.parametrize("given", ["Part", "Config", "Part, Config"])
def test_its_attributes_are_not_claimed(
    predict_source: Callable[..., Graph], monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    library: Any = types.ModuleType("not_there_at_all")
    library.change = lambda *classes: [setattr(each, "width", 7) for each in classes]
    text = TEXT.format(given)
    graph = predict_source(text)
    monkeypatch.setitem(sys.modules, "not_there_at_all", library)
    namespace: dict[str, Any] = {"__name__": "net"}
    exec(text, namespace)
    real = {name: tuple(value.shape) for name, value in namespace["Net"]().named_parameters()}
    claimed = {
        f"{node.path}.{each.name}": each.shape
        for node in graph.modules
        for each in node.parameters
        if each.shape is not None and None not in each.shape
    }
    assert claimed["c.weight"] == real["c.weight"]
    assert [name for name, shape in claimed.items() if real[name] != shape] == []
    assert graph.problems
