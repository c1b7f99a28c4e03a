"""Traces a target in a process of its own: whatever the user's code does there, this process gets what was seen of it.

A checkpoint that only torch can read is read in such a process as well.

A fresh interpreter runs `worker.py`, in a session of its own, without standard input; of what it prints the end is
kept. Its events come line by line over a pipe while they happen. A crash, a hang or the end of memory becomes a problem
that names the module that was being called; before the model is run at all, it is an error. `doors/processes.py` sees
to it that nothing of it is left.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, Any

import modgraph
from modgraph.doors import temporary, writing
from modgraph.doors.folders import regular_files
from modgraph.doors.processes import Process, running
from modgraph.doors.reading import read
from modgraph.doors.signals import Terminated
from modgraph.doors.threads import start_thread
from modgraph.errors import (
    ArgumentsError,
    EndlessImportError,
    GraphError,
    InputError,
    Interrupted,
    MissingArgumentsError,
    ModgraphError,
    ResourceError,
    TargetError,
    TraceError,
)
from modgraph.graph.build import GraphBuilder
from modgraph.graph.events import DoneEvent, EnterEvent, ErrorEvent, Event, ExitEvent, StartEvent, replay
from modgraph.graph.model import ENDED, NO_END, Graph, Problem
from modgraph.heard import MAX_RECORD, Heard, Watcher
from modgraph.options import IMPORT_SECONDS, TraceOptions
from modgraph.source.files import decode
from modgraph.source.inputs import InputSpec
from modgraph.source.needed_statements import is_needed, names_of
from modgraph.source.targets import Target
from modgraph.source.wire import decode_target, encode_fields

_DRAIN_SECONDS = 10.0
"""How long the pipe is read after the process has ended; only a grandchild that left its group can need it."""
_START_SECONDS = 60.0
"""How long a worker may take to import torch before its time begins all the same."""
_POLL_SECONDS = 0.1
_IMPORT_SHARE = 1 / 3
"""Of the time limit: how long the import alone may take before it is tried without what the model does not need."""
_TELL_SECONDS = 20.0
"""How long a file may take to be imported before it is said that this is what is waited for."""
CHECKPOINT_SECONDS = 300.0
"""How long torch may read a checkpoint, where no time is given."""
CHECKPOINT_BYTES = 4 * 2**30
"""What that may take beyond the size of the file, where no limit is given."""
_MAX_CAPTURED = 2**30
"""Bytes of captured files that are read; those that are moved are not counted."""
# The working directory, which Python puts first for -c and -m, may hold a types.py; the package's own directory is on
# the path only until the package is found.
_BOOTSTRAP = """
import sys
if sys.path[:1] == [""]: del sys.path[0]
sys.path.insert(0, sys.argv[1])
import modgraph
del sys.path[0]
from modgraph.worker import main
main(sys.argv[2], sys.argv[3], sys.argv[4])
"""


Endless = Mapping[str, Any]
"""Where an import did not come to its end, as another worker is told of it: plain data."""


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
    endless: Endless | None = None
    """Where the import did not come to its end, so that the model was traced with what it needs; None where it did."""


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
    endless: Endless | None = None,
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
        endless: what `TraceResult.endless` said of another model of the same file, which is not waited for once more.

    Raises:
        TargetError: there is no such object, or it is no model.
        InputError: `forward` does not take an input that was given.
        TraceError: nothing was run: the user's code raised, hung or crashed while it was imported or the model was
            built, or PyTorch is not installed.
        ResourceError: no process can be started, or there is no temporary folder.
        Interrupted: Ctrl-C; holds what there is until then.
    """
    with temporary.folder() as directory:
        request = {
            "target": encode_fields(target),
            "inputs": [encode_fields(spec) for spec in specs],
            "options": encode_fields(options),
            "capture": capture,
            "settings": dict(settings or {}),
            "cwd": None if cwd is None else str(cwd),
            "left_out": endless,
        }
        heard, end, endless = _ask(request, directory, options, Heard(on_event, watcher))
        is_captured = capture is not None and heard.captured is not None
        files = _files_in(directory / "captured") if is_captured and captured_into is None else {}
        if is_captured and captured_into is not None:
            _move_files(directory / "captured", captured_into)
    try:
        graph = _graph(heard, end, options)
    except ModgraphError as failure:
        if end.interrupted:
            raise Interrupted(why=failure) from None
        raise
    if end.interrupted:
        raise Interrupted(graph)
    done = heard.captured or {}
    error = done.get("error")
    if capture is not None and heard.captured is None and error is None:
        error = end.text() or "the model did not run"
    return TraceResult(graph, end.output, done.get("value"), files, error, endless)


