"""A copy of a live model to try things on: the same classes and structure, no state shared where that is possible."""

from __future__ import annotations

import copy
import types
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import UninitializedBuffer

from modgraph.errors import RAISED_BY_OTHERS
from modgraph.tracing.basics.members import every_module


def copied(model: nn.Module, memo: dict[int, Any] | None = None) -> nn.Module:
    """A copy of `model` and of every module that it holds, registered or not.

    `copy.deepcopy` gives up as a whole for one attribute that cannot be copied (a generator, a lock, a file, a tensor
    with a history); here that attribute alone is shared with the original.

    Args:
        memo: what to put in place of objects, by their `id`, as for `copy.deepcopy`.
    """
    memo = {} if memo is None else memo
    modules = list(every_module(model))
    plain = [module for module in modules if not hasattr(type(module), "__deepcopy__")]
    for module in plain:
        memo[id(module)] = object.__new__(type(module))
    for module in plain:
        made = memo[id(module)]
        for name, value in vars(module).items():
            made.__dict__[name] = _attribute(value, memo)
    for module in plain:
        _rebind(module, memo[id(module)], memo)
    return memo[id(model)] if id(model) in memo else copy.deepcopy(model, memo)


def _attribute(value: Any, memo: dict[int, Any]) -> Any:
    known = len(memo)
    try:
        return copy.deepcopy(value, memo)
    except RAISED_BY_OTHERS:
        # What a half-made copy left behind must not be taken for a whole one.
        for key in list(memo)[known:]:
            del memo[key]
        if issubclass(type(value), UninitializedBuffer):
            make: Any = UninitializedBuffer  # torch's own hints lack its arguments
            return make(requires_grad=value.requires_grad, device=value.device, dtype=value.dtype)
        if type(value) is dict:  # a module's buffers: the copy must not write into the original's
            return {key: _attribute(item, memo) for key, item in value.items()}
        if issubclass(type(value), torch.Tensor):
            return value.detach().clone()
        return value


def _rebind(module: nn.Module, made: nn.Module, memo: dict[int, Any]) -> None:
    """Have functions set on a copy (hooks, a replaced forward) reach the copies of the modules in their closures."""
    before, now = vars(module), vars(made)
    if "_torchdynamo_orig_callable" in now and "_orig_mod" in now.get("_modules", ()):
        now["forward"] = now["_modules"]["_orig_mod"].__call__  # else the compiled one of the original
    stores = [value for name, value in now.items() if issubclass(type(value), dict) and value is not before[name]]
    for store in (now, *stores):
        for name, value in list(store.items()):
            if type(value) is types.FunctionType:
                store[name] = _rebound(value, memo)


def _rebound(function: types.FunctionType, memo: dict[int, Any]) -> types.FunctionType:
    cells = function.__closure__ or ()
    copies = [memo.get(id(_content(cell)), cell) if isinstance(_content(cell), nn.Module) else cell for cell in cells]
    if all(made is cell for made, cell in zip(copies, cells, strict=True)):
        return function
    closure = tuple(c if isinstance(c, types.CellType) else types.CellType(c) for c in copies)
    made = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, closure
    )
    made.__kwdefaults__, made.__qualname__ = function.__kwdefaults__, function.__qualname__
    made.__module__ = function.__module__
    made.__dict__.update(function.__dict__)
    return made


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None
