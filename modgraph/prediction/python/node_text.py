"""What is said of a piece of code where it is not decided: its text, and why."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from modgraph.prediction.domain.objects import TensorObject
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


@lru_cache(maxsize=4096)
@lru_cache(maxsize=4096)
def condition_of(node: nodes.Node) -> str:
    """The text of a test as the condition of what is done behind it: whole, for who reads it as Python."""
    text = code_text(node)
    return text if len(text) <= _MAX_CONDITION else text[: _MAX_CONDITION - 3] + "..."


_MAX_CONDITION = 1_000


def reason_of_test(machine: Machine, node: nodes.Expression, value: Value) -> str:
    """Why a branch is not decided."""
    because = value.reason if isinstance(value, (Unknown, Choice)) else why_not_true(machine, value)
    if because.startswith("depends on `"):
        return because
    place = value.where if isinstance(value, (Unknown, Choice)) else None
    return telling(f"depends on `{source_of(node)}`: {because}", because, where=place)


def why_not_true(machine: Machine, value: Value) -> str:
    """Why it is not known whether something that is there counts as true."""
    if machine.state.find(value, TensorObject) is not None:
        return "the numbers in a tensor decide whether that is true"
    return "it is not known whether that is true"


@lru_cache(maxsize=4096)
def asked_by(statement: nodes.Node) -> str:
    """The tests of a statement, else what it evaluates, as "`n > 4` or `n > 2`"."""
    found: list[str] = []
    current: nodes.Node | None = statement
    while isinstance(current, (nodes.If, nodes.While)):
        found.append(source_of(current.test))
        current = nodes.following(current) if isinstance(current, nodes.If) else None
    if not found:
        part = getattr(statement, "test", None) or getattr(statement, "iter", None) or getattr(statement, "value", None)
        found = [source_of(part if isinstance(part, nodes.Node) else statement)]
    return " or ".join(f"`{each}`" for each in found)
