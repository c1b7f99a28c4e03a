"""What methods of tensors, and functions of torch of these names, make of sizes; see `plain_sizes.py`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from modgraph.rules.plain_sizes import (
    FUNCTIONS,
    MAX_ITEMS,
    Given,
    Open,
    Tensor,
    Unproved,
    attempted,
    broadcast,
    called_with,
    fit,
    flat,
    given_beside,
    is_plain,
    of_layer,
    padded,
    product,
    seen,
    tensor,
    unproved,
)

_KEEPING = frozenset(
    (
        *(
            "abs",
            "astype",
            "bernoulli_",
            "bool",
            "clamp",
            "clone",
            "contiguous",
            "cos",
            "cpu",
            "cuda",
            "data",
            "detach",
        ),
        *("exp", "float", "half", "log", "log2", "long", "sin", "sqrt", "tanh", "to", "type", "type_as"),
        *("zeros_like", "ones_like", "rand_like", "randn_like"),
    )
)
_MIXING = frozenset(
    ("add", "pow", "sub", "mul", "div", "add_", "sub_", "mul_", "div_", "eq", "ne", "lt", "gt", "le", "ge")
)
_REDUCING = frozenset(("mean", "sum", "std", "var", "amax", "argmax"))
_PAIRS = frozenset(("max", "min"))
_MADE = frozenset(("zeros", "ones", "rand", "randn", "empty"))


def mixed(first: Any, second: Any) -> Any:
    """Of two values, one of them a tensor or what may be one, element by element."""
    first, second = seen(first), seen(second)
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        return Tensor(broadcast(first.shape, second.shape))
    for one, other in ((first, second), (second, first)):
        if isinstance(one, Tensor):
            if isinstance(other, Open) and not other.is_free:
                return Tensor(broadcast(one.shape, tensor(other, len(one.shape)).shape))
            if not isinstance(other, (int, float, Open)):
                raise Unproved
            return Tensor(one.shape)
    return Open()


def product_of(first: Any, second: Any) -> Any:
    """Of two matrices, or of as many as stand in their other dimensions."""
    first, second = seen(first), seen(second)
    if isinstance(first, Open) and isinstance(second, Open):
        return Open()
    if isinstance(first, Open) or isinstance(second, Open):
        rank = max((len(each.shape) for each in (first, second) if isinstance(each, Tensor)), default=None)
        if rank is None:
            raise Unproved
        first, second = tensor(first, rank), tensor(second, rank)
    first, second = tensor(first), tensor(second)
    if len(first.shape) < 2 or len(second.shape) < 2:
        raise Unproved
    fit(first.shape[-1], second.shape[-2])
    before = broadcast(first.shape[:-2], second.shape[:-2])
    return Tensor([*before, first.shape[-2], second.shape[-1]])


def _product_of_ranks(rank: int) -> Callable[[Any, Any], Any]:
    """`mm` and `bmm`, which broadcast nothing."""

    def made(first: Any, second: Any) -> Any:
        one, other = tensor(first, rank), tensor(second, rank)
        if not len(one.shape) == len(other.shape) == rank:
            raise Unproved
        before = [fit(*pair) for pair in zip(one.shape[:-2], other.shape[:-2], strict=True)]
        fit(one.shape[-1], other.shape[-2])
        return Tensor([*before, one.shape[-2], other.shape[-1]])

    return made


def joined(tensors: Any, dim: Any = 0) -> Any:
    """`torch.cat`."""
    if isinstance(tensors, Open):
        return Open()
    each, rank = _together(tensors)
    if rank is None:
        return Open() if all(isinstance(one, Open) for one in each) else unproved()
    shapes = [tensor(one, rank).shape for one in each]
    place = tensor(each[0]).place(dim)
    if any(len(shape) != rank for shape in shapes):
        raise Unproved
    shape: list[Any] = list(shapes[0])
    for other in shapes[1:]:
        shape = [size if n == place else fit(size, other[n]) for n, size in enumerate(shape)]
    sizes = [seen(one[place]) for one in shapes]
    shape[place] = sum(sizes) if all(type(size) is int for size in sizes) else Open()
    return Tensor(shape)


def _together(tensors: Any) -> tuple[list[Any], int | None]:
    """What is joined, and of how many dimensions it is; None where none of it is a known tensor."""
    if not isinstance(tensors, (list, tuple)) or not tensors:
        raise Unproved
    each = [seen(one) for one in tensors]
    return each, next((len(one.shape) for one in each if isinstance(one, Tensor)), None)


def changed(name: str, before: Any, after: Any) -> Any:
    """What a method does in place must have the shape that was there."""
    if name.endswith("_") and isinstance(before, Tensor):
        if len(before.shape) != len(tensor(after).shape):
            raise Unproved
        return Tensor([fit(*pair) for pair in zip(before.shape, after.shape, strict=True)])
    return after


def _along(value: Any, dim: Any) -> Any:
    if isinstance(value, Tensor):
        value.place(dim)
    return value


def _numbers(given: Sequence[Any]) -> list[Any]:
    """`(2, 3)` and `((2, 3))`."""
    found = given[0] if len(given) == 1 and isinstance(given[0], (list, tuple)) else given
    return [seen(each) for each in found]


def _view(value: Any, *given: Any) -> Any:
    wanted = _numbers(given)
    if not wanted or not all(type(each) is int or isinstance(each, Open) for each in wanted):
        raise Unproved  # of another dtype
    if wanted.count(-1) > 1:
        raise Unproved
    sizes = list(value.shape) if isinstance(value, Tensor) else [Open()]
    left, asked = [seen(size) for size in sizes], [size for size in wanted if size != -1]
    for size in list(asked):
        if isinstance(size, Open) and any(size is other for other in left):
            left.remove(size)
            asked.remove(size)
    known = all(type(size) is int for size in (*left, *asked))
    if not known:
        return Tensor([Open() if size == -1 else size for size in wanted])
    whole, part = math.prod(left), math.prod(asked)
    if part == 0 or (whole % part if -1 in wanted else whole != part):
        raise Unproved
    return Tensor([whole // part if size == -1 else size for size in wanted])


def _permute(value: Any, *given: Any) -> Any:
    wanted = _numbers(given)
    x = tensor(value, len(wanted))
    places = [x.place(each) for each in wanted]
    if sorted(places) != list(range(len(x.shape))):
        raise Unproved
    return Tensor([x.shape[place] for place in places])


def _transpose(value: Any, one: Any, other: Any) -> Any:
    if isinstance(value, Open):
        return Open()
    x = tensor(value)
    places = list(range(len(x.shape)))
    one, other = x.place(one), x.place(other)
    places[one], places[other] = other, one
    return Tensor([x.shape[place] for place in places])


def _unsqueeze(value: Any, dim: Any) -> Any:
    if isinstance(value, Open):
        return Open()
    place = tensor(value).place(dim, 1)
    return Tensor([*value.shape[:place], 1, *value.shape[place:]])


def _squeeze(value: Any, dim: Any = None) -> Any:
    if isinstance(value, Open):
        return Open()
    if dim is None:
        return Tensor([size for size in map(seen, value.shape) if size != 1])
    place = tensor(value).place(dim)
    size = seen(value.shape[place])
    if type(size) is int and size != 1:
        return value
    fit(size, 1)
    return Tensor([*value.shape[:place], *value.shape[place + 1 :]])


def reduced(value: Any, dim: Any = None, keepdim: Any = False) -> Any:
    """Without the dimensions over which is summed."""
    if isinstance(value, Open):
        return Open()
    if dim is None:
        return Tensor([])
    x = tensor(value)
    wanted = [x.place(each) for each in (dim if isinstance(dim, (list, tuple)) else [dim])]
    gone = set(wanted)
    if type(keepdim) is not bool or len(gone) < len(wanted):
        raise Unproved
    kept = [(1 if place in gone else size, place) for place, size in enumerate(x.shape)]
    return Tensor([size for size, place in kept if keepdim or place not in gone])


def _pair(value: Any, *given: Any, **words: Any) -> Any:
    if not given and not words:
        return reduced(value)
    if given and isinstance(seen(given[0]), Tensor):
        return mixed(value, given[0])
    if isinstance(value, Open) and given and isinstance(seen(given[0]), Open):
        return Open()
    return [called_with(reduced, [value, *given], words) for _ in range(2)]


def _expand(value: Any, *given: Any) -> Any:
    wanted = _numbers(given)
    if isinstance(value, Open):
        return Tensor([Open() if size == -1 else size for size in wanted])
    sizes = list(tensor(value).shape)
    if len(wanted) < len(sizes):
        raise Unproved
    new = wanted[: len(wanted) - len(sizes)]
    old = zip(wanted[len(new) :], map(seen, sizes), strict=True)
    return Tensor([*new, *(size if more == -1 else more if size == 1 else fit(size, more) for more, size in old)])


def _repeat(value: Any, *given: Any) -> Any:
    times = _numbers(given)
    if isinstance(value, Open):
        return Tensor([Open() for _ in times])
    sizes = [*([1] * (len(times) - len(value.shape))), *value.shape]
    if len(sizes) != len(times):
        raise Unproved
    return Tensor([product(each) for each in zip(sizes, times, strict=True)])


def _chunk(value: Any, count: Any, dim: Any = 0) -> Any:
    if type(count) is not int or not 1 <= count <= MAX_ITEMS:
        raise Unproved
    if isinstance(value, Open):
        return [Open() for _ in range(count)]
    place, size = value.place(dim), seen(value.shape[value.place(dim)])
    if type(size) is int and size % count:
        raise Unproved
    part = size // count if type(size) is int else None
    return [
        Tensor([*value.shape[:place], Open() if part is None else part, *value.shape[place + 1 :]])
        for _ in range(count)
    ]


def _sections(value: Any, sizes: Any, dim: Any = 0) -> Any:
    """`split`."""
    if isinstance(value, Open):
        return Open()
    place = value.place(dim)
    whole = seen(value.shape[place])
    if isinstance(sizes, Open):
        return Open()
    if isinstance(sizes, int):
        if type(whole) is not int or sizes < 1 or whole > sizes * MAX_ITEMS:
            raise Unproved
        sizes = [min(sizes, whole - start) for start in range(0, whole, sizes)]
    if not isinstance(sizes, (list, tuple)):
        raise Unproved
    parts = [seen(each) for each in sizes]
    if all(type(each) is int for each in parts):
        fit(whole, sum(parts))
    return [Tensor([*value.shape[:place], part, *value.shape[place + 1 :]]) for part in parts]


def of_numbers(value: Any) -> Tensor:
    """`torch.tensor([[1, 2], [3, 4]])`."""
    shape = []
    if not is_plain(value):
        raise Unproved
    while isinstance(value, (list, tuple)) and value:
        shape.append(len(value))
        value = seen(value[0])
    return Tensor(shape) if isinstance(value, (int, float)) else unproved()


def _size(value: Any, dim: Any = None) -> Any:
    if isinstance(value, Open):
        return value.part("shape") if dim is None else value.part("shape").part(dim)
    return tuple(value.shape) if dim is None else seen(value.shape[value.place(dim)])


def _pad(value: Any, around: Any, mode: Any = "constant", *_: Any, **__: Any) -> Any:
    if isinstance(value, Open):
        return Open()
    if not isinstance(around, (list, tuple)):
        raise Unproved
    rank = len(around) // 2
    if mode not in ("constant", "reflect", "replicate", "circular") or (
        mode != "constant" and (rank not in (1, 2, 3) or len(value.shape) not in (rank + 1, rank + 2))
    ):
        raise Unproved
    return Tensor(padded(value.shape, [seen(each) for each in around]))


def _flatten(value: Any, start_dim: Any = 0, end_dim: Any = -1) -> Any:
    if isinstance(value, Open) and end_dim == -1 and start_dim in (0, 1, 2, 3):
        return Tensor([Open() for _ in range(start_dim + 1)])
    return flat(0, Given((start_dim, end_dim), {}, ("start_dim", "end_dim")), tensor(value))


_OTHERS: dict[str, Callable[..., Any]] = {
    "view": _view,
    "reshape": _view,
    "flatten": _flatten,
    "permute": _permute,
    "transpose": _transpose,
    "unsqueeze": _unsqueeze,
    "squeeze": _squeeze,
    "expand": _expand,
    "repeat": _repeat,
    "chunk": _chunk,
    "split": _sections,
    "size": _size,
    "pad": _pad,
    "normalize": lambda x, _=2, dim=1, **__: _along(x, dim),
    "matmul": product_of,
    "bmm": _product_of_ranks(3),
    "expand_as": lambda x, other: _expand(x, list(tensor(other).shape)),
}
FUNCTIONS_ALONE = _MADE | {"cat"}
"""Those that are no methods."""
NAMES = _KEEPING | _MIXING | _REDUCING | _PAIRS | frozenset(_OTHERS)
_ABOUT = frozenset(("device", "dtype", "is_cuda", "requires_grad", "layout", "grad"))


def attribute(x: Tensor, name: str) -> Any:
    """Of a tensor; None for a method."""
    if name == "shape":
        return tuple(x.shape)
    if name == "ndim":
        return len(x.shape)
    if name in ("data", "T"):
        return x if name == "data" else _transpose(x, 0, 1) if len(x.shape) == 2 else unproved()
    return Open() if name in _ABOUT else None


def indexed(x: Tensor, at: Any) -> Tensor:
    """`x[at]`."""
    wanted = [seen(each) for each in (at if isinstance(at, (list, tuple)) else [at])]
    if isinstance(at, list):
        raise Unproved
    taken = sum(each is not None and each is not ... for each in wanted)
    if ... not in wanted:
        wanted.append(...)
    left, shape = list(map(seen, x.shape)), []
    for each in wanted:
        if each is None:
            shape.append(1)
        elif each is ...:
            gone = len(x.shape) - taken
            shape += left[:gone] if gone >= 0 else unproved()
            left = left[gone:]
        else:
            shape += _part(left.pop(0) if left else unproved(), each)
    return Tensor(shape)


def _part(size: Any, at: Any) -> list[Any]:
    if isinstance(at, slice):
        if at == slice(None):
            return [size]
        ends = (at.start, at.stop, at.step)
        if not all(each is None or type(each) is int or isinstance(each, Open) for each in ends):
            raise Unproved
        known = type(size) is int and not any(isinstance(each, Open) for each in ends)
        return [attempted(lambda: len(range(size)[at])) if known else Open()]
    if isinstance(at, Open) and not at.parts:
        return []
    if type(at) is not int or (type(size) is int and not -size <= at < size):
        raise Unproved
    return []


def call(name: str, given: Sequence[Any], words: dict[str, Any], *, is_method: bool) -> Any:
    """A method of a tensor, or a function of torch, which is given the tensor first."""
    if name in _MADE and not is_method:
        return Tensor(_numbers(given))
    if not given:
        raise Unproved
    value, rest = seen(given[0]), [seen(each) for each in given[1:]]
    words = {word: seen(each) for word, each in words.items()}
    if name == "cat" and not is_method:
        return called_with(joined, [value, *rest], words)
    if isinstance(value, (Tensor, Open)):
        kind = FUNCTIONS.get(name.rstrip("_").replace("_", ""))
        if kind is not None:
            return of_layer(kind, given_beside(kind, rest, words), value)
        has_tensors = any(isinstance(each, Tensor) for each in (*rest, *words.values()))
        if name in _KEEPING or name.rstrip("_") in _KEEPING:
            return value if not has_tensors or name in ("to", "type_as") else unproved()
        if name in _MIXING:
            is_whole = len(rest) == 1 and words.keys() <= {"alpha"}
            return changed(name, value, mixed(value, rest[0])) if is_whole else unproved()
        if name in _REDUCING:
            return called_with(reduced, [value, *rest], words)
        if name in _PAIRS:
            return called_with(_pair, [value, *rest], words)
        if name in _OTHERS:
            return called_with(_OTHERS[name], [value, *rest], words)
    raise Unproved
