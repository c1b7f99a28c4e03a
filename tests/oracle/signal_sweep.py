"""Ends each command at random moments, and says what was left: processes, temporary folders, half-written files.

    python tests/oracle/signal_sweep.py --moments 50
    python tests/oracle/signal_sweep.py --moments 5 --only diff render --kinds kill stop --seed 7

What may be left is nothing, whatever the signal; what is printed is one line, whatever the moment. The moments before
Python has begun to run the command (some 20 ms, in which it shows a traceback of its own) are counted apart. "stop" stops
the processes that run the code of models, or draw, before the command is killed. Linux only.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_MARK = "SIGNAL_SWEEP"
_SETTLE_SECONDS = 15.0
"""How long what outlives a command may take to go: it has to be noticed that the command is gone."""
_END_SECONDS = 60.0
KINDS = ("kill", "stop", "int", "group", "twice", "term", "hup")
STATUS = {"int": 130, "group": 130, "twice": 130, "term": 143, "hup": 129}

MODEL = """\
import subprocess, sys, time
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.layers = [nn.Linear(width, width)]

    def forward(self, x):
        return self.first(x)

class Net(nn.Module):
    def __init__(self, width: int = 8):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(6))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
"""


@dataclass
class Case:
    """One command, and what its folder holds."""

    name: str
    arguments: Sequence[str]
    torch: bool = False


CASES = (
    Case("check", ["check", "."]),
    Case("check-jobs", ["check", ".", "--jobs", "2", "--no-cache"]),
    Case("fix", ["check", ".", "--fix", "--unsafe-fixes"]),
    Case("static", ["analyze", "net0.py:Net", "--static", "--format", "svg,json,html"]),
    Case("trace", ["analyze", "net0.py:Net", "--input", "1x8", "--format", "svg,json"], torch=True),
    Case("all", ["analyze", "--all", "--static", "--jobs", "2", "--format", "json,svg"]),
    Case("diff", ["diff", "HEAD:net0.py:Net", "net0.py:Net"]),
    Case("render", ["render", "saved.json", "--format", "svg"]),
)


def prepare(folder: Path, python: str) -> None:
    """A repository with some models, and a saved graph."""
    folder.mkdir(parents=True)
    for number in range(12):
        (folder / f"net{number}.py").write_text(MODEL)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(folder)]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *arguments], check=True, capture_output=True)
    (folder / "net0.py").write_text(MODEL.replace("range(6)", "range(7)"))
    made = [python, "-m", "modgraph", "analyze", "net0.py:Net", "--static", "--format", "json", "-o", "saved.json"]
    subprocess.run(made, cwd=folder, check=False, capture_output=True, env=environment(folder.parent / "first", ""))


def environment(place: Path, mark: str) -> dict[str, str]:
    """That of a command whose temporary files and caches lie below `place`."""
    for name in ("tmp", "cache"):
        (place / name).mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    own = {"TMPDIR": str(place / "tmp"), "XDG_CACHE_HOME": str(place / "cache"), _MARK: mark, "PYTHONPATH": path}
    return {**os.environ, **own}


def processes(mark: str) -> list[str]:
    """What still runs with that mark in its environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{_MARK}={mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append(f"{entry.name} {(entry / 'cmdline').read_bytes().replace(bytes(1), b' ')[:80].decode()}")
    return found


def descendants(number: int) -> Iterator[int]:
    """The processes below one."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            above = int((entry / "stat").read_bytes().rpartition(b")")[2].split()[1])
            parents.setdefault(above, []).append(int(entry.name))
    pending = [number]
    while pending:
        below = parents.get(pending.pop(), [])
        yield from below
        pending.extend(below)


def working(number: int) -> Iterator[int]:
    """Those below one that run the code of models, or draw. Not the keepers, whose command line holds theirs: one that
    is stopped before it has asked the system to be woken stays so, and only somebody of the user's own stops it then."""
    for below in descendants(number):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{below}/cmdline").read_bytes().split(bytes(1))
            if b"-c" in words and not any(word.endswith(b"/keeper.py") for word in words):
                yield below


def send(kind: str, number: int) -> None:
    """End a command in that way."""
    if kind == "stop":
        for below in (*working(number),):
            with contextlib.suppress(ProcessLookupError):
                os.kill(below, signal.SIGSTOP)
    if kind in ("kill", "stop"):
        os.kill(number, signal.SIGKILL)
    elif kind == "group":
        os.killpg(number, signal.SIGINT)
    elif kind == "twice":
        os.kill(number, signal.SIGINT)
        time.sleep(random.random() * 0.1)
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGINT)
    else:
        os.kill(number, {"int": signal.SIGINT, "term": signal.SIGTERM, "hup": signal.SIGHUP}[kind])


