"""torch.utils._pytree: functions that are called for each leaf of nested containers.

Its source asks a registry that importing torch fills, which is not followed.
"""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import Value

_CALLING = ("tree_map", "tree_map_", "tree_map_only", "tree_map_only_", "tree_all", "tree_any")
_LISTING = ("tree_flatten", "tree_leaves", "tree_iter", "tree_structure", "tree_unflatten")


@models(*(f"torch.utils._pytree.{name}" for name in (*_CALLING, *_LISTING)))
def of_tree(arguments: Arguments, machine: Machine) -> Value:
    """What is a leaf is not known; functions that are given are called any number of times."""
    why = machine.unknown(f"{arguments.function} is not followed")
    machine.expose([*arguments.positional, *arguments.keywords.values()], why)
    return why
