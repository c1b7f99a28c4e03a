"""A generator under @contextmanager that is entered by an ExitStack: not followed, and said."""

from __future__ import annotations

from collections.abc import Callable

from modgraph.graph.model import Graph

HEAD = """
import contextlib
N = [1]
@contextlib.contextmanager
def scope(n):
    N.append(n)
    try:
        yield n
    except ValueError:
        pass
"""
IN_A_STACK = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        with contextlib.ExitStack() as stack:
            stack.enter_context(scope("a"))
            self.a = nn.Linear(len(N), 1)
"""


def test_it_is_said_that_it_is_not_followed(predict_source: Callable[..., Graph]):
    assert not predict_source(HEAD + IN_A_STACK).complete
