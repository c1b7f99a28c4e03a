"""value.name, by Python's order of look-up."""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from modgraph.names import last_name
from modgraph.prediction.domain import points_to, registry
from modgraph.prediction.domain.calling import Raised
from modgraph.prediction.domain.file_changes import ON_PATHS
from modgraph.prediction.domain.objects import (
    ClassObject,
    DictObject,
    HeapObject,
    InstanceObject,
    ListObject,
    ModuleObject,
    SetObject,
    TensorObject,
)
from modgraph.prediction.domain.registry import LOADED_MODULES, is_argv
from modgraph.prediction.domain.values import (
    CACHED,
    GIVEN,
    MODULE,
    NONE,
    Address,
    BoundMethod,
    Choice,
    ClassMethod,
    ClassValue,
    Constant,
    EnumMember,
    FunctionValue,
    GeneratedMethod,
    GenericAlias,
    KnownClass,
    KnownFunction,
    ModuleReference,
    PartialValue,
    PropertyValue,
    StaticMethod,
    SuperValue,
    TupleValue,
    Unknown,
    Value,
    is_optional,
)
from modgraph.prediction.paths import partial_texts, possible_tensors, several
from modgraph.prediction.python import (
    callables,
    classes,
    data_classes,
    enumerations,
    exceptions,
    items,
    keys,
    library_stores,
    metaclasses,
    named_tuples,
    patched_classes,
    registration,
    slots,
    standard_attributes,
    standard_names,
)
from modgraph.source import containers

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

ENTRIES = "<entries are attributes>"
"""Among the attributes of a dict whose `__dict__` is the dict itself."""

_ASKED = ("__getattribute__", "__getattr__", "__get__", "__set__", "__delete__")

_COMPILED = ("torch._C", "torch.ops")

WITH_ATTRIBUTES = (InstanceObject, ModuleObject, ListObject, DictObject, SetObject, TensorObject)


def get(machine: Machine, value: Value, name: str) -> Value:
    """value.name.

    Raises:
        Raised: AttributeError.
    """
    parted = _parted(machine, value, name)
    if parted is not None:
        return several.on_paths(machine, parted, lambda: get(machine, value, name))
    found = _find(machine, value, name)
    if found is None:
        found = standard_attributes.given(machine, value, name)
    if type(found) is Unknown and (found.optional or (type(value) is Unknown and not value.inert)):
        machine.may_fail()
    if found is None:
        owner = classes.short_name(classes.class_of(machine, value))
        if isinstance(value, (ClassValue, KnownClass)):
            owner = f"type object '{classes.short_name(value)}'"
        elif isinstance(value, ModuleReference):
            owner = f"module '{value.name}'"
        else:
            if machine.guesses.lacks(value, name):
                return machine.unknown(f"it is not known what {name} is of an input of which nothing is said")
            owner = f"'{owner}' object"
        raise machine.raises("AttributeError", f"{owner} has no attribute '{name}'")
    return found


def asked(machine: Machine, value: Value, name: str) -> Value | None:
    """value.name; None where AttributeError would certainly be raised."""
    found = find(machine, value, name)
    return standard_attributes.given(machine, value, name) if found is None else found


def found(machine: Machine, value: Value, name: str) -> Value | None:
    """The same as `find`; None, too, where code that is asked for it raises AttributeError."""
    try:
        return find(machine, value, name)
    except Raised as raised:
        if raised.name != "builtins.AttributeError":
            raise
        return None


def find(machine: Machine, value: Value, name: str) -> Value | None:
    """value.name as far as it is known; None also where Python's own classes have it and nothing here does."""
    parted = _parted(machine, value, name)
    if parted is not None:
        return several.on_paths(machine, parted, lambda: find(machine, value, name))
    return _find(machine, value, name)


