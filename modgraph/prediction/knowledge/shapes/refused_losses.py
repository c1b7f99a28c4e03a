"""What is refused of losses: targets that do not fit, other dtypes, a reduction that is none.

Source: `torch.nn.functional`, ATen/native/Loss.cpp, LossNLL.cpp.
"""

from __future__ import annotations

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import TensorObject
from modgraph.prediction.domain.registry import demands
from modgraph.prediction.domain.sizes import is_one
from modgraph.prediction.domain.values import NONE, Constant
from modgraph.prediction.knowledge.shapes.arithmetic import joined
from modgraph.prediction.knowledge.shapes.fitting import fitted
from modgraph.prediction.knowledge.tensors.demanding import (
    differ,
    given,
    is_nothing,
    refuse,
    require_dtype,
    require_floats,
    require_one_dtype,
    require_rank,
    require_shape,
    require_spread,
    require_text,
    told,
)
from modgraph.prediction.knowledge.tensors.elements import Shape, category

_FUNCTIONAL = "torch.nn.functional"
_OF_PAIRS = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "soft_margin_loss")
_OF_EQUALS = ("binary_cross_entropy", "binary_cross_entropy_with_logits")


_OTHERS = (
    "cross_entropy",
    "nll_loss",
    "poisson_nll_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "margin_ranking_loss",
    "cosine_embedding_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "multi_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
    "ctc_loss",
    "linear_cross_entropy",
)


@demands(*(f"{_FUNCTIONAL}.{name}" for name in (*_OF_PAIRS, *_OF_EQUALS, *_OTHERS)))
def reduced(arguments: Arguments, machine: Machine) -> None:
    """To one number by a mean or a sum, or not at all; `batchmean` of a divergence."""
    name = last_name(arguments.function)
    texts = ("none", "mean", "sum", *(("batchmean",) if name == "kl_div" else ()))
    if not any(each in arguments.keywords for each in ("reduce", "size_average")):
        require_text(machine, name, arguments.named("reduction", NONE), *texts, kind="ValueError")


@demands(*(f"{_FUNCTIONAL}.{name}" for name in _OF_PAIRS))
def of_pairs(arguments: Arguments, machine: Machine) -> None:
    """Both broadcast."""
    name = last_name(arguments.function)
    source, target = given(arguments, machine, 0, "input"), given(arguments, machine, 1, "target")
    one, other = source.shape, target.shape
    if one is not None and other is not None:
        shapes = one, other
        fitted(machine, lambda: joined(*shapes))
    if name == "soft_margin_loss":
        require_spread(machine, name, other, one)
    if name == "kl_div":
        for each in (source, target):
            if each.dtype is not None and category(each.dtype) < 2:
                refuse(machine, "kl_div: integral inputs are not supported")
    if name == "l1_loss":
        _require_no_truths(machine, name, source, target)
    delta = arguments.named("delta", NONE)
    value = delta.value if isinstance(delta, Constant) else None
    if name == "huber_loss" and isinstance(value, (int, float)) and value <= 0:
        refuse(machine, "huber_loss does not support non-positive values for delta")
    into = name in ("huber_loss", "soft_margin_loss") and source.dtype is not None and target.dtype is not None
    if into and category(source.dtype or "") < category(target.dtype or ""):
        refuse(machine, f"{name}: result type {target.dtype} can't be cast to {source.dtype}")


def _require_joint(machine: Machine, *tensors: TensorObject) -> None:
    """They broadcast.

    Raises:
        Raised: RuntimeError, where they do not.
    """
    shapes = [each.shape for each in tensors if each.shape is not None]
    for place, shape in enumerate(shapes):
        for other in shapes[:place]:
            pair = shape, other
            fitted(machine, lambda pair=pair: joined(*pair))  # type: ignore[misc]


_BROADCAST = ("poisson_nll_loss", "gaussian_nll_loss", "multilabel_soft_margin_loss", "hinge_embedding_loss")


