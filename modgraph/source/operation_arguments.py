"""Which arguments of torch's functions are told with an operation: those on which its meaning hangs, by the names of
torch's schemas. One table for both halves.

A `softmax` is another one by its `dim`, an indexing by its `key`; the arguments of a `view` are in the shapes of what
it gives. What is no literal is not told.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from modgraph.names import last_name

MOST_ITEMS = 16
"""Numbers of a list; a longer one is not told."""
LONGEST = 80
"""Characters of a text; a longer one is not told."""
_MOST = 2**63

_TABLE = """
    softmax log_softmax softmin: _ dim
    gumbel_softmax: _ tau=1 hard=False _ dim=-1
    cat concat concatenate stack: _ dim=0
    topk: _ k dim=-1 largest=True sorted=True
    sort argsort: _ dim=-1 descending=False
    argmax argmin max min amax amin all any: _ dim keepdim=False
    sum mean prod std var nansum logsumexp: _ dim keepdim=False
    count_nonzero: _ dim
    norm: _ p dim keepdim=False
    cumsum cumprod: _ dim
    chunk unsafe_chunk: _ chunks dim=0
    split split_with_sizes tensor_split unsafe_split: _ split_size dim=0
    unbind: _ dim=0
    transpose swapaxes swapdims: _ dim0 dim1
    permute flip: _ *dims
    movedim moveaxis: _ source destination
    flatten: _ start_dim=0 end_dim=-1
    unflatten: _ dim
    squeeze unsqueeze: _ dim
    roll: _ shifts dims
    select: _ dim index
    narrow: _ dim start length
    gather index_select scatter scatter_add index_add index_copy index_fill: _ dim
    repeat_interleave: _ repeats dim
    one_hot: _ num_classes=-1
    glu: _ dim=-1
    normalize: _ p=2.0 dim=1
    tril triu: _ diagonal=0
    masked_fill: _ _ value
    clamp clip: _ min max
    pow: _ exponent
    add sub subtract rsub: _ other alpha=1
    mul div true_divide floor_divide remainder multiply divide eq ne lt le gt ge: _ other
    __rsub__ __rdiv__ __rpow__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__: _ other
    scaled_dot_product_attention: _ _ _ _ dropout_p=0.0 is_causal=False scale enable_gqa=False
    einsum: equation
    interpolate upsample: _ size scale_factor mode="nearest"
    pixel_shuffle pixel_unshuffle: _ factor
    conv1d conv2d conv3d: _ _ _ stride=1 padding=0 dilation=1 groups=1
    conv_transpose1d conv_transpose2d conv_transpose3d: _ _ _ stride=1 padding=0 output_padding=0 groups=1 dilation=1
    max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d: _ kernel_size stride padding=0
    adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool2d: _ output_size
    __getitem__: _ key
"""
"""The words of functions, and what stands at each place of a call: `_` is told by no name, `*` takes all that follow.
What equals the default behind a name is not told: torch's own code gives it where nobody wrote it."""
_ALSO = {
    "axis": "dim",
    "axis0": "dim0",
    "axis1": "dim1",
    "keepdims": "keepdim",
    "split_size_or_sections": "split_size",
    "split_sizes": "split_size",
    "indices_or_sections": "split_size",
    "upscale_factor": "factor",
    "downscale_factor": "factor",
}
"""Further names of them, in a call."""


@dataclass(frozen=True, slots=True)
class Told:
    """What is told of the arguments of one function."""

    names: tuple[str, ...] = ()
    """What stands at each place."""
    defaults: Mapping[str, Any] = field(default_factory=dict)


NOTHING = Told()


def _read(table: str) -> dict[str, Told]:
    found: dict[str, Told] = {}
    for line in table.strip().splitlines():
        words, _, given = line.partition(":")
        pairs = [each.partition("=") for each in given.split()]
        defaults = {name: literal_eval(value) for name, sign, value in pairs if sign}
        found.update(dict.fromkeys(words.split(), Told(tuple(name for name, _, _ in pairs), defaults)))
    return found


_KNOWN = _read(_TABLE)


@cache
def told_of(name: str) -> Told:
    """What is told of the function "torch.Tensor.softmax"; nothing of most."""
    last = last_name(name)
    return _KNOWN.get(last if last.startswith("__") else last.rstrip("_"), NOTHING)


def literals(
    known: Told, args: Sequence[Any], kwargs: Mapping[str, Any], literal: Callable[[Any], Any] | None = None
) -> dict[str, Any]:
    """What is told of a call: the literals that it is given, by name, as JSON values.

    Args:
        literal: of an argument, the Python value; what is none is not told.
    """
    names = known.names
    given: list[tuple[str, Any]] = []
    for place, (name, value) in enumerate(zip(names, args)):  # noqa: B905
        if name[0] == "*":
            rest = args[place : place + MOST_ITEMS + 1]
            each = rest if literal is None else [literal(item) for item in rest]
            given.append((name[1:], each[0] if len(each) == 1 else list(each)))
        elif name != "_":
            given.append((name, value if literal is None else literal(value)))
    for name, value in kwargs.items():
        name = _ALSO.get(name, name)
        if name in names or f"*{name}" in names:
            given.append((name, value if literal is None else literal(value)))
    found = {}
    for name, value in given:
        value = key_text(value) if name == "key" else _plain(value)
        if value is not None and not _is_same(value, known.defaults.get(name)):
            found[name] = value
    return found


def _is_same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)


def _plain(value: Any) -> Any:
    """`value` as it is told; None where it is not."""
    kind = type(value)
    if kind is int:
        return value if -_MOST < value < _MOST else None
    if kind is bool:
        return value
    if kind is float:
        return value if value - value == 0 else None
    if kind is str:
        return value if len(value) <= LONGEST and value.isprintable() else None
    if (kind is not list and not isinstance(value, tuple)) or len(value) > MOST_ITEMS:
        return None
    return list(value) if all(type(each) is int and -_MOST < each < _MOST for each in value) else None


def key_text(key: Any) -> str | None:
    """What stands between the brackets, "..., ::2"; None where that is no view: a tensor, or a list, chooses."""
    parts = key if type(key) is tuple else (key,)
    texts = [_part_text(each) for each in parts[: MOST_ITEMS + 1]]
    if len(parts) > MOST_ITEMS or None in texts:
        return None
    return ", ".join(text for text in texts if text is not None) or None


def _part_text(part: Any) -> str | None:
    if part is ...:
        return "..."
    if part is None:
        return "None"
    if type(part) is int:
        return str(part) if -_MOST < part < _MOST else None
    if type(part) is str:  # a size that is left open
        return part if len(part) <= LONGEST else None
    if type(part) is not slice:
        return None
    bounds = [part.start, part.stop, part.step]
    if not all(each is None or (type(each) in (int, str) and _part_text(each) is not None) for each in bounds):
        return None
    start, stop, step = ("" if each is None else str(each) for each in bounds)
    return f"{start}:{stop}:{step}" if step else f"{start}:{stop}"
