"""Sequential, ModuleList, ModuleDict, Container: how their children are named, and every method that changes them.

Modelled method by method, so that a user's subclass with methods of its own works too; what torch does through another
method of the instance (`extend` through `append`) goes through the subclass here as well.
Source: torch/nn/modules/container.py.
"""

from __future__ import annotations

from collections.abc import Callable

from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.calling import Arguments, Raised
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import DictObject, ListObject, ModuleObject
from modgraph.prediction.domain.registry import Model, models
from modgraph.prediction.domain.values import (
    FALSE,
    MODULE,
    NONE,
    OPEN,
    Address,
    Choice,
    Constant,
    KnownClass,
    SliceValue,
    Unknown,
    Value,
    is_optional,
)
from modgraph.prediction.knowledge.stdlib.iteration import (
    certain_children,
    index_of,
    missing,
    openness,
    own,
    pairs_of,
    prefix_of,
    slice_of,
)
from modgraph.prediction.knowledge.torch.registering import initialise, register_module
from modgraph.prediction.knowledge.torch.walks import contents, module_of
from modgraph.prediction.paths import partial_texts, recording
from modgraph.prediction.python.enum_texts import text_given
from modgraph.prediction.python.registration import assign, delete

_FILE = "torch.nn.modules.container"
SEQUENTIAL = f"{_FILE}.Sequential"
LIST = f"{_FILE}.ModuleList"
DICT = f"{_FILE}.ModuleDict"
_CHILDREN_OF_A_UNIT = 10
"""How many are looked at in a unit of work."""


def open_from_here(machine: Machine, address: Address, why: Unknown) -> None:
    """Further children may follow."""
    partial_texts.open_store(machine.state.change(address, ModuleObject).modules, partial_texts.plainly(why))


def _position(machine: Machine, value: Value, size: int) -> int | None:
    """The index counted from the front; None where it is not known; IndexError where it is out of range."""
    index = index_of(value)
    if index is None:
        if isinstance(value, Constant):
            raise machine.raises(
                "TypeError", f"'{type(value.value).__name__}' object cannot be interpreted as an integer"
            )
        machine.may_refuse("IndexError")
        return None
    if not -size <= index < size:
        raise machine.raises("IndexError", f"index {index} is out of range")
    return index % size


def initialised(arguments: Arguments, machine: Machine) -> Address:
    """The container whose `__init__` is called, empty."""
    address = arguments.positional[0]
    assert isinstance(address, Address)
    initialise(Arguments("__init__", (address,)), machine)
    return address


def filled(
    machine: Machine,
    address: Address,
    arguments: Arguments,
    name: str,
    method: str,
    opens: Callable[[Machine, Address, Unknown], None],
) -> Value:
    """The rest of its `__init__`: its own method takes what is given under that name."""
    given = arguments.get(1, name, NONE)
    if arguments.open is not None:
        opens(machine, address, arguments.open)
    elif given != NONE:
        own(machine, address, method, given)
    return NONE


# ---- what Sequential and ModuleList have in common -------------------------------------------------------------------


@models(f"{SEQUENTIAL}.__len__", f"{LIST}.__len__", f"{DICT}.__len__")
def length(arguments: Arguments, machine: Machine) -> Value:
    _, module = module_of(machine, arguments)
    why = missing(module)
    return Constant(len(module.modules)) if why is None else Unknown(why.reason, why.where, inert=True)


@models(f"{SEQUENTIAL}.__iter__", f"{LIST}.__iter__")
def iterate(arguments: Arguments, machine: Machine) -> Value:
    return contents(machine, module_of(machine, arguments)[0], "modules", "__iter__", of_values=True)


