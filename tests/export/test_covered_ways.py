"""An arrow of a closed box is certain where one way or the other leads along it; torch says what went there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.export import render
from modgraph.export.look.covering import Covering
from modgraph.export.look.options import PictureOptions
from modgraph.export.page.html import page_data
from modgraph.graph.model import Graph
from modgraph.graph.occurrences import Link, Run

pytestmark = pytest.mark.needs_torch
NET = """
import torch
from torch import nn

class Box(nn.Module):
    def __init__(self):
        super().__init__()
        for name in "abc": setattr(self, name, nn.Linear(4, 4))

    def helped(self, t, x, layer):
        return layer(x) if t.sum() > 0 else None

    def forward(self, x):
        BODY

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.box, self.two = nn.Linear(4, 4), Box(), nn.Linear(4, 4)

    def forward(self, x):
        x = self.one(x)
        y = self.box(x)
        return self.two(y)
"""
COVERED = {
    "both arms": "if x.sum() > 0: return self.a(x)\n        return self.b(x)",
    "an expression": "return self.a(x) if x.sum() > 0 else self.b(x)",
    "three ways": (
        "if x.sum() > 0: return self.a(x)\n        elif x.max() > 1: return self.b(x)\n        return self.c(x)"
    ),
    "nested": (
        "if x.sum() > 0:\n            if x.max() > 1: return self.a(x)\n            return self.b(x)\n"
        "        return self.c(x)"
    ),
    "of a layer that is chosen": "return (self.a if x.sum() > 0 else self.b)(x)",
    "of a match": (
        "match x.ndim:\n            case 2 if x.sum() > 0: return self.a(x)\n            case _: return self.b(x)"
    ),
}
OPEN = {
    "one arm": "y = x.detach()\n        if x.sum() > 0: y = self.a(x)\n        return y * 0 + 1",
    "of two tests": (
        "y = torch.ones(2, 4)\n        if x.sum() > 0: y = self.a(x)\n        if not (x.max() > -1): y = self.b(x)\n"
        "        return y"
    ),
    "of one test that is made of two tensors": (
        "y = self.helped(x, torch.ones(2, 4), self.c)\n        y = torch.ones(2, 4)\n"
        "        for t, m in ((x, self.a), (-x, self.b)):\n            if t.sum() > 0: y = m(x) if m is self.a else y\n"
        "            else: y = m(x) if m is self.b else y\n        return y"
    ),
    "in a loop of no known turns": (
        "y = torch.ones(2, 4)\n        for _ in range(int(x.max() > 1)):\n            if x.sum() > 0: y = self.a(x)\n"
        "            else: y = self.b(x)\n        return y"
    ),
    "in a loop of one line": (
        "y = torch.ones(2, 4)\n"
        "        for _ in range(int(x.max() > 1)): y = self.a(x) if x.sum() > 0 else self.b(x)\n        return y"
    ),
    "in a loop of one line, of no tensor": (
        "y, n = torch.ones(2, 4), len(str(x))\n"
        "        for _ in range(int(x.max() > 1)): y = self.a(x) if n > 9 else self.b(x)\n        return y"
    ),
    "in a `while` of one line": (
        "y = torch.ones(2, 4)\n"
        "        while x.max() > 1: x, y = x - 1, (self.a(x) if x.sum() > 0 else self.b(x))\n        return y"
    ),
    "in a `while` of one line that counts": (
        "y = torch.ones(2, 4); i = 0\n        while i < int(x.max() > 1): i += 1; "
        "y = self.a(x) if x.sum() > 0 else self.b(x)\n        return y"
    ),
    "in a comprehension": (
        "z = [self.a(x) if i.sum() > 0 else self.b(x) for i in x.relu().nonzero()]\n"
        "        return z[0] if z else torch.ones(2, 4)"
    ),
    "of what another test has chosen": (
        "t, u = x * 2, torch.ones(2, 4)\n        y = x if x.max() > 1 else u\n"
        "        if u.sum() > 0: return self.a(y)\n        return self.b(y)"
    ),
}


def _graph(folder: Path, body: str) -> Graph:
    file = folder / "net.py"
    file.write_text(NET.replace("BODY", body), "utf-8")
    return modgraph.predict(f"{file}:Net", inputs=["2x4"])


def _into_layers(folder: Path) -> set[bool]:
    """Whether what `one` gave went to a layer of the box, in runs of several weights."""
    import torch

    names: dict[str, Any] = {}
    exec(compile((folder / "net.py").read_text("utf-8"), "net.py", "exec"), names)
    net = names["Net"]()
    given: list[Any] = []
    found = set()
    net.one.register_forward_hook(lambda module, args, output: given.append(output))
    for layer in (net.box.a, net.box.b, net.box.c):
        layer.register_forward_hook(lambda module, args, output: went.append(args[0] is given[-1]))
    with torch.no_grad():
        for bias in (2.0, 0.1, -0.5, -2.0):
            went: list[bool] = []
            net.one.weight.zero_()
            net.one.bias.fill_(bias)
            net(torch.ones(2, 4))
            found.add(any(went))
    return found


def _links(graph: Graph) -> list[Link]:
    """From `one` into layers of the box."""
    return [
        link for link in Run(graph).links if link.source.path == "one" and re.fullmatch(r"box\.[abc]", link.target.path)
    ]


@pytest.mark.parametrize("name", COVERED)
def test_ways_of_which_one_is_taken_are_certain_together(name: str, tmp_path: Path) -> None:
    graph = _graph(tmp_path, COVERED[name])
    assert _into_layers(tmp_path) == {True}
    links = _links(graph)
    assert len(links) > 1
    assert not any(link.certain for link in links)
    assert Covering(graph).is_certain(links)
    assert not any(Covering(graph).is_certain(links[:place] + links[place + 1 :]) for place in range(len(links)))


@pytest.mark.parametrize("name", OPEN)
def test_ways_of_which_none_may_be_taken_are_not(name: str, tmp_path: Path) -> None:
    graph = _graph(tmp_path, OPEN[name])
    assert False in _into_layers(tmp_path)
    links = _links(graph)
    assert links
    assert not Covering(graph).is_certain(links)


def _deep(folder: Path, body: str) -> Graph:
    """With more inside the box than a picture of one level shows."""
    source = NET.replace("BODY", body).replace("class Net", "class Inner").replace('"abc"', '"abcdefgh"')
    file = folder / "net.py"
    around = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.mid, self.two = nn.Linear(4, 4), Inner(), nn.Linear(4, 4)

    def forward(self, x):
        return self.two(self.mid(self.one(x)) + 1)
"""
    file.write_text(source + around, "utf-8")
    return modgraph.predict(f"{file}:Net", inputs=["2x4"])


