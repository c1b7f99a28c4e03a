"""inspect.signature and kin: the parameters of functions, methods and classes."""

from __future__ import annotations

from modgraph.prediction.knowledge.registry import Arguments, Machine, constant, known_class, models
from modgraph.prediction.values import (
    NONE,
    BoundMethod,
    ClassValue,
    Constant,
    DictObject,
    FunctionValue,
    GeneratedMethod,
    InstanceObject,
    KnownClass,
    ListObject,
    PartialValue,
    StaticMethod,
    TupleValue,
    Value,
)

_PARAMETER = KnownClass("inspect.Parameter")
_EMPTY = KnownClass("inspect._empty")
_KINDS = {"positional": 0, "normal": 1, "varargs": 2, "keyword": 3, "varkw": 4}
_KIND_NAMES = ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD", "VAR_POSITIONAL", "KEYWORD_ONLY", "VAR_KEYWORD")

known_class("inspect.Parameter")
known_class("inspect.Signature")
known_class("inspect.FullArgSpec")
known_class("inspect._empty")
for _number, _name in enumerate(_KIND_NAMES):
    constant(f"inspect.Parameter.{_name}", Constant(_number))
constant("inspect.Parameter.empty", _EMPTY)
constant("inspect.Signature.empty", _EMPTY)

Parameters = list[tuple[str, str, Value | None]]


def parameters_of(machine: Machine, function: Value) -> Parameters | None:
    """Name, kind and default of each parameter, without a bound receiver; None where not known."""
    if isinstance(function, FunctionValue) and function.wrapped is not None:
        return parameters_of(machine, function.wrapped)
    if isinstance(function, FunctionValue):
        defaults = dict(function.defaults)
        return [(each.name, each.kind, defaults.get(each.name)) for each in function.definition.parameters]
    if isinstance(function, StaticMethod):
        return parameters_of(machine, function.function)
    if isinstance(function, BoundMethod):
        inner = parameters_of(machine, function.function)
        return inner[1:] if inner is not None else None
    if isinstance(function, PartialValue):
        inner = parameters_of(machine, function.function)
        if inner is None:
            return None
        fixed = dict(function.keywords)
        rest = inner[len(function.positional) :]
        return [(name, "keyword" if name in fixed else kind, fixed.get(name, default)) for name, kind, default in rest]
    if isinstance(function, ClassValue):
        init = machine.class_attribute(function, "__init__")
        if isinstance(init, GeneratedMethod):
            return None
        inner = parameters_of(machine, init) if init is not None else []
        return inner[1:] if inner else inner
    return None


@models("inspect.signature")
def signature(arguments: Arguments, machine: Machine) -> Value:
    found = parameters_of(machine, arguments.positional[0])
    if found is None:
        return machine.unknown("a signature is not known", arguments.positional[0])
    entries: dict[Value, Value] = {}
    for name, kind, default in found:
        attributes: dict[str, Value] = {
            "name": Constant(name),
            "kind": Constant(_KINDS[kind]),
            "default": _EMPTY if default is None else default,
            "annotation": machine.unknown("an annotation is not evaluated"),
        }
        entries[Constant(name)] = machine.allocate(InstanceObject(_PARAMETER, attributes))
    parameters = machine.allocate(DictObject(entries, cls=KnownClass("collections.OrderedDict")))
    return machine.allocate(InstanceObject(KnownClass("inspect.Signature"), {"parameters": parameters}))


@models("inspect.getfullargspec")
def full_argument_specification(arguments: Arguments, machine: Machine) -> Value:
    found = parameters_of(machine, arguments.positional[0])
    if found is None:
        return machine.unknown("a signature is not known", arguments.positional[0])
    named: list[Value] = [Constant(name) for name, kind, _ in found if kind in ("positional", "normal")]
    only: list[Value] = [Constant(name) for name, kind, _ in found if kind == "keyword"]
    defaults = tuple(default for _, kind, default in found if default is not None and kind in ("positional", "normal"))

    def single(wanted: str) -> Value:
        return next((Constant(name) for name, kind, _ in found if kind == wanted), NONE)

    attributes: dict[str, Value] = {
        "args": machine.allocate(ListObject(named)),
        "varargs": single("varargs"),
        "varkw": single("varkw"),
        "defaults": TupleValue(defaults) if defaults else NONE,
        "kwonlyargs": machine.allocate(ListObject(only)),
    }
    return machine.allocate(InstanceObject(KnownClass("inspect.FullArgSpec"), attributes))
