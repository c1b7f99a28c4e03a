"""What `@hydra.main` gives the function below it, and what is done with that: objects of OmegaConf, `instantiate`.

The configuration is composed where the machine may read files (`Machine.compose`); else nothing is known of it. Source:
hydra 1.3 (`hydra.main`, `hydra._internal.instantiate._instantiate2`), omegaconf 2.3 (`DictConfig`, `ListConfig`).
"""

from __future__ import annotations

import os
from typing import Any

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import DictObject, InstanceObject, ListObject
from modgraph.prediction.domain.registry import alias, known_class, model, models
from modgraph.prediction.domain.values import (
    FALSE,
    NONE,
    Address,
    Constant,
    FunctionValue,
    KnownClass,
    KnownFunction,
    ModuleReference,
    PartialValue,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.source.targets import Unsaid

CONFIG = "omegaconf.dictconfig.DictConfig"
LIST = "omegaconf.listconfig.ListConfig"
_DECORATE, _RUN = "hydra.<decorate>", "hydra.<run>"
_OMEGACONF = "omegaconf.omegaconf.OmegaConf"
_TAKEN = frozenset({"get", "keys", "values", "items", "pop", "copy", "setdefault", "update"})
"""Methods, which a key of the same name does not hide."""
_WORDS = frozenset({"_target_", "_args_", "_recursive_", "_convert_", "_partial_"})
_PLAIN = (type(None), bool, int, float, str)
_UNSAID = Constant("<not said>")

known_class(CONFIG)
known_class(LIST)
known_class(_OMEGACONF)
for _name, _path in (("OmegaConf", _OMEGACONF), ("DictConfig", CONFIG), ("ListConfig", LIST)):
    alias(f"omegaconf.{_name}", _path)
for _name in ("open_dict", "read_write"):
    alias(f"omegaconf.{_name}", f"omegaconf.omegaconf.{_name}")
for _name in ("__getitem__", "__len__", "__iter__", "__contains__", "index", "count"):
    _of_list = model(f"builtins.list.{_name}")
    if _of_list is not None:
        models(f"{LIST}.{_name}")(_of_list)


# ---- the function that is started ------------------------------------------------------------------------------------


@models("hydra.main.main")
def main(arguments: Arguments, machine: Machine) -> Value:
    """`@hydra.main(config_path=..., config_name=...)`."""
    version = arguments.get(2, "version_base", _UNSAID)
    path = arguments.get(0, "config_path", Constant(".") if version == _UNSAID else NONE)
    name = arguments.get(1, "config_name", NONE)
    if machine.compose is None or arguments.open is not None:
        return machine.unknown("the configuration of hydra.main is not known")
    return PartialValue(KnownFunction(_DECORATE), (path, name))


alias("hydra.main", "hydra.main.main")


@models(_DECORATE)
def decorate(arguments: Arguments, machine: Machine) -> Value:
    return PartialValue(KnownFunction(_RUN), arguments.positional)


@models(_RUN)
def run(arguments: Arguments, machine: Machine) -> Value:
    """The function, called with the configuration."""
    path, name, function, *given = arguments.positional
    config = given[0] if given else _composed(machine, path, name, function)
    machine.invoke(function, Arguments("", (config,), {}, arguments.where))
    return NONE


def _composed(machine: Machine, path: Value, name: Value, function: Value) -> Value:
    words = _words(machine)
    below, file = (each.value if isinstance(each, Constant) else None for each in (path, name))
    source = machine.finder.source(function.definition.module) if isinstance(function, FunctionValue) else None
    if machine.compose is None or words is None or source is None:
        return machine.unknown("the configuration of hydra.main is not known", path, name)
    if not isinstance(below, str) or not isinstance(file, str) or "://" in below:
        return machine.unknown("where the configuration of hydra.main lies is not known", path, name)
    folder = os.path.normpath(os.path.join(os.path.dirname(source.path), below))
    return lifted(machine, machine.compose(folder, file, words))


def _words(machine: Machine) -> tuple[str, ...] | None:
    """Of the command line; none where nothing says them."""
    if machine.words_of_script is None:
        return ()
    argv = machine.iterate(machine.get_attribute(ModuleReference("sys"), "argv"))
    words = argv[1:] if isinstance(argv, list) else [argv]
    texts = tuple(each.value for each in words if isinstance(each, Constant) and isinstance(each.value, str))
    return texts if len(texts) == len(words) else None


def lifted(machine: Machine, held: Any) -> Value:
    """What a configuration holds, as OmegaConf's objects."""
    if isinstance(held, Unsaid):
        return machine.unknown(held.reason)
    if isinstance(held, dict):
        if not all(isinstance(key, str) and key not in _TAKEN for key in held):
            return machine.unknown("a configuration whose keys are no plain names")
        attributes = {key: lifted(machine, each) for key, each in held.items()}
        return machine.allocate(InstanceObject(KnownClass(CONFIG), attributes))
    if isinstance(held, list):
        return machine.allocate(ListObject([lifted(machine, each) for each in held], None, KnownClass(LIST)))
    return Constant(held) if isinstance(held, _PLAIN) else machine.unknown("a value of a configuration is not plain")


# ---- mappings --------------------------------------------------------------------------------------------------------


def _config(machine: Machine, value: Value) -> InstanceObject | None:
    """A configuration of which all keys are known."""
    item = machine.state.find(value, InstanceObject)
    return item if item is not None and item.cls == KnownClass(CONFIG) and item.open is None else None


def _not_known(machine: Machine, value: Value) -> Unknown:
    return machine.unknown("what a configuration holds is not known", value)


@models(f"{CONFIG}.__getitem__")
def item_of(arguments: Arguments, machine: Machine) -> Value:
    config, key = _config(machine, arguments.positional[0]), arguments.positional[1]
    if config is None or not isinstance(key, Constant):
        return _not_known(machine, arguments.positional[0])
    if key.value not in config.attributes:
        raise machine.raises("KeyError", repr(key.value))
    return config.attributes[key.value]


@models(f"{CONFIG}.get")
def get(arguments: Arguments, machine: Machine) -> Value:
    config, key = _config(machine, arguments.positional[0]), arguments.get(1, "key", NONE)
    if config is None or not isinstance(key, Constant):
        return _not_known(machine, arguments.positional[0])
    return config.attributes.get(key.value, arguments.get(2, "default_value", NONE))


@models(f"{CONFIG}.__setitem__")
def set_item(arguments: Arguments, machine: Machine) -> Value:
    receiver, key, value = arguments.positional
    if isinstance(key, Constant) and isinstance(key.value, str):
        machine.set_attribute(receiver, key.value, value)
    else:
        machine.expose([receiver], _not_known(machine, key))
    return NONE


@models(f"{CONFIG}.__setattr__")
def set_attribute(arguments: Arguments, machine: Machine) -> Value:
    """A container that is set is copied, and becomes a configuration."""
    receiver, name, value = arguments.positional
    if not isinstance(value, (Constant, Unknown)):
        is_config = _config(machine, value) is not None
        value = (
            machine.unknown("a copy of a configuration is not made", value) if is_config else _created(machine, value)
        )
    return machine.call(KnownFunction("builtins.object.__setattr__"), (receiver, name, value))


@models(f"{CONFIG}.pop")
def pop(arguments: Arguments, machine: Machine) -> Value:
    receiver, key = arguments.positional[0], arguments.get(1, "key", NONE)
    config = _config(machine, receiver)
    if config is None or not isinstance(key, Constant) or key.value not in config.attributes:
        machine.expose([receiver], _not_known(machine, key))
        return _not_known(machine, receiver)
    assert isinstance(receiver, Address)
    return machine.state.change(receiver, InstanceObject).attributes.pop(key.value)


@models(f"{CONFIG}.__contains__")
def contains(arguments: Arguments, machine: Machine) -> Value:
    config, key = _config(machine, arguments.positional[0]), arguments.positional[1]
    if config is None or not isinstance(key, Constant):
        return _not_known(machine, arguments.positional[0])
    held = config.attributes.get(key.value)
    return _not_known(machine, held) if isinstance(held, Unknown) else Constant(held is not None)


@models(f"{CONFIG}.__len__")
def length(arguments: Arguments, machine: Machine) -> Value:
    config = _config(machine, arguments.positional[0])
    return _not_known(machine, arguments.positional[0]) if config is None else Constant(len(config.attributes))


@models(*(f"{CONFIG}.{name}" for name in ("keys", "__iter__", "values", "items")))
def entries(arguments: Arguments, machine: Machine) -> Value:
    config = _config(machine, arguments.positional[0])
    if config is None:
        return _not_known(machine, arguments.positional[0])
    mapping = machine.allocate(DictObject({Constant(key): value for key, value in config.attributes.items()}))
    return machine.call(machine.get_attribute(mapping, arguments.function.rpartition(".")[2]), ())


# ---- OmegaConf -------------------------------------------------------------------------------------------------------


def _as_plain(machine: Machine, value: Value) -> Value:
    """With dicts and lists of Python's in place of OmegaConf's."""
    config = machine.state.find(value, InstanceObject)
    if config is not None and config.cls == KnownClass(CONFIG):
        held: dict[Value, Value] = {Constant(key): _as_plain(machine, each) for key, each in config.attributes.items()}
        return machine.allocate(DictObject(held, config.open))
    listed = machine.state.find(value, ListObject)
    if listed is not None and listed.cls == KnownClass(LIST):
        return machine.allocate(ListObject([_as_plain(machine, each) for each in listed.items], listed.open))
    return value


@models(f"{_OMEGACONF}.to_container")
def to_container(arguments: Arguments, machine: Machine) -> Value:
    """Without `resolve=True` the references stay as they are written."""
    is_resolved = machine.truth(arguments.get(1, "resolve", FALSE))
    if machine.compose is not None and machine.compose.refers and is_resolved is not True:
        return machine.unknown("references of a configuration stay as they are written", arguments.get(0, "cfg", NONE))
    return _as_plain(machine, arguments.get(0, "cfg", NONE))


@models(f"{_OMEGACONF}.create", CONFIG, LIST)
def create(arguments: Arguments, machine: Machine) -> Value:
    """Of plain containers; what a text with a reference in it means depends on the others."""
    given = arguments.positional[0] if arguments.positional else NONE
    if len(arguments.positional) != 1 or arguments.keywords or arguments.open is not None:
        return machine.unknown("a configuration with parents or flags is not followed")
    return _created(machine, given)


def _created(machine: Machine, value: Value) -> Value:
    if isinstance(value, Constant):
        is_special = isinstance(value.value, str) and ("${" in value.value or value.value == "???")
        return machine.unknown("a reference of a configuration is not followed") if is_special else value
    mapping, listed = machine.state.find(value, DictObject), machine.state.find(value, ListObject)
    if mapping is not None and mapping.unsure is None:
        keys = [key.value if isinstance(key, Constant) else None for key in mapping.entries]
        if all(isinstance(key, str) and key not in _TAKEN for key in keys):
            pairs = zip(keys, mapping.entries.values(), strict=True)
            held = {str(key): _created(machine, each) for key, each in pairs}
            return machine.allocate(InstanceObject(KnownClass(CONFIG), held))
    if listed is not None and listed.open is None:
        items = [_created(machine, each) for each in listed.items]
        return machine.allocate(ListObject(items, None, KnownClass(LIST)))
    return value if _config(machine, value) is not None else machine.unknown("a configuration is not known", value)


@models(*(f"{_OMEGACONF}.{name}" for name in ("set_struct", "set_readonly", "resolve")))
def flagged(arguments: Arguments, machine: Machine) -> Value:
    return NONE


_NOT_FOLLOWED = (
    *("load", "merge", "unsafe_merge", "update", "select", "structured", "to_object", "from_cli", "from_dotlist"),
    *("masked_copy", "missing_keys", "get_type", "is_config", "is_dict", "is_list", "is_missing", "is_interpolation"),
    *("is_readonly", "is_struct"),
)
_METHODS_NOT_FOLLOWED = ("copy", "setdefault", "update", "merge_with", "items_ex", "__eq__", "__ne__", "__delitem__")


@models(*(f"{_OMEGACONF}.{name}" for name in _NOT_FOLLOWED), *(f"{CONFIG}.{name}" for name in _METHODS_NOT_FOLLOWED))
def not_followed(arguments: Arguments, machine: Machine) -> Value:
    why = machine.unknown(f"{arguments.function} is not followed", *arguments.positional)
    machine.expose((*arguments.positional, *arguments.keywords.values()), why)
    return why


@models(
    *(f"{_OMEGACONF}.{name}" for name in ("register_new_resolver", "register_resolver", "legacy_register_resolver")),
    *(f"{_OMEGACONF}.{name}" for name in ("save", "clear_resolver", "clear_resolvers", "clear_cache")),
)
def of_no_effect(arguments: Arguments, machine: Machine) -> Value:
    """On configurations: what refers to a resolver is not known anyway."""
    return NONE


@models(f"{_OMEGACONF}.to_yaml")
def to_yaml(arguments: Arguments, machine: Machine) -> Value:
    return Unknown("the text of a configuration is not made", inert=True)


@models("omegaconf.omegaconf.open_dict", "omegaconf.omegaconf.read_write")
def opened(arguments: Arguments, machine: Machine) -> Value:
    return machine.call(KnownClass("contextlib.nullcontext"), ())


# ---- instantiate -----------------------------------------------------------------------------------------------------


@models("hydra._internal.instantiate._instantiate2.instantiate")
def instantiate(arguments: Arguments, machine: Machine) -> Value:
    """What a configuration with `_target_` makes, the innermost first."""
    config, others = arguments.get(0, "config", NONE), dict(arguments.keywords)
    others.pop("config", None)
    if config == NONE:
        return NONE
    if arguments.open is not None or (others.keys() & _WORDS):
        return machine.unknown("what hydra.utils.instantiate is told besides is not followed")
    return _instance(machine, config, arguments, arguments.positional[1:], others)


for _path in ("hydra.utils.instantiate", "hydra.utils.call"):
    alias(_path, "hydra._internal.instantiate._instantiate2.instantiate")


def _instance(
    machine: Machine,
    value: Value,
    asked: Arguments,
    positional: tuple[Value, ...],
    others: dict[str, Value],
    *,
    plainly: bool = False,
) -> Value:
    """
    Args:
        plainly: what it is given has plain containers, where it does not say that itself.
    """
    item = machine.state.find(value, InstanceObject)
    if item is None or item.cls != KnownClass(CONFIG):
        return machine.unknown("what hydra.utils.instantiate is given is not known", value)
    words = {name: item.attributes.get(name, NONE) for name in _WORDS}
    target = words["_target_"]
    if item.open is not None or not isinstance(target, Constant) or not isinstance(target.value, str):
        return machine.unknown("what hydra.utils.instantiate makes is not known", value)
    deep = words["_recursive_"] != FALSE
    if "_convert_" in item.attributes:
        plainly = words["_convert_"] != Constant("none")
    if any(_is_laid_over(machine, each) for each in others.values()):
        return machine.unknown("a mapping or list is laid over what hydra.utils.instantiate is given", value)
    keywords = {
        name: _inner(machine, each, asked, deep=deep, plainly=plainly)
        for name, each in item.attributes.items()
        if name not in _WORDS and name not in others
    }
    given = machine.iterate(words["_args_"]) if words["_args_"] != NONE else []
    if isinstance(given, Unknown):
        return machine.unknown("what hydra.utils.instantiate gives by place is not known", value)
    placed = positional or tuple(_inner(machine, each, asked, deep=deep, plainly=plainly) for each in given)
    function = machine.resolve(target.value)
    if machine.truth(words["_partial_"]):
        return PartialValue(function, placed, tuple({**keywords, **others}.items()))
    return machine.invoke(function, Arguments("", placed, {**keywords, **others}, asked.where))


def _is_laid_over(machine: Machine, value: Value) -> bool:
    """It becomes a part of the configuration."""
    is_container = machine.state.find(value, DictObject) or machine.state.find(value, ListObject)
    return isinstance(value, TupleValue) or is_container is not None or _config(machine, value) is not None


def _inner(machine: Machine, value: Value, asked: Arguments, *, deep: bool, plainly: bool) -> Value:
    """An argument: made in its turn where it has a `_target_`."""
    item = machine.state.find(value, InstanceObject)
    if deep and item is not None and item.cls == KnownClass(CONFIG):
        if "_target_" in item.attributes:
            return _instance(machine, value, asked, (), {}, plainly=plainly)
        held = {key: _inner(machine, each, asked, deep=True, plainly=plainly) for key, each in item.attributes.items()}
        value = machine.allocate(InstanceObject(KnownClass(CONFIG), held, item.open))
    listed = machine.state.find(value, ListObject)
    if deep and listed is not None and listed.cls == KnownClass(LIST):
        items = [_inner(machine, each, asked, deep=True, plainly=plainly) for each in listed.items]
        value = machine.allocate(ListObject(items, listed.open, KnownClass(LIST)))
    return _as_plain(machine, value) if plainly else value
