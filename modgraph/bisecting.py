"""The first commit at which a checkpoint no longer fits: a search by halves over those that touch what the model reads.

A search by halves is right where all before the commit fit, and none behind it. So the neighbours of what is found are
read too, and its own parent, which may be a commit that touches none of these files; what contradicts is said, or has
the search begin again over more commits. A revision of which it cannot be told is passed over, as `git bisect skip`
does; where that leaves several commits, all are named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from modgraph.checkpoint import compare
from modgraph.diffing import Found
from modgraph.errors import ModgraphError
from modgraph.graph.model import CheckpointComparison
from modgraph.graph.state_dict import state_dict_of
from modgraph.source.history import SOURCES, Commit, commits_between, merge_base

if TYPE_CHECKING:
    from modgraph.past import Past
    from modgraph.source.checkpoints import Checkpoint

_DEEPEST = 4
"""Merges within merged branches that are followed."""

Fit = Literal["fits", "breaks", "open"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the checkpoint fits at one revision."""

    fit: Fit
    comparison: CheckpointComparison | None = None
    found: Found | None = None
    why: str = ""
    """Of "open": what leaves it open."""


@dataclass(slots=True)
class Bisection:
    """What came of a search."""

    kind: Literal["found", "fits everywhere", "fits nowhere", "backwards", "open"]
    commit: Commit | None = None
    verdict: Verdict | None = None
    before: str = ""
    """Of "found": the commit at which it still fits."""
    candidates: tuple[Commit, ...] = ()
    """Of "open": one of these is the first."""
    reasons: dict[str, str] = field(default_factory=dict)
    """By id: why it cannot be told of a commit."""
    notes: tuple[str, ...] = ()
    n_listed: int = 0
    """Commits that were searched."""


class _ContradictionError(Exception):
    """The commits that were searched are not all that matter."""


