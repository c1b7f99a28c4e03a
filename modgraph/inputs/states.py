"""What a recurrent layer begins with, as it follows from the layer and from the other thing that it is given; and a
model that takes one step at a time, and its state beside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torch import nn

from modgraph.inputs.guesses import Guesser, name_class
from modgraph.inputs.probe import Attempt, Failure, Seen
from modgraph.inputs.specs import Candidate, Place, Spec, TensorSpec, place_name
from modgraph.inputs.wishes import STATES, wish_of


def fitting_states(attempt: Attempt, guesser: Guesser) -> Iterator[Candidate]:
    """All states of a layer that refused one, as many as it has layers and as wide, for the batch that it was given."""
    for failure in attempt.outcome.failures:
        if not isinstance(failure.layer, nn.RNNBase | nn.RNNCellBase):
            continue
        changes: dict[Place, Spec] = {}
        # Where a view has folded pixels into the batch, the side is wrong, and not the state.
        batch = guesser.batch if attempt.outcome.rebatched is not None else None
        for seen in failure.seen:
            made = _as_wanted(attempt, failure, seen, batch) if seen.position in STATES else None
            if made is not None:
                changes[made[0]] = replace(made[1], dtype=guesser.dtype)
        if changes:
            names = ", ".join(map(place_name, changes))
            where = failure.name or "the recurrent layer"
            yield attempt.candidate.replaced(changes, f"{names}: what {where} begins with")
        return


def _as_wanted(attempt: Attempt, failure: Failure, seen: Seen, batch: int | None) -> tuple[Place, TensorSpec] | None:
    tensors = attempt.candidate.tensors()
    places = [place for place in (seen.origin.values if seen.origin else ()) if place in tensors]
    shape = _shape(failure, batch)
    wish = wish_of(failure.layer, seen.position) if failure.layer is not None else None
    if len(places) != 1 or seen.origin is None or not seen.origin.direct or shape is None or wish is None:
        return None
    spec = tensors[places[0]]
    added = len(seen.shape) - len(spec.shape)  # `hidden.unsqueeze(0)`
    wanted = (*shape[:-1], wish.sizes[-1])[max(0, added) :]
    return (places[0], TensorSpec(wanted)) if wanted != spec.shape or spec.integral else None


def _shape(failure: Failure, batch: int | None) -> tuple[int, ...] | None:
    """Of a state, by the shape of what the layer was given; its last size is another matter."""
    given = next((seen.shape for seen in failure.seen if seen.position in (0, "input")), None)
    layer = failure.layer
    if given is None or len(given) not in (1, 2, 3):
        return None
    if not isinstance(layer, nn.RNNBase):
        return None if len(given) == 3 else (*([batch or given[0]] if len(given) == 2 else []), 0)
    layers = layer.num_layers * (1 + layer.bidirectional)
    if len(given) == 3:
        return (layers, batch or given[0 if layer.batch_first else 1], 0)
    return (layers, 0) if len(given) == 2 else None


def _is_given_a_state(attempt: Attempt) -> bool:
    """A recurrent layer refused, and had a state that comes from an input."""
    return any(
        seen.position in STATES and seen.origin is not None
        for failure in attempt.outcome.failures
        if isinstance(failure.layer, nn.RNNBase | nn.RNNCellBase)
        for seen in failure.seen
    )


def one_step(attempt: Attempt, guesser: Guesser) -> Iterator[Candidate]:
    """A lone index in place of a sequence, where a state is given with it."""
    kinds = {name_class(name) for name, _ in attempt.candidate.entries}
    if attempt.outcome.error is None or not (kinds & {"state", "encoded"} or _is_given_a_state(attempt)):
        return
    steps = {
        place: spec
        for place, spec in attempt.candidate.tensors().items()
        if spec.integral and len(spec.shape) == 2 and spec.shape[1] > 1 and name_class(str(place[-1])) is None
    }
    for shape in ((guesser.batch, 1), (guesser.batch,)) if steps else ():
        changes: dict[Place, Spec] = {place: replace(spec, shape=shape) for place, spec in steps.items()}
        yield attempt.candidate.replaced(changes, f"{', '.join(map(place_name, steps))}: one step")
