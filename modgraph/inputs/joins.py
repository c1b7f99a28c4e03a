"""Inputs that are joined and go into one layer: `cat([x, c], 1)` into `Conv2d(3 + c_dim, ...)`.

What the layer wants is the sum of the parts alone. A part that is no input says what is left for the one that is; an
image has as many channels as images have; what one part loses another one gains, wherever both are joined.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from modgraph.inputs.guesses import CHANNELS, Guesser
from modgraph.inputs.probe import Attempt, Join
from modgraph.inputs.specs import Candidate, Place, Spec, TensorSpec, place_name

Sizes = dict[Place, int]


def fitting_parts(attempt: Attempt, guesser: Guesser) -> Iterator[Candidate]:
    """Candidates whose joined inputs add up to what the layer wants."""
    for join in attempt.outcome.joins:
        if join.size == join.wanted:
            continue
        for sizes in _shares(attempt, join, guesser):
            yield from _resized(attempt, join, sizes)


def usual_parts(attempt: Attempt, guesser: Guesser) -> Iterator[Candidate]:
    """The same of a run that came through, where an image has an unusual number of channels."""
    for join in attempt.outcome.joins:
        sizes = _by_channels(attempt, join, guesser)
        if sizes is not None and any((place, size) not in join.pieces for place, size in sizes.items()):
            yield from _resized(attempt, join, sizes)


def _shares(attempt: Attempt, join: Join, guesser: Guesser) -> Iterator[Sizes]:
    images = _by_channels(attempt, join, guesser)
    if images is not None:
        yield images
    for place in _inputs(join):
        times = sum(other == place for other, _ in join.pieces)
        rest, odd = divmod(join.wanted - sum(size for other, size in join.pieces if other != place), times)
        if rest > 0 and not odd:
            yield {place: rest}


def _by_channels(attempt: Attempt, join: Join, guesser: Guesser) -> Sizes | None:
    """Of one image and one other input: the image has the channels that the model states, else three."""
    tensors, places = attempt.candidate.tensors(), _inputs(join)
    images = [place for place in places if place in tensors and _is_image(tensors[place])]
    if len(places) != 2 or len(images) != 1 or len(join.pieces) < 2:
        return None
    (other,) = (place for place in places if place != images[0])
    held = sum(size for place, size in join.pieces if place is None)
    for channels in (guesser.stated(CHANNELS), 3):  # the first layer may state what both have together
        if channels is not None and (rest := join.wanted - held - channels) > 0:
            return {images[0]: channels, other: rest}
    return None


def _is_image(spec: TensorSpec) -> bool:
    return len(spec.shape) == 4 and spec.shape[2] > 1 and spec.shape[3] > 1


def _inputs(join: Join) -> list[Place]:
    return list(dict.fromkeys(place for place, _ in join.pieces if place is not None))


def _resized(attempt: Attempt, join: Join, sizes: Sizes) -> Iterator[Candidate]:
    """These inputs with these sizes; what they are joined with elsewhere makes up for it."""
    tensors, sizes = attempt.candidate.tensors(), dict(sizes)
    for other in attempt.outcome.joins:
        places = _inputs(other)
        free = [place for place in places if place not in sizes]
        if other is not join and len(places) == 2 and len(free) == 1 and len(other.pieces) == len(set(other.pieces)):
            held = sum(sizes.get(place, size) if place else size for place, size in other.pieces if place != free[0])
            sizes[free[0]] = other.wanted - held
    before = {place: size for each in attempt.outcome.joins for place, size in each.pieces if place is not None}
    changes: dict[Place, Spec] = {}
    for place, size in sizes.items():
        spec = tensors.get(place)
        dims = [dim for dim in (1, -1) if spec is not None and len(spec.shape) > 1 and spec.shape[dim] == before[place]]
        if spec is None or not dims or size <= 0:
            return
        shape = list(spec.shape)
        shape[dims[0] if len(spec.shape) != 3 else dims[-1]] = size
        changes[place] = replace(spec, shape=tuple(shape))
    names = ", ".join(place_name(place) for place in changes)
    where = join.layer or "the first layer"
    yield attempt.candidate.replaced(changes, f"{names}: joined, {where} wants {join.wanted} together")
