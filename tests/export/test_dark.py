"""Pictures for a dark ground: the same picture in other colours, all of which can be read."""

from __future__ import annotations

import re
from itertools import chain
from typing import Any

import pytest

import modgraph
from modgraph.export import PictureOptions, render
from modgraph.export.look import style
from modgraph.export.look.dark import DARK, GROUND, darkened, with_dark_rules

HEX = re.compile(r"#[0-9A-F]{6}\b")


def colors_of(value: Any) -> set[str]:
    """Every colour in a value of `style.py`."""
    if isinstance(value, str):
        return set(HEX.findall(value))
    if isinstance(value, dict):
        return set(chain.from_iterable(colors_of(each) for each in value.values()))
    if isinstance(value, tuple):
        return set(chain.from_iterable(colors_of(each) for each in value))
    if isinstance(value, style.KindStyle):
        return colors_of((value.fill, value.strong))
    if isinstance(value, style.StateStyle):
        return colors_of((value.strong, value.frame_color))
    return set()


def luminance(color: str) -> float:
    """Relative luminance of sRGB, as WCAG 2.2 defines it."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_every_colour_has_one_that_stands_for_it():
    used = set(chain.from_iterable(colors_of(value) for name, value in vars(style).items() if name.isupper()))
    assert len(used) > 30
    assert used - set(DARK) == set()


FILLS = [kind.fill for kind in (*style.KINDS.values(), *style.RAMP)]
GROUNDS = ["white", *style.FRAME_FILLS, style.TAG_FILL]


@pytest.mark.parametrize("fill", [*FILLS, *GROUNDS])
def test_text_can_be_read_on_it(fill: str):
    assert contrast(DARK[style.TEXT], DARK[fill]) >= 4.5


@pytest.mark.parametrize("fill", [*(kind.fill for kind in style.KINDS.values()), *GROUNDS])
def test_soft_text_can_be_read_on_it(fill: str):
    assert contrast(DARK[style.MUTED], DARK[fill]) >= 4.5


@pytest.mark.parametrize(
    "ground", sorted({style.PILL, style.REPEAT, *(state.strong for state in style.STATES.values())})
)
def test_what_is_white_elsewhere_can_be_read_on_it(ground: str):
    assert contrast(DARK["white"], DARK[ground]) >= 4.5


@pytest.mark.parametrize(
    "line",
    sorted({style.LINE, style.REPEAT, style.FADED, *(each.frame_color for each in style.STATES.values())} - {""}),
)
def test_lines_can_be_seen(line: str):
    assert contrast(DARK[line], GROUND) >= 3


def test_costs_become_lighter_step_by_step():
    steps = [luminance(DARK[step.fill]) for step in style.RAMP]
    assert steps == sorted(steps)
    assert len(set(steps)) == len(steps)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> modgraph.Graph:
    file = tmp_path_factory.mktemp("dark") / "net.py"
    file.write_text(
        "from torch import nn\n\n\nclass White(nn.Module):\n    def __init__(self, color):\n        super().__init__()\n\n\n"
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a = White(color='\"#FFFFFF\" color=white #111827')\n        self.b = nn.Linear(2, 2)\n"
        "        self.blocks = [nn.Linear(2, 2)]\n"
    )
    return modgraph.predict(f"{file}:Net")


@pytest.mark.parametrize("color", ["kind", "parameters"])
def test_nothing_but_colours_is_changed(graph: modgraph.Graph, color: Any):
    light = render(graph, "dot", PictureOptions(color=color))
    dark = render(graph, "dot", PictureOptions(color=color, style="dark"))
    assert isinstance(light, str)
    assert isinstance(dark, str)
    split = re.compile(r'(?<=color=)"(?:#[0-9A-F]{6,8}|white)"')
    assert split.split(dark) == split.split(light)
    assert [DARK[each.strip('"')[:7]] for each in split.findall(light)] == [
        each.strip('"')[:7] for each in split.findall(dark)
    ]


def test_what_the_model_says_is_no_colour():
    said = r'a [label="x color=\"#FFFFFF\" color=white" fillcolor="white" tooltip="fillcolor=\"white\""]'
    assert darkened(said) == said.replace(' fillcolor="white"', f' fillcolor="{GROUND}"')


@pytest.mark.parametrize("format", ["svg", "png", "pdf"])
def test_it_is_drawn(graph: modgraph.Graph, format: str):
    drawn = render(graph, format, PictureOptions(style="dark"))
    assert drawn != render(graph, format)
    if format == "svg":
        assert isinstance(drawn, str)
        assert GROUND.lower() in drawn
        assert 'fill="white"' not in drawn


@pytest.mark.needs_dot
@pytest.mark.parametrize("color", ["kind", "parameters"])
def test_the_rules_in_a_picture_for_both_grounds_are_the_colours_of_the_dark_one(graph: modgraph.Graph, color: Any):
    """Light as it was, and with its rules followed the picture that is drawn for a dark ground."""
    light, dark = (render(graph, "svg", PictureOptions(style=style, color=color)) for style in ("screen", "dark"))
    both = with_dark_rules(str(light))
    found = re.search(r"\n<style>@media \(prefers-color-scheme:dark\)\{(.*)\}</style>", both)
    assert found is not None
    assert both.replace(found[0], "") == light
    for rule in re.finditer(r'\[((?:fill|stroke)="[^"]+")\]\{(\w+):([^}]+)\}', found[1]):
        light = light.replace(f" {rule[1]}", f' {rule[2]}=@"{rule[3].lower()}"')
    assert light.replace("=@", "=") == dark
