"""Names that are arguments of calls, or that names of parameters are compared with, and the model that they are of.

The model is told where it stands beside: given to the same call, or to one that is given the result; or it is the one
whose `named_parameters()` are gone through. Where it may be another, nothing is said.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from modgraph.rules.declared.declarations import Declaration, strings
from modgraph.rules.declared.following import Followed, TooMuchError
from modgraph.rules.declared.functions import NO_ARGUMENTS, inside, locals_of, parameters_of
from modgraph.rules.declared.sources import Sources
from modgraph.rules.declared.table import ARGUMENTS, NAMING, Declared, Names
from modgraph.rules.declared.values import ONLY_OPEN, Box, ClassOf, Code, Elsewhere, Frame, Kind, Made, Values
from modgraph.source.dotted_names import dotted

Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef
_WORD = re.compile(rf"\b(?:{'|'.join((*ARGUMENTS, *NAMING))})\b")
_TESTS = {"startswith": r"^{}", "endswith": r"{}$"}
_REGULAR = {"re.search": "{}", "re.match": "^(?:{})", "re.fullmatch": "^(?:{})$"}


def calls(
    sources: Sources, file: str, tree: ast.Module, text: str
) -> Iterator[tuple[Declaration, Sequence[Kind], bool]]:
    """What stands in calls and comparisons of a file, and the classes of the model that it is of; whether the classes
    that derive from these are meant too."""
    lines = _lines_of_words(text)
    for scope, owner in _scopes(tree):
        if not _has_one_of(scope, lines):
            continue
        nodes = list(_nodes(scope))
        found = [(node, each) for node in nodes if isinstance(node, ast.Call) for each in _arguments(node)]
        tests = list(_tests(nodes))
        if not found and not tests:
            continue
        frame = _Evaluated(sources, file, scope, owner)
        for node, (each, place) in found:
            if frame.is_of(node.func, each.packages):
                kinds = frame.unchanged(frame.models_beside(node, nodes), each.packages)
                yield from ((one, kinds, False) for one in _declarations(place, each))
        for one, model in tests:
            kinds = frame.unchanged(frame.kinds(model))
            yield one, kinds, isinstance(model, ast.Name) and owner is not None and kinds == [Kind(file, owner)]


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


def _nodes(scope: Scope) -> Iterator[ast.AST]:
    if not isinstance(scope, ast.Module):
        yield from inside(scope)
        return
    pending: list[ast.AST] = list(scope.body)
    while pending:
        node = pending.pop()
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield node
            pending.extend(ast.iter_child_nodes(node))


def _arguments(node: ast.Call) -> Iterator[tuple[Declared, ast.expr]]:
    """Arguments of a call that the table knows."""
    for each in node.keywords:
        if each.arg in ARGUMENTS:
            yield ARGUMENTS[each.arg], each.value


def _declarations(place: ast.expr, declared: Declared) -> Iterator[Declaration]:
    name = next(name for name, each in ARGUMENTS.items() if each is declared)
    if isinstance(place, ast.Constant) and isinstance(place.value, str):
        if place.value and place.value not in declared.special and declared.alone is not None:
            yield Declaration(name, Declared(declared.alone), place.value, place, False)
        return
    for each, is_dict in strings(place, False):
        if isinstance(each.value, str) and each.value and each.value not in declared.special:
            yield Declaration(name, declared, each.value, each, is_dict)


# ---- comparisons of names --------------------------------------------------------------------------------------------


def _tests(nodes: Sequence[ast.AST]) -> Iterator[tuple[Declaration, ast.expr]]:
    """Texts with which the names of `model.named_parameters()` are compared, and that model."""
    for node in nodes:
        loops = [node] if isinstance(node, ast.For) else list(getattr(node, "generators", ()))
        for loop in loops:
            over, target = loop.iter, loop.target
            if not (isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr in NAMING):
                continue
            if over.args or not (isinstance(target, ast.Tuple) and isinstance(target.elts[0], ast.Name)):
                continue
            for each, pattern in _compared(node, target.elts[0].id, _lists(nodes)):
                declared = Declared(Names.TEXT)
                yield Declaration(f"{over.func.attr}()", declared, pattern, each, False), over.func.value


def _lists(nodes: Sequence[ast.AST]) -> dict[str, ast.expr]:
    """Names of the scope that are given a list of texts, once."""
    found: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, []).append(node.value)
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def _compared(node: ast.AST, name: str, lists: dict[str, ast.expr]) -> Iterator[tuple[ast.Constant, str]]:
    """Texts that are looked for in a name, each as a regular expression."""
    for each in ast.walk(node):
        if isinstance(each, ast.Compare) and len(each.ops) == 1 and isinstance(each.ops[0], (ast.In, ast.NotIn)):
            if getattr(each.comparators[0], "id", None) == name and _is_text(each.left):
                yield each.left, re.escape(each.left.value)  # type: ignore[misc, attr-defined]
        elif isinstance(each, ast.GeneratorExp) and isinstance(each.elt, ast.Compare) and len(each.generators) == 1:
            yield from ((text, re.escape(str(text.value))) for text in _of_any(each, name, lists))
        elif isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.args:
            function, first = each.func, each.args[0]
            if function.attr in _TESTS and getattr(function.value, "id", None) == name and _is_text(first):
                yield first, _TESTS[function.attr].format(re.escape(first.value))  # type: ignore[misc, attr-defined]
            elif dotted(function) in _REGULAR and len(each.args) == 2 and _is_text(first):
                is_it = getattr(each.args[1], "id", None) == name
                yield from [(first, _REGULAR[f"re.{function.attr}"].format(first.value))] * is_it  # type: ignore[misc, attr-defined]


def _of_any(node: ast.GeneratorExp, name: str, lists: dict[str, ast.expr]) -> Iterator[ast.Constant]:
    """`any(text in name for text in [...])`."""
    loop, test = node.generators[0], node.elt
    assert isinstance(test, ast.Compare)
    is_it = isinstance(test.left, ast.Name) and getattr(loop.target, "id", None) == test.left.id
    if is_it and isinstance(test.ops[0], ast.In) and getattr(test.comparators[0], "id", None) == name:
        given = lists.get(loop.iter.id) if isinstance(loop.iter, ast.Name) else loop.iter
        for each in given.elts if isinstance(given, (ast.List, ast.Tuple, ast.Set)) else ():
            if isinstance(each, ast.Constant) and _is_text(each):
                yield each


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(node.value)


# ---- the model -------------------------------------------------------------------------------------------------------


class _Evaluated:
    """A scope, so that its expressions have values."""

    def __init__(self, sources: Sources, file: str, scope: Scope, owner: str | None) -> None:
        self.followed = Followed(sources, frozenset())
        node = scope if not isinstance(scope, ast.Module) else _as_function(scope)
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
        self.changed = {
            value.kind
            for each in inside(node)
            if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store)
            for value in self.value(each.value)
            if isinstance(value, Made)
        }
        """Classes of what something is stored on in the scope itself."""

    def value(self, node: ast.expr) -> Values:
        return self.followed.value(node, self.frame) if self.is_known else ONLY_OPEN

    def kinds(self, node: ast.expr) -> list[Kind]:
        """The classes of which something certainly is an instance; none where it may be another, or nothing."""
        values = self.value(node)
        made = [each.kind for each in values if isinstance(each, Made)]
        is_module = all(self.followed.sources.is_module(kind) for kind in made)
        return sorted(made) if made and is_module and len(made) == len(values) else []

    def unchanged(self, kinds: list[Kind], packages: Sequence[str] = ()) -> list[Kind]:
        """The same, or none where the scope puts something into one, or gives it to what nobody can read; functions of
        the packages for which the names are get the model as it is."""
        for kind in kinds:
            others = self.followed.touched.get(kind, set()) - set(packages)
            if others or kind in self.changed:
                return []
        return kinds

    def is_of(self, node: ast.expr, packages: Sequence[str]) -> bool:
        """What is called belongs to one of some packages."""
        for each in self.value(node):
            path = each.path if isinstance(each, Elsewhere) else ""
            code = each.kind.file if isinstance(each, ClassOf) else each.file if isinstance(each, Code) else ""
            if path.partition(".")[0] in packages or any(f"/{name}/" in code.replace("\\", "/") for name in packages):
                return True
        return False

    def models_beside(self, node: ast.Call, nodes: Sequence[ast.AST]) -> list[Kind]:
        """The model that is given to a call, or to one that is given its result."""
        found = self._models_in(node, node)
        names = {
            each.targets[0].id
            for each in nodes
            if isinstance(each, ast.Assign) and each.value is node and isinstance(each.targets[0], ast.Name)
        }
        for each in nodes:
            if isinstance(each, ast.Call) and each is not node:
                given = [*each.args, *(keyword.value for keyword in each.keywords)]
                if any(one is node or getattr(one, "id", None) in names for one in given):
                    found += self._models_in(each, node)
        known = {kind for kind in found if kind is not None}
        return sorted(known) if None not in found else []

    def _models_in(self, call: ast.Call, but: ast.Call) -> list[Kind | None]:
        """Modules among the arguments of a call; None for one that may be any."""
        found: list[Kind | None] = []
        for each in (*call.args, *(keyword.value for keyword in call.keywords)):
            if each is but:
                continue
            values = self.value(each)
            if any(isinstance(value, (Made, Box)) for value in values):
                found += self.kinds(each) or [None]
        return found


def _as_function(tree: ast.Module) -> ast.FunctionDef:
    """The top of a file as the body of a function."""
    body = [each for each in tree.body if not isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))]
    return ast.FunctionDef(
        name="<module>", args=NO_ARGUMENTS, body=body or [ast.Pass()], decorator_list=[], lineno=0, col_offset=0
    )
