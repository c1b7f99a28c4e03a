"""What of two runs can be compared, and what cannot, or says less than it seems to. Where neither model was run, what
`forward` is predicted to do takes the place of a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from modgraph.changes.model import Forward, NotCompared, Total
from modgraph.graph.index import GraphIndex
from modgraph.graph.model import Graph, OpenPlace, Problem

_ALL = "calls, shapes and dataflow"
FORWARD = "what forward does"


@dataclass(slots=True)
class Runs:
    """What of the two runs can be compared."""

    forward: Forward
    """What is known of both: runs that ended, predictions that could be followed to the end, or neither."""
    outputs: bool
    """And both were given the same inputs."""

    @property
    def calls(self) -> bool:
        """Calls, operations and dataflow are those of two runs."""
        return self.forward != "unknown"


def runs_of(old: Graph, new: Graph, whole: tuple[Graph, Graph]) -> tuple[Runs, tuple[NotCompared, ...]]:
    """What can be compared of the runs, and why the rest cannot.

    Args:
        whole: of predictions, both with what depends on conditions.
    """
    lacking = _which(not old.traced, not new.traced)
    if lacking == "both" and old.predicted and new.predicted:
        return _predicted(old, new, whole)
    if lacking is not None:
        reason = "were not run" if lacking == "both" else "was not run"
        return Runs(forward="unknown", outputs=False), (NotCompared(what=_ALL, side=lacking, reason=reason),)
    broken = _which(not GraphIndex(old).run_finished, not GraphIndex(new).run_finished)
    if broken is not None:
        reason = f"did not run to {'their' if broken == 'both' else 'its'} end"
        return Runs(forward="unknown", outputs=False), (NotCompared(what=_ALL, side=broken, reason=reason),)
    same_inputs = _inputs(old) == _inputs(new)
    return Runs(forward="run", outputs=same_inputs), tuple(_less_compared(old, new, same_inputs, (old, new)))


def _predicted(old: Graph, new: Graph, whole: tuple[Graph, Graph]) -> tuple[Runs, tuple[NotCompared, ...]]:
    """What can be compared of two predictions: their calls, where `forward` of both could be followed whole."""
    lost = _which(not is_followed(old), not is_followed(new))
    if lost is not None:
        return Runs(forward="unknown", outputs=False), tuple(_not_followed(old, new))
    same_inputs = _inputs(old) == _inputs(new)
    return Runs(forward="predicted", outputs=same_inputs), tuple(_less_compared(old, new, same_inputs, whole))


def _not_followed(old: Graph, new: Graph) -> Iterator[NotCompared]:
    """Which predictions of `forward` end before it does, and where."""
    places = [_end_of_prediction(graph) for graph in (old, new)]
    if places[0] == places[1]:
        yield NotCompared(what=FORWARD, side="both", reason=f"are predicted without {places[0]}")
        return
    sides: tuple[Literal["old", "new"], ...] = ("old", "new")
    for side, graph, place in zip(sides, (old, new), places, strict=True):
        if not is_followed(graph):
            yield NotCompared(what=FORWARD, side=side, reason=f"is predicted without {place}")


def _end_of_prediction(graph: Graph) -> str:
    """What a prediction of `forward` lacks, and why, with the place."""
    problems = [each for each in graph.open_places if each.stage == "forward"]
    if not problems:
        why = graph.model.no_calls
        return "it" if why is None else f"it{_because(why)}"
    first = next((each for each in problems if each.file is not None), problems[0])
    more = f", and {len(problems) - 1:,} more" if len(problems) > 1 else ""
    return f"all of it{_because(first)}{more}"


def _because(why: OpenPlace | Problem) -> str:
    place = "" if why.file is None else f", {why.file}:{why.line}" if why.line else f", {why.file}"
    return f"{place}: {why.message}"


def is_followed(graph: Graph) -> bool:
    """Whether all that `forward` does on the inputs of a predicted graph is in it."""
    return bool(graph.calls) and not any(problem.stage == "forward" for problem in graph.problems)


def certain_part(graph: Graph) -> Graph:
    """The graph without what a branch or loop decides that cannot be followed; a run has none."""
    unsure = {call.index for call in graph.calls if not call.certain}
    operations = {each.id for each in graph.operations if not each.certain}
    if not unsure and not operations and all(edge.certain for edge in graph.edges):
        return graph
    gone = {f"call:{index}" for index in unsure} | operations
    return replace(
        graph,
        modules=tuple(
            replace(node, calls=tuple(index for index in node.calls if index not in unsure)) for node in graph.modules
        ),
        operations=tuple(each for each in graph.operations if each.id not in operations and each.call not in unsure),
        edges=tuple(edge for edge in graph.edges if edge.certain and gone.isdisjoint((edge.producer, edge.consumer))),
    )


def _less_compared(old: Graph, new: Graph, same_inputs: bool, whole: tuple[Graph, Graph]) -> Iterator[NotCompared]:
    """Of two runs that ended."""
    if not same_inputs:
        given = "were given" if old.traced else "are predicted for"
        yield NotCompared(what="output shapes and dtypes", side="both", reason=f"{given} different inputs")
    modes = old.model.mode, new.model.mode
    ran = "ran" if old.traced else "are predicted"
    if None not in modes and modes[0] != modes[1]:
        yield NotCompared(what="runs in one mode", side="both", reason=f"{ran} in different modes, train and eval")
    if all(graph.operations for graph in whole):
        # A softmax along another dimension is the same operation on the same tensor.
        lacking = "have runs that do not record them" if old.traced else "are predicted without them"
        yield NotCompared(what="arguments of operations", side="both", reason=lacking)
    untold = _which(*(any(edge.is_open for edge in graph.edges) for graph in (old, new)))
    if untold is not None:
        lacking = "have runs that do not tell it" if untold == "both" else "has a run that does not tell it"
        yield NotCompared(what="from which of its givers a tensor is taken", side=untold, reason=lacking)
    unprofiled = _which(old.profile is None, new.profile is None)
    if unprofiled in ("old", "new"):
        yield NotCompared(what="floating point operations", side=unprofiled, reason="was not profiled")


def run_totals(old: Graph, new: Graph) -> list[Total]:
    """How the models were run, where that differs."""
    if not (old.traced and new.traced) and not (is_followed(old) and is_followed(new)):
        return []
    found: list[Total] = []
    if _inputs(old) != _inputs(new):
        found.append(Total(name="inputs", old=_inputs(old), new=_inputs(new)))
    if None not in (old.model.mode, new.model.mode) and old.model.mode != new.model.mode:
        found.append(Total(name="mode", old=old.model.mode, new=new.model.mode))
    if not (old.traced and new.traced):
        return found
    ends = [_end(graph) for graph in (old, new)]
    if ends[0] != ends[1]:
        found.append(Total(name="run", old=ends[0], new=ends[1]))
    return found


def _end(graph: Graph) -> str:
    """How the run ended: "finished", or why it did not."""
    if GraphIndex(graph).run_finished:
        return "finished"
    failed = next((problem for problem in graph.problems if problem.stage == "trace"), None)
    return "broke off" if failed is None else f"broke off: {failed.message}"


def _which(in_old: bool, in_new: bool) -> Literal["old", "new", "both"] | None:
    if in_old and in_new:
        return "both"
    return "old" if in_old else "new" if in_new else None


def _inputs(graph: Graph) -> list[Any]:
    return [
        [given.name, given.literal, [[_list(tensor.shape), tensor.dtype] for tensor in given.tensors]]
        for given in graph.model.inputs
    ]


def _list(shape: Iterable[Any] | None) -> list[Any] | None:
    return None if shape is None else list(shape)
