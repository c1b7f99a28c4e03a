"""A process that has imported torch once, and runs Python's command lines in forks of itself. Started by `client.py`.

There are two of them, of which the second is a fork of the first:

- `torch`: torch, modgraph's tracing, and no more: what a process of the user's code has loaded before that code runs.
- `all`: beside this the command line, all exports, and ONNX; for the commands themselves.

Each listens at a socket of its own. A request is one marshalled dict with the descriptors that the process gets: `command`
(the words of a Python command line), `cwd`, `environment`, `umask`, and the numbers under which it gets the descriptors.
Answered is the number of the process, and once it has ended, its status.

What a fork finds is what a fresh interpreter would find: `_become` sets it up.
"""

from __future__ import annotations

import array
import contextlib
import gc
import importlib
import io
import linecache
import marshal
import os
import runpy
import select
import signal
import socket
import sys
import tempfile
import threading
import traceback
import types
import warnings
import weakref
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MODEL = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = [nn.Linear(4, 4) for _ in range(3)]
        self.body = nn.Sequential(nn.Conv1d(4, 4, 1), nn.ReLU(), nn.LayerNorm(4), nn.Embedding(2, 2))

    def forward(self, x):
        return torch.relu(x) + x
"""
keep_onnx_table = runpy.run_path(str(Path(__file__).with_name("onnx_table.py")))["keep"]
client: Any = types.SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("client.py"))))
_ENCODINGS = [(file.encoding, file.errors) for file in (sys.stdin, sys.stdout, sys.stderr)]
_FAR = 500
"""Descriptors are kept above this number until each gets its own."""


def main(folder: str) -> None:
    """Serve at the sockets `torch` and `all` in `folder`, until standard input ends."""
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent]
    name, state = "torch", _import_torch()
    if os.fork() == 0:
        name = "all"
        try:
            _import_all()
        except BaseException:
            os.kill(os.getppid(), signal.SIGKILL)  # so that nobody waits for this one
            raise
    Server(folder, name, state).serve()


def _listener(folder: str, name: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{folder}/{name}.new")
    listener.listen(64)
    os.rename(f"{folder}/{name}.new", f"{folder}/{name}")  # there when it is ready
    return listener


def _import_torch() -> Any:
    """Do what a worker does, so that what is imported and read on the way is there in every fork. The state of torch's
    random numbers as it is in a fresh process."""
    sys.path.insert(0, str(ROOT))
    import torch

    state = torch.get_rng_state()
    import modgraph.inputs.making
    import modgraph.tracing.loading.models
    import modgraph.worker

    del sys.path[0]
    with _silent_elsewhere():
        modgraph.trace(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()))
    return state


def _import_all() -> None:
    import torch

    import modgraph
    from modgraph.cli import main as command

    with _silent_elsewhere():
        Path("model.py").write_text(MODEL, encoding="utf-8")
        for line in (
            "analyze model.py --static --format svg,json,html,mermaid,text -q -o out",
            "check model.py -q",
            "diff model.py model.py:Net -q",
        ):
            command(line.split())
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
        modgraph.analyze(model, torch.ones(1, 4), verify=True, profile=True)
        keep_onnx_table()
        with contextlib.suppress(modgraph.ModgraphError):  # what is not installed, the command says itself
            modgraph.export_onnx(model, "net.onnx", (torch.ones(1, 4),))
    for name in [name for name in sys.modules if name.partition(".")[0] in ("torchvision", "model")]:
        del sys.modules[name]  # the user's folder may have one of its own


@contextlib.contextmanager
def _silent_elsewhere() -> Any:
    """What is done here leaves nothing: neither files nor lines."""
    place = os.getcwd()
    nowhere = io.StringIO()
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(place)


def _forget() -> None:
    """What each fork would do with what is here, it does not have to do: what it writes to, it gets a copy of."""
    linecache.clearcache()
    sys.path_importer_cache.clear()
    for made in weakref.finalize._registry.values():  # type: ignore[attr-defined]
        made.atexit = False  # the operators of torch's libraries are taken back one by one
    from modgraph import isolation  # noqa: F401  # `client.begin` does so
    from modgraph.batch import tasks  # noqa: F401


def _in_large_pages() -> None:
    """A fork copies the table of pages, and its end takes that apart: of 400 MB both take 20 ms, and in large pages one."""
    import ctypes

    collapse = 25  # MADV_COLLAPSE, of Linux 6.1
    with contextlib.suppress(OSError, AttributeError), open("/proc/self/maps", encoding="utf-8") as maps:
        madvise = ctypes.CDLL(None).madvise
        madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        for line in list(maps):
            place, rights, *_, file = f"{line} -".split()[:6]
            start, end = (int(each, 16) for each in place.split("-"))
            if rights == "rw-p" and file in ("-", "[heap]", "[anon"):
                madvise(start, end - start, collapse)


class Server:
    """Forks on request, and tells how each fork ended."""

    def __init__(self, folder: str, name: str, random_state: Any) -> None:
        self.folder = folder
        self.listener = _listener(folder, name)
        self.random_state = random_state
        self.asked: dict[int, socket.socket] = {}
        """The connection over which each process was asked for, by its number."""
        self.tied: set[int] = set()
        """Those that end when it does."""

    def serve(self) -> None:
        """Until standard input ends; does not return."""
        assert threading.active_count() == 1, threading.enumerate()
        warnings.filters[:] = list(warnings.filters)
        getattr(warnings, "_filters_mutated", lambda: None)()  # what was warned of already is not remembered
        _forget()
        gc.collect()
        gc.freeze()  # what is there is never looked at again, so that a fork shares its memory
        _in_large_pages()
        woken, wake = os.pipe()
        for end in (woken, wake):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.own = (woken, wake)
        while True:
            ready, _, _ = select.select([0, woken, self.listener, *self.asked.values()], [], [])
            if 0 in ready and not os.read(0, 1):
                break
            if woken in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(woken, 4096)
                self.tell()
            for number, connection in list(self.asked.items()):
                if connection in ready and connection.fileno() >= 0:  # nobody says anything: who asked is gone
                    connection.close()
                    del self.asked[number]
                    if number in self.tied:
                        os.kill(number, signal.SIGKILL)
            if self.listener in ready:
                self.fork(self.listener.accept()[0])
        for number in self.asked:
            with contextlib.suppress(OSError):
                os.kill(number, signal.SIGKILL)
        os._exit(0)

    def tell(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                number, how = os.waitpid(-1, os.WNOHANG)
                if number == 0:
                    break
                self.tied.discard(number)
                connection = self.asked.pop(number, None)
                if connection is not None:
                    with contextlib.suppress(OSError), connection:
                        connection.sendall(f"{os.waitstatus_to_exitcode(how)}\n".encode())

    def fork(self, connection: socket.socket) -> None:
        request, descriptors = _received(connection)
        number = os.fork()
        if number:
            for descriptor in descriptors:
                os.close(descriptor)
            self.asked[number] = connection
            if request["tied"]:
                self.tied.add(number)
            connection.sendall(f"{number}\n".encode())
            return
        try:
            connection.close()
            self.listener.close()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for other in (*self.own, *(one.detach() for one in self.asked.values())):
                os.close(other)
            _become(request, descriptors, self)
        except BaseException:
            os.write(2, traceback.format_exc().encode())
        finally:
            os._exit(99)


def _received(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """The length of the request with its descriptors, which are moved out of the way, and the request."""
    descriptors = array.array("i")
    data, ancillary, _, _ = connection.recvmsg(8, socket.CMSG_SPACE(64 * 4))
    for _, _, got in ancillary:
        descriptors.frombytes(got[: len(got) - len(got) % 4])
    import fcntl

    moved = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _FAR) for descriptor in descriptors]
    for descriptor in descriptors:
        os.close(descriptor)
    left = int.from_bytes(data, "little")
    request = b""
    while len(request) < left:
        request += connection.recv(left - len(request))
    return marshal.loads(request), moved


def _become(request: dict[str, Any], descriptors: list[int], server: Server) -> None:
    """Be in this process what a fresh interpreter would be, and run what is asked for."""
    for descriptor, number in zip(descriptors, request["numbers"], strict=True):
        os.dup2(descriptor, number)
        os.close(descriptor)
    for number in request["closed"]:
        os.close(number)
    os.umask(request["umask"])
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    for number in request["ignored"]:
        signal.signal(number, signal.SIG_IGN)
    if request["group"]:
        os.setpgid(0, 0)
    _as_if_fresh(server)
    words = request["command"]
    if words[0] == "KEEPER":
        _keep(words[1:], server)
    _run(words)


def _as_if_fresh(server: Server) -> None:
    import random

    import torch

    torch.set_rng_state(server.random_state)
    random.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    tempfile.tempdir = None
    linecache.clearcache()
    sys.path_importer_cache.clear()
    sys.path[:0] = [
        entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry and entry not in sys.path
    ]
    if any(os.path.realpath(entry) == client.SHIM for entry in sys.path):
        sys.modules.pop("sitecustomize", None)
        importlib.import_module("sitecustomize")
    _streams()
    client.use(server.folder)


def _streams() -> None:
    """Python's own files, anew: their buffers, and whether lines are written at once, depend on what is behind them."""
    unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    wanted, _, mistakes = os.environ.get("PYTHONIOENCODING", "").partition(":")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        encoding, errors = _ENCODINGS[number]
        if wanted or mistakes:
            encoding, errors = wanted or encoding, errors if number == 2 else mistakes or "strict"
        file: Any = None
        with contextlib.suppress(OSError):
            raw = io.FileIO(number, "rb" if number == 0 else "wb", closefd=False)
            buffered: Any = io.BufferedReader(raw) if number == 0 else raw if unbuffered else io.BufferedWriter(raw)
            file = io.TextIOWrapper(
                buffered,
                encoding,
                errors,
                line_buffering=number == 2 or (number == 1 and os.isatty(1)),
                write_through=number > 0 and unbuffered,
            )
            file.mode = "r" if number == 0 else "w"
        setattr(sys, name, file)
        setattr(sys, f"__{name}__", file)


