"""Constructor arguments as JSON values: literals as they are, everything else as a short text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from modgraph.names import last_name
from modgraph.prediction.domain.limits import MAX_SHOWN_BITS, MAX_SHOWN_SIZE
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import (
    DictObject,
    InstanceObject,
    ListObject,
    ModuleObject,
    SetObject,
    TensorObject,
)
from modgraph.prediction.domain.values import (
    Address,
    BoundMethod,
    Choice,
    ClassValue,
    Constant,
    Device,
    Dtype,
    EnumMember,
    FunctionValue,
    GenericAlias,
    KnownClass,
    KnownFunction,
    ModuleReference,
    PartialValue,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.python.bounds import text_size

MAX_ITEMS = 64
"""Items of a list or dict that is written out."""
MAX_DEPTH = 4
_LEFT_OUT = object()


def arguments_of(machine: Machine, module: ModuleObject) -> dict[str, Any]:
    """By parameter name; what is not known, lists of modules (which the tree shows) and defaults left out.

    A default says the same written out or not: so two blocks are alike in their arguments if they were built alike.
    """
    init = machine.class_attribute(module.cls, "__init__")
    defaults = dict(init.defaults) if isinstance(init, FunctionValue) else {}
    found: dict[str, Any] = {}
    for name, value in module.arguments:
        literal = _literal(machine, value, 0)
        if literal is _LEFT_OUT or (name in defaults and _same(literal, _literal(machine, defaults[name], 0))):
            continue
        found[name] = literal
    return found


NOT_TOLD = {"$repr": "..."}
"""A default that is not known, or no literal."""

Defaults = dict[int, tuple[FunctionValue, dict[str, Any]]]
"""By identity of a constructor: what its parameters have where nothing is given."""


def defaults_of(machine: Machine, module: ModuleObject, known: Defaults) -> dict[str, Any]:
    """What the arguments are that `arguments_of` leaves out as they equal a default: of the model's own classes, since
    those of torch are the same in every model; literals are made once for a constructor."""
    init = machine.class_attribute(module.cls, "__init__")
    if not isinstance(init, FunctionValue) or init.definition.module.partition(".")[0] == "torch":
        return {}
    if id(init) not in known:
        literals = {name: _literal(machine, value, 0) for name, value in init.defaults}
        known[id(init)] = init, {k: NOT_TOLD if each is _LEFT_OUT else each for k, each in literals.items()}
    found = known[id(init)][1]
    given = {name: _literal(machine, value, 0) for name, value in module.arguments if name in found}
    return {name: value for name, value in found.items() if name not in given or _same(given[name], value)}


Known = dict[Value, int]
"""Objects that hold nothing that is not known, and how deep inside others they were when it was looked at."""


def unknown_arguments(machine: Machine, module: ModuleObject, known: Known) -> tuple[str, ...]:
    """Names of those that were given and are not known, or hold something that is not; what is `known` of one module
    is not looked at again for the next."""
    return tuple(name for name, value in module.arguments if _is_unknown(machine, value, 0, known))


_ITEMS_OF_A_UNIT = 4


def _is_unknown(machine: Machine, value: Value, depth: int, known: Known) -> bool:
    if isinstance(value, (Unknown, Choice)):
        return True
    if (
        depth > MAX_DEPTH
        or type(value) is Constant
        or (isinstance(value, Address) and known.get(value, depth + 1) <= depth)
    ):
        return False
    found = _holds_unknown(machine, value, depth, known)
    if not found and isinstance(value, Address):
        known[value] = depth
    return found


def _holds_unknown(machine: Machine, value: Value, depth: int, known: Known) -> bool:
    mapping = machine.state.find(value, DictObject)
    if mapping is not None:
        return mapping.open is not None or any(
            _is_unknown(machine, item, depth + 1, known) for item in mapping.entries.values()
        )
    listed = machine.state.find(value, ListObject)
    if listed is not None and listed.open is not None:
        return True
    items = _items(machine, value) or []
    machine.spend(len(items) // _ITEMS_OF_A_UNIT)
    return any(_is_unknown(machine, item, depth + 1, known) for item in items if type(item) is not Constant)


def _same(one: Any, other: Any) -> bool:
    """Equal, and of one type: 1 is neither True nor 1.0."""
    return type(one) is type(other) and bool(one == other)


def _literal(machine: Machine, value: Value, depth: int) -> Any:
    if isinstance(value, Constant):
        return _constant(value.value)
    if isinstance(value, (Unknown, Choice)) or depth > MAX_DEPTH:
        return _LEFT_OUT
    items = _items(machine, value)
    if items is not None:
        if len(items) > MAX_ITEMS:
            return {"$repr": f"{len(items)} items"}
        literals = [_literal(machine, item, depth + 1) for item in items]
        has_module = any(machine.state.find(item, ModuleObject) is not None for item in items)
        return _LEFT_OUT if has_module or any(item is _LEFT_OUT for item in literals) else literals
    mapping = machine.state.find(value, DictObject)
    if mapping is not None:
        return _mapping(machine, mapping, depth)
    return _reference(value) or _text(machine, value)


def _constant(value: Any) -> Any:
    if type(value) is int and value.bit_length() > MAX_SHOWN_BITS:
        return {"$repr": f"an integer of {value.bit_length():,} bits"}
    if text_size(value) > MAX_SHOWN_SIZE:
        return {"$repr": f"a {type(value).__name__}"}
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"$repr": repr(value)}
    try:
        return {"$repr": repr(value)}
    except ValueError:  # a range to an integer of more digits than Python makes a text of
        return {"$repr": f"a {type(value).__name__}"}


def _items(machine: Machine, value: Value) -> list[Value] | None:
    if isinstance(value, TupleValue):
        return list(value.items)
    listed = machine.state.find(value, ListObject)
    if listed is not None:
        return list(listed.items) if listed.open is None else [listed.open]
    return None


def _mapping(machine: Machine, mapping: DictObject, depth: int) -> Any:
    if mapping.open is not None or len(mapping.entries) > MAX_ITEMS:
        return _LEFT_OUT if mapping.open is not None else {"$repr": f"{len(mapping.entries)} items"}
    entries: dict[str, Any] = {}
    for key, item in mapping.entries.items():
        literal = _literal(machine, item, depth + 1)
        is_module = machine.state.find(item, ModuleObject) is not None
        if not isinstance(key, Constant) or not isinstance(key.value, str) or literal is _LEFT_OUT or is_module:
            return _LEFT_OUT
        entries[key.value] = literal
    return entries


def _reference(value: Value) -> Mapping[str, str] | None:
    """{"$ref": import path} of a class or function."""
    if isinstance(value, (ClassValue, KnownClass, KnownFunction, ModuleReference)):
        return {"$ref": value.name}
    if isinstance(value, FunctionValue):
        definition = value.definition
        return {"$ref": f"{definition.module}.{definition.qualname}"}
    if isinstance(value, BoundMethod):
        return _reference(value.function)
    if isinstance(value, GenericAlias):
        return _reference(value.origin)
    return None


def _text(machine: Machine, value: Value) -> Any:
    """{"$repr": short text} of anything else."""
    if isinstance(value, Dtype):
        return {"$repr": f"torch.{value.name}"}
    if isinstance(value, Device):
        return {"$repr": value.name}
    if isinstance(value, EnumMember):
        return {"$repr": f"{_short(value.cls)}.{value.name}"}
    if isinstance(value, PartialValue):
        parts = [_short(value.function), *(_shown(machine, item) for item in value.positional)]
        parts += [f"{name}={_shown(machine, item)}" for name, item in value.keywords]
        return {"$repr": f"partial({', '.join(parts)})"}
    tensor = machine.state.find(value, TensorObject)
    if tensor is not None:
        sizes = "?" if tensor.shape is None else ", ".join("?" if size is None else str(size) for size in tensor.shape)
        return {"$repr": f"{'Parameter' if tensor.is_parameter else 'Tensor'}[{sizes}]"}
    members = machine.state.find(value, SetObject)
    if members is not None and members.open is None:
        return {"$repr": "{" + ", ".join(_shown(machine, item) for item in members.items) + "}"}
    if machine.state.find(value, ModuleObject) or machine.state.find(value, InstanceObject):
        return {"$repr": f"{_short(machine.class_of(value))}(...)"}
    return _LEFT_OUT


def _shown(machine: Machine, value: Value) -> str:
    literal = _literal(machine, value, 1)
    if literal is _LEFT_OUT:
        return "..."
    if isinstance(literal, dict):
        text = str(literal.get("$ref", literal.get("$repr", "...")))
        return last_name(text) if "$ref" in literal else text
    return repr(literal)


def _short(value: Value) -> str:
    reference = _reference(value)
    return last_name(reference["$ref"]) if reference is not None else "..."
