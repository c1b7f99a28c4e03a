"""Other sizes of an input after a run that failed: of the shapes that met, of the message, or simply larger ones."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace

from modgraph.inputs.mismatch import Mismatch, mismatches, numbers_said, shared_sum
from modgraph.inputs.pinned import keeps_pinned
from modgraph.inputs.probe import Attempt
from modgraph.inputs.specs import Candidate, Place, Spec, TensorSpec, place_name
from modgraph.tracing.basics.failures import said


def resized(shape: tuple[int, ...], wanted: int, got: int) -> list[tuple[int, ...]]:
    """Shapes in which what was `got` may become `wanted`: a size itself, a flattened image, a multiple, a sum."""
    options: list[tuple[int, ...]] = []

    def with_size(dim: int, size: int) -> None:
        if 0 < size <= 1 << 20:
            options.append((*shape[:dim], size, *shape[dim + 1 :]))

    inner = [*range(len(shape) - 1, 0, -1), 0] if shape else []
    if len(shape) == 3 and shape[:2] == (wanted, got):
        options.append((got, wanted, shape[2]))  # steps first
    for dim in inner:
        if shape[dim] == got:
            options += [_swapped(shape, dim, other) for other in inner if other and dim and shape[other] == wanted]
    for dim in inner:
        if shape[dim] == got:
            with_size(dim, wanted)
    if len(shape) > 2 and math.prod(shape[1:]) == got:
        options += flattened_images(shape, wanted)
        options.append((shape[0], wanted))
    for dim in inner:
        if (
            shape[dim] > 1
            and got % shape[dim] == 0
            and got not in (0, shape[dim])
            and wanted % (got // shape[dim]) == 0
        ):
            with_size(dim, wanted // (got // shape[dim]))
    for dim in inner[:-1] or inner:
        if shape[dim] != got:
            with_size(dim, shape[dim] + wanted - got)
    return list(dict.fromkeys(option for option in options if option != shape))


def _swapped(shape: tuple[int, ...], one: int, other: int) -> tuple[int, ...]:
    sizes = list(shape)
    sizes[one], sizes[other] = sizes[other], sizes[one]
    return tuple(sizes)


def flattened_images(shape: tuple[int, ...], elements: int) -> list[tuple[int, ...]]:
    """Square images (or equal steps) of this many elements: with the channels of `shape`, 1, or 3."""
    options: list[tuple[int, ...]] = []
    for channels in dict.fromkeys((1, 3, shape[1])):
        side = math.isqrt(elements // channels) if elements % channels == 0 else 0
        if len(shape) == 4 and side and side * side * channels == elements:
            options.append((shape[0], channels, side, side))
    if len(shape) == 3 and elements % shape[1] == 0:
        options.append((shape[0], shape[1], elements // shape[1]))
    if len(shape) == 3 and math.isqrt(elements) ** 2 == elements:
        options.append((shape[0], math.isqrt(elements), math.isqrt(elements)))
    return options


_WAVE_STEPS = 16000


def waveforms(attempt: Attempt, batch: int) -> Iterator[Candidate]:
    """Samples as (batch, steps), where a Fourier transform of frames failed on them."""
    failing = {
        place
        for failure in attempt.outcome.failures
        for seen in failure.seen
        if failure.name == "stft" and seen.origin is not None and seen.origin.direct
        for place in seen.origin.places
    }
    changes: dict[Place, Spec] = {
        place: replace(spec, shape=(batch, _WAVE_STEPS))
        for place, spec in attempt.candidate.tensors().items()
        if place in failing and not spec.integral
    }
    if changes:
        yield attempt.candidate.replaced(changes, "a second of sound, as it is cut into frames")


def shapes_said(attempt: Attempt) -> Iterator[Candidate]:
    """A whole shape that the message names beside the one that the input has."""
    shapes = [
        tuple(int(size) for size in re.findall(r"\d+", text))
        for text in re.findall(r"[(\[]((?:\d+, ?)*\d+),?[)\]]", said(attempt.outcome.error)[:1000])
    ]
    for place, spec in attempt.candidate.tensors().items():
        if spec.shape not in shapes:
            continue
        for shape in dict.fromkeys(shapes):
            if shape != spec.shape and len(shape) == len(spec.shape) and all(shape):
                rule = f"{place_name(place)}: the shape that the message names"
                yield attempt.candidate.replaced({place: replace(spec, shape=shape)}, rule)


def sizes(attempt: Attempt) -> Iterator[Candidate]:
    """A size that differed from another at the place of failure, put right in one input or in all alike."""
    tensors = attempt.candidate.tensors()
    for miss in sorted(mismatches(attempt.outcome), key=lambda miss: not miss.direct):
        places = [place for place in tensors if place in miss.places]
        rule = f"{miss.where} wants {miss.wanted} instead of {miss.got}"
        shared = shared_sum(tensors, miss) if miss.direct else {}
        if shared:
            yield attempt.candidate.replaced(shared, rule)
        options = {place: _options(attempt, place, miss) for place in places}
        for place in places:
            limit = 6 if miss.direct else 4
            for shape in options[place][:limit]:
                yield attempt.candidate.replaced({place: replace(tensors[place], shape=shape)}, rule)
        alike = [place for place in places if options[place]]
        if len(alike) > 1:
            changes = {place: replace(tensors[place], shape=options[place][0]) for place in alike}
            yield attempt.candidate.replaced(dict(changes), rule)
        yield from _like_another(attempt, miss)


def _options(attempt: Attempt, place: Place, miss: Mismatch) -> list[tuple[int, ...]]:
    spec = attempt.candidate.tensors()[place]
    shapes = resized(spec.shape, miss.wanted, miss.got)
    return [shape for shape in shapes if keeps_pinned(place, spec, shape, attempt.outcome)]


def _like_another(attempt: Attempt, miss: Mismatch) -> Iterator[Candidate]:
    """Inputs that meet must often be alike: the shape of one for the other."""
    tensors = attempt.candidate.tensors()
    for place in tensors:
        for other, spec in tensors.items():
            if place in miss.places and other not in miss.places and spec.dtype == tensors[place].dtype:
                rule = f"{place_name(place)}: like {place_name(other)}"
                yield attempt.candidate.replaced({place: replace(tensors[place], shape=spec.shape)}, rule)


_TOO_SMALL = re.compile(
    r"[Kk]ernel size can't be greater|too small|[Pp]adding size should be less|out of range|out of bounds|"
    r"smaller than|must be greater|negative dimension|should be greater|non-?zero|larger than|at least|"
    r"Expected more than 1 value|selected number"
)


def larger(attempt: Attempt) -> Iterator[Candidate]:
    """More steps, points or pixels, where there were too few."""
    if not _TOO_SMALL.search(said(attempt.outcome.error)):
        return
    for place, spec in _suspects_first(attempt):
        for factor in (4, 8, 16, 64, 256):
            for dim in range(len(spec.shape) - 1, 0, -1):
                size = spec.shape[dim] * factor
                if spec.shape[dim] >= 4 and size <= 65536 and not (len(spec.shape) >= 4 and dim == 1):
                    shape = (*spec.shape[:dim], size, *spec.shape[dim + 1 :])
                    if len(spec.shape) >= 4:
                        shape = (*spec.shape[:2], *(side * factor for side in spec.shape[2:]))
                    rule = f"{place_name(place)}: larger"
                    yield attempt.candidate.replaced({place: replace(spec, shape=shape)}, rule)


def _suspects_first(attempt: Attempt) -> list[tuple[Place, TensorSpec]]:
    """Every input: before all others those that the failing function was given, and floats before indices."""
    failing = {
        place
        for failure in attempt.outcome.failures[:1]
        for seen in failure.seen
        for place in (seen.origin.places if seen.origin else ())
    }
    tensors = attempt.candidate.tensors().items()
    return sorted(tensors, key=lambda entry: (entry[0] not in failing, entry[1].integral))


def numbers(attempt: Attempt) -> Iterator[Candidate]:
    """A size that the message or the failing line names in place of the one it has."""
    if attempt.outcome.error is None:
        return
    named = numbers_said(attempt.outcome.error)
    for wanted in [number for number in named if 0 < number <= 65536][:8]:
        for place, spec in _suspects_first(attempt):
            rule = f"{place_name(place)}: the error names {wanted}"
            sized = [dim for dim in range(1, len(spec.shape)) if spec.shape[dim] in named]
            if len(spec.shape) == 5 and wanted >= 4:
                frames = (*spec.shape[:3], wanted, wanted)
                yield attempt.candidate.replaced({place: replace(spec, shape=frames)}, rule)
            if len(spec.shape) >= 4 and wanted >= 4:
                square = (*spec.shape[:2], *[wanted] * (len(spec.shape) - 2))
                yield attempt.candidate.replaced({place: replace(spec, shape=square)}, rule)
            for dim in sized or range(len(spec.shape) - 1, 0, -1):
                if spec.shape[dim] != wanted:
                    shape = (*spec.shape[:dim], wanted, *spec.shape[dim + 1 :])
                    yield attempt.candidate.replaced({place: replace(spec, shape=shape)}, rule)
                    up = -(-spec.shape[dim] // wanted) * wanted
                    if up not in (spec.shape[dim], wanted):
                        shape = (*spec.shape[:dim], up, *spec.shape[dim + 1 :])
                        yield attempt.candidate.replaced({place: replace(spec, shape=shape)}, rule)
