"""Parameters that one module has and another uses; and what pictures say of shapes that say nothing."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import modgraph
from modgraph.export.look.labels import drawn_shape
from modgraph.export.look.options import PictureOptions
from modgraph.export.look.parts import Card, Frame
from modgraph.export.picture.choosing import picture_of
from tests.export.items import of_kind


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.fc = nn.LayerNorm(8), nn.Linear(8, 8)

    def forward(self, x, y):
        return x + self.fc(self.norm(x) * y)


class Reading(nn.Module):
    """Learned queries go through layers, each of which reads the input."""

    def __init__(self, queries):
        super().__init__()
        self.queries = queries
        self.layers = nn.ModuleList(Layer() for _ in range(3))

    def forward(self, x):
        y = getattr(self.queries, "weight", self.queries)
        y = y.expand(2, -1, -1)
        for layer in self.layers:
            y = layer(y, x)
        return y


def joined(picture, path):
    """Where the arrows from the card of `path` lead."""
    (card,) = [card for card in of_kind(picture, Card) if [row.path for row in card.rows] == [path]]
    return card, {arrow.head for arrow in picture.arrows if arrow.tail == card.id and arrow.kind == "data"}


@pytest.mark.parametrize(
    ("queries", "title"),
    [
        (nn.Parameter(torch.ones(5, 8)), "Parameter"),
        (nn.Embedding(5, 8), "Embedding"),
        (nn.Linear(8, 5, bias=False), "Linear"),
    ],
    ids=["parameter", "embedding", "linear"],
)
def test_what_is_handed_to_a_block_stands_before_it_and_does_not_tell_it_from_the_others(queries, title):
    picture = picture_of(modgraph.trace(Reading(queries).eval(), torch.ones(2, 5, 8)))
    card, heads = joined(picture, "queries")
    assert card.rows[0].title == title
    assert not card.marks
    assert heads == {"layers.0.norm", "layers.0.add"}
    assert [(frame.name, frame.copies) for frame in of_kind(picture, Frame)][-1] == ("layers.0 – 2", 3)


def test_a_layer_that_is_called_too_stands_by_itself():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(7, 8)

        def forward(self, ids):
            return self.table(ids) @ self.table.weight.t()

    picture = picture_of(modgraph.trace(Tied(), torch.zeros(2, 3, dtype=torch.long)))
    paths = [row.path for card in of_kind(picture, Card) for row in card.rows]
    assert {"table", "table.weight"} <= set(paths)


def test_a_layer_of_which_nothing_is_used_is_still_never_called():
    class Idle(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.idle = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x):
            return self.used(x)

    picture = picture_of(modgraph.trace(Idle(), torch.ones(2, 4)))
    (card,) = [card for card in of_kind(picture, Card) if card.rows[0].path == "idle"]
    assert [mark.state for mark in card.marks or card.rows[0].marks] == ["never called"]


@pytest.mark.parametrize(
    ("shape", "batch", "shown"),
    [((1,), None, "1 value"), ((4, 1), 4, "1 value"), ((), None, "scalar"), ((1, 1), None, "1×1"), ((4, 8), 4, "8")],
)
def test_one_value_is_called_so(shape, batch, shown):
    assert drawn_shape(shape, batch) == shown


def test_a_label_of_which_all_sizes_differ_is_left_out():
    class Crossed(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode = nn.Sequential(nn.Linear(8, 6), nn.ReLU())

        def forward(self, x, y):
            return torch.mm(self.encode(x), self.encode(y).t())

    picture = picture_of(modgraph.trace(Crossed(), (torch.ones(3, 8), torch.ones(5, 8))))
    assert [arrow.label for arrow in picture.arrows if arrow.label] == ["×2"]


@pytest.mark.parametrize(("steps", "copies"), [(3, [1]), (4, [4]), (6, [6])])
def test_four_equal_pairs_of_layers_are_drawn_once(steps, copies):
    tower = nn.Sequential(*(layer for _ in range(steps) for layer in (nn.Conv2d(4, 4, 3, padding=1), nn.ReLU())))
    model = nn.Sequential(nn.Conv2d(3, 4, 1), tower, nn.Conv2d(4, 2, 1))
    picture = picture_of(modgraph.trace(model.eval(), torch.ones(1, 3, 8, 8)))
    assert [frame.copies for frame in of_kind(picture, Frame) if frame.copies > 1] == [c for c in copies if c > 1]


class Experts(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gate = nn.Linear(8, 3)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(8, width), nn.GELU()) for _ in range(3))

    def forward(self, x):
        chosen, out = self.gate(x).argmax(-1), torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            (rows,) = torch.where(chosen == number)
            out = out.index_add(0, rows, expert(x[rows])[:, :8])
        return x + out


@pytest.mark.parametrize(("width", "copies"), [(8, [3, 2]), (16, [3, 3])], ids=["other rows", "another width"])
def test_blocks_that_differ_in_the_rows_of_their_experts_alone_are_one_block(width, copies):
    torch.manual_seed(3)
    graph = modgraph.trace(nn.Sequential(Experts(8), Experts(width)).eval(), torch.randn(40, 8))
    shares = [call.outputs[0].shape[0] for call in graph.calls if call.module.endswith(".0")]
    assert shares[:3] != shares[3:]
    assert min(shares)
    frames = of_kind(picture_of(graph, PictureOptions(depth=9)), Frame)
    assert sorted(frame.copies for frame in frames if frame.copies > 1) == sorted(copies)


def test_what_a_failed_run_did_not_come_to_stands_below_what_it_did(sketch):
    net = sketch()
    net.modules("fc Linear *", "one ReLU", "n LayerNorm", "a Linear *", "b Linear *")
    net.chain("fc one", "input:x")
    first = net.call("n")
    net.call("a", first)
    net.call("b", first)
    arrows = picture_of(net.graph()).arrows
    assert [(arrow.tail, arrow.head) for arrow in arrows if arrow.kind == "order"] == [("fc", "n")]


def test_an_input_with_a_way_of_its_own_stands_beside_the_other(sketch):
    net = sketch()
    net.modules("fc Linear *", "other Linear *")
    net.output(net.call("fc", "input:x"))
    net.output(net.call("other", "input:y"), "1")
    assert not [arrow for arrow in picture_of(net.graph()).arrows if arrow.kind == "order"]


def test_tensors_of_a_file_that_stand_beside_each_other_are_a_list(tmp_path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.block = nn.ModuleDict({name: nn.Linear(4, 4) for name in ("q", "k", "v")})

    file = tmp_path / "net.pt"
    torch.save(dict(Net().state_dict()), file)
    paths = [[row.path for row in card.rows] for card in of_kind(picture_of(modgraph.load(file)), Card)]
    assert [sorted(each) for each in paths] == [["k", "q", "v"]]


def test_layers_of_which_no_order_is_known_have_a_card_each(sketch):
    net = sketch(ran=False)
    net.modules("q Linear *", "k Linear *", "v Linear *")
    assert [len(card.rows) for card in of_kind(picture_of(net.graph()), Card)] == [1, 1, 1]
