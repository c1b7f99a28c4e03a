"""One model as a task: plain data that can be sent to another process or machine, and what comes back of it.

`run_task` is what an executor calls. It starts a process of its own, so that whatever happens there, a crash or a hang,
is an outcome like any other.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import modgraph
from modgraph.doors import temporary
from modgraph.doors.reading import OWN_BYTES, read
from modgraph.doors.writing import make_folder, put
from modgraph.isolation import kill_group

State = Literal["complete", "partial", "failed"]
"""`partial`: something is left open; `failed`: nothing is known, or the model did not run to its end."""
_BOOTSTRAP = """
import sys
if sys.path[:1] == [""]: del sys.path[0]
sys.path.insert(0, sys.argv[1])
import modgraph
del sys.path[0]
from modgraph.batch.child import main
main(sys.argv[2])
"""
_MARGIN_SECONDS = 120.0
"""For starting interpreters, importing torch, and drawing."""


@dataclass(frozen=True, slots=True)
class Task:
    """One model to be analyzed: everything that it takes, but the files of the tree itself."""

    name: str
    """ "pkg/net.py:Net", from the folder of the tree."""
    file: str
    """ "pkg/net.py"."""
    key: str
    """Hash of what the result depends on: the same key, the same result."""
    target: Mapping[str, Any]
    """As `source/wire.py` writes it."""
    options: Mapping[str, Any]
    """Likewise."""
    static: bool
    formats: tuple[str, ...]
    asked: bool
    """The formats were named by the user; otherwise one that cannot be written is replaced by another."""
    picture: Mapping[str, Any]
    """Fields of `PictureOptions`."""
    onnx: Mapping[str, Any]
    """Fields of `OnnxOptions`."""
    stem: str
    """Of its files."""
    cwd: str
    """Where it runs: the working directory of the caller."""

    @property
    def seconds(self) -> float | None:
        """How long its process may take; None for no limit."""
        limit: float | None = self.options.get("timeout")
        return None if limit is None else 2 * limit + (0 if self.static else _MARGIN_SECONDS)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one task."""

    state: State
    reason: str | None = None
    """Why it failed, or what is left open first."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the index says of the model: JSON values."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """The written files by name."""


def run_task(task: Task) -> Outcome:
    """Analyze one model, in a process of its own. Never raises for what that process does."""
    with temporary.folder() as directory:
        make_folder(directory / "files")
        asked = ("target", "options", "static", "formats", "asked", "picture", "onnx", "stem")
        request = {each: getattr(task, each) for each in asked}
        put(directory / "request.json", json.dumps(request).encode("ascii"), below=directory)
        reason = _run(directory, task)
        try:
            told = json.loads(read(directory / "outcome.json", OWN_BYTES))
        except (OSError, ValueError):
            return Outcome("failed", reason or "its process ended without a word")
        files = {path.name: read(path, OWN_BYTES) for path in sorted((directory / "files").iterdir())}
        return Outcome(told["state"], told["reason"], told["facts"], files)


_running: set[subprocess.Popen[bytes]] = set()
_lock = threading.Lock()


def stop_running() -> None:
    """End the processes of all tasks that run in this one."""
    with _lock:
        for process in _running:
            kill_group(process)


def _run(directory: Path, task: Task) -> str | None:
    """Start the process and wait for its end; why it did not end as it should, else None."""
    root = str(Path(modgraph.__file__).resolve().parent.parent)
    with (directory / "output.txt").open("wb") as output:
        try:
            process = subprocess.Popen(
                [sys.executable, "-c", _BOOTSTRAP, root, str(directory)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd=task.cwd,
            )
        except OSError as error:
            return f"no process could be started in {task.cwd}: {error.strerror}"
        with _lock:
            _running.add(process)
        try:
            process.wait(task.seconds)
        except subprocess.TimeoutExpired:
            return f"it took longer than {task.seconds:g} s"
        finally:
            kill_group(process)
            with _lock:
                _running.discard(process)
    return _in_words(process.returncode)


def _in_words(status: int) -> str | None:
    if status == 0:
        return None
    if status > 0:
        return f"its process ended with exit status {status}"
    with contextlib.suppress(ValueError):
        return f"its process was killed by {signal.Signals(-status).name}"
    return f"its process was killed by signal {-status}"
