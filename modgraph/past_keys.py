"""The keys of one target's state dict along the history of its repository."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from modgraph.diffing import Found, compared
from modgraph.errors import MissingFileError, ModgraphError, UnknownNameError
from modgraph.graph.state_dict import state_dict_of
from modgraph.past import Past
from modgraph.source.history import Commit, commits_between

if TYPE_CHECKING:
    from modgraph.changes.model import Changes
    from modgraph.source.revisions import Revision


@dataclass(frozen=True, slots=True)
class KeyStep:
    """A commit at which keys changed."""

    commit: Commit
    n_keys: int
    """Behind it."""
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    reshaped: tuple[str, ...] = ()
    """Of another shape, or old keys of what is joined, split or transposed."""
    undecided: bool = False
    """Whether further keys are left open on one side."""


@dataclass(slots=True)
class KeyHistory:
    """All such commits, the oldest first."""

    steps: list[KeyStep] = field(default_factory=list)
    unknown: dict[str, str] = field(default_factory=dict)
    """By commit, why its model is not known: what changed there is told of the next one at which it is."""
    why: str = ""
    """Why it is not known at the last revision at which it is not."""
    n_known: int = 0
    n_read: int = 0
    n_commits: int = 0
    cut: bool = False
    """Whether there are older commits."""


def follow(target: str, newest: Revision, since: Revision | None, *, most: int) -> KeyHistory:
    """The commits up to `newest` along first parents at which the keys changed, behind `since`.

    Args:
        most: commits that are looked at, the newest ones.

    Raises:
        TargetError: git cannot tell the history.
    """
    begin = None if since is None else since.commit
    chain, cut = commits_between(newest.top, begin, newest.commit, most=most, with_files=True)
    past = Past(target, newest, most=most + 1)
    found = KeyHistory(n_commits=len(chain), cut=cut)
    if cut:
        begin = next(iter(chain[0].parents), None)
    before: tuple[str, Found] | None = None
    if begin is not None:
        there = past.at(begin)
        if isinstance(there, ModgraphError):
            _note(found, begin, there, is_first=True)
        else:
            before, found.n_known = (begin, there), 1
    for commit in chain:
        if before is not None and not _may_matter(commit, past.files(before[0])):
            continue
        now = past.at(commit.id)
        if isinstance(now, ModgraphError):
            _note(found, commit.id, now, is_first=before is None)
            continue
        step = _step(commit, None if before is None else before[1], now)
        if isinstance(step, str):
            found.unknown[commit.id] = step
            continue
        found.n_known += 1
        if step is not None:
            found.steps.append(step)
        if before is not None:
            past.forget(before[0])
        before = commit.id, now
    found.n_read = past.n_read
    return found


def _note(found: KeyHistory, commit: str, error: ModgraphError, *, is_first: bool) -> None:
    """Before it is there for the first time nobody misses a model."""
    found.why = error.message
    if not (is_first and isinstance(error, MissingFileError | UnknownNameError)):
        found.unknown[commit] = error.message


def _may_matter(commit: Commit, files: frozenset[str]) -> bool:
    """Whether it may have changed a model that reads these files: it changed one, or where imports lead."""
    return not files or any(status != "M" or path in files or not path.endswith(".py") for status, path in commit.files)


def _step(commit: Commit, old: Found | None, new: Found) -> KeyStep | str | None:
    """What changed; None for nothing, a text for why that is not known."""
    keys = tuple(entry.key for entry in state_dict_of(new.graph).entries if entry.saved)
    if old is None:
        return KeyStep(commit, len(keys), added=keys, undecided=not new.graph.complete)
    try:
        changes = compared(old, new)
    except ModgraphError as error:
        return error.message
    step = _of_changes(commit, len(keys), changes)
    return step if (step.added, step.removed, step.renamed, step.reshaped) != ((), (), (), ()) else None


def _of_changes(commit: Commit, n_keys: int, changes: Changes) -> KeyStep:
    found = changes.checkpoint
    joined = [each for each in found.carried if each.how in ("merge", "split", "transpose")]
    return KeyStep(
        commit,
        n_keys,
        added=(*found.fresh, *(each.new[0] for each in found.carried if each.how == "copy")),
        removed=(*found.lost, *(each.old[0] for each in found.carried if each.how == "drop")),
        renamed=tuple(found.renames.items()),
        reshaped=(*found.reshaped, *(key for each in joined for key in each.old)),
        undecided=found.undecided,
    )
