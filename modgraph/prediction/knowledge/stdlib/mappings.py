"""Methods of dict, OrderedDict and defaultdict; keys keep the order of insertion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from modgraph.names import last_name
from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.dict_views import VIEWED, DictView, shown
from modgraph.prediction.domain.limits import ITEMS_OF_A_TUPLE
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import (
    MIXED,
    VIEW_OF,
    DictObject,
    IteratorObject,
    ListObject,
    ModuleObject,
    ViewObject,
)
from modgraph.prediction.domain.registry import Model, known_class, models
from modgraph.prediction.domain.values import (
    NONE,
    NOT_IMPLEMENTED,
    TRUE,
    Address,
    Choice,
    Constant,
    KnownClass,
    KnownFunction,
    TupleValue,
    Unknown,
    Value,
    is_optional,
)
from modgraph.prediction.knowledge.stdlib.iteration import pairs_of, prefix_of
from modgraph.prediction.paths import partial_texts
from modgraph.prediction.python import classes, exceptions, hashing, items, keys, weak_updates
from modgraph.prediction.python.items import FACTORY

DICT = "builtins.dict"
ORDERED = "collections.OrderedDict"
DEFAULT = "collections.defaultdict"
COUNTER = "collections.Counter"
for _name in (ORDERED, DEFAULT, COUNTER):
    known_class(_name, DICT)


def _dict(machine: Machine, arguments: Arguments) -> tuple[Address, DictObject]:
    """The receiver, and its object to look at."""
    address = arguments.positional[0]
    assert isinstance(address, Address)
    found = machine.state.find(address, DictObject)
    assert found is not None
    return address, found


def _changing(*names: str) -> Callable[[Model], Model]:
    """Registers a method that changes its dict; where that is the `__dict__` of an object, this changes with it."""

    def register(model: Model) -> Model:
        def change(arguments: Arguments, machine: Machine) -> Value:
            held = machine.state.find(arguments.positional[0], DictObject)
            if held is None or VIEW_OF not in held.attributes:
                return model(arguments, machine)
            before = dict(held.entries)
            result = model(arguments, machine)
            items.write_back(machine, _dict(machine, arguments)[1], before)
            return result

        models(*names)(change)
        return model

    return register


def fill(
    machine: Machine,
    address: Address,
    given: Sequence[Value],
    keywords: Mapping[str, Value],
    open_arguments: Unknown | None = None,
) -> None:
    """What `dict(given, **keywords)` and `update` put into the dict at `address`."""
    why = open_arguments
    pairs: list[tuple[Value, Value]] = []
    for mapping in given:
        pairs, found = pairs_of(machine, mapping)
        why = why or found
    pairs = [*pairs, *((Constant(name), value) for name, value in keywords.items())]
    target = machine.state.change(address, DictObject)
    if why is not None or any(isinstance(key, Choice) for key, _ in pairs):
        why = why or machine.unknown("a key is not known", *(key for key, _ in pairs if isinstance(key, Choice)))
        why = points_to.either_of(why, [value for key, value in pairs if isinstance(key, Choice)])
        target.open = points_to.either_of(target.open or why, (why,))
        target.entries = {key: points_to.either_of(why, (held,)) for key, held in target.entries.items()}
    for given_key, value in pairs:
        key = _key(machine, target, given_key)
        if isinstance(key, Unknown):
            weak_updates.set_entry(machine, target, partial_texts.named(key, key), value)
        elif isinstance(value, Unknown) and value.optional and key in target.entries:
            target.entries[key] = replace(value, optional=False)
        elif not isinstance(key, Choice):
            keys.put(machine, target, key, value)


def _share_stores(machine: Machine, held: DictObject, given: Sequence[Value]) -> None:
    """`a.__dict__.update(b.__dict__)` of modules: what either registers from then on is registered with both."""
    found = (machine.state.find(each, DictObject) for each in given)
    owners = [each.attributes.get(VIEW_OF, NONE) for each in (held, *found) if each is not None]
    modules = [each for each in owners if machine.state.find(each, ModuleObject) is not None]
    if len(modules) > 1 and modules[0] != modules[1]:
        machine.expose(modules, machine.unknown("what a module registers is what another one does"))


@_changing(f"{DICT}.__init__", f"{DICT}.update", f"{DICT}.__ior__")
def update(arguments: Arguments, machine: Machine) -> Value:
    address, held = _dict(machine, arguments)
    if arguments.open is None and len(arguments.positional) > 2:
        raise machine.raises("TypeError", f"{arguments.function} expected at most 1 argument")
    given = arguments.positional[1:2]
    fill(machine, address, given, arguments.keywords, arguments.open)
    _share_stores(machine, held, given)
    return address if arguments.function.endswith("__ior__") else NONE


@models(ORDERED)
def ordered(arguments: Arguments, machine: Machine) -> Value:
    address = machine.allocate(DictObject({}, cls=KnownClass(ORDERED)))
    fill(machine, address, arguments.positional[:1], arguments.keywords, arguments.open)
    return address


@models(DEFAULT)
def with_default(arguments: Arguments, machine: Machine) -> Value:
    factory = arguments.get(0, FACTORY, NONE)
    _require_factory(machine, factory)
    address = machine.allocate(DictObject({}, cls=KnownClass(DEFAULT), attributes={FACTORY: factory}))
    fill(machine, address, arguments.positional[1:2], arguments.keywords, arguments.open)
    return address


def _require_factory(machine: Machine, factory: Value) -> None:
    """Raises:
    Raised: TypeError, where it certainly cannot be called.
    """
    if factory != NONE and classes.is_callable(machine, factory) is False:
        raise exceptions.exactly(machine, "TypeError", "first argument must be callable or None")


@models(f"{DEFAULT}.__init__")
def initialise_default(arguments: Arguments, machine: Machine) -> Value:
    address, _ = _dict(machine, arguments)
    factory = arguments.get(1, FACTORY, NONE)
    _require_factory(machine, factory)
    machine.state.change(address, DictObject).attributes[FACTORY] = factory
    fill(machine, address, arguments.positional[2:3], arguments.keywords, arguments.open)
    return NONE


@models(f"{DEFAULT}.__missing__")
def made_on_demand(arguments: Arguments, machine: Machine) -> Value:
    address, held = _dict(machine, arguments)
    factory, key = held.attributes.get(FACTORY, NONE), arguments.get(1, "key", NONE)

    def make(factory: Value) -> Value:
        if factory == NONE:
            raise machine.raises("KeyError", exceptions.text_without_effects(machine, key) or "...", (key,))
        if isinstance(factory, Unknown):
            machine.may_fail("KeyError")
        made = machine.call(factory)
        items.assign(machine, address, key, made)
        return made

    return machine.distribute(factory, make) if isinstance(factory, Choice) else make(factory)


@models(f"{DICT}.get")
def get(arguments: Arguments, machine: Machine) -> Value:
    address, held = _dict(machine, arguments)
    key, default = hashing.settled(machine, arguments.get(1, "key", NONE)), arguments.get(2, "default", NONE)
    if isinstance(key, (Unknown, Choice)):
        return _any_of(machine, held, key, default)
    found = keys.find_entry(machine, held, key)
    if found is not None:
        return points_to.either_of(found, (default,)) if isinstance(found, Unknown) and found.optional else found
    again = machine.look_again(address, key)
    if again is not False:
        held = _dict(machine, arguments)[1]
        found = keys.find_entry(machine, held, key)
        if found is not None:
            return found
        if isinstance(again, Unknown):
            return again
    return default if held.open is None else points_to.either_of(held.open, (default,))


def _any_of(machine: Machine, held: DictObject, key: Value, *others: Value) -> Value:
    """The value under a key that is not known: one of those there are."""
    if held.open is not None or isinstance(key, Unknown):
        rest = () if held.open is None else (held.open,)
        return points_to.read(
            machine, machine.unknown("a key is not known", key), [*held.entries.values(), *rest, *others]
        )
    return machine.choice((*held.entries.values(), *others), "a key is not known")


def _key(machine: Machine, held: DictObject, key: Value, *, of_constants: bool = False) -> Value:
    """The key under which an equal one stands: 1, 1.0 and True are one.

    Raises:
        Raised: TypeError, where it has no hash.
    """
    return keys.key_in(machine, held, key, of_constants=of_constants)


@_changing(f"{DICT}.setdefault")
def set_default(arguments: Arguments, machine: Machine) -> Value:
    address, held = _dict(machine, arguments)
    key, default = _key(machine, held, arguments.get(1, "key", NONE)), arguments.get(2, "default", NONE)
    if isinstance(key, (Unknown, Choice)):
        why = _opened(machine, address, "a key is not known", key)
        opened = machine.state.change(address, DictObject)
        opened.open = points_to.either_of(opened.open or why, (default,))
        return points_to.read(machine, why, [*held.entries.values(), opened.open])
    if key in held.entries:
        found = held.entries[key]
        if isinstance(found, Unknown) and found.optional:
            found = points_to.either_of(replace(found, optional=False), (default,))
            keys.put(machine, machine.state.change(address, DictObject), key, found)
        return found
    if held.open is not None:
        machine.state.change(address, DictObject).open = why = points_to.either_of(held.open, (default,))
        return why
    machine.state.change(address, DictObject).entries[key] = default
    return default


def _opened(machine: Machine, address: Address, reason: str, *causes: Value) -> Unknown:
    why = points_to.read_within(machine, machine.unknown(reason, *causes), [address])
    target = machine.state.change(address, DictObject)
    target.open = target.open or why
    return why


@_changing(f"{DICT}.pop")
def pop(arguments: Arguments, machine: Machine) -> Value:
    address, held = _dict(machine, arguments)
    key = arguments.get(1, "key", NONE)
    key = _key(machine, held, key) if held.entries else key  # of an empty one, the hash is not asked for
    default = arguments.positional[2] if len(arguments.positional) > 2 else arguments.keywords.get("default")
    if isinstance(key, (Unknown, Choice)):
        if isinstance(key, Unknown) and key.text is not None:
            others = [each for each in (held.open, default) if each is not None]
            taken = points_to.read(machine, partial_texts.named(key, NONE), [*held.entries.values(), *others])
            items.own_delete(machine, address, key)
            return taken
        if default is None:
            machine.may_refuse("KeyError")
        why = _opened(machine, address, "which key is removed is not known", key)
        why = points_to.read(machine, why, held.entries.values())
        opened = machine.state.change(address, DictObject)
        opened.entries.clear()
        opened.open = points_to.either_of(opened.open or why, (why,))
        return opened.open if default is None else points_to.either_of(opened.open, (default,))
    if key in held.entries:
        found = machine.state.change(address, DictObject).entries.pop(key)
        if is_optional(found) and isinstance(found, Unknown):
            if default is not None:
                return points_to.either_of(replace(found, optional=False), (default,))
            machine.may_fail("KeyError")
        return found
    if held.open is not None:
        if default is not None:
            return points_to.either_of(held.open, (default,))
        machine.may_refuse("KeyError")
        return held.open
    if default is None:
        raise machine.raises("KeyError", exceptions.text_without_effects(machine, key) or "key", (key,))
    return default


@_changing(f"{DICT}.popitem")
def pop_item(arguments: Arguments, machine: Machine) -> Value:
    """The last entry; of an OrderedDict with `last=False`, the first."""
    address, held = _dict(machine, arguments)
    if held.unsure is not None:
        if all(map(is_optional, held.entries.values())):
            machine.may_refuse("KeyError")
        return _opened(machine, address, "which entry is the last is not known", held.unsure)
    if not held.entries:
        kind = "" if machine.is_instance(address, KnownClass(ORDERED)) else "popitem(): "
        raise machine.raises("KeyError", f"{kind}dictionary is empty")

    def taken(last: bool) -> Value:
        key = list(held.entries)[-1 if last else 0]
        return TupleValue((key, machine.state.change(address, DictObject).entries.pop(key)))

    return _at_one_end(machine, arguments.get(1, "last", TRUE), taken)


def _at_one_end(machine: Machine, last: Value, act: Callable[[bool], Value]) -> Value:
    is_last = machine.truth(last)
    if is_last is not None:
        return act(is_last)
    return machine.fork([lambda: act(True), lambda: act(False)], machine.unknown("which end is not known", last).reason)


@models(f"{ORDERED}.move_to_end")
def move_to_end(arguments: Arguments, machine: Machine) -> Value:
    address, _ = _dict(machine, arguments)
    key = arguments.get(1, "key", NONE)
    if isinstance(key, Choice):
        rest = (arguments.get(2, "last", TRUE),)
        return machine.distribute(
            key, lambda each: machine.call(KnownFunction(f"{ORDERED}.move_to_end"), (address, each, *rest))
        )
    target = machine.state.change(address, DictObject)
    key = _key(machine, target, key)
    if key not in target.entries:
        if target.open is None and not isinstance(key, Unknown):
            raise machine.raises("KeyError", exceptions.text_without_effects(machine, key) or "key", (key,))
        _opened(machine, address, "which key is moved is not known", key)
        target.attributes[MIXED] = TRUE
        return NONE

    def moved(last: bool) -> Value:
        target = machine.state.change(address, DictObject)
        value = target.entries.pop(key)
        target.entries = {**target.entries, key: value} if last else {key: value, **target.entries}
        return NONE

    return _at_one_end(machine, arguments.get(2, "last", TRUE), moved)


@_changing(f"{DICT}.clear")
def clear(arguments: Arguments, machine: Machine) -> Value:
    address, _ = _dict(machine, arguments)
    target = machine.state.change(address, DictObject)
    target.entries, target.open = {}, None
    return NONE


@models(f"{DICT}.copy")
def copy(arguments: Arguments, machine: Machine) -> Value:
    return _plain_copy(machine, _dict(machine, arguments)[1])


def _plain_copy(machine: Machine, held: DictObject) -> Address:
    mixed: dict[str, Value] = {MIXED: TRUE} if MIXED in held.attributes else {}
    return machine.allocate(DictObject(dict(held.entries), held.open, KnownClass(DICT), mixed))


@models(*(f"{kind}.{method}" for kind in (ORDERED, DEFAULT, COUNTER) for method in ("copy", "__copy__")))
def copy_of_kind(arguments: Arguments, machine: Machine) -> Value:
    address, _ = _dict(machine, arguments)
    return _of_kind(machine, address, address)


def _of_kind(machine: Machine, like: Address, given: Value) -> Value:
    """A new mapping of the class of the one, with the entries of the other."""
    held = machine.state.find(like, DictObject)
    assert held is not None
    factory = (held.attributes[FACTORY],) if FACTORY in held.attributes else ()
    if not isinstance(held.cls, KnownClass):
        return machine.call(held.cls, (*factory, given))
    kept = {name: value for name, value in held.attributes.items() if name == FACTORY}
    other = machine.state.find(given, DictObject)
    assert other is not None
    if MIXED in other.attributes:
        kept[MIXED] = TRUE
    return machine.allocate(DictObject(dict(other.entries), other.open, held.cls, kept))


@models(f"{DICT}.__or__", f"{DICT}.__ror__")
def union(arguments: Arguments, machine: Machine) -> Value:
    """A dict, of whatever classes the two are."""
    one, other = arguments.positional[:2]
    left, right = (other, one) if arguments.function.endswith("__ror__") else (one, other)
    held = machine.state.find(left, DictObject)
    if held is None or machine.state.find(right, DictObject) is None:
        return NOT_IMPLEMENTED
    made = _plain_copy(machine, held)
    fill(machine, made, (right,), {})
    return made


@models(*(f"{kind}.{method}" for kind in (ORDERED, DEFAULT) for method in ("__or__", "__ror__")))
def union_of_kind(arguments: Arguments, machine: Machine) -> Value:
    """One of the receiver's class."""
    receiver, other = arguments.positional[:2]
    assert isinstance(receiver, Address)
    if machine.state.find(other, DictObject) is None:
        return NOT_IMPLEMENTED
    left, right = (other, receiver) if arguments.function.endswith("__ror__") else (receiver, other)
    made = _of_kind(machine, receiver, left)
    if not isinstance(made, Address) or machine.state.find(made, DictObject) is None:
        return machine.unknown("what the class of a mapping makes is not known", made)
    fill(machine, made, (right,), {})
    return made


