"""The search for inputs that `forward` accepts: the best attempt so far is repaired first, within a number of tries."""

from __future__ import annotations

import contextlib
import heapq
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils import _pytree as pytree

from modgraph.errors import TraceError
from modgraph.inputs.arrays import arrays
from modgraph.inputs.bags import bags
from modgraph.inputs.docs import documented, has_loop
from modgraph.inputs.grids import grid_repairs
from modgraph.inputs.groups import group_repairs, larger_numbers, steps_first
from modgraph.inputs.guesses import Guesser, name_class
from modgraph.inputs.joins import fitting_parts, traded, usual_parts
from modgraph.inputs.levels import longer_lists, one_for_each
from modgraph.inputs.plain import told_by_function
from modgraph.inputs.probe import Attempt, EndlessRunError, Outcome, Prober
from modgraph.inputs.refusal import Refusals, comes_from_no_input, is_refusal
from modgraph.inputs.repair import repairs, wishes
from modgraph.inputs.sides import is_among_inputs, is_folded, miss_of, search_sides, smaller, usual_sizes, usual_volumes
from modgraph.inputs.sizes import waveforms
from modgraph.inputs.specs import Candidate, Place, Reason, Spec, TensorSpec, place_name, spec_text
from modgraph.inputs.states import fitting_states, one_step
from modgraph.inputs.words import other_words
from modgraph.tracing.basics.failures import describe, user_line
from modgraph.tracing.basics.members import registered_modules

MAX_TRIES = 60
"""Runs of the forward that a search may cost."""
MAX_SECONDS = 60.0
"""How long a search goes on, and one run of it; where the forward is slow, the first runs say most already."""
_RUNS_PER_ATTEMPT = 3
"""With fake tensors, with real ones, and with gradients."""
_LIGHT_SECONDS = 0.5
"""A real run that takes longer is not followed by others."""
_SECONDS_MORE = 10.0
"""How long likelier inputs are looked for, where some have run already."""
PATIENCE = 3
"""Repairs in a row that may bring no progress before others are tried."""
MAX_ELEMENTS = 1 << 24
"""Elements of all inputs together, beyond which a candidate is not tried."""


@dataclass(frozen=True, slots=True)
class Found:
    """The end of a search."""

    candidate: Candidate
    """The one that ran; else the one that got furthest."""
    outcome: Outcome
    tries: int
    accepted: bool
    seconds: float = 0.0
    """How long the search went on, where that ended it."""
    own_error: bool = False
    """No run got anywhere, and always for the same reason that has nothing to do with the inputs' form."""


_MAX_REASON = 160
"""Characters of an error that a note quotes."""


class _SpentError(Exception):
    """The runs or the time of a search are used up."""


def _endless(error: EndlessRunError) -> TraceError:
    file, line = user_line(error)
    return TraceError(
        f"forward had not ended {error}, while inputs were looked for (at most {MAX_SECONDS:g} s); if it ends, give"
        " them: --input NAME=SHAPE, and --timeout SECONDS",
        file=file,
        line=line,
    )


