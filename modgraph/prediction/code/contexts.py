"""`with`: what a context manager gives, what it swallows, and what runs when its block is left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

from modgraph.prediction.code import control, fallible_calls, raising, targets
from modgraph.prediction.domain.calling import PROCESS_ENDS, Arguments, Raised
from modgraph.prediction.domain.frames import Frame, Outcome
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import InstanceObject, IteratorObject, ListObject
from modgraph.prediction.domain.registry import known_class, models
from modgraph.prediction.domain.state import State
from modgraph.prediction.domain.values import (
    FALSE,
    MODULE,
    NONE,
    TRUE,
    Address,
    BoundMethod,
    Choice,
    ClassValue,
    Constant,
    EnumMember,
    FunctionValue,
    KnownClass,
    KnownFunction,
    PartialValue,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.paths import recording
from modgraph.prediction.paths.guards import OPERATION, Guard, Leaving, may_be_gone
from modgraph.prediction.python import producing, standard_names
from modgraph.prediction.python.classes import short_name
from modgraph.source import nodes

_GENERATED = "contextlib._GeneratorContextManager"
_SUPPRESS = "contextlib.suppress"
_NULL = "contextlib.nullcontext"
_STACK = "contextlib.ExitStack"
_PUSHED = "<pushed>"
"""An object for each callback of a stack: one that some paths alone have pushed is still found."""
_CLOSING = "contextlib.closing"
_ENTERED = "<entered>"
_NOTHING = (NONE, NONE, NONE)
"""What `__exit__` is given where nothing is raised."""
_MODULE = KnownClass(MODULE)

known_class(_GENERATED)
known_class(_SUPPRESS)
known_class(_NULL)
known_class(_STACK)
known_class(_CLOSING)


def execute_with(machine: Machine, frame: Frame, node: nodes.With) -> Outcome:
    return _enter(machine, frame, node, node.items)


def _enter(machine: Machine, frame: Frame, node: nodes.With, items: Sequence[nodes.WithItem]) -> Outcome:
    """The block inside the first of these managers, and inside it the others."""
    if not items:
        return machine.execute(frame, node.body)
    manager = machine.evaluate(frame, items[0].item)
    if isinstance(manager, Choice):  # a path on which it is no manager ends here
        manager = machine.distribute(manager, lambda each: _required(machine, each))

    def inside(given: Value) -> Outcome:
        name = items[0].asname
        if name is not None:
            targets.assign(machine, frame, name, given)
        return _enter(machine, frame, node, items[1:])

    if isinstance(manager, Unknown) and fallible_calls.is_device(manager):
        manager = machine.allocate(InstanceObject(KnownClass(fallible_calls.DEVICE)))
    found = machine.state.find(manager, InstanceObject)
    if found is not None and is_generated(found):
        _require_new(machine, found, "args")
        assert isinstance(manager, Address)
        machine.state.change(manager, InstanceObject).attributes[_ENTERED] = TRUE
        return _around_yield(machine, frame, found.attributes["call"], inside)
    if isinstance(manager, Unknown):
        return inside(manager) if manager.inert else _guarded(machine, frame, manager, lambda: inside(manager))
    iterator = machine.state.find(manager, IteratorObject)
    if iterator is not None:
        return inside(iterator.items[0] if iterator.items else NONE)
    _require_manager(machine, manager)
    enter = machine.find_attribute(manager, "__enter__")
    if enter is None or isinstance(enter, Unknown):
        given = machine.unknown("what the context manager gives is not known", enter or NONE)
        return _guarded(machine, frame, manager, lambda: inside(given))
    return _guarded(machine, frame, manager, lambda: inside(machine.call(enter)))


def _require_new(machine: Machine, manager: InstanceObject, asked: str) -> None:
    """A generated manager is entered once, and makes no others after that.

    Raises:
        Raised: AttributeError, where it has been entered.
    """
    entered = manager.attributes.get(_ENTERED)
    if entered == TRUE:
        raise machine.raises("AttributeError", f"'_GeneratorContextManager' object has no attribute '{asked}'")
    if entered is not None:
        machine.may_fail("AttributeError")


def _required(machine: Machine, manager: Value) -> Value:
    _require_manager(machine, manager)
    return manager


def _require_manager(machine: Machine, manager: Value) -> None:
    """Raises:
    Raised: TypeError (AttributeError in Python 3.10), where its class certainly has not both methods.
    """
    if not isinstance(manager, (Constant, TupleValue, FunctionValue, Address, EnumMember)):
        return
    cls = machine.class_of(manager)
    known = (isinstance(each, ClassValue) or _is_no_manager(each) for each in machine.mro(cls))
    if isinstance(cls, Unknown) or (isinstance(manager, Address) and not all(known)):
        return
    if all(machine.class_attribute(cls, name) is not None for name in ("__enter__", "__exit__")):
        return
    name = "AttributeError" if sys.version_info < (3, 11) else "TypeError"
    raise machine.raises(name, f"'{short_name(cls)}' object does not support the context manager protocol")


def _is_no_manager(cls: Value) -> bool:
    """A class that is known, and has no `__exit__`."""
    found = standard_names.standard_object(cls.name) if isinstance(cls, KnownClass) else None
    return cls == _MODULE or (found is not None and found.is_class and not found.holds("__exit__"))


def is_generated(manager: InstanceObject) -> bool:
    """A generator function under @contextmanager made it."""
    return manager.cls == KnownClass(_GENERATED)


def _guarded(machine: Machine, frame: Frame, manager: Value, block: Callable[[], Outcome]) -> Outcome:
    """Runs the block, then `__exit__` on every path that leaves it; it may swallow what the block raises."""
    frames, since = len(machine.frames), machine.base.next_index
    leaving, guard = Leaving(frame), Guard(doubts=_has_source(machine, manager), expects=False)
    begun = machine.state.events
    machine.guards.append(guard)
    outcome: Outcome = "dead"
    try:
        may_be_gone(machine)
        outcome = block()
        may_be_gone(machine)
    except Raised as raised:
        del machine.frames[frames:]
        guard.insert(0, (raised.kept(), machine.state))
        ended = None
    else:
        ended = machine.state
    finally:
        machine.guards.pop()
    recording.leave_calls(machine, guard, begun)
    value = frame.value
    leaving.run(machine, lambda: _exit_normally(machine, manager))
    paths: list[control.Path] = []
    if ended is not None and outcome != "dead":
        machine.state = ended
        _exit_normally(machine, manager)
        paths.append((machine.state, control.ending(frame, outcome, value)))
    escaped: list[tuple[Raised, State]] = []
    for error, state in guard:
        machine.state = state
        swallows = _exit(machine, manager, error)
        if swallows is not True:
            escaped.append((error, machine.state.fork()))
        if swallows is not False:
            paths.append((machine.state, lambda: "normal"))
    if not paths and ended is None:
        machine.state = escaped[0][1]
        raise escaped.pop(0)[0]
    if machine.guards:
        machine.guards[-1].extend(escaped)
    if not paths:
        return "dead"
    return control.run_paths(machine, frame, paths, "depends on whether an exception is swallowed", since)


def _has_source(machine: Machine, manager: Value) -> bool:
    """What its `__exit__` does is known, other than that it does nothing."""
    leave = None if isinstance(manager, Unknown) else machine.find_attribute(manager, "__exit__")
    if isinstance(leave, BoundMethod) and isinstance(leave.function, KnownFunction):
        return leave.function.name in (f"{_SUPPRESS}.__exit__", f"{_STACK}.__exit__", "unittest.mock._patch.__exit__")
    return isinstance(leave, BoundMethod)


def _exit_normally(machine: Machine, manager: Value) -> Outcome:
    _exit(machine, manager, None)
    return "normal"


def _exit(machine: Machine, manager: Value, raised: Raised | None) -> bool | None:
    """Calls `__exit__`; whether it swallows the exception."""
    if raised is not None and raised.name == PROCESS_ENDS:
        return False
    leave = manager if isinstance(manager, Unknown) else machine.find_attribute(manager, "__exit__")
    if leave is None:
        return False
    if isinstance(leave, Unknown):
        if not leave.inert:
            machine.expose([manager], leave)
        return False if leave.inert else None
    given: tuple[Value, ...] = _NOTHING
    if raised is not None and raised.name == OPERATION and _only_imports(machine, manager):
        return False
    if raised is not None:
        given = _details(machine, raised)
    return machine.truth(machine.call(leave, given))


def _only_imports(machine: Machine, manager: Value) -> bool:
    """It swallows nothing but what importing raises."""
    held = machine.state.find(manager, InstanceObject)
    classes = held.attributes.get("exceptions") if held is not None and held.cls == KnownClass(_SUPPRESS) else None
    return classes is not None and raising.only_imports(machine, classes)


def call_exit(machine: Machine, manager: Value, raised: Raised | None) -> bool | None:
    """What `_exit` does, for a block that is suspended in its midst."""
    return _exit(machine, manager, raised)


def _around_yield(machine: Machine, frame: Frame | None, call: Value, inside: Callable[[Value], Outcome]) -> Outcome:
    """Runs the generator of a @contextmanager with the block in the place of its `yield`.

    Raises:
        Raised: RuntimeError, where it comes to none, or to another behind the block.
    """
    outcomes: list[Outcome] = []
    entered: list[Value] = []
    yielded, jumped = machine.allocate(ListObject([])), machine.allocate(ListObject([]))

    def block(given: Value) -> None:
        before = machine.state.find(yielded, ListObject)
        is_another = before is not None and bool(before.items)
        machine.state.change(yielded, ListObject).items.append(TRUE)
        if is_another:
            return
        entered.append(given)
        if frame is not None:
            machine.frames.append(frame)
        try:
            outcomes.append(inside(given))
            machine.state.change(jumped, ListObject).items.append(TRUE)
        finally:
            if frame is not None:
                machine.frames.pop()

    outer, machine.on_yield = machine.on_yield, block
    try:
        found = machine.call(call)
    finally:
        machine.on_yield = outer
    if not entered and isinstance(found, Unknown):  # it was given up before it came to its `yield`
        return inside(machine.unknown("what the context manager gives is not known"))
    if outcomes[-1:] != ["dead"]:
        _require_one(machine, yielded)
    # What the block raised may have been caught around the `yield`: it goes on behind the block.
    return _of_some(machine, frame, outcomes[-1], jumped) if outcomes else "normal"


def _of_some(machine: Machine, frame: Frame | None, outcome: Outcome, jumped: Address) -> Outcome:
    """How the block ends on the paths on which it has come to its end; on the others it goes on behind it."""
    held = machine.state.find(jumped, ListObject)
    if frame is None or held is None or outcome in ("normal", "dead") or (held.open is None and held.items):
        return outcome
    if held.open is not None:
        control.keep_left(frame, outcome, frame.value, machine.state.fork())
    return "normal"


def _require_one(machine: Machine, yielded: Address) -> None:
    """A generator has come to its `yield` once on each path."""
    held = machine.state.find(yielded, ListObject)
    if held is None or held.open is not None:
        machine.may_fail("RuntimeError")
    elif len(held.items) != 1:
        raise machine.raises("RuntimeError", f"generator didn't {'stop' if held.items else 'yield'}")


def within(machine: Machine, managers: Sequence[Value], call: Callable[[], Value]) -> Value:
    """What a call gives that is made within generated context managers, each of which is run anew."""
    if not managers:
        return call()
    machine.step()
    manager = machine.state.find(managers[0], InstanceObject)
    if manager is None:
        return machine.unknown("a context manager as a decorator is not followed", *managers)
    _require_new(machine, manager, "func")
    given: list[Value] = []

    def inside(_: Value) -> Outcome:
        given.append(within(machine, managers[1:], call))
        return "normal"

    _around_yield(machine, machine.frames[-1] if machine.frames else None, manager.attributes["call"], inside)
    if len(given) == 1:
        return given[0]
    return machine.unknown("how often a context manager comes to its `yield` is not known", *given) if given else NONE


def made_by_generator(machine: Machine, function: FunctionValue, arguments: Arguments) -> Address:
    """What a call of a function under @contextmanager gives: nothing of it runs before it is entered."""
    plain = replace(function, manager=False)
    call = PartialValue(plain, arguments.positional, tuple(arguments.keywords.items()))
    return machine.allocate(InstanceObject(KnownClass(_GENERATED), {"call": call}))


@models("contextlib.contextmanager")
def context_manager(arguments: Arguments, machine: Machine) -> Value:
    function = arguments.get(0, "func", NONE)
    if isinstance(function, FunctionValue) and function.definition.is_generator:
        return replace(function, manager=True)
    if isinstance(function, FunctionValue):
        return machine.unknown("a function under @contextmanager that is no generator is not followed", function)
    return Unknown("a context manager is not interpreted", machine.where, inert=True)


@models(f"{_GENERATED}.__call__")
def decorated(arguments: Arguments, machine: Machine) -> Value:
    """manager(function), as which it decorates."""
    manager, function = arguments.positional
    if isinstance(function, BoundMethod) and isinstance(function.function, FunctionValue):
        made = decorated(Arguments(arguments.function, (manager, function.function)), machine)
        return replace(function, function=made)
    if isinstance(function, FunctionValue):
        inner = () if function.within is None else function.within.items
        return replace(function, within=TupleValue((manager, *inner)))
    return machine.unknown("what a context manager decorates that is no function is not followed", function)


@models(_SUPPRESS)
def suppress(arguments: Arguments, machine: Machine) -> Value:
    return machine.allocate(InstanceObject(KnownClass(_SUPPRESS), {"exceptions": TupleValue(arguments.positional)}))


@models(f"{_SUPPRESS}.__exit__")
def leave_suppress(arguments: Arguments, machine: Machine) -> Value:
    receiver, cls, *_ = arguments.positional
    item = machine.state.find(receiver, InstanceObject)
    if item is None or cls == NONE:
        return FALSE
    verdict = machine.is_subclass(cls, item.attributes["exceptions"])
    return machine.unknown("which exceptions are suppressed is not known") if verdict is None else Constant(verdict)


@models(_STACK)
def exit_stack(arguments: Arguments, machine: Machine) -> Value:
    callbacks = machine.allocate(ListObject())
    return machine.allocate(InstanceObject(KnownClass(_STACK), {"callbacks": callbacks}))


def _push(machine: Machine, stack: Value, callback: Value) -> None:
    item = machine.state.find(stack, InstanceObject)
    callbacks = item.attributes.get("callbacks", NONE) if item is not None else NONE
    if isinstance(callbacks, Address):
        pushed = machine.allocate(InstanceObject(KnownClass(_PUSHED), {"function": callback}))
        machine.state.change(callbacks, ListObject).items.append(pushed)


def _pushed(machine: Machine, pushed: Value) -> Value:
    """The callback itself."""
    item = machine.state.find(pushed, InstanceObject)
    return item.attributes["function"] if item is not None and item.cls == KnownClass(_PUSHED) else pushed


@models(f"{_STACK}.callback")
def add_callback(arguments: Arguments, machine: Machine) -> Value:
    stack, function, *rest = arguments.positional
    _push(machine, stack, PartialValue(function, tuple(rest), tuple(arguments.keywords.items())))
    return function


@models(f"{_STACK}.enter_context", f"{_STACK}.push")
def enter_context(arguments: Arguments, machine: Machine) -> Value:
    """What the manager gives; it is left with the stack."""
    stack, manager = arguments.positional
    made = machine.state.find(manager, InstanceObject)
    if made is not None and is_generated(made) and not arguments.function.endswith("push"):
        return _enter_generated(machine, stack, manager, made)
    leave = machine.find_attribute(manager, "__exit__")
    if leave is None and arguments.function.endswith("push"):  # a callback that is given what is raised
        leave = manager
    if leave is not None:
        _push(machine, stack, PartialValue(leave, _NOTHING))
    if arguments.function.endswith("push"):
        return manager
    enter = machine.find_attribute(manager, "__enter__")
    return machine.call(enter) if enter is not None else machine.unknown("what the context manager gives is not known")


def _enter_generated(machine: Machine, stack: Value, manager: Value, made: InstanceObject) -> Value:
    """Runs a generator under @contextmanager to its `yield`; the rest runs when the stack is left."""
    _require_new(machine, made, "args")
    assert isinstance(manager, Address)
    generator = machine.call(made.attributes["call"])
    given = producing.take_held(machine, generator, []) if isinstance(generator, Address) else None
    entered = machine.state.change(manager, InstanceObject)
    entered.attributes.update({_ENTERED: TRUE, _DRIVEN: generator})
    _push(machine, stack, PartialValue(BoundMethod(KnownFunction(f"{_GENERATED}.__exit__"), manager), _NOTHING))
    if given is not None:
        return given
    why = producing.ended(machine, generator) if isinstance(generator, Address) else generator
    if not isinstance(why, Unknown):
        raise machine.raises("RuntimeError", "generator didn't yield")
    machine.may_fail()
    return why


@models(f"{_GENERATED}.__exit__")
def leave_generated(arguments: Arguments, machine: Machine) -> Value:
    """Goes on behind the `yield`, or raises there what is raised."""
    manager, kind, error, *_ = arguments.positional
    made = machine.state.find(manager, InstanceObject)
    generator = made.attributes.get(_DRIVEN, NONE) if made is not None else NONE
    unsure = isinstance(kind, (Unknown, Choice)) or isinstance(error, (Unknown, Choice))
    if not isinstance(generator, Address) or unsure or not producing.can_go_on(machine, generator):
        why = machine.unknown("what a generator under @contextmanager does is not known", kind)
        machine.expose([manager, generator], why)
        machine.may_fail()
        return why
    try:
        found = producing.go_on(machine, generator, thrown=None if kind == NONE else error)
    except Raised as raised:
        if kind == NONE or raised.exception != error:
            raise
        return FALSE
    further = producing.ended(machine, generator)
    if further is not None:
        machine.may_fail()
        return further
    if found is not None:
        raise machine.raises("RuntimeError", "generator didn't stop")
    return FALSE if kind == NONE else TRUE


_DRIVEN = "<driven>"
"""The generator of a manager that a stack has entered."""


@models(f"{_STACK}.__enter__")
def enter_stack(arguments: Arguments, machine: Machine) -> Value:
    return arguments.positional[0]


@models(f"{_STACK}.__exit__", f"{_STACK}.close")
def leave_stack(arguments: Arguments, machine: Machine) -> Value:
    """Runs what was pushed, the last first; whether that swallows an exception is not followed."""
    item = machine.state.find(arguments.positional[0], InstanceObject)
    callbacks = item.attributes.get("callbacks", NONE) if item is not None else NONE
    held = machine.state.find(callbacks, ListObject)
    if held is None or not isinstance(callbacks, Address):
        return machine.unknown("what an ExitStack runs is not known")
    pushed, why = list(held.items), held.open
    emptied = machine.state.change(callbacks, ListObject)
    emptied.items, emptied.open = [], None
    if why is not None:
        perhaps = [_pushed(machine, Address(index)) for index in sorted(why.may_be)]
        machine.expose([why, *perhaps], machine.unknown("what an ExitStack runs is not known", why))
    given: tuple[Value, ...] = tuple(arguments.positional[1:4]) or _NOTHING
    swallows = _unwind(machine, [_pushed(machine, each) for each in reversed(pushed)], given, given, None)
    return swallows if why is None else machine.unknown("what an ExitStack runs is not known", why)


def _unwind(
    machine: Machine,
    callbacks: list[Value],
    given: tuple[Value, ...],
    details: tuple[Value, ...],
    failure: Raised | None,
) -> Value:
    """Runs the callbacks of a stack; whether they swallow what is `given`.

    Args:
        details: what `__exit__` is given of what is raised by now.
        failure: that, where one of the callbacks before has raised it.

    Raises:
        Raised: what one of them raises, and none after it swallows.
    """
    for place, callback in enumerate(callbacks):
        guard, begun, since = Guard(expects=False), machine.state.events, machine.base.next_index
        machine.guards.append(guard)
        try:
            after = _after(machine, callback, details)
        except Raised as raised:
            failure = raised.kept()
            after = _details(machine, failure)
        finally:
            machine.guards.pop()
        if failure is not None and after == _NOTHING:
            failure = None
        details = after
        if guard:
            recording.leave_calls(machine, guard, begun)
            paths = [(machine.state, failure), *((state, error) for error, state in guard)]
            return _unwind_each(machine, callbacks[place + 1 :], given, details, paths, since)
    if failure is not None and details == _details(machine, failure):
        raise failure
    if failure is not None:
        machine.may_raise(failure)
    if details == given:
        return FALSE
    return TRUE if details == _NOTHING else machine.unknown("an exception may be swallowed")


def _unwind_each(
    machine: Machine,
    callbacks: list[Value],
    given: tuple[Value, ...],
    first: tuple[Value, ...],
    paths: list[tuple[State, Raised | None]],
    since: int,
) -> Value:
    """The same on each of several paths, of which all but the `first` raise."""
    results: list[tuple[Value, State]] = []
    raised: list[tuple[Raised, State]] = []
    where = machine.where
    machine.undecided += 1
    try:
        for place, (state, failure) in enumerate(paths):
            machine.state = state
            details = _details(machine, failure) if place and failure is not None else first
            try:
                results.append((_unwind(machine, callbacks, given, details, failure), machine.state))
            except Raised as error:
                raised.append((error.kept(), machine.state))
    finally:
        machine.undecided -= 1
    return machine.settle(results, raised, "depends on whether an exception is raised", where, since)


def _after(machine: Machine, function: Value, details: tuple[Value, ...]) -> tuple[Value, ...]:
    """What is still raised after one of the callbacks of a stack."""
    if not (isinstance(function, PartialValue) and function.positional == _NOTHING and not function.keywords):
        machine.call(function)
        return details
    swallows = machine.truth(machine.call(function.function, details))
    if details == _NOTHING or swallows is False:
        return details
    return _NOTHING if swallows else (machine.unknown("whether an exception was swallowed is not known"),) * 3


def _details(machine: Machine, raised: Raised) -> tuple[Value, ...]:
    """What `__exit__` is given of an exception."""
    traceback = machine.unknown("a traceback is not kept")
    return machine.class_of(raised.exception), raised.exception, replace(traceback, inert=True)


@models(_CLOSING)
def closing(arguments: Arguments, machine: Machine) -> Value:
    thing = arguments.get(0, "thing", NONE)
    return machine.allocate(InstanceObject(KnownClass(_CLOSING), {"enter_result": thing, "thing": thing}))


@models(f"{_CLOSING}.__exit__")
def leave_closing(arguments: Arguments, machine: Machine) -> Value:
    item = machine.state.find(arguments.positional[0], InstanceObject)
    machine.call(machine.get_attribute(item.attributes["thing"], "close") if item is not None else NONE)
    return FALSE


@models(_NULL)
def null_context(arguments: Arguments, machine: Machine) -> Value:
    given = arguments.get(0, "enter_result", NONE)
    return machine.allocate(InstanceObject(KnownClass(_NULL), {"enter_result": given}))


@models(*(f"{kind}.__enter__" for kind in (_NULL, _SUPPRESS, _CLOSING)))
def enter_plain(arguments: Arguments, machine: Machine) -> Value:
    item = machine.state.find(arguments.positional[0], InstanceObject)
    return item.attributes.get("enter_result", NONE) if item is not None else NONE


@models(f"{_NULL}.__exit__")
def leave_null(arguments: Arguments, machine: Machine) -> Value:
    return FALSE
