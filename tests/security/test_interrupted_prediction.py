"""A prediction that is interrupted leaves the process as it was: limits, collector, stack size, and no thread."""

from __future__ import annotations

import _thread
import gc
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from modgraph.doors import threads as own_threads
from modgraph.errors import ModgraphError
from modgraph.prediction import deep_stack, predict_graph
from modgraph.prediction.deep_stack import with_deep_stack
from modgraph.prediction.domain import stopping
from modgraph.source.targets import Target

ENDLESS = """
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        for i in range(10 ** 4):
            for j in range(10 ** 4):
                self.n = i
"""


class ComesBetweenError(BaseException):
    """Raised between two lines, as Ctrl-C may be."""


def settings() -> tuple[Any, ...]:
    return sys.getrecursionlimit(), gc.get_threshold(), threading.stack_size()


THREADS = _thread._count
"""Number of threads that Python has started and that have not ended, whoever has started them."""


def ended(before: int) -> bool:
    """No more threads than before: the last one may need a moment to end once it has put everything back."""
    end = time.monotonic() + 60
    while THREADS() > before and time.monotonic() < end:
        time.sleep(0.001)
    return THREADS() <= before


def interrupted_at(line: int, function: Callable[[], object]) -> bool:
    """Calls it with an exception at the so-manieth line that the calling thread executes; whether there was such."""
    left = [line]

    def trace(frame: Any, event: str, argument: object) -> Any:
        if frame.f_globals.get("__name__") != deep_stack.__name__:
            return None
        if event == "line":
            left[0] -= 1
            if left[0] == 0:
                raise ComesBetweenError
        return trace

    sys.settrace(trace)
    try:
        function()
    except ComesBetweenError:
        return True
    finally:
        sys.settrace(None)
    return left[0] <= 0


def test_an_exception_between_any_two_lines_leaves_nothing_set() -> None:
    before, n_threads = settings(), THREADS()
    line = 0
    while interrupted_at(line := line + 1, lambda: with_deep_stack(lambda: 1)):
        assert ended(n_threads)
        assert settings() == before, line
    assert line > 20


def test_the_interpretation_hears_that_nobody_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "net.py"
    file.write_text(ENDLESS)
    target = Target(text="net.py:Net", module="net", name="Net", file=file, root=tmp_path, search_path=(str(tmp_path),))
    before, n_threads = settings(), THREADS()
    begun, ways_out = threading.Event(), []
    start = deep_stack._Job.start

    def start_and_be_interrupted(job: Any) -> None:
        start(job)
        assert begun.wait(60)
        raise KeyboardInterrupt

    def interpret() -> None:
        begun.set()
        try:
            predict_graph(target)
        except BaseException as error:
            ways_out.append(type(error))
            raise

    monkeypatch.setattr(deep_stack._Job, "start", start_and_be_interrupted)
    with pytest.raises(KeyboardInterrupt):
        with_deep_stack(interpret)
    assert ways_out == [stopping.StoppedError]  # its caller has waited for it
    assert ended(n_threads)
    assert settings() == before


def test_the_last_of_several_puts_back_what_the_first_found() -> None:
    before = settings()
    first, second, inside = threading.Event(), threading.Event(), []

    def one() -> None:
        first.set()
        second.wait(60)
        inside.append(sys.getrecursionlimit())

    def other() -> None:
        first.wait(60)
        with_deep_stack(lambda: None)
        inside.append(sys.getrecursionlimit())
        second.set()

    callers = [threading.Thread(target=with_deep_stack, args=(one,)), threading.Thread(target=other)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert inside == [60_000, 60_000]
    assert settings() == before


def test_what_others_have_set_meanwhile_stays() -> None:
    limit, thresholds = sys.getrecursionlimit(), gc.get_threshold()
    try:
        with_deep_stack(lambda: (sys.setrecursionlimit(70_000), gc.set_threshold(7, 7, 7)))
        assert (sys.getrecursionlimit(), gc.get_threshold()) == (70_000, (7, 7, 7))
    finally:
        sys.setrecursionlimit(limit)
        gc.set_threshold(*thresholds)


def test_an_error_inside_is_the_callers() -> None:
    before = settings()
    with pytest.raises(ZeroDivisionError):
        with_deep_stack(lambda: 1 // 0)
    assert settings() == before


def failing_start(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Threads with a larger stack than that cannot be started."""
    start = own_threads.start_new_thread

    def limited(*given: Any) -> int:
        if threading.stack_size() > most:
            raise RuntimeError("can't start new thread")
        return start(*given)

    monkeypatch.setattr(own_threads, "start_new_thread", limited)


def test_a_smaller_stack_where_there_is_no_memory_for_a_large_one(monkeypatch: pytest.MonkeyPatch) -> None:
    before = settings()
    failing_start(monkeypatch, 64 * 2**20)
    assert with_deep_stack(sys.getrecursionlimit) == 3_750
    assert settings() == before


@pytest.mark.parametrize("most", [1, -1])
def test_no_thread_at_all_is_one_clear_error(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    before = settings()
    failing_start(monkeypatch, most)
    with pytest.raises(ModgraphError, match="no memory for the thread"):
        with_deep_stack(lambda: 1)
    assert settings() == before


def test_no_memory_while_the_thread_is_made_is_an_error_and_no_wait_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def none(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(deep_stack, "partial", none)
    with pytest.raises(ModgraphError, match="no memory for the thread"):
        with_deep_stack(lambda: 1)


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
@pytest.mark.parametrize("room", [2**20, 100 * 2**20])
def test_a_limited_address_space_is_no_traceback(tmp_path: Path, room: int) -> None:
    (tmp_path / "net.py").write_text(ENDLESS.replace("10 ** 4", "3"))
    script = f"""
        import resource
        import modgraph
        from modgraph.prediction import entry
        from modgraph.prediction.answer import tree
        from modgraph.prediction.forward import predicting
        import modgraph.arguments.choosing, modgraph.cells, modgraph.source.inputs
        from modgraph.errors import ModgraphError
        size = next(int(l.split()[1]) * 1024 for l in open("/proc/self/status") if l.startswith("VmSize"))
        resource.setrlimit(resource.RLIMIT_AS, (size + {room},) * 2)
        try:
            print("modules", len(modgraph.predict("net.py:Net", path=["."]).modules))
        except ModgraphError as error:
            print("error", error.message)
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "Traceback" not in run.stderr
    assert run.stdout.startswith(("modules 1", "modules 2", "error there is no memory"))
