"""What a layer reads and writes of its own past every torch function: weights, statistics that it keeps."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch
from torch import nn

from modgraph.tracing.basics.tensors import Named


def own_tensors(module: nn.Module) -> list[Named]:
    """Those that a call of `module` may write into: a scripted one into any, a layer of torch's into its statistics
    while it trains, and into a weight whose rows it keeps below a norm."""
    if isinstance(module, torch.jit.ScriptModule):
        return tensors_held(module)
    state = module.__dict__
    found: list[Named] = []
    if state.get("training"):
        found += [(name, tensor) for name, tensor in state["_buffers"].items() if tensor is not None]
    if state.get("max_norm") is not None:
        found += [(name, tensor) for name, tensor in state["_parameters"].items() if tensor is not None]
    return found


def tensors_held(module: nn.Module) -> list[Named]:
    """The parameters and buffers of a layer, and of what is below it."""
    return [*module.named_parameters(), *module.named_buffers()]


def torch_forward(kind: Any, originals: dict[Any, Callable[..., Any]]) -> Callable[..., Any] | None:
    """The `forward` of one of torch's own classes; None for a class, or a forward, of somebody else's."""
    forward: Any = getattr(kind, "forward", None)
    forward = originals.get(forward, forward)
    inside = ("torch.nn.modules.", "torch.ao.nn.")
    own = kind.__module__.startswith(inside) and str(getattr(forward, "__module__", "")).startswith(inside)
    plain_call = kind.__call__ is nn.Module.__call__ and kind._call_impl is nn.Module._call_impl
    return forward if own and plain_call and isinstance(forward, FunctionType) else None