class Bisector:
    """A checkpoint against the revisions of a target."""

    def __init__(self, past: Past, checkpoint: Checkpoint) -> None:
        self._past, self._checkpoint = past, checkpoint
        self._verdicts: dict[str, Verdict] = {}
        self._notes: dict[str, None] = {}
        self._n_listed = 0

    def verdict(self, commit: str) -> Verdict:
        """Whether it fits at a commit, by its id."""
        if commit not in self._verdicts:
            found = self._past.at(commit)
            self._verdicts[commit] = self._judged(found)
        return self._verdicts[commit]

    def _judged(self, found: Found | ModgraphError) -> Verdict:
        if isinstance(found, ModgraphError):
            return Verdict("open", why=found.message)
        comparison = compare(found.graph, self._checkpoint)
        if not comparison.fits:
            return Verdict("breaks", comparison, found)
        state = state_dict_of(found.graph)
        if not (comparison.undecided or state.open_below or state.open_at):
            return Verdict("fits", comparison, found)
        # A key of the model that is not known may be one that the checkpoint has not.
        problem = found.graph.problems[0].headline if found.graph.problems else "what the model has is left open"
        return Verdict("open", comparison, found, f"keys of the model cannot be told: {problem}")

    def between(self, good: str, bad: str) -> Bisection:
        """The first commit behind `good`, up to `bad`, both by their ids.

        Raises:
            TargetError: git cannot tell the history.
            TooManyRevisionsError: too many revisions were read.
        """
        ends = self.verdict(good), self.verdict(bad)
        fits = ends[0].fit, ends[1].fit
        if "open" in fits:
            names = {id: end.why for id, end in zip((good, bad), ends, strict=True) if end.fit == "open"}
            return Bisection("open", reasons=names, candidates=tuple(map(Commit, names)))
        if fits[0] == fits[1]:
            kind: Literal["fits everywhere", "fits nowhere"] = (
                "fits everywhere" if fits[0] == "fits" else "fits nowhere"
            )
            return Bisection(kind, verdict=ends[1])
        if fits == ("breaks", "fits"):
            return Bisection("backwards", verdict=ends[0])
        return self._searched(good, bad, 0)

    def _searched(self, good: str, bad: str, depth: int) -> Bisection:
        read = self._past.pathspecs([good, bad])
        tried: list[Sequence[str]] = [*([read] if read else []), SOURCES, ()]
        for paths in tried:
            chain, cut = commits_between(self._past.top, good, bad, paths)
            if cut:
                self._notes[f"of the commits between, the newest {len(chain):,} are searched"] = None
            try:
                found = self._first(chain, good)
            except _ContradictionError:
                continue
            self._n_listed = max(self._n_listed, len(chain))
            found.n_listed = self._n_listed
            if found.kind == "found":
                found = self._inside_a_merge(found, depth)
            found.notes = tuple(self._notes)
            return found
        return Bisection("open", reasons={bad: "its parents and it do not tell which of them broke it"})

    def _first(self, chain: Sequence[Commit], good: str) -> Bisection:
        """The first of a chain at which it breaks, behind one at which it fits.

        Raises:
            _ContradictionError: the last one fits, or the parent of the first one does not.
        """
        if not chain or self.verdict(chain[-1].id).fit == "fits":
            raise _ContradictionError
        below, above = -1, len(chain) - 1
        while above - below > 1:
            at = self._between(chain, below, above)
            if at is None:
                break
            if self.verdict(chain[at].id).fit == "fits":
                below = at
            else:
                above = at
        candidates = list(chain[below + 1 : above + 1])
        if len(candidates) > 1 or self.verdict(candidates[0].id).fit == "open":
            return self._left_open(candidates)
        return self._confirmed(chain, above, good)

    def _between(self, chain: Sequence[Commit], below: int, above: int) -> int | None:
        """The place nearest to the middle of which it can be told; None where there is none."""
        middle = (below + above) // 2
        places = sorted(range(below + 1, above), key=lambda place: abs(place - middle))
        return next((place for place in places if self.verdict(chain[place].id).fit != "open"), None)

    def _left_open(self, candidates: Sequence[Commit]) -> Bisection:
        reasons = {each.id: self.verdict(each.id).why for each in candidates if self.verdict(each.id).fit == "open"}
        return Bisection("open", candidates=tuple(candidates), reasons=reasons)

    def _confirmed(self, chain: Sequence[Commit], at: int, good: str) -> Bisection:
        commit = chain[at]
        parent = commit.parents[0] if commit.parents else good
        before = self.verdict(parent)
        if before.fit == "breaks":
            raise _ContradictionError
        if before.fit == "open":
            return Bisection("open", candidates=(Commit(parent), commit), reasons={parent: before.why})
        for place, wanted in ((at + 1, "breaks"), (at - 2, "fits")):
            if 0 <= place < len(chain):
                fit = self.verdict(chain[place].id).fit
                if fit not in (wanted, "open"):
                    words = "fits again" if fit == "fits" else "did not fit before"
                    self._notes[
                        f"the history is not in two parts: it {words} at {chain[place].short}"
                        f" ({chain[place].subject}); other commits may break it too"
                    ] = None
        return Bisection("found", commit=commit, verdict=self.verdict(commit.id), before=parent)

    def _inside_a_merge(self, found: Bisection, depth: int) -> Bisection:
        """The commit of a merged branch, where a merge brought what breaks it from there."""
        commit = found.commit
        assert commit is not None
        if len(commit.parents) != 2 or depth >= _DEEPEST:
            return found
        base = merge_base(self._past.top, *commit.parents)
        if self.verdict(commit.parents[1]).fit != "breaks" or base is None or self.verdict(base).fit != "fits":
            return found
        inner = self._searched(base, commit.parents[1], depth + 1)
        if inner.kind != "found":
            self._notes[f"{commit.short} is a merge; which commit of its branch it is cannot be told"] = None
            return found
        return inner
