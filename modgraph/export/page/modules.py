"""Graph -> what the side panel of the interactive page says of each module; what many have in common stands once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from modgraph.export.look.agreement import remarks_of
from modgraph.export.look.labels import cut_end, shape_text
from modgraph.export.picture.rows import parameters_text
from modgraph.graph.codec import encode
from modgraph.graph.measures import CallCost
from modgraph.graph.model import BackwardRecord, Call, Graph, ModuleNode, SourceLocation, Statistics, TensorInfo
from modgraph.graph.occurrences import Run
from modgraph.graph.paths import parameter_path

MOST_CALLS = 12
"""Calls of one module that are listed."""
LONGEST_VALUE = 400
"""Characters of an argument."""


def module_details(run: Run, places: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    """The modules in the order of the graph, and the table of what several of them share."""
    return _ModuleWriter(run, places).written()


class _ModuleWriter:
    def __init__(self, run: Run, places: Mapping[str, tuple[int, int]]) -> None:
        self.run = run
        self.graph = run.graph
        self.places = places
        self.facts: dict[str, int] = {}
        self.numbers = {node.path: number for number, node in enumerate(self.graph.modules)}
        self.costs = {cost.call: cost for cost in self.graph.profile.calls} if self.graph.profile else {}
        self.gradients = {tensor.name: tensor for tensor in self.graph.parameter_gradients}
        self.backward = _by_module(self.graph)

    def written(self) -> dict[str, Any]:
        remarks = remarks_of(self.run.index)
        modules = []
        for node in self.graph.modules:
            module = self._module(node)
            states = [[remark.state, cut_end(remark.detail, LONGEST_VALUE)] for remark in remarks[node.path]]
            if states:
                module["states"] = states
            modules.append(module)
        _point_at(modules, self.numbers, "findings", [[finding.module] for finding in self.graph.findings])
        problems = [[each.module for each in problem.apart] for problem in self.graph.problems]
        _point_at(modules, self.numbers, "problems", problems)
        return {"modules": modules, "facts": [json.loads(text) for text in self.facts]}

    def _module(self, node: ModuleNode) -> dict[str, Any]:
        item, row = self.places[node.path]
        module: dict[str, Any] = {"path": node.path, "item": item, "facts": self._shared(self._facts(node))}
        if row:
            module["row"] = row
        if node.source is not None:
            module["at"] = _place_text(node.source)
        if node.calls:
            module["calls"] = [self._call(self.graph.calls[index]) for index in node.calls[:MOST_CALLS]]
            if len(node.calls) > MOST_CALLS:
                module["called"] = len(node.calls)
        if node.alias_of is not None:
            module["same"] = node.alias_of
        if not node.registered:
            module["hidden"] = True
        gradients = [
            [held.name, *_tensor(self.gradients[path])[1:]]
            for held in node.parameters
            if (path := parameter_path(node.path, held.name)) in self.gradients
        ]
        if gradients:
            module["gradients"] = gradients
        if node.path in self.backward:
            module["backward"] = [
                {"inputs": _tensors(record.grad_inputs), "outputs": _tensors(record.grad_outputs)}
                for record in self.backward[node.path][:MOST_CALLS]
            ]
        return module

    def _facts(self, node: ModuleNode) -> dict[str, Any]:
        arguments = {key: _value_text(value) for key, value in node.arguments.items()}
        parameters = [
            [held.name, shape_text(held.shape), held.dtype, held.trainable, held.alias_of] for held in node.parameters
        ]
        buffers = [
            [held.name, shape_text(held.shape), held.dtype, held.persistent, held.alias_of] for held in node.buffers
        ]
        hooks = [[hook.kind, hook.name] for hook in node.hooks]
        count = parameters_text(self.run, node)
        facts = {
            "arguments": arguments,
            "parameters": parameters,
            "buffers": buffers,
            "hooks": hooks,
            "count": count,
        }
        return {"class": node.class_name, **{key: value for key, value in facts.items() if value}}

    def _call(self, call: Call) -> dict[str, Any]:
        written: dict[str, Any] = {
            "index": call.index,
            "shapes": self._shared([_shapes(call.inputs), _shapes(call.outputs)]),
        }
        if call.source is not None:
            written["at"] = _place_text(call.source)
        statistics = [_tensor(tensor) for tensor in (*call.inputs, *call.outputs) if tensor.statistics is not None]
        if statistics:
            written["statistics"] = statistics
        cost = self.costs.get(call.index)
        if cost is not None:
            written["cost"] = _cost(cost)
        remarks = {"error": call.error, "direct": call.direct, "recomputed": call.recomputed}
        return {**written, **{key: value for key, value in remarks.items() if value}}

    def _shared(self, value: Any) -> int:
        """Number of `value` in the table of facts."""
        return self.facts.setdefault(json.dumps(value), len(self.facts))


def _point_at(
    modules: list[dict[str, Any]], numbers: Mapping[str, int], key: str, remarks: list[list[str | None]]
) -> None:
    """Each module has the numbers of the remarks that are of it; a remark is given by the paths that it is of."""
    for number, paths in enumerate(remarks):
        for path in dict.fromkeys(paths):
            if path is not None and path in numbers:
                modules[numbers[path]].setdefault(key, []).append(number)


def _by_module(graph: Graph) -> dict[str, list[BackwardRecord]]:
    found: dict[str, list[BackwardRecord]] = {}
    for record in graph.backward:
        found.setdefault(record.module, []).append(record)
    return found


def _place_text(source: SourceLocation) -> str:
    return f"{source.file}:{source.line}"


def _shapes(tensors: tuple[TensorInfo, ...]) -> list[list[str | None]]:
    return [[tensor.name, shape_text(tensor.shape), tensor.dtype] for tensor in tensors]


def _tensors(tensors: tuple[TensorInfo, ...]) -> list[list[Any]]:
    return [_tensor(tensor) for tensor in tensors]


def _tensor(tensor: TensorInfo) -> list[Any]:
    return [tensor.name, shape_text(tensor.shape), tensor.dtype, _statistics(tensor.statistics)]


def _statistics(statistics: Statistics | None) -> dict[str, float | int] | None:
    if statistics is None:
        return None
    return {key: value for key, value in encode(statistics).items() if value is not None and key != "numel"}


def _cost(cost: CallCost) -> dict[str, Any]:
    return {key: value for key, value in encode(cost).items() if key != "call"}


def _value_text(value: Any) -> str:
    """An argument as its author would write it."""
    if isinstance(value, Mapping):
        (text,) = [value[key] for key in ("$repr", "$ref") if key in value] or [json.dumps(encode(value))]
        return cut_end(str(text), LONGEST_VALUE)
    if isinstance(value, list | tuple):
        return cut_end(f"({', '.join(_value_text(each) for each in value)})", LONGEST_VALUE)
    return cut_end(repr(value), LONGEST_VALUE)
