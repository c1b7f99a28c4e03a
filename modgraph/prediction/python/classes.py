"""Classes: type(value), MRO, what a class's namespace holds, isinstance."""

from __future__ import annotations

import collections.abc
import sys
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from modgraph.names import last_name
from modgraph.prediction.domain import registry
from modgraph.prediction.domain.objects import (
    ClassObject,
    DictObject,
    HeapObject,
    InstanceObject,
    IteratorObject,
    ListObject,
    ModuleObject,
    SetObject,
    TensorObject,
)
from modgraph.prediction.domain.values import (
    MODULE,
    NONE,
    Address,
    BoundMethod,
    Choice,
    ClassValue,
    Constant,
    Device,
    Dtype,
    EnumMember,
    FunctionValue,
    GeneratedMethod,
    GenericAlias,
    KnownClass,
    KnownFunction,
    ModuleReference,
    PartialValue,
    PropertyValue,
    SliceValue,
    TupleValue,
    Unknown,
    Value,
    remaining,
)
from modgraph.prediction.python import annotation_parts, patched_classes, virtual_classes
from modgraph.prediction.python.counted import count

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

OBJECT = KnownClass("builtins.object")
TYPE = KnownClass("builtins.type")
_TUPLE = KnownClass("builtins.tuple")
TENSOR = "torch.Tensor"
UNINITIALIZED = "torch.nn.parameter.UninitializedParameter"
UNINITIALIZED_BUFFER = "torch.nn.parameter.UninitializedBuffer"
PARAMETER = "torch.nn.parameter.Parameter"

_OF_TENSORS = {
    (True, True): KnownClass(UNINITIALIZED),
    (True, False): KnownClass(UNINITIALIZED_BUFFER),
    (False, True): KnownClass(PARAMETER),
    (False, False): KnownClass(TENSOR),
}
"""By whether they are lazy, and parameters."""
_GENERATOR = KnownClass("builtins.generator")
_OF_VALUES: dict[type[Value], KnownClass] = {
    SliceValue: KnownClass("builtins.slice"),
    Dtype: KnownClass("torch.dtype"),
    Device: KnownClass("torch.device"),
    FunctionValue: KnownClass("builtins.function"),
    GeneratedMethod: KnownClass("builtins.function"),
    KnownFunction: KnownClass("builtins.builtin_function_or_method"),
    BoundMethod: KnownClass("builtins.method"),
    ModuleReference: KnownClass("builtins.module"),
    PartialValue: KnownClass("functools.partial"),
    PropertyValue: KnownClass("builtins.property"),
}


def class_of(machine: Machine, value: Value) -> Value:
    """type(value): ClassValue, KnownClass, or Unknown."""
    kind = type(value)
    if kind is Address:
        return class_of_object(machine.state.read(value))  # type: ignore[arg-type]
    if kind is Constant:
        return _class_of_constant(value.value.__class__)  # type: ignore[attr-defined]
    known = _OF_VALUES.get(kind)
    if known is not None:
        return known
    if isinstance(value, TupleValue):
        return value.cls or _TUPLE
    if isinstance(value, GenericAlias):
        return annotation_parts.class_of(value)
    if isinstance(value, EnumMember):
        return value.cls
    if isinstance(value, (ClassValue, KnownClass)):
        return machine.metaclass_of(value) or TYPE
    if isinstance(value, Unknown):
        return value
    if isinstance(value, Choice):
        found = {class_of(machine, each) for each in value.alternatives}
        only = found.pop()
        return only if not found else Unknown(value.reason, value.where)
    return OBJECT


@cache
def _class_of_constant(kind: type) -> KnownClass:
    return KnownClass(f"{kind.__module__}.{kind.__name__}")


def class_of_object(item: HeapObject) -> Value:
    if isinstance(item, (InstanceObject, ModuleObject, ListObject, DictObject, SetObject)):
        return item.cls
    if isinstance(item, TensorObject):
        if item.cls is None and None in (item.lazy, item.is_parameter):
            return Unknown("it is not known of which class the tensor is", item.where)
        return item.cls or _OF_TENSORS[bool(item.lazy), bool(item.is_parameter)]
    if isinstance(item, IteratorObject):
        return _GENERATOR
    return OBJECT


