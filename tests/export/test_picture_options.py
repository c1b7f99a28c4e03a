"""What a picture can be asked for: one module, another direction, views, colours that say what things cost."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from modgraph.cli import main
from modgraph.errors import ExportError
from modgraph.export import PictureOptions, render
from modgraph.export.look.parts import Card, Frame, Pill
from modgraph.export.look.style import KINDS, MUTED, RAMP, TEXT
from modgraph.export.picture.choosing import picture_of
from modgraph.graph.measures import CallCost, Profile
from modgraph.graph.serial import to_json
from tests.export.items import of_kind

SAMPLES = Path(__file__).parents[2] / "samples"


def pills(picture):
    return [pill.title for pill in of_kind(picture, Pill)]


def rows(picture):
    return [row for card in of_kind(picture, Card) for row in card.rows]


def focused(graph, path, **options):
    return picture_of(graph, PictureOptions(focus=path, **options))


# --- one module ----------------------------------------------------------------------------------------------------


def test_a_focus_is_one_frame_between_its_neighbours(nets):
    picture = focused(nets["residual"](3, broken=1).graph(), "blocks.1")
    assert pills(picture) == ["blocks.0", "blocks.2"]
    assert [frame.title for frame in of_kind(picture, Frame)] == ["blocks.1"]
    assert [row.path for row in rows(picture)] == ["fc1", "act", "fc2"]
    assert picture.name == "blocks.1"
    assert picture.subtitle == "model.py:Residual · Block · 36 params"
    into = {(arrow.tail, arrow.head) for arrow in picture.arrows if arrow.tail.startswith("input:")}
    assert into == {("input:blocks.0", "blocks.1.fc1"), ("input:blocks.0", "blocks.1.add")}


def test_a_neighbour_outside_of_the_container_is_the_largest_that_does_not_hold_the_module(nets):
    graph = nets["residual"](3).graph()
    assert pills(focused(graph, "blocks")) == ["stem", "head"]
    assert pills(focused(graph, "blocks.0.fc2")) == ["blocks.0.act", "blocks.0.add"]
    assert pills(focused(graph, "stem")) == ["x", "blocks"]


def test_folds_and_depth_are_those_of_the_module(nets):
    graph = nets["residual"](3).graph()
    assert [frame.copies for frame in of_kind(focused(graph, "blocks"), Frame)] == [1, 3]
    closed = focused(graph, "blocks", depth=0)
    assert [row.title for row in rows(closed)] == ["▸ Block"]
    assert closed.notes == ("drawn to depth 0 of 1",)
    assert focused(graph, "blocks", depth=1).notes == ()


def test_the_first_of_several_calls_is_drawn_and_said(sketch):
    net = sketch()
    net.modules("fc Linear *", "act ReLU")
    net.output(net.chain("fc act fc act fc", "input:x"))
    picture = focused(net.graph(), "fc")
    assert pills(picture) == ["x", "act"]
    assert "the first of 3 calls" in picture.subtitle


def test_a_list_that_is_no_box_is_shown_by_what_is_in_it(sketch):
    net = sketch()
    net.modules("a ModuleList", "a.0 Linear *", "a.1 Linear *", "b ModuleList", "b.0 ReLU", "b.1 ReLU", "out Linear *")
    net.output(net.chain("a.0 b.0 a.1 b.1 out", "input:x"))
    picture = focused(net.graph(), "a")
    assert [row.path for row in rows(picture)] == ["a.0", "a.1"]
    assert sorted(pills(picture)) == ["b.0", "b.0", "b.1", "x"]


def test_the_second_name_of_a_module_stands_for_its_first(sketch):
    net = sketch()
    net.modules("fc Linear *")
    net.module("again", "Linear", (4, 4), alias_of="fc")
    net.output(net.call("fc", "input:x"))
    assert [row.path for row in rows(focused(net.graph(), "again"))] == ["fc"]


@pytest.mark.parametrize(
    ("path", "message", "hint"),
    [
        ("block", "the model has no module 'block'", "did you mean 'blocks'?"),
        ("zzz", "the model has no module 'zzz'", "name a module"),
        ("blocks.0.fc1.inner", "takes no part", "--focus blocks.0.fc1"),
    ],
)
def test_what_cannot_be_drawn_is_an_error_that_says_what_can(nets, path, message, hint):
    net = nets["residual"](2)
    net.module("blocks.0.fc1.inner", "Linear", (2, 2))
    with pytest.raises(ExportError, match=message) as caught:
        focused(net.graph(), path)
    assert hint in caught.value.hint


def said_of(graph, path) -> str | None:
    """The picture, or what is said instead of it."""
    try:
        return str(render(graph, "dot", PictureOptions(focus=path)))
    except ExportError as error:
        return error.hint


def test_every_module_of_every_net_can_be_focused_or_says_why_not(nets):
    for make in nets.values():
        graph = make().graph()
        for node in graph.modules[1:]:
            assert said_of(graph, node.path)


# --- direction and views -------------------------------------------------------------------------------------------


def test_a_direction_and_a_focus_reach_the_file(nets, tmp_path):
    graph = nets["residual"](2).graph()
    graph.save(tmp_path / "net.dot", direction="LR", focus="blocks", color="parameters")
    text = (tmp_path / "net.dot").read_text()
    assert "rankdir=LR" in text
    assert text.startswith("digraph blocks")
    assert f'bgcolor="{RAMP[-1].fill}"' in text
    graph.save(tmp_path / "net.mmd", direction="LR")
    assert "\nflowchart LR\n" in (tmp_path / "net.mmd").read_text()


def test_views_are_drawn_where_they_are_asked_for(sketch):
    net = sketch()
    net.modules("fc Linear *")
    net.output(net.op("torch.Tensor.view", net.call("fc", "input:x")))
    assert [row.title for row in rows(picture_of(net.graph()))] == ["Linear"]
    assert [row.title for row in rows(picture_of(net.graph(), PictureOptions(views=True)))] == ["Linear", "view"]


# --- colours -------------------------------------------------------------------------------------------------------


def profiled(graph, **fields):
    costs = [CallCost(call=call.index, flops=100 * call.index**2, **fields) for call in graph.calls]
    return dataclasses.replace(graph, profile=Profile(flops=1000, calls=tuple(costs)))


def test_colours_by_parameters_need_no_run_and_follow_the_numbers(nets):
    picture = picture_of(nets["residual"](3, broken=1).graph(), PictureOptions(color="parameters"))
    heats = {row.path: row.heat for row in rows(picture)}
    assert heats["act"] == 0
    assert heats["stem"] > 3
    assert max(heats.values()) == len(RAMP) - 1
    assert picture.legend.ramp == ("parameters", "20")
    assert picture.legend.kinds == ()


def test_figures_of_a_profile_stand_in_the_rows_and_the_titles(nets):
    graph = profiled(nets["residual"](2).graph(), seconds=0.002)
    by_time = picture_of(graph, PictureOptions(color="time"))
    assert {row.count for row in rows(by_time)} == {"2 ms"}
    assert [frame.detail for frame in of_kind(by_time, Frame)] == ["Sequential · 2 ms", "Block · 2 ms"]
    flops = picture_of(graph, PictureOptions(color="flops"))
    assert next(row.count for row in rows(flops) if row.path == "stem") == "100 FLOP"
    assert rows(flops)[-1].heat == len(RAMP) - 1


@pytest.mark.parametrize(
    ("fields", "color", "message"),
    [(None, "time", "no figures to colour by time"), ({}, "time", "without values"), ({}, "memory", "several threads")],
)
def test_figures_that_are_not_there_are_an_error_not_a_pale_picture(nets, fields, color, message):
    graph = nets["residual"](2).graph()
    graph = graph if fields is None else profiled(graph, **fields)
    with pytest.raises(ExportError, match=message):
        picture_of(graph, PictureOptions(color=color))


def luminance(color: str) -> float:
    """Relative luminance. Source: WCAG 2.2, "relative luminance"."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_text_can_be_read_on_every_colour():
    assert all(contrast(TEXT, step.fill) >= 6 for step in RAMP)
    assert all(contrast(MUTED, kind.fill) >= 6 for kind in KINDS.values())
    steps = [luminance(step.fill) for step in RAMP]
    assert steps == sorted(steps, reverse=True)


