"""Functions of torch that give several tensors: where things are, least and largest, parts of equal size and kin.

Source: the reference of each function; how many tensors there are is told wherever it does not depend on elements.
"""

from __future__ import annotations

from collections.abc import Sequence

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import TensorObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.sizes import is_one
from modgraph.prediction.domain.values import FALSE, NONE, Constant, KnownFunction, TupleValue, Value
from modgraph.prediction.knowledge.tensors.elements import Shape
from modgraph.prediction.knowledge.tensors.tensor_math import without
from modgraph.prediction.knowledge.tensors.tensor_memory import views
from modgraph.prediction.knowledge.tensors.tensor_shapes import both, like, source_of
from modgraph.prediction.knowledge.tensors.tensor_values import dimension, made, named_parts, shape_argument, size_of
from modgraph.prediction.knowledge.torch.autocasting import may_cast
from modgraph.prediction.knowledge.torch.parameters import TENSOR
from modgraph.prediction.python.plain import data_unknown


@models(*both("aminmax"))
def least_and_largest(arguments: Arguments, machine: Machine) -> Value:
    source = source_of(arguments, machine)
    dim = arguments.keywords.get("dim", NONE)
    shape = without(machine, source.shape, dim, machine.truth(arguments.keywords.get("keepdim", FALSE)))
    return named_parts(("min", "max"), [like(machine, source, shape) for _ in range(2)])


@models(*both("frexp"))
def mantissa_and_exponent(arguments: Arguments, machine: Machine) -> Value:
    source = source_of(arguments, machine)
    return named_parts(
        ("mantissa", "exponent"), [like(machine, source, source.shape), made(machine, source.shape, "int32")]
    )


@models(*both("histogram"))
def histogram(arguments: Arguments, machine: Machine) -> Value:
    """What falls between two edges, and the edges, one more than there are bins."""
    source, bins = source_of(arguments, machine), size_of(arguments.get(1, "bins", NONE))
    shapes = (None, None) if bins is None else ((bins,), (bins + 1,))
    return named_parts(("hist", "bin_edges"), [made(machine, shape, source.dtype) for shape in shapes])


@models(*both("geqrf"))
def reflectors(arguments: Arguments, machine: Machine) -> Value:
    source, shape = source_of(arguments, machine), None
    if source.shape is not None and len(source.shape) > 1 and None not in source.shape[-2:]:
        shape = (*source.shape[:-2], min(size or 0 for size in source.shape[-2:]))
    return named_parts(("a", "tau"), [like(machine, source, source.shape), like(machine, source, shape)])


@models("torch.gradient")
def gradients(arguments: Arguments, machine: Machine) -> Value:
    """One for each dimension, or for those that are given."""
    source, dim = source_of(arguments, machine), arguments.keywords.get("dim", NONE)
    found = [dim] if size_of(dim) is not None else machine.iterate(dim) if dim != NONE else None
    if found is None and source.shape is not None:
        found = [Constant(place) for place in range(len(source.shape))]
    if not isinstance(found, list):
        return data_unknown(machine, arguments.function, "how many dimensions a tensor has is not known")
    dtype = source.dtype if source.dtype in ("float32", "float64") else None
    return TupleValue(tuple(made(machine, source.shape, dtype, requires_grad=source.requires_grad) for _ in found))


@models("torch.native_layer_norm")
def normalised(arguments: Arguments, machine: Machine) -> Value:
    """With the mean and the deviation of what was normalised, whose sizes are one."""
    source, shape = source_of(arguments, machine), None
    normal = shape_argument(machine, (arguments.get(1, "normalized_shape", NONE),))
    if source.shape is not None and normal is not None and len(normal) <= len(source.shape):
        shape = (*source.shape[: len(source.shape) - len(normal)], *(1 for _ in normal))
    return TupleValue((like(machine, source, source.shape), like(machine, source, shape), like(machine, source, shape)))


def places(machine: Machine, source: TensorObject, function: str) -> Value:
    """Where elements are not zero: the indices of each dimension in a tensor of its own."""
    if source.shape is None:
        return data_unknown(machine, function, "how many dimensions a tensor has is not known")
    return TupleValue(tuple(made(machine, (None,), "int64") for _ in source.shape or (None,)))


