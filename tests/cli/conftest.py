"""Runs the command line as a user does: in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run_modgraph(
    *arguments: str,
    cwd: Path,
    environment: dict[str, str] | None = None,
    binary: bool = False,
    stdin: str | None = None,
) -> subprocess.CompletedProcess:
    """`python -m modgraph ARGUMENTS` in `cwd`."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return subprocess.run(
        [sys.executable, "-m", "modgraph", *arguments],
        cwd=cwd,
        capture_output=True,
        input=stdin,
        text=not binary,
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "100", "OMP_NUM_THREADS": "1", **(environment or {})},
        timeout=180,
        check=False,
    )


@pytest.fixture
def modgraph(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess]:
    """The command, by default in an empty folder."""

    def run(*arguments: str, cwd: Path = tmp_path, **options: object) -> subprocess.CompletedProcess:
        return run_modgraph(*arguments, cwd=cwd, **options)  # type: ignore[arg-type]

    return run
