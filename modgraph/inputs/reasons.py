"""Why an inferred input is as it is: of all that led to it, what still holds of the inputs that are taken."""

from __future__ import annotations

from modgraph.inputs.probe import Outcome
from modgraph.inputs.specs import Candidate, GroupSpec, Place, Reason, Spec, TensorSpec, place_name


def told(candidate: Candidate, outcome: Outcome, name: str, *, tried: bool) -> tuple[str, ...]:
    """The reasons of one input, in the order in which they came up.

    Args:
        outcome: of the run of this candidate, which shows what receives each input.
        tried: there was such a run.
    """
    texts: dict[str, None] = {}
    layered: set[Place] = set()
    for reason in candidate.rules:
        for place, before, after in reason.changes:
            if place[0] != name:
                continue
            if reason.layer is not None and tried:
                if place not in layered:  # which layer it is need not be said twice
                    text = _of_layer(reason, reason.layer, place, outcome)
                    texts.update(dict.fromkeys(text))
                    layered.update([place] if text else [])
            elif _stands(before, after, candidate.at(place)):
                texts[reason.text if reason.layer is None else f"{reason.text}, not tried"] = None
    return tuple(texts)


def _of_layer(reason: Reason, layer: str, place: Place, outcome: Outcome) -> list[str]:
    """The text where that layer is the first to receive the input; else the one that is, if that wants it as it is."""
    use = outcome.uses.get(place)
    if use is not None and use.layer == layer:
        return [reason.text]
    if use is not None and use.wish.met_by(use.seen.shape, use.seen.integral):
        return [received_by(place, use.layer)]
    return []


def received_by(place: Place, layer: str) -> str:
    """That an input is as the layer wants it which receives it first."""
    return f"{place_name(place)}: {layer or 'the first layer'} receives it"


def _stands(before: Spec | None, after: Spec, final: Spec | None) -> bool:
    """Something that this step changed is still as it made it."""
    if isinstance(after, TensorSpec):
        if not isinstance(final, TensorSpec):
            return False
        if not isinstance(before, TensorSpec):
            return len(after.shape) == len(final.shape) and after.integral == final.integral
        return _keeps_a_change(before, after, final)
    if isinstance(after, GroupSpec):
        return isinstance(final, GroupSpec) and final.kind == after.kind and len(final.items) >= len(after.items)
    return after == final


def _keeps_a_change(before: TensorSpec, after: TensorSpec, final: TensorSpec) -> bool:
    ndims = [len(spec.shape) for spec in (before, after, final)]
    if ndims[1] == ndims[2] != ndims[0]:
        return True
    if ndims[0] == ndims[1] == ndims[2]:
        sizes = zip(before.shape, after.shape, final.shape, strict=True)
        if any(was != made == kept for was, made, kept in sizes):
            return True
    fields = ("dtype", "low", "high", "row", "is_array")
    return any(getattr(before, each) != getattr(after, each) == getattr(final, each) for each in fields)
