"""What a change did, as a picture: the new model with what was removed still in it, in the states of a diff.

The picture is an ordinary one, of a graph that holds both, with what is said of each module handed to it.
"""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import replace

from modgraph.changes.model import Changes, Renamed
from modgraph.changes.trees import Numbers, Tree
from modgraph.export.diff_facts import field_text, name_of
from modgraph.export.diff_words import said_fields
from modgraph.export.labels import class_title, cut_end
from modgraph.export.parts import Mark
from modgraph.export.picture import PictureOptions
from modgraph.export.states import NOTE_LENGTH
from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import Graph, ModuleNode


def render(changes: Changes) -> str:
    """The picture as SVG.

    Raises:
        ExportError: there is no Graphviz, or it failed.
    """
    from modgraph.export import images

    graph, options = both(changes)
    return images.render(graph, options, "svg").decode("utf-8")


def mermaid(changes: Changes) -> str:
    """The picture as Mermaid text; "" where this modgraph writes none."""
    if importlib.util.find_spec("modgraph.export.mermaid") is None:
        return ""
    graph, options = both(changes)
    return str(importlib.import_module("modgraph.export.mermaid").render(graph, options))


def both(changes: Changes) -> tuple[Graph, PictureOptions]:
    """The new graph with the removed modules in it, and what is said of each module.

    Raises:
        ValueError: the changes were not made by comparing graphs.
    """
    if changes.graphs is None:
        raise ValueError("only changes that hold their two graphs can be drawn")
    union = _Union(changes, *changes.graphs)
    said = {**union.removed_marks, **_marks(changes)}
    return union.graph(), PictureOptions(said=said)


def _marks(changes: Changes) -> dict[str, tuple[Mark, ...]]:
    """By path in the new graph; what is true of a module since it is of the one around it is said of the outer one."""
    found: dict[str, list[Mark]] = {one.path: [Mark(state="added")] for one in changes.added}
    named = [*((one, "renamed from") for one in changes.renamed), *((one, "moved from") for one in changes.moved)]
    for one, words in named:
        found.setdefault(one.new, []).append(_changed(f"{words} {_before(one)}"))
    for change in changes.changed:
        fields = said_fields(change)
        if change.new:
            more = f" and {len(fields) - 2} more" if len(fields) > 2 else ""
            words = ", ".join(field_text(field) for field in fields[:2]) + more
            found.setdefault(change.new, []).append(_changed(words))
    for each in changes.rewritten:
        if each.new and each.new not in found:
            found[each.new] = [_changed(f"source of {', '.join(each.methods)} changed")]
    return {path: tuple(marks) for path, marks in found.items()}


def _changed(words: str) -> Mark:
    return Mark(state="changed", note=cut_end(words, NOTE_LENGTH))


def _before(one: Renamed) -> str:
    same_home = one.old.rpartition(".")[0] == one.new.rpartition(".")[0]
    return one.old.rpartition(".")[2] if same_home else name_of(one.old)


class _Union:
    """Puts the removed modules of the old graph into the new one, each at its place among its siblings."""

    def __init__(self, changes: Changes, old: Graph, new: Graph) -> None:
        self.changes = changes
        self.new = new
        self.old = Tree(old, Numbers(), {})
        self.pairs = dict(changes.pairs)
        self.modules = list(new.modules)
        self.taken = {node.path for node in new.modules}
        self.removed_marks: dict[str, tuple[Mark, ...]] = {}
        for one in changes.removed:
            self._put(one.path)

    def graph(self) -> Graph:
        """The two as one; its title says that it is a diff."""
        builder = GraphBuilder.of(self.new)
        builder.modules[:] = self.modules
        names = dict.fromkeys([class_title(self.changes.old.name), class_title(self.changes.new.name)])
        targets = dict.fromkeys(filter(None, [self.changes.old.target, self.changes.new.target]))
        target = f"what changed in {' → '.join(targets)}" if targets else "what changed"
        builder.model = replace(self.new.model, name=" → ".join(names), target=target)
        return builder.build()

    def _put(self, path: str) -> None:
        parent = self.pairs[self.old.parents[path]]
        name = self._free(parent, self.old.name(path))
        place = self._place(path, parent)
        inside = [path, *(inner for inner in self.old.below(path) if inner not in self.pairs)]
        nodes = [self._node(inner, name + inner[len(path) :]) for inner in inside]
        self.modules[place:place] = nodes
        self.taken.update(node.path for node in nodes)
        self.removed_marks[name] = (Mark(state="removed"),)

    def _free(self, parent: str, name: str) -> str:
        path = f"{parent}.{name}" if parent else name
        if path in self.taken:
            path += " (old)"
        while path in self.taken:
            path += "'"
        return path

    def _place(self, path: str, parent: str) -> int:
        """Behind what its nearest older sibling became, else before all other children."""
        siblings = self.old.children[self.old.parents[path]]
        before = [self.pairs[one] for one in siblings[: siblings.index(path)] if one in self.pairs]
        positions = {node.path: place for place, node in enumerate(self.modules)}
        beside = next((one for one in reversed(before) if one.rpartition(".")[0] == parent), None)
        if beside is None:
            return positions[parent] + 1
        below = [place for one, place in positions.items() if one == beside or one.startswith(f"{beside}.")]
        return max(below) + 1

    def _node(self, path: str, name: str) -> ModuleNode:
        root = self.new.modules[0]
        node = self.old.nodes[path]
        return replace(
            node,
            path=name,
            predicted=root.predicted,
            observed=root.observed,
            alias_of=None,
            calls=(),
            repeat=None,
            parameters=tuple(replace(held, alias_of=None) for held in node.parameters),
            buffers=tuple(replace(held, alias_of=None) for held in node.buffers),
        )
