"""Elements of small tensors: rounded to their dtype, broadcast, and kept only where they are few."""

from __future__ import annotations

import math
import struct
from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import islice, product

from modgraph.prediction.domain.sizes import Limit, is_one, is_open, same

Number = int | float | bool
Shape = tuple[int | None, ...]

MAX_ELEMENTS = Limit(4096)
"""Tensors with more elements than this keep shape and dtype alone: none of a structure depends on their values."""

MAX_RANK = 64
"""Dimensions of a tensor whose elements are kept: torch computes elementwise with as many."""

INTEGERS = ("uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex32", "complex64", "complex128")


def category(dtype: str) -> int:
    """0 for bool, 1 for integers, 2 for floating point, 3 for complex: torch's order of promotion."""
    return 0 if dtype == "bool" else 1 if dtype in INTEGERS else 3 if dtype in COMPLEX else 2


_RANK = {name: position for position, name in enumerate(("bool", *INTEGERS, *FLOATS, *COMPLEX))}


def promoted(left: str | None, right: str | None) -> str | None:
    """Dtype of an operation on two tensors with dimensions. Source: "Type promotion" in torch's notes."""
    if left is None or right is None:
        return None
    if left == right:
        return left
    if category(left) != category(right):
        higher, lower = (left, right) if category(left) > category(right) else (right, left)
        return _wide_enough(higher, lower) if higher in COMPLEX and lower in FLOATS else higher
    if {left, right} == {"float16", "bfloat16"}:
        return "float32"
    if category(left) == 1 and "uint8" in (left, right):
        return "int16" if "int8" in (left, right) else left if right == "uint8" else right
    return max(left, right, key=lambda name: _RANK[name])


WIDTHS = {"float16": 0, "bfloat16": 1, "float32": 1, "float64": 2}
"""Among the complex dtypes, the place of that whose parts are as wide."""


def _wide_enough(higher: str, lower: str) -> str:
    """Complex numbers of whose parts none is narrower than that real one."""
    return COMPLEX[max(COMPLEX.index(higher), WIDTHS[lower])]


REAL_PARTS = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}
"""Dtype of the parts of complex numbers."""


def rounded(value: Number, dtype: str | None) -> Number | None:
    """The number as a tensor of that dtype holds it; None where that is not modelled."""
    if dtype == "bool":
        return bool(value)
    if dtype in INTEGERS:
        whole = int(value) if math.isfinite(value) else None
        if whole is None or whole.bit_length() > _MOST_BITS or (isinstance(value, float) and not _holds(dtype, whole)):
            return None  # which of the numbers outside a float becomes depends on the processor
        return _wrapped(whole, dtype)
    if dtype == "float64":
        return float(value)
    if dtype == "float32":
        return single(float(value))
    return None


_MOST_BITS = 8192
"""Of a number that was computed of elements."""


def _range(dtype: str) -> tuple[int, int]:
    """The smallest number that a tensor of that dtype of integers holds, and the largest."""
    bits = int(dtype.removeprefix("u").removeprefix("int"))
    return (0, (1 << bits) - 1) if dtype.startswith("u") else (-(1 << bits - 1), (1 << bits - 1) - 1)


def _holds(dtype: str, number: int) -> bool:
    lowest, highest = _range(dtype)
    return lowest <= number <= highest


def _wrapped(number: int, dtype: str) -> int:
    """Of a number that does not fit, the lower bits are what is kept."""
    lowest, highest = _range(dtype)
    return (number - lowest) % (highest - lowest + 1) + lowest


def is_refused(number: Number, dtype: str | None) -> bool:
    """Whether torch refuses to put a number of Python into a tensor of that dtype: of unsigned ones, it takes negative
    numbers, too."""
    if dtype not in INTEGERS or isinstance(number, complex) or number != number:
        return False
    lowest, highest = _range(dtype)
    return not (lowest or -highest) <= (int(number) if math.isfinite(number) else highest + 1) <= highest


