"""Packed sequences of another width than a recurrent layer takes: torch does not look, and reads past their end."""

from __future__ import annotations

from typing import Any

from torch import nn
from torch.nn.utils.rnn import PackedSequence


def refuse_packed(layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Says of a packed sequence what torch says of one that is not packed.

    Raises:
        RuntimeError: its steps have another width than the layer takes.
    """
    given = args[0] if args else kwargs.get("input")
    if not isinstance(layer, nn.RNNBase) or not isinstance(given, PackedSequence):
        return
    width = given.data.shape[-1]
    if width != layer.input_size:
        raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {layer.input_size}, got {width}")


def unpacked(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same arguments with the steps of a packed sequence, (steps, width), in its place."""
    steps = {name: value.data if isinstance(value, PackedSequence) else value for name, value in kwargs.items()}
    return tuple(value.data if isinstance(value, PackedSequence) else value for value in args), steps
