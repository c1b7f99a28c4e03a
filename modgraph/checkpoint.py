"""A model's state dict against a checkpoint: what is missing, what is unexpected, what has another shape.

Only names and shapes are compared, never values. Two general rules say where in the file the state dict is: of several
tables of tensors in it (`{"model": {...}, "ema": {...}}`) the one with most keys of the model; and a prefix of its keys
is taken off (`module.` of a wrapped model) where more than twice as many keys then meet the model's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from modgraph.graph.model import CheckpointComparison, Graph, Shape, ShapeMismatch
from modgraph.graph.state_dict import StateEntry, state_dict_of
from modgraph.source.checkpoints import Checkpoint, Tensors

_MAX_PREFIX_PARTS = 4


def compare(graph: Graph, checkpoint: Checkpoint) -> CheckpointComparison:
    """The state dict that `graph` foretells (or saw) against the one in a checkpoint."""
    state = state_dict_of(graph)
    wanted = {entry.key: entry for entry in state.entries}
    entry, prefix = _best_table(checkpoint.tables, wanted)
    found = _without(prefix, checkpoint.tables.get(entry, {}))
    mismatched = [
        ShapeMismatch(key=key, model=shape, checkpoint=found[key])
        for key, one in wanted.items()
        if key in found and (shape := one.shape) is not None and not _fits(shape, found[key])
    ]
    absent = [one for key, one in wanted.items() if key not in found]
    tied = _held_under_another_name(wanted.values(), absent, found)
    beyond = [key for key in found if key not in wanted]
    return CheckpointComparison(
        file=checkpoint.file,
        entry=entry,
        prefix=prefix,
        matching=sum(key in found for key in wanted) - len(mismatched),
        missing=tuple(one.key for one in absent if one.certain and one.key not in tied),
        unexpected=tuple(key for key in beyond if not state.may_hold(key)),
        mismatched=tuple(mismatched),
        tied=tuple(tied),
        undecided=(
            *(one.key for one in absent if not one.certain and one.key not in tied),
            *(key for key in beyond if state.may_hold(key)),
        ),
    )


def _fits(wanted: Shape, found: tuple[int, ...]) -> bool:
    return len(wanted) == len(found) and all(
        size == real or not isinstance(size, int) for size, real in zip(wanted, found, strict=True)
    )


def _held_under_another_name(entries: Iterable[StateEntry], absent: list[StateEntry], found: Tensors) -> list[str]:
    """Those absent whose tensor is there: formats that write each tensor once leave its other names out."""
    held = {entry.first for entry in entries if entry.key in found}
    return [entry.key for entry in absent if entry.first in held]


def _best_table(tables: Mapping[str, Tensors], wanted: Mapping[str, object]) -> tuple[str, str]:
    """The entry whose keys meet the model's most often (the larger, then the first, of equals), and the prefix."""
    best, chosen = (-1, -1), ("", "")
    for entry, tensors in tables.items():
        prefix = _wrapper_prefix(tensors, wanted)
        rank = (_meeting(tensors, prefix, wanted), len(tensors))
        if rank > best:
            best, chosen = rank, (entry, prefix)
    return chosen


def _wrapper_prefix(tensors: Tensors, wanted: Mapping[str, object]) -> str:
    """The prefix without which the keys meet the model's; "" where they do so as they are."""
    as_they_are = _meeting(tensors, "", wanted)
    prefix, meeting, longer = "", as_they_are, ""
    for _ in range(_MAX_PREFIX_PARTS):
        gains: dict[str, tuple[int, int]] = {}
        for key in tensors:
            first, dot, rest = key[len(longer) :].partition(".") if key.startswith(longer) else ("", "", "")
            if dot:
                gain, count = gains.get(first, (0, 0))
                gains[first] = (gain + (rest in wanted) - (key in wanted), count + 1)
        if not gains:
            break
        # Of equal ones that with most keys: a wrapper within a wrapper meets nothing before both are taken off.
        best = max(gains, key=lambda first: gains[first])
        longer = f"{longer}{best}."
        if as_they_are + gains[best][0] > 2 * meeting:
            prefix, meeting = longer, as_they_are + gains[best][0]
    return prefix


def _meeting(tensors: Tensors, prefix: str, wanted: Mapping[str, object]) -> int:
    return sum(key.removeprefix(prefix) in wanted for key in tensors)


def _without(prefix: str, tensors: Tensors) -> dict[str, tuple[int, ...]]:
    return {key.removeprefix(prefix): shape for key, shape in tensors.items()}
