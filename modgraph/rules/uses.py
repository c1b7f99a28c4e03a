"""How a file uses an attribute: what a fix has to know before it makes something else of it.

Only what is known to be the same afterwards is allowed; any other use, also one that is not understood, speaks against
the fix. Asked only where there is a finding.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from modgraph.names import last_name
from modgraph.rules import members
from modgraph.rules.subject import Subject
from modgraph.source.dotted_names import dotted

_Parents = dict[ast.AST, ast.AST]


class _Place(NamedTuple):
    """Where an attribute stands."""

    number: int
    node: ast.Attribute
    cls: ast.ClassDef | None
    function: ast.AST | None
    on_self: bool


def _order(place: _Place) -> int:
    return place.number


class _Tree:
    """A tree and what is asked of it for one attribute after the other, from one walk."""

    def __init__(self, tree: ast.AST) -> None:
        self.parents: _Parents = {}
        self._attributes: dict[str, list[ast.Attribute]] = {}
        self._places: dict[str, tuple[list[_Place], dict[ast.ClassDef, list[_Place]]]] = {}
        self.named_by_text: set[str] = set()
        """Texts that stand as arguments of what looks attributes up."""
        self.classes: list[ast.ClassDef] = []
        for node in ast.walk(tree):
            for below in ast.iter_child_nodes(node):
                self.parents[below] = node
            if isinstance(node, ast.Attribute):
                self._attributes.setdefault(node.attr, []).append(node)
            elif isinstance(node, ast.ClassDef):
                self.classes.append(node)
            elif isinstance(node, ast.Call) and _called(node) in _BY_TEXT:
                given = (each for each in ast.iter_child_nodes(node) if isinstance(each, ast.Constant))
                self.named_by_text.update(each.value for each in given if isinstance(each.value, str))

    def places(self, name: str, family: set[ast.ClassDef]) -> list[_Place]:
        """Where an attribute of that name is, but for those of `self` in other classes; in the order of `ast.walk`."""
        if name not in self._places:
            others, own = self._places[name] = [], {}
            for number, node in enumerate(self._attributes.get(name, ())):
                cls, function = _place(node, self.parents)
                on_self = isinstance(node.value, ast.Name) and node.value.id == _first_parameter(function)
                place = _Place(number, node, cls, function, cls is not None and on_self)
                (own.setdefault(cls, []) if cls is not None and on_self else others).append(place)
        others, own = self._places[name]
        classes = family if len(family) < len(own) else own
        return sorted([*others, *(place for cls in classes if cls in family for place in own.get(cls, ()))], key=_order)


_BY_TEXT = frozenset(("getattr", "setattr", "delattr", "attrgetter", "__setattr__", "__getattribute__", "__delattr__"))
_OWN_LOOKUP = frozenset(("__getattr__", "__getattribute__", "__setattr__", "__delattr__", "__dir__"))


class Use(NamedTuple):
    """One place at which the attribute is read, stored or deleted."""

    node: ast.Attribute
    parents: _Parents
    own: bool
    """It stands in the class itself, on `self`."""
    here: bool
    """It stands in the file that is checked."""

    @property
    def parent(self) -> ast.AST:
        return self.parents[self.node]

    @property
    def is_written(self) -> bool:
        """Another object is stored under the name, or it is deleted."""
        return not isinstance(self.node.ctx, ast.Load)

    @property
    def is_changed(self) -> bool:
        """The object itself is changed: `x.name += 1`, `x.name[0] = 1`, `x.name.add_(1)`."""
        parent = self.parent
        if isinstance(parent, ast.Subscript):
            return not isinstance(parent.ctx, ast.Load)
        return isinstance(parent, ast.Attribute) and parent.attr.endswith("_") and parent.attr != "requires_grad_"


def uses_of(subject: Subject, name: str) -> list[Use]:
    """Every `x.name` of the file, and in the bases from other files, that may be this class's attribute."""
    family = _family(subject)
    found = list(_within(_tree(subject), name, subject, family, here=True))
    for home, node in members.ancestors(subject.file.project, subject.file.path, subject.facts.node):
        if home != subject.file.path:
            found.extend(_within(_tree_of(subject, node), name, subject, {node}, here=False))
    return found


def _within(tree: _Tree, name: str, subject: Subject, family: set[ast.ClassDef], *, here: bool) -> Iterator[Use]:
    for _, node, cls, function, on_self in tree.places(name, family):
        if not _is_an_argument(node, cls, function, subject):
            yield Use(node, tree.parents, on_self and cls is subject.facts.node, here)


def _place(node: ast.AST, parents: _Parents) -> tuple[ast.ClassDef | None, ast.AST | None]:
    """The class around a node, and its method there."""
    function: ast.AST | None = None
    while node in parents:
        node = parents[node]
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            function = node
        elif isinstance(node, ast.ClassDef):
            return node, function
    return None, None


def _first_parameter(function: ast.AST | None) -> str:
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return ""
    places = [*function.args.posonlyargs, *function.args.args]
    return places[0].arg if places else ""