def _find(machine: Machine, value: Value, name: str) -> Value | None:
    if name == "__dict__" and machine.data_of is not None:
        library_stores.note_names_of(machine, value)
    finder = _finders().get(type(value))
    if name == "__get__" and isinstance(value, (FunctionValue, ClassMethod, StaticMethod, PropertyValue)):
        return BoundMethod(KnownFunction(callables.GETTER), value)
    if finder is not None:
        return finder(machine, value, name)
    if isinstance(value, Unknown):
        if value.inert and (kept := _kept_of_inert(machine, name)) is not None:
            return points_to.either_of(value, [kept])
        if value.inert and value.library in STARTED and name not in _OF_STARTED:
            return replace(value, inert=False)
        if is_argv(value) and name in containers.LIST:  # which is there to be called
            machine.set_attribute(ModuleReference("sys"), "argv", machine.unknown("sys.argv is changed"))
        if value is LOADED_MODULES and name == "get":
            return KnownFunction("sys.modules.get")
        if value.text is not None:
            return _of_partial_text(value, name)
        if machine.data_of is not None and name in ON_PATHS and value.library.partition(".")[0] in ("", "pathlib"):
            return replace(value, library=f"pathlib.Path.{name}")
        if value.library.startswith(_COMPILED):
            return _of_compiled(value, name)
        return possible_tensors.opened(machine, value) if value.may_be else value
    if isinstance(value, Choice):
        return machine.distribute(value, lambda each: get(machine, each, name))
    return of_plain(machine, value, name)


STARTED = ("threading.Thread", "threading.Timer", "multiprocessing.Process")
"""Classes whose objects keep what they are given, and give nothing back by their methods."""
_OF_STARTED = frozenset(
    {name for name in dir(threading.Timer) if not name.startswith("_") or name.endswith("__")}
    | {"pid", "exitcode", "sentinel", "authkey", "terminate", "kill", "close"}
)
"""Methods and properties of threads and processes: none gives what the object was made with."""
_OF_INERT = "<not interpreted>"
"""Where a state keeps what was stored as attributes of objects of libraries that are not interpreted."""


def keep_of_inert(machine: Machine, name: str, new: Value) -> None:
    """An object of a library, which of them is not told apart, has been given that attribute."""
    before = _kept_of_inert(machine, name)
    machine.state.globals[(_OF_INERT, name)] = points_to.either_of(
        machine.unknown("which object has it is not known"), [new, *([before] if before is not None else [])]
    )


def _kept_of_inert(machine: Machine, name: str) -> Value | None:
    found = machine.state.globals.get((_OF_INERT, name))
    return machine.base.globals.get((_OF_INERT, name)) if found is None else found


def _of_compiled(value: Unknown, name: str) -> Value:
    """A function of a module of torch that has no source, of which its path says what it is."""
    path = f"{value.library}.{name}"
    known = registry.lookup(path)
    if known is not None:
        return known
    return value if value.library.endswith(GIVEN) else replace(value, library=path, reason=f"{path} is not interpreted")


def _parted(machine: Machine, value: Value, name: str) -> several.Undecided | None:
    """What of the classes of a value, and of a descriptor under the name, is there on some paths only."""
    if not machine.base.parted:
        return None
    return several.undecided(machine, several.concerned(machine, value, name), (name, *_ASKED))


def bind(machine: Machine, found: Value, receiver: Value, cls: Value) -> Value:
    """What a class attribute becomes when it is looked up through an instance."""
    if isinstance(found, (FunctionValue, KnownFunction, GeneratedMethod)):
        if isinstance(found, KnownFunction) and standard_names.binding(found.name) != "instance":
            return _of_standard_class(machine, found, cls)
        return BoundMethod(found, receiver)
    if isinstance(found, StaticMethod):
        return found.function
    if isinstance(found, ClassMethod):
        return BoundMethod(found.function, cls)
    if isinstance(found, PropertyValue):
        return machine.call(found.getter, (receiver,))
    if isinstance(found, Choice):
        return _each(machine, found, lambda each: bind(machine, each, receiver, cls))
    return _described(machine, found, receiver, cls)


def _each(machine: Machine, found: Choice, become: Callable[[Value], Value]) -> Value:
    """What each of several class attributes becomes; on paths of their own where code runs for that."""
    if _runs(found):
        return machine.distribute(found, become)
    return machine.choice(map(become, found.alternatives), found.reason)


def _runs(found: Choice) -> bool:
    """Code may run where the attribute is looked up through an instance."""
    return any(isinstance(each, (PropertyValue, Address)) for each in found.alternatives)


def _through_class(machine: Machine, found: Value, cls: Value) -> Value:
    """What a class attribute becomes when it is looked up through the class."""
    if isinstance(found, StaticMethod):
        return found.function
    if isinstance(found, ClassMethod):
        return BoundMethod(found.function, cls)
    if isinstance(found, Choice):
        return _each(machine, found, lambda each: _through_class(machine, each, cls))
    if isinstance(found, KnownFunction):
        return _of_standard_class(machine, found, cls)
    if isinstance(found, PropertyValue) and isinstance(found.getter, PartialValue):
        return PartialValue(KnownFunction(callables.PARTIAL_METHOD), found.getter.positional, found.getter.keywords)
    return _described(machine, found, NONE, cls) if isinstance(found, Address) else found


