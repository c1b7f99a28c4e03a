"""A file that goes on and on while it is imported: it is said what is waited for, and there is an end to it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from modgraph import api, isolation
from modgraph.cli import main
from modgraph.cli.analyze import add_arguments
from modgraph.errors import ConfigError, TraceError
from modgraph.heard import Heard
from modgraph.options import IMPORT_SECONDS, TraceOptions
from modgraph.source.targets import parse_target

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the stand-in for the worker writes into a pipe")

FAKE = """
import json, os, sys, time
def say(**message):
    os.write(int(sys.argv[3]), json.dumps(message).encode() + b"\\n")
say(stage="importing torch")
say(stage="importing model.py and building Net", begins=True)
"""
NET = "from torch import nn\nclass Net(nn.Linear):\n    def __init__(self): super().__init__(2, 2)\n"


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "model.py").write_text(NET)
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Watcher:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def doing(self, what: str) -> None: ...

    def event(self, event: object) -> None: ...

    def waits(self, why: str) -> None:
        self.told.append(why)


def worker(monkeypatch: pytest.MonkeyPatch, statements: str) -> None:
    monkeypatch.setattr(isolation, "_BOOTSTRAP", FAKE + statements)


def test_after_a_while_it_is_said_what_is_waited_for(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker(monkeypatch, "while not os.path.exists('told'): time.sleep(0.01)")
    monkeypatch.setattr(isolation, "_TELL_SECONDS", 0.05)
    watcher = Watcher()
    tell = watcher.waits
    watcher.waits = lambda why: (tell(why), Path("told").touch())[0]  # type: ignore[method-assign]
    with pytest.raises(TraceError):
        isolation.trace_in_process(parse_target("model.py:Net"), [], TraceOptions(), watcher=watcher)
    (said,) = watcher.told
    assert said.startswith("still importing model.py and building Net, for 0 s now")
    assert "300 s in all" in said
    for way_out in ("--static", "--timeout", 'if __name__ == "__main__":'):
        assert way_out in said


def test_it_is_said_where_nobody_looks_and_not_to_those_who_want_quiet(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    worker(monkeypatch, "time.sleep(0.5)")
    monkeypatch.setattr(isolation, "_TELL_SECONDS", 0.05)
    assert main(["analyze", "model.py:Net", "--format", "json"]) == 1
    assert "trace: still importing model.py and building Net" in capsys.readouterr().err
    assert main(["analyze", "model.py:Net", "--format", "json", "-q"]) == 1
    assert "still importing" not in capsys.readouterr().err


def test_a_run_that_takes_long_is_none_that_is_imported(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker(monkeypatch, "say(stage='running the model')\ntime.sleep(0.5)")
    monkeypatch.setattr(isolation, "_TELL_SECONDS", 0.01)
    monkeypatch.setattr(isolation, "IMPORT_SECONDS", 0.01)
    watcher = Watcher()
    with pytest.raises(TraceError, match="ended itself with exit status 0"):
        isolation.trace_in_process(parse_target("model.py:Net"), [], TraceOptions(), watcher=watcher)
    assert watcher.told == []


def test_the_import_has_a_bound_of_its_own_and_the_prediction_is_written(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    worker(monkeypatch, "time.sleep(1000)")
    monkeypatch.setattr(isolation, "IMPORT_SECONDS", 0.2)
    assert main(["analyze", "model.py:Net", "--format", "json", "-o", "out"]) == 1
    told = capsys.readouterr().err
    assert "the limit of 0.2 s for this, where no --timeout is given, was reached" in told
    assert "while importing model.py and building Net" in told
    graph = api.load("out/Net.json")
    assert not graph.traced
    assert [node.path for node in graph.modules] == [""]


def test_a_time_limit_that_was_given_takes_the_place_of_that_bound(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker(monkeypatch, "time.sleep(1000)")
    monkeypatch.setattr(isolation, "IMPORT_SECONDS", 0.0)
    with pytest.raises(TraceError, match=r"the time limit of 0\.3 s was reached while importing model\.py") as caught:
        isolation.trace_in_process(parse_target("model.py:Net"), [], TraceOptions(timeout=0.3))
    assert caught.value.hint is not None
    assert "--timeout SECONDS" in caught.value.hint


def test_half_of_the_time_is_for_trying_out_inputs(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first worker hangs while inputs are tried; the second, which does not try them, gets what is left."""
    worker(
        monkeypatch,
        "asked = json.load(open(int(sys.argv[4]), 'rb'))\n"
        "open('asked', 'a').write('probe ' if asked['probe'] else 'run ')\n"
        "say(stage='finding inputs for forward', probing=asked['probe'])\ntime.sleep(1000)",
    )
    with pytest.raises(TraceError, match=r"the time limit of 1 s was reached while finding inputs"):
        isolation.trace_in_process(parse_target("model.py:Net"), [], TraceOptions(timeout=1))
    assert Path("asked").read_text() == "probe run "


