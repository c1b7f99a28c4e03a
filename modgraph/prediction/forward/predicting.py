"""Adds what `forward` will do to the graph of a prediction: as a rule, and in another mode or with other flags.

Where a run cannot be followed whole, as the source asks for the surroundings (an environment variable, a GPU), it is
followed once more with what is usual there taken for granted. The tree that is claimed stays that of all surroundings;
where these decide which model it is, the usual one is told, and that it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import Condition, Graph, OpenPlace, Problem, SourceLocation
from modgraph.graph.untaken import Parts, Way, add_other_ways, add_ways
from modgraph.prediction.answer.tree import build_graph
from modgraph.prediction.domain.assumed import CAST, DEFAULT_PLACE, PLACED, SET_ORDER, Assumed
from modgraph.prediction.domain.endings import attempt
from modgraph.prediction.domain.limits import MAX_WORK
from modgraph.prediction.domain.values import Address
from modgraph.prediction.entry import Prediction
from modgraph.prediction.forward.assumptions import IN_ORDER, USUAL, assumed_in, with_words
from modgraph.prediction.forward.deciding import deciding
from modgraph.prediction.forward.graph_parts import add_forward
from modgraph.prediction.forward.open_inputs import follow_open
from modgraph.prediction.forward.running import Followed, follow
from modgraph.prediction.forward.size_ways import Judged, SizeWay, Telling, also_known, beside, judged, untold
from modgraph.prediction.forward.under_assumption import under_assumption
from modgraph.source.inputs import InputSpec
from modgraph.source.targets import Target


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be known of `forward`."""

    inputs: Sequence[InputSpec]
    """What it is given; none for inputs of which only is known what it takes."""
    training: bool | None = False
    """None for either mode."""


def graph_with_forward(
    prediction: Prediction, target: Target, wanted: Wanted, again: Callable[[Assumed, int], Prediction]
) -> Graph:
    """The graph of a prediction, with its calls; without them where nobody gave inputs and they cannot all be followed.

    Args:
        again: predicts the target once more, with something taken for granted, in so many units of work.
    """
    followed = _followed(prediction, wanted)
    if followed is None and prediction.failure is not None:
        return build_graph(prediction, target)
    if followed is not None and (followed.is_whole or followed.fails_always or wanted.inputs):
        told = _graph(prediction, target, wanted, followed)
    else:
        told = _without_calls(prediction, target, followed)
    if followed is not None and (followed.is_whole or followed.is_refused):
        return _granted(told, deciding(prediction, target, followed, wanted.training))
    if (followed is not None and followed.has_run_out) or prediction.machine.work > MAX_WORK // 2:
        return told
    second = prediction
    for surroundings in (USUAL, IN_ORDER):  # no run need walk sets in order: taken for granted where nothing else helps
        second = again(assumed_in(surroundings), second.machine.forward_left)
        usual = _followed(second, wanted)
        if (usual is not None and usual.is_whole) or SET_ORDER not in second.machine.asked:
            break
    asked = second.machine.asked - (frozenset() if surroundings.sets_in_order else {SET_ORDER})
    doubted = asked & {PLACED, DEFAULT_PLACE, CAST}
    if usual is not None and doubted:
        asked -= doubted - deciding(second, target, usual, wanted.training)
    if usual is None or not asked:
        return told
    if not usual.is_whole and (usual.is_refused or not wanted.inputs):
        return told
    surroundings = with_words(surroundings, asked)
    return under_assumption(told, _graph(second, target, wanted, usual), surroundings)


def _granted(told: Graph, asked: frozenset[str]) -> Graph:
    """Says under which surroundings all of it holds, as it says for which mode."""
    if not asked:
        return told
    return replace(told, model=replace(told.model, assumed=with_words(USUAL, asked)))


def _without_calls(prediction: Prediction, target: Target, followed: Followed | None) -> Graph:
    """The tree alone, and why `forward` was not followed to its end."""

    def extend(builder: GraphBuilder, paths: Mapping[Address, str], tensors: Mapping[Address, str]) -> None:
        if followed is None:
            return
        beside = GraphBuilder.of(builder.build())
        add_forward(beside, followed, paths, tensors)
        problem = next((each for each in beside.problems if each.stage == "forward"), None)
        if problem is not None:
            builder.model = replace(builder.model, no_calls=_place_of(problem, followed, builder.modules[0].source))

    return build_graph(prediction, target, extend)


_NO_FORWARD = 'is missing the required "forward" function'
"""What `nn.Module` says where its own `forward` is called."""


def _place_of(problem: Problem, followed: Followed, model: SourceLocation | None) -> OpenPlace:
    """Why `forward` was not followed; where it is refused, that is said of inputs that nobody gave."""
    message, file, line = problem.message, problem.file, problem.line
    if file is None and model is not None:
        file, line = model.file, model.line
    if _NO_FORWARD in message:
        message = "the class has no forward"
    elif followed.is_refused and (taken := _taken_for(followed)):
        message += f"; {taken}, as nobody gave inputs"
    return OpenPlace(message=message, module=problem.module or None, file=file, line=line)


_SEVERAL = {"a tensor": "tensors", "a mapping of tensors": "mappings of tensors"}


