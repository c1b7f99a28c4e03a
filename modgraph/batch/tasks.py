"""One model as a task: plain data that can be sent to another process or machine, and what comes back of it.

`run_task` is what an executor calls. It starts a process of its own, so that whatever happens there, a crash or a hang,
is an outcome like any other.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import modgraph
from modgraph.batch.facts import are_facts
from modgraph.doors import temporary
from modgraph.doors.processes import Process, running
from modgraph.doors.reading import read
from modgraph.doors.writing import make_folder, put
from modgraph.errors import ResourceError

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
MAX_BYTES = 2**30
"""Of all files of one model, which are held until they are written."""
_MAX_TOLD = 64 * 2**20
"""Bytes of what is told of one model."""
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
    forward: bool
    """What `forward` does is predicted too."""
    seek: str
    """What a class that needs arguments is given; a `Seek` of `arguments/choosing.py`."""
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
    try:
        with temporary.folder() as directory:
            make_folder(directory / "files")
            asked = ("target", "options", "static", "formats", "asked", "picture", "onnx", "forward", "seek", "stem")
            request = {each: getattr(task, each) for each in asked}
            put(directory / "request.json", json.dumps(request).encode("ascii"), below=directory)
            reason = _run(directory, task)
            return _told(directory) or Outcome("failed", reason or "its process ended without a word")
    except ResourceError as error:
        return Outcome("failed", error.message)
    except OSError as error:
        return Outcome("failed", f"its temporary folder cannot be used: {error.strerror or error}")


def _told(directory: Path) -> Outcome | None:
    """What the process has said, and the files that it wrote; None where that makes no sense: the user's code can write
    into this folder too."""
    try:
        told = json.loads(_content(directory / "outcome.json", _MAX_TOLD))
        state, reason, facts = told["state"], told["reason"], told["facts"]
        if state not in get_args(State) or not are_facts(facts) or type(reason) not in (str, type(None)):
            return None
        left = MAX_BYTES
        files: dict[str, bytes] = {}
        for name in sorted(os.listdir(directory / "files")):
            files[name] = _content(directory / "files" / name, left)
            left -= len(files[name])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return Outcome(state, reason, facts, files)


def _content(path: Path, most: int) -> bytes:
    """The content of a file; raises OSError where it is a link, a pipe or a device, or holds more than that."""
    if path.is_symlink():
        raise OSError(f"{path} is a link")
    return read(path, most)


_running: set[Process] = set()
_lock = threading.Lock()


def stop_running() -> None:
    """End the processes of all tasks that run in this one."""
    with _lock:
        now = list(_running)
    for process in now:
        process.stop()


def _run(directory: Path, task: Task) -> str | None:
    """Start the process and wait for its end; why it did not end as it should, else None."""
    root = str(Path(modgraph.__file__).resolve().parent.parent)
    with running([sys.executable, "-c", _BOOTSTRAP, root, str(directory)], cwd=task.cwd) as process:
        with _lock:
            _running.add(process)
        try:
            in_time = process.ended_within(task.seconds)
        finally:
            with _lock:
                _running.discard(process)
    if not in_time:
        return f"it took longer than {task.seconds:g} s"
    assert process.status is not None
    return _in_words(process.status)


def _in_words(status: int) -> str | None:
    if status == 0:
        return None
    if status > 0:
        return f"its process ended with exit status {status}"
    with contextlib.suppress(ValueError):
        return f"its process was killed by {signal.Signals(-status).name}"
    return f"its process was killed by signal {-status}"
