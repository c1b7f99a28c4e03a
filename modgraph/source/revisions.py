"""`REV:target` of a git repository: the files of that revision in a folder of their own.

They are read from git's objects. Nothing is checked out into the user's tree, no filter or hook of the repository runs,
nothing is fetched, and nothing of the files is executed.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from modgraph.errors import TargetError
from modgraph.source.targets import shortened

TEXTS = (".py", ".pyi", ".json", ".toml", ".yaml", ".yml", ".cfg", ".ini", ".txt")
"""What a prediction may read, beside the file that was asked for."""
MOST_BYTES = 4 * 1024**2
"""Of a file that is not Python and that only a prediction may read; larger ones are left out."""

_REVISION_TARGET = re.compile(r"(?P<revision>[^:]+):(?P<target>.+)\Z", re.DOTALL)
_FILE = re.compile(r".+\.(?:[pP][yY](?::.*)?|json|onnx)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Revision:
    """A commit of the repository around the working directory, and what is wanted of it."""

    name: str
    """As the user wrote it: "HEAD~1"."""
    commit: str
    target: str
    """What stands behind the colon: "model.py:Net"."""
    top: Path
    """Directory of the repository's working tree."""


def parse_revision(text: str, *, cwd: Path | None = None) -> Revision | None:
    """The revision that `text` names; None where it is something else: a target of the working tree, or a file.

    A file that is there is that file, and what begins with a name in `.py` is a target. Else what stands before the
    first colon is a revision where git knows it, and a file, or two names with a colon, stand behind it. So `main:Net`
    is a class of the module `main`, whatever branches there are; the other is written `main:model.py:Net`.

    Raises:
        TargetError: only a revision can be meant, and there is none of that name, or no repository.
    """
    cwd = cwd or Path.cwd()
    match = _REVISION_TARGET.match(text)
    if match is None or match["revision"].lower().endswith(".py") or _is_file(cwd / text):
        return None
    target = match["target"]
    if not _FILE.match(target) and ":" not in target:
        return None
    if os.name == "nt" and len(match["revision"]) == 1 and target[:1] in "/\\":  # a drive
        return None
    return _found(match["revision"], target, cwd)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def require_revision(name: str) -> None:
    """Raises TargetError where `name` is no revision of the repository around the working directory."""
    _found(name, "", Path.cwd())


def _found(name: str, target: str, cwd: Path) -> Revision:
    if name.startswith("-"):
        raise TargetError(f"{shortened(name)!r} is no revision")
    top = _git(["rev-parse", "--show-toplevel"], cwd)
    if top.returncode != 0:
        raise TargetError(
            f"{shortened(name)!r} is a revision in no repository: git says {_words(top)!r}",
            hint="run it inside a git repository, or name files: model.py:Net, net.json",
        )
    commit = _git(["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"], cwd)
    if commit.returncode != 0:
        raise TargetError(
            f"{shortened(name)!r} is no revision of this repository",
            hint="`git branch --all` and `git log --oneline` list them; a shallow clone holds few",
        )
    folder = Path(os.fsdecode(top.stdout).rstrip("\n"))
    return Revision(name=name, commit=commit.stdout.decode().strip(), target=target, top=folder)


@contextlib.contextmanager
def files_of(revision: Revision, *, everything: bool = False, cwd: Path | None = None) -> Iterator[Checkout]:
    """The files of a revision, for as long as the context lasts.

    Args:
        everything: also what a prediction does not read, for a run.

    Raises:
        TargetError: git cannot read them.
    """
    cwd = (cwd or Path.cwd()).resolve()
    with tempfile.TemporaryDirectory(prefix="modgraph-", ignore_cleanup_errors=True) as name:
        root = Path(os.path.realpath(name))
        _write(revision, root, everything=everything)
        below = root / _below(cwd, revision.top)
        below.mkdir(parents=True, exist_ok=True)  # a run needs a working directory, also where the revision has none
        yield Checkout(root=root, cwd=below, top=revision.top)


