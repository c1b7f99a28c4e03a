"""The commits of a repository that touched certain files, as git tells them: nothing is checked out."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from modgraph.doors.git import git
from modgraph.errors import TargetError

MOST_COMMITS = 20_000
"""Of one range that are listed."""
SOURCES = (":(top,glob)**/*.py", ":(top,glob)**/pyproject.toml", ":(top,glob)**/setup.cfg")
"""What a prediction reads before anything else."""
_BYTES = 64 * 1024**2
_SHOWN = 12
_STARTS = re.compile(rb"\n?\x01([0-9a-f]{40,64})")
_STATUS = re.compile(rb"\n?([A-Z])\d*")


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit."""

    id: str
    parents: tuple[str, ...] = ()
    date: str = ""
    """Of the author: "2026-01-31T10:00:00+01:00"."""
    subject: str = ""
    files: tuple[tuple[str, str], ...] = ()
    """Letter of git ("M", "A", "D") and path, of what it changes of its first parent; () where nobody asked."""

    @property
    def short(self) -> str:
        """As it is shown."""
        return self.id[:_SHOWN]

    @property
    def day(self) -> str:
        """The date without the time."""
        return self.date[:10]


def commits_between(
    top: Path,
    good: str | None,
    bad: str,
    paths: Sequence[str] = SOURCES,
    *,
    most: int = MOST_COMMITS,
    with_files: bool = False,
) -> tuple[list[Commit], bool]:
    """The commits from `good`, which is not one of them, to `bad` along first parents, the oldest first; and whether
    there are more than `most`, older ones.

    Args:
        good, bad: ids of commits; None for the whole history.
        paths: pathspecs; () for all.
        with_files: which of these files each of them changes is told too.

    Raises:
        TargetError: git cannot tell them.
    """
    arguments = ["log", "-z", "--first-parent", "--diff-merges=first-parent", "--no-renames"]
    arguments += ["--no-ext-diff", "--no-textconv", "--no-color", "--no-decorate", "--no-notes", "--no-mailmap"]
    arguments += ["--name-status" if with_files else "--no-patch"]
    arguments += ["--encoding=UTF-8", f"--max-count={most + 1}", "--format=%x01%H%x00%P%x00%aI%x00%s%x00"]
    arguments += ["--end-of-options", bad, *([] if good is None else [f"^{good}"]), "--", *paths]
    answer = git(arguments, top, most=_BYTES)
    if answer.status != 0:
        raise TargetError(f"git cannot tell the history: {answer.words}")
    found = list(_parsed(answer.stdout.split(b"\0")))
    return found[:most][::-1], len(found) > most


def _parsed(words: list[bytes]) -> Iterator[Commit]:
    at, count = 0, len(words)
    while at < count:
        start = _STARTS.fullmatch(words[at])
        if start is None or at + 3 >= count:
            at += 1
            continue
        about = [word.decode("utf-8", "replace") for word in words[at + 1 : at + 4]]
        at += 4
        files: list[tuple[str, str]] = []
        while at < count and _STARTS.fullmatch(words[at]) is None:
            status = _STATUS.fullmatch(words[at])
            if status is not None and at + 1 < count:
                files.append((status[1].decode(), os.fsdecode(words[at + 1])))
                at += 1
            at += 1
        yield Commit(start[1].decode(), tuple(about[0].split()), about[1], about[2], tuple(files))


def is_ancestor(top: Path, old: str, new: str) -> bool:
    """Whether one commit, by its id, is part of the history of another."""
    return git(["merge-base", "--is-ancestor", old, new], top).status == 0


def merge_base(top: Path, one: str, other: str) -> str | None:
    """The commit that two, by their ids, both come from; None where there is none."""
    answer = git(["merge-base", one, other], top)
    found = answer.stdout.decode("ascii", "replace").strip()
    return found if answer.status == 0 and re.fullmatch(r"[0-9a-f]{40,64}", found) else None


def renamed_between(top: Path, old: str, new: str) -> dict[str, str]:
    """Paths of files at the commit `new` and at `old`, where git takes them for the same file."""
    arguments = ["diff-tree", "-r", "-z", "--no-ext-diff", "--no-textconv", "--find-renames", "--diff-filter=R"]
    arguments += ["--name-status", "--end-of-options", old, new]
    fields = [os.fsdecode(each) for each in git(arguments, top).stdout.split(b"\0")]
    return dict(zip(fields[2::3], fields[1::3], strict=False))


def literal(path: str) -> str:
    """A pathspec that means this path alone, from the top, whatever letters are in it."""
    return f":(top,literal){path}"
