"""Memory that tensors share: what one of them holds is known as long as none was written to since it was taken."""

from __future__ import annotations

from modgraph.prediction.domain.objects import TensorObject
from modgraph.prediction.domain.state import State
from modgraph.prediction.domain.values import Address


def current(state: State, tensor: TensorObject) -> TensorObject:
    """The tensor, without elements that are not known any more."""
    if tensor.elements is None or not tensor.memory:
        return tensor
    owners = [owner(state, each) for each in tensor.memory]
    if all(one is not None and one.writes is not None and one.writes == tensor.seen for one in owners):
        return tensor
    stale = tensor.copy()
    stale.elements = None
    return stale


def forget_owners(state: State, tensor: TensorObject) -> None:
    """It was written into the memory of the tensors that it is a view of."""
    for each in tensor.memory:
        if owner(state, each) is not None:
            changed = state.change(each, TensorObject)
            count_write(changed)
            changed.elements = None


def count_write(tensor: TensorObject) -> None:
    if tensor.writes is not None:
        tensor.writes += 1


def owner(state: State, address: Address) -> TensorObject | None:
    """None where it was made on a path that is not this one."""
    there = state.get(address.index) is not None or address.index in state.base.objects
    return state.find(address, TensorObject) if there else None
