"""Whether what `forward` asks of its surroundings decides what it does: which calls, operations and arrows there are,
of which shapes and dtypes, and which inputs are refused.

A program that asks where a tensor is, to make another one there, does the same on each device: nothing need be told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, partial

from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import TensorInfo
from modgraph.prediction.answer.tree import build_graph
from modgraph.prediction.domain.assumed import CAST
from modgraph.prediction.domain.values import Address
from modgraph.prediction.entry import Prediction
from modgraph.prediction.forward.assumptions import ASKED_IN_RUN
from modgraph.prediction.forward.graph_parts import add_forward
from modgraph.prediction.forward.running import Followed, follow
from modgraph.source.targets import Target


def deciding(prediction: Prediction, target: Target, usual: Followed, training: bool | None) -> frozenset[str]:
    """What the run asked for, and would have done something else without; where that cannot be told, it is taken to
    decide."""
    done_as_a_rule = cache(partial(_doing, prediction, target, usual))

    def is_same(asked: frozenset[str]) -> bool:
        other = follow(
            prediction, usual.specs, training, witnesses=usual.witnesses, guessed=usual.guessed, elsewhere=asked
        )
        if other is None or _reason(other) != _reason(usual) or not _is_refused_as(usual, other):
            return False
        is_of_dtypes = CAST not in asked
        return bool(_doing(prediction, target, other, is_of_dtypes) == done_as_a_rule(is_of_dtypes))

    found: frozenset[str] = frozenset()
    for names in ASKED_IN_RUN:
        asked = names & prediction.machine.asked
        if asked and not is_same(asked):
            found |= asked
    return found


def _is_refused_as(usual: Followed, other: Followed) -> bool:
    """Both have asked the same of open sizes, and nothing was refused on ways of the other alone: what it asked may be
    either there, so it went all ways of the usual run, but for imports, which are done once."""
    return _needed(other) == _needed(usual) and other.raised <= usual.raised


def _needed(run: Followed) -> frozenset[object]:
    return frozenset() if run.conditions is None else frozenset(run.conditions.needed)


def _reason(run: Followed) -> str | None:
    return None if run.failure is None else run.failure.reason


def _doing(prediction: Prediction, target: Target, run: Followed, is_of_dtypes: bool) -> tuple[object, ...]:
    """What there is then, without the dtypes where these are other ones of themselves."""
    graph = build_graph(prediction, target, partial(_extend, run))
    of = partial(_of, is_of_dtypes=is_of_dtypes)
    return (
        tuple(
            (each.module, each.parent, each.direct, each.certain, each.condition, of(each.inputs), of(each.outputs))
            for each in graph.calls
        ),
        tuple((each.name, each.call, each.certain, each.condition) for each in graph.operations),
        frozenset(
            (each.producer, each.consumer, each.certain, each.condition, of((each.tensor,))) for each in graph.edges
        ),
    )


def _extend(run: Followed, builder: GraphBuilder, paths: Mapping[Address, str], tensors: Mapping[Address, str]) -> None:
    add_forward(builder, run, paths, tensors)


def _of(tensors: Iterable[TensorInfo], is_of_dtypes: bool) -> tuple[object, ...]:
    """Without their devices, which are other ones."""
    return tuple((each.name, each.shape, each.dtype if is_of_dtypes else None) for each in tensors)