@demands(*(f"{_FUNCTIONAL}.{name}" for name in _BROADCAST))
def of_broadcast(arguments: Arguments, machine: Machine) -> None:
    """Both broadcast."""
    _require_joint(machine, given(arguments, machine, 0, "input"), given(arguments, machine, 1, "target"))


def _require_no_truths(machine: Machine, name: str, *tensors: TensorObject) -> None:
    """Truths cannot be subtracted, or turned to their negative.

    Raises:
        Raised: RuntimeError, where one of them is of such.
    """
    if any(each.dtype == "bool" for each in tensors):
        refuse(machine, f"{name}: Subtraction and negation, the `-` operator, with a bool tensor is not supported")


@demands(f"{_FUNCTIONAL}.multilabel_soft_margin_loss")
def of_labels(arguments: Arguments, machine: Machine) -> None:
    """A sigmoid of floating point, and what is left of one that it is taken from."""
    name = "multilabel_soft_margin_loss"
    source, target = given(arguments, machine, 0, "input"), given(arguments, machine, 1, "target")
    require_floats(machine, name, source, kind="NotImplementedError")
    _require_no_truths(machine, name, target)
    if source.shape == ():
        refuse(machine, "Dimension specified as -1 but tensor has no dimensions", "IndexError")


@demands(f"{_FUNCTIONAL}.hinge_embedding_loss")
def of_hinges(arguments: Arguments, machine: Machine) -> None:
    """A margin from which the input is taken, and a mean of floating point."""
    name, source = "hinge_embedding_loss", given(arguments, machine, 0, "input")
    _require_no_truths(machine, name, source)
    summed = arguments.named("reduction", NONE)
    is_mean = summed in (NONE, Constant("mean")) and not any(each in arguments.keywords for each in _OLD)
    if is_mean and source.dtype is not None and category(source.dtype) < 2:
        refuse(machine, "mean(): could not infer output dtype. Input dtype must be floating point or complex")


_OLD = ("size_average", "reduce")


@demands(f"{_FUNCTIONAL}.pairwise_distance", "torch.pairwise_distance")
def of_two(arguments: Arguments, machine: Machine) -> None:
    """The one is taken from the other."""
    _require_no_truths(machine, "pairwise_distance", *(given(arguments, machine, at, f"x{at + 1}") for at in (0, 1)))


@demands(f"{_FUNCTIONAL}.gaussian_nll_loss")
def of_variances(arguments: Arguments, machine: Machine) -> None:
    """A variance for each element, or for each row of them."""
    source, variance = given(arguments, machine, 0, "input"), given(arguments, machine, 2, "var")
    shape, held = source.shape, variance.shape
    if shape is None or held is None:
        return
    fits = len(held) in (len(shape), len(shape) - 1) and not any(map(differ, shape, held))
    if not fits and len(held) == len(shape):
        # One for each of a dimension: what is not equal is one dimension, and of size 1.
        others = [size for given, size in zip(shape, held, strict=True) if differ(given, size)]
        fits = len(others) == 1 and is_one(others[0])
    if not fits:
        refuse(machine, "var is of incorrect size", "ValueError")
    if variance.dtype is not None and category(variance.dtype) < 2:
        refuse(machine, f"result type Float can't be cast to the desired output type {variance.dtype}")
    _require_no_truths(machine, "gaussian_nll_loss", source, given(arguments, machine, 1, "target"))


