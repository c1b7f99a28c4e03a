"""git as it is asked here: nothing is written into the repository, fetched, or asked of the person."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from modgraph.errors import TargetError


def environment() -> dict[str, str]:
    """What git is started with: the user's own settings, and that it must not ask, fetch, or lock the repository."""
    return {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}


def git(arguments: Sequence[str], cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """What git says.

    Raises:
        TargetError: git is not installed.
    """
    try:
        return subprocess.run(
            ["git", *arguments], cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, env=environment(), check=False
        )
    except FileNotFoundError as error:
        raise TargetError("a revision is read by git, which is not installed") from error


def words(run: subprocess.CompletedProcess[bytes]) -> str:
    """Its first line on standard error."""
    return run.stderr.decode("utf-8", "replace").strip().partition("\n")[0] or f"status {run.returncode}"
