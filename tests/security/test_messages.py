"""Streams that cannot be written, numbers and nesting that cannot be read: one message and the documented status."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from modgraph.cli import main
from modgraph.errors import ConfigError

Shell = Callable[..., tuple[int, str, str]]
ROOT = Path(__file__).parents[2]
NET = """\
from torch import nn


class Net(nn.Module):
    def __init__(self, n=2):
        super().__init__()
        self.blocks = [nn.Linear(2, n) for _ in range(3)]
"""
COMMANDS = {
    "check net.py": 1,
    "check --format json net.py": 1,
    "check --diff --unsafe-fixes net.py": 1,
    "check --show-files .": 0,
    "check --explain ALL": 0,
    "analyze --static net.py -o out": 0,
    "analyze --static net.py --format json -o -": 0,
    "analyze --all --static . -o out --format json --jobs 1": 0,
    "diff net.py net.py --format json": 0,
    "render net.json --format text -o -": 0,
    "--help": 0,
    "check --help": 0,
    "--version": 0,
}
"""What each ends with where everything can be printed."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "here"
    place.mkdir()
    monkeypatch.chdir(place)
    monkeypatch.setenv("MODGRAPH_CACHE", "off")
    (place / "net.py").write_text(NET)
    return place


@pytest.fixture
def graph(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", "--static", "net.py:Net", "-o", "net.json", "--quiet"]) == 0
    capsys.readouterr()


@pytest.fixture
def shell(python_words: list[str]) -> Callable[..., tuple[int, str, str]]:
    """shell(command, folder, NAME=VALUE): the command in a shell, which can close streams."""
    return partial(in_a_shell, python_words)


def in_a_shell(python: list[str], command: str, folder: Path, **environment: str) -> tuple[int, str, str]:
    """Status, standard output, standard error. What says how an interpreter starts needs one that does so."""
    if environment.keys() - {"PYTHONUNBUFFERED"}:
        python = [sys.executable]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    ran = subprocess.run(
        ["bash", "-c", command.replace("modgraph", f"{shlex.join(python)} -m modgraph", 1)],
        cwd=folder, capture_output=True, text=True, check=False, timeout=180,
        env={**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1", **environment},
    )  # fmt: skip
    for text in (ran.stdout, ran.stderr):
        assert "Traceback" not in text
        assert "Exception ignored" not in text
    return ran.returncode, ran.stdout, ran.stderr


# --- streams -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("stream", "why"), [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device")])
@pytest.mark.usefixtures("graph")
def test_standard_output_that_cannot_be_written(folder: Path, command: str, stream: str, why: str, shell: Shell):
    status, _, err = shell(f"modgraph {command} {stream}", folder)
    assert status == 2
    assert err.count(f"error: standard output cannot be written: {why}") == 1


@pytest.mark.parametrize(("command", "expected"), COMMANDS.items())
@pytest.mark.usefixtures("graph")
def test_a_reader_who_has_gone(folder: Path, command: str, expected: int, shell: Shell):
    status, _, err = shell(
        f"set -o pipefail; trap '' PIPE; modgraph {command} | exec 0<&-", folder, PYTHONUNBUFFERED="1"
    )
    assert status == expected, err
    assert "Broken pipe" not in err


@pytest.mark.parametrize(("command", "expected"), COMMANDS.items())
@pytest.mark.parametrize("stream", ["2>&-", "2>/dev/full", "<&-", "2>&- <&-"])
@pytest.mark.usefixtures("graph")
def test_the_other_streams_change_nothing(folder: Path, command: str, expected: int, stream: str, shell: Shell):
    assert shell(f"modgraph {command} {stream}", folder)[0] == expected


def test_a_file_does_not_take_the_place_of_a_closed_stream(folder: Path, shell: Shell):
    """What is printed would go into the first file that is opened, which is one that a command writes or reads."""
    shell("modgraph analyze --static net.py --format json,text -o out >&- 2>&- <&-", folder)
    assert (folder / "net.py").read_text() == NET
    assert (folder / "out" / "Net.json").read_text("utf-8").startswith('{\n  "schema"')


def test_standard_input_that_is_closed_is_no_clean_file(folder: Path, shell: Shell):
    status, _, err = shell("modgraph check - <&-", folder)
    assert status == 2
    assert "standard input, which is closed" in err


@pytest.mark.parametrize("command", ["check .", "analyze --static ñ.py -o out", "--help", "analyze --static gone_ñ.py"])
@pytest.mark.parametrize(
    "environment", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}]
)
def test_an_encoding_that_shows_little(folder: Path, command: str, environment: dict[str, str], shell: Shell):
    (folder / "ñ.py").write_text(NET.replace("blocks", "größe"), "utf-8")
    status, out, err = shell(f"modgraph {command}", folder, **environment)
    assert status == {"check .": 1, "--help": 0, "analyze --static gone_ñ.py": 2}.get(command, 0), err
    assert out or err


