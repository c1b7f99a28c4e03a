"""The arguments of a call, each under the parameter that takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modgraph.prediction.domain.calling import Arguments, Raised
from modgraph.prediction.domain.objects import DictObject
from modgraph.prediction.domain.values import Constant, FunctionValue, TupleValue, Unknown, Value

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


def bind(machine: Machine, function: FunctionValue, arguments: Arguments) -> dict[str, Value]:
    """Parameter names with their values.

    Raises:
        Raised: TypeError, as Python would for this call.
    """
    if arguments.open is not None and not _takes_all(function):
        machine.may_refuse("TypeError")
    bound: dict[str, Value] = {}
    defaults = dict(function.defaults)
    keywords = dict(arguments.keywords)
    positional = arguments.positional
    place = 0
    variadic = False
    for parameter in function.definition.parameters:
        name, kind = parameter.name, parameter.kind
        if kind in ("positional", "normal"):
            if place < len(positional):
                bound[name] = positional[place]
                place += 1
                if kind == "normal" and name in keywords and not may_be_absent(machine, keywords.pop(name)):
                    raise _refused(machine, function, f"got multiple values for argument '{name}'")
            elif kind == "normal" and name in keywords:
                bound[name] = keywords.pop(name)
            else:
                bound[name] = _missing(machine, function, name, defaults, arguments)
        elif kind == "varargs":
            rest = positional[place:]
            bound[name] = TupleValue(rest) if arguments.open is None else arguments.open
            place = len(positional)
            variadic = True
        elif kind == "keyword":
            bound[name] = (
                keywords.pop(name) if name in keywords else _missing(machine, function, name, defaults, arguments)
            )
        else:
            entries: dict[Value, Value] = {Constant(key): value for key, value in keywords.items()}
            bound[name] = machine.allocate(DictObject(entries, arguments.open))
            keywords = {}
    if place < len(positional) and not variadic:
        raise _refused(machine, function, _too_many(function, len(positional), arguments))
    for name, value in keywords.items():
        if not may_be_absent(machine, value):
            raise _refused(machine, function, f"got an unexpected keyword argument '{name}'")
    return bound


def _takes_all(function: FunctionValue) -> bool:
    """It has `*args` and `**kwargs`, and needs nothing."""
    parameters = function.definition.parameters
    kinds = {each.kind for each in parameters}
    needed = (each for each in parameters if each.default is None and each.kind not in ("varargs", "varkw"))
    return {"varargs", "varkw"} <= kinds and not any(needed)


def may_be_absent(machine: Machine, value: Value) -> bool:
    """An entry of `**options` that is there on some paths only; on the others the call is not refused for it."""
    if type(value) is not Unknown or not value.optional:
        return False
    machine.may_refuse("TypeError")
    return True


def _too_many(function: FunctionValue, given: int, arguments: Arguments) -> str:
    """Python's own words for positional arguments that have no parameter."""
    places = [each for each in function.definition.parameters if each.kind in ("positional", "normal")]
    required = sum(each.default is None for each in places)
    by_name = {each.name for each in function.definition.parameters if each.kind == "keyword"} & set(arguments.keywords)
    takes = str(len(places)) if required == len(places) else f"from {required} to {len(places)}"
    plural = "" if takes == "1" else "s"
    also = ""
    if by_name:
        also = f" positional argument{'s' if given != 1 else ''} (and {len(by_name)} keyword-only argument"
        also += f"{'s' if len(by_name) != 1 else ''})"
    verb = "was" if given == 1 and not by_name else "were"
    return f"takes {takes} positional argument{plural} but {given}{also} {verb} given"


def _refused(machine: Machine, function: FunctionValue, why: str) -> Raised:
    raised = machine.raises("TypeError", f"{function.definition.qualname}() {why}")
    raised.binding = function.definition
    return raised


def _missing(
    machine: Machine, function: FunctionValue, name: str, defaults: dict[str, Value], arguments: Arguments
) -> Value:
    if arguments.open is not None:
        return arguments.open
    default = defaults.get(name)
    if default is None:
        raise _refused(machine, function, f"missing a required argument: '{name}'")
    return default
