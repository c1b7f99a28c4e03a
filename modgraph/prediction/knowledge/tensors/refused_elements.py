"""What is refused of functions of one tensor or two: dimensions that are not there, ranks, kinds of numbers."""

from __future__ import annotations

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import demands
from modgraph.prediction.domain.values import NONE, Constant
from modgraph.prediction.knowledge.tensors.demanding import (
    NOT_KNOWN,
    differ,
    given,
    is_empty,
    refuse,
    require_dtype,
    require_floats,
    require_one_dtype,
    require_rank,
    require_text,
    told,
)
from modgraph.prediction.knowledge.tensors.elements import category
from modgraph.prediction.knowledge.tensors.tensor_values import dimension, size_of, tensor_of
from modgraph.prediction.knowledge.torch.parameters import TENSOR


def both(*names: str) -> tuple[str, ...]:
    return tuple(f"{owner}.{name}" for name in names for owner in ("torch", TENSOR))


# ---- dimensions ------------------------------------------------------------------------------------------------------

_DIM_AT = {"argsort": 1, "sort": 1, "cummax": 1, "cummin": 1, "logcumsumexp": 1, "topk": 2, "kthvalue": 2, "mode": 1}


@demands(*both(*_DIM_AT))
def along(arguments: Arguments, machine: Machine) -> None:
    """The dimension is there."""
    name, source = last_name(arguments.function), given(arguments, machine, 0, "input")
    dim = arguments.get(_DIM_AT[name], "dim", NONE)
    if name in ("sort", "argsort") and isinstance(dim, Constant) and isinstance(dim.value, bool):
        return  # `stable`, of another signature
    if source.shape is None:
        return
    place = dimension(machine, dim, len(source.shape))
    if name != "kthvalue":
        return
    k = size_of(arguments.get(1, "k", NONE))
    at = len(source.shape) - 1 if dim == NONE else place
    size = 1 if not source.shape else None if at is None else source.shape[at]
    if k is not None and size is not None and not 1 <= k <= size:
        refuse(machine, f"kthvalue(): selected number k out of range for dimension {at}: {k} of {size}")


@demands(*both("flip", "roll"))
def over_dimensions(arguments: Arguments, machine: Machine) -> None:
    """Each of them is there; flip takes it once, roll one for each shift."""
    name, source = last_name(arguments.function), given(arguments, machine, 0, "input")
    if name == "flip":
        rest = arguments.positional[1:] or (arguments.get(1, "dims", NONE),)
    else:
        rest = (arguments.get(2, "dims", NONE),)
    items = machine.iterate(rest[0]) if len(rest) == 1 and not isinstance(rest[0], Constant) else list(rest)
    if (
        source.shape is None
        or not isinstance(items, list)
        or NONE in items
        or (name == "roll" and is_empty(source.shape))
    ):
        return
    places = [dimension(machine, each, len(source.shape)) for each in items]
    if name == "flip" and None not in places and len(set(places)) < len(places):
        refuse(machine, "flip: a dimension appears multiple times in the list of dims")
    if name == "roll":
        shifts = arguments.get(1, "shifts", NONE)
        listed = machine.iterate(shifts) if not isinstance(shifts, Constant) else [shifts]
        if isinstance(listed, list) and items and len(listed) != len(items):
            refuse(machine, f"shifts and dimensions must align. shifts: {len(listed)}, dims: {len(items)}")


@demands(*both("select"))
def select(arguments: Arguments, machine: Machine) -> None:
    """The index is there."""
    source, index = given(arguments, machine, 0, "input"), arguments.get(2, "index", NONE)
    if source.shape is None:
        return
    if not source.shape:
        refuse(machine, "select() cannot be applied to a 0-dim tensor.", "IndexError")
    place = dimension(machine, arguments.get(1, "dim", NONE), len(source.shape))
    size, number = None if place is None else source.shape[place], size_of(index)
    if size is not None and number is not None and not -size <= number < size:
        refuse(machine, f"select(): index {number} out of range for {told(source.shape)}", "IndexError")


