"""Floating point operations of a forward pass from its shapes, by published formulas.

They are those of `torch.utils.flop_counter`: products of matrices, convolutions and attention count, a multiplication
and an addition are two, and a bias is none. What computes something and has no formula there leaves its figure a lower
bound. Views, and layers that only pass on what they are given, are none.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from modgraph.graph.counts import Count
from modgraph.graph.dataflow import VIEWS, operation_word
from modgraph.graph.model import Call, Edge, Graph, ModuleNode, Operation, Shape
from modgraph.graph.sizes import elements
from modgraph.names import last_name

Sizes = tuple[int, ...]
"""A shape of which every size is known."""

_NONE = Count()
_NOT_KNOWN = Count(partial=True)


def flops_by_call(graph: Graph) -> list[Count]:
    """Of each call, the calls inside it included; what has no formula, or no known shapes, or depends on what is not
    decided, makes it a lower bound."""
    modules = {node.path: node for node in graph.modules}
    parents = {call.parent for call in graph.calls}
    found = [_NONE] * len(graph.calls)
    of_torch = set()
    for call in graph.calls:
        if call.index not in parents and _is_of_torch(modules[call.module]):
            of_torch.add(call.index)
            found[call.index] = _of_layer(modules[call.module], call, graph.model.mode)
    given = _given(graph)
    for operation in graph.operations:
        # What a layer of torch's own does inside is in its formula.
        if operation.call is not None and operation.call not in of_torch:
            count = _of_operation(operation.name, given[operation.id])
            found[operation.call] += _sure(count, operation, graph.calls[operation.call])
    for call in reversed(graph.calls):  # what a call does is done by those around it too
        if call.parent is not None:
            found[call.parent] += _sure(found[call.index], call, graph.calls[call.parent])
    return found


def _sure(count: Count, part: Call | Operation, around: Call) -> Count:
    """What is certainly done where the call around it is made: of two ways that exclude each other neither."""
    if part.certain or part.condition in (None, around.condition):
        return count
    return Count(0, partial=count != _NONE)


@dataclass(slots=True)
class _Given:
    """What went into an operation, as far as the edges say."""

    arguments: dict[int, Shape | None] = field(default_factory=dict)
    """By position."""
    others: bool = False
    """Something stands elsewhere: by name, or inside a list."""


def _given(graph: Graph) -> defaultdict[str, _Given]:
    given: defaultdict[str, _Given] = defaultdict(_Given)
    for edge in graph.edges:
        if edge.consumer.startswith("op:"):
            _take(given[edge.consumer], edge)
    return given


def _take(given: _Given, edge: Edge) -> None:
    position = edge.tensor.name.removeprefix("args[").removesuffix("]")
    if position.isdecimal():
        given.arguments[int(position)] = edge.tensor.shape
    else:
        given.others = True


def _known(shape: Shape | None) -> Sizes | None:
    if shape is None or elements(shape) is None:
        return None
    return tuple(int(size) for size in shape if size is not None)


# --- operations ----------------------------------------------------------------------------------------------------


def _of_operation(name: str, given: _Given) -> Count:
    word = operation_word(name)
    if word in VIEWS or word in _MOVING:
        return _NONE
    formula = None if name.endswith("__rmatmul__") else _OPERATIONS.get(word)
    if formula is None or given.others:
        return _NOT_KNOWN
    shapes = [_known(given.arguments.get(position)) for position in range(max(given.arguments, default=-1) + 1)]
    try:
        number = formula(shapes)
    except (IndexError, TypeError, ValueError):  # a shape, or a size of one, that is not there
        return _NOT_KNOWN
    return Count(number)


_MOVING_WORDS = """
    empty zeros ones full arange empty_like zeros_like ones_like full_like new_empty new_zeros new_ones new_full tensor
    as_tensor flatten clone copy fill zero cat concat concatenate stack hstack vstack dstack
