"""However modgraph is ended, it leaves no process, no temporary folder and no half-written file, and says one line.

A long run over random moments: `python tests/oracle/signal_sweep.py --moments 50`.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from modgraph.doors import processes, temporary
from modgraph.doors.processes import running
from modgraph.doors.signals import Terminated, deferred, raising
from modgraph.errors import ResourceError

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="/proc tells which processes there are"),
    pytest.mark.fresh_process,
]

ROOT = Path(__file__).resolve().parents[2]
_SECONDS = 60.0
"""A bound, so that a test that fails ends."""


def until(holds: Callable[[], object], what: str) -> None:
    """Wait for something that has to come."""
    end = time.monotonic() + _SECONDS
    while not holds():
        assert time.monotonic() < end, f"{what} did not come"
        time.sleep(0.01)


def alive(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def marked(mark: str) -> list[int]:
    """The processes that have a variable."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{mark}=1".encode() in (entry / "environ").read_bytes().split(bytes(1)) and alive(int(entry.name)):
                found.append(int(entry.name))
    return found


def noted(folder: Path, names: str) -> list[int]:
    """The numbers of processes that have written them down under these names."""
    paths = [folder / name for name in names]
    until(lambda: all(path.is_file() and path.read_text().endswith(".") for path in paths), f"a note of {names}")
    return [int(path.read_text().rstrip(".")) for path in paths]


NOTE = """
import ctypes, os, signal, sys, time
def note(name):
    open(os.path.join({folder!r}, name), "w").write(str(os.getpid()) + ".")
"""
HELD = {
    "sleeps": "note('w'); time.sleep(1000)",
    "holds the interpreter's lock": "note('w'); ctypes.PyDLL(None).sleep(1000)",
    "is stopped": "note('w'); os.kill(os.getpid(), signal.SIGSTOP)",
    "ignores signals": "for n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\nnote('w'); time.sleep(1000)",
    "has left the session": "os.setsid() if os.fork() == 0 else None\nnote('w')\ntime.sleep(1000)",
    "has a child that cleared its environment and left": """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        note("x")
        os.execve("/bin/sleep", ["sleep", "1000"], {})
    os._exit(0)
note("w"); time.sleep(1000)
""",
    "has a stopped child that left": """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        note("x")
        os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(0)
note("w"); time.sleep(1000)
""",
}
DRIVER = """
import sys
from modgraph import isolation
from modgraph.options import TraceOptions
from modgraph.source.targets import parse_target
isolation._BOOTSTRAP = sys.argv[1]
open("model.py", "w").write("class Net: pass")
isolation.trace_in_process(parse_target("model.py:Net"), [], TraceOptions())
"""


def driven(folder: Path, worker: str) -> subprocess.Popen[bytes]:
    """A process that traces with this in the place of the worker."""
    (folder / "tmp").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder / "tmp")}
    worker = NOTE.format(folder=str(folder)) + worker
    return subprocess.Popen([sys.executable, "-c", DRIVER, worker], cwd=folder, env=environment, start_new_session=True)


@pytest.mark.parametrize("kind", HELD)
def test_a_parent_that_is_killed_leaves_no_worker_and_no_folder(tmp_path: Path, kind: str) -> None:
    parent = driven(tmp_path, HELD[kind])
    numbers = noted(tmp_path, "wx" if "'x'" in HELD[kind] or '"x"' in HELD[kind] else "w")
    parent.kill()
    parent.wait()
    until(lambda: not any(map(alive, numbers)), "the end of the worker")
    until(lambda: not list((tmp_path / "tmp").iterdir()), "the removal of the folder")


def test_a_keeper_that_is_stopped_wakes_when_its_parent_is_killed(tmp_path: Path) -> None:
    parent = driven(tmp_path, HELD["sleeps"])
    (worker,) = noted(tmp_path, "w")
    children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
    assert len(children) == 2
    for child in (*map(int, children), worker):
        os.kill(child, signal.SIGSTOP)
    parent.kill()
    parent.wait()
    until(lambda: not any(map(alive, (worker, *map(int, children)))), "the end of the worker")
    until(lambda: not list((tmp_path / "tmp").iterdir()), "the removal of the folder")


def test_a_keeper_that_is_killed_takes_the_worker_with_it(tmp_path: Path) -> None:
    with running([sys.executable, "-c", NOTE.format(folder=str(tmp_path)) + HELD["sleeps"]]) as process:
        (worker,) = noted(tmp_path, "w")
        process._process.kill()
        assert process.ended_within(_SECONDS)
    assert process.status == -signal.SIGKILL
    until(lambda: not alive(worker), "the end of the worker")


