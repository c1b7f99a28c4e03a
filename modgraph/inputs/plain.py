"""Repairs that the failing function of torch tells by itself: a number in place of a tensor, a mask that is broadcast,
as many dimensions as are subscripted, or as a convolution takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from modgraph.inputs.guesses import STEPS, Guesser, name_class
from modgraph.inputs.probe import Attempt, Failure, Seen
from modgraph.inputs.specs import Candidate, LiteralSpec, Place, place_name
from modgraph.tracing.basics.failures import said

_AS_NUMBER = frozenset({"__bool__", "__int__", "__float__", "__index__", "__complex__", "item"})
_TAKES_SIZES = frozenset(
    {"view", "reshape", "expand", "repeat", "tile", "unflatten", "new_zeros", "new_ones", "new_full"}
)
_BROADCAST = frozenset({"mul", "__mul__", "__rmul__", "add", "__add__", "__radd__", "sub", "__sub__", "where"})
_MASKED = frozenset({"masked_fill", "masked_fill_"})


def told_by_function(attempt: Attempt, guesser: Guesser) -> Iterator[Candidate]:
    """What the innermost function that failed says of the tensors it got."""
    if attempt.outcome.failures and attempt.outcome.failures[0].layer is None:
        failure = attempt.outcome.failures[0]
        yield from _numbers(attempt, failure)
        yield from _masks(attempt, failure)
        yield from _subscripted(attempt, failure, guesser)
        yield from _raised(attempt, failure, guesser)


def _numbers(attempt: Attempt, failure: Failure) -> Iterator[Candidate]:
    """`if scale != 1`, `range(n)`, `x.view(-1, n)`: a number was expected."""
    if failure.name in _AS_NUMBER:
        suspects = failure.seen[:1]
    elif failure.name in _TAKES_SIZES and "Tensor" in said(attempt.outcome.error):
        suspects = failure.seen[1:]
    else:
        return
    tensors = attempt.candidate.tensors()
    for seen in suspects:
        for place in sorted(seen.origin.places if seen.origin else (), key=str):
            if place in tensors and len(place) == 1:
                for number in (1, STEPS):
                    yield attempt.candidate.replaced({place: LiteralSpec(number)}, f"{place_name(place)}: a number")


def _masks(attempt: Attempt, failure: Failure) -> Iterator[Candidate]:
    """A mask for all channels alike: one, where it has neither one nor as many as what it is laid over."""
    if failure.name not in _BROADCAST | _MASKED or len(failure.seen) < 2:
        return
    tensors = attempt.candidate.tensors()
    for seen, other in ((failure.seen[0], failure.seen[1]), (failure.seen[1], failure.seen[0])):
        place = _only_place(seen)
        if place is None or place not in tensors or name_class(str(place[-1])) != "mask":
            continue
        spec = tensors[place]
        if spec.shape != seen.shape or len(spec.shape) < 3 or len(other.shape) < len(spec.shape):
            continue
        over = other.shape[len(other.shape) - len(spec.shape) :]
        inner = [size if size == below else 1 for size, below in zip(spec.shape[:-1], over[:-1], strict=True)]
        shape = (*inner, over[-1])
        if shape != spec.shape:
            yield attempt.candidate.replaced({place: replace(spec, shape=shape)}, f"{place_name(place)}: laid over all")


def _subscripted(attempt: Attempt, failure: Failure, guesser: Guesser) -> Iterator[Candidate]:
    """`x[:, ::2, :, :]` and `x.transpose(2, 3)`: how many dimensions there must be."""
    place = _only_place(failure.seen[0]) if failure.seen else None
    tensors = attempt.candidate.tensors()
    if place is None or place not in tensors or guesser.has_images():
        return
    wanted = failure.subscripts if failure.name == "__getitem__" else _dimension_named(said(attempt.outcome.error))
    missing = wanted - len(failure.seen[0].shape)
    spec = tensors[place]
    if 0 < missing <= 3 and len(spec.shape) + missing <= 5 and spec.shape:
        shape = (spec.shape[0], *[STEPS] * missing, *spec.shape[1:])
        rule = f"{place_name(place)}: {wanted} dimensions are subscripted"
        yield attempt.candidate.replaced({place: replace(spec, shape=shape)}, rule)


def _raised(attempt: Attempt, failure: Failure, guesser: Guesser) -> Iterator[Candidate]:
    """An image, where a convolution was given one that lacked dimensions and was broadcast over those of another."""
    if not re.fullmatch(r"conv[123]d", failure.name) or len(failure.seen) < 2:
        return
    given, weight = failure.seen[0].shape, failure.seen[1].shape
    origin, tensors = failure.seen[0].origin, attempt.candidate.tensors()
    place = next(iter(origin.places)) if origin is not None and len(origin.places) == 1 else None
    if place is None or place not in tensors or not len(tensors[place].shape) < len(given) == len(weight):
        return
    shape = guesser.shape(len(given), {1: weight[1]})
    rule = f"{place_name(place)}: {failure.name} is given {len(given)} dimensions"
    yield attempt.candidate.replaced({place: replace(tensors[place], shape=shape)}, rule)


def _dimension_named(text: str) -> int:
    """One more than the dimension that does not exist; 0 where none is named."""
    named = re.search(r"Dimension out of range .*but got (-?\d+)", text)
    if named is None:
        return 0
    dim = int(named[1])
    return dim + 1 if dim >= 0 else -dim


def _only_place(seen: Seen) -> Place | None:
    if seen.origin is None or not seen.origin.direct or len(seen.origin.places) != 1:
        return None
    (place,) = seen.origin.places
    return place