"""
_MOVING = frozenset(_MOVING_WORDS.split())
"""They make tensors, or put them beside each other, and compute nothing."""


def _needed(shape: Sizes | None) -> Sizes:
    if shape is None:
        raise ValueError("not known")
    return shape


def _product(shapes: Sequence[Sizes | None], first: int = 0) -> int:
    """`matmul` of two tensors: as many as each pair of a row and a column is long, for each of these pairs."""
    left, right = _needed(shapes[first]), _needed(shapes[first + 1])
    rows = math.prod(left[-2:-1])
    columns = right[-1] if len(right) > 1 else 1
    batch = _broadcast(left[:-2], right[:-2])
    return 2 * math.prod(batch) * rows * left[-1] * columns


def _broadcast(one: Sizes, other: Sizes) -> Sizes:
    longest = max(len(one), len(other))
    padded = [(1,) * (longest - len(sizes)) + sizes for sizes in (one, other)]
    return tuple(a if b == 1 else b for a, b in zip(*padded, strict=True))


def _linear(shapes: Sequence[Sizes | None]) -> int:
    return 2 * math.prod(_needed(shapes[0])) * _needed(shapes[1])[0]


def _attention(shapes: Sequence[Sizes | None]) -> int:
    """`query @ key.T`, and its softmax `@ value`."""
    query, key, value = (_needed(shapes[position]) for position in range(3))
    return 2 * math.prod(query[:-1]) * key[-2] * (query[-1] + value[-1])


_OPERATIONS: dict[str, Callable[[Sequence[Sizes | None]], int]] = {
    **dict.fromkeys(("matmul", "mm", "bmm", "mv", "dot"), _product),
    **dict.fromkeys(("addmm", "baddbmm", "addmv"), lambda shapes: _product(shapes, 1)),
    "linear": _linear,
    "scaled_dot_product_attention": _attention,
}


# --- layers of torch -----------------------------------------------------------------------------------------------


def _is_of_torch(node: ModuleNode) -> bool:
    return node.class_name is not None and node.class_name.startswith("torch.nn.")


def _of_layer(node: ModuleNode, call: Call, mode: str | None) -> Count:
    """A layer of torch's own, without calls inside it."""
    name = last_name(node.class_name or "")
    if name in _PASSING or (name in _DROPPING and mode == "eval"):
        return _NONE
    formula, whole = _LAYERS.get(name, (None, False))
    weights = {held.name: shape for held in node.parameters if (shape := _known(held.shape)) is not None}
    inputs = [_known(tensor.shape) for tensor in call.inputs]
    outputs = [_known(tensor.shape) for tensor in call.outputs]
    if formula is None or not inputs or not outputs or call.error is not None:
        return _NOT_KNOWN
    try:
        return Count(formula(weights, _needed(inputs[0]), _needed(outputs[0])), partial=not whole)
    except (KeyError, IndexError, ValueError):
        return _NOT_KNOWN


_PASSING = frozenset({"Identity", "Flatten", "Unflatten"})
_DROPPING = frozenset({"Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"})
"""They pass on what they are given, but for training."""


def _linear_layer(weights: dict[str, Sizes], given: Sizes, _result: Sizes) -> int:
    return 2 * math.prod(given) * weights["weight"][0]


def _convolution(weights: dict[str, Sizes], _given: Sizes, result: Sizes) -> int:
    return 2 * math.prod(result) * math.prod(weights["weight"][1:])


def _transposed(weights: dict[str, Sizes], given: Sizes, _result: Sizes) -> int:
    return 2 * math.prod(given) * math.prod(weights["weight"][1:])


def _recurrent(weights: dict[str, Sizes], given: Sizes, _result: Sizes) -> int:
    """Every step of every sequence by the matrices of all layers and directions."""
    return 2 * math.prod(given[:-1]) * sum(math.prod(sizes) for sizes in weights.values() if len(sizes) == 2)


_Layer = Callable[[dict[str, Sizes], Sizes, Sizes], int]
_LAYERS: dict[str, tuple[_Layer, bool]] = {
    **dict.fromkeys(("Linear", "NonDynamicallyQuantizableLinear"), (_linear_layer, True)),
    **{f"Conv{n}d": (_convolution, True) for n in (1, 2, 3)},
    **{f"ConvTranspose{n}d": (_transposed, True) for n in (1, 2, 3)},
    **dict.fromkeys(("RNN", "LSTM", "GRU"), (_recurrent, False)),
}
"""By the name of the class: the formula, and whether it counts all that the layer computes."""