def read_checkpoint_in_process(
    paths: Sequence[Path], options: TraceOptions
) -> dict[str, dict[str, tuple[int, ...] | str | None]]:
    """The state dicts in files that torch reads, by the entry that holds them ("" for the whole): keys and shapes.

    Raises:
        InputError: the files hold more than tensors, are broken, or ended the process that read them; or PyTorch is not
            installed.
    """
    bounded = _bounded(paths, options)
    with temporary.folder() as directory:
        request = {"checkpoint": [str(path) for path in paths], "options": encode_fields(bounded)}
        heard, end = _ask_once(request, directory, _Limits(bounded.timeout, bounded.timeout), Heard())
    if end.interrupted:
        raise Interrupted
    if heard.checkpoint is None:
        late = end.ended is not None and options.timeout is None
        raise heard.error or InputError(
            f"cannot read the checkpoint {paths[0]}: {_why(end, bounded)} while {heard.stage}",
            hint="allow more by --timeout SECONDS" if late else None,
        )
    return {
        entry: {key: tuple(shape) if isinstance(shape, list) else shape for key, shape in table.items()}
        for entry, table in heard.checkpoint.items()
    }


def _bounded(paths: Sequence[Path], options: TraceOptions) -> TraceOptions:
    """With limits of our own where none are given: a file that nobody has looked at may ask for any work and memory."""
    size = 0
    for path in paths:
        with contextlib.suppress(OSError):  # it is told where it is read
            size += path.stat().st_size
    return replace(
        options,
        device="cpu",
        verify=False,
        timeout=CHECKPOINT_SECONDS if options.timeout is None else options.timeout,
        memory_limit=size + CHECKPOINT_BYTES if options.memory_limit is None else options.memory_limit,
    )


@dataclass(frozen=True, slots=True)
class _Limits:
    """How long a worker may take. The time begins with the user's code: what it takes to import torch says nothing of
    that."""

    asked: float | None
    """Seconds that the caller gave for all of it."""
    left: float | None
    """Seconds of these for this worker."""
    importing: float | None = None
    """Seconds for importing the file and building the model, where nothing was asked for."""
    importing_alone: float | None = None
    """Seconds for importing it, after which it is tried with what the model needs of it."""
    wins: Callable[[Heard], bool] = lambda _: True
    """Whether the model may do without what the import then stands at."""


def _ask(
    request: dict[str, Any], directory: Path, options: TraceOptions, heard: Heard
) -> tuple[Heard, _End, Endless | None]:
    """What a worker says to `request`, and where the import did not come to its end, if that kept it from being said at
    once.

    A forward that crashes or hangs does so already while inputs are tried out; then nothing is known of where. So
    that gets one half of the time, and a second worker runs the first guess untried, under the recorder. A model that
    cannot be built for want of weights is built without them by another worker, and so is one that cannot be imported
    for want of a package, or ended for want of a device. One whose import fails otherwise, or does not end, is imported
    without what it fails of.
    """
    limits = _Limits(options.timeout, options.timeout, IMPORT_SECONDS if options.timeout is None else None)
    alone = None if request["left_out"] is not None else _share(request)
    wins = partial(_wins, decode_target(request["target"]))
    best = last = _asked_probing(request, directory, replace(limits, importing_alone=alone, wins=wins), heard)
    endless = request["left_out"]
    # In a process of its own: what was built half, and what that registered and counted, is not there.
    while (changed := _without(request, *last) or _without(request, *best)) is not None:
        if changed["left_out"] is not None and request["left_out"] is None and last[1].ended is not None:
            endless = changed["left_out"]
        request = changed
        limits = replace(limits, importing_alone=alone if request["left_out"] is None else None, wins=wins)
        asked = _asked_again(heard, limits, partial(_asked_probing, request, directory, heard=heard.anew()))
        if asked is None:
            break
        last = asked
        best = last if _came_further(last, best) else best
    return *best, endless


