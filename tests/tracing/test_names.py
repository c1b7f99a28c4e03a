"""Paths of what is found in a live model are those that torch itself gives."""

from __future__ import annotations

import enum

import pytest

torch = pytest.importorskip("torch")

from modgraph.tracing.recording.tree import Tree  # noqa: E402


class Part(str, enum.Enum):
    HEAD = "head"
    SCALE = "scale"


def test_a_member_of_an_enum_of_strings_is_the_text_that_torch_joins():
    net = torch.nn.Sequential()
    net.add_module(Part.HEAD, torch.nn.Sequential(torch.nn.Linear(1, 2)))
    net.head.register_buffer(Part.SCALE, torch.zeros(1))
    nodes = Tree(net).nodes
    assert [node.path for node in nodes] == [path for path, _ in net.named_modules()]
    found = [f"{node.path}.{each.name}" for node in nodes for each in (*node.parameters, *node.buffers)]
    assert sorted(found) == sorted(net.state_dict())
