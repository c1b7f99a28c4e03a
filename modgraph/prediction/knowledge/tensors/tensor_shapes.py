"""What changes the shape of a tensor or asks for it: view, permute, cat, indexing, size; conversions and properties.

Elements are carried along only where their order stays (view, unsqueeze, clone, ...) or the index is simple.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from modgraph.names import last_name
from modgraph.prediction.domain.assumed import PLACED
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.limits import MAX_VALUE_SIZE
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import BELOW, GIVEN, LEAF, MAY_BE, OF_LEAF, ListObject, TensorObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.sizes import is_one
from modgraph.prediction.domain.values import (
    FALSE,
    NONE,
    TRUE,
    Address,
    Choice,
    Constant,
    Device,
    Dtype,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.knowledge.tensors import layout
from modgraph.prediction.knowledge.tensors.devices import device_of
from modgraph.prediction.knowledge.tensors.elements import Number, Shape, category, count, kept, strides
from modgraph.prediction.knowledge.tensors.tensor_memory import overwrite, share, views
from modgraph.prediction.knowledge.tensors.tensor_names import (
    ASKING,
    FUNCTIONS,
    IN_PLACE,
    IN_PLACE_FUNCTIONS,
    METHODS,
    OTHER_METHODS,
    PROPERTIES,
    SEVERAL,
    SEVERAL_METHODS,
)
from modgraph.prediction.knowledge.tensors.tensor_values import (
    PAIR,
    dimension,
    made,
    shape_argument,
    shape_value,
    size_of,
    tensor_of,
)
from modgraph.prediction.knowledge.torch.autocasting import as_usual, cast_around, is_around, may_be_cast
from modgraph.prediction.knowledge.torch.gradients import may_have_come, refuse_on_leaf, written_to
from modgraph.prediction.knowledge.torch.parameters import TENSOR
from modgraph.prediction.knowledge.torch.uncast import is_cast
from modgraph.prediction.paths import recording
from modgraph.prediction.python.counted import count as counted
from modgraph.prediction.python.plain import data_unknown, number_unknown


def both(*names: str) -> tuple[str, ...]:
    """As a method and as a function of torch."""
    return tuple(f"{owner}.{name}" for name in names for owner in (TENSOR, "torch"))


def source_of(arguments: Arguments, machine: Machine) -> TensorObject:
    """The tensor operated on; one of which nothing is known where it is none."""
    first = arguments.get(0, "input", NONE)
    return tensor_of(machine, first) or TensorObject(None, None, device=None)


def like(
    machine: Machine, source: TensorObject, shape: Shape | None, elements: tuple[Number, ...] | None = None
) -> Address:
    return made(machine, shape, source.dtype, elements, device=source.device, requires_grad=source.requires_grad)


# ---- shape as a value ------------------------------------------------------------------------------------------------


@models(f"{TENSOR}.@shape", f"{TENSOR}.size")
def size(arguments: Arguments, machine: Machine) -> Value:
    shape, dim = source_of(arguments, machine).shape, arguments.get(1, "dim", NONE)
    sizes = shape_value(shape, machine)
    if dim == NONE:
        return sizes
    place = dimension(machine, dim, len(shape)) if shape is not None else None
    if place is None or not isinstance(sizes, TupleValue):
        return number_unknown(machine, "the size of a tensor is not known")
    return sizes.items[place]


@models(f"{TENSOR}.dim", f"{TENSOR}.ndimension", f"{TENSOR}.@ndim", f"{TENSOR}.numel", f"{TENSOR}.nelement")
def measured(arguments: Arguments, machine: Machine) -> Value:
    shape, name = source_of(arguments, machine).shape, last_name(arguments.function)
    number = count(shape) if name in ("numel", "nelement") else None if shape is None else len(shape)
    return number_unknown(machine, "the shape of a tensor is not known") if number is None else Constant(number)


@models(f"{TENSOR}.__len__")
def length(arguments: Arguments, machine: Machine) -> Value:
    shape = source_of(arguments, machine).shape
    if shape == ():
        raise machine.raises("TypeError", "len() of a 0-d tensor")
    if shape is None or shape[0] is None:
        return number_unknown(machine, "the size of a tensor is not known")
    return Constant(shape[0])


@models("torch.Size.numel")
def size_elements(arguments: Arguments, machine: Machine) -> Value:
    sizes = arguments.positional[0]
    assert isinstance(sizes, TupleValue)
    if not all(isinstance(item, Constant) for item in sizes.items):
        return number_unknown(machine, "the size of a tensor is not known")
    return Constant(math.prod(item.value for item in sizes.items if isinstance(item, Constant)))


# ---- properties ------------------------------------------------------------------------------------------------------


@models(f"{TENSOR}.@dtype")
def dtype(arguments: Arguments, machine: Machine) -> Value:
    name = source_of(arguments, machine).dtype
    if name is None:
        return number_unknown(machine, "the dtype of a tensor is not known")
    return cast_around(machine, name) if may_be_cast(arguments, machine) else Dtype(name)


@models(f"{TENSOR}.@device")
def device(arguments: Arguments, machine: Machine) -> Value:
    name = place_of(arguments, machine)
    return Device(name) if name else number_unknown(machine, "the device is not known")


def place_of(arguments: Arguments, machine: Machine) -> str | None:
    """The name of the device that a tensor is on, None where that is not known. Which of those there are is for the
    caller of a model to say: that it is the processor is taken for granted, and elsewhere it is any."""
    name = source_of(arguments, machine).device
    return None if name == "cpu" and machine.asks(PLACED) else name


@models(f"{TENSOR}.@requires_grad", f"{TENSOR}.@is_leaf")
def flag(arguments: Arguments, machine: Machine) -> Value:
    source = source_of(arguments, machine)
    held = source.requires_grad
    is_open = held is None or (held is False and may_have_come(machine, source))
    if arguments.function.endswith("is_leaf") or is_open:
        return number_unknown(machine, "it is not known whether a tensor needs a gradient")
    return TRUE if held else FALSE


@models(f"{TENSOR}.@requires_grad=", f"{TENSOR}.requires_grad_")
def set_requires_grad(arguments: Arguments, machine: Machine) -> Value:
    address, wanted = arguments.positional[0], arguments.get(1, "requires_grad", TRUE)
    if isinstance(address, Address):
        tensor = machine.state.change(address, TensorObject)
        if not tensor.requires_grad:
            tensor.attributes[LEAF] = TRUE
        tensor.requires_grad = machine.truth(wanted)
    return address


@views(f"{TENSOR}.@data")
def data(arguments: Arguments, machine: Machine) -> Value:
    source = source_of(arguments, machine)
    return made(machine, source.shape, source.dtype, source.elements, device=source.device, requires_grad=False)


@models(f"{TENSOR}.@grad_fn")
def gradient_function(arguments: Arguments, machine: Machine) -> Value:
    """None of what was not computed from what needs a gradient."""
    source = source_of(arguments, machine)
    if source.requires_grad is False or source.is_parameter or LEAF in source.attributes:
        return NONE
    return number_unknown(machine, "how a tensor was computed is not followed")


@models(f"{TENSOR}.@grad")
def gradient(arguments: Arguments, machine: Machine) -> Value:
    """None of what needs none, and of what is computed: others have one after a backward pass."""
    source = source_of(arguments, machine)
    is_computed = source.requires_grad and not source.is_parameter and LEAF not in source.attributes
    if machine.is_recording and source.requires_grad is None:  # by what `forward` does, which goes no way back
        is_computed = not source.is_parameter and GIVEN not in source.attributes
    if (source.requires_grad is False or is_computed) and OF_LEAF not in source.attributes:
        return NONE
    return data_unknown(machine, "torch.Tensor.grad", "whether a tensor has a gradient is not known")


@models(f"{TENSOR}.@grad=", f"{TENSOR}.register_hook", f"{TENSOR}.retain_grad", f"{TENSOR}.backward")
def without_effect(arguments: Arguments, machine: Machine) -> Value:
    """A hook is called when gradients are computed."""
    if arguments.function.endswith(".backward"):
        source, gradient = source_of(arguments, machine), arguments.get(1, "gradient", NONE)
        if source.requires_grad is False:
            raise machine.raises("RuntimeError", "element 0 of tensors does not require grad")
        if gradient == NONE and source.shape is not None and any(type(n) is int and n != 1 for n in source.shape):
            raise machine.raises("RuntimeError", "grad can be implicitly created only for scalar outputs")
    why = machine.unknown("when gradients are computed is not known")
    machine.may_be_called(arguments.positional[1:], why, later=True)
    return NONE


_KINDS = ("cpu", "cuda", "ipu", "maia", "meta", "mps", "mtia", "vulkan", "xla", "xpu")


@models(*(f"{TENSOR}.@is_{kind}" for kind in _KINDS))
def placed(arguments: Arguments, machine: Machine) -> Value:
    name = place_of(arguments, machine)
    if not name:
        return number_unknown(machine, "the device is not known")
    return Constant(name.partition(":")[0] == arguments.function.rpartition("is_")[2])


@models(f"{TENSOR}.is_pinned", f"{TENSOR}.is_shared", *both("is_inference"))
def _memory_asked(arguments: Arguments, machine: Machine) -> Value:
    """How the memory of a tensor was come by is for the caller of a model to say."""
    return number_unknown(machine, "how the memory of a tensor was come by is not known")


@models(f"{TENSOR}.is_floating_point", f"{TENSOR}.is_complex", "torch.is_complex", f"{TENSOR}.is_contiguous")
def asked(arguments: Arguments, machine: Machine) -> Value:
    name, kind = last_name(arguments.function), source_of(arguments, machine).dtype
    if kind is None or name == "is_contiguous":
        return number_unknown(machine, "a tensor is not known")
    return Constant(("float" in kind) if name == "is_floating_point" else kind.startswith("complex"))


# ---- the same elements -----------------------------------------------------------------------------------------------


@models(*both("clone"))
@views(*both("detach"), f"{TENSOR}.contiguous", f"{TENSOR}.alias")
def duplicate(arguments: Arguments, machine: Machine) -> Value:
    """A plain tensor, also of a parameter; `detach` needs no gradient."""
    source = source_of(arguments, machine)
    if arguments.function.endswith("detach"):
        return made(machine, source.shape, source.dtype, source.elements, device=source.device, requires_grad=False)
    is_plain = "memory_format" not in arguments.keywords
    if arguments.function.endswith("contiguous"):
        if is_plain and _is_there(source):
            return arguments.positional[0]
        found = like(machine, source, source.shape, source.elements)
        return layout.set_anew(machine, found) if is_plain else found
    return like(machine, source, source.shape, source.elements)


def _is_there(source: TensorObject) -> bool:
    """`contiguous` gives the tensor itself. Where it is not known how that lies, what is given lies row by row all the
    same, so it is told as another one that may be it; of a shape that is not known, views alone are."""
    if layout.steps_of(source) is not None:
        return layout.is_row_by_row(source)
    return (source.shape is None or None in source.shape) and not source.memory and MAY_BE not in source.attributes


@models(f"{TENSOR}.cpu", f"{TENSOR}.cuda", f"{TENSOR}.pin_memory")
def moved(arguments: Arguments, machine: Machine) -> Value:
    """The tensor itself where it is there; which devices a machine has is not known."""
    source = source_of(arguments, machine)
    if arguments.function.endswith("cpu"):
        return converted(arguments, machine, source.dtype, "cpu")
    where = None if arguments.function.endswith("cuda") else source.device
    needs = source.requires_grad
    return made(machine, source.shape, source.dtype, source.elements, device=where, requires_grad=needs)


@models(f"{TENSOR}.detach_")
def detached(arguments: Arguments, machine: Machine) -> Value:
    address = arguments.positional[0]
    assert isinstance(address, Address)
    machine.state.change(address, TensorObject).requires_grad = False
    return address


@models(f"{TENSOR}.__deepcopy__")
def copied(arguments: Arguments, machine: Machine) -> Value:
    return machine.copy_deep(arguments.positional[0])


_PRECISIONS = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "bool": "bool",
}


@models(*(f"{TENSOR}.{name}" for name in _PRECISIONS))
def to_precision(arguments: Arguments, machine: Machine) -> Value:
    return converted(arguments, machine, _PRECISIONS[last_name(arguments.function)], None)


def converted(arguments: Arguments, machine: Machine, to: str | None, where: str | None) -> Value:
    """The tensor itself where nothing changes, as torch gives it back; else a new one."""
    source = source_of(arguments, machine)
    if to == source.dtype and where in (None, source.device) and to is not None:
        held = arguments.positional[0]
        given = (*arguments.positional, *arguments.keywords.values())
        if isinstance(held, Address) and any(is_around(each) or is_cast(machine, each) for each in given):
            machine.base.kept.add(held.index)
            if not any(is_around(each) or is_cast(machine, each) for each in given[1:]):
                return recording.handed_on(machine, held)
        return held
    elements = kept(source.elements, to) if source.elements is not None else None
    needs = source.requires_grad
    if needs and to is not None and category(to) < 2:
        needs = False
    found = made(machine, source.shape, to, elements, device=where or source.device, requires_grad=needs)
    if None in (to, source.dtype):  # it may be the tensor itself
        share(machine, found, arguments.positional[0])
    return found


def _one_of(value: Choice, dtype: str | None, place: str | None) -> tuple[str | None, str | None]:
    """What is known of dtype and device of what is converted to one of several: what none of these may change."""
    flags = [
        each for each in value.alternatives if isinstance(each, Constant) and isinstance(each.value, (bool, type(None)))
    ]
    others = [each for each in value.alternatives if each not in flags]
    says_dtype = any(not isinstance(each, (Device, Constant)) for each in others)
    says_place = any(not isinstance(each, Dtype) for each in others)
    return None if says_dtype else dtype, None if says_place else place


@models(f"{TENSOR}.to", f"{TENSOR}.type_as")
def to(arguments: Arguments, machine: Machine) -> Value:
    source = source_of(arguments, machine)
    wanted, where = source.dtype, source.device
    for value in map(as_usual, (*arguments.positional[1:], *arguments.keywords.values())):
        other = tensor_of(machine, value)
        if isinstance(value, Choice):
            wanted, where = _one_of(value, wanted, where)
        elif isinstance(value, Dtype):
            wanted = value.name
        elif other is not None:
            wanted, where = other.dtype, other.device
        elif isinstance(value, Device) or (isinstance(value, Constant) and isinstance(value.value, str)):
            where = device_of(machine, value)
        elif isinstance(value, Unknown):
            wanted = None if not value.inert else wanted
            where = None
    if "memory_format" in arguments.keywords:
        found = like(machine, source, source.shape, source.elements)
        machine.state.change(found, TensorObject).dtype = wanted
        share(machine, found, arguments.positional[0])
        return found
    result = converted(arguments, machine, wanted, where)
    place = 4 if len(arguments.positional) > 2 and isinstance(arguments.positional[2], Dtype) else 3
    copies = machine.truth(arguments.get(place, "copy", FALSE))
    if copies is False:
        return result
    copied = machine.call(machine.get_attribute(result, "clone"))
    if copies:
        return copied
    share(machine, copied, arguments.positional[0])  # it may be none
    return copied


_UNITS_OF_AN_ELEMENT = 4


@models(f"{TENSOR}.tolist")
def to_list(arguments: Arguments, machine: Machine) -> Value:
    source = source_of(arguments, machine)
    if source.elements is not None and source.shape is not None:
        machine.spend(_UNITS_OF_AN_ELEMENT * len(source.elements))
        return _listed(machine, list(source.elements), [size or 0 for size in source.shape])
    if source.shape is not None and len(source.shape) == 1 and source.shape[0] is not None:
        unknown = number_unknown(machine, "depends on the elements of a tensor")
        if source.shape[0] > MAX_VALUE_SIZE:
            return machine.allocate(ListObject([], unknown))
        return machine.allocate(ListObject([unknown] * source.shape[0]))
    return number_unknown(machine, "depends on the elements of a tensor")


def _listed(machine: Machine, elements: list[Number], shape: Sequence[int]) -> Value:
    if not shape:
        return Constant(elements[0])
    step = len(elements) // shape[0] if shape[0] else 0
    parts = [_listed(machine, elements[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]
    return machine.allocate(ListObject(parts))


# ---- another shape ---------------------------------------------------------------------------------------------------


@views(*both("reshape"), f"{TENSOR}.view")
def view(arguments: Arguments, machine: Machine) -> Value:
    """One size may be -1: what is left over."""
    source, rest = source_of(arguments, machine), arguments.positional[1:]
    if arguments.open is not None:
        machine.may_refuse("RuntimeError")
        return (
            like(machine, source, None)
            if not any(isinstance(each, Dtype) for each in rest)
            else made(machine, None, None)
        )
    dtype = arguments.get(1, "dtype", NONE)
    if isinstance(dtype, Dtype):
        return made(machine, None, dtype.name)
    named = arguments.keywords.get("shape", arguments.keywords.get("size"))
    wanted = shape_argument(machine, (named,) if named is not None else rest)
    if wanted is None:
        machine.may_refuse("RuntimeError")
        return like(machine, source, None)
    total = count(source.shape)
    if (total is None or None in wanted) and not _always_fits(source.shape, wanted):
        machine.may_refuse("RuntimeError")
    if [type(size) is int and size == -1 for size in wanted].count(True) > 1:
        raise machine.raises("RuntimeError", "only one dimension can be inferred")
    if -1 in wanted:
        known = [size for size in wanted if size not in (-1, None)]
        fill = None
        if type(total) is int and total == 0 and any(type(size) is int and size == 0 for size in known):
            raise machine.raises("RuntimeError", f"-1 in {list(wanted)} may be any number where there are no elements")
        if total is not None and None not in wanted and (product := math.prod(s for s in known if s is not None)):
            if total % product:
                raise machine.raises("RuntimeError", f"shape is invalid for input of size {total}")
            fill = total // product
        wanted = tuple(fill if size == -1 else size for size in wanted)
    elif total is not None and (asked_for := count(wanted)) is not None and asked_for != total:
        raise machine.raises("RuntimeError", f"shape '{list(wanted)}' is invalid for input of size {total}")
    if arguments.function.endswith("Tensor.view"):
        _require_view(machine, source, wanted)
    return like(machine, source, wanted, source.elements if count(wanted) is not None else None)


def _require_view(machine: Machine, source: TensorObject, wanted: Sequence[int | None]) -> None:
    """The elements can be shown in that shape where they are.

    Raises:
        Raised: RuntimeError, where they certainly cannot.
    """
    if layout.refuses_view(source, wanted):
        message = "view size is not compatible with input tensor's size and stride; use .reshape(...)"
        raise machine.raises("RuntimeError", message)
    if layout.may_refuse_view(source, wanted):
        machine.may_refuse("RuntimeError")
        if machine.is_recording and not machine.guards:
            recording.lost(machine, machine.unknown("whether `view` runs depends on how the tensor lies in memory"))


def _always_fits(shape: Shape | None, wanted: Sequence[int | None]) -> bool:
    """One size is what is left over, and whatever the sizes are that are not known, the others divide their product."""
    if -1 not in wanted or None in wanted:
        return False
    of_others = -math.prod(size for size in wanted if size is not None)
    return of_others == 1 or (
        shape is not None and of_others > 0 and math.prod(size for size in shape if size is not None) % of_others == 0
    )


@views(f"{TENSOR}.view_as", f"{TENSOR}.reshape_as", f"{TENSOR}.expand_as")
def as_other(arguments: Arguments, machine: Machine) -> Value:
    source, other = source_of(arguments, machine), tensor_of(machine, arguments.get(1, "other", NONE))
    shape = other.shape if other is not None else None
    if source.shape is not None and shape is not None:
        if arguments.function.endswith("expand_as"):
            shape = _spread(machine, source.shape, shape)
        elif (count(source.shape), count(shape)).count(None) == 0 and count(source.shape) != count(shape):
            message = f"shape '{list(shape)}' is invalid for input of size {count(source.shape)}"
            raise machine.raises("RuntimeError", message)
        if arguments.function.endswith("view_as"):
            _require_view(machine, source, shape)
    return like(machine, source, shape)


@views(*both("unsqueeze"))
def unsqueeze(arguments: Arguments, machine: Machine) -> Value:
    source = source_of(arguments, machine)
    place = (
        dimension(machine, arguments.get(1, "dim", NONE), len(source.shape), 1) if source.shape is not None else None
    )
    if source.shape is None or place is None:
        return like(machine, source, None)
    return like(machine, source, (*source.shape[:place], 1, *source.shape[place:]), source.elements)


@views(*both("squeeze"))
def squeeze(arguments: Arguments, machine: Machine) -> Value:
    source, dim = source_of(arguments, machine), arguments.get(1, "dim", NONE)
    if source.shape is None or (dim == NONE and None in source.shape):
        return like(machine, source, None)
    if dim == NONE:
        return like(machine, source, tuple(size for size in source.shape if size != 1), source.elements)
    is_several = isinstance(dim, TupleValue) or machine.state.find(dim, ListObject) is not None
    listed = machine.iterate(dim) if is_several else [dim]
    places = [dimension(machine, each, len(source.shape)) for each in listed] if isinstance(listed, list) else [None]
    if any(place is None or (source.shape and source.shape[place] is None) for place in places):
        return like(machine, source, None)
    kept_sizes = tuple(size for i, size in enumerate(source.shape) if i not in places or size != 1)
    return like(machine, source, kept_sizes, source.elements)


@views(*both("flatten", "ravel"))
def flatten(arguments: Arguments, machine: Machine) -> Value:
    source = source_of(arguments, machine)
    if source.shape is None:
        return like(machine, source, None)
    first = dimension(machine, arguments.get(1, "start_dim", Constant(0)), len(source.shape))
    last = dimension(machine, arguments.get(2, "end_dim", Constant(-1)), len(source.shape))
    if first is None or last is None:
        return like(machine, source, None)
    if source.shape == ():
        return like(machine, source, (1,), source.elements)
    if first == last and arguments.function.endswith("flatten"):  # `ravel` makes a view
        return arguments.get(0, "input", NONE)
    joined = count(source.shape[first : last + 1])
    return like(machine, source, (*source.shape[:first], joined, *source.shape[last + 1 :]), source.elements)


@views(*both("transpose", "swapaxes", "swapdims", "t", "permute"), f"{TENSOR}.@T", f"{TENSOR}.@mT", f"{TENSOR}.@H")
def reordered(arguments: Arguments, machine: Machine) -> Value:
    source, name = source_of(arguments, machine), last_name(arguments.function)
    if source.shape is None or arguments.open is not None:
        return like(machine, source, None)
    rank = len(source.shape)
    if name == "@H" and rank not in (0, 2):
        raise machine.raises(
            "RuntimeError", f"tensor.H is only supported on matrices (2-D tensors). Got {rank}-D tensor."
        )
    if name in ("t", "@T", "@H"):
        return _in_order(machine, source, range(rank)[::-1])
    if name == "permute":
        order = shape_argument(machine, arguments.positional[1:] or (arguments.get(1, "dims", NONE),))
        places = None if order is None else _order_of(machine, order, rank)
        return like(machine, source, None) if places is None else _in_order(machine, source, places)
    given = (
        (Constant(-2), Constant(-1))
        if name == "@mT"
        else (arguments.get(1, "dim0", NONE), arguments.get(2, "dim1", NONE))
    )
    one, other = (dimension(machine, dim, rank) for dim in given)
    if one is None or other is None:
        return like(machine, source, None)
    swapped = list(range(rank))
    swapped[one], swapped[other] = swapped[other], swapped[one]
    return _in_order(machine, source, swapped)


def _order_of(machine: Machine, order: Sequence[int | None], rank: int) -> list[int] | None:
    """The places of `permute`, counted from the front; None where one of them is not known.

    Raises:
        Raised: they are not each dimension once.
    """
    if len(order) != rank:
        raise machine.raises("RuntimeError", f"permute() of {rank} dimensions takes {rank}, not {len(order)}")
    places = [dimension(machine, Constant(place), rank) if place is not None else None for place in order]
    known = [place for place in places if place is not None]
    if len(set(known)) != len(known):
        raise machine.raises("RuntimeError", "permute(): duplicate dims are not allowed.")
    return known if len(known) == rank else None


def _in_order(machine: Machine, source: TensorObject, order: Sequence[int]) -> Value:
    """The tensor with its dimensions in that order."""
    assert source.shape is not None
    sizes = [size for size in source.shape if size is not None]
    elements = None
    if source.elements is not None and len(sizes) == len(source.shape):
        steps = strides(sizes)
        places = itertools.product(*(range(0, sizes[place] * steps[place], steps[place]) for place in order))
        elements = tuple(source.elements[sum(each)] for each in places)
    result = like(machine, source, tuple(source.shape[place] for place in order), elements)
    apart = layout.steps_of(source)
    layout.set_steps(machine, result, None if apart is None else [apart[place] for place in order])
    return result


@views(f"{TENSOR}.expand", "torch.broadcast_to", f"{TENSOR}.broadcast_to")
def expand(arguments: Arguments, machine: Machine) -> Value:
    source = source_of(arguments, machine)
    given = arguments.positional[1:] or tuple(arguments.keywords.values())
    wanted = shape_argument(machine, given) if arguments.open is None and given else None
    if wanted is None or source.shape is None:
        return like(machine, source, None)
    return like(machine, source, _spread(machine, source.shape, wanted))


def _spread(machine: Machine, shape: Shape, wanted: Shape) -> Shape:
    """What a tensor of that shape is expanded to; a size of -1 stays as it is.

    Raises:
        Raised: RuntimeError, where it does not fit.
    """
    offset = len(wanted) - len(shape)
    _require_expandable(machine, shape, wanted, offset)
    stays = [i >= offset and size is not None and size == -1 for i, size in enumerate(wanted)]
    return tuple(shape[i - offset] if stays[i] else size for i, size in enumerate(wanted))


def _require_expandable(machine: Machine, shape: Shape, wanted: Shape, offset: int) -> None:
    """Sizes of one become others, all others stay; new dimensions come first, and have sizes.

    Raises:
        Raised: it cannot be expanded so.
    """
    if offset < 0:
        message = f"the number of sizes provided ({len(wanted)}) must be greater or equal to the number of dimensions"
        raise machine.raises("RuntimeError", f"{message} in the tensor ({len(shape)})")
    for place, size in enumerate(wanted):
        held = shape[place - offset] if place >= offset else 1
        if size is None or held is None or (place >= offset and size == -1):
            continue
        if size < 0:
            message = f"The expanded size of the tensor ({size}) isn't allowed in dimension"
            raise machine.raises("RuntimeError", f"{message} {place}")
        if not is_one(held) and held != size:
            message = f"The expanded size of the tensor ({size}) must match the existing size ({held})"
            raise machine.raises("RuntimeError", f"{message} at non-singleton dimension {place}")


@models(f"{TENSOR}.repeat", *both("tile"))
def repeat(arguments: Arguments, machine: Machine) -> Value:
    source = source_of(arguments, machine)
    times = shape_argument(machine, arguments.positional[1:]) if arguments.open is None else None
    if source.shape is None or times is None:
        return like(machine, source, None)
    if len(times) < len(source.shape) and arguments.function.endswith("repeat"):
        message = "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
        raise machine.raises("RuntimeError", message)
    width = max(len(times), len(source.shape))
    sizes = (1,) * (width - len(source.shape)) + tuple(source.shape)
    factors = (1,) * (width - len(times)) + tuple(times)
    return like(machine, source, tuple(_times(a, b) for a, b in zip(sizes, factors, strict=True)))


def _times(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left * right


@models(*both("repeat_interleave"))
def repeat_interleave(arguments: Arguments, machine: Machine) -> Value:
    source, times = source_of(arguments, machine), size_of(arguments.get(1, "repeats", NONE))
    dim = arguments.get(2, "dim", NONE)
    if source.shape is None:
        return like(machine, source, None)
    if dim == NONE:
        return like(machine, source, (_times(count(source.shape), times),))
    place = dimension(machine, dim, len(source.shape))
    if place is None:
        return like(machine, source, None)
    return like(machine, source, replaced(source.shape, place, _times(source.shape[place], times)))


def replaced(shape: Shape, place: int, size: int | None) -> Shape:
    return (*shape[:place], size, *shape[place + 1 :])


@models(*both("flip", "roll", "sort", "argsort"), "torch.fliplr", "torch.flipud")
def rearranged(arguments: Arguments, machine: Machine) -> Value:
    source, name = source_of(arguments, machine), last_name(arguments.function)
    if name in ("sort", "argsort"):
        return _sorted(arguments, machine, source, name)
    return like(machine, source, source.shape)


def _sorted(arguments: Arguments, machine: Machine, source: TensorObject, name: str) -> Value:
    """A row of numbers that are known is sorted; of any row, all places are there once."""
    is_row, held = source.shape is not None and len(source.shape) == 1, source.elements
    backwards = machine.truth(arguments.get(2, "descending", FALSE))
    numbers: tuple[Number, ...] | None = None
    where: tuple[Number, ...] | None = None
    if is_row and held is not None and backwards is not None and not any(map(math.isnan, held)):
        counted(machine, len(held))
        order = sorted(range(len(held)), key=lambda at: held[at], reverse=backwards)
        numbers = tuple(held[at] for at in order)
        where = (
            tuple(order) if len(set(held)) == len(held) else None
        )  # which of two equals is first, torch does not say
    places = made(machine, source.shape, "int64", where)
    if is_row and where is None and source.shape and source.shape[0] is not None:
        machine.state.change(places, TensorObject).attributes[BELOW] = Constant(source.shape[0])
    return places if name == "argsort" else TupleValue((like(machine, source, source.shape, numbers), places), PAIR)


def _unknown_shape(arguments: Arguments, machine: Machine) -> Value:
    return made(machine, None, None)


views(*both("cross"))(_unknown_shape)
views(*(f"torch.{name}" for name in FUNCTIONS), *(f"{TENSOR}.{name}" for name in METHODS))(_unknown_shape)


@models(*(f"torch.{name}" for name in SEVERAL), *(f"{TENSOR}.{name}" for name in SEVERAL_METHODS))
def several(arguments: Arguments, machine: Machine) -> Value:
    name = last_name(arguments.function)
    return data_unknown(machine, f"torch.{name}", f"what {name}() gives is not modelled")


@models(*(f"torch.{name}" for name in ASKING))
def said_of_tensor(arguments: Arguments, machine: Machine) -> Value:
    return number_unknown(machine, f"what {last_name(arguments.function)}() says is not modelled")


@models(*(f"{TENSOR}.{name}" for name in IN_PLACE), *(f"torch.{name}" for name in IN_PLACE_FUNCTIONS))
def changed(arguments: Arguments, machine: Machine) -> Value:
    """The tensor itself; what it holds is not followed. Shapes are changed in `tensor_resizing.py`."""
    address = arguments.positional[0]
    refuse_on_leaf(machine, address)
    written_to(machine, address, (*arguments.positional[1:], *arguments.keywords.values()))
    overwrite(machine, address)
    return address


def _not_modelled(arguments: Arguments, machine: Machine) -> Value:
    name = last_name(arguments.function)
    return data_unknown(machine, f"torch.Tensor.{name}", f"Tensor.{name.removeprefix('@')} is not modelled")


models(*(f"{TENSOR}.{name}" for name in OTHER_METHODS), *(f"{TENSOR}.@{name}" for name in PROPERTIES))(_not_modelled)
