"""Annotations that call something are evaluated where a module of the project is executed, for what the calls do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modgraph.prediction.domain.frames import Frame
from modgraph.source import nodes

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


def of_function(machine: Machine, frame: Frame, node: nodes.FunctionDef) -> None:
    """Of the parameters of a `def`, and of what it returns."""
    params = node.params
    # in the order of CPython's compiler, from which what they leave behind follows
    for each in (*params.params, *params.posonly_params, params.star_arg, *params.kwonly_params, params.star_kwarg):
        if each is not None:
            of_name(machine, frame, each.annotation)
    of_name(machine, frame, node.returns)


def of_name(machine: Machine, frame: Frame, annotation: nodes.Expression | None) -> None:
    whole = machine.modules.whole.get(frame.module)
    if annotation is None or whole is None or not any(type(each) is nodes.Call for each in nodes.walk(annotation)):
        return
    if not any(each.module == "__future__" and each.attribute == "annotations" for each in whole.source.index.imports):
        machine.evaluate(frame, annotation)
