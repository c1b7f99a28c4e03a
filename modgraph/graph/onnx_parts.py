"""The parts of an ONNX file, taken apart once: a function may be called again and again, and its texts may be long."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from modgraph.errors import GraphError
from modgraph.graph.model import TensorInfo
from modgraph.graph.onnx_amount import LONGEST_SIZE, words
from modgraph.graph.onnx_facts import texts

if TYPE_CHECKING:
    import onnx


def require_text(model: Any, file: str) -> None:
    """Raises GraphError where a name is no UTF-8: protobuf gives its bytes then in place of a text."""
    pending = [model]
    while pending:
        for field_, value in pending.pop().ListFields():
            if field_.type == field_.TYPE_MESSAGE:
                pending.extend([value] if hasattr(value, "ListFields") else value)
            elif field_.type == field_.TYPE_STRING:
                held = [value] if isinstance(value, (str, bytes)) else value
                if any(isinstance(each, bytes) for each in held):
                    raise GraphError("this is no ONNX that can be read: a name in it is no UTF-8 text", file=file)


@dataclass(frozen=True, slots=True)
class Node:
    """A node, however often its function is called."""

    proto: onnx.NodeProto
    facts: Mapping[str, str]
    reads: tuple[str, ...]
    """With what the graphs inside of it read."""
    whole: str
    """Its name without "#2", which says that it is a further piece of a call."""
    own: str
    """That of its module: without the number of the call too."""
    words: int


@dataclass(frozen=True, slots=True)
class Function:
    """A function, however often it is called."""

    nodes: tuple[Node, ...]
    facts: Mapping[str, str]
    elided: Mapping[str, str | None]
    """Modules without operators, by their paths below it."""
    children: Mapping[str, str | None]
    """The module tree below it, in the order of registration."""
    tensors: Mapping[str, TensorInfo]
    words: int


@dataclass(slots=True)
class Body:
    """A function or the graph itself, as it is called once."""

    nodes: Sequence[Node]
    path: str
    call: int | None
    ends: dict[str, str]
    """What each value comes from, as an end of an edge."""
    tensors: Mapping[str, TensorInfo]
    counts: dict[str, int] = field(default_factory=dict)
    pieces: dict[str, int] = field(default_factory=dict)
    """Calls by the names of their nodes, of which a further piece is named "conv#2"."""


def node_of(proto: onnx.NodeProto) -> Node:
    facts = facts_of(proto)
    reads = tuple(dict.fromkeys([*proto.input, *_captured(proto)]))
    said = (proto.name, proto.op_type, proto.domain, attribute(proto, "class") or "")
    count = words(*said, *reads, *proto.output, *facts.values())
    whole = re.sub(r"#\d+$", "", proto.name)
    return Node(proto, facts, reads, whole, re.sub(r"[@#]\d+$", "", whole), count)


def function_of(proto: onnx.FunctionProto, tensors: Mapping[str, TensorInfo]) -> Function:
    facts = facts_of(proto)
    elided, children = texts(facts.get("modgraph.elided")), texts(facts.get("modgraph.children"))
    named = (*elided, *filter(None, elided.values()), *children, *filter(None, children.values()))
    return Function(
        nodes=tuple(map(node_of, proto.node)),
        facts=facts,
        elided=elided,
        children=children,
        tensors=tensors,
        words=words(*facts.values(), *named),
    )


def _captured(node: onnx.NodeProto) -> Iterator[str]:
    """What the graphs inside a node read, also of themselves: names without a producer are passed over."""
    for entry in node.attribute:
        for graph in (entry.g, *entry.graphs):
            for inner in graph.node:
                yield from inner.input
                yield from _captured(inner)


def facts_of(held: Any) -> dict[str, str]:
    return {entry.key: entry.value for entry in held.metadata_props}


def attribute(node: onnx.NodeProto, name: str) -> str | None:
    return next((entry.s.decode("utf-8", "replace") for entry in node.attribute if entry.name == name), None)


def unknown(name: str) -> TensorInfo:
    """A tensor of which only the name is known."""
    return TensorInfo(name=name, shape=None, dtype=None)


def size_of(size: Any) -> int | str | None:
    """One dimension of a shape."""
    if size.HasField("dim_value"):
        return int(size.dim_value)
    named = size.HasField("dim_param") and 0 < len(size.dim_param) <= LONGEST_SIZE
    return str(size.dim_param) if named else None
