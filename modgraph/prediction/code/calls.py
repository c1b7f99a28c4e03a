"""Calls: arguments bound as Python binds them, functions run, classes instantiated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from modgraph.names import last_name
from modgraph.prediction.code import (
    allowances,
    binding,
    contexts,
    control,
    fallible_calls,
    file_effects,
    functions,
    generators,
    handed_over,
    hidden_calls,
    library_results,
    memo,
    overrides,
    taken_away,
)
from modgraph.prediction.domain import endings, registry
from modgraph.prediction.domain.calling import Arguments, FirstArguments, MoreArgumentsError, Raised
from modgraph.prediction.domain.definitions import FunctionDefinition
from modgraph.prediction.domain.frames import EnoughError, Frame, Outcome
from modgraph.prediction.domain.limits import (
    MAX_CALL_DEPTH,
    MAX_FOREIGN_CALL_WORK,
    MAX_UNDECIDED_DEPTH,
    MAX_UNDECIDED_RECURSION,
    MAX_YIELDED,
    MIN_REMEMBERED_STEPS,
    TOO_DEEP,
    UNITS_OF_A_FUNCTION,
    UNITS_OF_AN_INSTANCE,
    LimitError,
    TooDeepError,
)
from modgraph.prediction.domain.mapping_views import CHAIN
from modgraph.prediction.domain.objects import (
    ClassObject,
    DictObject,
    EnvironmentObject,
    HeapObject,
    InstanceObject,
    IteratorObject,
    ListObject,
    ModuleObject,
    SetObject,
    TensorObject,
)
from modgraph.prediction.domain.state import room_of
from modgraph.prediction.domain.values import (
    GIVEN,
    MODULE,
    NONE,
    OPEN,
    Address,
    BoundMethod,
    Choice,
    ClassMethod,
    ClassValue,
    Constant,
    FunctionValue,
    GeneratedMethod,
    GenericAlias,
    KnownClass,
    KnownFunction,
    PartialValue,
    SliceValue,
    StaticMethod,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.domain.weights import SHORT, UNITS_OF_A_WORD, weigh
from modgraph.prediction.paths import given_up, recording, several
from modgraph.prediction.paths.guards import CALL
from modgraph.prediction.python import (
    abstract_methods,
    argument_counts,
    attributes,
    classes,
    data_classes,
    metaclasses,
    stored_attributes,
    tensor_classes,
)
from modgraph.source import nodes
from modgraph.source.bases import BaseResolver, imports_torch
from modgraph.source.layer_parameters import BUNDLED_SOURCE
from modgraph.source.module_classes import FORWARD, is_taken, of_bases, of_path
from modgraph.source.reached import Reached, telling

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


def call(machine: Machine, function: Value, arguments: Arguments) -> Value:
    """function(...); of a class, the new instance.

    Raises:
        Raised: what Python would certainly raise.
    """
    caller = _CALLERS.get(type(function))
    if caller is not None:
        return caller(machine, function, arguments)
    return several.decided(machine, (function,), lambda: _instance(machine, function, arguments), ("__call__",))


def _instance(machine: Machine, function: Value, arguments: Arguments) -> Value:
    method = machine.class_attribute(machine.class_of(function), "__call__")
    if method is None:
        name = classes.short_name(machine.class_of(function))
        raise machine.raises("TypeError", f"'{name}' object is not callable")
    bound = attributes.bind(machine, method, function, machine.class_of(function))
    is_module = machine.state.find(function, ModuleObject) is not None
    if is_module and machine.is_recording and isinstance(function, Address) and isinstance(method, FunctionValue):
        return _overriding(machine, function, arguments, lambda: call(machine, bound, arguments))
    return call(machine, bound, arguments)


def _overriding(machine: Machine, module: Address, arguments: Arguments, run: Callable[[], Value]) -> Value:
    """A call of a module by a `__call__` of its own class: what that does is of the call too."""
    given = _with(arguments, (module, *arguments.positional))
    return recording.module_call(machine, module, given, run, by_class=True)


def _with(arguments: Arguments, positional: tuple[Value, ...], function: str = "") -> Arguments:
    return Arguments(function or arguments.function, positional, arguments.keywords, arguments.where, arguments.open)


def _unknown(machine: Machine, function: Unknown, arguments: Arguments) -> Value:
    if machine.is_recording:
        given = (*arguments.positional, *arguments.keywords.values())
        recording.unknown_call(machine, function, arguments, any(classes.is_callable(machine, each) for each in given))
    file_effects.note(machine, function.library, arguments)
    if not function.inert:
        because = telling(f"given to a call that is not known: {function.reason}", function.reason)
        why = Unknown(because, arguments.where or function.where)
        others = () if arguments.open is None else (arguments.open,)
        machine.may_be_called(handed_over.perhaps(machine, function), why, ("__call__",))
        if function.library == taken_away.OF_BASE:
            taken_away.run_overrides(machine, function)
        machine.expose([function, *arguments.positional, *arguments.keywords.values(), *others], why)
        machine.may_fail(CALL)
        return function
    if function.may_be:
        taken_away.run_methods(machine, function)
    if function.outside:
        machine.may_fail()
    found = library_results.of_call(machine, taken_away.given(machine, function, arguments), arguments)
    if not found.library.startswith("torch.") or found.library.endswith(GIVEN):
        return found
    return replace(found, library=f"{found.library}{GIVEN}")


def _choice(machine: Machine, function: Choice, arguments: Arguments) -> Value:
    return machine.distribute(function, lambda each: call(machine, each, arguments))


def _method(machine: Machine, function: BoundMethod, arguments: Arguments) -> Value:
    given = _with(arguments, (function.receiver, *arguments.positional))
    if machine.is_recording and type(function.receiver) is Address:
        name = getattr(function.function, "name", "")
        return recording.method(
            machine, function.receiver, last_name(name), given, lambda: call(machine, function.function, given)
        )
    return call(machine, function.function, given)


def _partial(machine: Machine, function: PartialValue, arguments: Arguments) -> Value:
    if (machine.state.globals or machine.base.globals) and (
        why := stored_attributes.has_other_keywords(machine, function)
    ) is not None:
        return _unknown(machine, why, _with(arguments, (function, *arguments.positional)))
    keywords = {**dict(function.keywords), **arguments.keywords}
    positional = function.positional + arguments.positional
    return call(
        machine, function.function, Arguments(arguments.function, positional, keywords, arguments.where, arguments.open)
    )


def _wrapped(machine: Machine, function: StaticMethod | ClassMethod, arguments: Arguments) -> Value:
    return call(machine, function.function, arguments)


def _alias(machine: Machine, function: GenericAlias, arguments: Arguments) -> Value:
    return call(machine, function.origin, arguments)


def _known_function(machine: Machine, function: KnownFunction, arguments: Arguments) -> Value:
    if function.name == "builtins.object.<nothing>":
        return NONE
    if function.name == attributes.OBJECT_INIT:
        return _object_init(machine, arguments)
    return _model(machine, function.name, arguments)


def _object_init(machine: Machine, arguments: Arguments) -> Value:
    """Raises:
    Raised: TypeError, where it is given what a class in source was to take.
    """
    cls = machine.class_of(arguments.positional[0]) if arguments.positional else NONE
    own = machine.class_attribute(cls, "__init__") if isinstance(cls, ClassValue) else None
    maker = machine.class_attribute(cls, "__new__") if isinstance(cls, ClassValue) else None
    if (len(arguments.positional) > 1 or arguments.keywords) and (own is not None or maker is None):
        message = "object.__init__() takes exactly one argument (the instance to initialize)"
        raise machine.raises("TypeError", message)
    return NONE


_BY_NAME = frozenset({"getattr", "setattr", "hasattr", "delattr"})
"""Functions that ask for the name that they are given."""


_CALLING = frozenset({"apply_", "map_", "map2_"})
"""Methods of tensors that call what they are given for each element."""


def _model(machine: Machine, name: str, arguments: Arguments) -> Value:
    """Runs what is registered for a name. A fault in it is an unknown result."""
    model = registry.model(name)
    if name in machine.assumed.answers:
        machine.asked.add(name)
        machine.step()
        return Constant(machine.assumed.answers[name])
    if model is None:
        file_effects.note(machine, name, arguments)
        unknown: Value = machine.unknown(f"{name} is not modelled")
        if arguments.positional and isinstance(arguments.positional[0], Address):
            unknown = machine.of_library_object(unknown, arguments.positional[0])
        return call(machine, unknown, arguments)
    machine.step()
    if machine.data_of is not None:
        file_effects.note_modelled(machine, name, arguments)
    why = overrides.instead(machine, name, arguments)
    if why is not None:
        return _unknown(machine, why, arguments)
    if machine.is_recording and name.endswith(".forward"):
        if recording.is_unbound(machine, arguments):
            return _direct(machine, arguments, lambda: _model(machine, name, arguments))
        found = hidden_calls.instead(machine, name, arguments)
        if found is not None:
            return found
    if machine.base.parted and last_name(name) not in _BY_NAME:
        undecided = several.undecided(machine, (*arguments.positional, *arguments.keywords.values()), None)
        if undecided is not None:
            return several.on_paths(machine, undecided, lambda: _model(machine, name, arguments))
    if machine.is_recording:
        arguments = several.left(machine, arguments)
    ways = several.ways(machine, name, arguments)
    if ways is not None:
        return _of_each(machine, name, *ways)
    if name.startswith("torch.nn.utils.") and arguments.positional and isinstance(arguments.positional[0], Unknown):
        machine.expose(arguments.positional[:1], arguments.positional[0])
    if last_name(name) in _CALLING and name.startswith("torch."):
        machine.may_be_called(arguments.positional[1:], machine.unknown(f"given to {name}"))
    given = Arguments(
        name.removeprefix("builtins."), *_first_in_place(name, arguments), arguments.where, arguments.open
    )
    if name.startswith(_TAKING_NUMBERS):
        given.positional = _as_numbers(machine, name, given.positional)
    if given.open is not None and not registry.asks_for_more(model):
        given.positional = FirstArguments(given.positional)
    if last_name(name) not in SHORT:
        weigh(machine.state, arguments.positional)
    one_of_some = several.first_choice(arguments) if name.startswith("torch.") else None
    if one_of_some is None:
        return _run_model(machine, name, model, given, arguments)
    before, machine.state = machine.state, machine.state.fork()
    try:
        return _run_model(machine, name, model, given, arguments)
    except Raised:  # one of the alternatives is refused, which says nothing of the others
        machine.state = before
    return _of_each(machine, name, *one_of_some)


def _of_each(machine: Machine, name: str, choice: Choice, ways: Sequence[Arguments]) -> Value:
    """The function, called with each alternative of a choice in its place."""
    given = dict(zip(choice.alternatives, ways, strict=True))
    return machine.distribute(choice, lambda each: _model(machine, name, given[each]))


def _direct(machine: Machine, arguments: Arguments, run: Callable[[], Value]) -> Value:
    """A call of a module past `__call__`, by the `forward` of a class."""
    module = arguments.positional[0]
    assert isinstance(module, Address)
    return recording.module_call(machine, module, arguments, run, direct=True)


def _run_model(machine: Machine, name: str, model: registry.Model, given: Arguments, arguments: Arguments) -> Value:
    """`given` are the arguments as the model reads them."""
    try:
        since = machine.base.next_index
        if machine.is_recording:
            found = recording.operation(machine, name, arguments, lambda: _demand_and_run(machine, name, model, given))
        else:
            found = _demand_and_run(machine, name, model, given)
        if type(found) is Address or type(found) is TupleValue:
            machine.place_tensors(name, found, since, arguments)
            overrides.kept_class(machine, name, found, since, arguments)
        room = room_of(found)
        machine.makes(room)
        if room and type(found) is Constant and type(found.value) is int:
            machine.base.work += room * UNITS_OF_A_WORD
        if fallible_calls.may_fail(name, found, arguments) or fallible_calls.may_refuse(machine, name, arguments):
            machine.may_fail()
        return found
    except (Raised, LimitError):
        raise
    except MoreArgumentsError:
        assert arguments.open is not None
        return _with_more(machine, arguments.open, arguments)
    except Exception as error:  # a defect of one model must not take the prediction with it
        if _miscounts(name, error) and not arguments.positional and not arguments.keywords and arguments.open is None:
            raise machine.raises("TypeError", f"{given.function}() needs an argument") from None
        # Positional arguments that every call has may be among those that are not known: `union(*sets)`.
        unsure = arguments.open if _miscounts(name, error) else None
        if unsure is None and machine.strict:
            raise
        return _unknown(machine, unsure or _fault(machine, name, error, arguments), arguments)


def _demand_and_run(machine: Machine, name: str, model: registry.Model, given: Arguments) -> Value:
    if given.open is None:
        argument_counts.require(machine, name, given)
        _demand(machine, name, given)
    else:
        machine.may_refuse("TypeError")
    found = model(given, machine)
    sequel = registry.sequel(name)
    if sequel is not None:
        sequel(given, machine, found)
    return found


def _demand(machine: Machine, name: str, given: Arguments) -> None:
    """What the function refuses beside shapes. Of tensors on "meta", which hold nothing, not all of it is asked for.

    Raises:
        Raised: it does.
    """
    try:
        for demand in registry.demanded(name):
            demand(given, machine)
    except Raised:
        tensors = (machine.state.find(each, TensorObject) for each in (*given.positional, *given.keywords.values()))
        if not any(each is not None and each.device == "meta" for each in tensors):
            raise
        machine.may_fail()


_TAKING_NUMBERS = (
    *("torch.", "itertools.", "operator.index", "builtins.str.", "builtins.list.", "builtins.bytes"),
    *("builtins.bytearray", "builtins.tuple.", "collections.deque", "random.", "numpy."),
)
"""Functions that make numbers of objects that are given in their place."""
_NUMBERS = ("__index__", "__int__", "__float__")
_TAKING_OBJECTS = (f"{MODULE}.", "torch.nn.", "torch.jit.", "torch.utils.", "torch.optim.", "torch.autograd.")
"""Those of torch that keep an object as it is, or call it."""


def _as_numbers(machine: Machine, name: str, values: tuple[Value, ...]) -> tuple[Value, ...]:
    """The arguments; of an object of a class that says which number it stands for, a number that is not known, where
    torch makes one of it. How often it is asked is not known."""
    found = list(values)
    for place, value in enumerate(values):
        if isinstance(value, (SliceValue, TupleValue)):
            _as_numbers(machine, "", tuple(value.parts()))
        item = machine.state.read(value) if type(value) is Address else None
        if type(item) is not InstanceObject or not isinstance(item.cls, ClassValue):
            continue
        if not any(isinstance(machine.class_attribute(item.cls, each), FunctionValue) for each in _NUMBERS):
            continue
        why = machine.unknown("how often an object is asked for its number is not known")
        machine.may_be_called([value], why, _NUMBERS)
        if name.startswith("torch.") and not name.startswith(_TAKING_OBJECTS):
            found[place] = replace(why, inert=True)
    return values if found == list(values) else tuple(found)


def _first_in_place(name: str, arguments: Arguments) -> tuple[tuple[Value, ...], Mapping[str, Value]]:
    """Positional and keyword arguments; of a function of torch, the tensor that it is about is the first in a row."""
    positional, keywords = arguments.positional, arguments.keywords
    if positional or "input" not in keywords or not name.startswith("torch."):
        return positional, keywords
    return (keywords["input"],), {key: value for key, value in keywords.items() if key != "input"}


def _with_more(machine: Machine, more: Unknown, arguments: Arguments) -> Value:
    """What a model gives that has to know all of its arguments, and there may be more of them."""
    given = (more, *arguments.positional, *arguments.keywords.values())
    if all(isinstance(each, Constant) or (isinstance(each, Unknown) and each.inert) for each in given):
        machine.may_fail(CALL)
        return more
    return _unknown(machine, replace(more, inert=False), arguments)


def _miscounts(name: str, error: Exception) -> bool:
    """The model of a function, or what is demanded before it, itself and nothing that it calls, takes arguments that
    were not given, or finds more of them."""
    if not isinstance(error, IndexError) and "values to unpack" not in str(error):
        return False
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    own = (registry.model(name), *registry.demanded(name))
    return last is not None and any(last.tb_frame.f_code is getattr(each, "__code__", None) for each in own)


def _fault(machine: Machine, name: str, error: Exception, arguments: Arguments) -> Unknown:
    if endings.is_ending(error):
        return machine.unknown(telling(f"{name}: {(why := endings.reason_of(error))}", why))
    if _miscounts(name, error):
        machine.may_refuse("TypeError")
        return machine.unknown(f"{name} with {len(arguments.positional)} arguments in a row is not modelled")
    return machine.unknown(f"internal error in {name}: {type(error).__name__}: {error}")


# ---- functions -------------------------------------------------------------------------------------------------------


def _function(machine: Machine, function: FunctionValue, arguments: Arguments) -> Value:
    if function.within is not None:
        plain = replace(function, within=None)
        return contexts.within(machine, function.within.items, lambda: _function(machine, plain, arguments))
    definition = function.definition
    if machine.is_recording and definition.name == FORWARD and recording.is_unbound(machine, arguments):
        return _direct(machine, arguments, lambda: _function(machine, function, arguments))
    if machine.depth >= MAX_CALL_DEPTH:
        raise TooDeepError(f"{TOO_DEEP}, at {definition.qualname}")
    if machine.undecided and _recurses(machine, definition):
        reason: str = f"recursion of {definition.qualname} whose end is not known"
        if not definition.uses_receiver:
            arguments = _with(arguments, arguments.positional[1:])
        return _not_entered(machine, function, Unknown(reason, arguments.where), arguments)
    if machine.undecided > MAX_UNDECIDED_DEPTH:
        reason = Reached(
            f"more than {MAX_UNDECIDED_DEPTH} undecided branches inside each other, at {definition.qualname}"
        )
        return _not_entered(machine, function, Unknown(reason, arguments.where), arguments)
    machine.step()
    machine.base.work += UNITS_OF_A_FUNCTION
    if machine.is_recording:
        return _recorded(machine, function, arguments)
    if (other := stored_attributes.remade(machine, function)) is not None:
        return _unknown(machine, other, arguments)
    if machine.doubtful and definition in machine.doubtful:
        why = machine.doubtful[definition]
        machine.problem(
            telling(f"{definition.qualname} stands under a decorator that is not known: {why.reason}", why.reason)
        )
    # The generator that a `with` waits for runs the block in its `yield`: no other call can stand for it.
    is_waited_for = definition.is_generator and machine.on_yield is not None
    if is_waited_for or machine.caches.costs.get(definition, 0) < MIN_REMEMBERED_STEPS or function.closure is not None:
        return _enter(machine, function, arguments)
    key = memo.key_of(machine, definition, arguments)
    if key is None:
        return _enter(machine, function, arguments)
    found = memo.recall(machine, key, arguments.where)
    if found is not None:
        return found
    return memo.watch(machine, key, lambda: _enter(machine, function, arguments))


def _recorded(machine: Machine, function: FunctionValue, arguments: Arguments) -> Value:
    """A call in a run that is followed: each is run, for what it does is told; a function of torch is an operation."""
    module = function.definition.module
    if module in recording.WRITTEN_IN_PYTHON:
        name = f"{module}.{function.definition.qualname}"
        return recording.operation(machine, name, arguments, lambda: _enter(machine, function, arguments))
    return _enter(machine, function, arguments)


def _enter(machine: Machine, function: FunctionValue, arguments: Arguments) -> Value:
    definition = function.definition
    if definition.name == FORWARD and definition.is_left_out and _is_bundled(machine, definition.module):
        return machine.unknown(f"what {definition.qualname} gives is not known without the source of torch")
    if machine.costly:
        allowances.require_cheap(machine, definition)
    before = machine.steps
    bound = binding.bind(machine, function, arguments)
    if definition.is_async and not function.awaited:
        return taken_away.coroutine(machine, function, arguments)
    if definition.is_async and _is_not_followed(definition):
        machine.problem(f"what {definition.qualname} does is not followed: it is asynchronous")
        return _unknown(machine, machine.unknown(f"{definition.qualname} is asynchronous"), arguments)
    if function.manager:
        return contexts.made_by_generator(machine, function, arguments)
    environment = machine.allocate(EnvironmentObject(bound, function.closure))
    receiver = arguments.positional[0] if arguments.positional else None
    frame = Frame(definition.module, definition.parsed, environment, function, receiver, None, definition.statement)
    frame.undecided = machine.undecided
    machine.frames.append(frame)
    machine.depth += 1
    try:
        if not allowances.is_foreign(machine, definition.module):
            return _run(machine, frame, definition)
        if machine.foreign_work is None and machine.allowance.of_library:
            return allowances.run_foreign(machine, lambda: _run(machine, frame, definition))
        units = MAX_FOREIGN_CALL_WORK if machine.foreign_work is None else machine.foreign_work
        return allowances.run_within(machine, units, lambda: _run(machine, frame, definition))
    finally:
        machine.depth -= 1
        machine.frames.pop()
        machine.caches.costs[definition] = machine.steps - before


def _is_bundled(machine: Machine, module: str) -> bool:
    """It stands for a module of torch, where torch is not there to be read."""
    source = machine.finder.source(module)
    return source is not None and source.path.is_relative_to(BUNDLED_SOURCE)


def _is_not_followed(definition: FunctionDefinition) -> bool:
    """What the body of a coroutine does depends on methods that are coroutines too, or it yields."""
    return definition.is_generator or any(
        isinstance(each, (nodes.With, nodes.For, nodes.CompFor)) and each.is_async
        for each in nodes.walk(definition.node)
    )


def _not_entered(machine: Machine, function: FunctionValue, why: Unknown, arguments: Arguments) -> Value:
    """What a call gives that is not followed here: what the function changes it may have changed, however often. Of one
    of an installed package only what it is given is doubted: they lead anywhere, and little of it to a model."""
    definition = function.definition
    if definition not in machine.recursions and not allowances.is_of_library(machine, definition.module):
        machine.recursions[definition] = len(machine.frames)
        undecided, machine.undecided = machine.undecided, 0
        try:
            machine.may_be_called([function], why, ("__call__",))
        finally:
            machine.undecided = undecided
            del machine.recursions[definition]
    return _unknown(machine, why, arguments)


def _recurses(machine: Machine, definition: FunctionDefinition) -> bool:
    """The function runs already inside itself, and whether it is called again is not decided: several times, or once
    where it is a constructor, which would build itself whole with arguments that are not known."""
    found = 0
    since = machine.recursions.get(definition)
    if since is not None:
        return any(
            each.function is not None and each.function.definition is definition for each in machine.frames[since:]
        )
    for frame in machine.frames:
        running = frame.function
        if running is not None and running.definition is definition and frame.undecided < machine.undecided:
            found += 1
    return found >= (1 if definition.name == "__init__" else MAX_UNDECIDED_RECURSION)


def _run(machine: Machine, frame: Frame, definition: FunctionDefinition) -> Value:
    node = definition.node
    if not isinstance(node, nodes.FunctionDef):
        return machine.evaluate(frame, node.body)
    if definition.is_generator:
        if machine.on_yield is None:
            return generators.generator(machine, frame, node)
        frame.yields = []
        frame.on_yield, machine.on_yield = machine.on_yield, None
    since = machine.base.next_index
    outcome: Outcome
    try:
        outcome = machine.execute(frame, node.body)
    except EnoughError:
        endless = machine.unknown(Reached(f"a generator of more than {MAX_YIELDED} items"))
        return machine.allocate(IteratorObject(frame.yields or [], 0, endless))
    except Raised as raised:
        if not frame.returns:
            raise
        machine.may_raise(raised)
        outcome = "dead"
    except given_up.ENDINGS:
        given_up.join_others(machine, given_up.first_of([state for _, state in frame.returns]), since)
        raise
    value = frame.value
    if outcome != "return" or frame.returns:
        value = control.finish_returns(machine, frame, outcome, since)
    if frame.yields is not None:
        unknown = machine.unknown("what the generator yields is not known") if frame.yields_unknown else None
        return machine.allocate(IteratorObject(frame.yields, 0, unknown))
    return value


# ---- classes ---------------------------------------------------------------------------------------------------------


def _class(machine: Machine, cls: ClassValue, arguments: Arguments) -> Value:
    if machine.awaited is not None:
        machine.awaited(cls, arguments)
    return several.decided(machine, (cls,), lambda: _made(machine, cls, arguments), ("__new__", "__call__"))


def _made(machine: Machine, cls: ClassValue, arguments: Arguments) -> Value:
    override = metaclasses.call_override(machine, cls)
    if override is not None:
        return call(machine, override, _with(arguments, (cls, *arguments.positional)))
    return make_instance(machine, cls, arguments)


def make_instance(machine: Machine, cls: ClassValue, arguments: Arguments) -> Value:
    """The new instance of a class with source, as `type` makes it."""
    machine.base.work += UNITS_OF_AN_INSTANCE
    special = data_classes.construct(machine, cls, arguments)
    if special is not None:
        return special
    known = registry.model(cls.name)
    if known is not None:
        return _model(machine, cls.name, arguments)
    if any(isinstance(base, KnownClass) and base.name in _VALUES for base in machine.mro(cls)):
        return machine.unknown(f"an instance of {classes.short_name(cls)}, which is derived from a builtin value")
    maker = machine.class_attribute(cls, "__new__")
    if isinstance(maker, StaticMethod):
        maker = maker.function
    if classes.TYPE in machine.mro(cls):
        return _class_made(machine, cls, maker, arguments)
    if isinstance(maker, FunctionValue) or (
        isinstance(maker, KnownFunction) and KnownClass(classes.TENSOR) in machine.mro(cls)
    ):
        made = call(machine, maker, _with(arguments, (cls, *arguments.positional)))
        if isinstance(maker, KnownFunction):
            tensor_classes.set_class(machine, made, cls)
        if machine.is_instance(made, cls) is not True:
            return made
        if isinstance(made, Address):
            initialise(machine, made, machine.class_of(made), arguments)
        return made

    def make() -> Value:
        abstract_methods.require_none(machine, cls)
        address = allocate_instance(machine, cls, arguments)
        initialise(machine, address, cls, arguments)
        _may_end(machine, address, cls)
        why = machine.doubtful.get(cls.address.index) if machine.doubtful else None
        if why is not None:
            how = "was" if why.reason.startswith("given to") else "stands under a decorator that is not known:"
            reason = telling(f"{classes.short_name(cls)} {how} {why.reason}", why.reason)
            machine.problem(reason, address)
        return address

    is_followed = machine.is_recording or not machine.is_module_class(cls)  # a run is told what the constructor does
    key = None if is_followed else memo.key_of(machine, cls.address, arguments)
    if key is None:
        return make()
    found = memo.recall(machine, key, arguments.where)
    return memo.watch(machine, key, make) if found is None else found


def _class_made(machine: Machine, meta: ClassValue, maker: Value | None, arguments: Arguments) -> Value:
    """The class that calling a metaclass gives: `Meta("Name", bases, namespace)`."""
    maker = maker if isinstance(maker, FunctionValue) else KnownFunction("builtins.type.__new__")
    made = call(machine, maker, _with(arguments, (meta, *arguments.positional)))
    if isinstance(made, ClassValue) and machine.is_instance(made, meta) is True:
        functions.tell_bases(machine, made, arguments.keywords)
        init = machine.class_attribute(meta, "__init__")
        if isinstance(init, FunctionValue):
            call(machine, init, _with(arguments, (made, *arguments.positional)))
    return made


_VALUES = frozenset(f"builtins.{name}" for name in ("str", "int", "float", "complex", "bytes"))


def allocate_instance(machine: Machine, cls: Value, arguments: Arguments) -> Address:
    """An empty instance, as `cls.__new__(cls)` gives."""
    return machine.allocate(empty_instance(machine, cls, arguments))


def empty_instance(machine: Machine, cls: Value, arguments: Arguments) -> HeapObject:
    """The object of the kind that the MRO asks for."""
    order = machine.mro(cls)
    names = {base.name for base in order if isinstance(base, (ClassValue, KnownClass))}
    unknown = next((base for base in order if isinstance(base, Unknown)), None)
    where = arguments.where
    answer = True if MODULE in names else of_bases(map(_may_be_a_modules, order))
    if is_taken(answer, answer is None and (_is_taken_for_one(machine, cls) or _has_forward(machine, cls))):
        return ModuleObject(cls, where=where)
    if "builtins.dict" in names or CHAIN.name in names:
        return DictObject(cls=cls)
    if "builtins.list" in names or "collections.deque" in names:
        return ListObject(cls=cls)
    if "builtins.set" in names or "builtins.frozenset" in names:
        return SetObject(cls=cls)
    if classes.TENSOR in names:
        return TensorObject(shape=None, dtype=None, cls=cls, is_parameter=classes.PARAMETER in names)
    item = InstanceObject(cls, where=where)
    if "builtins.BaseException" in names:
        item.attributes["args"] = TupleValue(arguments.positional)
    item.open = unknown
    return item


def _may_be_a_modules(base: Value) -> bool | None:
    """None for a base of which nothing is known."""
    if not isinstance(base, Unknown) or registry.is_of_python(base):
        return False
    return of_path(base.library)


def _is_taken_for_one(machine: Machine, cls: Value) -> bool:
    """It is asked for as a model, in a file from which torch is reached."""
    if cls != machine.taken or not isinstance(cls, ClassValue):
        return False
    definition = class_object(machine, cls).definition
    source = machine.finder.source(definition.module) if definition is not None else None
    return source is not None and BaseResolver(machine.finder).reaches_torch(source)


def _has_forward(machine: Machine, cls: Value) -> bool:
    """It has one that is called on an instance, in a file that imports torch."""
    found = machine.class_attribute(cls, FORWARD)
    if not isinstance(found, FunctionValue):
        return found is not None and not isinstance(found, (StaticMethod, Unknown))
    source = machine.finder.source(found.definition.module)
    return source is None or imports_torch(source)


def initialise(machine: Machine, address: Address, cls: Value, arguments: Arguments) -> None:
    """Runs `__init__` on a new instance, and keeps the constructor's arguments with a module."""
    several.does(machine, (cls,), lambda: _initialise(machine, address, cls, arguments), "__init__")


