"""Sizes of tensors, known or open, and what layers and functions of torch make of them: as much as plain models need.

An open size fits wherever it is put, and is what it was put to from then on: `plain_runs.py` looks for one run that
comes to its end, not for all. What a window, a sum or a product makes of an open size is open anew, and no longer tied
to it. What is not certainly known here, and might be known to the interpreter, is `Unproved`.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from modgraph.source.layer_parameters import layer_parameters
from modgraph.source.torch_names import MODAL, STATELESS


class Unproved(Exception):  # noqa: N818 - not a mistake of anybody's
    """Something does not fit, or is not understood here: the interpreter is asked."""


def unproved() -> Any:
    """To be said in an expression.

    Raises:
        Unproved: always.
    """
    raise Unproved


class Open:
    """A value that can still be chosen: a size, a tensor, a flag, whatever it is used for. `value` is what it was
    chosen to be."""

    __slots__ = ("holds", "is_free", "parts", "tests", "value", "whence")

    def __init__(self, is_free: bool = False, whence: tuple[Open, Any] | None = None) -> None:
        self.is_free = is_free
        """It comes of an argument of the class, or of a library that is not there: what is called on it is open too."""
        self.value: Any = None
        self.holds: bool | None = None
        """Which way a test of it has gone."""
        self.parts: dict[Any, Any] = {}
        """Its attributes and elements, as far as they were asked for."""
        self.tests: list[Test] = []
        """Those that were decided before it was chosen."""
        self.whence = whence
        """What it is an attribute or element of, and which."""

    def part(self, key: Any) -> Any:
        if not isinstance(key, (str, int)):
            raise Unproved
        if key not in self.parts:
            self.parts[key] = Open(self.is_free, (self, key))
        return self.parts[key]

    def choose(self, value: Any) -> Any:
        """It is this from now on; of what was asked of its shape, so are the sizes."""
        shape = self.parts.pop("shape", None)
        if self.holds is False or any(
            not isinstance(each, Open) or each.value is not None or each.parts for each in self.parts.values()
        ):
            raise Unproved
        if shape is not None:
            if not isinstance(value, Tensor):
                raise Unproved
            for place, size in shape.parts.items():
                fit(size, value.shape[value.place(place)])
        self.value = value
        tests, self.tests = self.tests, []
        for test in tests:
            test.must_stand()
        return value

    def decide(self, wanted: bool) -> bool:
        """The way that a test of it goes, this time and from now on."""
        if self.holds is None:
            self.holds = wanted
        return self.holds


class Test(Open):
    """`one < other`, where a side is open."""

    __slots__ = ("compare", "one", "other")

    def __init__(self, compare: Callable[[Any, Any], Any], one: Any, other: Any) -> None:
        super().__init__()
        self.compare, self.one, self.other = compare, one, other

    def decide(self, wanted: bool) -> bool:
        if self.holds is None:
            self.holds = wanted
            self.must_stand()
        return self.holds

    def must_stand(self) -> None:
        """What is chosen later must not make it come out the other way."""
        one, other = settled(self.one), settled(self.other)
        left = _first_open(one) or _first_open(other)
        if left is not None:
            left.tests.append(self)
        elif not is_plain((one, other)) or bool(attempted(self.compare, one, other)) is not self.holds:
            raise Unproved


class Opposite(Open):
    """`not test`."""

    __slots__ = ("test",)

    def __init__(self, test: Open) -> None:
        super().__init__()
        self.test = test

    def decide(self, wanted: bool) -> bool:
        return not self.test.decide(not wanted)


def called_with(function: Callable[..., Any], places: Sequence[Any], words: dict[str, Any]) -> Any:
    """A function of ours that stands for one of the text, which may be given what it does not take."""
    code, given = function.__code__, len(places)
    names = code.co_varnames[: code.co_argcount]
    needed = names[given : code.co_argcount - len(function.__defaults__ or ())]
    is_too_much = given > code.co_argcount and not code.co_flags & _TAKES_ANY
    is_strange = not code.co_flags & _TAKES_ANY_WORD and not words.keys() <= set(names)
    if is_too_much or is_strange or set(names[:given]) & words.keys() or not words.keys() >= set(needed):
        raise Unproved
    return function(*places, **words)


_TAKES_ANY, _TAKES_ANY_WORD = 4, 8
"""`inspect.CO_VARARGS`, `CO_VARKEYWORDS`."""


MAX_ITEMS, _MAX_BITS = 2_000, 63
"""Of a container or a text, and of a whole number: what is computed with one more costs what no step counts."""


def small(value: Any) -> Any:
    """As it is."""
    if (isinstance(value, (str, list, tuple, dict, range)) and len(value) > MAX_ITEMS) or (
        isinstance(value, int) and value.bit_length() > _MAX_BITS
    ):
        raise Unproved
    return value


def settled(value: Any) -> Any:
    """`seen`, of what is in it too."""
    return _settled(value, itertools.count())


def _settled(value: Any, counted: Iterator[int]) -> Any:
    value = seen(value)
    if next(counted) > MAX_ITEMS:
        raise Unproved  # a list of lists may be far more than it looks
    return type(value)(_settled(each, counted) for each in value) if isinstance(value, (list, tuple)) else value


def _first_open(value: Any) -> Open | None:
    if isinstance(value, (list, tuple)):
        return next(filter(None, map(_first_open, value)), None)
    return value if isinstance(value, Open) else None


_SCALARS = (int, float, str, bool, type(None))


def is_plain(value: Any) -> bool:
    """It is known, and nothing but Python's own."""
    pending, count = [seen(value)], 0
    while pending:
        each, count = seen(pending.pop()), count + 1
        if count > MAX_ITEMS:
            raise Unproved
        if isinstance(each, (list, tuple)):
            pending += each
        elif not isinstance(each, _SCALARS):
            return False
    return True


