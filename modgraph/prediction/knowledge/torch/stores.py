"""`self._modules`, `self._parameters`, `self._buffers`: dicts that write through to what the module registers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from modgraph.names import last_name
from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import InstanceObject, ModuleObject
from modgraph.prediction.domain.registry import known_class, models
from modgraph.prediction.domain.values import (
    FALSE,
    MODULE,
    NONE,
    OPEN,
    Address,
    Choice,
    Constant,
    KnownClass,
    TupleValue,
    Unknown,
    Value,
    is_optional,
)
from modgraph.prediction.knowledge.torch.walks import contents, module_of
from modgraph.prediction.paths import partial_texts
from modgraph.prediction.python import items, orders
from modgraph.prediction.python.enum_texts import text_given
from modgraph.prediction.python.registration import STORES, class_name

STORE = "torch.nn.modules.module._Store"
"""Class of what `self._modules` gives: a view that writes through to the module's store."""
known_class(STORE, "collections.abc.MutableMapping")


def _view(store: str) -> Callable[[Arguments, Machine], Value]:
    def view(arguments: Arguments, machine: Machine) -> Value:
        address, module = module_of(machine, arguments)
        if not module.initialised:
            raise machine.raises("AttributeError", f"'{class_name(module.cls)}' object has no attribute '{store}'")
        attributes: dict[str, Value] = {"module": address, "store": Constant(STORES[store])}
        return machine.allocate(InstanceObject(KnownClass(STORE), attributes))

    return view


for _store in STORES:
    models(f"{MODULE}.@{_store}")(_view(_store))


def _stored(arguments: Arguments, machine: Machine) -> tuple[Address, str, dict[str, Value]]:
    """Module, name of the store, and the store itself, to look at."""
    view = machine.state.find(arguments.positional[0], InstanceObject)
    assert view is not None
    address, store = view.attributes["module"], view.attributes["store"]
    assert isinstance(address, Address)
    assert isinstance(store, Constant)
    return address, store.value, getattr(machine.state.read(address), store.value)


def _set(machine: Machine, address: Address, store: str, key: Value, value: Value) -> None:
    if isinstance(key, Choice):

        def on_path(each: Value) -> Value:
            _set(machine, address, store, each, value)
            return NONE

        machine.distribute(key, on_path)
        return
    if isinstance(key, Constant):
        orders.put(machine, machine.state.change(address, ModuleObject), store, str(key.value), value)
    else:
        _opened(machine, address, store, key)


def _store_method(
    *names: str,
) -> Callable[[Callable[[Arguments, Machine], Value]], Callable[[Arguments, Machine], Value]]:
    """Registers a method, which is called with as many arguments as a dict takes."""

    def register(method: Callable[[Arguments, Machine], Value]) -> Callable[[Arguments, Machine], Value]:
        def checked(arguments: Arguments, machine: Machine) -> Value:
            if arguments.open is not None:
                address, store, _ = _stored(arguments, machine)
                return _opened(machine, address, store, arguments.open)
            _require_arguments(arguments, machine)
            return method(arguments, machine)

        models(*(f"{STORE}.{name}" for name in names))(checked)
        return method

    return register


_ARITY = {
    **dict.fromkeys(("__setitem__",), (2, 2)),
    **dict.fromkeys(("__delitem__", "__getitem__", "__contains__", "__ior__"), (1, 1)),
    **dict.fromkeys(("pop", "get", "setdefault"), (1, 2)),
    "update": (0, 1),
}
"""The fewest and the most arguments of a method; of the others none."""


def _require_arguments(arguments: Arguments, machine: Machine) -> None:
    method = last_name(arguments.function)
    fewest, most = _ARITY.get(method, (0, 0))
    given = len(arguments.positional) - 1
    named = 0 if method == "update" else len(arguments.keywords)
    if given > most or not fewest <= given + named <= most:
        why = f"{method}() takes {fewest} to {most} arguments, and is given {given + named}"
        raise machine.raises("TypeError", why)


@_store_method("__setitem__")
def store_set(arguments: Arguments, machine: Machine) -> Value:
    address, store, _ = _stored(arguments, machine)
    _set(machine, address, store, text_given(arguments, machine, "key"), arguments.get(2, "value", NONE))
    return NONE


@_store_method("__delitem__", "pop")
def store_delete(arguments: Arguments, machine: Machine) -> Value:
    address, store, entries = _stored(arguments, machine)
    key = text_given(arguments, machine, "key")
    default = arguments.get(2, "default", Unknown("")) if arguments.function.endswith("pop") else Unknown("")
    if isinstance(key, Choice):
        receiver, *rest = arguments.positional
        return machine.distribute(
            key, lambda each: store_delete(Arguments(arguments.function, (receiver, each, *rest[1:])), machine)
        )
    if not isinstance(key, Constant):
        return _opened(machine, address, store, key)
    if str(key.value) in entries:
        return getattr(machine.state.change(address, ModuleObject), store).pop(str(key.value))  # type: ignore[no-any-return]
    if (why := partial_texts.further(entries, str(key.value))) is not None:
        return why
    if default == Unknown(""):
        raise machine.raises("KeyError", repr(key.value), (key,))
    return default


