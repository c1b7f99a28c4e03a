"""Interprets constructors without running them: Target -> Graph.

`predict_graph` is the way in for a target; `predict_value` for any function and values on an `interpreter()` of your
own, `interpret_class` for a class whose constructor's arguments are not known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from modgraph.graph.model import Graph
    from modgraph.prediction.entry import Prediction
    from modgraph.prediction.interpreter import Interpreter
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
    from modgraph.prediction.domain.assumed import NOTHING, Assumed
    from modgraph.prediction.entry import predict_target

    machines: list[Interpreter] = []

    def predicted(assumed: Assumed = NOTHING, units: int | None = None) -> Prediction:
        """The prediction, in at most so many units of work."""
        granted = None if units is None else (units, "what `forward` does")
        if together is None:
            made = predict_target(target, granted=granted, doing=doing, assumed=assumed)
        else:
            left = together.left - sum(each.work for each in machines)
            made = predict_target(
                target,
                together.source(target),
                together.prepare,
                granted if granted is not None and granted[0] < left else (left, "all models of one command"),
                free_reading=together.read_before,
                doing=doing,
                assumed=assumed,
            )
        machines.append(made.machine)
        if units is not None:
            made.machine.forward_left = max(units - made.machine.work, 0)
        return made

    def predict() -> Graph:
        prediction = predicted()
        n_nodes = 0
        try:
            if inputs is None:
                graph = build_graph(prediction, target)
            else:
                from modgraph.prediction.forward.predicting import Wanted, graph_with_forward

                wanted = Wanted(inputs, training, every_way)
                graph = graph_with_forward(prediction, target, wanted, predicted)
            n_nodes = len(graph.modules)
        finally:
            for machine in machines:
                if together is not None:
                    together.take(machine.work, machine.finder.reading, n_nodes if machine is machines[0] else 0)
                machine.forget()
        return graph

    return with_deep_stack(predict)


def interpret_class(target: Target) -> Prediction:
    """The heap after the constructor of a class ran, arguments that the target leaves out unknown; for the rules.

    Raises:
        TargetError: as `predict_graph`.
    """
    from modgraph.prediction.entry import predict_target

    return predict_target(target)
