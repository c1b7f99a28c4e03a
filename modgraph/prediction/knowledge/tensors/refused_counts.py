"""Sizes and counts that may not be below none, or one: of what is left open, that is a condition on it."""

from __future__ import annotations

from collections.abc import Sequence

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import demands
from modgraph.prediction.domain.values import NONE, Value
from modgraph.prediction.knowledge.tensors.demanding import refuse
from modgraph.prediction.knowledge.tensors.layout_rules import both, named
from modgraph.prediction.knowledge.tensors.tensor_values import shape_argument, size_of
from modgraph.prediction.knowledge.torch.parameters import TENSOR

Counts = tuple[tuple[int, str, int], ...]
"""Of each: at which place, and under which name, it is given, and what it is at least."""

_WINDOWS = "hann_window hamming_window blackman_window bartlett_window kaiser_window"
_BY_NAMES: dict[tuple[str, ...], Counts] = {
    ("torch.randperm",): ((0, "n", 0),),
    ("torch.eye",): ((0, "n", 0), (1, "m", 0)),
    ("torch.linspace", "torch.logspace"): ((2, "steps", 0),),
    (*named("torch.{}", _WINDOWS),): ((0, "window_length", 0),),
    ("torch.tril_indices", "torch.triu_indices"): ((0, "row", 0), (1, "col", 0)),
    ("torch.vander",): ((1, "N", 0),),
    (*both("narrow_copy"),): ((3, "length", 0),),
    (f"{TENSOR}.unfold",): ((2, "size", 0),),
    (*both("histc"),): ((1, "bins", 1),),
    (*both("diff"),): ((1, "n", 0),),
    (*both("repeat_interleave"),): ((1, "repeats", 0),),
    (*both("as_strided"),): ((3, "storage_offset", 0),),
    (*named("torch.fft.{}", "fft ifft rfft irfft hfft ihfft"),): ((1, "n", 1),),
    ("torch.fft.fftfreq",): ((0, "n", 0),),
}
_COUNTS = {name: counts for names, counts in _BY_NAMES.items() for name in names}


@demands(*_COUNTS)
def counted(arguments: Arguments, machine: Machine) -> None:
    """Each is as large as it has to be."""
    for place, name, least in _COUNTS.get(arguments.function, ()):
        given = size_of(arguments.get(place, name, NONE))
        if given is not None and given < least:
            refuse(machine, f"{last_name(arguments.function)}: {name} must be at least {least}, and is {given}")


_SIZES: dict[tuple[str, ...], tuple[tuple[int, str], ...]] = {
    (f"{TENSOR}.repeat",): ((1, "repeats"),),
    (*both("tile"),): ((1, "dims"),),
    (*both("as_strided"),): ((1, "size"), (2, "stride")),
    (f"{TENSOR}.new_empty_strided",): ((1, "size"),),
}
_IN_A_ROW = ("repeat", "tile")
"""Of these the sizes may be given one by one."""
_SIZES_OF = {name: sizes for names, sizes in _SIZES.items() for name in names}


@demands(*_SIZES_OF)
def sized(arguments: Arguments, machine: Machine) -> None:
    """None of the sizes is below none."""
    for place, name in _SIZES_OF.get(arguments.function, ()):
        values: Sequence[Value] = (arguments.get(place, name, NONE),)
        if last_name(arguments.function) in _IN_A_ROW and name not in arguments.keywords:
            values = arguments.positional[place:]
        sizes = shape_argument(machine, values) if NONE not in values and arguments.open is None else None
        for size in sizes or ():
            if size is not None and size < 0:
                refuse(machine, f"Trying to create tensor with negative dimension {size}")