@models(f"{SEQUENTIAL}.append", f"{LIST}.append")
def append(arguments: Arguments, machine: Machine) -> Value:
    address, module = module_of(machine, arguments)
    machine.spend(len(module.modules) // _CHILDREN_OF_A_UNIT)
    if (why := missing(module)) is None:
        own(machine, address, "add_module", Constant(str(len(module.modules))), arguments.get(1, "module", NONE))
    else:
        open_from_here(machine, address, points_to.either_of(why, arguments.positional[1:]))
    return address


@models(f"{SEQUENTIAL}.extend", f"{LIST}.extend", f"{LIST}.__iadd__")
def extend(arguments: Arguments, machine: Machine) -> Value:
    address, module = module_of(machine, arguments)
    given = arguments.get(1, "sequential" if "sequential" in arguments.keywords else "modules", NONE)
    if isinstance(given, Constant) and not isinstance(given.value, (str, range)):
        raise machine.raises("TypeError", f"extend should be called with an iterable, but got {given.value!r}")
    first, why = prefix_of(machine, given)
    if (unsure := missing(module)) is not None:
        open_from_here(machine, address, points_to.either_of(unsure, first if why is None else [*first, why]))
        return address
    is_sequential, size = _is_sequential(machine, address), len(module.modules)
    for index, item in enumerate(first):
        if is_sequential:
            own(machine, address, "append", item)
        else:
            own(machine, address, "add_module", Constant(str(size + index)), item)
    if why is not None:
        open_from_here(machine, address, why)
    return address


@models(f"{SEQUENTIAL}.__getitem__", f"{LIST}.__getitem__")
def get_item(arguments: Arguments, machine: Machine) -> Value:
    address, module = module_of(machine, arguments)
    key, why = arguments.get(1, "idx", NONE), openness(module)
    if isinstance(key, SliceValue):
        return _sliced(machine, address, module, key)
    known = certain_children(module)
    if why is not None:
        index = index_of(key)
        return known[index] if index is not None and 0 <= index < len(known) else why
    position = _position(machine, key, len(known))
    if position is None:
        return machine.choice(known, "which child is taken is not known") if known else machine.unknown("", key)
    return known[position]


def _sliced(machine: Machine, address: Address, module: ModuleObject, key: SliceValue) -> Value:
    """A new container of the same class: Sequential keeps the names, ModuleList counts anew."""
    cls, bounds, why = machine.class_of(address), slice_of(key), openness(module)
    is_sequential = machine.is_subclass(cls, machine.resolve("torch.nn.Sequential")) is not False
    if bounds is None or why is not None:
        new = machine.call(cls, ())
        if isinstance(new, Address) and machine.state.find(new, ModuleObject):
            why = why or machine.unknown("the bounds of a slice are not known", key.lower, key.upper)
            open_from_here(machine, new, points_to.either_of(why, list(module.modules.values())))
        return new
    entries = list(module.modules.items())[bounds]
    if not is_sequential:
        return machine.call(cls, (machine.allocate(ListObject([value for _, value in entries])),))
    named = {Constant(name): value for name, value in entries}
    ordered = DictObject(dict(named), cls=KnownClass("collections.OrderedDict"))  # type: ignore[arg-type]
    return machine.call(cls, (machine.allocate(ordered),))


@models(f"{SEQUENTIAL}.__setitem__", f"{LIST}.__setitem__")
def set_item(arguments: Arguments, machine: Machine) -> Value:
    address, module = module_of(machine, arguments)
    key, value = arguments.get(1, "idx", NONE), arguments.get(2, "module", NONE)
    names, why = list(module.modules), openness(module)
    position = index_of(key) if why is not None else _position(machine, key, len(names))
    if position is not None and 0 <= position < len(certain_children(module)):
        assign(machine, address, names[position], value)
    else:
        why = why or machine.unknown("which child is replaced is not known", key)
        _forget(machine, address, points_to.either_of(why, (value,)))
    return NONE


def _forget(machine: Machine, address: Address, why: Unknown) -> None:
    """Every child may have become another one; their names stay."""
    module = machine.state.change(address, ModuleObject)
    module.modules = {
        name: held if name == OPEN else points_to.either_of(why, (held,)) for name, held in module.modules.items()
    }


@models(f"{SEQUENTIAL}.__delitem__", f"{LIST}.__delitem__")
def delete_item(arguments: Arguments, machine: Machine) -> Value:
    """Removes and counts anew, so that names follow positions again, also those of an OrderedDict."""
    address, module = module_of(machine, arguments)
    key, why, names = arguments.get(1, "idx", NONE), openness(module), list(module.modules)
    bounds = slice_of(key) if isinstance(key, SliceValue) else None
    position = None
    if why is None and not isinstance(key, SliceValue):
        position = _position(machine, key, len(names))
    if why is not None or (bounds is None and position is None):
        reason = why or machine.unknown("which child is removed is not known", key)
        changed = machine.state.change(address, ModuleObject)
        changed.modules = {OPEN: points_to.either_of(reason, module.modules.values())}
        return NONE
    for name in names[bounds] if bounds is not None else [names[position or 0]]:
        delete(machine, address, name)
    module = machine.state.change(address, ModuleObject)
    module.modules = {str(i): value for i, value in enumerate(module.modules.values())}
    return NONE


@models(f"{SEQUENTIAL}.pop", f"{LIST}.pop")
def pop(arguments: Arguments, machine: Machine) -> Value:
    key = text_given(arguments, machine, "key")
    value = machine.get_item(arguments.positional[0], key)
    machine.delete_item(arguments.positional[0], key)
    return value


@models(f"{SEQUENTIAL}.insert", f"{LIST}.insert")
def insert(arguments: Arguments, machine: Machine) -> Value:
    """Shifts names one by one, as torch does: where a name is no index, or a position not there, a KeyError."""
    address, module = module_of(machine, arguments)
    key, value = arguments.get(1, "index", NONE), arguments.get(2, "module", NONE)
    index, is_sequential = index_of(key), "Sequential" in arguments.function or _is_sequential(machine, address)
    if is_sequential and machine.is_instance(value, KnownClass(MODULE)) is False:
        raise machine.raises("AssertionError", "module should be of type: Module")
    if openness(module) is not None or index is None:
        machine.state.change(address, ModuleObject).modules = {
            OPEN: openness(module) or machine.unknown("where a child is inserted is not known", key)
        }
        return address if is_sequential else NONE
    size = len(module.modules)
    if is_sequential:
        if not -size <= index <= size:
            raise machine.raises("IndexError", f"Index out of range: {index}")
        index += size if index < 0 else 0
    children = machine.state.change(address, ModuleObject).modules
    for i in range(size, index, -1):
        if str(i - 1) not in children:
            raise machine.raises("KeyError", repr(str(i - 1)), (Constant(str(i - 1)),))
        children[str(i)] = children[str(i - 1)]
    children[str(index)] = value
    return address if is_sequential else NONE


def _is_sequential(machine: Machine, address: Value) -> bool:
    return machine.is_instance(address, machine.resolve("torch.nn.Sequential")) is True


# ---- Sequential ------------------------------------------------------------------------------------------------------


@models(f"{SEQUENTIAL}.__init__")
def sequential(arguments: Arguments, machine: Machine) -> Value:
    """Children are named "0", "1", ..., or by the keys of the one OrderedDict that is given."""
    address, modules = arguments.positional[0], arguments.positional[1:]
    assert isinstance(address, Address)
    only = modules[0] if len(modules) == 1 else None
    if isinstance(only, Choice) and any(machine.state.find(each, DictObject) for each in only.alternatives):
        return machine.distribute(only, lambda each: sequential(Arguments("__init__", (address, each)), machine))
    initialise(Arguments("__init__", (address,)), machine)
    ordered = machine.state.find(modules[0], DictObject) if len(modules) == 1 and arguments.open is None else None
    if ordered is not None and machine.is_instance(modules[0], KnownClass("collections.OrderedDict")) is not False:
        pairs, why = pairs_of(machine, modules[0])
        for key, value in pairs:
            own(machine, address, "add_module", key, value)
        if why is not None:
            open_from_here(machine, address, why)
        return NONE
    for index, value in enumerate(modules):
        if isinstance(value, Unknown) and len(modules) == 1:
            reason = machine.unknown("it is not known whether a module or an OrderedDict of modules is given", value)
            open_from_here(machine, address, reason)
        else:
            own(machine, address, "add_module", Constant(str(index)), value)
    if arguments.open is not None:
        open_from_here(machine, address, arguments.open)
    return NONE


@models(f"{SEQUENTIAL}.forward")
def forward(arguments: Arguments, machine: Machine) -> Value:
    _, module = module_of(machine, arguments)
    value = arguments.get(1, "input", NONE)
    if (why := openness(module)) is not None:
        if machine.is_recording:
            recording.lost(machine, why)
        return why
    keys = list(module.modules)
    for key in keys:
        value = machine.call(module.modules[key], (value,))
        _, module = module_of(machine, arguments)
        if (why := openness(module)) is not None:  # what was called may have changed it
            return why
        if len(module.modules) != len(keys):
            raise machine.raises("RuntimeError", "dictionary changed size during iteration")
        if list(module.modules) != keys:
            return machine.unknown("an nn.Sequential whose layers change while it runs is not followed")
    return value


def _empty_sequential(machine: Machine) -> Address:
    new = machine.call(machine.resolve("torch.nn.Sequential"))
    assert isinstance(new, Address)
    return new


def _copy_into(machine: Machine, target: Address, *sources: Value) -> None:
    for source in sources:
        first, why = prefix_of(machine, source)
        for child in first:
            module = machine.state.find(target, ModuleObject)
            if module is not None and missing(module) is None:
                register_module(machine, target, Constant(str(len(module.modules))), child)
        if why is not None:
            open_from_here(machine, target, why)


@models(f"{SEQUENTIAL}.__add__")
def add_sequentials(arguments: Arguments, machine: Machine) -> Value:
    left, right = arguments.positional[:2]
    if not _is_sequential(machine, right) and not isinstance(right, Unknown):
        raise machine.raises("ValueError", "add operator supports only objects of Sequential class")
    new = _empty_sequential(machine)
    _copy_into(machine, new, left, right)
    return new


@models(f"{SEQUENTIAL}.__iadd__")
def add_to_sequential(arguments: Arguments, machine: Machine) -> Value:
    left, right = arguments.positional[:2]
    if not _is_sequential(machine, right) and not isinstance(right, Unknown):
        raise machine.raises("ValueError", "add operator supports only objects of Sequential class")
    assert isinstance(left, Address)
    _copy_into(machine, left, right)
    return left


@models(f"{SEQUENTIAL}.__mul__", f"{SEQUENTIAL}.__rmul__", f"{SEQUENTIAL}.__imul__")
def repeat_sequential(arguments: Arguments, machine: Machine) -> Value:
    """The same instances again: children are shared, not copied."""
    address, times = arguments.positional[:2]
    assert isinstance(address, Address)
    in_place = arguments.function.endswith("__imul__")
    target = address if in_place else _empty_sequential(machine)
    count = index_of(times)
    if count is None:
        if isinstance(times, Constant):
            raise machine.raises("TypeError", "unsupported operand type(s) for *")
        open_from_here(machine, target, machine.unknown("how often the modules are repeated is not known", times))
        return target
    if count <= 0:
        raise machine.raises("ValueError", f"Non-positive multiplication factor {count}")
    module = machine.state.find(address, ModuleObject)
    assert module is not None
    once = machine.allocate(ListObject(certain_children(module), open=openness(module)))
    _copy_into(machine, target, *([once] * (count - 1 if in_place else count)))
    return target


# ---- ModuleList ------------------------------------------------------------------------------------------------------


@models(f"{LIST}.__init__")
def module_list(arguments: Arguments, machine: Machine) -> Value:
    """Children are named "0", "1", ... in the order of the iterable."""
    address = initialised(arguments, machine)
    return filled(machine, address, arguments, "modules", "extend", open_from_here)


@models(f"{LIST}.__add__")
def add_to_list(arguments: Arguments, machine: Machine) -> Value:
    new = machine.call(machine.resolve("torch.nn.ModuleList"))
    assert isinstance(new, Address)
    _copy_into(machine, new, *arguments.positional[:2])
    return new


# ---- ModuleDict ------------------------------------------------------------------------------------------------------


@models(f"{DICT}.__init__")
def module_dict(arguments: Arguments, machine: Machine) -> Value:
    """Children are named by the keys of the mapping, or by the first of each pair."""
    address = initialised(arguments, machine)
    return filled(machine, address, arguments, "modules", "update", open_from_here)


@models(f"{DICT}.update")
def update(arguments: Arguments, machine: Machine) -> Value:
    address, _ = module_of(machine, arguments)
    pairs, why = pairs_of(machine, arguments.get(1, "modules", NONE))
    if why is not None:
        _forget(machine, address, why)
    for key, value in pairs:
        _put(machine, address, key, value)
    if why is not None:
        open_from_here(machine, address, why)
    return NONE


def _put(machine: Machine, address: Address, key: Value, value: Value) -> None:
    try:
        machine.set_item(address, key, value)
    except Raised as raised:
        if not is_optional(value):
            raise
        machine.may_raise(raised)  # where the mapping has that key
        machine.state = machine.state.fork()


@models(f"{DICT}.__setitem__")
def set_entry(arguments: Arguments, machine: Machine) -> Value:
    address, _ = module_of(machine, arguments)
    return own(machine, address, "add_module", text_given(arguments, machine, "key"), arguments.get(2, "module", NONE))


def _entry(arguments: Arguments, machine: Machine) -> tuple[Address, str | None, Value]:
    """The dict, the key if it is a known one of its children, and that child or why it is not known."""
    address, module = module_of(machine, arguments)
    key = text_given(arguments, machine, "key")
    if not isinstance(key, Constant):
        values = [value for name, value in module.modules.items() if name != OPEN and _may_be(key, name)]
        machine.may_refuse("KeyError")
        chosen = machine.choice(values, "which child is taken is not known") if values else None
        return address, None, missing(module) or chosen or machine.unknown("a key is not known", key)
    if key.value in module.modules and key.value != OPEN:
        found = module.modules[key.value]
        if isinstance(found, Unknown) and found.optional:
            machine.may_fail("KeyError")
        return address, key.value, found
    if (why := _why_missing(module, key)) is not None:
        return address, None, why
    raise machine.raises("KeyError", repr(key.value), (key,))


def _may_be(key: Value, name: str) -> bool:
    return not isinstance(key, Unknown) or partial_texts.may_be(key, name)


def _why_missing(module: ModuleObject, key: Constant) -> Unknown | None:
    """Why there may be a child of that name, which is not among those known."""
    return partial_texts.further(module.modules, str(key.value)) if OPEN in module.modules else missing(module)


@models(f"{DICT}.__getitem__")
def get_entry(arguments: Arguments, machine: Machine) -> Value:
    return _entry(arguments, machine)[2]


@models(f"{DICT}.__delitem__", f"{DICT}.pop")
def remove_entry(arguments: Arguments, machine: Machine) -> Value:
    address, name, value = _entry(arguments, machine)
    if name is not None:
        del machine.state.change(address, ModuleObject).modules[name]
    elif isinstance(key := text_given(arguments, machine, "key"), Constant):
        assert isinstance(value, Unknown)
        open_from_here(machine, address, value)
    else:
        held = machine.state.change(address, ModuleObject)
        why = points_to.either_of(machine.unknown("a key is not known", value), (value, *held.modules.values()))
        held.modules = {each: child for each, child in held.modules.items() if each != OPEN and not _may_be(key, each)}
        held.modules[OPEN] = why
    return value if arguments.function.endswith("pop") else NONE


@models(f"{DICT}.__contains__")
def contains(arguments: Arguments, machine: Machine) -> Value:
    _, module = module_of(machine, arguments)
    key = text_given(arguments, machine, "key")
    why = _why_missing(module, key) if isinstance(key, Constant) else missing(module)
    held = module.modules.get(key.value) if isinstance(key, Constant) else None
    if isinstance(held, Unknown) and held.optional:
        return held
    if isinstance(key, Constant) and (held is not None or why is None):
        return Constant(held is not None)
    if why is None and not any(_may_be(key, name) for name in module.modules):
        return FALSE
    return why or machine.unknown("a key is not known", key)


@models(f"{DICT}.clear")
def clear(arguments: Arguments, machine: Machine) -> Value:
    address, _ = module_of(machine, arguments)
    machine.state.change(address, ModuleObject).modules.clear()
    return NONE


def _contents(method: str) -> Model:
    def view(arguments: Arguments, machine: Machine) -> Value:
        return contents(machine, module_of(machine, arguments)[0], "modules", method)

    return view


for _method in ("keys", "values", "items", "__iter__"):
    models(f"{DICT}.{_method}")(_contents(_method))


# ---- Container -------------------------------------------------------------------------------------------------------


@models(f"{_FILE}.Container.__init__")
def container(arguments: Arguments, machine: Machine) -> Value:
    """Children are named by keyword."""
    address = arguments.positional[0]
    initialise(Arguments("__init__", (address,)), machine)
    for name, value in arguments.keywords.items():
        own(machine, address, "add_module", Constant(name), value)
    return NONE
