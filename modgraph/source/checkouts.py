"""The files of a revision in a folder of their own, and where imports are looked up there.

They are read from git's objects, one after the other. Nothing is checked out into the user's tree, no filter or hook of
the repository runs, nothing is fetched, and nothing of the files is executed.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from modgraph.doors import reading, temporary, writing
from modgraph.doors.borders import PROJECT_FILES
from modgraph.doors.git import OUTPUT_BYTES, Conversation, conversation, git, words_of
from modgraph.errors import TargetError
from modgraph.source.files import COMMANDS, DATA
from modgraph.source.revisions import Revision
from modgraph.source.source_roots import source_roots

SOURCES = (".py", ".pyi", ".toml", ".cfg")
"""What a prediction may read, beside the file that was asked for: sources and configuration. No source has it read
anything else."""
SAYING = (*DATA, *map(str.lower, COMMANDS))
"""Files that may say what a model is given: configurations that name it, and commands that start its scripts."""
MOST_OF_SAYING = 200_000
"""Bytes of one of these; larger ones are data."""
MOST_BYTES = 4 * 1024**2
"""Of a file that is not Python and that only a prediction may read; larger ones are left out."""
MOST_OF_ALL = 512 * 1024**2
"""Bytes of the files that are put into the folder for a prediction, together."""
MOST_OF_A_RUN = 4 * 1024**3
"""The same for a run, which executes them."""
MOST_FILES = 100_000
"""Files that are put into it, with those that are known to be left out."""
MOST_DEEP = 100
"""Folders within each other, as a check goes."""
MOST_OF_A_PATH = 2_000
"""Bytes of a path; what systems take ends at twice as many, with the folder around it."""
MOST_OF_A_NAME = 255
"""Bytes of one name in it, on every usual file system."""

MOST_LINKS = 10_000
"""Links of a revision that are followed."""
MOST_STEPS = 40
"""Links on the way to where one leads; more are a circle, as for the system."""

_CHUNK = 1024**2
_LINK_BYTES = 4096
_LINK = "is a link that is not followed:"
_OUTSIDE = f"{_LINK} it leads out of the repository"
_CIRCLE = f"{_LINK} it leads in a circle"
_NOWHERE = f"{_LINK} what it leads to is not there, or not read, at that revision"
_TOO_MANY = f"{_LINK} there are more than {MOST_LINKS:,} at that revision"
_SUBMODULE = "is a submodule, and those of a revision are left out"
_TOO_DEEP = f"lies more than {MOST_DEEP} folders deep at that revision, and is not read"
_TOO_LONG = "has a path too long to be written here, and is not read at that revision"
_NOT_CLONED = "is not in this clone, which is a partial one: `git fetch --refetch` brings all"


@dataclass(frozen=True, slots=True)
class Checkout:
    """Files of a revision in a folder of their own; or the working tree, for what is to be read in the same way."""

    root: Path
    cwd: Path
    """What the working directory was in it."""
    top: Path
    """Directory of the repository's working tree."""
    projects: tuple[str, ...] = ()
    """Folders of projects, relative to `root`."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Paths relative to `root` that the revision has and the folder has not, and what they are."""

    def search_path(self, path: Sequence[str] | None = None) -> list[str]:
        """Where imports are looked up: first in the repository, as it was in the revision, then elsewhere."""
        own, foreign = [str(self.cwd)], []
        for entry in path if path is not None else sys.path:
            place = Path(os.path.realpath(entry))
            if entry and place.is_relative_to(self.top) and _is_own(place, self.top):
                own.append(str(self.root / place.relative_to(self.top)))
            elif _is_pythons(place):
                own.append(entry)
            elif entry:
                foreign.append(entry)
        below = _posix(os.path.relpath(self.cwd, self.root))
        roots = source_roots(self.root, "" if below == "." else below, self.projects, foreign)
        return list(dict.fromkeys([*own, *roots, *foreign]))

    def place_of(self, file: str, behind: str = "") -> str:
        """A file, written from the working directory or else from the top of the repository, as it is written from the
        top; whether or not there is one.

        Args:
            behind: what stands behind the file in the target, for a help: ":Net".

        Raises:
            TargetError: it lies outside of the repository, or is left out.
        """
        places = self._places(file)
        if not places:
            raise TargetError(
                f"{file} lies outside of the repository", hint="a revision holds the files of its repository alone"
            )
        for place in places:
            if os.path.isfile(self.root / place):
                return place
            for each in (place, *map(str, PurePosixPath(place).parents)):
                if each in self.left_out:
                    raise TargetError(f"{each} {self.left_out[each]}", hint=self._instead(each, place, behind))
        return places[0]

    def _instead(self, left_out: str, place: str, behind: str) -> str | None:
        """The same command within a submodule, which has revisions of its own."""
        if self.left_out[left_out] != _SUBMODULE:
            return None
        folder = shlex.quote(os.path.relpath(self.top / left_out))
        inner = os.path.relpath(place, left_out) + behind
        both = f"{shlex.quote(f'HEAD:{inner}')} {shlex.quote(inner)}"
        return f"compare it in there: cd {folder} && modgraph diff {both}"

    def place_in(self, file: str) -> str | None:
        """The same; None where there can be none."""
        places = self._places(file)
        return places[0] if places else None

    def _places(self, file: str) -> list[str]:
        return _places(file, os.path.relpath(self.cwd, self.root), self.top)


