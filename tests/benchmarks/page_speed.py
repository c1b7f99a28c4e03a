"""How fast the interactive page is with ten thousand modules: `python tests/benchmarks/page_speed.py`.

Three models, made by hand: a deep one of 10,000 modules in blocks that all differ, so that nothing folds, one as large whose
blocks branch, and a flat one with 2,000 children in one container. Printed are the size of the page, the time to write it, the time from opening it
until it can be used, and the longest time that opening a container takes; then what the browser could not do anything
else in, its long tasks: while the page loads, while everything is opened, and while it is all moved and looked at.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

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

LONG_TASKS = """() => {
  window.longest = 0;
  window.observer = new PerformanceObserver((list) => {
    list.getEntries().forEach((entry) => (window.longest = Math.max(window.longest, entry.duration)));
  });
  window.observer.observe({ type: "longtask", buffered: true });
}"""
LONGEST = """() => new Promise((done) => setTimeout(() => {
  window.observer.takeRecords().forEach((entry) => (window.longest = Math.max(window.longest, entry.duration)));
  const { longest } = window;
  window.longest = 0;
  done(longest);
}, 150))"""
OPEN_EVERYTHING = """() => {
  const all = document.getElementById("open-all");
  if (all) {
    all.click();
  } else {
    for (let level = 0; level < 3; level += 1) document.getElementById("open-more").click();
  }
}"""
IS_OPEN = """() => {
  const progress = document.getElementById("progress");
  return !document.querySelector("#world .item.container") && (!progress || progress.hidden);
}"""


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


def branched(stages: int = 20, blocks: int = 35) -> Graph:
    """20 stages of 35 transformer blocks: branches that meet again, residual additions, one mask for all; no two alike."""
    net = Sketch("Branched")
    net.modules("mask Linear *")
    x, mask = "input:x", net.call("mask", "input:mask")
    for stage in range(stages):
        net.module(f"s{stage}", "model.Stage")
        net.enter(f"s{stage}")
        for block in range(blocks):
            path, width = f"s{stage}.b{block}", 4 + block + blocks * stage
            net.module(path, "model.Block")
            net.enter(path)
            for part, inner in (("attn", ("q", "k", "v", "out")), ("mlp", ("up", "gate", "act", "down"))):
                net.modules(f"{path}.{part}_norm LayerNorm")
                net.module(f"{path}.{part}", f"model.{part.title()}")
                for name in inner:
                    net.module(f"{path}.{part}.{name}", "GELU" if name == "act" else "Linear", (width, 4))
                y = net.call(f"{path}.{part}_norm", x)
                net.enter(f"{path}.{part}")
                called = [net.call(f"{path}.{part}.{name}", y) for name in inner[:3]]
                y = net.op("torch.matmul", *called[:2], *([mask] if part == "attn" else []))
                y = net.call(f"{path}.{part}.{inner[3]}", net.op("torch.mul", y, called[2]))
                net.leave()
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
        page.evaluate(LONG_TASKS)
        loading = page.evaluate(LONGEST)
        times = page.evaluate(OPEN_ALL)
        page.reload()
        page.evaluate(LONG_TASKS)
        page.evaluate(LONGEST)
        start = time.perf_counter()
        page.evaluate(OPEN_EVERYTHING)
        page.wait_for_function(IS_OPEN, timeout=120_000)
        opened = time.perf_counter() - start
        opening = page.evaluate(LONGEST)
        moving = look_around(page)
        page.close()
    slowest = f"{max(times):.0f} ms, median {sorted(times)[len(times) // 2]:.0f} ms of {len(times)}" if times else "-"
    print(
        f"{name}: {len(graph.modules):,} modules, {len(page_text) / 1e6:.2f} MB, written in {written:.1f} s; "
        f"usable after {ready} ms; slowest container {slowest}"
    )
    print(
        f"  longest task: loading {loading:.0f} ms; opening everything, {opened:.1f} s in all, {opening:.0f} ms; "
        f"moving and looking at the whole {moving:.0f} ms"
    )


def look_around(page: Page) -> float:
    """The longest task, in ms, while everything is open and a reader zooms, moves, and asks for the whole."""
    page.mouse.move(400, 450)
    for turn in range(24):
        page.mouse.wheel(0, 300 if turn % 12 < 6 else -300)
        page.wait_for_timeout(30)
    page.keyboard.press("w")
    page.wait_for_timeout(300)
    for _ in range(12):
        page.mouse.wheel(0, -120)
        page.wait_for_timeout(30)
    page.keyboard.press("f")
    longest: float = page.evaluate(LONGEST)
    return longest


def main() -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--headless=new", "--no-sandbox"]
        )
        for name, graph in (("deep", deep()), ("branched", branched()), ("flat", flat())):
            measure(browser, name, graph)
        browser.close()


if __name__ == "__main__":
    main()
