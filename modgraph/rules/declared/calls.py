"""Names that are arguments of calls, or that names of parameters are compared with, and the model that they are of.

The model is told where it stands beside: given to the same call, or to one that is given the result; or it is the one
whose `named_parameters()` are gone through. Where it may be another, nothing is said.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

from modgraph.rules.declared.comparisons import tests
from modgraph.rules.declared.constants import Constants, Held, names_around
from modgraph.rules.declared.declarations import Declaration, strings
from modgraph.rules.declared.following import Followed, TooMuchError
from modgraph.rules.declared.functions import NO_ARGUMENTS, Arguments, given_to, inside, locals_of, parameters_of
from modgraph.rules.declared.sources import Sources
from modgraph.rules.declared.table import ARGUMENTS, GETTING, NAMING, Names
from modgraph.rules.declared.tree import Tree
from modgraph.rules.declared.values import (
    ANY,
    BUFFER,
    NOTHING,
    ONLY_OPEN,
    OPEN,
    PARAMETER,
    Atom,
    Box,
    ClassOf,
    Code,
    Elsewhere,
    File,
    Frame,
    Kind,
    Made,
    Values,
    holds_modules,
)
from modgraph.rules.declared.versions import in_versions
from modgraph.source.dotted_names import dotted

Plain = ast.FunctionDef | ast.AsyncFunctionDef
Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef
MAX_STEPS = 3
"""Calls from the one that names parts of a model to the one that is given it."""
_LISTING = frozenset(("modules", "children", "named_modules", "named_children", "get_submodule"))
MAX_CUTS = 8
"""Places of one function up to which it is followed."""
_SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return)
_FUNCTIONS = tuple(function for each in ARGUMENTS.values() for function, _ in each.places)
_WORD = re.compile(rf"\b(?:{'|'.join((*ARGUMENTS, *_FUNCTIONS, *sorted(NAMING), *sorted(GETTING)))})\b")


def calls(
    sources: Sources, file: str, tree: ast.Module, text: str
) -> Iterator[tuple[Declaration, Sequence[Kind], bool, Callable[[], Evaluated]]]:
    """What stands in calls and comparisons of a file, and the classes of the model that it is of; whether the classes
    that derive from these are meant too; and what gives what has been done before, which only a name that fits nowhere
    is asked for."""
    lines = _lines_of_words(text)
    for scope, owner in _scopes(tree):
        top = _as_function(scope) if isinstance(scope, ast.Module) else scope
        if not _has_one_of(scope, lines) or not any(map(_may_name, inside(top))):
            continue
        with contextlib.suppress(RecursionError):  # nested too deeply to be copied: its names stay as they are
            top = in_versions(top, scope)
        nodes = list(inside(top))
        constants = Constants(sources, file, top, partial(names_around, tree, scope))
        if not any(True for _ in tests(nodes, constants.of)) and not any(map(_is_given_any, nodes)):
            continue
        frame = Evaluated(sources, file, top, owner)
        for node in (each for each in nodes if isinstance(each, ast.Call)):
            for name, place in _arguments(node):
                each = ARGUMENTS[name]
                if frame.is_of(_called(node), each.packages):
                    kinds, until = frame.models_beside(node, nodes, each.packages)
                    before = partial(frame.until, until)
                    declared = _declarations(name, constants.of(place), frame)
                    yield from ((one, kinds, False, before) for one in declared)
        for one, model in tests(nodes, constants.of):
            kinds = frame.kinds(model)
            is_self = isinstance(model, ast.Name) and owner is not None and kinds == [Kind(file, owner)]
            yield one, kinds, is_self, partial(frame.until, [model])


def _is_given_any(node: ast.AST) -> bool:
    """A call is given names of parts of a model."""
    return isinstance(node, ast.Call) and any(True for _ in _arguments(node))


def _may_name(node: ast.AST) -> bool:
    """The same, or it asks a model for names or for a part."""
    is_asking = isinstance(node, ast.Attribute) and (node.attr in NAMING or node.attr in GETTING)
    return is_asking or _is_given_any(node)


def _lines_of_words(text: str) -> list[int]:
    """The lines with a name without which nothing is found."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines, line, at = [], 1, 0
    for found in _WORD.finditer(text):
        line += text.count("\n", at, found.start())
        at = found.start()
        lines.append(line)
    return lines


