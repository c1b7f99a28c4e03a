"""Dataclasses, named tuples and Enum look-up by value: classes whose constructors no source shows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.limits import UNSURE_OPTION
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ClassObject, DictObject, InstanceObject, ListObject
from modgraph.prediction.domain.registry import constant, known_class, models
from modgraph.prediction.domain.values import (
    FALSE,
    NONE,
    TRUE,
    Address,
    Choice,
    ClassMethod,
    ClassValue,
    Constant,
    EnumMember,
    FunctionValue,
    GeneratedMethod,
    KnownClass,
    KnownFunction,
    PartialValue,
    PropertyValue,
    StaticMethod,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.python import annotated, class_annotations, classes, enumerations, named_tuples, slots
from modgraph.prediction.python.counted import count

MARK = "__dataclass_fields__"
OPTIONS = "<dataclass options>"
"""In the namespace of a dataclass: the keywords of its decorator."""
_FIELD = "dataclasses.Field"

known_class(_FIELD)
known_class("dataclasses._MISSING_TYPE")
known_class("dataclasses.FrozenInstanceError", "builtins.AttributeError")
_MISSING = KnownClass("dataclasses._MISSING_TYPE")
constant("dataclasses.MISSING", _MISSING)
known_class("enum.auto")
known_class("typing.NamedTuple", "builtins.tuple")


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a dataclass."""

    name: str
    default: Value | None
    factory: Value | None
    init: bool
    keyword_only: bool
    init_var: bool
    owner: ClassValue
    """The class that defines it."""
    unsure: Unknown | Choice | None = None
    """An option of it that is not known."""
    compared: bool = True
    metadata: Value | None = None


@models("dataclasses.dataclass")
def decorate(arguments: Arguments, machine: Machine) -> Value:
    """@dataclass and @dataclass(...)."""
    cls = arguments.get(0, "cls", NONE)
    if not isinstance(cls, ClassValue):
        return PartialValue(KnownFunction("dataclasses.dataclass"), (), tuple(arguments.keywords.items()))
    unsure = next((each for each in arguments.keywords.values() if isinstance(each, (Unknown, Choice))), None)
    if unsure is not None or arguments.open is not None:
        return Unknown(UNSURE_OPTION, machine.where)
    item = machine.state.change(cls.address, ClassObject)
    options: dict[Value, Value] = {Constant(key): value for key, value in arguments.keywords.items()}
    namespace = item.namespace
    namespace[OPTIONS] = machine.allocate(DictObject(options))
    namespace[MARK] = PropertyValue(KnownFunction("dataclasses._fields_by_name"))
    defined = item.definition.statements if item.definition is not None else {}
    wants_init = arguments.keywords.get("init", TRUE) != FALSE
    if wants_init and "__init__" not in namespace and "__init__" not in defined:
        item = machine.state.change(cls.address, ClassObject)
        item.namespace["__init__"] = GeneratedMethod(cls, "__init__")
    if arguments.keywords.get("frozen", FALSE) == TRUE:
        item = machine.state.change(cls.address, ClassObject)
        item.namespace.update({name: GeneratedMethod(cls, name) for name in ("__setattr__", "__delattr__")})
    if arguments.keywords.get("slots", FALSE) == TRUE:
        names = _slots(machine, cls)
        machine.state.change(cls.address, ClassObject).namespace["__slots__"] = TupleValue(tuple(map(Constant, names)))
    return cls


def _slots(machine: Machine, cls: ClassValue) -> list[str]:
    """The fields, those of bases included, for which no base has a slot."""
    names: dict[str, None] = {}
    for base in reversed(machine.mro(cls)):
        item = machine.state.find(base.address, ClassObject) if isinstance(base, ClassValue) else None
        if item is not None and MARK in item.namespace:
            texts = annotated.annotated_texts(machine, item)
            names.update(dict.fromkeys(text for text, annotation in texts if _is_field(annotation)))
    there = slots.of_lineage(machine, cls)
    return [name for name in names if name not in there]


def _is_field(annotation: str) -> bool:
    return not any(each in annotation for each in ("ClassVar", "InitVar")) and last_name(annotation) != "KW_ONLY"


@models("dataclasses.field")
def field(arguments: Arguments, machine: Machine) -> Value:
    given = {"default": _MISSING, "default_factory": _MISSING, **arguments.keywords}
    return machine.allocate(InstanceObject(KnownClass(_FIELD), given))