@demands(*both("narrow"))
def narrow(arguments: Arguments, machine: Machine) -> None:
    """The part lies inside."""
    source = given(arguments, machine, 0, "input")
    start, length = (size_of(arguments.get(at, name, NONE)) for at, name in ((2, "start"), (3, "length")))
    if length is not None and length < 0:
        refuse(machine, "narrow(): length must be non-negative.")
    if source.shape is None:
        return
    if not source.shape:
        refuse(machine, "narrow() cannot be applied to a 0-dim tensor.")
    place = dimension(machine, arguments.get(1, "dim", NONE), len(source.shape))
    size = None if place is None else source.shape[place]
    if size is None or start is None:
        return
    if not -size <= start <= size:
        refuse(
            machine, f"start out of range (expected to be in range of [-{size}, {size}], but got {start})", "IndexError"
        )
    begin = start + size if start < 0 else start
    if length is not None and begin + length > size:
        refuse(machine, f"start ({start}) + length ({length}) exceeds dimension size ({size}).")


_LEAST = {"tril": 2, "triu": 2, "fliplr": 2, "flipud": 1}
_MOST = {"t": 2}


@demands(*both(*_LEAST, *_MOST), f"{TENSOR}.t_", f"{TENSOR}.tril_", f"{TENSOR}.triu_")
def of_rank(arguments: Arguments, machine: Machine) -> None:
    """As many dimensions as it takes."""
    name, source = last_name(arguments.function).removesuffix("_"), given(arguments, machine, 0, "input")
    if source.shape is None:
        return
    least, most = _LEAST.get(name, 0), _MOST.get(name, len(source.shape))
    if not least <= len(source.shape) <= most:
        refuse(machine, f"{name}: not of {len(source.shape)} dimensions")


@demands(*both("diagonal", "diag_embed"))
def diagonal(arguments: Arguments, machine: Machine) -> None:
    """Two dimensions that are not the same."""
    name, source = last_name(arguments.function), given(arguments, machine, 0, "input")
    if source.shape is None:
        return
    embeds = name == "diag_embed"
    defaults = (-2, -1) if embeds else (0, 1)
    rank = len(source.shape) + embeds
    one, other = (
        dimension(machine, arguments.get(2 + at, f"dim{at + 1}", Constant(defaults[at])), rank) for at in (0, 1)
    )
    if one is not None and one == other:
        refuse(machine, "diagonal dimensions cannot be identical")


# ---- kinds of numbers ------------------------------------------------------------------------------------------------


@demands(*both("lerp", "isclose", "heaviside", "vdot", "inner"), "torch.complex", "torch.polar")
def of_one_dtype(arguments: Arguments, machine: Machine) -> None:
    """Both of one dtype."""
    name = last_name(arguments.function)
    first = {"complex": "real", "polar": "abs"}.get(name, "input")
    second = {"lerp": "end", "complex": "imag", "polar": "angle", "heaviside": "values"}.get(name, "other")
    left, right = given(arguments, machine, 0, first), given(arguments, machine, 1, second)
    if name == "inner" and (left.shape in (None, ()) or right.shape in (None, ())):
        return
    require_one_dtype(machine, name, left, right)
    if name in ("complex", "polar"):
        require_dtype(machine, name, left, ("float16", "float32", "float64"))
    if name == "lerp":
        require_one_dtype(machine, name, left, given(arguments, machine, 2, "weight"))


_TENSORS_ALONE = (
    *("maximum", "minimum", "fmax", "fmin", "logaddexp", "logaddexp2", "nextafter", "igamma", "igammac", "hypot"),
    *("atan2", "arctan2", "gcd", "lcm", "heaviside", "isclose", "logical_and", "logical_or", "logical_xor", "ldexp"),
    *("outer", "inner", "ger", "vdot", "dot", "mv", "mm", "bmm", "matmul"),
)


@demands(*both(*_TENSORS_ALONE), *(f"{TENSOR}.{name}_" for name in _TENSORS_ALONE))
def of_tensors(arguments: Arguments, machine: Machine) -> None:
    """Numbers of Python are not taken."""
    for value in arguments.positional[:2]:
        if isinstance(value, Constant):
            name = last_name(arguments.function)
            refuse(machine, f"{name}(): an argument must be Tensor, not {type(value.value).__name__}", "TypeError")


_TENSOR_FIRST = ("eq", "ne", "lt", "le", "gt", "ge", "fmod", "copysign", "float_power")


@demands(*(f"torch.{name}" for name in _TENSOR_FIRST))
def of_tensor_first(arguments: Arguments, machine: Machine) -> None:
    """The first is no number of Python."""
    first = arguments.get(0, "input", NONE)
    second = arguments.get(1, "other", NONE)
    name = last_name(arguments.function)
    if isinstance(first, Constant) and (name != "float_power" or isinstance(second, Constant)):
        refuse(machine, f"{name}(): argument 'input' must be Tensor, not {type(first.value).__name__}", "TypeError")


