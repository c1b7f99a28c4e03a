"""Builtins that look into the interpreter itself: getattr, isinstance, super, type, property and kin."""

from __future__ import annotations

from typing import cast

from modgraph.prediction.code import calls, functions, imports, names, namespaces, whole_modules
from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.calling import Arguments, Raised
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import (
    VIEW_OF,
    ClassObject,
    DictObject,
    EnvironmentObject,
    InstanceObject,
    IteratorObject,
    ListObject,
)
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.sizes import as_size
from modgraph.prediction.domain.values import (
    FALSE,
    NONE,
    NOT_IMPLEMENTED,
    TRUE,
    Address,
    BoundMethod,
    Choice,
    ClassValue,
    Constant,
    FunctionValue,
    KnownClass,
    ModuleReference,
    StaticMethod,
    SuperValue,
    TupleValue,
    Unknown,
    Value,
    remaining,
)
from modgraph.prediction.paths import havoc, partial_texts, several
from modgraph.prediction.python import (
    abstract_methods,
    attribute_changes,
    attributes,
    class_listing,
    classes,
    data_classes,
    enum_texts,
    hashing,
    items,
    naming_hooks,
    producing,
    standard_attributes,
    still_held,
    weak_updates,
)
from modgraph.prediction.python.classes import OBJECT
from modgraph.prediction.python.identity import identical, stays
from modgraph.prediction.python.stand_ins import Identity


def _answer(machine: Machine, answer: bool | None, value: Value) -> Value:
    return machine.unknown("its class is not known", value) if answer is None else Constant(answer)


@models("builtins.isinstance")
def isinstance_(arguments: Arguments, machine: Machine) -> Value:
    value, of = arguments.get(0, "obj", NONE), arguments.get(1, "class_or_tuple", NONE)
    if isinstance(value, Choice):
        return machine.distribute(value, lambda each: _answer(machine, machine.is_instance(each, of), each))
    return _answer(machine, machine.is_instance(value, of), value)


@models("builtins.issubclass")
def issubclass_(arguments: Arguments, machine: Machine) -> Value:
    cls = arguments.get(0, "cls", NONE)
    return _answer(machine, machine.is_subclass(cls, arguments.get(1, "class_or_tuple", NONE)), cls)


@models("builtins.callable")
def callable_(arguments: Arguments, machine: Machine) -> Value:
    value = arguments.get(0, "obj", NONE)
    return _answer(machine, classes.is_callable(machine, value), value)


def _name(machine: Machine, value: Value) -> str | Unknown:
    value = enum_texts.as_text(machine, value)
    if isinstance(value, Constant) and isinstance(value.value, str):
        return value.value
    return partial_texts.named(machine.unknown("the name of the attribute is not known", value), NONE)


@models("builtins.hasattr")
def hasattr_(arguments: Arguments, machine: Machine) -> Value:
    value, given = arguments.get(0, "obj", NONE), arguments.get(1, "name", NONE)
    if isinstance(given, Choice):
        return machine.distribute(given, lambda each: hasattr_(Arguments("hasattr", (value, each)), machine))
    name = _name(machine, given)
    if isinstance(name, Unknown):
        machine.may_be_called([value], name, _OF_A_NAME)
        return name
    if isinstance(value, Unknown):
        return value
    if machine.guesses.doubts(value):
        return machine.unknown(f"it is not known whether it has {name}")
    if isinstance(value, Choice):
        return machine.distribute(value, lambda each: hasattr_(Arguments("hasattr", (each, Constant(name))), machine))
    return several.decided(machine, [value], lambda: _has(machine, value, name), (name, "__getattr__"))


_OF_A_NAME = ("__getattr__", "__getattribute__")


def _has(machine: Machine, value: Value, name: str) -> Value:
    found = _found(machine, value, name)
    if found is None:
        return FALSE
    given = standard_attributes.given(machine, value, name) if isinstance(found, Unknown) else None
    if isinstance(given, Unknown) and not given.optional:
        return TRUE
    if isinstance(found, Unknown) and (found.optional or _may_be_missing(machine, value, name)):
        return found
    return TRUE


def _found(machine: Machine, value: Value, name: str) -> Value | None:
    """The attribute; None where a property or `__getattr__` raises AttributeError."""
    try:
        return attributes.asked(machine, value, name)
    except Raised as raised:
        if raised.name != "builtins.AttributeError":
            raise
        return None


