"""What is said of a piece of code where it is not decided: its text, and why."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import libcst as cst

from modgraph.prediction.domain.values import Choice, Unknown, Value
from modgraph.source.reached import telling

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


@lru_cache(maxsize=4096)
def source_of(node: cst.CSTNode) -> str:
    """Its source text, shortened, for reasons."""
    text = " ".join(cst.Module([]).code_for_node(node).split())
    return text if len(text) <= 60 else text[:57] + "..."


def reason_of_test(machine: Machine, node: cst.BaseExpression, value: Value) -> str:
    """Why a branch is not decided."""
    because = value.reason if isinstance(value, (Unknown, Choice)) else "its truth is not known"
    if because.startswith("depends on `"):
        return because
    return telling(f"depends on `{source_of(node)}`: {because}", because)
