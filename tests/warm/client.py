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
import runpy
import select
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

_HASH_SEED = "1"
"""So that a failure comes again; a run that asks for another gets a fresh process."""
_ROOT = str(Path(__file__).resolve().parents[2])
asked_for, told = map(runpy.run_path(str(Path(__file__).with_name("asking.py"))).get, ("asked_for", "told"))
SHIM = os.path.join(_ROOT, "tests", "oracle", "torchvision_shim")
"""A folder whose `sitecustomize` does the same after torch was imported, so a fork runs it."""
_FRESH = subprocess.Popen
_AT_THE_START = ("PYTHON", "LD_", "LC_", "LANG", "OMP_", "MKL_", "GOMP_", "KMP_", "TORCH", "PYTORCH", "CUDA", "NUMEXPR", "OPENBLAS")  # fmt: skip
"""Variables that are read when an interpreter starts, or torch is imported, begin so."""
_READ_LATER = ("PYTHONPATH", "PYTHONIOENCODING", "TORCH_HOME")
"""What begins so as well, and is seen to by each fork, or read when something is looked for."""

fresh = False
"""Whether every process is a fresh one, whatever it runs."""
_folder: str | None = None
_server: subprocess.Popen[bytes] | None = None
_started_with: dict[str, str] = {}
_bootstraps: frozenset[str] = frozenset()
"""The code with which modgraph starts processes of its own; a test may put other code in its place."""
_environment: dict[str, str] = {}
"""That of the session: what a test changes is its own."""
_codes: set[str] = set()
"""Code that was given to `run_code`."""
_lock = threading.Lock()


def begin() -> None:
    """Have processes forked from now on. The server is started when the first is asked for."""
    global _bootstraps, _environment
    from modgraph import isolation
    from modgraph.batch import tasks

    _environment = dict(os.environ)
    _bootstraps = frozenset((isolation._BOOTSTRAP, tasks._BOOTSTRAP))
    subprocess.Popen = WarmPopen  # type: ignore[misc]


def use(folder: str) -> None:
    """The same in a fork, with the server that it was forked from."""
    global _folder, _started_with
    _folder = folder
    _started_with = _at_the_start(os.environ)
    begin()


def run_code(code: str, *words: str, **given: Any) -> subprocess.CompletedProcess[Any]:
    """`python -c CODE WORDS`, forked from the server that has imported everything; others as for `subprocess.run`."""
    _codes.add(code)
    return subprocess.run([sys.executable, "-c", code, *words], check=False, **given)


def words() -> list[str]:
    """What to write for `python`, where a shell or another program is to start `python -m modgraph`."""
    if fresh or subprocess.Popen is not WarmPopen:
        return [sys.executable]
    _start()
    return [sys.executable, "-I", "-S", str(Path(__file__).with_name("ask.py")), _folder or ""]


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
            _started_with = _at_the_start(_environment)
            environment = {**_environment, **_started_with, "MODGRAPH_CACHE": "off"}
            for name in _READ_LATER:
                environment.pop(name, None)
            _server = _FRESH(
                [sys.executable, str(Path(__file__).with_name("server.py")), folder],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment, cwd="/",
            )  # fmt: skip
            _folder = folder


def _at_the_start(environment: Any) -> dict[str, str]:
    """These variables. What is on the path is seen to by each fork; the order of sets is the server's."""
    found = {name: value for name, value in environment.items() if name.startswith(_AT_THE_START)}
    for name in _READ_LATER:
        found.pop(name, None)
    return {"PYTHONHASHSEED": _HASH_SEED, **found}


def _forked(args: Any) -> tuple[str, list[str]] | None:
    """Which server is asked for which command; None for a command that is none of these."""
    if isinstance(args, (str, bytes)) or not all(isinstance(word, str) for word in args):
        return None
    words = list(args)
    if words[:1] != [sys.executable]:
        return None
    if words[1:3] == ["-m", "modgraph"] or (words[1:2] == ["-c"] and words[2] in _codes):
        return "all", words[1:]
    keeper = words[1:3] == ["-I", "-S"] and words[4:5] == ["run"] and words[6:8] == [sys.executable, "-c"]
    if keeper and words[8] in _bootstraps:
        return _room(words), ["KEEPER", *words[4:]]
    return None


def _room(words: list[str]) -> str:
    """A worker that runs without weights, exports, or has to find inputs, needs what is slow to import, as one that runs a
    command does."""
    try:
        request = json.loads(os.pread(int(words[12]), 1 << 24, 0))
        slow = request.get("capture") or request["options"].get("device") == "fake" or request.get("inputs") == []
    except (OSError, ValueError, LookupError):
        return "all"
    return "all" if slow else "torch"


class WarmPopen(_FRESH):  # type: ignore[type-arg,valid-type,misc]
    """A process that is forked by a server, where this gives the same as a fresh one."""

    def _execute_child(self, args: Any, executable: Any, preexec_fn: Any, close_fds: Any, pass_fds: Any, cwd: Any, env: Any, startupinfo: Any, creationflags: Any, shell: Any, p2cread: int, p2cwrite: int, c2pread: int, c2pwrite: int, errread: int, errwrite: int, restore_signals: Any, gid: Any, gids: Any, uid: Any, umask: int, start_new_session: bool, *rest: Any) -> None:  # fmt: skip
        self._connection: Any = None
        environment = dict(os.environ if env is None else env)
        plain = not (
            fresh or executable or preexec_fn or shell or start_new_session or gid or gids or uid or umask != -1
        )
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
        self._connection, self.pid = asked_for(
            _folder or "", room, command, numbers=[0, 1, 2, *handed_down], given=[*streams, *handed_down], where=where,
            environment=environment, group=group, is_over=lambda: _server is not None and _server.poll() is not None,
        )  # fmt: skip

    def _told(self, seconds: float | None) -> bool:
        """Whether the server has told the status within this time."""
        with self._waitpid_lock:
            if self.returncode is not None:
                return True
            assert self._connection is not None
            if not select.select([self._connection], [], [], seconds)[0]:
                return False
            self.returncode = told(self._connection)
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
        if not entry or os.path.realpath(entry) in (_ROOT, SHIM):
            continue
        with contextlib.suppress(OSError):
            names = set(os.listdir(entry))
            if names & _OF_THE_START:
                return True
    return False


_OF_THE_START = {"sitecustomize.py", "usercustomize.py", *(f"{name}{end}" for name in ("torch", "numpy", "modgraph", "onnx", "pygraphviz", "graphviz", "networkx", "libcst") for end in ("", ".py"))}  # fmt: skip