# --- numbers and nesting -------------------------------------------------------------------------------------------

DIGITS = "9" * 5000
HEX = "0x" + "f" * 6000


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    status = main(list(arguments))
    return status, capsys.readouterr().err


TOML = {
    "digits": f"targets = [{DIGITS}]",
    "nested lists": "targets = " + "[" * 100_000,
    "nested tables": "targets = " + "{a=" * 100_000,
    "dotted keys": "a." * 100_000 + "b = 1",
    "dotted tables": "[" + "a." * 100_000 + "b]",
    "no text": "\udcff",
}


@pytest.mark.parametrize("name", TOML)
@pytest.mark.parametrize(
    "arguments", [("check", "."), ("check", "--show-settings", "net.py"), ("analyze", "--static"), ("diff", "HEAD")]
)
def test_a_configuration_that_cannot_be_read(folder: Path, capsys, git, name: str, arguments: tuple[str, ...]):
    (folder / "pyproject.toml").write_text(f"[tool.modgraph]\n{TOML[name]}\n", "utf-8", errors="surrogateescape")
    git("init", "-q", cwd=folder)
    git.commit("x.txt", "", cwd=folder)
    status, err = run(capsys, *arguments)
    assert status == 2
    assert err.startswith(("error: pyproject.toml is no TOML: ", "error: pyproject.toml is not read: it "))
    assert "pyproject.toml\n" in err


@pytest.mark.parametrize("name", sorted(TOML.keys() - {"no text"}))
def test_a_key_on_the_command_line(folder: Path, capsys, name: str):
    status, err = (
        run(capsys, "check", "--config", TOML[name].replace("\n", ""), ".")
        if "=" in TOML[name]
        else (2, "is no TOML: ")
    )
    assert status == 2
    assert "is no TOML: " in err or "is not read: it " in err


JSON = {
    "digits": f'{{"schema": "modgraph/1", "model": {DIGITS}}}',
    "nested lists": "[" * 200_000,
    "nested objects": '{"schema":' * 100_000,
    "infinite": '{"schema": "modgraph/1", "model": 1e999999999}',
}


@pytest.mark.parametrize("name", JSON)
@pytest.mark.parametrize(
    "arguments",
    [("render", "graph.json"), ("diff", "graph.json", "graph.json"), ("check", "--baseline", "graph.json", ".")],
)
def test_a_graph_that_cannot_be_read(folder: Path, capsys, name: str, arguments: tuple[str, ...]):
    (folder / "graph.json").write_text(JSON[name])
    status, err = run(capsys, *arguments)
    assert status == 2
    assert err.startswith("error: ")


