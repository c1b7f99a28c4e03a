"""What the arguments of a call are named, after the parameters of its `forward`."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import nn

from modgraph.tracing.basics.parameters import parameters_of
from modgraph.tracing.basics.tensors import ATOMS, EXACT, Named, tensors_in
from modgraph.tracing.recording.stand_ins import own


class Names:
    """What the arguments of one `forward` are called."""

    def __init__(self, module: nn.Module) -> None:
        self._names: list[str] = []
        self._rest: str | None = None
        for name, kind in _forward_parameters(module):
            if kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD):
                self._names.append(name)
            elif kind is inspect.Parameter.VAR_POSITIONAL:
                self._rest = name

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


def _forward_parameters(module: nn.Module) -> list[tuple[str, Any]]:
    """The parameters of `forward` without `self`, with their kinds; none where they cannot be told."""
    inner = module.__dict__.get("_torchdynamo_orig_callable")
    inner = getattr(inner, "__self__", inner)
    if isinstance(inner, nn.Module):  # a compiled module takes anything; the one that it wraps has the names
        module = inner
    bound = "forward" in module.__dict__
    forward = module.__dict__["forward"] if bound else _of_class(type(module), "forward")
    if forward is nn.Module.forward:  # not implemented: the class answers calls by itself
        forward = _of_class(type(module), "__call__")
    if isinstance(module, torch.jit.ScriptModule):
        schema = getattr(getattr(module, "forward", None), "schema", None)
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return [(argument.name, kind) for argument in schema.arguments[1:]] if schema else []
    bound = bound or isinstance(forward, staticmethod)
    forward = forward.__func__ if isinstance(forward, staticmethod | classmethod) else forward
    if not callable(forward):
        return []
    parameters = parameters_of(own(forward))
    return [(name, kind) for name, kind, _ in (parameters if bound else parameters[1:])]


def _of_class(kind: type, name: str) -> Any:
    """What the class has under this name, past every descriptor."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)


def output_name(place: str) -> str:
    """ "[0][1]" -> "0[1]", ".logits" -> "logits", "['a'][0]" -> "a[0]"."""
    if place.startswith("."):
        return place[1:]
    end = place.index("]")
    return place[1:end].strip("'\"") + place[end + 1 :]
