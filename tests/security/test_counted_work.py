"""What a statement costs is counted: many turns of it meet the limit of work before they meet anybody's patience.

Calls of functions are counted, of Python and of C, and never time. A unit of work stands for about a microsecond of a
slow machine, in which it makes a few calls.
"""

from __future__ import annotations

import runpy
import textwrap
from collections.abc import Set as AbstractSet
from pathlib import Path

import pytest

from modgraph.prediction import predict_graph
from modgraph.prediction.code import control
from modgraph.prediction.domain import budget, registry
from modgraph.prediction.domain.frames import Frame, Outcome
from modgraph.prediction.domain.limits import MAX_UNDECIDED_ENDS
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.state import State
from modgraph.prediction.entry import predict_target
from modgraph.prediction.knowledge import import_all
from modgraph.source import modules
from modgraph.source.targets import parse_target

MOST_CALLS_OF_A_UNIT = 30
PART = 10
"""Of what a prediction may cost; a loop that has no end shows in that as well."""
MOST_CALLS_OF_A_LOOP = 40_000_000 // PART

HEAD = """
import collections, copy, dataclasses, enum, functools, inspect, itertools, json, os, re, sys, types, typing
import torch
from torch import nn

UNKNOWN = os.environ["NAME"]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        for turn in range({turns}):
            {statement}
"""
STATEMENTS = [
    "import no_such_package",
    "import no_such_package.below as n",
    "import xml.etree.ElementTree",
    "from no_such_package import name",
    "from typing import *",
    "from torch.nn import *",
    "x = itertools.count()",
    "x = itertools.repeat(0)",
    "x = itertools.cycle([1, 2])",
    "x = list(itertools.product([1, 2], [3, 4]))",
    "x = vars(nn)",
    "x = dir(nn)",
    "x = inspect.getmembers(nn)",
    "x = inspect.signature(nn.Linear)",
    "x = nn.no_such_name",
    "x = hasattr(torch, 'no_such_name')",
    "x = nn.Module.__subclasses__()",
    "x = nn.LSTM(3, 4, 2)",
    "x = copy.deepcopy(self)",
    "x = self.state_dict()",
    "x = enum.Enum('Q', 'a b')",
    "x = dataclasses.make_dataclass('D', ['a', 'b'])",
    "x = collections.namedtuple('T', 'a b')",
    "x = type('A', (nn.Module,), {})()",
    "x = UNKNOWN(self)",
    "x = re.sub('a', 'b', 'abc')",
    "x = json.loads('[1, 2]')",
    "x = '{:>10}'.format(3)",
    "if UNKNOWN: self.l = nn.ReLU()",
    "x = sys.modules",
    "x = globals()",
]


