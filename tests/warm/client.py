"""Has `subprocess` ask a process that has imported torch already (`server.py`) for a fork, in place of a fresh one.

    warm.begin()            # from here on, `subprocess.run([sys.executable, "-m", "modgraph", ...])` is a fork
    warm.fresh = True       # and from here on it is a fresh process again

So it is for modgraph's command line, and for the processes in which modgraph runs the user's code. Fresh stays whatever
asks for something that a fork does not give: another environment of the interpreter, a session, or code to be run first.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

_SECONDS = 120.0
"""How long the server may take to import everything."""
_ROOT = str(Path(__file__).resolve().parents[2])
_FRESH = subprocess.Popen
_AT_THE_START = ("PYTHON", "LD_", "LC_", "LANG", "OMP_", "MKL_", "GOMP_", "KMP_", "TORCH", "PYTORCH", "CUDA", "NUMEXPR", "OPENBLAS")  # fmt: skip
"""Variables that are read when an interpreter starts, or torch is imported, begin so."""

fresh = False
"""Whether every process is a fresh one, whatever it runs."""
_folder: str | None = None
_server: subprocess.Popen[bytes] | None = None
_started_with: dict[str, str] = {}
_lock = threading.Lock()


def begin() -> None:
    """Have processes forked from now on. The server is started when the first is asked for."""
    subprocess.Popen = WarmPopen  # type: ignore[misc]


def use(folder: str) -> None:
    """The same in a fork, with the server that it was forked from."""
    global _folder, _started_with
    _folder = folder
    _started_with = _at_the_start(os.environ)
    begin()


def end() -> None:
    """Stop the server."""
    global _folder, _server
    subprocess.Popen = _FRESH  # type: ignore[misc]
    if _server is not None:
        _server.communicate()
        with contextlib.suppress(OSError):
            for name in os.listdir(_folder or ""):
                os.unlink(f"{_folder}/{name}")
            os.rmdir(_folder or "")
    _folder = _server = None


def _start() -> None:
    global _folder, _server, _started_with
    with _lock:
        if _folder is None:
            folder = tempfile.mkdtemp(prefix="warm-", dir="/tmp")
            environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
            _started_with = _at_the_start(os.environ)
            _server = _FRESH(
                [sys.executable, str(Path(__file__).with_name("server.py")), folder],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment, cwd="/",
            )  # fmt: skip
            _folder = folder


def _at_the_start(environment: Any) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_AT_THE_START) and name != "PYTHONPATH"}


def _connected(name: str) -> socket.socket:
    import time

    connection = socket.socket(socket.AF_UNIX)
    until = time.monotonic() + _SECONDS
    while True:
        try:
            connection.connect(f"{_folder}/{name}")
            return connection
        except (FileNotFoundError, ConnectionRefusedError):
            if time.monotonic() > until or (_server is not None and _server.poll() is not None):
                raise
            time.sleep(0.02)


def _bootstraps() -> list[str]:
    """The code that modgraph starts processes of its own with, by what they need."""
    found = []
    for module in ("modgraph.isolation", "modgraph.batch.tasks"):
        if module in sys.modules:
            found.append(sys.modules[module]._BOOTSTRAP)
    return found


def _forked(args: Any) -> tuple[str, list[str]] | None:
    """Which server is asked for which command; None for a command that is none of these."""
    if isinstance(args, (str, bytes)) or not all(isinstance(word, str) for word in args):
        return None
    words = list(args)
    if words[:1] != [sys.executable]:
        return None
    if words[1:3] == ["-m", "modgraph"]:
        return "all", words[1:]
    if words[1:3] == ["-I", "-S"] and words[4:5] == ["run"] and words[6:8] == [sys.executable, "-c"]:
        bootstraps = _bootstraps()
        if words[8] in bootstraps:
            return _room(words), ["KEEPER", *words[4:]]
    return None


def _room(words: list[str]) -> str:
    """A worker that exports needs what is slow to import, as does one that runs a whole command."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        request = json.loads(Path(words[10], "request.json").read_text("utf-8"))
        if "capture" in request and not request["capture"]:
            return "torch"
        if "checkpoint" in request:
            return "torch"
    return "all"