def attempted(function: Callable[..., Any], *places: Any, **words: Any) -> Any:
    """What a function of Python's own says of values of the text, which it may refuse."""
    try:
        return small(function(*places, **words))
    except (TypeError, ValueError, LookupError, ArithmeticError):
        raise Unproved from None


_MAX_RANK = 25
"""The most dimensions of which all functions of torch take a tensor."""


class Tensor:
    """A tensor of so many dimensions; each size is a number or Open."""

    __slots__ = ("shape",)

    def __init__(self, shape: Sequence[Any]) -> None:
        self.shape = [small(seen(size)) for size in shape]
        if len(self.shape) > _MAX_RANK or any(
            isinstance(size, bool) or not isinstance(size, (int, Open)) or _is_below(size, 1) for size in self.shape
        ):
            raise Unproved

    def place(self, dim: Any, more: int = 0) -> int:
        """A dimension counted from the front."""
        rank = len(self.shape) + more
        if type(dim) is not int or not -rank <= dim < rank:
            raise Unproved
        return dim % rank


def _is_below(value: Any, least: int) -> bool:
    return type(value) is int and value < least


def seen(value: Any) -> Any:
    """What an open value was chosen to be, as far as it was."""
    while isinstance(value, Open) and value.value is not None:
        value = value.value
    return value


def fit(first: Any, second: Any) -> Any:
    """Two sizes that must be the same."""
    first, second = seen(first), seen(second)
    if first is second or first == second:
        return first
    for one, other in ((first, second), (second, first)):
        if isinstance(one, Open) and isinstance(other, (int, Open)):
            return one.choose(other)
    raise Unproved


def tensor(value: Any, rank: int | None = None) -> Tensor:
    """A value that must be a tensor; where it may be any, one of so many dimensions."""
    value = seen(value)
    if isinstance(value, Open) and rank is not None and rank <= _MAX_RANK:
        value = value.choose(Tensor([Open() for _ in range(rank)]))
    if not isinstance(value, Tensor):
        raise Unproved
    return value