def _has_one_of(scope: Scope, lines: Sequence[int]) -> bool:
    if isinstance(scope, ast.Module):
        return True
    at = bisect_left(lines, scope.lineno)
    return at < len(lines) and lines[at] <= (scope.end_lineno or scope.lineno)


def _scopes(tree: ast.Module) -> Iterator[tuple[Scope, str | None]]:
    """The file's top, and each function with the class it is a method of."""
    yield tree, None
    pending: list[tuple[ast.AST, str | None]] = [(tree, None)]
    while pending:
        node, owner = pending.pop()
        for each in ast.iter_child_nodes(node):
            if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield each, owner
                pending.append((each, None))
            elif isinstance(each, ast.ClassDef):
                pending.append((each, each.name if isinstance(node, ast.Module) else None))
            elif isinstance(each, ast.stmt):
                pending.append((each, owner))


def _arguments(node: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """Arguments of a call that the table knows, in a dict that is given to it too."""
    for each in node.keywords:
        if each.arg in ARGUMENTS:
            yield each.arg, each.value
        elif isinstance(each.value, ast.Dict):
            for key, value in zip(each.value.keys, each.value.values, strict=True):
                if isinstance(key, ast.Constant) and key.value in ARGUMENTS:
                    yield str(key.value), value
    if not any(isinstance(each, ast.Starred) for each in node.args):
        function = (dotted(node.func) or "").rpartition(".")[2]
        for name, declared in ARGUMENTS.items():
            for taken, place in declared.places:
                if taken == function and place < len(node.args):
                    yield name, node.args[place]


def _called(node: ast.Call) -> ast.expr:
    """The function that a call is of: of `partial(f, ...)`, the first argument."""
    is_partial = (dotted(node.func) or "").rpartition(".")[2] == "partial"
    return node.args[0] if is_partial and node.args else node.func


def _declarations(name: str, held: Held, frame: Evaluated) -> Iterator[Declaration]:
    declared, place = ARGUMENTS[name], held.node
    if declared.names is Names.TYPES:
        if any(file != frame.file for (file, _), _ in held.variables):  # classes by their names in that file
            return
        for each in place.elts if isinstance(place, (ast.Set, ast.List, ast.Tuple)) else [place]:
            kind = frame.class_of(each)
            if kind is not None:
                shown = dotted(each) or kind.last
                yield Declaration(name, declared, shown, each, kind=kind, variables=held.variables)
        return
    if isinstance(place, ast.Constant) and isinstance(place.value, str):
        is_name = declared.alone is not Names.CLASSES or place.value.isidentifier()
        if place.value and is_name and place.value not in declared.special and declared.alone is not None:
            alone = replace(declared, names=declared.alone)
            yield Declaration(name, alone, place.value, place, variables=held.variables)
        return
    for text, is_dict in strings(place, False):
        if isinstance(text.value, str) and text.value and text.value not in declared.special:
            yield Declaration(name, declared, text.value, text, is_dict, variables=held.variables)


# ---- the model -------------------------------------------------------------------------------------------------------


def _writes_a_dict(node: ast.AST) -> bool:
    """A function goes at an object by its dict, where nobody sees what it puts there."""
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute) and each.attr == "__dict__":
            return True
        if isinstance(each, ast.Call) and getattr(each.func, "id", "") == "vars":
            return True
    return False


def _more(mine: Mapping[str, Values], theirs: Mapping[str, Values]) -> bool:
    """Something in one, which may stand in a tree, is not in the other."""
    for name, values in mine.items():
        known = theirs.get(name, NOTHING) | theirs.get(ANY, NOTHING)
        new = frozenset() if OPEN in known else values - known
        if holds_modules(new) or new & {PARAMETER, BUFFER}:
            return True
    return False


