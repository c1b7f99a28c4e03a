"""However the worker process dies, what was seen of the run is kept, and the problem says what happened and where."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from modgraph import api, errors
from modgraph.api import load
from modgraph.cli import main
from modgraph.errors import InputError, TargetError, TraceError
from modgraph.graph.events import DoneEvent, EnterEvent, Event, StartEvent
from modgraph.graph.serial import from_json
from modgraph.heard import Heard
from modgraph.isolation import TraceResult, trace_in_process
from modgraph.options import TraceOptions
from modgraph.source.inputs import parse_input
from modgraph.source.targets import parse_target

pytestmark = [pytest.mark.needs_torch, pytest.mark.skipif(os.name != "posix", reason="process groups and signals")]

MODEL = """
import ctypes, os, signal, sys, time
import torch
from torch import nn

class Culprit(nn.Module):
    def __init__(self):
        super().__init__()
        self.never = nn.Linear(4, 4)

    def forward(self, x):
{death}
        return x

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.before = nn.Linear(4, 4)
        self.middle = nn.Sequential(Culprit())
        self.after = nn.Linear(4, 4)

    def forward(self, x):
        return self.after(self.middle(self.before(x)))
"""


def traced(directory: Path, source: str, name: str = "Net", **options: object) -> TraceResult:
    (directory / "model.py").write_text(textwrap.dedent(source), "utf-8")
    target = parse_target(f"model.py:{name}", cwd=directory)
    return trace_in_process(target, [parse_input("1x4:float32")], TraceOptions(**options))  # type: ignore[arg-type]


def death(directory: Path, statements: str, **options: object) -> TraceResult:
    return traced(directory, MODEL.format(death=textwrap.indent(textwrap.dedent(statements), " " * 8)), **options)


def called(result: TraceResult) -> list[str]:
    return [call.module for call in result.graph.calls]


KILLED = {
    "segfault": ("ctypes.string_at(0)", "SIGSEGV"),
    "abort": ("os.abort()", "SIGABRT"),
    "killed": ("os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
    "os_exit": ("os._exit(4)", "exit status 4"),
}


@pytest.mark.parametrize("kind", KILLED)
def test_a_death_keeps_the_calls_and_names_the_module_and_its_line(tmp_path: Path, kind: str) -> None:
    statements, said = KILLED[kind]
    result = death(tmp_path, statements)

    assert called(result) == ["", "before", "middle", "middle.0"]
    assert result.graph.calls[1].outputs[0].shape == (1, 4)
    (problem,) = result.graph.problems
    assert said in problem.message
    assert (problem.stage, problem.module) == ("trace", "middle.0")
    assert problem.file is not None
    assert {node.path for node in result.graph.modules} >= {"after", "middle.0.never"}


@pytest.mark.fresh_process
def test_a_segmentation_fault_leaves_the_text_of_faulthandler(tmp_path: Path) -> None:
    assert "Fatal Python error: Segmentation fault" in death(tmp_path, "ctypes.string_at(0)").output


LOOPS = {
    "python": "while True: pass",
    "compiled": "ctypes.CDLL(None).sleep(1000)",
}


@pytest.mark.parametrize("kind", LOOPS)
def test_a_hang_ends_with_the_time_limit(tmp_path: Path, kind: str) -> None:
    result = death(tmp_path, LOOPS[kind], timeout=4)

    assert called(result) == ["", "before", "middle", "middle.0"]
    (problem,) = result.graph.problems
    assert "time limit of 4 s" in problem.message
    assert problem.module == "middle.0"


@pytest.mark.fresh_process
@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_DATA bounds memory on Linux alone")
def test_out_of_memory_is_an_error_of_the_module(tmp_path: Path) -> None:
    result = death(tmp_path, "x = torch.ones(2**31)", memory_limit=512 * 2**20)

    assert called(result) == ["", "before", "middle", "middle.0"]
    (problem,) = result.graph.problems
    assert problem.module == "middle.0"
    assert "alloc" in problem.message or "memory" in problem.message.lower()


RAISED = {
    "sys_exit": ("sys.exit(3)", "SystemExit"),
    "exception": ("raise ValueError('not like this')", "ValueError: not like this"),
    "recursion": ("return self(x)", "RecursionError"),
}


@pytest.mark.parametrize("kind", RAISED)
def test_what_forward_raises_is_a_problem_of_the_module(tmp_path: Path, kind: str) -> None:
    statements, said = RAISED[kind]
    result = death(tmp_path, statements)

    assert called(result)[:4] == ["", "before", "middle", "middle.0"]
    (problem,) = result.graph.problems
    assert said in problem.message
    assert problem.module == "middle.0"
    assert problem.file == "model.py"


HARMLESS = {
    "closes_its_descriptors": "os.closerange(0, 3)",
    "prints_rubbish": "print('{' * 9000); os.write(1, bytes(range(256)) * 500); os.write(2, b'\\n{\"end\": true}\\n')",
    "leaves_a_child": "os.fork() or time.sleep(1000)",
    "leaves_a_program": "__import__('subprocess').Popen(['sleep', '1000'])",
}


@pytest.mark.parametrize("kind", HARMLESS)
def test_what_does_not_concern_the_events_leaves_the_graph_complete(tmp_path: Path, kind: str) -> None:
    result = death(tmp_path, HARMLESS[kind])  # waited for no longer than the model: what it leaves sleeps on

    assert result.graph.complete, result.graph.problems
    assert called(result) == ["", "before", "middle", "middle.0", "after"]


def test_a_crash_while_inputs_are_tried_out_is_found_in_a_second_run(tmp_path: Path) -> None:
    source = MODEL.format(death="        ctypes.string_at(0)")
    (tmp_path / "model.py").write_text(source, "utf-8")
    result = trace_in_process(parse_target("model.py:Net", cwd=tmp_path), [], TraceOptions())

    assert called(result) == ["", "before", "middle", "middle.0"]
    assert result.graph.problems[0].module == "middle.0"


def test_events_come_while_it_runs_and_are_the_same_every_time(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL.format(death="        pass"), "utf-8")
    streams: list[list[Event]] = []
    for _ in range(2):
        events: list[Event] = []
        trace_in_process(parse_target("model.py:Net", cwd=tmp_path), [], TraceOptions(), on_event=events.append)
        streams.append(events)

    assert isinstance(streams[0][0], StartEvent)
    assert isinstance(streams[0][-1], DoneEvent)
    assert sum(isinstance(event, EnterEvent) for event in streams[0]) == 5
    assert [event.to_json() for event in streams[0]] == [event.to_json() for event in streams[1]]


@pytest.mark.fresh_process
def test_what_the_model_prints_is_kept_apart(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    result = death(tmp_path, "print('from forward')")

    assert "from forward" in result.output
    assert capfd.readouterr().out == ""


BEFORE_THE_RUN = {
    "import_raises": ("import torch\nraise KeyError('no key')\nclass Net: pass", TraceError, "KeyError"),
    "import_exits": ("import sys\nsys.exit('bye')", TraceError, "sys.exit('bye')"),
    "import_dies": ("import os\nos._exit(7)", TraceError, "exit status 7"),
    "missing_package": ("import nonexistent_package_of_tests", TraceError, "nonexistent_package_of_tests"),
    "unknown_name": ("class Nett: pass", TargetError, "has no 'Net'"),
    "constructor_raises": (
        "from torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n        raise OSError('no file')",
        TraceError,
        "OSError: no file",
    ),
}


@pytest.mark.parametrize("kind", BEFORE_THE_RUN)
def test_what_goes_wrong_before_the_run_is_one_error(tmp_path: Path, kind: str) -> None:
    source, expected, said = BEFORE_THE_RUN[kind]
    with pytest.raises(expected) as caught:
        traced(tmp_path, source)
    assert said in caught.value.message
    if kind in ("import_raises", "constructor_raises", "missing_package"):
        assert caught.value.file == "model.py"
        assert caught.value.line == {"import_raises": 2, "constructor_raises": 4, "missing_package": 1}[kind]


def test_a_wrong_input_says_what_forward_accepts(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL.format(death="        pass"), "utf-8")
    target = parse_target("model.py:Net", cwd=tmp_path)
    with pytest.raises(InputError, match=r"forward\(x\)"):
        trace_in_process(target, [parse_input("image=1x4")], TraceOptions())


@pytest.mark.fresh_process
def test_without_torch_one_message_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('hidden by the test', name='torch')", "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(TraceError, match=r"tracing needs PyTorch \(pip install"):
        traced(tmp_path, "")


@pytest.mark.fresh_process
def test_a_module_of_the_standard_library_in_the_working_directory_is_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "random.py").write_text("raise RuntimeError('shadowed')", "utf-8")
    (tmp_path / "types.py").write_text("raise RuntimeError('shadowed')", "utf-8")
    monkeypatch.chdir(tmp_path)
    assert death(tmp_path, "pass").graph.complete


@pytest.mark.fresh_process
def test_the_parent_never_imports_torch(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL.format(death="        pass"), "utf-8")
    script = (
        "import sys\n"
        "from modgraph.isolation import trace_in_process\n"
        "from modgraph.options import TraceOptions\n"
        "from modgraph.source.targets import parse_target\n"
        "print(trace_in_process(parse_target('model.py:Net'), [], TraceOptions()).graph.complete, 'torch' in sys.modules)"
    )
    root = Path(__file__).resolve().parent.parent
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["True", "False"]


def test_a_capture_reaches_the_live_model_and_its_files_come_back(tmp_path: Path) -> None:
    source = MODEL.format(death="        pass") + textwrap.dedent(
        """
        def capture(model, args, kwargs, directory, graph, settings):
            (directory / "weights.txt").write_text(str(sum(p.numel() for p in model.parameters())))
            return {"inputs": len(args), "calls": len(graph.calls), **settings}
        """
    )
    (tmp_path / "model.py").write_text(source, "utf-8")
    target = parse_target("model.py:Net", cwd=tmp_path)
    result = trace_in_process(target, [], TraceOptions(), capture="model:capture", settings={"name": "net"})

    assert result.captured == {"inputs": 1, "calls": len(result.graph.calls), "name": "net"}
    assert dict(result.captured_files) == {"weights.txt": b"60"}
    assert result.capture_error is None


def test_a_capture_that_fails_leaves_the_trace_complete(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL.format(death="        pass"), "utf-8")
    target = parse_target("model.py:Net", cwd=tmp_path)
    result = trace_in_process(target, [], TraceOptions(), capture="model:nothing_of_that_name")

    assert result.graph.complete
    assert result.captured is None
    assert result.capture_error is not None
    assert "nothing_of_that_name" in result.capture_error


EXPERTS = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.gate = nn.Linear(width, width)
        self.expert = nn.Linear(width, width)

    def forward(self, x):
        chosen = self.gate(x) > 0
        if chosen.any():
            return self.expert(x)
        return x
"""