def test_the_bound_is_named_in_the_help() -> None:
    import argparse

    parser = argparse.ArgumentParser()
    add_arguments(parser)
    assert f"{IMPORT_SECONDS:g}" in " ".join(parser.format_help().split())


# --- What the user's code may do to its own process ----------------------------------------------------------------

ENDS = {
    "exits with 0": ("os._exit(0)", "the process ended itself with exit status 0"),
    "kills itself": ("os.kill(os.getpid(), 9)", "SIGKILL"),
    "kills its keeper": ("os.kill(os.getppid(), 9); time.sleep(1000)", "SIGKILL"),
    "stops and kills its keeper": ("os.kill(os.getppid(), 19); os.kill(os.getppid(), 9); time.sleep(1000)", "SIGKILL"),
    "closes all": ("os.closerange(0, 1 << 16); os._exit(3)", "exit status 3"),
    "removes the folder": ("__import__('shutil').rmtree(sys.argv[2]); os._exit(3)", "exit status 3"),
    "puts a link in place of the folder": (
        "__import__('shutil').rmtree(sys.argv[2]); os.symlink('/', sys.argv[2]); os._exit(3)",
        "exit status 3",
    ),
    "removes the working directory": ("__import__('shutil').rmtree(os.getcwd()); os._exit(3)", "exit status 3"),
    "leaves the pipe to a child": (
        "if os.fork() == 0:\n    os.setsid()\n    time.sleep(1000)\nos._exit(3)",
        "exit status 3",
    ),
    "writes no lines": ("os.write(int(sys.argv[3]), b'x' * 100000); os._exit(3)", "exit status 3"),
    "says that all is well": ("say(end=True); os._exit(0)", "exit status 0"),
    "has no files left for itself": (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3)); os.umask(0o777); os._exit(3)",
        "exit status 3",
    ),
}
STAGES = {
    "import": "",
    "inputs": "say(stage='finding inputs for forward', probing=True)\n",
    "run": "say(stage='running the model')\n",
}


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("kind", ENDS)
def test_whatever_it_does_to_itself_the_end_is_told(
    tmp_path: Path, kind: str, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "model.py").write_text(NET)
    worker(monkeypatch, STAGES[stage] + ENDS[kind][0])
    with _from(folder), pytest.raises(TraceError) as caught:
        isolation.trace_in_process(parse_target("model.py:Net", cwd=folder), [], TraceOptions(), cwd=folder)
    assert ENDS[kind][1] in caught.value.message
    assert Path("/etc").exists()


@contextlib.contextmanager
def _from(folder: Path) -> Iterator[None]:
    here = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(here)


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), True, "5"])
def test_a_time_limit_is_a_number_of_seconds(value: Any) -> None:
    with pytest.raises(ConfigError, match="timeout"):
        TraceOptions(timeout=value)


def test_a_stage_of_the_worker_s_own_words_is_cut() -> None:
    heard = Heard()
    heard.line('{"stage": "' + "x" * 1_000_000 + '"}\n')
    assert len(heard.stage) == 20_000