class _FollowedNearby(Followed):
    """What a script calls is followed less far than a constructor: there is one such scope per function of a file, and
    a model that is given to what is not followed says nothing. What goes through the parts of a model gets them all."""

    most_frames = 150
    most_functions = 40

    def store(self, target: Atom, name: str, values: Values) -> None:
        super().store(target, name, values)
        if self.changed:
            self.note_change("stored")

    def _plain_method(self, base: Atom, name: str, arguments: Arguments, node: ast.Call, frame: Frame) -> Values:
        found = super()._plain_method(base, name, arguments, node, frame)
        is_listing = name in _LISTING and isinstance(base, (Made, Box))
        return found | self._parts(base) if is_listing else found

    def _parts(self, whole: Atom) -> Values:
        """All modules below one, and itself."""
        self.read.add(("stored",))
        found: set[Atom] = set()
        pending = [whole]
        while pending:
            each = pending.pop()
            if each in found or (isinstance(each, Made) and self.sources.is_module(each.kind) is False):
                continue
            found.add(each)
            below = self.stored.get(each.kind, {}) if isinstance(each, Made) else {}
            below = self.held.get(each, {}) if isinstance(each, Box) else below
            pending += [one for values in below.values() for one in values if isinstance(one, (Made, Box))]
        return frozenset(found)