def short_name(cls: Value) -> str:
    return last_name(cls.name) if isinstance(cls, (ClassValue, KnownClass)) else "object"


# ---- MRO -------------------------------------------------------------------------------------------------------------


def mro(machine: Machine, cls: Value) -> tuple[Value, ...]:
    """Of a class, itself first; an Unknown in it stands for bases that are not known."""
    if isinstance(cls, ClassValue):
        return machine.state.class_at(cls.address).mro
    if isinstance(cls, KnownClass):
        return _known_mro(cls)
    return (cls,)


_known_mros: dict[str, tuple[Value, ...]] = {}


def _known_mro(cls: KnownClass) -> tuple[Value, ...]:
    found = _known_mros.get(cls.name)
    if found is None:
        facts = registry.class_facts(cls.name)
        bases: list[Value] = [] if cls == OBJECT else [OBJECT]
        if facts is not None and cls != OBJECT:
            bases = [KnownClass(base) for base in facts.bases]
        linear = linearize(cls, [(base, _known_mro(base)) for base in bases if isinstance(base, KnownClass)])
        found = _known_mros[cls.name] = linear or (cls, *bases)
    return found


def linearize(cls: Value, bases: Sequence[tuple[Value, tuple[Value, ...]]]) -> tuple[Value, ...] | None:
    """C3 of a class whose bases have these MROs; None where there is no consistent order."""
    orders = [order for _, order in bases]
    if len(orders) == 1:
        return (cls, *orders[0])
    sequences = [*orders, tuple(base for base, _ in bases)]
    behind = Counter(item for sequence in sequences for item in sequence[1:])
    heads = [0] * len(sequences)
    """How far each sequence is used up; `behind` counts what stands after these places."""
    result: list[Value] = [cls]
    while True:
        ahead = [(sequence, at) for sequence, at in zip(sequences, heads, strict=True) if at < len(sequence)]
        if not ahead:
            return tuple(result)
        head = next((sequence[at] for sequence, at in ahead if not behind[sequence[at]]), None)
        if head is None:
            return None
        result.append(head)
        for number, sequence in enumerate(sequences):
            at = heads[number]
            if at < len(sequence) and sequence[at] == head:
                heads[number] = at + 1
                if at + 1 < len(sequence):
                    behind[sequence[at + 1]] -= 1


def shown_mro(machine: Machine, cls: Value) -> tuple[Value, ...]:
    """`cls.__mro__`."""
    order = [base for base in mro(machine, cls) if base not in _NAMED_TUPLES]
    if _PROTOCOL in order and _GENERIC not in order:  # it is a base of the other, whichever is written
        order.insert(order.index(_PROTOCOL) + 1, _GENERIC)
    return tuple(order)


def shown_bases(machine: Machine, cls: Value) -> tuple[Value, ...]:
    """`cls.__bases__`."""
    item = machine.state.find(cls.address, ClassObject) if isinstance(cls, ClassValue) else None
    bases = item.bases if item is not None else _known_bases(cls)
    if not bases and cls != OBJECT:
        return (OBJECT,)
    return tuple(_TUPLE if base in _NAMED_TUPLES else base for base in bases)


def _known_bases(cls: Value) -> tuple[Value, ...]:
    facts = registry.class_facts(cls.name) if isinstance(cls, KnownClass) else None
    return () if facts is None or cls == OBJECT else tuple(map(KnownClass, facts.bases))


_PROTOCOL, _GENERIC = KnownClass("typing.Protocol"), KnownClass("typing.Generic")
_NAMED_TUPLES = (KnownClass("typing.NamedTuple"), KnownClass("typing_extensions.NamedTuple"))
"""Classes in no MRO: they make one derived from `tuple` of what is derived from them."""


def is_module_class(machine: Machine, cls: Value) -> bool:
    return any(isinstance(base, (ClassValue, KnownClass)) and base.name == MODULE for base in mro(machine, cls))


# ---- namespaces ------------------------------------------------------------------------------------------------------


