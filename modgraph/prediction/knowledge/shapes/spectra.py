"""torch.fft: the size of one dimension changes where one is asked for, or where only one half of a spectrum is kept."""

from __future__ import annotations

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import constant, demands, models
from modgraph.prediction.domain.values import NONE, Constant, ModuleReference, Value
from modgraph.prediction.knowledge.shapes import fitting
from modgraph.prediction.knowledge.shapes.arithmetic import Size
from modgraph.prediction.knowledge.shapes.fitting import number
from modgraph.prediction.knowledge.tensors.demanding import refuse, require_text
from modgraph.prediction.knowledge.tensors.elements import REAL_PARTS, Shape
from modgraph.prediction.knowledge.tensors.tensor_values import dimension, size_of

_COMPLEX = {real: name for name, real in REAL_PARTS.items()}
_SEVERAL = ("2", "n")
constant("torch.fft", ModuleReference("torch.fft"))
_KINDS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")


@models(*(f"torch.fft.{kind}{several}" for kind in _KINDS for several in ("", *_SEVERAL)))
def transformed(arguments: Arguments, machine: Machine) -> Value:
    given = fitting.tensor(machine, arguments.get(0, "input", NONE))
    name = last_name(arguments.function)
    is_several = name.endswith(_SEVERAL)
    kind = name[:-1] if is_several else name
    asked = arguments.get(1, "s" if is_several else "n", NONE)
    dim = arguments.get(2, "dim", NONE)
    shape: Shape | None = None
    if given.shape:
        place = _last(machine, dim, len(given.shape), is_several)
        if place is not None and (asked == NONE or not is_several):
            sizes = list(given.shape)
            sizes[place] = _size(kind, sizes[place], asked)
            shape = tuple(sizes)
    is_real = kind in ("irfft", "hfft")
    dtype = given.dtype or ""
    real = REAL_PARTS.get(dtype) or (dtype if dtype in _COMPLEX else None)
    found = real if is_real else _COMPLEX.get(real or "")
    return fitting.result(machine, arguments, shape, found)


def _last(machine: Machine, dim: Value, rank: int, is_several: bool) -> int | None:
    """The dimension that is transformed, of several the last."""
    if dim == NONE:
        return rank - 1
    items = machine.iterate(dim) if is_several and not isinstance(dim, Constant) else [dim]
    return dimension(machine, items[-1], rank) if isinstance(items, list) and items else None


def _size(kind: str, size: Size, asked: Value) -> Size:
    wanted = size if asked == NONE else size_of(asked)
    if wanted is None:
        return None
    if kind in ("rfft", "ihfft"):
        return wanted // 2 + 1
    if kind in ("irfft", "hfft") and asked == NONE:
        return 2 * (wanted - 1)
    return wanted


@demands(*(f"torch.fft.{kind}{several}" for kind in _KINDS for several in ("", *_SEVERAL)))
def scaled(arguments: Arguments, machine: Machine) -> None:
    """By a way that has a name, and of some points."""
    name = last_name(arguments.function)
    require_text(machine, name, arguments.get(3, "norm", NONE), "forward", "backward", "ortho")
    is_several = name.endswith(_SEVERAL)
    points = arguments.get(1, "s" if is_several else "n", NONE)
    listed = machine.iterate(points) if is_several and points != NONE else [points]
    for each in map(number, listed if isinstance(listed, list) else ()):
        if each is not None and each < 1 and not (is_several and each == -1):
            refuse(machine, f"{name}: invalid number of data points ({each}) specified")


@models("torch.fft.fftshift", "torch.fft.ifftshift")
def shifted(arguments: Arguments, machine: Machine) -> Value:
    given = fitting.tensor(machine, arguments.get(0, "input", NONE))
    dim = arguments.get(1, "dim", NONE)
    listed = [dim] if isinstance(dim, Constant) else machine.iterate(dim)
    for each in listed if given.shape is not None and dim != NONE and isinstance(listed, list) else ():
        dimension(machine, each, len(given.shape or ()))
    return fitting.result(machine, arguments, given.shape, given.dtype)


@models("torch.fft.fftfreq", "torch.fft.rfftfreq")
def frequencies(arguments: Arguments, machine: Machine) -> Value:
    wanted = number(arguments.get(0, "n", NONE))
    half = arguments.function.endswith("rfftfreq")
    size = wanted
    if wanted is not None and half:  # torch rounds towards none
        size = wanted // 2 + 1 if wanted >= 0 else 1 - (-wanted) // 2
        if size < 0:
            raise machine.raises("RuntimeError", f"Trying to create tensor with negative dimension {size}")
    plain = not arguments.keywords.keys() - {"n", "d"}
    return fitting.result(machine, arguments, (size,), "float32" if plain else None)
