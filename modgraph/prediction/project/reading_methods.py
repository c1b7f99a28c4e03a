"""Methods of a class that only read the object: what calls one fills no container that hangs on it.

A method is one where its source uses `self` for nothing but to look for a key, read an item, or call another such
method. What is handed on, kept or returned may be filled by others, and is no reading.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from modgraph.names import last_name
from modgraph.prediction.domain.values import ClassValue, FunctionValue, KnownFunction, Value
from modgraph.source import containers, nodes

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_OPERATORS = frozenset(("__contains__", "__getitem__", "__len__"))


def reads_alone(machine: Machine, cls: Value, name: str) -> bool:
    """The method of that name, as the class has it, is followed to read alone."""
    return _Reading(machine, cls).method(machine.class_attribute(cls, name), name)


class _Reading:
    def __init__(self, machine: Machine, cls: Value) -> None:
        self._machine = machine
        self._cls = cls
        self._asked: set[int] = set()

    def method(self, found: Value | None, name: str) -> bool:
        if isinstance(found, KnownFunction):  # of what an abstract class has, the operators below are asked
            known = containers.READING | _OPERATORS
            return last_name(found.name) in known and (name == "__getitem__" or self._named("__getitem__"))
        node = found.definition.statement if isinstance(found, FunctionValue) else None
        if not isinstance(node, nodes.FunctionDef) or node.decorators or not node.params.params:
            return False
        if id(node) in self._asked:  # which is looked at already
            return True
        self._asked.add(id(node))
        this = node.params.params[0].name
        return this not in node.local_names and all(self._reads(each, this) for each in node.body)

    def _named(self, name: str) -> bool:
        return self.method(self._machine.class_attribute(self._cls, name), name)

    def _reads(self, node: nodes.Node, this: str) -> bool:
        match node:
            case nodes.Name(value=name):
                return name != this
            case nodes.Assign(targets=targets) if any(_is_of(each, this) for each in targets):
                return False
            case nodes.AnnAssign(target=target) | nodes.AugAssign(target=target) | nodes.Del(target=target) if _is_of(
                target, this
            ):
                return False
            case nodes.Call(func=nodes.Attribute(value=receiver, attr=attr), args=args) if self._is_self(
                receiver, this
            ):
                return self._calls(receiver, attr) and all(self._reads(each, this) for each in args)
            case nodes.Comparison(left=left, comparisons=comparisons):
                return self._reads(left, this) and all(self._compares(each, this) for each in comparisons)
            case nodes.Subscript(value=value, slice=place):
                held = self._named("__getitem__") if _is_name(value, this) else _is_held(value, this)
                return (held or self._reads(value, this)) and self._reads(place, this)
            case _:
                return all(self._reads(each, this) for each in node.children)

    def _compares(self, each: nodes.ComparisonTarget, this: str) -> bool:
        if each.operator in ("in", "not in"):
            if _is_name(each.comparator, this):
                return self._named("__contains__")
            if _is_held(each.comparator, this):
                return True
        return self._reads(each.comparator, this)

    def _is_self(self, node: nodes.Node, this: str) -> bool:
        return _is_name(node, this) or nodes.is_super(node)

    def _calls(self, receiver: nodes.Node, attr: str) -> bool:
        """Of `super()`, each class that has the method counts: which of them is meant depends on where it stands."""
        if not nodes.is_super(receiver):
            return self._named(attr)
        bases = [each for each in self._machine.mro(self._cls) if isinstance(each, ClassValue)]
        own = [each for each in (self._machine.own_attribute(base, attr) for base in bases) if each is not None]
        is_known = attr in containers.READING | _OPERATORS
        return is_known and all(self.method(each, attr) for each in own) and self._named("__getitem__")


def _is_name(node: nodes.Node, this: str) -> bool:
    return isinstance(node, nodes.Name) and node.value == this


def _is_held(node: nodes.Node, this: str) -> bool:
    """`self.table`."""
    return isinstance(node, nodes.Attribute) and _is_name(node.value, this)


def _is_of(node: nodes.Node, this: str) -> bool:
    """What is set or deleted hangs on the object, or on several targets of which one may."""
    while isinstance(node, nodes.Attribute | nodes.Subscript):
        node = node.value
    return not isinstance(node, nodes.Name) or node.value == this