@models("dataclasses.is_dataclass")
def is_dataclass(arguments: Arguments, machine: Machine) -> Value:
    value = arguments.get(0, "obj", NONE)
    if isinstance(value, (Unknown, Choice)):
        return machine.unknown("its class is not known", value)
    cls = value if isinstance(value, ClassValue) else machine.class_of(value)
    found = machine.class_attribute(cls, MARK) if isinstance(cls, ClassValue) else None
    if isinstance(found, (Unknown, Choice)):
        return machine.unknown("whether a class is a data class is not known", found)
    return Constant(found is not None)


@models("dataclasses.fields")
def fields_of(arguments: Arguments, machine: Machine) -> Value:
    value = arguments.get(0, "class_or_instance", NONE)
    cls = value if isinstance(value, ClassValue) else machine.class_of(value)
    if not isinstance(cls, ClassValue):
        return machine.unknown("the fields are not known", value)
    if (why := unsure_base(machine, cls)) is not None:
        return machine.unknown("the fields are not known", why)
    if machine.class_attribute(cls, MARK) is None:
        raise machine.raises("TypeError", "must be called with a dataclass type or instance")
    found: list[Value] = []
    for each in dataclass_fields(machine, cls):
        if each.init_var:
            continue
        attributes: dict[str, Value] = {
            "name": Constant(each.name),
            "default": each.default or _MISSING,
            "default_factory": each.factory or _MISSING,
            "init": each.unsure or Constant(each.init),
            "kw_only": each.unsure or Constant(each.keyword_only),
            "type": _type_of(machine, each),
            "metadata": machine.allocate(DictObject()) if each.metadata in (None, NONE) else each.metadata,
        }
        found.append(machine.allocate(InstanceObject(KnownClass(_FIELD), attributes)))
    return TupleValue(tuple(found))


def _type_of(machine: Machine, field: Field) -> Value:
    """What stands behind the colon of a field."""
    item = machine.state.read(field.owner.address)
    assert isinstance(item, ClassObject)
    found = class_annotations.evaluated(machine, field.owner, item, field.name)
    return found or machine.unknown("an annotation is not evaluated")


@models("dataclasses._fields_by_name")
def fields_by_name(arguments: Arguments, machine: Machine) -> Value:
    """`__dataclass_fields__`: unlike `fields`, with those that are no fields of an instance."""
    cls = arguments.get(0, "obj", NONE)
    cls = cls if isinstance(cls, ClassValue) else machine.class_of(cls)
    assert isinstance(cls, ClassValue)
    known = fields_of(Arguments("fields", (cls,)), machine)
    if not isinstance(known, TupleValue):
        return known
    by_name: dict[str, Value] = {}
    for each in known.items:
        item = machine.state.find(each, InstanceObject)
        name = item.attributes["name"] if item is not None else NONE
        if isinstance(name, Constant):
            by_name[name.value] = each
    entries: dict[Value, Value] = {}
    for base in reversed(machine.mro(cls)):
        found = machine.state.find(base.address, ClassObject) if isinstance(base, ClassValue) else None
        if found is not None and MARK in found.namespace:
            for text, annotation in annotated.annotated_texts(machine, found):
                if last_name(annotation) != "KW_ONLY":
                    field = by_name.get(text) or machine.unknown("a field that instances do not have")
                    entries[Constant(text)] = field
    return machine.allocate(DictObject(entries))


@models("dataclasses.asdict")
def asdict(arguments: Arguments, machine: Machine) -> Value:
    value = arguments.get(0, "obj", NONE)
    cls = machine.class_of(value)
    if _is_no_dataclass(machine, cls):
        raise machine.raises("TypeError", "asdict() should be called on dataclass instances")
    if "dict_factory" in arguments.keywords or len(arguments.positional) > 1:
        return machine.unknown("asdict with a factory is not modelled", value)
    return _asdict(machine, value)


def _is_no_dataclass(machine: Machine, cls: Value) -> bool:
    """Certainly none is among its bases, nor is it one."""
    if not isinstance(cls, (ClassValue, KnownClass)) or any(isinstance(each, Unknown) for each in machine.mro(cls)):
        return False
    return machine.class_attribute(cls, MARK) is None


def _asdict(machine: Machine, value: Value) -> Value:
    cls = machine.class_of(value)
    instance = machine.state.find(value, InstanceObject)
    if isinstance(cls, ClassValue) and (why := unsure_base(machine, cls)) is not None:
        return machine.unknown("the fields are not known", why)
    if instance is not None and isinstance(cls, ClassValue) and machine.class_attribute(cls, MARK) is not None:
        entries: dict[Value, Value] = {
            Constant(each.name): _asdict(machine, machine.get_attribute(value, each.name))
            for each in dataclass_fields(machine, cls)
            if not each.init_var
        }
        return machine.allocate(DictObject(entries, instance.open))
    items = machine.state.find(value, ListObject)
    if items is not None:
        count(machine, len(items.items))
        return machine.allocate(ListObject([_asdict(machine, item) for item in items.items], items.open))
    mapping = machine.state.find(value, DictObject)
    if mapping is not None:
        copied = {key: _asdict(machine, item) for key, item in mapping.entries.items()}
        return machine.allocate(DictObject(copied, mapping.open))
    return value