def _without(request: dict[str, Any], heard: Heard, end: _End) -> dict[str, Any] | None:
    """What to ask for instead, where the model wants something that is not here and was not done without yet."""
    wanting: dict[str, Any] = {
        "without_packages": (heard.absent_package is not None and not heard.events) or None,
        "without_devices": heard.elsewhere or None,
        "without_weights": None if heard.events else heard.lacking,
        "left_out": _to_leave_out(heard, end, _share(request)),
    }
    new = next((name for name, value in wanting.items() if value is not None and request.get(name) is None), None)
    return None if new is None or end.interrupted else {**request, new: wanting[new]}


def _to_leave_out(heard: Heard, end: _End, share: float) -> dict[str, Any] | None:
    """Where the import ended before its end, and of which files only what is needed is to be run, beside that of the
    model; None where it came to its end, or nothing of the project's was imported."""
    if heard.events or heard.imported or not heard.importing:
        return None
    if heard.error is not None and type(heard.error) is not TraceError:
        return None
    file, line, error = heard.import_at or ("", 0, "")
    if end.ended is None:
        died = heard.error is None
        how = end.text().removeprefix("the process ").rstrip(",")
        error = f"{ENDED} (it {how})" if died else error
        if died and heard.import_at is not None:  # that is what was seen last
            error += ", there or further on"
        return {"endless": [file] if died and file else [], "at": [file, line, error] if error else None}
    return {"endless": [file] if file else [], "at": [file, line, f"{NO_END} {_seconds(share)}"]}


def _share(request: Mapping[str, Any]) -> float:
    """Seconds that an import alone may take, where something can be left out of it."""
    return (request["options"].get("timeout") or IMPORT_SECONDS) * _IMPORT_SHARE


def _seconds(number: float) -> str:
    return f"{number:.0f} s" if number >= 1 else f"{number:.1g} s"


def _wins(target: Target, heard: Heard) -> bool:
    """Something could be left out where the import is now: the model does not need the statement that it stands at."""
    if heard.import_at is None:
        return True
    file, line, _ = heard.import_at
    try:
        text = decode(read(file))
        if target.file is not None and os.path.realpath(file) == os.path.realpath(target.file):
            return not is_needed(text, (target.name.partition(".")[0], "example_inputs"), line)
        folder, own = os.path.split(os.path.splitext(file)[0])
        home = os.path.basename(folder) if own == "__init__" else own
        names = names_of(decode(read(target.file)), home) if target.file is not None else frozenset[str]()
        return not names or not is_needed(text, names, line)
    except (OSError, ValueError, LookupError, SyntaxError, RecursionError, MemoryError):
        return True


def _asked_probing(request: dict[str, Any], directory: Path, limits: _Limits, heard: Heard) -> tuple[Heard, _End]:
    first = _ask_once({**request, "probe": True}, directory, limits, heard)
    if first[0].ended or not first[0].probing or first[1].interrupted:
        return first
    untried = {**request, "probe": False}
    return _rather(first, heard, limits, lambda limits: _ask_once(untried, directory, limits, heard.anew()))


def _rather(
    first: tuple[Heard, _End], begun: Heard, limits: _Limits, ask: Callable[[_Limits], tuple[Heard, _End]]
) -> tuple[Heard, _End]:
    """What another worker says in the time that is left, if it comes as far; else what the first has said.

    Args:
        begun: what was heard since `limits` began.
    """
    second = _asked_again(begun, limits, ask)
    return second if second is not None and _came_further(second, first) else first


def _asked_again(
    begun: Heard, limits: _Limits, ask: Callable[[_Limits], tuple[Heard, _End]]
) -> tuple[Heard, _End] | None:
    """What another worker says in the time that is left; None where there is none, or no worker can be had."""
    if limits.left is not None:
        left = limits.left - begun.seconds
        if left <= 0:
            return None
        limits = replace(limits, left=left)
    try:
        return ask(limits)
    except ResourceError:  # the user's code may have used up what there was
        return None