BOMBS = {
    "each forks and ends": "while True:\n    if os.fork(): os._exit(0)",
    "each forks, ends, and leaves the session": "while True:\n    if os.fork(): os._exit(0)\n    os.setsid()",
    "some hundred": "for _ in range(300):\n    if os.fork() == 0: time.sleep(1000)\nnote('w')\ntime.sleep(1000)",
    "a chain": "for _ in range(60):\n    if os.fork(): time.sleep(1000)\nnote('w')\ntime.sleep(1000)",
}


@pytest.mark.parametrize("kind", BOMBS)
def test_what_forks_and_forks_is_ended_to_the_last(tmp_path: Path, kind: str) -> None:
    mark = f"BOMB_{os.getpid()}_{kind.replace(' ', '_')}"
    with running([sys.executable, "-c", NOTE.format(folder=str(tmp_path)) + BOMBS[kind]], env={mark: "1"}) as process:
        if "note" in BOMBS[kind]:
            noted(tmp_path, "w")
    assert process.status is not None
    assert marked(mark) == []


ENDS = {
    "exit 3": ("sys.exit(3)", 3),
    "killed": ("os.kill(os.getpid(), 9)", -9),
    "crash": ("os.abort()", -6),
    "0": ("", 0),
}


@pytest.mark.parametrize("kind", ENDS)
def test_the_status_is_that_of_the_command(kind: str) -> None:
    with running([sys.executable, "-c", f"import os, sys\n{ENDS[kind][0]}"]) as process:
        assert process.ended_within(_SECONDS)
    assert process.status == ENDS[kind][1]


def test_signals_that_the_user_s_code_sends_to_its_parent_do_not_end_the_keeper(tmp_path: Path) -> None:
    code = "import os, signal\nfor n in (1, 2, 15): os.kill(os.getppid(), n)\nprint('done')"
    with running([sys.executable, "-c", code]) as process:
        assert process.ended_within(_SECONDS)
    assert (process.status, process.output) == (0, "done\n")


ELSEWHERE = """
import os, runpy, sys
del os.waitid
sys.platform = "darwin"
runpy.run_path({keeper!r}, run_name="__main__")
"""


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A keeper on a system that adopts nothing and tells of an end only by taking it: macOS before Python 3.13."""
    keeper = tmp_path / "keeper.py"
    keeper.write_text(ELSEWHERE.format(keeper=str(processes.KEEPER)))
    monkeypatch.setattr(processes, "KEEPER", keeper)


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("kind", ENDS)
def test_elsewhere_the_status_is_that_of_the_command_too(kind: str) -> None:
    with running([sys.executable, "-c", f"import os, sys\n{ENDS[kind][0]}"]) as process:
        assert process.ended_within(_SECONDS)
    assert process.status == ENDS[kind][1]


def state_of(number: int) -> str:
    return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.usefixtures("elsewhere")
def test_elsewhere_a_command_that_is_stopped_has_not_ended(tmp_path: Path) -> None:
    code = NOTE.format(folder=str(tmp_path)) + "note('w'); os.kill(os.getpid(), signal.SIGSTOP); sys.exit(3)"
    with running([sys.executable, "-c", code]) as process:
        (number,) = noted(tmp_path, "w")
        until(lambda: state_of(number) == "T", "the stop")
        assert not process.ended_within(0.5)
        os.kill(number, signal.SIGCONT)
        assert process.ended_within(_SECONDS)
    assert process.status == 3


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("kind", ["sleeps", "is stopped", "ignores signals"])
def test_elsewhere_a_command_and_its_group_are_ended(tmp_path: Path, kind: str) -> None:
    forks = "if os.fork() == 0: note('x'); time.sleep(1000)\n"
    with running([sys.executable, "-c", NOTE.format(folder=str(tmp_path)) + forks + HELD[kind]]) as process:
        numbers = noted(tmp_path, "wx")
    assert process.status == -signal.SIGKILL
    until(lambda: not any(map(alive, numbers)), "the end of the group")


@pytest.mark.usefixtures("elsewhere")
def test_elsewhere_what_a_command_leaves_in_its_group_is_ended(tmp_path: Path) -> None:
    code = NOTE.format(folder=str(tmp_path)) + (
        "a, b = os.pipe()\nif os.fork() == 0:\n    note('x'); os.write(b, b'.'); time.sleep(1000)\nos.read(a, 1); sys.exit(5)"
    )
    with running([sys.executable, "-c", code]) as process:
        (number,) = noted(tmp_path, "x")
        assert process.ended_within(_SECONDS)
    assert process.status == 5
    until(lambda: not alive(number), "the end of the group")


# --- Commands ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sweep() -> ModuleType:
    spec = importlib.util.spec_from_file_location("signal_sweep", ROOT / "tests" / "oracle" / "signal_sweep.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["signal_sweep"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def place(sweep: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("sweep")
    sweep.prepare(top / "repository", sys.executable)
    return top


ENDED = [
    ("render", "kill"),
    ("render", "twice"),
    ("static", "stop"),
    ("static", "int"),
    ("diff", "kill"),
    ("diff", "term"),
    ("all", "kill"),
    ("all", "group"),
    ("all", "hup"),
]


@pytest.mark.needs_dot
@pytest.mark.parametrize(("command", "kind"), ENDED)
def test_a_command_that_has_a_temporary_folder_leaves_nothing(
    sweep: ModuleType, place: Path, command: str, kind: str
) -> None:
    case = next(case for case in sweep.CASES if case.name == command)
    own = sweep._fresh(place)

    def wait(process: subprocess.Popen[bytes]) -> None:
        until(lambda: process.poll() is not None or any((own / "tmp").glob("modgraph-*")), "a temporary folder")
        if kind == "stop":
            until(lambda: process.poll() is not None or any(sweep.working(process.pid)), "a process that draws")

    left = sweep.ended(case, kind, own, sys.executable, wait)
    assert left.faults == []
    assert not left.early


@pytest.mark.parametrize("kind", ["int", "group", "term", "kill"])
def test_a_check_in_several_processes_leaves_none(sweep: ModuleType, place: Path, kind: str) -> None:
    case = next(case for case in sweep.CASES if case.name == "check-jobs")

    def wait(process: subprocess.Popen[bytes]) -> None:
        until(lambda: process.poll() is not None or any(sweep.descendants(process.pid)), "a process of the check")

    left = sweep.ended(case, kind, sweep._fresh(place), sys.executable, wait)
    assert left.faults == []


AT_START = """
import builtins, os, signal, sys
real = builtins.__import__
def importing(name, *others, **named):
    if name == {name!r}:
        os.kill(os.getpid(), {number})
    return real(name, *others, **named)
