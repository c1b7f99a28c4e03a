"""Interprets constructors without running them: Target -> Graph.

`predict_graph` is the way in for a target; `predict_value` for any function and values on an `interpreter()` of your
own, `interpret_class` for a class whose constructor's arguments are not known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from modgraph.graph.build import GraphBuilder
    from modgraph.graph.model import Graph
    from modgraph.prediction.answer.tree import Extend
    from modgraph.prediction.domain.values import Address
    from modgraph.prediction.entry import Prediction
    from modgraph.prediction.together import Together
    from modgraph.source.inputs import InputSpec
    from modgraph.source.targets import Target

__all__ = ["interpret_class", "predict_graph"]


def predict_graph(
    target: Target,
    together: Together | None = None,
    doing: Callable[[str], None] | None = None,
    inputs: Sequence[InputSpec] | None = None,
    training: bool | None = False,
    every_way: bool = False,
) -> Graph:
    """What the target's constructor would register, `predicted=True` throughout.

    Args:
        together: what the predictions of one command share.
        doing: is told in words which file is read, and what is followed.
        inputs: what `forward` is given, to be followed too; None where it is not followed.
        training: it is followed in training mode; None for either.
        every_way: flags of `forward` that `inputs` leave out may be on or off.

    Raises:
        TargetError: the file or name is not there, or the file is no Python; names what is near.
    """
    from modgraph.prediction.answer.tree import build_graph
    from modgraph.prediction.deep_stack import with_deep_stack
    from modgraph.prediction.entry import predict_target

    def predict() -> Graph:
        if together is None:
            prediction = predict_target(target, doing=doing)
        else:
            granted = (together.left, "all models of one command")
            prediction = predict_target(
                target,
                together.source(target),
                together.prepare,
                granted,
                free_reading=together.read_before,
                doing=doing,
            )
        machine = prediction.machine
        n_nodes = 0
        try:
            extend = None if inputs is None else _following(prediction, inputs, training, every_way)
            graph = build_graph(prediction, target, extend)
            n_nodes = len(graph.modules)
        finally:
            if together is not None:
                together.take(machine.work, machine.finder.reading, n_nodes)
            machine.forget()
        return graph

    return with_deep_stack(predict)


def _following(
    prediction: Prediction, inputs: Sequence[InputSpec], training: bool | None, every_way: bool
) -> Extend | None:
    """What adds a run of `forward` to the graph; None where the model is not built."""
    from modgraph.graph.build import GraphBuilder
    from modgraph.graph.untaken import add_other_ways
    from modgraph.prediction.forward.graph_parts import add_forward
    from modgraph.prediction.forward.open_inputs import follow_open

    followed = follow_open(prediction, inputs, training, every_way)
    if followed is None or (not inputs and not followed.is_whole):
        return None  # nobody has asked for it: what is not whole says less than it takes to read
    others = None if every_way or followed.failure else follow_open(prediction, inputs, None, True)

    def extend(builder: GraphBuilder, paths: Mapping[Address, str], tensors: Mapping[Address, str]) -> None:
        before = GraphBuilder.of(builder.build()) if others is not None else None
        add_forward(builder, followed, paths, tensors)
        if others is not None and others.failure is None and before is not None:
            add_forward(before, others, paths, tensors)
            add_other_ways(builder, before.build())

    return extend


def interpret_class(target: Target) -> Prediction:
    """The heap after the constructor of a class ran, arguments that the target leaves out unknown; for the rules.

    Raises:
        TargetError: as `predict_graph`.
    """
    from modgraph.prediction.entry import predict_target

    return predict_target(target)
