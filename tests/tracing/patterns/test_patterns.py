"""Every pattern that a trace has to get right, with calls and edges written by hand: real, verified, and fake."""

from __future__ import annotations

import contextlib
import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import modgraph
from modgraph.tracing.basics.tensors import tensors_in

pytestmark = [pytest.mark.needs_torch, pytest.mark.filterwarnings("ignore")]

THEMES = (
    "writes",
    "steps_that_do_nothing",
    "leaving_torch",
    "containers",
    "modules",
    "regimes",
    "hooks_and_failures",
    "sources",
    "architectures",
)
_here = ModuleType("trace_patterns")
_here.__path__ = [str(Path(__file__).parent)]
sys.modules["trace_patterns"] = _here
notation = importlib.import_module("trace_patterns.notation")
for theme in THEMES:
    importlib.import_module(f"trace_patterns.{theme}")

every_pattern = pytest.mark.parametrize("pattern", notation.PATTERNS, ids=lambda pattern: pattern.name)


@pytest.fixture
def traced(unchanged):
    """The graph of a pattern, after a check that nothing was left changed."""

    def run(pattern, **options) -> Any:
        model = pattern.made()
        args, kwargs = pattern.given()
        with unchanged(model, [tensor for _, tensor in tensors_in((args, kwargs), "")]):
            return modgraph.trace(model, args, kwargs, **pattern.options, **options)

    return run


def wrong_in(graph, pattern, flows, *, problems=True) -> str:
    """What is not as it was written down."""
    calls, expected = notation.recorded_calls(graph), notation.expected_calls(pattern.calls)
    gaps, gaps_expected = [gap.kind for gap in graph.gaps], pattern.gaps.split()
    wrong = [] if calls == expected else [f"calls {calls}\n  not {expected}"]
    wrong += [] if gaps == gaps_expected else [f"gaps {gaps}\n  not {gaps_expected}"]
    wrong += (
        [f"edges\n{found}"]
        if (found := notation.differences(notation.expected_edges(pattern.edges), flows(graph)))
        else []
    )
    if not problems:
        return "\n".join(wrong)
    if pattern.fails is None:
        wrong += [f"problem: {problem.message}" for problem in graph.problems]
    elif [problem.module for problem in graph.problems] != [pattern.fails]:
        wrong.append(f"problems {graph.problems}")
    return "\n".join(wrong)


def test_there_are_enough_of_them_and_each_has_its_own_name():
    names = [pattern.name for pattern in notation.PATTERNS]
    assert len(set(names)) == len(names) >= 110


@every_pattern
def test_a_real_run_is_as_written(pattern, traced, flows):
    assert wrong_in(traced(pattern), pattern, flows) == ""


@every_pattern
def test_it_is_proven_by_running_it_again(pattern, traced, flows):
    graph = traced(pattern, verify=True)
    found = graph.verification
    if pattern.fails is not None:
        assert found is None
    elif pattern.unproven:
        assert not found.proven, f"it is proven now, although {pattern.unproven}"
        assert wrong_in(graph, pattern, flows, problems=False) == ""
    else:
        assert (found.differences, found.not_repeated) == ((), ())
        assert found.proven
        assert wrong_in(graph, pattern, flows) == ""


@every_pattern
def test_fake_tensors_give_the_same(pattern, traced, flows, request):
    if pattern.fake_xfail:
        request.applymarker(pytest.mark.xfail(strict=True, reason=pattern.fake_xfail))
    graph = traced(pattern, device="fake")
    if pattern.fake:
        assert wrong_in(graph, pattern, flows) != "", f"it is the same now, although {pattern.fake}"
    else:
        assert wrong_in(graph, pattern, flows) == ""


@every_pattern
def test_all_is_as_before_with_everything_that_can_be_asked_for(pattern, unchanged):
    model = pattern.made()
    for number, module in enumerate(model.modules()):  # as a user freezes some: the flags of neighbours differ
        vars(module)["training"] = number % 2 == 0
    args, kwargs = pattern.given()
    options = {**pattern.options, "mode": "train", "backward": True, "stats": True, "profile": True, "verify": True}
    with unchanged(model, [tensor for _, tensor in tensors_in((args, kwargs), "")]):
        modgraph.trace(model, args, kwargs, **options)


@every_pattern
def test_all_is_as_before_where_the_run_is_interrupted(pattern, unchanged):
    model = pattern.made()
    args, kwargs = pattern.given()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    for module in list(model.modules())[-1:]:
        with contextlib.suppress(RuntimeError, AttributeError):  # a scripted module takes no hook
            module.register_forward_hook(interrupt)
    tensors = [tensor for _, tensor in tensors_in((args, kwargs), "")]
    with unchanged(model, tensors), contextlib.suppress(KeyboardInterrupt):
        modgraph.trace(model, args, kwargs, **{**pattern.options, "backward": True, "stats": True})