TARGETS = {
    "parentheses": "(" * 5000 + ")" * 5000,
    "lists": "[" * 190 + "]" * 190,
    "signs": "-" * 5000 + "1",
    "sums": "1+" * 5000 + "1",
    "digits": DIGITS,
}


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_that_cannot_be_read(folder: Path, capsys, name: str):
    status, err = run(capsys, "analyze", "--static", f"net.py:Net({TARGETS[name]})", "-o", "out")
    assert status in ((2,) if name != "lists" else (1, 2))
    assert err.startswith(("error: ", "wrote", "warning"))
    assert len(err) < 2000


@pytest.mark.parametrize("argument", ["1e999999999", "-1e999999999", HEX, "1e-999999999", "1e999999999j"])
def test_a_number_that_is_hardly_one(folder: Path, capsys, argument: str):
    status, err = run(
        capsys, "analyze", "--static", f"net.py:Net({argument})", "--format", "json,text,svg,html", "-o", "out"
    )
    assert status in (1, 2)
    assert err.count("error: ") + err.count("warning: ") >= 1


@pytest.mark.parametrize("spec", [f"1x{DIGITS}", f"x={DIGITS}", "x=" + "(" * 5000, f"x={HEX}", f"1x3:{DIGITS}"])
def test_an_input_that_cannot_be_read(folder: Path, capsys, spec: str):
    status, err = run(capsys, "analyze", "net.py:Net", "--input", spec, "--timeout", "1e999")
    assert status == 2
    assert "error: " in err


SOURCES = {
    "digits": f"self.a = nn.Linear({DIGITS}, 2)",
    "sizes": f"self.a = nn.Linear({HEX}, 2)",
    "powers": "self.a = nn.Linear(10 ** 9000, 10 ** 9000)",
    "shifts": "self.a = nn.Conv2d(1 << 20000, 1 << 20000, 3)",
    "keys": f"self.a = nn.ModuleDict({{str({HEX}): nn.Linear(2, 2)}})",
    "names": f'setattr(self, f"a{{{HEX}}}", nn.Linear(2, 2))',
    "messages": f"raise ValueError({HEX})",
    "indices": f"self.a = nn.ModuleList([nn.Linear(2, 2)])[{HEX}]",
    "times": f"self.a = nn.ModuleList([nn.Linear(2, 2)] * {HEX})",
    "arguments": f"self.a = nn.LeakyReLU({HEX})",
}


@pytest.mark.parametrize("name", SOURCES)
def test_integers_of_a_source(folder: Path, capsys, name: str):
    source = f"{NET}        {SOURCES[name]}\n\n    def forward(self, x):\n        return x[{HEX}] + {HEX}\n"
    (folder / "big.py").write_text(source)
    status, err = run(capsys, "analyze", "--static", "big.py", "--format", "json,text,svg,html,mermaid", "-o", "out")
    assert status in ((0, 1) if name != "digits" else (2,)), err
    status, err = run(capsys, "check", "--select", "ALL", "big.py")
    assert status in (0, 1), err
    assert "modgraph itself failed" not in err


def test_integers_in_heads(folder: Path, capsys):
    head = f"@mark({HEX})\nclass Net(Base[{HEX}], nn.Module, n={HEX}):\n    def __init__(self, n={HEX}):"
    (folder / "big.py").write_text(NET.replace("class Net(nn.Module):\n    def __init__(self, n=2):", head))
    for arguments in (["check", "--select", "ALL", "."], ["analyze", "--static", "big.py", "-o", "out"]):
        status, err = run(capsys, *arguments)
        assert status == 1, (arguments, err[-300:])
        assert "itself failed" not in err
    assert run(capsys, "analyze", "--all", "--static", ".", "-o", "all", "--format", "json", "--jobs", "1")[0] <= 1
    status, err = run(capsys, "diff", "big.py:Net", "net.py:Net")
    assert status == 2
    assert "nothing is known" in err


def test_every_error_of_a_key_says_what_is_wrong(folder: Path):
    from modgraph.config import Configs

    with pytest.raises(ConfigError, match="4300 digits"):
        Configs(given=[f"select={DIGITS}"])
