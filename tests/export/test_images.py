"""DOT -> SVG, PNG, PDF: which engine is used, its limits, its fonts, and the same bytes every time."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from modgraph.errors import ExportError
from modgraph.export.look.options import PictureOptions
from modgraph.export.picture import images
from modgraph.export.picture.choosing import picture_of

SMALL = 'digraph { a [label=<<b>Hello</b>>, fontname="Arial"]; a -> b }'


def has_graphviz() -> bool:
    try:
        images.find_engine()
    except images.RendererMissingError:
        return False
    return True


needs_dot = pytest.mark.skipif(not has_graphviz(), reason="there is no Graphviz here")


def program(path: Path, lines: str) -> Path:
    """An executable that stands in for `dot`."""
    path.write_text(f"#!{sys.executable}\n{lines}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


posix = pytest.mark.skipif(os.name == "nt", reason="the stand-in for dot is a script with a #! line")


@posix
def test_the_program_that_the_environment_names_comes_first(tmp_path, monkeypatch):
    named = program(tmp_path / "mine", "")
    program(tmp_path / "dot", "")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("MODGRAPH_DOT", str(named))
    assert images.find_engine() == images.Engine(str(named))
    monkeypatch.delenv("MODGRAPH_DOT")
    assert images.find_engine() == images.Engine(str(tmp_path / "dot"))


def test_a_named_program_that_is_not_there_is_an_error(monkeypatch):
    monkeypatch.setenv("MODGRAPH_DOT", "/nowhere/dot")
    with pytest.raises(images.RendererMissingError, match="MODGRAPH_DOT names '/nowhere/dot'"):
        images.find_engine()


def test_without_any_graphviz_the_error_says_what_to_install(monkeypatch, tmp_path, nets):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("MODGRAPH_DOT", raising=False)
    monkeypatch.setattr(images.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(images.RendererMissingError) as caught:
        images.render(nets["residual"](1).graph(), PictureOptions(), "svg")
    assert isinstance(caught.value, ExportError)
    assert caught.value.message == "no Graphviz found"
    assert caught.value.hint == 'pip install "modgraph[render]"'


@posix
def test_a_layout_that_takes_too_long_comes_coarser_and_says_so(tmp_path, monkeypatch, nets):
    """The stand-in hangs on a picture with frames, and prints what it was given otherwise."""
    program(
        tmp_path / "dot",
        "import sys, time\ntext = sys.stdin.read()\nif 'subgraph' in text: time.sleep(60)\nprint('<svg>' + text)",
    )
    monkeypatch.setenv("MODGRAPH_DOT", str(tmp_path / "dot"))
    monkeypatch.setattr(images, "TIME_LIMIT", 5.0)
    said = images.render(nets["residual"](3).graph(), PictureOptions(), "svg").decode()
    assert "drawn to depth 1 of 2" in said
    assert "▸ Block" in said
    assert images.LATE in said


@posix
def test_what_would_take_too_long_is_not_begun(tmp_path, monkeypatch, nets):
    """By what is in the picture, so that a busy machine gives the same."""
    program(
        tmp_path / "dot",
        f"open({str(tmp_path / 'runs')!r}, 'a').write('x')\nprint('<svg>' + __import__('sys').stdin.read())",
    )
    monkeypatch.setenv("MODGRAPH_DOT", str(tmp_path / "dot"))
    whole = picture_of(nets["residual"](3).graph(), PictureOptions())
    monkeypatch.setattr(images, "MOST_CROSSINGS", images.count_nodes(whole) * len(whole.arrows) - 1)
    said = images.render(nets["residual"](3).graph(), PictureOptions(), "svg").decode()
    assert images.LATE not in said
    assert (tmp_path / "runs").read_text() == "x"
    monkeypatch.setattr(images, "MOST_CROSSINGS", -1)
    with pytest.raises(images.LayoutLimitError, match="would take too long for"):
        images.render(nets["residual"](3).graph(), PictureOptions(), "svg")
    assert (tmp_path / "runs").read_text() == "x"


@posix
def test_a_layout_that_never_ends_is_an_error_of_ours(tmp_path, monkeypatch, nets):
    program(tmp_path / "dot", "import time\ntime.sleep(60)")
    monkeypatch.setenv("MODGRAPH_DOT", str(tmp_path / "dot"))
    monkeypatch.setattr(images, "TIME_LIMIT", 0.5)
    with pytest.raises(images.LayoutLimitError, match=r"did not finish the SVG in 0\.[0-9]+ s"):
        images.render(nets["residual"](1).graph(), PictureOptions(depth=0), "svg")


@posix
@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_DATA holds on Linux")
def test_a_layout_that_eats_all_memory_is_stopped(tmp_path, monkeypatch):
    program(tmp_path / "dot", "x = bytearray(1 << 29)\nprint('<svg>')")
    monkeypatch.setenv("MODGRAPH_DOT", str(tmp_path / "dot"))
    monkeypatch.setattr(images, "MEMORY_LIMIT", 1 << 28)
    with pytest.raises(images.LayoutLimitError):
        images.draw(SMALL, "svg")


@posix
def test_what_graphviz_says_is_passed_on(tmp_path, monkeypatch):
    program(tmp_path / "dot", "import sys\nprint('Error: syntax error in line 1', file=sys.stderr)\nsys.exit(1)")
    monkeypatch.setenv("MODGRAPH_DOT", str(tmp_path / "dot"))
    with pytest.raises(ExportError, match="could not draw the SVG: Error: syntax error in line 1"):
        images.draw(SMALL, "svg")


@posix
def test_many_nodes_bound_the_network_simplex(tmp_path, monkeypatch):
    program(tmp_path / "dot", "import sys\nprint('<svg>', sys.argv[1:])")
    monkeypatch.setenv("MODGRAPH_DOT", str(tmp_path / "dot"))
    assert b"-Gnslimit=2" in images.draw(SMALL, "svg", many=True)
    assert b"-Gnslimit" not in images.draw(SMALL, "svg")


@pytest.mark.needs_dot
@needs_dot
def test_images_are_what_they_say(nets):
    graph = nets["residual"](2).graph()
    svg = images.render(graph, PictureOptions(), "svg")
    assert ElementTree.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"
    assert b"<!--" not in svg
    assert b"Liberation Sans" in svg
    assert images.render(graph, PictureOptions(), "png")[:8] == b"\x89PNG\r\n\x1a\n"
    assert images.render(graph, PictureOptions(), "pdf")[:5] == b"%PDF-"


@pytest.mark.needs_dot
@needs_dot
@pytest.mark.parametrize("format", ["svg", "png", "pdf"])
def test_the_same_bytes_in_another_folder(format, nets, tmp_path, monkeypatch):
    graph = nets["states"]().graph()
    first = images.render(graph, PictureOptions(), format)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert images.render(graph, PictureOptions(), format) == first


@pytest.mark.needs_dot
@needs_dot
def test_a_picture_that_would_be_too_long_is_drawn_with_fewer_dots(monkeypatch):
    chain = "; ".join(f"n{number} -> n{number + 1}" for number in range(30))
    monkeypatch.setattr(images, "LONGEST_SIDE", 1000)
    width, height = images.png_size(images.draw(f"digraph {{ {chain} }}", "png"))
    assert max(width, height) <= 1000
    assert max(width, height) > 900


@pytest.mark.needs_dot
@needs_dot
def test_text_has_glyphs_on_a_machine_without_fonts(tmp_path, monkeypatch):
    """Without the system's fonts, letters and signs still differ from each other: none of them is a box."""
    monkeypatch.setattr(images, "_FONT_FOLDERS", ())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    drawn = {
        sign: images.draw(f'digraph {{ a [label="{sign}" fontname="Arial" width=1 fixedsize=true] }}', "png")
        for sign in "AB▸▲●✕✖↺‖−×→"
    }
    assert len(set(drawn.values())) == len(drawn)