# ---- parts -----------------------------------------------------------------------------------------------------------

_ALONG = {"hsplit": 1, "vsplit": 0, "dsplit": 2}


@views(*both(*_ALONG))
def split_along(arguments: Arguments, machine: Machine) -> Value:
    """`tensor_split` along one dimension, which has to come out even where a number of parts is given."""
    source, name = source_of(arguments, machine), last_name(arguments.function)
    given = arguments.get(1, "indices_or_sections", NONE)
    names = ("indices", "sections", "split_size_or_sections")
    given = next((arguments.keywords[each] for each in names if each in arguments.keywords), given)
    if source.shape is None or len(source.shape) <= (0 if name == "hsplit" else _ALONG[name]):
        return data_unknown(machine, arguments.function, "into how many parts a tensor is split is not known")
    place = 0 if len(source.shape) == 1 else _ALONG[name]
    size, parts = source.shape[place], size_of(given)
    if parts and type(size) is int and size % parts:
        told = f"the size of the dimension {size} is not divisible by the split_size {parts}"
        raise machine.raises("RuntimeError", f"torch.{name} attempted to split along dimension {place}, but {told}!")
    return machine.call(KnownFunction("torch.tensor_split"), (arguments.positional[0], given, Constant(place)))


@models("torch.atleast_1d", "torch.atleast_2d", "torch.atleast_3d")
def at_least(arguments: Arguments, machine: Machine) -> Value:
    """Those that have fewer dimensions get further ones of size one; the others are given back."""
    given = arguments.positional
    if len(given) == 1 and machine.state.find(given[0], TensorObject) is None:
        items = machine.iterate(given[0])
        if not isinstance(items, list):
            return data_unknown(machine, arguments.function, "how many tensors are given is not known")
        return TupleValue(tuple(_grown(machine, each, arguments.function) for each in items))
    found = tuple(_grown(machine, each, arguments.function) for each in given)
    return found[0] if len(found) == 1 else TupleValue(found)


def _grown(machine: Machine, value: Value, function: str) -> Value:
    return machine.call(KnownFunction(f"{TENSOR}.<{last_name(function)}>"), (value,))


@views(*(f"{TENSOR}.<atleast_{rank}d>" for rank in (1, 2, 3)))
def grown(arguments: Arguments, machine: Machine) -> Value:
    source, rank = source_of(arguments, machine), int(last_name(arguments.function)[-3])
    if source.shape is None:
        return like(machine, source, None)
    if len(source.shape) >= rank:
        return arguments.positional[0]
    shapes: dict[int, Shape] = {0: (1,) * rank, 1: (1, *source.shape, 1)[:rank], 2: (*source.shape, 1)}
    return like(machine, source, shapes[len(source.shape)], source.elements)


@views(*both("as_strided"))
def strided(arguments: Arguments, machine: Machine) -> Value:
    source = source_of(arguments, machine)
    return like(machine, source, shape_argument(machine, (arguments.get(1, "size", NONE),)))


@views(f"{TENSOR}.@mH", *both("adjoint"))
def adjoint(arguments: Arguments, machine: Machine) -> Value:
    source, shape = source_of(arguments, machine), None
    if source.shape is not None and len(source.shape) > 1:
        shape = (*source.shape[:-2], source.shape[-1], source.shape[-2])
    return like(machine, source, shape)


@models("torch._is_all_true", "torch._is_any_true")
def truth_of_all(arguments: Arguments, machine: Machine) -> Value:
    return made(machine, (), "bool")


# ---- products --------------------------------------------------------------------------------------------------------