def _may_be_missing(machine: Machine, value: Value, name: str) -> bool:
    """An unknown attribute of which it is not known either whether it is there."""
    if isinstance(value, Address):
        item = machine.state.read(value)
        for store in ("attributes", "modules", "parameters", "buffers"):
            if name in getattr(item, store, {}):
                return False
    cls = classes.class_of(machine, value)
    attribute = classes.class_attribute(machine, cls, name)
    return attribute is None or isinstance(attribute, Unknown)


@models("builtins.getattr")
def getattr_(arguments: Arguments, machine: Machine) -> Value:
    value, given = arguments.positional[0], arguments.get(1, "name", NONE)
    if isinstance(given, Choice):
        return machine.distribute(
            given, lambda each: getattr_(Arguments("getattr", (value, each, *arguments.positional[2:])), machine)
        )
    name = _name(machine, given)
    if isinstance(name, Unknown):
        return _attribute_of_unknown_name(machine, value, name, arguments.positional[2:])
    if len(arguments.positional) < 3:
        return machine.get_attribute(value, name)
    if isinstance(value, Choice):
        return machine.distribute(
            value, lambda each: getattr_(Arguments("getattr", (each, *arguments.positional[1:])), machine)
        )
    default = arguments.positional[2]
    if machine.guesses.doubts(value):
        return points_to.either_of(machine.unknown(f"it is not known whether it has {name}"), [default])
    found = several.decided(machine, [value], lambda: _found(machine, value, name) or default, (name, "__getattr__"))
    if isinstance(value, Unknown) and isinstance(found, Unknown) and not points_to.is_plain(default):
        return points_to.either_of(found, [default])  # it may lack the attribute
    return found


def _attribute_of_unknown_name(machine: Machine, value: Value, name: Unknown, default: tuple[Value, ...]) -> Unknown:
    """Any of those that the value holds, or `default`."""
    machine.may_be_called([value], name, _OF_A_NAME)
    if not default:
        machine.may_fail("AttributeError")
    held = [*default]
    for each in value.alternatives if isinstance(value, Choice) else (value,):
        item = machine.state.read(each) if isinstance(each, Address) else None
        held += [each] if item is None else points_to.held_by(item)
    return points_to.read(machine, name, held)


@models("builtins.setattr")
def setattr_(arguments: Arguments, machine: Machine) -> Value:
    value, given, new = arguments.positional
    if isinstance(given, Choice):
        return machine.distribute(given, lambda each: setattr_(Arguments("setattr", (value, each, new)), machine))
    name = _name(machine, given)
    if isinstance(name, Unknown):
        weak_updates.set_name(machine, value, partial_texts.named(name, given), new)
    else:
        machine.set_attribute(value, name, new)
    return NONE


@models("builtins.delattr")
def delattr_(arguments: Arguments, machine: Machine) -> Value:
    value, given = arguments.positional
    if isinstance(given, Choice):
        return machine.distribute(given, lambda each: delattr_(Arguments("delattr", (value, each)), machine))
    name = _name(machine, given)
    if isinstance(name, Unknown):
        weak_updates.delete_name(machine, value, partial_texts.named(name, given))
    else:
        machine.delete_attribute(value, name)
    return NONE


@models("builtins.super")
def super_(arguments: Arguments, machine: Machine) -> Value:
    if len(arguments.positional) == 2:
        _require_kin(machine, *arguments.positional)
        return SuperValue(*arguments.positional)
    frame = machine.frames[-1]
    owner = frame.function.owner if frame.function is not None else None
    if owner is None or frame.receiver is None:
        return machine.unknown("super() outside a method")
    _require_kin(machine, owner, frame.receiver)
    return SuperValue(owner, frame.receiver)


def _require_kin(machine: Machine, cls: Value, receiver: Value) -> None:
    """Of `super(cls, receiver)`.

    Raises:
        Raised: TypeError, where the receiver is of another class that has the name which `cls` had.
    """
    of = receiver if machine.is_class(receiver) else machine.class_of(receiver)
    mro = machine.mro(of) if isinstance(of, ClassValue) else ()
    if of == receiver:
        mro = (*mro, *machine.mro(machine.class_of(receiver)))  # in a method of a metaclass
    if not isinstance(cls, ClassValue) or not all(isinstance(each, (ClassValue, KnownClass)) for each in (of, *mro)):
        return
    place = _place(machine, cls)
    if place is not None and mro and cls not in mro and place not in [_place(machine, each) for each in mro]:
        raise machine.raises("TypeError", "super(type, obj): obj must be an instance or subtype of type")


