"""What git ignores of a folder; also where a repository is made so that git would wait for ever.

git opens whatever lies where it looks for a file, and waits for a pipe that nobody writes to. What it would open is
looked at first; what is overlooked ends at a limit. Either way nothing counts as ignored then, and that is said.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING

from modgraph.doors.reading import lies_in, read

if TYPE_CHECKING:
    from modgraph.errors import ModgraphError

GIT_SECONDS = 30.0
"""How long git may look for what it ignores: a last resort, as that is a second's work in a large repository."""
_MOST_FOLDERS = 5_000
"""In so many it is looked for a `.gitignore` that is a pipe."""
_MOST_FILES = 20
"""Of configuration, which may include others."""
_CONFIG_BYTES = 1 << 20
_INSIDE = ("", "info", "objects/info", "objects/pack")
"""Below the folder of git: where it opens files."""
_NAMES_FILES = re.compile(rb"include|excludesfile", re.IGNORECASE)
_KEYS = r"^(include\.path|includeif\..*\.path|core\.excludesfile)$"


def ignored_by_git(folder: str, top: str, passed_over: frozenset[str]) -> tuple[frozenset[str], ModgraphError | None]:
    """Paths below a folder that git ignores, whole directories as one; and why none is known, where it is not asked.

    Args:
        top: the folder of the repository.
        passed_over: names of directories that are looked into by nobody.
    """
    from modgraph.doors.git import DistrustError, GitLimitError, git
    from modgraph.errors import ModgraphError, ResourceError, TargetError

    asked = ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"]
    try:
        pipe = next(_pipes(folder, top, passed_over), None)
        if pipe is not None:
            what = f"{os.path.relpath(pipe, top)} is a pipe or a device, for which git would wait"
            return frozenset(), TargetError(what)
        told = git(asked, folder, seconds=GIT_SECONDS)
    except (GitLimitError, ResourceError, DistrustError) as error:
        return frozenset(), error
    except ModgraphError:
        return frozenset(), None
    names = os.fsdecode(told.stdout).split("\0") if told.status == 0 else []
    return frozenset(os.path.normpath(os.path.join(folder, name)) for name in names if name), None


def _pipes(folder: str, top: str, passed_over: frozenset[str]) -> Iterator[str]:
    """What git would open that is no file."""
    for place in _git_folders(top):
        yield from _pipes_of(place)
        pending, seen = [os.path.join(place, "config"), os.path.join(place, "config.worktree")], set[str]()
        while pending and len(seen) < _MOST_FILES:
            file = os.path.realpath(pending.pop())
            if file not in seen and os.path.isfile(file):
                seen.add(file)
                for key, named in _named_in(file):
                    path = os.path.join(top if key.startswith("core") else os.path.dirname(file), named)
                    if _waits(path):
                        yield path
                    elif not key.startswith("core") and (lies_in(path, top) or lies_in(path, place)):
                        pending.append(path)
    here, real_top = os.path.realpath(folder), os.path.realpath(top)
    while here != real_top and lies_in(here, real_top):
        here = os.path.dirname(here)
        yield from filter(_waits, [os.path.join(here, ".gitignore")])
    yield from _pipes_below(folder, passed_over)


def _pipes_below(folder: str, passed_over: frozenset[str]) -> Iterator[str]:
    pending = [folder]
    for _ in range(_MOST_FOLDERS):
        if not pending:
            return
        try:
            with os.scandir(pending.pop(0)) as entries:
                for entry in entries:
                    if entry.name == ".gitignore" and _waits(entry.path):
                        yield entry.path
                    elif entry.name == ".git":
                        yield from _pipes_of(entry.path)
                    elif entry.is_dir(follow_symlinks=False) and entry.name not in passed_over:
                        pending.append(entry.path)
        except OSError:
            continue


def _git_folders(top: str) -> list[str]:
    """The folder of git, and the one that it shares with other working trees: what `.git` says, where it is a file."""
    place = os.path.join(top, ".git")
    found = [place] if os.path.isdir(place) else _said(place, b"gitdir:", top)
    return found + [each for one in found for each in _said(os.path.join(one, "commondir"), b"", one)]


def _said(file: str, beginning: bytes, base: str) -> list[str]:
    try:
        text = read(file, _CONFIG_BYTES)
    except OSError:
        return []
    said = text.removeprefix(beginning).strip()
    return [os.path.join(base, os.fsdecode(said))] if text.startswith(beginning) and b"\0" not in said else []


def _pipes_of(place: str) -> Iterator[str]:
    for inside in _INSIDE:
        try:
            names = os.listdir(os.path.join(place, inside))
        except OSError:
            continue
        yield from filter(_waits, (os.path.join(place, inside, name) for name in names))


def _named_in(file: str) -> list[tuple[str, str]]:
    """Key and value of what a configuration says of other files; read by git, outside of the repository."""
    from modgraph.doors.git import git

    try:
        if not _NAMES_FILES.search(read(file, _CONFIG_BYTES)):
            return []
    except OSError:
        return []
    asked = ["config", "--file", file, "--no-includes", "--null", "--get-regexp", _KEYS]
    told = git(asked, os.path.splitdrive(file)[0] + os.sep, seconds=GIT_SECONDS)
    pairs = (entry.partition("\n")[::2] for entry in os.fsdecode(told.stdout).split("\0") if entry)
    return [(key.lower(), os.path.expanduser(value)) for key, value in pairs]


def _waits(path: str) -> bool:
    """Whether who opens it may wait; not the null device, nor a socket, which cannot be opened."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    is_special = stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode)
    return is_special and os.path.realpath(path) != os.devnull
