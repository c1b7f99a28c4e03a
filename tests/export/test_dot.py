"""Picture -> DOT: well formed for Graphviz whatever the model's names hold, and the same text every time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from xml.etree import ElementTree

import pytest

from modgraph.export.look.metrics import text_width
from modgraph.export.look.options import PictureOptions
from modgraph.export.picture import dot, images
from modgraph.export.picture.choosing import picture_of

ROOT = Path(__file__).parents[2]

HOSTILE = [
    'quote"', "<b>bold</b>", "</script>", "new\nline", "emoji🙂", "שלום", "x" * 10_000, "sl/ash", r"\N\G\E", "&amp;",
    "{a|b}", "%s", "\x00\x1b", "\ud800", "\u202eevil", "  ", "a--b", "<!-- -->", "]]>", "日本語",
]  # fmt: skip


def hostile_net(sketch):
    net = sketch('We<i>rd & "Co" \\N')
    x = "input:x"
    net.module("box<>", 'mod.C"&<>')
    net.enter("box<>")
    for name in HOSTILE:
        net.module(f"box<>.{name}", f"mod.{name}", arguments={"key": name})
        x = net.op("torch.add", net.call(f"box<>.{name}", x), x)
    net.leave()
    net.output(x, 'o"u<t')
    net.problem('a <thing> & "quote" \\N')
    return net.graph()


def labels(text):
    """Every HTML-like label in `text`, parsed as XML."""
    for match in re.finditer(r"label=<(<table.*?</table>)>", text, re.DOTALL):
        yield ElementTree.fromstring(match[1])


def test_every_label_is_well_formed_and_no_element_is_empty_text(nets, sketch):
    texts = [dot.render(net().graph()) for net in nets.values()] + [dot.render(hostile_net(sketch))]
    for text in texts:
        trees = list(labels(text))
        assert trees
        for tree in trees:
            for element in tree.iter():
                if element.tag in ("font", "b"):
                    assert "".join(element.itertext()), "an empty element is a syntax error in Graphviz"


def test_the_colour_bar_is_as_wide_in_every_card(nets):
    """A remark that is wider than the rows would stretch all columns, so the second is given the spare width."""
    for card in re.findall(r"<table border=\"1\".*?</table>", dot.render(nets["states"]().graph())):
        assert 'width="6"' in card
        if 'colspan="4"' in card:
            assert re.search(r'<td align="left" bgcolor="#\w+" width="\d+"><b>|<td align="left" bgcolor="#\w+"><', card)


def test_a_badge_stands_in_the_title_not_as_a_node(nets):
    text = dot.render(nets["residual"](3).graph())
    (title,) = re.findall(r"label=<<table[^\n]*×3</b>", text)
    assert "blocks.0 – 2" in title


def test_nodes_take_no_more_room_than_their_label(nets):
    text = dot.render(nets["residual"](2).graph())
    (node,) = re.findall(r"^  node \[(.*)\];$", text, re.MULTILINE)
    assert " margin=0 " in node
    assert " width=0 " in node
    assert " height=0 " in node


def test_the_main_path_has_weight_eight_and_the_rest_none(nets):
    text = dot.render(nets["residual"](2).graph())
    arrows = [line for line in text.splitlines() if " -> " in line]
    assert sum("weight=8 " in line for line in arrows) == len(arrows) - 1


def test_every_node_frame_and_edge_has_an_id_and_a_tooltip(nets):
    text = dot.render(nets["states"]().graph())
    lines = [line for line in text.splitlines() if re.match(r'\s+("|graph \[)', line) and 'style="invis"' not in line]
    assert len(lines) > 10
    for line in lines:
        assert " id=" in line or "[id=" in line
        assert "tooltip=" in line


def test_graph_attributes_are_those_of_the_look(nets):
    text = dot.render(nets["residual"](2).graph(), PictureOptions(direction="LR"))
    for attribute in ("rankdir=LR", "newrank=true", "nodesep=0.30", "ranksep=0.32", "fontname=Arial"):
        assert attribute in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [('a"b', '"a\\"b"'), (r"\N", r'"\\N"'), ("a&lt;", '"a&amp;lt;"'), ("plain", "plain"), ("node", '"node"')],
)
def test_quoting(text, expected):
    assert dot.quoted(text) == expected


def test_markup_takes_the_meaning_from_every_special_character():
    assert dot.markup('<b>&"\\N') == r"&lt;b&gt;&amp;&quot;\\N"


def test_markup_holds_nothing_that_xml_cannot():
    assert dot.markup("a\x00b\ud800c\nd") == "ab\ufffdc d"


def test_an_unregistered_container_has_a_double_frame(sketch):
    net = sketch()
    net.module("blocks[0]", "model.Block", registered=False)
    net.module("blocks[0].fc", "Linear", (4, 4), registered=False)
    net.enter("blocks[0]")
    net.output(net.op("torch.add", net.call("blocks[0].fc", "input:x"), "input:x"))
    text = dot.render(net.graph())
    assert text.count("subgraph") == 2
    assert 'id="frame:blocks[0]:around"' in text
    assert text.count("unregistered") == 2  # in the legend and in the title of the frame


def test_the_same_text_under_another_hash_seed_and_working_directory(tmp_path):
    script = textwrap.dedent(
        f"""
        import runpy
        from modgraph.export.picture import dot
        nets = runpy.run_path({str(ROOT / "tests" / "export" / "conftest.py")!r})["NETS"]
        for name in sorted(nets):
            print(dot.render(nets[name]().graph()))
        """
    )
    texts = []
    for seed, folder in (("0", ROOT), ("12345", tmp_path)):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=folder, env=environment, capture_output=True, check=True, timeout=60
        )
        texts.append(done.stdout)
    assert texts[0] == texts[1]
    assert len(texts[0]) > 10_000


def _graphviz() -> bool:
    try:
        images.find_engine()
    except images.RendererMissingError:
        return False
    return True


needs_dot = [pytest.mark.needs_dot, pytest.mark.skipif(not _graphviz(), reason="there is no Graphviz here")]


@pytest.mark.needs_dot
@pytest.mark.skipif(not _graphviz(), reason="there is no Graphviz here")
def test_graphviz_takes_hostile_names_and_shows_them_as_they_are(sketch):
    svg = images.render(hostile_net(sketch), PictureOptions(), "svg")
    tree = ElementTree.fromstring(svg)
    said = [element.text or "" for element in tree.iter("{http://www.w3.org/2000/svg}text")]
    for name in ('quote"', "<b>bold</b>", "</script>", r"\N\G\E", "&amp;", "{a|b}", "]]>"):
        assert any(name in text.replace("\u00a0", " ") for text in said), name
    assert b"<script" not in svg
    hints = [element.get("{http://www.w3.org/1999/xlink}title", "") for element in tree.iter()]
    assert any(r"box<>.\N\G\E" in hint for hint in hints)


@pytest.mark.needs_dot
@pytest.mark.skipif(not _graphviz(), reason="there is no Graphviz here")
def test_no_two_texts_of_a_picture_overlap(nets):
    """Boxes of texts, from their anchor and Graphviz's own width; edges' labels included."""
    for net in nets.values():
        picture = picture_of(net().graph())
        svg = ElementTree.fromstring(images.draw(dot.write_dot(picture), "svg"))
        boxes = []
        for element in svg.iter("{http://www.w3.org/2000/svg}text"):
            if not (element.text or "").strip():
                continue
            size = float(element.get("font-size", "12"))
            bold, mono = element.get("font-weight") == "bold", "Courier" in element.get("font-family", "")
            width = 0.95 * text_width((element.text or "").rstrip(), size, bold=bold, mono=mono)
            x, y = float(element.get("x", "0")), float(element.get("y", "0"))
            left = x - width / 2 if element.get("text-anchor") == "middle" else x
            boxes.append((left, y - 0.6 * size, left + width, y, element.text))
        for number, one in enumerate(boxes):
            for other in boxes[number + 1 :]:
                apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
                assert apart, (one, other)


@pytest.mark.needs_dot
@pytest.mark.skipif(not _graphviz(), reason="there is no Graphviz here")
def test_the_main_path_is_straight_also_where_a_shape_is_written_on_it(nets):
    """The x of every point of the main arrows between nodes that are one above the other."""
    text = dot.render(nets["residual"](3).graph())
    main = set(re.findall(r'weight=8 .*?id="([^"]+)"', text))
    svg = ElementTree.fromstring(images.draw(text, "svg"))
    paths = {
        group.get("id"): path.get("d", "")
        for group in svg.iter("{http://www.w3.org/2000/svg}g")
        for path in group.iter("{http://www.w3.org/2000/svg}path")
        if group.get("id") in main
    }
    assert len(paths) == len(main) > 3
    for name, path in paths.items():
        across = [float(x) for x in re.findall(r"(-?[\d.]+),-?[\d.]+", path)]
        assert max(across) - min(across) < 2, name


def _tops(text: str) -> dict[str, float]:
    """By the id of each node: the upper end of its largest shape."""
    svg = ElementTree.fromstring(images.draw(text, "svg"))
    found = {}
    for group in svg.iter("{http://www.w3.org/2000/svg}g"):
        if group.get("class") == "node":
            drawn = [each.get("points", "") for each in group.iter("{http://www.w3.org/2000/svg}polygon")]
            heights = [float(y) for points in drawn for y in re.findall(r",(-?[\d.]+)", points)]
            found[group.get("id", "")] = min(heights, default=0.0)
    return found


@pytest.mark.needs_dot
@pytest.mark.skipif(not _graphviz(), reason="there is no Graphviz here")
@pytest.mark.parametrize("longer", [1, 3], ids=["main path as long", "main path longer"])
def test_parallel_branches_stand_in_one_row(sketch, longer):
    """As in atrous pooling: each takes the same tensor, all are joined, and a longer way beside them sets the rows."""
    net = sketch("Branches")
    net.modules("stem Linear *", "wide ModuleList", "pool Sequential", "head Linear *")
    for number in range(4):
        net.module(f"wide.{number}", "Linear", (5 + number, 4))
    for number in range(longer):
        net.module(f"pool.{number}", "Linear", (4, 4))
    given = net.call("stem", "input:x")
    branches = [net.call(f"wide.{number}", given, shape=(1, 5 + number)) for number in range(4)]
    made = given
    for number in range(longer):
        made = net.op("torch.relu", net.call(f"pool.{number}", made), shape=(1, 9 + number))
        made = net.op("torch.add", made, given)
    net.output(net.call("head", net.op("torch.cat", *branches, made)))
    tops = _tops(dot.render(net.graph(), PictureOptions(fold=False)))
    rows = {tops[f"wide.{number}"] for number in range(4)}
    assert len(rows) == 1, tops
