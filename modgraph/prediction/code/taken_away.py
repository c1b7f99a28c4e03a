"""What is given to a library that is not interpreted, and may be called there: a thread's target, a hook, a handler.

It is run here, any number of times: what it leaves as it is stays known. What cannot be run may change whatever it is
given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from modgraph.prediction.code import allowances, control
from modgraph.prediction.domain import points_to, registry
from modgraph.prediction.domain.calling import ENDS, Arguments, Raised
from modgraph.prediction.domain.frames import Loop
from modgraph.prediction.domain.library_effects import AFTERWARDS
from modgraph.prediction.domain.limits import MAX_CALLED_BACK_STEPS, MAX_GIVEN_VALUES, LimitError
from modgraph.prediction.domain.objects import (
    DictObject,
    HeapObject,
    InstanceObject,
    IteratorObject,
    ListObject,
    ModuleObject,
    SetObject,
    ViewObject,
)
from modgraph.prediction.domain.values import (
    MODULE,
    TRUE,
    Address,
    BoundMethod,
    Choice,
    ClassMethod,
    ClassValue,
    Constant,
    FunctionValue,
    KnownClass,
    KnownFunction,
    PartialValue,
    StaticMethod,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.paths import guards, havoc, recording
from modgraph.prediction.paths.guards import Guard
from modgraph.prediction.paths.havoc import is_there
from modgraph.source import containers, nodes
from modgraph.source.reached import Reached, telling

if TYPE_CHECKING:
    from modgraph.prediction.domain.frames import Outcome
    from modgraph.prediction.domain.machine import Machine
    from modgraph.prediction.domain.state import State

_CHANGING = frozenset(f"builtins.{name}" for name in (*containers.FUNCTIONS, "eval"))
_WHEN_WRITTEN_OUT = ("__reduce__", "__reduce_ex__", "__getstate__")
"""Methods of a class with source that a library calls of an object that it is given."""
_WRITING_OUT = frozenset({"pickle", "multiprocessing"})
"""Libraries that do so of all that the object holds, too."""
_AT_ONCE = frozenset({"json.dump", "json.dumps", "json.load", "json.loads"})
"""Functions that call what they are given before they return, and never after."""
_OF_FILES = ("write", "read", "readline", "readinto")
"""Methods of an object that stands for a file, where it is itself an argument."""
_NOT_CALLING_OBJECTS = frozenset({"json", "pickle"})
"""Libraries that write objects out and call none of them."""
_MOST_WRITTEN_OUT = 8
"""Objects for each of which a `default=` is run; of more it is not told apart which it is given."""
_COROUTINE = "<coroutine>"
"""Attribute of such a list: it stands for a coroutine, whose body runs when it is waited for."""
_LATER = "<called later>"
"""Attribute of the list of what was given: what may be called, and with what."""


@dataclass(frozen=True)
class Called:
    """Something that may be called: with these arguments, and where `open` is set with others."""

    function: Value
    positional: tuple[Value, ...]
    open: Unknown | None

    def with_others(self, others: Unknown) -> Called:
        return Called(self.function, self.positional, others)

    def as_value(self) -> Value:
        further = () if self.open is None else (self.open,)
        return TupleValue((self.function, TupleValue(self.positional), *further))


# ---- what is given ---------------------------------------------------------------------------------------------------


def given(machine: Machine, function: Unknown, arguments: Arguments) -> Unknown:
    """What the call of something inert gives; whatever it may call of what it is given has been called, or not."""
    if not registry.may_call(function):
        _inform(machine, function, arguments)
        return function
    values = [*arguments.positional, *arguments.keywords.values()]
    reason = telling(f"given to what may call it: {function.reason}", function.reason)
    why = Unknown(reason, arguments.where or function.where)
    called = _called(machine, function, arguments, why)
    if called is None:
        machine.expose(values, why)
        machine.problem(Reached(f"more than {MAX_GIVEN_VALUES} values are {why.reason}"))
        called = []
    elif not called:
        return function
    afterwards = f"{function.library}.".startswith(AFTERWARDS)
    for each in called:
        run_or_expose(machine, each, values, why, afterwards=afterwards)
    if function.outside:
        machine.may_fail()
    if function.library in _AT_ONCE:
        return function
    later = TupleValue(tuple(each.as_value() for each in called))
    kept = machine.allocate(ListObject(values, attributes={_LATER: later}))
    _keep_with_receiver(machine, arguments, kept)
    # It may be called later too: when the thread is started.
    return replace(function, may_be=function.may_be | {kept.index})


_SHOWING = ("__str__", "__repr__", "__format__", "__call__")
"""Methods that a library that informs calls of what it is given."""
_AT_THE_END = "atexit"
"""A library that calls what it is given when the program ends."""


def _inform(machine: Machine, function: Unknown, arguments: Arguments) -> None:
    """A library that informs makes texts of what it is given, and asks filters, handlers and callbacks."""
    values = [each for each in (*arguments.positional, *arguments.keywords.values()) if not isinstance(each, Constant)]
    if not values or not registry.informs(function) or _top(function) == _AT_THE_END:
        return
    methods = dict.fromkeys(_SHOWING)
    for each in values:
        item = machine.state.find(each, InstanceObject)
        cls = item.cls if item is not None else None
        bases = machine.mro(cls) if isinstance(cls, ClassValue) else ()
        if isinstance(cls, ClassValue) and any(isinstance(base, Unknown) and registry.informs(base) for base in bases):
            methods.update((each.definition.name, None) for each in _own_functions(machine, cls))
    reason = telling(f"given to what may call it: {function.reason}", function.reason)
    machine.may_be_called(values, Unknown(reason, arguments.where or function.where), tuple(methods))


def _keep_with_receiver(machine: Machine, arguments: Arguments, kept: Address) -> None:
    """`super().__init__(target=...)` in a class derived from that of the library."""
    receiver = arguments.positional[0] if arguments.positional else None
    item = machine.state.find(receiver, InstanceObject)
    if item is not None and item.open is not None and isinstance(receiver, Address):
        opened = points_to.with_objects(item.open, item.open.may_be | {kept.index})
        machine.state.change(receiver, InstanceObject).open = opened


def _top(function: Unknown) -> str:
    return function.library.partition(".")[0]


def _called(machine: Machine, function: Unknown, arguments: Arguments, why: Unknown) -> list[Called] | None:
    """What may be called of the arguments, and changes something then; None where they are too many to tell."""
    values = [*arguments.positional, *arguments.keywords.values()]
    if _top(function) == "threading":
        exact = _of_thread(machine, arguments)
        if exact is not None:
            return [exact] if _changes(machine, exact.function) else []
    default = _of_default(machine, function, arguments, why)
    if default is not None:
        return [each for each in default if _changes(machine, each.function)]
    some = points_to.either_of(why, values)
    finder = _Finder(machine, _top(function), some)
    found = list(finder.among(values))
    return None if finder.is_left else found


def _of_thread(machine: Machine, arguments: Arguments) -> Called | None:
    """The call that a `Thread` or a `Timer` makes, where it is written out."""
    keywords = arguments.keywords
    function = keywords.get("target") or keywords.get("function")
    if function is None or arguments.open is not None or "kwargs" in keywords or len(arguments.positional) > 1:
        return None
    if isinstance(function, (Choice, Unknown)):
        return None
    items = keywords.get("args", TupleValue(()))
    found = machine.iterate(items) if isinstance(items, TupleValue) else None
    return Called(function, tuple(found), None) if isinstance(found, list) else None


def _of_default(machine: Machine, function: Unknown, arguments: Arguments, why: Unknown) -> list[Called] | None:
    """The calls that `json.dumps(obj, default=function)`, or `cls=` of a class with that method, makes: with objects
    that it cannot write. None where these are not told apart."""
    default = arguments.keywords.get("default") or _of_encoder(machine, arguments.keywords.get("cls"))
    ours = ("obj", "default" if "default" in arguments.keywords else "cls")
    before = () if "default" in arguments.keywords else (why,)  # the encoder itself
    others = [value for name, value in arguments.keywords.items() if name not in ours]
    written = [arguments.keywords["obj"]] if "obj" in arguments.keywords else list(arguments.positional)
    if (
        function.library == "json.dump"
        and len(written) == 2
        and isinstance(written[1], Unknown)
        and not written[1].may_be
    ):
        written.pop()  # an open file
    if function.library not in ("json.dump", "json.dumps") or default is None or isinstance(default, (Choice, Unknown)):
        return None
    if arguments.open is not None or len(written) != 1 or not all(isinstance(each, Constant) for each in others):
        return None
    found = _written_out(machine, written)
    if found is None:
        return None
    # What it is given further are results of its own, or what is not known already.
    return [Called(default, (*before, each), None) for each in (*found, why)] if found else []


def _of_encoder(machine: Machine, cls: Value | None) -> Value | None:
    """The method that a class derived from `json.JSONEncoder` has for what cannot be written; None where it has others
    of its own, or it is not known which."""
    if not isinstance(cls, ClassValue):
        return None
    bases = machine.mro(cls)
    if not all(isinstance(each, (ClassValue, KnownClass)) or _is_jsons(each) for each in bases):
        return None
    made = [machine.class_attribute(cls, name) for name in ("__init__", "__new__")]
    own = [*_own_functions(machine, cls), *(each for each in made if isinstance(each, FunctionValue))]
    names = {each.definition.name for each in own}
    return machine.class_attribute(cls, "default") if names == {"default"} else None


def _is_jsons(value: Value) -> bool:
    return isinstance(value, Unknown) and _top(value) == "json"


def _written_out(machine: Machine, values: list[Value]) -> list[Value] | None:
    """The objects that no JSON stands for, among all that can be reached; None where they are many."""
    pending, seen, found = list(values), set[Address](), list[Value]()
    while pending:
        value = pending.pop()
        if isinstance(value, Choice):
            pending.extend(value.alternatives)
        elif isinstance(value, TupleValue):
            pending.extend(value.items)
        elif isinstance(value, Address):
            if value not in seen:
                seen.add(value)
                item = machine.state.read(value)
                pending.extend(points_to.held_by(item))
                if type(item) not in (ListObject, DictObject):
                    found.append(value)
        elif not isinstance(value, Constant):
            found.append(value)
            if isinstance(value, Unknown):
                pending.extend(Address(index) for index in sorted(value.may_be) if is_there(machine, index))
        if len(seen) > MAX_GIVEN_VALUES or len(found) > _MOST_WRITTEN_OUT:
            return None
    return found


class _Finder:
    """Looks for what may be called in values, and in what containers among them hold."""

    def __init__(self, machine: Machine, library: str, some: Unknown) -> None:
        self.machine = machine
        self.library = library
        self.some = some
        self.is_left = False
        """There are more values than are looked at."""

    def among(self, values: Sequence[Value]) -> Iterator[Called]:
        pending, seen = list(values), set[Address]()
        for each in values:
            if isinstance(each, Address) and self.library in _NOT_CALLING_OBJECTS:
                yield from self._of_object(each, _OF_FILES)
        looked_at = 0
        while pending:
            value = pending.pop()
            looked_at += 1
            if looked_at > MAX_GIVEN_VALUES:
                self.is_left = True
                return
            if isinstance(value, Choice):
                pending.extend(value.alternatives)
            elif isinstance(value, TupleValue):
                pending.extend(value.items)
            elif isinstance(value, Unknown):
                there = sorted(index for index in value.may_be if is_there(self.machine, index))
                pending.extend(Address(index) for index in there)
            elif isinstance(value, ClassValue):
                yield from self._of_class(value)
            elif not isinstance(value, Address):
                if isinstance(value, PartialValue):
                    pending.extend((*value.positional, *(item for _, item in value.keywords)))
                if _changes(self.machine, value):
                    yield Called(value, (), self.some)
            elif value not in seen:
                seen.add(value)
                item = self.machine.state.read(value)
                yield from coroutines(item)
                pending.extend(self._held(value))
                yield from self._of_object(value, (*_call_names(item, self.library), *_WHEN_WRITTEN_OUT))

    def _held(self, value: Address) -> list[Value]:
        item = self.machine.state.read(value)
        if isinstance(item, (InstanceObject, ModuleObject)):
            return points_to.held_by(item) if self.library in _WRITING_OUT else []
        if isinstance(item, (ListObject, SetObject)):
            return [*item.items, *([item.open] if item.open is not None else [])]
        if type(item) is DictObject:
            return [*item.entries.values(), *([item.open] if item.open is not None else [])]
        return []

    def _of_object(self, value: Address, names: tuple[str, ...]) -> Iterator[Called]:
        item = self.machine.state.read(value)
        if not isinstance(item, (InstanceObject, ModuleObject)) or not isinstance(item.cls, ClassValue):
            return
        for name in names:
            found = self.machine.class_attribute(item.cls, name)
            if isinstance(found, FunctionValue) and has_changing_source(found):
                yield Called(found, (value,), self.some)

    def _of_class(self, cls: ClassValue) -> Iterator[Called]:
        machine = self.machine
        if any(isinstance(base, Unknown) and registry.may_call(base) for base in machine.mro(cls)):
            for method in _own_functions(machine, cls):
                yield Called(method, (self.some,), self.some)
        makers = [machine.class_attribute(cls, name) for name in ("__init__", "__new__")]
        makers = [each.function if isinstance(each, StaticMethod) else each for each in makers]
        if any(isinstance(each, FunctionValue) and has_changing_source(each) for each in makers):
            yield Called(cls, (), self.some)


def _call_names(item: HeapObject, library: str) -> tuple[str, ...]:
    if library in _NOT_CALLING_OBJECTS:  # which call no object that they write out
        return ()
    return ("__call__", "forward") if isinstance(item, ModuleObject) else ("__call__",)


def has_changing_source(function: FunctionValue) -> bool:
    """It is none of torch's, and may change something when it is called."""
    return not function.definition.module.startswith("torch.") and _may_change(function.definition.node)