# --- command line --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", [{"color": "nope"}, {"direction": "up"}])
def test_python_refuses_a_colour_and_a_direction_that_there_is_not(nets, tmp_path, option):
    with pytest.raises(ExportError, match="cannot be") as caught:
        nets["residual"](2).graph().save(tmp_path / "net.dot", **option)
    assert caught.value.hint.startswith("it is one of")
    assert not (tmp_path / "net.dot").exists()


@pytest.fixture
def saved(nets, tmp_path):
    file = tmp_path / "net.json"
    file.write_text(to_json(nets["residual"](2).graph()))
    return file


def test_the_options_of_render_reach_the_picture(saved, capsys):
    asked = ("--focus", "blocks", "--direction", "LR", "--color", "parameters", "--color", "never", "--show-views")
    assert main(["render", str(saved), "--format", "dot", "-o", "-", *asked]) == 0
    text = capsys.readouterr().out
    assert "rankdir=LR" in text
    assert "parameters: 0" in text


def test_columns_and_a_focus_reach_the_text(saved, capsys):
    asked = ("--format", "text", "-o", "-", "--focus", "blocks", "--columns", "class, parameters,class")
    assert main(["render", str(saved), *asked]) == 0
    table = capsys.readouterr().out.split("\n\n")[1].splitlines()
    assert table[0].split() == ["module", "class", "parameters"]
    assert table[1].split()[:2] == ["blocks", "Sequential"]


