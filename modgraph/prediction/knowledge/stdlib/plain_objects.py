"""Plain objects of the standard library: SimpleNamespace, Namespace, weakref."""

from __future__ import annotations

import threading
from dataclasses import replace

from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.limits import MAX_VALUE_SIZE
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import DictObject, InstanceObject, ListObject
from modgraph.prediction.domain.registry import known_class, models
from modgraph.prediction.domain.values import (
    NONE,
    TRUE,
    Address,
    Constant,
    KnownClass,
    KnownFunction,
    PartialValue,
    Unknown,
    Value,
)
from modgraph.prediction.paths.guards import PROXIES
from modgraph.prediction.python import exceptions, still_held
from modgraph.prediction.python.bounds import MOST_LONG_NUMBERS, has_many_long_numbers
from modgraph.prediction.python.plain import lifted
from modgraph.source.quiet import literal_value
from modgraph.source.reached import Reached
from modgraph.source.refusing_text import TooMuchError

NAMESPACES = ("types.SimpleNamespace", "argparse.Namespace")
for _name in NAMESPACES:
    known_class(_name)


@models(*NAMESPACES)
def namespace(arguments: Arguments, machine: Machine) -> Value:
    address = machine.allocate(InstanceObject(KnownClass(arguments.function), {}, where=arguments.where))
    return _filled(machine, address, arguments.positional, arguments)


@models(*(f"{name}.__init__" for name in NAMESPACES))
def initialise_namespace(arguments: Arguments, machine: Machine) -> Value:
    receiver, *rest = arguments.positional
    assert isinstance(receiver, Address)
    _filled(machine, receiver, tuple(rest), arguments)
    return NONE


def _filled(machine: Machine, address: Address, given: tuple[Value, ...], arguments: Arguments) -> Address:
    target = machine.state.change(address, InstanceObject)
    mapping = machine.state.find(given[0], DictObject) if given else None
    for key, value in mapping.entries.items() if mapping is not None else ():
        if isinstance(key, Constant):
            target.attributes[str(key.value)] = value
    target.attributes.update(arguments.keywords)
    target.open = arguments.open or (mapping.open if mapping is not None else None)
    return address


@models("argparse.Namespace.__contains__")
def in_namespace(arguments: Arguments, machine: Machine) -> Value:
    return machine.compare("in", arguments.positional[1], machine.get_attribute(arguments.positional[0], "__dict__"))


# ---- weak references, locks ------------------------------------------------------------------------------------------


@models("weakref.ref")
def reference(arguments: Arguments, machine: Machine) -> Value:
    """Called, it gives the object: what a constructor refers to lives while it runs."""
    of = arguments.positional[0]
    if isinstance(of, Constant):
        raise machine.raises("TypeError", f"cannot create weak reference to '{type(of.value).__name__}' object")
    _note_ending(machine, arguments)
    return PartialValue(KnownFunction(still_held.WEAK), (of,))


def _note_ending(machine: Machine, arguments: Arguments) -> None:
    """What is called when the object has ended may be called at any time."""
    told = [*arguments.positional[1:], *arguments.keywords.values()]
    if any(each != NONE for each in told):
        machine.expose(told, machine.unknown("when an object ends is not known"))


@models(still_held.WEAK)
def dereference(arguments: Arguments, machine: Machine) -> Value:
    of = arguments.positional[0]
    if not isinstance(of, Address) or still_held.are_held(machine, [of.index]):
        return of
    return machine.choice([of, NONE], "whether the object of a weak reference is still there is not known")


@models("weakref.proxy")
def weak_proxy(arguments: Arguments, machine: Machine) -> Value:
    """The object itself, as long as names lead to it."""
    of = arguments.positional[0]
    _note_ending(machine, arguments)
    machine.state.globals[PROXIES] = TRUE
    if not isinstance(of, Address) or still_held.are_held(machine, [of.index]):
        return of
    why = machine.unknown("whether the object of a weak reference is still there is not known")
    return points_to.either_of(why, [of])


@models("weakref.getweakrefs", "weakref.getweakrefcount")
def weak_references(arguments: Arguments, machine: Machine) -> Value:
    """The references lead to the object itself; their number does not."""
    is_number = arguments.function.endswith("count")
    return Unknown("which weak references there are is not followed", machine.where, inert=is_number)


@models("copyreg._slotnames")
def slot_names(arguments: Arguments, machine: Machine) -> Value:
    """The names in `__slots__` of a class and its bases; none, where no class has them."""
    slots = machine.class_attribute(arguments.positional[0], "__slots__")
    return machine.allocate(ListObject([], machine.unknown("slots are not listed") if slots is not None else None))


_LOCKS = ("Lock", "RLock", "Event", "Condition", "Semaphore")
_SYNCHRONISING = tuple(f"threading.{name}" for name in (*_LOCKS, "local"))
for _name in _SYNCHRONISING:
    known_class(_name)


@models(*_SYNCHRONISING)
def synchronisation(arguments: Arguments, machine: Machine) -> Value:
    return machine.allocate(InstanceObject(KnownClass(arguments.function), {}, where=arguments.where))


@models(
    *(
        f"threading.{name}.{method}"
        for name in _LOCKS
        for method in dir(getattr(threading, name)())
        if not method.startswith("_")
    )
)
def of_a_lock(arguments: Arguments, machine: Machine) -> Value:
    """Whoever waits goes on; `Condition.wait_for` calls what it is given."""
    given = [*arguments.positional[1:], *arguments.keywords.values()]
    why = Unknown(f"{arguments.function} is not interpreted", arguments.where, inert=True)
    if arguments.function.endswith(".wait_for"):
        machine.expose(given, replace(why, inert=False))
        return points_to.either_of(why, given)
    return why


# ---- text of values --------------------------------------------------------------------------------------------------


_WORDS_OF_A_CHARACTER = 40
"""What reading a character of a literal takes, in words of memory that could be made meanwhile."""


@models("ast.literal_eval")
def literal(arguments: Arguments, machine: Machine) -> Value:
    text = arguments.positional[0]
    if not isinstance(text, Constant) or not isinstance(text.value, str):
        return machine.unknown("the text of a literal is not known", text)
    if len(text.value) > MAX_VALUE_SIZE or has_many_long_numbers(text.value):
        most = f"{MAX_VALUE_SIZE} characters, or {MOST_LONG_NUMBERS} long numbers"
        return machine.unknown(Reached(f"a literal of more than {most}"))
    machine.makes(_WORDS_OF_A_CHARACTER * len(text.value))
    try:
        return lifted(machine, literal_value(text.value))
    except TooMuchError as error:
        return machine.unknown(f"the text of a literal is not read: {error.msg}")
    except (RecursionError, MemoryError):
        return machine.unknown("the text of a literal is nested too deep")
    except (ValueError, SyntaxError) as error:
        raise exceptions.as_python(machine, error) from None
