"""What is refused of normalisations: other dtypes, parameters of other sizes, one value where several are compared.

Source: `torch.nn.functional`, ATen/native/Normalization.cpp, layer_norm.cpp, group_norm.cpp.
"""

from __future__ import annotations

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import TensorObject
from modgraph.prediction.domain.registry import demands
from modgraph.prediction.domain.values import FALSE, NONE, TRUE, Constant, Value
from modgraph.prediction.knowledge.shapes.arithmetic import product
from modgraph.prediction.knowledge.shapes.fitting import length, number, sizes
from modgraph.prediction.knowledge.tensors.demanding import (
    differ,
    given,
    is_empty,
    is_nothing,
    refuse,
    require_shape,
    told,
)
from modgraph.prediction.knowledge.tensors.elements import Shape, category, count
from modgraph.prediction.knowledge.torch.autocasting import may_cast

_FUNCTIONAL = "torch.nn.functional"
_HALVES = ("float16", "bfloat16")
_MIXED_FIRST = ("layer_norm", "group_norm")
"""What asks first whether all is of one dtype."""


def require_parameters(machine: Machine, what: str, source: TensorObject, *parameters: TensorObject) -> None:
    """Of floating point, and of one dtype; halves are also taken with parameters of float32.

    Raises:
        Raised: they are of others.
    """
    if source.dtype is None or is_empty(source.shape) or may_cast(machine):
        return
    is_mixed = what in _MIXED_FIRST and any(each.dtype not in (None, source.dtype) for each in parameters)
    if category(source.dtype) < 2 and not is_mixed:
        refuse(machine, f"{what}: not implemented for {source.dtype}", "NotImplementedError")
    taken = (source.dtype, "float32") if source.dtype in _HALVES else (source.dtype,)
    for each in parameters:
        if each.dtype is not None and each.dtype not in taken:
            refuse(machine, f"{what}: expected parameters of {source.dtype}, but got {each.dtype}")


def require_several(machine: Machine, what: str, source: Shape, values: int | None) -> None:
    """Of one value there is no deviation.

    Raises:
        Raised: there is only one.
    """
    if values is not None and values == 1:
        refuse(machine, f"Expected more than 1 {what} when training, got input size {told(source)}", "ValueError")


@demands(f"{_FUNCTIONAL}.layer_norm", f"{_FUNCTIONAL}.rms_norm")
def by_layers(arguments: Arguments, machine: Machine) -> None:
    """Parameters of the shape that is normalised."""
    name, wanted = last_name(arguments.function), arguments.get(1, "normalized_shape", NONE)
    source = given(arguments, machine, 0, "input")
    many = length(machine, wanted)
    if many == 0:
        refuse(machine, f"{name}: expected normalized_shape to have at least one dimension")
    parameters = [given(arguments, machine, 2, "weight")]
    if name == "layer_norm":
        parameters.append(given(arguments, machine, 3, "bias"))
        require_parameters(machine, name, source, *parameters)
    else:
        require_parameters(machine, name, source)
    shape = tuple(sizes(machine, wanted, many)) if many is not None else None
    for each in parameters:
        require_shape(machine, name, each.shape, shape)


@demands(f"{_FUNCTIONAL}.group_norm")
def by_groups(arguments: Arguments, machine: Machine) -> None:
    """Parameters of one number for each channel, and more than one value in a group."""
    source, groups = given(arguments, machine, 0, "input"), number(arguments.get(1, "num_groups", NONE))
    parameters = [given(arguments, machine, 2, "weight"), given(arguments, machine, 3, "bias")]
    require_parameters(machine, "group_norm", source, *parameters)
    shape = source.shape
    if shape is None or len(shape) < 2:
        return
    if groups is not None and groups <= 0:
        refuse(machine, f"Expected num groups to be greater than 0, got {groups}")
    for each in parameters:
        require_shape(machine, "group_norm", each.shape, shape[1:2])
    if groups and product(shape) is not None:
        channels = shape[0] * shape[1] // groups if shape[0] is not None and shape[1] is not None else None
        require_several(machine, "value per channel", shape, product((channels, *shape[2:])))


@demands(f"{_FUNCTIONAL}.batch_norm")
def by_batches(arguments: Arguments, machine: Machine) -> None:
    """Numbers for each channel, and in training more than one value of it."""
    trains = machine.truth(arguments.get(5, "training", FALSE))
    _require_channels(arguments, machine, "batch_norm", (1, 2, 3, 4))
    source = given(arguments, machine, 0, "input")
    if trains and source.shape is not None and len(source.shape) > 1:
        require_several(machine, "value per channel", source.shape, product((source.shape[0], *source.shape[2:])))
    if trains is False and NONE in (arguments.get(1, "running_mean", NONE), arguments.get(2, "running_var", NONE)):
        refuse(machine, "batch_norm: running_mean and running_var must be given in evaluation mode")
    _require_epsilon(machine, arguments.get(7, "eps", NONE), trains)


def _require_epsilon(machine: Machine, epsilon: Value, trains: bool | None) -> None:
    value = epsilon.value if isinstance(epsilon, Constant) else None
    if isinstance(value, (int, float)) and (value < 0 or (value == 0 and trains)):
        refuse(machine, f"batch_norm eps must be positive during training, but got {value}", "ValueError")


@demands(f"{_FUNCTIONAL}.instance_norm")
def by_instances(arguments: Arguments, machine: Machine) -> None:
    """Numbers for each channel, and more than one value of it in an instance."""
    uses_input = machine.truth(arguments.get(5, "use_input_stats", TRUE))
    _require_channels(arguments, machine, "instance_norm", (1, 2, 3, 4))
    source = given(arguments, machine, 0, "input")
    if uses_input and source.shape is not None:
        require_several(machine, "spatial element", source.shape, product(source.shape[2:]))


def _require_channels(arguments: Arguments, machine: Machine, name: str, places: tuple[int, ...]) -> None:
    source = given(arguments, machine, 0, "input")
    texts = ("running_mean", "running_var", "weight", "bias")
    held = [given(arguments, machine, place, text) for place, text in zip(places, texts, strict=True)]
    require_parameters(machine, name, source, *(held if name == "batch_norm" else held[2:]))
    if source.shape is None or len(source.shape) < 2 or any(map(is_nothing, source.shape)):
        return
    for each, text in zip(held, texts, strict=True):
        is_row = each.shape is None or len(each.shape) == 1 or text in ("weight", "bias")
        if differ(count(each.shape), source.shape[1]) or not is_row:
            refuse(machine, f"{name}: {text} should contain {source.shape[1]} elements, not {told(each.shape or ())}")
