"""value.name = new and del value.name: descriptors, overridden methods, and what a module does with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from modgraph.prediction.domain import points_to, registry
from modgraph.prediction.domain.objects import (
    VIEW_OF,
    ClassObject,
    DictObject,
    InstanceObject,
    ListObject,
    ModuleObject,
    SetObject,
    TensorObject,
)
from modgraph.prediction.domain.values import (
    DELETED,
    TRUE,
    Address,
    BoundMethod,
    Choice,
    ClassValue,
    Constant,
    EnumMember,
    FunctionValue,
    GeneratedMethod,
    KnownClass,
    KnownFunction,
    ModuleReference,
    PartialValue,
    PropertyValue,
    TupleValue,
    Unknown,
    Value,
    is_optional,
)
from modgraph.prediction.paths import several
from modgraph.prediction.python import (
    attributes,
    callables,
    classes,
    data_classes,
    given_away,
    items,
    library_stores,
    named_tuples,
    optional_names,
    orders,
    patched_classes,
    registration,
    slots,
    stored_attributes,
    tensor_classes,
    weak_updates,
)

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


_FUNCTIONS_OF_LAYERS = ("torch", "torch.nn.functional")
"""Modules whose functions torch's layers call by name."""


def assign(machine: Machine, value: Value, name: str, new: Value) -> None:
    """value.name = new.

    Raises:
        Raised: AttributeError, TypeError.
    """
    if isinstance(value, Choice):
        machine.on_each(value, lambda each: assign(machine, each, name, new))
    elif isinstance(value, ClassValue):
        meta = machine.metaclass_of(value)
        override = classes.class_attribute(machine, meta, "__setattr__") if isinstance(meta, ClassValue) else None
        if _is_other(override, "__setattr__"):
            machine.call(override, (value, Constant(name), new))
        else:
            assign_in_class(machine, value, name, new)
    elif isinstance(value, KnownClass):
        _patch(machine, value, name, new)
    elif isinstance(value, ModuleReference):
        if machine.data_of is not None:
            library_stores.note(machine, value.name, name, new)
        _take_before(machine, value.name, name)
        if value.name in _FUNCTIONS_OF_LAYERS:
            machine.modules.patched.add(f"{value.name}.{name}")
        machine.state.globals[(value.name, name)] = new
    elif isinstance(value, (FunctionValue, EnumMember, PartialValue)):
        if not (isinstance(value, FunctionValue) and callables.is_as_before(machine, value, name, new)):
            stored_attributes.store(machine, value, name, new)
    elif isinstance(value, (Constant, TupleValue)):
        cls = classes.class_of(machine, value)
        _require_place(machine, cls, name)
        if isinstance(cls, ClassValue) and named_tuples.has_no_further(machine, cls, name):
            raise machine.raises("AttributeError", f"'{classes.short_name(cls)}' object has no attribute '{name}'")
        if isinstance(cls, ClassValue):
            named_tuples.keep_attribute(machine, name, new)
    elif isinstance(value, BoundMethod) and name == "__defaults__":
        named_tuples.set_defaults(machine, value, new)
    elif isinstance(value, Address):
        values = several.concerned(machine, value, name)
        several.does(
            machine, values, lambda: _assign_to_object(machine, value, name, new), name, "__setattr__", "__set__"
        )
    elif isinstance(value, Unknown):
        if machine.data_of is not None:
            library_stores.note(machine, value.library, name, new)
        if value.is_doubtful:
            machine.may_fail("AttributeError")
        if value.may_be:
            machine.expose([value], value)
        if value.inert and not points_to.is_plain(new):
            attributes.keep_of_inert(machine, name, new)
        given_away.note(machine, value, new)


def _patch(machine: Machine, cls: KnownClass, name: str, new: Value) -> None:
    """cls.name = new, of a class that is not the project's."""
    _require_mutable(machine, cls, name)
    is_new = classes.class_attribute(machine, cls, name) is None and not name.startswith("__")
    if not is_new and not patched_classes.is_put(machine, cls, name):
        _tell_patched(machine, cls, name)
    patched_classes.put(machine, cls, name, new)


def _unpatch(machine: Machine, cls: KnownClass, name: str) -> None:
    """del cls.name, of such a class."""
    _require_mutable(machine, cls, name)
    if not patched_classes.is_put(machine, cls, name):
        if classes.known_attribute(machine, cls, name) is None:
            short = classes.short_name(cls)
            raise machine.raises("AttributeError", f"type object '{short}' has no attribute '{name}'")
        _tell_patched(machine, cls, name)
    patched_classes.put(machine, cls, name, DELETED)


