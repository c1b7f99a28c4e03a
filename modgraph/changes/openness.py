"""What a graph leaves open: where there may be more than it shows, and facts that it does not know."""

from __future__ import annotations

from modgraph.changes.trees import Tree
from modgraph.graph.model import IN_ANY_ORDER, MAY_HIDE, BufferInfo, ParameterInfo, Shape
from modgraph.graph.paths import is_open_place

MAY_HAVE = "may have a child"
"""In the message of a problem: the child is shown, and need not be there."""


class Openness:
    """Asks one graph what it does not know of a module."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.reasons: dict[str, str] = {}
        self._said: dict[str, list[str]] = {}
        self._written: dict[str, str] = {}
        self.whole = ""
        self._hiding: dict[str, str] = {}
        for problem in tree.graph.open_places:
            if problem.stage != "predict" or tree.graph.traced or IN_ANY_ORDER in problem.message:
                continue
            if problem.file is not None:
                place = f"{problem.file}:{problem.line}" if problem.line else problem.file
                self._written.setdefault(problem.message, place)
            if problem.module is None:
                self.whole = self.whole or problem.message
            else:
                self.reasons.setdefault(problem.module, problem.message)
                if MAY_HIDE in problem.message:
                    self._hiding.setdefault(problem.module, problem.message)
                self._said.setdefault(problem.module, []).append(problem.message)
        self._places = {
            tree.index.parents[node.path]: node.path for node in tree.graph.modules if is_open_place(node.path)
        }

    def children_of(self, path: str) -> str | None:
        """Why `path` may have children that are not shown; None where it has none."""
        node = self.tree.nodes[path]
        if self.whole:
            return self.whole
        if path in self._places:
            return self.reasons.get(self._places[path]) or self.reasons.get(path) or "there may be further modules"
        if node.class_is_open:
            return self.reason(path) or "its class is not known"
        return None

    def hidden_in(self, path: str) -> str | None:
        """Why `path` may hold modules without registering them that are not shown; None where it holds none."""
        return self._hiding.get(path) or self.children_of(path)

    def is_inside_open(self, path: str) -> bool:
        """Whether the class of a module around `path` is not known: of one of several, it is what some have."""
        around = self.tree.parents.get(path)
        while around is not None:
            if self.tree.nodes[around].class_is_open:
                return True
            around = self.tree.parents.get(around)
        return False

    def existence_of(self, path: str) -> str | None:
        """Why it is not sure that there is a module `path`, which is shown; None where it is."""
        node = self.tree.nodes[path]
        if not node.certain:
            return (node.condition and node.condition.text) or "it depends on what is not known"
        parent = self.tree.parents.get(path)
        if parent is None:
            return None
        if self.is_inside_open(path):
            return self.reason(parent) or "the class around it is not known"
        if node.class_is_open and MAY_HAVE in (said := self._of_child(path)):
            return said
        return None

    def tensors_of(self, path: str) -> str | None:
        """Why `path` may have parameters or buffers that are not shown."""
        if self.tree.nodes[path].class_is_open:
            return self.reason(path) or "its class is not known"
        return self.whole or self.reasons.get(path)

    def reason(self, path: str) -> str:
        """Why something of `path` is not known; "" where nothing is said."""
        return self.reasons.get(path) or self._of_child(path) or self.whole

    def place(self, reason: str | None, path: str) -> str | None:
        """Where what gives this reason stands in the source, else where the module is made; None where neither is
        known."""
        if not reason:
            return None
        source = self.tree.nodes[path].source
        return self._written.get(reason) or (None if source is None else f"{source.file}:{source.line}")

    def _of_child(self, path: str) -> str:
        """What is said of a child that is not known where it would be held."""
        if not path or self.tree.nodes[path].class_name is not None:
            return ""
        parent = self.tree.parents[path]
        said = self._said.get(parent, ())
        return next((message for message in said if f"a child {self.tree.name(path)!r}" in message), "")


def may_be_absent(tensor: ParameterInfo | BufferInfo) -> bool:
    """Whether it is not even certain that there is such a tensor."""
    return tensor.shape is None and tensor.dtype is None


def shapes_agree(old: Shape | None, new: Shape | None) -> bool | None:
    """Whether two shapes are one; None where that cannot be told."""
    if old is None or new is None:
        return None
    if len(old) != len(new):
        return False
    unsure = False
    for one, other in zip(old, new, strict=True):
        if one is None or other is None or (one != other and not (isinstance(one, int) and isinstance(other, int))):
            unsure = True
        elif one != other:
            return False
    return None if unsure else True