def _may_end(machine: Machine, address: Address, cls: Value) -> None:
    """When an object ends is not followed: its `__del__` may run from here on."""
    if isinstance(cls, ClassValue) and machine.class_attribute(cls, "__del__") is not None:
        machine.may_be_called([address], machine.unknown("when an object ends is not known"), ("__del__",), later=True)


def _initialise(machine: Machine, address: Address, cls: Value, arguments: Arguments) -> None:
    init = machine.class_attribute(cls, "__init__")
    item = machine.state.read(address)
    if isinstance(item, ModuleObject) and init is not None:
        machine.state.change(address, ModuleObject).arguments = named_arguments(init, arguments)
    if init is None:
        exceptional = isinstance(item, InstanceObject) and "args" in item.attributes
        taken = exceptional or isinstance(machine.class_attribute(cls, "__new__"), (StaticMethod, FunctionValue))
        if (arguments.positional or arguments.keywords) and not taken and isinstance(item, InstanceObject):
            raise machine.raises("TypeError", f"{classes.short_name(cls)}() takes no arguments")
        return
    if isinstance(init, Unknown):
        init = machine.of_library_object(init, address)
    try:
        if isinstance(init, (FunctionValue, KnownFunction, GeneratedMethod, Unknown, Choice)):
            given = call(machine, init, _with(arguments, (address, *arguments.positional)))
        else:  # a partialmethod, say, which a decorator has made of it
            given = call(machine, attributes.bind(machine, init, address, cls), arguments)
        if isinstance(init, FunctionValue) and given != NONE and not isinstance(given, (Unknown, Choice)):
            name = classes.short_name(machine.class_of(given))
            raise machine.raises("TypeError", f"__init__() should return None, not '{name}'")
    except LimitError as limit:
        if isinstance(machine.state.read(address), ModuleObject):
            machine.state.change(address, ModuleObject).modules[OPEN] = Unknown(Reached(limit), arguments.where)
        raise


