"""Sizes and counts that may not be below none, or one: of what is left open, that is a condition on it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import demands
from modgraph.prediction.domain.values import NONE, Constant, Value
from modgraph.prediction.knowledge.tensors.demanding import given, refuse
from modgraph.prediction.knowledge.tensors.layout_rules import both, named
from modgraph.prediction.knowledge.tensors.tensor_values import shape_argument
from modgraph.prediction.knowledge.torch.parameters import TENSOR

Counts = tuple[tuple[int, str, int], ...]
"""Of each: at which place, and under which name, it is given, and what it is at least."""

_FUNCTIONAL = "torch.nn.functional"
_WINDOWS = "hann_window hamming_window blackman_window bartlett_window kaiser_window"
_BY_NAMES: dict[tuple[str, ...], Counts] = {
    ("torch.randperm",): ((0, "n", 0),),
    ("torch.eye",): ((0, "n", 0), (1, "m", 0)),
    ("torch.linspace", "torch.logspace"): ((2, "steps", 0),),
    (*named("torch.{}", _WINDOWS),): ((0, "window_length", 0),),
    ("torch.tril_indices", "torch.triu_indices"): ((0, "row", 0), (1, "col", 0)),
    ("torch.vander",): ((1, "N", 0),),
    (*both("narrow_copy"),): ((3, "length", 0),),
    (f"{TENSOR}.unfold",): ((2, "size", 0), (3, "step", 1)),
    (*both("histc"),): ((1, "bins", 1),),
    (*both("diff"),): ((1, "n", 0),),
    (*both("repeat_interleave"),): ((1, "repeats", 0),),
    (*both("as_strided"),): ((3, "storage_offset", 0),),
    (*named("torch.fft.{}", "fft ifft rfft irfft hfft ihfft"),): ((1, "n", 1),),
    ("torch.fft.fftfreq",): ((0, "n", 0),),
    ("torch.combinations",): ((1, "r", 0),),
    ("torch.linalg.vander",): ((1, "N", 2),),
    ("torch.linalg.tensorinv",): ((1, "ind", 1),),
    ("torch.polygamma", "torch.special.polygamma"): ((0, "n", 0),),
    (f"{TENSOR}.polygamma",): ((1, "n", 0),),
    (*both("mvlgamma"), "torch.special.multigammaln"): ((1, "p", 1),),
    (f"{_FUNCTIONAL}.local_response_norm",): ((1, "size", 1),),
    (f"{_FUNCTIONAL}.pdist", "torch.pdist"): ((1, "p", 0),),
    (f"{_FUNCTIONAL}.smooth_l1_loss",): ((5, "beta", 0),),
}
_COUNTS = {name: counts for names, counts in _BY_NAMES.items() for name in names}


@demands(*_COUNTS)
def counted(arguments: Arguments, machine: Machine) -> None:
    """Each is as large as it has to be."""
    for place, name, least in _COUNTS.get(arguments.function, ()):
        found = real(arguments.get(place, name, NONE))
        if found is not None and found < least:
            refuse(machine, f"{last_name(arguments.function)}: {name} must be at least {least}, and is {found}")


def real(value: Value) -> float | None:
    """A number, whole or not; None where it is none, or not known."""
    found = value.value if isinstance(value, Constant) else None
    return found if isinstance(found, (int, float)) and not isinstance(found, bool) else None


Bounds = tuple[int, str, float, float]
"""At which place and under which name a number is given, which is between these two."""
_WITHIN: dict[str, Bounds] = {
    f"{_FUNCTIONAL}.scaled_dot_product_attention": (4, "dropout_p", -math.inf, 1),
    f"{_FUNCTIONAL}.multi_margin_loss": (2, "p", 1, 2),
}


@demands(*_WITHIN)
def within(arguments: Arguments, machine: Machine) -> None:
    """Not below the one, nor above the other."""
    place, name, least, most = _WITHIN[arguments.function]
    found = real(arguments.get(place, name, NONE))
    if found is not None and ((least > -math.inf and found < least) or found > most):
        kind = "ValueError" if name == "p" else "RuntimeError"
        refuse(machine, f"{last_name(arguments.function)}: {name} must not be {found}", kind)


_ORDERED: dict[tuple[str, ...], tuple[int, str, float, int, str, float, str]] = {
    (f"{_FUNCTIONAL}.hardtanh", f"{_FUNCTIONAL}.hardtanh_"): (1, "min_val", -1.0, 2, "max_val", 1.0, "ValueError"),
    (f"{_FUNCTIONAL}.rrelu", "torch.rrelu"): (1, "lower", 1 / 8, 2, "upper", 1 / 3, "RuntimeError"),
}
_ORDERED_OF = {name: pair for names, pair in _ORDERED.items() for name in names}


@demands(*_ORDERED_OF)
def ordered(arguments: Arguments, machine: Machine) -> None:
    """The first of two bounds is not above the second."""
    place, name, usual, other_place, other_name, other_usual, kind = _ORDERED_OF[arguments.function]
    low = real(arguments.get(place, name, Constant(usual)))
    high = real(arguments.get(other_place, other_name, Constant(other_usual)))
    if low is not None and high is not None and low > high:
        refuse(machine, f"{last_name(arguments.function)}: {name}={low} is above {other_name}={high}", kind)


@demands(f"{_FUNCTIONAL}.celu", f"{_FUNCTIONAL}.celu_", "torch.celu")
def divided(arguments: Arguments, machine: Machine) -> None:
    alpha = real(arguments.get(1, "alpha", NONE))
    if alpha is not None and alpha == 0:
        refuse(machine, "ZeroDivisionError: alpha cannot be 0 for CELU")


@demands("torch.native_channel_shuffle", f"{_FUNCTIONAL}.native_channel_shuffle")
def shuffled(arguments: Arguments, machine: Machine) -> None:
    """Groups of as many channels."""
    groups, shape = real(arguments.get(1, "groups", NONE)), given(arguments, machine, 0, "input").shape
    if groups is not None and groups < 1:
        refuse(machine, f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if shape is not None and len(shape) < 3:
        refuse(machine, f"channel_shuffle expects input with > 2 dims, but got {len(shape)}")
    channels = None if shape is None else shape[1]
    if groups is not None and channels is not None and channels % groups:
        refuse(machine, f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups.")


@demands(*both("renorm"))
def renormed(arguments: Arguments, machine: Machine) -> None:
    power = real(arguments.get(1, "p", NONE))
    if power is not None and power <= 0:
        refuse(machine, "renorm: non-positive-norm not supported")


@demands("torch.randint")
def random_below(arguments: Arguments, machine: Machine) -> None:
    """From one number to a larger one."""
    numbers = [each for each in arguments.positional if isinstance(each, Constant)]
    low = arguments.keywords.get("low", numbers[0] if len(numbers) > 1 else Constant(0))
    high = arguments.keywords.get("high", numbers[-1] if numbers else NONE)
    least, most = real(low), real(high)
    if least is not None and most is not None and least >= most:
        refuse(machine, f"random_ expects 'from' to be less than 'to', but got from={least} >= to={most}")


@demands(f"{_FUNCTIONAL}.embedding", f"{_FUNCTIONAL}.embedding_bag")
def padded(arguments: Arguments, machine: Machine) -> None:
    """A row that counts for nothing is one of those that are there."""
    is_bag = arguments.function.endswith("bag")
    row = real(arguments.get(10 if is_bag else 2, "padding_idx", NONE))
    rows = (given(arguments, machine, 1, "weight").shape or (None,))[0]
    if row is not None and rows is not None and not -rows <= row < rows:
        refuse(machine, f"Padding_idx must be within num_embeddings, and is {row}", _OF_ROWS[is_bag])


_OF_ROWS = ("AssertionError", "RuntimeError")
_SIZES: dict[tuple[str, ...], tuple[tuple[int, str], ...]] = {
    (f"{TENSOR}.repeat",): ((1, "repeats"),),
    (*both("tile"),): ((1, "dims"),),
    (*both("as_strided"),): ((1, "size"), (2, "stride")),
    (f"{TENSOR}.new_empty_strided",): ((1, "size"),),
    (f"{TENSOR}.resize_",): ((1, "size"),),
}
_IN_A_ROW = ("repeat", "tile", "resize_")
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