def is_own(value: Value | None) -> bool:
    """A function written in source, and none of torch's."""
    return isinstance(value, FunctionValue) and not value.definition.module.startswith("torch.")


def _changes(machine: Machine, value: Value) -> bool:
    """It may change something when it is called."""
    if isinstance(value, BoundMethod):
        return isinstance(value.function, KnownFunction) or _changes(machine, value.function)
    if isinstance(value, (PartialValue, StaticMethod, ClassMethod)):
        return _changes(machine, value.function)
    if isinstance(value, KnownFunction):
        return value.name in _CHANGING or value.name.startswith(f"{MODULE}.")
    if isinstance(value, FunctionValue):
        return _may_change(value.definition.node)
    return isinstance(value, (Address, ClassValue))


@lru_cache(maxsize=1024)
def _may_change(node: nodes.Node) -> bool:
    """The function calls something, or stores somewhere else than in its own names."""
    return any(map(_is_change, nodes.walk(node)))


_CHANGES = (
    nodes.Call,
    nodes.Del,
    nodes.Global,
    nodes.Nonlocal,
    nodes.Import,
    nodes.ImportFrom,
    nodes.AugAssign,
    nodes.For,
    nodes.With,
    nodes.Raise,
    nodes.Assert,
    nodes.Attribute,
    nodes.Subscript,
    nodes.UnaryOperation,
    nodes.BinaryOperation,
    nodes.BooleanOperation,
    nodes.Comparison,
)
"""What an object is asked for with an operator, or by the name of an attribute, is said by its class."""


