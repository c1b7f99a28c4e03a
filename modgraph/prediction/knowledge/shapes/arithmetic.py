"""Sizes computed from sizes, for a layer and its function alike. A size that is not known is None.

Source: "Shape" in the reference of `torch.nn` and `torch.nn.functional`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from modgraph.prediction.domain.sizes import is_one, same
from modgraph.prediction.knowledge.tensors.elements import Shape, broadcast

Size = int | None


class MisfitError(Exception):
    """Torch refuses these shapes."""


def product(sizes: Iterable[Size]) -> Size:
    """None where one of them is not known."""
    result = 1
    for size in sizes:
        if size is None:
            return None
        result *= size
    return result


# ---- windows ---------------------------------------------------------------------------------------------------------


def windowed(size: Size, kernel: Size, stride: Size, padding: Size, dilation: Size, upwards: bool | None) -> Size:
    """How often a window fits; `upwards`: one that begins inside and ends outside counts too.

    Raises:
        MisfitError: it does not fit once.
    """
    _require_options(kernel, stride, padding, dilation)
    if size is None or kernel is None or padding is None or dilation is None or not stride or upwards is None:
        return None
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    found = room // stride + 1
    if upwards:
        found = -(-room // stride) + 1
        found -= (found - 1) * stride >= size + padding
    if found < 1 or (room < 0 and not upwards):
        raise MisfitError(
            f"a window of {dilation * (kernel - 1) + 1} does not fit into {size} with {padding} on each side"
        )
    return found


def _require_options(kernel: Size, stride: Size, padding: Size, dilation: Size) -> None:
    """Of a window: torch takes none that has no extent, or that does not move.

    Raises:
        MisfitError: it is none that torch takes.
    """
    for each, what in ((kernel, "kernel"), (stride, "stride"), (dilation, "dilation")):
        if each is not None and each <= 0:
            raise MisfitError(f"a {what} of {each} is not supported")
    if padding is not None and padding < 0:
        raise MisfitError("negative padding is not supported")


def unwindowed(size: Size, kernel: Size, stride: Size, padding: Size, dilation: Size, extra: Size) -> Size:
    """What a transposed convolution makes of a size.

    Raises:
        MisfitError: nothing is left.
    """
    _require_options(kernel, stride, padding, dilation)
    if extra is not None and extra < 0:
        raise MisfitError("negative output_padding is not supported")
    if extra is not None and stride is not None and dilation is not None and extra >= max(stride, dilation):
        raise MisfitError(f"output padding must be smaller than either stride or dilation, and is {extra}")
    if size is None or kernel is None or stride is None or padding is None or dilation is None or extra is None:
        return None
    found = (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + extra + 1
    if found < 1:
        raise MisfitError(f"a transposed window of {kernel} leaves {found} of a size of {size}")
    return found


@dataclass(frozen=True)
class Convolution:
    """Its options, one of each per dimension."""

    out_channels: Size
    in_channels: Size
    groups: Size
    kernel: Sequence[Size]
    stride: Sequence[Size]
    padding: Sequence[Size] | str | None
    """"same", "valid"; None where it is not known."""
    dilation: Sequence[Size]
    extra: Sequence[Size] | None = None
    """`output_padding` of a transposed one; None of another."""

    def shape(self, given: Shape) -> Shape:
        """Of what comes out.

        Raises:
            MisfitError: another number of dimensions or channels, or a window that does not fit.
        """
        rank = len(self.kernel)
        if len(given) not in (rank + 1, rank + 2):
            raise MisfitError(f"a convolution of {rank} dimensions takes {rank + 1} or {rank + 2}, not {_told(given)}")
        channels = given[-rank - 1]
        if self.out_channels is not None and self.out_channels <= 0:
            raise MisfitError(f"expected weight to be at least 1 at dimension 0, but there are {self.out_channels}")
        if self.in_channels is not None and channels is not None and self.in_channels != channels:
            raise MisfitError(
                f"expected input{_told(given)} to have {self.in_channels} channels, but got {channels} channels instead"
            )
        return (*given[: -rank - 1], self.out_channels, *self._spatial(given[-rank:]))

    def _spatial(self, given: Shape) -> list[Size]:
        if self.padding == "same":
            return list(given)
        padding: Sequence[Size] = [0 if self.padding == "valid" else None] * len(given)
        if self.padding is not None and not isinstance(self.padding, str):
            padding = self.padding
        if self.extra is None:
            return places(given, (self.kernel, self.stride, padding, self.dilation))
        each = zip(given, self.kernel, self.stride, padding, self.dilation, self.extra, strict=True)
        return [unwindowed(*one) for one in each]


def places(given: Sequence[Size], options: Sequence[Sequence[Size]], upwards: bool | None = False) -> list[Size]:
    """How often a window fits into each size.

    Args:
        options: kernel, stride, padding, dilation, one of each per size.

    Raises:
        MisfitError: it does not fit once.
    """
    kernel, stride, padding, dilation = options
    each = zip(given, kernel, stride, padding, dilation, strict=True)
    return [windowed(*one, upwards) for one in each]


def pooled(given: Shape, options: Sequence[Sequence[Size]], upwards: bool | None) -> Shape:
    """What a pool leaves of it.

    Args:
        options: kernel, stride, padding, dilation, one of each per dimension that is pooled.

    Raises:
        MisfitError: another number of dimensions, or a window that does not fit.
    """
    rank = len(options[0])
    require_spatial(given, rank)
    require_some(given, rank + 1)
    for kernel, padding in zip(options[0], options[2], strict=True):
        if kernel is not None and padding is not None and kernel > 0 and 2 * padding > kernel:
            raise MisfitError(f"pad should be at most half of kernel size, but got pad={padding}, kernel_size={kernel}")
    return (*given[:-rank], *places(given[-rank:], options, upwards))


def spread_out(given: Shape, kernel: Sequence[Size], wanted: Sequence[Size], batched: bool) -> Shape:
    """What a pool leaves of it whose windows lie at places of chance, as many as are wanted.

    Raises:
        MisfitError: they do not fit.
    """
    require_some(given, len(kernel) + batched)
    for size, window, many in zip(given[-len(kernel) :], kernel, wanted, strict=True):
        if many is not None and many < 0:
            raise MisfitError(f"Trying to create tensor with negative dimension {many}")
        if size is None or window is None or many is None:
            continue
        needed = many + window - (1 if len(kernel) == 2 else 0)  # of three, torch asks for one more
        if needed > size:
            raise MisfitError(f"a window of {window} is too large for {many} of them in {size}")
    return (*given[: -len(kernel)], *wanted)


def require_spatial(given: Shape, rank: int) -> None:
    """Of what is pooled over so many dimensions: channels stand before them, and a batch may.

    Raises:
        MisfitError: it has another number of dimensions.
    """
    if len(given) not in (rank + 1, rank + 2):
        raise MisfitError(f"a pool of {rank} dimensions takes {rank + 1} or {rank + 2}, not {_told(given)}")


def require_some(given: Shape, dimensions: int) -> None:
    """Of what has some elements in each of its last dimensions; a batch may be empty.

    Raises:
        MisfitError: one of them is empty.
    """
    if any(size is not None and size < 1 for size in given[-dimensions:]):
        raise MisfitError(f"expected non-zero sizes behind the batch, but got {_told(given)}")


def _told(shape: Shape) -> str:
    return str(["?" if size is None else size for size in shape]).replace("'", "")


def padded(given: Shape, numbers: Sequence[Size]) -> Shape:
    """From the last dimension on, two numbers each.

    Raises:
        MisfitError: more numbers than dimensions, or less than nothing is left.
    """
    if len(numbers) > 2 * len(given):
        raise MisfitError(f"padding by {len(numbers)} numbers does not fit {_told(given)}")
    found = list(given)
    for place in range(len(numbers) // 2):
        size, before, after = found[-1 - place], numbers[2 * place], numbers[2 * place + 1]
        total = None if size is None or before is None or after is None else size + before + after
        if total is not None and total < 0:
            raise MisfitError(f"padding by {before} and {after} leaves less than nothing of {_told(given)}")
        found[-1 - place] = total
    return tuple(found)


def folded(given: Shape, wanted: Sequence[Size], options: Sequence[Sequence[Size]]) -> Shape:
    """Blocks put together again: (N, C * kernel, blocks) -> (N, C, height, width).

    Args:
        options: kernel, stride, padding, dilation.

    Raises:
        MisfitError: the numbers do not fit.
    """
    if len(given) not in (2, 3):
        raise MisfitError(f"fold takes 2 or 3 dimensions, not {_told(given)}")
    area = product(options[0])
    columns, blocks = given[-2:]
    if columns is not None and area and columns % area:
        raise MisfitError(f"fold takes a multiple of {area} columns, not {columns} in {_told(given)}")
    taken = product(places(wanted, options))
    if taken is not None and blocks is not None and taken != blocks:
        raise MisfitError(f"fold takes {taken} blocks, not {blocks} in {_told(given)}")
    channels = None if columns is None or not area else columns // area
    return (*given[:-2], channels, *wanted)


def unfolded(given: Shape, options: Sequence[Sequence[Size]]) -> Shape:
    """Its blocks, one beside the other: (N, C, height, width) -> (N, C * kernel, blocks); options as in `folded`.

    Raises:
        MisfitError: another number of dimensions, or a window that does not fit.
    """
    if len(given) not in (3, 4):
        raise MisfitError(f"unfold takes 3 or 4 dimensions, not {_told(given)}")
    return (*given[:-3], product([given[-3], *options[0]]), product(places(given[-2:], options)))


# ---- sums over letters -----------------------------------------------------------------------------------------------


def summed(equation: str, operands: Sequence[Shape | None]) -> Shape | None:
    """The shape of `einsum(equation, *operands)`.

    Raises:
        MisfitError: the operands do not have the dimensions of the equation, or not the same sizes for a letter.
    """
    parts, right = letters_of(equation)
    if len(parts) != len(operands):
        raise MisfitError(f"einsum of {equation!r} takes {len(parts)} operands, not {len(operands)}")
    sizes: dict[str, Size] = {}
    rest: Shape | None = ()
    for letters, shape in zip(parts, operands, strict=True):
        first, dots, last = letters.partition("...")
        if shape is None:
            rest = None if dots else rest
            for letter in first + last:
                sizes.setdefault(letter, None)
            continue
        named = len(first) + len(last)
        if len(shape) < named or (not dots and len(shape) != named):
            raise MisfitError(f"einsum of {equation!r} does not fit {_told(shape)}")
        inner = shape[len(first) : len(shape) - len(last)]
        rest = None if rest is None else joined(rest, inner)
        outer = (*shape[: len(first)], *shape[len(shape) - len(last) :])
        for letter, size in _diagonal(first + last, outer, equation).items():
            sizes[letter] = _same(sizes.get(letter, 1), size, equation)
    first, dots, last = right.partition("...")
    strange = next((each for each in first + last if each not in sizes or (first + last).count(each) > 1), None)
    if strange is not None:
        why = "is of no operand" if strange not in sizes else "appears more than once"
        raise MisfitError(f"{strange!r} in the output of {equation!r} {why}")
    if dots and rest is None:
        return None
    return (*(sizes[each] for each in first), *((rest or ()) if dots else ()), *(sizes[each] for each in last))


def letters_of(equation: str) -> tuple[list[str], str]:
    """Those of each operand of `einsum`, and those of what it gives: where these are not written, the letters that
    stand once, in the order of the alphabet."""
    left, arrow, result = equation.replace(" ", "").partition("->")
    if not arrow:
        once = sorted(letter for letter in set(left) - {*",."} if left.count(letter) == 1)
        result = ("..." if "..." in left else "") + "".join(once)
    return left.split(","), result


def sums(equation: str) -> bool:
    """A letter of an operand, or what the dots stand for, is summed over."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    if not arrow:
        return any(left.count(letter) > 1 for letter in left if letter not in ",.")
    return not set(left) - {","} <= set(right)


