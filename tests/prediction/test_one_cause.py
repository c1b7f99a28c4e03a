"""What is left open for one cause is one problem, with all the places that depend on it."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

from modgraph.graph.model import Graph, Problem
from modgraph.graph.serial import from_json, to_json
from modgraph.prediction.answer import tree

Predict = Callable[..., Graph]

STAGES = """
    import os
    from not_there_of_tests import Conv, Norm
    WIDTH = int(os.environ["WIDTH"])

    class Stage(nn.Module):
        def __init__(self, width, ratio):
            super().__init__()
            self.conv = Conv(width)
            self.norm = Norm(width)
            self.up = nn.Linear(WIDTH, 3)
            self.down = nn.Linear(int(width * ratio), 3)

    class Net(nn.Module):
        def __init__(self, width, ratio, deep):
            super().__init__()
            self.one = Stage(width, ratio)
            self.two = Stage(2 * width, ratio)
            if deep:
                self.three = nn.ReLU()
            self.head = nn.Linear(WIDTH, 2)
    """


def of_cause(graph: Graph, text: str) -> Problem:
    (found,) = (problem for problem in graph.problems if text in problem.message)
    return found


def test_each_cause_is_told_once(predict_source: Predict) -> None:
    graph = predict_source(STAGES)
    assert [problem.headline for problem in graph.problems] == [
        "No module named 'not_there_of_tests'; 4 places depend on it",
        "what os.environ gives is known only when it runs; 3 places depend on it",
        "arguments 'width', 'deep' are not given: Net(width, ratio, deep); 3 places depend on it",
    ]


def test_a_place_says_what_is_not_known_there_and_where(predict_source: Predict) -> None:
    graph = predict_source(STAGES)
    places = of_cause(graph, "not given").places
    assert [(place.module, place.message) for place in places] == [
        ("one.down", "the shape of parameter 'weight' of 'one.down' is not known"),
        ("two.down", "the shape of parameter 'weight' of 'two.down' is not known"),
        ("", "the model may have a child 'three': depends on `deep`"),
    ]
    lines = {node.path: node.source.line for node in graph.modules if node.source is not None}
    assert [place.line for place in places][:2] == [lines["one.down"], lines["two.down"]]


def test_one_place_is_told_as_it_stands(predict_source: Predict) -> None:
    (problem,) = predict_source("""
        class Net(nn.Module):
            def __init__(self, width, depth):
                super().__init__()
                self.a = nn.Linear(width, 2)
                print(depth)
        """).problems
    assert problem.places == ()
    assert problem.headline == (
        "the shape of parameter 'weight' of 'a' is not known: argument 'width' is not given: Net(width, depth)"
    )


@pytest.mark.parametrize(
    "text",
    [
        STAGES,
        """
        import random
        class Net(nn.Module):
            def __init__(self, block, n):
                super().__init__()
                self.parts = nn.ModuleList([block(n) for _ in range(random.randint(1, 3))])
                self.kept = [block(n)]
                self.rnn = nn.LSTM(n, n, n)
                setattr(self, n, block(1))
        """,
    ],
)
def test_joining_changes_nothing_that_is_claimed(
    predict_source: Predict, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    joined = predict_source(text)
    monkeypatch.setattr(tree, "told_once", lambda found, paths: [each.problem for each in found])
    apart = predict_source(text)
    assert joined.modules == apart.modules
    assert joined.model == apart.model
    assert len(joined.problems) < len(apart.problems)

    def facts(problem: Problem) -> tuple[object, ...]:
        return problem.module, problem.file, problem.line, problem.message.partition(": ")[0]

    assert sorted(map(facts, joined.open_places), key=str) == sorted(map(facts, apart.problems), key=str)


def test_what_the_interpretation_lacks_is_told_as_what_stands_in_the_source(predict_source: Predict) -> None:
    (problem,) = predict_source("""
        from pathlib import Path
        LINES = Path("sizes.txt").read_text().split()
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(int(LINES[0]), 2)
                self.b = nn.Linear(2, int(LINES[1]))
        """).problems
    assert problem.message == 'what `Path("sizes.txt").read_text().split()` gives is not known without running it'
    assert problem.line is not None
    assert [place.line for place in problem.places] == [problem.line + 4, problem.line + 5]


LINES = {
    "nn.Linear(int(statistics.mean([2, 4])), 4)": "statistics.mean([2, 4])",
    "nn.Linear(zlib.crc32(b'a)') + 1, 4)": "zlib.crc32(b'a)')",
    "nn.Linear(mean(sizes)[0].real, 4)": "mean(sizes)[0].real",
    "nn.Linear(max(mean([1]), mean([2])), 4)": "self.fc = nn.Linear(max(mean([1]), mean([2])), 4)",
    "nn.Linear(average([2]), 4)": "self.fc = nn.Linear(average([2]), 4)",
    "nn.Linear(statistics.mean([\n    2]), 4)": "self.fc = nn.Linear(statistics.mean([",
}
"""What a child is, and what of it is told: one call that ends in the line, else the line."""


@pytest.mark.parametrize("made", LINES)
def test_the_call_at_fault_is_told_where_it_is_one(predict_source: Predict, made: str) -> None:
    text = f"""
import statistics, zlib
from statistics import mean, mean as average
sizes = [1]
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = {made}
"""
    (problem,) = predict_source(text).problems
    assert f"what `{LINES[made]}` gives is not known without running it" in problem.message


def test_what_torch_leaves_open_has_the_line_that_makes_the_layer(predict_source: Predict) -> None:
    graph = predict_source("""
        class Net(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.rnn = nn.LSTM(4, 4, n)
        """)
    lines = {node.path: node.source.line for node in graph.modules if node.source is not None}
    (problem,) = graph.problems
    assert {place.file for place in problem.places} == {graph.modules[0].source.file}
    assert {place.line for place in problem.places if place.module == "rnn"} <= {lines["rnn"], lines[""] + 1}


def test_places_are_written_and_read_again(predict_source: Predict) -> None:
    graph = predict_source(dedent(STAGES))
    read = from_json(to_json(graph))
    assert read.problems == graph.problems
    assert any(problem.places for problem in read.problems)


def test_one_cause_in_the_items_of_a_plain_list_is_told_of_the_model(predict_source: Predict) -> None:
    graph = predict_source(
        """
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(2, 2)

            while True:
                if undefined:
                    late = nn.Linear(2, 2)
                break

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = [Block() for _ in range(3)]

            def forward(self, x):
                for block in self.blocks:
                    x = block(x)
                return x
        """
    )
    problem = next(each for each in graph.problems if len(each.places) > 1)
    assert problem.module == ""
    assert {place.module for place in problem.places} == {"blocks[0]", "blocks[1]", "blocks[2]"}
