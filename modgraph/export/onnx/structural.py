"""The structure of a model as ONNX, from the graph alone: no weights, and nothing that could be run.

Everything is in the domain `modgraph`: each container call is a local function, one per distinct body, each leaf and
each operation a node that ONNX knows nothing of, its constructor's arguments as attributes. Edges are those of the
trace; without a trace there are none. Values have a shape where one is known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from modgraph._version import __version__
from modgraph.errors import ExportError
from modgraph.export.look.labels import shape_text
from modgraph.export.onnx.bodies import Bodies, Body, Node, Taken, free_name, json_text, utf8
from modgraph.export.onnx.scopes import ScopeTree
from modgraph.export.onnx.verify import without_paths
from modgraph.graph.index import GraphIndex
from modgraph.graph.model import Graph, ModelInput, TensorInfo
from modgraph.graph.onnx_types import element_type_of

if TYPE_CHECKING:
    import onnx

DOMAIN = "modgraph"
OPSET = 1
IR_VERSION = 10
"""The first with value_info and metadata_props in functions."""

FLOAT32_MAX = 3.4028234663852886e38
"""Attributes hold no larger number; one that is larger is written as text."""
MAX_NAMED = 8
"""Calls of a function that its description names; its metadata names all."""


def render(graph: Graph) -> bytes:
    """The bytes of an ONNX file that shows the structure of `graph`.

    Raises:
        ExportError: onnx is not installed.
    """
    model: bytes = structural_model(graph).SerializeToString(deterministic=True)
    return model


def structural_model(graph: Graph) -> onnx.ModelProto:
    """The same as an ONNX model.

    Raises:
        ExportError: onnx is not installed.
    """
    try:
        import onnx
    except ImportError as error:
        raise ExportError("the onnx format needs the onnx package", hint='pip install "modgraph[onnx]"') from error
    return _Writer(onnx).model(graph)


class _Writer:
    """Writes bodies as ONNX, with the onnx package that was found."""

    def __init__(self, onnx_package: Any) -> None:
        self._onnx = onnx_package
        self._helper = onnx_package.helper
        self._codes: dict[str | None, int] = dict(onnx_package.TensorProto.DataType.items())

    def model(self, graph: Graph) -> onnx.ModelProto:
        tree = ScopeTree(GraphIndex(graph))
        bodies = Bodies(tree)
        opset = self._helper.make_opsetid(DOMAIN, OPSET)
        model = self._helper.make_model(
            self._graph(bodies.model, utf8(graph.model.name or "model")),
            functions=[self._function(body) for body in bodies.functions.values()],
            opset_imports=[opset],
            ir_version=IR_VERSION,
            producer_name="modgraph",
            producer_version=__version__,
            doc_string=utf8(f"The structure of {graph.model.name}. It has no weights and cannot be run."),
        )
        self._helper.set_model_props(model, _model_facts(graph, tree.left_out))
        return model

    def _function(self, body: Body) -> onnx.FunctionProto:
        function = self._helper.make_function(
            DOMAIN,
            body.name,
            body.inputs,
            body.outputs,
            [self._node(node) for node in body.nodes],
            [self._helper.make_opsetid(DOMAIN, OPSET)],
            doc_string=utf8(_description(body)),
            value_info=self._values(body.tensors),
        )
        facts = {
            "modgraph.class": utf8(body.class_name or "unknown"),
            "modgraph.members": utf8(json_text(body.members)),
        }
        self._helper.set_metadata_props(function, facts)
        return function

    def _graph(self, body: Body, name: str) -> onnx.GraphProto:
        """The outermost body; its inputs and outputs are the graph's own where ONNX lets them, which needs a shape."""
        boundary = _Boundary(body, {name for name, tensor in body.tensors.items() if self._value(name, tensor)})
        return self._helper.make_graph(
            [self._node(node) for node in boundary.nodes],
            name,
            self._values(boundary.inputs),
            self._values(boundary.outputs),
            value_info=self._values(boundary.inside),
        )

    def _node(self, node: Node) -> onnx.NodeProto:
        made = self._helper.make_node(node.type, node.inputs, node.outputs, name=node.name, domain=DOMAIN)
        made.attribute.extend(self._attribute(name, value) for name, value in node.attributes.items() if name)
        self._helper.set_metadata_props(made, {name: utf8(fact) for name, fact in node.facts.items()})
        return made

    def _attribute(self, name: str, value: Any) -> onnx.AttributeProto:
        types = self._onnx.AttributeProto
        kind, plain = _attribute_value(value)
        return self._helper.make_attribute(utf8(name), plain, attr_type=getattr(types, kind))

    def _values(self, tensors: Mapping[str, TensorInfo]) -> list[onnx.ValueInfoProto]:
        values = (self._value(name, tensor) for name, tensor in tensors.items())
        return [value for value in values if value is not None]

    def _value(self, name: str, tensor: TensorInfo) -> onnx.ValueInfoProto | None:
        """None where the dtype or the number of dimensions is not known, or has no name in ONNX."""
        code = self._codes.get(element_type_of(tensor.dtype))
        if code is None or tensor.shape is None:
            return None
        sizes = [utf8(size) if isinstance(size, str) else size for size in tensor.shape]
        return self._helper.make_tensor_value_info(name, code, sizes)