_TENSOR_ALONE = """
    abs absolute acos acosh angle asin asinh atan atanh argmax argmin argsort amax amin all any bernoulli bincount
    bitwise_not ceil cholesky chunk clone conj cos cosh cummax cummin cumprod cumsum deg2rad det diag diag_embed
    diagonal diff digamma erf erfc erfinv exp exp2 expm1 flatten flip fliplr flipud floor frac gather inverse isfinite
    isinf isnan kthvalue lgamma log log10 log1p log2 log_softmax logcumsumexp logdet logical_not logit logsumexp max
    mean median min mode movedim msort nan_to_num narrow neg negative nonzero numel permute positive prod quantile
    rad2deg ravel real reciprocal relu renorm reshape roll rot90 round rsqrt select selu sgn sigmoid sign sin sinc sinh
    softmax sort sqrt square squeeze std std_mean sum swapaxes t take tan tanh tensor_split tile topk trace transpose
    tril triu trunc unbind unflatten unique unsqueeze var var_mean view_as_real view_as_complex zeros_like ones_like
""".split()  # noqa: SIM905 a long table reads better as text
"""Functions of torch whose first argument is a tensor, in all of their forms."""


@demands(*(f"torch.{name}" for name in _TENSOR_ALONE))
def of_a_tensor(arguments: Arguments, machine: Machine) -> None:
    """The first is no number of Python, no text and not None."""
    first = arguments.positional[0] if arguments.positional else None
    if isinstance(first, Constant):
        name = last_name(arguments.function)
        refuse(machine, f"{name}(): argument 'input' must be Tensor, not {type(first.value).__name__}", "TypeError")


@demands(*both("div", "divide", "true_divide"), f"{TENSOR}.div_", f"{TENSOR}.divide_")
def rounded(arguments: Arguments, machine: Machine) -> None:
    require_text(machine, "div", arguments.named("rounding_mode", NONE), "trunc", "floor")


_FLOATS_IN_PLACE = (
    *("sinc", "logit", "polygamma", "mvlgamma", "float_power", "acosh", "arccosh", "asinh", "arcsinh", "atanh"),
    *("arctanh", "arccos", "arcsin", "arctan", "exp2", "digamma", "erfc", "lgamma", "i0", "log_normal", "normal"),
)


@demands(*(f"{TENSOR}.{name}_" for name in _FLOATS_IN_PLACE))
def floats_in_place(arguments: Arguments, machine: Machine) -> None:
    """What is written is of floating point; of float_power, double."""
    name = last_name(arguments.function)
    source = given(arguments, machine, 0, "input")
    if not (name == "normal_" and is_empty(source.shape)):
        require_floats(machine, name, source)
    if name == "float_power_":
        require_dtype(machine, name, source, ("float64", "complex128"))


_OF_INTEGERS = (
    *("gcd", "lcm", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "bitwise_left_shift"),
    "bitwise_right_shift",
)
_OPERATORS = ("and", "or", "xor", "rand", "ror", "rxor")


@demands(*(f"{TENSOR}.__{name}__" for name in _OPERATORS))
@demands(*both(*_OF_INTEGERS), *(f"{TENSOR}.{name}_" for name in _OF_INTEGERS))
def of_integers(arguments: Arguments, machine: Machine) -> None:
    for at, name in ((0, "input"), (1, "other")):
        each = given(arguments, machine, at, name)
        if each.dtype is not None and category(each.dtype) >= 2 and not is_empty(each.shape):
            refuse(machine, f"{last_name(arguments.function)}: not implemented for {each.dtype}")


@demands("torch.nn.functional.one_hot")
def one_hot(arguments: Arguments, machine: Machine) -> None:
    source, classes = given(arguments, machine, 0, "tensor"), size_of(arguments.get(1, "num_classes", Constant(-1)))
    require_dtype(machine, "one_hot", source, ("int64",))
    if classes is None or (classes < 1 and classes == -1):
        return
    if classes < 1:
        refuse(machine, f"one_hot: num_classes must be positive, and is {classes}")
    if source.elements and max(source.elements) >= classes:
        refuse(machine, "Class values must be smaller than num_classes.")


