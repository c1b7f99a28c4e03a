"""Which linear layers to quantize, and which to leave: heads, tied ones, sizes that kernels do not take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from modgraph.graph.suggestions import SuggestedEntry, Suggestion
from modgraph.names import last_name
from modgraph.suggesting.blocks import Blocks
from modgraph.suggesting.layers import Layers, as_known
from modgraph.suggesting.patterns import covering, listed, starred, starred_apart

TILE = 16
"""Both sizes of a weight are multiples of it, for kernels of 8 bits."""
GROUP = 64
"""The usual number of weights that share a scale; the size that goes in is a multiple of it."""


def suggest_quantize(layers: Layers, blocks: Blocks) -> Suggestion:
    """The linear layers in the blocks as regular expressions, and those that are left, each with the reason."""
    linear = [path for path in layers.own if layers.is_torch_linear(path)]
    reasons = {path: reason for path in linear if (reason := _reason(path, layers, blocks))}
    taken = [path for path in linear if path not in reasons]
    entries = [*_entries("layer", {path: _group_note(path, layers) for path in taken}, linear, layers)]
    entries += _entries("skip", reasons, linear, layers)
    entries += _others(layers)
    paste = []
    if taken:
        paste = [listed("quantize", covering(taken, linear)), listed("skip", covering(reasons, linear))]
    notes = [] if taken else [f"no linear layer is proposed{as_known(layers)}"]
    return Suggestion(
        kind="quantize", paste="\n".join(paste), entries=tuple(entries), notes=tuple(notes), unknown=layers.unknown
    )


def _reason(path: str, layers: Layers, blocks: Blocks) -> str:
    """Why a linear layer is left as it is; "" where it is not."""
    if layers.is_read_by_attention(path):
        return "its weight is read by MultiheadAttention, and it is never called"
    if path in layers.tied:
        return "its weight is tied"
    weight = next(
        (each for each in layers.own[path].parameters if each.shape is not None and len(each.shape) == 2), None
    )
    if weight is None or weight.shape is None:
        return "the size of its weight is not known"
    odd = [str(size) for size in weight.shape if isinstance(size, int) and size % TILE]
    if odd:
        return f"{', '.join(odd)} is no multiple of {TILE}"
    if not all(isinstance(size, int) for size in weight.shape):
        return "the size of its weight is not known"
    if path not in blocks.unit_of:
        return "outside of the blocks: a head, or a projection that occurs once" if blocks.series else ""
    return ""


def _group_note(path: str, layers: Layers) -> str:
    shapes = [each.shape for each in layers.own[path].parameters if each.shape is not None and len(each.shape) == 2]
    size = shapes[0][1]
    return f"{size} in is no multiple of {GROUP}" if isinstance(size, int) and size % GROUP else ""


def _entries(role: str, notes: dict[str, str], every: list[str], layers: Layers) -> Iterable[SuggestedEntry]:
    """Those of one reason and one place in the blocks together."""
    groups: dict[tuple[str, str], list[str]] = {}
    for path, note in notes.items():
        groups.setdefault((starred([path])[0], note), []).append(path)
    rows = Counter(place for place, _ in groups)
    for (place, note), paths in groups.items():
        yield SuggestedEntry(
            role=role,
            name="|".join(covering(paths, every)),
            count=len(paths),
            parameters=layers.total(paths),
            class_name=layers.own[paths[0]].class_name,
            where=starred(paths) if rows[place] == 1 else (starred_apart(paths),),
            note=note,
        )


def _others(layers: Layers) -> Iterable[SuggestedEntry]:
    """Other modules that hold weights, by class."""
    groups: dict[str, list[str]] = {}
    for path, node in layers.own.items():
        if not layers.is_torch_linear(path) and layers.elements[path] != 0:
            groups.setdefault(node.class_name or "", []).append(path)
    for name, paths in groups.items():
        yield SuggestedEntry(
            role="left",
            name=last_name(name) or "class not known",
            count=len(paths),
            parameters=layers.total(paths),
            class_name=name or None,
            where=starred(paths),
            note="no linear layer" if layers.role(paths[0]) != "unknown" else "what it does is not known",
        )