def _of_standard_class(machine: Machine, found: KnownFunction, cls: Value) -> Value:
    """A method of a class of the standard library; what is modelled of a class method makes objects of that class."""
    is_own = isinstance(cls, KnownClass) and cls.name == found.name.rpartition(".")[0]
    if not is_own and not last_name(found.name).startswith("__") and standard_names.binding(found.name) == "class":
        return machine.unknown(f"{found.name} of a derived class is not modelled")
    return found


def _described(machine: Machine, found: Value, receiver: Value, cls: Value) -> Value:
    """What a descriptor written as a class gives; `found` itself where it is none."""
    instance = machine.state.find(found, InstanceObject)
    if instance is not None and instance.cls == CACHED and receiver != NONE:
        return BoundMethod(found, receiver)
    if instance is None or not isinstance(instance.cls, ClassValue):
        return found
    getter = classes.class_attribute(machine, instance.cls, "__get__")
    if getter is None or isinstance(getter, Unknown):
        return found
    return machine.call(getter, (found, receiver, cls))


def of_plain(machine: Machine, value: Value, name: str) -> Value | None:
    """What the class of a value says of the attribute."""
    cls = classes.class_of(machine, value)
    if name == "__class__":
        return cls
    if isinstance(value, Constant) and name in ("real", "imag", "numerator", "denominator", "start", "stop", "step"):
        found = getattr(value.value, name, None)
        return Constant(found) if found is not None else None
    attribute = classes.class_attribute(machine, cls, name)
    return bind(machine, attribute, value, cls) if attribute is not None else None


def _of_partial_text(value: Unknown, name: str) -> Value:
    if name in ("startswith", "endswith"):
        return BoundMethod(KnownFunction(f"builtins.str.{name}"), value)
    return partial_texts.plainly(value)


def _of_tuple(machine: Machine, value: TupleValue, name: str) -> Value | None:
    if isinstance(value.cls, ClassValue):
        for base in machine.mro(value.cls):
            item = machine.state.read(base.address) if isinstance(base, ClassValue) else None
            if isinstance(item, ClassObject) and item.fields is not None:
                for (field, _), entry in zip(item.fields, value.items, strict=False):
                    if field == name:
                        return entry
                if name == "_fields":
                    return TupleValue(tuple(Constant(field) for field, _ in item.fields))
                if name in ("_asdict", "_replace"):
                    return BoundMethod(KnownFunction(f"collections.namedtuple.{name}"), value)
        kept = named_tuples.kept_attribute(machine, name)
        if kept is not None:
            return kept
    return of_plain(machine, value, name)


def _of_module(machine: Machine, value: ModuleReference, name: str) -> Value | None:
    if name == "__dict__":
        return machine.module_dict(value.name)
    found = machine.module_attribute(value.name, name)
    if found is not None:
        if type(found) is Unknown and machine.may_lack(value.name, name):
            machine.may_refuse("AttributeError")
        return found
    given = machine.from_getter(value.name, name)
    if given is not None:
        return given
    if machine.lacks(value.name, name):
        return None
    machine.may_refuse("AttributeError")
    return machine.unknown(f"{value.name}.{name} is not found in its source")


def _of_class(machine: Machine, value: Any, name: str) -> Value | None:
    special = _class_special(machine, value, name)
    if special is not None:
        return special
    if slots.is_first(machine, value, name):
        return machine.unknown(f"the descriptor of the slot {name} is not modelled")
    if isinstance(value, ClassValue) and named_tuples.is_field(machine, value, name):
        return machine.unknown(f"the descriptor of the field {name} is not modelled")
    found = data_classes.seen(machine, classes.class_attribute(machine, value, name))
    if found is not None:
        return _through_class(machine, found, value)
    if isinstance(value, ClassValue) and classes.is_enum(machine, value) and name == "__members__":
        members = enumerations.named(machine, value) or {}
        held: dict[Value, Value] = {
            Constant(each): machine.own_attribute(value, each) or member for each, member in members.items()
        }
        return machine.allocate(DictObject(held))
    if isinstance(value, ClassValue):
        found = metaclasses.attribute(machine, value, name)
        if found is None and not name.startswith("__") and machine.is_bundled(value):
            return machine.unknown(f"{value.name}.{name} is not in the bundled source of torch")
    if found is None and name == "register" and metaclasses.metaclass_of(machine, value) == metaclasses.ABSTRACT:
        return BoundMethod(KnownFunction("abc.ABCMeta.register"), value)
    return found


