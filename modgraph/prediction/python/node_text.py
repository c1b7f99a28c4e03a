"""What is said of a piece of code where it is not decided: its text, and why."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from modgraph.prediction.domain.values import Choice, Unknown, Value
from modgraph.source import nodes
from modgraph.source.code_text import code_text
from modgraph.source.reached import telling

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


@lru_cache(maxsize=4096)
def source_of(node: nodes.Node) -> str:
    """Its source text, shortened, for reasons."""
    text = code_text(node)
    return text if len(text) <= 60 else text[:57] + "..."


def reason_of_test(machine: Machine, node: nodes.Expression, value: Value) -> str:
    """Why a branch is not decided."""
    because = value.reason if isinstance(value, (Unknown, Choice)) else "its truth is not known"
    if because.startswith("depends on `"):
        return because
    place = value.where if isinstance(value, (Unknown, Choice)) else None
    return telling(f"depends on `{source_of(node)}`: {because}", because, where=place)
