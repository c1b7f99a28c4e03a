"""Modules that a module holds without registering them: in lists, dicts, closures, partials, objects, on its class.

Only data is read: no property, `__getattr__`, `__eq__` or `__hash__` of the user's runs.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import types
import weakref
from collections import deque
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from modgraph.tracing.basics.members import registered_modules
from modgraph.tracing.basics.tensors import SEQUENCES, instance_state, items_of

MAX_DEPTH = 8
"""Levels of containers and objects below an attribute."""
MAX_OBJECTS = 3
"""Levels of plain objects among them."""
MAX_VISITED = 100_000
"""Values looked at for one module."""

_OWN = frozenset(vars(nn.Module()))
_ATOMS: tuple[type, ...] = (
    str,
    bytes,
    int,
    float,
    complex,
    type(None),
    torch.Tensor,
    types.ModuleType,
    type,
    enum.Enum,
)
_PLAIN = frozenset(
    {str, bytes, int, float, complex, bool, type(None), torch.Tensor, nn.Parameter, torch.dtype, torch.Size}
)
_NOT_LOOKED_INTO = ("torch", "builtins", "typing", "abc")
"""Packages whose classes hold no module of the user's."""
_CLASS_LEVEL = (nn.Module, functools.partial, types.FunctionType, list, tuple, dict, set, deque)
_Place = tuple[str, Any, int, int]
_SHALLOW = 1
"""Levels down to which what a walk saw is all that another would see."""


class Walks:
    """Looks into many modules, which may all hold the same things: those without a hidden module are walked once."""

    def __init__(self) -> None:
        self.registered: set[int] = set()
        """`id` of the modules that need not be found, as they are known by a better path."""
        self._barren: dict[int, Any] = {}

    def held_modules(self, module: nn.Module) -> list[tuple[str, nn.Module]]:
        """The modules in the plain attributes of `module`, with places: "blocks[0]", "heads['a']", "fn.closure['m']".

        The modules found are not looked into.
        """
        if not _may_hold(module):
            return []
        walked: dict[int, Any] = {}
        found = list(_held_modules(module, self.registered, self._barren, walked))
        if not found:
            self._barren.update(walked)
        return found


def _may_hold(module: nn.Module) -> bool:
    """Whether an attribute of its own or of its class holds anything that is not plain, as few layers do."""
    for kind in type(module).__mro__:
        if kind.__module__.split(".")[0] not in _NOT_LOOKED_INTO or "__slots__" in vars(kind):
            return True
    state = object.__getattribute__(module, "__dict__")
    return any(type(value) not in _PLAIN and name not in _OWN for name, value in state.items())


def _held_modules(
    module: nn.Module, registered: set[int], barren: dict[int, Any], walked: dict[int, Any]
) -> Iterator[tuple[str, nn.Module]]:
    if isinstance(module, torch.jit.ScriptModule):
        return  # its attributes lead back to the Python module that it was made from, which never runs
    visited: dict[int, Any] = {id(module): module}
    pending: deque[_Place] = deque(_attributes(module))
    while pending and len(visited) < MAX_VISITED:
        place, value, depth, objects = pending.popleft()
        if issubclass(type(value), nn.Module):
            if value is not module and id(value) not in registered:
                yield place, value
            continue
        if issubclass(type(value), _ATOMS) or id(value) in visited or id(value) in barren or depth > MAX_DEPTH:
            continue
        visited[id(value)] = value
        if depth <= _SHALLOW:
            walked[id(value)] = value
        children, is_object = _contents(value, place, registered)
        if objects + is_object <= MAX_OBJECTS:
            pending.extend((where, child, depth + 1, objects + is_object) for where, child in children)


def _attributes(module: nn.Module) -> Iterator[_Place]:
    state = instance_state(module)
    registered = state.get("_modules")
    taken = registered if isinstance(registered, dict) else {}
    for name, value in state.items():
        if name not in _OWN:
            yield (f"__dict__[{name!r}]" if name in taken else name), value, 0, 0
    for kind in type(module).__mro__:
        if kind.__module__.split(".")[0] in _NOT_LOOKED_INTO:
            continue
        for name, value in vars(kind).items():
            if issubclass(type(value), _CLASS_LEVEL) and name not in state and not name.startswith("__"):
                yield name, value, 0, 0


