"""Pictures on a page: no wider than can be read, no text on another, and figures for a paper."""

from __future__ import annotations

import importlib
import re
import runpy
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

import modgraph
from modgraph.cli import main
from modgraph.errors import ExportError, ExportWarning
from modgraph.export import PictureOptions, render
from modgraph.export.look.folding import Cut
from modgraph.export.look.options import points_of
from modgraph.export.look.parts import Card, Frame, Mark, Pill, Tag
from modgraph.export.look.style import KINDS, STRIPES
from modgraph.export.picture import images
from modgraph.export.picture.choosing import Saving, _Choice, picture_of, room_of
from modgraph.export.picture.dot import write_dot
from modgraph.export.picture.extent import across_of, length_of
from modgraph.export.picture.idle import is_idle
from modgraph.export.picture.placing import _parts
from modgraph.graph.serial import to_json
from tests.export.items import everything, of_kind

TESTS = Path(__file__).parents[1]
svg_geometry = runpy.run_path(str(Path(__file__).with_name("svg_geometry.py")))


def heads_net(sketch, count: int, *, width=lambda number: number + 1):
    """One trunk and `count` heads of different sizes, each with an output of its own."""
    net = sketch("Heads")
    net.modules("trunk Linear *", "heads ModuleDict")
    x = net.call("trunk", "input:x")
    for number in range(count):
        net.module(f"heads.task_{number}", "Linear", (width(number), 4))
        net.output(net.call(f"heads.task_{number}", x, shape=(1, width(number))), name=f"task_{number}")
    return net.graph()


# --- a width that can be read --------------------------------------------------------------------------------------


def test_heads_of_many_sizes_are_one_card_that_names_each(sketch):
    picture = picture_of(heads_net(sketch, 30))
    (card,) = [card for card in of_kind(picture, Card) if card.head]
    assert card.head == "30 in parallel"
    assert [row.path for row in card.rows] == [f"task_{number}" for number in range(30)]
    assert card.columns > 1
    assert [pill.title for pill in of_kind(picture, Pill)] == ["input", "task ×30"]
    assert across_of(picture) <= room_of(PictureOptions()).width


