"""What it takes to run each recorded step again: its function, its arguments as they were, and the values it gave.

A step is an operation, or a call inside which no operation was seen. Tensors among the arguments are kept as *slots*:
numbers that say which tensor it was, by identity, never the tensor. What no step made (inputs, parameters, constants)
is a `Source`.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any
from weakref import ref

import torch
from torch.nn.parameter import is_lazy

from modgraph.errors import RAISED_BY_OTHERS
from modgraph.tracing.basics.alive import Newcomers
from modgraph.tracing.basics.tensors import ATOMS, Named, inner_tensors, instance_state, tensors_in
from modgraph.tracing.recording.dataflow import Dataflow
from modgraph.tracing.restoring.fingerprints import Fingerprint, fingerprint
from modgraph.tracing.restoring.kept_tensor import storage_of
from modgraph.tracing.restoring.restore import random_generators

_is_wrapped = torch._C._functorch.is_functorch_wrapped_tensor


@dataclass(frozen=True, slots=True)
class Place:
    """In an argument: here stood the tensor of that slot."""

    slot: int


@dataclass(frozen=True, slots=True)
class Layout:
    """How a tensor lies in its memory: a stand-in without its values has the same."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    dtype: torch.dtype
    device: torch.device


@dataclass(slots=True)
class Slot:
    """One tensor of the run."""

    layout: Layout | None
    """None for one that does not lie in memory by strides."""
    value: torch.Tensor | None = None
    """Of a source: the tensor, or a copy of what it held when it was first seen."""
    origin: str | None = None
    """Of a source: `input:x`, `param:path`, `const:0`; None for what was seen without being made by a step."""
    held: bool = False
    """Its value is the tensor itself, that somebody else holds too."""
    base: int | None = None
    """Of a view that no step made: the slot with whose memory it shares."""
    came_by_itself: bool = False
    """The run made it past every step that was seen, so that its values are taken as given."""


@dataclass(slots=True)
class Step:
    """An operation, or a call inside which none was seen."""

    node: str
    """`op:N` or `call:N`."""
    function: Callable[..., Any] | None
    """None where it cannot be run again."""
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    reason: str | None = None
    """Why it cannot."""
    outputs: list[tuple[str, int]] = field(default_factory=list)
    """Tensors of the result by place: the slot of each."""
    values: list[tuple[str, int, Fingerprint | None]] = field(default_factory=list)
    """What the tensors that it made or changed held afterwards, by name and slot."""
    random: tuple[Callable[[], None], ...] = ()
    """Put the random numbers back to where the step drew some."""
    autocast: tuple[tuple[str, torch.dtype], ...] = ()
    """Devices for which operations were cast, and to what."""
    grad: bool = False
    default_dtype: torch.dtype = torch.float32
    overwritten: frozenset[int] = frozenset()
    """Slots of arguments whose values it replaces without reading them."""
    replaces_memory: bool = False
    """It gives these other memory, and leaves what the old holds."""
    passes: bool = False
    """It computes nothing: a call that ends, and stands from now on for what it returned."""

    def cannot(self, reason: str) -> None:
        """It cannot be run again."""
        self.function, self.reason = None, reason


class UnrepeatableError(Exception):
    """An argument cannot be given again."""


