"""How views lie in memory: parts of a tensor, and its elements in another shape, where they are.

Source: ATen, `TensorShape.cpp` and `TensorIndexing.h`.
"""

from __future__ import annotations

from collections.abc import Sequence

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import TensorObject
from modgraph.prediction.domain.registry import adds_to
from modgraph.prediction.domain.sizes import same
from modgraph.prediction.domain.values import NONE, Address, Constant, SliceValue, TupleValue, Value
from modgraph.prediction.knowledge.tensors import layout
from modgraph.prediction.knowledge.tensors.index_keys import keys_of
from modgraph.prediction.knowledge.tensors.layout import Operand, Steps
from modgraph.prediction.knowledge.tensors.layout_rules import both, lies
from modgraph.prediction.knowledge.tensors.tensor_values import dimension, size_of, tensor_of
from modgraph.prediction.knowledge.torch.parameters import TENSOR


def _source(arguments: Arguments, machine: Machine) -> TensorObject:
    return tensor_of(machine, arguments.get(0, "input", NONE)) or TensorObject(None, None)


# ---- the same dimensions ---------------------------------------------------------------------------------------------


def _as_it_lies(arguments: Arguments, machine: Machine, made: TensorObject) -> Steps | None:
    """Of parts along a dimension, and of the tensor itself."""
    return layout.steps_of(_source(arguments, machine))


lies(
    _as_it_lies, *both("narrow chunk split split_with_sizes tensor_split detach"), f"{TENSOR}.@data", f"{TENSOR}.alias"
)


def _without_one(arguments: Arguments, machine: Machine, made: TensorObject) -> Steps | None:
    """Of one index of a dimension."""
    source = _source(arguments, machine)
    steps, dim = layout.steps_of(source), arguments.get(1, "dim", Constant(0))
    place = dimension(machine, dim, len(source.shape)) if source.shape else None
    return None if steps is None or place is None else steps[:place] + steps[place + 1 :]


lies(_without_one, *both("select unbind"))


def _spread(arguments: Arguments, machine: Machine, made: TensorObject) -> Steps | None:
    """Of what is expanded: a new dimension, or one of a single element, has the same elements throughout."""
    source = layout.operand_of(_source(arguments, machine))
    if source is None or made.shape is None or len(made.shape) < len(source[0]):
        return None
    sizes, steps = source
    begin = len(made.shape) - len(sizes)
    pairs = zip(made.shape[begin:], sizes, steps, strict=True)
    return [0] * begin + [step if same(size, other) else 0 for size, other, step in pairs]


lies(_spread, f"{TENSOR}.expand", f"{TENSOR}.expand_as", *both("broadcast_to"))


@adds_to("torch.meshgrid")
def of_axes(arguments: Arguments, machine: Machine, found: Value) -> None:
    """Of each axis its elements along one dimension, the same throughout the others."""
    results = found.items if isinstance(found, TupleValue) else ()
    order = list(range(len(results)))
    if arguments.named("indexing", Constant("ij")) == Constant("xy"):
        order[:2] = order[1::-1] if len(order) > 1 else order
    elif arguments.named("indexing", Constant("ij")) != Constant("ij"):
        return
    for each, place in zip(results, order, strict=True):
        layout.set_steps(machine, each, [int(at == place) for at in range(len(results))])


# ---- more dimensions, or fewer ---------------------------------------------------------------------------------------


def _with_one(arguments: Arguments, machine: Machine, made: TensorObject) -> Steps | None:
    """Of a new dimension."""
    source = layout.operand_of(_source(arguments, machine))
    place = dimension(machine, arguments.get(1, "dim", NONE), len(source[0]), 1) if source is not None else None
    return None if source is None or place is None else _put_in(*source, place)


def _put_in(sizes: Sequence[int], steps: Sequence[int], place: int) -> Steps:
    """The steps with that of a new dimension, which is as wide as the next one."""
    wide = sizes[place] * steps[place] if place < len(sizes) else 1
    return [*steps[:place], wide, *steps[place:]]


def _squeezed(arguments: Arguments, machine: Machine, made: TensorObject) -> Steps | None:
    source, dim = layout.operand_of(_source(arguments, machine)), arguments.get(1, "dim", NONE)
    if source is None or not (dim == NONE or isinstance(dim, Constant)):
        return None
    place = dimension(machine, dim, len(source[0])) if dim != NONE else None
    if place is None and dim != NONE:
        return None
    pairs = enumerate(zip(*source, strict=True))
    return [step for at, (size, step) in pairs if not (same(size, 1) and place in (None, at))]


