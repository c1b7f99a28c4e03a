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
from modgraph.doors.git import Conversation, conversation, git
from modgraph.errors import TargetError
from modgraph.source.revisions import Revision
from modgraph.source.source_roots import PROJECT_FILES, source_roots

TEXTS = (".py", ".pyi", ".json", ".toml", ".yaml", ".yml", ".cfg", ".ini", ".txt")
"""What a prediction may read, beside the file that was asked for."""
MOST_BYTES = 4 * 1024**2
"""Of a file that is not Python and that only a prediction may read; larger ones are left out."""
MOST_OF_ALL = 4 * 1024**3
"""Bytes of the files that are put into the folder, together."""
MOST_FILES = 200_000
"""Files that are put into it."""

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
        listed, links, left_out = _listed(revision)
        wanted = [each for each in listed if everything or each.path in asked_for or _is_wanted(each)]
        wanted = _not_too_large(wanted, left_out, everything=everything)
        _require_bounded(wanted, revision)
        left_out.update(dict.fromkeys(_write(wanted, root, revision), _NOT_CLONED))
        left_out.update(_link(links, root, revision))
        folder = root / below
        writing.make_folder(folder)  # a run needs a working directory, also where the revision has none
        projects = _projects(each.path for each in listed)
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


def _listed(revision: Revision) -> tuple[list[_Blob], list[_Blob], dict[str, str]]:
    """The files of a revision, and its links; and by path what is left out, with the reason."""
    tree = git(["ls-tree", "-r", "-z", "-l", "--full-tree", revision.commit], revision.top)
    if tree.status != 0:
        raise _unreadable(revision, tree.words)
    blobs: list[_Blob] = []
    links: list[_Blob] = []
    left_out: dict[str, str] = {}
    for line in tree.stdout.split(b"\0"):
        about, _, name = line.partition(b"\t")
        fields, path = about.split(), os.fsdecode(name)
        if len(fields) != 4 or not _is_safe(path):
            continue
        if fields[1] != b"blob":
            left_out[path] = _SUBMODULE
        elif not fields[3].isdigit():
            left_out[path] = _NOT_CLONED
        else:
            (links if fields[0] == b"120000" else blobs).append(_Blob(fields[2], path, int(fields[3])))
    left_out.update((each.path, _TOO_MANY) for each in links[MOST_LINKS:])
    return blobs, links[:MOST_LINKS], left_out


def _is_safe(path: str) -> bool:
    parts = re.split(r"[/\\]" if os.name == "nt" else "/", path.lower())
    return not os.path.isabs(path) and not {"..", ".git", ""} & set(parts)


def _is_wanted(blob: _Blob) -> bool:
    name = blob.path.lower()
    return name.endswith(TEXTS[:2]) or (name.endswith(TEXTS) and blob.size <= MOST_BYTES)


def _not_too_large(blobs: Sequence[_Blob], left_out: dict[str, str], *, everything: bool) -> list[_Blob]:
    """Those of a size that is read; a run may read what it likes."""
    kept: list[_Blob] = []
    for blob in blobs:
        most = MOST_OF_ALL if everything else _most(blob.path)
        if blob.size <= most:
            kept.append(blob)
        else:
            left_out[blob.path] = f"is larger than {reading.shown(most)} at that revision, and not read"
    return kept


def _most(path: str) -> int:
    name = path.lower()
    if name.endswith(".onnx"):
        return reading.ONNX_BYTES
    return reading.GRAPH_BYTES if name.endswith(".json") else reading.SOURCE_BYTES


def _require_bounded(blobs: Sequence[_Blob], revision: Revision) -> None:
    if len(blobs) > MOST_FILES:
        raise TargetError(f"{revision.name} has {len(blobs):,} files that would be read, more than {MOST_FILES:,}")
    if sum(blob.size for blob in blobs) > MOST_OF_ALL:
        raise TargetError(f"the files of {revision.name} together are larger than {reading.shown(MOST_OF_ALL)}")


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
