"""What a failed run missed by: (wanted, got) sizes at the place that raised, without reading any wording."""

from __future__ import annotations

import linecache
import re
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

import torch

from modgraph.inputs.probe import JOINS, Failure, Origin, Outcome, Seen
from modgraph.inputs.specs import Place, Spec, TensorSpec
from modgraph.inputs.wishes import wish_of
from modgraph.tracing.basics.failures import said
from modgraph.tracing.basics.origins import is_installed

_PRODUCTS = frozenset({"matmul", "mm", "bmm", "__matmul__", "__rmatmul__", "addmm", "baddbmm", "mv", "dot"})
_MAX_SIZE = 1 << 20


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One size that should have been another."""

    wanted: int
    got: int
    places: frozenset[Place]
    """Inputs that the tensor comes from."""
    direct: bool
    """No layer stands between the input and here."""
    where: str
    """Path of the layer, or name of the function."""


def mismatches(outcome: Outcome) -> list[Mismatch]:
    """Everything that can be seen to differ at the place of failure, the surest first; each once."""
    found: dict[tuple[int, int, frozenset[Place]], Mismatch] = {}
    for failure in outcome.failures:
        for miss in _of_failure(failure):
            found.setdefault((miss.wanted, miss.got, miss.places), miss)
    if not outcome.failures or outcome.failures[0].layer is not None:
        for miss in _of_line(outcome.error):
            found.setdefault((miss.wanted, miss.got, miss.places), miss)
    return list(found.values())


def shared_sum(tensors: dict[Place, TensorSpec], miss: Mismatch) -> dict[Place, Spec]:
    """Inputs that are joined along their last dimension or their channels, each with an equal share of the wanted."""
    joined = [place for place in tensors if place in miss.places and len(tensors[place].shape) > 1]
    if len(joined) < 2 or miss.wanted < len(joined):
        return {}
    for dim in (-1, 1):
        if sum(tensors[place].shape[dim] for place in joined) != miss.got:
            continue
        share, rest = divmod(miss.wanted, len(joined))
        changes: dict[Place, Spec] = {}
        for index, place in enumerate(joined):
            shape = list(tensors[place].shape)
            shape[dim] = share + (index < rest)
            changes[place] = replace(tensors[place], shape=tuple(shape))
        return changes
    return {}


def _of_failure(failure: Failure) -> Iterator[Mismatch]:
    if failure.layer is not None:
        for seen in failure.seen:
            wish = wish_of(failure.layer, seen.position)
            for wanted, got in wish.unmet_sizes(seen.shape).values() if wish else ():
                yield _mismatch(wanted, got, seen.origin, failure.name)
        return
    tensors = [seen for seen in failure.seen if seen.shape]
    if failure.name == "linear" and len(tensors) >= 2:
        yield from _between(tensors[0], -1, tensors[1], -1, failure.name)
    elif failure.name in _PRODUCTS and len(tensors) >= 2:
        left, right = tensors[-2:]
        yield from _between(left, -1, right, -2 if len(right.shape) > 1 else 0, failure.name)
        if len(left.shape) > 2 and len(right.shape) > 2:
            yield from _between(left, 0, right, 0, failure.name)
    elif failure.name.startswith("conv") and len(tensors) >= 2 and len(tensors[0].shape) > 1:
        yield from _between(tensors[0], 1, tensors[1], 1, failure.name)
    elif failure.name in ("view", "reshape", "unflatten") and tensors:
        yield from _view(failure, tensors[0])
    elif failure.name.startswith("split") and tensors:
        yield from _split(failure, tensors[0])
    elif len(tensors) >= 2:
        yield from _aligned(tensors, failure.name)


def _mismatch(wanted: int, got: int, origin: Origin | None, where: str) -> Mismatch:
    places = origin.places if origin else frozenset()
    return Mismatch(wanted, got, places, bool(origin and origin.direct), where)


def _between(a: Seen, a_dim: int, b: Seen, b_dim: int, where: str) -> Iterator[Mismatch]:
    """Two sizes that must be equal: each side that comes from an input may be the one to change."""
    if not (-len(a.shape) <= a_dim < len(a.shape) and -len(b.shape) <= b_dim < len(b.shape)):
        return
    size_a, size_b = a.shape[a_dim], b.shape[b_dim]
    if size_a == size_b:
        return
    if a.origin is not None:
        yield _mismatch(size_b, size_a, a.origin, where)
    if b.origin is not None:
        yield _mismatch(size_a, size_b, b.origin, where)


def _aligned(tensors: list[Seen], where: str) -> Iterator[Mismatch]:
    """Sizes of tensors that are broadcast or joined."""
    for index, first in enumerate(tensors):
        for second in tensors[index + 1 :]:
            for dim in range(1, min(len(first.shape), len(second.shape)) + 1):
                sizes = {first.shape[-dim], second.shape[-dim]}
                if len(sizes) == 2 and (1 not in sizes or where in JOINS):
                    yield from _between(first, -dim, second, -dim, where)


def _view(failure: Failure, tensor: Seen) -> Iterator[Mismatch]:
    """`view(b, -1, 4, 16)` of another number of elements: what one row must have."""
    sizes = [size for size in failure.other if type(size) is int]
    count = 1
    for size in tensor.shape:
        count *= size
    rows = tensor.shape[0] or 1
    known = 1
    for size in sizes[1:] if len(sizes) > 1 and sizes[0] in (-1, rows) else sizes:
        known *= size if size > 0 else 1
    if known != count // rows:
        yield _mismatch(known, count // rows, tensor.origin, failure.name)


def _split(failure: Failure, tensor: Seen) -> Iterator[Mismatch]:
    """`split(x, [63, 27], dim)`: the parts and the dimension, flattened; the parts must add up to its size."""
    numbers = [value for value in failure.other if type(value) is int]
    for parts, dim in ((numbers[:-1], numbers[-1:]), (numbers, [0])):
        if parts and dim and -len(tensor.shape) <= dim[0] < len(tensor.shape) and min(parts) > 0:
            got = tensor.shape[dim[0]]
            if sum(parts) != got:
                yield _mismatch(sum(parts), got, tensor.origin, failure.name)


def numbers_said(error: BaseException) -> list[int]:
    """Integers in the message, then those on the user's line that raised (`assert h == self.size`); each once."""
    named = [int(text) for text in re.findall(r"(?<![\w.])\d+", said(error)[:1000])]
    found = dict.fromkeys(number for number in named if number <= _MAX_SIZE)
    frame, line = _users_frame(error)
    if frame is not None:
        for text in _statement(frame.f_code.co_filename, line):
            found.update(dict.fromkeys(_numbers_on_line(text, frame.f_locals)))
    return list(found)


