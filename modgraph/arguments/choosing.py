"""The ways to build a model that are predicted to build it, tried in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from modgraph.arguments.candidates import Candidate, Candidates, candidates
from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import NOT_BUILT, ArgumentsFrom, Graph, Problem
from modgraph.prediction.domain.limits import MAX_SECONDS
from modgraph.source.targets import Target

Seek = Literal["none", "found", "called", "assumed"]

MAX_PREDICTED = 6
"""Ways that are predicted, until one is predicted to build."""
_CUT = (
    f"the search for arguments took more than {MAX_SECONDS:g} seconds, on a machine that is slow or busy, and was ended"
)


@dataclass(frozen=True, slots=True)
class Way:
    """A target as it is built, and what is predicted of it."""

    target: Target
    predicted: Graph
    origin: ArgumentsFrom | None = None
    """Where its arguments were found; None where none were looked for, or none found."""


def ways_to_build(target: Target, predict: Callable[[Target], Graph], seek: Seek) -> Iterator[Way]:
    """At least one: the target itself, or where it needs arguments, or is built into nothing without, those that were
    found and are predicted to build it. Behind a target that needs none, what was found for it, too: for a run that
    cannot build it so.

    Args:
        seek: what counts: nothing but the target's own arguments, those found in source, or these and where there are
            none those that the names of parameters suggest: "called" where a call says the others, "assumed" always.

    Raises:
        TargetError: as the prediction.
    """
    found = sought(target, seek, brief=True)
    bare: Graph | None = None
    if not found and seek != "none":
        bare = _with_cut(predict(target)) if found.is_cut else predict(target)
        if not _is_not_built(bare):
            yield Way(target, bare)
        found = candidates(target, assume=False, needed=False)
    n_built, tried = 0, set[str]()
    for all_found in _one_after_the_other(target, seek, found):
        for candidate in [each for each in all_found if each.key not in tried][: MAX_PREDICTED - len(tried)]:
            if candidate.origin.kind == "assumed" and n_built:
                break
            tried.add(candidate.key)
            graph = predict(candidate.target)
            if not _is_not_built(graph):
                n_built += 1
                yield _way(candidate, all_found, graph)
    if not n_built and (bare is None or _is_not_built(bare)):
        yield Way(target, bare or predict(target))


def _one_after_the_other(target: Target, seek: Seek, found: Candidates) -> Iterator[Candidates]:
    """What was found, and then what there is besides, which is looked for where nothing of that was built, or ran."""
    yield found
    if found.is_brief:
        yield sought(target, seek)


def _with_cut(graph: Graph) -> Graph:
    """The graph, with what nobody says of it told."""
    builder = GraphBuilder.of(graph)
    builder.problems.append(Problem(stage="predict", message=_CUT, module=""))
    return builder.build()


def sought(target: Target, seek: Seek, *, brief: bool = False) -> Candidates:
    """What there is for a target that needs arguments and gives none, of what counts; see `ways_to_build`.

    Args:
        brief: see `candidates`.
    """
    if seek == "none":
        return Candidates()
    found = candidates(target, assume=seek in ("called", "assumed"), brief=brief)
    if seek != "called":
        return found
    called = Candidates(each for each in found if each.origin.kind != "assumed" or each.origin.file is not None)
    called.is_cut, called.is_brief = found.is_cut, found.is_brief
    return called


def _way(candidate: Candidate, found: tuple[Candidate, ...], graph: Graph) -> Way:
    return Way(candidate.target, graph, candidate.beside(found))


def _is_not_built(graph: Graph) -> bool:
    """The constructor is predicted to raise, or to come to its end and make nothing."""
    raises = any(
        problem.stage == "predict" and not problem.module and problem.message.startswith(NOT_BUILT)
        for problem in graph.problems
    )
    root = graph.modules[0]
    is_whole = all(problem.module is None for problem in graph.problems)  # of nothing that the root itself holds
    return raises or (len(graph.modules) == 1 and is_whole and not root.parameters and not root.buffers)


def with_origin(graph: Graph, way: Way) -> Graph:
    """The graph, with where its arguments come from; those that are assumed are a problem."""
    if way.origin is None:
        return graph
    builder = GraphBuilder.of(graph)
    builder.model = replace(graph.model, arguments_from=way.origin)
    if way.origin.assumed:
        builder.problems.insert(0, Problem(stage="predict", message=_what_is_assumed(way.origin), module=""))
    return builder.build()


def _what_is_assumed(origin: ArgumentsFrom) -> str:
    n_defaults = len(origin.left_at_default)
    assumed = f"{origin.assumed_names} {'is' if len(origin.assumed) - n_defaults == 1 else 'are'} assumed"
    if origin.file is None:
        return f"nothing says what the constructor is given: {assumed}, so no size is the model's own"
    default = f"{origin.default_names} {'is' if n_defaults == 1 else 'are'} left at the default"
    told = " and ".join([assumed] * bool(origin.assumed_names) + [default] * bool(n_defaults))
    return f"nothing says all that the constructor is given: {told}, and sizes follow from that"