def _is_change(node: nodes.Node) -> bool:
    if isinstance(node, nodes.Assign):
        return not all(isinstance(target, nodes.Name) for target in node.targets)
    if isinstance(node, (nodes.AnnAssign, nodes.NamedExpr)):
        return not isinstance(node.target, nodes.Name)
    return isinstance(node, _CHANGES)


# ---- methods of a library's class ------------------------------------------------------------------------------------


OF_BASE = "<a base class>"
"""Stands for the library of a method that a class has from a base which is not known."""
_INSTANCES = (InstanceObject, ListObject, DictObject, SetObject)


def run_overrides(machine: Machine, method: Unknown) -> None:
    """A method of a base that is not known is called: it may call each method that the instance's class has itself."""
    why = points_to.nowhere(method)
    plain = Unknown(why.reason, why.where)
    for address in [Address(index) for index in sorted(method.may_be) if is_there(machine, index)]:
        cls = getattr(machine.state.read(address), "cls", None)
        for own in _own_functions(machine, cls) if isinstance(cls, ClassValue) else ():
            if not machine.frames or own.definition not in {
                each.function.definition for each in machine.frames if each.function is not None
            }:
                run_or_expose(machine, Called(own, (address,), plain), [address], plain)


def of_object(machine: Machine, attribute: Value, receiver: Address) -> Value:
    """An attribute that a class of a library, not interpreted, gives its instance: a method of it may call those of the
    instance's own class."""
    item = machine.state.read(receiver)
    if not isinstance(attribute, Unknown):
        return attribute
    if not attribute.inert and isinstance(item, _INSTANCES) and isinstance(item.cls, ClassValue):
        return replace(attribute, may_be=attribute.may_be | {receiver.index}, library=OF_BASE)
    if not registry.may_call(attribute) or not isinstance(item, InstanceObject):
        return attribute
    return replace(attribute, may_be=attribute.may_be | {receiver.index})


