"""Definitions to values: functions with their defaults, classes with their bases, decorators applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from modgraph.prediction.code import allowances, annotation_calls, names, whole_modules
from modgraph.prediction.domain import registry
from modgraph.prediction.domain.calling import ENDS, Arguments, Raised
from modgraph.prediction.domain.definitions import ClassDefinition, FunctionDefinition
from modgraph.prediction.domain.frames import Frame
from modgraph.prediction.domain.limits import MAX_DECORATOR_STEPS, MAX_INHERITED, NO_CLASS, LimitError, TooDeepError
from modgraph.prediction.domain.objects import ClassObject, EnvironmentObject
from modgraph.prediction.domain.values import (
    Address,
    BoundMethod,
    ClassMethod,
    ClassValue,
    Constant,
    FunctionValue,
    GenericAlias,
    KnownClass,
    KnownFunction,
    PartialValue,
    StaticMethod,
    Unknown,
    Value,
)
from modgraph.prediction.paths import several
from modgraph.prediction.paths.guards import Guard
from modgraph.prediction.python import (
    classes,
    enumerations,
    identity,
    layouts,
    metaclasses,
    naming_hooks,
    node_text,
    standard_sources,
)
from modgraph.source import nodes
from modgraph.source.index import Definition, Statement
from modgraph.source.modules import SourceError, SourceModule
from modgraph.source.reached import Reached

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_EVERY_CLASS = ("__init_subclass__", "__class_getitem__", "__new__")


# ---- functions -------------------------------------------------------------------------------------------------------


def define_function(machine: Machine, frame: Frame, node: nodes.FunctionDef) -> Value:
    """The value of a `def` statement, decorators applied."""
    value: Value = _function_value(machine, frame, node, node.name)
    annotation_calls.of_function(machine, frame, node)
    if frame.class_scope is not None and node.name in _EVERY_CLASS:
        value = StaticMethod(value) if node.name == "__new__" else ClassMethod(value)
    return decorate(machine, frame, node.decorators, value)


def define_undecorated(machine: Machine, frame: Frame, node: nodes.FunctionDef) -> FunctionValue:
    """The function of a `def` statement itself, whatever its decorators make of it."""
    return _function_value(machine, frame, node, node.name)


def define_lambda(machine: Machine, frame: Frame, node: nodes.Lambda) -> Value:
    return _function_value(machine, frame, node, "<lambda>")


def _function_value(machine: Machine, frame: Frame, node: nodes.FunctionDef | nodes.Lambda, name: str) -> FunctionValue:
    definition = machine.caches.functions.get(id(node))
    if definition is None:
        statement = node if isinstance(node, nodes.FunctionDef) else frame.statement or node
        definition = FunctionDefinition(name, _qualname(frame, name), frame.module, frame.parsed, node, statement)
        machine.caches.functions[id(node)] = definition
    defaults = tuple(
        (parameter.name, _default(machine, frame, parameter.name, parameter.default))
        for parameter in definition.parameters
        if parameter.default is not None
    )
    owner = frame.class_scope
    if owner is None and frame.function is not None:
        owner = frame.function.owner
    turn = identity.turn(machine, frame, node) if frame.loops or frame.around is not None else 0
    made = FunctionValue(definition, _closure(machine, frame), defaults, owner, turn=turn)
    return machine.state.held(made)


def _default(machine: Machine, frame: Frame, name: str, node: nodes.Expression) -> Value:
    if not any(isinstance(each, _COSTLY) for each in nodes.walk(node)):
        return machine.evaluate(frame, node)
    return allowances.of_default(machine, name, lambda: machine.evaluate(frame, node))


_COSTLY = (nodes.Call, nodes.SimpleComp, nodes.DictComp, nodes.BinaryOperation)
"""What may take long in a default."""


def _qualname(frame: Frame, name: str) -> str:
    if frame.class_scope is not None:
        inside = frame.class_scope.name.removeprefix(f"{frame.module}.")
        return f"{inside}.{name}"
    if frame.function is not None:
        return f"{frame.function.definition.qualname}.<locals>.{name}"
    return name


def _closure(machine: Machine, frame: Frame) -> Address | None:
    """What names inside a function of this frame are looked up in, before the module's."""
    if frame.class_scope is not None:
        environment = machine.state.read(frame.environment)
        assert isinstance(environment, EnvironmentObject)
        return environment.parent
    if frame.function is None:
        environment = machine.state.read(frame.environment)
        assert isinstance(environment, EnvironmentObject)
        # of text with names of its own, `exec(text, names)`, these are what a module's are elsewhere
        return frame.environment if environment.parent is not None or not frame.module else None
    return frame.environment