@contextlib.contextmanager
def files_of(revision: Revision, *, everything: bool = False, cwd: Path | None = None) -> Iterator[Checkout]:
    """The files of a revision, for as long as the context lasts.

    Args:
        everything: also what a prediction does not read, for a run.
        cwd: the working directory.

    Raises:
        TargetError: git cannot read them.
    """
    below = _below(cwd, revision.top)
    asked_for = _places(revision.file, below, revision.top) if revision.file is not None else []
    with temporary.folder() as name:
        root = Path(os.path.realpath(name))
        listing = _Listing(revision, frozenset(asked_for), everything)
        listing.read()
        left_out = listing.left_out
        left_out.update(dict.fromkeys(_write(listing.blobs, root, revision), _NOT_CLONED))
        left_out.update(_link(listing.links, root, revision))
        folder = root / below
        writing.make_folder(folder)  # a run needs a working directory, also where the revision has none
        projects = _projects(each.path for each in listing.blobs)
        yield Checkout(root, folder, Path(os.path.realpath(revision.top)), projects, left_out)


def working_tree(revision: Revision, *, cwd: Path | None = None) -> Checkout:
    """The files that are there now, of the repository of a revision."""
    top = Path(os.path.realpath(revision.top))
    names = git(["ls-files", "-z", "--", *(f":(top,glob)**/{name}" for name in PROJECT_FILES)], revision.top).stdout
    projects = _projects(os.fsdecode(name) for name in names.split(b"\0"))
    return Checkout(top, top / _below(cwd, revision.top), top, projects)


# --- Places --------------------------------------------------------------------------------------------------------


def _places(file: str, below: str, top: Path) -> list[str]:
    """Where a file may be, relative to the top; none of them leads out of the repository."""
    top = Path(os.path.realpath(top))
    if os.path.isabs(file):
        folder, name = os.path.split(os.path.normpath(file))
        found = [os.path.relpath(each, top) for each in (os.path.join(os.path.realpath(folder), name), file)]
    else:
        found = [os.path.normpath(os.path.join(below, file)), os.path.normpath(file)]
    inside = (place for place in found if not os.path.isabs(place) and place.split(os.sep)[0] != os.pardir)
    return list(dict.fromkeys(map(_posix, inside)))


def _posix(path: str) -> str:
    return path.replace(os.sep, "/")


def _below(cwd: Path | None, top: Path) -> str:
    here, top = Path(os.path.realpath(cwd or Path.cwd())), Path(os.path.realpath(top))
    return str(here.relative_to(top)) if here.is_relative_to(top) else "."


def _is_own(place: Path, top: Path) -> bool:
    """Whether a directory of the search path holds files of the repository, not a virtual environment in it."""
    parts = place.relative_to(top).parts
    return "site-packages" not in parts and "dist-packages" not in parts


