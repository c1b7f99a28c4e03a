"""What classes are asked for, and arithmetic of whole numbers in arrays: as libraries of blocks compute their paddings."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch

_QUESTIONS = [
    "torch.jit.isinstance(torch.zeros(1), torch.Tensor)",
    "torch.jit.isinstance(None, torch.Tensor)",
    "isinstance(torch.Tensor, collections.abc.Container)",
    "isinstance(int, collections.abc.Container)",
    "isinstance([1], collections.abc.Container)",
    "isinstance(3, collections.abc.Container)",
    "typing.get_origin(torch.Tensor) is None",
    "typing.get_origin(nn.Linear) is None",
    "keyword.iskeyword('lambda')",
    "keyword.iskeyword('model')",
]


@pytest.mark.parametrize("question", _QUESTIONS)
def test_questions(agrees: Callable[[str], Graph], question: str) -> None:
    agrees(
        f"""
        import collections.abc, keyword, typing
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(2 if {question} else 3, 1)
        """
    )


_NUMBERS = [
    "int(((np.atleast_1d((3, 5)) - 1) / 2 * np.atleast_1d(2))[1])",
    "int(np.ceil(np.array([5, 7]) / 4)[1])",
    "int((7 / np.array([2, 1]))[0])",
    "int((np.array([5.0, 6.0], dtype=np.float32) / 2)[1])",
    "sum(int(p) for p in (np.atleast_1d(7) - 1) / 2) + 1",
]


@pytest.mark.parametrize("number", _NUMBERS)
def test_quotients_of_whole_numbers(agrees: Callable[[str], Graph], number: str) -> None:
    pytest.importorskip("numpy")
    agrees(
        f"""
        import numpy as np
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear({number}, 1)
        """
    )
