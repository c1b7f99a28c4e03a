"""The process in which the user's code runs: loads the target, finds inputs, traces, and says everything at once.

Started by `isolation.py`, never imported by it. What it says goes line by line, each in one write, to a channel that
the user's code does not know of, so that whatever that code does to this process, all that was said before stays said.
A line is an event of the trace (`graph/events.py`) or an object with one key:

- `stage`: what is being done from now on, in words, for a death that comes before the first event; with it `probing`,
  where `forward` is tried out, and `begins` where it is the first thing that the user's code may decide.
- `imported`: the user's file came to its end while it was imported; its model is being built.
- `import_at`: the file of the project that is being executed while it is imported, where that lasts, the line, and what
  it raised, where that ended it.
- `failed`: an error of ours, by its fields.
- `absent`: a package that is not installed, for want of which the model could not be imported.
- `lacking`: weights that are not there, for want of which the model could not be built.
- `elsewhere`: the model asks for a device that is not here, and ended for want of it.
- `warning`: something that a failed run should be read with.
- `captured`: what came of the capture that was asked for.
- `checkpoint`: the keys and shapes in a checkpoint, where these were asked for instead of a run.
- `end`: everything was said.
"""

from __future__ import annotations

import _thread
import contextlib
import faulthandler
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modgraph.errors import RAISED_BY_OTHERS, InputError, ModgraphError, TraceError
from modgraph.graph.codec import decode, encode
from modgraph.graph.events import ErrorEvent, Event, ExitEvent
from modgraph.graph.model import MissingWeights
from modgraph.options import TraceOptions
from modgraph.source.targets import Target
from modgraph.source.wire import decode_input, decode_options, decode_target

if TYPE_CHECKING:
    from modgraph.tracing.loading.absent_weights import AbsentWeights
    from modgraph.tracing.loading.left_out import LeftOutCode
    from modgraph.tracing.loading.models import LoadedModel
    from modgraph.tracing.loading.placeholders import Placeholders

# Bound before any code of the user's runs: what that code puts in the place of these functions must not reach us.
_dumps = json.dumps
_getpid, _getppid, _fstat, _write, _exit = os.getpid, os.getppid, os.fstat, os.write, os._exit
_sleep = time.sleep
_MAX_TEXT = 2000
"""Characters kept of an exception's text."""
_IMPORT_LOOK_SECONDS = 0.5
"""How often it is looked which file is being imported."""
_LIFE_SECONDS = 1.0
"""How often the worker looks whether the process that started it is still there."""


