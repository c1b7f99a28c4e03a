"""Modules that a predicted module holds without registering them: in lists, dicts, closures, partials, objects, ...

The same places, by the same names and in the same order, as the trace finds on a live model; and the modules that it
may hold so, on some paths only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from modgraph.graph.model import SourceLocation
from modgraph.names import last_name
from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.calling import Raised
from modgraph.prediction.domain.dict_views import certain_pairs
from modgraph.prediction.domain.endings import attempt
from modgraph.prediction.domain.limits import LimitError
from modgraph.prediction.domain.objects import (
    ClassObject,
    DictObject,
    EnvironmentObject,
    InstanceObject,
    ListObject,
    ModuleObject,
    SetObject,
    TensorObject,
)
from modgraph.prediction.domain.values import (
    OPEN,
    Address,
    BoundMethod,
    Choice,
    ClassValue,
    Constant,
    EnumMember,
    FunctionValue,
    KnownClass,
    PartialValue,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.knowledge.stdlib.plain_objects import NAMESPACES
from modgraph.prediction.paths.havoc import is_there
from modgraph.prediction.python.bounds import text_size
from modgraph.prediction.python.plain_attributes import kind_by_uses
from modgraph.source import nodes

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

MAX_DEPTH = 8
"""Levels of containers and objects below an attribute."""
MAX_OBJECTS = 3
"""Levels of plain objects among them."""
MAX_VISITED = 20_000
"""Values looked at for one module."""
MAX_KEY = 1_000
"""Characters of a dict's key that a place is named by."""

_Place = tuple[str, Value]
_OPEN_KINDS = (ListObject, SetObject, InstanceObject)
_PLAIN_KINDS = (ListObject, DictObject, SetObject, TensorObject)
_Doubt = Unknown | Choice
Held = tuple[str, Address | None, _Doubt | None]
_Pending = tuple[str, Value, int, int, _Doubt | None]
"""Place, value, levels above it, plain objects among these, and why it may not be there."""