def _diagonal(letters: str, sizes: Shape, equation: str) -> dict[str, Size]:
    """By letter of one operand; one that stands there twice takes its diagonal, and nothing broadcasts."""
    found: dict[str, Size] = {}
    for letter, size in zip(letters, sizes, strict=True):
        known = found.get(letter)
        if known is not None and size is not None and not same(known, size) and known != size:
            raise MisfitError(f"{letter!r} in {equation!r} is {known} and {size} in one operand")
        found[letter] = known if known is not None else size
    return found


def _same(known: Size, size: Size, equation: str) -> Size:
    """Of a letter that stands at both; one broadcasts."""
    if same(known, 1) or same(known, size):
        return size
    if same(size, 1):
        return known
    if known is not None and size is not None and (known == size or is_one(known)):
        return size
    if size is not None and is_one(size):
        return known
    if known is None or size is None:
        return size if known is None else known
    raise MisfitError(f"einsum of {equation!r} has a letter of size {known} and of {size}")


def joined(first: Shape, second: Shape) -> Shape:
    """The shape that both broadcast to.

    Raises:
        MisfitError: they do not.
    """
    try:
        return cast(Shape, broadcast(first, second))
    except ValueError:
        raise MisfitError(f"shapes {_told(first)} and {_told(second)} do not fit") from None


