"""Interprets constructors without running them: Target -> Graph.

`predict_graph` is the way in for a target; `predict_value` for any function and values on an `interpreter()` of your
own, `interpret_class` for a class whose constructor's arguments are not known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from modgraph.graph.model import Graph
    from modgraph.prediction.domain.assumed import Assumed
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
) -> Graph:
    """What the target's constructor would register, `predicted=True` throughout.

    Args:
        together: what the predictions of one command share.
        doing: is told in words which file is read, and what is followed.
        inputs: what `forward` is given, to be followed too; None where it is not followed.
        training: it is followed in training mode; None for either.

    Raises:
        TargetError: the file or name is not there, or the file is no Python; names what is near.
    """
    from modgraph.prediction.answer.tree import build_graph
    from modgraph.prediction.deep_stack import with_deep_stack

    predictions = _Predictions(target, together, doing)

    def predict() -> Graph:
        with predictions:
            first = predictions.another()
            if inputs is None:
                graph = build_graph(first, target)
            else:
                from modgraph.prediction.forward.predicting import Wanted, graph_with_forward

                wanted = Wanted(inputs, training)
                graph = graph_with_forward(first, target, wanted, predictions.another)
            predictions.n_nodes = len(graph.modules)
        return graph

    return with_deep_stack(predict)


class _Predictions:
    """Those of one target, each with other things taken for granted; at the end, what they used is told and let go."""

    def __init__(self, target: Target, together: Together | None, doing: Callable[[str], None] | None) -> None:
        self._target = target
        self._together = together
        self._doing = doing
        self._machines: list[Interpreter] = []
        self.n_nodes = 0
        """Of the graph that was made of them."""

    def another(self, assumed: Assumed | None = None, units: int | None = None) -> Prediction:
        """One in at most so many units of work."""
        from modgraph.prediction.domain.assumed import NOTHING
        from modgraph.prediction.entry import predict_target

        granted = None if units is None else (units, "what `forward` does")
        if self._together is None:
            made = predict_target(self._target, granted=granted, doing=self._doing, assumed=assumed or NOTHING)
        else:
            left = self._together.left - sum(each.work for each in self._machines)
            made = predict_target(
                self._target,
                self._together.source(self._target),
                self._together.prepare,
                granted if granted is not None and granted[0] < left else (left, "all models of one command"),
                free_reading=self._together.read_before,
                doing=self._doing,
                assumed=assumed or NOTHING,
            )
        self._machines.append(made.machine)
        if units is not None:
            made.machine.forward_left = max(units - made.machine.work, 0)
        return made

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        for machine in self._machines:
            if self._together is not None:
                n_nodes = self.n_nodes if machine is self._machines[0] else 0
                self._together.take(machine.work, machine.finder.reading, n_nodes)
                self._together.files.update(machine.finder.files_read)
            machine.forget()


def interpret_class(target: Target) -> Prediction:
    """The heap after the constructor of a class ran, arguments that the target leaves out unknown; for the rules.

    Raises:
        TargetError: as `predict_graph`.
    """
    from modgraph.prediction.entry import predict_target

    return predict_target(target)
