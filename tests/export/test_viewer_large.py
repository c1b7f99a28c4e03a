"""The interactive page of a large model: opening everything in slices, and elements for what is seen alone."""

# ruff: noqa: F811 (a fixture that is imported has the name of an argument)

from __future__ import annotations

import pytest

from modgraph.export.look.options import PictureOptions
from modgraph.graph.model import Graph
from tests.export.browsing import browser, complaints, new_page, usual_page, visit  # noqa: F401

pytestmark = [pytest.mark.needs_browser, pytest.mark.xdist_group("browser")]

STAGES, BLOCKS, LAYERS = 8, 10, 9


def large(sketch) -> Graph:
    """8 stages of 10 blocks of 9 layers, each of another size, so that nothing folds."""
    net = sketch("Large")
    x = "input:x"
    for stage in range(STAGES):
        net.module(f"s{stage}", "model.Stage")
        net.enter(f"s{stage}")
        for block in range(BLOCKS):
            path = f"s{stage}.b{block}"
            net.module(path, "model.Block")
            net.enter(path)
            y = x
            for layer in range(LAYERS):
                net.module(f"{path}.fc{layer}", "Linear", (4 + block + BLOCKS * stage, 4 + layer))
                y = net.call(f"{path}.fc{layer}", y)
            x = net.op("torch.add", y, x)
            net.leave()
        net.leave()
    net.output(x)
    return net.graph()


DONE = "() => /^[0-9]+ opened$/.test(document.getElementById('said').textContent)"
PATHS = "nodes => nodes.map((node) => node.dataset.path)"


def open_everything(page) -> None:
    page.evaluate("document.getElementById('open-all').click()")
    page.wait_for_function(DONE)


def test_everything_is_opened_while_what_is_seen_stays_and_can_be_used(visit, sketch):
    page = visit(large(sketch))
    seen = page.evaluate(
        """() => {
          const paths = () => [...document.querySelectorAll(".spot[data-path]")].map((node) => node.dataset.path);
          const before = paths();
          document.getElementById("open-all").click();
          const said = document.getElementById("said").textContent;
          const same = paths().join() === before.join();
          const closed = document.querySelector('[data-path="s3.b4"]');
          closed.dispatchEvent(new MouseEvent("click", { bubbles: true }));
          return { same, said, opened: paths().includes("s3.b4.fc0") };
        }"""
    )
    assert seen["same"]
    assert seen["said"].startswith("Opening 80 containers")
    assert seen["opened"]
    page.wait_for_function(DONE)
    assert page.locator("#world .item.container").count() == 0
    assert page.locator("#progress").is_hidden()
    assert "s3.b4.fc3" in page.eval_on_selector_all(".spot[data-path]", PATHS)


@pytest.mark.parametrize("way", ["document.getElementById('stop').click()", "leave"])
def test_opening_everything_can_be_stopped_and_then_nothing_has_been_opened(visit, sketch, way):
    page = visit(large(sketch))
    before = page.eval_on_selector_all(".spot[data-path]", PATHS)
    press = "document.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }))"
    page.evaluate(f"() => {{ document.getElementById('open-all').click(); {press if way == 'leave' else way}; }}")
    page.wait_for_timeout(250)
    assert page.eval_on_selector_all(".spot[data-path]", PATHS) == before
    assert page.locator("#progress").is_hidden()


def test_what_the_reader_closes_meanwhile_is_closed_when_all_is_open(visit, sketch):
    page = visit(large(sketch))
    page.evaluate(
        """() => {
          document.getElementById("open-all").click();
          document.querySelector('.head[data-path="s0"]').dispatchEvent(new MouseEvent("click", { bubbles: true }));
        }"""
    )
    page.wait_for_function("() => document.querySelector('.head[data-path=\"s1.b0\"]')")
    assert page.locator('.spot[data-path="s0"]').get_attribute("aria-expanded") == "false"


def test_progress_is_shown_and_has_a_name(visit, sketch):
    page = visit(large(sketch))
    page.evaluate(
        "() => { performance.now = ((real) => () => real() + 1000 * (window.turns = (window.turns || 0) + 1))(performance.now.bind(performance)); }"
    )
    page.evaluate("document.getElementById('open-all').click()")
    page.wait_for_function("() => !document.getElementById('progress').hidden")
    assert page.get_by_role("progressbar", name="Laid out").count() == 1
    assert page.get_by_role("button", name="Stop").is_visible()
    page.wait_for_function(DONE)


def test_of_a_large_drawing_there_is_what_is_seen_and_each_thing_when_it_is_asked_for(visit, sketch):
    page = visit(large(sketch))
    open_everything(page)
    drawn = page.eval_on_selector_all(".spot[data-path]", PATHS)
    assert len(drawn) < STAGES * BLOCKS * LAYERS / 2
    assert "s7.b9.fc8" not in drawn
    page.evaluate("location.hash = 's7.b9.fc8'")
    page.wait_for_function("() => document.querySelector('.spot.selected')?.dataset.path === 's7.b9.fc8'")
    page.wait_for_function("() => !document.querySelector('[data-path=\"s0.b0.fc3\"]')")
    page.keyboard.press("ArrowUp")
    assert page.locator(".spot.selected").get_attribute("data-path") == "s7.b9.fc7"
    page.locator("#stage").hover()
    for _ in range(4):
        page.mouse.wheel(0, 120)
    page.wait_for_function("() => document.querySelector('[data-path=\"s7.b8.fc0\"]')")


def test_a_depth_that_asks_for_very_much_is_opened_when_the_page_can_be_used(visit, sketch):
    page = visit(large(sketch), options=PictureOptions(depth=9))
    assert page.locator(".spot[data-path]").count() >= STAGES
    page.wait_for_function("() => document.querySelector('[data-path=\"s0.b0.fc3\"]')")
