"""Pages as a code host shows them: each link within the repository leads to a file and a heading, and commands fit the page."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pages = runpy.run_path(str(Path(__file__).with_name("pages.py")))

PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "samples/README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]  # fmt: skip
COLUMNS = 112
"""Characters of code on a page of 1,012 pixels, as code hosts have it; what is wider is read by scrolling alone."""


def prose(text: str) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^ *(`{3,})[^\n]*\n.*?^ *\1 *$", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(text: str) -> set[str]:
    """What a code host makes of the headings, by its rule: small letters, no signs, `-` for a blank, `-1` for the second."""
    found: set[str] = set()
    for heading in re.findall(r"^#{1,6} +(.*?)\s*$", prose(text), flags=re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        base = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        number = sum(1 for each in found if re.fullmatch(rf"{re.escape(base)}(-\d+)?", each))
        found.add(f"{base}-{number}" if number else base)
    return found


def links(text: str) -> list[str]:
    """Of Markdown and of HTML in it, without those to other machines."""
    plain = re.sub(r"`[^`\n]*`", "", prose(text))
    found = re.findall(r"\]\(([^)\s]+)", plain) + re.findall(r'(?:src|srcset|href)="([^"]+)"', plain)
    return [link for link in found if not re.match(r"[a-z]+:", link)]


def broken(page: Path) -> list[str]:
    wrong = []
    for link in links(page.read_text(encoding="utf-8")):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        there = target.exists()
        if there and anchor and target.suffix == ".md":
            there = anchor in anchors(target.read_text(encoding="utf-8"))
        wrong += [] if there else [link]
    return wrong


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_to_a_file_and_a_heading(name: str):
    assert broken(ROOT / name) == []


def test_a_link_to_nothing_is_found(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text(
        "# `A` page, twice\n# A page, twice\n[a](#a-page-twice) [b](#a-page-twice-1) [c](#a-page-twice-2) [d](none.md)\n"
        '```\n# no heading\n[e](none.md)\n```\n`[f](none.md)` <img src="none.svg"> [g](https://example.org)\n'
    )
    assert broken(page) == ["#a-page-twice-2", "none.md", "none.svg"]


def test_commands_of_the_first_page_are_read_without_scrolling():
    for block in pages["blocks"](ROOT / "README.md"):
        for command in block.commands if block.language in ("", "text") else ():
            assert len(command.text) <= COLUMNS, f"README.md:{command.line}: {len(command.text)} characters"


def test_each_picture_of_the_first_page_has_one_for_a_dark_page():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    pictures = re.findall(r"<picture>(.*?)</picture>", text, flags=re.DOTALL)
    assert pictures
    assert len(re.findall(r"<img|!\[", prose(text))) == len(pictures)
    assert all("(prefers-color-scheme: dark)" in each for each in pictures)
