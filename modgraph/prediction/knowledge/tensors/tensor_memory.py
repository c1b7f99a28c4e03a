"""Memory that tensors share: once it is written to through one of them, what the others hold is not known any more.

A view names the tensors whose memory is its own in `memory`. Each of these counts what is written to it, through itself
or a view; the elements of a view are known as long as none was written since they were taken.
"""

from __future__ import annotations

from collections.abc import Callable

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import A_VIEW, BATCH, BELOW, DETACHED, LEAF, MAY_BE, OF_LEAF, TensorObject
from modgraph.prediction.domain.registry import Model, models
from modgraph.prediction.domain.state import State
from modgraph.prediction.domain.values import TRUE, Address, Constant, Dtype, SliceValue, TupleValue, Value
from modgraph.prediction.knowledge.tensors.elements import MAX_ELEMENTS, Number, count
from modgraph.prediction.paths import shared_memory


def overwrite(machine: Machine, value: Value, elements: tuple[Number, ...] | None = None) -> None:
    """What a tensor holds, and what shares its memory, was changed; into `elements`, where these are known."""
    state = machine.state
    if not isinstance(value, Address) or state.find(value, TensorObject) is None:
        return
    tensor = state.change(value, TensorObject)
    for name in (BELOW, BATCH):
        tensor.attributes.pop(name, None)
    shared_memory.count_write(tensor)
    shared_memory.forget_owners(state, tensor)
    tensor.elements = elements
    if tensor.memory:
        tensor.elements = (
            elements if all(_is_small(shared_memory.owner(state, each)) for each in tensor.memory) else None
        )
        tensor.seen = _writes(state, tensor.memory)


def share(machine: Machine, value: Value, source: Value) -> None:
    """A tensor has the memory of another one, or may have: what is written to either is written to both."""
    origin = machine.state.find(source, TensorObject)
    if not isinstance(value, Address) or not isinstance(source, Address) or value == source or origin is None:
        return
    tensor = machine.state.find(value, TensorObject)
    if tensor is not None:
        attributes = machine.state.change(value, TensorObject).attributes
        attributes[MAY_BE] = source
        if BELOW in origin.attributes and tensor.dtype == origin.dtype:
            attributes[BELOW] = origin.attributes[BELOW]
    size = count(tensor.shape) if tensor is not None else None
    if tensor is None or (size is not None and size > MAX_ELEMENTS):  # of so many, none is kept
        return
    tensor = machine.state.change(value, TensorObject)
    is_of_leaf = origin.is_parameter or LEAF in origin.attributes or OF_LEAF in origin.attributes
    if is_of_leaf and tensor.requires_grad and origin.requires_grad and not tensor.is_parameter:
        tensor.attributes[OF_LEAF] = TRUE
    tensor.memory = tuple(each for each in origin.memory or (source,) if each != value)
    tensor.seen = _writes(machine.state, tensor.memory)


def views(*names: str) -> Callable[[Model], Model]:
    """Registers what gives its first argument, or parts of it, in another form: in the same memory, or it may be."""

    def register(model: Model) -> Model:
        def viewing(arguments: Arguments, machine: Machine) -> Value:
            found = model(arguments, machine)
            source = arguments.positional[0] if arguments.positional else arguments.keywords.get("input")
            if source is not None:
                for each in found.items if isinstance(found, TupleValue) else (found,):
                    share(machine, each, source)
                    mark(machine, each, arguments)
            return found

        models(*names)(viewing)
        return model

    return register


_CERTAIN = frozenset(
    (
        *("view", "view_as", "transpose", "swapaxes", "swapdims", "permute", "movedim", "moveaxis", "t", "@T", "@mT"),
        *("unsqueeze", "squeeze", "expand", "expand_as", "broadcast_to", "narrow", "select", "diagonal", "unfold"),
        *("unflatten", "as_strided", "chunk", "split", "tensor_split", "unbind"),
    )
)
"""Functions that give what has the memory of their argument, whatever that is."""


def mark(machine: Machine, value: Value, arguments: Arguments) -> None:
    """Notes of what a function gave whether it certainly is a view of its argument, and whether gradients go there."""
    tensor, certain = machine.state.find(value, TensorObject), _mark_of(arguments)
    if certain and tensor is not None and MAY_BE in tensor.attributes and isinstance(value, Address):
        machine.state.change(value, TensorObject).attributes[certain] = TRUE


def _mark_of(arguments: Arguments) -> str | None:
    """What is certain of what a function gives that shares memory with its argument."""
    name = last_name(arguments.function)
    if name in ("detach", "@data"):
        return DETACHED
    if name == "__getitem__" and len(arguments.positional) > 1:
        key = arguments.positional[1]
        is_view = all(map(_takes_a_part, key.items if isinstance(key, TupleValue) else (key,)))
        return A_VIEW if is_view else None
    is_other_dtype = any(isinstance(each, Dtype) for each in (*arguments.positional, *arguments.keywords.values()))
    return A_VIEW if name in _CERTAIN and not is_other_dtype else None


def _takes_a_part(key: Value) -> bool:
    """Between the brackets stands what takes no copy."""
    return isinstance(key, SliceValue) or (isinstance(key, Constant) and not isinstance(key.value, bool))


def _writes(state: State, memory: tuple[Address, ...]) -> int | None:
    counted = {
        owner.writes if owner is not None else None for owner in (shared_memory.owner(state, each) for each in memory)
    }
    return next(iter(counted)) if len(counted) == 1 else None


def _is_small(owner: TensorObject | None) -> bool:
    size = count(owner.shape) if owner is not None else None
    return size is not None and size <= MAX_ELEMENTS