def decorate(machine: Machine, frame: Frame, decorators: Sequence[nodes.Expression], value: Value) -> Value:
    """The decorators applied, innermost first. One that is not known is taken to leave what it decorates, as most do
    that register or wrap it; where that is used, there is a problem."""
    for decorator in reversed(decorators):
        found = _decorated(machine, frame, decorator, value)
        if isinstance(found, Unknown) and not found.reason.startswith(NO_CLASS):
            _doubt(machine, value, found)
        else:
            value = found or value
    return value


def _doubt(machine: Machine, value: Value, why: Unknown) -> None:
    """Notes that a function or class is decorated by something not known, to be told where it is used."""
    if why.inert:
        return
    if isinstance(value, (StaticMethod, ClassMethod)):
        value = value.function
    if isinstance(value, FunctionValue):
        machine.doubtful[value.definition] = why
    elif isinstance(value, ClassValue):
        machine.doubtful[value.address.index] = why


def _decorated(machine: Machine, frame: Frame, decorator: nodes.Expression, value: Value) -> Value | None:
    """What a decorator gives, Unknown where that is not known, or where it raises; None where it leaves what it
    decorates, or takes too long. What raises or takes too long has changed nothing."""
    before, limit, since = machine.state, machine.limit, machine.base.next_index
    machine.state = before.fork()
    function: Value | None = None
    machine.limit = min(limit, machine.steps + MAX_DECORATOR_STEPS)
    try:
        function = machine.evaluate(frame, decorator)
        if isinstance(function, Unknown):
            if not function.inert:
                _give_up(machine, frame)
            return function
        if isinstance(function, FunctionValue) and function.definition in machine.caches.too_long:
            _give_up(machine, frame)
            return None
        found = machine.invoke(function, Arguments("", (value,), {}, frame.location()))
        return None if found == Constant(None) and not _has_source(function) else found
    except Raised as raised:
        if any(isinstance(guard, Guard) and guard.expects for guard in machine.guards) or _ends(machine, raised):
            raise
        _give_up(machine, frame)
        machine.state = before
        return Unknown(f"it raises {raised}", frame.location())
    except TooDeepError:
        raise
    except LimitError:
        if machine.exhausted or machine.steps > limit:
            raise
        _give_up(machine, frame)
        if isinstance(function, FunctionValue) and allowances.is_of_library(machine, function.definition.module):
            machine.state = before  # those of installed packages are taken to change what they decorate alone
        else:
            why = machine.unknown("what a decorator that takes too long does is not known")
            allowances.take_back(machine, before, since, why)
        if isinstance(function, FunctionValue):
            machine.caches.too_long.add(function.definition)
        return None
    finally:
        machine.limit = limit


def _has_source(function: Value) -> bool:
    """It is written in Python here, or a method of a container: what it gives is what it gives, also None."""
    if isinstance(function, BoundMethod):
        known = function.function
        return _has_source(known) or (isinstance(known, KnownFunction) and known.name.startswith(_OF_CONTAINERS))
    return isinstance(function, FunctionValue)


_OF_CONTAINERS = tuple(f"{name}." for name in ("builtins.list", "builtins.set", "builtins.dict", "collections.deque"))