_NAMES = {"enum.EnumMeta": enum.EnumMeta.__name__}
"""Classes that have another name in some versions of Python."""


def _class_special(machine: Machine, value: Any, name: str) -> Value | None:
    if name in ("__name__", "__qualname__", "__module__") and isinstance(value, ClassValue):
        item = machine.state.find(value.address, ClassObject)
        if item is not None and name in item.namespace:
            return item.namespace[name]
    if name == "__name__":
        return Constant(_NAMES.get(value.name) or classes.short_name(value))
    if name == "__qualname__":
        item = machine.state.find(value.address, ClassObject) if isinstance(value, ClassValue) else None
        definition = item.definition if item is not None else None
        return Constant(definition.qualname if definition is not None else classes.short_name(value))
    if name == "__module__":
        item = machine.state.find(value.address, ClassObject) if isinstance(value, ClassValue) else None
        if item is not None and item.definition is not None:
            return Constant(item.definition.module)
        return Constant(value.name.rpartition(".")[0])
    if name == "__mro__":
        return TupleValue(classes.shown_mro(machine, value))
    if name in ("__bases__", "__base__"):
        bases = classes.shown_bases(machine, value)
        return TupleValue(bases) if name == "__bases__" else _best_base(machine, bases)
    if name == "__class__":
        return classes.class_of(machine, value)
    if name == "__dict__":
        return machine.class_dict(value)
    if name == "__dataclass_fields__":
        shown = classes.class_attribute(machine, value, name)
        return machine.call(shown.getter, (value,)) if isinstance(shown, PropertyValue) else shown
    if name in ("_fields", "__new__") and isinstance(value, ClassValue):
        fields = named_tuples.field_names(machine, value)
        if fields is not None:
            return fields if name == "_fields" else BoundMethod(KnownFunction(named_tuples.TUPLE_NEW), value)
    if name == "__subclasses__":
        return PartialValue(KnownFunction("builtins.type.__subclasses__"), (value,))
    if name == "mro":
        return PartialValue(KnownFunction("functools._same"), (TupleValue(classes.shown_mro(machine, value)),))
    return None


def _best_base(machine: Machine, bases: tuple[Value, ...]) -> Value:
    """`cls.__base__`: of several bases, the one that says what form its objects have in memory."""
    for base in bases[1:]:
        order = machine.mro(base)
        if not all(isinstance(each, ClassValue) or each == classes.OBJECT for each in order) or slots.of_lineage(
            machine, base
        ):
            return machine.unknown("which of its bases gives a class its form is not known")
    return (*bases, NONE)[0]


def _of_super(machine: Machine, value: SuperValue, name: str) -> Value | None:
    receiver = value.receiver
    cls = receiver if isinstance(receiver, (ClassValue, KnownClass)) else classes.class_of(machine, receiver)
    if isinstance(receiver, ClassValue) and value.cls not in machine.mro(receiver):
        return _of_super_metaclass(machine, value, name)
    found = classes.class_attribute(machine, cls, name, value.cls)
    is_own = isinstance(found, (StaticMethod, FunctionValue))
    if name == "__new__" and not is_own and named_tuples.fields_of(machine, cls) is not None:
        return BoundMethod(KnownFunction(named_tuples.TUPLE_NEW), cls)
    if found is None and name == "__init__" and _ends_in_object(machine, cls, value.cls):
        return BoundMethod(KnownFunction(OBJECT_INIT), receiver)
    if found is None:
        return registry.lookup(f"builtins.object.{name}") or _OF_OBJECT.get(name)
    if name == "__new__":
        return found.function if isinstance(found, StaticMethod) else found
    if isinstance(receiver, (ClassValue, KnownClass)):
        return _through_class(machine, found, receiver)
    if isinstance(found, Unknown):
        # What an unknown base does with the instance is not known either.
        return (
            BoundMethod(machine.of_library_object(found, receiver), receiver)
            if isinstance(receiver, Address)
            else found
        )
    return bind(machine, found, receiver, cls)


def _of_super_metaclass(machine: Machine, value: SuperValue, name: str) -> Value | None:
    """super().name in a metaclass: the receiver is a class, or for `__new__` the metaclass itself."""
    meta = classes.class_of(machine, value.receiver)
    found = classes.class_attribute(machine, meta, name, value.cls)
    return bind(machine, found, value.receiver, meta) if found is not None else None


