"""Whatever limit is reached: no exception, and each claim of the graph is one of the unlimited graph, or unknown."""

from __future__ import annotations

import contextlib
import os
import random
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from modgraph.errors import UnknownNameError
from modgraph.prediction import entry, interpreter, predict_graph
from modgraph.prediction.code import whole_modules
from modgraph.prediction.deep_stack import with_deep_stack
from modgraph.prediction.domain import budget, limits
from modgraph.prediction.domain.objects import DictObject
from modgraph.prediction.domain.values import Address
from modgraph.source import files, ignored, modules
from modgraph.source.index_cache import indexed
from modgraph.source.modules import SourceError
from modgraph.source.targets import Target, parse_target

SWEEP = runpy.run_path(str(Path(__file__).parents[1] / "oracle" / "limit_sweep.py"))


TRIED = [("registry", 0), ("registry", 30), ("script", 0), ("script", 30), ("shapes", 1)]
_CHOICE = random.Random(3)
SAMPLE = [(name, *each) for name in SWEEP["LIMITS"] for each in _CHOICE.sample(TRIED, 2)]
"""Of each limit some models and values; `tests/oracle/limit_sweep.py` tries all of them."""


@pytest.mark.parametrize("model", ["registry", "script", "shapes"])
def test_a_limit_at_any_value_makes_a_graph_know_less_and_nothing_else(model: str, tmp_path: Path) -> None:
    target = SWEEP["targets"](tmp_path)[model]
    whole = predict_graph(target)
    assert whole.complete
    for name, where, value in SAMPLE:
        if where == model:
            assert list(SWEEP["faults_of"](target, whole, name, tried=[value])) == [], name


def test_the_sweep_sees_what_is_false(tmp_path: Path) -> None:
    target = SWEEP["targets"](tmp_path)["shapes"]
    whole = predict_graph(target)
    file = tmp_path / "shapes.py"
    file.write_text(file.read_text().replace("nn.Linear(7, 2)", "nn.Conv2d(7, 2, 1)").replace('"mask"', '"masks"'))
    faults = list(SWEEP["unsound"](predict_graph(target), whole))
    assert any("is a torch.nn.modules.conv.Conv2d" in fault for fault in faults)
    assert any("'masks'" in fault for fault in faults)


def target_of(folder: Path, text: str, name: str = "Net") -> Target:
    (folder / "net.py").write_text(text)
    return parse_target(f"{folder / 'net.py'}:{name}", path=[str(folder)])


NET = "from torch import nn\nclass Net(nn.Module):\n    def __init__(self, n=3):\n        super().__init__()\n"


