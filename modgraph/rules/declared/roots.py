"""The tree of one class, built with arguments of which nothing is known but what its constructor does with them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modgraph.rules.declared.certain import certain_tree
from modgraph.rules.declared.following import Followed, TooMuchError
from modgraph.rules.declared.functions import Arguments
from modgraph.rules.declared.introducing import introducing
from modgraph.rules.declared.sources import Sources, assigned, members_of
from modgraph.rules.declared.table import CONFIGURATION, CONFIGURATION_CLASS
from modgraph.rules.declared.tree import Tree
from modgraph.rules.declared.values import ONLY_DATA, ONLY_NONE, ONLY_OPEN, Kind, Values

_ENOUGH_READ = 2
"""Attributes of an argument that are read where it is a configuration."""


class Trees:
    """Trees of classes, each made once."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self._made: dict[Kind, Tree | None] = {}
        self._certain: dict[Kind, Tree] = {}

    def tree(self, kind: Kind) -> Tree | None:
        """None where it is too much."""
        if kind not in self._made:
            self._made[kind] = self._make(kind)
        return self._made[kind]

    def certain(self, kind: Kind) -> Tree:
        """What of it its constructors say plainly."""
        if kind not in self._certain:
            self._certain[kind] = certain_tree(self.sources, kind)
        return self._certain[kind]

    def _make(self, kind: Kind) -> Tree | None:
        followed = Followed(self.sources, introducing(self.sources, kind))
        try:
            followed.follow(kind, self._arguments(followed, kind))
        except TooMuchError:
            return None
        return Tree(followed, kind)

    def _arguments(self, followed: Followed, kind: Kind) -> Arguments:
        """What the constructor may be given, by name."""
        for each in followed.line(kind):
            for node in self.sources.nodes(each):
                for member in members_of(node):
                    if isinstance(member, ast.FunctionDef) and member.name == "__init__":
                        return Arguments(names=tuple(self._parameters(each, member)))
        return Arguments(more=ONLY_DATA)

    def _parameters(self, kind: Kind, init: ast.FunctionDef) -> Iterator[tuple[str, Values]]:
        taken = init.args
        places = [*taken.posonlyargs, *taken.args]
        defaults: dict[str, ast.expr | None] = dict(
            zip([each.arg for each in reversed(places)], reversed(taken.defaults), strict=False)
        )
        defaults |= {a.arg: d for a, d in zip(taken.kwonlyargs, taken.kw_defaults, strict=True)}
        for each in (*places[1:], *taken.kwonlyargs):
            yield each.arg, self._parameter(kind, init, each, defaults.get(each.arg))

    def _parameter(self, kind: Kind, init: ast.FunctionDef, taken: ast.arg, default: ast.expr | None) -> Values:
        annotations = [taken.annotation] if taken.annotation is not None else self._of_the_class(kind, taken.arg)
        if not annotations and taken.arg == CONFIGURATION:
            annotations = [
                value
                for _, node in self.sources.members(kind, CONFIGURATION_CLASS)
                for _, value in assigned(node)
                if value is not None
            ]
        for each in annotations:
            found = self.sources.by_annotation(kind, each)
            if found is not None:
                return found or ONLY_NONE
        if isinstance(default, ast.Constant) and default.value is not None:
            return ONLY_NONE
        read, is_called = _uses(init, taken.arg)
        if len(read) >= _ENOUGH_READ and not is_called and "config" not in read and not annotations:
            return ONLY_DATA
        return ONLY_OPEN

    def _of_the_class(self, kind: Kind, name: str) -> list[ast.expr]:
        """The annotation of an attribute that is called as an argument."""
        nodes = [node for _, node in self.sources.members(kind, name)]
        return [node.annotation for node in nodes if isinstance(node, ast.AnnAssign)]


def _uses(init: ast.FunctionDef, name: str) -> tuple[set[str], bool]:
    """Attributes that are read of an argument, and whether it is called."""
    read: set[str] = set()
    is_called = False
    for node in ast.walk(init):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name:
            read.add(node.attr)
        is_called = is_called or (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
        )
    return read, is_called
