"""Whether a declared name can be found in the tree of any class that has the declaration, in any configuration."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from functools import cached_property

from modgraph.rules.declared.calls import Evaluated, calls
from modgraph.rules.declared.carriers import carriers, inheriting
from modgraph.rules.declared.constants import Constants, is_changed_elsewhere
from modgraph.rules.declared.declarations import Declaration, declarations
from modgraph.rules.declared.roots import Trees
from modgraph.rules.declared.sources import Sources, Text, assigned, members_of
from modgraph.rules.declared.table import Names
from modgraph.rules.declared.tree import OpenError, Tree
from modgraph.rules.declared.values import Kind
from modgraph.rules.rule import Found
from modgraph.rules.subject import FileSubject, Subject
from modgraph.rules.templates import is_template

OF_CLASSES, OF_PATHS = "MG401", "MG402"
_GIVING = frozenset(("setattr", "add_module", "register_module", "register_parameter", "register_buffer"))
_CLASSES = (Names.CLASSES, Names.TYPES)
MOST_NAMED = 3
MOST_PARSED = 120
"""Files that are kept for the next that is checked."""


def unfit(subject: Subject, code: str) -> Iterator[Found]:
    """What a class declares and nothing can have."""
    if "declared" not in subject.notes:
        declared = [] if subject.is_local else list(_declared(subject))
        subject.notes["declared"] = list(_judged(subject, declared)) if declared else []
    for each, found in subject.notes["declared"]:
        if (OF_CLASSES if each.declared.names in _CLASSES else OF_PATHS) == code:
            yield found


def _declared(subject: Subject) -> Iterator[Declaration]:
    node, file = subject.facts.node, subject.file.path
    own = frozenset(
        target.id for each in members_of(node) for target, _ in assigned(each) if isinstance(target, ast.Name)
    )
    return declarations(node, Constants(_trees(subject.file).sources, file, None, lambda: own))


def unfit_in_calls(file: FileSubject, code: str) -> Iterator[Found]:
    """The same of what stands in calls of a file."""
    if "declared in calls" not in file.notes:
        trees = _trees(file)
        found: list[tuple[Declaration, Found]] = []
        for each, kinds, is_self, before in calls(trees.sources, file.path, file.tree, file.text):
            message = (
                None if is_self and _is_given_later(file.tree, each) else _of_call(trees, each, kinds, is_self, before)
            )
            if message is not None:
                found.append((each, Found(each.node, message, each.attribute)))
        file.notes["declared in calls"] = found
    for each, one in file.notes["declared in calls"]:
        if (OF_CLASSES if each.declared.names in _CLASSES else OF_PATHS) == code:
            yield one


def _is_given_later(tree: ast.Module, each: Declaration) -> bool:
    """Something in a file puts a part of such a name into an object that is not `self`."""
    for node in ast.walk(tree):
        name = node.attr if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) else None
        if isinstance(node, ast.Call) and _last_name(node.func) in _GIVING:
            texts = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            name = texts[0] if texts else each.shown  # under a name that is made when it runs
        if name and (name in each.shown or each.shown.strip("._") in name) and not _is_of_self(node):
            return True
    return False


def _last_name(node: ast.expr) -> str:
    """ "add_module" of `block.add_module`."""
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _is_of_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and getattr(node.value, "id", None) == "self"


def _of_call(
    trees: Trees, each: Declaration, kinds: Sequence[Kind], is_self: bool, before: Callable[[], Evaluated]
) -> str | None:
    """What is wrong with a name that stands in a call; None where it fits, or may fit."""
    if is_self:  # those that derive from it have the method too
        kinds = [one for kind in kinds for one in carriers(trees.sources, kind, "", False) or ()]
    found = [trees.tree(kind) for kind in kinds]
    known = [tree for tree in found if tree is not None and tree.children(tree.start)]
    try:
        if not known or None in found or any(fits(tree, each) for tree in known):
            return None
        scope = before()
        if any(scope.has_changed(tree, each.declared.packages) for tree in known):
            return None
        if _is_changed_elsewhere(trees.sources, each, scope.file):
            return None
    except OpenError:
        return None
    return _message(each, known)


def _is_changed_elsewhere(sources: Sources, each: Declaration, file: str) -> bool:
    """What holds a name may be something else, by what other files do."""
    return any(is_changed_elsewhere(sources, variable, value, file) for variable, value in each.variables)


def _judged(subject: Subject, declared: list[Declaration]) -> Iterator[tuple[Declaration, Found]]:
    trees = _trees(subject.file)
    kind = Kind(subject.file.path, subject.facts.qualname)
    having: dict[str, Having] = {}
    for each in declared if not is_template(subject.file) else ():
        if each.attribute not in having:
            having[each.attribute] = Having(trees, kind, each)
        message = having[each.attribute].message(each)
        if message is not None:
            yield each, Found(each.node, message, each.attribute)


def _trees(file: FileSubject) -> Trees:
    """Those of the file that is checked; files beside it are parsed once for all."""
    notes = file.notes
    if "declared trees" not in notes:
        project = file.project
        parsed: dict[str, Text | None] = project.shared.setdefault(("declared",), {})
        parsed.pop(file.path, None)
        while len(parsed) > MOST_PARSED:  # those that nobody has asked for lately
            del parsed[next(iter(parsed))]
        notes["declared trees"] = Trees(Sources(project, parsed))
    found: Trees = notes["declared trees"]
    return found


class Having:
    """The classes that have one declaration."""

    def __init__(self, trees: Trees, kind: Kind, one: Declaration) -> None:
        self.trees = trees
        self.kind = kind
        self.one = one

    def _carriers(self, nearby: bool) -> list[Kind]:
        declared = self.one.declared
        found = carriers(self.trees.sources, self.kind, self.one.attribute, declared.of_configuration, nearby)
        return list(found or ())

    @cached_property
    def kinds(self) -> list[Kind]:
        """All of them."""
        return self._carriers(nearby=False)

    @cached_property
    def beside(self) -> list[Kind]:
        """Those of its file that inherit it: no other file is looked at for them."""
        if self.one.declared.of_configuration:
            return []
        return list(inheriting(self.trees.sources, self.kind, self.one.attribute, [self.kind.file]))

    @cached_property
    def near(self) -> list[Kind]:
        """Those of the folder of the file."""
        return self._carriers(nearby=True)

    def message(self, each: Declaration) -> str | None:
        """What is wrong with a name; None where it fits, or may fit."""
        if any(self._fits_plainly(kind, each) for kind in self.beside):
            return None
        if any(self._fits_plainly(kind, each) for kind in self.near if kind not in self.beside):
            return None
        try:
            if any(self._fits(kind, each) for kind in self.near):
                return None
            if not self.kinds or any(self._fits(kind, each) for kind in self.kinds):
                return None
        except OpenError:
            return None
        trees = [tree for kind in self.kinds if (tree := self.trees.tree(kind)) is not None]
        named = [tree for tree in trees if tree.children(tree.start)]
        if len(trees) < len(self.kinds) or not named:
            return None
        if _is_changed_elsewhere(self.trees.sources, each, self.kind.file):
            return None
        return _message(each, named)

    def _fits_plainly(self, kind: Kind, each: Declaration) -> bool:
        """It fits in what the constructors say plainly."""
        try:
            return fits(self.trees.certain(kind), each)
        except OpenError:
            return False

    def _fits(self, kind: Kind, each: Declaration) -> bool:
        tree = self.trees.tree(kind)
        if tree is None:
            raise OpenError
        return fits(tree, each)


def fits(tree: Tree, each: Declaration) -> bool:
    """Raises OpenError where it may."""
    names, text = each.declared.names, each.text
    if names is Names.CLASSES:
        known, is_open = tree.class_names()
        if text in known:
            return True
        if is_open:
            raise OpenError
        return False
    if each.kind is not None:
        return tree.has_instance(each.kind)
    if names is Names.GLOB:
        return tree.has_path(text, is_glob=True)
    if names is Names.PLAN:
        return tree.has_path(text, anywhere=each.declared.of_configuration)
    if names is Names.KEY:
        return tree.has_path(text)
    try:
        if names is Names.TIED and each.is_dict:
            return tree.matches(re.compile(f"^{text}"), "search")
        if names is Names.END:
            return tree.has_end(text)
        if names is Names.ENDING:
            return tree.matches(re.compile(rf"(.*\.)?({text})"), "fullmatch")
        if names is Names.WHOLE:
            return tree.matches(re.compile(text), "fullmatch")
        return tree.matches(re.compile(text.replace("*", ".*") if names is Names.PART else text), "search")
    except re.error:
        raise OpenError from None


def _message(each: Declaration, trees: list[Tree]) -> str:
    what = {
        Names.CLASSES: "names no class of the tree",
        Names.TYPES: "is the class of nothing in the tree",
        Names.PLAN: "is the path of no module or parameter",
        Names.GLOB: "is the path of no module",
        Names.KEY: "is no key",
    }.get(each.declared.names, "matches no module, parameter or buffer")
    of = [tree.root.name for tree in trees]
    shown = ", ".join(of[:MOST_NAMED]) + (f" and {len(of) - MOST_NAMED} more" if len(of) > MOST_NAMED else "")
    near = _near(each, trees)
    hint = f"; did you mean {near!r}?" if near is not None else ""
    return f"{_quoted(each.shown)} in {each.attribute} {what}, in any configuration of {shown}{hint}"


def _quoted(text: str) -> str:
    """As a source writes it: a regular expression with its backslashes once."""
    return f"'{text}'" if "\\" in text and text.isprintable() and "'" not in text else repr(text)


def _near(each: Declaration, trees: list[Tree]) -> str | None:
    """A name of a class that is much like it."""
    if each.declared.names is not Names.CLASSES:
        return None
    known = sorted({kind.last for tree in trees for kind in tree.reached()[0] if kind.file})
    return next(iter(get_close_matches(each.text, known, 1)), None)
