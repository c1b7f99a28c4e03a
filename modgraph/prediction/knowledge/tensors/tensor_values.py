"""Between tensors and the values around them: sizes as arguments, shapes as values, new tensors on the heap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import DERIVED, LEAF, ListObject, Sizes, TensorObject
from modgraph.prediction.domain.registry import Model, known_class, models
from modgraph.prediction.domain.sizes import same, same_sizes, whole
from modgraph.prediction.domain.values import (
    SIZE,
    TRUE,
    Address,
    Choice,
    Constant,
    Dtype,
    EnumMember,
    KnownClass,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.knowledge.tensors.elements import (
    FLOATS,
    MAX_RANK,
    Number,
    Shape,
    category,
    is_refused,
    is_size,
)
from modgraph.prediction.knowledge.torch.autocasting import may_cast
from modgraph.prediction.knowledge.torch.gradients import are_recorded
from modgraph.prediction.paths.shared_memory import current
from modgraph.prediction.python.bounds import is_long_range
from modgraph.prediction.python.counted import count
from modgraph.prediction.python.plain import number_unknown

PAIR = KnownClass("torch.return_types._Pair")
"""What max, sort, topk and kin give: values and indices."""
_NAMED = (
    *(("Q", "R"), ("U", "S", "Vh"), ("U", "S", "V"), ("eigenvalues", "eigenvectors"), ("sign", "logabsdet")),
    *(
        ("inverse", "info"),
        ("L", "info"),
        ("min", "max"),
        ("mantissa", "exponent"),
        ("hist", "bin_edges"),
        ("a", "tau"),
    ),
    *(
        ("solution", "residuals", "rank", "singular_values"),
        ("P", "L", "U"),
        ("LU", "pivots"),
        ("LU", "pivots", "info"),
    ),
    ("result", "info"),
)
"""Names of what functions of torch give that give several tensors."""


def _class_of(names: Sequence[str]) -> KnownClass:
    return KnownClass(f"torch.return_types._{'_'.join(names)}")


def named_parts(names: Sequence[str], parts: Iterable[Value]) -> TupleValue:
    """A tuple of torch.return_types, of names that stand in the list."""
    return TupleValue(tuple(parts), _class_of(names))


def _part(place: int) -> Model:
    def part(arguments: Arguments, machine: Machine) -> Value:
        held = arguments.positional[0]
        assert isinstance(held, TupleValue)
        return held.items[place]

    return part


for _class, _names in ((PAIR, ("values", "indices")), *((_class_of(each), each) for each in _NAMED)):
    known_class(_class.name, "builtins.tuple")
    for _place, _name in enumerate(_names):
        models(f"{_class.name}.@{_name}")(_part(_place))


def tensor_of(machine: Machine, value: Value) -> TensorObject | None:
    """The tensor behind a value, to look at; None where it is none. Of one of several, what they have in common."""
    if type(value) is Choice:
        return _common(machine, value)
    tensor = machine.state.find(value, TensorObject)
    return tensor if tensor is None or not tensor.memory else current(machine.state, tensor)


def _common(machine: Machine, value: Choice) -> TensorObject | None:
    """What is certain of one of several tensors; None where one of them is none, or is of a class of its own."""
    found = [tensor_of(machine, each) for each in value.alternatives]
    tensors = [tensor for tensor in found if tensor is not None and tensor.cls is None]
    if not tensors or len(tensors) != len(found):
        return None
    shapes = [tensor.shape for tensor in tensors]
    known = [each for each in shapes if each is not None]
    shape: Shape | None = None
    if len(known) == len(shapes) and len(set(map(len, known))) == 1:
        columns = zip(*known, strict=True)
        shape = tuple(sizes[0] if all(same(sizes[0], each) for each in sizes) else None for sizes in columns)
    if not all(same_sizes(shapes[0], each) for each in shapes):
        machine.may_fail("RuntimeError")  # torch may refuse one of them
    dtypes, devices = {tensor.dtype for tensor in tensors}, {tensor.device for tensor in tensors}
    needs = {tensor.requires_grad for tensor in tensors}
    return TensorObject(
        shape,
        dtypes.pop() if len(dtypes) == 1 else None,
        requires_grad=needs.pop() if len(needs) == 1 else None,
        device=devices.pop() if len(devices) == 1 else None,
    )


DEFAULT_DTYPE = ("torch", "<default dtype>")
"""Where a state keeps what torch.set_default_dtype was given."""


def default_float(machine: Machine) -> str | None:
    """torch.get_default_dtype(); None where it is not known."""
    found = machine.state.bound(DEFAULT_DTYPE) or Dtype("float32")
    return found.name if isinstance(found, Dtype) else None


def made(
    machine: Machine,
    shape: Shape | None,
    dtype: str | None,
    elements: tuple[Number, ...] | None = None,
    *,
    device: str | None = DERIVED,
    requires_grad: bool | None = None,
    asked: bool = False,
) -> Address:
    """A new tensor; `asked` to need a gradient, where it is not computed from others that do. What is not said comes of
    those that it is computed from, where it is the result of a function; see `devices.settle`."""
    if requires_grad and not asked:
        requires_grad = False if dtype is not None and category(dtype) < 2 else are_recorded(machine)
    elif requires_grad is None and machine.is_recording and are_recorded(machine) is False:
        requires_grad = False
    count(machine, len(elements or ()) + len(shape or ()))
    if dtype in FLOATS and may_cast(machine):
        dtype = None
    if shape is not None and len(shape) > MAX_RANK:
        elements = None
    tensor = TensorObject(shape, dtype, requires_grad=requires_grad, elements=elements, device=device)
    if asked:
        tensor.attributes[LEAF] = TRUE
    return machine.allocate(tensor)


def size_of(value: Value) -> int | None:
    """A size that is known; None where it is not."""
    value = value.value if isinstance(value, EnumMember) else value
    if isinstance(value, Constant) and isinstance(value.value, int) and is_size(value.value):
        return cast(int, whole(value.value))
    return None


def shape_argument(machine: Machine, values: Sequence[Value]) -> Shape | None:
    """The shape that `f(2, 3)`, `f((2, 3))` or `f(x.shape)` asks for; None where not even its length is known.

    Raises:
        Raised: a size is negative, or no integer.
    """
    if len(values) == 1 and not isinstance(values[0], (Constant, EnumMember)):
        if isinstance(values[0], (Unknown, Choice)):
            return None  # one size or a whole shape
        items = machine.iterate(values[0]) if tensor_of(machine, values[0]) is None else [values[0]]
        if isinstance(items, Unknown):
            return None
        values = items
    elif len(values) == 1 and isinstance(values[0], Constant) and is_long_range(values[0].value):
        return None
    elif len(values) == 1 and isinstance(values[0], Constant) and isinstance(values[0].value, range):
        values = [Constant(number) for number in values[0].value]
    sizes = tuple(_size(machine, value) for value in values)
    return Sizes(sizes, cause(values)) if None in sizes else sizes


def row_argument(machine: Machine, size: Value) -> Shape | None:
    """The shape of a tensor of one dimension that has `size` elements."""
    return Sizes((None,), size) if isinstance(size, (Unknown, Choice)) else shape_argument(machine, (size,))


def refuse_truth(machine: Machine, sizes: Sequence[Value]) -> None:
    """Of the sizes of a tensor that is made, as they are given: torch looks at the type of the first alone.

    Raises:
        Raised: TypeError, where that is True or False.
    """
    first = sizes[:1]
    if len(sizes) == 1 and isinstance(sizes[0], TupleValue):
        first = sizes[0].items[:1] if sizes[0].cls is None else ()  # those of a torch.Size are numbers
    elif len(sizes) == 1 and (held := machine.state.find(sizes[0], ListObject)) is not None:
        first = held.items[:1]
    if any(isinstance(size, Constant) and type(size.value) is bool for size in first):
        raise machine.raises("TypeError", "argument 'size' must be tuple of ints, but found element of type bool")


def refuse_overflow(machine: Machine, numbers: Iterable[Number], dtype: str | None) -> None:
    """Of numbers of Python that are put into a tensor of that dtype.

    Raises:
        Raised: RuntimeError, where the dtype does not hold one of them.
    """
    if any(is_refused(number, dtype) for number in numbers):
        raise machine.raises("RuntimeError", f"value cannot be converted to type {dtype} without overflow")


def cause(values: Sequence[Value]) -> Unknown | Choice | None:
    """The first of them that is not known."""
    return next((value for value in values if isinstance(value, (Unknown, Choice))), None)


def _size(machine: Machine, value: Value) -> int | None:
    if isinstance(value, EnumMember) and KnownClass("builtins.int") in machine.mro(value.cls):
        value = value.value
    if isinstance(value, Constant):
        if not isinstance(value.value, int):
            raise machine.raises("TypeError", f"a size must be an int, not {type(value.value).__name__}")
        return cast(int, whole(value.value)) if is_size(value.value) else None
    tensor = tensor_of(machine, value)
    if tensor is not None and tensor.elements is not None and len(tensor.elements) == 1:
        return int(tensor.elements[0])
    return None


def shape_value(shape: Shape | None, machine: Machine) -> Value:
    """A torch.Size; sizes that are not known are unknown numbers."""
    if shape is None:
        return machine.unknown("the shape of a tensor is not known")
    unknown = number_unknown(machine, "the size of a tensor is not known")
    return TupleValue(tuple(unknown if size is None else Constant(size) for size in shape), SIZE)


def dimension(machine: Machine, value: Value, rank: int, extra: int = 0) -> int | None:
    """A dimension counted from the front, of `rank` (+ `extra` for a new one); None where it is not known."""
    number = size_of(value)
    if number is None:
        return None
    bound = max(rank + extra, 1)
    if not -bound <= number < bound:
        raise machine.raises("IndexError", f"Dimension out of range (got {number})")
    return number % bound
