"""A loop of which nobody can tell when it ends is one turn that may repeat; one with a known number of turns has them
all; one that nothing ends is told as that. Real runs are the judge of what is claimed."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

import modgraph
from modgraph.graph.model import Graph
from tests.prediction.forward.judged import PRELUDE, predicted, wrong

NET = """
import itertools

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = (nn.Linear(3, 3) for _ in range(3))
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(48))

    def twice(self, x):
        while True:
            x = self.b(x)
            if x.max() < 1000:
                return x

    def forward(self, x):
"""

OPEN = {
    "break": """
        while True:
            x = self.a(x).tanh()
            if x.norm() < 100:
                break
        return self.c(x)
    """,
    "break after some turns that are certain": """
        n = 0
        while True:
            x = self.a(x).tanh()
            n += 1
            if n > 3 and x.norm() < 100:
                break
        return self.c(x)
    """,
    "return": """
        while True:
            x = self.a(x)
            if (x < 1000).all():
                return self.c(x)
    """,
    "exception": """
        try:
            while True:
                x = self.a(x)
                if x.sum() < 1000:
                    raise StopIteration
        except StopIteration:
            return self.c(x)
    """,
    "inside another": """
        while True:
            x = self.twice(self.a(x))
            if x.sum() < 1000:
                return self.c(x)
            elif x.sum() > 100000:
                raise ValueError("diverged")
    """,
    "count": """
        for _ in itertools.count():
            x = self.a(x)
            if x.sum() < 1000:
                break
        return self.c(x)
    """,
    "many numbers": """
        for i in range(1000):
            x = self.a(x) + i
            if x.sum() < 100000:
                break
        return self.c(x)
    """,
    "bound that is far": """
        n = 0
        while True:
            x = self.a(x)
            n += 1
            if x.sum() < 1000 or n >= 50000:
                break
        return self.c(x)
    """,
}


def net(body: str) -> str:
    return NET + textwrap.indent(textwrap.dedent(body), " " * 8)


def called(graph: Graph, module: str) -> list[bool]:
    """Whether each call of it is certain."""
    return [call.certain for call in graph.calls if call.module == module]


@pytest.mark.parametrize("name", OPEN)
def test_a_loop_of_unknown_count_is_one_turn_that_may_repeat(name: str, tmp_path: Path) -> None:
    graph = predicted(tmp_path, net(OPEN[name]), ["2x3"])
    assert not graph.problems
    calls = called(graph, "a")
    first = [certain for certain in calls if certain]
    assert calls == [True] * len(first) + [False] * (len(calls) - len(first))
    assert 1 <= len(calls) - len(first) <= 2
    assert called(graph, "c")
    assert wrong(tmp_path, net(OPEN[name])) == []


def test_what_a_later_turn_gives_reaches_the_next_turn_and_what_comes_after(tmp_path: Path) -> None:
    graph = predicted(tmp_path, net(OPEN["break"]), ["2x3"])
    repeated = next(call for call in graph.calls if call.module == "a" and not call.certain)
    after = next(call for call in graph.calls if call.module == "c")
    given = {edge.consumer for edge in graph.edges if edge.producer == f"call:{repeated.index}"}
    tanh = next(each for each in graph.operations if each.name.endswith("tanh") and not each.certain)
    assert given == {tanh.id}
    assert (tanh.id, f"call:{after.index}") in {(edge.producer, edge.consumer) for edge in graph.edges}


def test_a_condition_is_that_of_the_last_turn(tmp_path: Path) -> None:
    graph = predicted(tmp_path, net(OPEN["return"]), ["2x3"])
    texts = [call.condition.text for call in graph.calls if call.condition is not None and call.module == "c"]
    assert set(texts) == {"(x < 1000).all()"}


@pytest.mark.parametrize("turns", [1, 33, 70, 300])
@pytest.mark.parametrize("test", ["while True", "while n < 1000"])
def test_a_known_number_of_turns_is_told_turn_by_turn(test: str, turns: int, tmp_path: Path) -> None:
    body = f"""
        n = 0
        {test}:
            x = self.a(x)
            n += 1
            if n == {turns}:
                break
        return self.c(x)
    """
    graph = predicted(tmp_path, net(body), ["2x3"])
    assert called(graph, "a") == [True] * turns
    assert wrong(tmp_path, net(body)) == []


def test_a_loop_that_calls_another_module_in_each_turn_has_them_all(tmp_path: Path) -> None:
    body = """
        for i in range(len(self.layers)):
            x = self.layers[i](x)
            if x.mean() > 1000:
                return self.c(x)
        return self.c(x)
    """
    graph = predicted(tmp_path, net(body), ["2x3"])
    assert [len(called(graph, f"layers.{i}")) for i in range(48)] == [1] * 48
    assert wrong(tmp_path, net(body)) == []


@pytest.mark.parametrize(
    "loop",
    [
        "while True:\n    x = self.a(x)",
        "n = 0\nwhile n < 4:\n    x = self.a(x)",
        "while 1:\n    x = self.a(x).relu()\n",
    ],
)
def test_a_loop_that_nothing_ends_is_said_to_never_end(loop: str, tmp_path: Path) -> None:
    text = net(f"{loop}\nreturn self.c(x)")
    graph = predicted(tmp_path, text, ["2x3"])
    lines = (PRELUDE + text).splitlines()
    line = max(number for number, each in enumerate(lines, 1) if each.strip() == loop.splitlines()[-2])
    assert [(each.message, each.line) for each in graph.problems] == [("this loop never ends", line)]
    assert called(graph, "a") == [True, False]
    assert not called(graph, "c")
    without = modgraph.predict(f"{tmp_path / 'net.py'}:Net")
    assert without.complete
    assert without.model.no_calls is not None
    assert (without.model.no_calls.message, without.model.no_calls.line) == ("this loop never ends", line)


STEPS = """
    def steps(self, x):
        while True:
            x = self.a(x)
            yield x
"""


def test_a_generator_that_goes_on_is_followed_for_some_turns(tmp_path: Path) -> None:
    body = """
        for y in self.steps(x):
            if y.sum() < 1000:
                break
        return self.c(y)
    """
    text = net(body) + STEPS
    graph = predicted(tmp_path, text, ["2x3"])
    assert len(called(graph, "a")) < 50
    said = "how many items are taken from a generator is not known"
    assert [each.message.removeprefix("what is called here is not known: ") for each in graph.problems] == [said]
    assert wrong(tmp_path, text) == []


def test_a_loop_whose_end_is_not_seen_at_once_is_not_said_to_never_end(tmp_path: Path) -> None:
    body = """
        n = 1
        while n < 2 ** 12:
            x = self.a(x)
            n += 1 if n < 100 else n
        return self.c(x)
    """
    graph = predicted(tmp_path, net(body), ["2x3"])
    assert not graph.problems
    assert wrong(tmp_path, net(body)) == []