def run_methods(machine: Machine, function: Unknown) -> None:
    """A method of a library's object is called: it may call what that was given before, and on an instance of a class
    with source that is derived from the library's, each of that class's own methods."""
    there = [Address(index) for index in sorted(function.may_be) if is_there(machine, index)]
    for address in there:
        item = machine.state.read(address)
        if isinstance(item, ListObject) and _LATER in item.attributes:
            _run_later(machine, address, item, function)
        elif isinstance(item, InstanceObject) and isinstance(item.cls, ClassValue) and registry.may_call(function):
            _run_own(machine, address, item, item.cls, function)
        else:
            machine.expose([address], function)


def _run_later(machine: Machine, address: Address, item: ListObject, why: Unknown) -> None:
    later = item.attributes[_LATER]
    if item.open is not None or not isinstance(later, TupleValue):
        machine.expose([address], why)
        return
    for each in later.items:
        if isinstance(each, TupleValue):
            function, positional, *others = each.items
            assert isinstance(positional, TupleValue)
            further = next((other for other in others if isinstance(other, Unknown)), None)
            run_or_expose(machine, Called(function, positional.items, further), list(item.items), why)


def _run_own(machine: Machine, address: Address, item: InstanceObject, cls: ClassValue, why: Unknown) -> None:
    known_why = points_to.nowhere(why)
    plain = Unknown(known_why.reason, known_why.where)
    for method in _own_functions(machine, cls):
        run_or_expose(machine, Called(method, (address,), plain), [address], plain)
    kept = item.open.may_be if item.open is not None else frozenset()
    for index in sorted(kept):
        held = machine.state.read(Address(index)) if is_there(machine, index) else None
        if isinstance(held, ListObject) and _LATER in held.attributes:
            _run_later(machine, Address(index), held, plain)
    if not registry.is_of_python(why):  # those of Python leave what a derived class keeps as it is
        machine.expose([address], why)


