"""What is in a thing, and what its attributes are."""

from __future__ import annotations

import ast

from modgraph.rules.declared.functions import (
    FUNCTIONS,
    Arguments,
)
from modgraph.rules.declared.machine import Machine
from modgraph.rules.declared.sources import assigned
from modgraph.rules.declared.torch_trees import children_of
from modgraph.rules.declared.values import (
    ANY,
    DATA,
    NONE,
    NOTHING,
    NUMBER,
    NUMBERS,
    ONLY_DATA,
    ONLY_NONE,
    ONLY_OPEN,
    OPEN,
    Above,
    Atom,
    Bound,
    Box,
    ClassOf,
    Elsewhere,
    File,
    Given,
    Kind,
    Made,
    Text,
    Values,
    may_be_named,
)


class Objects(Machine):
    """Attributes and items."""

    def items(self, values: Values, whole: bool = False) -> Values:
        """What is in it."""
        found: set[Atom] = set()
        for value in values:
            if isinstance(value, Box):
                found.update(*self.held_in(value).values())
                if whole:
                    found.add(value)
            elif isinstance(value, Made):
                found |= self._item(value)
            elif isinstance(value, Given):
                found.add(DATA)
            elif isinstance(value, Above):
                found |= self.stored_as(value.receiver, NUMBERS) or NOTHING
            else:
                found.add(value)
        return frozenset(found)

    def _item(self, value: Made) -> Values:
        kind = value.kind
        method = self.found(kind, "__getitem__") or self.found(kind, "__iter__")
        held = self.stored_as(kind, NUMBERS) or NOTHING
        for owner, node in method:
            if isinstance(node, FUNCTIONS):
                held |= self.call(self.code_at(owner.file, node, owner), kind, Arguments((ONLY_DATA,)), bound=True)
        # A list of instances is the same as the instances.
        return held | frozenset([value])

    def attribute(self, values: Values, name: str) -> Values:
        found: set[Atom] = set()
        for value in values:
            found |= self._attribute(value, name)
        return frozenset(found)

    def _attribute(self, value: Atom, name: str) -> Values:
        if isinstance(value, Made):
            return self._of_instance(value.kind, name)
        if isinstance(value, ClassOf):
            return self._of_class(value.kind, name)
        if isinstance(value, Above):
            return self.above(value, name)
        if isinstance(value, File):
            return self.known(self.sources.below(value.file, name))
        if isinstance(value, Elsewhere):
            return frozenset([Elsewhere(f"{value.path}.{name}")])
        if isinstance(value, Given):
            return self.sources.field(value.kind, name)
        if isinstance(value, Box):
            return may_be_named(self.held_in(value), name) or ONLY_NONE
        if value is NONE or value is NUMBER or isinstance(value, Text):
            return ONLY_NONE
        return ONLY_OPEN if value is OPEN else ONLY_DATA

    def _of_instance(self, kind: Kind, name: str) -> Values:
        if name == "__class__":
            return frozenset([ClassOf(kind)])
        if kind.torch is not None:
            own = children_of(kind.torch)
            held = (self.stored_as(kind, name) or NOTHING) | own.get(name, NOTHING) | own.get(ANY, NOTHING)
            return held or self.stored_anywhere(name) or ONLY_NONE
        found = (self.stored_as(kind, name) or NOTHING) | self.stored_anywhere(name)
        for owner, node in self.found(kind, name):
            found |= self.member(owner, node, kind)
        if not found:
            found = self.stored_openly(kind)
        if not found:
            self.read.add(("all",))
        if not found and self.is_all:
            is_data = (
                not self.sources.is_module(kind) or name in ("config", "training") or self._is_stored_above(kind, name)
            )
            found = ONLY_DATA if is_data else ONLY_OPEN
        return found

    def _is_stored_above(self, kind: Kind, name: str) -> bool:
        """A class that is not followed assigns it."""
        line = self.sources.line(kind)[0]
        for each in line[len(self.line(kind)) :]:
            for _, node in self.sources.members(each, "__init__"):
                for below in ast.walk(node):
                    if isinstance(below, ast.Attribute) and below.attr == name and isinstance(below.ctx, ast.Store):
                        return True
        return False

    def member(self, owner: Kind, node: ast.stmt, kind: Kind, is_class: bool = False) -> Values:
        """What stands in the body of a class under a name."""
        if isinstance(node, ast.ClassDef):
            return frozenset([ClassOf(Kind(owner.file, f"{owner.name}.{node.name}"))])
        if isinstance(node, FUNCTIONS):
            code = self.code_at(owner.file, node, owner)
            names = {ast.unparse(each).rpartition(".")[2] for each in node.decorator_list}
            if "staticmethod" in names:
                return frozenset([code])
            if names & {"property", "cached_property"} and not is_class:
                return self.call(code, kind, Arguments(), bound=True)
            return frozenset([Bound(code, kind, is_class and "classmethod" not in names)])
        found: Values = NOTHING
        for _, value in assigned(node):
            if value is not None:
                found |= self.value(value, self.top_of(owner.file))
        return found

    def _of_class(self, kind: Kind, name: str) -> Values:
        found: Values = NOTHING
        line = self.sources.line(kind)[0]  # methods of classes are followed in all of them
        for each in line:
            pairs = [(each, node) for node in self.sources.own(each).get(name, ())]
            for owner, node in pairs:
                found |= self.member(owner, node, kind, is_class=True)
            if pairs:
                break
        if found or name in ("__name__", "__module__", "__qualname__", "__doc__"):
            return found or ONLY_DATA
        is_data = self.sources.is_module(kind) is False
        return ONLY_DATA if is_data else ONLY_OPEN

    def above(self, value: Above, name: str) -> Values:
        found: Values = NOTHING
        for owner, node in self.found(value.receiver, name, value.owner):
            found |= self.member(owner, node, value.receiver)
        return found
