"""The modules and tensors of a live model, by identity: some modules have no hash, and some are falsy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from modgraph.errors import RAISED_BY_OTHERS


def registered_modules(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Path and module of the registered tree, each module once, under its first path; depth first."""
    seen: set[int] = set()
    waiting: list[tuple[str, nn.Module]] = [("", model)]
    while waiting:
        path, module = waiting.pop()
        if id(module) in seen:
            continue
        seen.add(id(module))
        yield path, module
        children = [(name, child) for name, child in module._modules.items() if child is not None]
        waiting.extend((f"{path}.{name}" if path else name, child) for name, child in reversed(children))


def every_module(model: nn.Module) -> Iterator[nn.Module]:
    """The modules of the tree, and those held in lists, tuples, dicts and attributes beside it; depth first."""
    seen: set[int] = set()
    waiting: list[Any] = [model]
    while waiting:
        value = waiting.pop()
        if not issubclass(type(value), nn.Module | list | tuple | dict | set) or id(value) in seen:
            continue
        seen.add(id(value))
        if issubclass(type(value), nn.Module):
            yield value
            waiting.extend(reversed([*value._modules.values(), *vars(value).values()]))
        else:
            waiting.extend(reversed(list(value.values()) if issubclass(type(value), dict) else list(value)))


def parameters(model: nn.Module) -> Iterator[nn.Parameter]:
    """Every registered parameter, once, in the order of `model.parameters()`."""
    seen: set[int] = set()
    for _, module in registered_modules(model):
        for parameter in module._parameters.values():
            if parameter is not None and id(parameter) not in seen:
                seen.add(id(parameter))
                yield parameter


def tensors(model: nn.Module) -> Iterator[torch.Tensor]:
    """Every registered parameter, then every registered buffer."""
    yield from parameters(model)
    for _, module in registered_modules(model):
        yield from (buffer for buffer in module._buffers.values() if buffer is not None)


def set_training(model: nn.Module, training: bool) -> None:
    """Train or eval by the model's own method, which may keep parts as they are; by the flags, where it fails."""
    try:
        model.train(training)
    except RAISED_BY_OTHERS:  # an own `train` that raises, or modules without a hash
        for _, module in registered_modules(model):
            module.training = training
