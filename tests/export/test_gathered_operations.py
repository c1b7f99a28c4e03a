"""Operations that are drawn as one row leave what reaches what as it is, and say on what they depend."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

import modgraph
from modgraph.export.look.folding import Cut, arrange
from modgraph.export.look.options import PictureOptions
from modgraph.export.look.parts import Card
from modgraph.export.picture.choosing import _Choice
from modgraph.graph.model import Graph
from modgraph.graph.occurrences import Run
from modgraph.graph.repeats import Likeness
from tests.export.items import of_kind

GATHER = Cut(depth=9, fold=False, like_once=False, operations=True)


def reached(edges: Iterable[tuple[object, object]]) -> set[tuple[object, object]]:
    """What reaches what."""
    after: dict[object, set[object]] = {}
    for tail, head in edges:
        after.setdefault(tail, set()).add(head)
    found = set()
    for start in after:
        pending, seen = [start], set()
        while pending:
            for each in after.get(pending.pop(), ()):
                if each not in seen:
                    seen.add(each)
                    pending.append(each)
        found.update((start, each) for each in seen)
    return found


def of_graph(graph: Graph) -> tuple[set, set, int]:
    """What reaches what in the graph and as it is drawn, between the ends that stand for themselves; gathered rows."""
    run = Run(graph)
    drawn = arrange(run, Likeness(run), GATHER)
    alone = {unit.occurrence.end for unit in drawn.units if not unit.gathered}
    real = reached((link.source.end, link.target.end) for link in run.links)
    seen = reached((id(tail), id(head)) for tail, head in drawn.bundles)
    names = {id(unit): unit.occurrence.end for unit in drawn.units if not unit.gathered}
    told = {(names[one], names[other]) for one, other in seen if one in names and other in names}
    return {pair for pair in real if alone.issuperset(pair)}, told, sum(unit.gathered for unit in drawn.units)


def random_net(sketch, seed: int) -> Graph:
    """Calls and operations that take what came before, some of it far away; inside containers, too."""
    pick = random.Random(seed)
    net = sketch(f"Net{seed}")
    for box in range(3):
        net.module(f"box{box}", "model.Box")
        for number in range(4):
            net.module(f"box{box}.m{number}", "Linear", (4, 4))
    made = ["input:x", "input:y"]
    often = pick.choice([0.5, 0.75, 0.9])
    for box in range(3):
        net.enter(f"box{box}")
        for number in range(4):
            for _ in range(pick.choice([0, 2, 5])):
                if pick.random() < often:
                    near = made[-4:] if pick.random() < 0.7 else made
                    feeds = pick.sample(near, min(len(near), pick.choice([1, 1, 2])))
                    made.append(net.op(f"torch.{pick.choice(['add', 'mul', 'tanh', 'cat'])}", *feeds))
            made.append(net.call(f"box{box}.m{number}", pick.choice(made[-6:])))
        net.leave()
    for place, end in enumerate(pick.sample(made, 3)):
        net.output(end, str(place))
    return net.graph()


def test_what_reaches_what_is_as_in_the_graph(sketch):
    gathered = 0
    for seed in range(300):
        real, told, rows = of_graph(random_net(sketch, seed))
        assert told == real, seed
        gathered += rows
    assert gathered > 100


def test_two_flows_beside_each_other_have_a_row_each(sketch):
    net = sketch("Net")
    net.modules("a Linear *", "b Linear *", "c Linear *", "d Linear *")
    one, other = net.call("a", "input:x"), net.call("b", "input:y")
    for _ in range(4):
        one, other = net.op("torch.tanh", one), net.op("torch.sigmoid", other)
    net.output(net.call("c", one), "0")
    net.output(net.call("d", other), "1")
    real, told, rows = of_graph(net.graph())
    assert told == real
    assert rows == 2


CONDITIONAL = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x, scale=None):
        x = self.a(x)
        STEPS
        return self.b(x)
"""
STEPS = {
    "if scale is not None: x = x.tanh().sigmoid().exp().log()": ("conditional", "scale is not None"),
    "x = x.tanh().sigmoid().exp(); x = x.log() if scale is None else x.sin()": ("inside", "○ 1"),
    "x = x.tanh().sigmoid().exp().log()": None,
}


@pytest.mark.parametrize(("steps", "said"), STEPS.items())
def test_on_what_they_depend(tmp_path, steps, said):
    (tmp_path / "net.py").write_text(CONDITIONAL.replace("STEPS", steps), encoding="utf-8")
    graph = modgraph.predict(f"{tmp_path / 'net.py'}:Net", inputs=["2x4"])
    picture = _Choice(graph, PictureOptions(), None).made(GATHER)
    (row,) = [row for card in of_kind(picture, Card) for row in card.rows if "operations" in row.title]
    assert [(mark.state, mark.note) for mark in row.marks] == ([said] if said else [])