@pytest.mark.parametrize("width", [4, 100_000])
def test_without_weights_a_model_that_decides_by_values_stops_there_and_says_so(tmp_path: Path, width: int) -> None:
    (tmp_path / "model.py").write_text(EXPERTS, "utf-8")
    target = parse_target(f"model.py:Net({width})", cwd=tmp_path)
    result = trace_in_process(target, [], TraceOptions(device="fake"))

    assert result.graph.model.device == "fake"
    assert called(result) == ["", "gate"]
    (problem,) = result.graph.problems
    assert problem.message == "forward decides by values, which a run without weights does not have; use --device cpu"
    assert (problem.file, problem.line) == ("model.py", 13)


FORKS = {
    "os_fork": "pid = os.fork()\nif pid: os.waitpid(pid, 0)",
    "fork_pool": "x = __import__('multiprocessing').get_context('fork').Pool(2).map(self.never, [x.detach()])[0]",
}


@pytest.mark.parametrize("kind", FORKS)
def test_a_child_forked_in_forward_does_not_speak_into_the_record_of_its_parent(tmp_path: Path, kind: str) -> None:
    result = death(tmp_path, FORKS[kind])

    assert result.graph.complete, result.graph.problems
    assert called(result) == ["", "before", "middle", "middle.0", "after"]


