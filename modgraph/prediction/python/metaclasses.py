"""Metaclasses written in source: their `__new__` and `__init__` when a class is made, `__call__` when it is called."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from modgraph.prediction.domain.calling import ENDS, Arguments, Raised
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ClassObject, DictObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import (
    FALSE,
    NONE,
    TRUE,
    Address,
    ClassMethod,
    ClassValue,
    Constant,
    FunctionValue,
    KnownClass,
    StaticMethod,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.python import classes, naming_hooks, standard_names

ABSTRACT = KnownClass("abc.ABCMeta")


def metaclass_of(machine: Machine, cls: Value) -> ClassValue | KnownClass | None:
    """The metaclass of a class: its own, or the first that one of its bases has; None for `type`."""
    if isinstance(cls, KnownClass):
        return _of_python(cls.name)
    return machine.state.class_at(cls.address).metaclass if isinstance(cls, ClassValue) else None


@cache
def _of_python(name: str) -> KnownClass | None:
    real = standard_names.standard_object(name)
    if name == "typing.Protocol":
        return KnownClass("typing._ProtocolMeta")
    if real is None or not real.is_class:
        return None
    return KnownClass("enum.EnumMeta") if real.is_enum else ABSTRACT if real.is_abstract else None


def inherited(machine: Machine, bases: tuple[Value, ...]) -> ClassValue | KnownClass | None:
    """The metaclass that the bases give: the most derived of theirs.

    Raises:
        Raised: TypeError, where none is.
    """
    found: ClassValue | KnownClass | None = None
    for base in bases:
        found = more_derived(machine, metaclass_of(machine, base), found)
    return found


def more_derived(
    machine: Machine, meta: ClassValue | KnownClass | None, found: ClassValue | KnownClass | None
) -> ClassValue | KnownClass | None:
    """That of two metaclasses which a class has that both are for.

    Raises:
        Raised: TypeError, where neither is derived from the other.
    """
    if meta is None or found is None:
        return meta or found
    if machine.is_subclass(meta, found):
        return meta
    both_known = isinstance(meta, ClassValue) and isinstance(found, ClassValue)
    if both_known and machine.is_subclass(meta, found) is machine.is_subclass(found, meta) is False:
        raise machine.raises("TypeError", "metaclass conflict: none is derived from the metaclasses of all bases")
    return found


def apply(machine: Machine, cls: ClassValue, keywords: Mapping[str, Value]) -> Value:
    """What the metaclass makes of a class whose header and body were read."""
    meta = metaclass_of(machine, cls)
    if meta is None or not (_own(machine, meta, "__new__") or _own(machine, meta, "__init__")):
        return cls
    item = machine.state.read(cls.address)
    assert isinstance(item, ClassObject)
    namespace = _namespace(machine, cls)
    given = (Constant(classes.short_name(cls)), TupleValue(item.bases), namespace)
    machine.making.append(cls)
    before = machine.state
    machine.state = before.fork()
    try:
        made: Value = cls
        maker = _own(machine, meta, "__new__")
        if maker is not None:
            function = maker.function if isinstance(maker, StaticMethod) else maker
            made = machine.call(function, (meta, *given), keywords)
        starter = _own(machine, meta, "__init__")
        if starter is not None and isinstance(made, ClassValue):
            machine.call(starter, (made, *given), keywords)
        if isinstance(made, Unknown):
            machine.unfollowed += 1
            return cls
        return made
    except Raised as raised:
        if machine.data_of is not None and raised.name in ENDS:
            raise
        machine.state = before
        machine.unfollowed += 1
        machine.problem(f"the metaclass of {cls.name} raises {raised}")
        return cls
    finally:
        machine.making.pop()


def _own(machine: Machine, meta: Value, name: str) -> Value | None:
    """A method of the metaclass that has source."""
    found = machine.class_attribute(meta, name)
    inner = found.function if isinstance(found, (StaticMethod, ClassMethod)) else found
    return found if isinstance(inner, FunctionValue) else None


def _namespace(machine: Machine, cls: ClassValue) -> Address:
    """The body of a class as a dict, every name of it read."""
    item = machine.state.read(cls.address)
    assert isinstance(item, ClassObject)
    statements = item.definition.statements if item.definition is not None else {}
    entries: dict[Value, Value] = {
        Constant("__module__"): Constant(cls.name.rpartition(".")[0]),
        Constant("__qualname__"): Constant(classes.short_name(cls)),
    }
    for name in dict.fromkeys([*statements, *item.namespace]):
        value = classes.own_attribute(machine, cls, name)
        if value is not None:
            entries[Constant(name)] = value
    return machine.allocate(DictObject(entries))


@models("builtins.type.__new__")
def type_new(arguments: Arguments, machine: Machine) -> Value:
    """The class that is being made, with what the metaclass has changed in its namespace; else a new one."""
    meta, name, bases, namespace = (*arguments.positional, NONE, NONE, NONE)[:4]
    mapping = machine.state.find(namespace, DictObject)
    if mapping is None or not isinstance(name, Constant) or not isinstance(bases, TupleValue):
        return machine.unknown("a class made at run time", name, bases)
    entries = {key.value: value for key, value in mapping.entries.items() if isinstance(key, Constant)}
    cls = machine.making[-1] if machine.making else None
    item = machine.state.find(cls.address, ClassObject) if cls is not None else None
    if cls is None or item is None or classes.short_name(cls) != name.value or item.bases != bases.items:
        module = machine.frames[-1].module if machine.frames else ""
        made = machine.make_class(f"{module}.{name.value}", bases.items, None, None, entries)
        if isinstance(meta, ClassValue):
            made_by = more_derived(machine, meta, metaclass_of(machine, made))
            machine.state.change(made.address, ClassObject).metaclass = made_by
        for key, value in entries.items():
            naming_hooks.tell_name(machine, made, key, value)
        return made
    changed = {key: value for key, value in entries.items() if classes.own_attribute(machine, cls, key) != value}
    changed = {key: value for key, value in changed.items() if key not in ("__module__", "__qualname__")}
    if changed:
        machine.state.change(cls.address, ClassObject).namespace.update(changed)
    return cls


@models("builtins.type.__instancecheck__", "builtins.type.__subclasscheck__")
def checked(arguments: Arguments, machine: Machine) -> Value:
    """Python's own rule, which a metaclass falls back to."""
    of, asked = arguments.positional[:2]
    cls = machine.class_of(asked) if arguments.function.endswith("__instancecheck__") else asked
    verdict = None
    if isinstance(cls, (ClassValue, KnownClass)) and isinstance(of, (ClassValue, KnownClass)):
        verdict = classes.is_derived(machine, cls, of)
    return machine.unknown("its class is not known", asked) if verdict is None else TRUE if verdict else FALSE


