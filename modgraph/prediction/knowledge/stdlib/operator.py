"""operator: the operators as functions, getters of attributes and items."""

from __future__ import annotations

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import (
    Model,
    known_class,
    models,
)
from modgraph.prediction.domain.values import (
    NONE,
    Choice,
    Constant,
    KnownFunction,
    PartialValue,
    TupleValue,
    Value,
)
from modgraph.prediction.python import items, node_text, operators
from modgraph.prediction.python.plain import number_unknown

_CALLED = "operator._method.call"

_OPERATORS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "matmul": "@",
    "and_": "&",
    "or_": "|",
    "xor": "^",
    "lshift": "<<",
    "rshift": ">>",
    "concat": "+",
}
_COMPARISONS = {"lt": "<", "le": "<=", "eq": "==", "ne": "!=", "gt": ">", "ge": ">=", "is_": "is", "is_not": "is not"}


def _binary(symbol: str, compare: bool) -> Model:
    def apply(arguments: Arguments, machine: Machine) -> Value:
        left, right = arguments.positional[:2]
        return machine.compare(symbol, left, right) if compare else machine.binary(symbol, left, right)

    return apply


for _name, _symbol in (*_OPERATORS.items(), *_COMPARISONS.items()):
    models(f"operator.{_name}", f"_operator.{_name}")(_binary(_symbol, _name in _COMPARISONS))


@models("operator.index", "operator.abs", "operator.neg", "operator.pos", "operator.invert", "operator.inv")
def unary(arguments: Arguments, machine: Machine) -> Value:
    name = last_name(arguments.function)
    value = arguments.positional[0]
    if name == "abs":
        return machine.call(KnownFunction("builtins.abs"), (value,))
    if name != "index":
        return operators.unary(machine, _SYMBOLS[name], value)
    if isinstance(value, Constant) and not isinstance(value.value, int):
        raise machine.raises("TypeError", f"'{type(value.value).__name__}' object cannot be interpreted as an integer")
    number = items.index_of(machine, value)
    if number is None:
        machine.may_refuse("TypeError")
        return number_unknown(machine, "the number is not known", value)
    return Constant(number)


_SYMBOLS = {"neg": "-", "pos": "+", "invert": "~", "inv": "~"}


@models("operator.not_", "operator.truth")
def truth(arguments: Arguments, machine: Machine) -> Value:
    verdict = machine.truth(arguments.positional[0])
    if verdict is None:
        return number_unknown(
            machine, node_text.why_not_true(machine, arguments.positional[0]), arguments.positional[0]
        )
    return Constant(verdict is arguments.function.endswith("truth"))


@models("operator.getitem", "operator.setitem", "operator.delitem", "operator.contains")
def item(arguments: Arguments, machine: Machine) -> Value:
    name, given = last_name(arguments.function), arguments.positional
    if name == "getitem":
        return machine.get_item(given[0], given[1])
    if name == "contains":
        return machine.compare("in", given[1], given[0])
    if name == "setitem":
        machine.set_item(given[0], given[1], given[2])
    else:
        machine.delete_item(given[0], given[1])
    return NONE


known_class("operator._getter")


@models("operator.attrgetter", "operator.itemgetter")
def getter(arguments: Arguments, machine: Machine) -> Value:
    kind = Constant(last_name(arguments.function))
    return PartialValue(KnownFunction("operator._getter.get"), (kind, TupleValue(arguments.positional)))


@models("operator._getter.get")
def get(arguments: Arguments, machine: Machine) -> Value:
    kind, names, value = arguments.positional
    assert isinstance(names, TupleValue)
    if kind == Constant("itemgetter"):
        found = [machine.get_item(value, name) for name in names.items]
    else:
        found = [_attribute(machine, value, name) for name in names.items]
    return found[0] if len(found) == 1 else TupleValue(tuple(found))


def _attribute(machine: Machine, value: Value, path: Value) -> Value:
    """The attribute at a path with dots."""
    if isinstance(path, Choice):
        return machine.distribute(path, lambda each: _attribute(machine, value, each))
    if not isinstance(path, Constant):
        return machine.call(KnownFunction("builtins.getattr"), (value, path))
    for part in str(path.value).split("."):
        value = machine.get_attribute(value, part)
    return value


@models("operator.methodcaller")
def method_caller(arguments: Arguments, machine: Machine) -> Value:
    """`methodcaller(name, ...)(value)` calls the method of that name."""
    if arguments.open is not None or not arguments.positional:
        return machine.unknown("operator.methodcaller of something not known", *arguments.positional)
    return PartialValue(KnownFunction(_CALLED), arguments.positional, tuple(arguments.keywords.items()))


@models(_CALLED)
def method_called(arguments: Arguments, machine: Machine) -> Value:
    name, *given, value = arguments.positional
    if not isinstance(name, Constant) or not isinstance(name.value, str):
        why = machine.unknown("which method is called is not known", name)
        machine.expose(arguments.positional, why)
        return why
    method = machine.get_attribute(value, name.value)
    return machine.call(method, tuple(given), arguments.keywords, arguments.where, arguments.open)
