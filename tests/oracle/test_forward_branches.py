"""Written models that go several ways, each way run by torch; and the judge of them sees what is wrong."""

from __future__ import annotations

import copy
import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from modgraph.prediction.answer.tree import _Tree
from modgraph.prediction.domain.events import Either, Event
from modgraph.prediction.entry import predict_target
from modgraph.prediction.forward.running import AnyValue, Followed, follow
from modgraph.source.inputs import parse_input
from modgraph.source.targets import parse_target

pytestmark = pytest.mark.needs_torch
torch = pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).parent))
try:
    import forward_branches
    import forward_calls
finally:
    sys.path.pop(0)

COVERED = (
    *("ReturnsFeatures", "ModeByText", "LoopWithBreak", "TriesAndExcepts", "NestedConditions", "ChosenByKey", "Trains"),
    *("flagged_later", "Tree", "SetsOwnFlag"),
    # Each of these is the least that shows a class of faults.
    *("RaisesInside", "SuppressesErrors", "CaughtFurtherUp", "SearchesFirst", "Yields", "EitherTrains"),
)
OPEN = ("Optional", "SlicesLayers", "SomeInRow")
"""Some of their runs are covered only by what is said not to be known."""


@pytest.mark.parametrize("name", [*COVERED, *OPEN])
def test_every_way_that_torch_goes_is_predicted(name: str) -> None:
    row = forward_branches.one("written", name)
    assert (row.kind, row.settings) == ("covered", []) if name in COVERED else row.kind in ("covered", "open")
    assert row.runs > 1
    assert row.covered + row.open == row.runs
    assert (row.missed, row.invented, row.wrong, row.in_graph) == (0, 0, 0, [])
    assert row.right > 0 or name in OPEN


MODEL = """
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4)), nn.Linear(4, 2)

    def forward(self, x, more=False):
        x = self.a(x)
        if more:
            x = self.b(x)
        return self.c(x)
"""

Judged = Callable[[forward_calls.Run], forward_branches.Found]


@pytest.fixture
def net(tmp_path: Path) -> tuple[forward_calls.Run, Judged, Followed, forward_branches.Matcher]:
    """A run without the option, and what judges one."""
    file = tmp_path / "net.py"
    file.write_text(MODEL, "utf-8")
    namespace: dict[str, type[torch.nn.Module]] = {}
    exec(MODEL, namespace)
    model = namespace["Net"]()
    prediction = predict_target(parse_target(f"{file}:Net"))
    followed = follow(prediction, [parse_input("2x4"), AnyValue("more")], every_way=True)
    assert followed is not None
    tree = _Tree(prediction)
    tree.grow(prediction.root)
    registered = frozenset(name for name, _ in model.named_modules())

    def matcher(run: forward_calls.Run) -> forward_branches.Matcher:
        return forward_branches.Matcher(forward_branches.tokens_of(run.calls), tree.possible_paths(), registered)

    subject = forward_calls.forward_models.Subject("", (), model, (torch.ones(2, 4),), {})
    run = forward_calls.real_run(subject)
    return run, lambda run: forward_branches.judged(matcher(run), followed, run), followed, matcher(run)


def test_a_run_is_covered(net: tuple[forward_calls.Run, Judged, Followed, forward_branches.Matcher]) -> None:
    run, judged, *_ = net
    assert [call.path for call in run.calls] == ["", "a", "c"]
    assert (judged(run).kind, judged(run).way.right) == ("covered", 3)


def _swap(run: forward_calls.Run) -> None:
    run.calls[1], run.calls[2] = run.calls[2], run.calls[1]


def _deepen(run: forward_calls.Run) -> None:
    run.calls[2].depth += 1


def _half(run: forward_calls.Run) -> None:
    """One arm without what it calls."""
    run.calls.insert(2, forward_calls.Call("b", 1, {"": (2, 4)}))


def _repeat(run: forward_calls.Run) -> None:
    run.calls.append(run.calls[-1])


@pytest.mark.parametrize("change", [_swap, _deepen, _half, _repeat])
def test_another_run_is_not(
    change: Callable[[forward_calls.Run], None],
    net: tuple[forward_calls.Run, Judged, Followed, forward_branches.Matcher],
) -> None:
    run, judged, *_ = net
    changed = copy.deepcopy(run)
    change(changed)
    assert judged(changed).kind == "missed"


def test_what_is_certain_and_not_called_is_invented(
    net: tuple[forward_calls.Run, Judged, Followed, forward_branches.Matcher],
) -> None:
    run, judged, *_ = net
    del run.calls[1]
    found = judged(run)
    assert (found.kind, found.missed, found.invented) == ("invented", 0, 1)


def test_another_shape_is_wrong(net: tuple[forward_calls.Run, Judged, Followed, forward_branches.Matcher]) -> None:
    run, judged, *_ = net
    run.calls[1].shapes = {"": (2, 5)}
    assert (judged(run).kind, judged(run).way.wrong) == ("covered", 1)


def test_an_arm_that_is_lost_is_missed(
    net: tuple[forward_calls.Run, Judged, Followed, forward_branches.Matcher],
) -> None:
    run, _, followed, matcher = net
    events = tuple(_without_empty_arm(each) for each in followed.events)
    assert events != followed.events
    found = forward_branches.judged(matcher, dataclasses.replace(followed, events=events), run)
    assert found.kind == "missed"


def _without_empty_arm(event: Event) -> Event:
    """Both arms are the one that calls."""
    if not isinstance(event, Either):
        return event
    longer = max(event.first, event.second, key=len)
    return dataclasses.replace(event, first=longer, second=longer)
