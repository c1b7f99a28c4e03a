"""Named tuples: their fields, how they are made, and the methods that they are given."""

from __future__ import annotations

import keyword
import sys
from dataclasses import replace

from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ClassObject, DictObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import (
    FALSE,
    NONE,
    BoundMethod,
    ClassValue,
    Constant,
    FunctionValue,
    KnownClass,
    PropertyValue,
    StaticMethod,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.python import annotated, classes


def made(
    machine: Machine, cls: ClassValue, fields: tuple[tuple[str, Value | None], ...], arguments: Arguments
) -> Value:
    """By the `__new__` of a class derived from the named tuple, where there is one."""
    maker = machine.class_attribute(cls, "__new__")
    maker = maker.function if isinstance(maker, StaticMethod) else maker
    if isinstance(machine.class_attribute(cls, "__init__"), FunctionValue):
        why = machine.unknown("what the __init__ of a class derived from a named tuple does is not followed")
        machine.expose([*arguments.positional, *arguments.keywords.values()], why)
        machine.may_fail()
        return why
    if isinstance(maker, FunctionValue):
        given = (cls, *arguments.positional)
        return machine.invoke(maker, Arguments("__new__", given, arguments.keywords, arguments.where, arguments.open))
    return _tuple_of(machine, cls, fields, arguments)


def fields_of(machine: Machine, cls: Value) -> tuple[tuple[str, Value | None], ...] | None:
    for base in machine.mro(cls):
        item = machine.state.find(base.address, ClassObject) if isinstance(base, ClassValue) else None
        if item is not None and isinstance(base, ClassValue):
            fields = item.fields or _declared(machine, base, item)
            if fields is not None:
                return fields
    return None


def is_field(machine: Machine, cls: ClassValue, name: str) -> bool:
    """What the class has under that name is the descriptor of a field."""
    if _TUPLE not in machine.mro(cls):
        return False
    for base in machine.mro(cls):
        item = machine.state.find(base.address, ClassObject) if isinstance(base, ClassValue) else None
        if item is not None and isinstance(base, ClassValue):
            fields = item.fields or _declared(machine, base, item)
            if fields is not None:
                return any(field == name for field, _ in fields)
            if classes.own_attribute(machine, base, name) is not None:
                return False
    return False


def has_no_further(machine: Machine, cls: ClassValue, name: str) -> bool:
    """Instances take no attribute of that name: they have no `__dict__`, and no descriptor of the class takes it."""
    item = machine.state.find(cls.address, ClassObject)
    if item is None or (item.fields or _declared(machine, cls, item)) is None:
        return False
    return not isinstance(machine.class_attribute(cls, name), PropertyValue)


_INSTANCES = "<instances of classes derived from tuple>"


def keep_attribute(machine: Machine, name: str, new: Value) -> None:
    """An instance of a class derived from `tuple` is given an attribute: of which, is not followed."""
    why = machine.unknown("on which tuple an attribute was set is not followed", new)
    machine.state.globals[(_INSTANCES, name)] = points_to.either_of(replace(why, optional=True), (new,))


def kept_attribute(machine: Machine, name: str) -> Value | None:
    return machine.state.bound((_INSTANCES, name))


_TUPLE = KnownClass("builtins.tuple")


def field_names(machine: Machine, cls: ClassValue) -> Value | None:
    """`_fields` of a named tuple class; None of another class."""
    fields = fields_of(machine, cls)
    return None if fields is None else TupleValue(tuple(Constant(name) for name, _ in fields))


_REFUSED = "TypeError" if sys.version_info >= (3, 13) else "ValueError"
TUPLE_NEW = "collections.namedtuple.__new__"


def set_defaults(machine: Machine, method: BoundMethod, defaults: Value) -> None:
    """`Point.__new__.__defaults__ = (...)`: of the last fields of a named tuple."""
    cls, given = method.receiver, machine.iterate(defaults)
    item = machine.state.find(cls.address, ClassObject) if isinstance(cls, ClassValue) else None
    if not isinstance(cls, ClassValue) or item is None or item.fields is None or isinstance(given, Unknown):
        return
    names = [name for name, _ in item.fields]
    padded = [None] * (len(names) - len(given)) + given
    machine.state.change(cls.address, ClassObject).fields = tuple(zip(names, padded, strict=True))


@models(TUPLE_NEW)
def tuple_new(arguments: Arguments, machine: Machine) -> Value:
    """Past what a class derived from the named tuple has of its own."""
    _, cls, *rest = arguments.positional
    fields = fields_of(machine, cls)
    if not isinstance(cls, ClassValue) or fields is None:
        return machine.unknown("which named tuple is made is not known", cls)
    return _tuple_of(machine, cls, fields, Arguments("", tuple(rest), arguments.keywords))


def _declared(machine: Machine, cls: ClassValue, item: ClassObject) -> tuple[tuple[str, Value | None], ...] | None:
    if not any(isinstance(base, KnownClass) and base.name == "typing.NamedTuple" for base in item.bases):
        return None
    fields = tuple(
        (name, classes.own_attribute(machine, cls, name)) for name, _ in annotated.annotated_texts(machine, item)
    )
    for target in (machine.state.read(cls.address), machine.base.objects.get(cls.address.index)):
        if isinstance(target, ClassObject):
            target.fields = fields
    return fields


def _tuple_of(
    machine: Machine, cls: ClassValue, fields: tuple[tuple[str, Value | None], ...], arguments: Arguments
) -> Value:
    keywords = dict(arguments.keywords)
    values: list[Value] = []
    for place, (name, default) in enumerate(fields):
        if place < len(arguments.positional):
            values.append(arguments.positional[place])
        elif name in keywords:
            values.append(keywords.pop(name))
        elif arguments.open is not None:
            values.append(arguments.open)
        elif default is not None:
            values.append(default)
        else:
            raise machine.raises("TypeError", f"missing a required argument: '{name}'")
    if keywords or len(arguments.positional) > len(fields):
        raise machine.raises("TypeError", f"{classes.short_name(cls)}() got unexpected arguments")
    return TupleValue(tuple(values), cls)


@models("collections.namedtuple", "typing.NamedTuple")
def named_tuple(arguments: Arguments, machine: Machine) -> Value:
    """namedtuple("Point", "x y"), NamedTuple("Point", [("x", int)])."""
    name = arguments.get(0, "typename", NONE)
    given = arguments.get(1, "field_names", NONE)
    if given == NONE:
        return machine.unknown("a named tuple without fields")  # which some Pythons make, and others refuse
    fields = (
        given.value.replace(",", " ").split() if isinstance(given, Constant) and isinstance(given.value, str) else None
    )
    if fields is None:
        items = machine.iterate(given)
        if isinstance(items, Unknown):
            return items
        first = [item.items[0] if isinstance(item, TupleValue) else item for item in items]
        fields = [item.value for item in first if isinstance(item, Constant)]
    if machine.truth(arguments.keywords.get("rename", FALSE)):
        fields = _renamed(fields)
    defaults: list[Value] = []
    if "defaults" in arguments.keywords and arguments.keywords["defaults"] != NONE:
        known = machine.iterate(arguments.keywords["defaults"])
        if isinstance(known, Unknown):
            return known
        defaults = known
    padded: list[Value | None] = [None] * (len(fields) - len(defaults)) + list(defaults)
    title = name.value if isinstance(name, Constant) else "namedtuple"
    cls = machine.make_class(str(title), (KnownClass("builtins.tuple"),))
    machine.state.change(cls.address, ClassObject).fields = tuple(zip(fields, padded, strict=True))
    return cls


def _renamed(fields: list[str]) -> list[str]:
    """Names that cannot be attributes are replaced by their places."""
    found: list[str] = []
    for place, name in enumerate(fields):
        bad = not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_") or name in found
        found.append(f"_{place}" if bad else name)
    return found


@models("collections.namedtuple._asdict")
def named_tuple_asdict(arguments: Arguments, machine: Machine) -> Value:
    value = arguments.positional[0]
    fields = machine.get_attribute(value, "_fields")
    assert isinstance(value, TupleValue)
    assert isinstance(fields, TupleValue)
    return machine.allocate(DictObject(dict(zip(fields.items, value.items, strict=True))))


@models("collections.namedtuple._replace")
def named_tuple_replace(arguments: Arguments, machine: Machine) -> Value:
    value = arguments.positional[0]
    fields = machine.get_attribute(value, "_fields")
    assert isinstance(value, TupleValue)
    assert isinstance(fields, TupleValue)
    names = [field.value for field in fields.items if isinstance(field, Constant)]
    if any(name not in names for name in arguments.keywords):
        raise machine.raises(_REFUSED, f"Got unexpected field names: {list(arguments.keywords)}")
    changed = [
        arguments.keywords.get(field.value, item) if isinstance(field, Constant) else item
        for field, item in zip(fields.items, value.items, strict=True)
    ]
    return TupleValue(tuple(changed), value.cls)