def own_attribute(machine: Machine, cls: ClassValue, name: str) -> Value | None:
    """What the namespace of that class alone holds; known methods win over source."""
    known = _registered(cls.name, name)
    if known is not None:
        return known
    item = machine.state.class_at(cls.address)
    found = item.namespace.get(name)
    if found is not None or item.definition is None or name not in item.definition.statements:
        return remaining(found)
    return machine.class_namespace_entry(cls, item, name)


@cache
def _registered(cls: str, name: str) -> Value | None:
    getter = registry.lookup(f"{cls}.@{name}")
    if getter is not None:
        return PropertyValue(getter, registry.lookup(f"{cls}.@{name}="))
    return registry.lookup(f"{cls}.{name}")


def class_attribute(machine: Machine, cls: Value, name: str, after: Value | None = None) -> Value | None:
    """What the namespaces of the MRO hold under `name`, unbound; None if none. Where an unknown base comes first, that
    Unknown."""
    if machine.module_depth or not (not machine.state.classes or _is_settled(machine, cls)):
        return _class_attribute(machine, cls, name, after)
    if patched_classes.may_have(machine, name):
        return _class_attribute(machine, cls, name, after)
    if machine.base.floor and type(cls) is ClassValue:
        machine.base.shared.add(cls.address.index)
    key = (_identity(cls), name, None if after is None else _identity(after))
    found = machine.caches.class_attributes.get(key, OBJECT)
    if found is OBJECT:  # which no namespace holds under a name
        found = _class_attribute(machine, cls, name, after)
        if _is_settled(machine, cls):
            machine.caches.class_attributes[key] = found
    return found


def _is_settled(machine: Machine, cls: Value) -> bool:
    """The class and all that it inherits from are as the base has them."""
    changed = machine.state.classes
    if not changed or not isinstance(cls, ClassValue):
        return True
    return changed.isdisjoint(lineage(machine, cls))


def lineage(machine: Machine, cls: ClassValue) -> frozenset[int]:
    """Addresses of the classes with source in its MRO."""
    index = cls.address.index
    found = machine.caches.lineages.get(index)
    if found is None:
        found = frozenset(base.address.index for base in mro(machine, cls) if isinstance(base, ClassValue))
        if index in machine.base.objects:
            machine.caches.lineages[index] = found
    elif machine.base.floor:
        machine.base.shared.add(index)
    return found


def _identity(cls: Value) -> object:
    """What is as good as the class for a key, and hashed faster."""
    if type(cls) is ClassValue:
        return cls.address.index
    return cls.name if type(cls) is KnownClass else cls


def _class_attribute(machine: Machine, cls: Value, name: str, after: Value | None) -> Value | None:
    order = mro(machine, cls)
    if after is not None:
        order = order[order.index(after) + 1 :] if after in order else ()
    for base in order:
        if isinstance(base, ClassValue):
            found = own_attribute(machine, base, name)
        elif isinstance(base, KnownClass):
            found = known_attribute(machine, base, name)
        else:
            found = base
        if found is not None:
            return found
    for base in order:
        if isinstance(base, KnownClass):
            missing = _of_python(machine, base, name) or patched_classes.further(machine, base)
            if missing is not None:
                return missing
    return None


def known_attribute(machine: Machine, cls: KnownClass, name: str) -> Value | None:
    """What is known of an attribute of a known class; from its source, where that is there."""
    if patched_classes.is_put(machine, cls, name):
        return patched_classes.value(machine, cls, name)
    found = _registered(cls.name, name)
    if found is not None:
        return found
    if cls.name.startswith("builtins."):
        return None
    shadow = machine.shadow_class(cls)
    return own_attribute(machine, shadow, name) if shadow is not None else None


def _of_python(machine: Machine, cls: KnownClass, name: str) -> Value | None:
    """Python's own classes say which attributes they have, though not here what these do."""
    if name.startswith("__"):
        is_abstract = cls.name.startswith("collections.abc.") and name in _of_abstract(cls.name)
        return machine.unknown(f"{cls.name}.{name} is not modelled") if is_abstract else None
    module, _, last = cls.name.rpartition(".")
    is_standard = module.partition(".")[0] in sys.stdlib_module_names
    real = getattr(sys.modules.get(module), last, None) if is_standard else None  # others may not be loaded
    if real is None:
        if module.partition(".")[0] not in ("torch", "numpy") or cls.name in (MODULE, TENSOR, PARAMETER):
            return None  # of these, the names of all that they have are known
        if registry.model(f"{cls.name}.__getattr__") is not None:
            return None  # what it has under other names is known
        return machine.unknown(f"{cls.name}.{name} is not modelled")
    return machine.unknown(f"{last}.{name} is not modelled") if name in vars(real) else None