@pytest.mark.parametrize("count", [6, 7, 9, 12])
def test_of_branches_of_several_steps_each_has_a_column_to_itself(sketch, count: int):
    net = sketch()
    net.modules("trunk Linear *", "heads ModuleList")
    x = net.call("trunk", "input:x")
    for number in range(count):
        net.modules(f"heads.{number} Sequential", f"heads.{number}.1 ReLU")
        net.module(f"heads.{number}.0", "Linear", (number + 1, 4))
        net.enter(f"heads.{number}")
        y = net.call(f"heads.{number}.0", x, shape=(1, number + 1))
        net.output(net.call(f"heads.{number}.1", y, shape=(1, number + 1)), name=f"out_{number}")
        net.leave()
    (card,) = [card for card in of_kind(picture_of(net.graph()), Card) if card.head]
    assert (card.head, card.steps, count % card.columns) == (f"{count} in parallel", 2, 0)
    for start in range(card.columns):  # the steps of a branch follow each other, below them those of a further one
        column = [row.path.partition(".") for row in card.rows[start :: card.columns]]
        assert [step for _, _, step in column] == ["0", "1"] * (count // card.columns)
        assert [one for one, _, _ in column[::2]] == [other for other, _, _ in column[1::2]]
    assert {row.path.partition(".")[0] for row in card.rows} == {str(number) for number in range(count)}


def test_what_can_be_read_as_it_is_is_not_put_together(sketch):
    picture = picture_of(heads_net(sketch, 2))
    assert not [card for card in of_kind(picture, Card) if card.head or card.narrow]
    assert [pill.title for pill in of_kind(picture, Pill)] == ["input", "task_0", "task_1"]


def test_heads_that_are_not_fed_by_the_same_are_not_one_card(sketch):
    net = sketch()
    net.modules("a Linear *", "b Linear *", "heads ModuleList")
    made = [net.call("a", "input:x"), net.call("b", "input:x")]
    for number in range(12):
        net.module(f"heads.{number}", "Linear", (number + 1, 4))
        net.output(net.call(f"heads.{number}", made[number % 2], shape=(1, number + 1)), name=f"out_{number}")
    cards = [card for card in of_kind(picture_of(net.graph()), Card) if card.head]
    assert [card.head for card in cards] in ([], ["6 in parallel", "6 in parallel"])


def test_operations_are_rows_of_several_below_a_depth_that_is_asked_for(sketch):
    net = sketch()
    net.modules("block model.Block", "block.fc Linear *")
    net.enter("block")
    x = net.call("block.fc", "input:x")
    net.leave()
    for name in ("exp", "neg", "abs", "cos"):
        x = net.op(f"torch.{name}", x)
    net.output(x)
    closed = picture_of(net.graph(), PictureOptions(depth=0))
    rows = [row for card in of_kind(closed, Card) for row in card.rows]
    assert [row.title for row in rows] == ["▸ Block", "▸ 4 operations"]
    assert rows[1].detail == "exp, neg, abs, cos"
    assert any("4 operations collapsed (▸)" in note for note in closed.notes)
    opened = picture_of(net.graph(), PictureOptions(depth=1))
    assert "▸ 4 operations" not in [row.title for card in of_kind(opened, Card) for row in card.rows]


@pytest.mark.needs_dot
def test_a_picture_is_as_wide_as_can_be_read_whatever_was_thought(sketch):
    svg = str(render(heads_net(sketch, 40), "svg"))
    assert float(re.search(r'<svg width="([\d.]+)pt', svg)[1]) <= 780


def test_a_tag_of_several_inputs_names_what_they_have_in_common(sketch):
    """And not one of them, which its user may not be given."""
    net = sketch()
    net.modules("blocks ModuleList")
    x = "input:x"
    for number in range(8):
        net.module(f"blocks.{number}", "model.Block")
        net.module(f"blocks.{number}.fc", "Linear", (4 + number, 4))
        net.shapes[f"input:past[{number}]"] = (1, 2 + number)
        net.enter(f"blocks.{number}")
        x = net.op("torch.mul", net.call(f"blocks.{number}.fc", x), f"input:past[{number}]")
        net.leave()
    net.output(x)
    choice = _Choice(net.graph(), PictureOptions(), None)
    picture = choice.made(Cut(depth=2, fold=True, like_once=False), Saving(together=True))
    said = [
        (item.title, item.detail) if isinstance(item, Pill) else item.text
        for item in everything(picture.items)
        if isinstance(item, Pill | Tag)
    ]
    assert "past" in said
    assert ("past ×8", "") in said
    assert not [text for text in said if "past[" in str(text)]


def test_mermaid_and_the_picture_of_a_diff_stay_as_they_were(sketch):
    """A diff says what became of each module, and Mermaid is laid out elsewhere."""
    graph = heads_net(sketch, 30)
    assert "in parallel" not in str(render(graph, "mermaid", PictureOptions(depth=1)))
    assert str(render(graph, "mermaid", PictureOptions(depth=1))).count("task_29") > 0
    picture = picture_of(graph, PictureOptions(said={}))
    assert not [card for card in of_kind(picture, Card) if card.head or card.narrow]


# --- figures -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "points"),
    [("3.25in", 234), ("180mm", 510.24), ("17 cm", 481.89), ("468pt", 468), (300, 300), (72.5, 72.5)],
)
def test_a_width_is_a_length(said, points):
    assert points_of(said) == pytest.approx(points, abs=0.01)


@pytest.mark.parametrize("said", ["", "wide", "3.25", "-3in", "0in", "1e3in", "3in 4in", 0, -5, float("nan"), 1e9])
def test_what_is_no_width_is_refused(said):
    with pytest.raises(ExportError):
        PictureOptions(style="paper", width=said)


def test_a_width_without_a_figure_is_refused():
    with pytest.raises(ExportError, match="that of a figure"):
        PictureOptions(width="3in")


def idle_net(sketch):
    net = sketch("Idle")
    net.modules("a Linear *", "skip Sequential", "norm my.Norm", "b Linear *")
    net.module("skip.0", "torch.nn.modules.linear.Identity")
    net.module("drop", "Dropout", arguments={"p": 0.0})
    net.module("kept", "Dropout", arguments={"p": 0.1})
    net.nodes["norm"] = net.nodes["norm"].__class__(
        path="norm", class_name="my.Norm", arguments={"width": 4, "eps": 1e-5, "p": 0.0}, predicted=True, observed=True
    )
    x = net.call("a", "input:x")
    net.enter("skip")
    x = net.call("skip.0", x)
    net.leave()
    net.output(net.chain("drop norm kept b", x))
    return net.graph()


