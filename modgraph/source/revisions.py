"""`REV:target` of a git repository: which commit is meant, and what of it. `checkouts.py` reads its files."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from modgraph.doors.git import git
from modgraph.errors import TargetError
from modgraph.source.kinds import is_saved_name
from modgraph.source.targets import file_in, shortened

_IN_BRACES = r"\{[^{}]*\}"
_REVISION_TARGET = re.compile(rf"(?P<revision>(?:{_IN_BRACES}|[^:{{]|\{{(?![^{{}}]*\}}))+):(?P<target>.+)\Z", re.DOTALL)
"""A colon in braces is one of a message or of a time: "HEAD^{/fix: it}", "main@{2026-01-31 10:00}"."""
_FILE = re.compile(r".+\.(?:py|ipynb)(?::.*)?\Z", re.DOTALL | re.IGNORECASE)
_COMMIT = re.compile(r"[0-9a-f]{40,}")


class NoRevisionError(TargetError):
    """git knows no such revision."""


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

    @property
    def file(self) -> str | None:
        """The file in `target`, as it is written; None where it names a module."""
        return self.target if is_saved(self.target) else file_in(self.target)

    @property
    def behind_file(self) -> str:
        """What stands in `target` behind the file: ":Net"."""
        return self.target[len(self.file or "") :]


def is_saved(text: str) -> bool:
    """Whether `text` names the file of a graph, not a target."""
    return is_saved_name(text)


def parse_revision(text: str, *, cwd: Path | None = None) -> Revision | None:
    """The revision that `text` names; None where it is something else: a target of the working tree, or a file.

    What begins with a name in `.py` is a target. Else what stands before the first colon outside of braces is a
    revision where git knows it, and a file, or two names with a colon, stand behind it. So `main:Net` is a class of the
    module `main`, whatever branches there are; the other is written `main:model.py:Net`. A file of all of that name is
    meant only where git knows no such revision: it may have been put there to be taken for one.

    Raises:
        TargetError: only a revision can be meant, and there is none of that name, or no repository; or both are there.
    """
    cwd = cwd or Path.cwd()
    match = _REVISION_TARGET.match(text)
    if match is None or match["revision"].lower().endswith(".py"):
        return None
    target = match["target"]
    if not _FILE.match(target) and not is_saved(target) and ":" not in target:
        return None
    if os.name == "nt" and len(match["revision"]) == 1 and target[:1] in "/\\":  # a drive
        return None
    if not _is_there(cwd / text):
        return _found(match["revision"], target, cwd)
    try:
        _found(match["revision"], target, cwd)
    except NoRevisionError:
        return None
    name = shortened(text)
    raise TargetError(
        f"{name!r} is a file here, and can be read as {target!r} at the revision {match['revision']!r} too",
        hint=f"the file is ./{name}; what it is at the revision is {match['revision']}^{{}}:{target}",
    )


def _is_there(path: Path) -> bool:
    try:
        return os.path.lexists(path)
    except ValueError:  # a name with a NUL in it
        return False


def the_revision(name: str, cwd: Path | None = None) -> Revision:
    """The revision of that name, in the repository around `cwd`, by default the working directory.

    Raises:
        TargetError: there is none, or no repository.
    """
    return _found(name, "", cwd or Path.cwd())


def _found(name: str, target: str, cwd: Path) -> Revision:
    top = git(["rev-parse", "--show-toplevel"], cwd)
    if top.status != 0:
        raise NoRevisionError(
            f"{shortened(name)!r} is a revision in no repository: git says {top.words!r}",
            hint="run it inside a git repository, or name files: model.py:Net, net.json",
        )
    folder = Path(os.fsdecode(top.stdout).rstrip("\n"))
    _require_around(folder, cwd)
    commit = git(["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"], cwd)
    found = commit.stdout.decode("ascii", "replace").strip()
    if commit.status != 0 or not _COMMIT.fullmatch(found):  # of "^HEAD", git says what is to be left out
        raise NoRevisionError(
            f"{shortened(name)!r} is no revision of this repository",
            hint="`git branch --all` and `git log --oneline` list them; a shallow clone holds few",
        )
    return Revision(name=name, commit=found, target=target, top=folder)


def _require_around(top: Path, cwd: Path) -> None:
    """Raises TargetError where the configuration of the repository says that its files lie elsewhere (`core.worktree`):
    they are others' then."""
    here, real = Path(os.path.realpath(cwd)), Path(os.path.realpath(top))
    if not here.is_relative_to(real) or not os.path.lexists(real / ".git"):
        raise TargetError(
            f"the repository around {cwd} says that its files lie in {top}, where no repository begins",
            hint="look at core.worktree: git config --show-origin --get core.worktree",
        )
