"""Branches and loops of `forward` that cannot be decided go both ways, each with its condition; torch runs either."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.export import render
from modgraph.graph.model import Graph
from modgraph.prediction.domain.conditions_told import all_of, negated, plain
from tests.prediction.forward.judged import predicted

PRELUDE = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = (nn.Linear(3, 3) for _ in range(3))

    def forward(self, x):
"""


def predict(folder: Path, body: str, inputs: Sequence[str] = ("2x3",)) -> Graph:
    file = folder / "net.py"
    file.write_text(PRELUDE + NET + textwrap.indent(textwrap.dedent(body), " " * 8), encoding="utf-8")
    return modgraph.predict(f"{file}:Net", inputs=list(inputs))


def conditions(graph: Graph) -> list[tuple[str, str | None]]:
    return [(call.module, call.condition.text if call.condition else None) for call in graph.calls[1:]]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if x.sum() > 0:\n    x = self.a(x)\nreturn self.b(x)", [("a", "x.sum() > 0"), ("b", None)]),
        (
            "if x.sum() > 0:\n    return self.a(x)\nreturn self.b(x)",
            [("a", "x.sum() > 0"), ("b", "not (x.sum() > 0)")],
        ),
        (
            "return self.a(x) if x.any() else self.b(x)",
            [("a", "x.any()"), ("b", "not x.any()")],
        ),
        (
            "if x.max() > 1:\n    x = self.a(x)\nelif x.min() < 0:\n    x = self.b(x)\nelse:\n    x = self.c(x)\nreturn x",
            [
                ("a", "x.max() > 1"),
                ("b", "not (x.max() > 1) and x.min() < 0"),
                ("c", "not (x.max() > 1) and not (x.min() < 0)"),
            ],
        ),
        ("x = self.a(x)\nwhile x.norm() > 1:\n    x = self.b(x) / 2\nreturn self.c(x)",
         [("a", None), ("b", "x.norm() > 1"), ("c", None)]),
        ("if x.sum() > 0:\n    y = self.a(x)\nelse:\n    y = self.a(x)\nreturn self.b(y)",
         [("a", "x.sum() > 0"), ("a", "not (x.sum() > 0)"), ("b", None)]),
        ("if x.sum() > 0:\n    raise ValueError\nreturn self.a(x)", [("a", None)]),
        ("assert x.sum() > 0\nreturn self.a(x)", [("a", None)]),
        ("try:\n    x = self.a(x)\nexcept ValueError:\n    x = self.b(x)\nreturn x", [("a", None)]),
    ],
)  # fmt: skip
def test_each_way_has_its_condition(body: str, expected: list[tuple[str, str | None]], tmp_path: Path):
    graph = predict(tmp_path, body)

    assert conditions(graph) == expected
    assert [call.certain for call in graph.calls[1:]] == [text is None for _, text in expected]
    assert all(call.outputs[0].shape == (2, 3) for call in graph.calls)


def test_edges_say_on_what_they_depend(tmp_path: Path):
    graph = predict(tmp_path, "if x.sum() > 0:\n    x = self.a(x)\nreturn self.b(x)")

    found = {(e.producer, e.consumer): e.condition.text if e.condition else None for e in graph.edges}
    assert found["input:x", "call:1"] == "x.sum() > 0"
    assert found["call:1", "call:2"] == "x.sum() > 0"
    assert found["input:x", "call:2"] == "not (x.sum() > 0)"
    assert found["call:2", "output:0"] is None


def test_what_is_not_known_ends_the_claim(tmp_path: Path):
    graph = predict(tmp_path, "import elsewhere\nx = self.a(x)\nx = elsewhere.run(self, x)\nreturn self.b(x)")

    assert [problem.stage for problem in graph.problems] == ["forward"]
    assert graph.problems[0].module == ""
    assert "elsewhere" in graph.problems[0].message
    lines = (tmp_path / "net.py").read_text("utf-8").splitlines()
    assert graph.problems[0].line is not None
    assert "elsewhere" in lines[graph.problems[0].line - 1]
    assert not graph.complete


@pytest.mark.needs_torch
def test_a_run_takes_one_of_the_ways(tmp_path: Path):
    body = "if x.sum() > 0:\n    return self.a(x)\nif x.max() > -9:\n    x = self.b(x)\nreturn self.c(x)"
    ways = {(m, text) for m, text in conditions(predict(tmp_path, body))}
    import torch

    namespace: dict[str, type[torch.nn.Module]] = {}
    exec((tmp_path / "net.py").read_text("utf-8"), namespace)
    for fill in (1.0, -1.0, -10.0):
        taken = {
            "x.sum() > 0": fill > 0,
            "not (x.sum() > 0)": fill <= 0,
            "not (x.sum() > 0) and x.max() > -9": -9 < fill <= 0,
        }
        assert called(namespace["Net"](), torch.full((2, 3), fill)) == [
            module for module, text in sorted(ways) if text is None or taken[text]
        ]


def called(net: Any, x: Any) -> list[str]:
    seen: list[str] = []
    for name, module in net.named_children():
        module.register_forward_hook(lambda *_, name=name: seen.append(name))
    net(x)
    return seen


@pytest.mark.parametrize("operator", ["and", "or"])
def test_nobody_asks_whether_the_last_operand_is_true(tmp_path: Path, operator: str):
    graph = predict(tmp_path, f"y = bool(x.sum() > 0) {operator} self.a(x)\nreturn self.b(x)")
    assert [(call.module, call.certain) for call in graph.calls[1:]] == [("a", False), ("b", True)]


