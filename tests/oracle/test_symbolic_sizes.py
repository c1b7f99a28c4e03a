"""A part of the sweep over models whose sizes are left open: at random sizes torch gives what was predicted."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

pytestmark = pytest.mark.needs_torch
torch = pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).parent))
try:
    import symbolic_models
    import symbolic_sizes
finally:
    sys.path.pop(0)

from modgraph.prediction import predict_graph  # noqa: E402
from modgraph.source.targets import parse_target  # noqa: E402

FILE = Path(symbolic_models.__file__)
NOT_YET = {"Patches"}
"""A layer of torch's own that calls others is not gone into."""
CONSTRAINTS = {
    "Unet": {"h % 4 == 0", "w % 4 == 0"},
    "Language": {"length <= 48"},
    "Squares": {"h == w", "h % 2 == 0"},
    "Mixer": {"h >= 3", "w >= 3"},
}
"""Of some models: what they say themselves."""


@pytest.mark.parametrize("name", [name for name in symbolic_models.MODELS if name not in NOT_YET])
def test_every_shape_is_that_of_torch_at_sizes_that_meet_the_constraints(name: str) -> None:
    row = symbolic_sizes.row_of(f"{FILE}:{name}", n_sizes=6)
    assert (row.verdict, row.wrong, row.unknown, row.refused, row.other_calls, row.example) == ("", 0, 0, 0, 0, "")
    assert row.n_sizes == 6
    assert row.right >= 6 * 3
    assert CONSTRAINTS.get(name, set()) <= {*row.constraints, *row.followed}
    assert row.broken_taken == 0
    # What is said to be needed is, except where other sizes take another way to the same shapes.
    assert row.outside_differs == 0


@pytest.mark.parametrize("wrong", ["shape", "call", "constraint"])
def test_the_judge_sees_what_is_wrong(wrong: str) -> None:
    target = f"{FILE}:Unet"
    graph = predict_graph(parse_target(target), inputs=())
    calls = list(graph.calls)
    if wrong == "shape":
        last = calls[-1]
        (tensor,) = last.outputs
        calls[-1] = replace(last, outputs=(replace(tensor, shape=("batch", 2, "h + 1", "w")),))
    elif wrong == "call":
        calls[2], calls[3] = replace(calls[2], module=calls[3].module), replace(calls[3], module=calls[2].module)
    inputs = graph.model.inputs
    if wrong == "constraint":
        inputs = tuple(replace(each, constraints=(), followed=()) for each in inputs)
    graph = replace(graph, calls=tuple(calls), model=replace(graph.model, inputs=inputs))
    row = symbolic_sizes.judge(target, symbolic_sizes.build(target), graph, 6, 0)
    assert (row.wrong, row.other_calls, row.refused) != (0, 0, 0)
    assert row.example


def test_constraints_are_broken_by_sizes_that_torch_refuses() -> None:
    """Half of the sizes that break a constraint, at least, cannot be run: no constraint is there for nothing."""
    for name in ("Unet", "Language", "Waves", "Mixer", "Squares"):
        row = symbolic_sizes.row_of(f"{FILE}:{name}", n_sizes=8)
        assert row.outside_refused + row.broken_refused >= 4, (name, row)
