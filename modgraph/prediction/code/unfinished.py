"""What a limit leaves to be run, and what that may change of what is known, as far as the syntax tells.

A name that is stored or deleted is one that may be absent; an object that is given to what is not known may be changed
in every part. What nothing behind the limit can touch stays claimed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from modgraph.names import last_name
from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.endings import attempt
from modgraph.prediction.domain.frames import Frame
from modgraph.prediction.domain.limits import MAX_FOLLOWED_BODIES
from modgraph.prediction.domain.objects import EnvironmentObject, ModuleObject
from modgraph.prediction.domain.values import (
    Address,
    ClassValue,
    FunctionValue,
    KnownClass,
    KnownFunction,
    ModuleReference,
    Unknown,
    Value,
)
from modgraph.prediction.paths.given_up import without_limit
from modgraph.source import nodes
from modgraph.source.quiet import literal_value
from modgraph.source.torch_names import REGISTERING

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_LOOPS = (nodes.For, nodes.While)
_HARMLESS = frozenset(
    (
        *("len", "isinstance", "issubclass", "hasattr", "getattr", "print", "range", "enumerate", "zip", "reversed"),
        *("sorted", "min", "max", "sum", "any", "all", "abs", "repr", "round", "super", "callable", "iter"),
    )
)
"""Builtins that change nothing that they are given."""
_ADDING = frozenset(
    (
        *("append", "extend", "items", "keys", "values", "size", "dim", "numel", "parameters", "named_parameters"),
        *("buffers", "named_buffers", "modules", "named_modules", "children", "named_children"),
        *("normal_", "uniform_", "zero_", "fill_", "copy_", "trunc_normal_", "mul_", "div_", "add_", "sub_", "clamp_"),
    )
)
"""Methods that change nothing of what is there: they add, give what is inside, or write elements."""
_PLAIN = frozenset(
    (
        *("len", "isinstance", "hasattr", "any", "all", "repr", "round", "int", "float", "str", "bool"),
        *("numel", "dim", "size"),
    )
)
"""Functions and methods that give no object that can be changed."""
_OWN = frozenset({"__init__", "train", "eval", "state_dict"})
"""Methods of nn.Module that change neither children nor tensors."""
_REGISTERING = REGISTERING | {"__setattr__", "__delattr__"}

Names = dict[str, tuple[frozenset[Address], bool]]
"""What a local name may lead to, and whether it is that itself and nothing inside of it."""
_NOTHING: tuple[frozenset[Address], bool] = (frozenset(), True)


def note(limit: BaseException, frame: Frame, block: Sequence[nodes.Node], running: nodes.Node) -> None:
    """A limit has ended a statement of a block: it and those after it were not run, or not to their end."""
    noted = limit.__dict__.setdefault("unfinished", [])
    place = next(index for index, each in enumerate(block) if each is running)
    rest = list(block[place + 1 :])
    inner = [begun for other, begun, _ in noted if other is frame]
    if isinstance(running, _LOOPS) or not inner or not any(nodes.blocks(running)):
        rest.insert(0, running)
    else:
        rest += _other_blocks(running, inner)
    noted.append((frame, block, rest))


def _other_blocks(node: nodes.Node, begun: list[Sequence[nodes.Node]]) -> Iterator[nodes.Node]:
    for block in nodes.blocks(node):
        if not any(block is each for each in begun):
            yield from block


def doubt(machine: Machine, limit: BaseException, why: Unknown) -> None:
    """Makes unknown what the statements that were not run may change."""
    reader = _Reader(machine)
    with without_limit(machine):
        for frame, _, rest in getattr(limit, "unfinished", ()):
            reader.read(frame.module, frame.function, frame.environment, {}, rest)
        for address, name in sorted(reader.stored, key=lambda each: (each[0].index, each[1])):
            module = machine.state.change(address, ModuleObject)
            for store in (module.modules, module.parameters, module.buffers, module.attributes):
                if name in store:
                    store[name] = points_to.either_of(replace(why, optional=True), (store[name],))
        machine.expose([Address(index) for index in sorted(each.index for each in reader.changed)], why)


class _Reader:
    """Gathers what statements store, and what they give to others."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.stored: set[tuple[Address, str]] = set()
        self.changed: set[Address] = set()
        self.n_followed = 0
        self.followed: set[tuple[object, frozenset[tuple[str, tuple[frozenset[Address], bool]]]]] = set()

    def read(
        self,
        module: str,
        function: FunctionValue | None,
        environment: Address | None,
        names: Mapping[str, tuple[frozenset[Address], bool]],
        statements: Iterable[nodes.Node],
    ) -> None:
        body = _Body(self, module, function, environment, dict(names))
        within = [node for statement in statements for node in nodes.walk(statement)]
        for _ in range(8):  # what is bound later in a loop counts for what stands before
            before = dict(body.names)
            for node in within:
                body.bind(node)
            if body.names == before:
                break
        for node in within:
            body.visit(node)

    def follow(self, function: FunctionValue, given: Names) -> bool:
        """Reads the body of a function; whether it could."""
        key = (function.definition, frozenset(given.items()))
        if key in self.followed:
            return True
        if self.n_followed >= MAX_FOLLOWED_BODIES or isinstance(function.definition.node, nodes.Lambda):
            return False
        self.n_followed += 1
        self.followed.add(key)
        definition = function.definition
        self.read(definition.module, function, function.closure, given, nodes.body_of(definition.node))
        return True