@models("torch.tensordot")
def dotted(arguments: Arguments, machine: Machine) -> Value:
    """What is left of both: the last dimensions of one and the first of the other are summed, or those listed."""
    left, right = (source_of(Arguments("", (arguments.get(i, n, NONE),)), machine) for i, n in enumerate(("a", "b")))
    dims, shape = arguments.get(2, "dims", Constant(2)), None
    if None not in (left.dtype, right.dtype) and left.dtype != right.dtype and not may_cast(machine):
        raise machine.raises("RuntimeError", "both inputs should have same dtype")
    if left.shape is not None and right.shape is not None:
        gone = _summed(machine, dims, len(left.shape), len(right.shape))
        if gone is not None:
            _require_same(machine, left.shape, right.shape, gone)
            rest = (size for place, size in enumerate(left.shape) if place not in gone[0])
            shape = (*rest, *(size for place, size in enumerate(right.shape) if place not in gone[1]))
    needs = None if None in (left.requires_grad, right.requires_grad) else left.requires_grad or right.requires_grad
    return made(machine, shape, left.dtype if left.dtype == right.dtype else None, requires_grad=needs)


def _require_same(machine: Machine, left: Shape, right: Shape, gone: tuple[Sequence[int], Sequence[int]]) -> None:
    """Of what is summed: the sizes of both sides, of which one may be a single element.

    Raises:
        Raised: they differ, or are not as many.
    """
    if len(gone[0]) != len(gone[1]):
        raise machine.raises("RuntimeError", "both dimension lists should have same length")
    for one, other in zip(*gone, strict=True):
        first, second = left[one] if left else 1, right[other] if right else 1
        is_known = first is not None and second is not None
        if is_known and first != second and not is_one(first or 0) and not is_one(second or 0):
            told = f"size {first} in dim {one} and second has size {second} in dim {other}"
            raise machine.raises("RuntimeError", f"contracted dimensions need to match, but first has {told}")


def _summed(machine: Machine, dims: Value, left: int, right: int) -> tuple[Sequence[int], Sequence[int]] | None:
    """The dimensions of each that are summed, in their order.

    Raises:
        Raised: there are none such, or one is said twice.
    """
    number = size_of(dims)
    if number is not None:
        if not 0 <= number <= min(left, right):
            raise machine.raises("RuntimeError", f"tensordot expects dims of both, but got dims={number}")
        return range(left - number, left), range(number)
    pair = machine.iterate(dims) if not isinstance(dims, Constant) else []
    if not isinstance(pair, list) or len(pair) != 2:
        return None
    found: list[list[int]] = []
    for given, rank in zip(pair, (left, right), strict=True):
        listed = [given] if size_of(given) is not None else machine.iterate(given)
        numbers = [dimension(machine, each, rank) for each in listed] if isinstance(listed, list) else [None]
        known = [each for each in numbers if each is not None]
        if len(known) < len(numbers):
            return None
        if len(set(known)) < len(known):
            raise machine.raises("RuntimeError", "dim appears multiple times in the list of dims")
        found.append(known)
    return found[0], found[1]


# ---- spectra ---------------------------------------------------------------------------------------------------------


@models(*both("stft"))
def short_spectra(arguments: Arguments, machine: Machine) -> Value:
    """Of each window of a signal: (frequencies, windows), the batch before it."""
    source, shape = source_of(arguments, machine), None
    width = size_of(arguments.get(1, "n_fft", NONE))
    hop = arguments.get(2, "hop_length", NONE)
    step = (None if width is None else width // 4) if hop == NONE else size_of(hop)
    centred = machine.truth(arguments.get(5, "center", Constant(True)))
    one_side, is_complex = arguments.get(8, "onesided", NONE), machine.truth(arguments.get(9, "return_complex", FALSE))
    half = True if one_side == NONE and source.dtype in ("float32", "float64") else machine.truth(one_side)
    if source.shape and source.shape[-1] is not None and width is not None and step and None not in (centred, half):
        length = source.shape[-1] + (2 * (width // 2) if centred else 0)
        rows = width // 2 + 1 if half else width
        shape = (*source.shape[:-1], rows, 1 + (length - width) // step, *(() if is_complex else (2,)))
    dtype = {"float32": "complex64", "float64": "complex128"}.get(source.dtype or "") if is_complex else source.dtype
    return made(machine, shape if is_complex is not None else None, dtype, requires_grad=source.requires_grad)
