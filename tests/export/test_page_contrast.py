"""Who sees little, or hears the page: contrast of text and of signs, and what axe-core finds.

axe-core is no part of the repository. It is taken from `MODGRAPH_AXE`, the path of `axe.min.js`, or from where
`npm install -g axe-core` has put it; without it that test is skipped.
"""

# ruff: noqa: F811 (a fixture that is imported has the name of an argument)

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from modgraph.export.look.options import PictureOptions
from tests.export.browsing import browser, complaints, new_page, usual_page, visit  # noqa: F401
from tests.export.test_turns import cell_net
from tests.export.test_viewer import nested, with_costs

pytestmark = [pytest.mark.needs_browser, pytest.mark.xdist_group("browser")]

TALL = {"viewport": {"width": 1700, "height": 2600}}

CONTRAST = """() => {
  const parts = (colour) => (colour.match(/[0-9.]+/g) || []).map(Number);
  const isClear = (colour) => colour === "none" || colour === "" || parts(colour)[3] === 0;
  const light = (colour) => {
    const [r, g, b] = parts(colour).map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const probe = document.createElement("p");
  document.body.append(probe);
  const resolved = (value) => { probe.style.color = value; return getComputedStyle(probe).color; };
  const groundOf = (node) => {
    const style = getComputedStyle(node);
    const isShape = node instanceof SVGGraphicsElement && node.localName !== "svg";
    const ground = isShape ? (/^(rect|circle)$/.test(node.localName) ? style.fill : "none") : style.backgroundColor;
    return isClear(ground) ? null : ground;
  };
  const under = (node, x, y) => {
    const below = document.elementsFromPoint(x, y);
    const from = below.findIndex((each) => each === node || each.contains(node) || node.contains(each));
    for (const each of below.slice(Math.max(from, 0))) {
      const ground = each === node && node.localName === "text" ? null : groundOf(each);
      if (ground) return ground;
    }
    return getComputedStyle(document.body).backgroundColor;
  };
  const found = [];
  const check = (name, least, one, other) => {
    const is = ratio(one, other);
    if (is < least) found.push(`${name}: ${is.toFixed(2)} of ${one} on ${other}`);
  };
  let texts = 0;
  for (const node of document.querySelectorAll("#drawing text, header *, #panel *, #sides *")) {
    const own = node.localName === "text" || [...node.childNodes].some((each) => each.nodeType === 3 && each.textContent.trim());
    const range = document.createRange();
    range.selectNodeContents([...node.childNodes].find((each) => each.nodeType === 3 && each.textContent.trim()) || node);
    const box = (node.localName === "text" ? node : range).getBoundingClientRect();
    if (!own || !box.width || box.bottom > innerHeight || node.localName === "option" || node.disabled) continue;
    const style = getComputedStyle(node);
    const ink = node.localName === "text" ? style.fill : style.color;
    texts += 1;
    check(`text ${node.getAttribute("class") || node.localName} "${node.textContent.slice(0, 20)}"`, 4.5, ink,
      under(node, box.left + Math.min(6, box.width / 2), box.top + box.height / 2));
  }
  let signs = 0;
  const sign = (node, ink, ...grounds) => {
    signs += 1;
    grounds.forEach((ground) => check(node.getAttribute("class"), 3, ink, ground));
  };
  const field = (node) => resolved(getComputedStyle(node).getPropertyValue("--under"));
  for (const node of document.querySelectorAll("#drawing .bar:not([class*=heat])")) {
    sign(node, getComputedStyle(node).fill, getComputedStyle(node.previousElementSibling).fill, field(node));
  }
  for (const node of document.querySelectorAll(".line, .state-frame, .join-ring, .card-border, .tag-fill, .more-fill, .frame")) {
    const outside = node.matches(".frame") ? field(node.parentNode.parentNode) : field(node);
    sign(node, getComputedStyle(node).stroke, outside);
  }
  for (const node of document.querySelectorAll(".badge, .pill-fill, .mark")) sign(node, getComputedStyle(node).fill, field(node));
  for (const node of document.querySelectorAll(".chevron")) {
    const style = getComputedStyle(node);
    sign(node, isClear(style.fill) ? style.stroke : style.fill, node.closest(".head") ? field(node) : getComputedStyle(node.closest(".spot").querySelector(".row-fill, .more-fill")).fill);
  }
  for (const node of document.querySelectorAll("#query, #colour, .note, .selected > .outline")) {
    const style = getComputedStyle(node);
    const ink = node.matches(".outline") ? style.stroke : style.borderLeftColor;
    sign(node, ink, node.matches(".outline") ? field(node) : getComputedStyle(node.closest("#panel") || document.body).backgroundColor);
  }
  probe.remove();
  return { texts, signs, found: [...new Set(found)] };
}"""
"""Text below 4.5:1, and signs and borders below 3:1, each with what it lies on, by the styles that hold on the page."""


