"""How fast the interactive page is with ten thousand modules: `python tests/benchmarks/page_speed.py`.

Two models, made by hand: a deep one of 10,000 modules in blocks that all differ, so that nothing folds, and a flat one
with 2,000 children in one container. Printed are the size of the page, the time to write it, the time from opening it
until it can be used, and the longest time that opening a container takes.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

sys.path.insert(0, str(Path(__file__).parent.parent / "export"))
from conftest import Sketch

from modgraph.export.page.html import render
from modgraph.graph.model import Graph

READY = "performance.timing.domContentLoadedEventEnd - performance.timing.responseEnd"
OPEN_ALL = """() => new Promise((done) => {
  const times = [];
  const next = () => {
    const closed = [...document.querySelectorAll(".item.container > .spot")][0];
    if (!closed || times.length === 60) {
      done(times);
      return;
    }
    const start = performance.now();
    closed.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    document.body.getBoundingClientRect();
    times.push(performance.now() - start);
    setTimeout(next, 0);
  };
  next();
})"""


def deep(stages: int = 20, blocks: int = 25, layers: int = 18) -> Graph:
    """20 stages of 25 blocks of 18 layers and a residual addition; every block has its own width."""
    net = Sketch("Deep")
    x = "input:x"
    for stage in range(stages):
        net.module(f"s{stage}", "model.Stage")
        net.enter(f"s{stage}")
        for block in range(blocks):
            path = f"s{stage}.b{block}"
            net.module(path, "model.Block")
            net.enter(path)
            y = x
            for layer in range(layers):
                net.module(f"{path}.fc{layer}", "Linear", (4 + block + blocks * stage, 4))
                y = net.call(f"{path}.fc{layer}", y)
            x = net.op("torch.add", y, x)
            net.leave()
        net.leave()
    net.output(x)
    return net.graph()


def flat(children: int = 2000) -> Graph:
    """One container of 2,000 layers, each fed by the one before and every tenth by the one ten before as well."""
    net = Sketch("Flat")
    net.module("layers", "Sequential")
    net.enter("layers")
    ends = ["input:x"]
    for number in range(children):
        net.module(f"layers.{number}", "Linear", (4 + number, 4))
        feeds = (ends[-1], ends[-10]) if number % 10 == 0 and number else (ends[-1],)
        ends.append(net.call(f"layers.{number}", *feeds))
    net.leave()
    net.output(ends[-1])
    return net.graph()


def measure(browser: Browser, name: str, graph: Graph) -> None:
    start = time.perf_counter()
    page_text = render(graph)
    written = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        file.write_text(page_text, encoding="utf-8")
        page = browser.new_page(reduced_motion="reduce")
        page.goto(file.as_uri())
        ready = page.evaluate(READY)
        times = page.evaluate(OPEN_ALL)
        page.close()
    slowest = f"{max(times):.0f} ms, median {sorted(times)[len(times) // 2]:.0f} ms of {len(times)}" if times else "-"
    print(
        f"{name}: {len(graph.modules):,} modules, {len(page_text) / 1e6:.2f} MB, written in {written:.1f} s; "
        f"usable after {ready} ms; slowest container {slowest}"
    )


def main() -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--headless=new", "--no-sandbox"]
        )
        for name, graph in (("deep", deep()), ("flat", flat())):
            measure(browser, name, graph)
        browser.close()


if __name__ == "__main__":
    main()