@demands(f"{_FUNCTIONAL}.triplet_margin_loss", f"{_FUNCTIONAL}.triplet_margin_with_distance_loss")
def of_triples(arguments: Arguments, machine: Machine) -> None:
    """All of one number of dimensions; the others broadcast to the first, and their distances to each other. Another
    distance is asked as it is taken."""
    names, name = ("anchor", "positive", "negative"), last_name(arguments.function)
    anchor, *others = (given(arguments, machine, place, name) for place, name in enumerate(names))
    margin = arguments.get(3, "margin", NONE) if name == "triplet_margin_loss" else arguments.named("margin", NONE)
    number = margin.value if isinstance(margin, Constant) else None
    if isinstance(number, (int, float)) and number <= 0:
        refuse(machine, f"margin must be greater than 0, got {number}", "ValueError")
    _require_ranks(machine, name, anchor, *others)
    if arguments.named("distance_function", NONE) != NONE:
        return
    _require_no_truths(machine, name, anchor, *others)
    swap = arguments.get(6, "swap", NONE) if name == "triplet_margin_loss" else arguments.named("swap", NONE)
    pairs = [(anchor, others[0]), (anchor, others[1]), *((tuple(others),) if machine.truth(swap) else ())]
    rows: Shape = ()
    for pair in pairs:
        shapes = [each.shape for each in pair if each.shape is not None]
        if len(shapes) == len(pair):
            found = fitted(machine, lambda shapes=shapes: joined(*shapes))  # type: ignore[misc]
            rows = fitted(machine, lambda found=found, rows=rows: joined(found[:-1], rows)) or ()  # type: ignore[misc]


@demands(f"{_FUNCTIONAL}.margin_ranking_loss")
def of_ranks(arguments: Arguments, machine: Machine) -> None:
    """All of one number of dimensions, which broadcast."""
    names = ("input1", "input2", "target")
    tensors = [given(arguments, machine, place, name) for place, name in enumerate(names)]
    _require_ranks(machine, "margin_ranking_loss", *tensors)
    _require_no_truths(machine, "margin_ranking_loss", *tensors)
    _require_joint(machine, *tensors)


def _require_ranks(machine: Machine, name: str, *tensors: TensorObject) -> None:
    shapes = [each.shape for each in tensors if each.shape is not None]
    if len({len(shape) for shape in shapes}) > 1:
        refuse(machine, f"{name}: all should have the same number of dimensions: {', '.join(map(told, shapes))}")


@demands(f"{_FUNCTIONAL}.cosine_embedding_loss")
def of_angles(arguments: Arguments, machine: Machine) -> None:
    """A row of targets for two tensors of rows, or one for two rows."""
    name = "cosine_embedding_loss"
    one, other = given(arguments, machine, 0, "input1"), given(arguments, machine, 1, "input2")
    target = given(arguments, machine, 2, "target")
    require_rank(machine, f"{name}: the target", target.shape, (0, 1))
    for each in (one, other) if target.shape is not None else ():
        require_rank(machine, name, each.shape, (len(target.shape or ()) + 1,))
    _require_joint(machine, one, other)
    for each in (one, other) if target.shape else ():
        if each.shape is not None:
            shapes = target.shape or (), each.shape[:1]
            fitted(machine, lambda shapes=shapes: joined(*shapes))  # type: ignore[misc]