_REFUSED = "TypeError" if sys.version_info >= (3, 13) else "ValueError"


@models("dataclasses.replace")
def replace(arguments: Arguments, machine: Machine) -> Value:
    value = arguments.get(0, "obj", NONE)
    instance = machine.state.find(value, InstanceObject)
    cls = machine.class_of(value)
    if _is_no_dataclass(machine, cls):
        raise machine.raises("TypeError", "replace() should be called on dataclass instances")
    if instance is None or not isinstance(cls, ClassValue) or unsure_base(machine, cls) is not None:
        return machine.unknown("the dataclass is not known", value)
    if arguments.open is not None:
        machine.may_refuse("TypeError")
        return machine.unknown("which fields are replaced is not known", arguments.open)
    keywords: dict[str, Value] = {}
    for each in dataclass_fields(machine, cls):
        given = each.name in arguments.keywords
        if given and not each.init:
            raise machine.raises(_REFUSED, f"field {each.name} is declared with init=False, it cannot be replaced")
        if each.init_var and not given and each.default is None:
            raise machine.raises(_REFUSED, f"InitVar '{each.name}' must be specified with replace()")
        if each.init and not each.init_var and not given:
            keywords[each.name] = machine.get_attribute(value, each.name)
    return machine.call(cls, (), {**keywords, **arguments.keywords}, arguments.where)


@models("enum.auto")
def auto(arguments: Arguments, machine: Machine) -> Value:
    return machine.allocate(InstanceObject(KnownClass("enum.auto")))


# ---- dataclasses -----------------------------------------------------------------------------------------------------


def unsure_base(machine: Machine, cls: ClassValue) -> Unknown | None:
    """Why the fields of a dataclass are not known: a base of it, or whether that is a dataclass, is not."""
    for base in machine.mro(cls):
        if isinstance(base, Unknown):
            return base
        item = machine.state.find(base.address, ClassObject) if isinstance(base, ClassValue) else None
        mark = item.namespace.get(MARK) if item is not None else None
        if isinstance(mark, (Unknown, Choice)):
            return machine.unknown("whether a class is a data class is not known", mark)
    return None


def compared_names(machine: Machine, cls: Value) -> list[str] | Unknown | None:
    """The fields that `==` of instances of that class looks at; None where no dataclass says how they compare."""
    for base in machine.mro(cls):
        if isinstance(base, Unknown):
            return base
        item = machine.state.find(base.address, ClassObject) if isinstance(base, ClassValue) else None
        if item is None or not isinstance(base, ClassValue) or MARK not in item.namespace:
            continue
        options = machine.state.find(item.namespace.get(OPTIONS), DictObject)
        if options is None or unsure_base(machine, base) is not None:
            return machine.unknown("whether a class is a data class is not known")
        if options.entries.get(Constant("eq"), TRUE) == TRUE:
            fields = [each for each in dataclass_fields(machine, base) if not each.init_var]
            unsure = next((each.unsure for each in fields if each.unsure is not None), None)
            if unsure is not None:
                return machine.unknown("an option of a field is not known", unsure)
            return [each.name for each in fields if each.compared]
    return None


def dataclass_fields(machine: Machine, cls: ClassValue) -> list[Field]:
    """All fields, those of bases first, each at the place of its first definition."""
    found: dict[str, Field] = {}
    for base in reversed(machine.mro(cls)):
        if isinstance(base, ClassValue):
            item = machine.state.read(base.address)
            assert isinstance(item, ClassObject)
            if MARK in item.namespace:
                for each in _own_fields(machine, base, item):
                    found[each.name] = each
                for name, annotation in annotated.annotated_texts(machine, item):
                    if "ClassVar" in annotation:
                        found.pop(name, None)
    return list(found.values())


