"""A machine that has no process, thread, file or place left: one message, or the prediction alone, never a traceback."""

from __future__ import annotations

import ast
import builtins
import concurrent.futures
import errno
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from modgraph import api
from modgraph.batch.tasks import Task, run_task
from modgraph.cli import main
from modgraph.doors import processes, temporary, threads
from modgraph.doors.git import conversation
from modgraph.errors import ModgraphError, ResourceError
from modgraph.isolation import trace_in_process
from modgraph.options import TraceOptions
from modgraph.prediction import deep_stack
from modgraph.prediction.deep_stack import with_deep_stack
from modgraph.source.targets import parse_target

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits of the system")

ROOT = Path(__file__).resolve().parents[2]
NET = "from torch import nn\nclass Net(nn.Linear):\n    def __init__(self): super().__init__(2, 2)\n"


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "model.py").write_text(NET)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def no_processes(*_: Any, **__: Any) -> Any:
    raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")


def no_files(*_: Any, **__: Any) -> Any:
    raise OSError(errno.EMFILE, "Too many open files")


def no_place(*_: Any, **__: Any) -> Any:
    raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")


def no_threads(*_: Any, **__: Any) -> Any:
    raise RuntimeError("can't start new thread")


SHORT = {
    "processes": (subprocess, "Popen", no_processes, "no process can be started: Resource temporarily unavailable"),
    "descriptors": (subprocess, "Popen", no_files, "no process can be started: Too many open files"),
    "memory for processes": (
        subprocess,
        "Popen",
        lambda *_, **__: (_ for _ in ()).throw(OSError(errno.ENOMEM, "Cannot allocate memory")),
        "no process can be started: Cannot allocate memory",
    ),
    "pipes": (os, "pipe", no_files, "Too many open files"),
    "a place": (temporary.tempfile, "gettempdir", no_place, "there is no place for temporary files"),
    "room in that place": (
        os,
        "mkdir",
        lambda path, *_, **__: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space left on device", path)),
        "No space left on device",
    ),
    "threads": (threads, "start_new_thread", no_threads, "no thread can be started"),
}