@demands(*both("outer", "ger"))
def outer(arguments: Arguments, machine: Machine) -> None:
    for at, name in ((0, "input"), (1, "vec2")):
        require_rank(machine, "outer", given(arguments, machine, at, name).shape, (1,))


_MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")


@demands("torch.cdist")
def distances(arguments: Arguments, machine: Machine) -> None:
    left, right = given(arguments, machine, 0, "x1"), given(arguments, machine, 1, "x2")
    require_floats(machine, "cdist", left, right)
    require_text(machine, "cdist", arguments.get(3, "compute_mode", NONE), *_MODES, kind="ValueError")
    p = arguments.get(2, "p", NONE)
    if isinstance(p, Constant) and isinstance(p.value, (int, float)) and p.value < 0:
        refuse(machine, "cdist only supports non-negative p values")


@demands("torch.cartesian_prod")
def cartesian(arguments: Arguments, machine: Machine) -> None:
    tensors = [tensor_of(machine, value) or NOT_KNOWN for value in arguments.positional]
    for each in tensors:
        require_rank(machine, "cartesian_prod", each.shape, (1,))
    if len(tensors) > 1:
        require_one_dtype(machine, "cartesian_prod", *tensors)


@demands("torch.meshgrid")
def grid(arguments: Arguments, machine: Machine) -> None:
    """Of one dtype."""
    require_text(machine, "meshgrid", arguments.named("indexing", NONE), "xy", "ij")


@demands("torch.std_mean", "torch.var_mean", *both("std", "var"))
def deviations(arguments: Arguments, machine: Machine) -> None:
    """Of floating point."""
    require_floats(machine, last_name(arguments.function), given(arguments, machine, 0, "input"))


@demands(*both("round"), f"{TENSOR}.round_")
def rounded_to(arguments: Arguments, machine: Machine) -> None:
    """Whole numbers have no decimals."""
    source = given(arguments, machine, 0, "input")
    if arguments.named("decimals", NONE) != NONE and not is_empty(source.shape):
        require_floats(machine, "round", source, kind="NotImplementedError")


@demands("torch.searchsorted")
def searched(arguments: Arguments, machine: Machine) -> None:
    """Boundaries in one row, or a row for each row of values."""
    boundaries, values = given(arguments, machine, 0, "sorted_sequence"), given(arguments, machine, 1, "input")
    require_text(machine, "searchsorted", arguments.named("side", NONE), "left", "right")
    if boundaries.shape is None:
        return
    if not boundaries.shape:
        refuse(machine, "searchsorted: boundaries tensor should have positive dimension")
    if len(boundaries.shape) == 1 or values.shape is None:
        return
    is_other = len(values.shape) != len(boundaries.shape)
    if is_other or any(differ(*pair) for pair in zip(values.shape[:-1], boundaries.shape[:-1], strict=True)):
        refuse(machine, f"searchsorted: boundaries {told(boundaries.shape)} do not fit values {told(values.shape)}")


@demands("torch.bucketize")
def bucketed(arguments: Arguments, machine: Machine) -> None:
    require_rank(machine, "bucketize", given(arguments, machine, 1, "boundaries").shape, (1,))


@demands("torch.normal")
def normal(arguments: Arguments, machine: Machine) -> None:
    """A deviation that is not negative."""
    deviation = arguments.get(1, "std", NONE)
    if isinstance(deviation, Constant) and isinstance(deviation.value, (int, float)) and deviation.value < 0:
        refuse(machine, f"normal expects std >= 0.0, but found std {deviation.value}")
    require_floats(machine, "normal", given(arguments, machine, 0, "mean"), kind="NotImplementedError")


@demands(*both("repeat_interleave"))
def repeated(arguments: Arguments, machine: Machine) -> None:
    """As often as whole numbers say."""
    require_dtype(machine, "repeat_interleave", given(arguments, machine, 1, "repeats"), ("int64", "int32"))


@demands(*both("renorm"), f"{TENSOR}.renorm_")
def renormed(arguments: Arguments, machine: Machine) -> None:
    source = given(arguments, machine, 0, "input")
    require_floats(machine, "renorm", source)
    if source.shape is not None:
        if len(source.shape) < 2:
            refuse(machine, "renorm: input needs at least 2 dimensions")
        dimension(machine, arguments.get(2, "dim", NONE), len(source.shape))
