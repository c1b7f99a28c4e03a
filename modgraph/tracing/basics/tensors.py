"""Tensors inside nested arguments and results: where they stand, and what they look like.

A walk reads containers, fields and instance dictionaries. It never calls a property, `__getattr__`, `__eq__`,
`__hash__` or `__bool__` of a user's object, nor `isinstance`, which asks it for its class. Callers have torch functions
disabled (`quietly`), so that reading a tensor's shape is no operation of the traced model.
"""

from __future__ import annotations

from collections import UserDict, deque
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from types import FunctionType, ModuleType
from typing import Any, Literal

import torch
from torch._subclasses.fake_tensor import FakeTensor

from modgraph.graph.distributed import Sharding
from modgraph.graph.model import ModelInput, Shape, Statistics, TensorInfo
from modgraph.tracing.basics.sharding import sharding_of

MAX_NESTING = 16
"""Levels of containers in arguments and results that are looked into."""
MAX_OBJECT_NESTING = 3
"""Levels of plain objects (not containers) that are looked into."""
MAX_VISITED = 20_000
"""Containers and objects looked into in one walk; what lies beyond is attributed through its operations."""

MAX_LITERAL = 200
"""Characters kept of a literal argument."""

Origin = Literal["given", "example_inputs", "inferred"]
"""Where an argument of `forward` comes from."""
Named = tuple[str, "torch.Tensor"]
Facts = tuple["torch.Size | None", "torch.dtype", "torch.device", "Sharding | None"]
"""Shape, dtype, device and placement of a tensor when it passed: cheap to take; `described` makes a `TensorInfo` of
them."""

quietly = torch._C.DisableTorchFunction
"""Context in which reading a tensor reaches neither a mode nor a tensor subclass."""

_TENSOR = torch.Tensor
EXACT = frozenset({torch.Tensor, torch.nn.Parameter, FakeTensor})
"""Types of tensor that bring no `__torch_function__` of their own: a fake tensor works by dispatch alone."""
ATOMS: frozenset[type] = frozenset(
    {
        *(type(None), bool, int, float, complex, str, bytes, type(...), type, ModuleType, FunctionType),
        *(torch.dtype, torch.device, torch.Size, torch.layout, torch.memory_format),
    }
)
SEQUENCES = (tuple, list, deque)


when_cut_off: list[Callable[[], None]] = []
"""Called where a walk ends at a limit."""


def tensors_in(value: Any, name: str) -> list[Named]:
    """Every tensor in `value`, in order, each once, named for where it stands: "x", "states[0]", "output.logits"."""
    kind = type(value)
    if kind in EXACT:
        return [(name, value)]
    if kind in ATOMS:
        return []
    return _walk(value, name)


def places_in(value: Any, name: str) -> list[Named]:
    """As `tensors_in`, but a tensor that stands at several places of tuples, lists and dicts is named for each."""
    return _walk(value, name, every_place=True)


def _walk(value: Any, name: str, *, every_place: bool = False) -> list[Named]:
    found: list[Named] = []
    visited: dict[int, Any] = {}
    around: tuple[int, ...] = ()
    n_looked_into = 0
    pending: list[tuple[Any, str, int, int, tuple[int, ...]]] = [(value, name, 0, 0, around)]
    while pending:
        item, place, depth, objects, around = pending.pop()
        if type(item) in ATOMS or (type(item) is slice and is_plain_slice(item)):
            continue
        if id(item) in visited and (objects or not every_place or id(item) in around):
            continue
        visited[id(item)] = item
        if issubclass(type(item), _TENSOR):
            found.append((place, item))
            continue
        n_looked_into += 1
        if n_looked_into > MAX_VISITED:
            for tell in when_cut_off:
                tell()
            break
        if depth < MAX_NESTING and not issubclass(type(item), torch.nn.Module | type):
            children, is_object = _children(item, place)
            if objects + is_object <= MAX_OBJECT_NESTING:
                inside = (*around, id(item)) if every_place else around
                pending.extend(
                    (child, where, depth + 1, objects + is_object, inside) for where, child in reversed(children)
                )
    return found


def is_opaque(value: Any) -> bool:
    """Whether a value holds what a walk does not look into, or nothing that can be read as text: a set, an iterator."""
    if type(value) in (list, tuple, dict):
        return any(map(is_opaque, (*value.keys(), *value.values()) if type(value) is dict else value))
    return type(value) not in ATOMS and not issubclass(type(value), _NUMBERS)


_NUMBERS = (int, float, complex, str, bytes, torch.SymInt, torch.SymFloat, torch.SymBool)


def _children(item: Any, place: str) -> tuple[list[tuple[str, Any]], bool]:
    """What `item` holds, by place; and whether it is a plain object."""
    if issubclass(type(item), SEQUENCES):
        return items_of(item, place), False
    if issubclass(type(item), dict):
        fielded = is_dataclass(type(item))
        return [(_at_key(place, key, fielded), child) for key, child in dict.items(item)], False
    if issubclass(type(item), slice):
        bounds = (("start", item.start), ("stop", item.stop), ("step", item.step))
        return [(f"{place}.{name}", bound) for name, bound in bounds], False
    if is_dataclass(type(item)):
        state = instance_state(item)
        return [(f"{place}.{f.name}", state[f.name]) for f in fields(type(item)) if f.name in state], False
    if issubclass(type(item), UserDict):
        content = instance_state(item).get("data")
        return _children(content, place) if issubclass(type(content), dict) else ([], False)
    return [(f"{place}.{key}", child) for key, child in instance_state(item).items()], True