@pytest.mark.parametrize("format", ["json", "html", "dot", "text"])
def test_a_focus_on_what_is_not_there_is_an_error_in_every_format(saved, capsys, format):
    assert main(["render", str(saved), "--focus", "blok", "--format", format, "-o", "-"]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--columns", "class"), "help: add --format text"),
        (("--columns", "clas"), "help: did you mean 'class'?"),
        (("--columns", ","), "it names nothing"),
        (("--focus", "blok"), "help: did you mean 'blocks'?"),
        (("--color", "time"), "help: analyze the model with --profile"),
        (("--color", "red"), "invalid choice: 'red'"),
        (("--direction", "BT"), "invalid choice: 'BT'"),
    ],
)
def test_an_option_that_cannot_be_met_says_what_can(saved, capsys, asked, said):
    assert main(["render", str(saved), "--format", "dot", "-o", "-", *asked]) == 2
    assert said in capsys.readouterr().err


def test_figures_that_nobody_measures_are_refused_before_the_model_runs(capsys):
    assert main(["analyze", "nowhere.py:Net", "--color", "time"]) == 2
    assert "nowhere" in capsys.readouterr().err
    assert main(["analyze", f"{SAMPLES}/mlp.py:MLP", "--color", "time"]) == 2
    assert "error: --color time needs figures that only --profile measures" in capsys.readouterr().err


def test_the_summary_is_written_once_where_it_is_the_result(capsys):
    assert main(["analyze", f"{SAMPLES}/mlp.py:MLP", "--static", "--format", "text", "-o", "-"]) == 0
    written = capsys.readouterr()
    assert written.out.startswith("MLP · mlp.py:MLP")
    assert written.err == ""
    assert main(["analyze", f"{SAMPLES}/mlp.py:MLP", "--static", "--format", "dot", "-o", "-"]) == 0
    assert "mlp.py:MLP · predicted" in capsys.readouterr().err
