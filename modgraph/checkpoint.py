"""A model's state dict against a checkpoint: what is missing, what is unexpected, what has another shape.

Only names and shapes are compared, never values. Three general rules say where in the file the state dict is. Of
several tables of tensors (`{"model": {...}, "ema": {...}}`) it is the one with most keys of the model. Tables that
are called as children of the model are joined (`{"encoder": {...}, "decoder": {...}}`). And a prefix of its keys is
taken off (`module.` of a wrapped model) where more than twice as many keys then meet the model's, and most of all
that could. Where a key stands in the file with the prefix and without it, the one without is too many.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from modgraph.graph.model import CheckpointComparison, Graph, Shape, ShapeMismatch
from modgraph.graph.state_dict import StateEntry, state_dict_of
from modgraph.source.checkpoints import NOT_A_TENSOR, Checkpoint, Tensors

_MAX_PREFIX_PARTS = 4


def compare(graph: Graph, checkpoint: Checkpoint) -> CheckpointComparison:
    """The state dict that `graph` predicts (or saw) against the one in a checkpoint."""
    state = state_dict_of(graph)
    wanted = {entry.key: entry for entry in state.entries if entry.expected}
    tables, entry, prefix = best_table(checkpoint.tables, wanted)
    in_file, left_over = _without(prefix, tables.get(entry, {}))
    found = {key: tables[entry][name] for key, name in in_file.items()}
    differing = [one for key, one in wanted.items() if key in found and not _agree(one, found[key])]
    settled = [one.key for one in differing if not state.is_open(one.key)]
    absent = [one for key, one in wanted.items() if key not in found]
    tied = _held_under_another_name(wanted.values(), absent, found)
    beyond = [key for key in found if key not in wanted]
    return CheckpointComparison(
        file=checkpoint.file,
        entry=entry,
        prefix=prefix,
        matching=sum(key in found for key in wanted) - len(differing),
        missing=tuple(one.key for one in absent if one.certain and one.key not in tied),
        unexpected=(*(in_file[key] for key in beyond if not state.may_hold(key)), *left_over),
        mismatched=tuple(_mismatches(settled, wanted, found)),
        not_tensors=tuple(key for key in settled if found[key] == NOT_A_TENSOR),
        tied=tuple(tied),
        undecided=(
            *(one.key for one in absent if not one.certain and one.key not in tied),
            *(one.key for one in differing if state.is_open(one.key)),
            *(in_file[key] for key in beyond if state.may_hold(key)),
        ),
    )


def best_table(tables: Mapping[str, Tensors], wanted: Mapping[str, object]) -> tuple[Mapping[str, Tensors], str, str]:
    """Which state dict of a file is the model's: all that it may be, the entry of it, and the prefix of its keys.

    Args:
        tables: the state dicts by their entry.
        wanted: the keys of the model.
    """
    tables = {**tables, **_joined(tables, wanted)}
    return tables, *_best_table(tables, wanted)


def _without(prefix: str, keys: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """Key without the prefix -> key in the file; and those of the file that would stand for the same as another."""
    in_file: dict[str, str] = {}
    left_over: list[str] = []
    for name in keys:
        key = name.removeprefix(prefix)
        if key not in in_file:
            in_file[key] = name
        elif name == key:
            left_over.append(name)
        else:
            left_over.append(in_file[key])
            in_file[key] = name
    return in_file, left_over


def _agree(entry: StateEntry, found: tuple[int, ...] | str | None) -> bool:
    if entry.is_extra:
        return True
    if isinstance(found, str):
        return False
    return found is None or entry.shape is None or _fits(entry.shape, found)


def _mismatches(keys: Iterable[str], wanted: Mapping[str, StateEntry], found: Tensors) -> Iterator[ShapeMismatch]:
    for key in keys:
        shape, other = wanted[key].shape, found[key]
        if shape is not None and isinstance(other, tuple):
            yield ShapeMismatch(key=key, model=shape, checkpoint=other)


def _fits(wanted: Shape, found: tuple[int, ...]) -> bool:
    return len(wanted) == len(found) and all(
        size == real or not isinstance(size, int) for size, real in zip(wanted, found, strict=True)
    )


def _held_under_another_name(entries: Iterable[StateEntry], absent: list[StateEntry], found: Tensors) -> list[str]:
    """Those absent whose tensor is there: formats that write each tensor once leave its other names out."""
    held = {entry.first for entry in entries if entry.key in found}
    return [entry.key for entry in absent if entry.first in held]


def _joined(tables: Mapping[str, Tensors], wanted: Mapping[str, object]) -> dict[str, Tensors]:
    """Further tables: those beside each other whose names are those of the model's children, as one.

    Called "encoder + decoder", and with keys as they would be in the model: the way to them in the file.
    """
    beside: dict[str, list[tuple[str, str]]] = {}
    for entry in tables:
        above, _, name = entry.rpartition(".")
        if name and any(f"{name}.{key}" in wanted for key in tables[entry]):
            beside.setdefault(above, []).append((name, entry))
    found: dict[str, Tensors] = {}
    for above, parts in beside.items():
        called = " + ".join(name for name, _ in parts)
        joined = {f"{name}.{key}": shape for name, entry in parts for key, shape in tables[entry].items()}
        found[f"{above}.({called})" if above else called] = joined
    return {
        entry: table for entry, table in found.items() if entry not in tables or _gains(table, tables[entry], wanted)
    }


def _gains(joined: Tensors, alone: Tensors, wanted: Mapping[str, object]) -> bool:
    return _meeting(joined, "", wanted) > _meeting(alone, wrapper_prefix(alone, wanted), wanted)


def _best_table(tables: Mapping[str, Tensors], wanted: Mapping[str, object]) -> tuple[str, str]:
    """The entry whose keys meet the model's most often (the larger, then the first, of equals), and the prefix."""
    best, chosen = (-1, -1), ("", "")
    for entry, table in tables.items():
        tensors = {key: shape for key, shape in table.items() if shape != NOT_A_TENSOR}
        prefix = wrapper_prefix(tensors, wanted)
        rank = (_meeting(tensors, prefix, wanted), len(tensors))
        if rank > best:
            best, chosen = rank, (entry, prefix)
    return chosen


def wrapper_prefix(tensors: Tensors, wanted: Mapping[str, object]) -> str:
    """The prefix without which the keys meet the model's; "" where they do so as they are.

    One name in common is met by chance: most of the keys that could be met must be.
    """
    as_they_are = _meeting(tensors, "", wanted)
    prefix, meeting, longer = "", as_they_are, ""
    least = min(len(tensors), len(wanted)) / 2
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
        if as_they_are + gains[best][0] > max(2 * meeting, least):
            prefix, meeting = longer, as_they_are + gains[best][0]
    return prefix


def _meeting(tensors: Tensors, prefix: str, wanted: Mapping[str, object]) -> int:
    return sum(key.removeprefix(prefix) in wanted for key in tensors)
