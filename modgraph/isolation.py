"""Traces a target in a process of its own: whatever the user's code does there, this process gets what was seen of it.

A checkpoint that only torch can read is read in such a process as well.

A fresh interpreter runs `worker.py`, in a process group of its own, without standard input, its output in a file. Its
events come line by line over a pipe while they happen. A crash, a hang or the end of memory becomes a problem that
names the module that was being called; before the model is run at all, it is an error.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import modgraph
from modgraph.doors import temporary
from modgraph.errors import GraphError, InputError, Interrupted, ModgraphError, TraceError
from modgraph.graph.build import GraphBuilder
from modgraph.graph.events import DoneEvent, EnterEvent, ErrorEvent, Event, ExitEvent, StartEvent, replay
from modgraph.graph.model import Graph, Problem
from modgraph.heard import Heard, Watcher
from modgraph.options import TraceOptions
from modgraph.source.inputs import InputSpec
from modgraph.source.targets import Target
from modgraph.source.wire import encode_fields

_DRAIN_SECONDS = 10.0
"""How long the pipe is read after the process has ended; only a grandchild that left its group can need it."""
_START_SECONDS = 60.0
"""How long a worker may take to import torch before its time begins all the same."""
_MARK = "MODGRAPH_WORKER"
"""Variable in the environment of the worker, and so of every process that comes of it."""
_MAX_OUTPUT = 64 * 1024
"""Bytes kept of what the user's code printed."""
# The working directory, which Python puts first for -c and -m, may hold a types.py; the package's own directory is on
# the path only until the package is found.
_BOOTSTRAP = """
import sys
if sys.path[:1] == [""]: del sys.path[0]
sys.path.insert(0, sys.argv[1])
import modgraph
del sys.path[0]
from modgraph.worker import main
main(sys.argv[2], sys.argv[3])
"""


@dataclass(frozen=True, slots=True)
class TraceResult:
    """What came of a trace in a process of its own."""

    graph: Graph
    """Whole, or up to where it ended."""
    output: str = ""
    """What the user's code printed, and what Python said when it crashed."""
    captured: Any = None
    """What the capture returned; None where none was asked for, or it failed."""
    captured_files: Mapping[str, bytes] = field(default_factory=dict)
    """The files that it wrote."""
    capture_error: str | None = None
    """Why there is no capture."""


def trace_in_process(
    target: Target,
    specs: Sequence[InputSpec],
    options: TraceOptions,
    *,
    on_event: Callable[[Event], None] | None = None,
    watcher: Watcher | None = None,
    capture: str | None = None,
    settings: Mapping[str, Any] | None = None,
    captured_into: Path | None = None,
    cwd: Path | None = None,
) -> TraceResult:
    """The graph of a real run of `target`, as far as it came.

    Args:
        specs: inputs that the user gave; the others are inferred.
        on_event: is given each event as it comes, on another thread.
        watcher: is told of each event, and of what is done before the run.
        capture: "package.module:function", called in the worker after the trace as
            `function(model, args, kwargs, directory, graph, settings)`; it writes files into `directory` and returns a
            JSON value.
        settings: JSON values that it is given.
        captured_into: a directory to which its files are moved, where they are too large to be read.
        cwd: where the process runs; by default the working directory.

    Raises:
        TargetError: there is no such object, or it is no model.
        InputError: `forward` does not take an input that was given.
        TraceError: nothing was run: the user's code raised, hung or crashed while it was imported or the model was
            built, or PyTorch is not installed.
        Interrupted: Ctrl-C; holds what there is until then.
    """
    with _ended_by_signals(), temporary.folder() as directory:
        request = {
            "target": encode_fields(target),
            "inputs": [encode_fields(spec) for spec in specs],
            "options": encode_fields(options),
            "capture": capture,
            "settings": dict(settings or {}),
            "cwd": None if cwd is None else str(cwd),
        }
        heard, end = _ask(request, directory, options.timeout, Heard(on_event, watcher))
        output = _tail(directory / "output.txt")
        files = {} if captured_into is not None else _files_in(directory / "captured")
        if captured_into is not None:
            _move_files(directory / "captured", captured_into)
    try:
        graph = _graph(heard, end, options, output)
    except ModgraphError as failure:
        if end.interrupted:
            raise Interrupted(why=failure) from None
        raise
    if end.interrupted:
        raise Interrupted(graph)
    done = heard.captured or {}
    error = done.get("error")
    if capture is not None and heard.captured is None and error is None:
        error = end.text(options) or "the model did not run"
    return TraceResult(graph, output, done.get("value"), files, error)


