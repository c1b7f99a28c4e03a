"""A graph for networkx, in three views.

hierarchy
    A node `module:PATH` for every module (`module:` is the root), and `contains` edges.
dataflow
    The ends of the graph's edges, named as in the JSON (`call:3`, `op:0`, `input:x`, `output:0`, `param:PATH`,
    `const:0`), with a `dataflow` edge for each tensor; and every other leaf call and operation, without edges.
both
    All of these and the calls that made others; a `calls` edge from a module to each of its calls, an `inside` edge
    from a call to each call and operation that ran directly in it.

The kind of an edge is its attribute `kind`, and a node has one too: module, call, operation, input, output, parameter
or constant. A module has the plain fields of its `ModuleNode` and the number of elements of its own parameters; a call
has `index`, `module`, `class_name` and `error`; an operation `name`; a `dataflow` edge `shape` and `dtype`. Two tensors
between the same ends are two edges.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import networkx

from modgraph.doors.printing import printable
from modgraph.errors import ConfigError
from modgraph.graph.index import GraphIndex
from modgraph.graph.model import Graph, ModuleNode
from modgraph.graph.sizes import elements
from modgraph.graph.untaken import as_run

View = Literal["hierarchy", "dataflow", "both"]


def to_networkx(graph: Graph, view: View = "both") -> networkx.MultiDiGraph:
    """The graph as a networkx `MultiDiGraph`; nodes and edges come in the graph's own order.

    Raises:
        ConfigError: `view` is none of the three.
    """
    if view not in get_args(View):
        raise ConfigError(
            f"view={view!r} is not possible", hint=f"view is one of {', '.join(map(repr, get_args(View)))}"
        )
    network = networkx.MultiDiGraph(name=graph.model.name)
    index = GraphIndex(as_run(graph))
    if view != "dataflow":
        _add_modules(network, index)
    if view != "hierarchy":
        _add_dataflow(network, index, containers=view == "both")
    if view == "both":
        _add_calls(network, index)
    return network


def empty_network(name: str) -> networkx.DiGraph:
    """A directed graph without parallel edges and, as yet, without anything."""
    return networkx.DiGraph(name=name)


def graphml_text(network: networkx.DiGraph) -> str:
    """`network` as GraphML; its attributes must be numbers, texts and truth values. Names are made safe for XML."""
    named = networkx.relabel_nodes(network, {node: printable(node) for node in network})
    return "\n".join(networkx.generate_graphml(named, named_key_ids=True)) + "\n"


def _add_modules(network: networkx.MultiDiGraph, index: GraphIndex) -> None:
    for node in index.graph.modules:
        network.add_node(f"module:{node.path}", **_module_facts(node))
    for path, parent in index.parents.items():
        if parent is not None:
            network.add_edge(f"module:{parent}", f"module:{path}", kind="contains")


def _module_facts(node: ModuleNode) -> dict[str, Any]:
    sizes = [elements(parameter.shape) for parameter in node.parameters]
    return {
        "kind": "module",
        "path": node.path,
        "class_name": node.class_name,
        "predicted": node.predicted,
        "observed": node.observed,
        "registered": node.registered,
        "alias_of": node.alias_of,
        "parameters": None if None in sizes else sum(size for size in sizes if size is not None),
    }


def _add_dataflow(network: networkx.MultiDiGraph, index: GraphIndex, *, containers: bool) -> None:
    for call in index.graph.calls:
        if containers or index.is_leaf_call(call.index):
            class_name = index.modules[call.module].class_name
            network.add_node(
                f"call:{call.index}",
                kind="call",
                index=call.index,
                module=call.module,
                class_name=class_name,
                error=call.error,
            )
    for operation in index.graph.operations:
        network.add_node(operation.id, kind="operation", name=operation.name)
    for edge in index.graph.edges:
        for end in (edge.producer, edge.consumer):
            if end not in network:
                network.add_node(end, **_end_facts(end))
        network.add_edge(
            edge.producer, edge.consumer, kind="dataflow", shape=edge.tensor.shape, dtype=edge.tensor.dtype
        )


_END_KINDS = {"input": "input", "output": "output", "param": "parameter", "const": "constant", "call": "call"}


def _end_facts(end: str) -> dict[str, Any]:
    kind, _, name = end.partition(":")
    return {"kind": _END_KINDS[kind], "name": name}


def _add_calls(network: networkx.MultiDiGraph, index: GraphIndex) -> None:
    for call in index.graph.calls:
        network.add_edge(f"module:{call.module}", f"call:{call.index}", kind="calls")
        if call.parent is not None:
            network.add_edge(f"call:{call.parent}", f"call:{call.index}", kind="inside")
    for operation in index.graph.operations:
        if operation.call is not None:
            network.add_edge(f"call:{operation.call}", operation.id, kind="inside")
