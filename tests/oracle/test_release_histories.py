"""The judge of checkpoints between releases, on a package of three made releases."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.needs_torch
torch = pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).parent))
try:
    import release_histories as histories
finally:
    sys.path.pop(0)

FIRST = """\
from torch import nn

class Net(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.fc = nn.Linear(width, 2)

class Other(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.a = nn.Linear(width, width)
"""
RELEASES = {
    "1": FIRST,
    "2": FIRST.replace("self.fc", "self.head"),
    "3": FIRST.replace("self.a = nn.Linear(width, width)", "self.a = nn.Linear(width, 3)").replace("self.fc", "self.head"),
}  # fmt: skip
LISTED = "made: 1 2 3\n  made/net.py:Net dict(width=4)\n  made/net.py:Other dict()\n  made/net.py:Gone dict()\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> histories.Package:
    for release, text in RELEASES.items():
        (tmp_path / f"made-{release}" / "made").mkdir(parents=True)
        (tmp_path / f"made-{release}" / "made" / "net.py").write_text(text)
    listed = tmp_path / "list.txt"
    listed.write_text(LISTED)
    monkeypatch.setattr(histories, "LIST", listed)
    (found,) = histories.packages(LISTED)
    return found


def test_a_pair_is_judged_by_loading_it(package: histories.Package, tmp_path: Path):
    rows = list(histories.compare(package, tmp_path))
    assert {(row["class"], row["old"], row["new"]): histories.kind_of(row) for row in rows} == {
        ("made/net.py:Net", "1", "2"): "renamed",
        ("made/net.py:Net", "1", "3"): "renamed",
        ("made/net.py:Net", "2", "3"): "loads",
        ("made/net.py:Other", "1", "2"): "loads",
        ("made/net.py:Other", "1", "3"): "does not",
        ("made/net.py:Other", "2", "3"): "does not",
    }
    assert [fault for row in rows for fault in histories.faults(row)] == []
    assert "| made | 2 | 6 | 2 | 2 | 0 | 2 | 0 | 0 |" in histories.table(rows)


def test_what_is_said_and_is_not_so_is_a_fault():
    row: dict[str, Any] = {"package": "made", "class": "Net", "old": "1", "new": "2"}
    row |= {"fits": True, "fits_renamed": True, "fits_carried": None}
    row |= {"loads": False, "loads_renamed": True, "loads_carried": False}
    assert list(histories.faults(row)) == ["Net 1 → 2: said loads, and it does not load"]
