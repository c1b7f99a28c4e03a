"""Tensors inside nested arguments and results: where they stand, what they look like, and statistics of their values.

A walk reads containers, fields and instance dictionaries. It never calls a property, `__getattr__`, `__eq__`,
`__hash__` or `__bool__` of a user's object. Callers have torch functions disabled (`quietly`), so that reading a
tensor's shape is no operation of the traced model.
"""

from __future__ import annotations

import math
from collections import UserDict, deque
from dataclasses import fields, is_dataclass
from types import FunctionType, ModuleType
from typing import Any

import torch

from modgraph.graph.model import Shape, Statistics, TensorInfo

MAX_NESTING = 16
"""Levels of containers in arguments and results that are looked into."""
MAX_OBJECT_NESTING = 3
"""Levels of plain objects (not containers) that are looked into."""
MAX_VISITED = 20_000
"""Values looked at in one walk; what lies beyond is attributed through its operations."""

Named = tuple[str, "torch.Tensor"]
Seen = tuple[str, "torch.Size", "torch.dtype", "torch.device", "Statistics | None"]
"""A tensor as it was when it passed, cheap to take; `described` makes a `TensorInfo` of it."""

quietly = torch._C.DisableTorchFunction
"""Context in which reading a tensor reaches neither a mode nor a tensor subclass."""

_TENSOR = torch.Tensor
_PLAIN_TENSORS = frozenset({torch.Tensor, torch.nn.Parameter})
_ATOMS: frozenset[type] = frozenset(
    {
        *(type(None), bool, int, float, complex, str, bytes, slice, type(...), type, ModuleType, FunctionType),
        *(torch.dtype, torch.device, torch.Size, torch.layout, torch.memory_format),
    }
)
_LISTS = (tuple, list, deque)


def tensors_in(value: Any, name: str) -> list[Named]:
    """Every tensor in `value`, in order, each once, named for where it stands: "x", "states[0]", "output.logits"."""
    kind = type(value)
    if kind in _PLAIN_TENSORS:
        return [(name, value)]
    if kind in _ATOMS:
        return []
    return _walk(value, name)


def _walk(value: Any, name: str) -> list[Named]:
    found: list[Named] = []
    visited: dict[int, Any] = {}
    pending: list[tuple[Any, str, int, int]] = [(value, name, 0, 0)]
    while pending and len(visited) < MAX_VISITED:
        item, place, depth, objects = pending.pop()
        if type(item) in _ATOMS or id(item) in visited:
            continue
        visited[id(item)] = item
        if isinstance(item, _TENSOR):
            found.append((place, item))
        elif depth < MAX_NESTING and not isinstance(item, torch.nn.Module | type):
            children, is_object = _children(item, place)
            if objects + is_object <= MAX_OBJECT_NESTING:
                pending.extend((child, where, depth + 1, objects + is_object) for where, child in reversed(children))
    return found


def _children(item: Any, place: str) -> tuple[list[tuple[str, Any]], bool]:
    """What `item` holds, by place; and whether it is a plain object."""
    if isinstance(item, tuple) and hasattr(type(item), "_fields"):
        names = type(item)._fields
        return [(f"{place}.{key}", child) for key, child in zip(names, tuple.__iter__(item), strict=False)], False
    if isinstance(item, _LISTS):
        return [(f"{place}[{index}]", child) for index, child in enumerate(_items(item))], False
    if isinstance(item, dict):
        fielded = is_dataclass(item)
        return [(_at_key(place, key, fielded), child) for key, child in dict.items(item)], False
    if is_dataclass(item):
        state = instance_state(item)
        return [(f"{place}.{f.name}", state[f.name]) for f in fields(item) if f.name in state], False
    if isinstance(item, UserDict):
        content = instance_state(item).get("data")
        return _children(content, place) if isinstance(content, dict) else ([], False)
    return [(f"{place}.{key}", child) for key, child in instance_state(item).items()], True


def _items(item: Any) -> list[Any]:
    """The elements by the base class's own iterator, whatever the subclass overrides."""
    base = next(kind for kind in _LISTS if isinstance(item, kind))
    return list(base.__iter__(item))