def test_a_figure_shows_nothing_that_does_nothing_and_no_default(sketch):
    graph = idle_net(sketch)
    rows = [row for card in of_kind(picture_of(graph, PictureOptions(style="paper")), Card) for row in card.rows]
    assert [row.title for row in rows] == ["Linear", "Norm", "Dropout", "Linear"]
    assert rows[1].detail == "width 4"
    assert rows[2].detail == "p 0.1"
    screen = [row.title for card in of_kind(picture_of(graph), Card) for row in card.rows]
    assert screen == ["Linear", "Identity", "Dropout", "Norm", "Dropout", "Linear"]


@pytest.mark.parametrize(
    ("name", "p", "idle"), [("Dropout", 0.0, True), ("Dropout", 0.1, False), ("Dropout2d", 0, True)]
)
def test_dropout_does_nothing_where_its_probability_is_0(sketch, name, p, idle):
    net = sketch()
    net.module("drop", f"torch.nn.modules.dropout.{name}", arguments={"p": p})
    assert is_idle(net.nodes["drop"]) == idle


def test_a_class_of_the_users_called_identity_is_none_of_torch(sketch):
    net = sketch()
    net.module("mine", "my.Identity")
    assert not is_idle(net.nodes["mine"])


def test_kinds_are_told_apart_without_colour():
    assert len(set(STRIPES.values())) == len(STRIPES) == len(KINDS)


@pytest.mark.needs_dot
@pytest.mark.parametrize("width", ["3.25in", "6.5in", "180mm"])
def test_a_figure_is_no_wider_than_was_asked_for(nets, width):
    options = PictureOptions(style="paper", width=width)
    svg = str(render(nets["residual"](3).graph(), "svg", options))
    assert float(re.search(r'<svg width="([\d.]+)pt', svg)[1]) <= points_of(width) + 0.01
    assert svg_geometry["problems"](svg) == []


@pytest.mark.needs_dot
def test_a_figure_that_has_smaller_text_says_so_once(sketch, tmp_path, capsys):
    net = sketch("Wide")
    net.modules(*(f"a_layer_with_a_long_name_{number} Linear *" for number in range(6)))
    made = [net.call(f"a_layer_with_a_long_name_{number}", f"input:x{number}") for number in range(6)]
    x = made[0]
    for one in made[1:]:
        x = net.op("torch.outer", x, one)
    net.output(x)
    (tmp_path / "net.json").write_text(to_json(net.graph()), encoding="utf-8")
    command = ["render", str(tmp_path / "net.json"), "--style", "paper", "--width", "1in", "--format", "svg,pdf"]
    assert main([*command, "-o", str(tmp_path / "out")]) == 0
    notes = [line for line in capsys.readouterr().err.splitlines() if "smallest text" in line]
    assert len(notes) == 1
    assert re.search(r"note: the smallest text of this figure has \d\.\d pt, not 7", notes[0])
    with pytest.warns(ExportWarning, match="smallest text"):
        net.graph().save(tmp_path / "net.svg", style="paper", width="1in")


def test_an_unknown_style_is_refused(nets):
    with pytest.raises(ExportError, match="style cannot be 'poster'"):
        PictureOptions(style="poster")


def test_the_room_of_a_figure_is_that_of_text_of_seven_points():
    room = room_of(PictureOptions(style="paper", width="3.5in"))
    assert (room.width, room.height) == pytest.approx((3.5 * 72 * 10 / 7, 9 * 72 * 10 / 7))


@pytest.mark.parametrize("direction", ["TB", "LR"])
def test_how_large_a_picture_will_be_is_known_before_it_is_laid_out(nets, direction):
    picture = picture_of(nets["residual"](3).graph(), PictureOptions(direction=direction))
    assert across_of(picture) > 0 < length_of(picture)


# --- sixty models --------------------------------------------------------------------------------------------------


def quick_models():
    sys.path.insert(0, str(TESTS / "oracle"))
    try:
        groups = importlib.import_module("paper_models").GROUPS
    finally:
        sys.path.pop(0)
    return [shown for group in groups.values() for shown in group if shown.quick]


@pytest.fixture(scope="module")
def graphs():
    """Made once for both styles."""
    return {}