def _give_up(machine: Machine, frame: Frame) -> None:
    """Notes that what a decorator of this statement does, it may register something, is not known."""
    machine.unfollowed += 1
    line = frame.parsed.first_line
    why = Unknown(f"what the decorators in {frame.parsed.file}, line {line}, do is not known")
    machine.base.unfollowed.setdefault((frame.module, line), why)


def signature(machine: Machine, function: Value) -> tuple[str, ...] | None:
    """Parameter names of a function, method (without the receiver) or class; None where not known."""
    if isinstance(function, FunctionValue):
        return tuple(parameter.name for parameter in function.definition.parameters)
    if isinstance(function, BoundMethod):
        inner = signature(machine, function.function)
        return inner[1:] if inner is not None else None
    if isinstance(function, PartialValue):
        inner = signature(machine, function.function)
        if inner is None:
            return None
        used = {name for name, _ in function.keywords}
        return tuple(name for name in inner[len(function.positional) :] if name not in used)
    if isinstance(function, ClassValue):
        init = machine.class_attribute(function, "__init__")
        inner = signature(machine, init) if init is not None else ()
        return inner[1:] if inner else inner
    return None


# ---- classes ---------------------------------------------------------------------------------------------------------


def define_from_index(machine: Machine, source: SourceModule, definition: Definition) -> Value | None:
    """The class or function that a definition of a module makes."""
    known = registry.lookup(f"{source.name}.{definition.qualname}")
    if known is not None:
        return known
    try:
        return _from_index(machine, source, definition)
    except SourceError as error:
        return machine.unknown(error.message)


def _from_index(machine: Machine, source: SourceModule, definition: Definition) -> Value | None:
    if definition.kind == "class":
        return _class_from_index(machine, source, definition)
    parsed = source.parse(definition.first_line, definition.last_line)  # several may share the name
    if not isinstance(parsed.statements[0], nodes.FunctionDef):
        return None
    environment = machine.state.allocate(EnvironmentObject())
    frame = Frame(source.name, parsed, environment, statement=parsed.statements[0])
    machine.frames.append(frame)
    try:
        return define_function(machine, frame, parsed.statements[0])
    finally:
        machine.frames.pop()


def _class_from_index(
    machine: Machine,
    source: SourceModule,
    definition: Definition,
    scope: ClassValue | None = None,
    shadow: bool = False,
) -> Value:
    parsed = source.header(definition)
    node = parsed.statements[0]
    assert isinstance(node, nodes.ClassDef)
    environment = machine.state.allocate(EnvironmentObject())
    frame = Frame(source.name, parsed, environment, class_scope=scope, statement=node)
    machine.frames.append(frame)
    try:
        entry = None if definition.inline else definition
        details = ClassDefinition(definition.name, definition.qualname, source.name, parsed, node, entry)
        return _make(machine, frame, node, details, [] if shadow else node.decorators)
    finally:
        machine.frames.pop()


def define_class(machine: Machine, frame: Frame, node: nodes.ClassDef) -> Value:
    """The value of a `class` statement whose body is at hand."""
    qualname = _qualname(frame, node.name)
    known = registry.lookup(f"{frame.module}.{qualname}")
    if known is not None:
        return known
    details = ClassDefinition(node.name, qualname, frame.module, frame.parsed, node, None)
    return _make(machine, frame, node, details, node.decorators)


def _make(
    machine: Machine,
    frame: Frame,
    node: nodes.ClassDef,
    definition: ClassDefinition,
    decorators: Sequence[nodes.Expression],
) -> Value:
    bases = _bases(machine, frame, node)
    keywords = {
        argument.keyword: machine.evaluate(frame, argument.value)
        for argument in node.keywords
        if argument.keyword is not None
    }

    def made(header: Sequence[Value]) -> Value:
        name, closure, meta = f"{definition.module}.{definition.qualname}", _closure(machine, frame), header[0]
        cls = make_class(machine, name, tuple(header[1:]), definition, closure)
        if isinstance(meta, (ClassValue, KnownClass)) and meta != classes.TYPE:
            made_by = metaclasses.more_derived(machine, meta, metaclasses.metaclass_of(machine, cls))
            machine.state.change(cls.address, ClassObject).metaclass = made_by
        metaclasses.prepare(machine, cls)
        if definition.entry is None:
            _run_body(machine, frame, node, cls, closure)
        else:
            if definition.module in machine.modules.whole:
                _execute_body(machine, cls, definition, closure)
            else:
                naming_hooks.tell(machine, cls, definition.entry)
        return decorate(machine, frame, decorators, finished(machine, cls, keywords))

    return several.each_of(machine, [keywords.pop("metaclass", classes.TYPE), *bases], made)