def _is_pythons(place: Path) -> bool:
    """Whether it holds the standard library, which modules of the repository do not stand in front of."""
    library = Path(os.path.realpath(os.__file__)).parent
    return place in (library, library / "lib-dynload") or (place.suffix == ".zip" and place.parent == library.parent)


def _projects(paths: Iterable[str]) -> tuple[str, ...]:
    split = (path.rpartition("/") for path in paths)
    return tuple(sorted({folder for folder, _, name in split if name in PROJECT_FILES}))


# --- git -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Blob:
    """A file of a revision."""

    id: bytes
    path: str
    size: int


@dataclass(slots=True)
class _Listing:
    """What a revision has, as git tells it: of millions of paths only what is read is held."""

    revision: Revision
    asked_for: frozenset[str]
    everything: bool
    blobs: list[_Blob] = field(default_factory=list)
    """The files that are read."""
    links: list[_Blob] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    """Paths that are not read, and why."""
    _bytes: int = 0

    def read(self) -> None:
        """Ask git.

        Raises:
            TargetError: it cannot tell, or there is too much.
        """
        with conversation(["ls-tree", "-r", "-z", "-l", "--full-tree", self.revision.commit], self.revision.top) as git:
            git.ask_no_more()
            rest, told = b"", 0
            while data := git.read(_CHUNK):
                told += len(data)
                if told > OUTPUT_BYTES:
                    raise self._too_much(f"has a list of files of more than {reading.shown(OUTPUT_BYTES)}")
                *lines, rest = (rest + data).split(b"\0")
                if len(rest) > _CHUNK:
                    raise _unreadable(self.revision, "it has a path without an end")
                for line in lines:
                    self._take(line)
            if git.end() != 0:
                raise _unreadable(self.revision, words_of(git.said()))

    def _take(self, line: bytes) -> None:
        about, _, name = line.partition(b"\t")
        fields, path = about.split(), os.fsdecode(name)
        if len(fields) != 4 or not _is_safe(path):
            return
        is_link = fields[0] == b"120000"
        if fields[1] != b"blob":
            self.left_out[path] = _SUBMODULE
        elif not fields[3].isdigit():
            self.left_out[path] = _NOT_CLONED
        elif is_link and len(self.links) >= MOST_LINKS:
            self.left_out[path] = _TOO_MANY
        else:
            blob = _Blob(fields[2], path, int(fields[3]))
            if not (is_link or self.everything or path in self.asked_for or _is_wanted(blob)):
                return
            reason = self._reason(blob, name)
            if reason is not None:
                self.left_out[path] = reason
            elif is_link:
                self.links.append(blob)
            else:
                self.blobs.append(blob)
                self._bytes += blob.size
        self._require_bounded()

    def _reason(self, blob: _Blob, name: bytes) -> str | None:
        """Why a file is not read; a run may read what it likes."""
        parts = name.split(b"/")
        if len(parts) > MOST_DEEP + 1:
            return _TOO_DEEP
        if len(name) > MOST_OF_A_PATH or max(map(len, parts)) > MOST_OF_A_NAME:
            return _TOO_LONG
        most = MOST_OF_A_RUN if self.everything else _most(blob.path)
        if blob.size > most:
            return f"is larger than {reading.shown(most)} at that revision, and not read"
        return None

    def _require_bounded(self) -> None:
        if len(self.blobs) + len(self.links) + len(self.left_out) > MOST_FILES:
            raise self._too_much(f"has too many files that would be read, more than {MOST_FILES:,}")
        most = MOST_OF_A_RUN if self.everything else MOST_OF_ALL
        if self._bytes > most:
            raise self._too_much(f"has files that together are larger than {reading.shown(most)}")

    def _too_much(self, what: str) -> TargetError:
        return TargetError(
            f"{self.revision.name} {what}",
            hint="check it out by `git worktree add`, and compare files: modgraph diff OLD/model.py:Net model.py:Net",
        )


def _is_safe(path: str) -> bool:
    parts = re.split(r"[/\\]" if os.name == "nt" else "/", path.lower())
    return not os.path.isabs(path) and not {"..", ".git", ""} & set(parts)


