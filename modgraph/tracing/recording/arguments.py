"""What the arguments of a call are named, after the parameters of its `forward`."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import nn

from modgraph.tracing.basics.tensors import ATOMS, EXACT, Named, tensors_in


class Names:
    """What the arguments of one `forward` are called."""

    def __init__(self, module: nn.Module) -> None:
        self._names: list[str] = []
        self._rest: str | None = None
        for parameter in _forward_parameters(module):
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                self._names.append(parameter.name)
            elif parameter.kind is parameter.VAR_POSITIONAL:
                self._rest = parameter.name

        self.first = self.of(0)

    def of(self, position: int) -> str:
        """ "x" of `forward(self, x, *args)` for 0, "args[0]" for 1."""
        if position < len(self._names):
            return self._names[position]
        return f"{self._rest or 'args'}[{position - len(self._names)}]"


def inputs_of(names: Names, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Named]:
    """Every tensor in the arguments, under the names that `forward` gives them."""
    inputs: list[Named] = []
    for position, argument in enumerate(args):
        if type(argument) in EXACT:
            inputs.append((names.of(position), argument))
        elif type(argument) not in ATOMS:
            inputs += tensors_in(argument, names.of(position))
    for name, argument in kwargs.items():
        if type(argument) not in ATOMS:
            inputs += tensors_in(argument, name)
    return inputs


def _forward_parameters(module: nn.Module) -> list[inspect.Parameter]:
    """The parameters of `forward` without `self`; none where they cannot be told."""
    inner = module.__dict__.get("_torchdynamo_orig_callable")
    inner = getattr(inner, "__self__", inner)
    if isinstance(inner, nn.Module):  # a compiled module takes anything; the one that it wraps has the names
        module = inner
    forward = inspect.getattr_static(module, "forward", None)
    if forward is nn.Module.forward:  # not implemented: the class answers calls by itself
        forward = inspect.getattr_static(type(module), "__call__", None)
    if isinstance(module, torch.jit.ScriptModule):
        schema = getattr(getattr(module, "forward", None), "schema", None)
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return [inspect.Parameter(argument.name, kind) for argument in schema.arguments[1:]] if schema else []
    bound = "forward" in module.__dict__ or isinstance(forward, staticmethod)
    forward = forward.__func__ if isinstance(forward, staticmethod | classmethod) else forward
    if not callable(forward):
        return []
    try:
        parameters = list(inspect.signature(forward).parameters.values())
    except (ValueError, TypeError):
        return []
    return parameters if bound else parameters[1:]


def output_name(place: str) -> str:
    """ "[0][1]" -> "0[1]", ".logits" -> "logits", "['a'][0]" -> "a[0]"."""
    if place.startswith("."):
        return place[1:]
    end = place.index("]")
    return place[1:end].strip("'\"") + place[end + 1 :]
