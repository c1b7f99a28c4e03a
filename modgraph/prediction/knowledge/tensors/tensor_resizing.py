"""Methods of Tensor that give the tensor itself another shape, or other memory: `t_`, `resize_`, `set_`, `data = `."""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import STEPS, TensorObject
from modgraph.prediction.domain.registry import model, models
from modgraph.prediction.domain.values import NONE, Address, Value
from modgraph.prediction.knowledge.tensors import layout
from modgraph.prediction.knowledge.tensors.elements import Number, Shape
from modgraph.prediction.knowledge.tensors.tensor_memory import share
from modgraph.prediction.knowledge.tensors.tensor_values import shape_argument, tensor_of
from modgraph.prediction.knowledge.torch.parameters import TENSOR
from modgraph.prediction.knowledge.torch.uncast import is_cast

_VIEWED = ("squeeze", "unsqueeze", "transpose", "swapaxes", "swapdims", "t")
"""They leave in the tensor what those of the same name without the underscore give."""


def _takes(machine: Machine, value: Value, shape: Shape | None, elements: tuple[Number, ...] | None = None) -> Value:
    if isinstance(value, Address) and tensor_of(machine, value) is not None:
        tensor = machine.state.change(value, TensorObject)
        tensor.shape, tensor.elements = shape, elements
        tensor.attributes.pop(STEPS, None)
    return value


@models(*(f"{TENSOR}.{name}_" for name in _VIEWED))
def viewed(arguments: Arguments, machine: Machine) -> Value:
    name = arguments.function.removesuffix("_")
    known = model(name)
    assert known is not None, name
    given = Arguments(name, arguments.positional, arguments.keywords, arguments.where, arguments.open)
    found = tensor_of(machine, known(given, machine))
    shape, elements = (found.shape, found.elements) if found is not None else (None, None)
    value = _takes(machine, arguments.positional[0], shape, elements)
    if found is not None:
        layout.set_steps(machine, value, layout.steps_of(found))
    return value


@models(f"{TENSOR}.resize_", f"{TENSOR}.as_strided_")
def resized(arguments: Arguments, machine: Machine) -> Value:
    sizes = arguments.positional[1:]
    if arguments.function.endswith("as_strided_"):
        sizes = (arguments.get(1, "size", NONE),)
    asked = not arguments.keywords.keys() - {"memory_format", "size", "stride", "storage_offset"}
    known = asked and sizes and arguments.open is None and NONE not in sizes
    return _takes(machine, arguments.positional[0], shape_argument(machine, sizes) if known else None)


@models(f"{TENSOR}.resize_as_", f"{TENSOR}.resize_as_sparse_")
def resized_as(arguments: Arguments, machine: Machine) -> Value:
    other = tensor_of(machine, arguments.get(1, "other", arguments.keywords.get("the_template", NONE)))
    return _takes(machine, arguments.positional[0], other.shape if other is not None else None)


@models(f"{TENSOR}.sparse_resize_", f"{TENSOR}.sparse_resize_and_clear_", f"{TENSOR}.addbmm_")
def resized_sparse(arguments: Arguments, machine: Machine) -> Value:
    return _takes(machine, arguments.positional[0], None)


@models(f"{TENSOR}.set_")
def set_to(arguments: Arguments, machine: Machine) -> Value:
    """What another tensor is; nothing at all without one. Of a storage, or of a part of one, the shape is left open.

    Raises:
        Raised: RuntimeError, where the dtypes differ.
    """
    address, rest = arguments.positional[0], (*arguments.positional[1:], *arguments.keywords.values())
    target, source = tensor_of(machine, address), tensor_of(machine, rest[0]) if len(rest) == 1 else None
    if not rest and arguments.open is None:
        return _takes(machine, address, (0,))
    if source is None or arguments.open is not None:
        return _takes(machine, address, None)
    if target is not None and None not in (target.dtype, source.dtype) and target.dtype != source.dtype:
        raise machine.raises(
            "RuntimeError", f"Could not set tensor of type {source.dtype} to a tensor of type {target.dtype}"
        )
    share(machine, address, rest[0])
    return _takes(machine, address, source.shape, source.elements)


@models(f"{TENSOR}.@data=")
def set_data(arguments: Arguments, machine: Machine) -> Value:
    """Shape, dtype and device of what is given; the parameter is a parameter as before."""
    address, new = arguments.positional[:2]
    given = tensor_of(machine, new)
    if isinstance(address, Address):
        tensor = machine.state.change(address, TensorObject)
        if given is None or is_cast(machine, new):
            machine.base.kept.add(address.index)  # and its dtype with it
        if given is None:
            tensor.dtype = tensor.device = None
        else:
            tensor.dtype, tensor.device = given.dtype, given.device
        if not tensor.lazy or given is None or not given.lazy:
            _takes(machine, address, given.shape if given is not None else None)
            share(machine, address, new)
    return NONE