def finished(machine: Machine, cls: ClassValue, keywords: Mapping[str, Value]) -> Value:
    """A class with a body, after its metaclass and its bases have heard of it."""
    made = metaclasses.apply(machine, cls, keywords)
    if made == cls:
        tell_bases(machine, cls, keywords)
    return made


def tell_bases(machine: Machine, cls: ClassValue, keywords: Mapping[str, Value]) -> None:
    """Calls `__init_subclass__` for a new class."""
    several.does(machine, (cls,), lambda: _init_subclass(machine, keywords, cls), "__init_subclass__")


def _bases(machine: Machine, frame: Frame, node: nodes.ClassDef) -> tuple[Value, ...]:
    found: list[Value] = []
    for argument in node.bases:
        value = machine.evaluate(frame, argument.value)
        if argument.star == "*":
            parts = machine.iterate(value)
            found.extend([parts] if isinstance(parts, Unknown) else parts)
            continue
        if isinstance(value, GenericAlias):
            value = value.origin
        if isinstance(value, (ClassValue, KnownClass, Unknown)) or enumerations.is_one_of_some(machine, value):
            found.append(value)
        else:
            found.append(machine.unknown(f"base class {node_text.source_of(argument.value)} is not known", value))
    if any(map(machine.is_module_class, found)):  # helpers beside a module register nothing in it
        found = [each for each in found if not (isinstance(each, Unknown) and each.inert) or registry.may_call(each)]
    return tuple(found)


def make_class(
    machine: Machine,
    name: str,
    bases: tuple[Value, ...],
    definition: ClassDefinition | None = None,
    closure: Address | None = None,
    namespace: dict[str, Value] | None = None,
) -> ClassValue:
    """A new class, its MRO by C3.

    Raises:
        Raised: TypeError, where the bases have no consistent order, or no class can have them.
    """
    layouts.require_bases(machine, bases)
    for base in bases:
        if enumerations.named(machine, base):
            raise machine.raises("TypeError", f"{classes.short_name(base)} has members, and cannot be derived from")
    orders = [machine.mro(base) for base in bases]
    machine.makes(sum(map(len, orders)))
    if sum(map(len, orders)) > MAX_INHERITED:
        bases = (machine.unknown(Reached(f"more than {MAX_INHERITED} classes are inherited from")),)
        orders = [machine.mro(bases[0])]
    item = ClassObject(definition, bases, (), dict(namespace or {}), closure)
    item.metaclass = metaclasses.inherited(machine, bases)
    cls = ClassValue(name, machine.state.allocate(item))
    if bases in ((), (classes.OBJECT,)):
        item.mro = (cls, classes.OBJECT)
        return cls
    order = classes.linearize(cls, list(zip(bases, orders, strict=True)))
    if order is None:
        raise machine.raises("TypeError", f"cannot create a consistent method resolution order for {name}")
    item.mro = order if classes.OBJECT in order else (*order, classes.OBJECT)
    return cls


def _run_body(machine: Machine, frame: Frame, node: nodes.ClassDef, cls: ClassValue, closure: Address | None) -> None:
    """Executes a class body at once: that of a local class, or of one on a single line."""
    environment = machine.allocate(EnvironmentObject(parent=closure))
    inner = Frame(frame.module, frame.parsed, environment, frame.function, None, cls, frame.statement)
    machine.frames.append(inner)
    try:
        machine.execute(inner, node.body)
    finally:
        machine.frames.pop()
    _give_names(machine, cls, environment)


