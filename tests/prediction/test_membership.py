"""`in` with values that a text, a range or an Enum does not hold, Python as the judge."""

from __future__ import annotations

from collections.abc import Callable

from modgraph.graph.model import Graph


def test_a_text_holds_texts_alone(agrees: Callable[[str], Graph]) -> None:
    agrees(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                for k, each in enumerate((nn.ReLU, ("a",), 3, None, len, [1])):
                    try:
                        found = each in "relu"
                    except TypeError:
                        self.add_module(f"l{k}", nn.Linear(1, 1))
        """
    )


def test_a_number_holds_nothing(agrees: Callable[[str], Graph]) -> None:
    agrees(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                try:
                    found = nn.ReLU in 3
                except TypeError:
                    self.a = nn.Linear(1, 1)
                self.b = nn.Linear(1, 1) if nn.ReLU in range(3) or (1,) in range(3) else nn.ReLU()
        """
    )


def test_what_says_that_it_equals_a_number_may_be_in_a_range(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(
        """
        class K:
            def __eq__(self, other):
                return other == 2
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                if K() in range(3):
                    self.a = nn.Linear(1, 1)
        """
    )
    assert not graph.complete
