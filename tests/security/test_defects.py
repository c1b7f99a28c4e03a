"""A defect of modgraph ends a command with status 2: 1 is a result, and passes the gates of CI."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = {
    "analyze": (["analyze", "--static", "net.py:Net", "--format", "json", "-o", "-"], "source.targets.parse_target"),
    "analyze-all": (["analyze", "--all", "--static", ".", "-o", "out"], "batch.running.analyze_tree"),
    "check": (["check", "--format", "sarif", "net.py"], "rules.paths.check_paths"),
    "check-shown": (["check", "--format", "gitlab", "net.py"], "export.findings.gitlab.render"),
    "check-written": (
        ["check", "--format", "json", "-o", "found.json", "net.py"],
        "export.findings.formats.render_findings",
    ),
    "check-settings": (["check", "--show-settings", "net.py"], "cli.check_settings.show"),
    "check-input": (["check", "-", "--format", "json"], "rules.paths.check_source"),
    "check-explain": (["check", "--explain", "ALL"], "rules.explain.page"),
    "diff": (["diff", "net.py:Net", "net.py:Net"], "cli.diff.run"),
    "render": (["render", "graph.json", "--format", "text"], "cli.render.run"),
}
RAISED = ["TypeError('x')", "RecursionError('deep')", "MemoryError()", "OverflowError('x')", "SystemExit(0)", "Mute()"]
SCRIPT = """
import importlib, sys
class Mute(Exception):
    def __str__(self):
        raise ValueError("no text")
def failing(*_, **__):
    raise {raised}
module, _, name = "modgraph.{function}".rpartition(".")
setattr(importlib.import_module(module), name, failing)
import modgraph.__main__
sys.argv[1:] = {argv!r}
sys.exit(modgraph.__main__.main())
"""


def ended(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """What a process of ours says and how it ends."""
    (folder / "net.py").write_text("from torch import nn\nclass Net(nn.Module):\n    pass\n")
    return subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        input="",
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_a_defect_is_no_result(tmp_path, command):
    argv, function = COMMANDS[command]
    for raised in RAISED if command in ("check", "diff") else RAISED[:1]:
        run = ended(tmp_path, SCRIPT.format(raised=raised, function=function, argv=argv))
        assert run.returncode == 2, (raised, run.stderr)
        assert run.stdout == ""
        assert run.stderr.startswith("error: "), run.stderr
        assert "Traceback" not in run.stderr
        assert ("defect of modgraph" in run.stderr) == (raised != "MemoryError()")
        assert not (tmp_path / "found.json").exists()


@pytest.mark.parametrize("argv", [["check", "--debug", "net.py"], ["check", "--", "net.py", "--debug"]])
def test_the_traceback_of_a_defect_is_shown_to_whom_asks_for_it(tmp_path, argv):
    script = SCRIPT.format(raised="TypeError('\\x1b[31m')", function="rules.paths.check_paths", argv=argv)
    run = ended(tmp_path, script)
    assert run.returncode == 2
    assert ("Traceback" in run.stderr) == ("--debug" in argv[:2])
    assert "\x1b" not in run.stderr


def test_a_modgraph_that_cannot_be_imported_gives_no_result(tmp_path):
    broken = "import sys\nsys.modules['modgraph.cli'] = None\nimport modgraph.__main__ as m\nsys.exit(m.main())"
    run = ended(tmp_path, broken)
    assert run.returncode == 2
    assert run.stderr.startswith("error: modgraph cannot be imported")
