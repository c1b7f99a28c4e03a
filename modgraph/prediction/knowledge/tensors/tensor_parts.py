"""Tensors joined, split and indexed: cat, stack, chunk, meshgrid, `x[...]`, narrow, gather, index_select and kin."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Sequence

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.limits import ITEMS_OF_A_PART, MAX_LOOP_ITERATIONS
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ONE_OF_SEVERAL, IteratorObject, TensorObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.sizes import counted, is_open, parts_of, same, same_sizes, sliced, witness_of
from modgraph.prediction.domain.values import (
    FALSE,
    NONE,
    TRUE,
    Address,
    Constant,
    KnownFunction,
    SliceValue,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.knowledge.tensors.elements import Number, Shape, broadcast, count, kept, promoted, strides
from modgraph.prediction.knowledge.tensors.index_keys import gives_view, keys_of, slice_length
from modgraph.prediction.knowledge.tensors.tensor_gathering import by_indices
from modgraph.prediction.knowledge.tensors.tensor_math import needs_any
from modgraph.prediction.knowledge.tensors.tensor_memory import mark, share, views
from modgraph.prediction.knowledge.tensors.tensor_shapes import both, like, replaced, source_of
from modgraph.prediction.knowledge.tensors.tensor_values import (
    PAIR,
    dimension,
    made,
    shape_argument,
    shape_value,
    size_of,
    tensor_of,
)
from modgraph.prediction.knowledge.torch.parameters import TENSOR
from modgraph.prediction.python.plain import data_unknown
from modgraph.source import nodes
from modgraph.source.reached import Reached

# ---- joining and splitting -------------------------------------------------------------------------------------------


_ALONG = {"hstack": 1, "column_stack": 1, "vstack": 0, "row_stack": 0, "dstack": 2}
"""What joins tensors of so many dimensions at least: along which of them."""


@models("torch.cat", "torch.concat", "torch.concatenate", "torch.stack", *(f"torch.{name}" for name in _ALONG))
def join(arguments: Arguments, machine: Machine) -> Value:
    name, held = last_name(arguments.function), arguments.get(0, "tensors", NONE)
    if tensor_of(machine, held) is not None or machine.state.find(held, IteratorObject) is not None:
        raise machine.raises("TypeError", f"{name}(): argument 'tensors' must be tuple of Tensors")
    given = machine.iterate(held)
    tensors = [] if isinstance(given, Unknown) else [tensor_of(machine, value) for value in given]
    found = [tensor for tensor in tensors if tensor is not None]
    if not isinstance(given, Unknown):
        _require_tensors(machine, name, given)
    if isinstance(given, Unknown) or not found or len(found) != len(given):
        return made(machine, None, found[0].dtype if found and len(found) == len(tensors) else None)
    dtype: str | None = found[0].dtype
    for tensor in found[1:]:
        dtype = promoted(dtype, tensor.dtype)
    shapes = [tensor.shape for tensor in found if tensor.shape is not None]
    needs = needs_any(found)
    if len(shapes) != len(found):
        return made(machine, None, dtype, requires_grad=needs)
    dim = arguments.get(1, "dim", arguments.keywords.get("axis", Constant(0)))
    if name in _ALONG:
        shapes = [_levelled(name, shape) for shape in shapes]
        dim = Constant(_ALONG[name] if len(shapes[0]) > 1 else 0)
    if name != "stack":
        shapes = [shape for shape in shapes if shape != (0,)]  # cat passes over those without elements
        if not shapes:  # whichever dimension is asked for
            return made(machine, (0,), dtype, (), requires_grad=needs)
        if any(shape == (None,) and len(shape) != len(each) for shape in shapes for each in shapes):
            return made(machine, None, dtype, requires_grad=needs)
    place = dimension(machine, dim, len(shapes[0]), 1 if name == "stack" else 0)
    if name == "stack" or place is not None:
        _require_fitting(machine, shapes, None if name == "stack" else place)
    if place is None:
        return made(machine, None, dtype, requires_grad=needs)
    elements: tuple[Number, ...] | None = None
    if place == 0 and all(tensor.elements is not None for tensor in found):
        elements = kept([value for tensor in found for value in tensor.elements or ()], dtype)
    if name == "stack":
        shape: Shape = (*shapes[0][:place], len(shapes), *shapes[0][place:])
    else:
        sizes = [shape[place] for shape in shapes]
        total = None if any(size is None for size in sizes) else sum(size for size in sizes if size is not None)
        shape = replaced(shapes[0], place, total)
    return made(machine, shape, dtype, elements, requires_grad=needs)


def _levelled(name: str, shape: Shape) -> Shape:
    """With the dimensions that it is joined in: a row, a row of a matrix, a column."""
    if name == "hstack":
        return shape or (1,)
    if name == "column_stack":
        return shape if len(shape) > 1 else (*(shape or (1,)), 1)
    if name == "dstack":
        return shape if len(shape) > 2 else (*(1, *(shape or (1,)))[-2:], 1)
    return shape if len(shape) > 1 else (1, *(shape or (1,)))


def _require_tensors(machine: Machine, name: str, given: Sequence[Value]) -> None:
    """Of what is joined.

    Raises:
        Raised: where there is none, or one is certainly something else.
    """
    if not given:
        raise machine.raises("RuntimeError", f"{name} expects a non-empty list of tensors")
    for place, value in enumerate(given):
        if isinstance(value, Constant | TupleValue):
            other = type(value.value).__name__ if isinstance(value, Constant) else "tuple"
            raise machine.raises("TypeError", f"expected Tensor as element {place} in argument 0, but got {other}")


@models("torch._C._nn.pad_sequence")
def padded_together(arguments: Arguments, machine: Machine) -> Value:
    """Sequences of any lengths in one tensor, as long as the longest."""
    given = machine.iterate(arguments.get(0, "sequences", NONE))
    tensors = [tensor_of(machine, value) for value in given] if isinstance(given, list) else []
    first = machine.truth(arguments.get(1, "batch_first", FALSE))
    known = [tensor.shape for tensor in tensors if tensor is not None and tensor.shape]
    dtypes = {tensor.dtype for tensor in tensors if tensor is not None}
    dtype = dtypes.pop() if len(dtypes) == 1 else None
    if not known or len(known) < len(tensors) or first is None or any(len(each) != len(known[0]) for each in known):
        return made(machine, None, dtype)
    lengths = [shape[0] for shape in known]
    longest = None if None in lengths else max(length for length in lengths if length is not None)
    leading = (len(known), longest) if first else (longest, len(known))
    needs = needs_any([tensor for tensor in tensors if tensor is not None])
    return made(machine, (*leading, *known[0][1:]), dtype, requires_grad=needs)


def _require_fitting(machine: Machine, shapes: Sequence[Shape], along: int | None) -> None:
    """Of tensors that are joined, along that dimension or along a new one.

    Raises:
        Raised: RuntimeError, where their sizes differ elsewhere.
    """
    for number, shape in enumerate(shapes):
        if len(shape) != len(shapes[0]):
            message = f"Tensors must have same number of dimensions: got {len(shapes[0])} and {len(shape)}"
            raise machine.raises("RuntimeError", message)
        for place, (wanted, size) in enumerate(zip(shapes[0], shape, strict=True)):
            if place != along and wanted != size and wanted is not None and size is not None:
                message = f"Expected size {wanted} but got size {size} for tensor number {number} in the list"
                raise machine.raises("RuntimeError", f"Sizes of tensors must match. {message}")


@views(*both("chunk", "split", "unbind", "tensor_split", "split_with_sizes"))
@views(*both("unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes"))
def divide(arguments: Arguments, machine: Machine) -> Value:
    source, name = source_of(arguments, machine), last_name(arguments.function).removeprefix("unsafe_")
    position = 1 if name == "unbind" else 2
    dim = arguments.get(position, "dim", Constant(0))
    place = dimension(machine, dim, len(source.shape)) if source.shape is not None else None
    names = [n for n in _WAYS.get(name, ()) if n in arguments.keywords]
    given = arguments.get(1, names[0] if names else "?", NONE)
    size = None if source.shape is None or place is None else source.shape[place]
    if name == "unbind":
        sizes: Sequence[int | None] | None = None if size is None else range(counted(size))
    else:
        sizes = _sizes(machine, name, size, given)
    if sizes is None and (number := _unpacked(machine, last_name(arguments.function))) is not None:
        most = size_of(given) if name == "chunk" else None
        sizes = [None] * number if most is None or number <= most else None
    if sizes is None:
        return data_unknown(
            machine, f"torch.{name}", "into how many parts a tensor is split is not known", arguments.positional[0]
        )
    if (many := _too_many(machine, len(sizes))) is not None:
        return many
    if source.shape is None or place is None:
        found: Value = TupleValue(tuple(like(machine, source, None) for _ in sizes))
    elif name == "unbind":
        part = (*source.shape[:place], *source.shape[place + 1 :])
        found = TupleValue(tuple(like(machine, source, part, _along(source, place, (i,))) for i in range(len(sizes))))
    else:
        found = _parts(machine, source, place, sizes)
    if ".unsafe_" not in arguments.function and name != "tensor_split":
        for each in found.parts():
            if isinstance(each, Address):
                machine.state.change(each, TensorObject).attributes[ONE_OF_SEVERAL] = TRUE
    return found


def _unpacked(machine: Machine, name: str) -> int | None:
    """Into how many parts a tensor is split where these are unpacked at once, `a, b = x.chunk(2, -1)`: into others
    the statement raises. None where something else becomes of them."""
    statement = machine.frames[-1].statement if machine.frames else None
    if not isinstance(statement, nodes.Assign) or len(statement.targets) != 1:
        return None
    target, call = statement.targets[0], statement.value
    if not isinstance(target, (nodes.Tuple, nodes.List)) or not isinstance(call, nodes.Call):
        return None
    if any(isinstance(each, nodes.Starred) for each in target.elements):
        return None
    func = call.func
    if not isinstance(func, nodes.Attribute) or func.attr != name:
        return None
    pending: list[nodes.Node] = [*call.children]
    inside: list[str] = []
    while pending:
        part = pending.pop()
        inside += [part.attr] if isinstance(part, nodes.Attribute) else []
        pending.extend(part.children)
    return len(target.elements) if inside.count(name) == 1 else None


def _require_sum(machine: Machine, name: str, size: int | None, sizes: Sequence[int | None] | None) -> None:
    """The parts are the whole, and none is below none.

    Raises:
        Raised: RuntimeError.
    """
    known = [each for each in sizes or () if each is not None]
    if name.startswith("split") and any(each < 0 for each in known):
        raise machine.raises("RuntimeError", f"{name} expects split_sizes have only non-negative entries")
    if not name.startswith("split") or sizes is None or size is None or len(known) < len(sizes):
        return
    if sum(known) != size:
        told = ", ".join(map(str, sizes[:_MOST_TOLD])) + (", ..." if len(sizes) > _MOST_TOLD else "")
        raise machine.raises("RuntimeError", f"{name} expects sizes to sum up to {size}, but got [{told}]")


_MOST_TOLD = 20
"""Sizes in a message."""
_WAYS = {
    "chunk": ("chunks",),
    "split": ("split_size_or_sections", "split_size", "split_sizes"),
    "split_with_sizes": ("split_sizes",),
    "tensor_split": ("indices_or_sections", "sections", "indices", "tensor_indices_or_sections"),
}
"""Names of the argument that says how."""


def _sizes(machine: Machine, name: str, size: int | None, given: Value) -> Sequence[int | None] | None:
    """Of the parts; None where not even their number is known.

    Raises:
        Raised: RuntimeError, for a number of parts, or a size, that is none, and for sizes that are not the whole.
    """
    number = size_of(given)
    if name == "tensor_split":
        return _between(size, number, None if number is not None else _indices(machine, given))
    if number is None:
        sizes = shape_argument(machine, (given,)) if not isinstance(given, Constant) else None
        _require_sum(machine, name, size, sizes)
        return sizes
    least = 1 if name == "chunk" or size else 0
    if number < least:
        raise machine.raises("RuntimeError", f"{name} expects a size or number above 0, but got {number}")
    if size is None:
        return None
    if name == "chunk" and type(size) is int and size == 0:
        return [0] * number
    step = max(1, -(-size // number)) if name == "chunk" else max(number, 1)
    if witness_of(-(-size // step)) > MAX_LOOP_ITERATIONS:
        return range(witness_of(-(-size // step)))
    return parts_of(size, step)


def _indices(machine: Machine, given: Value) -> list[int | None] | None:
    tensor = tensor_of(machine, given)
    if tensor is not None:
        return [int(each) for each in tensor.elements] if tensor.elements is not None and tensor.shape else None
    items = machine.iterate(given)
    return None if isinstance(items, Unknown) else [size_of(each) for each in items]


def _between(size: int | None, number: int | None, indices: list[int | None] | None) -> Sequence[int | None] | None:
    """Sizes of so many parts, nearly alike, or of those between indices."""
    if number is not None:
        if number < 1 or number > MAX_LOOP_ITERATIONS:
            return None
        return [None] * number if size is None else [size // number + (i < size % number) for i in range(number)]
    if indices is None:
        return None
    bounds = [0, *indices, size]
    pairs = itertools.pairwise(bounds)
    return [None if size is None or a is None or b is None else sliced(size, a, b, None) for a, b in pairs]


def _parts(machine: Machine, source: TensorObject, place: int, sizes: Sequence[int | None]) -> Value:
    """One after the other."""
    assert source.shape is not None
    parts: list[Value] = []
    known = [size for size in sizes if size is not None]
    start = 0 if len(known) == len(sizes) and sum(known) == source.shape[place] else None
    for length in sizes:
        end = None if start is None or length is None else start + length
        is_kept = source.elements is not None and start is not None and end is not None
        elements = _along(source, place, range(start, end)) if is_kept else None  # type: ignore[arg-type]
        parts.append(like(machine, source, replaced(source.shape, place, length), elements))
        start = end
    return TupleValue(tuple(parts))


def _too_many(machine: Machine, parts: int) -> Unknown | None:
    """Why a tensor is not split into so many parts, each of which would be an object of its own.

    Raises:
        LimitError: the memory that they take is used up.
    """
    parts = witness_of(parts)
    if parts > MAX_LOOP_ITERATIONS:
        return machine.unknown(Reached(f"a loop of more than {MAX_LOOP_ITERATIONS} turns"))
    machine.makes(ITEMS_OF_A_PART * parts)
    return None


def _along(source: TensorObject, place: int, taken: Sequence[int]) -> tuple[Number, ...] | None:
    """The elements at these indices of one dimension."""
    if source.elements is None or source.shape is None or len(taken) > (source.shape[place] or 0):
        return None
    every: list[Sequence[int]] = [range(size or 0) for size in source.shape]
    every[place] = taken
    return _gathered(source, every)


@models("torch.meshgrid")
def meshgrid(arguments: Arguments, machine: Machine) -> Value:
    """One tensor per axis, "ij" unless indexing="xy"."""
    given = arguments.positional
    if len(given) == 1 and tensor_of(machine, given[0]) is None:
        items = machine.iterate(given[0])
        if isinstance(items, Unknown):
            return items
        given = tuple(items)
    tensors = [tensor_of(machine, value) or TensorObject(None, None) for value in given]
    sizes = [count(tensor.shape) for tensor in tensors]
    indexing = arguments.named("indexing", Constant("ij"))
    if indexing != Constant("ij") and len(sizes) > 1:
        first, second = (sizes[1], sizes[0]) if indexing == Constant("xy") else (None, None)
        sizes[:2] = [first, second]
    return TupleValue(tuple(made(machine, tuple(sizes), tensor.dtype) for tensor in tensors))


@models("torch.broadcast_tensors", "torch.broadcast_shapes")
def broadcast_all(arguments: Arguments, machine: Machine) -> Value:
    shapes: list[Shape | None] = []
    for value in arguments.positional:
        tensor = tensor_of(machine, value)
        shapes.append(tensor.shape if tensor is not None else shape_argument(machine, (value,)))
    joined: Shape | None = ()
    for shape in shapes:
        joined = broadcast(joined, shape)
    if arguments.function.endswith("shapes"):
        return shape_value(joined, machine)
    tensors = [tensor_of(machine, value) for value in arguments.positional]
    found: list[Value] = []
    for tensor, source in zip(tensors, arguments.positional, strict=True):
        is_same = tensor is not None and tensor.shape is not None and joined is not None and None not in joined
        is_same = is_same and tensor is not None and same_sizes(tensor.shape, joined)
        each = source if is_same else made(machine, joined, tensor.dtype if tensor else None)
        share(machine, each, source)
        found.append(each)
    return TupleValue(tuple(found))


# ---- parts -----------------------------------------------------------------------------------------------------------


@models(f"{TENSOR}.__getitem__")
def get_item(arguments: Arguments, machine: Machine) -> Value:
    source, key = source_of(arguments, machine), arguments.positional[1]
    keys = [_as_number(machine, each) for each in keys_of(machine.state, key)]
    if source.shape is None:
        found = like(machine, source, None)
    elif any(isinstance(each, Address) or type(getattr(each, "value", None)) is range for each in keys):
        found = like(machine, source, *by_indices(machine, source, keys))
    else:
        found = like(machine, source, shape_at(machine, source.shape, keys), _elements_at(source, keys))
    is_view = gives_view(machine.state, keys)
    if is_view is not False:
        share(machine, found, arguments.positional[0])
    if is_view:
        mark(machine, found, arguments)
    return found


def _as_number(machine: Machine, key: Value) -> Value:
    """A tensor of one whole number, without dimensions, is that number."""
    tensor = tensor_of(machine, key) if gives_view(machine.state, [key]) else None
    return key if tensor is None or not tensor.elements else Constant(int(tensor.elements[0]))


def _elements_at(source: TensorObject, keys: list[Value]) -> tuple[Number, ...] | None:
    """The elements of `x[keys]`, where the keys are known integers and slices."""
    taken = indices_of(source, keys) if source.elements is not None else None
    return _gathered(source, taken) if taken is not None else None


def indices_of(source: TensorObject, keys: list[Value]) -> list[Sequence[int]] | None:
    """The indices of each dimension that `x[keys]` takes; None where the keys are not known integers and slices: how
    many there are in a slice of open size is not asked for the sake of elements."""
    shape = source.shape
    if shape is None or any(size is None for size in shape):
        return None
    keys = [key for key in keys if key != NONE]
    if Constant(...) not in keys:
        keys.append(Constant(...))
    place = keys.index(Constant(...))
    whole = [SliceValue(NONE, NONE, NONE)] * (len(shape) - len(keys) + 1)
    taken: list[Sequence[int]] = []
    for key, size in zip([*keys[:place], *whole, *keys[place + 1 :]], shape, strict=True):
        index = size_of(key)
        bounds = (key.lower, key.upper, key.step) if isinstance(key, SliceValue) else ()
        if index is not None and type(key) is Constant and not isinstance(key.value, bool):
            taken.append([index % (size or 1)])
        elif bounds and all(isinstance(bound, Constant) and not is_open(bound.value) for bound in bounds):
            taken.append(range(size or 0)[slice(*(bound.value for bound in bounds if isinstance(bound, Constant)))])
        else:
            return None
    return taken


def _gathered(source: TensorObject, taken: Sequence[Sequence[int]]) -> tuple[Number, ...] | None:
    """The elements at these indices of each dimension."""
    if source.elements is None or source.shape is None:
        return None
    steps = strides([size or 0 for size in source.shape])
    return tuple(
        source.elements[sum(i * step for i, step in zip(index, steps, strict=True))]
        for index in itertools.product(*taken)
    )


def shape_at(machine: Machine, shape: Shape, keys: list[Value]) -> Shape | None:
    """The shape after `x[keys]`: ints, slices, None, an ellipsis; unknown with tensors or lists as indices."""
    used = sum(1 for key in keys if key not in (NONE, Constant(...)) and type(getattr(key, "value", None)) is not bool)
    if not all(isinstance(key, (Constant, SliceValue)) for key in keys):
        return None
    if used > len(shape):
        raise machine.raises("IndexError", f"too many indices for tensor of dimension {len(shape)}")
    result: list[int | None] = []
    position = 0
    for key in keys:
        if key == NONE:
            result.append(1)
            continue
        if key == Constant(...):
            skipped = len(shape) - used
            result.extend(shape[position : position + skipped])
            position += skipped
            continue
        size = shape[position]
        position += 1
        if isinstance(key, SliceValue):
            result.append(slice_length(key, size))
        elif isinstance(key, Constant) and isinstance(key.value, int) and not isinstance(key.value, bool):
            if size is not None and not -size <= key.value < size:
                raise machine.raises("IndexError", f"index {key.value} is out of bounds for dimension of size {size}")
        else:
            return None
    return (*result, *shape[position:])


@models(f"{TENSOR}.__iter__")
def iterate(arguments: Arguments, machine: Machine) -> Value:
    """As torch/_tensor.py has it: over what `unbind(0)` gives."""
    source = source_of(arguments, machine)
    if source.shape == ():
        raise machine.raises("TypeError", "iteration over a 0-d tensor")
    parts = None
    if source.shape and source.shape[0] is not None:
        parts = machine.call(KnownFunction(f"{TENSOR}.unbind"), (arguments.positional[0],), where=arguments.where)
    iterator = IteratorObject(list(parts.items) if isinstance(parts, TupleValue) else [])
    if not isinstance(parts, TupleValue):
        unknown = machine.unknown("the size of a tensor is not known")
        iterator.open = parts if isinstance(parts, Unknown) else unknown
    return machine.allocate(iterator)


@views(*both("narrow", "select", "index_select", "gather", "diagonal", "masked_select", "take"))
def part(arguments: Arguments, machine: Machine) -> Value:
    source, name = source_of(arguments, machine), last_name(arguments.function)
    if name == "diagonal":
        return like(machine, source, _of_diagonal(arguments, machine, source.shape))
    dim = arguments.get(1, "dim", NONE)
    place = dimension(machine, dim, len(source.shape)) if source.shape is not None and name in _BY_DIM else None
    if source.shape is None or place is None:
        return made(machine, None, source.dtype)
    if name == "select":
        return like(machine, source, (*source.shape[:place], *source.shape[place + 1 :]))
    if name == "narrow":
        first, length = (size_of(arguments.get(i, key, NONE)) for i, key in ((2, "start"), (3, "length")))
        held = source.shape[place]
        if held is not None and first is not None and length is not None and first >= 0 and first + length > held:
            message = f"start ({first}) + length ({length}) exceeds dimension size ({held})"
            raise machine.raises("RuntimeError", message)
        return like(machine, source, replaced(source.shape, place, length))
    index = tensor_of(machine, arguments.get(2, "index", NONE))
    if name == "gather":
        return like(machine, source, index.shape if index is not None else None)
    if source.shape == ():
        return like(machine, source, (), source.elements)
    return like(machine, source, replaced(source.shape, place, count(index.shape) if index is not None else None))


def _of_diagonal(arguments: Arguments, machine: Machine, shape: Shape | None) -> Shape | None:
    """The other dimensions, and the diagonal of two as the last one."""
    numbers = [size_of(arguments.get(1, "offset", Constant(0)))]
    for at, default in enumerate((0, 1)):
        dim = arguments.get(2 + at, f"dim{at + 1}", Constant(default))
        numbers.append(dimension(machine, dim, len(shape)) if shape is not None else None)
    offset, one, other = numbers
    if shape is None or one is None or other is None:
        return None
    rows, columns, length = shape[one], shape[other], None
    if same(rows, columns) and offset == 0:
        length = rows
    elif offset is not None and rows is not None and columns is not None:
        length = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    return (*(size for place, size in enumerate(shape) if place not in (one, other)), length)


_BY_DIM = ("narrow", "select", "index_select", "gather")


@models(*both("topk"))
def top(arguments: Arguments, machine: Machine) -> Value:
    source, wanted = source_of(arguments, machine), size_of(arguments.get(1, "k", NONE))
    place = dimension(machine, arguments.get(2, "dim", Constant(-1)), len(source.shape)) if source.shape else None
    held = source.shape[place] if source.shape is not None and place is not None else None
    if held is not None and wanted is not None and not 0 <= wanted <= held:
        raise machine.raises("RuntimeError", f"selected index k out of range: {wanted} of {held}")
    shape = replaced(source.shape, place, wanted) if source.shape is not None and place is not None else None
    return TupleValue((like(machine, source, shape), made(machine, shape, "int64")), PAIR)


@models(*both("unique"))
def distinct(arguments: Arguments, machine: Machine) -> Value:
    """Sorted; with the place of each in the input, and how often each stands there, where these are asked for."""
    source = source_of(arguments, machine)
    inverse = machine.truth(arguments.get(2, "return_inverse", FALSE))
    counts = machine.truth(arguments.get(3, "return_counts", FALSE))
    if inverse is None or counts is None:
        return data_unknown(machine, arguments.function, "what unique() gives is not known")
    found, known = collections.Counter(source.elements or ()), source.elements is not None
    known = known and arguments.get(4, "dim", NONE) == NONE
    values = sorted(found)
    shape = (len(values),) if known else None

    def result(shape: Shape | None, dtype: str | None, elements: Sequence[Number]) -> Value:
        return made(machine, shape, dtype, kept(elements, dtype)) if known else made(machine, None, dtype)

    results = [result(shape, source.dtype, values)]
    if inverse:
        results.append(result(source.shape, "int64", [values.index(each) for each in source.elements or ()]))
    if counts:
        results.append(result(shape, "int64", [found[each] for each in values]))
    return TupleValue(tuple(results)) if len(results) > 1 else results[0]


@models(*both("unique_consecutive"))
def distinct_neighbours(arguments: Arguments, machine: Machine) -> Value:
    """How many there are depends on the elements."""
    source = source_of(arguments, machine)
    asked = [
        machine.truth(arguments.get(1 + i, f"return_{name}", FALSE)) for i, name in enumerate(("inverse", "counts"))
    ]
    if None in asked:
        return data_unknown(machine, arguments.function, "what unique_consecutive() gives is not known")
    rank = None if source.shape is None else len(source.shape)
    whole = arguments.get(3, "dim", NONE) == NONE
    shape: Shape | None = (None,) if whole else (None,) * rank if rank and arguments.open is None else None
    results = [made(machine, shape, source.dtype)]
    results += [made(machine, None, "int64") for each in asked if each]
    return TupleValue(tuple(results)) if len(results) > 1 else results[0]


@models(*both("diff"))
def differences(arguments: Arguments, machine: Machine) -> Value:
    """Of neighbours along a dimension, one less than there are, so many times; further ones may be put around it."""
    source = source_of(arguments, machine)
    steps, dim = size_of(arguments.get(1, "n", Constant(1))), arguments.get(2, "dim", Constant(-1))
    around = [each for i, name in ((3, "prepend"), (4, "append")) if (each := arguments.get(i, name, NONE)) != NONE]
    if steps == 0:
        return like(machine, source, source.shape)
    place = dimension(machine, dim, len(source.shape)) if source.shape else None
    if source.shape is None or place is None or steps is None:
        return made(machine, None, source.dtype)
    size, elements = source.shape[place], None
    for tensor in (tensor_of(machine, value) for value in around):
        more = tensor.shape if tensor is not None else None
        longer = None if more is None else more[place] if more else 1
        size = None if size is None or longer is None else size + longer
    size = None if size is None else size - steps + 1
    if source.elements is not None and len(source.shape) == 1 and steps == 1 and not around:
        pairs = itertools.pairwise(source.elements)
        elements = kept([after - before for before, after in pairs], source.dtype)
    return like(machine, source, replaced(source.shape, place, None if size is None else max(size - 1, 0)), elements)
