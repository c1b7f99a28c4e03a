"""Finds the files of a check and reads them: any encoding that Python accepts, any line ending."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from modgraph.doors.reading import leads_out

SUFFIXES = (".py", ".pyi")
NOTEBOOK = ".ipynb"
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
_GIT_SECONDS = 20.0
"""How long git may look for what it ignores; then nothing is."""


def is_excluded(path: str, patterns: Sequence[str]) -> bool:
    """A pattern fits the whole path, its end, or the name of a directory above: `tests`, `*/generated/*`, `a/b.py`."""
    if not patterns:
        return False
    path = path.replace(os.sep, "/")
    parts = path.split("/")
    above = ["/".join(parts[:n]) for n in range(1, len(parts) + 1)]
    for pattern in patterns:
        fitting = _fitting(pattern)
        for each in above if "/" in pattern.rstrip("/") else parts:
            if any(one.match(each) for one in fitting):
                return True
    return False


@lru_cache(maxsize=4_096)
def _fitting(pattern: str) -> tuple[re.Pattern[str], ...]:
    """What `fnmatch` makes of a pattern, which keeps few, and makes those of many patterns anew for each file."""
    from fnmatch import translate

    pattern = pattern.rstrip("/")
    if "/" not in pattern:
        return (re.compile(translate(pattern)),)
    whole = pattern.removeprefix("./").removeprefix("/")
    return re.compile(translate(whole)), re.compile(translate(f"*/{whole}"))


def lies_in_none_of_ours(path: str) -> bool:
    """A directory of the path is one that holds no code of the project's own."""
    return any(part in NEVER for part in path.replace(os.sep, "/").split("/")[:-1])


def python_files(folder: str, leading_out: list[str] | None = None) -> Iterator[str]:
    """Files of Python below a folder, and notebooks, in the order of their paths; what git ignores is left out where
    there is git.

    Links to folders are not followed, so that a loop of them ends; nor are links to files that are not there, or that
    lie outside of the folder: somebody else may have put them there, and what is read is shown.

    Args:
        leading_out: is given the latter.
    """
    wanted = (*SUFFIXES, NOTEBOOK)
    ignored = _ignored_by_git(folder)
    pending = [folder]
    while pending:
        here = pending.pop()
        below: list[str] = []
        for entry in _entries(here):
            path = entry.name if here == os.curdir else os.path.join(here, entry.name)
            if entry.name.endswith(wanted) and _is_file(entry):
                if os.path.normpath(path) in ignored:
                    continue
                if not (entry.is_symlink() and leads_out(path, folder)):
                    yield path
                elif leading_out is not None:
                    leading_out.append(path)
            elif entry.name not in NEVER and _is_folder(entry) and os.path.normpath(path) not in ignored:
                below.append(path)
        pending.extend(reversed(below))


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except OSError:  # vanished, or not ours to read
        return []


def _is_file(entry: os.DirEntry[str]) -> bool:
    """A file, and no pipe or device, which one could wait for for ever."""
    try:
        return entry.is_file()
    except OSError:
        return False


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


_GIT_SECONDS = 300
"""How long git may take; which files are checked must not depend on how busy the machine is."""


def _ignored_by_git(folder: str) -> frozenset[str]:
    """Paths below a folder that git ignores, whole directories as one; empty where there is no git repository."""
    if repository_of(os.path.abspath(folder)) is None:
        return frozenset()
    from modgraph.doors.git import GitLimitError, git
    from modgraph.errors import ModgraphError

    asked = ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"]
    try:
        told = git(asked, folder, seconds=_GIT_SECONDS)
    except GitLimitError as error:  # which files are checked must not hang on it
        raise GitLimitError(error.message, hint="name the files or folders that are wanted") from error
    except ModgraphError:
        return frozenset()
    names = os.fsdecode(told.stdout).split("\0") if told.status == 0 else []
    return frozenset(os.path.normpath(os.path.join(folder, name)) for name in names if name)


def repository_of(folder: str) -> str | None:
    """The folder, or the nearest above it, that has a `.git`; of an absolute path."""
    while True:
        if os.path.exists(os.path.join(folder, ".git")):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def decode(data: bytes) -> str:
    """The text of a Python file; line endings stay as they are.

    Raises:
        SyntaxError: the encoding that it declares does not exist or does not fit.
    """
    encoding = encoding_of(data)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        name = "utf-8" if encoding == "utf-8-sig" else encoding
        line = data.count(b"\n", 0, error.start) + 1
        raise SyntaxError(f"not {name}: byte {error.start} cannot be decoded", ("", line, 1, "")) from None
    except (LookupError, ValueError) as error:  # a codec that gives no text, such as rot13
        raise SyntaxError(f"encoding {encoding} cannot be used: {error}") from None


def encoding_of(data: bytes) -> str:
    """What a Python file says that it is encoded in; "utf-8-sig" for one that begins with a byte order mark.

    By bytes, as Python itself does it: `tokenize` refuses a line that declares another encoding and makes use of it.

    Raises:
        SyntaxError: no such encoding exists.
    """
    marked = data.startswith(b"\xef\xbb\xbf")
    end = data.find(b"\n", data.find(b"\n") + 1)
    if data.find(b"coding", 0, end if end >= 0 else len(data)) < 0:
        return "utf-8-sig" if marked else "utf-8"
    import codecs

    declared = _declared(data[3:] if marked else data)
    if declared is None:
        return "utf-8-sig" if marked else "utf-8"
    try:
        name = codecs.lookup(declared).name
    except (LookupError, ValueError):
        raise SyntaxError(f"unknown encoding: {declared}") from None
    if marked:
        if name != "utf-8":
            raise SyntaxError(f"encoding {declared}, and a byte order mark of utf-8")
        return "utf-8-sig"
    return name


def _declared(data: bytes) -> str | None:
    """Source: PEP 263: a comment in the first line, or in the second if there is no code in the first."""
    import re

    for line in re.split(rb"\r\n|\r|\n", data, maxsplit=2)[:2]:
        match = re.match(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", line)
        if match:
            return match[1].decode("ascii")
        if not re.match(rb"^[ \t\f]*(?:#|$)", line):
            return None
    return None


def lines_of(text: str) -> list[str]:
    """Its lines with their ends, where Python sees line ends: a form feed is none."""
    import io

    return io.StringIO(text, newline="").readlines()
