"""States that part and meet again: what each holds, what it costs, and that nothing stays behind."""

from __future__ import annotations

import gc
import random
from pathlib import Path

import pytest

import modgraph
from modgraph.prediction.domain.objects import ListObject, ModuleObject
from modgraph.prediction.domain.state import Base, State
from modgraph.prediction.domain.values import Address, Constant, Value
from modgraph.prediction.entry import Prediction, predict_target
from modgraph.prediction.knowledge.tensors.elements import kept, single
from modgraph.prediction.paths import joining
from modgraph.source.targets import parse_target

HEADER = "import os\nfrom torch import nn\n\n"


def predicted(tmp_path: Path, text: str) -> Prediction:
    file = tmp_path / "model.py"
    file.write_text(HEADER + text)
    return predict_target(parse_target(f"{file}:Net"))


def test_a_fork_sees_what_was_there_and_nothing_that_the_other_does() -> None:
    chance = random.Random(0)
    states: list[tuple[State, dict[int, int]]] = [(State(Base()), {})]
    for number in range(2_000):
        state, expected = chance.choice(states)
        if chance.random() < 0.05:
            states.append((state.fork(), dict(expected)))
        elif expected and chance.random() < 0.5:
            index = chance.choice(list(expected))
            state.change(Address(index), ListObject).items = [Constant(number)]
            expected[index] = number
        else:
            expected[state.allocate(ListObject([Constant(number)])).index] = number
    for state, expected in states:
        found = {index: item.items[0].value for index, item in state.everything().items()}  # type: ignore[attr-defined]
        assert found == expected
        assert all(state.get(index) is not None for index in expected)
        assert len(state.below) < 16


def test_undecided_branches_cost_what_they_change_and_not_all_that_there_is(tmp_path: Path) -> None:
    count = 300
    branches = "\n".join(f"        if os.environ.get('x{i}'):\n            self.x{i % 7} = {i}" for i in range(count))
    prediction = predicted(
        tmp_path,
        f"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.sizes = [[i] for i in range(2_000)]
{branches}
        self.last = nn.Linear(2, 2)
""",
    )
    machine = prediction.machine
    module = machine.state.find(prediction.root, ModuleObject)
    assert module is not None
    assert list(module.modules) == ["last"]
    assert machine.base.copied < 40_000, "each of the branches would copy 2,000 lists"


@pytest.mark.parametrize(
    ("before", "each"),
    [
        ("n = os.environ.get('n')", "if n: self.add_module('x{}', nn.ReLU())"),
        ("n = os.environ.get('n')", "if n: k{} = {}"),
        ("l = []", "try: l.append(os.environ.get('x{}')[0])\n        except KeyError: pass"),
    ],
)
def test_what_meets_again_is_compared_where_it_parted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, each: str
) -> None:
    """The number of values that are joined grows with that of the branches, not with its square."""
    count = 0
    join = joining.Joiner.value

    def counted(self: joining.Joiner, mine: Value, other: Value) -> Value:
        nonlocal count
        count += 1
        return join(self, mine, other)

    monkeypatch.setattr(joining.Joiner, "value", counted)
    lines = "\n        ".join([before, *(each.format(number, number) for number in range(300))])
    prediction = predicted(
        tmp_path, f"class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        {lines}\n"
    )
    assert prediction.failure is None
    assert count < 10 * 300


def test_places_that_may_raise_cost_what_was_changed_between_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    changed_since = State.changed_since

    def counted(self: State, other: State) -> list[int]:
        found = changed_since(self, other)
        seen.append(len(found))
        return found

    monkeypatch.setattr(State, "changed_since", counted)
    prediction = predicted(
        tmp_path,
        """
class Net(nn.Module):
    def __init__(self, given):
        super().__init__()
        kept = []
        try:
            for i in range(400):
                kept.append([given(i)])
        except KeyError:
            self.missing = nn.ReLU()
""",
    )
    assert prediction.failure is None
    assert len(seen) >= 399
    assert sum(seen) < 20 * len(seen)


def test_paths_that_raise_leave_no_states_behind(tmp_path: Path) -> None:
    text = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        for i in range(50):
            try:
                if os.environ.get("a"):
                    raise KeyError(i)
                self.probe(i)
            except ValueError:
                self.found = i
            except KeyError:
                self.missing = i
        self.last = nn.Linear(2, 2)

    def probe(self, i):
        if os.environ.get("b"):
            if i % 2:
                raise ValueError(i)
            else:
                raise KeyError(i)
"""
    gc.freeze()  # what other tests have left
    gc.disable()
    try:
        prediction = predicted(tmp_path, text)
        left = sum(isinstance(each, State) for each in gc.get_objects())
    finally:
        gc.enable()
        gc.unfreeze()
    assert prediction.failure is None
    assert left <= 5


def test_a_long_construction_is_interpreted_once(tmp_path: Path) -> None:
    prediction = predicted(
        tmp_path,
        """
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        total = 0
        for i in range(6_000):
            total += i % 2
        self.inner = nn.Linear(width, total)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Block(2)
        self.second = Block(2)
""",
    )
    assert prediction.failure is None
    assert prediction.machine.steps < 15_000


def test_elements_rounded_together_are_those_rounded_one_by_one() -> None:
    chance = random.Random(0)
    numbers = [1e300, -1e300, 3.4028236e38, 0.1, True, 7, float("inf"), -0.0]
    numbers += [chance.uniform(-1e39, 1e39) for _ in range(1_000)]
    assert kept(numbers, "float32") == tuple(single(float(number)) for number in numbers)


OPTIONS = """
import os
from torch import nn

class Net(nn.Module):
    def __init__(self, n=1):
        super().__init__()
        self.a = nn.Linear(1, n)

def refused():
    options = {"n": 2}
    if os.environ.get("MODGRAPH_NOT_SET"):
        options["img_size"] = 3
    return Net(**options)

def twice():
    options = {}
    if os.environ.get("MODGRAPH_NOT_SET"):
        options["n"] = 3
    return Net(4, **options)
"""


@pytest.mark.parametrize(("build", "width"), [("refused", 2), ("twice", 4)])
def test_an_option_that_may_not_be_there_is_refused_on_no_path_that_lacks_it(
    tmp_path: Path, build: str, width: int
) -> None:
    (tmp_path / "model.py").write_text(OPTIONS, "utf-8")
    graph = modgraph.predict(f"{tmp_path / 'model.py'}:{build}")
    (layer,) = graph.modules[1:]
    assert layer.parameters[0].shape == (width, 1)
