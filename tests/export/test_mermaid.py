"""Picture -> Mermaid: valid by its grammar, within GitHub's limits, and no name breaks out of its quotes.

`tests/oracle/mermaid_check.py` has the real parser read the same; here the lines are held against what it takes.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from modgraph.export import render
from modgraph.export.look.options import PictureOptions
from modgraph.export.picture import mermaid
from modgraph.export.picture.choosing import picture_of
from modgraph.export.picture.mermaid import MOST_EDGES, MOST_LENGTH, escaped
from modgraph.graph.model import Problem

LABEL = r'"(?:[^"<>&;#\n]|#(?:\d+|quot|lt|gt|amp);|</?b>|<br/>)*"'
NODE = rf"(n\d+)(?:\(\[{LABEL}\]\)|\[\[{LABEL}\]\]|\(\({LABEL}\)\)|\[{LABEL}\]|\({LABEL}\))"
STYLE = r"[\w\-]+:#?[\w ]+(?:,[\w\-]+:#?[\w ]+)*"
LINES = {
    "node": re.compile(rf" +{NODE}"),
    "frame": re.compile(rf" +subgraph g\d+\[{LABEL}\]"),
    "end": re.compile(r" +end"),
    "edge": re.compile(rf"  (n\d+) (?:-->|-\.->|==>|~~~)(?:\|{LABEL}\|)? (n\d+)"),
    "style": re.compile(rf"  (?:style g\d+|classDef \w+) {STYLE}"),
    "class": re.compile(r"  class n\d+(?:,n\d+)* \w+"),
}


def read(text: str) -> dict[str, list[re.Match[str]]]:
    """The lines of a diagram by kind; fails on one that is of none."""
    _, front, body = text.split("---\n", 2)
    assert re.fullmatch(r'title: "[^\n]*"\nconfig:\n  flowchart:\n    wrappingWidth: \d+\n', front)
    first, *lines, last, end = body.split("\n")
    assert first in ("flowchart TB", "flowchart LR")
    assert last.startswith("%% ")
    assert end == ""
    found: dict[str, list[re.Match[str]]] = {kind: [] for kind in LINES}
    for line in lines:
        kinds = [(kind, match) for kind, pattern in LINES.items() if (match := pattern.fullmatch(line))]
        assert len(kinds) == 1, line
        found[kinds[0][0]].append(kinds[0][1])
    assert len(found["frame"]) == len(found["end"])
    names = [match[1] for match in found["node"]]
    assert len(names) == len(set(names))
    assert {end for match in found["edge"] for end in match.groups()} <= set(names)
    return found


@pytest.mark.parametrize("options", [None, PictureOptions(depth=0), PictureOptions(fold=False, direction="LR")])
def test_every_line_is_of_the_grammar_whatever_the_names(nets, options):
    for net in nets.values():
        assert read(str(render(net().graph(), "mermaid", options)))["node"]


def test_the_card_the_fold_and_the_shape_are_those_of_the_picture(nets):
    lines = str(render(nets["residual"](3).graph(), "mermaid")).split("\n")
    assert '    subgraph g1["<b>blocks.0 – 2 ×3</b> · Block · 32"]' in lines
    assert (
        '      n2["<b>Linear</b> 4 → 4 · fc1 · 16<br/><b>ReLU</b> · act<br/><b>Linear</b> 4 → 4 · fc2 · 16"]' in lines
    )
    assert '  n1 -->|"4"| n2' in lines
    assert lines[-2] == "%% nothing was cut"


def test_a_comment_has_no_tags(nets):
    picture = picture_of(nets["residual"](1).graph(), PictureOptions())
    last = mermaid.write_mermaid(replace(picture, notes=("<img src=x onerror=y> --> <b",))).splitlines()[-1]
    assert last.startswith("%% ")
    assert not set(last) & set("<>")


# Source: `directiveRegex` of mermaid 11, which is looked for in the whole text but its front matter.
DIRECTIVE = re.compile(r"%%\{")


@pytest.mark.parametrize("text", ['%%{init:{"theme":"dark"}}%%', "%%%{init: {}}%%", "%\x1b%{wrap}", "%\u200b%{wrap}%%"])
def test_a_message_is_no_directive(sketch, text: str):
    graph = replace(sketch(text).graph(), problems=(Problem(stage="predict", message=text),))
    body = str(render(graph, "mermaid")).split("---\n", 2)[2]
    assert not DIRECTIVE.search(body)
    assert "init" in body or "wrap" in body


def test_states_are_words_and_lines(nets):
    text = str(render(nets["states"]().graph(), "mermaid"))
    for words in ("▲ unregistered", "◌ static only", "● runtime only", "✕ never called", "↺ same as"):
        assert f"<b>{words}</b>" in text
    assert "classDef static_only stroke:#6B7280,stroke-width:2px,stroke-dasharray:6 4" in text


def wide_net(sketch, count: int):
    """Unlike layers beside each other, each in a container of its own."""
    net = sketch("Wide")
    ends = []
    for number in range(count):
        net.module(f"part{number}", f"model.Part{number}")
        net.enter(f"part{number}")
        for inner in ("a", "b"):
            net.module(f"part{number}.{inner}", f"model.Layer{number}{inner}", (4, 5 + number))
        ends.append(net.call(f"part{number}.b", net.call(f"part{number}.a", "input:x"), "input:x"))
        net.leave()
    net.output(net.op("torch.cat", *ends))
    return net.graph()


@pytest.mark.parametrize("options", [None, PictureOptions(depth=3)])
@pytest.mark.parametrize("count", [30, 180, 400])
def test_the_limits_hold_and_what_was_cut_is_the_last_line(sketch, count, options):
    text = str(render(wide_net(sketch, count), "mermaid", options))
    assert len(read(text)["edge"]) <= MOST_EDGES
    assert len(text) <= MOST_LENGTH
    if count > 100:
        assert re.match(r"%% .*(drawn to depth 0 of 1|left out)", text.splitlines()[-1])


def many_inputs(sketch):
    net = sketch()
    net.output(net.op("torch.cat", *(f"input:{number}" for number in range(600))))
    return net.graph()


def test_hundreds_of_inputs_are_one_node_but_for_the_first_and_the_last(sketch):
    text = str(render(many_inputs(sketch), "mermaid"))
    assert len(read(text)["node"]) < 80
    assert "more inputs" in text


def test_what_passes_the_limits_even_closed_is_said_to_be_too_large(sketch, monkeypatch):
    monkeypatch.setattr(mermaid, "MOST_EDGES", 5)
    text = str(render(many_inputs(sketch), "mermaid"))
    assert len(read(text)["node"]) == 1
    assert text.splitlines()[-1] == "%% left out: everything"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("layer_norm", "layer_norm"),
        ("_x_", "#95;x#95;"),
        ('"a" <b> & #1;', "#quot;a#quot; #lt;b#gt; #amp; #35;1#59;"),
        ("- one", "#45; one"),
        ("s0 - 1", "s0 - 1"),
        ("a\nb\u202e", "a b"),
        ("www.x", "www#46;x"),
        ("64×56×56 · int64", "64×56×56 · int64"),
    ],
)
def test_what_has_a_meaning_is_written_as_an_entity(text, expected):
    assert escaped(text) == expected


def test_a_depth_far_beyond_the_levels_that_there_are_is_tried_once(nets, monkeypatch):
    tried = []

    def counted(graph, options=None, **more):
        tried.append(options.depth)
        return picture_of(graph, options, **more)

    monkeypatch.setattr(mermaid, "picture_of", counted)
    monkeypatch.setattr(mermaid, "MOST_LENGTH", 100)
    render(nets["residual"]().graph(), "mermaid", PictureOptions(depth=10**9))
    assert len(tried) < 6
