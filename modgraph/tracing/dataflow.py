"""Which call or operation made each tensor: by identity, by storage and what was written into it, never by value.

Nothing here keeps a tensor alive: tensors are held by weak references that are compared with `is` (addresses are used
again), storages by weak counts that keep the address from being used again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import ref

import torch

Producers = tuple[str, ...]

_get_unwrapped = torch._C._functorch.get_unwrapped
_is_wrapped = torch._C._functorch.is_functorch_wrapped_tensor
_MAX_WRITES_KEPT_APART = 64
"""Writes remembered per storage; older ones are then one write of everything."""


class _Storage:
    """What is known of one storage: who filled it first, and who wrote into it since."""

    __slots__ = ("first", "weak", "writes")

    def __init__(self, first: Producers, weak: int) -> None:
        self.first = first
        self.weak = weak
        self.writes: list[tuple[Producers, int, int, int]] = []  # writer, sequence, first and last byte touched


_Entity = tuple[Any, Producers, int, "_Storage | None"]


class Dataflow:
    """The tensors and storages seen in one run. Call with torch functions disabled."""

    def __init__(self) -> None:
        self._entities: dict[int, _Entity] = {}
        self._storages: dict[int, _Storage] = {}
        self._exported: list[tuple[int, int, _Storage]] = []
        self._weak: list[int] = []
        self._sequence = 0
        self._n_constants = 0

    def producers(self, tensor: torch.Tensor) -> Producers:
        """Who made what `tensor` holds now; for one never seen, a new constant."""
        entity = self._entities.get(id(tensor))
        if entity is not None and entity[0]() is tensor:
            storage = entity[3]
            if storage is None or not storage.writes or storage.writes[-1][1] <= entity[2]:
                return entity[1]
            return _merged(entity[1], _later_writes(storage, tensor, entity[2]))
        return self._first_sight(tensor)

    def _first_sight(self, tensor: torch.Tensor) -> Producers:
        if _is_wrapped(tensor):
            return self.producers(_innermost(tensor))
        key, data = _storage_key(tensor)
        storage = self._storages.get(key) or self._shared_with(data)
        if storage is None:
            constant = (f"const:{self._n_constants}",)
            self._n_constants += 1
            self.bind(tensor, constant)
            return constant
        return _merged(storage.first, _later_writes(storage, tensor, -1))

    def bind(self, tensor: torch.Tensor, producers: Producers) -> None:
        """From now on `tensor`, and its storage if it was unknown, come from `producers`."""
        if _is_wrapped(tensor):
            self._bind(_innermost(tensor), producers)
        self._bind(tensor, producers)

    def _bind(self, tensor: torch.Tensor, producers: Producers) -> None:
        self._sequence = sequence = self._sequence + 1
        key, data = _storage_key(tensor)
        storage = self._storages.get(key)
        if storage is None and data is not None:
            weak = data._weak_ref()
            self._weak.append(weak)
            storage = self._shared_with(data) or _Storage(producers, weak)
            self._storages[key] = storage
        self._entities[id(tensor)] = (ref(tensor), producers, sequence, storage)

    def register(self, tensor: torch.Tensor, producers: Producers) -> None:
        """`tensor` is known from before the run; one that is known already, by any name, keeps its producers."""
        entity = self._entities.get(id(tensor))
        if entity is None or entity[0]() is not tensor:
            key, _ = _storage_key(tensor)
            storage = self._storages.get(key)
            self._bind(tensor, storage.first if storage is not None else producers)

    def write(self, tensor: torch.Tensor, writer: Producers) -> None:
        """`writer` changed the values of `tensor`, and so of all that share its memory."""
        if _is_wrapped(tensor):
            self.write(_innermost(tensor), writer)
        key, data = _storage_key(tensor)
        self.bind(tensor, writer)
        storage = self._storages.get(key)
        if storage is None or data is None:
            return
        if len(storage.writes) >= _MAX_WRITES_KEPT_APART:
            _compact(storage)
        storage.writes.append((writer, self._sequence, *_extent(tensor)))

    def export(self, tensor: torch.Tensor) -> None:
        """The memory of `tensor` is now also reached from outside torch, as a numpy array does."""
        key, data = _storage_key(tensor)
        storage = self._storages.get(key)
        address = _address(data)
        if storage is not None and data is not None and address:
            self._exported.append((address, address + data.nbytes(), storage))

    def _shared_with(self, data: Any) -> _Storage | None:
        if not self._exported or data is None:
            return None
        address = _address(data)
        for start, end, storage in reversed(self._exported):
            if address and start <= address < end and _is_alive(storage.weak):
                return storage
        return None

    def release(self) -> None:
        """Let go of the weak counts; the object is of no use afterwards."""
        for weak in self._weak:
            torch.UntypedStorage._free_weak_ref(weak)
        self._weak.clear()
        self._storages.clear()
        self._entities.clear()
        self._exported.clear()


def _innermost(tensor: torch.Tensor) -> torch.Tensor:
    while _is_wrapped(tensor):
        tensor = _get_unwrapped(tensor)
    return tensor


def _storage_key(tensor: torch.Tensor) -> tuple[int, Any]:
    """Address of the storage object, and the storage; (0, None) for a tensor without one (sparse, nested, opaque)."""
    try:
        data = tensor.untyped_storage()
        return data._cdata, data
    except (RuntimeError, NotImplementedError):
        return 0, None


def _address(data: Any) -> int:
    try:
        return int(data.data_ptr())
    except (RuntimeError, AttributeError, TypeError):  # a fake or meta tensor has none
        return 0


def _is_alive(weak: int) -> bool:
    return torch.UntypedStorage._new_with_weak_ptr(weak) is not None


def _extent(tensor: torch.Tensor) -> tuple[int, int]:
    """First and one past the last byte that `tensor` can touch in its storage."""
    try:
        size = tensor.element_size()
        low = high = int(tensor.storage_offset())
        for length, stride in zip(tensor.shape, tensor.stride(), strict=True):
            if length == 0:
                return (0, 0)
            high += (int(length) - 1) * int(stride)
        return (low * size, (high + 1) * size)
    except Exception:  # a symbolic size refuses to become a number, with an error of its own kind: take it for all
        return (0, 1 << 62)


def _later_writes(storage: _Storage, tensor: torch.Tensor, sequence: int) -> Iterable[Producers]:
    writes = storage.writes
    if not writes or writes[-1][1] <= sequence:
        return ()
    low, high = _extent(tensor)
    return [
        writer
        for writer, when, first, last in writes
        if when > sequence and first < high and low < last
    ]


def _merged(first: Producers, others: Iterable[Producers]) -> Producers:
    merged = dict.fromkeys(first)
    for other in others:
        merged.update(dict.fromkeys(other))
    return tuple(merged)


def _compact(storage: _Storage) -> None:
    """Turn the older half of the writes into one that covers them all."""
    half = len(storage.writes) // 2
    older, storage.writes = storage.writes[:half], storage.writes[half:]
    writer = _merged((), (write[0] for write in older))
    low, high = min(write[2] for write in older), max(write[3] for write in older)
    storage.writes.insert(0, (writer, older[-1][1], low, high))
