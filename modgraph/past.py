"""One target at many revisions: its graph at each, predicted from git's objects. Nothing is checked out or executed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from modgraph.diffing import Found, GraphFinder
from modgraph.errors import MissingFileError, ModgraphError
from modgraph.source.history import literal, renamed_between
from modgraph.source.revisions import Revision

MOST_READ = 400
"""Revisions that one command reads."""
_MOST_FILES = 2_000
"""Files by whose names git is asked; a target that reads more is asked for by all sources."""


class TooManyRevisionsError(ModgraphError):
    """As many revisions were read as one command reads."""


class Past:
    """The revisions of one target, each read once.

    Args:
        target: as of `modgraph diff`, without a revision: "model.py:Net", "package.module:Net".
        newest: the revision from which files are followed back where git takes them for renamed ones.
        cwd: the working directory.
        most: revisions that are read at most.
    """

    def __init__(self, target: str, newest: Revision, *, cwd: Path | None = None, most: int = MOST_READ) -> None:
        self.target, self.newest, self.most = target, newest, most
        self.top = newest.top
        self._cwd = cwd
        self._known: dict[str, Found | ModgraphError] = {}
        self._files: dict[str, frozenset[str]] = {}
        self._renamed: dict[str, Mapping[str, str]] = {}
        self._names: dict[str, str] = {}

    @property
    def n_read(self) -> int:
        """Revisions that were read."""
        return len(self._known)

    def at(self, commit: str) -> Found | ModgraphError:
        """The model at a commit, by its id; or why there is none.

        Raises:
            TooManyRevisionsError: too many were read.
        """
        if commit not in self._known:
            if len(self._known) >= self.most:
                raise TooManyRevisionsError(
                    f"as many revisions as one command reads ({self.most:,}) do not tell it",
                    hint="name a shorter range",
                )
            try:
                self._known[commit] = self._found(commit, self.target)
            except MissingFileError as error:
                self._known[commit] = self._under_another_name(commit) or error
            except ModgraphError as error:
                self._known[commit] = error
        return self._known[commit]

    def forget(self, commit: str) -> None:
        """The graph at a commit is asked for no more; that it was read stays counted."""
        self._known[commit] = ModgraphError("it was read before")

    def name_at(self, commit: str) -> str:
        """The target as it is written at a commit: of a file that was renamed since, by the name that it had."""
        self.at(commit)
        return self._names.get(commit, self.target)

    def files(self, commit: str) -> frozenset[str]:
        """Paths from the top of the source files that decide what the model is at a commit; none where that is not
        known."""
        self.at(commit)
        return self._files.get(commit, frozenset())

    def pathspecs(self, commits: Sequence[str]) -> tuple[str, ...] | None:
        """What git is asked by for commits that touch what the model reads at some; None where that is not known."""
        each = [self.files(commit) for commit in commits]
        names = frozenset().union(*each)
        if not all(each) or len(names) > _MOST_FILES:
            return None
        return tuple(map(literal, sorted(names)))

    def _found(self, commit: str, target: str) -> Found:
        from modgraph.source.checkouts import files_of

        revision = replace(self.newest, name=commit[:12], commit=commit, target=target)
        finder = GraphFinder(forward=False)  # of its own: no revision takes of the work that another may take
        with files_of(revision, cwd=self._cwd) as files:
            found = finder.found_at(revision, files)
            read = {Path(os.path.realpath(each)) for each in finder.files_read}
            root = Path(os.path.realpath(files.root))
            own = {each.relative_to(root).as_posix() for each in read if each.is_relative_to(root)}
            # What gives a class its arguments is looked for in files that are not told here.
            self._files[commit] = frozenset() if found.graph.model.arguments_from is not None else frozenset(own)
        return found

    def _under_another_name(self, commit: str) -> Found | None:
        """The model in the file that the target's file was at a commit."""
        file = replace(self.newest, target=self.target).file
        if file is None:
            return None
        if commit not in self._renamed:
            self._renamed[commit] = renamed_between(self.top, commit, self.newest.commit)
        cwd, top = os.path.realpath(self._cwd or Path.cwd()), os.path.realpath(self.top)
        for place in (os.path.relpath(os.path.join(cwd, file), top), os.path.normpath(file)):
            before = self._renamed[commit].get(place.replace(os.sep, "/"))
            if before is not None:
                written = os.path.relpath(os.path.join(top, before), cwd).replace(os.sep, "/")
                name = written + self.target[len(file) :]
                try:
                    found = self._found(commit, name)
                except ModgraphError:
                    return None
                self._names[commit] = name
                return found
        return None
