"""value[key], its assignment and deletion; the entries of mappings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.calling import Raised
from modgraph.prediction.domain.mapping_views import CHAIN, PROXY, makes_items
from modgraph.prediction.domain.objects import (
    MIXED,
    VIEW_OF,
    VIEW_STORE,
    DictObject,
    InstanceObject,
    ListObject,
    TensorObject,
    ViewObject,
)
from modgraph.prediction.domain.registry import LOADED_MODULES, is_argv
from modgraph.prediction.domain.sizes import whole
from modgraph.prediction.domain.state import room_of
from modgraph.prediction.domain.values import (
    DELETED,
    NONE,
    TRUE,
    Address,
    Choice,
    ClassValue,
    Constant,
    EnumMember,
    FunctionValue,
    GenericAlias,
    KnownClass,
    KnownFunction,
    ModuleReference,
    SliceValue,
    TupleValue,
    Unknown,
    Value,
    is_optional,
)
from modgraph.prediction.paths import partial_texts, possible_tensors
from modgraph.prediction.python import (
    class_items,
    classes,
    exceptions,
    given_away,
    hashing,
    inner_stores,
    keys,
    orders,
    slots,
    unordered,
    weak_updates,
)

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


COUNTER = KnownClass("collections.Counter")
FACTORY = "default_factory"
"""Attribute of a defaultdict."""


def get(machine: Machine, value: Value, key: Value) -> Value:
    """value[key].

    Raises:
        Raised: KeyError, IndexError, TypeError.
    """
    if isinstance(value, Unknown):
        if value is LOADED_MODULES:
            return _loaded_module(machine, key)
        if value.is_doubtful:
            machine.may_fail()
        machine.may_be_called([key], value, _OF_A_KEY)
        found = partial_texts.plainly(value)
        return possible_tensors.item_of_possible(machine, found, key)
    if machine.guesses.kinds and not _is_tensor(machine, value) and machine.guesses.doubts(key):
        key = machine.unknown("it is not known which key it is")
    if isinstance(key, Unknown):
        machine.may_fail()
    if isinstance(value, Choice):
        return machine.distribute(value, lambda each: get(machine, each, key))
    if isinstance(key, Choice):
        return machine.distribute(key, lambda each: get(machine, value, each))
    if isinstance(value, (ClassValue, KnownClass, GenericAlias, KnownFunction)):
        return class_items.get(machine, value, key)
    if isinstance(value, TupleValue):
        return own_item(machine, value, key)
    if isinstance(value, Constant):
        return _from_constant(machine, value, key)
    item = machine.state.read(value) if isinstance(value, Address) else None
    if isinstance(item, (ListObject, DictObject)) and isinstance(item.cls, KnownClass):
        return own_item(machine, value, key)
    cls = machine.class_of(value)
    method = machine.class_attribute(cls, "__getitem__") if machine.is_class(cls) else cls
    if isinstance(method, Unknown):
        return method
    if method is not None:
        return machine.call(method, (value, key))
    if isinstance(item, (ListObject, DictObject)):
        return own_item(machine, value, key)
    if isinstance(value, EnumMember) and classes.is_plain_member(machine, value):
        return get(machine, value.value, key)
    raise machine.raises("TypeError", f"'{classes.short_name(cls)}' object is not subscriptable")


def _is_tensor(machine: Machine, value: Value) -> bool:
    return machine.state.find(value, TensorObject) is not None


_OF_A_KEY = ("__index__", "__hash__", "__eq__")
"""What is asked of a key, by a sequence or by a dict."""


def own_item(machine: Machine, value: Value, key: Value) -> Value:
    """`__getitem__` of a list, a tuple or a dict itself."""
    if isinstance(value, TupleValue):
        return value.made_of(_from_sequence(machine, list(value.items), None, key, "tuple"))
    item = machine.state.read(value) if isinstance(value, Address) else None
    if isinstance(item, ListObject):
        return _from_sequence(machine, item.items, item.open, key, "list")
    if isinstance(item, DictObject):
        return _from_dict(machine, value, item, key)
    return machine.unknown("an item of something that is no list, tuple or dict", value)


def index_of(machine: Machine, key: Value) -> int | None:
    """The integer that a key is, through __index__; None where it is not known."""
    if isinstance(key, EnumMember) and classes.is_plain_member(machine, key):
        key = key.value
    if isinstance(key, Constant) and isinstance(key.value, int):
        return cast(int, whole(key.value))
    if isinstance(key, (Address, EnumMember)):
        method = machine.class_attribute(machine.class_of(key), "__index__")
        if method is not None and not isinstance(method, Unknown):
            return index_of(machine, machine.call(method, (key,)))
    return None


def is_no_index(machine: Machine, key: Value) -> bool:
    """An instance of a class that is written without `__index__`, and derived from no other but those of `enum`."""
    item = machine.state.find(key, InstanceObject)
    cls = key.cls if isinstance(key, EnumMember) else item.cls if item is not None else None
    if not isinstance(cls, ClassValue):
        return False
    known = all(
        isinstance(base, ClassValue) or base == classes.OBJECT or getattr(base, "name", "").startswith("enum.")
        for base in machine.mro(cls)
    )
    return known and machine.class_attribute(cls, "__index__") is None


def slice_of(machine: Machine, key: SliceValue) -> slice | Unknown:
    """The Python slice."""
    parts: list[int | None] = []
    bounds = (key.lower, key.upper, key.step)
    for place, part in enumerate(bounds):
        if part == NONE:
            parts.append(None)
            continue
        index = index_of(machine, part)
        if index is None and is_no_index(machine, part):
            message = "slice indices must be integers or None or have an __index__ method"
            raise machine.raises("TypeError", message)
        if index is None:
            if part is key.step:
                machine.may_refuse("ValueError")
            why = machine.unknown("a bound of the slice is not known", part)
            if any(is_no_index(machine, each) for each in bounds[place + 1 :]):
                machine.may_refuse("TypeError")
            machine.may_be_called(bounds[place + 1 :], why, ("__index__",))
            return why
        if index == 0 and part is key.step:
            raise machine.raises("ValueError", "slice step cannot be zero")
        parts.append(index)
    return slice(*parts)


def any_of(machine: Machine, values: list[Value], why: Unknown) -> Value:
    """One of these, which of them is not known."""
    found = machine.choice(values, why.reason)
    return points_to.read(machine, found, values) if isinstance(found, Unknown) else found


def _from_sequence(machine: Machine, found: list[Value], open_: Unknown | None, key: Value, kind: str) -> Value:
    rest = () if open_ is None else (open_,)
    if isinstance(key, SliceValue):
        bounds = slice_of(machine, key)
        if isinstance(bounds, Unknown) or open_ is not None:
            reason = bounds if isinstance(bounds, Unknown) else open_
            assert reason is not None
            reason = points_to.read(machine, reason, [*found, *rest])
            return machine.allocate(ListObject([], reason)) if kind == "list" else reason
        part = found[bounds]
        if kind == "list":
            return machine.allocate(ListObject(part))
        machine.makes(len(part))
        return TupleValue(tuple(part))
    index = index_of(machine, key)
    if index is None:
        if isinstance(key, Constant) or is_no_index(machine, key):
            raise machine.raises("TypeError", f"{kind} indices must be integers or slices")
        machine.may_refuse("IndexError")
        why = machine.unknown("the index is not known", key)
        return any_of(machine, found, why) if found and open_ is None else points_to.read(machine, why, [*found, *rest])
    if open_ is not None and not 0 <= index < len(found):
        machine.may_refuse("IndexError")
        return points_to.read(machine, open_, found) if index < 0 else open_
    if index < 0 and (
        unsure := next((each for each in found[index:] if type(each) is Unknown and each.optional), None)
    ):
        return unsure
    try:
        return found[index]
    except IndexError:
        raise machine.raises("IndexError", f"{kind} index out of range") from None


def _from_constant(machine: Machine, value: Constant, key: Value) -> Value:
    python: Any = None
    if isinstance(key, SliceValue):
        python = slice_of(machine, key)
    elif isinstance(key, Constant):
        python = key.value
    elif isinstance(key, Address):
        python = index_of(machine, key)
    if python is None or isinstance(python, Unknown):
        return machine.unknown("the index is not known", key)
    try:
        found = Constant(value.value[python])
        machine.makes(room_of(found))
        return found
    except (IndexError, TypeError, ValueError) as error:
        raise exceptions.as_python(machine, error) from None


def _loaded_module(machine: Machine, key: Value) -> Value:
    """`sys.modules[key]`; who asks for a module in this way knows that it is there."""
    name = key.value if isinstance(key, Constant) else None
    if isinstance(name, str) and machine.finder.source(name) is not None:
        return ModuleReference(name)
    return LOADED_MODULES


def _from_dict(machine: Machine, address: Value, mapping: DictObject, key: Value) -> Value:
    if mapping.cls == CHAIN and mapping.open is not None and makes_items(machine.state, address):
        machine.expose([address], mapping.open)
    if isinstance(key, TupleValue):
        key = hashing.settled(machine, key)
        if isinstance(key, Unknown):
            machine.may_fail("KeyError")
    if isinstance(key, Unknown):
        values = [held for each, held in mapping.entries.items() if partial_texts.may_be_key(key, each)]
        make = _maker(machine, mapping)
        if mapping.open is None and values and make is None:
            return any_of(machine, values, key)
        rest = () if mapping.open is None else (mapping.open,)
        there = points_to.read(machine, partial_texts.named(key, NONE), [*values, *rest])
        if make is None:
            return there
        paths = [lambda: there, lambda: machine.call(make, (address, key))]
        return machine.fork(paths if values or rest else paths[1:], key.reason)
    found = keys.find_entry(machine, mapping, key)
    if found is not None:
        if is_optional(found):
            machine.may_fail("KeyError")
        return found
    missing = machine.class_attribute(mapping.cls, "__missing__")
    made_on_demand = missing is not None and mapping.attributes.get(FACTORY) != NONE
    if isinstance(address, Address) and not (made_on_demand and machine.module_depth):
        again = machine.look_again(address, key, certain=True)
        if again is not False:
            mapping = machine.state.find(address, DictObject) or mapping
            found = keys.find_entry(machine, mapping, key)
            if found is not None:
                return found
            if isinstance(again, Unknown):
                return again
    if isinstance(missing, Unknown):
        return mapping.open or missing
    if missing is None and mapping.open is not None:
        machine.may_refuse("KeyError")
        return mapping.open
    if missing is not None:
        made = partial(machine.call, missing, (address, key))
        open_ = mapping.open
        return made() if open_ is None else machine.fork([lambda: open_, made], open_.reason)
    raise machine.raises("KeyError", exceptions.text_without_effects(machine, key) or "...", (key,))


def _maker(machine: Machine, mapping: DictObject) -> Value | None:
    """What makes the item of a key that a mapping lacks; None where nothing does."""
    if mapping.attributes.get(FACTORY, NONE) != NONE:
        return KnownFunction("collections.defaultdict.__missing__")
    found = machine.class_attribute(mapping.cls, "__missing__") if isinstance(mapping.cls, ClassValue) else None
    return found if isinstance(found, FunctionValue) else None


def assign(machine: Machine, value: Value, key: Value, new: Value) -> None:
    """value[key] = new."""
    if isinstance(value, Unknown):
        change_unknown(machine, value)
        given_away.note(machine, value, new)
        return
    if isinstance(value, Choice):
        machine.on_each(value, lambda each: assign(machine, each, key, new))
        return
    item = machine.state.read(value) if isinstance(value, Address) else None
    if isinstance(item, (ListObject, DictObject)) and isinstance(item.cls, KnownClass):
        own_assign(machine, value, key, new)
        return
    cls = machine.class_of(value)
    method = machine.class_attribute(cls, "__setitem__") if machine.is_class(cls) else cls
    if method is not None and not isinstance(method, Unknown):
        machine.call(method, (value, key, new))
    elif isinstance(item, (ListObject, DictObject)):
        own_assign(machine, value, key, new)
    elif method is None and not isinstance(item, InstanceObject):
        raise machine.raises("TypeError", f"'{classes.short_name(cls)}' object does not support item assignment")
    else:
        machine.expose([value], machine.unknown("item assignment is not modelled", method or NONE))


def change_unknown(machine: Machine, value: Unknown) -> None:
    """Something is written into what is not known, or taken out of it."""
    machine.expose([value], value)
    if is_argv(value):
        machine.set_attribute(ModuleReference("sys"), "argv", machine.unknown("sys.argv is changed"))


def own_assign(machine: Machine, value: Value, key: Value, new: Value) -> None:
    """list.__setitem__ and dict.__setitem__ themselves."""
    assert isinstance(value, Address)
    if isinstance(key, Choice):
        machine.on_each(key, lambda each: own_assign(machine, value, each, new))
        return
    if _is_done_elsewhere(machine, value, "assignment", key, new):
        return
    item = machine.state.write(value)
    if isinstance(item, DictObject):
        key = keys.key_in(machine, item, key)
        if isinstance(key, Unknown):
            why = partial_texts.named(machine.unknown("a key is not known", key), key)
            weak_updates.set_entry(machine, item, why, new)
            if isinstance(owner := item.attributes.get(VIEW_OF), Address):
                weak_updates.set_in_dict(machine, owner, why, new)
            elif isinstance(owner, ModuleReference):
                weak_updates.set_in_namespace(machine, owner.name, why, new)
        else:
            keys.put(machine, item, key, new)
            _write_through(machine, item, key, new)
        return
    assert isinstance(item, ListObject)
    unordered.forget(item)
    if isinstance(key, SliceValue):
        bounds, found = slice_of(machine, key), machine.iterate(new)
        if isinstance(bounds, Unknown) or isinstance(found, Unknown):
            why = item.open or machine.unknown(
                "a slice is not known", *(v for v in (bounds, found) if isinstance(v, Unknown))
            )
            item.open = points_to.either_of(why, [*item.items, *([found] if isinstance(found, Unknown) else found)])
            item.items = []
        else:
            _assign_part(machine, item, bounds, found)
        return
    index = index_of(machine, key)
    if index is None or (item.open is not None and not 0 <= index < len(item.items)):
        machine.may_refuse("IndexError")
        weak_updates.set_item(machine, item, machine.unknown("an index is not known", key), new)
        return
    try:
        item.items[index] = new
    except IndexError:
        raise machine.raises("IndexError", "list assignment index out of range") from None


def _is_done_elsewhere(machine: Machine, value: Address, what: str, *given: Value) -> bool:
    """It shows what other mappings hold; a ChainMap has the first of them changed.

    Raises:
        Raised: TypeError, of a MappingProxyType.
    """
    item = machine.state.read(value)
    if not isinstance(item, DictObject) or item.cls not in (CHAIN, PROXY):
        return False
    if item.cls == PROXY:
        raise machine.raises("TypeError", f"'mappingproxy' object does not support item {what}")
    method = "__setitem__" if what == "assignment" else "__delitem__"
    machine.call(KnownFunction(f"{CHAIN.name}.{method}"), (value, *given))
    return True


def _assign_part(machine: Machine, item: ListObject, bounds: slice, new: list[Value]) -> None:
    """values[bounds] = new."""
    is_extended = bounds.step not in (None, 1)
    if item.open is not None and (_counts_from_end(bounds) or is_extended or (bounds.start or 0) > len(item.items)):
        if is_extended:
            machine.may_refuse("ValueError")
        item.open, item.items = points_to.either_of(item.open, [*item.items, *new]), []
        return
    try:
        item.items[bounds] = new
    except ValueError as error:
        raise exceptions.as_python(machine, error) from None


def _counts_from_end(bounds: slice) -> bool:
    """What it takes of a list depends on how long the list is, even among the first items."""
    return any(part is not None and part < 0 for part in (bounds.start, bounds.stop, bounds.step))


def _write_through(machine: Machine, mapping: DictObject, key: Value, new: Value) -> None:
    """A `__dict__` of an instance is a view: what is written to it is written to the instance."""
    owner = mapping.attributes.get(VIEW_OF)
    if isinstance(owner, ModuleReference) and isinstance(key, Constant):
        machine.state.globals[(owner.name, str(key.value))] = new
    if isinstance(owner, Address) and isinstance(key, Constant):
        store = mapping.attributes.get(VIEW_STORE)
        name = store.value if isinstance(store, Constant) else "attributes"
        if name == "attributes" and inner_stores.is_there(machine, owner, key, new):
            return
        if name == "attributes" and inner_stores.is_one(machine, owner, key):
            machine.expose([owner, new], machine.unknown(f"`{key.value}` of a module is replaced", new))
        else:
            orders.put(machine, machine.state.write(owner), name, key.value, new)


def _delete_through(machine: Machine, mapping: DictObject, key: Value) -> None:
    owner = mapping.attributes.get(VIEW_OF)
    if isinstance(owner, ModuleReference) and isinstance(key, Constant):
        machine.state.globals[(owner.name, str(key.value))] = DELETED
    if isinstance(owner, Address) and isinstance(key, Constant):
        store = mapping.attributes.get(VIEW_STORE)
        name = store.value if isinstance(store, Constant) else "attributes"
        getattr(machine.state.write(owner), name).pop(key.value, None)


def write_back(machine: Machine, mapping: DictObject, before: dict[Value, Value]) -> None:
    """What a method has changed in a view, `before` being its entries before, is changed in the instance it shows."""
    for key, held in before.items():
        if key not in mapping.entries and mapping.open is not None:  # it may be there, and may not
            absent = replace(mapping.open, optional=True, text=None)
            _write_through(machine, mapping, key, points_to.either_of(absent, (held,)))
        elif key not in mapping.entries:
            _delete_through(machine, mapping, key)
    for key, new in mapping.entries.items():
        if before.get(key) is not new:
            _write_through(machine, mapping, key, new)
    owner = mapping.attributes[VIEW_OF]
    if mapping.open is not None and isinstance(owner, Address):
        weak_updates.set_in_dict(machine, owner, mapping.open, mapping.open)


def view(machine: Machine, owner: Address, store: str = "attributes") -> Address:
    """A dict that shows a store of an instance; what is assigned to its items goes to the instance."""
    item = machine.state.read(owner)
    held: dict[str, Value] = getattr(item, store)
    shown: Mapping[str, Value] = held
    if store == "attributes":
        shown = inner_stores.whole(machine, owner, slots.in_dict(machine, item, held))
    shuffled = orders.of(item, store)
    open_ = (getattr(item, "open", None) if store == "attributes" else None) or shuffled
    if store == "attributes":
        open_ = open_ or inner_stores.why_more(machine, item)
    open_ = partial_texts.plainly(open_) if open_ is not None else None
    made = ViewObject(shown, open_, {VIEW_OF: owner, VIEW_STORE: Constant(store)})
    if shuffled is not None:
        made.attributes[MIXED] = TRUE
    return machine.allocate(made)


def delete(machine: Machine, value: Value, key: Value) -> None:
    """del value[key]."""
    if isinstance(value, Unknown):
        change_unknown(machine, value)
        return
    if isinstance(value, Choice):
        machine.on_each(value, lambda each: delete(machine, each, key))
        return
    item = machine.state.read(value) if isinstance(value, Address) else None
    if isinstance(item, (ListObject, DictObject)) and isinstance(item.cls, KnownClass) and item.cls != COUNTER:
        own_delete(machine, value, key)
        return
    cls = machine.class_of(value)
    method = machine.class_attribute(cls, "__delitem__") if machine.is_class(cls) else cls
    if method is not None and not isinstance(method, Unknown):
        machine.call(method, (value, key))
    elif isinstance(item, (ListObject, DictObject)):
        own_delete(machine, value, key)
    elif method is None and not isinstance(item, InstanceObject):
        raise machine.raises("TypeError", f"'{classes.short_name(cls)}' object does not support item deletion")
    else:
        machine.expose([value], machine.unknown("item deletion is not modelled", method or NONE))


def own_delete(machine: Machine, value: Value, key: Value) -> None:
    """list.__delitem__ and dict.__delitem__ themselves."""
    assert isinstance(value, Address)
    if isinstance(key, Choice):
        machine.on_each(key, lambda each: own_delete(machine, value, each))
        return
    if _is_done_elsewhere(machine, value, "deletion", key):
        return
    item = machine.state.write(value)
    if isinstance(item, DictObject):
        key = keys.key_in(machine, item, key)
        before = dict(item.entries) if isinstance(key, Unknown) and VIEW_OF in item.attributes else None
        if key in item.entries:
            if is_optional(item.entries[key]):
                machine.may_fail("KeyError")
            del item.entries[key]
            _delete_through(machine, item, key)
        elif isinstance(key, Unknown) and key.text is not None:
            machine.may_fail("KeyError")
            absent = replace(partial_texts.named(key, NONE), optional=True)
            item.entries.update({each: absent for each in item.entries if partial_texts.may_be_key(key, each)})
        elif isinstance(key, Unknown):
            machine.may_refuse("KeyError")
            item.open, item.entries = points_to.either_of(item.open or key, item.entries.values()), {}
        elif item.open is None:
            raise machine.raises("KeyError", exceptions.text_without_effects(machine, key) or "...", (key,))
        else:
            machine.may_refuse("KeyError")
        if before is not None:
            write_back(machine, item, before)
        return
    assert isinstance(item, ListObject)
    unordered.forget(item)
    bounds: slice | int | Unknown | None
    bounds = slice_of(machine, key) if isinstance(key, SliceValue) else index_of(machine, key)
    if bounds is None or isinstance(bounds, Unknown):
        machine.may_refuse("ValueError" if isinstance(key, SliceValue) else "IndexError")
        why = item.open or machine.unknown("an index is not known", key)
        item.open, item.items = points_to.either_of(why, item.items), []
        return
    if item.open is not None and isinstance(bounds, int) and not 0 <= bounds < len(item.items):
        machine.may_refuse("IndexError")
    if item.open is not None and (_counts_from_end(bounds) if isinstance(bounds, slice) else bounds < 0):
        item.open, item.items = points_to.either_of(item.open, item.items), []
        return
    if item.open is not None and isinstance(bounds, int) and bounds >= len(item.items):
        return
    try:
        del item.items[bounds]
    except IndexError:
        raise machine.raises("IndexError", "list assignment index out of range") from None


def mapping_pairs(machine: Machine, value: Value) -> tuple[list[tuple[Value, Value]], Unknown | None] | Unknown:
    """The entries of a mapping, with the reason where there may be others; Unknown where none is known."""
    mapping = machine.state.find(value, DictObject)
    if mapping is not None:
        return list(mapping.entries.items()), mapping.open
    if isinstance(value, (Unknown, Choice)):
        why = machine.unknown("the mapping is not known", value)
        return why if isinstance(value, Unknown) else points_to.read_within(machine, why, value.alternatives)
    keys = _found(machine, value, "keys")
    if keys is None:
        if isinstance(value, Constant) or machine.state.find(value, ListObject) is not None:
            name = classes.short_name(machine.class_of(value))
            raise exceptions.exactly(machine, "TypeError", f"'{name}' object is not a mapping")
        return machine.unknown("the mapping is not known")
    if isinstance(keys, Unknown):
        return machine.unknown("the mapping is not known", keys)
    found = machine.iterate(machine.call(keys))
    if isinstance(found, Unknown):
        return found
    return [(key, get(machine, value, key)) for key in found], None


def _found(machine: Machine, value: Value, name: str) -> Value | None:
    try:
        return machine.find_attribute(value, name)
    except Raised as raised:
        if raised.name != "builtins.AttributeError":
            raise
        return None


def merge_mapping(machine: Machine, address: Address, value: Value) -> None:
    """{..., **value}."""
    pairs = mapping_pairs(machine, value)
    found, why = ([], pairs) if isinstance(pairs, Unknown) else pairs
    if why is not None:
        target = machine.state.change(address, DictObject)
        target.open = points_to.either_of(why, (target.open,)) if target.open is not None else why
        target.entries = {key: points_to.either_of(why, (held,)) for key, held in target.entries.items()}
    mapping = machine.state.find(address, DictObject)
    for key, item in found:
        there = is_optional(item) and mapping is not None and keys.find_entry(machine, mapping, key) is not None
        assign(machine, address, key, replace(item, optional=False) if there and isinstance(item, Unknown) else item)
