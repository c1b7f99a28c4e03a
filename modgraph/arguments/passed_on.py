"""Which calls of a class cannot say anything, as far as the text tells: `def __init__(self, config): Net(config)` gives
on what it is given, and who follows it by itself finds nothing.

Most calls in a library are like that. A function is followed with parameters of which nobody says anything, so what is
read from one of them is unknown; a file in which each call is given such values need not be followed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from modgraph.arguments.call_sites import CallSites, outermost_functions
from modgraph.source.syntax import FunctionNode

_OF_CLASSES = frozenset(("isinstance", "issubclass"))


@dataclass(frozen=True, slots=True)
class Calls:
    """What is called, as one file names it."""

    sites: CallSites
    of_class: bool
    """It is the class; else functions, and classes, in which it is called."""
    whole: bool
    """A call counts only where all is known that it gives the class."""


def in_package(path: Path) -> bool:
    """A file is no script by where it lies."""
    return (path.parent / "__init__.py").is_file()


def telling(tree: ast.Module, calls: Calls, *, packaged: bool) -> CallSites | None:
    """The calls of a file, without the functions that give on what they are given; None where nothing is left.

    Args:
        packaged: see `in_package`.
    """
    sites, text = calls.sites, _Text(tree, calls)
    scopes = tuple(scope for scope in sites.scopes if not text.gives_on(scope))
    if not scopes and not text.leads_outside(any_call=sites.in_script or not packaged):
        return None
    return replace(sites, scopes=scopes)


def needs_a_caller(tree: ast.Module, calls: Calls) -> bool:
    """What stands in a file's functions is told by nothing but what these are given: who calls them with what nobody
    says finds what is found without them. An object's own attributes say more."""
    text = _Text(tree, calls)
    return all(
        "." not in scope or (scope.endswith(".__init__") and text.gives_on(scope, of_itself=False))
        for scope in calls.sites.scopes
    )