@pytest.mark.needs_dot
@pytest.mark.parametrize("style", ["screen", "paper"])
@pytest.mark.parametrize("shown", quick_models(), ids=lambda shown: shown.name)
def test_no_text_is_crossed_in_the_models_of_papers(graphs, shown, style):
    """The others of the sixty are drawn by `tests/oracle/paper_pictures.py`."""
    import torch

    import modgraph

    if shown.name not in graphs:
        with torch.device("meta"):
            model = shown.build().eval()
        graphs[shown.name] = modgraph.trace(model, shown.inputs(), device="fake")
    svg = str(render(graphs[shown.name], "svg", PictureOptions(style=style)))
    assert svg_geometry["problems"](svg) == []
    width = float(re.search(r'<svg width="([\d.]+)pt', svg)[1])
    assert width <= (3000 if style == "screen" else 468.01)


def backbone_and_heads(sketch, steps: int, count: int = 12):
    """A container of so many steps that depend on each other twice over, and heads that would be wide if they were open."""
    net = sketch()
    net.modules("backbone model.Backbone")
    net.enter("backbone")
    x = y = "input:x"
    for number in range(steps):
        net.module(f"backbone.{number}", "Linear", (number + 1, 4))
        x, y = net.call(f"backbone.{number}", x, y, shape=(1, number + 1)), x
    net.leave()
    for number in range(count):
        net.modules(f"head{number} model.Head", *(f"head{number}.{step} Linear *" for step in range(4)))
        net.enter(f"head{number}")
        y = x
        for step in range(4):
            y = net.call(f"head{number}.{step}", y, *([x] if number % 2 else []), shape=(1, number + 1))
        net.output(y, name=f"out_{number}")
        net.leave()
    return net.graph()


def test_what_has_room_on_a_page_is_open_where_not_all_of_its_level_is(sketch):
    graph = backbone_and_heads(sketch, 5)
    picture = picture_of(graph)
    assert picture.notes[0] == "drawn to depth 0 of 1, 1 deeper"
    (frame,) = of_kind(picture, Frame)
    assert frame.title == "backbone"
    assert [row.path for card in of_kind(frame, Card) for row in card.rows] == [str(number) for number in range(5)]
    heads = [row for card in of_kind(picture, Card) if card not in of_kind(frame, Card) for row in card.rows]
    assert {row.collapsed for row in heads} == {True}
    assert room_of(PictureOptions()).excess(picture) <= 1
    assert picture_of(graph, PictureOptions(depth=0)).notes[0] == "drawn to depth 0 of 1"


def test_what_would_make_a_picture_longer_than_a_page_stays_closed(sketch):
    picture = picture_of(backbone_and_heads(sketch, 60))
    assert picture.notes[0] == "drawn to depth 0 of 1"
    assert not of_kind(picture, Frame)


@pytest.mark.parametrize(
    ("first", "then", "kept"),
    [
        ((30, 1.01), (12, 1.0), 0),  # a little too wide, and much more in it
        ((30, 1.01), (28, 1.0), 1),  # as much fits
        ((30, 1.20), (12, 1.0), 1),  # far too wide
        ((30, 1.00), (40, 1.0), 0),
    ],
)
def test_a_picture_a_little_too_wide_stays_where_the_one_that_fits_shows_much_less(
    sketch, monkeypatch: pytest.MonkeyPatch, first: tuple[int, float], then: tuple[int, float], kept: int
):
    """By the rows of each, and how many times too large it is."""
    net = sketch()
    net.modules("a Linear *")
    net.output(net.call("a", "input:x"))
    plain = picture_of(net.graph())
    (card,) = of_kind(plain, Card)
    pictures = [replace(plain, items=(replace(card, rows=card.rows * rows),)) for rows, _ in (first, then)]
    sizes = {str(number): excess for number, (_, excess) in enumerate((first, then))}
    monkeypatch.setattr(images, "_with_left_out", lambda picture, **_: str(pictures.index(picture)))
    monkeypatch.setattr(images, "_excess", lambda laid, _: sizes[laid])
    chosen = images._smaller(iter(pictures[1:]), PictureOptions(), (pictures[0], "0"), None, float("inf"))
    assert chosen == str(kept)


RESIDUAL = """\
from torch import nn

class Res(nn.Sequential):
    def __init__(self):
        super().__init__(nn.ReLU(), nn.Conv2d(64, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 1))

    def forward(self, x):
        return x + super().forward(x)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 32, 4, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 4, 2, 1), nn.ReLU(),
            nn.Conv2d(64, 64, 3, padding=1), Res(), Res(), nn.ReLU(),
        )

    def forward(self, x):
        return self.encoder(x)
"""