def _ends_in_object(machine: Machine, cls: Value, after: Value) -> bool:
    """Behind that one, only classes with source stand in the MRO before `object`."""
    order = machine.mro(cls)
    rest = order[order.index(after) + 1 :] if after in order else ()
    return bool(rest) and all(isinstance(base, ClassValue) or base == classes.OBJECT for base in rest)


OBJECT_INIT = "builtins.object.<init>"
"""`object.__init__`, where nothing else is to take its arguments."""
_OF_OBJECT = dict.fromkeys(("__init__", "__init_subclass__"), KnownFunction("builtins.object.<nothing>"))
"""What `object` has, and does nothing that matters here."""


# ---- instances -------------------------------------------------------------------------------------------------------


def _of_object(machine: Machine, value: Address, name: str) -> Value | None:
    cls = classes.class_of(machine, value)
    if isinstance(cls, ClassValue):
        override = classes.class_attribute(machine, cls, "__getattribute__")
        if isinstance(override, FunctionValue):
            try:
                return machine.call(override, (value, Constant(name)))
            except Raised as raised:
                found = _by_fallback(machine, value, cls, name) if raised.name == "builtins.AttributeError" else None
                if found is None:
                    raise
                return found
    try:
        found = raw(machine, value, name)
    except Raised as raised:
        # A property that raises AttributeError is an attribute that is not there: `__getattr__` is asked.
        found = _after_failure(machine, value, cls, name) if raised.name == "builtins.AttributeError" else None
        if found is None:
            raise
        return found
    if isinstance(found, Unknown) and found.optional and isinstance(cls, ClassValue):
        return _or_by_fallback(machine, value, cls, name, found)
    return found if found is not None else _by_fallback(machine, value, cls, name)


def _or_by_fallback(machine: Machine, value: Address, cls: ClassValue, name: str, found: Unknown) -> Value:
    """An attribute that is there on some paths only: on the others `__getattr__` is asked."""
    if not isinstance(classes.class_attribute(machine, cls, "__getattr__"), FunctionValue):
        return found
    there = replace(found, optional=False)
    return machine.fork([lambda: there, lambda: _by_fallback(machine, value, cls, name) or there], found.reason)


def _after_failure(machine: Machine, value: Address, cls: Value, name: str) -> Value | None:
    """What is there still where a descriptor of the class has raised AttributeError."""
    if isinstance(cls, ClassValue):
        found = _by_fallback(machine, value, cls, name)
        if found is not None:
            return found
    if isinstance(machine.state.read(value), ModuleObject):
        return registration.lookup(machine, value, name)
    return None


def _by_fallback(machine: Machine, value: Address, cls: Value, name: str) -> Value | None:
    """What the class's own `__getattr__` gives; None where it has none."""
    if name.startswith("__") and name.endswith("__") and name not in ("__dict__",):
        return None
    fallback = classes.class_attribute(machine, cls, "__getattr__")
    if fallback is None or (isinstance(fallback, KnownFunction) and fallback.name == f"{MODULE}.__getattr__"):
        return None
    if isinstance(fallback, Unknown):
        return fallback
    try:
        return machine.call(fallback, (value, Constant(name)))
    except Raised as raised:
        if raised.name != "builtins.AttributeError" or not machine.module_depth or machine.insistent:
            raise
    # At module level a table is taken as it is, not knowing what has run by then; here it must have been filled.
    machine.insistent = True
    try:
        return machine.call(fallback, (value, Constant(name)))
    finally:
        machine.insistent = False


def raw(machine: Machine, value: Address, name: str) -> Value | None:
    """object.__getattribute__(value, name), and for a module its stores after that; None where it is not there."""
    item = machine.state.read(value)
    cls = classes.class_of_object(item)
    if name == "__class__":
        return cls
    if isinstance(cls, Unknown) and type(item) is InstanceObject:
        machine.expose([value], cls)  # what its class runs for that is not known
    if name == "__module__" and isinstance(cls, (ClassValue, KnownClass)):
        return _class_special(machine, cls, name)
    if name == "__dict__" and isinstance(item, WITH_ATTRIBUTES):
        return items.view(machine, value) if slots.has_dict(machine, cls) else None
    attribute = data_classes.seen(machine, classes.class_attribute(machine, cls, name))
    if isinstance(attribute, Choice) and _runs(attribute):
        return machine.distribute(attribute, lambda each: _raw(machine, value, name, each) or each)
    return _raw(machine, value, name, attribute)


