"""A period of layers that comes over and over is drawn once, with the sums and the other steps that belong to it."""

from __future__ import annotations

import pytest

from modgraph.export.look.options import PictureOptions
from modgraph.export.look.parts import Card, Frame, Join
from modgraph.export.page.items import drawn_items
from modgraph.export.picture.choosing import picture_of
from tests.export.items import everything


def residual_net(
    sketch, layers: int, *, width_of=lambda number: 4, container: bool = False, extra=lambda number: False
):
    """`for layer in self.layers: x = x + layer(x)`, in the forward of the model itself."""
    net = sketch()
    net.modules("layers ModuleList")
    x = "input:x"
    for number in range(layers):
        path = f"layers.{number}"
        if container:
            net.module(path, "model.Block")
            net.module(f"{path}.fc", "Linear", (width_of(number), 4))
            net.modules(f"{path}.act ReLU")
            net.enter(path)
            made = net.call(f"{path}.act", net.call(f"{path}.fc", x))
            net.leave()
        else:
            net.module(path, "Linear", (width_of(number), 4))
            made = net.call(path, x)
        x = net.op("torch.add", x, made)
        if extra(number):
            x = net.op("torch.relu", x)
    net.output(x)
    return net


def row_net(sketch, layers: int, *, ran: bool = True, width_of=lambda number: 4):
    """A Sequential of Linear, ReLU and Dropout, over and over."""
    net = sketch("Row", ran=ran)
    net.modules("body Sequential")
    if ran:
        net.enter("body")
    x = "input:x"
    for number in range(layers):
        for place, name in enumerate(("Linear", "ReLU", "Dropout")):
            path = f"body.{3 * number + place}"
            net.module(path, name, (width_of(number), 4) if place == 0 else None)
            x = net.call(path, x) if ran else x
    if ran:
        net.leave()
        net.output(x)
    return net.graph()


def folded(graph, **options):
    items = list(everything(picture_of(graph, PictureOptions(**options)).items))
    return [(item.title, item.copies) for item in items if isinstance(item, Frame)], items


def test_a_residual_block_held_by_the_root_is_folded_with_its_sum(sketch):
    frames, items = folded(residual_net(sketch, 12).graph())
    assert frames == [("layers.0 – 11", 12)]
    assert len([item for item in items if isinstance(item, Join)]) == 1
    assert [row.path for item in items if isinstance(item, Card) for row in item.rows] == ["layers.0"]


def test_two_blocks_with_layers_in_them_are_folded_with_their_sums(sketch):
    frames, items = folded(residual_net(sketch, 2, container=True).graph())
    assert frames == [("layers.0 – 1", 2), ("layers.0", 1)]
    assert len([item for item in items if isinstance(item, Join)]) == 1


def test_a_block_that_differs_is_drawn_apart(sketch):
    frames, _ = folded(residual_net(sketch, 9, width_of=lambda number: 5 if number == 4 else 4).graph())
    assert frames == [("layers.0 – 3", 4), ("layers.5 – 8", 4)]
    frames, _ = folded(residual_net(sketch, 9, extra=lambda number: number == 4).graph())
    assert frames == [("layers.0 – 4", 5), ("layers.5 – 8", 4)]


def test_a_block_that_failed_is_drawn_apart(sketch):
    net = residual_net(sketch, 6)
    x = net.call("layers.0", "input:x", error="ValueError: no")
    net.op("torch.add", x, "input:x")
    items = everything(picture_of(net.graph()).items)
    rows = [row for item in items if isinstance(item, Card) for row in item.rows]
    assert "failed" in [mark.state for row in rows for mark in row.marks]


@pytest.mark.parametrize("ran", [True, False])
def test_a_long_row_of_layers_is_folded_by_its_period(sketch, ran):
    frames, items = folded(row_net(sketch, 100, ran=ran))
    assert frames[-1] == ("body.0 – 299", 100)
    assert sum(len(item.rows) for item in items if isinstance(item, Card)) == 3


def test_without_folding_nothing_is_put_into_boxes(sketch):
    frames, items = folded(residual_net(sketch, 12).graph(), fold=False)
    assert frames == []
    assert len([item for item in items if isinstance(item, Join)]) == 12