def read_checkpoint_in_process(
    paths: Sequence[Path], options: TraceOptions
) -> dict[str, dict[str, tuple[int, ...] | str | None]]:
    """The state dicts in files that torch reads, by the entry that holds them ("" for the whole): keys and shapes.

    Raises:
        InputError: the files hold more than tensors, are broken, or ended the process that read them; or PyTorch is not
            installed.
    """
    with _ended_by_signals(), temporary.folder() as directory:
        request = {"checkpoint": [str(path) for path in paths], "options": encode_fields(options)}
        heard, end = _ask_once(request, directory, options.timeout, Heard())
        output = _tail(directory / "output.txt")
    if end.interrupted:
        raise Interrupted
    if heard.checkpoint is None:
        raise heard.error or InputError(
            f"cannot read the checkpoint {paths[0]}: {_why(end, options, output)} while {heard.stage}"
        )
    return {
        entry: {key: tuple(shape) if isinstance(shape, list) else shape for key, shape in table.items()}
        for entry, table in heard.checkpoint.items()
    }


def _ask(request: dict[str, Any], directory: Path, timeout: float | None, heard: Heard) -> tuple[Heard, _End]:
    """What a worker says to `request`.

    A forward that crashes or hangs does so already while inputs are tried out; then nothing is known of where. So
    that gets one half of the time, and a second worker runs the first guess untried, under the recorder.
    """
    first = _ask_once({**request, "probe": True}, directory, timeout, heard)
    if first[0].ended or not first[0].probing or first[1].interrupted:
        return first
    remaining = None if timeout is None else timeout - first[0].seconds
    if remaining is not None and remaining <= 0:
        return first
    second = _ask_once({**request, "probe": False}, directory, remaining, heard.anew())
    return second if second[0].events else first


def _ask_once(request: dict[str, Any], directory: Path, timeout: float | None, heard: Heard) -> tuple[Heard, _End]:
    (directory / "request.json").write_text(json.dumps(request), "utf-8")
    return heard, _run_worker(directory, timeout, heard, cwd=request.get("cwd"))


@dataclass(frozen=True, slots=True)
class _End:
    """How the process ended."""

    status: int
    """Exit status; negative for a signal."""
    timed_out: bool
    interrupted: bool = False
    """By Ctrl-C."""

    def text(self, options: TraceOptions) -> str:
        """In words, as the end of a sentence about the process; "" for an orderly end."""
        if self.interrupted:
            return "the run was interrupted by Ctrl-C"
        if self.timed_out:
            return f"the time limit of {options.timeout:g} s was reached"
        if self.status < 0:
            return f"the process was killed by {_signal_name(-self.status)}"
        if self.status == 0:
            return "the process ended itself with exit status 0, or closed the pipe that it reports through,"
        return f"the process ended itself with exit status {self.status}"


