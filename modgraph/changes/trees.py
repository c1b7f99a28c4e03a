"""A graph as the tree that is matched, and fingerprints of its subtrees.

What was predicted and the live model has not is left out, and so are places where further children may stand: those are
asked for by `opening.py`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Mapping
from functools import cached_property

from modgraph.graph.codec import encode
from modgraph.graph.index import GraphIndex, name_below
from modgraph.graph.model import BufferInfo, Graph, ModuleNode, ParameterInfo
from modgraph.graph.numbering import numbering_of
from modgraph.graph.paths import is_open_place
from modgraph.graph.sizes import elements


class Numbers:
    """Gives equal things one number. Two trees that are compared share one of these."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def of(self, thing: Hashable) -> int:
        """The number of `thing`."""
        return self._numbers.setdefault(thing, len(self._numbers))


class Tree:
    """The modules of one graph, their children, and what identifies them apart from their names.

    Args:
        homes: classes that are the other graph's under another import path, by the name that both share.
    """

    def __init__(self, graph: Graph, numbers: Numbers, homes: Mapping[str, str]) -> None:
        self.graph = graph
        self.index = GraphIndex(graph)
        self.nodes: dict[str, ModuleNode] = {}
        self.parents: dict[str, str] = {}
        self.children: dict[str, list[str]] = {}
        self._numbers = numbers
        self._homes = homes
        for node in graph.modules:
            parent = self.index.parents[node.path]
            gone = is_open_place(node.path) or node.observed is False
            if node.path and (gone or parent not in self.nodes):
                continue
            self.nodes[node.path] = node
            self.children[node.path] = []
            if parent is not None:
                self.parents[node.path] = parent
                self.children[parent].append(node.path)
        self.position = {path: place for place, path in enumerate(self.nodes)}

    def name(self, path: str) -> str:
        """What its parent calls it."""
        return name_below(path, self.parents[path])

    def class_of(self, path: str) -> str | None:
        """Its class, by a name that both graphs share."""
        name = self.nodes[path].class_name
        return None if name is None else self._homes.get(name, name)

    def literal(self, value: object) -> str:
        """An argument as text that is equal where the values are, and of one type."""
        if isinstance(value, Mapping) and value.keys() == {"$ref"} and isinstance(value["$ref"], str):
            value = {"$ref": self._homes.get(value["$ref"], value["$ref"])}
        return json.dumps(encode(value), sort_keys=True, default=str)

    @cached_property
    def facts(self) -> dict[str, tuple[Hashable, ...]]:
        """What each module says of itself, apart from its path: class, and single facts to count agreement by."""
        numbering = numbering_of(self.index)
        found: dict[str, tuple[Hashable, ...]] = {}
        for path, node in self.nodes.items():
            place = numbering.get(path, {})
            arguments = [(key, self.literal(value)) for key, value in node.arguments.items() if key not in place]
            held = [(tensor.name, str(tensor.shape)) for tensor in held_by(node)]
            found[path] = (self.class_of(path), node.alias_of is None, *sorted(arguments), *held)
        return found

    @cached_property
    def prints(self) -> dict[str, int]:
        """A number per subtree, equal where class, arguments, shapes and children are."""
        found: dict[str, int] = {}
        for path in reversed(self.nodes):
            inner = tuple((self.name(child), found[child]) for child in self.children[path])
            found[path] = self._numbers.of((self.facts[path], inner))
        return found

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Modules in each subtree, itself included."""
        found: dict[str, int] = {}
        for path in reversed(self.nodes):
            found[path] = 1 + sum(found[child] for child in self.children[path])
        return found

    @cached_property
    def has_tensors(self) -> dict[str, bool]:
        """Whether a subtree holds a parameter or buffer."""
        found: dict[str, bool] = {}
        for path in reversed(self.nodes):
            node = self.nodes[path]
            own = bool(node.parameters or node.buffers)
            found[path] = own or any(found[child] for child in self.children[path])
        return found

    @cached_property
    def names_alone(self) -> bool:
        """Whether no class is known: a file of weights, which need not have the layers without weights either."""
        return all(node.class_name is None for node in self.nodes.values())

    @cached_property
    def parameters(self) -> dict[str, int | None]:
        """Elements of the parameters in each subtree, tied ones once; None where one is not known."""
        found: dict[str, int | None] = {}
        for path in reversed(self.nodes):
            found[path] = added(own_parameters(self.nodes[path]), *(found[child] for child in self.children[path]))
        return found

    @cached_property
    def own(self) -> dict[str, int | None]:
        """Elements of each module's own parameters that the model's total counts: none of a hidden one's."""
        found: dict[str, int | None] = {}
        hidden: set[str] = set()
        for path, node in self.nodes.items():
            if not node.registered or self.parents.get(path) in hidden:
                hidden.add(path)
            found[path] = 0 if path in hidden else own_parameters(node)
        return found

    def inner_prints(self, path: str) -> Counter[int]:
        """The fingerprints of all modules below `path`."""
        return Counter(self.prints[below] for below in self.below(path))

    def below(self, path: str) -> list[str]:
        """Paths of all modules below `path`, in order."""
        found: list[str] = []
        pending = list(reversed(self.children[path]))
        while pending:
            inner = pending.pop()
            found.append(inner)
            pending.extend(reversed(self.children[inner]))
        return found


def shared_homes(old: Graph, new: Graph) -> tuple[dict[str, str], dict[str, str]]:
    """For each graph, classes of the model's own file where that has another name on the other side.

    Two copies of a file are compared as one file: `old.Block` is `new.Block`. Where either side has both, they are two.
    """
    names = [{node.class_name for node in graph.modules if node.class_name} for graph in (old, new)]
    homes = [(graph.modules[0].class_name or "").rpartition(".")[0] for graph in (old, new)]
    found: tuple[dict[str, str], dict[str, str]] = ({}, {})
    if homes[0] == homes[1] or "" in homes:
        return found
    for name in names[0]:
        rest = name.removeprefix(homes[0])
        other = f"{homes[1]}{rest}"
        if rest != name and rest[:1] == "." and other in names[1] and other not in names[0] and name not in names[1]:
            found[0][name] = found[1][other] = rest
    return found


def held_by(node: ModuleNode) -> list[ParameterInfo | BufferInfo]:
    """The parameters and buffers that a module registers itself."""
    return [*node.parameters, *node.buffers]


def own_parameters(node: ModuleNode) -> int | None:
    """Elements of the parameters that a module registers itself, tied ones and other names of it not counted."""
    if node.alias_of is not None:
        return 0
    if node.class_is_open:
        return None
    return added(*(elements(held.shape) for held in node.parameters if held.alias_of is None))


def added(*numbers: int | None) -> int | None:
    """Their sum; None where one is not known."""
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None