def routed_net(sketch, experts: int, *, alike: bool = True):
    """`for i, e in enumerate(experts): rows = where(chosen == i); out[rows] += e(x[rows])`: each writes into `out`."""
    net = sketch("Routed")
    net.modules("gate Linear *", "experts ModuleList")
    chosen = net.op("torch.topk", net.call("gate", "input:x"))
    out = net.op("torch.zeros_like", "input:x")
    for number in range(experts):
        path = f"experts.{number}"
        net.module(path, "Linear", (4, 4) if alike or number else (5, 4))
        picked = net.op("torch.where", net.op("torch.eq", chosen))
        net.shapes[picked] = (1 + number % 3,)
        chosen_rows = net.op("torch.Tensor.__getitem__", "input:x", picked)
        net.shapes[chosen_rows] = (1 + number % 3, 8)
        made = net.call(path, chosen_rows)
        net.shapes[made] = (1 + number % 3, 8)
        there = net.op("torch.Tensor.__getitem__", out, picked)
        net.shapes[there] = (1 + number % 3, 8)
        grown = net.op("torch.add", there, net.op("torch.mul", made, chosen))
        out = net.op("torch.Tensor.__setitem__", out, picked, grown)
    net.output(out)
    return net.graph()


def test_what_is_done_for_each_expert_is_drawn_once_where_each_writes_into_the_same(sketch):
    frames, items = folded(routed_net(sketch, 8))
    assert frames == [("experts.0 – 7", 8)]
    rows = [row.title for item in items if isinstance(item, Card) for row in item.rows]
    assert (rows.count("eq"), rows.count("where"), rows.count("setitem")) == (1, 1, 1)


def test_an_expert_that_differs_is_drawn_apart(sketch):
    frames, _ = folded(routed_net(sketch, 8, alike=False))
    assert frames == [("experts.1 – 7", 7)]


def test_the_page_finds_each_module_of_a_folded_period_at_the_one_that_is_drawn(sketch):
    _, drawn = drawn_items(residual_net(sketch, 12, container=True).graph(), PictureOptions())
    assert drawn.places["layers.7"] == drawn.places["layers.0"]
    assert drawn.places["layers.7.fc"] == drawn.places["layers.0.fc"]


def halving_net(sketch, layers: int):
    """`for block in self.layers: x = cat(block(x)[::4], x[::4])`: half as many rows after each."""
    net = sketch("Halving")
    net.modules("layers ModuleList")
    x, rows = "input:x", 64
    net.shapes[x] = (rows, 8)
    for number in range(layers):
        path = f"layers.{number}"
        net.module(path, "model.Block")
        net.modules(f"{path}.fc Linear *", f"{path}.act ReLU")
        net.enter(path)
        made = net.call(f"{path}.act", net.call(f"{path}.fc", x))
        net.leave()
        rows //= 2
        x = net.op("torch.cat", made, x, shape=(rows, 8))
    net.output(x)
    return net.graph()


def test_turns_that_give_each_other_fewer_and_fewer_rows_are_drawn_apart(sketch):
    frames, _ = folded(halving_net(sketch, 4))
    assert [copies for _, copies in frames] == [1, 1, 1, 1]


def shared_net(sketch, order: str, *, summed: bool = True):
    """`for block in order: x = x + block(x)`, some of them more than once; "abba" by their names."""
    net = sketch("Shared")
    net.modules("blocks ModuleList")
    names = sorted(set(order))
    for name in names:
        path = f"blocks.{names.index(name)}"
        net.module(path, "model.Block")
        net.modules(f"{path}.fc Linear *", f"{path}.act ReLU")
    x = "input:x"
    for name in order:
        path = f"blocks.{names.index(name)}"
        net.enter(path)
        made = net.call(f"{path}.act", net.call(f"{path}.fc", x))
        net.leave()
        x = net.op("torch.add", x, made) if summed else made
    net.output(x)
    return net.graph()


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("aabb", [("loop", 2), ("loop", 2)]),
        ("abba", [("blocks.0 – 1", 2), ("blocks.1 – 0", 2)]),
        ("abab", [("blocks.0 – 1", 2), ("blocks.0 – 1", 2)]),
        ("abcd", [("blocks.0 – 3", 4)]),
        ("aaaa", [("loop", 4)]),
    ],
)
def test_a_fold_says_which_of_its_turns_share_their_weights(sketch, order, expected):
    frames, _ = folded(shared_net(sketch, order))
    assert [frame for frame in frames if frame[1] > 1] == expected


def test_blocks_that_are_called_twice_in_a_row_are_no_fold_of_four(sketch):
    frames, _ = folded(shared_net(sketch, "aabb", summed=False))
    assert [frame for frame in frames if frame[1] > 1] == [("blocks.0", 2), ("blocks.1", 2)]


def test_turns_that_call_the_same_in_another_order_have_a_name(sketch):
    net = sketch("Swapped")
    net.modules("layers ModuleList", "layers.0 Linear *", "layers.1 Linear *", "norms ModuleList", "norms.0 Linear *")
    x = "input:x"
    for one, other in ((0, 1), (1, 0)) * 2:
        y = net.call(f"layers.{one}", x)
        x = net.op("torch.add", x, net.op("torch.mul", net.call(f"layers.{other}", y), y))
    net.output(x)
    frames, _ = folded(net.graph())
    assert all(title for title, _ in frames)