class _Boundary:
    """Where the values of the outermost body meet the world.

    Args:
        declarable: names of the values that have a dtype and a shape, as the inputs and outputs of an ONNX graph must.
            An input or output without stays a node.
    """

    def __init__(self, body: Body, declarable: set[str]) -> None:
        self.inputs: dict[str, TensorInfo] = {}
        self.outputs: dict[str, TensorInfo] = {}
        nodes: list[Node] = []
        renamed: dict[str, str] = {}
        taken = Taken(name for node in body.nodes for name in node.outputs)
        for node in body.nodes:
            if node.kind == "input":
                self.inputs |= {name: body.tensors[name] for name in node.outputs if name in declarable}
                undeclared = [name for name in node.outputs if name not in declarable]
                nodes += [replace(node, outputs=undeclared)] if undeclared else []
            elif node.kind == "output" and declarable.issuperset(node.inputs) and node.inputs:
                name = free_name(node.name, taken, ":")
                self.outputs[name] = body.tensors[node.inputs[0]]
                if len(node.inputs) == 1 and node.inputs[0] not in self.inputs and node.inputs[0] not in renamed:
                    renamed[node.inputs[0]] = name
                else:
                    nodes.append(replace(node, outputs=[name]))
            else:
                nodes.append(node)
        self.nodes = [
            replace(
                node,
                inputs=[renamed.get(name, name) for name in node.inputs],
                outputs=[renamed.get(name, name) for name in node.outputs],
            )
            for node in nodes
        ]
        declared = {*self.inputs, *renamed}
        self.inside = {name: tensor for name, tensor in body.tensors.items() if name not in declared}


def _attribute_value(value: Any) -> tuple[str, Any]:
    """The ONNX attribute type that holds a constructor's argument, and the argument in it."""
    if isinstance(value, bool | int) and abs(value) < 2**63:
        return "INT", int(value)
    if isinstance(value, float) and not FLOAT32_MAX < abs(value) < math.inf:
        return "FLOAT", value
    if isinstance(value, list | tuple) and value:
        if all(isinstance(entry, int) and abs(entry) < 2**63 for entry in value):
            return "INTS", [int(entry) for entry in value]
        if all(isinstance(entry, int | float) and not FLOAT32_MAX < abs(entry) < math.inf for entry in value):
            return "FLOATS", [float(entry) for entry in value]
        if all(isinstance(entry, str) for entry in value):
            return "STRINGS", [utf8(entry).encode() for entry in value]
    if isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in ("$ref", "$repr"):
        return "STRING", utf8(str(next(iter(value.values())))).encode()
    return "STRING", utf8(
        value if isinstance(value, str) else str(value) if value is None else json_text(value)
    ).encode()


def _description(body: Body) -> str:
    """What a viewer shows of a function."""
    class_name = body.class_name or "a module of unknown class"
    if len(body.members) == 1:
        return f"{class_name}: {body.members[0]}"
    shown = ", ".join(body.members[:MAX_NAMED]) + (", ..." if len(body.members) > MAX_NAMED else "")
    return f"{class_name}, {len(body.members)} calls: {shown}"


def _model_facts(graph: Graph, left_out: int) -> dict[str, str]:
    """What the file says of itself: no time, no machine, no absolute path."""
    model = graph.model
    halves = [word for word, ran in (("predicted", graph.predicted), ("traced", graph.traced)) if ran]
    facts = {
        "modgraph.kind": "structural",
        "modgraph.tier": "C",
        "modgraph.version": __version__,
        "modgraph.weights": "none",
        "modgraph.graph": " and ".join(halves),
        "modgraph.complete": str(graph.complete).lower(),
        "modgraph.class": model.class_name,
        "modgraph.target": model.target,
        "modgraph.parameters": None if model.parameters is None else str(model.parameters),
        "modgraph.inputs": json_text({given.name: _described(given) for given in model.inputs})
        if model.inputs
        else None,
        "modgraph.edges_left_out": str(left_out) if left_out else None,
    }
    aliases = {node.path: node.alias_of for node in graph.modules if node.alias_of is not None}
    if aliases:
        facts["modgraph.aliases"] = json_text(aliases)
    if graph.problems:
        facts["modgraph.problems"] = json_text(
            [without_paths(f"{problem.stage}: {problem.headline}") for problem in graph.problems]
        )
    return {name: utf8(fact) for name, fact in facts.items() if fact is not None}


def _described(given: ModelInput) -> str:
    if given.literal is not None:
        return given.literal
    return ", ".join(f"{tensor.dtype or '?'}[{shape_text(tensor.shape)}]" for tensor in given.tensors)
