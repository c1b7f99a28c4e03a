"""How many elements the tensors of a predicted model have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from modgraph.prediction.domain.limits import MAX_TENSOR_SIZE
from modgraph.prediction.domain.objects import ModuleObject, TensorObject
from modgraph.prediction.domain.state import State
from modgraph.prediction.domain.values import NONE, Address, Value


@dataclass
class Totals:
    """Numbers of elements of all registered tensors, each counted once; None where one is not known."""

    parameters: int | None = 0
    trainable: int | None = 0
    buffers: int | None = 0

    @classmethod
    def of(cls, state: State, registered: Iterable[Address]) -> Totals:
        """Of the modules of the registered tree, each named once."""
        totals = cls()
        counted: set[Value] = set()
        for address in registered:
            module = state.find(address, ModuleObject)
            assert module is not None
            for value in module.parameters.values():
                if value != NONE and value not in counted:
                    counted.add(value)
                    totals._count_parameter(state.find(value, TensorObject))
            for value in module.buffers.values():
                buffer = state.find(value, TensorObject)
                if value != NONE and value not in counted and not (buffer is not None and buffer.lazy):
                    counted.add(value)
                    size = _size(buffer) if buffer is None or buffer.lazy is False else None
                    totals.buffers = None if totals.buffers is None or size is None else totals.buffers + size
        return totals

    def _count_parameter(self, tensor: TensorObject | None) -> None:
        size = _size(tensor)
        self.parameters = None if self.parameters is None or size is None else self.parameters + size
        if tensor is None or tensor.requires_grad is None or size is None or self.trainable is None:
            self.trainable = None
        elif tensor.requires_grad:
            self.trainable += size


def _size(tensor: TensorObject | None) -> int | None:
    if tensor is None or tensor.shape is None or tensor.lazy:
        return None
    total = 1
    for size in tensor.shape:
        if size is None:
            return None
        total *= size
        if total > MAX_TENSOR_SIZE:  # torch makes no such tensor
            return None
    return total
