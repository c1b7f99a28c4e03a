"""The side of an image (or the length of a signal) that a fixed layer further down wants.

`Linear(in_features)` after a flatten fixes the side, but nobody wrote it down. What the layer got is some
`(a * side + b) ** n` times its channels, so the side is found by interpolating the n-th root, and then rounded to one
that is in use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from modgraph.inputs.mismatch import mismatches
from modgraph.inputs.pinned import pinned_dims
from modgraph.inputs.probe import Attempt, Outcome
from modgraph.inputs.specs import Candidate, GroupSpec, Place, Spec, TensorSpec
from modgraph.tracing.basics.failures import lacked_memory, said

KNOWN_SIDES = (224, 32, 28, 64, 256, 128, 96, 299, 227, 512, 84, 48, 112, 160, 192, 384, 100, 150, 16, 40, 80, 200)
KNOWN_LENGTHS = (64, 128, 256, 1024, 16000, 512, 100, 1000, 200, 300, 187, 3000, 32, 2048, 4096, 8000)
KNOWN_VOLUMES = ((16, 112, 112), (16, 224, 224), (16, 64, 64), (8, 224, 224), (32, 32, 32), (64, 64, 64), (32, 64, 64))
_MAX_STEPS = 14
_MAX_ELSEWHERE = 3
"""Larger sides in a row that fail elsewhere than the first, after which none is looked for: it was not the side."""
_MAX_SIDE = {1: 1 << 17, 2: 1 << 11, 3: 1 << 7}
"""Largest side that is tried, by the number of spatial dimensions."""

Run = Callable[[Candidate], Outcome]
Miss = tuple[int, int]
"""(wanted, got)."""


def miss_of(outcome: Outcome) -> Miss | None:
    """What the place of failure wanted of a tensor that layers had already worked on, and what it got."""
    if outcome.error is None or is_folded(outcome):
        return outcome.rebatched
    indirect = [miss for miss in mismatches(outcome) if not miss.direct or len(outcome.failures) > 0]
    return (indirect[0].wanted, indirect[0].got) if indirect else None


def is_folded(outcome: Outcome) -> bool:
    """A view folded pixels into the batch, and a layer refused the batch that came of it."""
    return outcome.rebatched is not None and "batch size" in said(outcome.error)


def _place_of(outcome: Outcome) -> list[str]:
    return [failure.name for failure in outcome.failures]


def is_among_inputs(attempt: Attempt) -> bool:
    """The run failed where an input met a tensor of another size: the matrix must fit, or its channels, and no side."""
    tensors = attempt.candidate.tensors()
    misses = [miss for miss in mismatches(attempt.outcome) if miss.direct and len(miss.places) == 1]
    met = [(tensors[place], miss.got) for miss in misses for place in miss.places if place in tensors]
    return len(tensors) > 1 and any(
        not spec.integral and (len(spec.shape) == 2 or (spec.shape[1:2] == (got,) and got not in spec.shape[2:]))
        for spec, got in met
    )


def search_sides(attempt: Attempt, run: Run) -> Iterator[tuple[Candidate, Outcome]]:
    """Runs that got past the place where `attempt` failed; each of its runs costs a try."""
    spatial = _with_free_dims(attempt)
    miss = miss_of(attempt.outcome)
    if not spatial or miss is None:
        return
    found = _Search(attempt, spatial, miss, run).find()
    if found is not None:
        yield found


def _with_free_dims(attempt: Attempt) -> dict[Place, tuple[int, ...]]:
    """The dimensions of each input that say how large the image or how long the signal is."""
    found: dict[Place, tuple[int, ...]] = {}
    graded = {name for name, entry in attempt.candidate.entries if is_graded(entry)}
    for place, spec in attempt.candidate.tensors().items():
        if _is_spatial(spec) and place[0] not in graded:
            pinned = pinned_dims(place, spec, attempt.outcome)
            inner = range(2, len(spec.shape)) if len(spec.shape) > 3 or 2 not in pinned else (1,)
            dims = tuple(dim for dim in inner if dim not in pinned)
            if dims:
                found[place] = dims
    return found


def is_graded(entry: Spec) -> bool:
    """Images of several sizes: one side for all would undo that."""
    items = [item for _, item in entry.items] if isinstance(entry, GroupSpec) else []
    return len({item.shape[-1] for item in items if isinstance(item, TensorSpec) and len(item.shape) == 4}) > 1


def _is_spatial(spec: TensorSpec) -> bool:
    return len(spec.shape) >= 3 and not spec.integral


class _Search:
    def __init__(self, attempt: Attempt, spatial: dict[Place, tuple[int, ...]], miss: Miss, run: Run) -> None:
        self.attempt = attempt
        self.spatial = spatial
        self.wanted, self.got = miss
        self.run = run
        self.tensors = attempt.candidate.tensors()
        self.ndim = max(len(self.tensors[place].shape) for place in spatial) - 2
        self.known = KNOWN_SIDES if self.ndim > 1 else KNOWN_LENGTHS
        first, dims = next(iter(spatial.items()))
        self.start = self.tensors[first].shape[dims[-1]]
        self.elsewhere = 0
        """Larger sides in a row with which the run did not come to the same place."""
        self.limit = _MAX_SIDE.get(self.ndim, 1 << 7)
        self.steps = 0
        self.seen: dict[int, tuple[int, Candidate, Outcome]] = {}

    def candidate(self, side: int) -> Candidate:
        changes: dict[Place, Spec] = {}
        for place, dims in self.spatial.items():
            spec = self.tensors[place]
            shape = tuple(side if dim in dims else size for dim, size in enumerate(spec.shape))
            changes[place] = replace(spec, shape=shape)
        what = "side" if self.ndim > 1 else "length"
        return self.attempt.candidate.replaced(changes, f"{what} {side}: {self.wanted} features wanted")

    def measure(self, side: int) -> int:
        """Features that this side gives; the wanted number if the place was passed, 0 if the side is too small."""
        if side not in self.seen:
            self.steps += 1
            candidate = self.candidate(side)
            outcome = self.run(candidate)
            features = self._features(outcome)
            if side > self.start:  # a smaller one may simply be too small
                self.elsewhere = 0 if features else self.elsewhere + 1
            self.seen[side] = (features, candidate, outcome)
        return self.seen[side][0]

    def _features(self, outcome: Outcome) -> int:
        before = self.attempt.outcome
        miss = miss_of(outcome)
        if miss is not None and miss[0] == self.wanted and _place_of(outcome) == _place_of(before):
            return miss[1]
        if outcome.error is None or outcome.progress > before.progress:
            return self.wanted
        return 0

    def find(self) -> tuple[Candidate, Outcome] | None:
        side = self._by_root()
        if side is None:
            return None
        near = [known for known in self.known if abs(known - side) <= max(4, side // 6)]
        for known in near[:4]:  # the most usual first
            if known == side or self.measure(known) == self.wanted:
                side = known
                break
        _, candidate, outcome = self.seen[side]
        return candidate, outcome

    def _by_root(self) -> int | None:
        power = 1 / self.ndim
        target = self.wanted**power
        points: dict[int, float] = {self.start: self.got**power}
        side = self._rounded(max(1, round(self.start * target / max(points[self.start], 1e-9))))
        low, high = 0, self.limit
        while self.steps < _MAX_STEPS and self.elsewhere < _MAX_ELSEWHERE:
            if side in points and points[side] != target:
                side = self._untried(points, low, high)
            if side <= 0 or side > self.limit:
                return None
            features = self.measure(side)
            if features == self.wanted:
                return side
            if features == self.got and not self.start < 2 * side < 4 * self.start:
                return None  # as many for half the side, or for twice: it does not depend on it
            points[side] = features**power
            if features < self.wanted:
                low = max(low, side)
            else:
                high = min(high, side)
            if high - low <= 1:
                return None
            side = self._interpolated(points, target, low, high)
        return None

    def _rounded(self, side: int) -> int:
        """A side in use, if there is one within an eighth."""
        near = min(self.known, key=lambda known: abs(known - side))
        return near if abs(near - side) <= side / 8 else side

    def _interpolated(self, points: dict[int, float], target: float, low: int, high: int) -> int:
        measured = sorted((abs(value - target), side) for side, value in points.items() if value > 0)
        if len(measured) >= 2:
            (_, a), (_, b) = measured[:2]
            if points[a] != points[b]:
                side = round(a + (target - points[a]) * (b - a) / (points[b] - points[a]))
                if low < side < high:
                    return side
        return (low + min(high, max(2 * low, 8))) // 2 if high == self.limit else (low + high) // 2

    def _untried(self, points: dict[int, float], low: int, high: int) -> int:
        middle = (low + high) // 2 if high < self.limit else 2 * max(low, 1)
        return next((s for s in (middle, middle + 1, middle - 1) if s not in points and low < s < high), 0)


def usual_sizes(attempt: Attempt) -> Iterator[Candidate]:
    """Other sizes that images, signals and videos usually have, for all spatial inputs alike."""
    spatial = {place: spec for place, spec in attempt.candidate.tensors().items() if _is_spatial(spec)}
    if not spatial:
        return
    ndim = max(len(spec.shape) for spec in spatial.values()) - 2
    sizes: list[tuple[int, ...]] = [(side,) * ndim for side in (KNOWN_SIDES if ndim > 1 else KNOWN_LENGTHS)[:8]]
    if ndim == 3:
        sizes = [*KNOWN_VOLUMES]
    for size in sizes:
        changes = {
            place: replace(spec, shape=(*spec.shape[:2], *size[-(len(spec.shape) - 2) :]))
            for place, spec in spatial.items()
        }
        yield attempt.candidate.replaced(dict(changes), f"a usual size, {'x'.join(map(str, size))}")


def usual_volumes(attempt: Attempt) -> Iterator[Candidate]:
    """Sizes that videos usually have, before others are reckoned out: many sizes give as many features."""
    if any(len(spec.shape) == 5 for spec in attempt.candidate.tensors().values()):
        yield from usual_sizes(attempt)


def smaller(attempt: Attempt) -> Iterator[Candidate]:
    """Images and volumes of fewer pixels, where there was not enough memory."""
    error = attempt.outcome.error
    if error is None or not lacked_memory(error):
        return
    spatial = {place: spec for place, spec in attempt.candidate.tensors().items() if len(spec.shape) >= 4}
    for side in (64, 32):
        changes: dict[Place, Spec] = {
            place: replace(spec, shape=(*spec.shape[:2], *(min(side, size) for size in spec.shape[2:])))
            for place, spec in spatial.items()
        }
        if changes:
            yield attempt.candidate.replaced(changes, f"{side} pixels, as there was not enough memory")
