"""Losses and distances: what is left of the shapes, by the reduction that is asked for.

Source: the reference of `torch.nn.functional`, ATen/native/Loss.cpp, Distance.cpp.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ListObject, TensorObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import FALSE, NONE, Constant, TupleValue, Value
from modgraph.prediction.knowledge.shapes import fitting
from modgraph.prediction.knowledge.shapes.arithmetic import MisfitError, joined, places
from modgraph.prediction.knowledge.tensors.demanding import differ, is_empty, is_larger
from modgraph.prediction.knowledge.tensors.elements import FLOATS, INTEGERS, Shape
from modgraph.prediction.knowledge.tensors.tensor_math import needs_any
from modgraph.prediction.knowledge.tensors.tensor_values import default_float, dimension

_FUNCTIONAL = "torch.nn.functional"
_Rule = Callable[[Sequence[Shape]], Shape | None]


def _joint(shapes: Sequence[Shape]) -> Shape:
    found: Shape = ()
    for shape in shapes:
        found = joined(found, shape)
    return found


def _first(shapes: Sequence[Shape]) -> Shape:
    return shapes[0]


def _without_classes(shapes: Sequence[Shape]) -> Shape:
    """(batch, classes, ...) or (classes), without the classes."""
    given = shapes[0]
    return given[:-1] if len(given) < 2 else (given[0], *given[2:])


def _without_labels(shapes: Sequence[Shape]) -> Shape:
    """Without the last dimension of the first, which is counted from the front."""
    given, found = shapes[0], _joint(shapes)
    return (*found[: len(given) - 1], *found[len(given) :])


def _of_triples(shapes: Sequence[Shape]) -> Shape:
    """The distances of the first to each of the others, without the last dimension."""
    anchor, *others = shapes
    return _joint([joined(anchor, each)[:-1] for each in others])


def _rows_of_two(shapes: Sequence[Shape]) -> Shape:
    given, target = shapes
    return given[:1] if len(given) > 1 and target else target


def _of_batch(shapes: Sequence[Shape]) -> Shape:
    """(batch, classes), or (classes)."""
    return shapes[0][:1] if len(shapes[0]) > 1 else ()


def _of_angles(shapes: Sequence[Shape]) -> Shape:
    one, other, target = shapes
    return joined(joined(one, other)[:-1], target)


def _of_sequences(shapes: Sequence[Shape]) -> Shape:
    """(length, batch, classes), or (length, classes)."""
    return shapes[0][1:2] if len(shapes[0]) > 2 else ()


@dataclass(frozen=True, slots=True)
class _Loss:
    """A loss, by what it gives where nothing is summed up."""

    rule: _Rule
    reduction: int | None
    """The place of the parameter; None for one that is given by name alone."""
    old: tuple[int, ...] = ()
    """The places of `size_average` and `reduce`."""
    tensors: tuple[str, ...] = ("input", "target")
    is_shaped: tuple[str, ...] = ()
    """Those of them that the shape comes of, if not all."""
    may_refuse: bool = False
    """More is refused than is known (`refused_losses.py`)."""


_PAIRS = _Loss(_joint, 4, (2, 3))
_RANKED = ("input1", "input2", "target")
_TRIPLE = ("anchor", "positive", "negative")
_LOSSES = {
    **dict.fromkeys(("mse_loss", "l1_loss", "smooth_l1_loss", "kl_div", "soft_margin_loss"), _PAIRS),
    "huber_loss": _Loss(_joint, 2),
    "binary_cross_entropy": _Loss(_first, 5, (3, 4)),
    "binary_cross_entropy_with_logits": _Loss(_first, 5, (3, 4)),
    "cross_entropy": _Loss(_without_classes, 6, (3, 5)),
    "nll_loss": _Loss(_without_classes, 6, (3, 5)),
    "poisson_nll_loss": _Loss(_joint, 7, (4, 6)),
    "gaussian_nll_loss": _Loss(_joint, 5, (), ("input", "target", "var"), ("input", "target")),
    "hinge_embedding_loss": _Loss(_joint, 5, (3, 4)),
    "margin_ranking_loss": _Loss(_joint, 6, (4, 5), _RANKED),
    "cosine_embedding_loss": _Loss(_of_angles, 6, (4, 5), _RANKED),
    "multilabel_margin_loss": _Loss(_of_batch, 4, (2, 3)),
    "multilabel_soft_margin_loss": _Loss(_without_labels, 5, (3, 4)),
    "multi_margin_loss": _Loss(_rows_of_two, 7, (5, 6)),
    "triplet_margin_loss": _Loss(_of_triples, 9, (7, 8), _TRIPLE),
    "triplet_margin_with_distance_loss": _Loss(_of_triples, None, (), _TRIPLE),
    "ctc_loss": _Loss(_of_sequences, 5, (), ("log_probs", "targets"), ("log_probs",)),
    "linear_cross_entropy": _Loss(lambda _: None, None, (), ("input", "linear_weight", "target"), ("target",), True),
}


@models(*(f"{_FUNCTIONAL}.{name}" for name in _LOSSES))
def loss(arguments: Arguments, machine: Machine) -> Value:
    """One number, unless nothing is summed up."""
    name = last_name(arguments.function)
    held = _LOSSES[name]
    tensors = [fitting.tensor(machine, arguments.get(i, name, NONE)) for i, name in enumerate(held.tensors)]
    is_one = _is_one(arguments, machine, held)
    shape: Shape | None = () if is_one else None
    if is_one is False:
        shapes = [each.shape for each, name in zip(tensors, held.tensors, strict=True) if name in held.is_shaped]
        known = [each for each in (shapes if held.is_shaped else [each.shape for each in tensors]) if each is not None]
        if len(known) == len(held.is_shaped or held.tensors):
            shape = fitting.fitted(machine, lambda: held.rule(known))
    source, *others = tensors
    is_plain = source.dtype in FLOATS and all(each.dtype in (source.dtype, *INTEGERS) for each in others)
    has_no_class = held.rule is _without_classes and is_empty(source.shape)
    if (
        held.may_refuse
        or has_no_class
        or (name.startswith(("multi", "triplet")) and not (is_plain and source.shape is not None))
    ):
        machine.may_fail()
    if name == "ctc_loss" and not _are_lengths(arguments, machine, tensors):
        machine.may_fail()
    if is_one is False and name == "linear_cross_entropy":
        shape = _of_classes(source, others[-1])
    if (distance := arguments.keywords.get("distance_function", NONE)) != NONE:
        found = _by_distances(arguments, machine, distance)  # it is called, whatever is summed up
        shape = found if is_one is False else shape
    return fitting.result(machine, arguments, shape, source.dtype if is_plain else None, needs_any(tuple(tensors)))


def _are_lengths(arguments: Arguments, machine: Machine, tensors: Sequence[TensorObject]) -> bool:
    """What is given as lengths of sequences, and of their targets, may be such."""
    source, target = tensors
    if source.shape is None or target.shape is None or is_empty(source.shape) or is_empty(target.shape):
        return source.shape is None or target.shape is None
    if len(source.shape) == 3 and len(target.shape) != 2:
        return False
    most = (source.shape[0], target.shape[-1])
    for place, name, limit in zip((2, 3), ("input_lengths", "target_lengths"), most, strict=True):
        given = arguments.get(place, name, NONE)
        items = given.items if isinstance(given, TupleValue) else ()
        listed = machine.state.find(given, ListObject)
        numbers = [fitting.number(each) for each in (items if listed is None else listed.items)]
        batch = source.shape[1] if len(source.shape) == 3 else 1
        is_listed = listed is not None or isinstance(given, TupleValue)
        if is_listed and (
            differ(len(numbers), batch) or any(n is None or n < 0 or is_larger(n, limit) for n in numbers)
        ):
            return False
    return True


def _of_classes(source: TensorObject, target: TensorObject) -> Shape | None:
    """The classes have a number for each; probabilities, one for each class in the dimension behind the batch."""
    if target.shape is None or source.shape is None:
        return None
    place = len(source.shape) > 1
    is_shaped = len(target.shape) > place
    others = (*target.shape[:place], *target.shape[place + 1 :]) if is_shaped else None
    return target.shape if target.dtype in INTEGERS else others if target.dtype in FLOATS else None


def _by_distances(arguments: Arguments, machine: Machine, distance: Value) -> Shape | None:
    """What a function of the program, or a module, says of the distance of two."""
    anchor, positive, negative = (arguments.get(place, name, NONE) for place, name in enumerate(_TRIPLE))
    found = [machine.call(distance, (anchor, each)) for each in (positive, negative)]
    if machine.truth(arguments.keywords.get("swap", FALSE)) is not False:
        found.append(machine.call(distance, (positive, negative)))
    shapes = [each.shape for each in (fitting.tensor(machine, one) for one in found) if each.shape is not None]
    return fitting.fitted(machine, lambda: _joint(shapes)) if len(shapes) == len(found) else None


def _is_one(arguments: Arguments, machine: Machine, held: _Loss) -> bool | None:
    """What is given is summed up to one number; None where that is not known."""

    def given(place: int | None, name: str) -> Value:
        is_there = place is not None and len(arguments.positional) > place
        return arguments.positional[place] if is_there and place is not None else arguments.named(name, NONE)

    old = [given(place, name) for place, name in zip(held.old, ("size_average", "reduce"), strict=False)]
    if any(each != NONE for each in old):
        return machine.truth(old[1]) if old[1] != NONE else True
    reduction = given(held.reduction, "reduction")
    if not isinstance(reduction, Constant):
        return None
    return bool(reduction.value != "none")


# ---- distances -------------------------------------------------------------------------------------------------------


@models(f"{_FUNCTIONAL}.cosine_similarity", "torch.cosine_similarity")
def cosines(arguments: Arguments, machine: Machine) -> Value:
    """Two that broadcast, without the dimension that is summed up."""
    tensors = [fitting.tensor(machine, arguments.get(i, name, NONE)) for i, name in enumerate(("x1", "x2"))]
    shapes = [each.shape for each in tensors if each.shape is not None]
    shape: Shape | None = None
    if len(shapes) == len(tensors):
        joint = fitting.fitted(machine, lambda: _joint(shapes)) or ()
        place = dimension(machine, arguments.get(2, "dim", Constant(1)), len(joint))
        shape = None if place is None else (*joint[:place], *joint[place + 1 :])
    dtype = tensors[0].dtype if tensors[0].dtype == tensors[1].dtype and tensors[0].dtype in FLOATS else None
    return fitting.result(machine, arguments, shape, dtype, needs_any(tuple(tensors)))


@models(f"{_FUNCTIONAL}.pairwise_distance", "torch.pairwise_distance")
def distances(arguments: Arguments, machine: Machine) -> Value:
    """Two that broadcast, without the last dimension."""
    tensors = [fitting.tensor(machine, arguments.get(i, name, NONE)) for i, name in enumerate(("x1", "x2"))]
    shapes = [each.shape for each in tensors if each.shape is not None]
    is_kept = machine.truth(arguments.get(4, "keepdim", FALSE))
    shape: Shape | None = None
    if len(shapes) == len(tensors) and is_kept is not None:
        joint = fitting.fitted(machine, lambda: _joint(shapes)) or ()
        shape = (*joint[:-1], 1) if is_kept and joint else joint[:-1]
    dtype = tensors[0].dtype if tensors[0].dtype == tensors[1].dtype and tensors[0].dtype in FLOATS else None
    return fitting.result(machine, arguments, shape, dtype, needs_any(tuple(tensors)))


@models(f"{_FUNCTIONAL}.pdist", "torch.pdist")
def pairs(arguments: Arguments, machine: Machine) -> Value:
    """One for each two rows."""
    source = fitting.tensor(machine, arguments.get(0, "input", NONE))
    rows = source.shape[0] if source.shape else None
    shape: Shape = (None if rows is None else rows * (rows - 1) // 2,)
    return fitting.result(machine, arguments, shape, source.dtype, source.requires_grad)


# ---- pools by a norm -------------------------------------------------------------------------------------------------


@models(*(f"{_FUNCTIONAL}.lp_pool{rank}d" for rank in (1, 2, 3)))
def pooled_by_norm(arguments: Arguments, machine: Machine) -> Value:
    """As an average over windows, without padding."""
    rank = int(arguments.function[-2])
    source, order = fitting.tensor(machine, arguments.get(0, "input", NONE)), arguments.get(1, "norm_type", NONE)
    windows = fitting.sizes(machine, arguments.get(2, "kernel_size", NONE), rank)
    stride = arguments.get(3, "stride", NONE)
    steps = windows if stride == NONE else fitting.sizes(machine, stride, rank)
    upwards = machine.truth(arguments.get(4, "ceil_mode", FALSE))
    shape: Shape | None = None
    if source.shape is not None and len(source.shape) > rank:
        given = source.shape
        options = (windows, steps, [0] * rank, [1] * rank)

        def rule() -> Shape:
            if any(step == 0 for step in steps):
                raise MisfitError("stride should not be zero")
            return (*given[:-rank], *places(given[-rank:], options, upwards))

        shape = fitting.fitted(machine, rule)
    dtype = source.dtype if source.dtype in FLOATS else _of_roots(machine, order, source.dtype)
    return fitting.result(machine, arguments, shape, dtype, source.requires_grad)


def _of_roots(machine: Machine, order: Value, dtype: str | None) -> str | None:
    """Of whole numbers and truths the root is of floating point; of infinite order, it is the largest one itself."""
    if not isinstance(order, Constant) or not isinstance(order.value, (int, float)) or dtype not in ("int64", "bool"):
        return None
    return None if math.isinf(order.value) else default_float(machine)