@pytest.mark.needs_dot
@pytest.mark.parametrize("direction", ["LR", "TB"])
def test_a_title_that_an_arrow_would_cross_stands_at_the_foot(tmp_path: Path, direction: str):
    (tmp_path / "net.py").write_text(RESIDUAL, "utf-8")
    svg = str(render(modgraph.predict(tmp_path / "net.py:Net"), "svg", PictureOptions(direction=direction)))
    assert "×2" in svg
    assert svg_geometry["problems"](svg) == []


def places_of(svg: str) -> dict[str, tuple[float, float]]:
    """The middle of each node, by its id."""
    found = {}
    for group in ET.fromstring(svg.encode()).iter("{http://www.w3.org/2000/svg}g"):
        shapes = [
            each.get("points") or each.get("d") or "" for each in group.iter() if each.get("points") or each.get("d")
        ]
        if group.get("class") == "node" and shapes:
            numbers = [float(each) for each in re.findall(r"-?[0-9.]+", shapes[0])]
            x, y = numbers[0::2], numbers[1::2]
            found[group.get("id", "")] = ((min(x) + max(x)) / 2, (min(y) + max(y)) / 2)
    return found


@pytest.mark.needs_dot
def test_what_tags_alone_feed_stands_beside_what_is_fed_by_an_arrow(sketch):
    """Heads in one row below their trunk, and the outputs below them."""
    net = sketch()
    net.modules("trunk Sequential", "heads ModuleDict", *(f"trunk.{step} model.Stage" for step in range(3)))
    x = "input:x"
    net.enter("trunk")
    for step in range(3):
        net.modules(f"trunk.{step}.conv Linear *", f"trunk.{step}.act ReLU")
        net.enter(f"trunk.{step}")
        x = net.call(f"trunk.{step}.act", net.call(f"trunk.{step}.conv", x))
        net.leave()
    net.leave()
    for name in "abcdef":
        net.modules(f"heads.{name} model.Head{name}", f"heads.{name}.fc Linear *", f"heads.{name}.act ReLU")
        net.enter(f"heads.{name}")
        net.output(net.call(f"heads.{name}.act", net.call(f"heads.{name}.fc", x)), name=name)
        net.leave()
    at = places_of(str(render(net.graph(), "svg", PictureOptions(depth=1))))
    heads = [at[f"heads.{name}"][1] for name in "abcdef"]
    assert max(heads) - min(heads) < 1
    assert all(place[1] < min(heads) for id, place in at.items() if id.startswith("trunk"))
    assert all(place[1] > max(heads) for id, place in at.items() if id.startswith("output"))


@pytest.mark.needs_dot
def test_arrows_to_many_side_by_side_leave_in_the_middle_of_them(sketch):
    net = sketch()
    net.modules("heads ModuleDict *")
    made = net.call("heads", "input:x")
    for name in "abcdefg":
        net.output(made, name=name)
    at = places_of(str(render(net.graph(), "svg", PictureOptions(direction="LR"))))
    outputs = [place[1] for id, place in at.items() if id.startswith("output")]
    assert at["heads"][1] == pytest.approx((min(outputs) + max(outputs)) / 2, abs=1)


@pytest.mark.needs_dot
@pytest.mark.parametrize("marks", [(), (Mark(state="changed", note="outputs batch×2×length → batch×4×length"),)])
def test_a_badge_before_a_title_is_as_wide_as_its_words(tmp_path: Path, marks: tuple[Mark, ...]):
    """Also where a mark below it is wider than title and badge."""
    (tmp_path / "net.py").write_text(RESIDUAL, "utf-8")

    def changed(item):
        if not isinstance(item, Frame):
            return item
        more = {"gap": 0, "marks": marks} if item.copies > 1 else {}
        return replace(item, items=tuple(map(changed, item.items)), **more)

    picture = picture_of(modgraph.predict(tmp_path / "net.py:Net"))
    picture = replace(picture, items=tuple(map(changed, picture.items)))
    root = ET.fromstring(images.lay_out(write_dot(picture)).svg)
    (badge,) = [part.badges[0] for part in _parts(root) if part.badges]
    assert badge.right - badge.left < 40
