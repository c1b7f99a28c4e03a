"""What is refused of dimensions that are not there, of more indices than dimensions, and of powers of whole numbers.

What torch refuses is judged in `tests/prediction/forward/test_arguments_that_torch_refuses.py`.
"""

from __future__ import annotations

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ListObject
from modgraph.prediction.domain.registry import demands
from modgraph.prediction.domain.values import NONE, Constant, TupleValue, Unknown, Value
from modgraph.prediction.knowledge.tensors.demanding import given, refuse
from modgraph.prediction.knowledge.tensors.elements import category
from modgraph.prediction.knowledge.tensors.index_keys import keys_of
from modgraph.prediction.knowledge.tensors.layout_rules import both
from modgraph.prediction.knowledge.tensors.tensor_values import dimension, tensor_of
from modgraph.prediction.knowledge.torch.parameters import TENSOR

_DIM_AT = {
    **dict.fromkeys(("nanmean", "nansum", "nanmedian", "squeeze", "index_reduce"), 1),
    **dict.fromkeys(("quantile", "nanquantile", "take_along_dim"), 2),
}
_BY_NAME = ("trapezoid", "trapz", "cumulative_trapezoid")
"""Functions of torch that are told their dimension by its name alone."""


@demands(*both(" ".join(_DIM_AT)), *(f"torch.{name}" for name in _BY_NAME))
def along(arguments: Arguments, machine: Machine) -> None:
    """The dimension is there; of several, each, and once."""
    name = last_name(arguments.function)
    source = given(arguments, machine, 0, "y" if name in _BY_NAME else "input")
    dim = arguments.named("dim", NONE) if name in _BY_NAME else arguments.get(_DIM_AT[name], "dim", NONE)
    if source.shape is None or dim == NONE:
        return
    is_several = isinstance(dim, TupleValue) or machine.state.find(dim, ListObject) is not None
    listed = machine.iterate(dim) if is_several else [dim]
    places = [dimension(machine, each, len(source.shape)) for each in listed] if isinstance(listed, list) else []
    known = [place for place in places if place is not None]
    if len(set(known)) < len(known):
        refuse(machine, f"{name}: a dim appears multiple times in the list of dims")


@demands(f"{TENSOR}.__getitem__")
def as_many(arguments: Arguments, machine: Machine) -> None:
    """There is a dimension for each index; a mask takes as many as it has itself."""
    source, keys = given(arguments, machine, 0, "input"), keys_of(machine.state, arguments.positional[1])
    taken = sum(_dimensions(machine, key) for key in keys)
    if source.shape is not None and taken > len(source.shape):
        refuse(machine, f"too many indices for tensor of dimension {len(source.shape)}", "IndexError")


def _dimensions(machine: Machine, key: Value) -> int:
    """How many an index takes, at least."""
    if key in (NONE, Constant(...)) or isinstance(key, Unknown):
        return 0
    if isinstance(key, Constant):
        return int(not isinstance(key.value, bool))
    tensor = tensor_of(machine, key)
    if tensor is not None and tensor.dtype in ("bool", "uint8"):
        return 0 if tensor.shape is None else len(tensor.shape)
    if tensor is None:
        return max(1, _depth_of_truths(machine, key))
    return int(tensor.dtype is not None)


def _depth_of_truths(machine: Machine, key: Value) -> int:
    """Of a list of truths, or of lists of them; none of other lists."""
    listed = machine.state.find(key, ListObject)
    first = listed.items[0] if listed is not None and listed.items else NONE
    if isinstance(first, Constant):
        return int(isinstance(first.value, bool))
    inner = _depth_of_truths(machine, first)
    return inner and inner + 1


@demands(*both("pow"), *(f"{TENSOR}.{name}" for name in ("pow_", "__pow__", "__ipow__")))
def to_the_power(arguments: Arguments, machine: Machine) -> None:
    """Whole numbers have no negative power that is one."""
    source, exponent = given(arguments, machine, 0, "input"), arguments.get(1, "exponent", NONE)
    number = exponent.value if isinstance(exponent, Constant) else None
    if source.dtype is not None and category(source.dtype) < 2 and type(number) is int and number < 0:
        refuse(machine, "Integers to negative integer powers are not allowed.")
