"""Processes that end with ours, and take with them whatever they started.

On systems of the POSIX kind each is started by a keeper (`keeper.py`). On Windows it is started alone, and only itself
is ended.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from modgraph.doors.keeper import kill_marked
from modgraph.doors.signals import deferred
from modgraph.doors.threads import OwnThread, start_thread
from modgraph.errors import ResourceError

KEEPER = Path(__file__).with_name("keeper.py")
MARK = "MODGRAPH_WORKER"
"""Variable in the environment of a process, and so of every process that comes of it."""
MAX_OUTPUT = 64 * 1024
"""Bytes kept of what a process printed: the last ones."""
_CHUNK = 1 << 16
_OWN_GROUP: dict[str, Any] = {"process_group": 0} if sys.version_info >= (3, 11) else {"start_new_session": True}
"""So that what a terminal sends reaches no keeper. In the session of its parent: there the system wakes a process that
was stopped, when its parent ends, also before it could ask for that itself. Source: setpgid(2), "orphaned"."""
_LONGEST_SECONDS = 100_000.0
"""The longest time that the system can be told to wait."""
_STOP_SECONDS = 20.0
"""How long the keeper may take to end everything; it gives up before, by itself."""
_DRAIN_SECONDS = 10.0
"""How long output is read after the end; only a process that could not be ended can need it."""


class Process:
    """A command that runs; made by `running`."""

    def __init__(self, process: subprocess.Popen[bytes], mark: str) -> None:
        self._process = process  # the keeper; its lifeline ends with this object, whatever happens
        self._mark = mark
        self._lock = threading.Lock()
        self._tail = bytearray()
        self._reader: OwnThread | None = None
        self.status: int | None = None
        """Exit status, negative for a signal, once it has ended."""

    @property
    def output(self) -> str:
        """The end of what it printed on both of its streams."""
        return bytes(self._tail).decode("utf-8", "replace")

    def listen(self) -> None:
        """Begin to take in what it prints, as it would else be held up.

        Raises:
            ResourceError: no thread can be started.
        """
        self._reader = start_thread(self._read)

    def ended_within(self, seconds: float | None) -> bool:
        """Wait for its end, and that of all that it started; whether it came. None waits as long as it takes."""
        if seconds and self._process.returncode is None:
            seconds = _left_after_the_end_of(self._process.pid, seconds)
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def wake(self) -> None:
        """Have the keeper go on, where the user's code has stopped it: it would wait for ever."""
        if hasattr(signal, "SIGCONT") and self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """End it, if it has not ended, and everything that it started. Can be called from any thread, and again."""
        with deferred(), self._lock:
            if self.status is not None:
                return
            if self._process.stdin is not None:
                self._process.stdin.close()
            else:
                self._process.kill()
            if not self.ended_within(_STOP_SECONDS):
                self._process.kill()
            self._process.wait()
            self.status = self._settled()
            if self._reader is not None:
                self._reader.join(_DRAIN_SECONDS)

    def _settled(self) -> int:
        """The status that the keeper told; its own where somebody killed it, and then what it left is looked for."""
        if self._process.stdout is None:
            return self._process.returncode
        with self._process.stdout as pipe:
            told = pipe.read(_CHUNK)
        if told.endswith(b"\n"):
            return int(told)
        kill_marked(f"{MARK}={self._mark}")
        return self._process.returncode

    def _read(self) -> None:
        pipe = self._process.stderr
        assert pipe is not None
        with contextlib.suppress(OSError, ValueError), pipe:
            while data := os.read(pipe.fileno(), _CHUNK):
                self._tail += data
                del self._tail[:-MAX_OUTPUT]


def _left_after_the_end_of(number: int, seconds: float) -> float:
    """What is left of this time once a process has ended, which the system tells at once where it can.

    `Popen.wait` looks again and again, and sleeps up to 50 ms in between.
    """
    if not hasattr(os, "pidfd_open"):
        return seconds
    until = time.monotonic() + seconds
    try:
        end = os.pidfd_open(number)
    except OSError:  # an old system, or it is gone
        return seconds
    try:
        told = select.poll()
        told.register(end, select.POLLIN)
        told.poll(min(seconds, _LONGEST_SECONDS) * 1000)
    finally:
        os.close(end)
    return max(0.0, until - time.monotonic())


@contextlib.contextmanager
def running(
    command: Sequence[str],
    *,
    handed_down: Sequence[int] = (),
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
) -> Iterator[Process]:
    """A command that runs, without standard input, in a session of its own. At the end of the context it is ended.

    Args:
        command: its first word is the path of a program.
        handed_down: descriptors that it gets.
        env: its environment; by default that of this process.

    Raises:
        ResourceError: it cannot be started.
    """
    mark = secrets.token_hex(16)
    marked = {**(os.environ if env is None else env), MARK: mark}
    if os.name == "posix":
        keeper = start_keeper("run", [",".join(map(str, handed_down)), *command], handed_down, marked, cwd)
        process = Process(keeper, mark)
    else:
        process = Process(_started(list(command), (), marked, cwd, watched=False), mark)
    try:
        process.listen()
        yield process
    finally:
        process.stop()


def start_keeper(
    what: str,
    arguments: Sequence[str],
    handed_down: Sequence[int] = (),
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
) -> subprocess.Popen[bytes]:
    """A keeper; its standard input is the lifeline.

    Raises:
        ResourceError: it cannot be started.
    """
    command = [sys.executable, "-I", "-S", str(KEEPER), what, *arguments]
    return _started(command, handed_down, env, cwd, watched=True)


def dismiss(keeper: subprocess.Popen[bytes]) -> None:
    """There is nothing left that it could end or remove."""
    keeper.kill()
    keeper.wait()
    for stream in (keeper.stdin, keeper.stdout, keeper.stderr):
        if stream is not None:
            stream.close()


def _started(
    command: list[str],
    handed_down: Sequence[int],
    env: Mapping[str, str] | None,
    cwd: str | os.PathLike[str] | None,
    watched: bool,
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE if watched else subprocess.DEVNULL,
            stdout=subprocess.PIPE if watched else None,
            stderr=subprocess.PIPE,
            **(_OWN_GROUP if watched else {}),
            pass_fds=handed_down,
            env=env,
            cwd=cwd,
        )
    except OSError as error:
        where = f" in {cwd}" if cwd is not None and error.filename == os.fspath(cwd) else ""
        raise ResourceError(
            f"no process can be started{where}: {error.strerror}",
            hint="this machine, or a limit of this user (ulimit -a), allows no more",
        ) from error