@dataclass
class Left:
    """What one ended command left behind or did wrong."""

    early: bool = False
    """It was ended before Python had begun to run it."""
    finished: bool = False
    """It was quicker than the signal."""
    faults: list[str] = field(default_factory=list)


def ended(case: Case, kind: str, place: Path, python: str, wait: Callable[[subprocess.Popen[bytes]], None]) -> Left:
    """Run a command, end it when `wait` returns, and look at what is left."""
    mark = secrets.token_hex(8)
    shutil.copytree(place.parent / "repository", place / "repository", symlinks=True)
    with (place / "said").open("wb") as said, (place / "out").open("wb") as out:
        process = subprocess.Popen(
            [python, "-m", "modgraph", *case.arguments],
            cwd=place / "repository", env=environment(place, mark), stdin=subprocess.DEVNULL,
            stdout=out, stderr=said, start_new_session=True,
        )  # fmt: skip
        wait(process)
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                send(kind, process.pid)
        left = Left()
        try:
            status = process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            left.faults.append(f"went on for {_END_SECONDS:g} s")
            os.killpg(process.pid, signal.SIGKILL)
            status = process.wait()
    _look(left, kind, status, (place / "said").read_text("utf-8", "replace"), place, mark)
    return left


def _look(left: Left, kind: str, status: int, told: str, place: Path, mark: str) -> None:
    if kind in STATUS:
        left.finished = status in (0, 1, 2)
        left.early = status == -STATUS[kind] + 128 or ("Traceback" in told and "/modgraph/" not in told)
        if not left.finished and not left.early:
            if status != STATUS[kind]:
                left.faults.append(f"status {status}")
            if "interrupted" not in told:
                left.faults.append("without a word")
        if not left.early and ("Traceback" in told or "Exception ignored" in told):
            left.faults.append("traceback:\n" + told)
    until = time.monotonic() + _SETTLE_SECONDS
    while (found := _remains(place, mark)) and time.monotonic() < until:
        time.sleep(0.05)
    left.faults.extend(found)


def _remains(place: Path, mark: str) -> list[str]:
    found = [f"process {each}" for each in processes(mark)]
    found += [f"temporary {path.name}" for path in (place / "tmp").iterdir() if path.name.startswith("modgraph-")]
    for folder in ("repository", "cache"):
        for path in (place / folder).rglob("*"):
            if path.name.startswith(".modgraph-") or path.suffix == ".tmp" or path.name.startswith("tmp"):
                found.append(f"half-written {path.relative_to(place)}")
    return found


def main() -> int:
    """Sweep, and say what was found; 1 where something was left."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=50, help="of each command and kind of end")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", choices=[case.name for case in CASES], help="commands")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=KINDS)
    parser.add_argument("--python", default=sys.executable)
    given = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):  # the commands would inherit that they are ignored
        signal.signal(number, signal.default_int_handler)
    chance = random.Random(given.seed)
    worst = 0
    with tempfile.TemporaryDirectory(prefix="signal-sweep-") as name:
        top = Path(name)
        prepare(top / "repository", given.python)
        for case in CASES:
            if given.only and case.name not in given.only:
                continue
            began = time.monotonic()
            ended(case, "kill", _fresh(top), given.python, lambda process: _wait_for(process, _END_SECONDS))
            lasts = time.monotonic() - began
            for kind in given.kinds:
                counts: Counter[str] = Counter()
                for _ in range(given.moments):
                    moment = chance.random() * lasts
                    left = ended(case, kind, _fresh(top), given.python, lambda process, s=moment: _wait_for(process, s))
                    counts["early"] += left.early
                    counts["finished"] += left.finished
                    counts["faults"] += bool(left.faults)
                    for fault in left.faults:
                        print(f"{case.name} {kind} at {moment:.3f} s: {fault}", flush=True)
                worst = max(worst, counts["faults"])
                told = f"{counts['early']} before Python ran it, {counts['finished']} after its end"
                print(
                    f"{case.name:10} {kind:6} {given.moments} moments in {lasts:.2f} s: {counts['faults']} faults ({told})"
                )
    return 1 if worst else 0


def _fresh(top: Path) -> Path:
    place = top / secrets.token_hex(4)
    place.mkdir()
    return place


def _wait_for(process: subprocess.Popen[bytes], seconds: float) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)


if __name__ == "__main__":
    raise SystemExit(main())