def _is_wanted(blob: _Blob) -> bool:
    name = blob.path.lower()
    if name.endswith(SOURCES[:2]):
        return True
    return blob.size <= (MOST_BYTES if name.endswith(SOURCES) else MOST_OF_SAYING if name.endswith(SAYING) else -1)


def _most(path: str) -> int:
    name = path.lower()
    if name.endswith(".onnx"):
        return reading.ONNX_BYTES
    return reading.GRAPH_BYTES if name.endswith(".json") else reading.SOURCE_BYTES


def _write(blobs: Sequence[_Blob], root: Path, revision: Revision) -> list[str]:
    """Put files below `root`, one after the other; the paths of those that the clone does not hold."""
    missing: list[str] = []
    with conversation(["cat-file", "--batch"], revision.top) as talk:
        for blob in blobs:
            size = _asked(talk, blob.id)
            if size is None:
                raise _unreadable(
                    revision, talk.said().decode("utf-8", "replace").partition("\n")[0].strip() or "git ended"
                )
            if size < 0:
                missing.append(blob.path)
                continue
            if size != blob.size:
                raise _unreadable(revision, f"{blob.path} is not of the size that its tree says")
            try:
                writing.put_new(root / blob.path, _pieces(talk, size), below=root)
            except OSError as error:
                raise _unreadable(revision, f"{blob.path}: {error.strerror}") from error
            if not talk.line():
                raise _unreadable(revision, f"git ended within {blob.path}")
    return missing


def _link(links: Sequence[_Blob], root: Path, revision: Revision) -> dict[str, str]:
    """Make the links that lead to something of the revision that is read, when all of it is there; the others, and
    why they are not followed."""
    targets: dict[str, str] = {}
    refused: dict[str, str] = {}
    if links:
        with conversation(["cat-file", "--batch"], revision.top) as talk:
            for blob in links:
                size = _asked(talk, blob.id)
                if size is None:
                    raise _unreadable(revision, "git ended")
                if size < 0:
                    refused[blob.path] = _NOT_CLONED
                    continue
                text = b"".join(piece[: _LINK_BYTES + 1] for piece in _pieces(talk, size))
                talk.line()
                targets[blob.path] = os.fsdecode(text)
    for path in targets:
        leads = _leads_to(path, targets)
        if leads in (_OUTSIDE, _CIRCLE):
            refused[path] = leads
            continue
        try:
            is_made = writing.put_link(root / path, leads, below=root)
        except (OSError, ValueError):  # a system without links, or a name that it does not take
            is_made = False
        if not is_made:
            refused[path] = _NOWHERE
    return refused


def _leads_to(path: str, targets: Mapping[str, str]) -> str:
    """Where a path of the tree leads when the links on the way are followed, written from the top; or why nowhere."""
    pending, steps = path.split("/")[::-1], 0
    here: list[str] = []
    while pending:
        part = pending.pop()
        if part in ("", "."):
            continue
        if part == "..":
            if not here:
                return _OUTSIDE
            here.pop()
            continue
        target = targets.get("/".join([*here, part]))
        if target is None:
            here.append(part)
            continue
        steps += 1
        if steps > MOST_STEPS or len(target) > _LINK_BYTES:
            return _CIRCLE
        if os.path.isabs(target) or "\\" in target:
            return _OUTSIDE
        pending += target.split("/")[::-1]
    leads = "/".join(here)
    if not leads:
        return _CIRCLE
    return leads if _is_safe(leads) else _OUTSIDE


def _asked(talk: Conversation, blob: bytes) -> int | None:
    """Bytes of a blob that follow: git says "ID blob SIZE"; -1 of "ID missing", None where git has ended."""
    if not talk.ask(blob):
        return None
    fields = talk.line().split()
    if len(fields) == 3:
        return int(fields[2])
    return -1 if fields else None


def _pieces(talk: Conversation, size: int) -> Iterator[bytes]:
    while size > 0 and (data := talk.read(min(size, _CHUNK))):
        yield data
        size -= len(data)


def _unreadable(revision: Revision, why: str) -> TargetError:
    return TargetError(f"git cannot read the files of {revision.name}: {why}")
