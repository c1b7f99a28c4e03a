"""Finds the files of a check and reads them: any encoding that Python accepts, any line ending."""

from __future__ import annotations

import fnmatch
import os
import subprocess
from collections.abc import Iterator, Sequence

SUFFIXES = (".py", ".pyi")
NEVER = frozenset(
    [
        ".bzr",
        ".direnv",
        ".eggs",
        ".git",
        ".hg",
        ".ipynb_checkpoints",
        ".mypy_cache",
        ".nox",
        ".pants.d",
        ".pytest_cache",
        ".pytype",
        ".ruff_cache",
        ".svn",
        ".tox",
        ".venv",
        "__pypackages__",
        "__pycache__",
        "_build",
        "buck-out",
        "build",
        "dist",
        "node_modules",
        "site-packages",
        "venv",
    ]
)
"""Directories that hold no code of the project's own; by name."""


def is_excluded(path: str, patterns: Sequence[str]) -> bool:
    """A pattern fits the whole path, its end, or the name of a directory above: `tests`, `*/generated/*`, `a/b.py`."""
    path = path.replace(os.sep, "/")
    parts = path.split("/")
    for pattern in patterns:
        pattern = pattern.rstrip("/")
        if "/" in pattern:
            whole = pattern.removeprefix("./")
            above = ["/".join(parts[:n]) for n in range(1, len(parts) + 1)]
            if any(fnmatch.fnmatchcase(each, whole) or fnmatch.fnmatchcase(each, f"*/{whole}") for each in above):
                return True
        elif any(fnmatch.fnmatchcase(part, pattern) for part in parts):
            return True
    return False


def python_files(folder: str) -> Iterator[str]:
    """Files of Python below a folder, in the order of their paths; what git ignores is left out where there is git.

    Links to folders are not followed, so that a loop of them ends.
    """
    ignored = _ignored_by_git(folder)
    pending = [folder]
    while pending:
        here = pending.pop()
        try:
            entries = sorted(os.scandir(here), key=lambda entry: entry.name)
        except OSError:  # vanished, or not ours to read
            continue
        below: list[str] = []
        for entry in entries:
            path = os.path.join(here, entry.name)
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in NEVER and os.path.normpath(path) not in ignored:
                    below.append(path)
            elif entry.name.endswith(SUFFIXES) and os.path.normpath(path) not in ignored:
                yield path
        pending.extend(reversed(below))


def _ignored_by_git(folder: str) -> frozenset[str]:
    """Paths below a folder that git ignores, whole directories as one; empty where there is no git repository."""
    if not _in_repository(os.path.abspath(folder)):
        return frozenset()
    command = ["git", "ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"]
    try:
        run = subprocess.run(command, cwd=folder, capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.SubprocessError):
        return frozenset()
    names = os.fsdecode(run.stdout).split("\0") if run.returncode == 0 else []
    return frozenset(os.path.normpath(os.path.join(folder, name)) for name in names if name)


def _in_repository(folder: str) -> bool:
    while True:
        if os.path.exists(os.path.join(folder, ".git")):
            return True
        above = os.path.dirname(folder)
        if above == folder:
            return False
        folder = above


def decode(data: bytes) -> str:
    """The text of a Python file; line endings stay as they are.

    Raises:
        SyntaxError: the encoding that it declares does not exist or does not fit.
    """
    if not data.startswith(b"\xef\xbb\xbf") and b"coding" not in data[:400]:
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise SyntaxError(f"not utf-8: byte {error.start} cannot be decoded") from None
    import io
    import tokenize

    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise SyntaxError(f"not {encoding}: byte {error.start} cannot be decoded") from None