@models("builtins.type.__init__")
def type_init(arguments: Arguments, machine: Machine) -> Value:
    return NONE


@models("builtins.type.__call__")
def type_call(arguments: Arguments, machine: Machine) -> Value:
    """The instance as it is made without the metaclass."""
    cls, *rest = arguments.positional
    given = Arguments("", tuple(rest), arguments.keywords, arguments.where, arguments.open)
    if isinstance(cls, ClassValue):
        return machine.make_instance(cls, given)
    return machine.invoke(cls, given)


def call_override(machine: Machine, cls: ClassValue) -> Value | None:
    """`__call__` of the metaclass, where that is written in source."""
    meta = metaclass_of(machine, cls)
    return _own(machine, meta, "__call__") if meta is not None else None


_PLAIN_DICTS = (KnownClass("builtins.dict"), KnownClass("collections.OrderedDict"))


def _is_prepared_empty(machine: Machine, cls: ClassValue, meta: ClassValue, prepare: Value) -> bool:
    """What `__prepare__` gives is certainly a new dict with nothing in it: it is called again, and the outcome
    forgotten."""
    before, since = machine.state, machine.base.next_index
    machine.state = before.fork()
    try:
        made = machine.call(_function_of(prepare), _given(machine, cls, meta, prepare))
        held = machine.state.find(made, DictObject)
    except Raised:
        return False
    finally:
        machine.state = before
    if held is None or not isinstance(made, Address) or made.index < since:
        return False
    return not held.entries and held.open is None and held.cls in _PLAIN_DICTS


def prepare(machine: Machine, cls: ClassValue) -> None:
    """Puts what `__prepare__` of the metaclass gives into the namespace of a class whose body is not executed yet."""
    meta = metaclass_of(machine, cls)
    found = _own(machine, meta, "__prepare__") if isinstance(meta, ClassValue) else None
    if found is None or meta is None:
        return
    made = machine.call(_function_of(found), _given(machine, cls, meta, found))
    held = machine.state.find(made, DictObject)
    if held is not None and held.cls in _PLAIN_DICTS:
        entries = {each.value: value for each, value in held.entries.items() if isinstance(each, Constant)}
        namespace = machine.state.change(cls.address, ClassObject).namespace
        namespace.update({name: value for name, value in entries.items() if isinstance(name, str)})


def _function_of(prepare: Value) -> Value:
    return prepare.function if isinstance(prepare, (ClassMethod, StaticMethod)) else prepare


def _given(machine: Machine, cls: ClassValue, meta: Value, prepare: Value) -> tuple[Value, ...]:
    item = machine.state.read(cls.address)
    assert isinstance(item, ClassObject)
    given: tuple[Value, ...] = (Constant(classes.short_name(cls)), TupleValue(item.bases))
    return (meta, *given) if isinstance(prepare, ClassMethod) else given


@models("builtins.type.__prepare__")
def type_prepare(arguments: Arguments, machine: Machine) -> Value:
    return machine.allocate(DictObject())


def attribute(machine: Machine, cls: ClassValue, name: str) -> Value | None:
    """What the metaclass gives under a name that the class does not have."""
    meta = metaclass_of(machine, cls)
    found = machine.class_attribute(meta, name) if meta is not None else None
    if found is not None:
        return machine.bound(found, cls, meta or classes.TYPE)
    if not isinstance(meta, ClassValue) or (name.startswith("__") and name.endswith("__")):
        return None
    fallback = _own(machine, meta, "__getattr__")
    if fallback is not None:
        return machine.call(fallback, (cls, Constant(name)))
    prepare = _own(machine, meta, "__prepare__")
    if prepare is not None and not _is_prepared_empty(machine, cls, meta, prepare):
        return machine.unknown(f"what the namespace that __prepare__ of {meta.name} gives holds is not known")
    return None
