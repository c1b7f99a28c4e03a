"""Joins the graphs of the processes that one model ran in: a graph of each rank -> one Graph.

What all processes did the same is there once. A call is the same in two processes if it is the same one, by number,
that the same call made of the same module; an operation by its name and line, a tensor on its way by its ends. What
only some did says so in `ranks`, what differs is told in `rank_differences`; facts of one process (shapes,
statistics, figures) are those of the first that has them. A process of which there is no graph makes it partial.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

from modgraph.errors import GraphError
from modgraph.graph.build import GraphBuilder
from modgraph.graph.measures import Profile, Verification
from modgraph.graph.model import (
    BufferInfo,
    Graph,
    ModelInfo,
    ModuleNode,
    ParameterInfo,
    Problem,
    Shape,
    TensorInfo,
)
from modgraph.graph.paths import is_below
from modgraph.graph.sizes import elements
from modgraph.ranks.alignment import Alignment, Members
from modgraph.ranks.differences import all_differences
from modgraph.ranks.modules import merged_modules
from modgraph.ranks.words import on_ranks, spoken

NOT_GIVEN = "there is no graph of it"
_NOTHING_KNOWN = re.compile(r"nothing is known of rank (\d+) of \d+: (.*)", re.DOTALL)
_ON_RANKS = re.compile(r"on ranks? \d+(?:, \d+)*(?: and \d+)?: ")


def merge_ranks(graphs: Sequence[Graph], *, missing: Mapping[int, str] | None = None) -> Graph:
    """One graph of all processes; the rules are this module's docstring.

    Args:
        graphs: one of each process, in any order; a merged graph of some of them is as good.
        missing: why there is none of a process, by rank.

    Raises:
        GraphError: there is none, one does not say its rank, two say the same, or they are of different runs or of
            different models.
    """
    graphs = _in_order(graphs)
    first = graphs[0]
    if len(graphs) == 1 and not first.model.ranks:
        return first
    aligned = Alignment(graphs)
    builder = GraphBuilder(first.model)
    builder.modules, unlike = merged_modules(graphs, aligned)
    builder.rank_differences = all_differences(graphs, unlike, aligned.differences)
    builder.model = _model(graphs, builder.modules)
    builder.calls = aligned.calls
    builder.operations = aligned.operations
    builder.edges = aligned.edges
    builder.gaps = list(dict.fromkeys(aligned.gaps))
    _add_records(builder, graphs, aligned)
    builder.findings = list(dict.fromkeys(finding for graph in graphs for finding in graph.findings))
    builder.problems = [*_problems(graphs, builder.modules), *_missing(builder.model, _reasons(graphs, missing or {}))]
    builder.checkpoint = first.checkpoint
    return builder.build()


def _in_order(graphs: Sequence[Graph]) -> list[Graph]:
    if not graphs:
        raise GraphError("there is no graph to merge")
    if len(graphs) == 1:
        return list(graphs)
    seen: set[int] = set()
    for position, graph in enumerate(graphs):
        if not graph.model.ranks:
            raise GraphError(
                f"graph {position + 1} of {len(graphs)} does not say which process it is of",
                hint="trace under torchrun, or after torch.distributed.init_process_group()",
            )
        twice = seen & set(graph.model.ranks)
        if twice:
            raise GraphError(f"two graphs are of rank {min(twice)}")
        seen.update(graph.model.ranks)
    worlds = {graph.model.world_size for graph in graphs}
    if len(worlds) > 1:
        raise GraphError(
            f"these graphs are of different runs: of {', '.join(map(str, sorted(worlds, key=str)))} processes"
        )
    classes = {rank: graph.modules[0].class_name or "" for graph in graphs for rank in graph.model.ranks}
    if len({*classes.values()} - {""}) > 1:
        raise GraphError(
            f"these graphs are of different models: {spoken({rank: name for rank, name in classes.items() if name})}",
            hint="merge the graphs of one model, traced in every process of one run",
        )
    for half in ("predicted", "traced"):
        if len({getattr(graph, half) for graph in graphs}) > 1:
            have = [rank for graph in graphs if getattr(graph, half) for rank in graph.model.ranks]
            raise GraphError(f"only {on_ranks(have)} the model was {half}: do the same in all processes")
    return sorted(graphs, key=lambda graph: graph.model.ranks)


def _model(graphs: Sequence[Graph], modules: Sequence[ModuleNode]) -> ModelInfo:
    first = graphs[0].model
    ranks = tuple(sorted(rank for graph in graphs for rank in graph.model.ranks))
    if all(_holdings(graph) == _holdings(graphs[0]) for graph in graphs):
        return replace(first, ranks=ranks)
    hidden = {node.path for node in modules if not node.registered}
    counted = [
        node
        for node in modules
        if node.alias_of is None and node.path not in hidden and not is_below(node.path, hidden)
    ]
    own = [one for node in counted for one in node.parameters if one.alias_of is None]
    buffers = [one for node in counted for one in node.buffers]
    return replace(
        first,
        ranks=ranks,
        parameters=_elements([one.shape for one in own]),
        trainable_parameters=_elements([one.shape for one in own if one.trainable]),
        buffers=_elements([one.shape for one in buffers if one.alias_of is None]),
    )


def _holdings(graph: Graph) -> list[Hashable]:
    """What its modules hold, by name, and what of that is something else's."""
    found: list[Hashable] = []
    for node in graph.modules:
        held: list[ParameterInfo | BufferInfo] = [*node.parameters, *node.buffers]
        found.append((node.path, node.registered, node.alias_of, *((one.name, one.alias_of) for one in held)))
    return found


