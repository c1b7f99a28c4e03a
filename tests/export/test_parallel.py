"""Alike members of a list that stand beside each other are drawn once, with what is done once for each of them."""

from __future__ import annotations

import dataclasses

import pytest

from modgraph.export import render
from modgraph.export.look.options import PictureOptions
from modgraph.export.look.parts import Card, Frame
from modgraph.export.picture.choosing import picture_of
from tests.export.items import everything


def experts_net(sketch, count: int = 4, *, rows=lambda number: 2, odd: int | None = None, fed_by_another: bool = False):
    """A router picks rows for each expert; each result is weighted and added to a growing sum."""
    net = sketch("Mixture")
    net.modules("router Linear *", "experts ModuleList", "head Linear *")
    for number in range(count):
        net.module(f"experts.{number}", "model.Expert")
        width = (5, 4) if number == odd else (4, 4)
        net.module(f"experts.{number}.up", "Linear", width)
        net.modules(f"experts.{number}.act ReLU")
    chosen = net.op("torch.topk", net.call("router", "input:x"))
    total, made = net.op("torch.zeros_like", "input:x"), "input:x"
    picked = [net.op("torch.where", net.op("torch.eq", chosen)) for _ in range(count)]
    for number, pick in enumerate(picked):
        net.shapes[pick] = (rows(number), 8)
        net.enter(f"experts.{number}")
        feeds = (pick, made) if fed_by_another else (pick, "input:x")
        made = net.call(f"experts.{number}.act", net.call(f"experts.{number}.up", *feeds))
        net.leave()
        total = net.op("torch.Tensor.index_add", total, net.op("torch.mul", made, chosen), pick)
    net.output(net.call("head", total))
    return net.graph()


def folds(graph, **options):
    picture = picture_of(graph, PictureOptions(**options))
    frames = [item for item in everything(picture.items) if isinstance(item, Frame)]
    rows = [row for item in everything(picture.items) if isinstance(item, Card) for row in item.rows]
    return {frame.title: frame.copies for frame in frames}, {row.title: row.copies for row in rows}


@pytest.mark.parametrize("rows", [lambda number: 2, lambda number: 3 + number % 2])
def test_experts_and_what_is_done_for_each_are_drawn_once(sketch, rows):
    frames, said = folds(experts_net(sketch, rows=rows))
    assert frames == {"experts.0 – 3": 4}
    assert (said["eq"], said["where"], said["index_add"], said["topk"], said["zeros_like"]) == (4, 4, 4, 1, 1)


def test_sizes_that_differ_among_them_are_left_open_on_the_arrow(sketch):
    arrows = picture_of(experts_net(sketch, rows=lambda number: 3 + number % 2)).arrows
    assert "…×8" in {arrow.label for arrow in arrows}
    detail = [item.detail for item in picture_of(experts_net(sketch)).items if isinstance(item, Frame)]
    assert detail == ["Expert · 16 · in parallel"]


def test_a_fold_hides_no_difference(sketch):
    frames, _ = folds(experts_net(sketch, 7, odd=2), depth=9)
    assert frames == {"experts.0": 1, "experts.1": 1, "experts.2": 1, "experts.3 – 6": 4}
    graph = experts_net(sketch)
    unforeseen = [dataclasses.replace(n, predicted=False) if n.path == "experts.2" else n for n in graph.modules]
    frames, _ = folds(dataclasses.replace(graph, modules=tuple(unforeseen)), depth=9)
    assert frames["experts.2"] == 1


def test_members_that_feed_each_other_are_not_beside_each_other(sketch):
    frames, _ = folds(experts_net(sketch, fed_by_another=True))
    assert all(copies == 1 for copies in frames.values())
    assert len(frames) == 4


def test_two_are_drawn_as_they_are_and_nothing_is_folded_where_that_is_asked(sketch):
    assert len(folds(experts_net(sketch, 2))[0]) == 2
    assert len(folds(experts_net(sketch), fold=False)[0]) == 4


def test_projections_of_their_own_names_are_not_folded(sketch):
    net = sketch()
    net.modules("q Linear *", "k Linear *", "v Linear *")
    made = [net.call(name, "input:x") for name in "qkv"]
    net.output(net.op("torch.nn.functional.scaled_dot_product_attention", *made))
    rows = [row for item in picture_of(net.graph()).items if isinstance(item, Card) for row in item.rows]
    assert [row.path for row in rows if row.path] == ["q", "k", "v"]


def test_heads_that_meet_in_one_operation_are_one_row(sketch):
    net = sketch()
    net.modules("heads ModuleList", *(f"heads.{number} Linear *" for number in range(5)))
    net.output(net.op("torch.cat", *(net.call(f"heads.{number}", "input:x") for number in range(5))))
    rows = [row for item in everything(picture_of(net.graph()).items) if isinstance(item, Card) for row in item.rows]
    assert [(row.path, row.copies) for row in rows] == [("heads.0 – 4", 5)]


def test_a_skip_leaves_the_last_row_of_a_card_and_the_main_path_comes_first(sketch):
    net = sketch()
    net.modules("stem Linear *", "act ReLU", "aside Linear *", "deep Linear *", "more Linear *")
    made = net.chain("stem act", "input:x")
    aside = net.call("aside", made)
    net.output(net.op("torch.add", net.op("torch.mul", net.chain("deep more", made), aside), made))
    lines = str(render(net.graph(), "dot")).splitlines()
    assert {line.split(" [")[0].strip() for line in lines if 'tailport="out:_"' in line} == {
        "stem -> aside",
        "stem -> add",
    }
    declared = [line.split(" [")[0].strip() for line in lines if " [tooltip=" in line]
    assert declared.index("deep") < declared.index("aside")


def written_in_place(sketch, count: int = 4):
    """`y[rows] += expert(x[rows])`: each expert adds to what the one before it has written."""
    net = sketch("Scattered")
    net.modules("router Linear *", "experts ModuleList")
    for number in range(count):
        net.modules(f"experts.{number} Linear *")
    chosen = net.call("router", "input:x")
    total = net.op("torch.zeros_like", "input:x")
    for number in range(count):
        pick = net.op("torch.where", net.op("torch.eq", chosen))
        made = net.call(f"experts.{number}", "input:x", pick)
        grown = net.op("torch.add", net.op("torch.index_select", total, pick), made)
        total = net.op("torch.Tensor.index_put_", total, grown, pick)
    net.output(total)
    return net.graph()


def test_a_fold_makes_no_data_go_round_that_does_not(sketch):
    graph = written_in_place(sketch)
    picture = picture_of(graph)
    after: dict[str, set[str]] = {}
    for arrow in picture.arrows:
        after.setdefault(arrow.tail, set()).add(arrow.head)

    def reached(start):
        seen, pending = set(), [start]
        while pending:
            for head in after.get(pending.pop(), ()):
                if head not in seen:
                    seen.add(head)
                    pending.append(head)
        return seen

    assert [card for card in after if card in reached(card)] == []
    frames, said = folds(graph)
    assert frames == {"experts.0 – 3": 4}
    assert (said["Linear"], said["eq"]) == (1, 1), said
