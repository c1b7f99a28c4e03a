"""Control flow that depends on what nobody can tell: what is claimed is what every run gives."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings

from modgraph.prediction.domain import budget

pytestmark = pytest.mark.needs_torch

_runs = runpy.run_path(str(Path(__file__).with_name("undecided_runs.py")))
outcomes, false_claims = _runs["outcomes"], _runs["false_claims"]
undecided_flows, TOPICS = _runs["undecided_flows"], _runs["TOPICS"]


_few = settings(
    max_examples=int(os.environ.get("MODGRAPH_EXAMPLES", "40")),
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


_judged: dict[str, list[str]] = {}
"""What is false of a text: some come several times, in other words of what makes them."""


@pytest.fixture(autouse=True)
def _lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop in a loop in a loop goes to the limit of work, with nothing known of it long before."""
    monkeypatch.setattr(budget, "MAX_WORK", budget.MAX_WORK // 8)


def holds(text: str, folder: Path) -> None:
    if text not in _judged:
        runs = outcomes(text)
        assume(runs)
        _judged[text] = false_claims(text, folder, runs)
    assert _judged[text] == []


@_few
@given(text=undecided_flows())
def test_nothing_that_depends_on_the_way_is_claimed(text: str, tmp_path: Path) -> None:
    holds(text, tmp_path)


@_few
@given(text=undecided_flows(tuple(TOPICS)))
def test_nothing_that_depends_on_more_of_the_language_is_claimed(text: str, tmp_path: Path) -> None:
    holds(text, tmp_path)
