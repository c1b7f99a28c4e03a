"""Classes that are others' without being derived from them: registered with abstract classes, or recognised by their
methods. That a class is none of an abstract one is said only where both are known whole."""

from __future__ import annotations

import argparse
import builtins
import collections
import collections.abc
import enum
import functools
import numbers
import pathlib
import types
from functools import cache
from typing import TYPE_CHECKING

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.objects import ClassObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import (
    MODULE,
    NONE,
    ClassMethod,
    ClassValue,
    Constant,
    FunctionValue,
    KnownClass,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.python import annotated, standard_names

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_META = KnownClass("abc.ABCMeta")
_REGISTERED = ("<abstract classes>", "register")
_OBJECT = KnownClass("builtins.object")


# ---- abstract classes of the source ----------------------------------------------------------------------------------


@models("abc.ABCMeta.register")
def register(arguments: Arguments, machine: Machine) -> Value:
    """The second class is one of the first from then on."""
    held = machine.state.bound(_REGISTERED)
    given = arguments.positional
    if (held is None or isinstance(held, TupleValue)) and len(given) == 2 and not arguments.open:
        pairs = held.items if isinstance(held, TupleValue) else ()
        machine.state.globals[_REGISTERED] = TupleValue((*pairs, TupleValue(given)))
    else:
        machine.state.globals[_REGISTERED] = machine.unknown("which class is registered is not known")
    return given[-1] if given else NONE


def registered(machine: Machine, order: tuple[Value, ...], of: ClassValue | KnownClass) -> bool | None:
    """A class of that MRO was registered with that abstract class, or with one that is derived from it."""
    held = machine.state.bound(_REGISTERED)
    if held is None:
        return False
    if not isinstance(held, TupleValue):
        return None if _is_abstract(machine, of) else False
    verdict: bool | None = False
    for pair in held.items:
        assert isinstance(pair, TupleValue)
        abstract, cls = pair.items
        if not isinstance(abstract, (ClassValue, KnownClass)) or not isinstance(cls, (ClassValue, KnownClass)):
            verdict = None if _is_abstract(machine, of) else verdict
        elif of in machine.mro(abstract):
            answer = True if cls in order else machine.is_subclass(order[0], cls)
            if answer:
                return True
            verdict = None if answer is None else verdict
    return verdict


def _is_abstract(machine: Machine, cls: ClassValue | KnownClass) -> bool:
    meta = machine.metaclass_of(cls)
    return meta is not None and _META in machine.mro(meta)


def by_hook(machine: Machine, cls: ClassValue | KnownClass, of: ClassValue) -> Value | None:
    """What `__subclasshook__` of an abstract class says of another; None where it leaves that to Python's own rule."""
    if not _is_abstract(machine, of):
        return None
    found = machine.class_attribute(of, "__subclasshook__")
    if isinstance(found, ClassMethod):
        found = found.function
    if isinstance(found, FunctionValue):
        answer = machine.call(found, (of, cls))
        return None if answer == Constant(NotImplemented) else answer
    return found if isinstance(found, Unknown) else None


# ---- protocols -------------------------------------------------------------------------------------------------------

_PROTOCOLS = ("typing.Protocol", "typing_extensions.Protocol")
_OF_NO_PROTOCOL = frozenset(
    (
        *("__abstractmethods__", "__annotations__", "__dict__", "__doc__", "__init__", "__module__", "__new__"),
        *("__slots__", "__subclasshook__", "__weakref__", "__class_getitem__", "__match_args__", "__type_params__"),
        *("__static_attributes__", "__firstlineno__", "__annotate__", "__annotate_func__", "__annotations_cache__"),
        *("__parameters__", "__orig_bases__", "__orig_class__", "_is_protocol", "_is_runtime_protocol"),
    )
)
"""Names that a class body may have and its instances need not; `typing.EXCLUDED_ATTRIBUTES`."""


def by_names(machine: Machine, of: ClassValue, value: Value | None, cls: Value) -> bool | None:
    """Of a class written as a Protocol: whether the value, or where there is none the class, has all that it asks for.

    Returns:
        None where that is not known, and for a class that is no Protocol: see `is_protocol`.
    """
    asked, has_data, is_checked = _asked(machine, of)
    if not is_checked or (value is None and has_data):
        return None  # which raises TypeError
    verdict: bool | None = True
    for name in asked:
        found = machine.class_attribute(cls, name) if value is None else machine.find_attribute(value, name)
        if found is None:
            real = real_class(cls)
            if real is None or not hasattr(real, name):
                return None if isinstance(cls, KnownClass) and real is None else False
        elif found == NONE or isinstance(found, Unknown):
            verdict = None  # None stands for a method that is taken away
    return verdict


def is_protocol(machine: Machine, of: Value) -> bool:
    item = machine.state.find(of.address, ClassObject) if isinstance(of, ClassValue) else None
    return item is not None and any(isinstance(each, KnownClass) and each.name in _PROTOCOLS for each in item.bases)


def _asked(machine: Machine, of: ClassValue) -> tuple[list[str], bool, bool]:
    """Names that a Protocol asks for, whether some are of data, and whether it may be asked at run time."""
    names: dict[str, None] = {}
    has_data, is_checked = False, False
    for base in machine.mro(of):
        item = machine.state.find(base.address, ClassObject) if isinstance(base, ClassValue) else None
        if item is not None and item.definition is not None:
            data = list(annotated.annotated_names(machine, item))
            has_data = has_data or bool(data)
            names.update(dict.fromkeys([*item.definition.statements, *data]))
            is_checked = is_checked or _is_checked(item)
    return [name for name in names if name not in _OF_NO_PROTOCOL], has_data, is_checked


def _is_checked(item: ClassObject) -> bool:
    """`runtime_checkable` stands over it."""
    definition = item.definition
    entry = definition.entry if definition is not None else None
    if entry is not None:
        return any("runtime_checkable" in text for text in entry.decorators)
    found = getattr(definition.node, "decorators", ()) if definition is not None else ()
    return any(getattr(each, "attr", getattr(each, "value", None)) == "runtime_checkable" for each in found)


# ---- abstract classes of Python's own --------------------------------------------------------------------------------

_HOOKED = {
    "Hashable": ("__hash__",),
    "Sized": ("__len__",),
    "Iterable": ("__iter__",),
    "Iterator": ("__iter__", "__next__"),
    "Reversible": ("__reversed__", "__iter__"),
    "Container": ("__contains__",),
    "Collection": ("__len__", "__iter__", "__contains__"),
    "Callable": ("__call__",),
    "Generator": ("__iter__", "__next__", "send", "throw", "close"),
    "Awaitable": ("__await__",),
    "Coroutine": ("__await__", "send", "throw", "close"),
    "AsyncIterable": ("__aiter__",),
    "AsyncIterator": ("__anext__", "__aiter__"),
    "AsyncGenerator": ("__aiter__", "__anext__", "asend", "athrow", "aclose"),
    "Buffer": ("__buffer__",),
}
"""Abstract classes that any class with these methods is a subclass of; of the others, only those that say so."""

_OF_TORCH = {
    "torch.Tensor": frozenset({"Hashable", "Sized", "Iterable", "Reversible", "Container", "Collection"}),
    MODULE: frozenset({"Hashable", "Callable"}),
    "torch.device": frozenset({"Hashable", "Callable"}),
    "torch.dtype": frozenset({"Hashable"}),
}
"""Classes of torch, and which of these they are."""

_KINDS: tuple[type, ...] = (
    *(type(None), type(...), type(NotImplemented), types.FunctionType, types.BuiltinFunctionType, types.MethodType),
    *(types.ModuleType, types.GeneratorType, types.CodeType, types.MappingProxyType, types.SimpleNamespace),
    *(type({}.keys()), type({}.values()), type({}.items()), type(iter(())), type(iter([])), type(iter({}))),
    *(collections.deque, collections.OrderedDict, collections.defaultdict, collections.Counter, collections.ChainMap),
    *(collections.UserDict, collections.UserList, collections.UserString, functools.partial, argparse.Namespace),
    *(pathlib.PurePath, pathlib.Path),
    *(enum.Enum, enum.IntEnum, enum.Flag, enum.IntFlag, enum.EnumMeta),
)
_REAL = {f"{kind.__module__}.{kind.__name__}": kind for kind in _KINDS} | {
    "builtins.method": types.MethodType,
    "builtins.function": types.FunctionType,
    "builtins.module": types.ModuleType,
    "torch.Size": tuple,
    "typing.NamedTuple": tuple,
    "typing_extensions.NamedTuple": tuple,
    "types.SimpleNamespace": types.SimpleNamespace,
    "enum.ReprEnum": enum.Enum,
    "enum.StrEnum": str,
    **{f"pathlib.{kind.__name__}": kind for kind in _KINDS if issubclass(kind, pathlib.PurePath)},
    **{f"collections.abc.{name}": getattr(collections.abc, name) for name in collections.abc.__all__},
    **{f"numbers.{name}": getattr(numbers, name) for name in numbers.__all__},
}
"""Classes of Python's own that can be asked themselves."""
_PLAIN = frozenset(
    f"{owner}.{name}" for owner in ("typing", "typing_extensions") for name in ("Generic", "Protocol", "TypedDict")
) | {"abc.ABC"}
"""Classes that make nothing of what is derived from them."""


_STORE = KnownClass("torch.nn.modules.module._Store")


class _Nothing:
    pass


@cache
def _real(name: str) -> type | None:
    found = _REAL.get(name)
    if found is None and name.startswith("builtins."):
        found = getattr(builtins, name.removeprefix("builtins."), None)
    return found if isinstance(found, type) else None


def real_class(cls: Value) -> type | None:
    """A class of Python's own that can be asked itself."""
    return _real(cls.name) if isinstance(cls, KnownClass) else None


def of_python(machine: Machine, order: tuple[Value, ...], of: KnownClass) -> bool | None:
    """A class that does not derive from one of Python's own is one of that all the same."""
    if order[0] == _STORE:  # a dict of torch's, of which class depends on its version
        return None if of.name == "collections.OrderedDict" else issubclass(dict, _real(of.name) or _Nothing)
    if of.name.rpartition(".")[0] not in ("collections.abc", "numbers"):
        found = standard_names.standard_object(of.name)
        return None if found is not None and found.is_abstract and of.name not in _PLAIN else False
    abstract = _real(of.name)
    if abstract is None:
        return None
    asked = real_class(order[0])
    if asked is not None and of.name != "collections.abc.Generator":  # every iterator passes for a generator here
        return issubclass(asked, abstract)
    known = [base.name for base in order if isinstance(base, KnownClass)]
    real = {name: _real(name) for name in known if name != _OBJECT.name}
    if any(kind is not None and issubclass(kind, abstract) for kind in real.values()):
        return None if of.name in ("collections.abc.Generator", "collections.abc.Hashable") else True
    name = of.name.removeprefix("collections.abc.")
    foreign = [each for each, kind in real.items() if kind is None and each not in _PLAIN]
    told = [each for each in foreign if each in _OF_TORCH]
    if any(name in _OF_TORCH[each] for each in told) and not isinstance(order[0], ClassValue):
        return True
    if told:
        foreign = [each for each in foreign if not each.startswith("torch.")]
    if not all(each.startswith(("torch.", "numpy.")) for each in foreign):
        return None
    if name in _HOOKED:
        return _by_methods(machine, order, name, bool(foreign))
    return None if of.name.startswith("numbers.") and any(each.startswith("numpy.") for each in foreign) else False


def _by_methods(machine: Machine, order: tuple[Value, ...], name: str, is_foreign: bool) -> bool | None:
    if not isinstance(order[0], ClassValue):
        return None if is_foreign else False
    if name in ("Hashable", "Generator"):
        return None
    if any(name in _OF_TORCH.get(base.name, ()) for base in order if isinstance(base, KnownClass)):
        return True
    found = [machine.class_attribute(order[0], method) for method in _HOOKED[name]]
    if any(isinstance(method, Unknown) or method == NONE for method in found):
        return None
    return (None if is_foreign else False) if None in found else True