@cache
def _of_abstract(name: str) -> frozenset[str]:
    """Special methods that a class of `collections.abc` has and that do something else than Python without them."""
    real = getattr(collections.abc, name.rpartition(".")[2], None)
    own = {"__eq__"}.intersection(*(vars(each) for each in (real,) if each is not None))
    return frozenset(getattr(real, "__abstractmethods__", ())) | own


def is_enum(machine: Machine, cls: Value) -> bool:
    return any(
        isinstance(base, KnownClass) and base.name in ("enum.Enum", "enum.IntEnum", "enum.StrEnum", "enum.Flag")
        for base in mro(machine, cls)
    )


def kind_of_set(machine: Machine, cls: Value) -> Value:
    """Of what methods of a set make: no other class than the two that Python has."""
    return next((base for base in mro(machine, cls) if base in _SETS), cls)


_SETS = (KnownClass("builtins.set"), KnownClass("builtins.frozenset"))


def is_plain_member(machine: Machine, member: EnumMember) -> bool:
    """It is a number or text as well, and does what its value does."""
    return any(isinstance(base, KnownClass) and base.name in _PLAIN for base in mro(machine, member.cls))


_PLAIN = frozenset({"builtins.int", "builtins.str", "builtins.float"})


# ---- isinstance ------------------------------------------------------------------------------------------------------


def is_instance(machine: Machine, value: Value, of: Value) -> bool | None:
    """isinstance(value, of); `of` is a class, a tuple of them, or a union."""
    if isinstance(value, Unknown) or machine.guesses.doubts(value):
        return None
    if isinstance(value, Choice):
        answers = {is_instance(machine, each, of) for each in value.alternatives}
        return answers.pop() if len(answers) == 1 else None
    if isinstance(of, TupleValue):
        count(machine, 2 * len(of.items))
        answers = {is_instance(machine, value, each) for each in of.items}
        return True if True in answers else (None if None in answers else False)
    special = _abstract(machine, value, of)
    if special is not None:
        return special
    if isinstance(of, ClassValue):
        own = _by_metaclass(machine, "__instancecheck__", class_of(machine, value), of, value)
        if own is not None:
            return machine.truth(own)
        if virtual_classes.is_protocol(machine, of):
            return _is_structural(machine, value, class_of(machine, value), of)
    if isinstance(value, KnownFunction) and _as_class(of) == KnownClass("builtins.function"):
        return None  # what is modelled may be written in Python
    return is_subclass(machine, class_of(machine, value), of)


def _is_structural(machine: Machine, value: Value | None, cls: Value, of: ClassValue) -> bool | None:
    """Of a class written as a Protocol: whether a value, or a class, is of it, or has all that it asks for."""
    if isinstance(cls, (ClassValue, KnownClass)) and of in mro(machine, cls):
        return True
    return virtual_classes.by_names(machine, of, value, cls)


def _by_metaclass(machine: Machine, method: str, cls: Value, of: ClassValue, asked: Value) -> Value | None:
    """What the metaclass of `of` answers, where it is written to answer; None where Python's own rule holds, as it does
    for a class of torch's, which asks only for kinds of objects that no constructor meets."""
    meta = machine.metaclass_of(of)
    if not isinstance(meta, ClassValue) or cls == of or meta.name.startswith("torch."):
        return None
    found = class_attribute(machine, meta, method)
    if isinstance(found, FunctionValue):
        return machine.call(found, (of, asked))
    return found if isinstance(found, Unknown) else None


_BY_CALL = {
    "types.FunctionType": "builtins.function",
    "types.LambdaType": "builtins.function",
    "types.MethodType": "builtins.method",
    "functools.partial": "functools.partial",
}
"""Classes that are known as what calling them gives."""