_SCALE = runpy.run_path(str(Path(__file__).with_name("test_source_scale.py")))
calls_of, torch_was_read = _SCALE["calls_of"], _SCALE["torch_was_read"]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_turns_of_a_statement_are_counted_for_what_they_cost(
    tmp_path: Path, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODGRAPH_CACHE", "off")
    units: list[int] = []
    calls: list[int] = []
    for turns in (1, 20, 60):
        path = tmp_path / f"turns_{turns}.py"
        path.write_text(HEAD.format(turns=turns, statement=statement))

        def predict(path: Path = path) -> None:
            torch_was_read()
            units.append(predict_target(parse_target(f"{path}:Net")).machine.work)

        if turns == 1:  # what is loaded once is not counted
            predict()
        else:
            calls.append(calls_of(predict))
    assert calls[1] - calls[0] <= MOST_CALLS_OF_A_UNIT * (units[2] - units[1])


def test_a_package_is_known_by_what_is_known_below_it() -> None:
    registry.load(import_all)
    tables = (registry._models, registry._classes, registry._constants, registry._aliases)
    names = {name for table in tables for name in table}
    packages = {".".join(name.split(".")[:end]) for name in names for end in range(1, name.count(".") + 1)}
    assert {"torch", "torch.nn", "itertools"} <= packages
    asked = packages | names | {"", "no_such_package", "torch.n", "torch."}
    assert {name for name in asked if registry.has_package(name)} == packages


LOOPS = {
    "an iterator of which it is not known how far it has come": """
        it = iter([1, 2, 3])
        if flag:
            next(it)
        while True:
            n = next(it, None)
            if n is None:
                break
            self.layers.append(nn.Linear(n, 1))
    """,
    "an end that is asked for in each turn": """
        while True:
            if UNKNOWN == self:
                break
            self.layers.append(nn.Linear(1, 1))
    """,
}


@pytest.mark.parametrize("body", LOOPS.values(), ids=LOOPS.keys())
def test_a_loop_that_may_end_in_each_turn_meets_a_limit(
    tmp_path: Path, body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each turn leaves a state of its own, with all that the turns before have made."""
    for name in ("MAX_STEPS", "MAX_WORK", "MAX_MADE_ITEMS", "MAX_COPIED_OBJECTS", "MAX_MADE_MODULES"):
        monkeypatch.setattr(budget, name, getattr(budget, name) // PART)
    path = tmp_path / "model.py"
    head = HEAD[: HEAD.index("        for turn")].replace("def __init__(self)", "def __init__(self, flag)")
    lines = textwrap.indent(textwrap.dedent(body), " " * 8)
    path.write_text(f"{head}        self.layers = nn.ModuleList()\n{lines}")
    calls = calls_of(lambda: predict_target(parse_target(f"{path}:Net")))
    assert calls < MOST_CALLS_OF_A_LOOP


@pytest.mark.parametrize("body", LOOPS.values(), ids=LOOPS.keys())
def test_a_loop_that_may_end_in_each_turn_has_any_number_of_turns_soon(
    tmp_path: Path, body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = []
    end_turn = control.end_turn

    def counting(machine: Machine, frame: Frame, outcome: Outcome, since: int) -> Outcome:
        turns.append(outcome)
        return end_turn(machine, frame, outcome, since)

    monkeypatch.setattr(control, "end_turn", counting)
    path = tmp_path / "model.py"
    head = HEAD[: HEAD.index("        for turn")].replace("def __init__(self)", "def __init__(self, flag)")
    lines = textwrap.indent(textwrap.dedent(body), " " * 8)
    path.write_text(f"{head}        self.layers = nn.ModuleList()\n{lines}        self.last = nn.Linear(1, 1)\n")
    graph = predict_graph(parse_target(f"{path}:Net"))
    assert 0 < len(turns) < 2 * MAX_UNDECIDED_ENDS
    assert any("'layers' may have further children" in problem.message for problem in graph.open_places)
    assert "last" in {module.path for module in graph.modules}


@pytest.mark.parametrize(
    "text",
    ["a=1\n", "a=1;", "a,b=c.d\n", "class A:0\n", "def f():0\n", "from a import b\n", "if a:b=1\n", "x=[1,1,1,1]\n"],
)
def test_dense_files_are_counted_for_what_their_index_takes(tmp_path: Path, text: str) -> None:
    units, calls = [], []
    for n in (200, 2_000):
        source = modules.SourceModule("model", tmp_path / f"model_{n}.py", "model.py", False)
        source.path.write_text(text * n + "\n")
        spent: list[int] = []
        source.spend = spent.append
        calls.append(calls_of(lambda source=source: source.index))
        units.append(sum(spent))
    assert calls[1] - calls[0] <= MOST_CALLS_OF_A_UNIT * (units[1] - units[0])


def test_looking_a_key_up_takes_next_to_nothing(tmp_path: Path) -> None:
    taken = []
    for size in (10, 2_000):
        path = tmp_path / f"model_{size}.py"
        made = f"        table = {{(k, 1): k for k in range({size})}}\n        for turn in range(500):\n"
        path.write_text(HEAD[: HEAD.index("        for turn")] + made + "            assert (turn % 10, 1) in table\n")
        taken.append(predict_target(parse_target(f"{path}:Net")).machine.work)
    assert taken[1] - taken[0] < 200_000


def test_what_waits_in_a_class_is_the_same_for_each_model(tmp_path: Path) -> None:
    """What is remembered of a text costs, and gives, what it did when it was found."""
    path = tmp_path / "model.py"
    path.write_text(
        "from torch import nn\nA = 3\n"
        "class Plain(nn.Module):\n    size = 4\n    def __init__(self, n=A):\n        super().__init__()\n"
        "        self.a = nn.Linear(n, self.size)\n"
        "class Runs(nn.Module):\n    size = print(1)\n    def __init__(self):\n        super().__init__()\n"
        "        self.p = Plain()\n"
    )
    said = []
    for _ in range(2):
        prediction = predict_target(parse_target(f"{path}:Runs"))
        said.append((prediction.machine.work, prediction.machine.spent))
    modules._kept.clear()
    prediction = predict_target(parse_target(f"{path}:Runs"))
    assert said[0] == said[1] == (prediction.machine.work, prediction.machine.spent)


def test_sets_of_classes_that_are_copied_are_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that makes classes copies what it has made with each: a unit pays for a few dozen of them."""
    copied = 0
    count = State._count_classes

    def counted(state: State, more: AbstractSet[int]) -> None:
        nonlocal copied
        copied += len(state.classes) + len(more)
        count(state, more)

    monkeypatch.setattr(State, "_count_classes", counted)
    (tmp_path / "net.py").write_text(HEAD.format(turns=4000, statement="class A: pass"), encoding="utf-8")
    prediction = predict_target(parse_target(f"{tmp_path / 'net.py'}:Net"))
    assert copied > 1_000_000
    assert copied < 60 * prediction.machine.work
