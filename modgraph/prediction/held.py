"""Modules that a predicted module holds without registering them: in lists, dicts, closures, partials, objects, ...

The same places, by the same names and in the same order, as the trace finds on a live model.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import libcst as cst

from modgraph.prediction.frames import LimitError
from modgraph.prediction.knowledge.bounds import text_size
from modgraph.prediction.knowledge.registry import Raised
from modgraph.prediction.objects import (
    ClassObject,
    DictObject,
    EnvironmentObject,
    InstanceObject,
    ListObject,
    ModuleObject,
    SetObject,
)
from modgraph.prediction.values import (
    Address,
    BoundMethod,
    ClassValue,
    Constant,
    EnumMember,
    FunctionValue,
    KnownClass,
    PartialValue,
    TupleValue,
    Value,
)

if TYPE_CHECKING:
    from modgraph.prediction.machine import Interpreter

MAX_DEPTH = 8
"""Levels of containers and objects below an attribute."""
MAX_OBJECTS = 3
"""Levels of plain objects among them."""
MAX_VISITED = 20_000
MAX_KEY = 1_000
"""Characters of a dict's key that a place is named by."""
"""Values looked at for one module."""

_Place = tuple[str, Value]


class HeldModules:
    """Finds what modules hold beside their children; classes are looked through once."""

    def __init__(self, machine: Interpreter) -> None:
        self._machine = machine
        self.is_cut = False
        """The module that was asked for last holds more than is looked at."""
        self._of_class: dict[Value, list[_Place]] = {}

    def of(self, address: Address) -> Iterator[tuple[str, Address]]:
        """Every module found in the plain attributes of a module, with its place: "blocks[0]", "heads['a']"."""
        module = self._machine.state.find(address, ModuleObject)
        assert module is not None
        self.is_cut = False
        visited: set[Value] = {address}
        pending = deque((place, value, 0, 0) for place, value in self._attributes(module))
        while pending and len(visited) < MAX_VISITED:
            place, value, depth, objects = pending.popleft()
            if isinstance(value, Address) and self._machine.state.find(value, ModuleObject) is not None:
                if value != address:
                    yield place, value
                continue
            if value in visited or depth > MAX_DEPTH:
                continue
            found, is_object = self._contents(value, place)
            if found:
                visited.add(value)
            if objects + is_object <= MAX_OBJECTS:
                pending.extend((where, held, depth + 1, objects + is_object) for where, held in found)
        self.is_cut = bool(pending)

    def _attributes(self, module: ModuleObject) -> Iterator[_Place]:
        for name, value in module.attributes.items():
            yield (f"__dict__[{name!r}]" if name in module.modules else name), value
        for name, value in self._class_attributes(module.cls):
            if name not in module.attributes:
                yield name, value

    def _class_attributes(self, cls: Value) -> list[_Place]:
        """What the bodies of a class and its bases keep, torch's own aside."""
        if cls not in self._of_class:
            found: list[_Place] = []
            # What has used up its steps or time evaluates nothing further; a problem says so already.
            with suppress(LimitError, Raised):
                for base in self._machine.mro(cls) if isinstance(cls, ClassValue) else ():
                    if isinstance(base, ClassValue) and not base.name.startswith("torch."):
                        found.extend(self._body(base))
            self._of_class[cls] = found
        return self._of_class[cls]

    def _body(self, cls: ClassValue) -> Iterator[_Place]:
        definition = self._machine.state.find(cls.address, ClassObject)
        if definition is None or definition.definition is None:
            return
        for name in definition.definition.statements:
            if not name.startswith("__"):
                value = self._machine.own_attribute(cls, name)
                if value is not None and self._may_hold(value):
                    yield name, value

    def _may_hold(self, value: Value) -> bool:
        if isinstance(value, (FunctionValue, PartialValue)):
            return True
        if isinstance(value, TupleValue):
            return bool(value.items)
        kinds = (ModuleObject, ListObject, DictObject, SetObject)
        return isinstance(value, Address) and isinstance(self._machine.state.read(value), kinds)

    def _contents(self, value: Value, place: str) -> tuple[list[_Place], bool]:
        """What a value holds, by place; and whether it is a plain object."""
        if isinstance(value, TupleValue):
            return self._tuple(value, place), False
        if isinstance(value, PartialValue):
            positional = [(f"{place}.args[{index}]", item) for index, item in enumerate(value.positional)]
            keywords = [(f"{place}.keywords[{name!r}]", item) for name, item in value.keywords]
            return [(f"{place}.func", value.function), *positional, *keywords], False
        if isinstance(value, BoundMethod):
            return [(f"{place}.__self__", value.receiver), (place, value.function)], False
        if isinstance(value, FunctionValue):
            return self._function(value, place), False
        if not isinstance(value, Address):
            return [], False
        item = self._machine.state.read(value)
        if isinstance(item, ListObject):
            return [(f"{place}[{index}]", held) for index, held in enumerate(item.items)], False
        if isinstance(item, DictObject):
            pairs = list(item.entries.items())
            places = [(f"{place}[{_key(key, index)}]", held) for index, (key, held) in enumerate(pairs)]
            return places + [(f"{place}.keys()[{index}]", key) for index, (key, _) in enumerate(pairs)], False
        if isinstance(item, SetObject):
            ordered = sorted(item.items, key=lambda held: str(getattr(self._machine.class_of(held), "name", "")))
            return [(f"{place}[{index}]", held) for index, held in enumerate(ordered)], False
        if isinstance(item, InstanceObject) and not _is_known(item.cls):
            return [(f"{place}.{name}", held) for name, held in item.attributes.items()], True
        return [], False

    def _tuple(self, value: TupleValue, place: str) -> list[_Place]:
        cls = self._machine.state.find(value.cls.address, ClassObject) if isinstance(value.cls, ClassValue) else None
        if cls is not None and cls.fields is not None:
            return [(f"{place}.{name}", item) for (name, _), item in zip(cls.fields, value.items, strict=False)]
        return [(f"{place}[{index}]", item) for index, item in enumerate(value.items)]

    def _function(self, function: FunctionValue, place: str) -> list[_Place]:
        """Free variables in their closure, and defaults."""
        used = _names(function.definition.node) if function.closure is not None else set()
        own = {parameter.name for parameter in function.definition.parameters}
        captured: dict[str, Value] = {}
        environment = function.closure
        while environment is not None:
            scope = self._machine.state.find(environment, EnvironmentObject)
            if scope is None:
                break
            for name in used & scope.names.keys() - own - captured.keys():
                captured[name] = scope.names[name]
            environment = scope.parent
        found = [(f"{place}.closure[{name!r}]", captured[name]) for name in sorted(captured)]
        keyword_only = {parameter.name for parameter in function.definition.parameters if parameter.kind == "keyword"}
        positional = [value for name, value in function.defaults if name not in keyword_only]
        found += [(f"{place}.__defaults__[{index}]", value) for index, value in enumerate(positional)]
        keywords = [(name, value) for name, value in function.defaults if name in keyword_only]
        return found + [(f"{place}.__kwdefaults__[{name!r}]", value) for name, value in keywords]


