"""What the summary and pictures say of weights that were not there when the model was built."""

from __future__ import annotations

from collections.abc import Sequence

from modgraph.graph.model import MissingWeights

_MOST = 2
"""Weights that a text names; the graph has all."""


def weights_line(missing: Sequence[MissingWeights]) -> str:
    """ "not there, so that the model is ...: http://..., net.py:12 (URLError: ...)"; "" where none are missing."""
    if not missing:
        return ""
    named = ", ".join(map(_named, missing[:_MOST]))
    more = f" and {len(missing) - _MOST} more" if len(missing) > _MOST else ""
    return f"not there, so the model is built without them, and its values are random: {named}{more}"


def _named(weights: MissingWeights) -> str:
    at = f", {weights.file}:{weights.line}" if weights.file is not None and weights.line is not None else ""
    why = f" ({weights.error})" if weights.error is not None else ""
    return f"{weights.source}{at}{why}"
