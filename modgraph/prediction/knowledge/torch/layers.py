"""The forward of torch's layers by shape alone: where `forward` is predicted, and where a constructor runs a layer to
learn the size of what comes out.

    self.fc = nn.Linear(self.features(torch.zeros(1, 3, 32, 32)).flatten(1).shape[1], 10)

A layer without a rule is followed in torch's source, where a function without one gives a tensor of unknown shape.
Source: "Shape" in the reference of each layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import DictObject, ListObject, TensorObject
from modgraph.prediction.domain.registry import Model, models
from modgraph.prediction.domain.values import (
    FALSE,
    NONE,
    TRUE,
    Address,
    BoundMethod,
    Choice,
    Constant,
    Dtype,
    FunctionValue,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.knowledge.shapes import fitting
from modgraph.prediction.knowledge.shapes.arithmetic import Convolution, pooled, product
from modgraph.prediction.knowledge.shapes.fitting import fitted, length, require_pooled, with_rank
from modgraph.prediction.knowledge.shapes.fitting import sizes as sizes_of
from modgraph.prediction.knowledge.shapes.languages import layer_shape, read
from modgraph.prediction.knowledge.shapes.windows import of_asked_size, padding_of
from modgraph.prediction.knowledge.tensors.demanding import is_nothing
from modgraph.prediction.knowledge.tensors.elements import Shape, category
from modgraph.prediction.knowledge.tensors.tensor_memory import overwrite, share
from modgraph.prediction.knowledge.tensors.tensor_names import FUNCTIONAL, SAME_SHAPE
from modgraph.prediction.knowledge.tensors.tensor_values import dimension, made, tensor_of
from modgraph.prediction.knowledge.torch.gradients import of_layer, refuse_on_leaf
from modgraph.prediction.python.plain import data_unknown
from modgraph.prediction.python.registration import class_name

_LAYERS = "torch.nn.modules"
Size = int | None
_ONE_MORE = (0, 1)
"""Dimensions before those that a layer looks at: of a batch, or none."""
_ANY = (0, 6)


def _attribute(machine: Machine, module: Value, name: str) -> Value | None:
    return machine.find_attribute(module, name)


def _numbers(machine: Machine, module: Value, name: str, rank: int, default: Size = None) -> list[Size]:
    """An attribute given once or per dimension."""
    value = _attribute(machine, module, name)
    items: list[Value] = [value] * rank if value is not None else []
    if isinstance(value, TupleValue):
        items = list(value.items)
    elif (listed := machine.state.find(value, ListObject)) is not None:
        items = list(listed.items)
    if len(items) != rank:
        items = items[:1] * rank
    sizes = [item.value if isinstance(item, Constant) and isinstance(item.value, int) else default for item in items]
    return sizes or [default] * rank


def _result(
    machine: Machine, arguments: Arguments, source: TensorObject, shape: Shape | None, dtype: str | None = None
) -> Address:
    """Of a layer, or of a function, for which it comes of what that is given."""
    is_layer = arguments.function.endswith(".forward")
    needs = of_layer(machine, arguments.positional[0], source) if is_layer else None
    return made(machine, shape, dtype or source.dtype, requires_grad=needs)


def _input(arguments: Arguments, machine: Machine, taken: int = 0, leading: tuple[int, int] = (0, 0)) -> TensorObject:
    """The first argument.

    Args:
        taken: dimensions that the layer looks at; none where it takes any.
        leading: how many more may stand before them, at least and at most.

    Raises:
        Raised: TypeError, where it is a number, a text, None, or several things in one.
    """
    values = [*arguments.positional[1:], *arguments.keywords.values()]
    held = None if not values or type(values[0]) is not Address else machine.state.read(values[0])
    if values and (isinstance(values[0], (Constant, TupleValue)) or type(held) in (ListObject, DictObject)):
        given = class_name(machine.class_of(values[0]))
        raise machine.raises("TypeError", f"argument 'input' (position 1) must be Tensor, not {given}")
    return with_rank(machine, tensor_of(machine, values[0]) if values else None, taken, leading)


def _require_weight(machine: Machine, module: Value, source: TensorObject) -> TensorObject | None:
    """What a layer multiplies its input with, which need not be as its attributes say; None where it is not known.

    Raises:
        Raised: it has none, or one of another dtype than the input.
    """
    layer = fitting.layer_name(machine, module)
    value = machine.get_attribute(module, "weight")
    if value == NONE:
        raise machine.raises("TypeError", f"{layer}: argument 'weight' must be Tensor, not NoneType")
    bias = tensor_of(machine, machine.get_attribute(module, "bias"))
    weight = tensor_of(machine, value)
    if weight is not None and weight.lazy is False:
        if layer == "Linear" and bias is not None:
            fitting.require_one_place(machine, source, bias, layer)
        fitting.require_one_dtype(machine, source, weight, layer)
        return weight
    return None


def _require_one(arguments: Arguments, machine: Machine) -> None:
    """Of a layer that takes one argument.

    Raises:
        Raised: TypeError, where there are more.
    """
    if len(arguments.positional) > 2:
        layer = ".".join(arguments.function.split(".")[-2:])
        given = len(arguments.positional)
        raise machine.raises("TypeError", f"{layer}() takes 2 positional arguments but {given} were given")


# ---- convolutions and pools ------------------------------------------------------------------------------------------


def _convolution(rank: int, transposed: bool) -> Model:
    def forward(arguments: Arguments, machine: Machine) -> Value:
        module, source = arguments.positional[0], _input(arguments, machine, rank + 1, _ONE_MORE)
        shape = source.shape
        weight = _require_weight(machine, module, source)
        if shape is not None:
            rule, known = _convolution_of(machine, module, rank, transposed, weight), shape
            if rule.groups and rule.out_channels is not None and rule.out_channels % rule.groups:  # a lazy one
                message = f"given groups={rule.groups}, expected weight to be divisible by it"
                raise machine.raises("RuntimeError", message)
            asked = arguments.get(2, "output_size", NONE) if transposed else NONE
            rule = rule if asked == NONE else replace(rule, extra=[0] * rank)
            shape = fitted(machine, lambda: rule.shape(known))
            if asked != NONE and shape is not None:
                shape = of_asked_size(machine, shape, asked, rule.stride)
        return _result(machine, arguments, source, shape)

    return forward


def _convolution_of(
    machine: Machine, module: Value, rank: int, transposed: bool, weight: TensorObject | None
) -> Convolution:
    names = ("kernel_size", "stride", "dilation", "output_padding")
    kernel, stride, dilation, extra = (_numbers(machine, module, name, rank) for name in names)
    out_channels, in_channels, groups = (
        _numbers(machine, module, name, 1)[0] for name in ("out_channels", "in_channels", "groups")
    )
    if weight is not None and weight.shape is not None and len(weight.shape) == rank + 2:
        whole = product((weight.shape[1], groups))
        out_channels, in_channels = (whole, weight.shape[0]) if transposed else (weight.shape[0], whole)
        kernel = list(weight.shape[2:])
    padding = padding_of(machine, _attribute(machine, module, "padding") or NONE, rank)
    return Convolution(
        out_channels, in_channels or None, groups, kernel, stride, padding, dilation, extra if transposed else None
    )


def _pool(rank: int, dilated: bool) -> Model:
    def forward(arguments: Arguments, machine: Machine) -> Value:
        module, source = arguments.positional[0], _input(arguments, machine, rank + 1, _ONE_MORE)
        if source.shape is None:
            return _with_indices(machine, arguments, source, None)
        kernel = _numbers(machine, module, "kernel_size", rank)
        stride = _numbers(machine, module, "stride", rank)
        padding = _numbers(machine, module, "padding", rank, 0)
        dilation = _numbers(machine, module, "dilation", rank) if dilated else [1] * rank
        upwards = machine.truth(_attribute(machine, module, "ceil_mode") or Constant(False))
        known, options = source.shape, (kernel, stride, padding, dilation)
        shape = fitted(machine, lambda: pooled(known, options, upwards))
        return _with_indices(machine, arguments, source, shape)

    return forward


def _adaptive_pool(rank: int) -> Model:
    def forward(arguments: Arguments, machine: Machine) -> Value:
        module, source = arguments.positional[0], _input(arguments, machine, rank + 1, _ONE_MORE)
        if source.shape is None:
            return _with_indices(machine, arguments, source, None)
        value = _attribute(machine, module, "output_size")
        items = list(value.items) if isinstance(value, TupleValue) else [value] * rank
        if (
            rank == 1 or "Avg" not in arguments.function or any(each != Constant(1) for each in items)
        ):  # else it is a mean
            require_pooled(machine, source.shape, rank)
        if len(items) != rank:
            raise machine.raises("ValueError", f"output_size should have {rank} numbers, not {len(items)}")
        kept = source.shape[-rank:]
        sizes: list[Size] = []
        for item, size in zip(items, kept, strict=False):
            known = item.value if isinstance(item, Constant) else None
            sizes.append(size if isinstance(item, Constant) and known is None else known)
        shape = (*source.shape[:-rank], *sizes)
        return _with_indices(machine, arguments, source, shape)

    return forward


def _with_indices(machine: Machine, arguments: Arguments, source: TensorObject, shape: Shape | None) -> Value:
    """What a pool gives, and the indices of it where it is made to give them."""
    asked = machine.truth(_attribute(machine, arguments.positional[0], "return_indices") or FALSE)
    if asked is None:
        return machine.unknown("whether a pool gives indices is not known")
    result = _result(machine, arguments, source, shape)
    return TupleValue((result, _result(machine, arguments, source, shape, "int64"))) if asked else result


for _rank in (1, 2, 3):
    models(f"{_LAYERS}.conv.Conv{_rank}d.forward")(_convolution(_rank, False))
    models(f"{_LAYERS}.conv.ConvTranspose{_rank}d.forward")(_convolution(_rank, True))
    models(f"{_LAYERS}.pooling.MaxPool{_rank}d.forward")(_pool(_rank, True))
    models(f"{_LAYERS}.pooling.AvgPool{_rank}d.forward")(_pool(_rank, False))
    models(
        f"{_LAYERS}.pooling.AdaptiveAvgPool{_rank}d.forward",
        f"{_LAYERS}.pooling.AdaptiveMaxPool{_rank}d.forward",
    )(_adaptive_pool(_rank))


# ---- by the last dimension -------------------------------------------------------------------------------------------


@models(f"{_LAYERS}.linear.Linear.forward")
def linear(arguments: Arguments, machine: Machine) -> Value:
    module, source = arguments.positional[0], _input(arguments, machine, 1, _ANY)
    _require_one(arguments, machine)
    weight = _require_weight(machine, module, source)
    if weight is not None and weight.shape is not None:
        shape = fitted(machine, lambda: read("*b i, o i -> *b o").shape([source.shape, weight.shape]))
    else:
        shape = layer_shape(machine, module, "*b in_features -> *b out_features", source.shape)
    return _result(machine, arguments, source, shape)


@models(f"{_LAYERS}.sparse.Embedding.forward")
def embedding(arguments: Arguments, machine: Machine) -> Value:
    module, source = arguments.positional[0], _input(arguments, machine, 1, _ANY)
    weight = tensor_of(machine, machine.get_attribute(module, "weight"))
    rows = weight.shape[0] if weight is not None and weight.shape else None
    fitting.require_indices(machine, source, rows)
    width = _numbers(machine, module, "embedding_dim", 1)[0]
    if weight is not None and weight.shape is not None and len(weight.shape) == 2:
        width = weight.shape[1]
    shape, dtype = (None if source.shape is None else (*source.shape, width)), weight.dtype if weight else None
    return made(machine, shape, dtype, requires_grad=of_layer(machine, module, source))


@models(f"{_LAYERS}.flatten.Flatten.forward")
def flatten(arguments: Arguments, machine: Machine) -> Value:
    module, value = arguments.positional[0], arguments.get(1, "input", Constant(None))
    bounds = [_attribute(machine, module, name) for name in ("start_dim", "end_dim")]
    given = [bound for bound in bounds if bound is not None]
    return machine.call(machine.get_attribute(value, "flatten"), given)


@models(f"{_LAYERS}.flatten.Unflatten.forward")
def unflatten(arguments: Arguments, machine: Machine) -> Value:
    module, value = arguments.positional[0], arguments.get(1, "input", Constant(None))
    given = [_attribute(machine, module, name) or NONE for name in ("dim", "unflattened_size")]
    return machine.call(machine.get_attribute(value, "unflatten"), given)


def _same_shape(arguments: Arguments, machine: Machine) -> Value:
    return _as_given(arguments, machine, _input(arguments, machine).shape)


def _as_given(arguments: Arguments, machine: Machine, shape: Shape | None) -> Value:
    """A tensor of the shape that the layer was given; or what was given, of a layer that works in place."""
    module, *given = (*arguments.positional, *arguments.keywords.values())
    _require_one(arguments, machine)
    source = _input(arguments, machine)
    result = _result(machine, arguments, source, shape)
    is_dropout, kind = "dropout" in arguments.function, arguments.function.split(".")[-2].lower()
    if source.dtype == "bool" and kind in _OF_INTEGERS:
        raise machine.raises("RuntimeError", f"{kind}: not implemented for bool")
    if not is_dropout and kind not in _OF_INTEGERS and _is_whole(source):
        machine.state.change(result, TensorObject).dtype = None  # some give floats, some refuse
    in_place = machine.truth(_attribute(machine, module, "inplace") or FALSE)
    if in_place and given and tensor_of(machine, given[0]) is not None:
        refuse_on_leaf(machine, given[0])
        overwrite(machine, given[0])
        return given[0]
    if in_place is not False:
        _written(machine, given[:1], result)
    elif is_dropout and given:
        training = _attribute(machine, module, "training") or NONE
        if _gives_back(machine, arguments.function.split(".")[-2], training, source.shape):
            return given[0]
        share(machine, result, given[0])  # gives its input back where it does nothing
    return result


_BATCHED = {"Dropout1d": 3, "Dropout3d": 5, "dropout1d": 3, "dropout3d": 5}
"""Dimensions of a batch, of those that give a view of what is none."""


def _gives_back(machine: Machine, name: str, training: Value, shape: Shape | None) -> bool:
    """A dropout does nothing in eval mode: its input is its result (torch/nn/functional.py; ATen, `Dropout.cpp`)."""
    is_batch = name not in _BATCHED or (shape is not None and len(shape) == _BATCHED[name])
    return is_batch and machine.truth(training) is False


def _is_whole(tensor: TensorObject) -> bool:
    return tensor.dtype is not None and category(tensor.dtype) < 2


def _written(machine: Machine, given: Sequence[Value], result: Value) -> None:
    """What is given was written to in place, or may have been, and is the result."""
    for value in given:
        overwrite(machine, value)
        share(machine, result, value)


_SAME = {
    "activation": (
        *("ReLU", "ReLU6", "GELU", "SiLU", "Sigmoid", "Tanh", "LeakyReLU", "ELU", "SELU", "CELU", "PReLU", "Hardtanh"),
        *("Hardswish", "Hardsigmoid", "Mish", "Softplus", "Softmax", "LogSoftmax", "Softmax2d", "Softsign", "RReLU"),
        *("LogSigmoid", "Hardshrink", "Softshrink", "Tanhshrink", "Threshold", "Softmin"),
    ),
    "normalization": ("LocalResponseNorm",),
    "dropout": ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"),
}
models(*(f"{_LAYERS}.{file}.{name}.forward" for file, names in _SAME.items() for name in names))(_same_shape)


# ---- normalisation ---------------------------------------------------------------------------------------------------


@models(f"{_LAYERS}.normalization.LayerNorm.forward", f"{_LAYERS}.normalization.RMSNorm.forward")
def normalised(arguments: Arguments, machine: Machine) -> Value:
    """The last dimensions are those it was made for."""
    module = arguments.positional[0]
    number = length(machine, _attribute(machine, module, "normalized_shape") or NONE)
    source = _input(arguments, machine, number or 0, _ANY)
    if "RMSNorm" in arguments.function and number and source.shape is not None and len(source.shape) < number:
        message = f"Input tensor must have at least {number} dimensions, but got {len(source.shape)}"
        raise machine.raises("ValueError", message)
    return _as_given(arguments, machine, layer_shape(machine, module, "*b @normalized_shape -> same", source.shape))


@models(f"{_LAYERS}.normalization.GroupNorm.forward")
def in_groups(arguments: Arguments, machine: Machine) -> Value:
    """The channels, in groups of the same size."""
    module, source = arguments.positional[0], _input(arguments, machine, 2, _ANY)
    shape = source.shape
    if _attribute(machine, module, "weight") not in (None, NONE):
        shape = layer_shape(machine, module, "n num_channels *s -> same", shape)
    _require_groups(machine, source.shape, _numbers(machine, module, "num_groups", 1)[0])
    return _as_given(arguments, machine, shape)


def _require_groups(machine: Machine, shape: Shape | None, groups: Size) -> None:
    if shape is None or groups is None:
        return
    if len(shape) < 2:
        message = f"Expected at least 2 dimensions for input tensor but received {len(shape)}"
        raise machine.raises("RuntimeError", message)
    if groups and shape[1] is not None and shape[1] % groups:
        message = "Expected number of channels in input to be divisible by num_groups, but got input of shape"
        raise machine.raises("RuntimeError", f"{message} {list(shape)} and num_groups={groups}")


@models(f"{_LAYERS}.batchnorm._BatchNorm.forward", f"{_LAYERS}.batchnorm.SyncBatchNorm.forward")
def of_batches(arguments: Arguments, machine: Machine) -> Value:
    """The channels are as many as it has numbers for; a lazy one has none yet."""
    module = arguments.positional[0]
    check = machine.find_attribute(module, "_check_input_dim")
    ranks = ranks_that(check.function if isinstance(check, BoundMethod) else check)
    source = _input(arguments, machine, ranks[0], (0, len(ranks) - 1)) if ranks else _input(arguments, machine)
    shape = source.shape
    if ranks and source.shape is not None and len(source.shape) not in ranks:
        wanted = " or ".join(f"{rank}D" for rank in ranks)
        raise machine.raises("ValueError", f"expected {wanted} input (got {len(source.shape)}D input)")
    if machine.truth(_attribute(machine, module, "training") or FALSE) is not False:
        for name in ("running_mean", "running_var", "num_batches_tracked"):
            overwrite(machine, _attribute(machine, module, name) or NONE)
    held = [_attribute(machine, module, name) for name in ("weight", "running_mean")]
    tensors = [tensor_of(machine, each) for each in held if each not in (None, NONE)]
    sizes = [each.shape[0] for each in tensors if each is not None and each.shape is not None and len(each.shape) == 1]
    if sizes and sizes[0] is not None and not any(map(is_nothing, shape or ())):  # of nothing, all of it is taken
        shape = fitted(machine, lambda: read("n c *s -> n c *s").shape([shape], {"c": sizes[0]}))
    return _as_given(arguments, machine, shape)


_RANKS = {"BatchNorm1d": (2, 3), "BatchNorm2d": (4,), "BatchNorm3d": (5,)}


def ranks_that(check: Value | None) -> tuple[int, ...]:
    """How many dimensions torch's own check lets pass; none where it is not torch's."""
    if not isinstance(check, FunctionValue) or check.definition.module != f"{_LAYERS}.batchnorm":
        return ()
    return _RANKS.get(check.definition.qualname.partition(".")[0], ())


@models(f"{_LAYERS}.instancenorm._InstanceNorm.forward")
def of_instances(arguments: Arguments, machine: Machine) -> Value:
    """The channels, before what is spatial, are as many as it has weights for, where it has some."""
    module = arguments.positional[0]
    kind = _attribute(machine, module, "_get_no_batch_dim")
    rank = rank_of(kind.function if isinstance(kind, BoundMethod) else kind)
    if rank is None:
        return _same_shape(arguments, machine)
    source = _input(arguments, machine, rank + 1, _ONE_MORE)
    shape = source.shape
    if shape is not None and len(shape) not in (rank + 1, rank + 2):
        raise machine.raises("ValueError", f"expected {rank + 1}D or {rank + 2}D input (got {len(shape)}D input)")
    weights = [_attribute(machine, module, name) for name in ("weight", "running_mean")]
    if shape is not None and any(isinstance(each, Address) for each in weights):
        wanted, size = _numbers(machine, module, "num_features", 1)[0], shape[-rank - 1]
        if wanted and size is not None and not any(map(is_nothing, shape)) and wanted != size:
            message = f"expected input's channels to match num_features ({wanted}), but got: {size}"
            raise machine.raises("ValueError", message)
        shape = (*shape[: -rank - 1], size if size is not None else wanted or None, *shape[-rank:])
    return _as_given(arguments, machine, shape)


def rank_of(method: Value | None) -> int | None:
    """How many dimensions are spatial, of a normalisation of torch's own that says so."""
    if not isinstance(method, FunctionValue) or method.definition.module != f"{_LAYERS}.instancenorm":
        return None
    name = method.definition.qualname.partition(".")[0]
    return int(name[-2]) if name[-2:-1].isdecimal() else None