def broadcast(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
    """The shape of what is computed of two tensors element by element."""
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    ones = [1] * (len(longer) - len(shorter))
    return [_spread(seen(one), seen(other)) for one, other in zip(longer, [*ones, *shorter], strict=True)]


def _spread(one: Any, other: Any) -> Any:
    if one == 1 or other == 1:
        return other if one == 1 else one
    if isinstance(one, Open) or isinstance(other, Open):
        return one if one is other or isinstance(other, Open) else other
    return fit(one, other)


# ---- what a layer is made with ---------------------------------------------------------------------------------------


class Given:
    """The arguments of a layer, or of a function beside its tensor."""

    def __init__(self, places: Sequence[Any], names: Mapping[str, Any], order: Sequence[str]) -> None:
        if len(places) > len(order) or names.keys() & order[: len(places)]:
            raise Unproved
        self.known = {**names, **dict(zip(order, places, strict=False))}
        for name, value in self.known.items():
            is_fine, value = _ALLOWED.get(name), seen(value)
            if isinstance(value, Tensor) or (
                is_fine is not None and not isinstance(value, Open) and attempted(is_fine, value) is not True
            ):
                raise Unproved

    def get(self, name: str, default: Any = None) -> Any:
        return seen(self.known.get(name, default))

    def need(self, name: str) -> Any:
        if name not in self.known:
            raise Unproved
        return seen(self.known[name])

    def each(self, name: str, count: int, default: Any = None) -> list[Any]:
        """One number for all dimensions, or one for each."""
        value = self.get(name, default)
        found = [seen(each) for each in value] if isinstance(value, (list, tuple)) else [value] * max(count, 0)
        if len(found) != count:
            raise Unproved
        return found


def _is_positive(value: Any) -> bool:
    return all(
        type(seen(each)) is not int or seen(each) > 0 for each in (value if isinstance(value, tuple) else [value])
    )


def _is_part(value: Any) -> bool:
    return 0 <= float(value) <= 1


_ALLOWED: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("p", "dropout"), _is_part),
    **dict.fromkeys(
        (
            *("in_features", "out_features", "in_channels", "out_channels", "num_features", "num_channels", "groups"),
            *(
                "num_groups",
                "d_model",
                "nhead",
                "dim_feedforward",
                "num_embeddings",
                "embedding_dim",
                "output_size",
                "num_parameters",
                "size",
            ),
        ),
        _is_positive,
    ),
    **dict.fromkeys(("eps", "layer_norm_eps"), lambda value: value > 0),
    "divisor_override": lambda value: value != 0,
    "lambd": lambda value: value >= 0,
    "alpha": lambda value: value != 0,
    "approximate": lambda value: value in ("none", "tanh"),
    "activation": lambda value: value in ("relu", "gelu"),
    "padding_mode": lambda value: value == "zeros",
    "padding_idx": lambda value: value is None or value == 0,
    # What changes shapes in ways that are not followed here.
    **dict.fromkeys(("min_val", "max_val", "lower", "upper"), lambda value: value is None),
    "return_indices": lambda value: value is False,
}
"""By name of an argument: which values no layer refuses, and of which it does what is said of it here."""


def _window(size: Any, kernel: Any, stride: Any, padding: Any, dilation: Any = 1) -> Any:
    if padding == "same":
        return size if stride == 1 and not _is_below(kernel, 1) else unproved()
    padding = 0 if padding == "valid" else padding
    if any(_is_below(each, 1) for each in (kernel, stride, dilation)) or _is_below(padding, 0):
        raise Unproved
    numbers = (size, kernel, stride, padding, dilation)
    if not all(type(each) is int for each in numbers):
        return Open() if all(isinstance(each, Open) or type(each) is int for each in numbers) else unproved()
    reach = size + 2 * padding - dilation * (kernel - 1) - 1
    return reach // stride + 1 if reach >= 0 and stride > 0 else unproved()