@pytest.mark.parametrize("name", ["Net", "Net(4)", "Net(n=4)", "missing", "Net.missing"])
@pytest.mark.parametrize("work", [0, 10, 300, 2_000])
def test_what_is_used_up_before_the_model_is_reached_is_no_exception(
    tmp_path: Path, name: str, work: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = target_of(tmp_path, f"{NET}        self.a = nn.Linear(n, n)\n", name)
    monkeypatch.setattr(budget, "MAX_WORK", work)
    problems: tuple[Any, ...] = ()
    with contextlib.suppress(UnknownNameError):  # what is missing may be found missing
        problems = predict_graph(target).problems
    assert "missing" in name or any("units of work" in problem.message for problem in problems)


@pytest.mark.parametrize("error", [RecursionError("deep"), MemoryError(), ValueError("a fault")])
def test_an_error_at_any_way_in_is_a_problem(tmp_path: Path, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise error

    target = target_of(tmp_path, f"{NET}        self.a = nn.Linear(n, n)\n", "Net(4)")
    for place in ("find_name", "_require_fitting", "load_target", "_makes_itself"):
        with monkeypatch.context() as patch:
            patch.setattr(entry, place, fail)
            graph = predict_graph(target)
        assert graph.complete == (place == "_require_fitting"), place  # which only makes errors of the user's
    for function in ("arguments_of", "saves_its_own", "extra_state_of"):
        with monkeypatch.context() as patch:
            patch.setattr(f"modgraph.prediction.answer.tree.{function}", fail)
            assert [node.path for node in predict_graph(target).modules] == ["", "a"]


def test_work_is_the_same_whether_an_index_was_kept_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = target_of(tmp_path, f"{NET}        self.a = nn.Linear(n, n)\n")
    found = []
    made = []

    def read(text: str, file: str) -> object:
        made.append(file)
        return indexed(text, file)

    monkeypatch.setattr(modules, "indexed", read)
    monkeypatch.setenv("MODGRAPH_CACHE", str(tmp_path / "cache"))
    for _ in range(2):
        modules._kept.clear()  # what one process keeps of it is apart
        prediction = with_deep_stack(lambda: entry.predict_target(target))
        found.append((prediction.machine.work, len(made)))
    assert found[0][0] == found[1][0] > 1000
    assert found[1][1] == 2 * found[0][1] > 2


def test_the_clock_is_a_last_resort_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert limits.MAX_SECONDS >= 600
    monkeypatch.setattr(budget, "MAX_SECONDS", -1)
    graph = predict_graph(target_of(tmp_path, f"{NET}        self.a = nn.ReLU()\n"))
    assert any("on a machine that is slow or busy" in problem.message for problem in graph.problems)


REGISTRY = """
from torch import nn
KINDS = {}
def register(cls):
    KINDS[cls.__name__] = cls
    return cls
@register
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.kinds = KINDS
        self.a = nn.Linear(3, 3)
"""


def test_what_is_left_can_be_looked_at_after_every_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the rules do, which know of none. What is evaluated when it is asked for is left, not what was executed."""
    monkeypatch.setattr(whole_modules, "MAX_EXECUTED_WORK", 1)
    monkeypatch.setattr(interpreter, "MAX_TREE_WORK", -limits.MAX_WORK)
    target = target_of(tmp_path, REGISTRY, "KINDS")
    prediction = with_deep_stack(lambda: entry.predict_target(target))
    assert isinstance(prediction.root, Address)
    read = prediction.machine.state.read(prediction.root)
    assert isinstance(read, DictObject)
    assert read.open is not None
    assert "units of work" in read.open.reason


COSTLY = {
    "equal lists": "x = list(range(20000)); y = list(range(20000))\nfor i in range(20000): z = x == y",
    "sums": "x = list(range(20000))\nfor i in range(20000): z = sum(x)",
    "sorting": "x = list(range(20000))\nfor i in range(20000): z = sorted(x)",
    "searching": "x = list(range(20000))\nfor i in range(20000): z = -1 in x",
    "exposing": "x = [[i] for i in range(20000)]\nfor i in range(20000): unknown_function(x)",
    "matching": "t = 'a' * 5000\nfor i in range(20000): z = re.search('a*b', t)",
    "binomials": "for i in range(20000): z = math.comb(9000 + i % 7, 4500)",
    "copying": "x = [[i] for i in range(5000)]\nfor i in range(20000): z = copy.deepcopy(x)",
}


@pytest.mark.parametrize("name", COSTLY)
def test_what_takes_few_steps_and_long_is_counted(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a fiftieth of the work, so that the test is short."""
    monkeypatch.setattr(budget, "MAX_WORK", limits.MAX_WORK // 50)
    body = "".join(f"        {line}\n" for line in COSTLY[name].splitlines())
    text = f"import copy, math, re\nfrom nowhere import unknown_function\n{NET}        self.a = nn.ReLU()\n{body}"
    prediction = with_deep_stack(lambda: entry.predict_target(target_of(tmp_path, text)))
    assert prediction.failure is not None
    assert "units of work" in prediction.failure.reason
    assert prediction.machine.steps < 30_000


def nested(depth: int) -> dict[str, str]:
    """Expressions of so many levels."""
    return {
        "brackets": "(" * depth + "1" + ")" * depth,
        "lists": "[" * depth + "]" * depth,
        "signs": "-" * depth + "1",
        "not": "not " * depth + "1",
        "attributes": "n" + ".a" * depth,
        "sums": "1" + "+1" * depth,
        "sums in lines": "(1" + "\n            +1" * depth + ")",
        "and": "n" + " and n" * depth,
        "comparisons": "1" + " < 1" * depth,
        "calls": "n" + "()" * depth,
        "items": "n" + "[0]" * depth,
        "lambdas": "lambda: " * depth + "1",
        "conditions": "1 if n else " * depth + "1",
        "powers": "1" + "**1" * depth,
        "texts": "len(" + "'a' " * depth + ")",
    }


@pytest.mark.parametrize("depth", [2_000, 100_000])
@pytest.mark.parametrize("kind", nested(0))
def test_nesting_without_end_is_a_message(tmp_path: Path, kind: str, depth: int) -> None:
    target = target_of(tmp_path, f"{NET}        self.a = nn.ReLU()\n        self.b = {nested(depth)[kind]}\n")
    told = []
    try:
        told = [problem.message for problem in predict_graph(target).problems]
    except SourceError as error:
        told = [error.message]
    assert not any("internal error" in message for message in told)
    assert told or kind in ("texts", "comparisons")


@pytest.mark.parametrize("kind", nested(0))
def test_usual_nesting_is_followed(tmp_path: Path, kind: str) -> None:
    text = f"{NET}        self.a = nn.ReLU()\n        self.b = {nested(60)[kind]}\n".replace("n.a", "nn.a")
    graph = predict_graph(target_of(tmp_path, text))
    assert "a" in [node.path for node in graph.modules]


@pytest.mark.fresh_process
def test_deep_nesting_ends_no_command_in_a_crash(tmp_path: Path) -> None:
    for kind, text in nested(100_000).items():
        (tmp_path / f"{kind.replace(' ', '_')}.py").write_text(f"{NET}        self.b = {text}\n")
    environment = {**os.environ, "MODGRAPH_CACHE": "off"}
    for command in (["check", "."], ["analyze", "--static", "signs.py"], ["analyze", "--static", "sums.py:Net"]):
        run = subprocess.run(
            [sys.executable, "-m", "modgraph", *command],
            cwd=tmp_path, capture_output=True, text=True, env=environment, check=False,
        )  # fmt: skip
        assert run.returncode in (1, 2), run.stderr
        assert "Traceback" not in run.stderr


def test_a_git_that_does_not_answer_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "bin" / "git").chmod(0o755)
    (tmp_path / "tree" / ".git").mkdir(parents=True)
    (tmp_path / "tree" / "a.py").write_text("a = 1\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(ignored, "GIT_SECONDS", 0.1)
    skipped = files.Skipped()
    found = list(files.python_files(str(tmp_path / "tree"), skipped))
    assert [Path(each).name for each in found] == ["a.py"]
    assert skipped.distrusted is not None
    assert "git did not answer `git ls-files` within 0.1 s" in skipped.distrusted.message


def test_what_was_parsed_for_one_prediction_does_not_count_for_the_next(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(f"{NET}        self.a = {'[' * 20}nn.ReLU(){']' * 20}\n")
    engine = entry.interpreter([str(tmp_path)])
    readings = []
    for _ in range(3):
        engine.start()
        entry.predict_value(engine, engine.resolve("net.Net"), [])
        readings.append(engine.finder._tokens.readings)
    assert readings[0] > 0
    assert readings[1:] == [0, 0]  # what is parsed already is kept
