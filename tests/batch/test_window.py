"""However many models there are: what is held at once does not grow with them."""

from __future__ import annotations

import threading
import weakref
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.batch import running
from modgraph.batch.tasks import Outcome, Task

N = 40
NET = "from torch import nn\nclass Net{0}(nn.Linear):\n    def __init__(self): super().__init__(2, 2)\n"


class Held(Outcome):
    """An outcome to which a weak reference is possible."""

    __slots__ = ("__weakref__",)


def tree_of(folder: Path) -> Path:
    (folder / "net.py").parent.mkdir(parents=True, exist_ok=True)
    (folder / "net.py").write_text("".join(NET.format(number) for number in range(N)))
    return folder


class Slow:
    """An executor of one thread, which counts the tasks that it has not done."""

    def __init__(self) -> None:
        self.open = 0
        self.most = 0
        self.outcomes: list[weakref.ref[Held]] = []

    def submit(self, _: Any, /, task: Task) -> Future[Any]:
        self.open += 1
        self.most = max(self.most, self.open)
        future: Future[Any] = Future()
        threading.Timer(0.001, self.give, (future, task)).start()
        return future

    def give(self, future: Future[Any], task: Task) -> None:
        outcome = Held("complete", files={f"{task.stem}.json": b"{}"})
        self.outcomes.append(weakref.ref(outcome))
        self.open -= 1
        future.set_result(outcome)


def test_results_are_let_go_as_they_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(running, "_MOST_AT_WORK", 5)
    slow = Slow()
    alive: list[int] = []

    def look(*_: Any) -> None:
        alive.append(sum(each() is not None for each in slow.outcomes))

    batch = modgraph.analyze_all(
        tree_of(tmp_path / "tree"), slow, static=True, formats=("json",), output=tmp_path / "out", on_result=look
    )
    assert len(batch.records) == N
    assert slow.most <= 5
    assert max(alive) <= 6


def test_the_threads_of_this_process_are_given_no_more_than_they_can_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    at_once: list[int] = []
    lock, n_open = threading.Lock(), 0

    class Counted(running._Threads):
        def submit(self, *given: Any) -> Future[Any]:  # type: ignore[override]
            nonlocal n_open
            with lock:
                n_open += 1
                at_once.append(n_open)
            return super().submit(*given)

    def done(task: Task) -> Outcome:
        nonlocal n_open
        with lock:
            n_open -= 1
        return Outcome("complete", files={f"{task.stem}.json": b"{}"})

    monkeypatch.setattr(running, "_Threads", Counted)
    monkeypatch.setattr(running, "run_task", done)
    batch = modgraph.analyze_all(
        tree_of(tmp_path / "tree"), static=True, formats=("json",), output=tmp_path / "out", jobs=2
    )
    assert len(batch.records) == N
    assert max(at_once) <= 2