def _keeps(_: int, given: Given, x: Tensor) -> Tensor:
    if "dim" in given.known and given.get("dim") is not None:
        x.place(given.get("dim"))
    return x


def _linear(_: int, given: Given, x: Tensor) -> Tensor:
    fit(_at(x, -1), given.need("in_features"))
    return Tensor([*x.shape[:-1], given.need("out_features")])


def _at(x: Tensor, dim: int) -> Any:
    return x.shape[x.place(dim)]


def _split(x: Tensor, rank: int) -> tuple[list[Any], list[Any]]:
    """What stands before the dimensions of a picture, and these; with or without a batch."""
    if len(x.shape) not in (rank + 1, rank + 2):
        raise Unproved
    return x.shape[:-rank], x.shape[-rank:]


def _divide(whole: Any, parts: Any) -> None:
    if type(whole) is int and type(parts) is int and whole % parts:
        raise Unproved


def _conv(rank: int, given: Given, x: Tensor) -> Tensor:
    before, sizes = _split(x, rank)
    fit(before[-1], given.need("in_channels"))
    for channels in ("in_channels", "out_channels"):
        _divide(given.need(channels), given.get("groups", 1))
    windows = (
        given.each(n, rank, d) for n, d in (("kernel_size", None), ("stride", 1), ("padding", 0), ("dilation", 1))
    )
    return Tensor([*before[:-1], given.need("out_channels"), *map(_window, sizes, *windows)])


def _conv_transpose(rank: int, given: Given, x: Tensor) -> Tensor:
    before, sizes = _split(x, rank)
    fit(before[-1], given.need("in_channels"))
    for channels in ("in_channels", "out_channels"):
        _divide(given.need(channels), given.get("groups", 1))
    windows = [
        given.each(n, rank, d) for n, d in (("kernel_size", None), ("stride", 1), ("padding", 0), ("dilation", 1))
    ]
    if any(not isinstance(size, Open) for size in sizes) or given.get("output_padding", 0) not in (0, 1):
        raise Unproved
    if given.get("output_padding", 0) == 1 and any(_is_below(each, 2) for each in windows[1]):
        raise Unproved
    return Tensor([*before[:-1], given.need("out_channels"), *map(_window, sizes, *windows)])


def _pool(rank: int, given: Given, x: Tensor) -> Tensor:
    before, sizes = _split(x, rank)
    if given.get("ceil_mode", False) is not False and not all(isinstance(size, Open) for size in sizes):
        raise Unproved
    kernel = given.each("kernel_size", rank)
    stride = kernel if given.get("stride") is None else given.each("stride", rank)
    padding, dilation = given.each("padding", rank, 0), given.each("dilation", rank, 1)
    for p, k, size in zip(padding, kernel, sizes, strict=True):
        is_too_far = type(p) is int and type(k) is int and 2 * p > k
        if is_too_far or (rank == 3 and type(k) is int and _is_below(size, k)):  # of which an average takes none
            raise Unproved
    return Tensor([*before, *map(_window, sizes, kernel, stride, padding, dilation)])


def _adaptive(rank: int, given: Given, x: Tensor) -> Tensor:
    before, sizes = _split(x, rank)
    wanted = given.each("output_size", rank)
    return Tensor([*before, *(b if a is None else a for a, b in zip(wanted, sizes, strict=True))])


def _norm(_: int, given: Given, x: Tensor) -> Tensor:
    fit(_at(x, 1), given.need("num_features"))
    return x


def _batch_norm(rank: int, given: Given, x: Tensor) -> Tensor:
    if len(x.shape) not in ((2, 3) if rank == 1 else (rank + 2,)):
        raise Unproved
    return _norm(rank, given, x)


def _group_norm(_: int, given: Given, x: Tensor) -> Tensor:
    fit(_at(x, 1), given.need("num_channels"))
    _divide(given.need("num_channels"), given.need("num_groups"))
    return x