def _place(machine: Machine, cls: Value) -> tuple[str, str, int] | None:
    """Where a class is defined."""
    item = machine.state.read(cls.address) if isinstance(cls, ClassValue) else None
    definition = item.definition if isinstance(item, ClassObject) else None
    return (definition.module, definition.qualname, definition.parsed.first_line) if definition is not None else None


_TYPE = KnownClass("builtins.type")


@models("builtins.type", "abc.ABCMeta")
def type_(arguments: Arguments, machine: Machine) -> Value:
    if len(arguments.positional) == 1:
        value = arguments.positional[0]
        if machine.guesses.doubts(value):
            return machine.unknown("its class is not known")
        found = machine.class_of(value)
        why = next((base for base in machine.mro(value) if isinstance(base, Unknown)), None) if found == _TYPE else None
        return found if why is None else machine.unknown("what metaclass a base has is not known", why)
    if len(arguments.positional) != 3:
        raise machine.raises("TypeError", "type() takes 1 or 3 arguments")
    name, bases, namespace = arguments.positional
    entries = machine.state.find(namespace, DictObject)
    if not isinstance(name, Constant) or not isinstance(bases, TupleValue) or entries is None:
        return machine.unknown("a class made at run time", name, bases)
    given = {key.value: value for key, value in entries.entries.items() if isinstance(key, Constant)}
    module = machine.frames[-1].module if machine.frames else ""
    cls = machine.make_class(f"{module}.{name.value}", bases.items, None, None, given)
    for key, value in given.items():
        naming_hooks.tell_name(machine, cls, key, value)
    return functions.finished(machine, cls, arguments.keywords)


@models("builtins.vars")
def vars_(arguments: Arguments, machine: Machine) -> Value:
    if not arguments.positional:
        return locals_(arguments, machine)
    found = attributes.asked(machine, arguments.positional[0], "__dict__")
    if found is None:
        raise machine.raises("TypeError", "vars() argument must have __dict__ attribute")
    return found


@models("builtins.locals")
def locals_(arguments: Arguments, machine: Machine) -> Value:
    frame = machine.frames[-1]
    if frame.is_of_module:
        return globals_(arguments, machine)
    environment = machine.state.read(frame.environment)
    assert isinstance(environment, EnvironmentObject)
    return machine.allocate(DictObject({Constant(name): value for name, value in several.shown(environment).items()}))


@models("builtins.globals")
def globals_(arguments: Arguments, machine: Machine) -> Value:
    """The names of the module that have been asked for, and those its index has."""
    module = machine.frames[-1].module
    source = machine.finder.source(module)
    entries: dict[Value, Value] = {}
    complete = source is not None and not source.index.star_imports
    frame = machine.frames[-1]
    before = frame.parsed.first_line if frame.function is None else None
    is_whole = module in machine.modules.whole
    before = None if is_whole else before
    for name in source.index.names if source is not None else ():
        if before is not None and source is not None and source.index.statements[name][0].first_line >= before:
            continue
        if is_whole or name in machine.modules.namespaces.get(module, {}) or _cheap(machine, module, name):
            value = names.global_name(machine, module, name)
            if value is not None:
                entries[Constant(name)] = value
        else:
            complete = False
    for bound in (machine.base.globals, machine.state.globals):
        entries.update({Constant(name): value for (owner, name), value in bound.items() if owner == module})
    entries = {name: left for name, value in entries.items() if (left := remaining(value)) is not None}
    shown = DictObject(entries, None if complete else machine.unknown("globals() may hold more"))
    shown.attributes[VIEW_OF] = ModuleReference(module)
    return machine.allocate(shown)


def _cheap(machine: Machine, module: str, name: str) -> bool:
    """A definition or import: its value follows without running the module's code."""
    source = machine.finder.source(module)
    statements = source.index.statements.get(name, []) if source is not None else []
    running = any(key[0] == module for key in machine.modules.running)
    kinds = ("class", "function", "import") if running else ("class", "function", "import", "assign")
    return all(statement.kind in kinds for statement in statements)


@models("builtins.dir")
def dir_(arguments: Arguments, machine: Machine) -> Value:
    of = arguments.get(0, "object", NONE)
    if not arguments.positional and machine.frames[-1].is_of_module:
        of = ModuleReference(machine.frames[-1].module)
    if isinstance(of, ModuleReference):
        return namespaces.directory(machine, of.name)
    names = class_listing.names_of(machine, of) if isinstance(of, ClassValue) else None
    if names is not None:
        return machine.allocate(ListObject(list(map(Constant, names))))
    return machine.unknown("dir() is not modelled", of)


_FIRST_ADDRESS = 0x7F00_0000_0000
_OBJECT_SIZE = 16
_MAX_EQUAL = 4
"""Objects of one value that are told apart."""