def _require_mutable(machine: Machine, cls: KnownClass, name: str) -> None:
    if cls.name.startswith("builtins."):
        short = classes.short_name(cls)
        raise machine.raises("TypeError", f"cannot set '{name}' attribute of immutable type '{short}'")


def _tell_patched(machine: Machine, cls: ClassValue | KnownClass, name: str) -> None:
    machine.modules.patched.add(f"{cls.name}.{name}")
    what = f"{classes.short_name(cls)}.{name} is given another value"
    machine.problem(f"{what}, and what its package does with that is not followed")


def assign_in_class(machine: Machine, cls: ClassValue, name: str, new: Value) -> None:
    """What type.__setattr__ does."""
    if registry.model(cls.name) is not None or registry.lookup(f"{cls.name}.{name}") is not None:
        _tell_patched(machine, cls, name)
    if name == "__bases__":
        stored_attributes.replace_bases(machine, cls, new)
    orders.put(machine, machine.state.change(cls.address, ClassObject), "namespace", name, new)
    several.note(machine, cls, name, new)


def _take_before(machine: Machine, module: str, name: str) -> None:
    """Modules that have imported a name from one that is given another have the one of before; so have defaults."""
    for whole in list(machine.modules.whole.values()):
        for bound, statement in list(whole.waiting.items()):
            defaults = statement.definition.defaults if statement.definition is not None else None
            is_read = whole.source.name == module and name in (defaults or ())
            if is_read or any(bound == each.name and each.attribute == name for each in statement.imports):
                machine.global_name(whole.source.name, bound)


def _assign_to_object(machine: Machine, value: Address, name: str, new: Value) -> None:
    item = machine.state.read(value)
    cls = classes.class_of(machine, value)
    if name == "__class__" and isinstance(item, (InstanceObject, ModuleObject, ListObject, DictObject, SetObject)):
        machine.state.change(value, type(item)).cls = new
        return
    if name == "__class__" and isinstance(item, TensorObject):
        tensor_classes.set_class(machine, value, new)
        return
    _require_place(machine, cls, name)
    if isinstance(cls, ClassValue):
        override = classes.class_attribute(machine, cls, "__setattr__")
        if isinstance(override, GeneratedMethod):
            _require_thawed(machine, cls, override, name, f"cannot assign to field '{name}'")
            override = classes.class_attribute(machine, cls, "__setattr__", override.cls)
        if _is_other(override, "__setattr__"):
            machine.call(override, (value, Constant(name), new))
            return
    elif isinstance(cls, KnownClass) and registry.model(f"{cls.name}.__setattr__") is not None:
        machine.call(KnownFunction(f"{cls.name}.__setattr__"), (value, Constant(name), new))
        return
    own_assign(machine, value, name, new)


_WITHOUT_ATTRIBUTES = frozenset(
    KnownClass(f"builtins.{name}")
    for name in (
        *("object", "int", "float", "complex", "bool", "str", "bytes", "bytearray", "NoneType", "list", "tuple"),
        *("dict", "set", "frozenset", "range"),
    )
)
"""Classes whose objects take no further attribute."""


def _require_place(machine: Machine, cls: Value, name: str) -> None:
    """Of an object of that class that is given an attribute.

    Raises:
        Raised: AttributeError, where it takes none.
    """
    if cls in _WITHOUT_ATTRIBUTES:
        raise machine.raises("AttributeError", f"'{classes.short_name(cls)}' object has no attribute '{name}'")


def _require_thawed(machine: Machine, cls: Value, method: GeneratedMethod, name: str, message: str) -> None:
    """Of an attribute that is set or deleted by the method of a frozen dataclass: objects of classes derived from one
    have others, which are not.

    Raises:
        Raised: FrozenInstanceError; TypeError, where the method looks for the class as it was before it had slots.
    """
    is_field = name in [each.name for each in data_classes.dataclass_fields(machine, method.cls) if not each.init_var]
    slotted = data_classes.has_slots(machine, method.cls)
    if slotted and not is_field:
        raise machine.raises("TypeError", "super(type, obj): obj must be an instance or subtype of type")
    if is_field or cls == method.cls:
        raise machine.raises("dataclasses.FrozenInstanceError", message)


