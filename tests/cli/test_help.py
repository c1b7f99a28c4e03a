"""`--help` of each command: short enough to be read, with examples that the command itself accepts."""

from __future__ import annotations

import re
import shlex

import pytest

from modgraph.cli import COMMANDS, _parsers, main

MAX_LINES = 60


def help_of(command: str, capsys: pytest.CaptureFixture) -> str:
    assert main([command, "--help"]) == 0
    return capsys.readouterr().out


@pytest.fixture(autouse=True)
def _width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize("command", COMMANDS)
def test_it_fits_a_screen_or_two(command: str, capsys: pytest.CaptureFixture):
    lines = len(help_of(command, capsys).splitlines())
    assert lines <= MAX_LINES, (
        f"`modgraph {command} --help` has {lines} lines, more than {MAX_LINES}: say something shorter"
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_its_examples_are_commands_that_it_takes(command: str, capsys: pytest.CaptureFixture):
    examples = re.findall(rf"^  modgraph ({command} .*)$", help_of(command, capsys), re.MULTILINE)
    assert examples
    for line in examples:
        words = shlex.split(line, comments=True)
        _parsers(words)[0].parse_args(words)


@pytest.mark.parametrize("command", COMMANDS)
def test_it_says_what_each_exit_status_means(command: str, capsys: pytest.CaptureFixture):
    status = help_of(command, capsys).partition("exit status:\n")[2]
    assert re.fullmatch(r"  0 .+   1 .+   2 .+\n", status)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_explained(command: str, capsys: pytest.CaptureFixture):
    text = help_of(command, capsys)
    for action in _parsers([command])[0]._subparsers._group_actions[0].choices[command]._actions:  # type: ignore[union-attr]
        names = [name for name in action.option_strings if name.startswith("--")]
        assert all(name in text for name in names) or action.help == "==SUPPRESS=="
        assert action.help