_SEEN_AS = {"torch.autograd.variable.Variable": TENSOR}
"""Classes whose metaclass, written in C or in torch's source, takes the instances of another for theirs."""


def _as_class(value: Value) -> Value:
    if isinstance(value, KnownFunction) and value.name in _BY_CALL:
        return KnownClass(_BY_CALL[value.name])
    if isinstance(value, KnownClass) and value.name in _SEEN_AS:
        return KnownClass(_SEEN_AS[value.name])
    return value


def is_subclass(machine: Machine, cls: Value, of: Value) -> bool | None:
    """issubclass(cls, of)."""
    of = _as_class(of)
    if isinstance(of, TupleValue):
        answers = [is_subclass(machine, cls, each) for each in of.items]
        return True if True in answers else (None if None in answers else False)
    if isinstance(of, GenericAlias):
        types = annotation_parts.types_of_union(of)
        return (
            is_subclass(machine, cls, of.origin) or None
            if types is None
            else is_subclass(machine, cls, TupleValue(types))
        )
    if isinstance(of, Constant) and of == NONE:
        of = KnownClass("builtins.NoneType")
    if not isinstance(of, (ClassValue, KnownClass)) or not isinstance(cls, (ClassValue, KnownClass)):
        return None
    own = _by_metaclass(machine, "__subclasscheck__", OBJECT, of, cls) if isinstance(of, ClassValue) else None
    if own is None and isinstance(of, ClassValue) and virtual_classes.is_protocol(machine, of):
        return _is_structural(machine, None, cls, of)
    return is_derived(machine, cls, of) if own is None else machine.truth(own)


def is_derived(machine: Machine, cls: ClassValue | KnownClass, of: ClassValue | KnownClass) -> bool | None:
    """The same by Python's own rule, whatever the metaclass says."""
    order = mro(machine, cls)
    if isinstance(of, ClassValue) and cls != of:
        said = virtual_classes.by_hook(machine, cls, of)
        if said is not None:
            return machine.truth(said)
    if of in order or (isinstance(of, ClassValue) and _same_class(order, of)):
        return True
    torchs = of.name.startswith("torch.")
    if any(isinstance(base, Unknown) and not (torchs and registry.is_of_python(base)) for base in order):
        return None
    registered = virtual_classes.registered(machine, order, of)
    if registered is not False or isinstance(of, ClassValue):
        return registered
    return virtual_classes.of_python(machine, order, of)


def _same_class(order: tuple[Value, ...], of: ClassValue) -> bool:
    """Read from source; or known by name alone, as what a library raised that was asked itself."""
    for base in order:
        same = base.address == of.address if isinstance(base, ClassValue) else False
        if same or (isinstance(base, KnownClass) and base.name == of.name):
            return True
    return False


def _abstract(machine: Machine, value: Value, of: Value) -> bool | None:
    """Classes that are recognised by what a value can do."""
    if not isinstance(of, KnownClass):
        return None
    if of.name == "collections.abc.Callable":
        return is_callable(machine, value)
    if of.name == "builtins.type":
        return isinstance(value, (ClassValue, KnownClass))
    return None


def is_callable(machine: Machine, value: Value) -> bool | None:
    """callable(value)."""
    if isinstance(value, Unknown):
        return None
    if isinstance(value, Choice):
        answers = {is_callable(machine, each) for each in value.alternatives}
        return answers.pop() if len(answers) == 1 else None
    callables = (FunctionValue, KnownFunction, BoundMethod, ClassValue, KnownClass, PartialValue, GeneratedMethod)
    if isinstance(value, callables):
        return True
    method = class_attribute(machine, class_of(machine, value), "__call__")
    return None if isinstance(method, Unknown) else method is not None


def is_list_of_a_library(machine: Machine, value: Value) -> bool:
    """Its class is neither one of Python's own nor read from source: what its operators do is that library's."""
    item = machine.state.find(value, ListObject)
    cls = None if item is None else item.cls
    return isinstance(cls, KnownClass) and cls.name.partition(".")[0] not in ("builtins", "collections")