def _own_fields(machine: Machine, cls: ClassValue, item: ClassObject) -> Iterator[Field]:
    options = machine.state.find(item.namespace[OPTIONS], DictObject)
    keyword_only = options is not None and options.entries.get(Constant("kw_only")) == TRUE
    for name, annotation in annotated.annotated_texts(machine, item):
        if "ClassVar" in annotation:
            continue
        if last_name(annotation) == "KW_ONLY":
            keyword_only = True
            continue
        value = classes.own_attribute(machine, cls, name) or _inherited(machine, cls, name)
        default, factory, init, only, unsure, compared = value, None, True, keyword_only, None, True
        metadata: Value | None = None
        details = machine.state.find(value, InstanceObject) if value is not None else None
        if details is not None and details.cls == KnownClass(_FIELD):
            default = _given(details.attributes.get("default"))
            factory = _given(details.attributes.get("default_factory"))
            init = details.attributes.get("init", TRUE) != FALSE
            only = details.attributes.get("kw_only", Constant(keyword_only)) == TRUE
            compared = details.attributes.get("compare", TRUE) != FALSE
            metadata = details.attributes.get("metadata")
            given = [details.attributes.get(option) for option in ("init", "kw_only", "compare")]
            unsure = next((each for each in given if isinstance(each, (Unknown, Choice))), None)
        yield Field(name, default, factory, init, only, "InitVar" in annotation, cls, unsure, compared, metadata)


def _inherited(machine: Machine, cls: ClassValue, name: str) -> Value | None:
    """What the class has under the name of a field that it gives no default: that of a base is its default."""
    for base in machine.mro(cls)[1:]:
        if not isinstance(base, ClassValue):
            continue
        item = machine.state.read(base.address)
        assert isinstance(item, ClassObject)
        if slots.is_own(machine, base, name):
            return machine.unknown("the descriptor of a slot as the default of a field is not modelled")
        found = classes.own_attribute(machine, base, name)
        details = machine.state.find(found, InstanceObject) if found is not None else None
        if details is not None and details.cls == KnownClass(_FIELD):
            found = _given(details.attributes.get("default"))
        if found is not None:
            return found
    return None


def seen(machine: Machine, found: Value | None) -> Value | None:
    """What a class has under a name: of a field of a dataclass its default, or nothing."""
    details = machine.state.find(found, InstanceObject) if type(found) is Address else None
    if details is None or details.cls != KnownClass(_FIELD):
        return found
    return _given(details.attributes.get("default"))


def _given(value: Value | None) -> Value | None:
    return None if value == _MISSING else value


def call_generated(machine: Machine, function: GeneratedMethod, arguments: Arguments) -> Value:
    """`__init__` of a dataclass: assigns the fields, then calls `__post_init__`."""
    receiver, *rest = arguments.positional
    keywords = dict(arguments.keywords)
    passed_on: list[Value] = []
    values: list[tuple[Field, Value]] = []
    fields = dataclass_fields(machine, function.cls)
    unsure = next((each.unsure for each in fields if each.unsure is not None), unsure_base(machine, function.cls))
    if unsure is not None:
        machine.may_fail("TypeError")
        machine.expose(
            [receiver, *rest, *keywords.values()], machine.unknown("which fields there are is not known", unsure)
        )
        return NONE
    for each in fields:
        if not each.init:
            value = machine.call(each.factory) if each.factory is not None else each.default
            if value is not None and (each.factory is not None or has_slots(machine, function.cls)):
                values.append((each, value))
            continue
        if rest and not each.keyword_only:
            value = rest.pop(0)
        elif each.name in keywords:
            value = keywords.pop(each.name)
        elif arguments.open is not None:
            value = arguments.open
        elif each.factory is not None:
            value = machine.call(each.factory)
        elif each.default is not None:
            value = each.default
        else:
            raise machine.raises("TypeError", f"__init__() missing a required argument: '{each.name}'")
        values.append((each, value))
    if rest or keywords:
        extra = f"an unexpected keyword argument '{next(iter(keywords))}'" if keywords else "too many arguments"
        raise machine.raises("TypeError", f"{classes.short_name(function.cls)}.__init__() got {extra}")
    for each, value in values:
        if each.init_var:
            passed_on.append(value)
        else:
            _store(machine, receiver, each.name, value)
    after = machine.class_attribute(machine.class_of(receiver), "__post_init__")
    if after is not None:
        machine.call(after, (receiver, *passed_on), {}, arguments.where)
    return NONE


def has_slots(machine: Machine, cls: ClassValue) -> bool:
    """`dataclass(slots=True)` has made it: what the class has of a field is not its default."""
    item = machine.state.read(cls.address)
    assert isinstance(item, ClassObject)
    options = machine.state.find(item.namespace.get(OPTIONS), DictObject)
    return options is not None and options.entries.get(Constant("slots"), FALSE) != FALSE