def attended(query: Shape, key: Shape, value: Shape, mask: Shape | None, grouped: bool) -> Shape | None:
    """Of scaled dot products: (..., L, E), (..., S, E), (..., S, V) -> (..., L, V).

    Args:
        mask: None where there is none.
        grouped: fewer heads of keys than of queries stand for several of these.

    Raises:
        MisfitError: they do not fit, nor the mask (..., L, S).
    """
    if min(map(len, (query, key, value))) < 2:
        raise MisfitError(f"attention takes 2 dimensions or more, not {_told(query)}, {_told(key)}, {_told(value)}")
    for one, two, what in ((query[-1], key[-1], "width"), (key[-2], value[-2], "length")):
        if one is not None and two is not None and one != two:
            if what == "length" and {len(query), len(key), len(value)} == {4} and query[-1] in (None, value[-1]):
                continue  # one of torch's kernels does not look at it
            raise MisfitError(
                f"attention to another {what}: {_told(query)}, {_told(key)} and {_told(value)} do not fit"
            )
    outer = query[:-2] if grouped else joined(joined(query[:-2], key[:-2]), value[:-2])
    if mask is not None:
        weights = (*outer, query[-2], key[-2])
        if joined(weights, mask) != weights and None not in weights:
            return None
    return (*outer, query[-2], value[-1])
