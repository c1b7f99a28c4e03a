"""A folder of caches that came with what is analysed: its links are not followed, its key and its fonts are not taken."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from modgraph.cli import main
from modgraph.doors.keeping import Kept
from modgraph.export.picture import images
from modgraph.source import cache_home
from modgraph.source.cache_home import analysing, kept_in

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and modes")

MODEL = """
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = [nn.Linear(8, 8) for _ in range(3)]
"""
PRIVATE = "short secret"


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git: Any) -> Path:
    """A repository with a model, a folder of the user's beside it that holds something, and a home directory."""
    for name in ("_kept", "_analysed"):
        monkeypatch.setattr(cache_home, name, {})
    monkeypatch.setattr(cache_home, "_told", set())
    for name in ("MODGRAPH_CACHE", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    here = tmp_path / "clone"
    git("init", "-q", str(here))
    (here / "model.py").write_text(MODEL + f"# {tmp_path}\n" * 200)
    vault = tmp_path / "vault"
    vault.mkdir(mode=0o700)
    (vault / "key").write_text(PRIVATE)
    (vault / "key").chmod(0o600)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(here)
    return here


def link(clone: Path, place: str, to: str) -> None:
    (clone / place).parent.mkdir(parents=True, exist_ok=True)
    (clone / place).symlink_to(os.path.relpath(clone.parent / to, (clone / place).parent))


def checked(*arguments: str) -> None:
    for command in (["check", ".", *arguments], ["check", "model.py", *arguments], ["analyze", "model.py", "--static"]):
        assert main([*command, *(["-q", "-o", "out/"] if command[0] == "analyze" else [])]) in (0, 1)


def files(folder: Path) -> list[str]:
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*"))


@pytest.mark.parametrize(
    ("place", "to", "variable", "value"),
    [
        (".cache/modgraph", "vault", "XDG_CACHE_HOME", ".cache"),
        (".cache", "vault", "XDG_CACHE_HOME", ".cache"),
        (".mg", "vault", "MODGRAPH_CACHE", ".mg"),
        ("build", "vault", "MODGRAPH_CACHE", "build/cache"),
        ("first", "clone/second", "MODGRAPH_CACHE", "first"),
        (".cache/modgraph", "vault", "HOME", "."),
        (".cache", "vault", "HOME", "."),
        ("build", "vault", "--cache-dir", "build/cache"),
        (".cache/modgraph/index", "vault", "XDG_CACHE_HOME", ".cache"),
        (".cache/modgraph/check", "vault", "XDG_CACHE_HOME", ".cache"),
        (".cache/modgraph/fonts", "vault", "XDG_CACHE_HOME", ".cache"),
        (".cache/modgraph/fontconfig", "vault", "XDG_CACHE_HOME", ".cache"),
        (".cache/modgraph/fontconfig", "vault", "HOME", "."),
    ],
)
def test_a_link_of_the_repository_leads_no_cache_out_of_it(
    clone: Path, monkeypatch: pytest.MonkeyPatch, place: str, to: str, variable: str, value: str
) -> None:
    link(clone, place, to)
    if to.startswith("clone/"):
        link(clone, "second", "vault")
    if variable != "--cache-dir":
        monkeypatch.setenv(variable, str(clone / value))
    checked(*([variable, value] if variable == "--cache-dir" else []))
    assert files(clone.parent / "vault") == ["key"]
    assert (clone.parent / "vault" / "key").read_text() == PRIVATE


def test_a_link_of_the_users_own_is_followed(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (clone.parent / "disk").mkdir()
    (clone.parent / "home" / ".cache").symlink_to(clone.parent / "disk")
    checked()
    assert {"modgraph/key", "modgraph/index"} <= set(files(clone.parent / "disk"))


@pytest.mark.parametrize("content", [b"", PRIVATE.encode(), b"x" * 31, b"x" * 33])
def test_a_file_that_is_called_as_the_key_is_never_replaced(tmp_path: Path, content: bytes) -> None:
    folder = tmp_path / "own"
    folder.mkdir(mode=0o700)
    (folder / "key").write_bytes(content)
    (folder / "key").chmod(0o600)
    assert not Kept(str(folder), str(folder), ("/elsewhere",)).usable
    folder.chmod(0o777)
    assert not Kept(str(folder), str(folder), ("/elsewhere",)).usable
    assert (folder / "key").read_bytes() == content


@pytest.mark.parametrize("at", ["archive/src", "archive", "archive/src/package"])
@pytest.mark.parametrize("cache", ["archive/.cache", "archive/src/.cache"])
def test_a_key_that_was_unpacked_beside_what_is_analysed_is_not_taken(
    clone: Path, monkeypatch: pytest.MonkeyPatch, at: str, cache: str
) -> None:
    """Without a repository, and from whichever folder it is started."""
    for each in (cache, at):
        (clone.parent / each).mkdir(parents=True, exist_ok=True)
    folder, source = clone.parent / cache, clone.parent / at
    folder.chmod(0o700)
    (folder / "key").write_bytes(bytes(32))
    (folder / "key").chmod(0o600)
    monkeypatch.chdir(clone.parent / "vault")
    theirs = Kept(str(folder), str(folder), ("/elsewhere",))
    theirs.write("index/x", b"forged")
    assert theirs.read("index/x") == b"forged"
    analysing(str(source))
    assert kept_in(str(folder)).usable
    assert kept_in(str(folder)).read("index/x") is None


def test_of_a_home_that_is_analysed_no_key_is_taken(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = clone / ".cache" / "modgraph"
    own.mkdir(parents=True, mode=0o700)
    (own / "key").write_bytes(bytes(32))
    (own / "key").chmod(0o600)
    monkeypatch.setenv("HOME", str(clone))
    analysing(str(clone))
    assert not kept_in(str(own)).usable


def test_an_own_cache_and_one_elsewhere_keep_their_keys(clone: Path) -> None:
    own, elsewhere = clone.parent / "home" / ".cache" / "modgraph", clone.parent / "elsewhere"
    analysing(str(clone / "package"))
    assert kept_in(str(own)).usable
    assert stat.S_IMODE((own / "key").stat().st_mode) == 0o600
    assert Kept(str(elsewhere), str(own), ("/srv/project",)).usable
    assert (elsewhere / "key").exists()


@pytest.mark.parametrize(
    ("place", "variable", "value"),
    [
        (".cache/modgraph/fonts", "XDG_CACHE_HOME", ".cache"),
        (".cache/modgraph/fonts", "HOME", "."),
        (".fonts", "HOME", "."),
        (".local/share/fonts", "HOME", "."),
        (".data/fonts", "XDG_DATA_HOME", ".data"),
    ],
)
def test_no_font_of_the_repository_is_looked_at(
    clone: Path, monkeypatch: pytest.MonkeyPatch, place: str, variable: str, value: str
) -> None:
    (clone / place).mkdir(parents=True)
    (clone / place / "Evil.ttf").write_text("no font")
    monkeypatch.setenv(variable, str(clone / value))
    analysing(str(clone))
    made = images._environment(clone.parent / "vault")["FONTCONFIG_FILE"]
    assert str(clone) not in Path(made).read_text()


def test_fonts_of_the_user_are_looked_at(clone: Path) -> None:
    analysing(str(clone))
    made = Path(images._environment(clone.parent / "vault")["FONTCONFIG_FILE"]).read_text()
    for place in (".cache/modgraph/fonts", ".fonts", ".local/share/fonts"):
        assert str(clone.parent / "home" / place) in made
