"""Walks over what modules hold: named_modules, children, parameters, buffers, and the contents of one store.

A child that is not known is given as it is: what is done to the others still happens, what is computed from all is
unknown. Source of all: torch/nn/modules/module.py.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import cast

from modgraph.names import last_name
from modgraph.prediction.domain import dict_views, points_to
from modgraph.prediction.domain.calling import Arguments, Raised
from modgraph.prediction.domain.limits import ITEMS_OF_A_FURTHER_PATH, ITEMS_OF_A_PATH
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import MIXED, DictObject, ListObject, ModuleObject, TensorObject
from modgraph.prediction.domain.registry import known_class, models
from modgraph.prediction.domain.suspended import Lost, Steps
from modgraph.prediction.domain.values import (
    MODULE,
    NONE,
    OPEN,
    TRUE,
    Address,
    Choice,
    ClassValue,
    Constant,
    FunctionValue,
    KnownClass,
    KnownFunction,
    PartialValue,
    TupleValue,
    Unknown,
    Value,
    is_optional,
)
from modgraph.prediction.knowledge.torch import live_walks, own_walks
from modgraph.prediction.paths import havoc
from modgraph.prediction.paths.partial_texts import held_in
from modgraph.prediction.python import may_items, orders, producing

for _view_class in ("keys", "values", "items"):
    known_class(f"builtins.dict_{_view_class}")


def module_of(machine: Machine, arguments: Arguments) -> tuple[Address, ModuleObject]:
    """The receiver of a method of Module, to look at."""
    address = arguments.positional[0]
    assert isinstance(address, Address)
    module = machine.state.read(address)
    assert isinstance(module, ModuleObject)
    return address, module


def walk(machine: Machine, root: Value, prefix: str = "", unique: bool = True) -> Iterator[tuple[str, Value]]:
    """`named_modules`: (path, module) depth first; a child that is not known, too; None slots left out."""
    seen: set[Value] = set()
    pending: list[tuple[str, Value, int]] = [(prefix, root, 0)]
    while pending:
        path, value, depth = pending.pop()
        if value == NONE or value in seen:
            continue
        if unique:
            seen.add(value)
        else:
            live_walks.require_end(machine, depth)
        machine.makes(ITEMS_OF_A_PATH if unique else ITEMS_OF_A_FURTHER_PATH)
        yield path, value
        module = machine.state.find(value, ModuleObject)
        if module is None:
            further = descendants(machine, value)
            if further is not None:
                yield f"{path}.{OPEN}", further
        else:
            children = held_in(module.modules)
            pending.extend((f"{path}.{name}" if path else name, child, depth + 1) for name, child in reversed(children))


def descendants(machine: Machine, value: Value) -> Unknown | None:
    """Any of the modules below a child that is not known, where it may have some."""
    own = points_to.objects_of((value,))
    found = frozenset(
        index
        for index in below(machine, (value,)) - own
        if machine.state.find(Address(index), ModuleObject) is not None
    )
    return Unknown(machine.unknown("", value).reason, machine.where, may_be=found) if found else None


def below(machine: Machine, values: Iterable[Value]) -> frozenset[int]:
    """The modules and tensors that these are or may be, and those that are or may be registered below them."""
    found: set[int] = set()
    seen: set[int] = set()
    pending = list(points_to.objects_of(values))
    while pending:
        index = pending.pop()
        if index in seen or not havoc.is_there(machine, index):
            continue
        seen.add(index)
        item = machine.state.read(Address(index))
        if isinstance(item, ModuleObject):
            pending.extend(
                points_to.objects_of((*item.modules.values(), *item.parameters.values(), *item.buffers.values()))
            )
        elif isinstance(item, ListObject):
            pending.extend(points_to.objects_of(item.items))
            continue
        if isinstance(item, (ModuleObject, TensorObject)):
            found.add(index)
    return frozenset(found)


def tensors_that_may_be(machine: Machine, root: Address, store: str) -> list[Address]:
    """Those below a child that is not known, and what a name of the store may stand for."""
    unsure: list[Value] = []
    for _, value in walk(machine, root):
        module = machine.state.find(value, ModuleObject)
        held = (value,) if module is None else getattr(module, store).values()
        unsure.extend(each for each in held if isinstance(each, (Unknown, Choice)))
    return _tensors_in(machine, unsure, store)


def _tensors_in(machine: Machine, values: Iterable[Value], store: str) -> list[Address]:
    found = [Address(index) for index in sorted(below(machine, values))]
    wanted = store == "parameters"
    return [
        each
        for each in found
        if (tensor := machine.state.find(each, TensorObject)) is not None and tensor.is_parameter is wanted
    ]


def tensors(
    machine: Machine, root: Address, store: str, prefix: str = "", recurse: bool = True, unique: bool = True
) -> Iterator[tuple[str, Value]]:
    """`named_parameters` or `named_buffers` (by the name of the store): (path, tensor), each tensor once."""
    seen: set[Value] = set()
    for path, value in walk(machine, root, prefix, unique) if recurse else [(prefix, root)]:
        module = machine.state.find(value, ModuleObject)
        if module is None:
            inside = frozenset(each.index for each in _tensors_in(machine, (value,), store))
            why = machine.unknown("", value)
            yield f"{path}.{OPEN}" if path else OPEN, Unknown(why.reason, why.where, may_be=why.may_be | inside)
            continue
        for name, tensor in held_in(getattr(module, store)):
            if tensor == NONE or tensor in seen:
                continue
            if unique:
                seen.add(tensor)
            yield f"{path}.{name}" if path else name, tensor


def disorder(machine: Machine, root: Address, recurse: bool = True) -> Unknown | None:
    """Why the order of what a module registers, or one below it, is not known."""
    for _, value in walk(machine, root) if recurse else [("", root)]:
        module = machine.state.find(value, ModuleObject)
        if module is not None and module.mixed is not None:
            return module.mixed
    return None


def _iterator(
    machine: Machine,
    found: Iterable[tuple[str, Value]],
    pairs: bool,
    live: live_walks.Entries,
    mixed: Unknown | None = None,
) -> Address:
    """Over what was found, by their paths or without: where one is not known, so is all that is below it. What is known
    is walked `live`, when it is asked for. Of what is `mixed`, any may stand at any place."""
    held = list(found)
    if mixed is not None:
        return _in_any_order(machine, [value for _, value in held], pairs, mixed)
    items: list[Value] = []
    for path, value in held:
        item = TupleValue((_name(path, value), value)) if pairs else value
        items.append(may_items.Several(item) if isinstance(value, (Unknown, Choice)) else item)
    if any(isinstance(each, may_items.Several) for each in items):
        return may_items.iterator(machine, items)
    return _walked(machine, live, pairs, [value for _, value in held])


def _in_any_order(machine: Machine, held: Iterable[Value], pairs: bool, why: Unknown) -> Address:
    one = points_to.either_of(why, held)
    return may_items.iterator(machine, [may_items.Several(TupleValue((why, one)) if pairs else one)])


def _walked(machine: Machine, live: live_walks.Entries, pairs: bool, held: list[Value]) -> Address:
    def steps() -> Steps:
        for entry in live:
            if isinstance(entry, Lost) or not pairs:
                yield entry if isinstance(entry, Lost) else entry[1]
            else:
                yield TupleValue((Constant(entry[0]), entry[1]))
        return None

    return producing.suspended(machine, lambda: (steps(), None), held, sys.maxsize)


def _children_of(machine: Machine, arguments: Arguments, pairs: bool) -> Address:
    address, module = module_of(machine, arguments)
    if module.mixed is not None:
        return _in_any_order(machine, [child for _, child in children_in(module)], pairs, module.mixed)
    if not any(name == OPEN or isinstance(child, (Unknown, Choice)) for name, child in module.modules.items()):
        return _walked(machine, live_walks.children(machine, address), pairs, list(module.modules.values()))
    found: list[Value] = []
    for name, child in children_in(module):
        each = replace(child, optional=True) if isinstance(child, Unknown) else child
        item = TupleValue((_name(name, each), each)) if pairs else each
        may_be_none = isinstance(each, Choice) and any(one == NONE or type(one) is Unknown for one in each.alternatives)
        found.append(may_items.Several(item) if name == OPEN or may_be_none else item)
    return may_items.iterator(machine, found)


def _name(path: str, value: Value) -> Value:
    """The path as a constant; of an entry that may not be there, unknown."""
    if last_name(path) == OPEN and isinstance(value, Unknown):
        return value
    return Constant(path)


def _text(arguments: Arguments, position: int, name: str) -> str:
    value = arguments.get(position, name, Constant(""))
    return str(value.value) if isinstance(value, Constant) else ""


def _flag(machine: Machine, arguments: Arguments, position: int, name: str, default: Value = TRUE) -> bool:
    return machine.truth(arguments.get(position, name, default)) is not False


@models(f"{MODULE}.named_modules")
def named_modules(arguments: Arguments, machine: Machine) -> Value:
    address, _ = module_of(machine, arguments)
    prefix, unique = _text(arguments, 2, "prefix"), _flag(machine, arguments, 3, "remove_duplicate")
    memo = arguments.get(1, "memo", NONE)
    if memo != NONE or overriding(machine, address, (_MODULES,)):
        return own_walks.modules(machine, address, memo, prefix, Constant(unique))
    live = live_walks.modules(machine, address, prefix, unique)
    return _iterator(machine, walk(machine, address, prefix, unique), True, live, disorder(machine, address))


@models(f"{MODULE}.modules")
def modules(arguments: Arguments, machine: Machine) -> Value:
    address, _ = module_of(machine, arguments)
    if overriding(machine, address, (_MODULES,)):
        return own_walks.seconds(machine, address, _MODULES, {})
    live = live_walks.modules(machine, address, "", True)
    return _iterator(machine, walk(machine, address), False, live, disorder(machine, address))


@models(f"{MODULE}.named_children")
def named_children(arguments: Arguments, machine: Machine) -> Value:
    return _children_of(machine, arguments, pairs=True)


@models(f"{MODULE}.children")
def children(arguments: Arguments, machine: Machine) -> Value:
    address, module = module_of(machine, arguments)
    if is_own(machine, module, "named_children"):
        pairs = machine.iterate(machine.call(machine.get_attribute(address, "named_children")))
        if isinstance(pairs, Unknown):
            return pairs
        return may_items.iterator(machine, [machine.get_item(pair, Constant(1)) for pair in pairs])
    return _children_of(machine, arguments, pairs=False)


def children_in(module: ModuleObject) -> list[tuple[str, Value]]:
    """Those that are not None, each once."""
    seen: set[Value] = set()
    found: list[tuple[str, Value]] = []
    for name, child in held_in(module.modules):
        if child != NONE and child not in seen:
            found.append((name, child))
            if isinstance(child, Address):  # two that are not known for one reason are not one
                seen.add(child)
    return found


def endless(machine: Machine) -> Raised:
    """What torch's walks without a memory end with, where a module is below itself."""
    return machine.raises("RecursionError", "maximum recursion depth exceeded")