def _give_names(machine: Machine, cls: ClassValue, environment: Address) -> None:
    """Puts what a body has bound into its class."""
    found = machine.state.read(environment)
    assert isinstance(found, EnvironmentObject)
    for name, value in several.bound(found).items():
        member = enumerations.as_member(machine, cls, name, value)
        machine.state.change(cls.address, ClassObject).namespace[name] = member
        several.note(machine, cls, name, member)
    if found.is_shuffled:
        why = machine.unknown(f"the order of the names of {classes.short_name(cls)} depends on which path is taken")
        machine.state.change(cls.address, ClassObject).shuffled = why
    for name, value in found.names.items():
        naming_hooks.tell_name(machine, cls, name, value)


def _init_subclass(machine: Machine, keywords: Mapping[str, Value], cls: ClassValue) -> None:
    """Calls `__init_subclass__` of a base written in source."""
    hook = classes.class_attribute(machine, cls, "__init_subclass__", cls)
    if not isinstance(hook, ClassMethod) or not isinstance(hook.function, FunctionValue):
        return
    try:
        machine.invoke(hook.function, Arguments("__init_subclass__", (cls,), keywords, machine.where))
    except Raised as raised:
        if _ends(machine, raised):
            raise
        machine.problem(f"__init_subclass__ of {cls.name} raises {raised}")


def _ends(machine: Machine, raised: Raised) -> bool:
    """The program ends here, where arguments are looked for: nothing that stands behind it is ever called."""
    return machine.data_of is not None and raised.name in ENDS


def class_namespace_entry(machine: Machine, cls: ClassValue, item: ClassObject, name: str) -> Value | None:
    """A name of a class body, by executing the statements that bind it or change it."""
    definition = item.definition
    assert definition is not None
    key = (cls.address.index, "" if definition.is_ordered else name)
    if key in machine.modules.annotated:
        return None
    source = machine.finder.source(definition.module)
    if (
        source is None
        or key in machine.modules.class_running
        or (definition.is_ordered and key[0] in machine.modules.filled)
    ):
        return None
    machine.modules.class_running.add(key)
    since = machine.base.next_index

    def evaluate() -> Value | None:
        environment = machine.state.allocate(EnvironmentObject(parent=item.closure))
        frame = Frame(source.name, definition.parsed, environment, class_scope=cls)
        if definition.is_ordered:
            return _fill_class(machine, source, frame, item).get(name)
        return _run_class_entry(machine, source, frame, definition.statements[name], name)

    try:
        value = allowances.evaluated(machine, source.name, f"{cls.name}.{name}", evaluate)
    finally:
        machine.modules.class_running.discard(key)
    if value is None and not definition.is_ordered and _is_annotated_alone(source, definition.statements[name], name):
        machine.modules.annotated.add(key)
    if value is None or (definition.is_ordered and not isinstance(value, Unknown)):
        return value
    return _keep(machine, cls, definition, name, value, since)


def _is_annotated_alone(source: SourceModule, body: list[Statement], name: str) -> bool:
    """No statement gives it a value: `name: int`."""
    return all(
        statement.kind in ("assign", "other")
        and all(type(node) is nodes.AnnAssign and node.value is None for node in source.statement(statement).statements)
        for statement in body
        if name in statement.names
    )


def _keep(machine: Machine, cls: ClassValue, definition: ClassDefinition, name: str, value: Value, since: int) -> Value:
    """Puts what a name of the body was given into the class."""
    if isinstance(value, Address):
        machine.claim((definition.module, definition.qualname.partition(".")[0]), since, name)
    value = enumerations.as_member(machine, cls, name, value)
    for target in (machine.state.read(cls.address), machine.base.objects.get(cls.address.index)):
        if isinstance(target, ClassObject):
            # Filling in what was there all along is no change of state.
            target.namespace.setdefault(name, value)
    several.note(machine, cls, name, value)
    return value