def _contents(value: Any, place: str, registered: set[int]) -> tuple[list[tuple[str, Any]], bool]:
    """What `value` holds, by place; and whether it is a plain object."""
    if type(value) is list:
        return [(f"{place}[{index}]", item) for index, item in enumerate(value) if id(item) not in registered], False
    if issubclass(type(value), SEQUENCES):
        return items_of(value, place), False
    if issubclass(type(value), dict | types.MappingProxyType):
        pairs = list(dict.items(value) if issubclass(type(value), dict) else value.items())
        places = [(f"{place}[{_key(key, index)}]", item) for index, (key, item) in enumerate(pairs)]
        return places + [(f"{place}.keys()[{index}]", key) for index, (key, _) in enumerate(pairs)], False
    if issubclass(type(value), set | frozenset):
        items: Iterator[Any] = set.__iter__(value) if issubclass(type(value), set) else frozenset.__iter__(value)
        ordered = sorted(items, key=_order)
        return [(f"{place}[{index}]", item) for index, item in enumerate(ordered)], False
    if issubclass(type(value), functools.partial):
        arguments = [(f"{place}.args[{index}]", item) for index, item in enumerate(value.args)]
        keywords = [(f"{place}.keywords[{name!r}]", item) for name, item in value.keywords.items()]
        return [(f"{place}.func", value.func), *arguments, *keywords], False
    if issubclass(type(value), types.MethodType):
        return [(f"{place}.__self__", value.__self__), (place, value.__func__)], False
    if issubclass(type(value), types.FunctionType):
        return _function_contents(value, place), False
    if issubclass(type(value), weakref.ref):
        return [(f"{place}()", value())], False
    if type(value).__module__.split(".")[0] in ("torch", "builtins", "numpy"):
        return [], False
    return [(f"{place}.{name}", item) for name, item in instance_state(value).items()], True


def _function_contents(function: types.FunctionType, place: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        with contextlib.suppress(ValueError):  # of a cell that was never filled
            found.append((f"{place}.closure[{name!r}]", cell.cell_contents))
    found += [(f"{place}.__defaults__[{index}]", item) for index, item in enumerate(function.__defaults__ or ())]
    found += [(f"{place}.__kwdefaults__[{name!r}]", item) for name, item in (function.__kwdefaults__ or {}).items()]
    return found


def _order(item: Any) -> tuple[str, list[tuple[str, list[int]]], str]:
    """What a member of a set is sorted by, as sets have another order on each run: class, tensors, plain attributes."""
    name = f"{type(item).__module__}.{type(item).__qualname__}"
    if issubclass(type(item), str | int | float | bool | bytes):
        return (name, [], repr(item))
    tensors: list[tuple[str, list[int]]] = []
    plain: list[str] = []
    for _, module in registered_modules(item) if issubclass(type(item), nn.Module) else ():
        state = instance_state(module)
        for store in ("_parameters", "_buffers"):
            for key, tensor in (state.get(store) or {}).items():
                sized = tensor is not None and not is_lazy(tensor) and not tensor.is_nested
                tensors.append((str(key), [int(size) for size in tensor.shape] if sized else []))
        plain += [f"{key}={value!r}" for key, value in state.items() if type(value) in (bool, int, float, str)]
    return (name, tensors, " ".join(plain))


def _key(key: Any, position: int) -> str:
    """Text of a dict's key, where it has one that is the same on every run."""
    if issubclass(type(key), enum.Enum):
        return f"{type(key).__name__}.{key.name}"
    if issubclass(type(key), str | int | float | bool | bytes | type(None)):
        return repr(key)
    if issubclass(type(key), tuple) and all(isinstance(part, str | int | float | bool | type(None)) for part in key):
        return repr(tuple(key))
    return key.__qualname__ if issubclass(type(key), type) else f"#{position}"