def named_arguments(init: Value, arguments: Arguments) -> tuple[tuple[str, Value], ...]:
    """The arguments by parameter name, as far as they have one."""
    if not isinstance(init, FunctionValue):
        return tuple(arguments.keywords.items())
    names = [
        parameter.name for parameter in init.definition.parameters[1:] if parameter.kind in ("positional", "normal")
    ]
    return (*zip(names, arguments.positional, strict=False), *arguments.keywords.items())


def _known_class(machine: Machine, cls: KnownClass, arguments: Arguments) -> Value:
    if registry.model(cls.name) is not None:
        return _model(machine, cls.name, arguments)
    names = {base.name for base in machine.mro(cls) if isinstance(base, KnownClass)}
    address = machine.allocate(empty_instance(machine, cls, arguments))
    if names & {MODULE, "builtins.BaseException"} or cls == classes.OBJECT:
        if machine.class_attribute(cls, "__init__") is not None:
            initialise(machine, address, cls, arguments)
        return address
    unknown = machine.unknown(f"{cls.name} is not modelled")
    machine.expose([*arguments.positional, *arguments.keywords.values()], unknown)
    item = machine.state.find(address, InstanceObject)
    if item is None:
        return unknown
    machine.state.change(address, InstanceObject).open = unknown
    return address


def _generated(machine: Machine, function: GeneratedMethod, arguments: Arguments) -> Value:
    return data_classes.call_generated(machine, function, arguments)


def class_object(machine: Machine, cls: ClassValue) -> ClassObject:
    item = machine.state.read(cls.address)
    assert isinstance(item, ClassObject)
    return item


_CALLERS: dict[type[Value], Callable[[Any, Any, Arguments], Value]] = {
    FunctionValue: _function,
    BoundMethod: _method,
    ClassValue: _class,
    KnownFunction: _known_function,
    KnownClass: _known_class,
    PartialValue: _partial,
    StaticMethod: _wrapped,
    ClassMethod: _wrapped,
    GenericAlias: _alias,
    GeneratedMethod: _generated,
    Unknown: _unknown,
    Choice: _choice,
}