def own_assign(machine: Machine, value: Address, name: str, new: Value) -> None:
    """What object.__setattr__, or for a module Module.__setattr__, does."""
    item = machine.state.read(value)
    cls = classes.class_of(machine, value)
    is_module = isinstance(item, ModuleObject)
    if not (is_module and _registers(machine, new)):  # what registers never comes to the descriptors of the class
        if _set_by_descriptor(machine, value, cls, name, new):
            return
        attribute = classes.class_attribute(machine, cls, name)
        if isinstance(attribute, PropertyValue) and not isinstance(item, DictObject):
            if attribute.setter is not None and not attributes.is_cached_property(attribute):
                machine.call(attribute.setter, (value, new))
                return
            if not isinstance(attribute.getter, KnownFunction) and not attributes.is_overlaid(attribute):
                raise machine.raises("AttributeError", f"property '{name}' has no setter")
    if is_module:
        if name == "__dict__":
            machine.expose([value, new], machine.unknown("what a module registers is replaced", new))
        elif isinstance(new, Unknown):
            registration.assign(machine, value, name, new)
        else:
            optional_names.on_paths(machine, value, name, lambda: registration.assign(machine, value, name, new))
        return
    if name == "__dict__" and new == value and isinstance(item, DictObject):
        machine.state.change(value, DictObject).attributes[attributes.ENTRIES] = TRUE
        return
    if isinstance(item, DictObject) and attributes.ENTRIES in item.attributes:
        items.own_assign(machine, value, Constant(name), new)
        return
    if name == "__dict__":
        pairs = items.mapping_pairs(machine, new)
        shared = machine.state.find(new, DictObject)
        if shared is not None and VIEW_OF in shared.attributes and shared.attributes[VIEW_OF] != value:
            why = machine.unknown("a __dict__ that two objects share is not followed")
            for each in (value, shared.attributes[VIEW_OF]):
                if isinstance(each, Address):
                    weak_updates.set_in_dict(machine, each, why, why)
                machine.expose([each], why)
            return
        if not isinstance(pairs, Unknown) and isinstance(item, InstanceObject):
            machine.state.change(value, InstanceObject).attributes = {
                key.value: entry for key, entry in pairs[0] if isinstance(key, Constant)
            }
        return
    if isinstance(item, attributes.WITH_ATTRIBUTES):
        if isinstance(item, InstanceObject) and not _has_place(machine, cls, name):
            raise machine.raises("AttributeError", f"'{classes.short_name(cls)}' object has no attribute '{name}'")
        changed = machine.state.write(value)
        assert isinstance(changed, attributes.WITH_ATTRIBUTES)
        orders.put(machine, changed, "attributes", name, new)


def _has_place(machine: Machine, cls: Value, name: str) -> bool:
    """Whether an instance of the class can hold an attribute of that name: not where `__slots__` leaves it out."""
    if not isinstance(cls, ClassValue) or classes.class_attribute(machine, cls, "__slots__") is None:
        return True
    for base in machine.mro(cls):
        if not isinstance(base, ClassValue):
            if not slots.is_bare(base):
                return True
            continue
        names = slots.named(machine, base)
        if isinstance(names, Unknown):
            machine.may_fail("AttributeError")
        if not isinstance(names, list) or any(each in (name, "__dict__", None) for each in names):
            return True
    return False


def _is_other(override: Value | None, name: str) -> TypeGuard[Value]:
    """Not what object or Module have under that name: a method with source, or `__setattr__ = dict.__setitem__`."""
    known = isinstance(override, KnownFunction) and not override.name.endswith(name)
    return known or isinstance(override, FunctionValue)


def _set_by_descriptor(machine: Machine, value: Address, cls: Value, name: str, new: Value) -> bool:
    """Assigns through `__set__` of a descriptor written as a class; False where there is none."""
    return _by_descriptor(machine, "__set__", cls, name, (value, new))


def _by_descriptor(machine: Machine, method: str, cls: Value, name: str, given: tuple[Value, ...]) -> bool:
    attribute = classes.class_attribute(machine, cls, name)
    instance = machine.state.find(attribute, InstanceObject)
    if instance is None or not isinstance(instance.cls, ClassValue):
        return False
    changing = classes.class_attribute(machine, instance.cls, method)
    if changing is None or isinstance(changing, Unknown):
        return False
    assert attribute is not None
    machine.call(changing, (attribute, *given))
    return True