@pytest.mark.parametrize("name", ["both arms", "three ways"])
def test_the_arrows_of_a_closed_box_are_drawn_so(name: str, tmp_path: Path) -> None:
    graph = _deep(tmp_path, COVERED[name])
    closed = _drawn(graph, "mermaid", 1)
    assert "Box" in closed
    assert "-.->" not in closed
    assert "style=dashed" not in _drawn(graph, "dot", 1)
    assert "-.->" in _drawn(graph, "mermaid", 3)


@pytest.mark.parametrize(("name", "marks"), [("both arms", {0, 12}), ("of two tests", {4})])
def test_the_page_tells_it_of_each_container(name: str, marks: set[int], tmp_path: Path) -> None:
    """Into the box leads one arrow, and of the box as many as it has outputs, which are one where it is closed."""
    data = page_data(_graph(tmp_path, {**COVERED, **OPEN}[name]), PictureOptions())
    (box,) = [number for number, item in enumerate(data["items"]) if item.get("row", {}).get("title") == "Box"]
    edges = data["items"][0]["edges"]
    of_box = [edges[i : i + 5] for i in range(0, len(edges), 5) if box in edges[i : i + 2]]
    into = {marks & ~1 for _, head, _, _, marks in of_box if head == box}
    out = {marks & ~1 for tail, _, _, _, marks in of_box if tail == box}
    assert into | out >= marks
    assert (0 in into) == (name == "both arms")


def _drawn(graph: Graph, format: str, depth: int) -> str:
    text = render(graph, format, PictureOptions(depth=depth))
    assert isinstance(text, str)
    return text