class HeldModules:
    """Finds what modules hold beside their children; classes are looked through once."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._of_class: dict[Value, list[_Place]] = {}

    def all_of(self, address: Address) -> list[Held]:
        """Every module found in the plain attributes of a module, with its place: "blocks[0]", "heads['a']". Those that
        may be there come with the reason, and the place of what may hold them; "" is any, None any module: what nobody
        can tell holds any, unless it is a number or the like."""
        found: list[Held] = []
        attempt(self._machine, lambda: found.extend(self._of(address)), lambda why: found.append(("", None, why)))
        return found

    def _of(self, address: Address) -> Iterator[Held]:
        module = self._machine.state.find(address, ModuleObject)
        assert module is not None
        visited: set[Value] = {address}
        certain: deque[_Pending] = deque((place, value, 0, 0, None) for place, value in self._attributes(module))
        doubtful: deque[_Pending] = deque()
        while (pending := certain or doubtful) and len(visited) < MAX_VISITED:
            place, value, depth, objects, why = pending.popleft()
            if isinstance(value, Address) and self._machine.state.find(value, ModuleObject) is not None:
                if value != address:
                    yield place, value, why
                continue
            if value in visited or depth > MAX_DEPTH:
                continue
            if isinstance(value, Unknown) and self._is_anything(value):
                yield place, None, why or value
                visited.add(value)
            found, is_object = self._contents(value, place)
            perhaps = self._perhaps(value)
            if found or perhaps:
                visited.add(value)
            if objects + is_object <= MAX_OBJECTS:
                pending.extend(
                    (where if why is None else place, held, depth + 1, objects + is_object, why)
                    for where, held in found
                )
            doubtful.extend((place, held, depth, objects, why or doubt) for held, doubt in perhaps)
        if pending:
            yield "", None, Unknown(f"it holds more than {MAX_VISITED} values")

    def _is_anything(self, value: Unknown) -> bool:
        """It may be a module: it is no number or the like, and not one of the containers and tensors that it names."""
        there = [self._machine.state.read(Address(index)) for index in value.may_be if is_there(self._machine, index)]
        return not value.inert and not (there and all(isinstance(each, _PLAIN_KINDS) for each in there))

    def _perhaps(self, value: Value) -> list[tuple[Value, _Doubt]]:
        """What a value may be, or hold besides its contents, and why that is not known."""
        if isinstance(value, Choice):
            return [(each, value) for each in value.alternatives]
        if isinstance(value, Unknown):
            there = (index for index in sorted(value.may_be) if is_there(self._machine, index))
            return [(Address(index), value) for index in there]
        item = self._machine.state.read(value) if isinstance(value, Address) else None
        if isinstance(item, DictObject) and item.unsure is not None:
            return [(each, item.unsure) for each in (item.unsure, *self._entries(item, "")[1])]
        if not isinstance(item, _OPEN_KINDS) or item.open is None:
            return []
        if isinstance(item, InstanceObject) and _is_known(item.cls):
            return [(points_to.plain(item.open), item.open)]
        members = item.items if isinstance(item, SetObject) else ()
        return [(item.open, item.open), *((each, item.open) for each in members)]

    def _attributes(self, module: ModuleObject) -> Iterator[_Place]:
        if module.open is not None and OPEN not in module.modules:  # that there may be further children is told
            yield "", module.open
        for name, value in module.attributes.items():
            children = (module.modules.get(name), module.modules.get(OPEN))
            if isinstance(value, Unknown) and any(isinstance(each, (Unknown, Choice)) for each in children):
                continue  # a child by that name, of which all is open, is told
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
                        found.extend(self._body(base, cls))
            self._of_class[cls] = found
        return self._of_class[cls]

    def _body(self, cls: ClassValue, of: Value) -> Iterator[_Place]:
        definition = self._machine.state.find(cls.address, ClassObject)
        if definition is None or definition.definition is None:
            return
        for name in dict.fromkeys((*definition.definition.statements, *definition.namespace)):
            if not name.startswith("__"):
                value = self._machine.own_attribute(cls, name)
                made_here = any(each.definition for each in definition.definition.statements.get(name, ()))
                made_here = made_here or (isinstance(value, Unknown) and value.optional)  # a method, on some paths
                if value is not None and (
                    self._may_hold(value) or (not made_here and self._may_be_any(of, name, value))
                ):
                    yield name, value

    def _may_be_any(self, cls: Value, name: str, value: Value) -> bool:
        """Nothing is known of an attribute, and what the class does with it leaves open that it is a module."""
        if not isinstance(value, Unknown) or value.inert:
            return False
        return kind_by_uses(self._machine, cls, name) == "unknown"

    def _may_hold(self, value: Value) -> bool:
        if isinstance(value, (FunctionValue, PartialValue)) or (isinstance(value, Unknown) and value.may_be):
            return True
        if isinstance(value, Choice):
            return any(self._may_hold(each) for each in value.alternatives)
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
            return self._entries(item, place)[0], False
        if isinstance(item, SetObject) and item.open is not None:
            return [], False  # what else is in it may come before these
        if isinstance(item, SetObject):
            ordered = sorted(item.items, key=lambda held: str(getattr(self._machine.class_of(held), "name", "")))
            return [(f"{place}[{index}]", held) for index, held in enumerate(ordered)], False
        if isinstance(item, InstanceObject) and not _is_known(item.cls):
            return [(f"{place}.{name}", held) for name, held in self._attributes_of(item)], True
        return [], False

    def _attributes_of(self, item: InstanceObject) -> Iterator[_Place]:
        """Those of an object, without what its class uses as a number or text."""
        for name, held in item.attributes.items():
            may_hold = not isinstance(held, Unknown) or held.inert or held.may_be
            if may_hold or self._may_be_any(item.cls, name, held):
                yield name, held

    def _entries(self, item: DictObject, place: str) -> tuple[list[_Place], list[Value]]:
        """Values by their keys, and the keys by position; and those whose places are not known."""
        pairs = list(item.entries.items())
        certain = len(certain_pairs(item))
        rest = [key for key, _ in pairs[certain:]]
        found: list[_Place] = []
        for index, (key, held) in enumerate(pairs):
            text = _key(key, index)
            if index < certain or not text.startswith("#"):
                found.append((f"{place}[{text}]", held))
            else:
                rest.append(held)
        return found + [(f"{place}.keys()[{index}]", key) for index, (key, _) in enumerate(pairs[:certain])], rest

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
                if name in scope.unsure:
                    why = Unknown(f"{name!r} is bound on some paths only", _line(function))
                    captured[name] = points_to.either_of(why, (scope.names[name],))
            environment = scope.parent
        found = [(f"{place}.closure[{name!r}]", captured[name]) for name in sorted(captured)]
        keyword_only = {parameter.name for parameter in function.definition.parameters if parameter.kind == "keyword"}
        positional = [value for name, value in function.defaults if name not in keyword_only]
        found += [(f"{place}.__defaults__[{index}]", value) for index, value in enumerate(positional)]
        keywords = [(name, value) for name, value in function.defaults if name in keyword_only]
        return found + [(f"{place}.__kwdefaults__[{name!r}]", value) for name, value in keywords]


def _line(function: FunctionValue) -> SourceLocation:
    return function.definition.parsed.location(function.definition.statement)


def _is_known(cls: Value) -> bool:
    """An object of a class of Python's or torch's own holds nothing of the model, but for namespaces."""
    return (isinstance(cls, KnownClass) and cls.name not in NAMESPACES) or (
        isinstance(cls, ClassValue) and cls.name.startswith("torch.")
    )


def _names(node: nodes.Node) -> set[str]:
    """Every name that stands in a function, those of attributes and keywords aside."""
    return {each.value for each in nodes.walk(node) if isinstance(each, nodes.Name)}


def _key(key: Value, position: int) -> str:
    """Text of a dict's key, where it has one that is the same on every run."""
    if isinstance(key, EnumMember):
        return f"{key.cls.name.rpartition('.')[2]}.{key.name}"
    if isinstance(key, Constant):
        return _shown(key.value, position)
    if isinstance(key, TupleValue) and all(isinstance(part, Constant) for part in key.items):
        return _shown(tuple(part.value for part in key.items if isinstance(part, Constant)), position)
    if isinstance(key, (ClassValue, KnownClass)):
        return last_name(key.name)
    return f"#{position}"


def _shown(value: object, position: int) -> str:
    try:
        return repr(value) if text_size(value) <= MAX_KEY else f"#{position}"
    except ValueError:  # an integer with more digits than Python makes a text of
        return f"#{position}"