def _own_functions(machine: Machine, cls: ClassValue) -> Iterator[FunctionValue]:
    for base in machine.mro(cls):
        if isinstance(base, ClassValue):
            shown = machine.state.find(machine.class_dict(base), ViewObject)
            for name in list(shown.shown) if shown is not None else []:
                found = machine.class_attribute(base, name)
                if name in ("__init__", "__new__") or not isinstance(found, FunctionValue):
                    continue
                if has_changing_source(found):
                    yield found


# ---- coroutines ------------------------------------------------------------------------------------------------------


def coroutine(machine: Machine, function: FunctionValue, arguments: Arguments) -> Unknown:
    """What the call of an `async def` gives: nothing of its body has run."""
    keywords = tuple(arguments.keywords.items())
    body = PartialValue(replace(function, awaited=True), arguments.positional, keywords)
    later = TupleValue((Called(body, (), arguments.open).as_value(),))
    held = [function, *arguments.positional, *arguments.keywords.values()]
    kept = machine.allocate(ListObject(held, attributes={_LATER: later, _COROUTINE: TRUE}))
    return replace(machine.unknown("a coroutine is not run"), may_be=frozenset({kept.index}))


def coroutines(item: HeapObject) -> Iterator[Called]:
    """The body of a coroutine that an object stands for."""
    if isinstance(item, ListObject) and _COROUTINE in item.attributes:
        later = item.attributes[_LATER]
        if isinstance(later, TupleValue):
            for each in later.items:
                assert isinstance(each, TupleValue)
                function, _, *others = each.items
                yield Called(function, (), next((other for other in others if isinstance(other, Unknown)), None))