@models("builtins.id")
def id_(arguments: Arguments, machine: Machine) -> Value:
    """A number for each object. Of values that are equal, Python may have made one object or several."""
    value = arguments.get(0, "obj", NONE)
    if isinstance(value, Address):
        return _lies(machine, value)
    if isinstance(value, Choice):  # of values, one may be equal to another one that is asked for by itself
        return machine.unknown("id() is not known", value)
    if isinstance(value, BoundMethod):  # it is made anew each time, and may lie where another one lay
        return machine.unknown("where a method lies is not known", value)
    is_held = stays(machine, value) or still_held.are_held(machine, (), [value])
    known = machine.base.identities.setdefault(value, []) if is_held else None
    if known is None or len(known) > _MAX_EQUAL:
        return machine.unknown("id() is not known", value)
    answers = [identical(machine, other, value) for other, _ in known]
    if True in answers:
        return _identity(known[answers.index(True)][1])
    own = machine.allocate(InstanceObject(OBJECT)).index
    known.append((value, own))
    others = [number for (_, number), answer in zip(known, answers, strict=False) if answer is None]
    return machine.choice(map(_identity, [*others, own]), "whether equal values are one object is not known")


_ANOTHER = "whether an object lies where another one lay is not known"


def _lies(machine: Machine, value: Address) -> Value:
    """Where an object lies to which names lead: another place for each; where one without a name, as in `id([])`, as
    long as names lead to all others. One that loses its names afterwards is taken to keep its place."""
    placed = machine.base.placed
    if value.index not in placed:
        others = [index for index, known in placed.items() if known and havoc.is_there(machine, index)]
        placed[value.index] = still_held.are_held(machine, [value.index]) or still_held.are_held(machine, others)
    return _identity(value.index) if placed[value.index] else machine.unknown(_ANOTHER)


def _identity(index: int) -> Constant:
    """As large as an address."""
    return Constant(Identity(_FIRST_ADDRESS + _OBJECT_SIZE * index))


@models("builtins.hash")
def hash_(arguments: Arguments, machine: Machine) -> Value:
    value = arguments.get(0, "obj", NONE)
    own = hashing.method_of(machine, value)
    if own is None:
        hashing.require(machine, value)
        hashing.asked(machine, value)
    else:
        value = machine.call(own, (value,))
    if isinstance(value, Constant) and isinstance(value.value, int) and type(value.value) is not Identity:
        number = as_size(value.value)
        # Of a whole number that is not below zero, and no size is so large as to be another, it is that.
        return value if number is not None and number >= 0 else Constant(hash(value.value))
    return machine.unknown("hash() differs from run to run", value)


@models("builtins.iter")
def iter_(arguments: Arguments, machine: Machine) -> Value:
    value = arguments.get(0, "iterable", NONE)
    if len(arguments.positional) > 1:
        why = machine.unknown("iter() with a sentinel is not modelled")
        machine.expose([value], why)  # it is called as often as something is taken
        return why
    return producing.iterator_of(machine, value)


@models("builtins.next", "builtins.generator.__next__")
def next_(arguments: Arguments, machine: Machine) -> Value:
    value = arguments.positional[0]
    iterator = machine.state.find(value, IteratorObject)
    if iterator is None:
        method = None if isinstance(value, (Unknown, Choice)) else machine.find_attribute(value, "__next__")
        if method is None:
            return machine.unknown("what comes next is not known", value)
        return machine.call(method)
    assert isinstance(value, Address)
    found = producing.take(machine, value)
    if found is not None:
        return found
    why = producing.ended(machine, value)
    if why is not None:
        if len(arguments.positional) == 1:
            machine.may_fail("StopIteration")
            return why
        return points_to.either_of(why, arguments.positional[1:])
    if len(arguments.positional) > 1:
        return arguments.positional[1]
    raise producing.stopped(machine, value)


@models("builtins.generator.__iter__")
def generator_iter(arguments: Arguments, machine: Machine) -> Value:
    return arguments.positional[0]


@models("builtins.object.__new__")
def object_new(arguments: Arguments, machine: Machine) -> Value:
    cls = arguments.positional[0]
    if not isinstance(cls, (ClassValue, KnownClass)):
        return machine.unknown("which class is instantiated is not known", cls)
    if isinstance(cls, ClassValue):
        _require_no_more(machine, cls, arguments)
        abstract_methods.require_none(machine, cls)
    return calls.allocate_instance(machine, cls, Arguments("object.__new__", (), {}, arguments.where))