class Recipes:
    """The steps of one run, in the order in which they ended. Call with torch functions disabled."""

    def __init__(self, dataflow: Dataflow) -> None:
        self.steps: list[Step] = []
        self.slots: list[Slot] = []
        self.outputs: list[tuple[str, int]] = []
        """Of the model: `output:NAME` and its slot."""
        self._dataflow = dataflow
        self._known: dict[int, tuple[Any, int]] = {}
        self._by_memory: dict[int, int] = {}
        self._lies: list[tuple[Layout | None, int]] = []
        """Of each slot, how and in which memory its tensor lay when it was last seen."""
        self._random_before: dict[int, tuple[Any, ...]] = {}
        self._newcomers = Newcomers(torch.Tensor)
        self._lock = threading.RLock()
        """Of the slots, which the threads of a run share."""

    def prepare(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Step:
        """A step that is about to run."""
        step = Step("", function, autocast=tuple(_casts()), grad=torch.is_grad_enabled())
        step.default_dtype = torch.get_default_dtype()
        faked = torch._C._len_torch_dispatch_stack() > 0
        given = (*args, *kwargs.values())
        self._random_before[id(step)] = () if faked else (*random_generators(), *_generators_among(given))
        if faked:
            step.cannot("it ran under a mode that takes the place of torch's own kernels")
        with self._lock:
            try:
                step.args = tuple(self._kept(argument) for argument in args)
                step.kwargs = {name: self._kept(argument) for name, argument in kwargs.items()}
            except UnrepeatableError as error:
                step.cannot(str(error))
        return step

    def finish(self, step: Step, node: str, result: Any, changed: list[torch.Tensor]) -> None:
        """It has run: what it gave, and what it wrote into."""
        with self._lock:
            self._finish(step, node, result, changed)

    def _finish(self, step: Step, node: str, result: Any, changed: list[torch.Tensor]) -> None:
        step.node = node
        before = self._random_before.pop(id(step))
        if not all(is_unchanged() for is_unchanged, _ in before):
            step.random = tuple(put_back for _, put_back in before)
        for name, tensor in tensors_in(result, "output"):
            known = self._slot_if_known(tensor)
            slot = self._bind(tensor) if known is None else known
            step.outputs.append((name, slot))
            if known is None:
                self._note_value(step, name, slot, tensor)
        for tensor in changed:
            if _is_wrapped(tensor):
                continue
            known = self._slot_if_known(tensor)
            slot = self.slot_of(tensor) if known is None else known
            self._lies[slot] = (_layout_of(tensor), storage_of(tensor))
            if slot not in [each for _, each, _ in step.values]:
                self._note_value(step, "what it wrote into", slot, tensor)
        self.steps.append(step)

    def passed(self, node: str, result: Any) -> None:
        """A leaf call has ended whose operations are steps, or that returned what it was given.

        Args:
            result: what it returned, and what it was given and has written into: the call now stands for both.
        """
        with self._lock:
            slots = [self.slot_of(tensor) for _, tensor in tensors_in(result, "") if not _is_wrapped(tensor)]
            outputs = [(f"output[{position}]", slot) for position, slot in enumerate(slots)]
            self.steps.append(Step(node, _same, (tuple(map(Place, slots)),), outputs=outputs, passes=True))

    def shown(self, view: torch.Tensor, source: torch.Tensor) -> None:
        """A view that no step makes, of what a step gave: it comes of that one, and not of all who had its memory."""
        with self._lock:
            base = self.slot_of(source)
            if self._slot_if_known(view) is None:
                self.slots[self._bind(view)].base = base

    def drop(self, step: Step) -> None:
        """It made nothing, and is none."""
        self._random_before.pop(id(step), None)

    def forget(self, tensor: torch.Tensor) -> None:
        """No longer know this very tensor, and hold no weak reference to it."""
        self._known.pop(id(tensor), None)

    def knows_all(self, named: list[Named]) -> bool:
        """Whether a step has made each of the tensors, or each was seen before."""
        return all(self._slot_if_known(tensor) is not None for _, tensor in named)

    def _note_value(self, step: Step, name: str, slot: int, tensor: torch.Tensor) -> None:
        if _is_wrapped(tensor):
            step.cannot("it ran inside a transform of functions, as vmap is")
            return
        if step.function is None:  # its result stands in for what would have come of it
            self.slots[slot].value = _copied(tensor)
        step.values.append((name, slot, fingerprint(tensor)))

    # Slots

    def _slot_if_known(self, tensor: torch.Tensor) -> int | None:
        known = self._known.get(id(tensor))
        return known[1] if known is not None and known[0]() is tensor else None

    def slot_of(self, tensor: torch.Tensor) -> int:
        """The slot of a tensor; one never seen is a source, or a view of memory that a step made."""
        with self._lock:
            known = self._slot_if_known(tensor)
            if known is not None and self._lies[known] == (_layout_of(tensor), storage_of(tensor)):
                return known  # else it was given other memory by means that no mode sees
            producers, _ = self._dataflow.arrival(tensor)
            is_made = any(producer.startswith(("op:", "call:")) for producer in producers)
            origin = producers[0] if len(producers) == 1 and not is_made else None
            slot = self._foreign(tensor, origin, held=False)
            made = self.slots[slot]
            is_constant = any(producer.startswith("const:") for producer in producers)
            if made.base is None:
                made.came_by_itself = is_made or (is_constant and self._newcomers.among([tensor])[0])
            return slot

    def sources(self, named: list[tuple[str, torch.Tensor]]) -> None:
        """Tensors of the model, or inputs, before anything is done with them: after the run they are as they were."""
        with self._lock:
            came = self._newcomers.among([tensor for _, tensor in named])
            for (origin, tensor), is_new in zip(named, came, strict=True):
                if not is_lazy(tensor) and self._slot_if_known(tensor) is None:
                    self._foreign(tensor, origin, held=not is_new)

    def made_on_the_way(self, named: list[tuple[str, torch.Tensor]]) -> None:
        """Tensors of the model to which the run gives values that are taken away again: they are copied."""
        with self._lock:
            for origin, tensor in named:
                self.forget(tensor)
                self._foreign(tensor, origin, held=False)

    def _foreign(self, tensor: torch.Tensor, origin: str | None, *, held: bool) -> int:
        """A slot of what no step gave. `held`: it is as it was after the run, and so need not be copied."""
        memory = storage_of(tensor)
        base = self._by_memory.get(memory) if memory else None
        slot = self._bind(tensor)
        made = self.slots[slot]
        shift = 0
        if base is None and made.layout is not None:
            exported, shift = self._dataflow.exported_memory(tensor)
            base = self._by_memory.get(exported) if exported else None
        lies = made.layout is not None and shift % made.layout.dtype.itemsize == 0
        if base is None or (held and self.slots[base].value is not None) or self.slots[base].layout is None or not lies:
            made.origin = origin
            made.held = held and not tensor.is_inference()
            made.value = tensor if made.held else _copied(tensor)
        else:
            assert made.layout is not None
            made.base = base
            made.layout = replace(made.layout, offset=made.layout.offset + shift // made.layout.dtype.itemsize)
        return slot

    def _bind(self, tensor: torch.Tensor) -> int:
        slot = len(self.slots)
        self.slots.append(Slot(_layout_of(tensor)))
        self._known[id(tensor)] = (ref(tensor), slot)
        memory = storage_of(tensor)
        self._lies.append((self.slots[slot].layout, memory))
        if memory:
            self._by_memory.setdefault(memory, slot)
        return slot

    def _kept(self, value: Any) -> Any:
        """An argument with its tensors taken out, in containers of its own.

        Raises:
            UnrepeatableError: it holds tensors where they cannot be taken out, or is used up by reading it.
        """
        kind = type(value)
        if issubclass(type(value), torch.Tensor):
            if _is_wrapped(value):
                raise UnrepeatableError("it ran inside a transform of functions, as vmap is")
            if is_lazy(value):
                raise UnrepeatableError("it was given a parameter that has no size yet")
            slot = self.slot_of(value)
            if self.slots[slot].came_by_itself and inner_tensors(value):
                raise UnrepeatableError(f"it was given a {kind.__name__} that was put together of other tensors")
            return Place(slot)
        if kind in ATOMS:
            return value
        if kind in (list, tuple, deque):
            return kind(map(self._kept, value))
        if kind in (dict, OrderedDict):
            return kind((key, self._kept(item)) for key, item in value.items())
        if kind is slice:
            return slice(self._kept(value.start), self._kept(value.stop), self._kept(value.step))
        if issubclass(type(value), Iterator):
            raise UnrepeatableError("it was given an iterator, which can be read once")
        if not tensors_in(value, ""):
            return value
        if issubclass(type(value), tuple) and isinstance(getattr(kind, "_fields", None), tuple):
            return _Rebuilt(kind, tuple(map(self._kept, tuple.__iter__(value))), ())
        if is_dataclass(kind) and not issubclass(type(value), dict):
            state = instance_state(value)
            names = tuple(each.name for each in fields(kind) if each.name in state)
            return _Rebuilt(kind, tuple(self._kept(state[name]) for name in names), names)
        raise UnrepeatableError(f"it was given tensors inside a {kind.__name__}")


@dataclass(frozen=True, slots=True)
class _Rebuilt:
    """A named tuple or dataclass, by its fields."""

    kind: type
    items: tuple[Any, ...]
    names: tuple[str, ...]

    def made_of(self, items: list[Any]) -> Any:
        if not self.names:
            return self.kind(*items)
        made: Any = object.__new__(self.kind)
        for name, item in zip(self.names, items, strict=True):
            object.__setattr__(made, name, item)
        return made


def _same(value: Any) -> Any:
    return value


def given_again(kept: Any, tensor_of: Callable[[int], torch.Tensor]) -> Any:
    """An argument as `Recipes` keeps it, with tensors in their places again."""
    kind = type(kept)
    if kind is Place:
        return tensor_of(kept.slot)
    if kind in (list, tuple, deque):
        return kind(given_again(item, tensor_of) for item in kept)
    if kind in (dict, OrderedDict):
        return kind((key, given_again(item, tensor_of)) for key, item in kept.items())
    if kind is slice:
        return slice(*(given_again(bound, tensor_of) for bound in (kept.start, kept.stop, kept.step)))
    if kind is _Rebuilt:
        return kept.made_of([given_again(item, tensor_of) for item in kept.items])
    return kept


def slots_in(kept: Any) -> Iterator[int]:
    """The slots of all tensors in arguments as `Recipes` keeps them."""
    kind = type(kept)
    if kind is Place:
        yield kept.slot
    elif kind in (list, tuple, deque):
        for item in kept:
            yield from slots_in(item)
    elif kind in (dict, OrderedDict):
        yield from slots_in(tuple(kept.values()))
    elif kind is slice:
        yield from slots_in((kept.start, kept.stop, kept.step))
    elif kind is _Rebuilt:
        yield from slots_in(kept.items)


def _layout_of(tensor: torch.Tensor) -> Layout | None:
    if (
        tensor.layout is not torch.strided
        or tensor.is_nested
        or tensor.is_quantized
        or type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__
    ):
        return None
    try:
        return Layout(tuple(tensor.shape), tensor.stride(), int(tensor.storage_offset()), tensor.dtype, tensor.device)
    except (RuntimeError, NotImplementedError):
        return None


def _copied(tensor: torch.Tensor) -> torch.Tensor | None:
    """A tensor of the same values in memory of its own, laid out alike."""
    try:
        with torch.no_grad():
            if tensor.layout is torch.strided and not tensor.is_nested and not tensor.is_quantized:
                memory = tensor.untyped_storage().clone()
                copy = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
                return copy.set_(memory, tensor.storage_offset(), tensor.shape, tensor.stride())
            return tensor.detach().clone()
    except RAISED_BY_OTHERS:  # a subclass of the user's may refuse with whatever it likes
        return None


def _generators_among(given: tuple[Any, ...]) -> Iterator[tuple[Callable[[], bool], Callable[[], None]]]:
    """As `random_generators`, of those that were given."""
    for item in given:
        if issubclass(type(item), torch.Generator):  # what claims to be one is none
            yield _state_of(item)


def _state_of(generator: torch.Generator) -> tuple[Callable[[], bool], Callable[[], None]]:
    before = generator.get_state()

    def put_back() -> None:
        generator.set_state(before)

    return lambda: torch.equal(generator.get_state(), before), put_back


def _casts() -> Iterator[tuple[str, torch.dtype]]:
    for device in ("cpu", "cuda"):
        if torch.is_autocast_enabled(device):
            yield device, torch.get_autocast_dtype(device)