def _layer_norm(_: int, given: Given, x: Tensor) -> Tensor:
    wanted = given.need("normalized_shape")
    wanted = list(wanted) if isinstance(wanted, (list, tuple)) else [wanted]
    if not wanted:
        raise Unproved
    for place, size in enumerate(reversed(wanted)):
        fit(_at(x, -1 - place), size)
    return x


def _embedding(_: int, given: Given, x: Tensor) -> Tensor:
    return Tensor([*x.shape, given.need("embedding_dim")])


def flat(_: int, given: Given, x: Tensor) -> Tensor:
    start, end = x.place(given.get("start_dim", 1)), x.place(given.get("end_dim", -1))
    if end < start:
        raise Unproved
    return Tensor([*x.shape[:start], product(x.shape[start : end + 1]), *x.shape[end + 1 :]])


def product(sizes: Sequence[Any]) -> Any:
    found = [seen(size) for size in sizes]
    if not all(type(size) is int or isinstance(size, Open) for size in found):
        raise Unproved
    if len(found) == 1:
        return found[0]
    return math.prod(found) if all(isinstance(size, int) for size in found) else Open()


_RANKS_OF_MODES = {
    **dict.fromkeys(("nearest", "nearest-exact", "area"), (3, 4, 5)),
    "linear": (3,),
    "bilinear": (4,),
    "bicubic": (4,),
    "trilinear": (5,),
}


def _upsample(_: int, given: Given, x: Tensor) -> Tensor:
    rank = len(x.shape) - 2
    mode = given.get("mode", "nearest")
    if not isinstance(mode, Open) and len(x.shape) not in _RANKS_OF_MODES.get(mode, ()):
        raise Unproved
    if given.get("size") is not None:
        return Tensor([*x.shape[:2], *given.each("size", rank)])
    factors = given.each("scale_factor", rank)
    return Tensor([*x.shape[:2], *(scaled(*each) for each in zip(x.shape[2:], factors, strict=True))])


def scaled(size: Any, factor: Any) -> Any:
    """A size times a number."""
    size, factor = seen(size), seen(factor)
    if type(size) is int and isinstance(factor, (int, float)):
        return attempted(lambda: math.floor(size * factor))
    return Open() if isinstance(size, Open) or isinstance(factor, Open) else unproved()


def _pixel_shuffle(_: int, given: Given, x: Tensor) -> Tensor:
    before, sizes = _split(x, 2)
    factor, channels = given.need("upscale_factor"), before[-1]
    if type(factor) is not int or (type(channels) is int and channels % (factor * factor)):
        raise Unproved
    fewer = channels // (factor * factor) if type(channels) is int else Open()
    return Tensor([*before[:-1], fewer, *(scaled(size, factor) for size in sizes)])


def _pixel_unshuffle(_: int, given: Given, x: Tensor) -> Tensor:
    before, sizes = _split(x, 2)
    factor = given.need("downscale_factor")
    if type(factor) is not int or any(type(size) is int for size in sizes):
        raise Unproved
    return Tensor([*before[:-1], scaled(before[-1], factor * factor), Open(), Open()])


def _prelu(_: int, given: Given, x: Tensor) -> Tensor:
    number = given.get("num_parameters", 1)
    if number != 1:
        fit(_at(x, 1), number)
    return x


def _model(_: int, given: Given, x: Tensor) -> Tensor:
    fit(_at(x, -1), given.need("d_model"))
    _divide(given.need("d_model"), given.need("nhead"))
    return x if len(x.shape) in (2, 3) else unproved()


def _padded(rank: int, given: Given, x: Tensor) -> Tensor:
    before, sizes = _split(x, rank)
    return Tensor([*before, *padded(sizes, given.each("padding", 2 * rank))])


def padded(sizes: Sequence[Any], around: Sequence[Any]) -> list[Any]:
    """Sizes with what is put before and after each, from the last on."""
    found = [seen(size) for size in sizes]
    if len(around) % 2:
        raise Unproved
    for number, more in enumerate(around):
        place = len(found) - 1 - number // 2
        whole = seen(sizes[place]) if place >= 0 else unproved()
        if type(whole) is int and type(more) is int and more >= whole:
            raise Unproved  # where it is reflected; else it may be
        found[place] = found[place] + more if type(found[place]) is int and type(more) is int else Open()
    return found


