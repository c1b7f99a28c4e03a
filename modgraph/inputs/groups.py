"""Repairs of several tensors at once: the items of a list, tuple or dict, inputs that hold steps, or counts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from torch import nn

from modgraph.inputs.guesses import Guesser, name_class
from modgraph.inputs.probe import JOINS, Attempt, Outcome
from modgraph.inputs.specs import Candidate, GroupSpec, Place, Spec, TensorSpec
from modgraph.inputs.wishes import wish_of
from modgraph.tracing.basics.failures import said

_OF_SIZES = re.compile(r"[Zz]ero|division|modulo|is invalid for input of size|must be positive|non-empty")


def group_repairs(attempt: Attempt, guesser: Guesser) -> Iterator[Candidate]:
    """The same candidate with the items of one group as `forward` seems to want them."""
    for name, entry in attempt.candidate.entries:
        if isinstance(entry, GroupSpec):
            items: dict[Place, TensorSpec] = {
                (name, key): item for key, item in entry.items if isinstance(item, TensorSpec)
            }
            yield from _images(attempt, name, entry.kind, items, guesser)
            yield from _single_items(attempt, name, entry.kind, items)
            yield from _equal_rows(attempt, name, items)


def steps_first(attempt: Attempt) -> Iterator[Candidate]:
    """Indices as (steps, batch), where attention failed that takes the steps first."""
    layers = [failure.layer for failure in attempt.outcome.failures]
    if not any(isinstance(layer, nn.MultiheadAttention) and not layer.batch_first for layer in layers):
        return
    changes: dict[Place, Spec] = {
        place: replace(spec, shape=spec.shape[::-1])
        for place, spec in attempt.candidate.tensors().items()
        if spec.integral and len(spec.shape) == 2 and spec.shape[0] < spec.shape[1]
    }
    if changes:
        yield attempt.candidate.replaced(changes, "steps first, as attention takes them")


def larger_numbers(attempt: Attempt, number: int) -> Iterator[Candidate]:
    """This number in place of ones, where integers that are no indices were reckoned with in vain."""
    error = attempt.outcome.error
    if not isinstance(error, ZeroDivisionError) and not _OF_SIZES.search(said(error)):
        return
    changes: dict[Place, Spec] = {
        place: replace(spec, low=number, high=number + 1)
        for place, spec in attempt.candidate.tensors().items()
        if spec.integral and not spec.row and spec.low < number and place not in attempt.outcome.bounds
    }
    if changes:
        names = ", ".join(str(place[-1]) for place in changes)
        yield attempt.candidate.replaced(changes, f"{names}: {number} each, as ones do not do")


def _images(
    attempt: Attempt, name: str, kind: str, items: dict[Place, TensorSpec], guesser: Guesser
) -> Iterator[Candidate]:
    """A list of images, each by itself: without a batch dimension."""
    if kind == "list" and items and name_class(name.removesuffix("s")) == "image" and attempt.outcome.error is not None:
        changes: dict[Place, Spec] = {place: TensorSpec(guesser.shape(4)[1:], guesser.dtype) for place in items}
        yield attempt.candidate.replaced(changes, f"{name}: each an image by itself")


def _single_items(attempt: Attempt, name: str, kind: str, items: dict[Place, TensorSpec]) -> Iterator[Candidate]:
    """The items of a list without a batch dimension, where `forward` stacks them into a batch itself."""
    if kind in ("list", "tuple") and items and _has_one_too_many(attempt.outcome, set(items)):
        changes: dict[Place, Spec] = {place: replace(spec, shape=spec.shape[1:]) for place, spec in items.items()}
        yield attempt.candidate.replaced(changes, f"{name}: stacked into a batch by forward")


def _has_one_too_many(outcome: Outcome, places: set[Place]) -> bool:
    """A layer failed on a tensor that is made of these inputs and has one dimension more than it takes."""
    for failure in outcome.failures:
        for seen in failure.seen if failure.layer is not None else ():
            wish = wish_of(failure.layer, seen.position) if failure.layer is not None else None
            if wish is None or wish.ndim is None or seen.origin is None or len(seen.shape) != wish.ndim + 1:
                continue
            if seen.origin.places <= places:
                return True
    return False


def _equal_rows(attempt: Attempt, name: str, items: dict[Place, TensorSpec]) -> Iterator[Candidate]:
    """One index per row in every item, where some have several and all are joined."""
    joined = attempt.outcome.failures and attempt.outcome.failures[0].name in JOINS
    indices = {place: spec for place, spec in items.items() if spec.integral and spec.shape}
    if joined and len({len(spec.shape) for spec in indices.values()}) > 1:
        changes: dict[Place, Spec] = {place: replace(spec, shape=spec.shape[:1]) for place, spec in indices.items()}
        yield attempt.candidate.replaced(changes, f"{name}: one index per row, as its items are joined")