WALKED_BY = ("children", "named_children")
"""Methods by which `apply`, `train`, `_apply` and kin find the children of a module."""


def asked_children(machine: Machine, address: Address) -> list[Value]:
    """What `module.children()` gives, where a class says that for itself; else those that are registered."""
    module = machine.state.read(address)
    assert isinstance(module, ModuleObject)
    if not any(is_own(machine, module, name) for name in WALKED_BY):
        return [child for _, child in children_in(module)]
    found = machine.iterate(machine.call(machine.get_attribute(address, "children")))
    if isinstance(found, Unknown):
        machine.expose((address, found), found)
        return []
    return found


_MODULES = "named_modules"
"""Method by which `modules`, `parameters` and kin find the modules below one."""


def _has_members_of_its_own(machine: Machine, address: Address) -> bool:
    module = machine.state.read(address)
    assert isinstance(module, ModuleObject)
    return is_own(machine, module, "_named_members") or overriding(machine, address, (_MODULES,))


def asks_its_own_way(machine: Machine, address: Address, store: str) -> bool:
    """`parameters()` or `buffers()` of a module is not what is registered there and below it, or may be not."""
    module = machine.state.read(address)
    assert isinstance(module, ModuleObject)
    own = any(is_own(machine, module, name) for name in (store, f"named_{store}"))
    return own or _has_members_of_its_own(machine, address)


