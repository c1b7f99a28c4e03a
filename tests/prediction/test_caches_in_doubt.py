"""Caches that were asked with arguments that are not known: what they certainly hold stays."""

from __future__ import annotations

from collections.abc import Callable

from modgraph.graph.model import Graph

SOURCE = """
    import functools, os

    @functools.lru_cache
    def divisible(v, divisor=8):
        new = max(divisor, int(v + divisor / 2) // divisor * divisor)
        if new < 0.9 * v:
            new += divisor
        return new

    @functools.lru_cache(maxsize=None)
    def layer(n, device):
        return nn.Linear(n, n)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            width, device = float(os.environ.get("WIDTH", "1")), os.environ.get("DEVICE")
            self.first = layer(5, "cpu")
            self.open = nn.Linear(divisible(16 * width, 8), 2)
            self.known = nn.Linear(divisible(16, 8), divisible(32))
            self.three = layer(3, device)
            self.four = layer(4, device)
            self.again = layer(5, "cpu")
            self.doubtful = layer(3, "cpu")
"""


def test_what_a_cache_certainly_holds_stays(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(SOURCE)
    shapes = {node.path: [each.shape for each in node.parameters] for node in graph.modules}
    assert shapes["known"] == [(32, 16), (32,)]
    assert shapes["three"][0] == (3, 3)
    assert shapes["four"][0] == (4, 4)
    assert shapes["first"][0] == (5, 5)
    assert not any("'again'" in each.message for each in graph.problems)
    assert not shapes.get("doubtful")


def test_a_number_that_may_be_remembered_as_another_kind_is_not_known(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(
        """
        import functools, os

        @functools.lru_cache
        def twice(v, n):
            return v * n

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                twice(float(os.environ["WIDTH"]), 2)
                self.a = nn.Linear(twice(4, 2), 1)
                self.b = nn.Linear(twice(4, 3), 1)
        """
    )
    shapes = {node.path: [each.shape for each in node.parameters] for node in graph.modules}
    assert shapes.get("a") != [(1, 8), (1,)]
    assert shapes["b"] == [(1, 12), (1,)]