def _opened(machine: Machine, address: Address, store: str, key: Value) -> Value:
    """An entry was set or taken out under a name that is not known: it may have been any of them."""
    why = partial_texts.named(machine.unknown("the name of an entry is not known", key), key)
    entries = getattr(machine.state.change(address, ModuleObject), store)
    absent = replace(why, optional=True, text=None)
    entries.update({name: absent for name in entries if name != OPEN and partial_texts.may_be(why, name)})
    partial_texts.open_store(entries, why)
    return partial_texts.plainly(why)


@_store_method("__getitem__", "get", "setdefault")
def store_get(arguments: Arguments, machine: Machine) -> Value:
    address, store, entries = _stored(arguments, machine)
    key, method = text_given(arguments, machine, "key"), last_name(arguments.function)
    if isinstance(key, Choice):
        receiver, _, *rest = arguments.positional
        return machine.distribute(
            key, lambda each: store_get(replace(arguments, positional=(receiver, each, *rest)), machine)
        )
    if not isinstance(key, Constant):
        return _under_unknown_name(machine, arguments, key)
    if str(key.value) in entries:
        return entries[str(key.value)]
    if (why := partial_texts.further(entries, str(key.value))) is not None:
        return why
    if method == "__getitem__":
        raise machine.raises("KeyError", repr(key.value), (key,))
    default = arguments.get(2, "default", NONE)
    if method == "setdefault":
        _set(machine, address, store, key, default)
    return default


def _under_unknown_name(machine: Machine, arguments: Arguments, key: Value) -> Value:
    """An entry, which of them is not known; or what is given for one that is not there."""
    address, store, entries = _stored(arguments, machine)
    why = partial_texts.named(machine.unknown("the name of an entry is not known", key), NONE)
    values = [held for name, held in entries.items() if name == OPEN or partial_texts.may_be(why, name)]
    method = last_name(arguments.function)
    if method == "__getitem__":
        machine.may_refuse("KeyError")
    else:
        values.append(arguments.get(2, "default", NONE))
    if method == "setdefault":
        _set(machine, address, store, key, values[-1])
    if OPEN in entries or not values:
        return points_to.read(machine, why, values)
    return items.any_of(machine, values, why)


def _open(entries: dict[str, Value]) -> Value:
    why = entries[OPEN]
    return partial_texts.plainly(why) if isinstance(why, Unknown) else why


@_store_method("__len__")
def store_length(arguments: Arguments, machine: Machine) -> Value:
    _, _, entries = _stored(arguments, machine)
    if OPEN in entries:
        return _open(entries)
    return next((each for each in entries.values() if is_optional(each)), Constant(len(entries)))


@_store_method("__contains__")
def store_contains(arguments: Arguments, machine: Machine) -> Value:
    _, _, entries = _stored(arguments, machine)
    key = text_given(arguments, machine, "key")
    if isinstance(key, Unknown) and not any(name == OPEN or partial_texts.may_be(key, name) for name in entries):
        return FALSE
    if not isinstance(key, Constant):
        return machine.unknown("the name of an entry is not known", key)
    if key.value not in entries and (why := partial_texts.further(entries, str(key.value))) is not None:
        return why
    held = entries.get(str(key.value)) if key.value in entries else None
    return held if isinstance(held, Unknown) and held.optional else Constant(held is not None)


@_store_method("__iter__", "keys", "values", "items", "copy", "__reversed__")
def store_contents(arguments: Arguments, machine: Machine) -> Value:
    address, store, _ = _stored(arguments, machine)
    return contents(machine, address, store, last_name(arguments.function))


@_store_method("update", "__ior__")
def store_update(arguments: Arguments, machine: Machine) -> Value:
    address, store, _ = _stored(arguments, machine)
    receiver, *given = arguments.positional
    for each in given:
        _add_all(machine, address, store, each)
    for name, value in arguments.keywords.items():
        _set(machine, address, store, Constant(name), value)
    return NONE if arguments.function.endswith("update") else receiver


def _add_all(machine: Machine, address: Address, store: str, given: Value) -> None:
    """The entries of a mapping, or pairs of an iterable."""
    is_mapping = machine.find_attribute(given, "keys") is not None
    items = machine.iterate(machine.call(machine.get_attribute(given, "items")) if is_mapping else given)
    if isinstance(items, Unknown):
        _opened(machine, address, store, items)
        return
    for item in items:
        pair = machine.iterate(item)
        if isinstance(pair, Unknown):
            _opened(machine, address, store, pair)
        elif len(pair) != 2:
            raise machine.raises("ValueError", f"an element of an update has {len(pair)} parts; 2 are required")
        else:
            _set(machine, address, store, pair[0], pair[1])


@_store_method("clear")
def store_clear(arguments: Arguments, machine: Machine) -> Value:
    address, store, _ = _stored(arguments, machine)
    getattr(machine.state.change(address, ModuleObject), store).clear()
    return NONE


@_store_method("popitem")
def store_pop_item(arguments: Arguments, machine: Machine) -> Value:
    address, store, entries = _stored(arguments, machine)
    mixed = orders.of(machine.state.read(address), store)
    if mixed is not None or OPEN in entries or (entries and is_optional(list(entries.values())[-1])):
        why = machine.unknown("which entry is the last is not known", mixed or NONE)
        return _opened(machine, address, store, points_to.either_of(why, entries.values()))
    if not entries:
        raise machine.raises("KeyError", "popitem(): dictionary is empty")
    name, value = getattr(machine.state.change(address, ModuleObject), store).popitem()
    return TupleValue((Constant(name), value))