_ITEMS = "torch._items_of_module"


@models(_ITEMS)
def items_of(arguments: Arguments, machine: Machine) -> Value:
    store, owner = arguments.positional
    assert isinstance(store, Constant)
    return contents(machine, owner, str(store.value), "items") if isinstance(owner, Address) else owner


@models(f"{MODULE}._named_members")
def named_members(arguments: Arguments, machine: Machine) -> Value:
    address, _ = module_of(machine, arguments)
    recurse = _flag(machine, arguments, 3, "recurse")
    held_by, prefix = arguments.get(1, "get_members_fn", NONE), arguments.get(2, "prefix", Constant(""))
    return own_walks.members(machine, address, held_by, prefix, recurse, arguments.get(4, "remove_duplicate", TRUE))


def overriding(machine: Machine, root: Address, methods: tuple[str, ...]) -> bool:
    """A module below, or the module itself, has a method of the user's in place of one of torch's."""
    seen: set[Value] = set()
    for _, value in walk(machine, root):
        module = machine.state.find(value, ModuleObject)
        if module is None:
            continue
        if any(each in module.attributes for each in methods):
            return True
        if module.cls in seen:
            continue
        seen.add(module.cls)
        for base in machine.mro(module.cls):
            of_user = isinstance(base, ClassValue) and not base.name.startswith("torch.")
            if of_user and any(machine.own_attribute(cast(ClassValue, base), each) is not None for each in methods):
                return True
    return False


