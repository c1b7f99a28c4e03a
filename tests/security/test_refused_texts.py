"""What Python's own parser would take too long for is not given to it: both the check and the prediction say so."""

from __future__ import annotations

import ast
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from modgraph.source.integers import parse
from modgraph.source.refusing_text import TooMuchError, refuse

NET = "from torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        {}\n"
TOO_MUCH = {
    "marks of a name": ("a" + "\u0301\u0327" * 60_000 + " = 3", "combining characters"),
    "letters that are written as marks": ("a" + "\uff9e\u0301" * 60_000 + " = 3", "combining characters"),
    "fields": ("s = f'" + "{1}" * 150_000 + "'", "fields"),
    "fields on lines of their own": ("s = rf'''" + "{1}\n" * 110_000 + "'''", "fields"),
    "fields before a long text": ('s = f"' + "{1}" * 50_000 + "a" * 2_000_000 + '"', "fields"),
    "dots": ("import a" + ".b" * 100_000, "dotted names"),
    "dots on lines of their own": ("from a" + ".\\\nb" * 100_000 + " import c", "dotted names"),
    "statements": ("a" + ";a" * 600_000, "words and signs"),
}


@pytest.mark.parametrize("command", [["check"], ["analyze", "--static", "-o", "-", "--format", "json"]])
@pytest.mark.parametrize("name", TOO_MUCH)
def test_a_file_on_which_the_parser_would_hang_is_refused_with_the_reason(
    tmp_path: Path, name: str, command: list[str]
) -> None:
    statement, reason = TOO_MUCH[name]
    (tmp_path / "model.py").write_text(NET.format(statement), "utf-8")
    target = "model.py" if command == ["check"] else "model.py:Net"
    done = subprocess.run(
        [sys.executable, "-m", "modgraph", command[0], target, *command[1:]],
        cwd=tmp_path,
        env={**os.environ, "MODGRAPH_CACHE": "off"},
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (10, 10)),
        check=False,
    )
    assert done.returncode == (1 if command == ["check"] else 2), done.stderr[-500:]
    assert reason in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", TOO_MUCH)
def test_it_is_refused_before_it_is_parsed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ast, "parse", lambda *_: pytest.fail("was parsed"))
    with pytest.raises(TooMuchError):
        parse(TOO_MUCH[name][0])


@pytest.mark.parametrize(
    "text",
    [
        "a" + "\u0301\u0327" * 100 + " = 3",
        "s = '" + "汉字" * 200_000 + "'",
        "s = f'" + "{1}" * 5_000 + "'",
        "s = {" + "'{}': {1: {2: 3}}, " * 20_000 + "}",
        "import a" + ".b" * 200,
        "x = a.b.c\n" * 50_000,
        "s = '" + "a.b{c}" * 50_000 + "'",
    ],
)
def test_what_is_only_long_is_parsed(text: str) -> None:
    refuse(text)
    ast.parse(text)
