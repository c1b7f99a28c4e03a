"""No text of a picture is cut off, lies on another or is crossed, by the geometry of its SVG."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from modgraph.export import render
from modgraph.export.look.metrics import text_width
from modgraph.export.look.options import PictureOptions
from modgraph.export.picture.placing import moves_of

problems = runpy.run_path(str(Path(__file__).with_name("svg_geometry.py")))["problems"]

pytestmark = pytest.mark.needs_dot


@pytest.mark.parametrize("net", ["residual", "states", "predicted", "masked", "harmful"])
@pytest.mark.parametrize("options", [{}, {"depth": 0}, {"fold": False}, {"color": "parameters"}])
def test_every_kind_of_picture_is_laid_out_well(nets, net, options):
    assert problems(str(render(nets[net]().graph(), "svg", PictureOptions(**options)))) == []


def decoder_net(sketch, count: int):
    """Layers that begin with a narrow card and go on with a wide frame."""
    net = sketch("Decoder")
    net.modules("layers ModuleList")
    x = "input:x"
    for number in range(count):
        path = f"layers.{number}"
        net.module(path, "model.DecoderLayer")
        net.modules(f"{path}.norm LayerNorm *", f"{path}.attention model.Attention")
        net.modules(*(f"{path}.attention.{name} Linear *" for name in ("query", "key", "value", "out")))
        net.enter(path)
        normed = net.call(f"{path}.norm", x)
        net.enter(f"{path}.attention")
        made = [net.call(f"{path}.attention.{name}", normed) for name in ("query", "key", "value")]
        mixed = net.call(f"{path}.attention.out", net.op("torch.matmul", *made))
        net.leave()
        x = net.op("torch.add", mixed, x)
        net.leave()
    net.output(x)
    return net.graph()


def test_the_badge_of_a_fold_is_not_crossed_by_the_edge_into_it(sketch):
    svg = str(render(decoder_net(sketch, 12), "svg"))
    assert "×12" in svg
    assert problems(svg) == []


IMAGES = sorted((Path(__file__).parents[2] / "docs" / "images").glob("*.svg"))


@pytest.mark.parametrize("image", IMAGES, ids=lambda image: image.stem)
def test_the_pictures_of_the_gallery_are_laid_out_well(image):
    assert problems(image.read_text(encoding="utf-8")) == []


def test_the_gallery_shows_every_picture_and_is_small():
    pages = {page: page.read_text(encoding="utf-8") for page in IMAGES[0].parents[1].glob("*.md")}
    found = {page.stem: re.findall(r"\]\(images/([^)]+\.svg)\)", text) for page, text in pages.items()}
    shown = found["gallery"]
    readme = (IMAGES[0].parents[2] / "README.md").read_text(encoding="utf-8")
    embedded = re.findall(r'"docs/images/([^"]+\.svg)"', readme)
    assert sorted({*shown, *found["tutorial"], *embedded}) == [image.name for image in IMAGES]
    assert {"googlenet.svg", "densenet121.svg", "swin_t.svg", "lm_32.svg", "moe.svg"} <= set(shown)
    assert sum(image.stat().st_size for image in IMAGES) < 2_000_000


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            r'(text-anchor="start" x=")[\d.]+(" y="[-\d.]+"[^>]*>fc1</text)',
            r"\g<1>0.0\2",
            "text 'fc1' passes the border",
        ),
        (r">fc1</text", ">fc1 with a name that is longer than its card</text", "overlap"),
        (r">stem</text", ">stem with a name that passes the border of its card</text", "passes the border of stem"),
    ],
)
def test_what_is_wrong_is_found(nets, old, new, said):
    svg = re.sub(old, new, str(render(nets["residual"](1).graph(), "svg")), count=1)
    assert any(said in problem for problem in problems(svg)), problems(svg)


@pytest.mark.parametrize(("x", "moves"), [(40, False), (92, True), (-4, True)], ids=["inside", "right", "left"])
def test_a_label_that_would_be_cut_off_by_the_border_goes_to_the_other_side(x, moves):
    line = 88 if x > 50 else 12
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 200"><g class="graph"><g><polygon fill="white" '
        'points="0,0 0,200 100,200 100,0"/></g><g class="edge" id="e">'
        f'<path d="M{line},10 C{line},60 {line},120 {line},190"/>'
        f'<text text-anchor="start" x="{x}" y="100" font-size="10.00" font-family="Arial">64×64</text></g></g></svg>'
    )
    found = moves_of(svg.encode())
    assert ("e" in found) == moves
    if found:
        assert found["e"] is not None
        left = x + found["e"][0]
        assert left >= 0
        assert left + text_width("64×64", 10) <= 100
