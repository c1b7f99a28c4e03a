"""The formats there are, and what is told of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from modgraph.api import analyze
from modgraph.cli import main
from modgraph.export import FORMATS, PictureOptions, render

ROOT = Path(__file__).parents[2]


def test_the_guide_lists_every_format():
    text = " ".join((ROOT / "docs" / "guide.md").read_text(encoding="utf-8").split())
    listed = re.search(r"`--format` takes any of `([^`]+)`", text)
    assert listed is not None
    assert listed.group(1).split(",") == list(FORMATS)


@pytest.mark.parametrize("name", [name for name, format in FORMATS.items() if not (format.instead or format.binary)])
def test_columns_are_shown_by_the_formats_that_say_so(name: str) -> None:
    graph = analyze(str(ROOT / "samples" / "moe.py"), static=True)
    first, second = (render(graph, name, PictureOptions(columns=(each,))) for each in ("class", "parameters"))
    assert (first != second) is FORMATS[name].has_columns


@pytest.mark.parametrize("name", FORMATS)
def test_columns_are_refused_where_no_format_shows_any(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    asked = ["render", str(tmp_path / "none.json"), "--format", name, "--columns", "class", "-o", str(tmp_path)]
    assert main(asked) == 2  # there is no such graph: it is looked for last
    assert ("--columns is about" in capsys.readouterr().err) is not FORMATS[name].has_columns
