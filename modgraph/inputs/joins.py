"""Inputs that are joined and go into one layer: `cat([x, c], 1)` into `Conv2d(3 + c_dim, ...)`.

What the layer wants is the sum of the parts alone. A part that is no input says what is left for the one that is; an
image has as many channels as images have; what one part loses another one gains, wherever both are joined.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from modgraph.inputs.guesses import CHANNELS, Guesser, name_class
from modgraph.inputs.mismatch import mismatches
from modgraph.inputs.pinned import pinned_dims
from modgraph.inputs.probe import Attempt, Join
from modgraph.inputs.specs import Candidate, LiteralSpec, Place, Spec, TensorSpec, place_name

Sizes = dict[Place, int]
_MOST_ADDED = 4


def fitting_parts(attempt: Attempt, guesser: Guesser) -> Iterator[Candidate]:
    """Candidates whose joined inputs add up to what the layer wants."""
    for join in attempt.outcome.joins:
        if join.size == join.wanted:
            continue
        for sizes in _shares(attempt, join, guesser):
            yield from _resized(attempt, join, sizes)
        yield from _left_out(attempt, join)
        yield from _added(attempt, join, guesser, join.wanted - join.size)


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
    free = [place for place in _inputs(join) if not _is_settled(attempt, place)]
    for places in ([place] for place in free or _inputs(join)):
        yield from _equally(join, places)
    if len(free) > 1:
        yield from _equally(join, free)


def _equally(join: Join, places: list[Place]) -> Iterator[Sizes]:
    """What the others leave, in equal parts."""
    times = sum(place in places for place, _ in join.pieces)
    rest, odd = divmod(join.wanted - sum(size for place, size in join.pieces if place not in places), times)
    if rest > 0 and not odd:
        yield dict.fromkeys(places, rest)


def _is_settled(attempt: Attempt, place: Place) -> bool:
    """A layer that takes the input by itself has of it what it wants."""
    spec = attempt.candidate.tensors().get(place)
    return spec is not None and bool(pinned_dims(place, spec, attempt.outcome))


def _left_out(attempt: Attempt, join: Join) -> Iterator[Candidate]:
    """None for an input that the layer has no room for: `cat([a, b] if c is None else [a, b, c], 1)`."""
    tensors = attempt.candidate.tensors()
    for place in _inputs(join):
        if len(place) == 1 and place in tensors and join.wanted == join.size - _held(join, place):
            where = join.layer or "the first layer"
            rule = f"{place_name(place)}: None, as {where} wants {join.wanted}, which the others are already"
            yield attempt.candidate.replaced({place: LiteralSpec(None)}, rule)


def traded(attempt: Attempt, guesser: Guesser) -> Iterator[Candidate]:
    """One part with the size that is wanted of it elsewhere, and the rest for another part, or for one more input."""
    wanted = {
        place: (miss.wanted, miss.got)
        for miss in reversed(mismatches(attempt.outcome))
        if miss.direct and len(miss.places) == 1
        for place in miss.places
    }
    for place, (size, got) in wanted.items():
        for join in attempt.outcome.joins:
            if join.size != join.wanted or (place, got) not in join.pieces:
                continue
            rest = sum(other == place for other, _ in join.pieces) * (got - size)
            others = [other for other in _inputs(join) if other != place]
            for other in others:
                before = next(size for piece, size in join.pieces if piece == other)
                yield from _resized(attempt, join, {place: size, other: before + rest})
            if len(others) > 1:
                left = rest + sum(before for piece, before in join.pieces if piece in others)
                share, odd = divmod(left, sum(piece in others for piece, _ in join.pieces))
                if share > 0 and not odd:
                    yield from _resized(attempt, join, {place: size, **dict.fromkeys(others, share)})
            if not others and rest > 0:
                for smaller in _resized(attempt, join, {place: size}):
                    yield from _added(Attempt(smaller, attempt.outcome), join, guesser, rest)


def _held(join: Join, place: Place) -> int:
    return sum(size for other, size in join.pieces if other == place)


def _added(attempt: Attempt, join: Join, guesser: Guesser, rest: int) -> Iterator[Candidate]:
    """Each optional input that was not given, where the layer wants so much more than all that were joined."""
    given = {name for name, _ in attempt.candidate.entries}
    signature = guesser.signature
    absent = [n for n in signature.optional if n not in given and signature.parameters[n].default is None]
    for name in absent[:_MOST_ADDED] if rest > 0 else ():
        where = join.layer or "the first layer"
        spec, _ = guesser.guess(name)
        if isinstance(spec, TensorSpec) and not spec.integral and spec.shape:
            spec = replace(spec, shape=(*(spec.shape[:-1] or spec.shape), rest))
        rule = f"{name}: {where} wants {join.wanted}, {rest} more than it got"
        yield attempt.candidate.replaced({(name,): spec}, rule)


def _by_channels(attempt: Attempt, join: Join, guesser: Guesser) -> Sizes | None:
    """Of one image and one other input, or of inputs that are called images and one that is not: each image has the
    channels that the model states, else three."""
    tensors, places = attempt.candidate.tensors(), _inputs(join)
    images = [place for place in places if place in tensors and _is_image(tensors[place])]
    if len(images) > 1:
        images = [place for place in images if name_class(str(place[-1])) == "image"]
    others = [place for place in places if place not in images]
    if len(others) != 1 or not images or len(join.pieces) < 2:
        return None
    held = sum(size for place, size in join.pieces if place is None)
    n_images = sum(place in images for place, _ in join.pieces)
    n_others = sum(place in others for place, _ in join.pieces)
    for channels in (guesser.stated(CHANNELS), 3):  # the first layer may state what all have together
        rest, odd = divmod(join.wanted - held - n_images * (channels or join.wanted), n_others)
        if rest > 0 and not odd:
            return {**dict.fromkeys(images, channels or 3), others[0]: rest}
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