def _is_an_argument(node: ast.Attribute, cls: ast.ClassDef | None, function: ast.AST | None, subject: Subject) -> bool:
    """`config.layers` in the class's own constructor: what is given there is another object."""
    if cls is not subject.facts.node or not isinstance(function, ast.FunctionDef) or function.name != "__init__":
        return False
    given = {each.arg for each in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
    given.discard(_first_parameter(function))
    return isinstance(node.value, ast.Name) and node.value.id in given


# ---- what speaks against every fix that registers --------------------------------------------------------------------


def is_reached_otherwise(subject: Subject, name: str) -> bool:
    """The attribute is, or may be, found by its name as text, in `__dict__`, or by a look-up of the class's own."""
    if name in _tree(subject).named_by_text:
        return True
    return any(_ways(subject, cls).looks_up for cls in _family(subject))


def has_the_name(subject: Subject, name: str) -> bool:
    """The class, or `nn.Module`, has something under the name: it hides what is registered, or torch refuses it."""
    from modgraph.source import torch_names

    file = subject.file
    if (
        name in torch_names.MODULE_METHODS
        or name in torch_names.OTHER_NAMES
        or (name.startswith("_") and name in _PRIVATE)
    ):
        return True
    return members.inherited(file.project, file.path, subject.facts, name) is not None


_PRIVATE = frozenset(("_modules", "_parameters", "_buffers", "_apply", "_backward_hooks", "_forward_hooks"))


def comes_before_super(subject: Subject, statement: ast.stmt) -> bool:
    """It stands in the constructor, and a base's constructor is called behind it or not at all."""
    from modgraph.rules import initialising

    init = subject.facts.methods.get("__init__")
    if init is None or not init.node.lineno <= statement.lineno <= (init.node.end_lineno or 0):
        return False
    if "initialised at" not in subject.notes:
        calls = [call for call in init.calls if initialising.may_initialise(subject, call, init)]
        subject.notes["initialised at"] = min(((call.lineno, call.col_offset) for call in calls), default=None)
    first = subject.notes["initialised at"]
    return first is None or not first < (statement.lineno, statement.col_offset)


def goes_through_children(subject: Subject) -> bool:
    """A class of the family does something with each of its children, or is a container of torch: one more would be
    taken for one of these."""
    if any(_ways(subject, cls).goes_through for cls in _family(subject)):
        return True
    project = subject.file.project
    every = [(subject.file.path, subject.facts.node)]
    every += members.ancestors(project, subject.file.path, subject.facts.node)
    return any(_is_a_container(subject, home, base) for home, cls in every for base in cls.bases)


def _is_a_container(subject: Subject, home: str, base: ast.expr) -> bool:
    from modgraph.source import torch_names

    name = dotted(base)
    if name is None:
        return False
    paths = [path for at, path in subject.file.project.homes(home, name) if not at]
    return any(torch_names.torch_class(path) in torch_names.CONTAINERS for path in paths)


# ---- the file --------------------------------------------------------------------------------------------------------


class _Ways(NamedTuple):
    """How the text of a class gets at attributes without their names."""

    looks_up: bool
    goes_through: bool


def _ways(subject: Subject, cls: ast.ClassDef) -> _Ways:
    known: dict[ast.ClassDef, _Ways] = subject.file.notes.setdefault("ways of classes", {})
    if cls not in known:
        looks_up = goes_through = False
        for node in ast.walk(cls):
            if isinstance(node, ast.Attribute):
                looks_up = looks_up or node.attr == "__dict__"
                goes_through = goes_through or node.attr in ("children", "named_children", "_modules")
            elif isinstance(node, ast.Call):
                looks_up = looks_up or _called(node) == "vars"
            elif isinstance(node, ast.FunctionDef):
                looks_up = looks_up or node.name in _OWN_LOOKUP
        known[cls] = _Ways(looks_up, goes_through)
    return known[cls]


def _tree(subject: Subject) -> _Tree:
    return _tree_of(subject, subject.file.tree)


def _tree_of(subject: Subject, node: ast.AST) -> _Tree:
    known: dict[ast.AST, _Tree] = subject.file.notes.setdefault("trees", {})
    if node not in known:
        known[node] = _Tree(node)
    return known[node]


class _Kin(NamedTuple):
    """The classes of a file by what they derive from, all by their last names."""

    named: dict[str, list[ast.ClassDef]]
    deriving: dict[str, list[ast.ClassDef]]
    """By the name of a base."""


def _kin(subject: Subject) -> _Kin:
    notes = subject.file.notes
    if "kin" not in notes:
        notes["kin"] = _Kin({}, {})
        for each in _tree(subject).classes:
            notes["kin"].named.setdefault(each.name, []).append(each)
            for base in _bases(each):
                notes["kin"].deriving.setdefault(base, []).append(each)
    found: _Kin = notes["kin"]
    return found


def _family(subject: Subject) -> set[ast.ClassDef]:
    """The class, those of the file that derive from it, and the bases of all these, by their names."""
    if "family" in subject.notes:
        found: set[ast.ClassDef] = subject.notes["family"]
        return found
    kin = _kin(subject)
    family = {subject.facts.node}
    pending = [subject.facts.node]
    while pending:
        more = [each for each in kin.deriving.get(pending.pop().name, ()) if each not in family]
        family.update(more)
        pending.extend(more)
    pending = list(family)
    while pending:
        named = (each for base in _bases(pending.pop()) for each in kin.named.get(base, ()))
        more = [each for each in dict.fromkeys(named) if each not in family]
        family.update(more)
        pending.extend(more)
    subject.notes["family"] = family
    return family


def _bases(node: ast.ClassDef) -> set[str]:
    plain = (base.value if isinstance(base, ast.Subscript) else base for base in node.bases)
    return {last_name(dotted(base) or "") for base in plain}


def _called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""
