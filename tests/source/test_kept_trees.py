"""What was lowered once is read from disk, or stays in memory: no libcst is imported for it, and the answer is the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from modgraph import predict
from modgraph.doors.keeping import Kept
from modgraph.source import kept_trees

ROOT = Path(__file__).parents[2]
MODEL = """
from torch import nn

class Block(nn.Module):
    def __init__(self, width, flag=False):
        super().__init__()
        self.__hidden = nn.Linear(width, width)
        if flag and (width > 3 or width
                     < 2):
            self.other = nn.Conv2d(width,
                                   width, 3)

class Net(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.blocks = nn.ModuleList([Block(width, flag=k % 2) for k in range(3)])
        self.named = nn.ModuleDict({f"b{k}": nn.Linear(k, 2) for k in (1, 2)})
        self.which = nn.Linear(open("w").read(), 2)
"""
COMMAND = """
import json, sys
from modgraph import predict
graph = predict("model.py:" + sys.argv[1])
print(json.dumps({"graph": graph.to_json() if hasattr(graph, "to_json") else str(graph), "libcst": "libcst" in sys.modules}))
"""


def predicted(folder: Path, cache: str, name: str = "Net") -> dict[str, object]:
    environment = {**os.environ, "MODGRAPH_CACHE": cache, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, name], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(MODEL, "utf-8")
    return tmp_path


def test_what_was_predicted_once_needs_no_libcst(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    cache = str(tmp_path_factory.mktemp("cache"))
    never = predicted(folder, "off")
    first = predicted(folder, cache)
    second = predicted(folder, cache)
    assert first["libcst"]
    assert not second["libcst"]
    assert never["graph"] == first["graph"] == second["graph"]


def test_a_part_that_is_new_is_added(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    cache = str(tmp_path_factory.mktemp("cache"))
    assert predicted(folder, cache, "Block")["libcst"]
    assert predicted(folder, cache, "Net")["libcst"]
    assert not predicted(folder, cache, "Block")["libcst"]
    assert not predicted(folder, cache, "Net")["libcst"]


@pytest.mark.parametrize("damage", [b"", b"[1", b'{"1 2 ": "[[1,2,3,4,5],[[0]]]"}', b"\xff\xfe"])
def test_a_damaged_entry_counts_as_absent(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, damage: bytes
) -> None:
    cache = tmp_path_factory.mktemp("cache")
    whole = predicted(folder, str(cache))["graph"]
    entries = list((cache / "trees").rglob("*.json"))
    assert entries
    for entry in entries:
        name = entry.relative_to(cache).as_posix()
        Kept(str(cache), str(cache)).write(name, damage)  # as we would have written it
        assert Kept(str(cache), str(cache)).read(name) == damage
    assert predicted(folder, str(cache))["graph"] == whole


def test_a_change_of_the_file_is_seen(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    cache = str(tmp_path_factory.mktemp("cache"))
    before = predicted(folder, cache)["graph"]
    (folder / "model.py").write_text(MODEL.replace("range(3)", "range(5)"), "utf-8")
    assert predicted(folder, cache)["graph"] != before


THREADS = """
import threading
from modgraph import predict
found = []
def one(k):
    found.append(len(predict(f"m{k}.py:Net").modules))
threads = [threading.Thread(target=one, args=(k,)) for k in range(12)]
for each in threads: each.start()
for each in threads: each.join()
print(found)
"""


def test_threads_that_predict_lose_nothing(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    for k in range(12):
        (tmp_path / f"m{k}.py").write_text(f"{MODEL}\nX = {k}\n", "utf-8")
    environment = {**os.environ, "MODGRAPH_CACHE": str(tmp_path_factory.mktemp("cache")), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", THREADS], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert "Error" not in done.stderr
    assert len(set(json.loads(done.stdout))) == 1
    assert len(json.loads(done.stdout)) == 12


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The pieces of source that libcst was given."""
    from modgraph.source import lowering

    given: list[str] = []
    lower = lowering.lower

    def noting(text: str, *others: Any) -> Any:
        given.append(text)
        return lower(text, *others)

    monkeypatch.setattr(lowering, "lower", noting)
    return given


def test_what_a_process_has_lowered_it_does_not_lower_again(folder: Path, lowered: list[str]) -> None:
    first = predict(folder / "model.py")
    assert any("self.__hidden" in text for text in lowered)
    lowered.clear()
    assert predict(folder / "model.py") == first
    assert lowered == []
    (folder / "model.py").write_text(MODEL.replace("range(3)", "range(5)"), "utf-8")
    assert predict(folder / "model.py") != first
    assert any("range(5)" in text for text in lowered)
    assert not any("range(3)" in text for text in lowered)


def test_modules_of_one_text_are_told_apart(tmp_path: Path) -> None:
    """What a function of the one gives is not what that of the other gives."""
    text = "from torch import nn\nN = len(__name__)\ndef make():\n    return nn.Linear(N, N)\n"
    for name in ("a", "abc"):
        (tmp_path / f"{name}.py").write_text(text, "utf-8")
    (tmp_path / "model.py").write_text(
        "import a, abc\nfrom torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.x = a.make()\n        self.y = abc.make()\n",
        "utf-8",
    )
    for _ in range(2):
        nodes = {node.path: node for node in predict(tmp_path / "model.py").modules}
        assert [nodes[path].parameters[0].shape for path in "xy"] == [(1, 1), (3, 3)]


def test_what_stays_in_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_trees, "_remembered", {})
    monkeypatch.setattr(kept_trees, "_MOST_REMEMBERED", 20_000)
    for k in range(30):
        (tmp_path / "model.py").write_text(f"{MODEL}\nX = {k}\n", "utf-8")
        assert len(predict(tmp_path / "model.py").modules) > 5
    held = kept_trees._remembered
    assert 0 < sum(held.values()) <= 20_000 or len(held) == 1
    assert all(each._pieces for each in held)
