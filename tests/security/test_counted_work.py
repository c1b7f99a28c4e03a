"""What a statement costs is counted: many turns of it meet the limit of work before they meet anybody's patience.

Calls of functions are counted, of Python and of C, and never time. A unit of work stands for about a microsecond of a
slow machine, in which it makes a few calls.
"""

from __future__ import annotations

import runpy
import textwrap
from pathlib import Path

import pytest

from modgraph.prediction.domain import budget, registry
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


calls_of = runpy.run_path(str(Path(__file__).with_name("test_source_scale.py")))["calls_of"]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_turns_of_a_statement_are_counted_for_what_they_cost(
    tmp_path: Path, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODGRAPH_CACHE", "off")
    units, calls = [], []
    for turns in (1, 40, 120):
        path = tmp_path / f"turns_{turns}.py"
        path.write_text(HEAD.format(turns=turns, statement=statement))

        def predict(path: Path = path) -> None:
            modules._kept.clear()
            units.append(predict_target(parse_target(f"{path}:Net")).machine.work)

        calls.append(calls_of(predict))
    assert calls[2] - calls[1] <= MOST_CALLS_OF_A_UNIT * (units[2] - units[1])


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