@pytest.mark.parametrize("what", SHORT)
def test_without_it_nothing_is_run_and_that_is_an_error_of_ours(
    model: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = parse_target("model.py:Net")
    owner, name, refuse, said = SHORT[what]
    monkeypatch.setattr(owner, name, refuse)
    with pytest.raises(ResourceError) as caught:
        trace_in_process(target, [], TraceOptions())
    assert said in caught.value.message


def test_the_prediction_is_written_alone(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(processes, "_started", lambda *_, **__: (_ for _ in ()).throw(ResourceError("none left")))
    assert main(["analyze", "model.py:Net", "--format", "json", "-o", "out"]) == 1
    assert "none left" in capsys.readouterr().err
    assert not api.load("out/Net.json").traced


def test_without_a_place_to_draw_in_the_picture_alone_is_missing(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(temporary.tempfile, "gettempdir", no_place)
    assert main(["analyze", "model.py:Net", "--static", "--format", "svg,json", "-o", "out"]) in (1, 2)
    told = capsys.readouterr().err
    assert "there is no place for temporary files" in told
    assert Path("out/Net.json").is_file()


def test_a_model_of_many_fails_with_the_reason(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task("a", "model.py", "", {}, {}, True, (), True, {}, {}, True, "none", "a", str(model))
    monkeypatch.setattr(temporary.tempfile, "gettempdir", no_place)
    outcome = run_task(task)
    assert (outcome.state, (outcome.reason or "").partition(":")[0]) == (
        "failed",
        "there is no place for temporary files",
    )
    monkeypatch.undo()
    monkeypatch.setattr(subprocess, "Popen", no_processes)
    assert run_task(task).reason == "no process can be started: Resource temporarily unavailable"


def test_a_check_that_cannot_start_processes_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(40):
        (tmp_path / f"net{number}.py").write_text(NET * 20)
    monkeypatch.setattr(concurrent.futures.ProcessPoolExecutor, "submit", no_processes)
    status = main(["check", str(tmp_path), "--jobs", "2", "--no-cache"])
    assert (status, "no processes can be started" in capsys.readouterr().err) == (2, True)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "error: out of memory"),
        (
            OSError(errno.ENOSPC, "No space left on device", "out\n/x"),
            "error: this machine has no more of what modgraph",
        ),
        (OSError(errno.EMFILE, "Too many open files"), "Too many open files"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_reaches_the_command_is_one_line(
    model: Path, error: Exception, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any) -> Any:
        raise error

    monkeypatch.setattr("modgraph.cli.check.run", fail)
    assert main(["check", "."]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


def test_a_git_for_which_no_thread_is_left_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def noting(*given: Any, **more: Any) -> Any:
        started.append(real(*given, **more))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", noting)
    monkeypatch.setattr(threads, "start_new_thread", no_threads)
    with (
        pytest.raises(ResourceError, match="no thread can be started"),
        conversation(["cat-file", "--batch"], tmp_path),
    ):
        pass
    assert [process.args[0] == sys.executable for process in started] == [True, False]  # the keeper, and its git
    assert not any(process.returncode is None for process in started)


def test_a_command_for_which_no_thread_is_left_says_that(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(threads, "start_new_thread", no_threads)
    for command in (
        ["diff", "HEAD:model.py:Net", "model.py:Net"],
        ["analyze", "--static", "model.py:Net", "-o", "out"],
    ):
        assert main(command) in (1, 2)
        told = capsys.readouterr().err
        assert "thread" in told
        assert "the prediction needs one" not in told
    monkeypatch.setattr("modgraph.cli.check.run", no_threads)
    assert main(["check", "."]) == 2
    assert (
        capsys.readouterr().err
        == "error: this machine, or a limit of this user (ulimit -a), allows no further thread\n"
    )


def test_threads_are_started_in_one_place() -> None:
    """None by `threading`, whose start may wait for ever for a thread that has no memory to say that it runs."""
    # Where `threading` is not, or is the user's, or where what the user starts is watched; nobody waits for these.
    raw = {"doors/keeper.py", "doors/signals.py", "worker.py", "tracing/basics/threads.py"}
    raw.add("prediction/python/attributes.py")  # asks a class of them what its names are
    found = set()
    for file in sorted((ROOT / "modgraph").rglob("*.py")):
        place = file.relative_to(ROOT / "modgraph").as_posix()
        text = file.read_text("utf-8")
        if place in raw or "torch_stubs" in place or not builtins.any(word in text for word in STARTERS):
            continue  # to parse all takes seconds
        if builtins.any(map(names_a_starter, ast.walk(ast.parse(text)))):
            found.add(place)
    assert found == {"doors/threads.py"}


def names_a_starter(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module in ("threading", "_thread") and not {each.name for each in node.names}.isdisjoint(STARTERS)
    return isinstance(node, ast.Attribute) and node.attr in STARTERS and ast.unparse(node.value) in OF_THREADS


STARTERS = {"Thread", "Timer", "start_new_thread"}
OF_THREADS = {"threading", "_thread"}


@pytest.mark.parametrize("text", ["import threading\nthreading.Timer(1, f)", "from _thread import start_new_thread"])
def test_what_starts_threads_is_seen(text: str) -> None:
    assert builtins.any(map(names_a_starter, ast.walk(ast.parse(text))))


def test_a_thread_that_never_says_it_runs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    late: list[Any] = []
    monkeypatch.setattr(threads, "START_SECONDS", 0.05)
    monkeypatch.setattr(threads, "start_new_thread", lambda function, _: late.append(function))
    called: list[int] = []
    with pytest.raises(ResourceError, match="no thread can be started"):
        threads.start_thread(lambda: called.append(1))
    late[0]()
    assert called == []  # nor does it do anything, once it was given up
    with pytest.raises(ModgraphError, match="no memory for the thread"):
        with_deep_stack(lambda: called.append(2))


def test_a_ctrl_c_between_two_steps_of_a_wait_does_not_make_the_next_one_endless() -> None:
    class Interrupted:
        """A lock behind whose acquisition a signal has come."""

        def __init__(self, lock: Any) -> None:
            self.lock = lock

        def acquire(self, timeout: float) -> bool:
            assert self.lock.acquire(timeout=timeout)
            raise KeyboardInterrupt

    thread = threads.start_thread(lambda: None)
    held, thread._ended = thread._ended, Interrupted(thread._ended)  # type: ignore[assignment]
    thread._is_over = False  # it ends while it is waited for
    with pytest.raises(KeyboardInterrupt):
        thread.join()
    thread._ended, thread._is_over = held, True
    assert held.locked()
    assert thread.join()
    assert thread.join(0.0)


def test_what_runs_in_a_thread_of_ours_is_seen_by_a_profiler_and_a_debugger() -> None:
    seen: list[str] = []

    def work() -> None:
        pass

    def look(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            seen.append(frame.f_code.co_name)

    for observe in (threading.setprofile, threading.settrace):
        seen.clear()
        observe(look)
        try:
            threads.start_thread(work).join()
        finally:
            observe(None)  # type: ignore[arg-type]
        assert "work" in seen


@pytest.mark.parametrize("fails", ["_is_started", "_in_one_chunk", "_launch", "_run"])
def test_memory_that_ends_in_a_thread_is_an_error(fails: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*_: Any) -> Any:
        raise MemoryError

    if fails in ("_launch", "_run"):
        monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    monkeypatch.setattr(deep_stack._Job, fails, no_memory)
    with pytest.raises((ModgraphError, MemoryError)):
        with_deep_stack(lambda: 1)


def test_other_errors_are_not_hidden(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any) -> Any:
        raise OSError(errno.EIO, "a defect")

    monkeypatch.setattr("modgraph.cli.check.run", fail)
    assert main(["check", "."]) == 2
    assert "modgraph itself failed: OSError: [Errno 5] a defect" in capsys.readouterr().err


LIMITED = """
import resource, sys
resource.setrlimit(getattr(resource, {limit!r}), ({value}, {value}))
from modgraph.__main__ import main
sys.argv = ["modgraph", "analyze", "model.py:Net", "--format", "json", "-o", "out"]
sys.exit(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="these limits hold on Linux")
@pytest.mark.parametrize(
    ("limit", "value"), [("RLIMIT_NOFILE", 8), *(("RLIMIT_AS", size * 2**20) for size in (80, 94, 100, 104, 200))]
)
def test_under_a_limit_there_is_a_message_and_no_traceback(model: Path, limit: str, value: int) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    code = LIMITED.format(limit=limit, value=value)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in (1, 2), done.stderr
    assert "Traceback" not in done.stderr
    assert builtins.any(word in done.stderr for word in ("error:", "warning:")), done.stderr
