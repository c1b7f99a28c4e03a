"""Everything a run may change, as it was before: flags, tensors, attributes, gradients, random numbers.

Flags are kept per module: one `train(flag)` for all would also turn those that the user froze.
"""

from __future__ import annotations

import collections
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from modgraph.tracing.tensors import is_fake, quietly, tensors_in

MAX_CONTAINER_DEPTH = 4
"""Levels of lists and dicts in a module's attributes whose contents are kept."""
_CONTAINERS = (dict, list, set, collections.OrderedDict, collections.defaultdict, collections.deque)


class Snapshot:
    """The state of some modules and arguments at one moment. `restore` may be called once."""

    def __init__(self, modules: Iterable[nn.Module], arguments: Any) -> None:
        self._undo: list[tuple[Any, ...]] = []
        self._tensors: dict[int, _TensorState] = {}
        self._containers: dict[int, Any] = {}
        with quietly(), torch.no_grad():
            for module in modules:
                self.keep(module)
            for _, tensor in tensors_in(arguments, ""):
                self._keep_tensor(tensor, with_values=True)
        for put_back in _random_states():
            self._later(put_back)

    def _later(self, *action: Any) -> None:
        """Have `action[0](*action[1:])` done by `restore`; the last kept first."""
        self._undo.append(action)

    def keep(self, module: nn.Module) -> None:
        """Keep the state of one module (not of those below it)."""
        state = object.__getattribute__(module, "__dict__")
        self._later(_restore_class, module, type(module))
        self._later(_restore_mapping, state, dict(state))
        renormalises = state.get("max_norm") is not None  # such an embedding writes into its weight when it is read
        for name, value in state.items():
            if name == "_parameters":
                for parameter in dict(value).values() if isinstance(value, dict) else ():
                    if parameter is not None:
                        self._keep_tensor(parameter, with_values=renormalises)
            self._keep_contents(value, 0)

    def _keep_contents(self, value: Any, depth: int) -> None:
        if isinstance(value, torch.Tensor):
            self._keep_tensor(value, with_values=not isinstance(value, nn.Parameter))
        elif isinstance(value, torch.Generator):
            self._later(value.set_state, value.get_state())
        elif type(value) in _CONTAINERS and id(value) not in self._containers and depth < MAX_CONTAINER_DEPTH:
            self._containers[id(value)] = value
            if isinstance(value, dict):
                self._later(_restore_mapping, value, dict(value))
                contents = list(value.values())
            else:
                contents = list(value)
                self._later(_restore_sequence, value, contents)
            for item in contents:
                self._keep_contents(item, depth + 1)

    def _keep_tensor(self, tensor: torch.Tensor, *, with_values: bool) -> None:
        if id(tensor) not in self._tensors:
            try:
                kept = self._tensors[id(tensor)] = _TensorState(tensor)
            except (RuntimeError, NotImplementedError, TypeError):  # a subclass that has no `.data`
                return
            self._later(kept.restore)
        if with_values:
            self._tensors[id(tensor)].keep_values()

    def before_write(self, tensor: torch.Tensor) -> None:
        """Copy the values of a parameter that is about to be written into; copying all at the start doubles them."""
        kept = self._tensors.get(id(tensor))
        if kept is None and tensor._is_view():
            base = tensor._base
            kept = self._tensors.get(id(base))
        if kept is not None:
            kept.keep_values()

    def set_gradients_aside(self) -> None:
        """Let the tensors begin without gradients; `restore` gives them back, untouched."""
        for kept in self._tensors.values():
            kept.set_gradient_aside()

    def restore(self) -> None:
        """Put everything back. Every part is tried, whatever another raises."""
        with quietly(), torch.no_grad():
            failed: BaseException | None = None
            while self._undo:
                function, *arguments = self._undo.pop()
                try:
                    function(*arguments)
                except Exception as error:
                    failed = failed or error
            if failed is not None:
                raise failed