def is_plain_slice(item: slice) -> bool:
    """Whether all of its bounds are numbers or nothing; a tensor may be one."""
    return type(item.stop) in ATOMS and type(item.start) in ATOMS and type(item.step) in ATOMS


def items_of(sequence: Any, place: str) -> list[tuple[str, Any]]:
    """The elements of one of `SEQUENCES` by place, by the base class's own iterator whatever a subclass overrides."""
    base: Any = next(kind for kind in SEQUENCES if issubclass(type(sequence), kind))
    items = list(base.__iter__(sequence))
    names = getattr(type(sequence), "_fields", None) if base is tuple else None
    if isinstance(names, tuple) and len(names) == len(items):
        return [(f"{place}.{name}", item) for name, item in zip(names, items, strict=True)]
    return [(f"{place}[{index}]", item) for index, item in enumerate(items)]


def _at_key(place: str, key: Any, fielded: bool) -> str:
    if fielded and issubclass(type(key), str):
        return f"{place}.{key}"
    return f"{place}[{key!r}]" if issubclass(type(key), str | int | float | bool) else f"{place}[{type(key).__name__}]"


def instance_state(item: Any) -> dict[str, Any]:
    """The instance dictionary and the filled slots of `item`, read past any `__getattr__` and property."""
    state = instance_slots(item)
    try:
        own = object.__getattribute__(item, "__dict__")
    except AttributeError:
        return state
    if issubclass(type(own), dict):
        state.update((key, child) for key, child in dict.items(own) if issubclass(type(key), str))
    return state


def instance_slots(item: Any) -> dict[str, Any]:
    """The filled slots of `item`."""
    filled: dict[str, Any] = {}
    for kind in type(item).__mro__:
        for name, member in vars(kind).items() if "__slots__" in vars(kind) else ():
            if type(member) is _MEMBER:
                try:
                    filled[name] = member.__get__(item)
                except AttributeError:
                    continue
    return filled


def inner_tensors(tensor: torch.Tensor) -> list[torch.Tensor]:
    """The tensors of which one is put together: the parts of a sparse one, those that a subclass's instance holds."""
    names = _PARTS.get(tensor.layout)
    if names is not None:
        try:
            return [getattr(tensor, name)() for name in names]
        except (RuntimeError, NotImplementedError):  # inside a transform of functions
            return []
    if type(tensor) in EXACT or type(tensor).__torch_dispatch__ is _TENSOR.__torch_dispatch__:
        return []
    return [value for value in instance_state(tensor).values() if issubclass(type(value), _TENSOR)]


_PARTS: dict[torch.layout, tuple[str, ...]] = {
    torch.sparse_coo: ("_indices", "_values"),
    torch.sparse_csr: ("crow_indices", "col_indices", "values"),
    torch.sparse_bsr: ("crow_indices", "col_indices", "values"),
    torch.sparse_csc: ("ccol_indices", "row_indices", "values"),
    torch.sparse_bsc: ("ccol_indices", "row_indices", "values"),
}


class _Slotted:
    __slots__ = ("slot",)


_MEMBER = type(vars(_Slotted)["slot"])


def facts_of(tensor: torch.Tensor) -> Facts:
    """What there is to say of `tensor` now, without a reference to it."""
    try:
        return (tensor.shape, tensor.dtype, tensor.device, None if type(tensor) in EXACT else sharding_of(tensor))
    except RuntimeError:  # a nested tensor of the strided layout has no shape
        return (None, tensor.dtype, tensor.device, None)


def version_of(tensor: torch.Tensor) -> int | None:
    """How often `tensor` was written into; None for an inference tensor, which does not count."""
    try:
        return int(tensor._version)
    except RuntimeError:
        return None


_dtypes: dict[Any, str] = {}
_devices: dict[Any, str] = {}


def described(name: str, facts: Facts, statistics: Statistics | None = None) -> TensorInfo:
    """The `TensorInfo` of what was seen."""
    shape, dtype, device, sharding = facts
    return TensorInfo(
        name=name,
        shape=shape_of(shape),
        dtype=dtype_name(dtype),
        device=_devices.get(device) or _devices.setdefault(device, str(device)),
        statistics=statistics,
        sharding=sharding,
    )


def model_input(name: str, value: Any, origin: Origin = "given", rules: tuple[str, ...] = ()) -> ModelInput:
    """One argument of `forward`: the tensors inside, or its text where it is a literal, or an array of numpy."""
    tensors = tuple(described(place, facts_of(tensor)) for place, tensor in tensors_in(value, name))
    literal = _array(value) or (None if tensors or not _is_literal(value) else repr(value)[:MAX_LITERAL])
    return ModelInput(name=name, tensors=tensors, literal=literal, origin=origin, rules=rules)


def _array(value: Any) -> str | None:
    """ "numpy array 1x8:int64", told without asking for numpy; None for anything else."""
    if (type(value).__module__, type(value).__name__) != ("numpy", "ndarray"):
        return None
    return f"numpy array {'x'.join(map(str, value.shape)) or 'scalar'}:{value.dtype}"


def _is_literal(value: Any) -> bool:
    if type(value) in (list, tuple):
        return all(map(_is_literal, value))
    if type(value) is dict:
        return all(map(_is_literal, (*value, *value.values())))
    return issubclass(type(value), bool | int | float | str | None)


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


def is_fake(tensor: torch.Tensor) -> bool:
    """Whether it has a shape and no values."""
    return isinstance(tensor, FakeTensor)