@models("torch.nn.functional.layer_norm", "torch.nn.functional.rms_norm")
def normalise(arguments: Arguments, machine: Machine) -> Value:
    source, wanted = tensor_of(machine, arguments.get(0, "input", NONE)), arguments.get(1, "normalized_shape", NONE)
    number = length(machine, wanted)
    if source is not None and number is not None:
        letters = [f"a{place}" for place in range(number)]
        known = dict(zip(letters, sizes_of(machine, wanted, number), strict=True))
        fitted(machine, lambda: read(f"*b {' '.join(letters)} -> *b").shape([source.shape], known))
    return _first_shape(arguments, machine)


@models("torch.nn.functional.group_norm")
def normalise_groups(arguments: Arguments, machine: Machine) -> Value:
    source, groups = tensor_of(machine, arguments.get(0, "input", NONE)), arguments.get(1, "num_groups", NONE)
    _require_groups(machine, source.shape if source is not None else None, sizes_of(machine, groups, 1)[0])
    return _first_shape(arguments, machine)


# ---- functions -------------------------------------------------------------------------------------------------------


_OVER_ONE = ("softmax", "softmin")
_OF_INTEGERS = ("relu", "relu6", "hardtanh", "threshold")
"""What gives whole numbers of such, and takes no truths."""