@pytest.mark.needs_torch
@pytest.mark.parametrize("operator", ["and", "or"])
def test_the_last_operand_is_called_in_some_runs(tmp_path: Path, operator: str):
    predict(tmp_path, f"y = bool(x.sum() > 0) {operator} self.a(x)\nreturn self.b(x)")
    import torch

    namespace: dict[str, type[torch.nn.Module]] = {}
    exec((tmp_path / "net.py").read_text("utf-8"), namespace)
    ran = {tuple(called(namespace["Net"](), torch.full((2, 3), fill))) for fill in (1.0, -1.0)}
    assert ran == {("a", "b"), ("b",)}


@pytest.mark.parametrize(
    ("test", "other"),
    [
        *(("x", "not x"), ("x.any()", "not x.any()"), ("a.b(c).d", "not a.b(c).d"), ("x > 0", "not (x > 0)")),
        *(("f(g(x))", "not (f(g(x)))"), ("(a) or (b)", "not ((a) or (b))"), ("not x and y", "not (not x and y)")),
    ],
)
def test_not_of_a_condition_and_back(test: str, other: str) -> None:
    assert negated(test) == other
    assert negated(other) == test


class _Apart:
    """Neither less nor more than anything."""

    __lt__ = __gt__ = __le__ = __ge__ = lambda self, other: False


TOLD: list[tuple[str, bool, list[Any]]] = [
    ("x is None", True, [None, 0, ()]),
    ("x is not None", True, [None, 0, ()]),
    ("not (x is None)", True, [None, 0]),
    ("not not x", False, [None, 0, 3]),
    ("(x)", False, [0, 3]),
    ("x not in (1, 2)", True, [1, 3]),
    ("(x or None) is None", True, [None, 0, 3]),
    ("not (x == 3)", True, [3, 4, float("nan")]),
    ("x > 3", False, [2, 3, 4, float("nan"), _Apart()]),
    ("not (x <= 3)", True, [2, 3, 4, float("nan"), _Apart()]),
    ("len(x) > 2", True, ["ab", "abc"]),
    ("not (len(x) * 2 + 1 >= 5)", True, ["a", "ab", "abc"]),
    ("len(x) > 2.5", False, ["ab", "abc"]),
    ("1 < len(x) < 3", False, ["a", "ab", "abc"]),
    ("x or None", False, [0, 3]),
    ("not x and True", False, [0, 3]),
    ("(lambda: x)() is None", True, [None, 3]),
    ("(y := x) is None", True, [None, 3]),
    ("-len(x) <= -2", True, ["a", "ab", "abc"]),
]
"""A test, whether its contrary needs no `not`, and values."""


@pytest.mark.parametrize(("test", "is_plain", "values"), TOLD)
def test_the_contrary_is_told_in_few_words_and_is_it(test: str, is_plain: bool, values: list[Any]) -> None:
    told, same = negated(test), plain(test)
    assert is_plain is not told.startswith("not ")
    assert all(bool(eval(told, {"x": x})) is not bool(eval(test, {"x": x})) for x in values)
    assert all(bool(eval(same, {"x": x})) is bool(eval(test, {"x": x})) for x in values)


def test_what_several_tests_say_is_said_once() -> None:
    assert all_of(["x is not None", "not (x is None)"]) == "x is not None"
    assert all_of(["x is not None and y", "y", "a or b"]) == "x is not None and y and (a or b)"
    assert all_of(["not (a or b)", "c if d else e"]) == "not (a or b) and (c if d else e)"


CHOSEN = [
    "{True: self.a, False: self.b}.get(bool(x.sum() > 0))",
    "{0: self.a, 1: self.b}.get(int(x.argmax()), self.b)",
    "getattr(self, 'ab'[int(x.sum() > 0)])",
    "list(self.children())[int(x.sum() > 0)]",
    "[self.a, self.b].pop(int(x.sum() > 0))",
]


@pytest.mark.parametrize("chosen", CHOSEN)
def test_where_calls_are_not_known_no_module_is_said_to_be_never_called(chosen: str, tmp_path: Path) -> None:
    text = f"""
class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(4))

    def forward(self, x):
        return x * self.w

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.last = Part(), Part(), Part()

    def forward(self, x):
        part = {chosen}
        return self.last(part(x))
"""
    graph = predicted(tmp_path, text, ["x=2x4"])
    assert "never called" not in render(graph, "text")


HELD = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        held = []
        held += [self.a] if {test} else [self.b, self.a]
        for each in held:
            x = each(x)
        return x
"""


@pytest.mark.parametrize(
    ("test", "why"),
    [
        ("x.sum() > 0", ": the numbers in a tensor decide whether that is true"),
        ("not x.any()", ": the numbers in a tensor decide whether that is true"),
        ("bool(x.sum())", ": the numbers in a tensor decide whether that is true"),
        ("x.sum().item() > 3", ": depends on the elements of a tensor"),
    ],
)
def test_a_problem_says_what_decides_a_test(test: str, why: str, tmp_path: Path) -> None:
    (problem,) = predicted(tmp_path, HELD.format(test=test), ["2x3"]).problems
    assert problem.message == f"what is called here is not known: it depends on `{test}`{why}"
