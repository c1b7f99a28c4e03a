"""Values as arguments that travel: what a call was found to give a class, for another prediction and for a live model.

Literals stay literals; a class or function becomes its import path, an object what its class and attributes are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from modgraph.prediction.answer.made_again import NotMadeAgainError, parts_of, set_later
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import (
    ClassObject,
    DictObject,
    InstanceObject,
    ListObject,
    ModuleObject,
    SetObject,
    TensorObject,
)
from modgraph.prediction.domain.values import (
    Address,
    Choice,
    ClassValue,
    Constant,
    Device,
    Dtype,
    EnumMember,
    FunctionValue,
    KnownClass,
    KnownFunction,
    PartialValue,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.knowledge.tensors.tensor_values import tensor_of
from modgraph.source.integers import MOST_BITS
from modgraph.source.targets import Built, Ref, Unsaid

MAX_FOUND_VALUES = 5_000
"""Values in the arguments of one call, each at all its places."""
_MAX_DEPTH = 12
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...))
_FILLED = ("argparse.Namespace", "types.SimpleNamespace")
"""Classes of the standard library that are nothing but their attributes."""
_NAMESPACE = "types.SimpleNamespace"
_CONFIGURATIONS = (KnownClass("omegaconf.dictconfig.DictConfig"), KnownClass("omegaconf.listconfig.ListConfig"))
_SILENT_METHODS = frozenset({"__init__", "__post_init__", "__repr__", "__str__"})
"""Those that an object which is only read does not need."""

_DEVICE = re.compile(r"(?:cpu|cuda|mps|xpu)(?::\d+)?")

NameOf = Callable[[str, str], str | None]
"""The import path, where the model runs, of what a module defines under a qualified name; None where importing it there
could do more than define it."""


class NotPortableError(Exception):
    """A value that is not known, or cannot be made anew elsewhere; says why."""


class Porter:
    """Makes the arguments of one call travel.

    Args:
        name_of: where classes and functions of the project are imported from.
    """

    def __init__(self, machine: Machine, name_of: NameOf) -> None:
        self._machine = machine
        self._name_of = name_of
        self._inside: set[Address] = set()
        self._parts: list[set[int]] = [set()]
        """Of what modules are made that were given so far; for each that is being made anew, those that it is given."""
        self._left = MAX_FOUND_VALUES

    def value(self, value: Value) -> Any:
        """The value, as an argument of a target.

        Raises:
            NotPortableError: it does not travel.
        """
        self._left -= 1
        if self._left < 0:
            raise NotPortableError(f"more than {MAX_FOUND_VALUES} values")
        if isinstance(value, Constant):
            return _constant(value.value)
        if isinstance(value, Choice):
            value = _on_the_cpu(value)
        if isinstance(value, (Unknown, Choice)):
            raise NotPortableError(value.reason)
        if isinstance(value, Address):
            if value in self._inside or len(self._inside) > _MAX_DEPTH:
                raise NotPortableError("it holds itself, or is nested too deeply")
            self._inside.add(value)
            try:
                return self._object(value)
            finally:
                self._inside.discard(value)
        return self._frozen(value)

    def _frozen(self, value: Value) -> Any:
        if isinstance(value, TupleValue):
            items = tuple(self.value(item) for item in value.items)
            if value.cls is None:
                return items
            return Built(self._name(value.cls), (list(items),) if value.cls == KnownClass("torch.Size") else items)
        if isinstance(value, Dtype):
            return Ref(f"torch.{value.name}")
        if isinstance(value, Device):
            return Built("torch.device", (value.name,))
        if isinstance(value, EnumMember):
            return Ref(f"{self._name(value.cls)}.{value.name}")
        if isinstance(value, PartialValue):
            positional = (value.function, *value.positional)
            keywords = tuple((name, self.value(each)) for name, each in value.keywords)
            return Built("functools.partial", tuple(self.value(each) for each in positional), keywords)
        if isinstance(value, ClassValue) and (filled := self._instead(value, {})) is not None:
            return filled
        return Ref(self._name(value))

    def _name(self, value: Value) -> str:
        """The import path of a class or function.

        Raises:
            NotPortableError: it has none, or importing it may do more.
        """
        if isinstance(value, (KnownClass, KnownFunction)):
            return value.name
        found: str | None = None
        if isinstance(value, FunctionValue) and value.closure is None and value.owner is None:
            found = self._of_module(value.definition.module, value.definition.qualname)
        elif isinstance(value, ClassValue):
            module = self._class(value)[0]
            found = None if module is None else self._of_module(module, value.name.removeprefix(f"{module}."))
        if found is None:
            raise NotPortableError("a class or function that cannot be imported alone")
        return found

    def _of_module(self, module: str, qualname: str) -> str | None:
        return None if "<" in qualname or not module else self._name_of(module, qualname)

    def _class(self, cls: ClassValue) -> tuple[str | None, ClassObject]:
        """The module that defines it, and its object."""
        item = self._machine.state.read(cls.address)
        assert isinstance(item, ClassObject)
        return (None if item.definition is None else item.definition.module), item

    def _object(self, address: Address) -> Any:
        item = self._machine.state.read(address)
        if isinstance(item, ListObject) and item.open is None and item.cls == KnownClass("builtins.list"):
            return [self.value(each) for each in item.items]
        if isinstance(item, ListObject | InstanceObject) and item.cls in _CONFIGURATIONS and item.open is None:
            return self._configuration(item)
        if isinstance(item, SetObject) and item.open is None:
            return {self.value(each) for each in item.items}
        if isinstance(item, DictObject) and item.unsure is None:
            return self._mapping(item)
        if isinstance(item, InstanceObject) and item.open is None:
            return self._instance(item)
        if isinstance(item, ModuleObject):
            return self._module(address, item)
        tensor = tensor_of(self._machine, address)
        if tensor is not None and (known := _of_numbers(tensor)) is not None:
            return known
        raise NotPortableError("an object that is not known as a whole")

    def _configuration(self, item: ListObject | InstanceObject) -> Built:
        """An object of OmegaConf; where not all of it is known, one that refuses to say the rest."""
        attributes = () if isinstance(item, ListObject) else self._attributes(item.attributes)
        if self._machine.finder.source("omegaconf") is None or any(_is_unsaid(each) for _, each in attributes):
            if isinstance(item, ListObject):
                raise NotPortableError("a list of a configuration, where OmegaConf is not installed")
            return Built(_NAMESPACE, attributes=attributes)
        held = [self.value(each) for each in item.items] if isinstance(item, ListObject) else dict(attributes)
        return Built(self._name(item.cls), (_as_plain(held),))

    def _mapping(self, item: DictObject) -> Any:
        pairs = [(self.value(key), self.value(each)) for key, each in item.entries.items()]
        if item.cls == KnownClass("builtins.dict"):
            return dict(pairs)
        if isinstance(item.cls, KnownClass) and item.cls.name == "collections.OrderedDict":
            return Built(item.cls.name, (pairs,))
        if not isinstance(item.cls, ClassValue) or item.further is not None:
            raise NotPortableError("a mapping of a class that is not known")
        return Built(self._name(item.cls), tuple(pairs), attributes=self._attributes(item.attributes))

    def _instance(self, item: InstanceObject) -> Any:
        attributes = self._attributes(item.attributes)
        if isinstance(item.cls, ClassValue):
            filled = self._instead(item.cls, dict(attributes))
            return filled if filled is not None else Built(self._name(item.cls), attributes=attributes)
        if isinstance(item.cls, KnownClass) and item.cls.name in _FILLED:
            return Built(item.cls.name, attributes=attributes)
        raise NotPortableError("an object of a library that is not followed")

    def _attributes(self, held: dict[str, Value]) -> tuple[tuple[str, Any], ...]:
        """An attribute that is not known is one that nobody may read, and no more."""
        found: list[tuple[str, Any]] = []
        for name, value in held.items():
            if not name.startswith("<"):
                try:
                    found.append((name, self.value(value)))
                except NotPortableError as error:
                    found.append((name, Unsaid(str(error))))
        return tuple(found)

    def _instead(self, cls: ClassValue, attributes: dict[str, Any]) -> Built | None:
        """A plain namespace with what a class holds that cannot be imported alone, and that has no methods to call."""
        module, item = self._class(cls)
        if module is None or self._of_module(module, cls.name.removeprefix(f"{module}.")) is not None:
            return None
        known: dict[str, Any] = {}
        for base in reversed(item.mro):
            if base == KnownClass("builtins.object"):
                continue
            definition = self._class(base)[1].definition if isinstance(base, ClassValue) else None
            if definition is None or not isinstance(base, ClassValue):
                raise NotPortableError("a class that cannot be imported alone")
            for name, statements in definition.statements.items():
                if any(each.definition is not None for each in statements):
                    if name not in _SILENT_METHODS:
                        raise NotPortableError("a class with methods that cannot be imported alone")
                elif (value := self._machine.class_attribute(cls, name)) is not None:
                    known[name] = value
        own = {name: each for name, each in self._attributes(known) if name not in attributes}
        return Built(_NAMESPACE, attributes=tuple({**own, **attributes}.items()))

    def _module(self, address: Address, item: ModuleObject) -> Built:
        """A module that is an argument, made by the call that made it, with what was set on it later."""
        parts = parts_of(self._machine.state, address)
        if not parts.isdisjoint(self._parts[-1]):
            raise NotPortableError("a module that stands in two places, or a part of it")
        self._parts[-1] |= parts
        try:
            later = set_later(self._machine, address)
        except NotMadeAgainError as error:
            raise NotPortableError(str(error)) from None
        self._parts.append(set())
        try:
            keywords = tuple((name, self.value(each)) for name, each in item.arguments)
            done = tuple((path, self.value(each)) for path, each in later)
        finally:
            self._parts.pop()
        return Built(self._name(item.cls), keywords=keywords, later=done)


def _is_unsaid(value: Any) -> bool:
    """It is not known, or holds what is not."""
    if isinstance(value, Built):
        return any(map(_is_unsaid, (*value.positional, *(each for _, each in value.attributes or ()))))
    return isinstance(value, Unsaid)


def _as_plain(value: Any) -> Any:
    """What a configuration holds, without the calls that make configurations of its parts."""
    if isinstance(value, Built) and KnownClass(value.name) in _CONFIGURATIONS:
        return value.positional[0]
    if isinstance(value, dict):
        return {name: _as_plain(each) for name, each in value.items()}
    return [_as_plain(each) for each in value] if isinstance(value, list) else value


def _of_numbers(item: TensorObject) -> Built | None:
    """A tensor, or an array of numpy, all of whose elements are known; None of any other."""
    shape, elements = item.shape, item.elements
    is_plain = item.is_parameter is False and not item.is_buffer and item.requires_grad is False and not item.lazy
    known = elements is not None and item.dtype is not None and shape is not None and item.further is None
    if not (is_plain and known) or any(not name.startswith("<") for name in item.attributes):
        return None
    rows: list[Any] = list(elements or ())
    for size in reversed((shape or ())[1:]):
        if not size:
            return None
        rows = [rows[begin : begin + size] for begin in range(0, len(rows), size)]
    if item.cls == KnownClass("numpy.ndarray"):
        return Built("numpy.array", (rows,), (("dtype", item.dtype),)) if shape else None
    if item.cls is not None or item.device != "cpu":
        return None
    return Built("torch.tensor", (rows if shape else rows[0],), (("dtype", Ref(f"torch.{item.dtype}")),))


def _on_the_cpu(value: Choice) -> Value:
    """The CPU, where the choice is between that and another device: it is where a model is built whatever there is."""
    names = [each.name if isinstance(each, Device) else getattr(each, "value", None) for each in value.alternatives]
    if all(isinstance(name, str) and _DEVICE.fullmatch(name) for name in names) and "cpu" in names:
        return value.alternatives[names.index("cpu")]
    return value


def _constant(value: Any) -> Any:
    if type(value) is range:
        return Built("builtins.range", (value.start, value.stop, value.step))
    if type(value) not in _PLAIN:
        raise NotPortableError(f"a {type(value).__name__} is no literal")
    if type(value) is int and value.bit_length() > MOST_BITS:
        raise NotPortableError("a number of too many digits")
    return value
