"""The site is built, strictly: every link and anchor leads somewhere, and no page asks another machine for anything."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="MkDocs is not installed (the extra `docs`)")
pytest.importorskip("material", reason="Material for MkDocs is not installed (the extra `docs`)")
pytest.importorskip("mkdocstrings", reason="mkdocstrings is not installed (the extra `docs`)")

ROOT = Path(__file__).parents[2]


class Site:
    """What was built, and what was said."""

    def __init__(self, folder: Path, run: subprocess.CompletedProcess) -> None:
        self.folder = folder
        self.run = run

    def pages(self) -> Iterator[tuple[str, str]]:
        for path in sorted(self.folder.rglob("*.html")):
            if path.name == "404.html":
                continue  # shown at any address, so its links begin at the top of the server
            yield path.relative_to(self.folder).as_posix(), path.read_text(encoding="utf-8")

    def text(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder = tmp_path_factory.mktemp("site")
    run = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(ROOT / "docs/mkdocs.yml"), "-d", str(folder)],
        capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "NO_COLOR": "1"}, check=False,
    )  # fmt: skip
    return Site(folder, run)


class Links(HTMLParser):
    """Anchors of a page, and where it links to or loads from."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids |= {given.get("id") or "", given.get("name") or ""}
        if tag == "a" and given.get("href"):
            self.links.add(given["href"] or "")
        if tag in ("script", "img", "iframe", "source") and given.get("src"):
            self.loaded.add(given["src"] or "")
        if tag == "link" and given.get("rel") in ("stylesheet", "preconnect", "icon", "modulepreload"):
            self.loaded.add(given["href"] or "")


def test_it_is_built_without_a_warning(site: Site):
    assert site.run.returncode == 0, site.run.stderr
    assert not re.search(r"WARNING|ERROR|not included in the \"nav\"", site.run.stderr), site.run.stderr


def test_every_link_leads_to_a_file_and_an_anchor_that_are_there(site: Site):
    pages = {name: Links(text) for name, text in site.pages()}
    broken = []
    for name, page in pages.items():
        for link in page.links | page.loaded:
            if re.match(r"[a-z]+:|//", link):
                continue
            path, _, anchor = link.partition("#")
            target = (site.folder / name).parent / path if path else site.folder / name
            if not target.resolve().exists():
                broken.append(f"{name}: {link}")
            elif anchor and target.suffix == ".html":
                there = pages[target.resolve().relative_to(site.folder.resolve()).as_posix()]
                broken += [] if anchor in there.ids else [f"{name}: {link}"]
    assert not broken


def test_no_page_loads_anything_from_another_machine(site: Site):
    for name, text in site.pages():
        assert not [one for one in Links(text).loaded if re.match(r"(?:https?:)?//", one)], name
    for path in site.folder.rglob("*.css"):
        assert not re.search(r"url\((?:https?:)?//", path.read_text(encoding="utf-8")), path


def test_what_is_markdown_has_become_something_else(site: Site):
    """Python-Markdown wants an empty line before a list or table, where a code host does not."""
    for name, text in site.pages():
        body = re.sub(r"<(pre|code|script)\b.*?</\1>", "", text, flags=re.DOTALL)
        assert not re.search(r"<p>[^<]*\n(?:[-*] |\d+\. |\| )|<p>\||```|\]\([^)]*\.md", body), name


def test_the_reference_is_generated(site: Site):
    commands, python = site.text("reference/commands.html"), site.text("reference/python.html")
    assert all(f"--{option}" in commands for option in ("verify", "unsafe-fixes", "run", "focus"))
    for name in ("analyze", "predict", "trace", "check", "diff", "load", "export_onnx"):
        assert re.search(rf'id="modgraph\.[\w.]+\.{name}"', python), name
    assert "lone tensor is taken as a tuple of one" in python
    json = site.text("reference/json.html")
    assert all(f"<code>{field}</code>" in json for field in ("alias_of", "not_repeated", "parameter_gradients"))


def test_the_reference_of_python_names_all_that_is_public(site: Site):
    import modgraph

    python = site.text("reference/python.html")
    missing = [name for name in modgraph.__all__ if not re.search(rf'id="modgraph[\w.]*\.{name}"', python)]
    assert missing == ["__version__"]