def is_own(machine: Machine, module: ModuleObject, name: str) -> bool:
    """A method is not torch's."""
    if name in module.attributes:
        return True
    method = machine.class_attribute(module.cls, name)
    is_of_torch = isinstance(method, FunctionValue) and method.definition.module.startswith("torch.")
    return method is not None and not isinstance(method, KnownFunction) and not is_of_torch


@models(f"{MODULE}.named_parameters", f"{MODULE}.named_buffers")
def named_tensors(arguments: Arguments, machine: Machine) -> Value:
    address, _ = module_of(machine, arguments)
    store = "buffers" if arguments.function.endswith("buffers") else "parameters"
    prefix, recurse = _text(arguments, 1, "prefix"), _flag(machine, arguments, 2, "recurse")
    unique = _flag(machine, arguments, 3, "remove_duplicate")
    if _has_members_of_its_own(machine, address):
        held_by = PartialValue(KnownFunction(_ITEMS), (Constant(store),))
        named = {"prefix": prefix, "recurse": recurse, "remove_duplicate": unique}
        of = machine.get_attribute(address, "_named_members")
        return machine.call(of, (held_by,), {key: Constant(value) for key, value in named.items()})
    live = live_walks.tensors(machine, address, store, prefix, recurse, unique)
    found = tensors(machine, address, store, prefix, recurse, unique)
    return _iterator(machine, found, True, live, disorder(machine, address, recurse))


@models(f"{MODULE}.parameters")
def parameters(arguments: Arguments, machine: Machine) -> Value:
    return _tensor_iterator(arguments, machine, "parameters")


@models(f"{MODULE}.buffers")
def buffers(arguments: Arguments, machine: Machine) -> Value:
    return _tensor_iterator(arguments, machine, "buffers")


def _tensor_iterator(arguments: Arguments, machine: Machine, store: str) -> Value:
    address, _ = module_of(machine, arguments)
    recurse = _flag(machine, arguments, 1, "recurse")
    if asks_its_own_way(machine, address, store):
        return own_walks.seconds(machine, address, f"named_{store}", {"recurse": Constant(recurse)})
    live = live_walks.tensors(machine, address, store, "", recurse, True)
    found = tensors(machine, address, store, recurse=recurse)
    return _iterator(machine, found, False, live, disorder(machine, address, recurse))


def contents(machine: Machine, owner: Address, store: str, method: str, *, of_values: bool = False) -> Value:
    """keys, values, items, a copy, or an iterator over the names of a store, or over its values."""
    module = machine.state.read(owner)
    entries: dict[str, Value] = dict(held_in(getattr(module, store)))
    mixed = orders.of(module, store)
    certain = mixed is None and OPEN not in entries and not any(map(is_optional, entries.values()))
    if method == "__iter__" and certain:
        live = live_walks.entries(machine, owner, store, list(entries))
        if of_values:
            return _walked(machine, live, False, list(entries.values()))
        names = (each if isinstance(each, Lost) else ("", Constant(each[0])) for each in live)
        return _walked(machine, names, False, [])
    if method == "copy":
        held: dict[Value, Value] = {Constant(name): value for name, value in entries.items() if name != OPEN}
        why = entries.get(OPEN, mixed)
        return machine.allocate(
            DictObject(
                held,
                open=why if isinstance(why, Unknown) else None,
                cls=KnownClass("collections.OrderedDict"),
                attributes={} if mixed is None else {MIXED: TRUE},
            )
        )
    keys: list[Value] = [value if name == OPEN else Constant(name) for name, value in entries.items()]
    if method == "items":
        keys = [TupleValue((key, value)) for key, value in zip(keys, entries.values(), strict=True)]
    elif method == "values" or of_values:
        keys = list(entries.values())
    found = [
        key if (why := may_items.doubt(value)) is None or of_values or method in ("items", "values") else why
        for key, value in zip(keys, entries.values(), strict=True)
    ]
    if OPEN in entries:
        place = list(entries).index(OPEN)
        found[place] = may_items.Several(found[place])
    if mixed is not None:
        of_pairs = method == "items"
        one = points_to.either_of(mixed, entries.values()) if of_pairs or method == "values" or of_values else mixed
        found = [may_items.Several(TupleValue((mixed, one)) if of_pairs else one)]
    if method == "__reversed__":
        found.reverse()
    if method in ("__iter__", "__reversed__"):
        return may_items.iterator(machine, found)
    shown = may_items.view(machine, found, KnownClass(f"builtins.dict_{method}"))
    if certain:
        viewed = TupleValue((owner, Constant(store)))
        machine.state.change(shown, ListObject).attributes[dict_views.VIEWED] = viewed
    return shown