def names_where_it_failed(error: BaseException) -> list[Any]:
    """What the variables hold that are named on the user's line that raised."""
    frame, line = _users_frame(error)
    if frame is None:
        return []
    text = linecache.getline(frame.f_code.co_filename, line)
    return [frame.f_locals[name] for name in re.findall(r"[^\W\d]\w*", text) if name in frame.f_locals]


def _users_frame(error: BaseException) -> tuple[FrameType | None, int]:
    """The innermost frame of the user's own code, and its line."""
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        own = "modgraph" in frame.f_globals.get("__name__", "").split(".")[:1]
        if not own and not is_installed(frame.f_code.co_filename):
            return frame, line
    return None, 0


def _statement(file: str, line: int) -> Iterator[str]:
    """The line that raised, and the condition right above under which it did."""
    yield linecache.getline(file, line)
    for above in range(line - 1, max(0, line - 4), -1):
        text = linecache.getline(file, above)
        if text.lstrip().startswith(("if ", "elif ", "assert ")):
            yield text
            return


def _of_line(error: BaseException | None) -> Iterator[Mismatch]:
    """`assert x.shape[1:] == self.positions.shape`: a tensor that the model holds, and one that it was to fit."""
    frame, line = _users_frame(error) if error is not None else (None, 0)
    if frame is None:
        return
    names = re.findall(r"\b([^\W\d]\w*)(?:\.([^\W\d]\w*))?", " ".join(_statement(frame.f_code.co_filename, line)))
    given = [value for name, _ in names if isinstance(value := frame.f_locals.get(name), torch.Tensor)]
    for owner, attribute in names:
        held = _stored(frame.f_locals.get(owner), attribute) if attribute else None
        shape = held.shape if isinstance(held, torch.Tensor) else ()
        for tensor in given:
            for wanted, got in zip(reversed(shape), reversed(tensor.shape), strict=False):
                if wanted != got and wanted > 1 and type(got) is int:
                    yield Mismatch(wanted, got, frozenset(), False, attribute)


def _stored(owner: Any, attribute: str) -> Any:
    """Only what is stored: a property would run the user's code."""
    stores = getattr(owner, "__dict__", {})
    for store in (stores, stores.get("_parameters"), stores.get("_buffers")):
        if isinstance(store, dict) and attribute in store:
            return store[attribute]
    return None


def _numbers_on_line(text: str, names: dict[str, Any]) -> Iterator[int]:
    for literal in re.findall(r"(?<![\w.])\d+(?![\w.])", text):
        yield int(literal)
    for owner, attribute in re.findall(r"\b([^\W\d]\w*)(?:\.([^\W\d]\w*))?", text):
        value = names.get(owner)
        if attribute:
            value = _stored(value, attribute)
        for number in value if isinstance(value, tuple | list) else (value,):
            if type(number) is int and 0 < number <= _MAX_SIZE:
                yield number