def _elements(shapes: Sequence[Shape | None]) -> int | None:
    total = 0
    for shape in shapes:
        number = elements(shape)
        if number is None:
            return None
        total += number
    return total


def _add_records(builder: GraphBuilder, graphs: Sequence[Graph], aligned: Alignment) -> None:
    """Gradients, verification and figures: of the first process that has them."""
    gradients: dict[str, TensorInfo] = {}
    passed: set[tuple[str, int | None]] = set()
    for graph, members in zip(graphs, aligned.members, strict=True):
        new = [replace(one, call=None if one.call is None else members.calls[one.call]) for one in graph.backward]
        builder.backward += [one for one in new if (one.module, one.call) not in passed]
        passed.update((one.module, one.call) for one in new)
        for gradient in graph.parameter_gradients:
            gradients.setdefault(gradient.name, gradient)
    builder.parameter_gradients = list(gradients.values())
    builder.verification, builder.profile = _verification(graphs, aligned.members), _profile(graphs, aligned.members)


def _verification(graphs: Sequence[Graph], members: Sequence[Members]) -> Verification | None:
    """That of the first process where it is not proven, else of the first; None where one has none."""
    found = [(graph.verification, names) for graph, names in zip(graphs, members, strict=True)]
    if any(one is None for one, _ in found):
        return None
    one, names = next((pair for pair in found if pair[0] is not None and not pair[0].proven), found[0])
    assert one is not None
    return replace(
        one,
        not_repeated=tuple(replace(step, node=names.node(step.node)) for step in one.not_repeated),
        differences=tuple(replace(step, node=names.node(step.node)) for step in one.differences),
    )


def _profile(graphs: Sequence[Graph], members: Sequence[Members]) -> Profile | None:
    for graph, names in zip(graphs, members, strict=True):
        if graph.profile is not None:
            return replace(
                graph.profile, calls=tuple(replace(one, call=names.calls[one.call]) for one in graph.profile.calls)
            )
    return None


def _problems(graphs: Sequence[Graph], modules: Sequence[ModuleNode]) -> list[Problem]:
    """Each once; one that not all processes have says which. That a module is not there is none if another has it."""
    there = {node.path for node in modules if node.observed}
    found: dict[Problem, list[int]] = {}
    for graph in graphs:
        absent = {node.path for node in graph.modules if node.observed is False}
        for told in graph.problems:
            problem, ranks = _whose(told, graph)
            if (problem.stage != "merge" or problem.module not in absent & there) and _missing_rank(problem) is None:
                found.setdefault(problem, []).extend(ranks)
    everywhere = sum(len(graph.model.ranks) for graph in graphs)
    return [
        problem if len(ranks) == everywhere else replace(problem, message=f"{on_ranks(ranks)}: {problem.message}")
        for problem, ranks in found.items()
    ]


def _whose(problem: Problem, graph: Graph) -> tuple[Problem, tuple[int, ...]]:
    """A problem as the processes had it, and which: one of a merged graph begins with that, where not all had it."""
    ranks = graph.model.ranks
    prefix = _ON_RANKS.match(problem.message) if len(ranks) > 1 else None
    if prefix is None:
        return problem, ranks
    message = problem.message[prefix.end() :]
    return replace(problem, message=message), tuple(int(rank) for rank in re.findall(r"\d+", prefix[0]))


def _missing_rank(problem: Problem) -> tuple[int, str] | None:
    """The rank of which this problem says that nothing is known, and why."""
    found = _NOTHING_KNOWN.fullmatch(problem.message) if problem.stage == "trace" else None
    return None if found is None else (int(found[1]), found[2])


def _reasons(graphs: Sequence[Graph], given: Mapping[int, str]) -> dict[int, str]:
    """Why there is no graph of a rank: as it is said now, else as graphs that were merged before say."""
    told = [_missing_rank(problem) for graph in graphs for problem in graph.problems]
    return {**{rank: why for rank, why in filter(None, told) if why != NOT_GIVEN}, **given}


def _missing(model: ModelInfo, reasons: Mapping[int, str]) -> list[Problem]:
    world = range(model.world_size or 0)
    return [
        Problem(
            stage="trace",
            message=f"nothing is known of rank {rank} of {len(world)}: {reasons.get(rank, NOT_GIVEN)}",
        )
        for rank in world
        if rank not in model.ranks
    ]
