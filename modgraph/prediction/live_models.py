"""The class of a live model, predicted without knowing what its constructor was given.

An argument may have been anything, so every parameter is unknown, those with defaults too; what does not depend on them
is predicted all the same.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from modgraph.errors import TargetError
from modgraph.graph.model import Graph
from modgraph.names import last_name
from modgraph.prediction.answer.tree import build_graph, nothing_known
from modgraph.prediction.deep_stack import with_deep_stack
from modgraph.prediction.domain.endings import attempt
from modgraph.prediction.domain.objects import ModuleObject
from modgraph.prediction.domain.values import Address, ClassValue, FunctionValue, Unknown, Value
from modgraph.prediction.entry import Prediction, find_name, interpreter, load_target, predict_value
from modgraph.prediction.interpreter import Interpreter
from modgraph.prediction.paths import partial_texts
from modgraph.source.targets import Target, import_name

_REASON = "the arguments that the live model was built with are not known"


def predict_live(module: str, qualname: str, file: Path | None) -> Graph:
    """The prediction for a class by where it is defined.

    Args:
        file: of its module, where that is not found by its name (`__main__`).

    Returns:
        The graph; where there is no source, a root of which nothing but the class is known.
    """
    target = _target(module, qualname, file)
    try:
        graph = with_deep_stack(lambda: _graph(target))
    except TargetError as error:
        graph = nothing_known(name := f"{module}.{qualname}", error.message, name)
    return replace(graph, model=replace(graph.model, name=last_name(qualname), target=None))


def is_nothing(predicted: Graph) -> bool:
    """Whether it says nothing of the model: the class has no source, as one from a cell has none, or is not reached."""
    root, *rest = predicted.modules
    return root.source is None and [node.path for node in rest] == ["?"]


def _target(module: str, qualname: str, file: Path | None) -> Target:
    """The class by its module's own name, also where that is `__main__` or is not on the path."""
    root = None
    if file is not None and file.suffix == ".py" and file.is_file():
        root, name = import_name(file)
        if name != module:
            root = file.parent
    return Target(
        text=f"{module}:{qualname}",
        module=module,
        name=qualname,
        file=file if root is not None else None,
        root=root,
        search_path=tuple(entry or str(Path.cwd()) for entry in sys.path),
    )


def _graph(target: Target) -> Graph:
    machine = interpreter(target.search_path)
    prediction = attempt(machine, lambda: _predict(machine, target), lambda why: Prediction(machine, why, why))
    machine.finish()
    if isinstance(prediction.root, Unknown) and prediction.root is prediction.failure:  # before the class is reached
        name = f"{target.module}.{target.name}"
        return nothing_known(name, f"{target.name} is not reached: {prediction.root.reason}", name)
    return build_graph(prediction, target)


def _predict(machine: Interpreter, target: Target) -> Prediction:
    cls = find_name(machine, load_target(machine, target), target.name)
    keywords, takes_more = attempt(machine, lambda: _all_unknown(machine, cls), lambda _: ({}, True))
    prediction = predict_value(machine, cls, (), keywords, Unknown(_REASON) if takes_more else None)
    root = prediction.root
    if takes_more and isinstance(root, Address) and machine.state.find(root, ModuleObject) is not None:
        partial_texts.open_store(machine.state.change(root, ModuleObject).modules, Unknown(_REASON))
        machine.problem(_REASON, root, None)
    return prediction


def _all_unknown(machine: Interpreter, cls: Value) -> tuple[dict[str, Value], bool]:
    """An unknown for every parameter of the constructor, and whether there may be arguments beyond them."""
    init = machine.class_attribute(cls, "__init__") if isinstance(cls, ClassValue) else None
    if not isinstance(init, FunctionValue):
        return {}, True
    parameters = init.definition.parameters[1:]
    named = [parameter.name for parameter in parameters if parameter.kind in ("normal", "keyword")]
    plain = {parameter.name for parameter in parameters if parameter.is_plain}
    return {name: Unknown(_REASON, inert=name in plain) for name in named}, len(named) < len(parameters)
