"""From a target to the root module's value: what is asked for is found, called, and what it leaves is returned."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from modgraph.errors import MissingFileError, TargetError, UnknownNameError
from modgraph.graph.model import SourceLocation
from modgraph.names import last_name, listed, nearest
from modgraph.prediction.code import calls, namespaces, unfinished, whole_modules
from modgraph.prediction.deep_stack import with_deep_stack
from modgraph.prediction.domain import endings
from modgraph.prediction.domain.assumed import NOTHING, Assumed
from modgraph.prediction.domain.calling import Arguments, Raised
from modgraph.prediction.domain.endings import attempt
from modgraph.prediction.domain.limits import LimitError
from modgraph.prediction.domain.loaded import NotWholeError
from modgraph.prediction.domain.objects import DictObject, InstanceObject, ListObject, ModuleObject, SetObject
from modgraph.prediction.domain.values import (
    OPEN,
    Address,
    BoundMethod,
    ClassValue,
    FunctionValue,
    KnownClass,
    KnownFunction,
    ModuleReference,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.interpreter import Interpreter
from modgraph.prediction.own_calls import arguments_of_own_call
from modgraph.prediction.project import import_effects, module_effects, namespace_stores
from modgraph.prediction.python import metaclasses, node_text, producing, text
from modgraph.prediction.target_arguments import require_fitting
from modgraph.source import kept_trees
from modgraph.source.files import NOTEBOOK
from modgraph.source.modules import ModuleFinder, SourceModule, finder_for
from modgraph.source.reached import telling
from modgraph.source.target_modules import module_of, not_there
from modgraph.source.targets import NOT_GIVEN, Built, Ref, Target, Unsaid

_CALLED = (ClassValue, FunctionValue, BoundMethod)
"""What is called where a target names it alone."""
_MAX_NAMED = 10
"""Names of a file that a message lists."""
EVERYTHING = sys.maxsize
"""Units of work: however many there are."""


@dataclass(frozen=True)
class Prediction:
    """What a call of a constructor or factory left."""

    machine: Interpreter
    root: Value
    """Address of a ModuleObject where all is well; any other value otherwise."""
    failure: Unknown | None = None
    """Why it did not come to its end."""


def interpreter(search_path: Sequence[str] = (), home: str | None = None) -> Interpreter:
    """A machine that finds modules on that path (by default Python's own), torch in the bundled source if not there."""
    return Interpreter(finder_for(search_path or sys.path, home))


def predict_target(
    target: Target,
    text: str | SourceModule | None = None,
    prepare: Callable[[ModuleFinder], None] | None = None,
    granted: tuple[int, str] | None = None,
    free_reading: int = 0,
    doing: Callable[[str], None] | None = None,
    assumed: Assumed = NOTHING,
) -> Prediction:
    """Interprets what the target asks for.

    Args:
        text: what its file is taken to hold, whatever it holds on disk; the file need not be there then. Or the module
            itself, where its index and trees are to serve several predictions.
        prepare: is given the finder first, and may add modules to it.
        granted: what others have left of the units of work, and who shares them.
        free_reading: so many units of reading other files than the target's do not count among these.
        doing: is told in words which file is read.
        assumed: what is taken for granted of the surroundings; the tree is then claimed for these alone.

    Raises:
        TargetError: the file or name is not there, or the file is no Python.
    """
    machine = interpreter(target.search_path, target.home)
    machine.assumed = assumed
    if granted is not None:
        machine.grant(*granted)
    if target.root is not None:
        machine.use(finder_for([str(target.root), *(target.search_path or sys.path)], target.home))
    if prepare is not None:
        prepare(machine.finder)
    if doing is not None:
        machine.finder.on_module = lambda name: doing(f"following the code of {target.name}, looking into {name}")
    machine.unshared = lambda: min(machine.finder.reading, free_reading)
    try:
        return with_deep_stack(lambda: _predict(machine, target, text))
    finally:
        kept_trees.write_changed()


def load_target(machine: Interpreter, target: Target, text: str | SourceModule | None = None) -> SourceModule:
    """The module of a target, its index read.

    Raises:
        TargetError: it is not there, or is no Python.
    """
    source: SourceModule | None
    if isinstance(text, SourceModule):
        source = text
        machine.finder.add(source)
    elif target.file is not None:
        if text is None and not target.file.is_file():
            raise MissingFileError(f"{target.place} does not exist")
        source = module_of(target)
        if text is not None:
            source.text = text.replace("\r\n", "\n").replace("\r", "\n")
        machine.finder.add(source)
    else:
        source = machine.finder.source(target.module)
        if source is None:
            raise not_there(machine.finder, target)
    assert source.index is not None  # reads the file, and says what is wrong with it
    begin(machine, source)
    import_effects.run(machine, source)
    attempt(machine, lambda: module_effects.tell(machine, source), lambda why: _leave_untold(machine, source, why))
    attempt(machine, lambda: namespace_stores.tell(machine, source), lambda why: _leave_untold(machine, source, why))
    return source


def begin(machine: Interpreter, source: SourceModule) -> None:
    """Executes the target's module; where that does not come to its end, all is forgotten that it has done."""
    machine.modules.roots.append(source.name)
    try:
        whole_modules.begin(machine, source)
    except NotWholeError as error:
        machine.start_lazily()
        machine.modules.raises = error.raises
        # Of a notebook only the statements are run that the model needs: what another cell raises is nothing to it.
        if error.failure is not None and not source.file.endswith(NOTEBOOK):
            reason = error.failure.reason
            told = telling(f"importing {source.name} may not come to its end: {reason}", reason)
            machine.problem(told, None, error.failure.where)


def _leave_untold(machine: Interpreter, source: SourceModule, why: Unknown) -> None:
    machine.problem(telling(f"what the statements of {source.name} change is not known: {why.reason}", why.reason))


def _predict(machine: Interpreter, target: Target, text: str | SourceModule | None) -> Prediction:
    def predict() -> Prediction:
        source = load_target(machine, target, text)
        value = find_name(machine, source, target.name)
        _refuse_method(value, target)
        machine.taken = value
        found = _called(machine, source, value, target)
        attempt(
            machine, lambda: namespace_stores.tell_run(machine, source), lambda why: _leave_untold(machine, source, why)
        )
        return found

    prediction = attempt(machine, predict, lambda why: _not_reached(machine, target, why))
    machine.finish()
    return prediction


def _called(machine: Interpreter, source: SourceModule, value: Value, target: Target) -> Prediction:
    """What the target names, called where that is a class or a function."""
    if target.called:
        attempt(machine, lambda: _require_fitting(machine, value, target), lambda _: None)
    if not isinstance(value, _CALLED) and not target.called:
        return Prediction(machine, value)
    own = _own_call(machine, source, value, target)
    if own is not None:
        return predict_value(machine, value, own.positional, own.keywords, own.open)
    positional = [_argument(machine, argument) for argument in target.arguments]
    keywords = {name: _argument(machine, argument) for name, argument in target.keywords}
    others: list[Unknown] = []
    if not target.called and isinstance(value, _CALLED):

        def leave_open(why: Unknown) -> dict[str, Value]:
            others.append(why)
            return {}

        keywords.update(attempt(machine, lambda: not_given(machine, value, len(positional), keywords), leave_open))
    return predict_value(machine, value, positional, keywords, others[0] if others else None)


def _refuse_method(value: Value, target: Target) -> None:
    """What is defined for the instances of a class, and so makes none."""
    owner, _, method = target.name.rpartition(".")
    if owner and isinstance(value, FunctionValue) and not target.called:
        parameters = value.definition.parameters
        if parameters and parameters[0].name == "self":
            raise TargetError(
                f"{method} in {target.place} is a method of the instances of {owner}",
                file=target.relative_file if target.file is not None else None,
                hint=f"name the class: {target.typed(owner)}",
            )


def _argument(machine: Interpreter, argument: Any) -> Value:
    return attempt(machine, lambda: argument_value(machine, argument), lambda why: why)


def _own_call(machine: Interpreter, source: SourceModule, value: Value, target: Target) -> Arguments | None:
    """The arguments that the file itself gives a class, where its text does not say them."""
    if target.caller is None or not isinstance(value, ClassValue):
        return None
    return arguments_of_own_call(machine, source, value, target.caller)


def _require_fitting(machine: Interpreter, value: Value, target: Target) -> None:
    init, n_bound = value, 0
    if isinstance(value, ClassValue) and not _makes_itself(machine, value):
        init, n_bound = machine.class_attribute(value, "__init__") or value, 1
    if isinstance(init, FunctionValue) and init.wrapped is None:
        require_fitting(init, n_bound, target)


def _not_reached(machine: Interpreter, target: Target, failure: Unknown) -> Prediction:
    """What is asked for cannot be made: its module does not come to its end."""
    reason = telling(f"{target.name} is not reached: its module {failure.reason}", failure.reason)
    machine.problem(reason, None, failure.where)
    return Prediction(machine, failure, failure)


def find_name(machine: Interpreter, source: SourceModule, name: str) -> Value:
    """The value of a dotted name in a module.

    Raises:
        TargetError: there is no such name; says what is near.
    """
    first, *rest = name.split(".")
    value = machine.find_attribute(ModuleReference(source.name), first)
    if value is None:
        value = namespaces.otherwise_bound(machine, source.name, first)
    if value is None or (isinstance(value, Unknown) and first not in source.index.names and _is_absent(value, first)):
        raise _no_such_name(source, name)
    try:
        for part in rest:
            value = machine.get_attribute(value, part)
    except Raised:
        raise _no_such_name(source, name) from None
    return value


def _is_absent(value: Unknown, name: str) -> bool:
    return f".{name} is not found" in value.reason


def _no_such_name(source: SourceModule, name: str) -> UnknownNameError:
    definitions = [
        key
        for key, definition in source.index.definitions.items()
        if "<locals>" not in key and (definition.kind == "class" or "." not in key)
    ]
    near = nearest(name, [*definitions, *source.index.names])
    message = f"{source.file} has no class or function {name!r}."
    if near and near[0] in source.index.definitions:
        message += f" Did you mean {near[0]!r} (line {source.index.definitions[near[0]].line})?"
    elif near:
        message += f" Did you mean {near[0]!r}?"
    elif definitions:
        message += f" It has {listed(definitions, _MAX_NAMED)}."
    return UnknownNameError(message, file=source.file)


def argument_value(machine: Interpreter, argument: Any) -> Value:
    """The value of a literal or a Ref, or of what was found, also inside containers."""
    if isinstance(argument, Value):
        return argument
    if isinstance(argument, Unsaid):
        return Unknown(argument.reason)
    if isinstance(argument, Built):
        return _built(machine, argument)
    if isinstance(argument, Ref):
        return machine.resolve(argument.name)
    if isinstance(argument, tuple):
        return TupleValue(tuple(argument_value(machine, item) for item in argument))
    if isinstance(argument, list):
        return machine.allocate(ListObject([argument_value(machine, item) for item in argument]))
    if isinstance(argument, (set, frozenset)):
        items = sorted(argument, key=repr)
        return machine.allocate(SetObject({argument_value(machine, item): None for item in items}))
    if isinstance(argument, dict):
        entries = {argument_value(machine, key): argument_value(machine, item) for key, item in argument.items()}
        return machine.allocate(DictObject(entries))
    return text.from_python(machine, argument)


def _built(machine: Interpreter, built: Built) -> Value:
    function = machine.resolve(built.name)
    positional = [argument_value(machine, each) for each in built.positional]
    if built.attributes is None:
        keywords = {name: argument_value(machine, each) for name, each in built.keywords}
        made = machine.invoke(function, Arguments("", tuple(positional), keywords))
        for path, each in built.later:
            *names, last = path.split(".")
            holder = reduce(machine.get_attribute, names, made)
            machine.set_attribute(holder, last, argument_value(machine, each))
        return made
    attributes = {name: argument_value(machine, each) for name, each in built.attributes}
    if isinstance(function, ClassValue) and machine.is_subclass(function, KnownClass("builtins.dict")):
        entries = {pair.items[0]: pair.items[1] for pair in positional if isinstance(pair, TupleValue)}
        return machine.allocate(DictObject(entries, cls=function, attributes=attributes))
    return machine.allocate(InstanceObject(function, attributes))


def not_given(
    machine: Interpreter, function: ClassValue | FunctionValue | BoundMethod, given: int, keywords: Mapping[str, Value]
) -> dict[str, Value]:
    """Unknowns for the required parameters that the target leaves out; each is a problem."""
    init: Value | None = function
    skip = 0
    if isinstance(function, ClassValue):
        init, skip = machine.class_attribute(function, "__init__"), 1
    if isinstance(function, BoundMethod):
        init, skip = function.function, 1
    if not isinstance(init, FunctionValue):
        return {}
    found: dict[str, Value] = {}
    for place, parameter in enumerate(init.definition.parameters[skip:]):
        required = parameter.kind in ("normal", "keyword") and parameter.default is None
        if required and place >= given and parameter.name not in keywords:
            found[parameter.name] = Unknown(
                f"argument {parameter.name!r} is {NOT_GIVEN} {_signature(function, init, skip)}",
                _place(init),
                inert=parameter.is_plain,
            )
    return found


def _signature(function: Value, init: FunctionValue, skip: int) -> str:
    """How it is called: `Net(width, depth=2)`."""
    parameters = init.definition.node.params
    places = [*parameters.posonly_params, *parameters.params][skip:]
    shown = [
        each.name if each.default is None else f"{each.name}={node_text.source_of(each.default)}"
        for each in (*places, *parameters.kwonly_params)
    ]
    if parameters.kwonly_params:
        shown.insert(len(places), "*")
    name = last_name(function.name if isinstance(function, ClassValue) else init.name)
    return f"{name}({', '.join(shown)})"


def _place(function: FunctionValue) -> SourceLocation:
    return function.definition.parsed.location(function.definition.statement)


def predict_value(
    machine: Interpreter,
    function: Value,
    positional: Sequence[Value] = (),
    keywords: Mapping[str, Value] | None = None,
    others: Unknown | None = None,
) -> Prediction:
    """Calls a class or factory with any values; `others` says why there may be further arguments. Never raises for what
    the interpreted code does."""
    made: list[Value] = []
    failure = attempt(
        machine,
        lambda: _make(machine, function, tuple(positional), keywords or {}, others, made),
        lambda why: why,
        _place(function) if isinstance(function, FunctionValue) else None,
    )
    root = made[0] if made else None
    if failure is None:
        assert root is not None
        return Prediction(machine, root)
    machine.frames.clear()
    machine.problem(failure.reason, root if isinstance(root, Address) else None, failure.where)
    if isinstance(root, Address) and machine.state.find(root, ModuleObject) is not None:
        machine.state.change(root, ModuleObject).modules[OPEN] = failure
    return Prediction(machine, root if root is not None else failure, failure)


def _make(
    machine: Interpreter,
    function: Value,
    positional: tuple[Value, ...],
    keywords: Mapping[str, Value],
    others: Unknown | None,
    made: list[Value],
) -> Unknown | None:
    """Puts what the call gives into `made`: a module at once, its constructor may not come to its end. Why it did not,
    where a place is known that it has not itself."""
    where = _place(function) if isinstance(function, FunctionValue) else _class_place(machine, function)
    arguments = Arguments("", positional, keywords, where, others)
    try:
        if (
            isinstance(function, ClassValue)
            and machine.is_module_class(function)
            and not _makes_itself(machine, function)
        ):
            instance = calls.allocate_instance(machine, function, arguments)
            made.append(instance)
            calls.initialise(machine, instance, function, arguments)
        else:
            made.append(machine.invoke(function, arguments))
        producing.settle_open(machine)
    except (LimitError, RecursionError, MemoryError) as limit:
        ending, why = limit, endings.unknown(limit, where)
        attempt(machine, lambda: unfinished.doubt(machine, ending, why), lambda _: machine.expose(made, why))
        return why
    return None


def _makes_itself(machine: Interpreter, cls: ClassValue) -> bool:
    """It, or its metaclass, has a method of its own that makes the instance, or it is modelled as a whole."""
    if metaclasses.call_override(machine, cls) is not None:
        return True
    maker = machine.class_attribute(cls, "__new__")
    if maker == KnownFunction("builtins.object.__new__"):
        return False
    return maker is not None and not isinstance(maker, (Unknown, BoundMethod))


def _class_place(machine: Interpreter, cls: Value) -> SourceLocation | None:
    if not isinstance(cls, ClassValue):
        return None
    definition = calls.class_object(machine, cls).definition
    if definition is None:
        return None
    line = definition.entry.line if definition.entry is not None else definition.parsed.line(definition.node)
    return SourceLocation(definition.parsed.file, line)