class WarmPopen(_FRESH):  # type: ignore[type-arg,valid-type,misc]
    """A process that is forked by a server, where this gives the same as a fresh one."""

    def _execute_child(self, args: Any, executable: Any, preexec_fn: Any, close_fds: Any, pass_fds: Any, cwd: Any, env: Any, startupinfo: Any, creationflags: Any, shell: Any, p2cread: int, p2cwrite: int, c2pread: int, c2pwrite: int, errread: int, errwrite: int, restore_signals: Any, gid: Any, gids: Any, uid: Any, umask: int, start_new_session: bool, *rest: Any) -> None:  # fmt: skip
        self._connection: socket.socket | None = None
        environment = dict(os.environ if env is None else env)
        plain = not (fresh or executable or preexec_fn or shell or start_new_session or gid or gids or uid or umask != -1)
        asked = _forked(args) if plain and all(isinstance(key, str) for key in environment) else None
        if asked is not None:
            _start()
            where = os.path.join(os.getcwd(), os.fspath(cwd) if cwd is not None else "")
            if _at_the_start(environment) == _started_with and not _shadowing(environment) and os.path.isdir(where):
                streams = [p2cread, c2pwrite, errwrite]
                self._ask(asked, [given if given != -1 else number for number, given in enumerate(streams)],
                          pass_fds, where, environment, bool(rest and rest[0] == 0))  # fmt: skip
                self._child_created = True
                self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)
                return
        super()._execute_child(
            args, executable, preexec_fn, close_fds, pass_fds, cwd, env, startupinfo, creationflags, shell,
            p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite, restore_signals, gid, gids, uid, umask,
            start_new_session, *rest,
        )  # fmt: skip

    def _ask(self, asked: Any, streams: list[int], pass_fds: Any, where: str, environment: Any, group: bool) -> None:
        room, command = asked
        handed_down = [number for number in pass_fds if number > 2]
        umask = os.umask(0o22)
        os.umask(umask)
        request = {
            "command": command, "cwd": where, "environment": environment, "umask": umask, "group": group,
            "numbers": [0, 1, 2, *handed_down],
            "ignored": [
                number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
                if signal.getsignal(number) == signal.SIG_IGN
            ],
        }  # fmt: skip
        text = json.dumps(request).encode()
        self._connection = _connected(room)
        socket.send_fds(self._connection, [len(text).to_bytes(8, "little")], [*streams, *handed_down])
        self._connection.sendall(text)
        said = b""
        while not said.endswith(b"\n"):
            said += self._connection.recv(1)
        self.pid = int(said)
        self._status = b""

    def _told(self, seconds: float | None) -> bool:
        """Whether the server has told the status within this time."""
        with self._waitpid_lock:
            if self.returncode is not None:
                return True
            assert self._connection is not None
            if not select.select([self._connection], [], [], seconds)[0]:
                return False
            while not self._status.endswith(b"\n"):
                data = self._connection.recv(64)
                if not data:
                    self._status = b"-9\n"
                self._status += data
            self._connection.close()
            self.returncode = int(self._status)
        return True

    def _internal_poll(self, *args: Any, **kwargs: Any) -> int | None:
        if self._connection is None:
            return super()._internal_poll(*args, **kwargs)
        if self.returncode is None:
            self._told(0)
        return self.returncode

    def _wait(self, timeout: float | None) -> int:
        if self._connection is None:
            return super()._wait(timeout)
        import time

        until = None if timeout is None else time.monotonic() + timeout
        while self.returncode is None:
            if self._told(0.05 if until is None else max(0.0, min(0.05, until - time.monotonic()))):
                break
            if until is not None and time.monotonic() >= until:
                raise subprocess.TimeoutExpired(self.args, timeout)
        return self.returncode


def _shadowing(environment: dict[str, str]) -> bool:
    """A folder on the path has code that runs at the start of an interpreter, or a torch of its own."""
    for entry in environment.get("PYTHONPATH", "").split(os.pathsep):
        if not entry or os.path.realpath(entry) == _ROOT:
            continue
        with contextlib.suppress(OSError):
            names = set(os.listdir(entry))
            if names & _OF_THE_START:
                return True
    return False


_OF_THE_START = {"sitecustomize.py", "usercustomize.py", *(f"{name}{end}" for name in ("torch", "numpy", "modgraph", "onnx", "pygraphviz", "graphviz", "networkx", "libcst") for end in ("", ".py"))}  # fmt: skip
