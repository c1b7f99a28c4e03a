"""What changed, as a picture: the new model with what was removed still in it, in the states of a diff.

The picture is an ordinary one, of a graph that holds both, with what is said of each module handed to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from modgraph.changes.model import Changed, Changes, Field, Renamed
from modgraph.changes.trees import Numbers, Tree
from modgraph.export.diff.facts import field_text, name_of
from modgraph.export.diff.words import said_fields
from modgraph.export.look.labels import LONGEST, class_title, cut_apart, cut_end
from modgraph.export.look.options import PictureOptions
from modgraph.export.look.parts import Mark
from modgraph.export.look.states import NOTE_LENGTH
from modgraph.graph.build import GraphBuilder
from modgraph.graph.index import GraphIndex
from modgraph.graph.model import Graph, ModuleNode
from modgraph.names import last_name

LONGEST_TARGET = 60
"""Characters of what stands beside the title of a picture."""


def render(changes: Changes) -> str:
    """The picture as SVG.

    Raises:
        ExportError: there is no Graphviz, or it failed.
    """
    from modgraph.export.picture import images

    graph, options = both(changes)
    return images.render(graph, options, "svg").decode("utf-8")


def mermaid(changes: Changes) -> str:
    """The picture as Mermaid text."""
    from modgraph.export.picture.mermaid import render as as_mermaid

    graph, options = both(changes)
    return as_mermaid(graph, options)


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
            found.setdefault(change.new, []).append(_changed(_note(change, fields)))
    for each in changes.rewritten:
        if each.new and each.new not in found:
            found[each.new] = [_changed(f"source of {', '.join(each.methods)} changed")]
    return {path: tuple(marks) for path, marks in found.items()}


def _note(change: Changed, fields: Sequence[Field]) -> str:
    """The first facts, as many as there is room for."""
    classes = change.old_class, change.new_class
    for shown in (2, 1):
        more = f" and {len(fields) - shown} more" if len(fields) > shown else ""
        words = ", ".join(field_text(field, classes) for field in fields[:shown]) + more
        if len(words) <= NOTE_LENGTH:
            return words
    return field_text(fields[0], classes, NOTE_LENGTH - len(more)) + more


def _changed(words: str) -> Mark:
    return Mark(state="changed", note=cut_end(words, NOTE_LENGTH))


def _before(one: Renamed) -> str:
    same_home = one.old.rpartition(".")[0] == one.new.rpartition(".")[0]
    return last_name(one.old) if same_home else name_of(one.old)


class _Union:
    """Puts the removed modules of the old graph into the new one, each at its place among its siblings."""

    def __init__(self, changes: Changes, old: Graph, new: Graph) -> None:
        self.changes = changes
        self.new = new
        self.old = Tree(old, Numbers(), {})
        self.pairs = dict(changes.pairs)
        index = GraphIndex(new)
        self.children = {path: [node.path for node in inside] for path, inside in index.children.items()}
        self.nodes = dict(index.modules)
        self.inside: dict[str, list[ModuleNode]] = {}
        """The modules below each of those that were removed."""
        self.removed_marks: dict[str, tuple[Mark, ...]] = {}
        removed = {one.path for one in changes.removed}
        for home in dict.fromkeys(self.old.parents[one.path] for one in changes.removed):
            self._put_back(home, removed)

    def graph(self) -> Graph:
        """The two as one; its title says that it is a diff."""
        builder = GraphBuilder.of(self.new)
        builder.modules[:] = self._in_order()
        old, new = self.changes.old, self.changes.new
        names = dict.fromkeys(cut_apart(class_title(old.name), class_title(new.name), LONGEST - len(" → ")))
        room = LONGEST_TARGET - len("what changed in  → ")
        targets = dict.fromkeys(filter(None, cut_apart(old.target or "", new.target or "", room)))
        target = f"what changed in {' → '.join(targets)}" if targets else "what changed"
        builder.model = replace(self.new.model, name=" → ".join(names), target=target)
        return builder.build()

    def _in_order(self) -> Iterator[ModuleNode]:
        pending = [self.new.modules[0].path]
        while pending:
            path = pending.pop()
            yield self.nodes[path]
            yield from self.inside.get(path, ())
            pending.extend(reversed(self.children.get(path, ())))

    def _put_back(self, home: str, removed: set[str]) -> None:
        """What was removed from one module, each behind what its nearest older sibling that stayed became."""
        parent = self.pairs[home]
        stayed = set(self.children[parent])
        behind: dict[str, list[str]] = {}
        beside = ""
        for child in self.old.children[home]:
            if child in removed:
                behind.setdefault(beside, []).append(self._put(child, parent))
            elif self.pairs.get(child) in stayed:
                beside = self.pairs[child]
        groups = [(one, *behind.get(one, ())) for one in self.children[parent]]
        self.children[parent] = [*behind.get("", ()), *(each for group in groups for each in group)]

    def _put(self, path: str, parent: str) -> str:
        name = self._free(parent, self.old.name(path))
        self.nodes[name] = self._node(path, name)
        below = (inner for inner in self.old.below(path) if inner not in self.pairs)
        self.inside[name] = [self._node(inner, name + inner[len(path) :]) for inner in below]
        self.removed_marks[name] = (Mark(state="removed"),)
        return name

    def _free(self, parent: str, name: str) -> str:
        path = f"{parent}.{name}" if parent else name
        if path in self.nodes:
            path += " (old)"
        while path in self.nodes:
            path += "'"
        return path

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
