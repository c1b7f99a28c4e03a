"""`modgraph embed`: pictures where a Markdown file asks for them, drawn again when the model is another, and only then."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from modgraph.cli import main
from modgraph.cli.embed import _wish_of
from modgraph.cli.output import picture_options
from modgraph.embedding import places_in
from modgraph.export import PictureOptions

NET = """\
import torch
from torch import nn

open("it ran", "w").close()

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.second = nn.Linear(8, {size})

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))
"""
PAGE = """\
# A page

<!-- modgraph: net.py:Net -->

What follows.
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "net.py").write_text(NET.format(size=2), "utf-8")
    (folder / "README.md").write_text(PAGE, "utf-8")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def embed(project: Path, capsys: pytest.CaptureFixture) -> Callable[..., Any]:
    def run(*arguments: str) -> tuple[int, str, str]:
        status = main(["embed", *arguments])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def images_of(page: Path) -> list[Path]:
    return [page.parent / name for name in re.findall(r'(?:src|srcset)="([^"]+)"', page.read_text("utf-8"))]


def test_a_picture_for_each_ground_is_put_below_its_comment(embed, project: Path):
    status, out, _ = embed("README.md")
    text = (project / "README.md").read_text("utf-8")
    assert status == 0
    assert "README.md:3: net.py:Net" in out
    before, after = PAGE.split("\n\nWhat")
    assert text.startswith(before)
    assert text.endswith("What" + after)
    dark, light = images_of(project / "README.md")
    assert {ET.parse(each).getroot().tag for each in (dark, light)} == {"{http://www.w3.org/2000/svg}svg"}
    assert dark.read_bytes() != light.read_bytes()
    assert re.search(r'<source media="\(prefers-color-scheme: dark\)" srcset="images/Net-dark.svg">', text)
    assert not (project / "it ran").exists()


def test_what_is_fresh_is_left_alone(embed, project: Path):
    embed("README.md")
    page = project / "README.md"
    before = {each: each.stat().st_mtime_ns for each in (page, *images_of(page))}
    status, out, err = embed("README.md")
    assert (status, out) == (0, "")
    assert "fresh" in err
    assert {each: each.stat().st_mtime_ns for each in before} == before
    assert embed("README.md", "--check")[0] == 0


@pytest.mark.parametrize(
    ("change", "is_fresh"),
    [
        (lambda folder: (folder / "net.py").write_text(NET.format(size=3)), False),
        (lambda folder: (folder / "net.py").write_text(NET.format(size=2).replace("torch.relu", "torch.tanh")), False),
        (lambda folder: (folder / "net.py").write_text("# A note.\n" + NET.format(size=2)), True),
        (lambda folder: (folder / "images" / "Net-dark.svg").unlink(), False),
        (lambda folder: (folder / "images" / "Net.svg").unlink(), False),
        (lambda folder: _replace(folder / "README.md", "Net -->", "Net --direction LR -->"), False),
        (lambda folder: _replace(folder / "README.md", "/modgraph ", "/modgraph 0"), False),
        (lambda folder: _replace(folder / "README.md", "What", "Something else"), True),
    ],
)
def test_check_tells_what_is_not_fresh_and_writes_nothing(embed, project: Path, change, is_fresh: bool):
    embed("README.md")
    change(project)
    before = {each: each.read_bytes() for each in project.rglob("*") if each.is_file()}
    status, _, err = embed("README.md", "--check")
    assert (status == 0) == is_fresh
    assert ("is not drawn as it would be now" in err) != is_fresh
    assert {each: each.read_bytes() for each in project.rglob("*") if each.is_file()} == before
    assert embed("README.md")[0] == 0
    assert embed("README.md", "--check")[0] == 0


def _replace(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), "utf-8")


def test_several_pictures_and_one_that_fails(embed, project: Path):
    lines = [
        "<!-- modgraph: net.py:Net -o a.svg -->",
        "<!-- /modgraph -->",
        "between",
        "<!-- modgraph: none.py -->",
        "<!-- modgraph: net.py:Net --depth 1 -o sub/b.svg -->",
        "at the end",
    ]
    (project / "README.md").write_text("\n".join(lines), "utf-8")
    status, out, err = embed("README.md")
    text = (project / "README.md").read_text("utf-8")
    assert status == 2
    assert out.count("→") == 2
    assert "none.py" in err
    # That is where it stands now: the picture above it has five lines more, and its closing comment was there.
    number = (project / "README.md").read_text("utf-8").split("\n").index("<!-- modgraph: none.py -->") + 1
    assert number > 4
    assert f"README.md:{number}" in err
    assert [line for line in text.split("\n") if line in lines] == [
        line for line in lines if not line.startswith("<!-- /")
    ]
    assert {each.relative_to(project).as_posix() for each in images_of(project / "README.md")} == {
        "a.svg",
        "a-dark.svg",
        "sub/b.svg",
        "sub/b-dark.svg",
    }


