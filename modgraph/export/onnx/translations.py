"""Operators of torch that the exporter would translate into something else, translated as what they are.

onnxscript's own functions for all others; what it takes for granted of these stands with each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def translations() -> dict[Any, Callable[..., Any]]:
    """By operator, for `torch.onnx.export(custom_translation_table=...)`."""
    return {torch.ops.aten._native_batch_norm_legit_functional.default: batch_norm}


def batch_norm(
    input: Any,
    weight: Any = None,
    bias: Any = None,
    running_mean: Any = None,
    running_var: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Any:
    """Normalisation by the batch's own statistics in training; onnxscript takes the tracked ones there too.

    Returns:
        The result, the mean and the inverse deviation that were used, the new tracked mean and variance.
    """
    from onnxscript.function_libs.torch_lib.ops import core
    from onnxscript.onnx_opset import opset18 as op

    own = core.aten__native_batch_norm_legit_functional
    if not training or running_mean is None or running_var is None:
        return own(input, weight, bias, running_mean, running_var, training, momentum, eps)
    norm, used_mean, used_rstd, mean, var = own(input, weight, bias, None, None, training, momentum, eps)
    size = op.CastLike(op.Div(op.Size(input), op.Squeeze(op.Shape(input, start=1, end=2))), var)
    unbiased = op.Div(op.Mul(var, size), op.Sub(size, op.CastLike(op.Constant(value_float=1.0), var)))
    return norm, used_mean, used_rstd, _moved(running_mean, mean, momentum), _moved(running_var, unbiased, momentum)


def _moved(tracked: Any, seen: Any, momentum: float) -> Any:
    from onnxscript.onnx_opset import opset18 as op

    kept = op.CastLike(op.Constant(value_float=1.0 - momentum), tracked)
    taken = op.CastLike(op.Constant(value_float=momentum), tracked)
    return op.Add(op.Mul(tracked, kept), op.Mul(op.CastLike(seen, tracked), taken))