def _fill_class(machine: Machine, source: SourceModule, frame: Frame, item: ClassObject) -> dict[str, Value]:
    """All names of a class body, whose statements are executed in their order."""
    cls, definition = frame.class_scope, item.definition
    assert cls is not None
    assert definition is not None
    assert definition.entry is not None
    found: dict[str, Value] = {}
    places: dict[str, int] = {}
    for statement in definition.entry.body:
        since = machine.base.next_index
        for name in statement.names or ("",):
            value = _run_class_statement(machine, source, frame, statement, name)
            if value is not None and name:
                found[name] = value
                places[name] = since
            if statement.kind != "import":
                break
        made = machine.state.read(frame.environment)
        assert isinstance(made, EnvironmentObject)
        for name in statement.names:
            if name in made.names:
                found[name] = made.names[name]
                places[name] = since
            elif statement.kind == "delete":
                found.pop(name, None)
    machine.modules.filled.add(cls.address.index)
    for name, value in found.items():
        naming_hooks.tell_name(machine, cls, name, value)
    return {name: _keep(machine, cls, definition, name, value, places[name]) for name, value in found.items()}


def _execute_body(machine: Machine, cls: ClassValue, definition: ClassDefinition, closure: Address | None) -> None:
    """Executes the body of a class of a module that is executed as a whole; what can wait does."""
    source = machine.modules.whole[definition.module].source
    assert definition.entry is not None
    body = definition.entry.body
    if definition.is_ordered:
        for name in definition.statements:
            classes.own_attribute(machine, cls, name)
        return
    environment = machine.allocate(EnvironmentObject(parent=closure))
    frame = Frame(source.name, definition.parsed, environment, class_scope=cls)
    members = whole_modules.Members(body)
    for statement in body:
        if whole_modules.member_waits(machine, source, statement, members):
            continue
        for name in statement.names or ("",):
            _run_class_statement(machine, source, frame, statement, name)
            if statement.kind != "import":
                break
    _give_names(machine, cls, environment)


def _run_class_entry(
    machine: Machine, source: SourceModule, frame: Frame, body: list[Statement], name: str
) -> Value | None:
    value: Value | None = None
    for statement in body:
        if name in statement.names or isinstance(value, Address):
            given = _run_class_statement(machine, source, frame, statement, name)
            value = value if given is None else given
    if value is not None and frame.class_scope is not None:
        naming_hooks.tell_name(machine, frame.class_scope, name, value)
    return value


def _run_class_statement(
    machine: Machine, source: SourceModule, frame: Frame, statement: Statement, name: str
) -> Value | None:
    """What a name is after a statement of a class body; None where the statement does not say."""
    if statement.definition is not None and statement.definition.kind == "class":
        value = _class_from_index(machine, source, statement.definition, frame.class_scope)
        machine.state.change(frame.environment, EnvironmentObject).names[name] = value
        return value
    if statement.kind != "import":
        return machine.class_statement(source, statement, frame).get(name)
    given: Value | None = None
    for imported in statement.imports:
        if imported.name == name:
            given = names.import_value(machine, source.absolute(imported.module, imported.level), imported)
            machine.state.change(frame.environment, EnvironmentObject).names[name] = given
    return given


def shadow_class(machine: Machine, known: KnownClass) -> ClassValue | None:
    """The class as its source has it, of a known class; None where its source is not there."""
    if known.name not in machine.caches.shadows:
        machine.caches.shadows[known.name] = None
        module, _, name = known.name.rpartition(".")
        source = machine.finder.source(module)
        if source is not None and (known.name in standard_sources.FOLLOWED or not standard_sources.is_standard(source)):
            definition = source.index.definitions.get(name)
            if definition is not None and definition.kind == "class":
                with machine.at_module_level():
                    made = _class_from_index(machine, source, definition, shadow=True)
                machine.caches.shadows[known.name] = made if isinstance(made, ClassValue) else None
    return machine.caches.shadows[known.name]