def test_every_sign_and_letter_of_the_pictures_is_in_the_faces_that_come_with_modgraph():
    names = sorted(path.name for path in images.FONTS.glob("*.ttf"))
    assert names == [
        "ModgraphMarks-Bold.ttf",
        "ModgraphMarks-Regular.ttf",
        "ModgraphMono-Regular.ttf",
        "ModgraphSans-Bold.ttf",
        "ModgraphSans-Regular.ttf",
    ]
    assert sum(path.stat().st_size for path in images.FONTS.iterdir()) < 400_000
    assert "SIL OPEN FONT LICENSE" in (images.FONTS / "OFL.txt").read_text()


def test_the_font_cache_falls_back_to_the_folder_at_hand(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    monkeypatch.setenv("HOME", str(blocked))
    assert images._font_cache(tmp_path / "here") == tmp_path / "here"
    assert (tmp_path / "here" / "fonts" / "ModgraphSans-Regular.ttf").is_file()


def test_the_date_of_a_pdf_is_overwritten_by_one_of_the_same_length():
    dated = b"<< /CreationDate (D:20261120080000Z) >>"
    assert images.undated_pdf(dated) == b"<< /CreationDate (D:20000101000000Z) >>"


def test_the_version_of_graphviz_is_no_part_of_an_svg():
    svg = b'<!-- Generated by graphviz version 14.1.5\n -->\n<svg font-family="Arial"><!-- a --></svg>'
    tidy = images.tidy_svg(svg)
    assert b"graphviz" not in tidy
    assert tidy.startswith(b"<svg")


def test_drawing_imports_neither_torch_nor_pygraphviz_into_this_process():
    code = "import sys, modgraph.export.picture.images; print(sorted({'torch', 'pygraphviz', 'libcst'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert re.search(r"\S", done.stdout)


@posix
def test_where_not_even_the_closed_model_can_be_laid_out_few_steps_are_drawn(tmp_path, monkeypatch, sketch):
    program(
        tmp_path / "dot",
        "import sys, time\ntext = sys.stdin.read()\nif text.count('->') > 14: time.sleep(60)\nprint('<svg>' + text)",
    )
    monkeypatch.setenv("MODGRAPH_DOT", str(tmp_path / "dot"))
    monkeypatch.setattr(images, "TIME_LIMIT", 5.0)
    net = sketch()
    made = ["input:x"]
    for number in range(20):
        net.module(f"fc{number}", "Linear", (4 + number, 4))
        made.append(net.call(f"fc{number}", *made[-3:]))
    net.output(made[-1])
    said = images.render(net.graph(), PictureOptions(), "svg").decode()
    assert "17 steps in the middle left out" in said


def test_no_arrow_goes_through_what_became_of_a_frame():
    """What stands on a bar at the head of a frame is drawn behind the arrows in the file, and so over them."""
    bar = b'<polygon fill="#0072b2" points="1,1"/>\n<text x="1">~ changed</text>\n'
    frame = (
        b'<g id="frame:a" class="cluster">\n<title>cluster_a</title>\n<g id="a_frame:a"><a xlink:title="a">\n'
        b'<polygon fill="#f6f7f9" points="0,0"/>\n<text x="1">a</text>\n%b</a>\n</g>\n</g>\n'
    )
    arrow = b'<g class="edge">\n<path d="M0,0"/>\n</g>\n'
    plain = b"<svg>\n<g>\n" + frame % b"" + arrow + b"</g>\n</svg>\n"
    assert images.tidy_svg(b"<svg>\n<g>\n" + frame % bar + arrow + b"</g>\n</svg>\n") == plain.replace(
        b"</g>\n</svg>", bar + b"</g>\n</svg>"
    )
    assert images.tidy_svg(plain) == plain
