"""A picture stays within its limits, whatever the model: loops are folded, long rows lose their middle, titles are cut."""

from __future__ import annotations

import os
import re
import time

import pytest

from modgraph.export import render
from modgraph.export.look.options import PictureOptions
from modgraph.export.look.parts import Card, Frame, Pill
from modgraph.export.page.items import drawn_items
from modgraph.export.picture.choosing import LONGEST, MOST_CARDS, MOST_EDGES, count_cards, picture_of
from modgraph.export.picture.extent import length_of
from modgraph.export.picture.images import render as render_image


def loop_net(sketch, turns: int, cell_of=lambda turn: "cell"):
    """`h = cell(h); y.append(head(h))`, `turns` times."""
    net = sketch()
    net.modules("cell Linear *", "other Linear *", "norm LayerNorm", "head Linear *")
    state, made = "input:x", []
    for turn in range(turns):
        state = net.call("norm", net.call(cell_of(turn), state))
        made.append(net.call("head", state))
    net.output(net.op("torch.stack", *made))
    return net


def flat_net(sketch, layers: int):
    net = sketch()
    x = "input:x"
    for number in range(layers):
        net.module(f"fc{number}", "Linear", (4 + number, 4))
        x = net.call(f"fc{number}", x)
    net.output(x)
    return net


def dense_net(sketch, layers: int):
    """Each layer is fed by all before it."""
    net = sketch()
    made = ["input:x"]
    for number in range(layers):
        net.module(f"fc{number}", "Linear", (4 + number, 4))
        made.append(net.call(f"fc{number}", *made))
    net.output(made[-1])
    return net


def operations_net(sketch, count: int):
    net = sketch()
    net.modules("fc Linear *")
    x = net.call("fc", "input:x")
    words = ("relu", "sin", "tanh", "exp", "abs")
    for number in range(count):
        x = net.op(f"torch.{words[number * number % 7 % 5]}", x)
    net.output(x)
    return net


def is_within_limits(picture) -> bool:
    drawn = sum(arrow.kind != "order" for arrow in picture.arrows)
    return count_cards(picture.items) <= MOST_CARDS and drawn <= MOST_EDGES


def frames(picture):
    return [item for item in picture.items if isinstance(item, Frame)]


@pytest.mark.parametrize("turns", [5, 120])
def test_the_turns_of_a_loop_are_drawn_once(sketch, turns):
    picture = picture_of(loop_net(sketch, turns).graph())
    (frame,) = frames(picture)
    assert (frame.title, frame.copies) == ("loop", turns)
    rows = [row for item in frame.items if isinstance(item, Card) for row in item.rows]
    assert [row.path for row in rows] == ["cell", "norm", "head"]
    assert not any(row.marks for row in rows)


def test_a_loop_is_not_folded_where_a_turn_differs_or_folding_is_off(sketch):
    graph = loop_net(sketch, 9, lambda turn: "other" if turn == 4 else "cell").graph()
    assert [frame.copies for frame in frames(picture_of(graph))] == [4, 4]
    assert frames(picture_of(loop_net(sketch, 9).graph(), PictureOptions(fold=False))) == []


def test_a_short_loop_is_drawn_as_it_is(sketch):
    assert frames(picture_of(loop_net(sketch, 2).graph())) == []


def test_a_failed_turn_is_not_hidden_by_a_fold(sketch):
    net = loop_net(sketch, 8)
    net.call("cell", "input:x", error="ValueError: no")
    picture = picture_of(net.graph())
    marks = [mark.state for item in picture.items if isinstance(item, Card) for row in item.rows for mark in row.marks]
    assert "failed" in marks


@pytest.mark.parametrize("fold", [True, False])
@pytest.mark.parametrize(("make", "size"), [(flat_net, 3000), (dense_net, 60), (operations_net, 6000), (loop_net, 200)])
def test_no_picture_is_larger_than_its_limits(sketch, make, size, fold):
    picture = picture_of(make(sketch, size).graph(), PictureOptions(fold=fold))
    assert is_within_limits(picture)


def test_what_is_left_out_in_the_middle_is_said(sketch):
    picture = picture_of(flat_net(sketch, 3000).graph())
    (row,) = [row for item in picture.items if isinstance(item, Card) for row in item.rows if row.title[0] == "…"]
    hidden = int(row.title.split()[1])
    shown = sum(len(item.rows) for item in picture.items if isinstance(item, Card)) - 1
    assert hidden + shown == 3000
    assert f"{hidden} steps in the middle left out" in picture.notes[0]


@pytest.mark.parametrize("direction", ["TB", "LR"])
@pytest.mark.parametrize("layers", [60, 110, 300])
def test_a_long_row_is_cut_before_it_is_too_long_to_read(sketch, layers, direction):
    graph = flat_net(sketch, layers).graph()
    picture = picture_of(graph, PictureOptions(direction=direction))
    assert length_of(picture) <= LONGEST[direction]
    rows = sum(len(item.rows) for item in picture.items if isinstance(item, Card))
    assert (rows == layers) == (not picture.notes)
    whole = picture_of(graph, PictureOptions(direction=direction, depth=9))
    assert sum(len(item.rows) for item in whole.items if isinstance(item, Card)) == layers