def _raw(machine: Machine, value: Address, name: str, attribute: Value | None) -> Value | None:
    """The same where the class has that attribute."""
    item = machine.state.read(value)
    cls = classes.class_of_object(item)
    if isinstance(attribute, PropertyValue) and not (
        is_overlaid(attribute) and name in getattr(item, "attributes", ())
    ):
        given = machine.call(attribute.getter, (value,))
        if is_cached_property(attribute) and isinstance(item, WITH_ATTRIBUTES):
            changed = machine.state.write(value)
            assert isinstance(changed, WITH_ATTRIBUTES)
            changed.attributes[name] = given
        return given
    if _is_data_descriptor(machine, attribute):
        assert attribute is not None
        return _described(machine, attribute, value, cls)
    attributes = getattr(item, "attributes", None)
    if attributes is not None:
        if name in attributes:
            found: Value = attributes[name]
            return _or_stored(machine, value, name, found) if isinstance(item, ModuleObject) else found
        if ENTRIES in attributes and isinstance(item, DictObject):
            entry = keys.find_entry(machine, item, Constant(name))
            if entry is not None:
                return entry
    if slots.is_first(machine, cls, name):
        return None
    if attribute is not None and not isinstance(attribute, Unknown):
        return bind(machine, attribute, value, cls)
    if type(item) is InstanceObject and "args" in item.attributes:
        kept = exceptions.attribute(machine, item, name)
        if kept is not None:
            return kept
    if isinstance(item, ModuleObject):
        stored = registration.lookup(machine, value, name)
        if stored is not None:
            return stored
    if attribute is not None:
        given = machine.of_library_object(attribute, value)
        if patched_classes.may_have(machine, name) and isinstance(given, Unknown) and given.optional:
            return points_to.with_objects(given, frozenset((value.index,)))  # it may be a method of it
        return given
    further = partial_texts.hidden(_why_further(item), name) if isinstance(item, WITH_ATTRIBUTES) else None
    return further if further is None else replace(further, optional=True)  # it may as well not be there


def _or_stored(machine: Machine, module: Address, name: str, found: Value) -> Value:
    """What an attribute is; where only some paths have set it, others may have registered what it is there."""
    stored = registration.lookup(machine, module, name) if is_optional(found) else None
    return found if stored is None or not isinstance(found, Unknown) else points_to.either_of(found, (stored,))


def _why_further(item: HeapObject) -> Unknown | None:
    """Why it may have attributes that it does not show."""
    why: Unknown | None = (
        item.open if isinstance(item, (InstanceObject, ModuleObject)) else getattr(item, "further", None)
    )
    return why


def _is_data_descriptor(machine: Machine, attribute: Value | None) -> bool:
    """A descriptor written as a class that takes what is assigned, too: it comes before what the instance holds."""
    held = machine.state.find(attribute, InstanceObject) if isinstance(attribute, Address) else None
    if held is None or not isinstance(held.cls, ClassValue):
        return False
    if held.cls.name.startswith("torch.") and KnownClass("builtins.property") not in machine.mro(held.cls):
        return False
    names = ("__get__", "__set__", "__delete__")
    methods = (FunctionValue, KnownFunction)
    get, *changing = (isinstance(machine.class_attribute(held.cls, each), methods) for each in names)
    return get and any(changing)


def is_overlaid(attribute: PropertyValue) -> bool:
    """It only gives what the object does not hold itself: a cached property, or `functools.partialmethod`."""
    return is_cached_property(attribute) or isinstance(attribute.getter, PartialValue)


def is_cached_property(attribute: PropertyValue) -> bool:
    return attribute.setter == KnownFunction("functools._keep")


@cache
def _finders() -> dict[type[Value], Callable[[Any, Any, str], Value | None]]:
    """Built at the first attribute: the modules it names import this one."""
    return {
        TupleValue: _of_tuple,
        ModuleReference: _of_module,
        ClassValue: _of_class,
        KnownClass: _of_class,
        SuperValue: _of_super,
        FunctionValue: callables.of_function,
        KnownFunction: callables.of_known_function,
        BoundMethod: callables.of_method,
        PartialValue: callables.of_partial,
        EnumMember: callables.of_member,
        PropertyValue: callables.of_property,
        GenericAlias: callables.of_alias,
        Address: _of_object,
    }