@dataclass(frozen=True, slots=True)
class Checkout:
    """Files of a revision in a folder of their own."""

    root: Path
    cwd: Path
    """What the working directory was in it."""
    top: Path

    def search_path(self, path: Sequence[str] | None = None) -> list[str]:
        """Where imports are looked up: directories of the repository as they were in the revision."""
        found = [str(self.cwd)]
        for entry in path if path is not None else sys.path:
            place = Path(entry or ".").resolve()
            inside = place.is_relative_to(self.top.resolve()) and _is_own(place, self.top.resolve())
            moved = str(self.root / place.relative_to(self.top.resolve())) if inside else entry
            if entry and moved not in found:
                found.append(moved)
        return found


def _is_own(place: Path, top: Path) -> bool:
    """Whether a directory of the search path holds files of the repository, not a virtual environment in it."""
    parts = place.relative_to(top).parts
    return "site-packages" not in parts and "dist-packages" not in parts


def _below(path: Path, top: Path) -> Path:
    top = top.resolve()
    return path.relative_to(top) if path.is_relative_to(top) else Path()


# --- git -----------------------------------------------------------------------------------------------------------


def _environment() -> dict[str, str]:
    """git's own settings apart, nothing that would make it ask, fetch, or lock the repository."""
    return {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}


def _git(arguments: Sequence[str], cwd: Path, given: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    """What git says.

    Raises:
        TargetError: git is not installed.
    """
    try:
        return subprocess.run(
            ["git", *arguments], cwd=cwd, input=given, capture_output=True, env=_environment(), check=False
        )
    except FileNotFoundError as error:
        raise TargetError("a revision is read by git, which is not installed") from error


def _read(arguments: Sequence[str], revision: Revision, given: bytes | None = None) -> bytes:
    run = _git(arguments, revision.top, given)
    if run.returncode != 0:
        raise TargetError(f"git cannot read the files of {revision.name}: {_words(run)}")
    return run.stdout


def _words(run: subprocess.CompletedProcess[bytes]) -> str:
    return run.stderr.decode("utf-8", "replace").strip().partition("\n")[0] or f"status {run.returncode}"


def _write(revision: Revision, root: Path, *, everything: bool) -> None:
    """Put the wanted files below `root`."""
    listed = _read(["ls-tree", "-r", "-z", "-l", "--full-tree", revision.commit], revision)
    wanted: list[tuple[bytes, Path]] = []
    for line in listed.split(b"\0"):
        about, _, name = line.partition(b"\t")
        fields = about.split()
        if len(fields) != 4 or fields[1] != b"blob" or fields[0] == b"120000":
            continue  # a submodule, or a link, which might lead out of the folder
        path = os.fsdecode(name)
        if _is_safe(path) and (everything or path.endswith(revision.target) or _is_wanted(path, int(fields[3]))):
            wanted.append((fields[2], root / path))
    contents = _read(["cat-file", "--batch"], revision, b"".join(blob + b"\n" for blob, _ in wanted))
    _unpack(contents, [path for _, path in wanted])


def _is_safe(path: str) -> bool:
    parts = re.split(r"[/\\]" if os.name == "nt" else "/", path)
    return not os.path.isabs(path) and not {"..", ".git", ""} & set(parts)


def _is_wanted(path: str, size: int) -> bool:
    name = path.lower()
    return name.endswith(TEXTS[:2]) or (name.endswith(TEXTS) and size <= MOST_BYTES)


def _unpack(contents: bytes, paths: Sequence[Path]) -> None:
    """Files from what `git cat-file --batch` prints: a line "ID blob SIZE" before each, and a line end behind it."""
    at = 0
    for path in paths:
        end = contents.index(b"\n", at)
        fields = contents[at:end].split()
        at = end + 1
        if len(fields) != 3:  # "ID missing": a partial clone
            continue
        size = int(fields[2])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(contents[at : at + size])
        at += size + 1