@models(f"{DICT}.fromkeys", f"{ORDERED}.fromkeys")
def from_keys(arguments: Arguments, machine: Machine) -> Value:
    rest = arguments.positional
    if rest and isinstance(rest[0], KnownClass):
        rest = rest[1:]
    first, why = prefix_of(machine, rest[0])
    value = rest[1] if len(rest) > 1 else arguments.keywords.get("value", NONE)
    cls = KnownClass(ORDERED if "OrderedDict" in arguments.function else DICT)
    made = DictObject({}, why, cls)
    of_constants = True
    for key in first:
        key = _key(machine, made, key, of_constants=of_constants)
        of_constants = of_constants and isinstance(key, Constant)
        if isinstance(key, (Unknown, Choice)):
            why = why or machine.unknown("a key is not known", key)
            weak_updates.set_entry(machine, made, why, value)
        else:
            made.entries[key] = value
    return machine.allocate(made)


@models(f"{DICT}.keys", f"{DICT}.values", f"{DICT}.items")
def view(arguments: Arguments, machine: Machine) -> Value:
    """Of the `__dict__` of an object, only as it is now."""
    address, held = _dict(machine, arguments)
    method = last_name(arguments.function)
    if method == "items":
        machine.makes((ITEMS_OF_A_TUPLE + 2) * len(held.entries))
    kind = KnownClass(f"builtins.dict_{method}")
    if not isinstance(held, ViewObject):
        return machine.allocate(DictView(kind, {VIEWED: address}))
    return machine.allocate(ListObject(*shown(held, kind), kind, {VIEWED: address}))


@models(f"{DICT}.__reversed__")
def backwards(arguments: Arguments, machine: Machine) -> Value:
    _, held = _dict(machine, arguments)
    iterator = IteratorObject([] if held.unsure is not None else list(held.entries)[::-1])
    iterator.open = held.unsure
    return machine.allocate(iterator)