@demands(f"{_FUNCTIONAL}.multilabel_margin_loss", f"{_FUNCTIONAL}.multi_margin_loss")
def of_margins(arguments: Arguments, machine: Machine) -> None:
    """A row of classes for each row, or one class; of no rows, of any dtype."""
    name = last_name(arguments.function)
    source, target = given(arguments, machine, 0, "input"), given(arguments, machine, 1, "target")
    require_rank(machine, name, source.shape, (0, 1, 2))
    if source.shape and is_nothing(source.shape[-1]):
        refuse(machine, f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {source.shape}")
    if source.shape is not None and target.shape is not None:
        _require_labels(machine, name, source.shape, target.shape)
    if source.shape is not None and not any(map(is_nothing, source.shape)):
        require_dtype(machine, name, target, ("int64",))


def _require_labels(machine: Machine, name: str, shape: Shape, target: Shape) -> None:
    is_row = name == "multilabel_margin_loss"
    if is_row and len(shape) == 2:
        require_shape(machine, name, target, shape)
        return
    wanted = shape[0] if (len(shape) == 1) == is_row and shape else 1
    if len(target) > 1 or differ(target[0] if target else 1, wanted):
        refuse(machine, f"{name}: inconsistent target size: {told(target)} for input of size: {told(shape)}")


@demands(*(f"{_FUNCTIONAL}.{name}" for name in _OF_EQUALS))
def of_equals(arguments: Arguments, machine: Machine) -> None:
    """Of the same shape."""
    name = last_name(arguments.function)
    source, target = given(arguments, machine, 0, "input"), given(arguments, machine, 1, "target")
    if source.shape is not None and target.shape is not None:
        different = len(source.shape) != len(target.shape)
        pairs = zip(source.shape, target.shape, strict=False)
        if different or any(None not in pair and pair[0] != pair[1] for pair in pairs):
            told_target = f"{name}: the target has size {told(target.shape)}"
            refuse(machine, f"{told_target}, which is not that of the input, {told(source.shape)}", "ValueError")
    if name == "binary_cross_entropy":
        require_one_dtype(machine, name, source, target)
    require_floats(machine, name, source, kind="NotImplementedError")
    if target.dtype is not None and category(target.dtype) < 2:
        refuse(machine, f"{name}: result type {source.dtype} can't be cast to {target.dtype}")
    require_spread(machine, name, given(arguments, machine, 2, "weight").shape, source.shape)


@demands(f"{_FUNCTIONAL}.cross_entropy", f"{_FUNCTIONAL}.nll_loss")
def of_classes(arguments: Arguments, machine: Machine) -> None:
    """A class for each row of scores; of cross_entropy, also as many probabilities as there are scores."""
    name = last_name(arguments.function)
    source, target = given(arguments, machine, 0, "input"), given(arguments, machine, 1, "target")
    if source.shape is None or target.shape is None:
        require_floats(machine, name, source, kind="NotImplementedError")
        return
    if not source.shape:
        kind = "ValueError" if name == "nll_loss" else "IndexError"
        refuse(machine, f"{name}: the input has no dimensions", kind)
    # A class for one row, where these are not as many probabilities.
    is_one = len(source.shape) == len(target.shape) == 1 and differ(source.shape[0], target.shape[0])
    if name == "cross_entropy" and len(source.shape) == len(target.shape) and not is_one:
        _require_batch(machine, source.shape, target.shape)
        if target.dtype is not None and category(target.dtype) < 2:
            refuse(machine, f"cross_entropy: expected probabilities of floating point, got {target.dtype}")
        require_floats(machine, name, source, kind="NotImplementedError")
        require_shape(machine, name, target.shape, source.shape)
    else:
        _require_classes(machine, name, source.shape, target)
        require_floats(machine, name, source, kind="NotImplementedError")
    _require_weights(machine, name, source, given(arguments, machine, 2, "weight"))


def _require_classes(machine: Machine, name: str, shape: Shape, target: TensorObject) -> None:
    wanted = () if len(shape) == 1 else (*shape[:1], *shape[2:])
    if target.shape is not None and len(shape) > 1:
        _require_batch(machine, shape, target.shape)
    if len(shape) == 1 and target.shape is not None and len(target.shape) == 1:
        if differ(target.shape[0], 1):
            refuse(machine, f"{name}: expected one class for one row, but got {told(target.shape)}", "ValueError")
        wanted = target.shape
    require_shape(machine, name, target.shape, wanted)
    require_dtype(machine, name, target, ("int64", "uint8"))


def _require_batch(machine: Machine, shape: Shape, other: Shape) -> None:
    if len(shape) > 1 and other and differ(shape[0], other[0]):
        message = f"Expected input batch_size ({shape[0]}) to match target batch_size ({other[0]})"
        refuse(machine, message, "ValueError")


def _require_weights(machine: Machine, name: str, source: TensorObject, weight: TensorObject) -> None:
    assert source.shape
    classes = source.shape[0 if len(source.shape) == 1 else 1]
    require_shape(machine, f"{name}: weight", weight.shape, (classes,))
    require_one_dtype(machine, name, source, weight)
