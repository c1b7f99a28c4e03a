"""Where a run leaves open from which giver of a tensor an arrow comes, pictures and page show it: it is dotted."""

from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.needs_torch
torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 needs torch

import modgraph  # noqa: E402
from modgraph.export.formats import render  # noqa: E402
from modgraph.export.look.options import PictureOptions  # noqa: E402
from modgraph.export.page.html import page_data  # noqa: E402
from modgraph.export.picture.choosing import picture_of  # noqa: E402


class Net(nn.Module):
    def __init__(self, way):
        super().__init__()
        self.a, self.f, self.b = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)
        self.p, self.q, self.way = nn.Dropout(), nn.Identity(), way

    def forward(self, x):
        return self.b(self.way(self, self.a(x)))


def skipped(self, h):
    return h + self.f(self.p(h))


def called_first(self, h):
    return self.p(h) + self.f(h)


def called_last(self, h):
    return self.f(h) + self.p(h)


def both(self, h):
    one, two = self.p(h), self.q(h)
    return self.f(one) + two


def through_a_view(self, h):
    y = self.f(self.p(h).view(1, 2, 4))
    return h.view(1, 2, 4) + y


def in_line(self, h):
    return self.q(self.p(h))


def with_none(self, h):
    return h + self.f(h)


OPEN = {
    skipped: {("drop", "f"), ("drop", "+")},
    called_first: {("drop", "f"), ("drop", "+")},
    called_last: set(),
    both: {("drop", "q"), ("q", "f"), ("q", "+")},
    through_a_view: {("drop", "f"), ("drop", "+")},
    in_line: set(),
    with_none: set(),
}


def traced(way):
    graph = modgraph.trace(Net(way).eval(), torch.ones(2, 4))
    assert not graph.problems
    return graph


@pytest.mark.parametrize("way", OPEN)
def test_an_arrow_is_dotted_where_another_giver_may_be_meant(way):
    graph = traced(way)
    picture = picture_of(graph, PictureOptions())
    dotted = [arrow for arrow in picture.arrows if arrow.kind == "open"]
    assert len(dotted) == len(OPEN[way]) - (way is both)  # the two are rows of one card
    assert picture.legend.open is bool(dotted)
    assert all("or before it" in arrow.tooltip for arrow in dotted)
    dot, mermaid = render(graph, "dot"), render(graph, "mermaid")
    assert len(re.findall(r"-> .*dotted", dot)) == mermaid.count("-.->") == len(dotted)
    assert ("dotted: from this step" in dot) is bool(dotted)


@pytest.mark.parametrize("way", OPEN)
def test_so_it_is_on_the_page(way):
    data = page_data(traced(way), PictureOptions())
    marks = [mark for item in data["items"] for mark in item.get("edges", ())[4::5]]
    assert any(mark & 2 for mark in marks) is bool(OPEN[way])
    assert ("open" in data) is bool(OPEN[way])


SOURCE = """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.p, self.f = nn.Linear(4, 4), nn.Dropout(), nn.Linear(4, 4)

    def forward(self, x):
        h = self.a(x)
        return h + self.f(self.p(h))
"""


def test_what_source_tells_is_drawn_as_ever(tmp_path):
    path = tmp_path / "net.py"
    path.write_text(SOURCE, encoding="utf-8")
    assert "dotted" not in render(modgraph.analyze(f"{path}:Net", inputs=["x=2x4"]), "dot")
