"""How many arguments torch takes, asked of torch with arguments of every kind, and that a prediction says so."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from modgraph.prediction.knowledge.tensors.demanded_counts import COUNTS, OF_METHODS

torch = pytest.importorskip("torch")
MOST = 5
X = torch.ones(2, 2)
ARGUMENTS = [0, X, X.long(), (0, 1), 1.0, X > 0]
BOTH = [(name, counts) for counts, names in COUNTS.items() for name in names.split()]
ALONE = [(name, counts) for counts, names in OF_METHODS.items() for name in names.split()]
CALLED = [(torch, "torch", *each) for each in BOTH] + [(torch.Tensor, "x", *each) for each in BOTH + ALONE]
Counts = tuple[int, int | None]


def refused(counts: Counts) -> list[int]:
    """Numbers of arguments, the tensor one of them, that are too few or too many."""
    least, most = counts
    return [number for number in range(1, MOST + 1) if number < least or (most is not None and number > most)]


@pytest.mark.parametrize(("owner", "written", "name", "counts"), CALLED)
def test_torch_refuses_other_numbers(owner: Any, written: str, name: str, counts: Counts) -> None:
    for number in refused(counts):
        for given in itertools.product(ARGUMENTS[: 6 if number < MOST else 3], repeat=number - 1):
            with pytest.raises(TypeError):
                getattr(owner, name)(X, *given)


@pytest.mark.parametrize(("owner", "written", "name", "counts"), CALLED)
def test_predictions_refuse_them(owner: Any, written: str, name: str, counts: Counts, evaluated: Any) -> None:
    for number in refused(counts):
        before = ["x"] if written == "torch" else []
        given = ", ".join([*before, *["0"] * (number - 1)])
        program = f"import torch\nx = torch.ones(2, 2)\ntry:\n    {written}.{name}({given})\n    RESULT = 'runs'\n"
        assert evaluated(f"{program}except TypeError:\n    RESULT = 'refused'\n") == "refused"