def _store(machine: Machine, receiver: Value, name: str, value: Value) -> None:
    """Frozen dataclasses set their fields past their own `__setattr__`."""
    instance = machine.state.find(receiver, InstanceObject)
    if instance is not None and isinstance(receiver, Address):
        override = machine.class_attribute(instance.cls, "__setattr__")
        if override is None or isinstance(override, (KnownFunction, GeneratedMethod)):
            machine.set_own_attribute(receiver, name, value)
            return
    machine.set_attribute(receiver, name, value)


# ---- named tuples, Enum ----------------------------------------------------------------------------------------------


def construct(machine: Machine, cls: ClassValue, arguments: Arguments) -> Value | None:
    """The instance of a named tuple class, the member of an Enum class; None for other classes."""
    order = machine.mro(cls)
    fields = named_tuples.fields_of(machine, cls)
    if fields is not None:
        return named_tuples.made(machine, cls, fields, arguments)
    if classes.is_enum(machine, cls):
        if enumerations.names_members(machine, cls, arguments):
            return enumerations.made_of_names(machine, cls, arguments)
        return _member(machine, cls, arguments)
    if any(isinstance(base, KnownClass) and base.name == "builtins.tuple" for base in order):
        return _tuple_subclass(machine, cls, arguments)
    return None


def member_attribute(machine: Machine, member: EnumMember, name: str) -> Value | None:
    """What the `__init__` of an Enum class sets on a member; None where it does not."""
    init = machine.class_attribute(member.cls, "__init__")
    if isinstance(machine.class_attribute(member.cls, "__new__"), StaticMethod):
        return machine.unknown("what the __new__ of an Enum class sets on its members is not known")
    if not isinstance(init, FunctionValue):
        return None
    given = member.value.items if isinstance(member.value, TupleValue) else (member.value,)
    before = machine.state
    machine.state = before.fork()
    try:
        scratch = machine.allocate(
            InstanceObject(member.cls, {"_value_": member.value, "_name_": Constant(member.name)})
        )
        machine.call(init, (scratch, *given))
        item = machine.state.read(scratch)
        found = item.attributes.get(name) if isinstance(item, InstanceObject) else None
        return None if isinstance(found, Address) and before.get(found.index) is None else found
    finally:
        machine.state = before


def _tuple_subclass(machine: Machine, cls: ClassValue, arguments: Arguments) -> Value | None:
    if machine.class_attribute(cls, "__new__") is not None or len(arguments.positional) > 1:
        return machine.unknown("a subclass of tuple with a constructor of its own")
    items = machine.iterate(arguments.positional[0]) if arguments.positional else []
    return items if isinstance(items, Unknown) else TupleValue(tuple(items), cls)


def _member(machine: Machine, cls: ClassValue, arguments: Arguments) -> Value:
    value = arguments.get(0, "value", NONE)
    if len(arguments.positional) + len(arguments.keywords) != 1 and (arguments.positional or arguments.keywords):
        return machine.unknown("an Enum class called with several arguments is not followed", *arguments.positional)
    if not arguments.positional and not arguments.keywords and arguments.open is None:
        raise machine.raises("TypeError", f"{classes.short_name(cls)}() needs a value")
    if isinstance(value, EnumMember) and value.cls == cls:
        return value
    if isinstance(value, (Unknown, Choice)):
        machine.may_fail("ValueError")
        return machine.unknown("which member it is is not known", value)
    for member in (enumerations.named(machine, cls) or {}).values():
        answer = machine.equal(member.value, value)
        if answer is None:
            machine.may_fail("ValueError")
            return machine.unknown("which member it is is not known", member.value)
        if answer:
            return member
    return _missing(machine, cls, value)


def _missing(machine: Machine, cls: ClassValue, value: Value) -> Value:
    """What an Enum class gives for a value that none of its members has."""
    missing = enumerations.own_missing(machine, cls)
    found: Value = NONE
    if missing is not None:
        missing = missing.function if isinstance(missing, (ClassMethod, StaticMethod)) else missing
        found = missing if isinstance(missing, Unknown) else machine.call(missing, (cls, value))
    elif isinstance(value, Constant) and type(value.value) is int and enumerations.is_flag(machine, cls):
        return enumerations.of_bits(machine, cls, value.value)
    if isinstance(found, (Unknown, Choice)) or (isinstance(found, EnumMember) and found.cls == cls):
        return found
    if found == NONE:
        raise machine.raises("ValueError", f"{machine.string(value)} is not a valid {classes.short_name(cls)}")
    raise machine.raises("TypeError", f"_missing_ of {classes.short_name(cls)} gives what is no member")
