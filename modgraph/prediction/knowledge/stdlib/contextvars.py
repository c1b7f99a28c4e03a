"""contextvars: a variable of a context is one of the program here, which runs in one context."""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import InstanceObject
from modgraph.prediction.domain.registry import known_class, models
from modgraph.prediction.domain.values import NONE, Address, KnownClass, Unknown, Value

_VARIABLE, _TOKEN = "contextvars.ContextVar", "contextvars.Token"
known_class(_VARIABLE)
known_class(_TOKEN)
_DEFAULT, _HELD = "<default>", "<value>"


@models(_VARIABLE)
def variable(arguments: Arguments, machine: Machine) -> Value:
    """ContextVar(name, default=...)."""
    attributes = {"name": arguments.get(0, "name", NONE)}
    if "default" in arguments.keywords:
        attributes[_DEFAULT] = arguments.keywords["default"]
    return machine.allocate(InstanceObject(KnownClass(_VARIABLE), attributes, arguments.open, where=arguments.where))


def _held(arguments: Arguments, machine: Machine) -> tuple[Address, InstanceObject] | None:
    address = arguments.positional[0]
    held = machine.state.find(address, InstanceObject)
    return (address, held) if isinstance(address, Address) and held is not None and held.open is None else None


def _not_known(machine: Machine) -> Unknown:
    return machine.unknown("what a context variable holds is not known")


@models(f"{_VARIABLE}.get")
def get(arguments: Arguments, machine: Machine) -> Value:
    """What was set; else what is given here, or was when it was made.

    Raises:
        Raised: LookupError, where there is neither.
    """
    found = _held(arguments, machine)
    if found is None:
        return _not_known(machine)
    held = found[1].attributes
    if _HELD in held:
        return held[_HELD]
    if len(arguments.positional) > 1:
        return arguments.positional[1]
    given = arguments.named("default", held.get(_DEFAULT, NONE))
    if "default" not in arguments.keywords and _DEFAULT not in held and arguments.open is None:
        raise machine.raises("LookupError", machine.string(held["name"]) or "")
    return given


@models(f"{_VARIABLE}.set")
def set_value(arguments: Arguments, machine: Machine) -> Value:
    """A token that knows what it held before."""
    found = _held(arguments, machine)
    if found is None:
        return _not_known(machine)
    address, held = found
    before = {_HELD: held.attributes[_HELD]} if _HELD in held.attributes else {}
    machine.state.change(address, InstanceObject).attributes[_HELD] = arguments.get(1, "value", NONE)
    return machine.allocate(InstanceObject(KnownClass(_TOKEN), {"var": address, **before}))


@models(f"{_VARIABLE}.reset")
def reset(arguments: Arguments, machine: Machine) -> Value:
    """It holds what it held before the `set` that gave that token."""
    found = _held(arguments, machine)
    token = machine.state.find(arguments.get(1, "token", NONE), InstanceObject)
    if found is None or token is None or token.cls != KnownClass(_TOKEN):
        machine.expose(arguments.positional[:1], _not_known(machine))
        machine.may_fail()
        return NONE
    changed = machine.state.change(found[0], InstanceObject).attributes
    changed.pop(_HELD, None)
    if _HELD in token.attributes:
        changed[_HELD] = token.attributes[_HELD]
    return NONE