@pytest.mark.parametrize(
    "text",
    [
        "nothing at all",
        "```\n<!-- modgraph: net.py -->\n```",
        "~~~~ html\n```\n<!-- modgraph: net.py -->\n~~~\n<!-- modgraph: net.py -->\n~~~~~",
        "see <!-- modgraph: net.py --> there",
        "    <!-- modgraph: net.py -->",
        "<!-- modgraph net.py -->",
    ],
)
def test_what_asks_for_no_picture(embed, project: Path, text: str):
    assert places_in(text) == ()
    (project / "README.md").write_text(text, "utf-8")
    status, _, err = embed("README.md")
    assert status == 2
    assert "README.md asks for no picture" in err
    assert (project / "README.md").read_text("utf-8") == text


@pytest.mark.parametrize(
    "words",
    [
        "net.py -o /tmp/x.svg",
        "net.py -o ../x.svg",
        "net.py -o link/x.svg",
        "net.py -o x.png",
        "net.py --format png",
        "net.py --run",
        "net.py --depth x",
        "net.py 'x",
        "",
        "net.py --color light",
        "net.py other.py",
        "@words",
    ],
)
def test_a_comment_that_cannot_be_used_writes_nothing(embed, project: Path, words: str):
    (project / "link").symlink_to(project.parent)
    (project / "words").write_text("net.py\n-o\n../x.svg\n", "utf-8")
    (project / "README.md").write_text(f"<!-- modgraph: {words} -->\n", "utf-8")
    before = sorted(each for each in project.parent.rglob("*"))
    status, out, err = embed("README.md")
    assert (status, out) == (2, "")
    assert "README.md:1" in err
    assert sorted(each for each in project.parent.rglob("*")) == before
    assert not (project / "it ran").exists()


@pytest.mark.parametrize(
    "words",
    [
        "",
        "--depth 2",
        "--no-fold",
        "--no-idioms",
        "--show-views",
        "--focus first",
        "--direction LR",
        "--color parameters",
    ],
)
def test_a_comment_has_the_options_of_the_command(words: str, monkeypatch: pytest.MonkeyPatch):
    said: list[PictureOptions] = []
    monkeypatch.setattr("modgraph.cli.render.run", lambda arguments, _: said.append(picture_options(arguments)) or 0)
    assert main(["render", "net.json", *words.split()]) == 0
    assert said == [_wish_of(f"net.py {words}").options]


@pytest.mark.needs_torch
def test_pictures_of_runs_are_left_alone_where_nothing_is_run(embed, project: Path):
    assert embed("README.md", "--run")[0] == 0
    assert (project / "it ran").exists()
    text = (project / "README.md").read_text("utf-8")
    assert re.search(r"<!-- /modgraph [0-9a-f]+ of a run -->", text)
    assert "predicted" not in text
    (project / "it ran").unlink()
    (project / "net.py").write_text(NET.format(size=3))
    for arguments in (("README.md",), ("README.md", "--check")):
        status, _, err = embed(*arguments)
        assert status == 0
        assert "left as it is without --run" in err
    assert (project / "README.md").read_text("utf-8") == text
    assert not (project / "it ran").exists()
    assert embed("README.md", "--run", "--check")[0] == 1


def test_two_pictures_of_one_name_are_told(embed, project: Path):
    (project / "README.md").write_text(
        "<!-- modgraph: net.py:Net -->\n\n<!-- modgraph: net.py:Net --depth 1 -->\n", "utf-8"
    )
    status, _, err = embed("README.md")
    assert status == 2
    assert "is the image of line 1 already" in err


def test_paths_are_seen_from_the_file(embed, project: Path):
    (project / "docs").mkdir()
    (project / "docs" / "page.md").write_text("<!-- modgraph: ../net.py:Net -o ../images/net.svg -->\n", "utf-8")
    assert embed("docs/page.md")[0] == 0
    assert (project / "images" / "net.svg").is_file()
    assert all(each.is_file() for each in images_of(project / "docs" / "page.md"))


def test_line_ends_are_kept(embed, project: Path):
    (project / "README.md").write_bytes(PAGE.replace("\n", "\r\n").encode())
    assert embed("README.md")[0] == 0
    content = (project / "README.md").read_bytes()
    assert content.count(b"\n") == content.count(b"\r\n") > PAGE.count("\n")
    assert embed("README.md", "--check")[0] == 0


@pytest.mark.parametrize("name", ["missing.md", "."])
def test_a_file_that_cannot_be_read(embed, name: str):
    status, _, err = embed(name)
    assert status == 2
    assert f"cannot read {name}" in err


def test_no_text_in_utf_8(embed, project: Path):
    (project / "README.md").write_bytes(b"\xff\xfe<!-- modgraph: net.py -->")
    status, _, err = embed("README.md")
    assert status == 2
    assert "UTF-8" in err


def test_the_own_readme_is_fresh(capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch):
    """What its pictures show is what the samples are."""
    root = Path(__file__).parents[2]
    monkeypatch.chdir(root)
    status = main(["embed", "README.md", "--check"])
    said = capsys.readouterr()
    assert status == 0, f"{said.err}\nrenew them: modgraph embed README.md"
