"""A generator under @contextmanager that is entered by an ExitStack: it runs to its `yield`, and on behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from modgraph.graph.model import Graph

HEAD = """
N = [1]


@contextlib.contextmanager
def scope(n):
    N.append(n)
    try:
        yield n
    except ValueError:
        N.append(n)
    N.append(n)
"""
IN_A_STACK = """
import contextlib
from torch import nn
{head}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        with contextlib.ExitStack() as stack:
            stack.enter_context(scope("a"))
            self.a = nn.Linear(len(N), 1)
        self.b = nn.Linear(len(N), 1)
"""


def test_it_is_followed(predict_source: Callable[..., Graph]):
    assert predict_source(IN_A_STACK.format(head=HEAD)).complete


@pytest.mark.needs_torch
def test_it_runs_as_in_python(claims_that_fail: Callable[..., list[Any]]):
    body = """
        with contextlib.ExitStack() as stack:
            stack.enter_context(scope("a"))
            self.a = nn.Linear(len(N), 1)
            if flag:
                raise ValueError
        self.b = nn.Linear(len(N), 1)
        """
    assert claims_that_fail(body, HEAD) == []
    assert claims_that_fail(body.replace("if flag", "if True"), HEAD) == []