def waited_for(machine: Machine, value: Value) -> Value:
    """`await value`: the body of a coroutine runs."""
    if not isinstance(value, Unknown) or len(value.may_be) != 1:
        return value
    index = next(iter(value.may_be))
    found = list(coroutines(machine.state.read(Address(index)))) if is_there(machine, index) else []
    if len(found) != 1:
        return value
    return machine.invoke(found[0].function, Arguments("", (), {}, machine.where, found[0].open))


# ---- running it ------------------------------------------------------------------------------------------------------


def run_or_expose(
    machine: Machine,
    called: Called,
    values: list[Value],
    why: Unknown,
    *,
    at_once: bool = False,
    afterwards: bool = False,
) -> None:
    """Args:
    at_once: it is called where the program stands, which ends there where it raises.
    afterwards: it is called at the end, or where something outside of the program asks for it.
    """
    if _is_known_alone(called.function) or not machine.frames:
        havoc.expose(machine, [called.function, *values], why)
        return
    limit, before, depth, frames = machine.limit, machine.state, machine.depth, len(machine.frames)
    machine.limit = min(limit, machine.steps + MAX_CALLED_BACK_STEPS)
    widened, since = machine.widened_from, machine.base.next_index
    machine.widened_from = min(widened, machine.steps + MAX_CALLED_BACK_STEPS // 5)
    machine.state = before.fork()
    machine.frames[-1].loops.append(Loop())
    try:
        raised, first = _run_often(machine, called, why)
    except LimitError:
        if machine.exhausted or machine.steps > limit:
            raise
        del machine.frames[frames:]
        machine.depth = depth
        allowances.take_back(machine, before, since, why)
        havoc.expose(machine, [called.function, *values], why)
        machine.problem(Reached(f"what a function changes that takes too long is not known: it is {why.reason}"))
        raised, first = [], None
        if at_once:
            machine.may_fail(guards.CALL)
    finally:
        machine.frames[frames - 1].loops.pop()
        machine.limit, machine.widened_from = limit, widened
    if first is not None and first.name in ENDS and machine.data_of is not None and not afterwards:
        raise first  # where arguments are looked for: that they are not found says nothing false
    if at_once:
        guards.go_on_raising(machine, raised)


def _is_known_alone(function: Value) -> bool:
    """What it is called with decides what it changes; it has no source to be run."""
    while isinstance(function, (BoundMethod, PartialValue, StaticMethod, ClassMethod)):
        function = function.function
    return isinstance(function, KnownFunction)


def _run_often(machine: Machine, called: Called, why: Unknown) -> tuple[list[tuple[Raised, State]], Raised | None]:
    """Any number of calls, none among them: each ends where it raises. What is raised, each kind of it once; and what
    the first one certainly raises."""
    first: list[Raised | None] = []
    found: dict[tuple[str, str], tuple[Raised, State]] = {}
    arguments = Arguments("", called.positional, {}, machine.where, called.open)
    since = machine.base.next_index

    def turn() -> Outcome:
        guard, begun = Guard(), machine.state.events
        machine.guards.append(guard)
        frames = len(machine.frames)
        try:
            is_iterator = _is_iterator(machine, called.function)
            _take_all(machine, called.function if is_iterator else machine.invoke(called.function, arguments))
        except Raised as raised:
            del machine.frames[frames:]
            guard.append((raised.kept(), machine.state))
            machine.state = machine.state.fork()
            first.append(raised)
        finally:
            machine.guards.pop()
        recording.leave_calls(machine, guard, begun)
        first.append(None)
        found.update(((raised.name, raised.message), (raised, state.fork())) for raised, state in guard)
        states = [machine.state, *(state for _, state in guard)]
        machine.state = control.join_states(states, why.reason, machine.where, since)
        return "normal"

    control.unknown_turns(machine, machine.frames[-1], turn, why.reason, since)
    return list(found.values()), first[0] if first else None


def _take_all(machine: Machine, result: Value) -> None:
    """A generator or a coroutine that was made does what it does when it is asked for."""
    if _is_iterator(machine, result):
        machine.iterate(result)
    else:
        waited_for(machine, result)


def _is_iterator(machine: Machine, value: Value) -> bool:
    return machine.state.find(value, IteratorObject) is not None
