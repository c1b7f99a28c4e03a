"""Which call or operation made each tensor: by identity, by storage and what was written into it, never by value.

Nothing here keeps a tensor alive: tensors are held by weak references that are compared with `is` (addresses are used
again), storages by weak counts that keep the address from being used again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from weakref import ref

import torch

from modgraph.graph.events import MOST_GIVERS, WAS
from modgraph.tracing.basics.sharding import sharding_of
from modgraph.tracing.basics.tensors import EXACT, Facts, facts_of, inner_tensors

Producers = tuple[str, ...]

_get_unwrapped = torch._C._functorch.get_unwrapped
_is_wrapped = torch._C._functorch.is_functorch_wrapped_tensor
_MAX_WRITES_KEPT_APART = 8192
"""Writes remembered per storage; older ones are then one write of everything."""


_Lattice = tuple[int, tuple[tuple[int, int], ...], int]
"""Of elements that leave gaps between them: the first, strides with lengths from the longest on, bytes per element."""
_Place = tuple[int, int, "_Lattice | None"]
"""First byte and one past the last, and how the elements lie if they do not fill that."""
_Write = tuple[Producers, int, _Place, tuple[int, int]]
"""Writer, sequence, what it wrote of the storage, and the extent that it had read, all of it."""
_NOTHING = (0, 0)
_Entity = tuple[Any, Producers, int, int, Facts]
"""Weak reference to a tensor, who made it, when, the key of its storage, what it looks like."""


class Dataflow:
    """The tensors and storages seen in one run. Call with torch functions disabled.

    A storage is known by its address, which stays its own as long as a weak count is held; 0 stands for none.
    """

    def __init__(self) -> None:
        self.entities: dict[int, _Entity] = {}
        self._first: dict[int, Producers] = {}
        self.writes: dict[int, list[_Write]] = {}
        self.exported: list[tuple[int, int, int, int]] = []
        self._same: dict[int, int] = {}
        self._known_before: dict[int, tuple[torch.Tensor, str]] = {}
        self._registered: set[int] = set()
        self._weak: list[int] = []
        self._ticks = itertools.count(1)
        self._n_constants = 0
        self.on_constant: Callable[[torch.Tensor], None] = lambda _: None
        """Is told of each tensor that nobody was seen to make, before anything is done with it."""
        self.has_wrapped = False
        """Tensors may be wrapped that have a storage: those of `functionalize`. Others have none."""
        self.parameters_changed = False
        """The memory of a parameter or buffer was written into, or replaced."""
        self._has_assembled = False
        """Tensors were met that are put together of others."""

    def arrival(self, tensor: torch.Tensor) -> tuple[Producers, Facts]:
        """Who made what `tensor` holds now, and what it looks like; one never seen is a new constant."""
        entity = self.entities.get(id(tensor))
        if entity is not None and entity[0]() is tensor:
            if self._has_assembled and (inner := inner_tensors(tensor)):
                return _merged(entity[1], self._written_inside(inner, entity[2])), entity[4]
            if self.exported and self._has_moved(tensor, entity[3]):
                return self._first_sight(tensor), facts_of(tensor)
            if entity[3] not in self.writes:
                return entity[1], entity[4]
            return _merged(entity[1], self._later_writes(entity[3], tensor, entity[2])), entity[4]
        return self._first_sight(tensor), facts_of(tensor)

    def arrival_of(self, part: torch.Tensor, tensor: torch.Tensor) -> Producers:
        """Who made of `tensor` what `part`, a view of it, shows; of all of it where they share no memory."""
        entity = self.entities.get(id(tensor))
        if entity is None or entity[0]() is not tensor or self.exported or _storage_key(part)[0] != entity[3]:
            return self.arrival(tensor)[0]
        return _merged(entity[1], self._later_writes(entity[3], part, entity[2]))

    def _written_inside(self, inner: list[torch.Tensor], sequence: int) -> list[Producers]:
        """Who has written since into the tensors of which one is put together."""
        found: list[Producers] = []
        for tensor in inner:
            key, _ = _storage_key(tensor)
            found += self._later_writes(key, tensor, sequence)
            found += self._written_inside(inner_tensors(tensor), sequence)
        return found

    def last_write(self, tensor: torch.Tensor) -> int | None:
        """When the memory of `tensor` was last written into; None where others may have, and nobody tells."""
        key, _ = _storage_key(tensor)
        if self._same.get(key) or any(key == exported for _, _, exported, _ in self.exported):
            return None
        writes = self.writes.get(key)
        return writes[-1][1] if writes else 0

    def _has_moved(self, tensor: torch.Tensor, key: int) -> bool:
        """Whether a known tensor was given the memory of another, which can go unseen: `Tensor.set_` does."""
        now, _ = _storage_key(tensor)
        return now != key and self._same.get(now, 0) != key and now in self._first

    def is_as_registered(self, tensor: torch.Tensor) -> bool:
        """Whether no operation has written into a parameter or buffer: only calls, as layers do into their own."""
        if not self.parameters_changed:
            return True
        return all(producer.startswith(("param:", "call:", WAS)) for producer in self.arrival(tensor)[0])

    def forget(self, tensor: torch.Tensor) -> Producers:
        """No longer know this very tensor; gives who had made it. What is known of its memory stays."""
        entity = self.entities.pop(id(tensor), None)
        return entity[1] if entity is not None and entity[0]() is tensor else ()

    def now(self) -> int:
        """A time: what is bound from here on is bound later."""
        return next(self._ticks)

    def given_back(self, tensor: torch.Tensor, producer: Producers, began: int) -> Producers:
        """`producer`, which gives `tensor`; and who had given that before, where it was there when that `began`."""
        entity = self.entities.get(id(tensor))
        if entity is None or entity[0]() is not tensor:
            if id(tensor) not in self._registered:
                return producer
        elif entity[2] > began:
            return producer
        before = self.arrival(tensor)[0]
        return (*producer, *_known(dict.fromkeys(each.removeprefix(WAS) for each in before if each not in producer)))

    def knows(self, tensor: torch.Tensor) -> bool:
        """Whether this very tensor was seen before."""
        entity = self.entities.get(id(tensor))
        return entity is not None and entity[0]() is tensor

    def _first_sight(self, tensor: torch.Tensor) -> Producers:
        known = self._known_before.get(id(tensor))
        if known is not None and known[0] is tensor:
            return self._of_parameter(tensor, known[1])
        if _is_wrapped(tensor):
            return self.arrival(_innermost(tensor))[0]
        self._bind_all_known_before()
        key, data = _storage_key(tensor)
        if key not in self._first:
            key = self._same.get(key, 0) or self._shared_with(data)
        if key:
            return _merged(self._first[key], self._later_writes(key, tensor, -1))
        inner = inner_tensors(tensor)
        if any(self.knows(each) or _storage_key(each)[0] in self._first for each in inner):
            return _merged((), (self.arrival(each)[0] for each in inner))
        constant = (f"const:{self._n_constants}",)
        self._n_constants += 1
        self.on_constant(tensor)
        self.bind(tensor, constant)
        return constant

    def _of_parameter(self, tensor: torch.Tensor, path: str) -> Producers:
        """A parameter, unless its memory was filled by the run: then its module was made inside it."""
        key, _ = _storage_key(tensor)
        first = self._first.get(key)
        if first is not None and not first[0].startswith("param:"):
            return _merged(first, self._later_writes(key, tensor, -1))
        producers = (f"param:{path}",)
        self.bind(tensor, producers)
        return producers

    def bind(self, tensor: torch.Tensor, producers: Producers) -> Facts:
        """From now on `tensor`, and its storage if it was unknown, come from `producers`; gives what it looks like."""
        sequence = next(self._ticks)
        key = 0
        try:
            data = tensor.untyped_storage()
            key = data._cdata
            if key not in self._first:
                if self.exported:
                    key = self._new_storage(key, data, producers)
                else:
                    self._weak.append(data._weak_ref())
                    self._first[key] = producers
                if self.has_wrapped and _is_wrapped(tensor):
                    self.bind(_innermost(tensor), producers)
            plain = type(tensor) in EXACT
            facts: Facts = (tensor.shape, tensor.dtype, tensor.device, None if plain else sharding_of(tensor))
        except (RuntimeError, NotImplementedError):  # no storage, or no shape: sparse, nested, inside a transform
            facts = facts_of(tensor)
            if _is_wrapped(tensor):
                self.bind(_innermost(tensor), producers)
        self.entities[id(tensor)] = (ref(tensor), producers, sequence, key, facts)
        if key == 0 or type(tensor) not in EXACT:
            self._bind_inside(tensor, producers)
        return facts

    def _bind_inside(self, tensor: torch.Tensor, producers: Producers) -> None:
        """What a tensor is put together of comes with it, as far as it was unknown."""
        for inner in inner_tensors(tensor):
            self._has_assembled = True
            self.writes.setdefault(0, [])  # so that nobody takes one without a storage for never written into
            if not self.knows(inner) and _storage_key(inner)[0] not in self._first:
                self.bind(inner, producers)

    def _new_storage(self, key: int, data: Any, producers: Producers) -> int:
        """Remember a storage; gives the key of the one that it shares its memory with, else its own."""
        shared = self._same.get(key) or self._shared_with(data)
        if shared:
            if key not in self._same:
                self._weak.append(data._weak_ref())
                self._same[key] = shared
            return shared
        self._weak.append(data._weak_ref())
        self._first[key] = producers
        return key

    def register(self, parameters: Iterable[tuple[str, torch.Tensor]]) -> None:
        """Parameters and buffers by path: each is its own producer, unless the run itself filled it."""
        if not self.entities:  # nothing has run
            self._known_before.update((id(tensor), (tensor, path)) for path, tensor in parameters)
            self._registered.update(self._known_before)
            return
        for path, tensor in parameters:
            self._known_before[id(tensor)] = (tensor, path)
            self._registered.add(id(tensor))
            self.parameters_changed = self.parameters_changed or self.knows(tensor) or self._was_filled(tensor)

    def _was_filled(self, tensor: torch.Tensor) -> bool:
        """Whether the run itself made the memory of a tensor, as it does of a module that it copies."""
        first = self._first.get(_storage_key(tensor)[0]) if self._first else None
        return first is not None and not first[0].startswith("param:")

    def _bind_all_known_before(self) -> None:
        """Bind what was registered, so that its memory is known too: only for a run that meets a foreign tensor."""
        while self._known_before:
            try:
                _, (tensor, path) = self._known_before.popitem()
            except KeyError:  # another thread took the last
                return
            entity = self.entities.get(id(tensor))
            if entity is None or entity[0]() is not tensor:
                self._of_parameter(tensor, path)

    def write(
        self, tensor: torch.Tensor, writer: Producers, part: torch.Tensor | None = None, *, was_read: bool = True
    ) -> None:
        """`writer` changed the values of `tensor`, and so of all that share its memory.

        Args:
            part: what was written of it, if not all.
            was_read: `writer` depends on the values that `tensor` had, and so on all that wrote them.
        """
        if _is_wrapped(tensor):
            self.write(_innermost(tensor), writer)
        self.bind(tensor, writer)
        for inner in inner_tensors(tensor) if self._has_assembled else ():
            self.write(inner, writer)
        sequence, key = self.entities[id(tensor)][2:4]
        if key:
            writes = self.writes.setdefault(key, [])
            if len(writes) >= _MAX_WRITES_KEPT_APART:
                _compact(writes)
            whole = place(tensor)
            written = whole if part is None or part is tensor else place(part)
            was_read = was_read and whole[2] is None
            writes.append((writer, sequence, written, whole[:2] if was_read else _NOTHING))
            if id(tensor) in self._registered or self._first[key][0].startswith("param:"):
                self.parameters_changed = True

    def _later_writes(self, key: int, tensor: torch.Tensor, sequence: int) -> list[Producers]:
        writes = self.writes.get(key)
        if not writes or writes[-1][1] <= sequence:
            return []
        low, high, lattice = place(tensor)
        later: list[Producers] = []
        from_, to = _NOTHING
        for writer, when, (first, last, written), read in reversed(writes):
            if when <= sequence:
                break
            if first < high and low < last and not (from_ <= first and last <= to):
                if (lattice or written) and _lie_apart(lattice or (low, high), written or (first, last)):
                    continue
                later.append(writer)
                if read[1] - read[0] > to - from_:  # who read all that was there stands for those that wrote it
                    from_, to = read
        return later[::-1]

    def export(self, tensor: torch.Tensor) -> None:
        """The memory of `tensor` is now also reached from outside torch, as a numpy array does."""
        key, data = _storage_key(tensor)
        address = _address(data)
        if key in self._first and address:
            weak = data._weak_ref()
            self._weak.append(weak)
            self.exported.append((address, address + data.nbytes(), key, weak))

    def exported_memory(self, tensor: torch.Tensor) -> tuple[int, int]:
        """Key of the exported storage whose memory `tensor` has, and how many bytes into it; else (0, 0)."""
        return self._exported_at(_storage_key(tensor)[1]) if self.exported else (0, 0)

    def _exported_at(self, data: Any) -> tuple[int, int]:
        address = _address(data) if data is not None else 0
        for start, end, key, weak in reversed(self.exported) if address else ():
            if start <= address < end and _is_alive(weak):
                return key, address - start
        return 0, 0

    def _shared_with(self, data: Any) -> int:
        """Key of the storage that was exported and holds the memory of `data`; 0 if there is none."""
        return self._exported_at(data)[0] if self.exported else 0

    def release(self) -> None:
        """Let go of the weak counts; the object is of no use afterwards."""
        for weak in self._weak:
            torch.UntypedStorage._free_weak_ref(weak)
        self._weak.clear()
        self.on_constant = lambda _: None
        self.exported.clear()
        for known in (self.entities, self._first, self.writes, self._same, self._known_before):
            known.clear()


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


def extent(tensor: torch.Tensor) -> tuple[int, int]:
    """First and one past the last byte that `tensor` can touch in its storage."""
    return place(tensor)[:2]


def place(tensor: torch.Tensor) -> _Place:
    """What of its storage `tensor` can touch."""
    try:
        size = tensor.element_size()
        low = high = int(tensor.storage_offset())
        n_elements = 1
        strides = tensor.stride()
        for length, stride in zip(tensor.shape, strides, strict=True):
            if length == 0:
                return (0, 0, None)
            if stride:
                high += (int(length) - 1) * int(stride)
                n_elements *= int(length)
        if n_elements > high - low:
            return (low * size, (high + 1) * size, None)
        steps = sorted(
            ((int(s), int(n)) for n, s in zip(tensor.shape, strides, strict=True) if s and n > 1), reverse=True
        )
        return (low * size, (high + 1) * size, (low, tuple(steps), size))
    except Exception:  # a symbolic size refuses to become a number, with an error of its own kind: take it for all
        return (0, 1 << 62, None)


def _lie_apart(a: _Lattice | tuple[int, int], b: _Lattice | tuple[int, int]) -> bool:
    """Whether two places with a common extent, one of them at least with gaps, have certainly no element in common.

    Both are boxes on one grid, as slices of one tensor are, or it is not known.
    """
    size = next(lattice[2] for lattice in (a, b) if len(lattice) == 3)
    boxes = [lattice if len(lattice) == 3 else _run(lattice, size) for lattice in (a, b)]
    strides = sorted({stride for _, steps, _ in boxes for stride, _ in steps}, reverse=True)
    if any(box[2] != size for box in boxes) or any(s % t for s, t in itertools.pairwise(strides)):
        return False
    found = [_on_grid(start, dict(steps), strides) for start, steps, _ in boxes]
    if found[0] is None or found[1] is None or any(len(dict(steps)) < len(steps) for _, steps, _ in boxes):
        return False
    return any(first + n <= second or second + m <= first for (first, n), (second, m) in zip(*found, strict=True))


def _run(extent: tuple[int, int], size: int) -> _Lattice:
    """Elements one beside the other."""
    start, end = extent[0] // size, extent[1] // size
    return (start, ((1, end - start),), size)


def _on_grid(start: int, lengths: dict[int, int], strides: list[int]) -> list[tuple[int, int]] | None:
    """By stride: the first index and how many; None where an index goes beyond that of the stride before."""
    found = []
    room = None
    for stride in strides:
        index, start = divmod(start, stride)
        length = lengths.get(stride, 1)
        if room is not None and index + length > room // stride:
            return None
        found.append((index, length))
        room = stride
    return [*found, (start, 1)]


def _known(others: dict[str, None]) -> Iterator[str]:
    """Of those that have given a tensor, the last and the first, so that a tensor that goes through thousands of calls
    says no more of the last than of the tenth. `WAS` alone stands for all between them."""
    named = [each for each in others if each]
    half = MOST_GIVERS // 2
    cut = len(named) if len(named) <= MOST_GIVERS and len(named) == len(others) else half
    yield from (f"{WAS}{each}" for each in named[:cut])
    if cut < len(named) or len(named) < len(others):
        yield WAS
        yield from (f"{WAS}{each}" for each in named[max(cut, len(named) - half) :])


def _merged(first: Producers, others: Iterable[Producers]) -> Producers:
    merged = dict.fromkeys(first)
    for other in others:
        merged.update(dict.fromkeys(other))
    return tuple(merged)


def _compact(writes: list[_Write]) -> None:
    """Make one of the older half of the writes, that covers them all."""
    half = len(writes) // 2
    older = writes[:half]
    writer = _merged((), (write[0] for write in older))
    low, high = min(write[2][0] for write in older), max(write[2][1] for write in older)
    covering = (writer, older[-1][1], (low, high, None), _NOTHING)
    writes[:half] = [covering]