def _require_no_more(machine: Machine, cls: ClassValue, arguments: Arguments) -> None:
    """Raises:
    Raised: TypeError, where `object.__new__` is given what is for `__init__`, and the class has a `__new__` of its own.
    """
    maker, init = (machine.class_attribute(cls, name) for name in ("__new__", "__init__"))
    if len(arguments.positional) + len(arguments.keywords) > 1 and (isinstance(maker, StaticMethod) or init is None):
        raise machine.raises("TypeError", "object.__new__() takes exactly one argument (the type to instantiate)")


@models("builtins.object.__getattribute__")
def object_getattribute(arguments: Arguments, machine: Machine) -> Value:
    value, given = arguments.positional
    name = _name(machine, given)
    if isinstance(name, Unknown):
        return name
    found = attributes.raw(machine, value, name) if isinstance(value, Address) else None
    if found is not None:
        return found
    owner = classes.short_name(machine.class_of(value))
    raise machine.raises("AttributeError", f"'{owner}' object has no attribute '{name}'")


@models("builtins.object.__delattr__")
def object_delattr(arguments: Arguments, machine: Machine) -> Value:
    value, given = arguments.positional
    name = _name(machine, given)
    if isinstance(name, Unknown):
        weak_updates.delete_name(machine, value, partial_texts.named(name, given))
    elif isinstance(value, Address):
        attribute_changes.own_delete(machine, value, name)
    return NONE


def _is_compared_by_identity(cls: Value) -> bool:
    """A class in whose place no other than `object` says what is equal to an instance."""
    known = isinstance(cls, KnownClass) and (cls == classes.OBJECT or cls.name.startswith("enum."))
    return known or isinstance(cls, ClassValue)


@models("builtins.object.__eq__")
def object_eq(arguments: Arguments, machine: Machine) -> Value:
    left, right = arguments.positional
    cls = machine.class_of(left)
    given = machine.class_attribute(cls, data_classes.MARK) if isinstance(cls, ClassValue) else None
    if given is not None or not all(map(_is_compared_by_identity, machine.mro(cls))):
        return machine.unknown("how it is compared is not modelled", left)
    same = machine.compare("is", left, right)
    return NOT_IMPLEMENTED if same == FALSE else same


@models(*(f"{each}.__getitem__" for each in ("builtins.list", "builtins.dict", "builtins.tuple", "torch.Size")))
def container_getitem(arguments: Arguments, machine: Machine) -> Value:
    return items.own_item(machine, *arguments.positional)


@models("builtins.list.__setitem__", "builtins.dict.__setitem__")
def container_setitem(arguments: Arguments, machine: Machine) -> Value:
    items.own_assign(machine, *arguments.positional)
    return NONE


@models("builtins.list.__delitem__", "builtins.dict.__delitem__")
def container_delitem(arguments: Arguments, machine: Machine) -> Value:
    items.own_delete(machine, *arguments.positional)
    return NONE


@models("builtins.list.__iter__", "builtins.dict.__iter__", "builtins.set.__iter__")
def container_iter(arguments: Arguments, machine: Machine) -> Value:
    return producing.iterator_over(machine, cast(Address, arguments.positional[0]))


@models("builtins.__import__", "importlib.import_module")
def import_module(arguments: Arguments, machine: Machine) -> Value:
    name = _name(machine, arguments.get(0, "name", NONE))
    if isinstance(name, Unknown):
        return name
    package = arguments.get(1, "package", NONE)
    if name.startswith("."):
        if not isinstance(package, Constant) or not isinstance(package.value, str):
            return machine.unknown("which package it is relative to is not known", package)
        level = len(name) - len(name.lstrip("."))
        parts = package.value.split(".")
        name = ".".join([*parts[: len(parts) - level + 1], name.lstrip(".")])
    machine.note_import(name)
    imports.execute(machine, machine.frames[-1], name)
    top = arguments.function == "__import__"
    return names.import_name(machine, name, None, name.partition(".")[0] if top else "")


@models("importlib.reload")
def reload_module(arguments: Arguments, machine: Machine) -> Value:
    module = arguments.positional[0]
    if isinstance(module, ModuleReference):
        whole_modules.reload(machine, module.name)
        return module
    return machine.unknown("which module is executed once more is not known", module)


@models("types.FunctionType", "types.LambdaType")
def function_type(arguments: Arguments, machine: Machine) -> Value:
    """A function made from another's code stands for that function."""
    code = arguments.get(0, "code", NONE)
    return code if isinstance(code, FunctionValue) else machine.unknown("a function made at run time", code)