class _Text:
    """One file, read for the uses of what is called."""

    def __init__(self, tree: ast.Module, calls: Calls) -> None:
        self._tree = tree
        self._calls = calls
        self._names = calls.sites.called
        self._bodies = dict(outermost_functions(tree.body))
        here = {scope.partition(".")[0] for scope in calls.sites.scopes}
        self._leading = _leading(tree, self._names | here)
        """Names of the file of which one may come to a call, with those that are called."""

    def gives_on(self, scope: str, *, of_itself: bool = True) -> bool:
        """Each use in a function is a call that is given what comes from the function's parameters.

        Args:
            of_itself: the object of a method is such a parameter, too.
        """
        node = self._bodies.get(scope)
        if node is None or self._is_below(scope):
            return False
        known = _Parameters(node, of_itself=of_itself or "." not in scope)
        passing: set[int] = set()
        for inner in _evaluated(node):
            if isinstance(inner, ast.Call) and self._is_use(inner.func) and self._says_nothing(inner, known):
                passing.add(id(inner.func))
        return all(id(inner) in passing for inner in _evaluated(node) if self._is_use(inner) or self._is_written(inner))

    def leads_outside(self, *, any_call: bool) -> bool:
        """What runs where the file is imported, or is the script, uses one of the names.

        Args:
            any_call: a call of anything may lead to one, too.
        """
        return any(
            self._is_use(node) or (isinstance(node, ast.Call) and (any_call or any(map(self._is_written, node.args))))
            for node in _run_outside(self._tree.body)
        )

    def _is_below(self, scope: str) -> bool:
        """A method of a class that is derived from one of the names: `super().build(4)` is a use."""
        top = scope.partition(".")[0]
        found = [each for each in self._tree.body if isinstance(each, ast.ClassDef) and each.name == top]
        return any(self._is_use(inner) for each in found for base in each.bases for inner in ast.walk(base))

    def _is_use(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self._leading and isinstance(node.ctx, ast.Load)
        return isinstance(node, ast.Attribute) and node.attr in self._names

    def _is_written(self, node: ast.AST) -> bool:
        """One of the names as a text, as `getattr` takes it."""
        return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in self._names

    def _says_nothing(self, call: ast.Call, known: _Parameters) -> bool:
        name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
        of_class = self._calls.of_class and name in self._names
        if not of_class and name in self._names and name not in self._calls.sites.plain:
            return False
        given = [*call.args, *(each.value for each in call.keywords)]
        unsaid = [known.is_unsaid(each.value if isinstance(each, ast.Starred) else each) for each in given]
        return bool(given) and (any(unsaid) if of_class and self._calls.whole else all(unsaid))


class _Parameters:
    """Of a function: those of which nobody says anything where it is followed by itself, and that are bound once."""

    def __init__(self, node: FunctionNode, *, of_itself: bool) -> None:
        given = node.args
        positional = [each.arg for each in (*given.posonlyargs, *given.args)]
        named = zip(given.kwonlyargs, given.kw_defaults, strict=True)
        bare = [
            *positional[: len(positional) - len(given.defaults)],
            *(each.arg for each, value in named if value is None),
        ]
        own = {id(each) for each in ast.walk(given)}
        bound = {name for inner in ast.walk(node) if id(inner) not in own for name in _bound_by(inner)}
        self._names = set(bare if of_itself else bare[1:]) - bound

    def is_unsaid(self, node: ast.expr) -> bool:
        """A parameter, or what is read from one, or what a method of that gives."""
        while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
            node = node.func if isinstance(node, ast.Call) else node.value
        return isinstance(node, ast.Name) and node.id in self._names


def _bound_by(node: ast.AST) -> Iterator[str]:
    """The names that a part of a function binds anew, or may."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
            yield name
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            yield from names
        case ast.alias(name=name, asname=other):
            yield other or name.partition(".")[0]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name


def _leading(tree: ast.Module, names: frozenset[str] | set[str]) -> set[str]:
    """These names, and those of the functions and classes of a file in which one of them stands, or one of these."""
    uses: dict[str, set[str]] = {}
    for statement in _at_the_top(tree.body):
        read = uses.setdefault(statement.name, set())
        for each in _evaluated(statement):
            if isinstance(each, ast.Name):
                read.add(each.id)
            elif isinstance(each, ast.Attribute) and each.attr in names:
                read.add(each.attr)
    leading = set(names)
    while further := {name for name, read in uses.items() if name not in leading and read & leading}:
        leading |= further
    return leading


def _at_the_top(body: Iterable[ast.stmt]) -> Iterator[FunctionNode | ast.ClassDef]:
    """Functions and classes of a file, also below `if` and `try`."""
    pending: list[ast.AST] = [*body]
    while pending:
        node = pending.pop()
        if isinstance(node, FunctionNode | ast.ClassDef):
            yield node
        elif isinstance(node, ast.If | ast.Try | ast.With | ast.ExceptHandler | ast.For | ast.While):
            pending += ast.iter_child_nodes(node)


def _evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """All below a node, itself first, but annotations, and the classes of which something is asked to be one."""
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        match node:
            case ast.arg():
                continue
            case ast.AnnAssign():
                pending += [node.target, *([] if node.value is None else [node.value])]
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                pending += [node.args, *node.decorator_list, *node.body]
            case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in _OF_CLASSES:
                pending += [node.func, first]
            case _:
                pending += ast.iter_child_nodes(node)


def _run_outside(body: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    """What runs where a file is imported, or is the script: all but the bodies of functions, bases and annotations."""
    pending: list[ast.AST] = [*body]
    while pending:
        node = pending.pop()
        yield node
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
                defaults = (*node.args.defaults, *(each for each in node.args.kw_defaults if each is not None))
                pending += [*decorators, *defaults]
            case ast.ClassDef():
                pending += [*node.decorator_list, *(each.value for each in node.keywords), *node.body]
            case ast.AnnAssign():
                pending += [node.target, *([] if node.value is None else [node.value])]
            case _:
                pending += ast.iter_child_nodes(node)
