"""What a function may change that is handed to code which is not known: objects that its own names lead to."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from modgraph.prediction.domain.calling import Raised
from modgraph.prediction.domain.objects import EnvironmentObject
from modgraph.prediction.domain.values import NONE, Address, BoundMethod, FunctionValue, KnownFunction, Unknown, Value
from modgraph.source import nodes

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


def expose_closure(machine: Machine, function: FunctionValue, why: Unknown) -> list[Value]:
    """What else has to be exposed; attributes that the function sets, and names that it rebinds, are set to unknown."""
    further: list[Value] = [value for _, value in function.defaults]
    if function.closure is None:
        return further
    for kind, chain in _chains(function.definition.node):
        owner = _environment_of(machine, function.closure, chain[0])
        if owner is None:
            continue
        if kind == "rebound":
            machine.state.change(owner, EnvironmentObject).names[chain[0]] = why
        elif kind == "set" and len(chain) > 1:
            _set(machine, _value(machine, owner, chain[:-1]), chain[-1], why)
        elif kind == "called":
            further.extend(_called(_value(machine, owner, chain)))
        else:
            further.append(_value(machine, owner, chain))
    return further


def _called(value: Value) -> Iterator[Value]:
    """Calling a module runs its `forward`, which registers nothing; a method may change its receiver."""
    if isinstance(value, BoundMethod):
        if isinstance(value.function, (FunctionValue, KnownFunction)):
            yield value.receiver
    elif not isinstance(value, Address):
        yield value


def _set(machine: Machine, value: Value, name: str, why: Unknown) -> None:
    """The function may have set the attribute when it was called, if it was."""

    def assign() -> Value:
        machine.set_attribute(value, name, why)
        return NONE

    machine.fork([lambda: NONE, assign], why.reason)


def _environment_of(machine: Machine, closure: Address, name: str) -> Address | None:
    address: Address | None = closure
    while address is not None:
        environment = machine.state.read(address)
        assert isinstance(environment, EnvironmentObject)
        if name in environment.names:
            return address
        address = environment.parent
    return None


def _value(machine: Machine, owner: Address, chain: tuple[str, ...]) -> Value:
    """What `name.a.b` leads to; of what cannot be followed, the last object before."""
    environment = machine.state.read(owner)
    assert isinstance(environment, EnvironmentObject)
    value = environment.names[chain[0]]
    for name in chain[1:]:
        try:
            found = machine.find_attribute(value, name)
        except Raised:
            found = None
        if found is None:
            return value
        value = found
    return value


@lru_cache(maxsize=1024)  # walking through a long function takes as long as running it
def _chains(node: nodes.Node) -> list[tuple[str, tuple[str, ...]]]:
    """`name.a.b` for every use of a name in the function, and what is done with it: "rebound", "set", "called" or
    "read". Names of its own are among them; the caller knows which are free."""
    finder = _Finder()
    finder.visit(node)
    return list(dict.fromkeys(each for each in finder.found if each[1][0] not in finder.own or each[0] == "rebound"))


class _Finder(nodes.Visitor):
    def __init__(self) -> None:
        self.found: list[tuple[str, tuple[str, ...]]] = []
        self.own: set[str] = set()

    def visit_Param(self, node: nodes.Param) -> bool:  # noqa: N802 - after the kind of node
        self.own.add(node.name)
        if node.default is not None:
            self.visit(node.default)
        return False

    def visit_Nonlocal(self, node: nodes.Nonlocal) -> None:  # noqa: N802
        self.found.extend(("rebound", (name,)) for name in node.names)

    def visit_Assign(self, node: nodes.Assign) -> bool:  # noqa: N802
        for target in node.targets:
            self._target(target)
        self.visit(node.value)
        return False

    def visit_AnnAssign(self, node: nodes.AnnAssign) -> bool:  # noqa: N802
        if node.value is not None:
            self.visit(node.value)
        return self._target(node.target)

    def visit_AugAssign(self, node: nodes.AugAssign) -> bool:  # noqa: N802
        self.visit(node.value)
        self.visit(node.target)
        return self._target(node.target)

    def visit_Del(self, node: nodes.Del) -> bool:  # noqa: N802
        return self._target(node.target)

    def _target(self, node: nodes.Expression) -> bool:
        chain = _chain(node)
        if chain is None:
            self.visit(node)
        elif len(chain) > 1:
            self.found.append(("set", chain))
        return False

    def visit_Call(self, node: nodes.Call) -> bool:  # noqa: N802
        chain = _chain(node.func)
        if chain is None:
            return True
        self.found.append(("called", chain))
        for argument in node.args:
            self.visit(argument)
        return False

    def visit_Attribute(self, node: nodes.Attribute) -> bool:  # noqa: N802
        chain = _chain(node)
        if chain is not None:
            self.found.append(("read", chain))
        return chain is None

    def visit_Name(self, node: nodes.Name) -> None:  # noqa: N802
        self.found.append(("read", (node.value,)))


def _chain(node: nodes.Expression) -> tuple[str, ...] | None:
    names: list[str] = []
    while isinstance(node, nodes.Attribute):
        names.append(node.attr)
        node = node.value
    return (node.value, *reversed(names)) if isinstance(node, nodes.Name) else None