class Search:
    """One search, over the candidates of one model."""

    def __init__(self, prober: Prober, guesser: Guesser) -> None:
        self.prober = prober
        self.guesser = guesser
        self.visited: set[Any] = set()
        self.attempts: list[Attempt] = []
        self._until = time.monotonic() + MAX_SECONDS
        prober.seconds = MAX_SECONDS
        self._refusals = Refusals()

    def find(self, first: Candidate) -> Found:
        """The first candidate that runs, beginning with `first`.

        Raises:
            TraceError: the forward did not end.
        """
        try:
            light = self._lightly(first) if self.prober.is_light else None
            if light is not None:
                return self._accepted(light)
            found = self._find(first)
            if not self._refusals.of_no_input or self.prober.real or not self.prober.can_be_real:
                return found
            # It may be that tensors without values are refused there, and others are not.
            self.prober.be_real()
            self._refusals = Refusals()
            self.visited.clear()
            self.attempts.clear()
            return self._find(first)
        except _SpentError:
            error = self.attempts[-1].outcome.error
            if isinstance(error, EndlessRunError):
                raise _endless(error) from None
            found = self._given_up()
            return replace(found, seconds=MAX_SECONDS) if time.monotonic() > self._until else found

    def _lightly(self, first: Candidate) -> Attempt | None:
        """A real run of the first candidate, which most small models take; None where it did not come through.

        What an error says is read from fake runs alone: their words are the same whatever the device and the values.
        """
        began = time.monotonic()
        self.prober.be_real()
        attempt = self.attempt(first)
        came_through = attempt.outcome.error is None
        if not came_through or time.monotonic() - began > _LIGHT_SECONDS:
            self.prober.be_fake()
        if came_through:
            return attempt
        self.visited.clear()
        self.attempts.clear()
        return None

    def _find(self, first: Candidate) -> Found:
        start = self._for_real(self.attempt(first))
        if self._came_through(start):
            return self._accepted(start)
        counter = 0
        queue: list[tuple[int, int, int, int, Iterator[Attempt]]] = [
            (-start.outcome.reached, 0, 0, 0, self._next(start))
        ]
        while queue and not self._refusals.final:
            best, _, _, stale, following = queue[0]
            attempt = next(following, None)
            if attempt is None:
                heapq.heappop(queue)
                continue
            attempt = self._for_real(attempt)
            if self._came_through(attempt):
                return self._accepted(attempt)
            counter -= 1
            stale = 0 if -attempt.outcome.reached < best else stale + 1
            # Depth first, but after some steps that led nowhere, rather from further back.
            heapq.heappush(queue, (-attempt.outcome.reached, stale // PATIENCE, counter, stale, self._next(attempt)))
        return self._given_up()

    def _came_through(self, attempt: Attempt) -> bool:
        """It ran; where values decide, at least as far as any other."""
        outcome = attempt.outcome
        furthest = max(other.outcome.progress for other in self.attempts)
        return outcome.error is None and (not outcome.by_values or outcome.progress >= furthest)

    def _for_real(self, attempt: Attempt) -> Attempt:
        """The same attempt in a real run, where it came through with fake tensors but may depend on values."""
        candidate = with_bounds(attempt.candidate, attempt.outcome)
        if attempt.outcome.error is not None or not self.prober.can_be_real or not _value_dependent(candidate):
            return attempt
        self.prober.be_real()
        return self.attempt(candidate)

    def attempt(self, candidate: Candidate) -> Attempt:
        """One run; what `forward` asked of a mapping or object is part of the candidate from then on.

        Raises:
            _SpentError: instead of going beyond what a search may cost.
        """
        spent = self.prober.tries + _RUNS_PER_ATTEMPT > MAX_TRIES or time.monotonic() > self._until
        if self.attempts and spent:
            raise _SpentError
        self.visited.add(candidate.entries)
        outcome = self.prober.run(candidate, lambda key: self.guesser.tensor(key)[0])
        if outcome.asked:
            keys = ", ".join(str(place[-1]) for place in outcome.asked)
            candidate = candidate.replaced(outcome.asked, f"{keys}: asked for by forward")
            names = [str(place[-1]) for place in outcome.asked]
            if outcome.error is not None and self.guesser.hear_of(names):
                return self.attempt(self._as_graph(candidate))
        made = Attempt(candidate, outcome)
        self.attempts.append(made)
        # Nobody follows an array: whether something came from one is not known.
        self._refusals.add(outcome.error, None if candidate.has_arrays else outcome.failures)
        if isinstance(outcome.error, EndlessRunError):
            raise _SpentError
        return made

    def _as_graph(self, candidate: Candidate) -> Candidate:
        """Where an edge index was asked for, what stands beside it is of a graph too."""
        beside = [place for place in candidate.tensors() if len(place) > 1 and isinstance(place[-1], str)]
        return candidate.replaced({place: self.guesser.tensor(str(place[-1]))[0] for place in beside}, "of a graph")

    def run(self, candidate: Candidate) -> Outcome:
        """What comes of one run."""
        return self.attempt(candidate).outcome

    def _next(self, attempt: Attempt) -> Iterator[Attempt]:
        """Attempts that follow from this one, run as they are asked for."""
        sought = False
        for candidate in self._with_usual(attempt):
            if isinstance(candidate, _Sides):
                if not sought:
                    sought = True
                    yield from (Attempt(*found) for found in search_sides(attempt, self.run))
                continue
            for tried in (*_siblings_alike(attempt.candidate, candidate), candidate):
                if tried.entries not in self.visited and elements(tried) <= MAX_ELEMENTS:
                    yield self.attempt(tried)

    def _with_usual(self, attempt: Attempt) -> Iterator[Candidate | _Sides]:
        yield from smaller(attempt)
        if is_folded(attempt.outcome):
            yield _Sides()
        yield from bags(attempt, self.guesser)
        yield from arrays(attempt)
        yield from fitting_states(attempt, self.guesser)
        yield from one_step(attempt, self.guesser)
        yield from fitting_parts(attempt, self.guesser)
        yield from traded(attempt, self.guesser)
        yield from _columns_beyond(attempt)
        yield from grid_repairs(attempt, self.guesser)
        yield from documented(attempt.candidate, self.guesser)
        yield from larger_numbers(attempt, 2)
        yield from waveforms(attempt, self.guesser.batch)
        yield from group_repairs(attempt, self.guesser)
        yield from one_for_each(attempt, self.guesser)
        yield from steps_first(attempt)
        yield from wishes(attempt, self.guesser)
        yield from told_by_function(attempt, self.guesser)
        yield from other_words(attempt.candidate, self.guesser.model)
        if miss_of(attempt.outcome) is not None:
            yield from usual_volumes(attempt)
        unmet = any(
            use.seen.origin and not use.wish.met_by(use.seen.shape, use.seen.integral)
            for use in attempt.outcome.uses.values()
        )
        among_inputs = is_among_inputs(attempt)
        if not unmet and not among_inputs:
            yield _Sides()
        yield from repairs(attempt, self.guesser)
        if not unmet and among_inputs:
            yield _Sides()
        yield from usual_sizes(attempt)
        yield from larger_numbers(attempt, 4)

    def _accepted(self, attempt: Attempt) -> Found:
        found = [attempt]
        self._until = min(self._until, time.monotonic() + _SECONDS_MORE)
        with contextlib.suppress(_SpentError):
            found.extend(self._preferred(attempt))
        better = found[-1]
        candidate = self._with_note(better.candidate)
        return Found(candidate, better.outcome, self.prober.tries, accepted=True)

    def _with_note(self, candidate: Candidate) -> Candidate:
        """The candidate that ran; where images of the usual size did not, its rules say so, and why."""
        tensors, notes = candidate.tensors(), list(candidate.rules)
        for place, spec in tensors.items():
            for attempt in self.attempts:
                tried = attempt.candidate.tensors().get(place)
                error = attempt.outcome.error
                if error is None or tried is None or not _is_of_another_side(spec, tried):
                    continue
                sides = "x".join(str(size) for size in dict.fromkeys(tried.shape[2:]))
                why = describe(error).splitlines()[0][:_MAX_REASON]
                text = f"{place_name(place)}: ran at {spec_text(spec)}; {sides} failed: {why}"
                notes.append(Reason(text, ((place, None, spec),)))
                break
        return Candidate(candidate.entries, tuple(notes))

    def _preferred(self, attempt: Attempt) -> Iterator[Attempt]:
        """The same model on likelier inputs, the likeliest last, where this one is not what its layers are made for."""
        for candidate in self._turned(attempt):
            turned = self.attempt(candidate)
            if turned.outcome.error is None and turned.outcome.called > attempt.outcome.called:
                attempt = turned
                yield attempt
        for candidate in longer_lists(attempt, self.guesser):
            if candidate.entries not in self.visited and elements(candidate) <= MAX_ELEMENTS:
                longer = self.attempt(candidate)
                if longer.outcome.error is None and longer.outcome.called > attempt.outcome.called:
                    yield longer
                    return
        for candidate in usual_parts(attempt, self.guesser):
            if candidate.entries not in self.visited and elements(candidate) <= MAX_ELEMENTS:
                outcome = self.run(candidate)
                if outcome.error is None:
                    attempt = Attempt(candidate, outcome)
                    yield attempt
                    break
        for candidate in (*documented(attempt.candidate, self.guesser), *wishes(attempt, self.guesser)):
            if candidate.entries not in self.visited:
                outcome = self.run(candidate)
                if outcome.error is None:
                    yield Attempt(candidate, outcome)
                    return
        for candidate in _square(attempt):
            if candidate.entries not in self.visited and elements(candidate) <= MAX_ELEMENTS:
                outcome = self.run(candidate)
                if outcome.error is None:
                    attempt = Attempt(candidate, outcome)
                    yield attempt
                    break
        for candidate in (*_columns_alone(attempt), *_sequences_alike(attempt), *self._floating(attempt)):
            outcome = self.run(candidate)
            if outcome.error is None:
                attempt = Attempt(candidate, outcome)
                yield attempt
        if attempt.outcome.rebatched is not None and self._batch_grew(attempt.outcome):
            for candidate, outcome in search_sides(attempt, self.run):
                if outcome.error is None and not self._batch_grew(outcome):
                    yield Attempt(candidate, outcome)
                    return

    def _turned(self, attempt: Attempt) -> Iterator[Candidate]:
        """Steps first, where a layer was not called: a loop over one step may have had no turn."""
        changes: dict[Place, Spec] = {
            place: replace(spec, shape=spec.shape[::-1])
            for place, spec in attempt.candidate.tensors().items()
            if spec.integral and len(spec.shape) == 2 and spec.shape[0] == self.prober.batch < spec.shape[1]
        }
        candidate = attempt.candidate.replaced(changes, "steps first, as more is called then")
        is_new = bool(changes) and candidate.entries not in self.visited
        if is_new and has_loop(self.guesser.model) and self._has_idle(attempt.outcome):
            yield candidate

    def _has_idle(self, outcome: Outcome) -> bool:
        """A layer with parameters was not called. Those inside torch's own (attention) often are not."""
        modules = dict(registered_modules(self.guesser.model))
        closed = tuple(
            f"{path}."
            for path, module in modules.items()
            if type(module).__module__.startswith(("torch.nn.modules.activation", "torch.nn.modules.transformer"))
        )
        leaves = {path for path, module in modules.items() if path and module._parameters and not module._modules}
        return any(not path.startswith(closed) for path in leaves - outcome.called)

    def _floating(self, attempt: Attempt) -> Iterator[Candidate]:
        """A number that is reckoned with other numbers is one of them, whatever its name says."""
        tensors = attempt.candidate.tensors()
        changes: dict[Place, Spec] = {
            place: TensorSpec(tensors[place].shape, self.guesser.dtype)
            for place in attempt.outcome.promoted
            if place in tensors and tensors[place].integral and place not in attempt.outcome.bounds
        }
        if changes:
            yield attempt.candidate.replaced(changes, "floats, like the inputs that it is joined with")

    def _batch_grew(self, outcome: Outcome) -> bool:
        """Every output has more rows than the batch had: a view folded pixels into it."""
        rows = [leaf.shape[0] for leaf in pytree.tree_leaves(outcome.output) if _has_rows(leaf)]
        return bool(rows) and all(count != self.prober.batch for count in rows)

    def _given_up(self) -> Found:
        stopped = [attempt for attempt in self.attempts if attempt.outcome.by_values]
        if stopped:
            found = max(stopped, key=lambda attempt: attempt.outcome.progress)
            return Found(found.candidate, found.outcome, self.prober.tries, accepted=True)
        best = max(self.attempts, key=lambda attempt: attempt.outcome.progress)
        stopper = best.outcome.error
        failures = None if best.candidate.has_arrays else best.outcome.failures
        if stopper is not None and comes_from_no_input(stopper, failures):
            return Found(best.candidate, best.outcome, self.prober.tries, accepted=False, own_error=True)
        if best.outcome.progress == self.attempts[0].outcome.progress:
            best = self.attempts[0]
        first = self.attempts[0].outcome.error
        again = [
            a for a in self.attempts[1:] if a.outcome.error and first and describe(a.outcome.error) == describe(first)
        ]
        own = best is self.attempts[0] and is_refusal(first) and bool(again or len(self.attempts) == 1)
        return Found(best.candidate, best.outcome, self.prober.tries, accepted=False, own_error=own)


class _Sides:
    """A place in the order of repairs: here the side is searched."""


def _is_of_another_side(spec: TensorSpec, tried: TensorSpec) -> bool:
    """Images or volumes of another size, and else alike."""
    alike = len(spec.shape) >= 4 and len(tried.shape) == len(spec.shape) and spec.shape[1] == tried.shape[1]
    return alike and not spec.integral and spec.shape[2:] != tried.shape[2:]


def elements(candidate: Candidate) -> int:
    """Elements of all tensors of a candidate."""
    return sum(math.prod(spec.shape) for spec in candidate.tensors().values())


def _has_rows(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.dim() > 0


def _value_dependent(candidate: Candidate) -> bool:
    """Indices and masks: fake tensors do not check them."""
    return any(spec.integral or spec.dtype == "bool" or spec.high is not None for spec in candidate.tensors().values())


def with_bounds(candidate: Candidate, outcome: Outcome) -> Candidate:
    """Indices within the table that they are looked up in."""
    changes: dict[Place, Spec] = {}
    for place, spec in candidate.tensors().items():
        bound = min(outcome.bounds.get(place, 1 << 30), spec.high or 1 << 30)
        if bound < 1 << 30:
            changes[place] = replace(spec, low=min(spec.low, bound - 1), high=min(bound, spec.low + 16))
    return Candidate(candidate.replaced(changes, "").entries, candidate.rules)


def _form(place: Place) -> str | None:
    """What the name says of the form of an input."""
    kind = name_class(str(place[-1]))
    return None if kind == "past" else kind


def _siblings_alike(before: Candidate, after: Candidate) -> Iterator[Candidate]:
    """Inputs that were like the one that has another number of dimensions now, changed with it (`q`, `k` and `v`)."""
    old, new = before.tensors(), after.tensors()
    changed = [place for place in old if place in new and len(old[place].shape) != len(new[place].shape)]
    if len(changed) != 1:
        return
    (place,) = changed
    kind = _form(place)
    siblings = [other for other in old if old[other] == old[place] == new.get(other) and other != place]
    siblings = [other for other in siblings if _form(other) == kind]
    if siblings:
        rule = f"{', '.join(str(other[-1]) for other in siblings)}: like {place[-1]}"
        yield after.replaced(dict.fromkeys(siblings, new[place]), rule)


def _sequences_alike(attempt: Attempt) -> Iterator[Candidate]:
    """Every input of a linear layer as a sequence, where one of them is."""
    tensors = attempt.candidate.tensors()
    uses = {place: use for place, use in attempt.outcome.uses.items() if place in tensors and use.seen.origin}
    floats = {place: tensors[place] for place, use in uses.items() if use.wish.integral is False}
    steps = next((spec.shape[1] for spec in floats.values() if len(spec.shape) == 3), None)
    changes: dict[Place, Spec] = {
        place: replace(spec, shape=(spec.shape[0], steps, spec.shape[1]))
        for place, spec in floats.items()
        if steps is not None and len(spec.shape) == 2 and uses[place].wish.ndim is None
    }
    if changes:
        yield attempt.candidate.replaced(changes, "sequences, like the other inputs")


def _square(attempt: Attempt) -> Iterator[Candidate]:
    """Square images, with as many pixels or with the longer side, where a search came to others."""
    oblong = {
        place: spec
        for place, spec in attempt.candidate.tensors().items()
        if len(spec.shape) == 4 and not spec.integral and spec.shape[2] != spec.shape[3]
    }
    for side_of in (lambda height, width: math.isqrt(height * width), max):
        changes: dict[Place, Spec] = {
            place: replace(spec, shape=(*spec.shape[:2], *[side_of(*spec.shape[2:])] * 2))
            for place, spec in oblong.items()
        }
        if changes:
            yield attempt.candidate.replaced(changes, "square, as images usually are")


def _columns_beyond(attempt: Attempt) -> Iterator[Candidate]:
    """More columns of an input of which one past the last was read, as none: `x[:, 9:10]` of eight."""
    tensors = attempt.candidate.tensors()
    changes: dict[Place, Spec] = {
        place: replace(tensors[place], shape=(tensors[place].shape[0], 2 * columns))
        for place, columns in attempt.outcome.columns.items()
        if place in tensors and len(tensors[place].shape) == 2 and columns > tensors[place].shape[1]
    }
    if changes:
        yield attempt.candidate.replaced(changes, "as many columns as forward reads")


def _columns_alone(attempt: Attempt) -> Iterator[Candidate]:
    """Only the columns that are read, of an input of which every column is read by itself."""
    tensors = attempt.candidate.tensors()
    changes: dict[Place, Spec] = {
        place: replace(tensors[place], shape=(tensors[place].shape[0], columns))
        for place, columns in attempt.outcome.columns.items()
        if place in tensors and len(tensors[place].shape) == 2 and columns < tensors[place].shape[1]
    }
    if changes:
        yield attempt.candidate.replaced(changes, "as many columns as forward reads")
