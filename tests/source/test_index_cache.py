"""The index on disk: equal to the one just read, absent where it is damaged or may not be written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modgraph.source import index_cache
from modgraph.source.cache_home import kept_in
from modgraph.source.index import read_index

TEXT = (
    '''
"""Padding so that the file is long enough to be kept."""
from __future__ import annotations
import a.b as c, d
from .e import f as g, h
if TYPE_CHECKING:
    from z import *
__all__ = ["Net", "make"]
@c.wraps(d)
class Net(g.Base, metaclass=h):
    x: int = 1
    class Inner:
        def method(self): return [1]
    def f(self): pass
    def f(self, y=2):
        def local(): pass
        return local
TABLE = {}
TABLE["a"] = Net; TABLE.update(b=2)
def make(): return Net
for i in range(3):
    def twice(): pass
'''
    + "# filler\n" * 600
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MODGRAPH_CACHE", str(tmp_path))
    return tmp_path


def entries(place: Path) -> list[Path]:
    return sorted(place.rglob("*.json"))


def test_second_reading_comes_from_disk_and_is_equal(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = read_index(TEXT)
    assert index_cache.indexed(TEXT, "m.py") == expected
    assert len(entries(place)) == 1
    monkeypatch.setattr(index_cache, "read_index", None)
    again = index_cache.indexed(TEXT, "m.py")
    assert again == expected
    assert again.statements == expected.statements
    assert again.definitions["Net"] is next(each.definition for each in again.body if "Net" in each.names)


def test_another_text_is_another_entry(place: Path) -> None:
    index_cache.indexed(TEXT, "m.py")
    other = index_cache.indexed(TEXT + "more = 1\n", "m.py")
    assert "more" in other.names
    assert len(entries(place)) == 2


@pytest.mark.parametrize("damage", ["", "{", "[]", "null", '{"body": 3}', '{"rows": [[1]], "body": []}'])
def test_damaged_entry_counts_as_absent(place: Path, damage: str) -> None:
    index_cache.indexed(TEXT, "m.py")
    name, kept = entries(place)[0].relative_to(place).as_posix(), kept_in(str(place))
    kept.write(name, damage.encode())
    assert index_cache.indexed(TEXT, "m.py") == read_index(TEXT)
    assert json.loads(kept.read(name))["exported"] == ["Net", "make"]


def test_off_and_unwritable_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODGRAPH_CACHE", "off")
    assert index_cache.kept() is None
    assert index_cache.indexed(TEXT, "m.py") == read_index(TEXT)
    blocked = tmp_path / "file"
    blocked.write_text("no directory")
    monkeypatch.setenv("MODGRAPH_CACHE", str(blocked))
    assert index_cache.indexed(TEXT, "m.py") == read_index(TEXT)
    assert blocked.read_text() == "no directory"


def test_syntax_error_is_raised_and_not_kept(place: Path) -> None:
    with pytest.raises(SyntaxError):
        index_cache.indexed("def f(:\n" + "#\n" * 4000, "m.py")
    assert entries(place) == []


@settings(deadline=None, max_examples=30)
@given(
    st.lists(
        st.sampled_from(
            ["x = 1", "class A(B):\n    y = 2", "def f(a):\n    pass", "from . import q", "import p.r", "x.append(2)"]
        ),
        max_size=8,
    )
)
def test_any_index_survives_the_disk(statements: list[str]) -> None:
    expected = read_index("\n".join(statements))
    assert index_cache._decoded(json.loads(json.dumps(index_cache._encoded(expected)))) == expected
