"""ParameterList and ParameterDict: tensors become parameters; what is no tensor is kept as a plain attribute.

Source: torch/nn/modules/container.py.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

from modgraph.names import last_name
from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import DictObject, ListObject, ModuleObject, TensorObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import (
    FALSE,
    NONE,
    OPEN,
    TRUE,
    Address,
    Constant,
    KnownClass,
    SliceValue,
    TupleValue,
    Unknown,
    Value,
    is_optional,
)
from modgraph.prediction.knowledge.stdlib.iteration import index_of, own, pairs_of, prefix_of, slice_of
from modgraph.prediction.knowledge.torch.containers import filled, initialised
from modgraph.prediction.knowledge.torch.parameters import as_parameter
from modgraph.prediction.knowledge.torch.walks import module_of
from modgraph.prediction.paths import partial_texts
from modgraph.prediction.python import may_items
from modgraph.prediction.python.enum_texts import text_given
from modgraph.prediction.python.keys import put
from modgraph.prediction.python.registration import assign_unknown_name, kind_of

_FILE = "torch.nn.modules.container"
LIST = f"{_FILE}.ParameterList"
DICT = f"{_FILE}.ParameterDict"


def _value_to_set(machine: Machine, value: Value) -> Value:
    """A parameter in place of a plain tensor; anything else as it is."""
    tensor = machine.state.find(value, TensorObject)
    return as_parameter(machine, value) if tensor is not None and not tensor.is_parameter else value


def _open(machine: Machine, address: Address, why: Unknown) -> None:
    partial_texts.open_store(machine.state.change(address, ModuleObject).parameters, partial_texts.plainly(why))


def _openness(module: ModuleObject) -> Unknown | None:
    why = module.parameters.get(OPEN)
    return partial_texts.plainly(why) if isinstance(why, Unknown) else None


# ---- ParameterList ---------------------------------------------------------------------------------------------------


def _size(module: ModuleObject) -> int:
    """How many there certainly are."""
    size = module.attributes.get("_size")
    if isinstance(size, Constant):
        return int(size.value)
    return next(place for place in itertools.count() if not _is_held(module, str(place)))


def _is_held(module: ModuleObject, name: str) -> bool:
    held = module.parameters.get(name) or module.attributes.get(name)
    return held is not None and not is_optional(held)


def _unsure_size(machine: Machine, module: ModuleObject) -> Unknown | None:
    """Why there may be more, or fewer."""
    size = module.attributes.get("_size")
    if (why := _openness(module)) is not None or isinstance(size, Constant) or size is None:
        return why
    return machine.unknown("how many parameters there are is not known", size)


@models(f"{LIST}.__init__")
def parameter_list(arguments: Arguments, machine: Machine) -> Value:
    address = initialised(arguments, machine)
    machine.state.change(address, ModuleObject).attributes["_size"] = Constant(0)
    return filled(machine, address, arguments, "values", "extend", _open)


@models(f"{LIST}.__len__")
def list_length(arguments: Arguments, machine: Machine) -> Value:
    _, module = module_of(machine, arguments)
    return _unsure_size(machine, module) or Constant(_size(module))


@models(f"{LIST}.append")
def append(arguments: Arguments, machine: Machine) -> Value:
    address, module = module_of(machine, arguments)
    if (why := _unsure_size(machine, module)) is not None:
        _open(machine, address, why)
    else:
        size = _size(module)
        machine.state.change(address, ModuleObject).attributes["_size"] = Constant(size + 1)
        value = _value_to_set(machine, arguments.get(1, "value", NONE))
        machine.set_attribute(address, str(size), value)
    return address


@models(f"{LIST}.extend", f"{LIST}.__iadd__")
def extend(arguments: Arguments, machine: Machine) -> Value:
    address, _ = module_of(machine, arguments)
    given = arguments.get(1, "values" if "values" in arguments.keywords else "parameters", NONE)
    if machine.state.find(given, TensorObject) or (isinstance(given, Constant) and not isinstance(given.value, range)):
        raise machine.raises("TypeError", "ParameterList.extend should be called with an iterable")
    first, why = prefix_of(machine, given)
    for value in first:
        own(machine, address, "append", value)
    if why is not None:
        _open(machine, address, why)
    return address


@models(f"{LIST}.__getitem__")
def list_item(arguments: Arguments, machine: Machine) -> Value:
    address, module = module_of(machine, arguments)
    key, size, unsure = arguments.get(1, "idx", NONE), _size(module), _unsure_size(machine, module)
    if isinstance(key, SliceValue):
        bounds = slice_of(key)
        items = [machine.get_attribute(address, str(i)) for i in range(size)[bounds]] if bounds is not None else []
        new = machine.call(machine.class_of(address), (machine.allocate(ListObject(items)),))
        if isinstance(new, Address) and (bounds is None or unsure is not None):
            _open(machine, new, unsure or machine.unknown("the bounds of a slice are not known"))
        return new
    index = index_of(key)
    if index is None or (unsure is not None and not 0 <= index < size):
        why = unsure or machine.unknown("which parameter is taken is not known", key)
        return points_to.read(machine, why, module.parameters.values())
    return machine.get_attribute(address, _checked(machine, index, size))


def _checked(machine: Machine, index: int, size: int) -> str:
    if not -size <= index < size:
        raise machine.raises("IndexError", f"index {index} is out of range")
    return str(index % size)


@models(f"{LIST}.__setitem__")
def set_list_item(arguments: Arguments, machine: Machine) -> Value:
    address, module = module_of(machine, arguments)
    index, size = index_of(arguments.get(1, "idx", NONE)), _size(module)
    value = _value_to_set(machine, arguments.get(2, "param", NONE))
    if index is None or (_unsure_size(machine, module) is not None and not 0 <= index < size):
        _may_be_replaced(machine, address, value, machine.unknown("which parameter is replaced is not known"))
    else:
        machine.set_attribute(address, _checked(machine, index, size), value)
    return NONE


def _may_be_replaced(machine: Machine, address: Address, value: Value, why: Unknown) -> None:
    """Each that may be meant by `why` may be another one now."""
    module = machine.state.change(address, ModuleObject)
    for name, held in module.parameters.items():
        if name != OPEN and not isinstance(held, Unknown) and partial_texts.may_be(why, name):
            fits = kind_of(machine, value) in ("parameter", "none")
            module.parameters[name] = machine.choice([held, value], why.reason) if fits else replace(why, text=None)


@models(f"{LIST}.__iter__")
def iterate_list(arguments: Arguments, machine: Machine) -> Value:
    address, module = module_of(machine, arguments)
    items = [machine.get_attribute(address, str(i)) for i in range(_size(module))]
    why = _unsure_size(machine, module)
    return may_items.iterator(machine, items if why is None else [*items, may_items.Several(why)])


# ---- ParameterDict ---------------------------------------------------------------------------------------------------


@models(f"{DICT}.__init__")
def parameter_dict(arguments: Arguments, machine: Machine) -> Value:
    address = initialised(arguments, machine)
    machine.state.change(address, ModuleObject).attributes["_keys"] = machine.allocate(DictObject())
    return filled(machine, address, arguments, "parameters", "update", _open)


def _keys(machine: Machine, module: ModuleObject) -> tuple[Address, list[Value]]:
    address = module.attributes["_keys"]
    keys = machine.state.find(address, DictObject)
    assert isinstance(address, Address)
    assert keys is not None
    return address, list(keys.entries)


@models(f"{DICT}.update", f"{DICT}.__ior__")
def update(arguments: Arguments, machine: Machine) -> Value:
    """Of a plain dict, in the order of its sorted keys; of an OrderedDict or a ParameterDict, in theirs."""
    address, _ = module_of(machine, arguments)
    given = arguments.get(1, "parameters", NONE)
    pairs, why = pairs_of(machine, given)
    mapping = machine.state.find(given, DictObject)
    if mapping is not None and machine.is_instance(given, KnownClass("collections.OrderedDict")) is not True:
        pairs = sorted(pairs, key=lambda pair: str(pair[0].value) if isinstance(pair[0], Constant) else "")
    for key, value in pairs:
        machine.set_item(address, key, value)
    if why is not None:
        _open(machine, address, why)
    return address if arguments.function.endswith("__ior__") else NONE


@models(f"{DICT}.__setitem__")
def set_entry(arguments: Arguments, machine: Machine) -> Value:
    address, module = module_of(machine, arguments)
    key, value = text_given(arguments, machine, "key"), _value_to_set(machine, arguments.get(2, "value", NONE))
    if not isinstance(key, Constant):
        why = partial_texts.named(machine.unknown("a key is not known", key), key)
        _may_be_replaced(machine, address, value, why)
        assign_unknown_name(machine, address, value, why)
        keys, _ = _keys(machine, module)
        machine.state.change(keys, DictObject).open = partial_texts.plainly(why)
        if kind_of(machine, value) != "parameter":
            _open(machine, address, why)
        return NONE
    if not isinstance(key.value, str):
        raise machine.raises("TypeError", "a key of a ParameterDict must be a string")
    keys, _ = _keys(machine, module)
    put(machine, machine.state.change(keys, DictObject), key, NONE)
    machine.set_attribute(address, key.value, value)
    return NONE


def _entry(arguments: Arguments, machine: Machine) -> tuple[Address, Constant | None, Value | None]:
    """The dict, the key where it is one of its own, and the value; None where there is no such key."""
    address, module = module_of(machine, arguments)
    key, (_, keys) = text_given(arguments, machine, "key"), _keys(machine, module)
    if isinstance(key, Constant) and key in keys:
        return address, key, machine.get_attribute(address, key.value)
    if not isinstance(key, Constant):
        return address, None, machine.unknown("a key is not known", key)
    return address, None, _openness(module)


@models(f"{DICT}.__getitem__", f"{DICT}.get", f"{DICT}.setdefault")
def get_entry(arguments: Arguments, machine: Machine) -> Value:
    address, _, value = _entry(arguments, machine)
    method = last_name(arguments.function)
    if value is not None:
        return value
    key, default = text_given(arguments, machine, "key"), arguments.get(2, "default", NONE)
    if method == "get":
        return default
    if method == "setdefault":
        machine.set_item(address, key, default)
        return machine.get_item(address, key)
    raise machine.raises("AttributeError", f"'ParameterDict' object has no attribute {machine.string(key)!r}")


@models(f"{DICT}.__delitem__", f"{DICT}.pop")
def remove_entry(arguments: Arguments, machine: Machine) -> Value:
    address, key, value = _entry(arguments, machine)
    if value is None:
        asked = text_given(arguments, machine, "key")
        raise machine.raises("KeyError", machine.string(asked) or "key", (asked,))
    if key is None:
        _open(machine, address, machine.unknown("which parameter is removed is not known", value))
    else:
        _remove(machine, address, key)
    return value if arguments.function.endswith("pop") else NONE


def _remove(machine: Machine, address: Address, key: Constant) -> None:
    module = machine.state.find(address, ModuleObject)
    assert module is not None
    del machine.state.change(_keys(machine, module)[0], DictObject).entries[key]
    machine.delete_attribute(address, key.value)


@models(f"{DICT}.popitem")
def pop_item(arguments: Arguments, machine: Machine) -> Value:
    address, module = module_of(machine, arguments)
    _, keys = _keys(machine, module)
    if (why := _unsure_last(machine, module)) is not None:
        machine.may_refuse("KeyError")
        _may_be_removed(machine, address, why)
        return why
    if not keys:
        raise machine.raises("KeyError", "dictionary is empty")
    key = keys[-1]
    assert isinstance(key, Constant)
    value = machine.get_attribute(address, key.value)
    _remove(machine, address, key)
    return TupleValue((key, value))


def _unsure_last(machine: Machine, module: ModuleObject) -> Unknown | None:
    """Why it is not known which key is the last."""
    held = machine.state.find(module.attributes["_keys"], DictObject)
    assert held is not None
    why = _openness(module) or held.open
    last = held.entries[next(reversed(held.entries))] if held.entries else NONE
    if why is None and isinstance(last, Unknown) and last.optional:
        why = replace(last, optional=False)
    return why and points_to.either_of(why, module.parameters.values())


def _may_be_removed(machine: Machine, address: Address, why: Unknown) -> None:
    """Any of the entries may not be there any more."""
    module, absent = machine.state.change(address, ModuleObject), replace(why, optional=True, text=None)
    keys = machine.state.change(_keys(machine, module)[0], DictObject)
    for key, held in keys.entries.items():
        keys.entries[key] = points_to.either_of(absent, (held,))
        for store in (module.parameters, module.attributes):
            if isinstance(key, Constant) and key.value in store:
                store[key.value] = points_to.either_of(absent, (store[key.value],))


@models(f"{DICT}.clear")
def clear(arguments: Arguments, machine: Machine) -> Value:
    address, module = module_of(machine, arguments)
    for key in _keys(machine, module)[1]:
        if isinstance(key, Constant):
            _remove(machine, address, key)
    return NONE


@models(f"{DICT}.__len__")
def dict_length(arguments: Arguments, machine: Machine) -> Value:
    _, module = module_of(machine, arguments)
    return _unsure_keys(machine, module) or Constant(len(_keys(machine, module)[1]))


def _unsure_keys(machine: Machine, module: ModuleObject) -> Unknown | None:
    keys = machine.state.find(module.attributes["_keys"], DictObject)
    return _openness(module) or (keys.unsure if keys is not None else None)


@models(f"{DICT}.__contains__")
def contains(arguments: Arguments, machine: Machine) -> Value:
    _, key, value = _entry(arguments, machine)
    if key is not None:
        _, module = module_of(machine, arguments)
        keys = machine.state.find(module.attributes["_keys"], DictObject)
        held = keys.entries[key] if keys is not None else NONE
        return held if is_optional(held) else TRUE
    return FALSE if value is None else value


@models(f"{DICT}.keys", f"{DICT}.values", f"{DICT}.items", f"{DICT}.__iter__", f"{DICT}.__reversed__")
def contents(arguments: Arguments, machine: Machine) -> Value:
    _, module = module_of(machine, arguments)
    method = last_name(arguments.function)
    held = machine.state.find(module.attributes["_keys"], DictObject)
    assert held is not None
    items = [_shown(machine, arguments.positional[0], key, there, method) for key, there in held.entries.items()]
    why = _openness(module) or held.open
    if held.open is not None:
        items = []
    items += [] if why is None else [may_items.Several(points_to.either_of(why, module.parameters.values()))]
    return may_items.iterator(machine, reversed(items) if method == "__reversed__" else items)


def _shown(machine: Machine, address: Value, key: Value, there: Value, method: str) -> Value:
    """An entry as `method` gives it; of one that is there on some paths only, why."""
    if method in ("values", "items"):
        assert isinstance(key, Constant)
        value = there if is_optional(there) else machine.get_attribute(address, key.value)
        return value if method == "values" else TupleValue((key, value))
    return there if is_optional(there) else key


@models(f"{DICT}.copy", f"{DICT}.__or__", f"{DICT}.__ror__")
def copy(arguments: Arguments, machine: Machine) -> Value:
    operands = list(arguments.positional)
    if arguments.function.endswith("__ror__"):
        operands.reverse()
    new = machine.call(machine.resolve("torch.nn.ParameterDict"))
    for operand in operands:
        pairs, why = pairs_of(machine, operand)
        for key, value in pairs:
            machine.set_item(new, key, value)
        if why is not None and isinstance(new, Address):
            _open(machine, new, why)
    return new


@models(f"{DICT}.fromkeys")
def from_keys(arguments: Arguments, machine: Machine) -> Value:
    new = machine.call(machine.resolve("torch.nn.ParameterDict"))
    first, why = prefix_of(machine, arguments.get(1, "keys", NONE))
    for key in first:
        machine.set_item(new, key, arguments.get(2, "default", NONE))
    if why is not None and isinstance(new, Address):
        _open(machine, new, why)
    return new
