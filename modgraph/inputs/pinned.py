"""Sizes of inputs that are settled: the layer that received the input first has what it wants."""

from __future__ import annotations

from modgraph.inputs.probe import Outcome
from modgraph.inputs.specs import Place, TensorSpec


def pinned_dims(place: Place, spec: TensorSpec, outcome: Outcome) -> frozenset[int]:
    """Dimensions, counted from the front, of which another size would be refused where this one was not."""
    use = outcome.uses.get(place)
    if use is None or use.seen.origin is None or not use.wish.met_by(use.seen.shape, use.seen.integral):
        return frozenset()
    ndim = len(spec.shape)
    if use.seen.origin.same:
        return frozenset(dim % ndim for dim in use.wish.sizes if -ndim <= dim < ndim)
    if sorted(use.seen.shape) != sorted(spec.shape):
        return frozenset()  # a view or a join made its sizes
    # It was turned round on the way: the one dimension of that size is the one.
    found = [[dim for dim in range(ndim) if spec.shape[dim] == size] for size in use.wish.sizes.values()]
    return frozenset(dims[0] for dims in found if len(dims) == 1)


def keeps_pinned(place: Place, before: TensorSpec, shape: tuple[int, ...], outcome: Outcome) -> bool:
    """A shape that changes none of these."""
    pinned = pinned_dims(place, before, outcome)
    return len(shape) != len(before.shape) or all(shape[dim] == before.shape[dim] for dim in pinned)
