"""Repairs of inputs that are several tensors: the items of a list, tuple or dict, changed together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from modgraph.tracing.input_probe import JOINS, Outcome
from modgraph.tracing.input_repair import Attempt
from modgraph.tracing.input_specs import Candidate, GroupSpec, Place, Spec, TensorSpec
from modgraph.tracing.input_wishes import wish_of


def group_repairs(attempt: Attempt) -> Iterator[Candidate]:
    """The same candidate with the items of one group as `forward` seems to want them."""
    for name, entry in attempt.candidate.entries:
        if isinstance(entry, GroupSpec):
            items: dict[Place, TensorSpec] = {
                (name, key): item for key, item in entry.items if isinstance(item, TensorSpec)
            }
            yield from _single_items(attempt, name, entry.kind, items)
            yield from _equal_rows(attempt, name, items)


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
