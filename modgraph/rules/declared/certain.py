"""The part of a tree that its constructors say plainly: `self.block = Block(width)`, and the same in a container.

Whatever is there is in the tree of all configurations too. So a name that is found here fits, and the constructors need
not be followed, which costs a hundred times more. What is not found here says nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modgraph.rules.declared.following import Followed
from modgraph.rules.declared.functions import FUNCTIONS, locals_of
from modgraph.rules.declared.introducing import introducing
from modgraph.rules.declared.sources import Sources, assigned
from modgraph.rules.declared.tree import Tree
from modgraph.rules.declared.values import (
    NOTHING,
    NUMBERS,
    PARAMETER,
    Box,
    ClassOf,
    Elsewhere,
    Kind,
    Made,
    Values,
    holds_modules,
)
from modgraph.source.dotted_names import dotted
from modgraph.source.torch_names import CONTAINERS, torch_class

MAX_CLASSES = 200
_PARAMETERS = frozenset(("torch.nn.Parameter", "torch.nn.parameter.Parameter"))
_LISTS = ("ModuleList", "Sequential")


def certain_tree(sources: Sources, root: Kind) -> Tree:
    """What stands there plainly of the tree of a class."""
    followed = Followed(sources, introducing(sources, root))
    pending = [root]
    while pending and len(followed.stored) < MAX_CLASSES:
        kind = pending.pop()
        if kind in followed.stored or kind.torch is not None:
            continue
        stored = followed.stored.setdefault(kind, {})
        for owner, init in _constructors(followed, kind):
            reader = _Constructor(followed, kind, owner, init)
            for name, values in reader.stores():
                stored[name] = stored.get(name, NOTHING) | values
            pending += reader.made
    return Tree(followed, root)


def _constructors(followed: Followed, kind: Kind) -> Iterator[tuple[Kind, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Those that run for an instance: that of the class, and of each base as long as each calls the next."""
    for owner in followed.line(kind):
        nodes = [node for node in followed.sources.own(owner).get("__init__", ()) if isinstance(node, FUNCTIONS)]
        yield from ((owner, node) for node in nodes)
        if nodes and not all(map(_goes_on, nodes)):
            return


def _goes_on(init: ast.AST) -> bool:
    calls = (each.func for each in ast.walk(init) if isinstance(each, ast.Call))
    return any(isinstance(each, ast.Attribute) and each.attr == "__init__" for each in calls)


class _Constructor:
    """What one constructor stores on the object."""

    def __init__(
        self, followed: Followed, kind: Kind, owner: Kind, init: ast.FunctionDef | ast.AsyncFunctionDef
    ) -> None:
        self.followed = followed
        self.kind = kind
        self.owner = owner
        self.init = init
        self.receiver = init.args.args[0].arg if init.args.args else ""
        self.locals = locals_of(init)
        self.made: list[Kind] = []
        """The classes that it calls for that."""

    def stores(self) -> Iterator[tuple[str, Values]]:
        pending: list[ast.stmt] = list(self.init.body)
        while pending:
            node = pending.pop()
            if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
                continue
            for target, value in assigned(node):
                is_own = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)
                if value is not None and is_own and target.value.id == self.receiver:  # type: ignore[attr-defined]
                    yield target.attr, self._values(value)  # type: ignore[attr-defined]
            for part in ("body", "orelse", "finalbody"):
                pending += getattr(node, part, ())

    def _values(self, node: ast.expr) -> Values:
        if isinstance(node, ast.IfExp):
            return self._values(node.body) | self._values(node.orelse)
        if not isinstance(node, ast.Call):
            return NOTHING
        name = dotted(node.func)
        if name is None or name.partition(".")[0] in self.locals:
            return NOTHING
        found = self.followed.sources.dotted(self.owner, node.func)
        only = next(iter(found)) if len(found) == 1 else None
        if isinstance(only, Elsewhere):
            if only.path in _PARAMETERS:
                return frozenset([PARAMETER])
            only = ClassOf(Kind("", only.path)) if torch_class(only.path) else None
        if not isinstance(only, ClassOf):
            return NOTHING
        if only.kind.torch in CONTAINERS:
            return self._box(node, str(only.kind.torch))
        self.made.append(only.kind)
        return frozenset([Made(only.kind)])

    def _box(self, node: ast.Call, name: str) -> Values:
        """A list, or one behind another, of what stands in it."""
        if name not in _LISTS:
            return NOTHING
        items = [item for each in node.args for item in _items(each)]
        held = NOTHING.union(*map(self._values, items))
        if not holds_modules(held):
            return NOTHING
        box = Box((self.owner.file, node.lineno, node.col_offset, self.kind), name)
        self.followed.held[box] = {NUMBERS: held}
        return frozenset([box])


def _items(node: ast.expr) -> list[ast.expr]:
    """What an argument of a container puts into it."""
    if isinstance(node, ast.Starred):
        return _items(node.value)
    if isinstance(node, (ast.List, ast.Tuple)):
        return node.elts
    return [node.elt] if isinstance(node, (ast.ListComp, ast.GeneratorExp)) else [node]