def _came_further(second: tuple[Heard, _End], first: tuple[Heard, _End]) -> bool:
    """It came as far in running the model, or to lack weights alone, or further in importing it."""
    after, before = second[0], first[0]
    if len(after.events) >= max(1, len(before.events)) or after.lacking is not None or second[1].interrupted:
        return True
    if before.imported or before.events:
        return False
    if not after.imported:  # neither ends: what is told is the limit that was reached last
        return first[1].ended is not None and second[1].ended is not None
    no_model = isinstance(after.error, TargetError) and not isinstance(
        after.error, MissingArgumentsError | ArgumentsError
    )
    return not no_model


def _ask_once(request: dict[str, Any], directory: Path, limits: _Limits, heard: Heard) -> tuple[Heard, _End]:
    with _written(json.dumps(request).encode(), directory) as (name, handed_down):
        return heard, _run_worker(directory, limits, heard, request.get("cwd"), name, handed_down)


@contextlib.contextmanager
def _written(request: bytes, directory: Path) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Its name for the worker, and the descriptors to hand down: a file that has no name, so that the user's code,
    which may have run in the folder already, can put nothing in its place."""
    with contextlib.ExitStack() as stack:
        try:
            if os.name != "posix":
                path = directory / f"request-{secrets.token_hex(8)}.json"
                writing.put_new(path, [request], below=directory)
                name, handed_down = str(path), tuple[int, ...]()
            else:
                file = stack.enter_context(temporary.file())
                file.write(request)
                file.seek(0)
                name, handed_down = str(file.fileno()), (file.fileno(),)
        except OSError as error:
            raise ResourceError(f"there is no place for temporary files: {directory}: {error.strerror}") from error
        yield name, handed_down


@dataclass(frozen=True, slots=True)
class _End:
    """How the process ended."""

    status: int
    """Exit status; negative for a signal."""
    output: str
    """The end of what was printed."""
    ended: str | None = None
    """Why it was ended, if it did not end by itself."""
    interrupted: bool = False
    """By Ctrl-C."""

    def text(self) -> str:
        """In words, as the end of a sentence about the process; "" for an orderly end."""
        if self.interrupted:
            return "the run was interrupted by Ctrl-C"
        if self.ended is not None:
            return self.ended
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


def _run_worker(
    directory: Path, limits: _Limits, heard: Heard, cwd: str | None, request: str, given: tuple[int, ...]
) -> _End:
    """Start the worker, listen until it has ended, and leave nothing of it behind."""
    root = str(Path(modgraph.__file__).resolve().parent.parent)
    with contextlib.ExitStack() as open_ends, _channel(directory, open_ends) as (name, handed_down, reading):
        command = [sys.executable, "-c", _BOOTSTRAP, root, str(directory), name, request]
        listen = partial(heard.listen, reading)
        listener = None
        interrupted, ended = False, None
        with running(command, handed_down=(*handed_down, *given), cwd=cwd) as process:
            open_ends.close()  # the worker alone has the writing end now
            if handed_down:
                listener = start_thread(listen)
            try:
                ended = _waited(process, heard, limits)
            except Terminated:
                raise
            except KeyboardInterrupt:
                interrupted = True
        listener = listener or start_thread(listen)
        listener.join(_DRAIN_SECONDS)
        assert process.status is not None
        return _End(process.status, process.output, ended, interrupted)


def _waited(process: Process, heard: Heard, limits: _Limits) -> str | None:
    """Wait for the end of the process; why it has to be ended, in words, else None.

    When half of its time is over, it must be through with trying out inputs.
    """
    started, told, halved = time.monotonic(), False, False
    asked_at: object = ()
    while not process.ended_within(_POLL_SECONDS if heard.closed.wait(_POLL_SECONDS) else 0):
        if heard.closed.is_set():
            process.wake()
        if heard.full:
            return f"the record of the run was full ({MAX_RECORD >> 20:,} MiB: some 300,000 calls and operations)"
        if heard.began.is_set():
            spent = heard.seconds
        else:
            spent = time.monotonic() - started - _START_SECONDS
        if heard.importing and not told and spent >= _TELL_SECONDS:
            told = True
            heard.tell_wait(_waiting(heard.stage, spent, limits))
        alone = limits.importing_alone
        if alone is not None and heard.importing and not heard.imported and spent >= alone:
            if heard.import_at != asked_at and limits.wins(heard):
                return f"the import did not end within {_seconds(alone)}, a share of the time limit,"
            asked_at = heard.import_at
        if limits.importing is not None and heard.importing and spent >= limits.importing:
            return f"the limit of {limits.importing:g} s for this, where no --timeout is given, was reached"
        if limits.left is not None and not halved and spent >= limits.left / 2:
            halved = True
            if heard.probing:
                return f"the time limit of {limits.asked:g} s was reached"
        if limits.left is not None and spent >= limits.left:
            return f"the time limit of {limits.asked:g} s was reached"
    return None


def _waiting(stage: str, spent: float, limits: _Limits) -> str:
    bound = limits.importing if limits.left is None else limits.left
    until = "" if bound is None else f", or for {bound:g} s in all"
    if limits.importing_alone is not None:
        until += f"; after {_seconds(limits.importing_alone)} it is imported with what the model needs alone"
    return (
        f"still {stage}, for {spent:.0f} s now: what its file does when it is imported is waited for{until}. A file"
        ' that trains there needs `if __name__ == "__main__":` around that; --static runs nothing; --timeout SECONDS'
        " says how long to wait"
    )


@contextlib.contextmanager
def _channel(directory: Path, open_ends: contextlib.ExitStack) -> Iterator[tuple[str, tuple[int, ...], IO[bytes]]]:
    """Its name for the worker, the descriptors to hand down, and the end to read: a pipe, or a file on Windows.

    Args:
        open_ends: closes what is handed down.
    """
    if os.name == "posix":
        try:
            ends = os.pipe()
        except OSError as error:
            raise ResourceError(f"no pipe can be opened: {error.strerror}") from error
        open_ends.callback(os.close, ends[1])
        # Closed by the listener's end; a listener that still waits for a lost grandchild keeps it.
        yield str(ends[1]), (ends[1],), os.fdopen(ends[0], "rb")
        return
    path = directory / "events.jsonl"
    path.touch()
    with path.open("rb") as file:
        yield str(path), (), file


def _graph(heard: Heard, end: _End, options: TraceOptions) -> Graph:
    events = list(heard.events)
    if not events or not isinstance(events[0], StartEvent):
        raise heard.error or _never_ran(heard, end, options)
    finished = any(isinstance(event, DoneEvent) for event in events)
    if not finished:
        events.append(_broken_off(events, heard, end, options))
    graph = _replayed(events)
    messages = [] if graph.complete else list(heard.warnings)
    if (graph.model.left_out or graph.model.absent_packages) and not heard.doubts_told and finished:
        why = _why(end, options) or "something else ended it"
        messages.append(f"{why} before it was told whether what was left out can change the model")
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


def _never_ran(heard: Heard, end: _End, options: TraceOptions) -> TraceError:
    hint = "use --static, which executes nothing of the file"
    if heard.importing and end.ended is not None:
        hint += '; put what the file runs behind `if __name__ == "__main__":`; or allow more by --timeout SECONDS'
    kind = EndlessImportError if heard.importing and not heard.imported and end.ended is not None else TraceError
    return kind(f"{_why(end, options)} while {heard.stage}", hint=hint)


def _broken_off(events: list[Event], heard: Heard, end: _End, options: TraceOptions) -> ErrorEvent:
    """What stopped the run, at the call that had begun last and not ended."""
    if heard.error is not None:
        why = heard.error.message
    else:
        why = _why(end, options)
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


def _why(end: _End, options: TraceOptions) -> str:
    text = end.text()
    words = ("bad_alloc", "MemoryError", "Cannot allocate memory", "out of memory")
    starved = any(word in end.output for word in words)
    if starved and options.memory_limit is not None and end.ended is None:
        return f"{text}, out of memory (the limit is {options.memory_limit} bytes)"
    return text


def _move_files(directory: Path, place: Path) -> None:
    for found in regular_files(directory, deep=0):
        found.put_into(place)


def _files_in(directory: Path) -> dict[str, bytes]:
    left, files = _MAX_CAPTURED, {}
    for found in regular_files(directory):
        content = found.content(left)
        if content is not None:
            left -= len(content)
            files["/".join(found.parts)] = content
    return files
