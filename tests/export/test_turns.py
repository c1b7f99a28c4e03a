"""A loop over time steps: drawn once, with what one turn gives to the next; and the pills at both ends of a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from modgraph.export import render
from modgraph.export.look import kinds, style
from modgraph.export.look.options import PictureOptions
from modgraph.export.look.parts import Card, Frame, Join, Pill
from modgraph.export.page import html
from modgraph.export.picture.choosing import picture_of
from modgraph.export.picture.mermaid import write_mermaid
from tests.export.items import everything


def cell_net(sketch, turns: int, *, first_without: bool = False):
    """`h = tanh(i(x[:, t]) + hh(h))` in a loop; `first_without`: the first turn has no state."""
    net = sketch()
    net.modules("i Linear *", "hh Linear *", "out Linear *")
    net.shapes["input:x"] = (2, 7, 8)
    state = net.op("torch.zeros", shape=(2, 8))
    for turn in range(turns):
        step = net.op("torch.Tensor.__getitem__", "input:x", shape=(2, 8))
        given = net.call("i", step)
        if turn or not first_without:
            given = net.op("torch.add", given, net.call("hh", state))
        state = net.op("torch.tanh", given)
    net.output(net.call("out", state))
    return net.graph()


def fed_back(picture):
    titles = {
        item.id: [row.path or row.title for row in item.rows]
        for item in everything(picture.items)
        if isinstance(item, Card)
    }
    return [(titles[arrow.tail][-1], titles[arrow.head][0]) for arrow in picture.arrows if arrow.kind == "feedback"]


def test_what_a_turn_gives_to_the_next_is_drawn(sketch):
    picture = picture_of(cell_net(sketch, 7))
    assert [(item.title, item.copies) for item in picture.items if isinstance(item, Frame)] == [("loop", 7)]
    assert fed_back(picture) == [("tanh", "hh")]
    assert picture.legend.feedback
    assert '|"next turn"|' in write_mermaid(picture)


def test_a_first_turn_that_differs_is_drawn_before_the_loop(sketch):
    picture = picture_of(cell_net(sketch, 7, first_without=True))
    (frame,) = (item for item in picture.items if isinstance(item, Frame))
    assert (frame.title, frame.copies) == ("loop", 6)
    assert fed_back(picture) == [("tanh", "hh")]
    marks = {row.path: row.marks for item in frame.items if isinstance(item, Card) for row in item.rows if row.path}
    assert [mark.note for mark in marks["i"]] == ["2 – 7 of 7"]


def test_a_cell_that_is_called_again_and_again_feeds_itself(sketch):
    net = sketch()
    net.modules("cell Linear *", "out Linear *")
    state = "input:x"
    for _ in range(5):
        state = net.call("cell", state)
    net.output(net.call("out", state))
    picture = picture_of(net.graph())
    assert fed_back(picture) == [("cell", "cell")]
    assert [row.copies for item in picture.items if isinstance(item, Card) for row in item.rows] == [5, 1]


def test_modules_of_their_own_feed_nothing_back(sketch):
    net = sketch()
    net.modules(*(f"fc{number} Linear *" for number in range(5)))
    net.output(net.chain(" ".join(f"fc{number}" for number in range(5)), "input:x"))
    assert fed_back(picture_of(net.graph())) == []
    assert not picture_of(net.graph()).legend.feedback


def test_cells_that_are_boxes_are_one_fold_not_a_loop_of_pairs(sketch):
    net = sketch()
    net.modules("cell model.Cell", "cell.ih Linear *", "cell.hh Linear *")
    state = net.op("torch.zeros")
    for _ in range(7):
        net.enter("cell")
        state = net.op("torch.add", net.call("cell.ih", "input:x"), net.call("cell.hh", state))
        net.leave()
    net.output(state)
    frames = [item for item in everything(picture_of(net.graph()).items) if isinstance(item, Frame)]
    assert [(frame.title, frame.copies) for frame in frames] == [("cell", 7)]


@pytest.mark.needs_dot
@pytest.mark.parametrize("direction", ["TB", "LR"])
def test_a_loop_is_drawn_in_both_directions(sketch, direction):
    svg = render(cell_net(sketch, 7), "svg", PictureOptions(direction=direction))
    assert "to the next turn" in str(svg)


def pills(graph):
    return [(item.title, item.detail) for item in picture_of(graph).items if isinstance(item, Pill)]


def test_a_pill_shows_the_input_itself_not_a_view_of_it(sketch):
    net = sketch()
    net.modules("up Linear *")
    net.shapes["input:x"] = (1, 100)
    picture = net.op("torch.Tensor.view", "input:x", shape=(1, 100, 1, 1))
    made = net.call("up", picture)
    net.shapes[made] = (1, 3, 8, 8)
    net.output(net.op("torch.Tensor.view", made, shape=(1, 192)))
    graph = net.graph()
    assert pills(graph) == [("input", "100"), ("output", "192")]
    assert "100×1×1" in [arrow.label for arrow in picture_of(graph).arrows]


def test_the_one_output_keeps_the_name_that_the_model_gives_it(sketch):
    net = sketch()
    net.modules("a Linear *")
    net.output(net.call("a", "input:x"), "logits")
    assert [title for title, _ in pills(net.graph())] == ["input", "logits"]


def rows_net(sketch):
    net = sketch()
    net.modules("a Linear *", "act ReLU", "b Linear *")
    net.output(net.chain("a act b act", "input:x"))
    return net.graph()


def test_a_layer_without_parameters_says_which_call_it_is(sketch):
    (card,) = (item for item in picture_of(rows_net(sketch)).items if isinstance(item, Card))
    assert [(row.path, row.detail) for row in card.rows if row.title == "ReLU"] == [
        ("act", ""),
        ("act", "call 2 of 2"),
    ]
    assert not any(row.marks for row in card.rows)


def test_only_the_outermost_container_says_that_it_is_called_again(sketch):
    net = sketch()
    net.module("part", "model.Part")
    net.module("part.body", "model.Body")
    net.modules("part.body.fc Linear *", "part.body.act ReLU", "part.head Linear *")
    ends = []
    for _ in range(2):
        net.enter("part")
        net.enter("part.body")
        x = net.chain("part.body.fc part.body.act", "input:x")
        net.leave()
        ends.append(net.call("part.head", x))
        net.leave()
    net.output(net.op("torch.cat", *ends))
    items = list(everything(picture_of(net.graph(), PictureOptions(fold=False)).items))
    frames = [(item.name, [mark.note for mark in item.marks]) for item in items if isinstance(item, Frame)]
    assert [notes for name, notes in frames if name == "part"] == [[], ["2 of 2"]]
    rows = [row for item in items if isinstance(item, Card) for row in item.rows]
    assert not any(item.marks for item in items if isinstance(item, Card))
    assert not any(row.marks for row in rows)


def test_in_a_container_that_is_called_again_the_container_alone_says_so(sketch):
    net = sketch()
    net.modules("part model.Part", "part.a Linear *", "part.act ReLU")
    x = "input:x"
    for _ in range(2):
        net.enter("part")
        x = net.op("torch.add", net.chain("part.a part.act", x), x)
        net.leave()
    net.output(x)
    picture = picture_of(net.graph(), PictureOptions(fold=False))
    said = [row.detail for item in everything(picture.items) if isinstance(item, Card) for row in item.rows]
    assert [text for text in said if "call" in text] == []
    frames = [item for item in picture.items if isinstance(item, Frame)]
    assert [[mark.note for mark in frame.marks] for frame in frames] == [[], ["2 of 2"]]


def test_from_left_to_right_data_enters_the_first_row_and_leaves_the_last(sketch):
    dot = str(render(rows_net(sketch), "dot", PictureOptions(direction="LR")))
    into, out_of = (line for line in dot.splitlines() if " -> " in line)
    assert [side in into for side in ('headport="in:w"', "tailport")] == [True, False]
    assert [side in out_of for side in ('tailport="out:e"', "headport")] == [True, False]
    rows = [line for line in dot.split("<tr>") if "port=" in line]
    assert ['port="in"' in row and ">Linear<" in row for row in rows] == [True, False]
    assert ['port="out"' in row and ">ReLU<" in row for row in rows] == [False, True]


def test_each_sign_is_explained_in_tooltips_on_the_page_and_in_the_docs():
    docs = (Path(__file__).parents[2] / "docs" / "pictures.md").read_text(encoding="utf-8")
    table = docs[docs.index("## Signs") : docs.index("## What is folded")]
    assert set(kinds._SIGNS.values()) == set(kinds.SIGNS)
    for sign in (*kinds.SIGNS, *kinds.NOTATION):
        assert all(part in table for part in sign.split(", ")), sign
    for state in style.STATES.values():
        assert state.sign in table, state.words


def test_a_circle_says_what_its_sign_means(sketch):
    net = sketch()
    net.modules("a Linear *", "b Linear *")
    net.output(net.op("torch.cat", net.call("a", "input:x"), net.call("b", "input:x")))
    graph = net.graph()
    (join,) = (item for item in picture_of(graph).items if isinstance(item, Join))
    assert join.tooltip == "put beside each other: cat, stack · torch.cat"
    data = html.page_data(graph, PictureOptions())
    assert data["signs"]["‖"] == "put beside each other: cat, stack"


def test_what_enters_a_frame_beside_the_main_path_comes_from_the_side_where_no_title_is(sketch):
    net = sketch()
    net.modules("gate Linear *", "block model.Block", "block.fc Linear *", "block.act ReLU")
    picked = net.op("torch.where", net.call("gate", "input:x"))
    net.enter("block")
    made = net.chain("block.fc block.act", picked)
    net.builder.edges.append(replace(net.builder.edges[0], producer="input:x", consumer="call:3"))
    net.leave()
    net.output(made)
    graph = net.graph()
    entering = [line for line in str(render(graph, "dot")).splitlines() if '-> "block.fc"' in line]
    assert sorted(("headport=ne" in line, "weight=8" in line) for line in entering) == [(False, True), (True, False)]


def test_the_page_has_the_ends_of_what_a_turn_gives_to_the_next_in_the_container_around_both(sketch):
    data = html.page_data(cell_net(sketch, 7), PictureOptions())
    (loop,) = (item for item in data["items"] if item.get("loop"))
    ((tail, head, words),) = loop["back"]
    rows = [data["items"][end]["rows"] for end in (tail, head)]
    assert (rows[0][-1]["title"], rows[1][0]["path"]) == ("tanh", "hh")
    assert words == "to the next turn: tanh → hh"
    assert data["turns"]
    assert "next turn" not in str(loop["frame"])


def test_a_page_without_loops_tells_of_no_turns(sketch):
    data = html.page_data(cell_net(sketch, 1), PictureOptions())
    assert "turns" not in data
    assert not any("back" in item for item in data["items"])