def _taken_for(followed: Followed) -> str:
    """What the inputs are taken for, where that is tensors, or what holds some."""
    told = []
    for word, is_held in (("a tensor", False), ("a mapping of tensors", True)):
        names = [
            each.name for each in followed.inputs if each.tensors and (each.tensors[0].name != each.name) is is_held
        ]
        if names:
            told.append(f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} taken for ")
            told[-1] += word if len(names) == 1 else _SEVERAL[word]
    return ", ".join(told)


def _followed(prediction: Prediction, wanted: Wanted) -> Followed | None:
    return follow_open(prediction, wanted.inputs, wanted.training)


def _graph(prediction: Prediction, target: Target, wanted: Wanted, followed: Followed) -> Graph:
    judgement = _judged(prediction, followed, wanted)
    others = None
    if followed.failure is None and not followed.has_run_out:
        # On the same inputs: what was found of them is found once.
        others = follow(
            prediction, followed.specs, None, every_way=True, witnesses=followed.witnesses, guessed=followed.guessed
        )
    if others is not None and others.failure is None:
        judgement = beside(judgement, others)

    def extend(builder: GraphBuilder, paths: Mapping[Address, str], tensors: Mapping[Address, str]) -> None:
        told_run = judgement.followed
        runs = [told_run, *(also_known(way.followed, told_run) for way in judgement.ways if way.like is None)]
        runs += [others] if others is not None and others.failure is None else []
        (usual, *read), elsewhere = _read(builder.build(), runs, paths, tensors)
        vars(builder).update(vars(usual))
        more = read.pop() if others is not None and others.failure is None else None
        ways = [None if way.like is not None else read.pop(0) for way in judgement.ways]
        if wanted.training is not None:
            builder.model = replace(builder.model, mode="train" if wanted.training else "eval")
        rule = Parts.of(builder)
        if judgement.telling is not None and ways:
            told = [_way(each, way) for each, way in zip(ways, judgement.ways, strict=True)]
            add_ways(builder, told, partial(_when, prediction, judgement.telling))
        if more is not None:
            add_other_ways(builder, more.build(), rule, elsewhere)
        if others is not None:
            open_ways = _open_ways(others, more, builder.problems)
            builder.model = replace(builder.model, open_ways=open_ways or builder.model.open_ways)
        conditions = judgement.followed.conditions
        if conditions is not None and conditions.counted:
            # A loop over a size has as many turns as it has: those of a few sizes bound nothing.
            builder.calls = [each if each.certain else replace(each, may_repeat=True) for each in builder.calls]

    return build_graph(prediction, target, extend)


def _judged(prediction: Prediction, followed: Followed, wanted: Wanted) -> Judged:
    """A defect in what tells conditions apart must not take the calls with it, nor tell them without conditions."""
    return attempt(
        prediction.machine, lambda: judged(prediction, followed, wanted.training), lambda why: untold(followed, why)
    )


def _when(prediction: Prediction, telling: Telling, gone: frozenset[int]) -> Condition:
    return attempt(prediction.machine, lambda: telling.when(gone), lambda _: telling.asked(gone))


def _read(
    tree: Graph, runs: Sequence[Followed], paths: Mapping[Address, str], tensors: Mapping[Address, str]
) -> tuple[list[GraphBuilder], frozenset[str]]:
    """The graph of each run, and what of the last the first has not done. Where a module calls none in one, and others
    in another, data goes through it in both."""

    def read(run: Followed, holding: frozenset[str] = frozenset()) -> tuple[GraphBuilder, frozenset[str]]:
        builder = GraphBuilder.of(tree)
        return builder, add_forward(builder, run, paths, tensors, holding, runs[0])

    found = [read(run) for run in runs]
    holding = [_that_call(each) for each, _ in found]
    everywhere = frozenset().union(*holding)
    for place, run in enumerate(runs):
        others = everywhere - holding[place]
        if not others.isdisjoint(call.module for call in found[place][0].calls):
            found[place] = read(run, others)
    return [each for each, _ in found], found[-1][1]


def _that_call(builder: GraphBuilder) -> frozenset[str]:
    """Modules that call others."""
    return frozenset(builder.calls[call.parent].module for call in builder.calls if call.parent is not None)


def _open_ways(others: Followed, told: GraphBuilder | None, said: Iterable[Problem]) -> OpenPlace | None:
    """Where what other arguments lead to is not known; None where all of it is, and where that is said already.

    Args:
        told: what was followed of it; None where that came to no end.
    """
    failure = others.failure
    if failure is not None:
        where = failure.where
        return OpenPlace(
            message=failure.reason,
            file=None if where is None else where.file,
            line=None if where is None else where.line,
        )
    known = set(said)
    new = () if told is None else (each for each in told.problems if each.stage == "forward" and each not in known)
    problem = next(iter(new), None)
    if problem is None:
        return None
    return OpenPlace(message=problem.message, module=problem.module or None, file=problem.file, line=problem.line)


def _way(builder: GraphBuilder | None, way: SizeWay) -> Way:
    return Way(None if builder is None else builder.build(), way.like, way.is_told)