def test_a_record_that_contradicts_itself_gives_what_was_said_before(tmp_path: Path) -> None:
    # A child that has no pipe of its own writes into the one it inherited, past our channel.
    steal = """
        pipes = [int(name) for name in os.listdir('/proc/self/fd') if 'pipe' in (os.path.exists(f'/proc/self/fd/{name}')
                 and os.readlink(f'/proc/self/fd/{name}') or '')]
        for pipe in pipes:
            try:
                os.write(pipe, b'{"event": "exit", "call": 77}\\n')
            except OSError:
                pass
    """
    result = death(tmp_path, steal)

    assert called(result)[:4] == ["", "before", "middle", "middle.0"]
    assert any("contradicts itself" in problem.message for problem in result.graph.problems)


@pytest.mark.parametrize(
    "line",
    [
        b"3",
        b"[]",
        b"{}",
        b"not json",
        b'{"failed": 3}',
        b'{"failed": {"kind": "annotations", "message": "x"}}',
        b'{"failed": {"kind": "TraceError", "message": 3, "module": 4, "file": 5, "line": "x", "hint": 1}}',
        b'{"stage": {}}',
        b'{"stage": "x", "probing": 7}',
        b'{"warning": 1}',
        b'{"captured": 1}',
        b'{"checkpoint": {"a": [1]}}',
        b'{"event": "enter", "call": []}',
        b'{"event": ["x"]}',
        b'{"event": null}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
    ids=lambda line: line[:40].decode("latin-1"),
)
def test_a_line_that_no_worker_writes_is_counted_and_changes_nothing(line: bytes) -> None:
    heard = Heard(None)
    before = {name: value for name, value in vars(heard).items() if name != "n_malformed"}
    heard.line(line.decode("utf-8", "replace") + "\n")
    assert heard.n_malformed == 1
    heard.line('{"event": "done"')  # cut off, without an end of line: the process has died
    assert heard.n_malformed == 1
    assert {name: value for name, value in vars(heard).items() if name != "n_malformed"} == before


def test_a_line_that_makes_no_sense_is_a_problem_and_what_was_recorded_stays(tmp_path: Path) -> None:
    steal = """
        for name in os.listdir('/proc/self/fd'):
            try:
                if 'pipe' in os.readlink(f'/proc/self/fd/{name}'):
                    os.write(int(name), b'{"failed": 3}\\n{"failed": {"kind": "annotations", "message": 1}}\\n')
            except OSError:
                pass
    """
    result = death(tmp_path, steal)

    assert called(result) == ["", "before", "middle", "middle.0", "after"]
    assert any("make no sense" in problem.message for problem in result.graph.problems)


def test_events_are_not_written_into_a_file_that_took_the_place_of_the_channel(tmp_path: Path) -> None:
    statements = f"""
        os.closerange(3, 1 << 16)
        self.files = [open({str(tmp_path)!r} + f'/own{{number}}.txt', 'w') for number in range(8)]
        import fcntl
        self.high = [fcntl.fcntl(self.files[0], fcntl.F_DUPFD, number) for number in (500, 1000, 65000, 65520)
                     if number < __import__('resource').getrlimit(7)[0]]
    """
    result = death(tmp_path, statements)

    assert [(tmp_path / f"own{number}.txt").read_text() for number in range(8)] == [""] * 8
    assert called(result) == ["", "before", "middle", "middle.0"]
    assert not result.graph.complete


@pytest.mark.fresh_process
def test_closing_the_usual_descriptors_loses_no_event(tmp_path: Path) -> None:
    assert death(tmp_path, "os.closerange(3, 256)").graph.complete


def test_a_keyboard_interrupt_raised_in_forward_is_a_result(tmp_path: Path) -> None:
    result = death(tmp_path, "raise KeyboardInterrupt")

    (problem,) = result.graph.problems
    assert problem.message == "KeyboardInterrupt"
    assert problem.module == "middle.0"


def test_an_endless_message_is_cut_before_it_travels(tmp_path: Path) -> None:
    result = death(tmp_path, "raise ValueError('x' * 5_000_000)")

    (problem,) = result.graph.problems
    assert 1000 < len(problem.message) < 2100
    assert max(len(call.error or "") for call in result.graph.calls) < 2100


def test_code_that_replaces_json_and_os_functions_does_not_reach_the_record(tmp_path: Path) -> None:
    statements = """
        import dataclasses, json
        json.dumps = json.loads = dataclasses.replace = dataclasses.fields = lambda *a, **k: 'hacked'
        os.write = os.getpid = os.fstat = lambda *a: 0
        sys.stderr = None
    """
    result = death(tmp_path, statements)
    assert result.graph.complete, result.graph.problems


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells which processes there are")
@pytest.mark.fresh_process
def test_a_program_that_left_the_process_group_is_ended_too(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    result = death(
        tmp_path,
        f"""
        import subprocess
        program = subprocess.Popen(['sleep', '1000'], start_new_session=True)
        open({str(note)!r}, 'w').write(str(program.pid))
        """,
    )

    assert result.graph.complete, result.graph.problems
    deadline = time.monotonic() + 10
    while _alive(int(note.read_text())) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _alive(int(note.read_text()))


@pytest.mark.fresh_process
@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells which processes there are")
@pytest.mark.parametrize(
    ("name", "to_all"),
    [("SIGTERM", False), ("SIGHUP", False), ("SIGKILL", False), ("SIGINT", False), ("SIGINT", True)],
)
def test_the_worker_does_not_outlive_the_process_that_asked(tmp_path: Path, name: str, to_all: bool) -> None:
    note, scratch = tmp_path / "pid", tmp_path / "scratch"
    scratch.mkdir()
    waiting = f"open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(1000)"
    (tmp_path / "model.py").write_text(MODEL.format(death=f"        {waiting}"), "utf-8")
    root = Path(__file__).resolve().parent.parent
    process = subprocess.Popen(
        [sys.executable, "-m", "modgraph", "analyze", "model.py:Net", "--input", "1x4:float32", "-o", "out/"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(root), "TMPDIR": str(scratch)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    while not (note.exists() and note.read_text()):  # it comes, or the test ends with its stack
        assert process.poll() is None
        time.sleep(0.1)
    worker = int(note.read_text())
    assert _alive(worker)
    if to_all:  # as a terminal does for Ctrl-C: to every process of the foreground group
        os.killpg(process.pid, getattr(signal, name))
    else:
        process.send_signal(getattr(signal, name))
    _, said = process.communicate()

    deadline = time.monotonic() + 60
    while (_alive(worker) or list(scratch.glob("modgraph-*"))) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _alive(worker)
    assert list(scratch.glob("modgraph-*")) == []
    if name == "SIGINT":
        assert process.returncode == 130
        (line,) = said.decode().splitlines()
        assert line.startswith("interrupted; what was recorded until then is in out/Net.svg, out/Net.json")
        kept = load(tmp_path / "out" / "Net.json")
        assert (kept.complete, kept.predicted, kept.traced) == (False, True, True)
        assert [call.module for call in kept.calls][:2] == ["", "before"]
        assert "interrupted by Ctrl-C" in kept.problems[0].message


def test_ctrl_c_before_anything_runs_keeps_the_prediction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise errors.Interrupted

    (tmp_path / "model.py").write_text(MODEL.format(death="        pass"), "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("modgraph.isolation.trace_in_process", interrupted)

    assert main(["analyze", "model.py:Net", "-o", "net.json"]) == 130
    assert capsys.readouterr().err == "interrupted; what was found out until then is in net.json\n"
    kept = load(tmp_path / "net.json")
    assert (kept.complete, kept.predicted, kept.traced) == (False, True, False)


def test_ctrl_c_elsewhere_is_one_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "model.py").write_text(MODEL.format(death="        pass"), "utf-8")
    monkeypatch.setattr("modgraph.api.find_targets", interrupted)
    assert main(["analyze", str(tmp_path / "model.py")]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_only_the_end_of_a_long_output_is_read(tmp_path: Path) -> None:
    result = death(tmp_path, "print('begin' + 'x' * 10_000_000 + 'end')")
    assert result.output.rstrip().endswith("end")
    assert len(result.output) <= 64 * 1024


LOST = {"GraphError": errors.GraphError("broken"), "device": errors.ModgraphError("no device"), "defect": KeyError("x")}


@pytest.mark.parametrize("kind", LOST)
def test_the_prediction_is_kept_whatever_becomes_of_the_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise LOST[kind]

    (tmp_path / "model.py").write_text(MODEL.format(death="        pass"), "utf-8")
    monkeypatch.setattr("modgraph.isolation.trace_in_process", fail)
    graph = api.analyze_target(parse_target("model.py:Net", cwd=tmp_path), options=TraceOptions())

    assert {node.path for node in graph.modules} >= {"", "before", "middle.0.never", "after"}
    assert any(problem.stage == "trace" for problem in graph.problems)


def test_the_prediction_is_kept_where_merging_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("x")

    (tmp_path / "model.py").write_text(MODEL.format(death="        pass"), "utf-8")
    monkeypatch.setattr("modgraph.merge.merge", fail)
    graph = api.analyze_target(parse_target("model.py:Net", cwd=tmp_path), options=TraceOptions())
    assert any("merging" in problem.message for problem in graph.problems)


def test_the_command_writes_what_is_known_of_a_model_that_crashes(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL.format(death="        ctypes.string_at(0)"), "utf-8")
    root = Path(__file__).resolve().parent.parent
    done = subprocess.run(
        [sys.executable, "-m", "modgraph", "analyze", "model.py:Net", "--input", "1x4", "--format", "json", "-o", "-"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1, done.stderr
    graph = from_json(done.stdout)
    assert [call.module for call in graph.calls if call.observed] == ["", "before", "middle", "middle.0"]
    assert {node.path for node in graph.modules if node.predicted} >= {"before", "middle.0.never", "after"}
    assert [problem.module for problem in graph.problems] == ["middle.0"]
