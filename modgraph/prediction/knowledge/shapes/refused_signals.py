"""What is refused of signals: fewer numbers than a window, spectra of another height, lengths of another batch.

Source: ATen/native/SpectralOps.cpp, LossCTC.cpp, `torch.nn.functional`.
"""

from __future__ import annotations

import math

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import demands
from modgraph.prediction.domain.values import FALSE, NONE, TRUE, Constant
from modgraph.prediction.knowledge.shapes.fitting import number, sizes
from modgraph.prediction.knowledge.tensors.demanding import (
    differ,
    given,
    is_larger,
    is_nothing,
    refuse,
    require_floats,
    require_rank,
    told,
)
from modgraph.prediction.knowledge.tensors.elements import category
from modgraph.prediction.knowledge.tensors.layout_rules import both

_FUNCTIONAL = "torch.nn.functional"


@demands(*both("stft"))
def short_spectra(arguments: Arguments, machine: Machine) -> None:
    """A signal, or several, as long as a window, with what is put around it."""
    source, width = given(arguments, machine, 0, "input"), number(arguments.get(1, "n_fft", NONE))
    require_rank(machine, "stft", source.shape, (1, 2))
    hop, window = (number(arguments.get(place, name, NONE)) for place, name in ((2, "hop_length"), (3, "win_length")))
    if any(each is not None and each <= 0 for each in (width, hop, window)) or is_larger(window, width):
        refuse(machine, f"stft: n_fft={width}, hop_length={hop}, win_length={window} do not fit")
    if hop is None and arguments.get(2, "hop_length", NONE) == NONE and is_larger(4, width):
        refuse(machine, f"stft: a quarter of n_fft={width} leaves no hop_length")
    _require_window(arguments, machine, "stft", width if window is None else window)
    centred = machine.truth(arguments.get(5, "center", TRUE))
    mode = arguments.get(6, "pad_mode", Constant("reflect"))
    if not source.shape or width is None or centred is None or not isinstance(mode, Constant):
        return
    size, added = source.shape[-1], width // 2 if centred else 0
    if size is None:
        return
    if centred and ((mode.value == "reflect" and added >= size) or (mode.value == "circular" and added > size)):
        refuse(machine, f"stft: padding by {added} should be less than the length of {told(source.shape)}")
    if width > size + 2 * added:
        refuse(machine, f"stft of {told(source.shape)}: expected 0 < n_fft < {size + 2 * added}, but got {width}")


def _require_window(arguments: Arguments, machine: Machine, name: str, width: int | None) -> None:
    """As many numbers as a window has.

    Raises:
        Raised: it has others.
    """
    window = given(arguments, machine, 4, "window").shape
    if window is not None and width is not None and (len(window) != 1 or differ(window[0], width)):
        refuse(machine, f"{name}: expected a window of {width} numbers, but got {told(window)}")


@demands(*both("istft"))
def long_again(arguments: Arguments, machine: Machine) -> None:
    """Spectra of a window's height, and more than one where the ends are cut off."""
    source, width = given(arguments, machine, 0, "input"), number(arguments.get(1, "n_fft", NONE))
    require_rank(machine, "istft", source.shape, (2, 3))
    if source.dtype is not None and category(source.dtype) < 3:
        refuse(machine, "istft requires a complex-valued input tensor")
    hop, asked = (number(arguments.get(place, name, NONE)) for place, name in ((2, "hop_length"), (3, "win_length")))
    window = width if arguments.get(3, "win_length", NONE) == NONE else asked
    if is_larger(1, hop) or is_larger(hop, window) or is_larger(1, window) or is_larger(window, width):
        refuse(machine, f"istft: n_fft={width}, hop_length={hop}, win_length={window} do not fit")
    if hop is None and arguments.get(2, "hop_length", NONE) == NONE and is_larger(4, width):
        refuse(machine, f"istft: a quarter of n_fft={width} leaves no hop_length")
    _require_window(arguments, machine, "istft", window)
    one_side = arguments.get(7, "onesided", NONE)
    half = True if one_side == NONE else machine.truth(one_side)
    if source.shape is None or width is None or half is None:
        return
    is_other = differ(source.shape[-2], width // 2 + 1 if half else width)
    if is_other and (one_side != NONE or differ(source.shape[-2], width)):
        refuse(machine, f"istft: {told(source.shape)} are not spectra of {width} numbers")
    is_cut = machine.truth(arguments.get(5, "center", TRUE)) and arguments.get(8, "length", NONE) == NONE
    if is_cut and (is_larger(2, source.shape[-1]) or is_larger(2, width)):
        refuse(machine, f"istft: nothing is left of {told(source.shape)} between its ends")


@demands(*(f"{_FUNCTIONAL}.lp_pool{rank}d" for rank in (1, 2, 3)))
def power_averaged(arguments: Arguments, machine: Machine) -> None:
    """Of sizes that a window fits into."""
    rank = int(last_name(arguments.function)[-2])
    source, order = given(arguments, machine, 0, "input"), arguments.get(1, "norm_type", NONE)
    shape = source.shape
    if rank == 2 and shape is not None and len(shape) < 3:
        refuse(machine, f"lp_pool2d: expected 3 or 4 dimensions, but got {told(shape)}", "IndexError")
    require_rank(machine, f"lp_pool{rank}d", shape, (rank + 1, rank + 2))
    if shape is not None and any(map(is_nothing, shape[-rank - 1 :])):
        refuse(machine, f"lp_pool{rank}d: only a batch may be empty, but got {told(shape)}")
    if rank == 1 and isinstance(order, Constant) and order.value in (math.inf, -math.inf):
        require_floats(machine, "max_pool1d", source, kind="NotImplementedError")  # the largest of a window
    if shape is None or machine.truth(arguments.get(4, "ceil_mode", FALSE)) is not False:
        return
    windows = sizes(machine, arguments.get(2, "kernel_size", NONE), rank)
    if any(is_larger(*pair) for pair in zip(windows, shape[-rank:], strict=True)):
        refuse(machine, f"lp_pool{rank}d: {told(shape)} is too small for a window of {windows}")


@demands(f"{_FUNCTIONAL}.ctc_loss", "torch.ctc_loss")
def of_sequences(arguments: Arguments, machine: Machine) -> None:
    """Two lengths for each sequence of a batch (T, N, C), which are not longer than that."""
    source, target = given(arguments, machine, 0, "log_probs"), given(arguments, machine, 1, "targets")
    require_rank(machine, "ctc_loss: log_probs", source.shape, (2, 3))
    require_floats(machine, "ctc_loss", source, kind="NotImplementedError")
    if source.shape is None:
        return
    batch = source.shape[1] if len(source.shape) == 3 else 1
    if target.shape is not None and len(target.shape) == 2 and differ(target.shape[0], batch):
        refuse(machine, f"ctc_loss: targets {told(target.shape)} are not of {told(source.shape)}")
    for place, name in ((2, "input_lengths"), (3, "target_lengths")):
        lengths = given(arguments, machine, place, name)
        if lengths.shape is not None and len(lengths.shape) == 1 and differ(lengths.shape[0], batch):
            refuse(machine, f"{name} must be of size batch_size: {told(lengths.shape)} and {told(source.shape)}")
        padded = target.shape[1] if target.shape and len(target.shape) == 2 else None
        longest = source.shape[0] if place == 2 else padded
        if longest is not None and lengths.elements and max(lengths.elements) > longest:
            refuse(machine, f"Expected {name} to have value at most {longest}, but got {max(lengths.elements)}")