def _reshaped(arguments: Arguments, machine: Machine, made: TensorObject) -> Steps | None:
    """Where the elements can be shown so, as they lie, and else copied."""
    source = _source(arguments, machine)
    if made.shape is None or layout.steps_of(source) is None:
        return None
    steps = layout.view_steps(source, made.shape)
    return layout.row_by_row(made.shape) if steps is None else steps


def _viewed(arguments: Arguments, machine: Machine, made: TensorObject) -> Steps | None:
    return None if made.shape is None else layout.view_steps(_source(arguments, machine), made.shape)


def _turned(arguments: Arguments, machine: Machine, made: TensorObject) -> Steps | None:
    """Of dimensions that are moved: told by their sizes, where no two are the same."""
    source = layout.operand_of(_source(arguments, machine))
    if source is None or made.shape is None or None in made.shape:
        return None
    sizes, steps = source
    found = [[step for held, step in zip(sizes, steps, strict=True) if same(held, size)] for size in made.shape]
    return [each[0] for each in found] if all(len(each) == 1 for each in found) else None


lies(_with_one, *both("unsqueeze"))
lies(_squeezed, *both("squeeze"))
lies(_reshaped, *both("reshape flatten ravel"), f"{TENSOR}.reshape_as")
lies(_viewed, *both("unflatten"), f"{TENSOR}.view", f"{TENSOR}.view_as")
lies(_turned, *both("movedim moveaxis"))


def _windows(arguments: Arguments, machine: Machine, made: TensorObject) -> Steps | None:
    source, step = layout.operand_of(_source(arguments, machine)), size_of(arguments.get(3, "step", NONE))
    place = dimension(machine, arguments.get(1, "dimension", NONE), len(source[0])) if source and source[0] else None
    if source is None or place is None or step is None:
        return None
    steps = source[1]
    return [*steps[:place], steps[place] * step, *steps[place + 1 :], steps[place]]


lies(_windows, f"{TENSOR}.unfold")

# ---- indices ---------------------------------------------------------------------------------------------------------


def _indexed(arguments: Arguments, machine: Machine, made: TensorObject) -> Steps | None:
    source, key = layout.operand_of(_source(arguments, machine)), arguments.positional[1]
    if source is None or made.shape is None or None in made.shape:
        return None
    keys = list(keys_of(machine.state, key))
    if any(isinstance(each, Address) for each in keys):
        return _gathered(machine, source, keys, made)
    if Constant(...) not in keys:
        keys.append(Constant(...))
    taken = sum(each not in (NONE, Constant(...)) for each in keys)
    place = keys.index(Constant(...))
    keys[place : place + 1] = [SliceValue(NONE, NONE, NONE)] * (len(source[0]) - taken)
    return _by_keys(*source, keys)


def _by_keys(sizes: Sequence[int], steps: Sequence[int], keys: Sequence[Value]) -> Steps | None:
    """One key after the other, of which each takes a dimension, or makes one."""
    found: Steps = []
    place = 0
    for key in keys:
        if key == NONE:
            found.append(_put_in(sizes, steps, place)[place])
            continue
        if place >= len(sizes):
            return None
        if isinstance(key, SliceValue):
            by = 1 if key.step == NONE else size_of(key.step)
            if by is None:
                return None
            found.append(steps[place] * by)
        elif not (isinstance(key, Constant) and isinstance(key.value, int)) or isinstance(key.value, bool):
            return None
        place += 1
    return found if place == len(sizes) else None


def _gathered(machine: Machine, source: Operand, keys: Sequence[Value], made: TensorObject) -> Steps | None:
    """Of one key that is a list or a tensor of numbers, beside such that take a whole dimension: elements are copied in
    the order in which they lie, as far as the key lets them."""
    sizes, steps = source
    whole = SliceValue(NONE, NONE, NONE)
    places = [at for at, key in enumerate(keys) if key not in (whole, Constant(...))]
    if len(places) != 1 or Constant(...) in keys[: places[0]] or made.shape is None:
        return None
    place, rank = places[0], len(made.shape) - len(sizes) + 1
    index = tensor_of(machine, keys[place])
    if rank < 1 or (index is not None and (index.dtype in ("bool", "uint8", None) or not layout.is_row_by_row(index))):
        return None
    wanted = [size for size in made.shape if size is not None]
    of_source = [*steps[:place], *(0,) * rank, *steps[place + 1 :]]
    around = len(wanted) - place - rank
    of_index = layout.dense(wanted[place : place + rank], range(rank)[::-1])
    of_keys = [1] * place + wanted[place : place + rank] + [1] * around
    return layout.elementwise(
        wanted, [(wanted, of_source), (of_keys, [0] * place + of_index + [0] * around)], has_numbers=True
    )


lies(_indexed, f"{TENSOR}.__getitem__")