@pytest.mark.needs_dot
@pytest.mark.parametrize("direction", ["TB", "LR"])
@pytest.mark.parametrize("make", [flat_net, operations_net, loop_net])
def test_the_length_of_a_picture_is_predicted(sketch, make, direction):
    graph = make(sketch, 40).graph()
    options = PictureOptions(direction=direction)
    width, height = re.search(r'<svg width="(\d+)pt" height="(\d+)pt"', render_image(graph, options).decode()).groups()
    drawn = int(height if direction == "TB" else width)
    assert 0.7 * drawn < length_of(picture_of(graph, options)) < 1.4 * drawn


@pytest.mark.needs_dot
def test_six_hundred_steps_are_drawn_in_seconds(sketch):
    graph = loop_net(sketch, 600).graph()
    began = cpu_seconds()
    svg = str(render(graph, "svg"))
    assert cpu_seconds() - began < 20
    assert len(svg) < 100_000


def cpu_seconds() -> float:
    """Of this process and of those that it has waited for: on a busy machine these are as many."""
    return sum(os.times()[:4])


def wrapped_net(sketch, depth: int):
    net = sketch()
    path = ""
    for _ in range(depth):
        path = f"{path}.inner" if path else "inner"
        net.module(path, "model.Wrap")
        net.enter(path)
    net.module(f"{path}.fc", "Linear", (4, 4))
    net.output(net.op("torch.add", net.call(f"{path}.fc", "input:x"), "input:x"))
    return net


def test_containers_that_share_a_frame_are_named_by_the_first_and_the_last(sketch):
    (frame,) = frames(picture_of(wrapped_net(sketch, 30).graph()))
    assert frame.detail == "Wrap › … › Wrap · 16"
    assert len(frame.title) <= 28
    assert len(frame.tooltip) <= 400


@pytest.mark.needs_dot
@pytest.mark.parametrize("depth", [900, 1500])
def test_hundreds_of_containers_in_each_other_are_one_frame(sketch, depth):
    assert len(str(render(wrapped_net(sketch, depth).graph(), "svg"))) < 20_000


def masked_flat_net(sketch, layers: int):
    """Layers in one container that all get one mask."""
    net = sketch()
    mask, x = net.op("torch.full"), "input:x"
    for number in range(layers):
        net.module(f"fc{number}", "Linear", (4 + number, 4))
        x = net.call(f"fc{number}", x, mask)
    net.output(x)
    return net


def test_a_source_of_many_layers_of_one_container_gets_short_arrows(sketch):
    picture = picture_of(masked_flat_net(sketch, 1000).graph())
    order = [item.id for item in picture.items if isinstance(item, Card)]
    for arrow in picture.arrows:
        if arrow.tail == "full":
            assert order.index(arrow.head) - order.index("full") < 5
    tags: dict[str, list[int]] = {}
    for arrow in picture.arrows:
        if arrow.tail.startswith("tag:"):
            tags.setdefault(arrow.tail, []).append(order.index(arrow.head))
    assert len(tags) > 10
    assert all(max(users) - min(users) <= 3 for users in tags.values())


@pytest.mark.needs_dot
@pytest.mark.parametrize("make", [masked_flat_net, dense_net])
def test_a_thousand_layers_of_one_container_are_drawn_in_seconds(sketch, make):
    graph = make(sketch, 1000 if make is masked_flat_net else 120).graph()
    began = cpu_seconds()
    assert len(str(render(graph, "svg"))) < 500_000
    assert cpu_seconds() - began < 15


def summed_net(sketch, experts: int):
    """`for e in experts: out = out + e(x)`: one chain of sums."""
    net = sketch()
    net.modules("experts ModuleList")
    out = net.op("torch.zeros_like", "input:x")
    for number in range(experts):
        net.modules(f"experts.{number} Linear *")
        out = net.op("torch.add", out, net.call(f"experts.{number}", "input:x"))
    net.output(out)
    return net


def headed_net(sketch, heads: int):
    """As many outputs as heads."""
    net = sketch()
    net.modules("heads ModuleList")
    for number in range(heads):
        net.module(f"heads.{number}", "Linear", (4 + number, 4))
        net.output(net.call(f"heads.{number}", "input:x"), str(number))
    return net


def test_outputs_by_the_thousand_are_left_out_in_the_middle(sketch):
    picture = picture_of(headed_net(sketch, 2000).graph(), PictureOptions(fold=False))
    pills = [item.title for item in picture.items if isinstance(item, Pill)]
    assert len(pills) < 120
    assert pills[1] == "output 0"
    assert pills[-1] == "output 1999"
    (more,) = (int(title.split()[1]) for title in pills if "more outputs" in title)
    assert more + len(pills) - 2 == 2000
    ends = {item.id for item in picture.items if isinstance(item, Pill)}
    assert ends <= {end for arrow in picture.arrows for end in (arrow.tail, arrow.head)}


@pytest.mark.parametrize(("make", "count"), [(summed_net, 1500), (headed_net, 6000)])
def test_a_page_of_thousands_beside_each_other_takes_seconds(sketch, make, count):
    graph = make(sketch, count).graph()
    began = time.process_time()
    drawn = drawn_items(graph, PictureOptions())
    assert len(drawn[1].items) > 1
    assert time.process_time() - began < 12