def _signal_name(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
    meaning = {
        "SIGSEGV": "a segmentation fault",
        "SIGABRT": "it aborted",
        "SIGKILL": "as the system does when memory runs out",
        "SIGFPE": "an arithmetic error",
        "SIGILL": "an instruction that this processor does not have",
        "SIGBUS": "a bus error",
    }.get(name)
    return f"{name} ({meaning})" if meaning else name


def _run_worker(directory: Path, timeout: float | None, heard: Heard, cwd: str | None) -> _End:
    """Start the worker, listen until it has ended, and leave nothing of it behind."""
    with (directory / "output.txt").open("wb") as output, _channel(directory) as (name, handed_down, reading):
        root = str(Path(modgraph.__file__).resolve().parent.parent)
        mark = secrets.token_hex(16)
        process = subprocess.Popen(
            [sys.executable, "-c", _BOOTSTRAP, root, str(directory), name],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=handed_down,
            env={**os.environ, _MARK: mark},
            cwd=cwd,
        )
        for descriptor in handed_down:
            os.close(descriptor)
        listener = threading.Thread(target=_listen, args=(reading, heard), daemon=True)
        if handed_down:
            listener.start()
        timed_out = interrupted = False
        try:
            timed_out = not _ends_in_time(process, timeout, heard, bool(handed_down))
        except KeyboardInterrupt:
            interrupted = True
        finally:
            kill_group(process)
            _kill_marked(mark)
        if not handed_down:
            listener.start()
        listener.join(_DRAIN_SECONDS)
        return _End(process.returncode, timed_out, interrupted)


def _ends_in_time(process: subprocess.Popen[bytes], timeout: float | None, heard: Heard, listening: bool) -> bool:
    """Wait for the process; when half of its time is over, it must be through with trying out inputs. Its time begins
    with the user's code, if that can be heard: what it takes to import torch says nothing of that."""
    if timeout is None:
        process.wait()
        return True
    latest = time.monotonic() + (_START_SECONDS if listening else 0)
    while process.poll() is None and time.monotonic() < latest and not heard.began.wait(0.05):
        pass
    return _ends_within(process, timeout / 2) or (not heard.probing and _ends_within(process, timeout / 2))


def _ends_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


@contextlib.contextmanager
def _channel(directory: Path) -> Iterator[tuple[str, tuple[int, ...], IO[bytes]]]:
    """Its name for the worker, the descriptors to hand down, and the end to read: a pipe, or a file on Windows."""
    if os.name == "posix":
        reading, writing = os.pipe()
        # Closed by the listener's end; a listener that still waits for a lost grandchild keeps it.
        yield str(writing), (writing,), os.fdopen(reading, "rb")
        return
    path = directory / "events.jsonl"
    path.touch()
    with path.open("rb") as file:
        yield str(path), (), file


def _listen(reading: IO[bytes], heard: Heard) -> None:
    with reading:
        for line in reading:
            heard.line(line.decode("utf-8", "replace"))


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and all of its group, which might hold a pipe open."""
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    elif process.poll() is None:
        process.kill()
    process.wait()


def _kill_marked(mark: str) -> None:
    """End what the worker started and what left its group: it has the worker's environment. Linux alone tells."""
    wanted = f"{_MARK}={mark}".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        # A process may end, or be another user's, while it is looked at.
        with contextlib.suppress(OSError):
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                os.kill(int(entry.name), signal.SIGKILL)


class _Ended(SystemExit):
    """This process was asked to end while a worker ran."""


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Inside, a signal that would end this process at once ends it by an exception, so that the worker goes first.

    A handler of the caller's own is left alone, and where this is not the main thread nothing can be set.
    """
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    numbers = [number for name in names if signal.getsignal(number := getattr(signal, name)) == signal.SIG_DFL]
    if threading.current_thread() is not threading.main_thread() or not numbers:
        yield
        return

    def end(number: int, _frame: object) -> None:
        raise _Ended(128 + number)

    for number in numbers:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def _graph(heard: Heard, end: _End, options: TraceOptions, output: str) -> Graph:
    events = list(heard.events)
    if not events or not isinstance(events[0], StartEvent):
        raise heard.error or _never_ran(heard, end, options, output)
    finished = any(isinstance(event, DoneEvent) for event in events)
    if not finished:
        events.append(_broken_off(events, heard, end, options, output))
    graph = _replayed(events)
    messages = [] if graph.complete else list(heard.warnings)
    if heard.n_malformed:
        messages.append(f"something else wrote into the pipe of the trace: {heard.n_malformed} lines make no sense")
    if not messages:
        return graph
    builder = GraphBuilder.of(graph)
    builder.problems.extend(Problem(stage="trace", message=message, module="") for message in messages)
    return builder.build()


def _replayed(events: list[Event]) -> Graph:
    """The graph of a stream; of the longest beginning that makes sense, where the whole contradicts itself.

    A stream that has contradicted itself goes on doing so, which is why half of what is in question can be left out at
    a time.

    Raises:
        TraceError: not even its start makes sense.
    """
    try:
        return replay(events)
    except GraphError as error:
        reason = error.message
    sound, unsound = 0, len(events)
    while unsound - sound > 1:
        middle = (sound + unsound) // 2
        try:
            replay(events[:middle])
        except GraphError as error:
            reason, unsound = error.message, middle
        else:
            sound = middle
    message = f"the record of the run contradicts itself from here on: {reason}"
    if not sound:
        raise TraceError(message)
    told = [event for event in events[sound:] if isinstance(event, ErrorEvent)]
    return replay([*events[:sound], *told, ErrorEvent(message=message)])


def _never_ran(heard: Heard, end: _End, options: TraceOptions, output: str) -> TraceError:
    why = _why(end, options, output)
    return TraceError(f"{why} while {heard.stage}", hint="use --static, which executes nothing of the file")


def _broken_off(events: list[Event], heard: Heard, end: _End, options: TraceOptions, output: str) -> ErrorEvent:
    """What stopped the run, at the call that had begun last and not ended."""
    if heard.error is not None:
        why = heard.error.message
    else:
        why = _why(end, options, output)
    ended = {event.call for event in events if isinstance(event, ExitEvent)}
    begun = [event for event in events if isinstance(event, EnterEvent) and event.call not in ended]
    if not begun:
        return ErrorEvent(message=f"{why} while no module was being called", module="")
    culprit = begun[-1]
    where = f"{culprit.module} was being called" if culprit.module else "forward of the model was running"
    source = culprit.source
    return ErrorEvent(
        message=f"{why} while {where}",
        module=culprit.module,
        file=source.file if source else None,
        line=source.line if source else None,
    )


def _why(end: _End, options: TraceOptions, output: str) -> str:
    text = end.text(options)
    starved = any(word in output for word in ("bad_alloc", "MemoryError", "Cannot allocate memory", "out of memory"))
    if starved and options.memory_limit is not None and not end.timed_out:
        return f"{text}, out of memory (the limit is {options.memory_limit} bytes)"
    return text


def _tail(path: Path) -> str:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _MAX_OUTPUT))
            return file.read(_MAX_OUTPUT).decode("utf-8", "replace")
    except OSError:
        return ""


def _move_files(directory: Path, place: Path) -> None:
    for path in sorted(directory.iterdir()) if directory.is_dir() else ():
        shutil.move(path, place / path.name)


def _files_in(directory: Path) -> dict[str, bytes]:
    if not directory.is_dir():
        return {}
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in files}