def remainder_of_dividend(dividend: Number, divisor: Number) -> Number:
    """As C has it, with the sign of the dividend; Python's % has that of the divisor.

    Raises:
        ValueError: the divisor is zero, and they are no integers.
    """
    if isinstance(dividend, float) or isinstance(divisor, float):
        return math.fmod(dividend, divisor)
    rest = abs(dividend) % abs(divisor)
    return -rest if dividend < 0 else rest


def power(base: Number, exponent: Number) -> Number:
    """base ** exponent of elements.

    Raises:
        OverflowError: it has more bits than an element, and might take long to compute.
    """
    if isinstance(base, int) and isinstance(exponent, int) and base not in (0, 1, -1) and abs(exponent) > 64:
        raise OverflowError(exponent)
    found: Number = base**exponent
    return found


def single(value: float) -> float:
    """Rounded to IEEE single precision."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def kept(values: Iterable[Number], dtype: str | None) -> tuple[Number, ...] | None:
    """The elements of a tensor of that dtype, if they are few and their rounding is known."""
    result = list(islice(values, MAX_ELEMENTS + 1))
    if len(result) > MAX_ELEMENTS or any(map(is_open, result)):
        return None
    if dtype == "float32":
        return tuple(array("f", result))  # rounds all of them at once
    numbers = [rounded(value, dtype) for value in result]
    known = [number for number in numbers if number is not None]
    return tuple(known) if len(known) == len(numbers) else None


def is_size(number: int) -> bool:
    """A tensor can have so many elements: torch counts in 64 bits."""
    return number.bit_length() < 64


def count(shape: Shape | None) -> int | None:
    """Number of elements; None where a size is not known, or there are more than torch can count."""
    total = 1
    for size in shape if shape is not None else (None,):
        if size is None or not is_size(total):
            return None
        total *= size
    return total if is_size(total) else None


def broadcast(left: Shape | None, right: Shape | None) -> Shape | None:
    """Shape of an elementwise operation; None where the number of dimensions is not known.

    Raises:
        ValueError: the shapes do not fit.
    """
    if left is None or right is None:
        return None
    longer, shorter = (left, right) if len(left) >= len(right) else (right, left)
    padded = (1,) * (len(longer) - len(shorter)) + tuple(shorter)
    sizes: list[int | None] = []
    for first, second in zip(longer, padded, strict=True):
        if same(second, 1) or same(first, second):
            sizes.append(first)
        elif same(first, 1):
            sizes.append(second)
        elif first is not None and second is not None and (first == second or is_one(second)):
            sizes.append(first)
        elif first is not None and is_one(first):
            sizes.append(second)
        elif first is None or second is None:
            sizes.append(second if first is None else first)
        else:
            raise ValueError(f"The size of tensor a ({first}) must match the size of tensor b ({second})")
    return tuple(sizes)


def strides(shape: Sequence[int]) -> list[int]:
    """Of a contiguous tensor, in elements."""
    steps: list[int] = []
    step = 1
    for size in reversed(shape):
        steps.append(step)
        step *= size
    return steps[::-1]


def expanded(values: Sequence[Number], shape: Sequence[int], wanted: Sequence[int]) -> list[Number]:
    """The elements of a tensor of `shape` broadcast to `wanted`."""
    offset = len(wanted) - len(shape)
    steps = [0] * offset + [0 if size == 1 else step for size, step in zip(shape, strides(shape), strict=True)]
    longer = [(size, step) for size, step in zip(wanted, steps, strict=True) if size != 1]  # of one, the index is 0
    places = product(*([i * step for i in range(size)] for size, step in longer))
    return [values[sum(place)] for place in places]


def combined(
    operation: Callable[[Number, Number], Number],
    left: tuple[Sequence[Number], Sequence[int]],
    right: tuple[Sequence[Number], Sequence[int]],
    wanted: Sequence[int],
) -> list[Number] | None:
    """The operation, elementwise; None where it cannot be done (a division by zero, an overflow)."""
    first, second = expanded(*left, wanted), expanded(*right, wanted)
    try:
        return [operation(a, b) for a, b in zip(first, second, strict=True)]
    except (ArithmeticError, TypeError, ValueError):
        return None
