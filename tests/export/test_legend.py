"""The legend has every sign that is in the picture, and nothing else."""

from __future__ import annotations

import dataclasses
import html
import re

import pytest

from modgraph.export.look.options import PictureOptions
from modgraph.export.look.style import STATES
from modgraph.export.picture.choosing import picture_of
from modgraph.export.picture.dot import write_dot
from modgraph.export.picture.signs import MEANINGS
from modgraph.graph.model import Condition
from tests.export.test_shared import pyramid, twins

CIRCLES = "+−×÷@‖"
SIGNS = "◂≥↺" + "".join(state.sign for state in STATES.values() if state.legend and state.sign not in "+−~?")
"""Characters that are signs wherever they stand."""


def written(picture):
    """The words of the heading, and of everything else: by what is drawn, text that the engine sets."""
    dot = re.sub(r'(?<=\s)(tooltip|labeltooltip|id)="(?:[^"\\]|\\.)*"', "", write_dot(picture))
    dot = re.sub(r"\\(.)", r"\1", dot)
    nodes, edges = [], []
    heading = ""
    for line in dot.splitlines():
        label = re.search(r'\blabel=(<.*>|"[^"]*")', line)
        words = html.unescape(re.sub(r"<[^<>]*>", "\n", label[1])).replace("\xa0", " ") if label else ""
        if line.startswith("  graph ["):
            heading = words
        else:
            (edges if "->" in line.partition("label=")[0] else nodes).append(words)
    return heading, nodes, edges


def drawn_signs(picture):
    """The signs outside of the heading."""
    _, nodes, edges = written(picture)
    found = {sign for sign in SIGNS if sign in "".join(nodes)}
    found |= {sign for node in nodes if (sign := node.strip('"\n ')) and sign in CIRCLES}
    found |= {"…" for label in edges if "…" in label} | {"+N" for label in edges if re.search(r" \+\d", label)}
    return found | {"×N" for label in edges if re.search(r"(^|\n| )×\d", label.strip('"'))}


def told_signs(picture):
    """The signs that the heading explains, each before its words."""
    heading = " ".join(written(picture)[0].split())
    meanings = [*MEANINGS.values(), *((state.sign, state.words) for state in STATES.values() if state.legend)]
    told = {
        sign for sign, words in meanings if re.search(rf"(^|[ ]){re.escape(sign)} {re.escape(words)}( |$)", heading)
    }
    return told - {"?", "~"}


def crossed(sketch):
    """Circles of all kinds, a tag, a count that is a bound, and calls on a condition."""
    net = sketch("Crossed")
    net.modules("a Linear *", "b Linear *", "c Conv2d *")
    a, b = net.call("a", "input:x"), net.call("b", "input:y")
    x = net.op("torch.matmul", net.op("torch.cat", a, b), net.op("torch.div", a, b))
    net.output(net.call("c", net.op("torch.mul", x, net.op("torch.sub", a, net.op("torch.add", a, b)))))
    graph = net.graph()
    calls = [
        dataclasses.replace(each, condition=Condition(text="depends on flag")) if each.module == "b" else each
        for each in graph.calls
    ]
    return dataclasses.replace(graph, calls=tuple(calls))


DRAWN = {"crossed": crossed, "twins": twins, "pyramid": pyramid}


@pytest.mark.parametrize("options", [{}, {"depth": 0}, {"direction": "LR"}], ids=str)
@pytest.mark.parametrize("name", [*DRAWN, "residual", "states", "predicted", "masked"])
def test_the_legend_has_the_signs_of_the_picture(sketch, nets, name, options):
    graph = DRAWN[name](sketch) if name in DRAWN else nets[name]().graph()
    picture = picture_of(graph, PictureOptions(**options))
    assert told_signs(picture) == drawn_signs(picture)


def test_a_figure_leaves_out_what_explains_itself(sketch):
    picture = picture_of(crossed(sketch), PictureOptions(style="paper"))
    assert told_signs(picture) == drawn_signs(picture) - set("+−×÷")


def test_no_line_of_signs_makes_the_picture_wider(sketch):
    heading, _, _ = written(picture_of(crossed(sketch)))
    assert "concatenation" in heading
    dot = write_dot(picture_of(crossed(sketch)))
    lines = re.findall(r'<tr><td align="left">(.*?)</td></tr>', dot)
    signs = [re.sub("<[^>]*>", "", line) for line in lines if "product" in line or "concatenation" in line]
    assert max(map(len, signs)) < 80