def _keep(words: list[str], server: Server) -> None:
    """Be modgraph's keeper; its command is one of Python, and becomes a fork too."""
    from modgraph.doors import keeper

    def started(command: Any) -> int:
        parent = os.getpid()
        child = os.fork()
        if child:
            return child
        try:
            os.setsid()
            keeper.die_with_parent(parent)
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
                if signal.getsignal(number) != signal.SIG_IGN:
                    signal.signal(number, signal.SIG_DFL)
            if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
                signal.signal(signal.SIGINT, signal.default_int_handler)
            null = os.open(os.devnull, os.O_RDONLY)
            os.dup2(null, 0)
            os.close(null)
            os.dup2(2, 1)
            _streams()
            handed_down = set(map(int, filter(None, words[1].split(","))))
            for name in os.listdir("/proc/self/fd"):
                if int(name) > 2 and int(name) not in handed_down:
                    with contextlib.suppress(OSError):
                        os.close(int(name))
            _run(list(command)[1:])
        finally:
            os._exit(99)

    keeper._started = started  # type: ignore[assignment]
    keeper._run([int(number) for number in words[1].split(",") if number], words[2:])
    os._exit(0)


def _run(words: list[str]) -> None:
    """`-c CODE ARGUMENTS...`, `-m modgraph ARGUMENTS...` or `FILE ARGUMENTS...`, to the end of the process."""
    import atexit

    status: Any = 0
    try:
        if words[0] == "-c":
            sys.path.insert(0, "")
            sys.argv[:] = ["-c", *words[2:]]
            module = types.ModuleType("__main__")
            module.__dict__["__builtins__"] = __builtins__
            sys.modules["__main__"] = module
            exec(compile(words[1], "<string>", "exec"), module.__dict__)
        elif words[0] != "-m":
            sys.path.insert(0, os.path.dirname(os.path.abspath(words[0])))
            sys.argv[:] = words
            runpy.run_path(words[0], run_name="__main__")
        else:
            sys.path.insert(0, os.getcwd())
            sys.argv[:] = ["-m", *words[2:]]
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        status = end.code
        if status is not None and not isinstance(status, int):
            print(status, file=sys.stderr)
            status = 1
    except BaseException as error:
        traceback.print_exception(error.with_traceback(error.__traceback__ and error.__traceback__.tb_next))
        status = -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OSError:
        status = 120
    with contextlib.suppress(Exception):
        sys.stderr.flush()
    if isinstance(status, int) and status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit((status or 0) & 0xFF)


if __name__ == "__main__":
    main(sys.argv[1])