def pages(nets, sketch) -> dict[str, tuple[Any, PictureOptions, str]]:
    every = PictureOptions(depth=9)
    return {
        "states": (nets["states"]().graph(), every, ""),
        "nested": (nested(sketch), every, "#body.1.unused"),
        "closed": (nested(sketch), PictureOptions(depth=0), "#body"),
        "masked": (nets["masked"]().graph(), every, ""),
        "alike": (nets["residual"]().graph(), every, "#blocks.1.fc1"),
        "turns": (cell_net(sketch, 9), every, ""),
        **{
            f"by {measure}": (with_costs(nested(sketch)), PictureOptions(depth=9, color=measure), "#body.1.inner.fc")
            for measure in ("parameters", "time")
        },
    }


PAGES = ("states", "nested", "closed", "masked", "alike", "turns", "by parameters", "by time")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_text_has_4_5_to_1_and_signs_have_3_to_1(visit, nets, sketch, name, scheme):
    graph, options, at = pages(nets, sketch)[name]
    page = visit(graph, at, options=options, color_scheme=scheme, **TALL)
    result = page.evaluate(CONTRAST)
    assert result["texts"] > 20
    assert result["signs"] > 4
    assert result["found"] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("color", ["kind", "time"])
def test_what_a_filter_does_not_show_can_be_read_all_the_same(visit, sketch, color, scheme):
    options = PictureOptions(depth=9, color=color)
    page = visit(with_costs(nested(sketch)), options=options, color_scheme=scheme, **TALL)
    fill = "node => getComputedStyle(node).fill"
    row = page.locator('[data-path="stem"] .row-fill')
    before = row.evaluate(fill)
    page.locator('[data-filter="never called"]').click()
    assert row.evaluate(fill) != before
    assert page.evaluate(CONTRAST)["found"] == []


@cache
def axe() -> str:
    """The source of axe-core, or "" where it is not there."""
    known = os.environ.get("MODGRAPH_AXE")
    if known is None and (npm := shutil.which("npm")):
        found = subprocess.run([npm, "root", "-g"], capture_output=True, text=True, check=False).stdout.strip()
        known = f"{found}/axe-core/axe.min.js"
    return Path(known).read_text(encoding="utf-8") if known and Path(known).is_file() else ""


AXE = """async () => (await axe.run(document)).violations.map(({ id, nodes }) =>
  `${id}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 90)).join(" | ")}`)"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", ["open", "closed", "panel", "menu", "search"])
def test_axe_finds_nothing(visit, nets, sketch, view, scheme):
    if not axe():
        pytest.skip("axe-core is not there: npm install -g axe-core, or MODGRAPH_AXE")
    graph = nets["states"]().graph() if view == "open" else with_costs(nested(sketch))
    at = "#body.1.unused" if view == "panel" else ""
    page = visit(graph, at, options=PictureOptions(depth=0 if view == "closed" else 9), color_scheme=scheme)
    if view == "closed":
        page.locator("#close-all").click()
    if view == "menu":
        page.locator("#save").click()
    if view == "search":
        page.locator("#query").fill("fc")
    page.evaluate(axe())
    assert page.evaluate(AXE) == []