class Channel:
    """Where the worker says things; for threads, one line at a time.

    Only the process that made it speaks: a child that the user's code forks has the same descriptor, and its lines
    would contradict ours. And only into what was opened: where the user's code has closed the descriptor, its number
    may by now be a file of the user's.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = _far_from_others(descriptor)
        self._opened = _identity(self._descriptor)
        self._process = _getpid()
        self._lock = threading.Lock()

    @property
    def is_ours(self) -> bool:
        """This process is the one that made the channel, not one forked from it."""
        return _getpid() == self._process

    def line(self, text: str) -> None:
        """Say one line, at once; nothing where the channel is closed, or this process is not its own."""
        # Before the lock, which a thread may have held when the process was forked.
        if not self.is_ours:
            return
        data = text.encode("utf-8", "surrogatepass") + b"\n"
        with self._lock:
            if _identity(self._descriptor) != self._opened:
                return
            while data:
                data = data[_write(self._descriptor, data) :]

    def say(self, **message: Any) -> None:
        """Say one object."""
        self.line(_dumps(message, ensure_ascii=False, separators=(",", ":")))

    def failed(self, error: ModgraphError) -> None:
        """Say an error of ours, with all its fields."""
        names = ("message", "file", "line", "column", "text", "hint", "module")
        fields = {name: getattr(error, name, None) for name in names}
        self.say(failed={"kind": type(error).__name__, **fields})


def _identity(descriptor: int) -> tuple[int, int] | None:
    """What a descriptor stands for; None if it is closed."""
    try:
        status = _fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _far_from_others(descriptor: int) -> int:
    """The same, under a number that code which closes "all" descriptors seldom reaches; no program inherits it."""
    try:
        import fcntl
        import resource

        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        highest = min(limit if limit != resource.RLIM_INFINITY else 1 << 16, 1 << 16)
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, highest - 16)
    except (ImportError, OSError, ValueError):
        os.set_inheritable(descriptor, False)
        return descriptor
    os.close(descriptor)
    return moved


def _end_with(parent: int) -> None:
    """End this process and its group once `parent` is gone: where the system does not, nobody else would."""

    def watch() -> None:
        while _getppid() == parent:
            _sleep(_LIFE_SECONDS)
        os.killpg(os.getpgrp(), signal.SIGKILL)

    if os.name == "posix":
        # Not `threading`: what the user's code reads there is what it started itself.
        _thread.start_new_thread(watch, ())


def main(directory: str, channel: str, asked: str) -> None:
    """Do what is asked for in JSON, say it on `channel`, and end the process.

    Args:
        directory: where files may be left.
        channel: a file descriptor, or the path of a file where descriptors cannot be handed down.
        asked: the same, of what is asked for.
    """
    descriptor = int(channel) if channel.isdecimal() else os.open(channel, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    out = Channel(descriptor)
    with contextlib.suppress(OSError, ValueError):
        faulthandler.enable()
    _no_core_file()
    # Nobody presses Ctrl-C here: a `KeyboardInterrupt` is the user's code's own, and a result like any other.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        with open(int(asked) if asked.isdecimal() else asked, "rb") as file:
            request = json.load(file)
        _end_with(_getppid())
        if "checkpoint" in request:
            _read_checkpoint(request, out)
        else:
            _serve(request, Path(directory), out)
    except ModgraphError as error:
        out.failed(error)
    except BaseException as error:  # a defect of ours: its traceback is in the output, for --debug
        _print_traceback(error)
        out.failed(TraceError(f"modgraph itself failed: {type(error).__name__}: {_text_of(error)}"))
    out.say(end=True)
    # Not sys.exit: what the user's code registered for the end, or left running, could hang or crash.
    _exit(0)


def _print_traceback(error: BaseException) -> None:
    # The user's code may have replaced standard error, or the exception may be one that has no text.
    try:
        traceback.print_exception(error)
    except BaseException as another:
        os.write(2, f"{type(another).__name__} while a traceback was printed\n".encode())


def _text_of(error: BaseException) -> str:
    try:
        return str(error)[:_MAX_TEXT]
    except BaseException as another:
        return f"<no text: {type(another).__name__}>"


def _serve(request: dict[str, Any], directory: Path, out: Channel) -> None:
    target, options = decode_target(request["target"]), decode_options(request["options"])
    specs = [decode_input(fields) for fields in request["inputs"]]
    out.say(stage="importing torch")
    _import_torch()
    _limit_memory(options)
    sys.argv[:] = [str(target.file or target.module)]

    from modgraph.inputs.making import make_inputs
    from modgraph.tracing import trace_graph
    from modgraph.tracing.faking import fake
    from modgraph.tracing.loading.absent_devices import AbsentDevices, is_for_want_of_a_device
    from modgraph.tracing.loading.placeholders import Placeholders

    # For as long as the process lives: nothing else is done in it.
    placeholders = Placeholders(target.module.partition(".")[0], target.root)
    code = _left_out_code(request, target)
    if request.get("without_packages") or code is not None:
        placeholders.__enter__()
    devices = AbsentDevices()
    if request.get("without_devices"):
        devices.__enter__()
    if code is not None:
        code.__enter__()
    loaded, absent = _built(target, options, request.get("without_weights"), placeholders, code, out)
    placeholders.built()
    out.say(stage="finding inputs for forward", probing=request["probe"])
    inputs = make_inputs(
        loaded.model, specs, loaded.example, options, fake_mode=loaded.fake_mode, probe=request["probe"]
    )
    if inputs.warning is not None:
        out.say(warning=inputs.warning)
    out.say(stage="running the model")
    left_out = () if code is None else code.told()
    info = replace(loaded.info, inputs=inputs.infos, absent_packages=placeholders.packages, left_out=left_out)
    with fake.running(loaded.fake_mode):
        graph = trace_graph(
            loaded.model, inputs.args, inputs.kwargs, options, info=info, emit=lambda event: _emit(event, out)
        )
    if not out.is_ours:
        return  # forked by the model, and come back from it: only what it was forked from goes on
    asked = () if absent is None else absent.doubts(loaded.model)  # it may have been asked in the run
    of_code = () if code is None else code.doubts()
    for doubt in (*placeholders.doubts(), *devices.doubts(), *asked, *of_code):
        _emit(doubt, out)
    out.say(doubts_told=True)
    is_fake = options.device == "fake"
    wanting = next((each for each in graph.problems if is_for_want_of_a_device(each.message, fake=is_fake)), None)
    if wanting is not None:  # it is run anew, and captured there
        out.say(elsewhere=True)
        out.say(captured={"error": wanting.message})
    elif request["capture"] is not None:
        out.say(stage="exporting the live model")
        given = (loaded.model, inputs.args, inputs.kwargs, directory / "captured", graph, request["settings"])
        with fake.running(loaded.fake_mode):
            _capture(request["capture"], given, out)


def _left_out_code(request: dict[str, Any], target: Target) -> LeftOutCode | None:
    """What the project is imported with where it cannot be imported as it is; an error about which something else can
    be done is let through."""
    from modgraph.tracing.basics.failures import describe
    from modgraph.tracing.loading.absent_devices import is_for_want_of_a_device
    from modgraph.tracing.loading.left_out import LeftOutCode
    from modgraph.tracing.loading.weight_doors import weights_behind

    wanted = request.get("left_out")
    if wanted is None:
        return None

    def through(error: BaseException) -> bool:
        lacks_device = not request.get("without_devices") and is_for_want_of_a_device(describe(error))
        return lacks_device or (request.get("without_weights") is None and weights_behind(error) is not None)

    return LeftOutCode(target, wanted["endless"], wanted["at"], through)


def _tell_where(out: Channel) -> Callable[[], None]:
    """Say from time to time which file of the project is being imported; gives what ends that."""
    from modgraph.tracing.loading.unfinished import imported_line

    thread, over = _thread.get_ident(), False

    def watch() -> None:
        said = None
        while True:
            _sleep(_IMPORT_LOOK_SECONDS)
            if over:
                return
            at = imported_line(thread)
            if at is not None and at != said:
                said = at
                out.say(import_at=[*at, ""])

    def end() -> None:
        nonlocal over
        over = True

    # Not `threading`: what the user's code reads there is what it started itself.
    _thread.start_new_thread(watch, ())
    return end


def _built(
    target: Target,
    options: TraceOptions,
    lacking: Any,
    placeholders: Placeholders,
    code: LeftOutCode | None,
    out: Channel,
) -> tuple[LoadedModel, AbsentWeights | None]:
    """The model with its example inputs, and the weights that are not there, if it was built without.

    Args:
        lacking: what was said of such weights by a worker that could not build it for want of them.
    """
    from modgraph.tracing.basics.failures import describe
    from modgraph.tracing.loading.absent_devices import is_for_want_of_a_device
    from modgraph.tracing.loading.absent_weights import AbsentWeights
    from modgraph.tracing.loading.models import build_model, with_example
    from modgraph.tracing.loading.unfinished import failed_line
    from modgraph.tracing.loading.weight_doors import open_doors, weights_behind

    stage = f"importing {target.place} and building {target.name}"
    end = _tell_where(out)

    def imported() -> None:
        end()
        out.say(imported=True)

    if lacking is not None:
        out.say(stage=f"{stage} without weights that are not there", begins=True)
        absent = AbsentWeights(decode(MissingWeights, lacking["weights"]), lacking["modules"])
        loaded = build_model(target, options, absent, imported=imported, code=code)
        return with_example(loaded), absent
    out.say(stage=stage, begins=True)
    try:
        loaded = build_model(target, options, imported=imported, code=code)
    except ModgraphError as error:
        at = failed_line(error.__cause__)
        if at is not None and error.__cause__ is not None:
            out.say(import_at=[*at, describe(error.__cause__)])
        if is_for_want_of_a_device(error.message):
            out.say(elsewhere=True)
        package = placeholders.wanted(error.__cause__)
        if package is not None:
            out.say(absent=package)
        missing = weights_behind(error)
        if missing is not None:
            out.say(lacking={"weights": encode(missing), "modules": open_doors()})
        raise
    return with_example(loaded), None


def _read_checkpoint(request: dict[str, Any], out: Channel) -> None:
    out.say(stage="importing torch")
    try:
        _import_torch()
    except TraceError as error:
        name = Path(request["checkpoint"][0]).name
        missing = isinstance(error.cause, ImportError)
        raise InputError(
            f"to read the checkpoint {name}, PyTorch is needed" + ("" if missing else f": {error.message}"),
            hint='install it (pip install "modgraph[trace]"), or give the checkpoint as .safetensors, which is read'
            " without",
        ) from error
    _limit_memory(decode_options(request["options"]))

    from modgraph.tracing.loading.checkpoints import read_checkpoint

    out.say(stage="reading the checkpoint", begins=True)
    out.say(checkpoint=read_checkpoint(request["checkpoint"]))


def _emit(event: Event, out: Channel) -> None:
    if isinstance(event, ErrorEvent | ExitEvent):
        event = _in_our_words(event)
    out.line(event.to_json())


def _in_our_words(event: ErrorEvent | ExitEvent) -> ErrorEvent | ExitEvent:
    """What torch says of a run without values names its own files and switches, which are of no use here."""
    from modgraph.tracing.faking.value_decisions import DECIDES_BY_VALUES

    said = "forward decides by values, which a run without weights does not have"
    if isinstance(event, ErrorEvent) and any(name in event.message for name in DECIDES_BY_VALUES):
        return replace(event, message=f"{said}; use --device cpu")
    if isinstance(event, ExitEvent) and event.error and any(name in event.error for name in DECIDES_BY_VALUES):
        return replace(event, error=said)
    return event


def _import_torch() -> None:
    try:
        import torch
    except ImportError as error:
        if error.name not in (None, "torch"):
            raise TraceError(f"PyTorch cannot be imported: {error}", hint="repair it, or use --static") from error
        raise TraceError(
            'tracing needs PyTorch (pip install "modgraph[trace]"), or use --static', cause=error
        ) from error
    del torch


def _capture(name: str, given: tuple[Any, ...], out: Channel) -> None:
    """Call the function `name` ("package.module:function") with the live model, its arguments, a new directory for
    files, the graph and the settings."""
    import importlib

    module, _, function = name.partition(":")
    given[3].mkdir()
    try:
        capture: Callable[..., Any] = getattr(importlib.import_module(module), function)
        out.say(captured={"value": capture(*given)})
    except ModgraphError as error:
        out.say(captured={"error": error.message})
    except RAISED_BY_OTHERS as error:  # an exporter of torch may raise anything; the trace is told already
        out.say(captured={"error": f"{type(error).__name__}: {_text_of(error)}"})


def _no_core_file() -> None:
    # Windows has no `resource`; elsewhere a limit may be refused.
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_memory(options: TraceOptions) -> None:
    """At most `memory_limit` bytes beyond what torch itself takes, so it must be imported before."""
    if options.memory_limit is None:
        return
    if options.device == "cuda":
        import torch

        if torch.cuda.is_available():
            total = torch.cuda.get_device_properties(0).total_memory
            torch.cuda.set_per_process_memory_fraction(min(1.0, options.memory_limit / total))
        return
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (_data_size() + options.memory_limit,) * 2)


def _data_size() -> int:
    """Bytes of data that this process has now; 0 where the system does not tell."""
    try:
        lines = Path("/proc/self/status").read_text("ascii", "replace").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:")), 0)
