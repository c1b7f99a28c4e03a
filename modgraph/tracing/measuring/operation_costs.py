"""Floating point operations of one kernel: by torch's own formulas, and by ours for products that torch has none for.

Counted are products and sums of products; what works element by element is listed by name, and not counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.utils.flop_counter import flop_registry

Formula = Callable[[tuple[Any, ...], Mapping[str, Any], Any], int]
"""Arguments and result of a kernel -> its floating point operations."""


def formula_of(packet: Any) -> Formula | None:
    """How many operations a kernel takes, if that is known."""
    known = flop_registry.get(packet)
    if known is not None:
        return lambda args, kwargs, result: int(known(*args, **kwargs, out_val=result))
    own = _FORMULAS.get(str(packet))
    return (lambda args, _kwargs, _result: own(args)) if own is not None else None


def _attention(args: tuple[Any, ...]) -> int:
    """`query @ key.T`, and its softmax `@ value`."""
    query, key, value = args[:3]
    *lead, queries, width = query.shape
    count: int = math.prod(lead)
    return 2 * count * int(queries) * int(key.shape[-2]) * int(width + value.shape[-1])


def _recurrent_layer(args: tuple[Any, ...]) -> int:
    """Every step of every sequence by the weights of the input and those of the state; one layer, one direction."""
    return 2 * _rows(args[0]) * int(sum(weight.numel() for weight in args[1:3]))


def _recurrent_layers(args: tuple[Any, ...]) -> int:
    """The same of all layers and directions."""
    return 2 * _rows(args[0]) * int(sum(weight.numel() for weight in args[1] if weight.dim() == 2))


def _rows(tensor: torch.Tensor) -> int:
    return math.prod(tensor.shape[:-1])


def _matrix_vector(args: tuple[Any, ...]) -> int:
    return 2 * int(args[0].numel())


def _added_matrix_vector(args: tuple[Any, ...]) -> int:
    return 2 * int(args[1].numel())


def _bilinear(args: tuple[Any, ...]) -> int:
    """A product of three with one sum: as many as the factors joined have elements, twice multiplied and added once."""
    sizes = [1] * max(tensor.dim() + len(expanded) for tensor, expanded in zip(args[:3], args[3:6], strict=True))
    for tensor, expanded in zip(args[:3], args[3:6], strict=True):
        shape = list(tensor.shape)
        for dim in sorted(expanded):
            shape.insert(dim, 1)
        sizes = [max(one, int(other)) for one, other in zip(sizes, shape, strict=True)]
    return 3 * math.prod(sizes)


_FORMULAS: dict[str, Callable[[tuple[Any, ...]], int]] = {
    "aten._scaled_dot_product_flash_attention_for_cpu": _attention,
    "aten._scaled_dot_product_fused_attention_overrideable": _attention,
    "aten.mkldnn_rnn_layer": _recurrent_layer,
    "aten._cudnn_rnn": _recurrent_layers,
    "aten.mv": _matrix_vector,
    "aten.dot": _matrix_vector,
    "aten.vdot": _matrix_vector,
    "aten.addmv": _added_matrix_vector,
    "aten._trilinear": _bilinear,
}
