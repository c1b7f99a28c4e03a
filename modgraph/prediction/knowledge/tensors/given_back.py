"""Functions of torch that give their input back where they have nothing to do: it is the same tensor, and no operation.

Source: the kernels in ATen, of which each says when it returns `self`.
"""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import TensorObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import NONE, TRUE, Value
from modgraph.prediction.knowledge.tensors.elements import category
from modgraph.prediction.knowledge.tensors.tensor_memory import views
from modgraph.prediction.knowledge.tensors.tensor_shapes import both, like, source_of
from modgraph.prediction.knowledge.tensors.tensor_values import shape_argument
from modgraph.prediction.knowledge.torch.parameters import TENSOR

_CONJUGATE = "<conjugate>"
"""Among the attributes of a tensor whose elements are to be read as their conjugates."""
_LAST_REAL = 2
"""Of the categories of dtypes, that of floats; complex ones come after it."""


@models(*both("positive"))
def positive(arguments: Arguments, machine: Machine) -> Value:
    source = source_of(arguments, machine)
    if source.dtype == "bool":
        raise machine.raises("RuntimeError", "The `+` operator, on a bool tensor is not supported.")
    return arguments.positional[0]


@views(*both("conj", "conj_physical", "resolve_conj", "resolve_neg"))
def conjugated(arguments: Arguments, machine: Machine) -> Value:
    """Of complex numbers a view, or a tensor where that is written out; real ones are their own."""
    source = source_of(arguments, machine)
    is_real = source.dtype is not None and category(source.dtype) <= _LAST_REAL
    if is_real or ("resolve" in arguments.function and _CONJUGATE not in source.attributes):
        return arguments.positional[0]
    found = like(machine, source, source.shape)
    if arguments.function.endswith(".conj"):
        machine.state.change(found, TensorObject).attributes[_CONJUGATE] = TRUE
    return found


@views(f"{TENSOR}.sum_to_size")
def summed_to(arguments: Arguments, machine: Machine) -> Value:
    source, shape = source_of(arguments, machine), shape_argument(machine, arguments.positional[1:])
    is_same = shape is not None and source.shape is not None and None not in shape and tuple(shape) == source.shape
    return arguments.positional[0] if is_same else like(machine, source, shape)


@views(*(f"torch.{name}" for name in ("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout")))
def dropped(arguments: Arguments, machine: Machine) -> Value:
    """Nothing is dropped but in training."""
    source = source_of(arguments, machine)
    if machine.truth(arguments.get(2, "train", NONE)) is False:
        return arguments.positional[0]
    return like(machine, source, source.shape)