_Effect = Callable[[int, Given, Tensor], Tensor]
_RANKED: dict[str, _Effect] = {
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    **dict.fromkeys(("BatchNorm", "InstanceNorm"), _batch_norm),
    **dict.fromkeys(("MaxPool", "AvgPool"), _pool),
    **dict.fromkeys(("AdaptiveAvgPool", "AdaptiveMaxPool"), _adaptive),
    **dict.fromkeys(("ZeroPad", "ReflectionPad", "ReplicationPad"), _padded),
}
_CHANGING = re.compile("[Pp]ool|Pad|Loss|[Ff]old|Shuffle|[Ff]latten|Upsampl|GLU|Similar|Dist|Softmax2d|Local|CrossMap")
LAYERS: dict[str, tuple[int, int, _Effect]] = {
    **{f"{kind}{rank}d": (rank, rank + 2, effect) for kind, effect in _RANKED.items() for rank in (1, 2, 3)},
    **{name: (0, 0, _keeps) for name in STATELESS | MODAL if name == "GELU" or not _CHANGING.search(name)},
    "PReLU": (0, 2, _prelu),
    "PixelUnshuffle": (0, 4, _pixel_unshuffle),
    "Linear": (0, 2, _linear),
    "LayerNorm": (0, 2, _layer_norm),
    "GroupNorm": (0, 2, _group_norm),
    "SyncBatchNorm": (0, 4, _norm),
    "Embedding": (0, 2, _embedding),
    "TransformerEncoderLayer": (0, 3, _model),
    "Flatten": (0, 2, flat),
    "Upsample": (0, 4, _upsample),
    "PixelShuffle": (0, 4, _pixel_shuffle),
}
"""By class: the rank of a picture, that of what may have any, and what comes of it."""


def given_to(kind: str, places: Sequence[Any], words: Mapping[str, Any]) -> Given:
    """The arguments of a layer that is made."""
    if kind == "Identity":
        return Given((), {}, ())  # which takes any
    known = layer_parameters(kind)
    made = Given(places, words, list(known))
    if not made.known.keys() <= known.keys() or any(
        is_needed and name not in made.known for name, is_needed in known.items()
    ):
        raise Unproved
    return made


_OF_FUNCTIONS = frozenset(("training", "inplace", "dtype", "_stacklevel", "antialias"))
"""Arguments that functions take beside those of layers, and that change no shape."""


def given_beside(kind: str, places: Sequence[Any], words: Mapping[str, Any]) -> Given:
    """The arguments of the function that does what a layer does, behind its tensor."""
    known = layer_parameters(kind)
    made = Given(places, words, list(known)[:4])
    return made if made.known.keys() <= known.keys() | _OF_FUNCTIONS else unproved()


FUNCTIONS = {
    name.lower(): name
    for name in LAYERS
    if not name.startswith(
        (
            "Conv",
            "BatchNorm",
            "InstanceNorm",
            "Linear",
            "GroupNorm",
            "Sync",
            "PReLU",
            "Embedding",
            "LayerNorm",
            "Flatten",
            "Upsample",
        )
    )
} | {"interpolate": "Upsample", "upsample": "Upsample"}
"""Functions of torch that do to their first argument what a layer does, by their names without "_"."""


def of_layer(kind: str, given: Given, value: Any, more: int = 0) -> Tensor:
    """What a layer makes of what it is given; `more`: dimensions of what may have any number of them, beside two."""
    rank, usual, effect = LAYERS[kind]
    if effect is _keeps and isinstance(seen(value), Open):
        return seen(value)  # type: ignore[no-any-return]
    return effect(rank, given, tensor(value, usual if rank else usual + more))
