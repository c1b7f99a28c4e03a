"""Inputs for an export that leaves sizes open: which dimensions, and examples that do not suggest a fixed size."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree

from modgraph.errors import InputError
from modgraph.options import DynamicSize, dynamic_size


@dataclass(frozen=True, slots=True)
class ExportInputs:
    """Arguments of `forward`, and per tensor in them the names of the dimensions that are left open."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    shapes: dict[str, Any] | None
    """None where every size is fixed."""


def export_inputs(
    model: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any], dynamic: Sequence[str]
) -> ExportInputs:
    """The arguments for an export with these sizes open.

    A size of 1 is doubled: an exporter takes 1 for a size that is meant.

    Raises:
        InputError: `forward` has no such input, or it has no such dimension.
    """
    if not dynamic:
        return _with_last_dict_named(model, args, dict(kwargs), None)
    sizes = [dynamic_size(text) for text in dynamic]
    signature = inspect.signature(model.forward)
    arguments = signature.bind(*args, **kwargs).arguments
    for size in sizes:
        _require_dimension(size, arguments)
    shapes, widened = {}, {}
    for name, value in arguments.items():
        wanted = [size for size in sizes if size.input in (None, name)]
        widened[name] = _pytree.tree_map(lambda leaf, wanted=wanted: _widened(leaf, wanted), value)
        shapes[name] = _pytree.tree_map(lambda leaf, wanted=wanted: _open(leaf, wanted), value)
    # What was given by name stays so, in its order: that is the order of the inputs of the file.
    positional = signature.bind_partial(*args)
    positional.arguments.update({name: widened[name] for name in positional.arguments})
    named = dict(kwargs)
    for name, value in widened.items():
        if name in named:
            named[name] = value
        elif name not in positional.arguments:  # the keywords that `**` gathers
            named.update(value)
    return _with_last_dict_named(model, positional.args, named, shapes)


def _with_last_dict_named(
    model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], shapes: dict[str, Any] | None
) -> ExportInputs:
    """A last argument that is a dict goes by its name: torch.onnx would take it for the keywords."""
    if args and isinstance(args[-1], dict) and not kwargs:
        names = list(inspect.signature(model.forward).bind(*args).arguments)
        if len(names) == len(args):
            return ExportInputs(args[:-1], {names[-1]: args[-1]}, shapes)
    return ExportInputs(args, kwargs, shapes)


def _require_dimension(size: DynamicSize, arguments: Mapping[str, Any]) -> None:
    values = arguments if size.input is None else {size.input: arguments.get(size.input)}
    tensors = [leaf for leaf in _pytree.tree_leaves(values) if isinstance(leaf, torch.Tensor)]
    if not tensors:
        what = "no input is a tensor" if size.input is None else f"no input {size.input!r} is a tensor"
        raise InputError(f"the size {size.name!r} cannot be left open: {what}", hint=f"inputs: {', '.join(arguments)}")
    if not any(_has(leaf, size) for leaf in tensors):
        most = max(leaf.ndim for leaf in tensors)
        raise InputError(
            f"the size {size.name!r} cannot be left open: there is no dimension {size.dimension} of {most}"
        )


def _has(leaf: Any, size: DynamicSize) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.ndim > size.dimension


def _open(leaf: Any, sizes: Sequence[DynamicSize]) -> dict[int, str] | None:
    return {size.dimension: size.name for size in sizes if _has(leaf, size)} or None


def _widened(leaf: Any, sizes: Sequence[DynamicSize]) -> Any:
    for size in sizes:
        if _has(leaf, size) and leaf.shape[size.dimension] == 1:
            leaf = torch.cat([leaf, leaf], size.dimension)
    return leaf