def _at_key(place: str, key: Any, fielded: bool) -> str:
    if fielded and isinstance(key, str):
        return f"{place}.{key}"
    return f"{place}[{key!r}]" if isinstance(key, str | int | float | bool) else f"{place}[{type(key).__name__}]"


def instance_state(item: Any) -> dict[str, Any]:
    """The instance dictionary and the filled slots of `item`, read past any `__getattr__` and property."""
    state: dict[str, Any] = {}
    for kind in type(item).__mro__:
        for name, member in vars(kind).items():
            if type(member) is _MEMBER:
                try:
                    state[name] = member.__get__(item)
                except AttributeError:
                    continue
    try:
        own = object.__getattribute__(item, "__dict__")
    except AttributeError:
        return state
    if isinstance(own, dict):
        state.update((key, child) for key, child in dict.items(own) if isinstance(key, str))
    return state


class _Slotted:
    __slots__ = ("slot",)


_MEMBER = type(vars(_Slotted)["slot"])


def seen(name: str, tensor: torch.Tensor, statistics: Statistics | None = None) -> Seen:
    """What there is to say of `tensor` now; holds no reference to it."""
    try:
        return (name, tensor.shape, tensor.dtype, tensor.device, statistics)
    except RuntimeError:  # a nested tensor of the strided layout has no shape
        return (name, None, tensor.dtype, tensor.device, statistics)  # type: ignore[return-value]


_dtypes: dict[Any, str] = {}
_devices: dict[Any, str] = {}


def described(taken: Seen) -> TensorInfo:
    """The `TensorInfo` of what was seen."""
    name, shape, dtype, device, statistics = taken
    return TensorInfo(
        name=name,
        shape=shape_of(shape),
        dtype=dtype_name(dtype),
        device=_devices.get(device) or _devices.setdefault(device, str(device)),
        statistics=statistics,
    )


def dtype_name(dtype: torch.dtype) -> str:
    """ "float32"."""
    return _dtypes.get(dtype) or _dtypes.setdefault(dtype, str(dtype).removeprefix("torch."))


def shape_of(shape: Any) -> Shape | None:
    """Sizes in elements: int, the text of a symbolic size, None for one that has no value."""
    if shape is None:
        return None
    return tuple(size if type(size) is int else _symbolic(size) for size in shape)


def _symbolic(size: Any) -> int | str | None:
    node = getattr(size, "node", None)
    if node is None:
        return int(size)
    if node.is_nested_int():  # numbered through the life of the process, so no name for it
        return None
    concrete = node.maybe_as_int()
    return int(concrete) if concrete is not None else str(size)


def statistics_of(tensor: torch.Tensor) -> Statistics | None:
    """Mean, population standard deviation, minimum and maximum of the values; None where there are none to read.

    Low precisions are accumulated in float32, others in float64. Complex numbers count by magnitude, sparse ones by
    their stored values, quantised ones as what they stand for. Of empty tensors only the number of elements is known.
    """
    if tensor.device.type == "meta" or _is_fake(tensor):
        return None
    try:
        with torch.no_grad():
            return _statistics(tensor.detach())
    except (RuntimeError, NotImplementedError, TypeError):
        return None


def _statistics(tensor: torch.Tensor) -> Statistics:
    numel = tensor.numel()
    if tensor.layout in (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc):
        tensor = tensor.values()
    elif tensor.is_sparse:
        tensor = tensor.coalesce().values()
    elif tensor.is_nested:
        tensor = torch.cat([part.reshape(-1) for part in tensor.unbind()])
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    if tensor.is_complex():
        tensor = tensor.abs()
    if tensor.numel() == 0:
        return Statistics(numel=numel)
    wide = torch.float32 if tensor.dtype in (torch.float16, torch.bfloat16, torch.float32) else torch.float64
    if tensor.device.type == "mps":
        wide = torch.float32
    values = tensor.to(wide)
    std, mean = torch.std_mean(values, correction=0)
    low, high = torch.aminmax(values)
    numbers = [_number(value) for value in torch.stack([mean, std, low, high]).tolist()]
    return Statistics(mean=numbers[0], std=numbers[1], min=numbers[2], max=numbers[3], numel=numel)


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _is_fake(tensor: torch.Tensor) -> bool:
    return any(kind.__name__ == "FakeTensor" for kind in type(tensor).__mro__)