def _first_shape(arguments: Arguments, machine: Machine) -> Value:
    given = arguments.get(0, "input", NONE)
    source = tensor_of(machine, given) or TensorObject(None, None)
    if source.shape is not None and arguments.function.endswith(_OVER_ONE):
        dimension(machine, arguments.get(1, "dim", NONE), len(source.shape))  # refuses one that is not there
    result = _result(machine, arguments, source, source.shape)
    dtype = arguments.get(3, "dtype", NONE) if arguments.function.endswith(("softmax", "softmin")) else NONE
    name = last_name(arguments.function)
    if name.removesuffix("_") in _OF_INTEGERS and source.dtype is not None and category(source.dtype) < 2:
        if source.dtype == "bool":
            raise machine.raises("RuntimeError", f"{name}: not implemented for bool")
    elif dtype != NONE or (source.dtype is not None and category(source.dtype) < 2):  # of integers, some give floats
        machine.state.change(result, TensorObject).dtype = dtype.name if isinstance(dtype, Dtype) else None
    if "dropout" in name and arguments.open is None:
        training = arguments.get(2, "training", FALSE if "alpha" in name else TRUE)
        in_place = arguments.get(3, "inplace", FALSE) != FALSE
        if not in_place and not name.endswith("_") and _gives_back(machine, name, training, source.shape):
            return given
    asked = (*arguments.positional[1:], arguments.keywords.get("inplace", FALSE))
    if arguments.function.endswith("_") or arguments.keywords.get("inplace") == TRUE:
        refuse_on_leaf(machine, given)
        overwrite(machine, given)
        return given
    if any(each == TRUE or isinstance(each, (Unknown, Choice)) for each in asked):
        _written(machine, (given,), result)
    elif "dropout" in arguments.function or arguments.function.endswith("threshold"):
        share(machine, result, given)
    return result


models(*(f"torch.nn.functional.{name}" for name in SAME_SHAPE))(_first_shape)


@models(*(f"torch.nn.functional.{name}" for name in FUNCTIONAL))
def functional(arguments: Arguments, machine: Machine) -> Value:
    indices = machine.truth(arguments.named("return_indices", FALSE))
    if indices is not False:
        return data_unknown(machine, arguments.function, "results of several tensors are not modelled")
    return made(machine, None, None)
