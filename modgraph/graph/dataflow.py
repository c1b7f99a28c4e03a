"""The dataflow of a graph with views and shape bookkeeping left out: what a reader follows with a finger."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from modgraph.graph.index import GraphIndex
from modgraph.graph.model import Condition, Edge, Operation
from modgraph.names import last_name

_VIEW_WORDS = """
    view view_as reshape reshape_as permute transpose t swapaxes swapdims movedim moveaxis adjoint squeeze unsqueeze
    unflatten expand expand_as broadcast_to ravel contiguous detach to type type_as float double half bfloat16 int
    long short bool cpu cuda getitem select narrow chunk split split_with_sizes tensor_split hsplit vsplit dsplit
    unbind diagonal as_strided atleast_1d atleast_2d atleast_3d view_as_real view_as_complex requires_grad numel size
    dim ndimension stride storage_offset is_contiguous element_size get_device is_floating_point is_complex
    broadcast_tensors lift_fresh alias
"""
VIEWS = frozenset(_VIEW_WORDS.split())
"""Last part of the names of operations that give the same values another shape, type or place."""


def operation_word(name: str) -> str:
    """The bare word of an operation: "torch.Tensor.__iadd__" gives "add", "torch.relu_" gives "relu".

    Attribute reads ("torch.Tensor.T.__get__") give "view".
    """
    if name.endswith(".__get__"):
        return "view"
    word = last_name(name)
    if word.startswith("__") and word.endswith("__"):
        word = word.strip("_")
        if word[:1] in ("i", "r") and word[1:] in _ARITHMETIC:
            word = word[1:]
    elif not word.startswith("_"):
        word = word.rstrip("_") or word
    return word


_ARITHMETIC = frozenset(("add", "sub", "mul", "div", "truediv", "floordiv", "matmul", "mod", "pow", "and", "or", "xor"))


MAX_PASSED = 100_000
"""Ends that views hand on, besides ten times as many as the graph has edges."""


def contracted_edges(index: GraphIndex, *, views: bool = False) -> tuple[Edge, ...]:
    """Edges between calls, drawn operations, inputs, parameters, constants and outputs.

    What passed through views goes directly from its maker to its user, with the shape that the user got. Operations
    inside a leaf call are left out with their edges: the call stands for them. `views=True` keeps the views; so are
    they kept where so much comes together in them that there were far more edges without.
    """
    hidden, passing = _left_out(index, views)
    origins: dict[str, dict[str, _Sure]] = {}
    most = MAX_PASSED + 10 * len(index.graph.edges)
    passed = 0
    for operation in index.graph.operations:
        if operation.id in passing:
            producers: dict[str, _Sure] = {}
            for edge in index.incoming.get(operation.id, ()):
                for producer, sure in origins.get(edge.producer, {edge.producer: _CERTAIN}).items():
                    known = producers.get(producer)
                    if known is None or not known[0]:
                        producers[producer] = _passed(sure, edge)
            origins[operation.id] = producers
            passed += len(producers)
            if passed > most:
                return contracted_edges(index, views=True)
    found: dict[Edge, None] = {}
    for edge in index.graph.edges:
        if edge.consumer in passing or edge.consumer in hidden or edge.producer in hidden:
            continue
        if edge.producer not in passing:
            found[edge] = None
            continue
        passed += len(origins[edge.producer])
        if passed > most:
            return contracted_edges(index, views=True)
        for producer, sure in origins[edge.producer].items():
            if producer not in passing and producer not in hidden:
                certain, condition = _passed(sure, edge)
                ends = replace(
                    edge, producer=producer, ranks=(), or_from=(), or_others=False, output=None, made_by=None
                )
                found[replace(ends, certain=certain, condition=condition)] = None
    return _without_dead_ends(tuple(found))


_Sure: TypeAlias = tuple[bool, Condition | None]
"""Whether it is certain that something comes from somewhere, and else what the last that decides it depends on."""
_CERTAIN: _Sure = (True, None)


def _passed(sure: _Sure, edge: Edge) -> _Sure:
    """What comes so far, one edge on."""
    return sure if edge.certain else (False, edge.condition)


def _without_dead_ends(edges: tuple[Edge, ...]) -> tuple[Edge, ...]:
    """`edges` without those to operations whose result reaches nothing: a test, an assertion, a printed value.

    Where the run broke off, nothing reaches an output, and the operations at its end are what a reader looks for.
    """
    if not any(edge.consumer.startswith("output:") for edge in edges):
        return edges
    makers: dict[str, list[str]] = {}
    for edge in edges:
        makers.setdefault(edge.consumer, []).append(edge.producer)
    pending = [consumer for consumer in makers if not consumer.startswith("op:")]
    alive = set(pending)
    while pending:
        for producer in makers.get(pending.pop(), ()):
            if producer not in alive:
                alive.add(producer)
                pending.append(producer)
    return tuple(edge for edge in edges if edge.consumer in alive)


def _left_out(index: GraphIndex, views: bool) -> tuple[set[str], set[str]]:
    """Operations of which nothing is drawn, and those through which the data is followed."""
    hidden: set[str] = set()
    passing: set[str] = set()
    for operation in index.graph.operations:
        if (
            operation.call is not None
            and index.is_leaf_call(operation.call)
            and index.graph.calls[operation.call].module
        ):
            hidden.add(operation.id)
        elif not views and operation_word(operation.name) in VIEWS and not _looks_up(index, operation):
            passing.add(operation.id)
    return hidden, passing


def _looks_up(index: GraphIndex, operation: Operation) -> bool:
    """Whether an indexing takes its elements from where another tensor says: a choice, not a view."""
    return operation_word(operation.name) == "getitem" and any(
        edge.tensor.shape and (edge.tensor.name or "").startswith("args[1]")
        for edge in index.incoming.get(operation.id, ())
    )


def stands_for_itself(index: GraphIndex, call: int) -> bool:
    """Whether a call is one step of the dataflow, so that what happened inside it is not drawn.

    So is every leaf call. The model's own call is so only where edges end at it: a model that computes everything in
    its `forward` is drawn by its operations.
    """
    if not index.is_leaf_call(call):
        return False
    end = f"call:{call}"
    return index.graph.calls[call].parent is not None or end in index.incoming or end in index.outgoing
