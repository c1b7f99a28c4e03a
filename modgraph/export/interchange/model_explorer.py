"""A graph for Google's Model Explorer: its leaves as nodes, the containers around them as layers that open.

Source of the format: `graph_builder.py` of google-ai-edge/model-explorer. Nothing is folded or cut: the viewer opens
what it is asked for, and is made for large graphs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from modgraph.doors.printing import json_text
from modgraph.export.look.arguments import argument_text
from modgraph.export.look.kinds import module_kind, operation_kind
from modgraph.export.look.labels import class_title, clean, shape_text
from modgraph.export.look.style import KINDS
from modgraph.graph.dataflow import operation_word, stands_for_itself
from modgraph.graph.index import GraphIndex, name_below
from modgraph.graph.model import Call, Graph, ModuleNode, Operation, TensorInfo

_Json = dict[str, Any]


def render(graph: Graph) -> str:
    """`graph` as JSON text; the same graph gives the same text."""
    writer = _Writer(graph)
    collection = {"label": clean(graph.model.name), "graphs": [writer.graph_json()]}
    return json_text(json.dumps(collection, ensure_ascii=False, indent=1)) + "\n"


class _Writer:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.index = GraphIndex(graph)

    def graph_json(self) -> _Json:
        nodes = [
            *self._ends("input", ("input:", "param:", "const:")),
            *(self._call(call) for call in self.graph.calls if stands_for_itself(self.index, call.index)),
            *(
                self._operation(operation.id, operation.name, operation.call)
                for operation in self.graph.operations
                if not self._is_inside(operation)
            ),
            *self._ends("output", ("output:",)),
        ]
        known = {node["id"] for node in nodes}
        if not any(call.observed for call in self.graph.calls):
            nodes.extend(
                self._uncalled(node)
                for node in self.graph.modules[1:]
                if not self.index.children[node.path] and not node.calls
            )
        return {
            "id": clean(self.graph.model.name),
            "nodes": [_without_loose_ends(node, known) for node in nodes],
            "groupNodeAttributes": self._groups(),
        }

    def _is_inside(self, operation: Operation) -> bool:
        """Whether it ran in a call that is a node itself."""
        return operation.call is not None and stands_for_itself(self.index, operation.call)

    def _call(self, call: Call) -> _Json:
        node = self.index.modules[call.module]
        return {
            "id": f"call:{call.index}",
            "label": class_title(node.class_name),
            "namespace": self._namespace(call.parent, node),
            "attrs": _pairs(_facts(node)),
            "incomingEdges": self._incoming(f"call:{call.index}"),
            "outputsMetadata": _tensors(call.outputs),
            "style": _style(module_kind(node)),
        }

    def _operation(self, name: str, function: str, call: int | None) -> _Json:
        out = [edge.tensor for edge in self.index.outgoing.get(name, ())][:1]
        word = operation_word(function)
        return {
            "id": name,
            "label": word,
            "namespace": self._way(call),
            "attrs": _pairs({"function": function}),
            "incomingEdges": self._incoming(name),
            "outputsMetadata": _tensors(tuple(out)),
            "style": _style(operation_kind(word)),
        }

    def _ends(self, label: str, kinds: tuple[str, ...]) -> Iterator[_Json]:
        table = self.index.incoming if label == "output" else self.index.outgoing
        for end in sorted(end for end in table if end.startswith(kinds)):
            yield {
                "id": end,
                "label": clean(end.replace(":", " ", 1)),
                "namespace": "",
                "attrs": _pairs({"shape": shape_text(table[end][0].tensor.shape)}),
                "incomingEdges": self._incoming(end),
                "outputsMetadata": [] if label == "output" else _tensors((table[end][0].tensor,)),
            }

    def _uncalled(self, node: ModuleNode) -> _Json:
        return {
            "id": f"module:{node.path}",
            "label": class_title(node.class_name),
            "namespace": self._names(self.index.parents[node.path] or ""),
            "attrs": _pairs(_facts(node)),
            "incomingEdges": [],
            "outputsMetadata": [],
            "style": _style(module_kind(node)),
        }

    def _incoming(self, end: str) -> list[_Json]:
        edges = self.index.incoming.get(end, ())
        return [
            {"sourceNodeId": edge.producer, "sourceNodeOutputId": "0", "targetNodeInputId": str(number)}
            for number, edge in enumerate(edges)
        ]

    def _namespace(self, caller: int | None, node: ModuleNode) -> str:
        """The layers around a leaf: those of its caller, and the containers between that and the module."""
        above = self.graph.calls[caller].module if caller is not None else ""
        parent = self.index.parents[node.path] or ""
        return self._names(parent) if self._is_within(parent, above) else self._way(caller)

    def _is_within(self, path: str, above: str) -> bool:
        step: str | None = path
        while step is not None and step != above:
            step = self.index.parents[step]
        return step == above

    def _way(self, call: int | None) -> str:
        return "" if call is None else self._names(self.graph.calls[call].module)

    def _names(self, path: str) -> str:
        """ "layer1/0" of a module's path: its own name in each container, slashes in names replaced."""
        names: list[str] = []
        step: str | None = path
        while step:
            above = self.index.parents[step]
            names.append(clean(name_below(step, above or "")).replace("/", "∕"))
            step = above
        return "/".join(reversed(names))

    def _groups(self) -> dict[str, dict[str, str]]:
        """What is said of each layer; of the whole model under ""."""
        said: dict[str, dict[str, str]] = {}
        for node in self.graph.modules:
            if node.path == "" or self.index.children[node.path]:
                said[self._names(node.path)] = _facts(node)
        return said


def _facts(node: ModuleNode) -> dict[str, str]:
    states = [
        ("registered", node.registered),
        ("predicted", node.predicted),
        ("observed", node.observed),
    ]
    facts = {"path": node.path, "class": node.class_name or "unknown", "arguments": argument_text(node)}
    facts |= {held.name: f"{shape_text(held.shape)} {held.dtype or ''}".strip() for held in node.parameters}
    facts |= {name: "no" for name, holds in states if holds is False}
    if node.alias_of is not None:
        facts["same as"] = node.alias_of or "the model"
    if node.source is not None:
        facts["source"] = f"{node.source.file}:{node.source.line}"
    return {clean(key): clean(value) for key, value in facts.items() if value}


def _pairs(facts: dict[str, str]) -> list[_Json]:
    return [{"key": key, "value": clean(value)} for key, value in facts.items()]


def _tensors(tensors: tuple[TensorInfo, ...]) -> list[_Json]:
    return [
        {
            "id": str(number),
            "attrs": _pairs({"tensor_shape": shape_text(tensor.shape), "dtype": tensor.dtype or "unknown"}),
        }
        for number, tensor in enumerate(tensors)
    ]


def _style(kind: str) -> _Json:
    style = KINDS[kind]  # type: ignore[index]
    return {"backgroundColor": style.fill, "borderColor": style.strong}


def _without_loose_ends(node: _Json, known: set[str]) -> _Json:
    """`node` without edges from what is no node: the viewer refuses them."""
    node["incomingEdges"] = [edge for edge in node["incomingEdges"] if edge["sourceNodeId"] in known]
    return node
