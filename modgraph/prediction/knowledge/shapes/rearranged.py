"""What writes into a copy, moves dimensions, or compares rows: shapes alone."""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import NONE, Constant, Value
from modgraph.prediction.knowledge.shapes import arithmetic, fitting
from modgraph.prediction.knowledge.shapes.arithmetic import MisfitError, Size
from modgraph.prediction.knowledge.shapes.languages import signature
from modgraph.prediction.knowledge.tensors.elements import Shape
from modgraph.prediction.knowledge.tensors.tensor_memory import views
from modgraph.prediction.knowledge.tensors.tensor_names import WRITING_INTO_A_COPY
from modgraph.prediction.knowledge.tensors.tensor_values import dimension, size_of
from modgraph.prediction.knowledge.torch.parameters import TENSOR

signature("torch.cdist(x1, x2)", "*b n d, *b m d -> *b n m", dtype="promoted")
signature("torch.masked_scatter(input, mask, source)", "*b, *b, _ -> *b", method=True)


@models(*(f"{owner}.{name}" for name in WRITING_INTO_A_COPY for owner in ("torch", TENSOR)))
def written_into_copy(arguments: Arguments, machine: Machine) -> Value:
    """Of the shape and dtype of the first."""
    given = fitting.tensor(machine, arguments.get(0, "input", NONE))
    return fitting.result(machine, arguments, given.shape, given.dtype)


@views(*(f"{owner}.{name}" for name in ("movedim", "moveaxis") for owner in ("torch", TENSOR)))
def moved(arguments: Arguments, machine: Machine) -> Value:
    """Dimensions at other places, the others in their order."""
    given = fitting.tensor(machine, arguments.get(0, "input", NONE))
    shape = given.shape
    if shape is not None:
        rank = len(shape)
        sources, targets = (
            _places(machine, arguments.get(place, name, NONE), rank)
            for place, name in ((1, "source"), (2, "destination"))
        )
        if sources is None or targets is None or len(sources) != len(targets):
            shape = None
        else:
            rest = iter([place for place in range(rank) if place not in sources])
            at = dict(zip(targets, sources, strict=True))
            shape = tuple(shape[at[place] if place in at else next(rest)] for place in range(rank))
    return fitting.result(machine, arguments, shape, given.dtype, given.requires_grad)


def _places(machine: Machine, value: Value, rank: int) -> list[int] | None:
    items = [value] if isinstance(value, Constant) else machine.iterate(value)
    found = [dimension(machine, each, rank) for each in items] if isinstance(items, list) else [None]
    known = [place for place in found if place is not None]
    return known if len(known) == len(found) == len(set(known)) else None


@views(f"{TENSOR}.unflatten", "torch.unflatten")
def unflattened(arguments: Arguments, machine: Machine) -> Value:
    """One dimension becomes several, of which one may be what is left over."""
    given = fitting.tensor(machine, arguments.get(0, "input", NONE))
    dim, sizes = arguments.get(1, "dim", NONE), arguments.get(2, "sizes", NONE)
    listed = machine.iterate(sizes) if fitting.length(machine, sizes) is not None else None
    place = dimension(machine, dim, len(given.shape)) if given.shape is not None else None
    if given.shape is None or place is None or not isinstance(listed, list):
        return fitting.result(machine, arguments, None, given.dtype, given.requires_grad)
    known, wanted = given.shape, [size_of(each) for each in listed]
    shape = fitting.fitted(machine, lambda: (*known[:place], *_filled(known[place], wanted), *known[place + 1 :]))
    return fitting.result(machine, arguments, shape, given.dtype, given.requires_grad)


def _filled(size: Size, wanted: list[Size]) -> Shape:
    """The sizes, -1 replaced by what is left over.

    Raises:
        MisfitError: they do not divide the size.
    """
    others = arithmetic.product(each for each in wanted if each != -1)
    if size is None or others is None:
        return tuple(None if each == -1 else each for each in wanted)
    fits = others > 0 and size % others == 0 if -1 in wanted else others == size
    if not fits:
        raise MisfitError(f"unflatten: sizes {wanted} do not multiply up to {size}")
    return tuple(size // others if each == -1 else each for each in wanted)


@models("torch.rot90", f"{TENSOR}.rot90")
def turned(arguments: Arguments, machine: Machine) -> Value:
    """A quarter turn of two dimensions, so many times."""
    given, times = fitting.tensor(machine, arguments.get(0, "input", NONE)), size_of(arguments.get(1, "k", Constant(1)))
    named = arguments.get(2, "dims", NONE)
    dims = [Constant(0), Constant(1)] if named == NONE else machine.iterate(named)
    shape: Shape | None = None
    if given.shape is not None and times is not None and isinstance(dims, list) and len(dims) == 2:
        one, other = (dimension(machine, each, len(given.shape)) for each in dims)
        if one is not None and other is not None:
            sizes = list(given.shape)
            if times % 2:
                sizes[one], sizes[other] = sizes[other], sizes[one]
            shape = tuple(sizes)
    return fitting.result(machine, arguments, shape, given.dtype, given.requires_grad)


@models("torch.multinomial", f"{TENSOR}.multinomial")
def drawn(arguments: Arguments, machine: Machine) -> Value:
    """So many places of each row."""
    given, number = (
        fitting.tensor(machine, arguments.get(0, "input", NONE)),
        size_of(arguments.get(1, "num_samples", NONE)),
    )
    shape = None if not given.shape or number is None else (*given.shape[:-1], number)
    return fitting.result(machine, arguments, shape, "int64")
