"""Methods of list, tuple, range, deque, set and frozenset."""

from __future__ import annotations

from collections.abc import Callable

from modgraph.names import last_name
from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.limits import MAX_VALUE_SIZE
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import DictObject, IteratorObject, ListObject, SetObject
from modgraph.prediction.domain.registry import Model, known_class, models
from modgraph.prediction.domain.values import (
    FALSE,
    NONE,
    NOT_IMPLEMENTED,
    Address,
    Choice,
    Constant,
    KnownClass,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.knowledge.stdlib.iteration import index_of, prefix_of
from modgraph.prediction.knowledge.stdlib.sorting import of_unknown
from modgraph.prediction.knowledge.stdlib.sorting import sort as in_order
from modgraph.prediction.python import classes, exceptions, hashing, persistence, unordered
from modgraph.prediction.python.comparison import same_item
from modgraph.prediction.python.plain import number_unknown
from modgraph.source.reached import Reached

DEQUE = "collections.deque"
known_class(DEQUE)


def _names(*methods: str, of: tuple[str, ...] = ("builtins.list", DEQUE)) -> tuple[str, ...]:
    return tuple(f"{cls}.{method}" for cls in of for method in methods)


def _list(machine: Machine, arguments: Arguments, grows: bool = False) -> tuple[Address, ListObject]:
    """The receiver, and its object to change; `grows` where it changes at its end alone."""
    address = arguments.positional[0]
    assert isinstance(address, Address)
    item = machine.state.change(address, ListObject)
    if item.open is not None and not grows:
        unordered.forget(item)
    return address, item


def _opened(machine: Machine, address: Address, keep: int, reason: str, *causes: Value) -> None:
    """From item `keep` on, the list is not known."""
    items = machine.state.change(address, ListObject)
    items.open = points_to.read(machine, items.open or machine.unknown(reason, *causes), [*items.items[keep:], *causes])
    del items.items[keep:]


_LONGEST = "maxlen"
"""Attribute of a deque that was given one."""


def _cut(machine: Machine, address: Address, first: bool = True) -> None:
    """Of a deque that may not be so long, drops what it drops: the first ones, or the last."""
    item = machine.state.find(address, ListObject)
    longest = item.attributes.get(_LONGEST, NONE) if item is not None else NONE
    if item is None or longest == NONE:
        return
    size = index_of(longest)
    if size is None or item.open is not None:
        _opened(machine, address, 0, "how long a deque may be is not known", *([longest] if size is None else []))
    elif len(item.items) > size:
        target = machine.state.change(address, ListObject)
        target.items = target.items[len(target.items) - size :] if first else target.items[:size]


def _bounded(*names: str) -> Callable[[Model], Model]:
    """Registers a method by which a list or deque grows."""

    def register(model: Model) -> Model:
        def grow(arguments: Arguments, machine: Machine) -> Value:
            result = model(arguments, machine)
            address = arguments.positional[0]
            if isinstance(address, Address):
                _cut(machine, address, first="left" not in arguments.function)
            return result

        models(*names)(grow)
        return model

    return register


@_bounded("builtins.list.__init__", f"{DEQUE}.__init__")
def initialise(arguments: Arguments, machine: Machine) -> Value:
    _, target = _list(machine, arguments)
    longest = arguments.get(2, _LONGEST, NONE)
    if longest != NONE:
        target.attributes[_LONGEST] = longest
    if len(arguments.positional) > 1:
        target.items, target.open = prefix_of(machine, arguments.positional[1])
    return NONE


@models(DEQUE)
def deque(arguments: Arguments, machine: Machine) -> Value:
    first, why = prefix_of(machine, arguments.positional[0]) if arguments.positional else ([], None)
    longest = arguments.get(1, _LONGEST, NONE)
    address = machine.allocate(
        ListObject(first, why, KnownClass(DEQUE), {} if longest == NONE else {_LONGEST: longest})
    )
    _cut(machine, address)
    return address


@_bounded(*_names("append"))
def append(arguments: Arguments, machine: Machine) -> Value:
    _, target = _list(machine, arguments, grows=True)
    if target.open is None:
        target.items.append(arguments.positional[1])
    else:
        unordered.grow(target, [arguments.positional[1]])
        target.open = points_to.either_of(target.open, arguments.positional[1:])
    return NONE


@_bounded(*_names("extend", "__iadd__"))
def extend(arguments: Arguments, machine: Machine) -> Value:
    first, why = prefix_of(machine, arguments.positional[1])
    address, target = _list(machine, arguments, grows=why is None)
    if len(target.items) + len(first) > MAX_VALUE_SIZE:
        target.open = target.open or machine.unknown(Reached(f"a list of more than {MAX_VALUE_SIZE} items"))
    elif target.open is None:
        target.items.extend(first)
        target.open = why
    else:
        unordered.grow(target, first)
        target.open = points_to.either_of(target.open, first if why is None else [*first, why])
    return address if arguments.function.endswith("__iadd__") else NONE


@_bounded(f"{DEQUE}.appendleft", f"{DEQUE}.extendleft")
def append_left(arguments: Arguments, machine: Machine) -> Value:
    address, target = _list(machine, arguments)
    if arguments.function.endswith("appendleft"):
        target.items.insert(0, arguments.positional[1])
        return NONE
    first, why = prefix_of(machine, arguments.positional[1])
    target.items[:0] = first[::-1]
    if why is not None:
        _opened(machine, address, 0, "a deque was extended by something not known", why)
    return NONE


@models(*_names("insert"))
def insert(arguments: Arguments, machine: Machine) -> Value:
    address, target = _list(machine, arguments)
    if _LONGEST in target.attributes:
        machine.may_refuse("IndexError")
        _opened(machine, address, 0, "what is inserted into a deque that may be full is not followed")
    index, item = index_of(arguments.positional[1]), arguments.positional[2]
    if index is None or (index < 0 and target.open is not None):
        _opened(machine, address, 0, "where an item is inserted is not known", arguments.positional[1])
    elif target.open is None or index <= len(target.items):
        target.items.insert(index, item)
    else:
        target.open = points_to.either_of(target.open, (item,))
    return NONE


@models(*_names("pop"), f"{DEQUE}.popleft")
def pop(arguments: Arguments, machine: Machine) -> Value:
    address, target = _list(machine, arguments)
    key = arguments.get(1, "index", Constant(0 if arguments.function.endswith("popleft") else -1))
    index = index_of(key)
    if index is None or (target.open is not None and not 0 <= index < len(target.items)):
        if target.open is None or not target.items:
            machine.may_refuse("IndexError")
        why = target.open or machine.unknown("which item is removed is not known", key)
        why = points_to.read(machine, why, target.items)
        _opened(machine, address, 0 if index is None else len(target.items), why.reason, why)
        return why
    if not -len(target.items) <= index < len(target.items):
        raise machine.raises("IndexError", "pop index out of range" if target.items else "pop from empty list")
    return target.items.pop(index)


@models(*_names("remove"))
def remove(arguments: Arguments, machine: Machine) -> Value:
    address, target = _list(machine, arguments)
    for position, item in enumerate(list(target.items)):
        same = _is_same(machine, item, arguments.positional[1])
        if same is None:
            others = [*target.items[position + 1 :], arguments.positional[1]]
            machine.may_be_called(others, machine.unknown("which item is removed is not known", item), ("__eq__",))
            _opened(machine, address, position, "which item is removed is not known", item)
            machine.may_refuse("ValueError")
            return NONE
        if same:
            del machine.state.change(address, ListObject).items[position]
            return NONE
    if target.open is None:
        raise machine.raises("ValueError", "list.remove(x): x not in list")
    machine.may_be_called(arguments.positional[1:], target.open, ("__eq__",))
    machine.may_refuse("ValueError")
    return NONE


@models(*_names("clear"))
def clear(arguments: Arguments, machine: Machine) -> Value:
    _, target = _list(machine, arguments)
    target.items, target.open = [], None
    return NONE


@models(*_names("reverse"), f"{DEQUE}.rotate")
def reverse(arguments: Arguments, machine: Machine) -> Value:
    address, target = _list(machine, arguments)
    if target.open is not None:
        _opened(machine, address, 0, "", target.open)
    elif arguments.function.endswith("rotate"):
        steps = index_of(arguments.get(1, "n", Constant(1)))
        if steps is None:
            _opened(machine, address, 0, "how far a deque is rotated is not known", *arguments.positional[1:])
        elif target.items:
            steps %= len(target.items)
            target.items = target.items[-steps:] + target.items[:-steps]
    else:
        target.items.reverse()
    return NONE


@models("builtins.list.sort")
def sort(arguments: Arguments, machine: Machine) -> Value:

    known = unordered.elements(machine, arguments.positional[0])
    address, target = _list(machine, arguments)
    if known is not None:
        target.items, target.open = known, None
    if target.open is not None:
        of_unknown(machine, arguments, target.open)
        address, target = _list(machine, arguments)
    ordered = target.open or in_order(machine, list(target.items), arguments, known is not None)
    if isinstance(ordered, Unknown):
        _opened(machine, address, 0, ordered.reason, ordered)
    else:
        machine.state.change(address, ListObject).items = ordered
    return NONE


@models(*_names("copy", "__copy__"))
def copy(arguments: Arguments, machine: Machine) -> Value:
    _, source = _list(machine, arguments)
    kept = {name: value for name, value in source.attributes.items() if name == _LONGEST}
    return machine.allocate(ListObject(list(source.items), source.open, source.cls, kept))


@models(*_names("index", "count", of=("builtins.list", DEQUE, "builtins.tuple", "builtins.range")))
def find(arguments: Arguments, machine: Machine) -> Value:
    receiver, wanted, *bounds = arguments.positional
    counts = arguments.function.endswith("count")
    items, places = machine.iterate(receiver), [index_of(bound) for bound in bounds]
    if isinstance(items, Unknown) or None in places:
        if not counts:
            machine.may_refuse("ValueError")
        return number_unknown(machine, "a list is not known", items if isinstance(items, Unknown) else bounds[0])
    start, stop, _ = slice(*[*places, None, None][:2]).indices(len(items))
    same: list[bool | None] = []
    for item in items[start:stop]:
        same.append(_is_same(machine, item, wanted))
        if same[-1] and not counts:
            break
    if counts:
        return number_unknown(machine, "a list is not known", *items) if None in same else Constant(same.count(True))
    first = next((position for position, verdict in enumerate(same) if verdict is not False), None)
    if first is None:
        raise machine.raises("ValueError", f"{machine.string(wanted) or 'x'} is not in list")
    if True not in same:
        machine.may_refuse("ValueError")
    found = Constant(start + first)
    return number_unknown(machine, "a list is not known", *items) if same[first] is None else found


def _is_same(machine: Machine, item: Value, wanted: Value) -> bool | None:
    """As containers compare: an object is equal to itself, without being asked."""
    return True if isinstance(item, Address) and item == wanted else same_item(machine, item, wanted)


# ---- sets ------------------------------------------------------------------------------------------------------------

_SETS = ("builtins.set", "builtins.frozenset")


def _set(machine: Machine, arguments: Arguments) -> SetObject:
    address = arguments.positional[0]
    assert isinstance(address, Address)
    return machine.state.change(address, SetObject)


def _changing(*names: str) -> Callable[[Model], Model]:
    """Registers a method that changes its set; a module of whose buffers the set speaks is told."""

    def register(model: Model) -> Model:
        def change(arguments: Arguments, machine: Machine) -> Value:
            result = model(arguments, machine)
            changed = machine.state.find(arguments.positional[0], SetObject)
            if changed is not None and changed.attributes:
                persistence.write_back(machine, changed)
            return result

        models(*names)(change)
        return model

    return register


@_changing("builtins.set.add")
def add(arguments: Arguments, machine: Machine) -> Value:
    target, item = _set(machine, arguments), hashing.settled(machine, arguments.positional[1])
    hashing.asked(machine, item)
    target = _set(machine, arguments)
    if isinstance(item, (Unknown, Choice)):
        target.open = points_to.either_of(
            target.open or machine.unknown("an element of a set is not known", item), (item,)
        )
    elif item not in target.items:
        hashing.require(machine, item)
        held = False if _alike(machine, target, item) else hashing.contains(machine, target.items, item)
        if held is None:
            target.items, target.open = {}, machine.unknown("whether two elements of a set are equal is not known")
        elif not held:
            target.items[item] = None
    return NONE


def _alike(machine: Machine, target: SetObject, item: Value) -> bool:
    """A text, or an integer, among such alone, as far as the first shows: another of them is another element."""
    if machine.base.has_open_keys:
        return False
    first = next(iter(target.items), item)
    kinds = {type(each.value) for each in (first, item) if isinstance(each, Constant)}
    return isinstance(first, Constant) and isinstance(item, Constant) and len(kinds) == 1 and kinds <= {str, int}


@_changing("builtins.set.discard", "builtins.set.remove")
def discard(arguments: Arguments, machine: Machine) -> Value:
    target, item = _set(machine, arguments), hashing.settled(machine, arguments.positional[1])
    hashing.asked(machine, item)
    target = _set(machine, arguments)
    if machine.state.find(item, SetObject) is None:  # of a set, its frozen equal is looked for
        hashing.require(machine, item)
    removes = arguments.function.endswith("remove")
    if removes and (target.open is not None or isinstance(item, (Unknown, Choice))):
        machine.may_refuse("KeyError")
    if isinstance(item, (Unknown, Choice)):
        target.items, target.open = {}, target.open or machine.unknown("an element of a set is not known", item)
    elif (held := hashing.key_of(machine, target.items, item)) is not None:
        del target.items[held]
    elif removes and target.open is None:
        raise machine.raises("KeyError", exceptions.text_without_effects(machine, item) or "element", (item,))
    return NONE


@_changing("builtins.set.pop", "builtins.set.clear")
def take(arguments: Arguments, machine: Machine) -> Value:
    target = _set(machine, arguments)
    if arguments.function.endswith("clear"):
        target.items, target.open = {}, None
        return NONE
    if not target.items and target.open is None:
        raise machine.raises("KeyError", "pop from an empty set")
    if not target.items:
        machine.may_refuse("KeyError")
    why = machine.unknown("which element set.pop takes depends on hashes", *([target.open] if target.open else []))
    if len(target.items) == 1 and target.open is None:
        return target.items.popitem()[0]
    target.items, target.open = {}, why
    return why


def _members(machine: Machine, value: Value) -> tuple[dict[Value, None], Unknown | None]:
    held = machine.state.find(value, SetObject)
    if held is not None:
        return dict(held.items), held.open
    known = unordered.elements(machine, value)
    first, why = prefix_of(machine, value) if known is None else (known, None)
    if any(map(hashing.is_open_key, first)):
        elements, doubt = hashing.unique(machine, first)
        return elements, why or doubt
    return dict.fromkeys(first), why


def _is_no_set(machine: Machine, value: Value) -> bool:
    """An operator between it and a set is left to the other operand: methods by name take any iterable."""
    item = machine.state.find(value, ListObject) or machine.state.find(value, DictObject)
    of_builtins = item is not None and item.cls in (KnownClass("builtins.list"), KnownClass("builtins.dict"))
    return isinstance(value, (Constant, TupleValue)) or of_builtins


def _is_left_to_other(machine: Machine, arguments: Arguments) -> bool:
    by_operator = last_name(arguments.function).startswith("__") and not arguments.function.endswith("__init__")
    return by_operator and "dict_keys" not in arguments.function and _is_no_set(machine, arguments.positional[1])


_BINARY = {"union": "|", "intersection": "&", "difference": "-", "symmetric_difference": "^"}
_OPERATORS = {"__or__": "union", "__and__": "intersection", "__sub__": "difference", "__xor__": "symmetric_difference"}


def _combined(machine: Machine, kind: str, arguments: Arguments) -> SetObject:
    """The result of a set operation; open where an operand is."""
    items, why = _members(machine, arguments.positional[0])
    why = why or arguments.open
    for right in arguments.positional[1:]:
        others, other_why = _members(machine, right)
        why = why or other_why
        items, doubt = hashing.combined(machine, kind, items, others)
        why = why or doubt
    return SetObject({} if why is not None and kind != "union" else items, why)


@models(*_names(*_BINARY, *_OPERATORS, "copy", of=_SETS), *_names(*_OPERATORS, of=("builtins.dict_keys",)))
def combine(arguments: Arguments, machine: Machine) -> Value:
    name = last_name(arguments.function)
    kind = _OPERATORS.get(name, name)
    if name in _OPERATORS and _is_left_to_other(machine, arguments):
        return NOT_IMPLEMENTED
    held = machine.state.find(arguments.positional[0], SetObject)
    result = _combined(machine, "union" if kind == "copy" else kind, arguments)
    if held is not None:
        result.cls = classes.kind_of_set(machine, held.cls)
    return machine.allocate(result)


_UPDATES = {
    "update": "union",
    "__ior__": "union",
    "intersection_update": "intersection",
    "__iand__": "intersection",
    "difference_update": "difference",
    "__isub__": "difference",
    "symmetric_difference_update": "symmetric_difference",
    "__ixor__": "symmetric_difference",
}


@models("builtins.frozenset.__init__")
def fill_frozen(arguments: Arguments, machine: Machine) -> Value:
    """What `frozenset.__new__` does, for classes derived from it."""
    return update(arguments, machine)


@_changing(*_names(*_UPDATES, of=("builtins.set",)), "builtins.set.__init__")
def update(arguments: Arguments, machine: Machine) -> Value:
    name = last_name(arguments.function)
    if _is_left_to_other(machine, arguments):
        return NOT_IMPLEMENTED
    if name == "__init__" and (len(arguments.positional) > 2 or arguments.keywords):
        raise machine.raises("TypeError", "a set is made of one iterable")
    result = _combined(machine, _UPDATES.get(name, "union"), arguments)
    target = _set(machine, arguments)
    target.items, target.open = result.items, result.open
    return arguments.positional[0] if name.startswith("__i") and name != "__init__" else NONE


_SUBSETS = {"__le__": "issubset", "__ge__": "issuperset", "__lt__": "issubset", "__gt__": "issuperset"}


@models(*_names("issubset", "issuperset", "isdisjoint", *_SUBSETS, of=_SETS))
def compare(arguments: Arguments, machine: Machine) -> Value:
    if _is_left_to_other(machine, arguments):
        return NOT_IMPLEMENTED
    left, why = _members(machine, arguments.positional[0])
    right, other_why = _members(machine, arguments.positional[1])
    if why or other_why:
        return number_unknown(machine, "a set is not known", why or other_why or NONE)
    method = last_name(arguments.function)
    name = _SUBSETS.get(method, method)
    if method in ("__lt__", "__gt__") and len(left) == len(right):
        return FALSE
    mine, theirs = (right, left) if name == "issuperset" else (left, right)
    met = hashing.counterparts(machine, mine, theirs)
    if met is None:
        return number_unknown(machine, "whether two elements of a set are equal is not known")
    return Constant(all(each is None for each in met) if name == "isdisjoint" else None not in met)


@models("builtins.list_iterator.__iter__")
def itself(arguments: Arguments, machine: Machine) -> Value:
    return arguments.positional[0]


@models("builtins.slice.indices")
def indices(arguments: Arguments, machine: Machine) -> Value:
    from modgraph.prediction.python.plain import plain

    bounds, length = plain(machine, arguments.positional[0]), plain(machine, arguments.positional[1])
    if bounds is None or length is None:
        return machine.unknown("the bounds of a slice are not known", *arguments.positional)
    return TupleValue(tuple(Constant(bound) for bound in bounds[0].indices(length[0])))


__all__ = ["IteratorObject", "copy", "deque"]