def _is_known(cls: Value) -> bool:
    """An object of a class of Python's or torch's own holds nothing of the model."""
    return isinstance(cls, KnownClass) or (isinstance(cls, ClassValue) and cls.name.startswith("torch."))


def _names(node: cst.CSTNode) -> set[str]:
    """Every name that stands in a function."""
    found: set[str] = set()
    pending: list[cst.CSTNode] = [node]
    while pending:
        child = pending.pop()
        if isinstance(child, cst.Name):
            found.add(child.value)
        pending.extend(child.children)
    return found


def _key(key: Value, position: int) -> str:
    """Text of a dict's key, where it has one that is the same on every run."""
    if isinstance(key, EnumMember):
        return f"{key.cls.name.rpartition('.')[2]}.{key.name}"
    if isinstance(key, Constant):
        return _shown(key.value, position)
    if isinstance(key, TupleValue) and all(isinstance(part, Constant) for part in key.items):
        return _shown(tuple(part.value for part in key.items if isinstance(part, Constant)), position)
    if isinstance(key, (ClassValue, KnownClass)):
        return key.name.rpartition(".")[2]
    return f"#{position}"


def _shown(value: object, position: int) -> str:
    try:
        return repr(value) if text_size(value) <= MAX_KEY else f"#{position}"
    except ValueError:  # an integer with more digits than Python makes a text of
        return f"#{position}"