class _TensorState:
    """One tensor: its memory, flags and gradient, and its values once somebody asked for them to be kept."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self._tensor = tensor
        self._class = type(tensor)
        self._lazy = is_lazy(tensor)
        self._data = tensor.data
        self._requires_grad = tensor.requires_grad
        self._is_leaf = tensor.is_leaf
        self._values: torch.Tensor | None = None
        self._gradient = tensor.grad if tensor.is_leaf else None
        self._aside = False
        self._gradient_values = _copy(self._gradient) if self._gradient is not None else None

    def keep_values(self) -> None:
        if self._values is None and not self._lazy:
            self._values = _copy(self._tensor.data)

    def set_gradient_aside(self) -> None:
        if self._is_leaf and self._gradient is not None:
            self._aside = True
            self._gradient_values = None
            self._tensor.grad = None

    def restore(self) -> None:
        tensor = self._tensor
        if type(tensor) is not self._class:
            tensor.__class__ = self._class  # a lazy parameter that the run gave its shape
        if self._lazy or not _same_memory(tensor, self._data):
            tensor.data = self._data
        if self._values is not None:
            _put_back(tensor.data, self._values)
        if self._is_leaf:
            if tensor.requires_grad != self._requires_grad:
                tensor.requires_grad_(self._requires_grad)
            if tensor.grad is not self._gradient:
                tensor.grad = self._gradient
            if self._gradient is not None and self._gradient_values is not None:
                _put_back(self._gradient.data, self._gradient_values)


def _copy(tensor: torch.Tensor) -> torch.Tensor | None:
    """A copy of the values; None where there are none, or where a tensor of this kind cannot be put back."""
    if tensor.device.type == "meta" or tensor.is_nested or is_fake(tensor):
        return None
    try:
        return tensor.detach().clone()
    except (RuntimeError, NotImplementedError):
        return None


def _put_back(tensor: torch.Tensor, values: torch.Tensor) -> None:
    """Write the values back where they differ: through `.data`, so that no version counter moves."""
    try:
        same = torch.equal(tensor, values)
    except (RuntimeError, NotImplementedError):  # not comparable: a sparse or quantised layout
        same = False
    if not same:
        tensor.copy_(values)


def _same_memory(tensor: torch.Tensor, data: torch.Tensor) -> bool:
    if tensor.layout != torch.strided or tensor.is_nested:
        return True
    if tensor.shape != data.shape or tensor.dtype != data.dtype or tensor.device != data.device:
        return False
    try:
        return bool(
            tensor.untyped_storage()._cdata == data.untyped_storage()._cdata
            and tensor.storage_offset() == data.storage_offset()
            and tensor.stride() == data.stride()
        )
    except (RuntimeError, NotImplementedError):  # no storage to compare
        return True


def _restore_class(module: nn.Module, kind: type) -> None:
    if type(module) is not kind:
        module.__class__ = kind


def _restore_mapping(mapping: dict[Any, Any], before: dict[Any, Any]) -> None:
    now = list(mapping.items())
    same = len(now) == len(before) and all(
        key is old_key and value is old for (key, value), (old_key, old) in zip(now, before.items(), strict=True)
    )
    if not same:
        mapping.clear()
        mapping.update(before)


def _restore_sequence(container: Any, before: list[Any]) -> None:
    now = list(container)
    if len(now) != len(before) or any(item is not old for item, old in zip(now, before, strict=True)):
        container.clear()
        (container.update if isinstance(container, set) else container.extend)(before)


def _random_states() -> Iterator[Callable[[], None]]:
    """What puts back each random number generator: Python's, numpy's if loaded, torch's of every device in use."""
    python = random.getstate()
    yield lambda: random.setstate(python)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        legacy = numpy.random.get_state()
        yield lambda: numpy.random.set_state(legacy)
    cpu = torch.get_rng_state()
    yield lambda: torch.set_rng_state(cpu)
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        cuda = torch.cuda.get_rng_state_all()
        yield lambda: torch.cuda.set_rng_state_all(cuda)
    if torch.backends.mps.is_available():
        mps = torch.mps.get_rng_state()
        yield lambda: torch.mps.set_rng_state(mps)