class _Body:
    """Statements of one function, of which names may lead to known objects."""

    def __init__(
        self, reader: _Reader, module: str, function: FunctionValue | None, environment: Address | None, names: Names
    ) -> None:
        self.reader, self.machine = reader, reader.machine
        self.module, self.function, self.environment, self.names = module, function, environment, names

    def bind(self, node: nodes.Node) -> None:
        if isinstance(node, nodes.Assign):
            for each in node.targets:
                self._bind(each, self.led_to(node.value))
        elif isinstance(node, (nodes.AnnAssign, nodes.NamedExpr)) and node.value is not None:
            self._bind(node.target, self.led_to(node.value))
        elif isinstance(node, (nodes.For, nodes.CompFor)):
            self._bind(node.target, (self.led_to(node.iter)[0], False))
        elif isinstance(node, nodes.WithItem) and node.asname is not None:
            self._bind(node.asname, (self.led_to(node.item)[0], False))

    def _bind(self, target: nodes.Node, found: tuple[frozenset[Address], bool]) -> None:
        if isinstance(target, nodes.Name):
            self._add(target.value, found)
        elif isinstance(target, nodes.Attribute):
            self._add(f".{target.attr}", found)
        elif isinstance(target, (nodes.Tuple, nodes.List)):
            for element in target.elements:
                self._bind(element, (found[0], False))
        elif isinstance(target, nodes.Starred):
            self._bind(target.value, (found[0], False))

    def _add(self, name: str, found: tuple[frozenset[Address], bool]) -> None:
        addresses, exact = self.names.get(name) or self._before(name)
        self.names[name] = (addresses | found[0], exact and found[1])

    def _before(self, name: str) -> tuple[frozenset[Address], bool]:
        """What a name led to where the limit was reached."""
        value = self._value(name)
        if value is None or name.startswith("."):
            return _NOTHING
        found = frozenset(Address(index) for index in points_to.objects_of((value,)))
        return found, isinstance(value, Address)

    def _value(self, name: str) -> Value | None:
        environment = self.environment
        while environment is not None:
            scope = self.machine.state.find(environment, EnvironmentObject)
            if scope is None or name in scope.names:
                return None if scope is None else scope.names[name]
            environment = scope.parent
        return None

    def led_to(self, node: nodes.Node) -> tuple[frozenset[Address], bool]:
        """The objects that the value of an expression is; or, where that is not exact, may be, hold or lie in."""
        if isinstance(node, nodes.Name):
            return self.names.get(node.value) or self._before(node.value)
        if isinstance(node, nodes.Attribute):
            return self._attribute(node)
        if nodes.is_super(node):
            receiver = self._receiver()
            return (frozenset() if receiver is None else frozenset([receiver])), True
        if isinstance(node, nodes.Call) and _last_name(node.func) in _PLAIN:
            return _NOTHING
        if isinstance(node, nodes.SimpleComp):
            return self.led_to(node.elt)[0], False
        parts = [self.led_to(child)[0] for child in node.children if not isinstance(child, nodes.Statement)]
        return frozenset().union(*parts), False

    def _receiver(self) -> Address | None:
        parameters = () if self.function is None else self.function.definition.parameters
        found = self.led_to(nodes.Name(parameters[0].name))[0] if parameters else frozenset()
        return next(iter(found)) if len(found) == 1 else None

    def _attribute(self, node: nodes.Attribute) -> tuple[frozenset[Address], bool]:
        above, exact = self.led_to(node.value)
        name = node.attr
        later = self.names.get(f".{name}", _NOTHING)
        if not exact:
            return above | later[0], False
        found = set(later[0])
        for address in above:
            item = self.machine.state.find(address, ModuleObject)
            stores = () if item is None else (item.attributes, item.modules, item.parameters, item.buffers)
            values = [store[name] for store in stores if name in store]
            if values:
                indices = points_to.objects_of(values)
                found.update(map(Address, indices))
                exact = exact and len(values) == 1 and (isinstance(values[0], Address) or not indices)
            elif f".{name}" not in self.names:
                found.add(address)
                exact = False
        return frozenset(found), exact and later[1]

    # ---- what is changed -------------------------------------------------------------------------------------------

    def visit(self, node: nodes.Node) -> None:
        if isinstance(node, nodes.Assign):
            for target in node.targets:
                self._store(target)
        elif isinstance(node, (nodes.AugAssign, nodes.For, nodes.Del)):
            self._store(node.target)
        elif isinstance(node, nodes.AnnAssign):
            self._store(node.target if node.value is not None else nodes.Name("_"))
        elif isinstance(node, nodes.WithItem) and node.asname is not None:
            self._store(node.asname)
        elif isinstance(node, nodes.Call):
            self._call(node)
        if isinstance(node, nodes.AugAssign):
            self.reader.changed |= self.led_to(node.target)[0]

    def _store(self, target: nodes.Node) -> None:
        if isinstance(target, (nodes.Tuple, nodes.List)):
            for element in target.elements:
                self._store(element)
        elif isinstance(target, nodes.Starred):
            self._store(target.value)
        elif isinstance(target, nodes.Attribute):
            self._stored(*self.led_to(target.value), target.attr)
        elif isinstance(target, nodes.Subscript):
            self.reader.changed |= self.led_to(target.value)[0]

    def _stored(self, objects: frozenset[Address], exact: bool, name: str) -> None:
        for address in objects:
            if exact and self.machine.state.find(address, ModuleObject) is not None:
                self.reader.stored.add((address, name))
            else:
                self.reader.changed.add(address)

    def _call(self, node: nodes.Call) -> None:
        name = node.func.attr if isinstance(node.func, nodes.Attribute) else ""
        arguments = [self.led_to(each.value) for each in node.args]
        if name in _ADDING:
            return
        of, exact = self.led_to(node.func.value) if isinstance(node.func, nodes.Attribute) else _NOTHING
        if isinstance(node.func, nodes.Name) and node.func.value in ("setattr", "delattr") and arguments:
            self._by_name(*arguments[0], node.args[1:2])
            return
        if name in _REGISTERING and of:
            self._by_name(of, exact, node.args[:1])
            return
        if name == "apply" and of and len(node.args) == 1 and self._applied(node.args[0].value, of):
            return
        callee = self._callee(node.func, of, exact)
        if _source_of(callee).startswith("torch.nn.utils.") and node.args:
            self._store(node.args[0].value)  # a parametrization changes the class
        if isinstance(callee, FunctionValue) and self._followed(callee, node, of):
            return
        if not _is_harmless(callee):
            self.reader.changed |= of.union(*(each for each, _ in arguments))

    def _applied(self, node: nodes.Expression, objects: frozenset[Address]) -> bool:
        """Reads a function that is called with each module below; whether it could."""
        of, exact = self.led_to(node.value) if isinstance(node, nodes.Attribute) else _NOTHING
        function = self._callee(node, of, exact)
        if not isinstance(function, FunctionValue):
            return False
        names = [each.name for each in function.definition.parameters]
        bound = 1 if of else 0
        given = dict(zip(names, [(of, exact)] * bound + [(objects, False)], strict=False))
        return len(names) > bound and self.reader.follow(function, given)

    def _by_name(self, objects: frozenset[Address], exact: bool, name: Sequence[nodes.Arg]) -> None:
        text = name[0].value if name else None
        value = literal_value(text.value) if isinstance(text, nodes.SimpleString) else None
        if isinstance(value, str):
            self._stored(objects, exact, value)
        else:
            self.reader.changed |= objects

    def _followed(self, function: FunctionValue, node: nodes.Call, of: frozenset[Address]) -> bool:
        parameters = function.definition.parameters
        names = {each.name for each in parameters}
        if any(each.star or (each.keyword is not None and each.keyword not in names) for each in node.args):
            return False
        bound = 1 if of else 0
        given: Names = {parameters[0].name: (of, True)} if of and parameters else {}
        positional = [each for each in node.args if each.keyword is None]
        if bound + len(positional) > len(parameters):
            return not any(self.led_to(each.value)[0] for each in node.args) and self.reader.follow(function, given)
        for parameter, each in zip(parameters[bound:], positional, strict=False):
            given[parameter.name] = self.led_to(each.value)
        for each in node.args:
            if each.keyword is not None:
                given[each.keyword] = self.led_to(each.value)
        return self.reader.follow(function, given)

    def _callee(self, node: nodes.Expression, of: frozenset[Address], exact: bool) -> Value | None:
        """What is called, where that is certain."""
        if isinstance(node, nodes.Name) and (node.value in self.names or self._value(node.value) is not None):
            return self._value(node.value) if node.value not in self.names else None
        if of:
            if not exact or len(of) != 1 or not isinstance(node, nodes.Attribute):
                return None
            return self._method(next(iter(of)), node)
        return attempt(self.machine, lambda: self._of_module(node), lambda _: None)

    def _method(self, address: Address, node: nodes.Attribute) -> Value | None:
        name = node.attr
        item = self.machine.state.find(address, ModuleObject)
        if item is None or any(name in store for store in (item.attributes, item.modules)):
            return None
        is_super = isinstance(node.value, nodes.Call) and self.function is not None
        after = self.function.owner if is_super and self.function is not None else None
        return attempt(self.machine, lambda: self.machine.class_attribute(item.cls, name, after), lambda _: None)

    def _of_module(self, node: nodes.Node) -> Value | None:
        if isinstance(node, nodes.Name):
            found = self.machine.find_attribute(ModuleReference(self.module), node.value)
            return found if found is not None else KnownFunction(f"builtins.{node.value}")
        if not isinstance(node, nodes.Attribute):
            return None
        of = self._of_module(node.value)
        return self.machine.find_attribute(of, node.attr) if isinstance(of, ModuleReference) else None


def _source_of(callee: Value | None) -> str:
    """Where a function is defined: "torch.nn.utils.parametrize."."""
    if isinstance(callee, FunctionValue):
        return f"{callee.definition.module}."
    return callee.name if isinstance(callee, KnownFunction) else ""


def _last_name(node: nodes.Expression) -> str:
    if isinstance(node, nodes.Attribute):
        return node.attr
    return node.value if isinstance(node, nodes.Name) else ""


def _is_harmless(callee: Value | None) -> bool:
    """It changes nothing of what it is given."""
    if not isinstance(callee, (KnownFunction, KnownClass, ClassValue, FunctionValue)):
        return False
    if isinstance(callee, FunctionValue):
        return callee.definition.module == "torch.nn.init"
    name = callee.name
    if name.startswith("builtins."):
        return isinstance(callee, KnownClass) or name.removeprefix("builtins.") in _HARMLESS
    if name.startswith("torch.nn.modules.") and isinstance(callee, KnownFunction):
        return last_name(name) in _OWN
    is_plain = name.startswith("torch.") and name.count(".") == 1
    return is_plain or name.startswith(("torch.nn.init.", "torch.nn.modules.", "torch.nn.functional.", "math."))
