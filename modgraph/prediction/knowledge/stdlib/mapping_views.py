"""types.MappingProxyType, which nobody changes, and collections.ChainMap, of which the first mapping is changed."""

from __future__ import annotations

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.mapping_views import CHAIN, MADE, MAPS, PROXY, MappingView, makes_items
from modgraph.prediction.domain.objects import DictObject, ListObject
from modgraph.prediction.domain.registry import known_class, models
from modgraph.prediction.domain.values import NONE, Address, KnownFunction, Unknown, Value

known_class(CHAIN.name, "collections.abc.MutableMapping")
known_class(PROXY.name, "collections.abc.Mapping")  # with which Python has registered it

# ---- MappingProxyType ------------------------------------------------------------------------------------------------

_READING = ("get", "keys", "values", "items", "copy", "__contains__", "__getitem__", "__iter__", "__len__")
_OPERATORS = ("__reversed__", "__eq__", "__ne__", "__or__", "__ror__")
_OF_CHAINS = tuple(name for name in (*_READING, *_OPERATORS) if name not in ("copy", "__or__", "__ror__"))


@models(PROXY.name)
def proxy(arguments: Arguments, machine: Machine) -> Value:
    given = arguments.get(0, "mapping", NONE)
    if machine.state.find(given, DictObject) is None:
        machine.may_refuse("TypeError")
        return machine.unknown("a mapping is not known", given)
    return machine.allocate(MappingView(PROXY, {MAPS: machine.allocate(ListObject([given]))}))


@models(*(f"{PROXY.name}.{name}" for name in (*_READING, *_OPERATORS)))
@models(*(f"{CHAIN.name}.{name}" for name in _OF_CHAINS))
def read(arguments: Arguments, machine: Machine) -> Value:
    """What the mapping itself gives."""
    method = KnownFunction(f"builtins.dict.{last_name(arguments.function)}")
    given = [_shown(machine, each) for each in arguments.positional]
    return machine.call(method, given, arguments.keywords, arguments.where)


def _shown(machine: Machine, value: Value) -> Value:
    item = machine.state.find(value, DictObject)
    if item is None or item.cls != PROXY:
        return value
    maps = machine.state.find(item.attributes.get(MAPS, NONE), ListObject)
    return _shown(machine, maps.items[0]) if maps is not None and maps.items else value


@models(f"{PROXY.name}.__ior__")
def refuse(arguments: Arguments, machine: Machine) -> Value:
    raise machine.raises("TypeError", "'|=' is not supported by mappingproxy; use '|' instead")


# ---- ChainMap --------------------------------------------------------------------------------------------------------


@models(CHAIN.name)
def chain_map(arguments: Arguments, machine: Machine) -> Value:
    maps = list(arguments.positional) or [machine.allocate(DictObject())]
    return _chain(machine, machine.allocate(ListObject(maps, arguments.open)))


def _chain(machine: Machine, maps: Address) -> Value:
    held = machine.state.read(maps)
    assert isinstance(held, ListObject)
    machine.expose([each for each in held.items if makes_items(machine.state, each)], machine.unknown(MADE))
    why = machine.unknown("what is written to the parents of a ChainMap is not followed")
    parents = machine.allocate(ListObject(list(held.items[1:]), held.open))
    further = MappingView(CHAIN, {MAPS: parents}) if len(held.items) > 1 else DictObject({}, why, CHAIN)
    return machine.allocate(MappingView(CHAIN, {MAPS: maps, "parents": machine.allocate(further)}))


def _maps(machine: Machine, chain: Value) -> ListObject | None:
    """None where the first of them is not known."""
    item = machine.state.find(chain, DictObject)
    held = machine.state.find(item.attributes.get(MAPS, NONE), ListObject) if item is not None else None
    return held if held is not None and held.items else None


@models(f"{CHAIN.name}.__init__")
def initialise(arguments: Arguments, machine: Machine) -> Value:
    """Of a class derived from it, which may have methods of its own: what its mappings hold is open."""
    chain, *maps = arguments.positional
    why = machine.unknown("what a class derived from ChainMap holds is not followed")
    machine.expose(arguments.positional, why)
    if isinstance(chain, Address) and machine.state.find(chain, DictObject) is not None:
        target = machine.state.change(chain, DictObject)
        target.open = why
        target.attributes[MAPS] = machine.allocate(ListObject(maps, why))
    return NONE


@models(*(f"{CHAIN.name}.{name}" for name in ("__setitem__", "__delitem__", "pop", "popitem", "clear", "update")))
def change(arguments: Arguments, machine: Machine) -> Value:
    """All of them change the first mapping alone."""
    chain, *given = arguments.positional
    maps = _maps(machine, chain)
    if maps is None:
        return _not_followed(machine, arguments)
    method = machine.get_attribute(maps.items[0], last_name(arguments.function))
    return machine.call(method, given, arguments.keywords, arguments.where)


def _not_followed(machine: Machine, arguments: Arguments) -> Unknown:
    why = machine.unknown("the first mapping of a ChainMap is not known")
    machine.expose(arguments.positional, why)
    machine.may_fail()
    return why


@models(f"{CHAIN.name}.__ior__")
def change_in_place(arguments: Arguments, machine: Machine) -> Value:
    change(Arguments(f"{CHAIN.name}.update", arguments.positional, {}, arguments.where), machine)
    return arguments.positional[0]


@models(f"{CHAIN.name}.setdefault")
def default(arguments: Arguments, machine: Machine) -> Value:
    """What stands under a key in any of the mappings; where none has it, the first is given the default."""
    chain, key = arguments.positional[0], arguments.get(1, "key", NONE)
    given = arguments.get(2, "default", NONE)

    def put() -> Value:
        machine.set_item(chain, key, given)
        return given

    there = machine.truth(machine.compare("in", key, chain))
    if there is not None:
        return machine.get_item(chain, key) if there else put()
    why = machine.unknown("whether a ChainMap has a key is not known", key)
    return machine.fork([lambda: machine.get_item(chain, key), put], why.reason)


@models(f"{CHAIN.name}.copy", f"{CHAIN.name}.__copy__", f"{CHAIN.name}.__or__")
def copy(arguments: Arguments, machine: Machine) -> Value:
    """The first mapping is copied, the others are shared."""
    chain, *other = arguments.positional
    maps = _maps(machine, chain)
    if maps is None:
        return _not_followed(machine, arguments)
    first = machine.call(machine.get_attribute(maps.items[0], "copy"))
    made = _chain(machine, machine.allocate(ListObject([first, *maps.items[1:]], maps.open)))
    for each in other:
        machine.call(machine.get_attribute(first, "update"), (each,))
    return made


@models(f"{CHAIN.name}.fromkeys", f"{CHAIN.name}.__ror__")
def other(arguments: Arguments, machine: Machine) -> Value:
    return machine.unknown("a ChainMap made of keys, or of a dict, is not modelled", *arguments.positional)


@models(f"{CHAIN.name}.new_child")
def child(arguments: Arguments, machine: Machine) -> Value:
    """The same behind another dict."""
    chain, first = arguments.positional[0], arguments.get(1, "m", NONE)
    maps = _maps(machine, chain)
    if arguments.keywords.keys() - {"m"} or maps is None:
        return _not_followed(machine, arguments)
    given = machine.allocate(DictObject()) if first == NONE else first
    return _chain(machine, machine.allocate(ListObject([given, *maps.items], maps.open)))
