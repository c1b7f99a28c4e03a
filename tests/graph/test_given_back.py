"""Where a tensor that was given back comes from: what is certainly predicted, among those that the run names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from modgraph.graph.given_back import settled
from modgraph.graph.model import Condition, Edge, TensorInfo


def edge(producer: str, *or_from: str, to: str = "op:0", name: str = "args[0]", certain: bool = True) -> Edge:
    condition = None if certain else Condition(text="flag")
    tensor = TensorInfo(name=name, shape=(2,), dtype="float32")
    return Edge(producer=producer, consumer=to, tensor=tensor, or_from=or_from, certain=certain, condition=condition)


OPEN = edge("call:2", "call:1")


@pytest.mark.parametrize(
    ("observed", "predicted", "found"),
    [
        ([OPEN], [edge("call:1")], [edge("call:1")]),
        ([OPEN], [edge("call:2")], [edge("call:2")]),
        ([OPEN], [], [OPEN]),
        ([OPEN], [edge("call:1", certain=False)], [OPEN]),
        ([OPEN], [edge("call:1"), edge("call:2", certain=False)], [OPEN]),
        ([OPEN], [edge("call:7")], [OPEN]),
        ([OPEN], [edge("call:1", to="op:1")], [OPEN]),
        ([OPEN], [edge("call:1"), edge("call:2", name="args[1]")], [edge("call:1"), edge("call:2", name="args[1]")]),
        ([OPEN], [edge("call:1"), edge("call:1", name="args[1]")], [edge("call:1")]),
        ([edge("call:2")], [edge("call:1")], [edge("call:2")]),
        ([edge("call:5"), OPEN], [edge("call:1")], [edge("call:5"), edge("call:1")]),
    ],
)
def test_the_certain_prediction_says_which(observed, predicted, found):
    assert settled(observed, predicted) == found


H = edge("call:1", name="args[1]")
"""Another tensor of a giver of the first."""


@pytest.mark.parametrize(
    ("observed", "predicted", "found"),
    [
        ([OPEN, H], [edge("call:2"), H], [edge("call:2"), H]),
        ([H, OPEN], [H, edge("call:1")], [H, edge("call:1")]),
        ([OPEN, H], [H], [OPEN, H]),
        ([OPEN, H], [edge("call:1")], [OPEN, H]),
        ([OPEN, H], [H, edge("call:2", certain=False)], [OPEN, H]),
        ([OPEN, H], [edge("call:2"), edge("call:1", name="args[2]")], [edge("call:2"), H]),
        ([OPEN], [edge("call:2", name="args[1]")], [OPEN]),
        ([OPEN], [edge("call:1"), edge("call:7")], [OPEN]),
        ([OPEN], [replace(edge("call:1"), tensor=TensorInfo(name="args[0]", shape=(3,), dtype="float32"))], [OPEN]),
        (
            [OPEN],
            [edge("call:2"), replace(H, tensor=TensorInfo(name="args[1]", shape=(3,), dtype="float32"))],
            [edge("call:2")],
        ),
    ],
)
def test_another_tensor_of_the_same_giver_says_nothing(observed, predicted, found):
    assert settled(observed, predicted) == found


CUT = replace(edge("call:9", "call:8", "call:1"), or_others=True)


@pytest.mark.parametrize(
    ("predicted", "found"),
    [
        ([edge("call:1")], [edge("call:1")]),
        ([edge("call:9")], [edge("call:9")]),
        ([edge("call:5")], [CUT]),
        ([edge("call:1"), edge("call:5")], [CUT]),
        ([edge("call:1", name="args[1]")], [CUT]),
        ([], [CUT]),
    ],
)
def test_where_not_all_are_named_all_that_is_predicted_has_to_be(predicted, found):
    assert settled([CUT], predicted) == found
