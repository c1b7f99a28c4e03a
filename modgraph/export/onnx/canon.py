"""Parts of an ONNX model as text that is equal for equal parts: what is hashed to find blocks that are alike."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import onnx_ir as ir


def type_text(value: ir.Value) -> str:
    """Element type and shape."""
    return f"{value.type}{value.shape}"


def node_text(node: ir.Node) -> list[Any]:
    """A node with its names, attributes and the types of what it makes."""
    return [
        node.name,
        node.domain,
        node.op_type,
        node.overload,
        ["" if value is None else value.name for value in node.inputs],
        [[value.name, type_text(value)] for value in node.outputs],
        [attribute_text(attribute) for _, attribute in sorted(node.attributes.items())],
    ]


def attribute_text(attribute: ir.Attr) -> list[Any]:
    """Name, type and value; of tensors a digest, of graphs their nodes."""
    if attribute.is_ref():
        return [attribute.name, "ref", attribute.ref_attr_name]
    kind = attribute.type.name
    if kind == "TENSOR":
        return [attribute.name, tensor_text(attribute.value)]
    if kind == "TENSORS":
        return [attribute.name, [tensor_text(tensor) for tensor in attribute.value]]
    if kind == "GRAPH":
        return [attribute.name, _graph_text(attribute.as_graph())]
    if kind == "GRAPHS":
        return [attribute.name, [_graph_text(graph) for graph in attribute.as_graphs()]]
    return [attribute.name, kind, repr(attribute.value)]


def tensor_text(tensor: Any) -> str:
    """Element type, shape and a digest of the values."""
    return f"{tensor.dtype}{tuple(tensor.shape)}{hashlib.sha256(tensor.tobytes()).hexdigest()}"


def _graph_text(graph: ir.Graph) -> list[Any]:
    return [
        [[value.name, type_text(value)] for value in graph.inputs],
        [node_text(node) for node in graph],
        [value.name for value in graph.outputs],
    ]


def digest(parts: Any) -> str:
    """A short name for parts that are texts, numbers and lists of those."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