builtins.__import__ = importing
sys.argv = ["modgraph", "check", "."]
from modgraph.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize("name", ["modgraph.cli", "argparse", "modgraph.cli.console", "modgraph.rules.paths"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_modules_are_imported_is_one_line(tmp_path: Path, name: str, number: int) -> None:
    code = AT_START.format(name=name, number=int(number))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert done.returncode == 128 + number
    assert done.stderr.startswith(b"interrupted")
    assert done.stderr.count(b"\n") == 1
    assert done.stdout == b""


# --- Signals -----------------------------------------------------------------------------------------------------


def test_a_signal_waits_for_what_must_not_be_disturbed() -> None:
    steps = []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        with deferred():
            os.kill(os.getpid(), signal.SIGINT)
            steps.append("went on")
            with deferred():
                steps.append("inner")
            steps.append("after the inner one")
        steps.append("not reached")
    assert steps == ["went on", "inner", "after the inner one"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_signal_that_waited_comes_also_where_an_exception_came_first() -> None:
    with pytest.raises(KeyboardInterrupt) as caught, deferred():  # noqa: PT012
        os.kill(os.getpid(), signal.SIGINT)
        raise ValueError("first")
    assert isinstance(caught.value.__context__, ValueError)


def test_signals_that_come_together_are_one() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with raising():
        with pytest.raises(Terminated) as caught:
            os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
    assert caught.value.number == signal.SIGTERM
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_signal_in_a_destructor_is_not_lost(capsys: pytest.CaptureFixture[str]) -> None:
    class Object:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), raising():  # noqa: PT012
        Object()
        until(lambda: False, "the signal")
    assert "Traceback" not in capsys.readouterr().err


def test_what_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with raising():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


# --- Temporary folders -------------------------------------------------------------------------------------------


def test_forgotten_folders_are_removed_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporary, "_place", lambda: str(tmp_path))
    stale, used, foreign, older, readable = (
        tmp_path / f"modgraph-{name}" for name in ("0" * 16, "1" * 16, "x" * 16, "a1b2c3d4", "3" * 16)
    )
    for folder in (stale, used, foreign, older, readable):
        folder.mkdir(mode=0o700)
        (folder / "a").mkdir()
    readable.chmod(0o755)
    kept = tmp_path / "kept"
    kept.mkdir()
    (stale / "link").symlink_to(kept)
    (kept / "file").touch()
    (tmp_path / f"modgraph-{'4' * 16}").symlink_to(kept)
    holder = temporary._locked(str(used))
    assert holder is not None
    try:
        with temporary.folder() as made:
            assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
                [made.name, "kept", used.name, foreign.name, older.name, readable.name, f"modgraph-{'4' * 16}"]
            )
            assert made.stat().st_mode & 0o777 == 0o700
    finally:
        os.close(holder)
    assert (kept / "file").exists()
    assert not made.exists()


