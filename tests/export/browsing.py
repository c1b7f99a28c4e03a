"""Fixtures of the tests that read the interactive page in headless Chromium; a test file imports those that it needs."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from modgraph.errors import ExportError
from modgraph.export.look.options import PictureOptions
from modgraph.export.page import html
from modgraph.export.picture import images
from modgraph.graph.model import Graph

USUAL = {"viewport": {"width": 1200, "height": 900}, "reduced_motion": "reduce"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright_sync = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright_sync.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--headless=new", "--no-sandbox", "--disable-gpu"]
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def complaints() -> list[str]:
    """Messages on the console, errors, and addresses that were asked for beside the page."""
    return []


@pytest.fixture(scope="module")
def new_page(browser, complaints: list[str]) -> Callable[..., Any]:
    def make(**context: Any) -> Any:
        page = browser.new_context(**{**USUAL, **context}).new_page()
        page.set_default_timeout(5000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda asked: asked.resource_type == "document" or complaints.append(asked.url))
        return page

    return make


@pytest.fixture(scope="module")
def usual_page(new_page) -> Any:
    """A page as most readers have it, for one test after the other."""
    return new_page()


@pytest.fixture
def visit(
    new_page, usual_page, complaints: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Any]:
    """Opens the page of a graph; in the end there was no message, no error, and nothing was asked for elsewhere."""

    def missing(*_: object) -> bytes:
        raise ExportError("no Graphviz found")

    monkeypatch.setattr(images, "render", missing)
    complaints.clear()
    visits: list[str] = []

    def open_page(graph: Graph, at: str = "", options: PictureOptions | None = None, **context: Any) -> Any:
        file = tmp_path / f"page{len(visits)}.html"
        visits.append(at)
        file.write_text(html.render(graph, options), encoding="utf-8")
        page = new_page(**context) if context else usual_page
        page.goto(file.as_uri() + at)
        return page

    yield open_page
    assert complaints == []
