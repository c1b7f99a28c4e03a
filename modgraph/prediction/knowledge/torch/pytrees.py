"""torch.utils._pytree: functions that are called for each leaf of nested containers.

Its source asks a registry that importing torch fills. Here, tuples, lists and dicts of Python's own are nodes, and
tensors and plain values are leaves, None among them; what else may be a node that was registered is not followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.limits import MAX_VALUE_SIZE
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import DictObject, ListObject, TensorObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import Address, Constant, Device, Dtype, KnownClass, TupleValue, Value
from modgraph.prediction.paths import recording

_TREES = "torch.utils._pytree"
_OTHERS = ("tree_all", "tree_any", "tree_flatten", "tree_iter", "tree_map_", "tree_map_only_", "tree_structure")
_LISTS = KnownClass("builtins.list")
_DICTS = (KnownClass("builtins.dict"), KnownClass("collections.OrderedDict"))
_MOST_DEEP = 20


class _OtherNodeError(Exception):
    """Something in the tree may be a node that is not known here."""


def _branches(machine: Machine, value: Value) -> list[Value] | None:
    """The values of a node, in order; None for a leaf.

    Raises:
        _OtherNodeError: it may be either.
    """
    if isinstance(value, TupleValue) and value.cls is None:
        return list(value.items)
    item = machine.state.read(value) if isinstance(value, Address) else None
    if isinstance(item, ListObject) and item.cls == _LISTS and item.open is None:
        return list(item.items)
    if isinstance(item, DictObject) and item.cls in _DICTS and item.open is None and item.unsure is None:
        return list(item.entries.values())
    if isinstance(item, TensorObject) or isinstance(value, (Constant, Dtype, Device)):
        return None
    raise _OtherNodeError


def _leaves(machine: Machine, value: Value, depth: int = 0) -> Iterator[Value]:
    found = _branches(machine, value) if depth <= _MOST_DEEP else None
    if found is None:
        yield value
        return
    for each in found:
        yield from _leaves(machine, each, depth + 1)


def _mapped(machine: Machine, value: Value, function: Callable[[Value], Value]) -> Value:
    """The same tree of what the function gives for each leaf."""
    found = _branches(machine, value)
    if found is None:
        return function(value)
    new = [_mapped(machine, each, function) for each in found]
    if isinstance(value, TupleValue):
        return TupleValue(tuple(new))
    assert isinstance(value, Address)
    item = machine.state.read(value)
    if isinstance(item, DictObject):
        return machine.allocate(DictObject(dict(zip(item.entries, new, strict=True)), cls=item.cls))
    return machine.allocate(ListObject(new))


@models(*(f"{_TREES}.{name}" for name in ("tree_map", "tree_map_only", "tree_leaves")))
def of_tree(arguments: Arguments, machine: Machine) -> Value:
    """What is called for each leaf, or the leaves."""
    name, given = last_name(arguments.function), list(arguments.positional)
    number = {"tree_leaves": 1, "tree_map": 2}.get(name, 3)
    if len(given) != number or arguments.keywords or arguments.open is not None:
        return unfollowed(arguments, machine)
    tree = given[-1]
    try:
        leaves = list(_leaves(machine, tree))
    except _OtherNodeError:
        return unfollowed(arguments, machine)
    if len(leaves) > MAX_VALUE_SIZE:
        return unfollowed(arguments, machine)
    if name == "tree_leaves":
        return machine.allocate(ListObject(leaves))
    if name == "tree_map":
        return _mapped(machine, tree, lambda leaf: machine.call(given[0], (leaf,)))
    concerned = [machine.is_instance(leaf, given[0]) for leaf in leaves]
    if None in concerned:
        return unfollowed(arguments, machine)
    answers = iter(concerned)
    return _mapped(machine, tree, lambda leaf: machine.call(given[1], (leaf,)) if next(answers) else leaf)


@models(*(f"{_TREES}.{name}" for name in (*_OTHERS, "tree_unflatten")))
def unfollowed(arguments: Arguments, machine: Machine) -> Value:
    """What is a leaf is not known; functions that are given are called any number of times."""
    why = machine.unknown(f"{arguments.function} is not followed")
    machine.expose([*arguments.positional, *arguments.keywords.values()], why)
    if machine.is_recording:
        recording.lost(machine, why)
    return why
