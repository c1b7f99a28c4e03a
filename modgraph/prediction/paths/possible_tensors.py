"""What comes of a value that is not known, and may be one of some tensors: the operation that torch runs on each of
these is told, and nothing that no run has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from modgraph.names import last_name
from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.events import Operate
from modgraph.prediction.domain.objects import PERHAPS_SEVERAL, TensorObject
from modgraph.prediction.domain.registry import lookup
from modgraph.prediction.domain.values import TRUE, Address, Unknown, Value
from modgraph.prediction.paths import recording, through_numpy

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_PERHAPS_ITSELF = frozenset(
    (
        *("to", "contiguous", "type", "type_as", "cpu", "cuda", "pin_memory", "coalesce", "to_dense", "sum_to_size"),
        *("float", "double", "half", "bfloat16", "int", "long", "short", "char", "byte", "bool"),
        *("positive", "conj", "conj_physical", "resolve_conj", "resolve_neg"),
    )
)
"""Methods of Tensor that may give the tensor itself."""
_NO_TENSOR = frozenset(
    (
        *("item", "tolist", "equal", "allclose", "has_names", "q_scale", "q_zero_point", "dense_dim", "sparse_dim"),
        *("dim", "ndimension", "numel", "nelement", "size", "stride", "storage_offset", "element_size", "get_device"),
        *("data_ptr", "__len__"),
    )
)
"""Those that give a number, or a list of such, as all do that ask whether it `is_` something."""
_SEVERAL = frozenset(
    (
        *("split", "chunk", "unbind", "split_with_sizes", "tensor_split", "hsplit", "vsplit", "dsplit", "unsafe_chunk"),
        *("unsafe_split", "unsafe_split_with_sizes", "sort", "topk", "cummax", "cummin", "kthvalue", "mode", "aminmax"),
        *("svd", "qr", "geqrf", "frexp", "histogram", "slogdet", "lu", "lstsq", "eig", "symeig", "triangular_solve"),
    )
)
"""Those that give several tensors."""
_SEVERAL_WHERE_ASKED = frozenset(("max", "min", "median", "nanmedian", "nonzero", "unique", "unique_consecutive"))
"""Those that do with some arguments."""


def method_of_possible(machine: Machine, receiver: Unknown, name: str, arguments: Arguments) -> Value:
    """What a method gives of something that is not known, and may be one of several tensors."""
    if lookup(f"torch.Tensor.{name}") is None or name in _PERHAPS_ITSELF or name == "numpy":  # which shares its memory
        return receiver
    if name in _NO_TENSOR or name.startswith("is_"):
        return points_to.nowhere(receiver) if _tensors(machine, receiver) else receiver
    given = replace(arguments, positional=(receiver, *arguments.positional))
    is_asked = bool(arguments.positional or arguments.keywords or arguments.open is not None)
    several = name in _SEVERAL or (name in _SEVERAL_WHERE_ASKED and is_asked)
    return _computed(machine, receiver, f"torch.Tensor.{name}", given, several)


def made_of_possible(machine: Machine, found: Unknown, name: str, arguments: Arguments) -> Value:
    """What an operator makes of what is not known, and may be one of several tensors: that which torch makes of these.

    Args:
        found: what is said of it where nothing is known of the function.
    """
    held = _tensors(machine, found)
    if held is None or any(PERHAPS_SEVERAL in each.attributes for each in held.values()):  # a tuple has operators too
        return found
    return _computed(machine, found, name, arguments)


def item_of_possible(machine: Machine, found: Unknown, key: Value) -> Value:
    """What stands in something that is not known, and may be one of several tensors, or several of them."""
    given = Arguments("", (found, key))
    parts = _parts(machine, found)
    if not parts:
        return made_of_possible(machine, found, "torch.Tensor.__getitem__", given)
    others = found.may_be.difference(parts)
    opened = points_to.either_of(points_to.nowhere(found), parts.values())
    if not others:
        return opened
    whole = points_to.with_objects(points_to.nowhere(found), others)
    made = made_of_possible(machine, whole, "torch.Tensor.__getitem__", replace(given, positional=(whole, key)))
    return points_to.either_of(opened, [made])


def opened(machine: Machine, found: Unknown) -> Unknown:
    """What is read from it, by a name or one after the other: where it may be several tensors, one of these."""
    parts = _parts(machine, found)
    if not parts:
        return found
    rest = points_to.with_objects(points_to.nowhere(found), found.may_be.difference(parts))
    return points_to.either_of(rest, parts.values())


def _parts(machine: Machine, found: Unknown) -> dict[int, Value]:
    """For each that may stand for several tensors, one that stands for one of them."""
    parts: dict[int, Value] = {}
    if not machine.is_recording or found.inert:
        return parts
    for index in sorted(found.may_be):
        held = machine.state.find(Address(index), TensorObject)
        if held is not None and PERHAPS_SEVERAL in held.attributes:
            parts[index] = _made(machine)
            recording.alias(machine, parts[index], Address(index))
    return parts


def _tensors(machine: Machine, found: Unknown) -> dict[int, TensorObject] | None:
    """Those that it may be, where it may be no other object that is described; None where that is not followed."""
    if not machine.is_recording or machine.operating or found.inert or not found.may_be:
        return None
    held: dict[int, TensorObject] = {}
    for index in sorted(found.may_be):
        each = machine.state.find(Address(index), TensorObject)
        if each is None or each.cls is not None or through_numpy.is_array(each):
            return None
        held[index] = each
    return held


def _computed(machine: Machine, found: Unknown, name: str, arguments: Arguments, several: bool = False) -> Value:
    """What comes of a function that makes another tensor, or several, which are none of those that it is given."""
    called = recording.operation_of(name)
    if _tensors(machine, found) is None or called is None or recording.is_in_place(called):
        return found
    elsewhere = points_to.nowhere(found)

    def computed() -> Value:
        made = _made(machine, several)
        named = recording.named_in(arguments)
        inputs, possible = tuple(recording.given_in(machine, arguments)), recording.possible_in(machine, named)
        inputs, possible = (recording.numbers_read(last_name(called), each) for each in (inputs, possible))
        outputs = tuple(recording.seen_in(machine, made, "output"))
        where = arguments.where or machine.where
        recording.add(machine, Operate(called, inputs, outputs, where, possible=possible))
        return points_to.either_of(elsewhere, [made])

    paths: list[Callable[[], Value]] = [computed, lambda: elsewhere]
    return machine.fork(paths, found.reason)


def _made(machine: Machine, several: bool = False) -> Address:
    """A tensor of which no more is known."""
    attributes: dict[str, Value] = {PERHAPS_SEVERAL: TRUE} if several else {}
    return machine.allocate(
        TensorObject(shape=None, dtype=None, device=None, requires_grad=None, attributes=attributes)
    )