def test_a_folder_whose_rights_were_taken_away_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporary, "_place", lambda: str(tmp_path))
    with temporary.folder() as made:
        (made / "a" / "b").mkdir(parents=True)
        (made / "a" / "b" / "c").touch()
        (made / "a" / "b").chmod(0)
        (made / "a").chmod(0o500)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_the_user_s_code_has_removed_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporary, "_place", lambda: str(tmp_path))
    with temporary.folder() as made:
        made.rmdir()
        made.symlink_to("/")
    assert Path("/etc").exists()


def test_a_process_leaves_no_keeper_behind(tmp_path: Path) -> None:
    before = keepers()
    with temporary.folder(), running([sys.executable, "-c", "pass"]) as process:
        assert process.ended_within(_SECONDS)
        assert keepers() - before
    assert keepers() <= before


def keepers() -> set[str]:
    """Numbers of those that are children of this process."""
    found = set()
    for one in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split():
        with contextlib.suppress(OSError):
            if str(processes.KEEPER) in Path(f"/proc/{one}/cmdline").read_text():
                found.add(one)
    return found


def test_the_working_directory_is_no_place_for_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(temporary.tempfile, "gettempdir", lambda: str(tmp_path))
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ResourceError, match="no place for temporary files"), temporary.folder():
        pass
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with temporary.folder() as made:
        assert made.parent == tmp_path


# --- Files -------------------------------------------------------------------------------------------------------

KILLED = """
import os, sys
from modgraph.doors import writing
def pieces(handle):
    os.write(handle, b"half")
    os.kill(os.getpid(), 9)
writing.put_all([(os.path.join({folder!r}, {name!r}), pieces)], below={folder!r})
"""


@pytest.mark.parametrize("name", ["new.svg", "there.svg"])
def test_a_process_that_is_killed_while_it_writes_leaves_no_half_of_a_file(tmp_path: Path, name: str) -> None:
    (tmp_path / "there.svg").write_text("whole")
    code = KILLED.format(folder=str(tmp_path), name=name)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["there.svg"]
    assert (tmp_path / "there.svg").read_text() == "whole"


ASKING = """
import os, sys
from modgraph.doors import git
def ended(*_):
    os.kill(os.getpid(), 9)
if sys.argv[2] == "before its keeper was told of it":
    git.Conversation = ended
git.git(["rev-parse", "HEAD"], sys.argv[1])
"""


@pytest.mark.parametrize("when", ["while it waits", "before its keeper was told of it"])
def test_a_git_that_waits_ends_when_its_parent_is_killed(tmp_path: Path, when: str) -> None:
    """The configuration of its repository includes a pipe that nobody writes to."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    os.mkfifo(tmp_path / ".git" / "pipe")
    with (tmp_path / ".git" / "config").open("a") as config:
        config.write("[include]\n\tpath = pipe\n")
    mark = f"ASKING_{os.getpid()}_{tmp_path.name}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), mark: "1"}
    parent = subprocess.Popen(
        [sys.executable, "-c", ASKING, str(tmp_path), when], env=environment, start_new_session=True
    )
    if when == "while it waits":
        until(lambda: any(map(_is_git, marked(mark))), "git")
        parent.kill()
    parent.wait()
    try:
        until(lambda: not marked(mark), "the end of git and of its keeper")
    finally:
        for number in marked(mark):
            os.kill(number, signal.SIGKILL)


def _is_git(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/comm").read_text() == "git\n"
    except OSError:
        return False


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="the system does not tell it")
def test_the_end_is_told_by_the_system_and_not_looked_for_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with running([sys.executable, "-I", "-S", "-c", "import time; time.sleep(0.3)"]) as process:
        monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("it was looked for again"))
        assert not process.ended_within(0.01)
        assert process.ended_within(_SECONDS)
        monkeypatch.undo()
    assert process.status == 0