def _registers(machine: Machine, new: Value) -> bool:
    if not isinstance(new, Address):
        return False
    item = machine.state.read(new)
    return isinstance(item, ModuleObject) or (isinstance(item, TensorObject) and item.is_parameter is True)


def delete(machine: Machine, value: Value, name: str) -> None:
    """del value.name."""
    if isinstance(value, Unknown):
        machine.expose([value], value)
        return
    if isinstance(value, Choice):
        machine.on_each(value, lambda each: delete(machine, each, name))
        return
    if isinstance(value, ClassValue):
        several.does(machine, (value,), lambda: _delete_in_class(machine, value, name), name)
        return
    if isinstance(value, KnownClass):
        _unpatch(machine, value, name)
        return
    if isinstance(value, ModuleReference) and (held := machine.find_attribute(value, name)) is not None:
        if is_optional(held):
            machine.may_refuse("AttributeError")
        machine.state.globals[(value.name, name)] = DELETED
        return
    if not isinstance(value, Address):
        raise machine.raises("AttributeError", name)
    several.does(machine, (value,), lambda: _delete_of_object(machine, value, name), name, "__delattr__")


def _delete_of_object(machine: Machine, value: Address, name: str) -> None:
    cls = classes.class_of(machine, value)
    override = classes.class_attribute(machine, cls, "__delattr__") if isinstance(cls, ClassValue) else None
    if isinstance(override, GeneratedMethod):
        _require_thawed(machine, cls, override, name, f"cannot delete field '{name}'")
        override = classes.class_attribute(machine, cls, "__delattr__", override.cls)
    elif isinstance(cls, KnownClass) and registry.model(f"{cls.name}.__delattr__") is not None:
        machine.call(KnownFunction(f"{cls.name}.__delattr__"), (value, Constant(name)))
        return
    if _is_other(override, "__delattr__"):
        machine.call(override, (value, Constant(name)))
    else:
        own_delete(machine, value, name)


def _delete_in_class(machine: Machine, cls: ClassValue, name: str) -> None:
    held = classes.own_attribute(machine, cls, name)
    if held is None:
        raise machine.raises("AttributeError", f"type object '{classes.short_name(cls)}' has no attribute '{name}'")
    if is_optional(held):
        machine.may_refuse("AttributeError")
    machine.state.change(cls.address, ClassObject).namespace[name] = DELETED


def _without_attributes(machine: Machine, value: Address) -> None:
    """Its `__dict__` is deleted: there is a new one when that is asked for, and who looks at the old one sees that."""
    views = (item.attributes.get(VIEW_OF) for item in machine.state.everything().values() if type(item) is DictObject)
    if value in views:
        why = machine.unknown("a __dict__ that was deleted is not followed")
        weak_updates.set_in_dict(machine, value, why, why)
        machine.expose([value], why)
        return
    own_assign(machine, value, "__dict__", machine.allocate(DictObject()))


def own_delete(machine: Machine, value: Address, name: str) -> None:
    """What object.__delattr__, or for a module Module.__delattr__, does."""
    item = machine.state.read(value)
    cls = classes.class_of(machine, value)
    stores = (getattr(item, each, {}) for each in ("modules", "parameters", "buffers"))
    if not any(name in store for store in stores) and _by_descriptor(machine, "__delete__", cls, name, (value,)):
        return
    attribute = classes.class_attribute(machine, cls, name)
    if (
        isinstance(attribute, PropertyValue)
        and attribute.deleter is not None
        and not attributes.is_cached_property(attribute)
    ):
        machine.call(attribute.deleter, (value,))
    elif name == "__dict__" and isinstance(item, (ModuleObject, InstanceObject)) and slots.has_dict(machine, cls):
        _without_attributes(machine, value)
    elif isinstance(item, ModuleObject):
        optional_names.on_paths(machine, value, name, lambda: registration.delete(machine, value, name))
    elif isinstance(item, attributes.WITH_ATTRIBUTES) and name in item.attributes:
        changed = machine.state.write(value)
        assert isinstance(changed, attributes.WITH_ATTRIBUTES)
        if is_optional(changed.attributes.pop(name)):
            machine.may_refuse("AttributeError")
    elif getattr(item, "open", None) is None:
        raise machine.raises("AttributeError", name)
    else:
        machine.may_refuse("AttributeError")