class Evaluated:
    """A scope, so that its expressions have values."""

    def __init__(self, sources: Sources, file: str, node: Plain, owner: str | None) -> None:
        self.sources, self.file, self.node, self.owner = sources, file, node, owner
        self.cut: dict[int, Evaluated] = {}
        self.followed = _FollowedNearby(sources, frozenset())
        kind = None if owner is None else Kind(file, owner)
        self.frame = Frame(Code(file, node.lineno, node.col_offset, kind), node, kind, locals=locals_of(node))
        for at, name in enumerate(parameters_of(node)):
            is_self = kind is not None and at == 0 and not node.decorator_list
            self.frame.names[name] = frozenset([Made(kind)]) if is_self and kind is not None else ONLY_OPEN
        self.followed.frames[self.frame.key] = self.frame
        self.is_known = True
        try:
            self.followed.settle()
        except TooMuchError:
            self.is_known = False

    def until(self, nodes: Sequence[ast.AST]) -> Evaluated:
        """The scope up to the last statement that holds one of some nodes: what is done to a model there and later is
        no matter. A method of a model may be called again, and is taken whole; so is a statement that holds others, and
        a function that asks in many places."""
        is_of_model = self.owner is not None and self.sources.is_module(Kind(self.file, self.owner)) is not False
        places = [self.places[id(each)] for each in nodes if id(each) in self.places]
        if is_of_model or not places:
            return self
        last = max(places)
        end = last + (not isinstance(self.node.body[last], _SIMPLE))
        if end not in self.cut and len(self.cut) >= MAX_CUTS:
            return self
        if end not in self.cut:
            node = copy.copy(self.node)
            node.body = self.node.body[:end] or [ast.Pass()]
            self.cut[end] = Evaluated(self.sources, self.file, node, self.owner)
        return self.cut[end]

    @cached_property
    def places(self) -> dict[int, int]:
        """By number of a node, which statement of the scope holds it."""
        return {id(each): at for at, statement in enumerate(self.node.body) for each in ast.walk(statement)}

    def value(self, node: ast.expr) -> Values:
        return self.followed.value(node, self.frame) if self.is_known else ONLY_OPEN

    def kinds(self, node: ast.expr) -> list[Kind]:
        """The classes of which something certainly is an instance; none where it may be another, or nothing."""
        values = self.value(node)
        made = [each.kind for each in values if isinstance(each, Made)]
        is_module = all(self.followed.sources.is_module(kind) for kind in made)
        return sorted(made) if made and is_module and len(made) == len(values) else []

    def has_changed(self, tree: Tree, packages: Sequence[str]) -> bool:
        """Whether something has been put into the model, or some part of it, that its constructors do not put there, or
        was given to what nobody can read; functions of the packages for which the names are get the model as it is."""
        mine, theirs = self.followed, tree.followed
        if not self.is_known or _more(mine.anywhere, theirs.anywhere):
            return True
        if any(_writes_a_dict(frame.node) for key, frame in mine.frames.items() if key not in theirs.frames):
            return True
        for kind in Tree(mine, tree.root).reached()[0]:
            if mine.touched.get(kind, set()) - theirs.touched.get(kind, set()) - set(packages):
                return True
            known = theirs.stored.get(kind, {})
            stored = mine.stored.get(kind, {})
            if _more(stored if kind not in mine.touched else {**stored, ANY: NOTHING}, known):
                return True
        return any(_more(held, theirs.held[box]) for box, held in mine.held.items() if box in theirs.held)

    def is_of(self, node: ast.expr, packages: Sequence[str]) -> bool:
        """What is called belongs to one of some packages: an import leads there."""
        values = self.value(node)
        if any(isinstance(each, Elsewhere) and each.path.partition(".")[0] in packages for each in values):
            return True
        root = (dotted(node) or "").partition(".")[0]
        is_read = any(isinstance(each, (ClassOf, Code, File)) for each in values)
        return is_read and not self.imported.get(root, frozenset()).isdisjoint(packages)

    @cached_property
    def imported(self) -> dict[str, frozenset[str]]:
        """By name: the packages that it is imported from, in the file or the scope."""
        text = self.sources.text(self.file)
        known = text.imports.imports.items() if text is not None else ()
        found = {name: frozenset([path.partition(".")[0]]) for name, (path, _, level) in known if not level}
        for node in inside(self.node):
            if isinstance(node, ast.ImportFrom) and not node.level and node.module:
                pairs = [(each.asname or each.name, node.module) for each in node.names]
            elif isinstance(node, ast.Import):
                pairs = [(each.asname or each.name.partition(".")[0], each.name) for each in node.names]
            else:
                continue
            for name, path in pairs:
                found[name] = found.get(name, frozenset()) | {path.partition(".")[0]}
        return found

    def class_of(self, node: ast.expr) -> Kind | None:
        """The class that an expression certainly is."""
        values = self.value(node)
        only = next(iter(values)) if len(values) == 1 else None
        return only.kind if isinstance(only, ClassOf) else None

    def models_beside(
        self, node: ast.Call, nodes: Sequence[ast.AST], packages: Sequence[str]
    ) -> tuple[list[Kind], list[ast.Call]]:
        """The model that is given to a call, or to one that is given its result, and these calls; further on, as long
        as what is called is of the packages."""
        calls = [each for each in nodes if isinstance(each, ast.Call)]
        before, pending, found = [node], [node], list(self._models_in(node))
        for n_steps in range(MAX_STEPS):
            given = [each for each in calls if each not in before and _takes_any(each, pending, nodes)]
            before += given
            found += [kind for each in given for kind in self._models_in(each, *before)]
            pending = [each for each in given if self.is_of(_called(each), packages)]
            if found or (n_steps == 0 and len(pending) < len(given)):
                break
        known = {kind for kind in found if kind is not None}
        return (sorted(known) if None not in found else []), before

    def _models_in(self, call: ast.Call, *but: ast.expr) -> list[Kind | None]:
        """Modules among the arguments of a call; None for one that may be any."""
        found: list[Kind | None] = []
        for each in given_to(call):
            if each in but:
                continue
            values = self.value(each)
            if any(isinstance(value, (Made, Box)) for value in values):
                found += self.kinds(each) or [None]
        return found


def _takes_any(call: ast.Call, results: Sequence[ast.Call], nodes: Sequence[ast.AST]) -> bool:
    """A call is given the result of one of these, or is of a method of it."""
    names = {
        each.targets[0].id
        for each in nodes
        if isinstance(each, ast.Assign) and each.value in results and isinstance(each.targets[0], ast.Name)
    }
    receiver = [call.func.value] if isinstance(call.func, ast.Attribute) else []
    return any(one in results or getattr(one, "id", None) in names for one in (*given_to(call), *receiver))


def _as_function(tree: ast.Module) -> ast.FunctionDef:
    """The top of a file as the body of a function."""
    body = [each for each in tree.body if not isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))]
    return ast.FunctionDef(
        name="<module>", args=NO_ARGUMENTS, body=body or [ast.Pass()], decorator_list=[], lineno=0, col_offset=0
    )
