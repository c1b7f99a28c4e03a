"""The methods of a class as texts without what changes nothing: two revisions are told apart, and neither is run.

Layout, comments, docstrings and annotations of arguments are left out. What a method does is not judged: another text
is another text, and no more.
"""

from __future__ import annotations

import ast
import contextlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from modgraph.source.bases import BaseResolver
from modgraph.source.index import Definition
from modgraph.source.integers import parse
from modgraph.source.modules import ModuleFinder, SourceError, SourceModule, finder_for
from modgraph.source.quiet import literal_value
from modgraph.source.roots import find_source
from modgraph.source.syntax import FunctionNode, top_level
from modgraph.source.targets import Target

Methods = Mapping[str, Mapping[str, str]]
"""By class, the text of each of its methods, inherited ones too; and what stands for `CONSTRUCTOR`, `CLASS_BODY` and
`SIGNATURE`."""

CONSTRUCTOR = "__init__"
"""Stands for all that builds an instance, where a method reads a plain attribute that it stores."""
CLASS_BODY = "class body"
"""Stands for what the class itself binds and a method reads."""

SIGNATURE = "arguments of forward"
"""Stands for the arguments of `forward` as JSON: of each its name, the text of its default ("" for none), and whether
that is a literal, or there is none."""

_BUILDING = frozenset(["__init__", "__new__", "__init_subclass__", "__class_getitem__"])
_RUNNING = ("forward", "__call__")


def methods_of(target: Target, held: Mapping[str, Collection[str]]) -> Methods:
    """The methods of those of these classes that are the project's own: none of torch, and of what is installed.

    Constructors, and what they alone call, are in the graph as far as they make modules and tensors: they count where
    they store something else that a method reads, `self.heads = heads * 2`. A class whose source cannot be read is not
    in the result.

    Args:
        target: the model that they are of; their modules are found as its own imports are.
        held: by class, as in a graph ("package.module.Class"), names of the modules and tensors that one holds.
    """
    finder = finder_for(target.search_path, target.home)
    find_source(target, finder)
    reader = _Reader(finder)
    found: dict[str, Mapping[str, str]] = {}
    for name, inside in held.items():
        with contextlib.suppress(SourceError, SyntaxError, ValueError, RecursionError, MemoryError):
            place = reader.place_of(name)
            if place is not None:
                found[name] = reader.texts(*place, inside)
    return found


@dataclass(frozen=True, slots=True)
class _Method:
    text: str
    """Without what changes nothing."""
    open_text: str
    """The same without literal defaults: whatever a constructor is given in their place, the graph says."""
    names: frozenset[str]
    """Attributes that it reads: methods of its own that it may call."""
    stored: frozenset[str]
    """Attributes that it binds."""
    arguments: str
    """As `SIGNATURE` has them."""
    goes_up: bool
    """It may call what it overrides."""


class _Reader:
    def __init__(self, finder: ModuleFinder) -> None:
        self._finder = finder
        self._resolver = BaseResolver(finder)

    def place_of(self, name: str) -> tuple[SourceModule, Definition] | None:
        """Where a class of the project is defined; None where it is none, or cannot be found."""
        module = name
        while "." in module:
            module = module.rpartition(".")[0]
            source = self._finder.readable(module) if module.partition(".")[0] != "torch" else None
            if source is None:
                continue
            definition = source.index.definitions.get(name[len(module) + 1 :])
            known = definition is not None and definition.kind == "class" and _is_own(source)
            return (source, definition) if known and definition is not None else None
        return None

    def texts(self, module: SourceModule, definition: Definition, held: Collection[str]) -> dict[str, str]:
        """By name, of the methods as the class has them."""
        written: dict[str, list[_Method]] = {}
        bound: dict[str, str] = {}
        for home, each in self._lineage(module, definition):
            node = _class_node(home, each)
            for name, text in _bound_in(node).items():
                bound.setdefault(name, text)
            for name, method in _methods_in(node).items():
                above = written.setdefault(name, [])
                if not above or above[-1].goes_up:
                    above.append(method)
        built = _reached(written, _BUILDING) - _reached(written, _RUNNING)
        found = {
            name: "\n".join(method.text for method in methods) for name, methods in written.items() if name not in built
        }
        read = {name for each in found for method in written[each] for name in method.names}.difference(held)
        if "forward" in written and written["forward"][0].arguments:
            found[SIGNATURE] = written["forward"][0].arguments
        if any(not read.isdisjoint(method.stored) for name in built for method in written[name]):
            found[CONSTRUCTOR] = "\n".join(_building_text(name, written[name]) for name in sorted(built))
        if not read.isdisjoint(bound):
            found[CLASS_BODY] = "\n".join(bound[name] for name in sorted(read.intersection(bound)))
        return found

    def _lineage(self, module: SourceModule, definition: Definition) -> list[tuple[SourceModule, Definition]]:
        """The class and its bases of the project, in the order in which methods are looked up."""
        # One that is reached on two ways stands behind all that are derived from it: what is found from the end, each
        # class once, however many ways there are.
        found: dict[tuple[str, str], tuple[SourceModule, Definition] | None] = {}
        self._add_lineage(module, definition, found)
        return [each for each in reversed(found.values()) if each is not None]

    def _add_lineage(
        self,
        module: SourceModule,
        definition: Definition,
        found: dict[tuple[str, str], tuple[SourceModule, Definition] | None],
    ) -> None:
        key = (module.name, definition.qualname)
        if key in found or module.name.partition(".")[0] == "torch" or not _is_own(module):
            return
        found[key] = None  # it is among its own bases, in a file that is none of Python's
        for base in reversed(definition.bases):
            for home, qualname in self._resolver.definitions_of(module, base.partition("[")[0])[:1]:
                above = home.index.definitions.get(qualname)
                if above is not None and above.kind == "class":
                    self._add_lineage(home, above, found)
        del found[key]
        found[key] = (module, definition)


def _is_own(module: SourceModule) -> bool:
    """Whether a file is none of an installed package, which both revisions have alike."""
    return not {"site-packages", "dist-packages"} & set(module.path.parts)


def _building_text(name: str, methods: Sequence[_Method]) -> str:
    first, *others = methods
    return "\n".join([first.open_text if name == CONSTRUCTOR else first.text, *(each.text for each in others)])


def _class_node(module: SourceModule, definition: Definition) -> ast.ClassDef | None:
    lines = module.lines[definition.first_line - 1 : definition.last_line]
    # The block of its own keeps texts of several lines as they are, which removing the indentation would change.
    (block,) = parse("if 1:\n" + "\n".join(lines) if lines[0][:1] in " \t" else "\n".join(lines)).body[:1]
    node = block.body[0] if isinstance(block, ast.If) else block
    return node if isinstance(node, ast.ClassDef) else None


def _bound_in(node: ast.ClassDef | None) -> dict[str, str]:
    """By name, the texts of the statements that bind it in the body of a class, without annotations."""
    found: dict[str, list[str]] = {}
    for statement in top_level(node.body if node is not None else ()):
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            text = f"{', '.join(map(ast.unparse, targets))} = {ast.unparse(statement.value)}"
            for inner in (inner for target in targets for inner in ast.walk(target)):
                if isinstance(inner, ast.Name):
                    found.setdefault(inner.id, []).append(text)
    return {name: "\n".join(texts) for name, texts in found.items()}


def _methods_in(node: ast.ClassDef | None) -> dict[str, _Method]:
    found: dict[str, list[FunctionNode]] = {}
    for statement in top_level(node.body if node is not None else ()):
        if isinstance(statement, FunctionNode):
            found.setdefault(statement.name, []).append(statement)
    return {name: _method(nodes) for name, nodes in found.items()}


def _method(nodes: Sequence[FunctionNode]) -> _Method:
    """One method; several of a name are the parts of a property, or the arms of an `if`."""
    inside = [inner for node in nodes for inner in ast.walk(node)]
    attributes = [inner for inner in inside if isinstance(inner, ast.Attribute)]
    names = frozenset(inner.attr for inner in attributes if not isinstance(inner.ctx, ast.Store))
    stored = frozenset(inner.attr for inner in attributes if isinstance(inner.ctx, ast.Store))
    goes_up = any(_goes_up(inner, nodes[0].name) for inner in inside)
    for inner in inside:
        if isinstance(inner, FunctionNode):
            _strip(inner)
    text = "\n".join(map(ast.unparse, nodes))
    arguments = json.dumps(list(_signature(nodes[0].args))) if len(nodes) == 1 else ""
    for node in nodes:
        node.args.defaults = [_left_open(default) for default in node.args.defaults]
        node.args.kw_defaults = [default and _left_open(default) for default in node.args.kw_defaults]
    return _Method(text, "\n".join(map(ast.unparse, nodes)), names, stored, arguments, goes_up)


def _signature(given: ast.arguments) -> Iterator[tuple[str, str, bool]]:
    """The arguments but the first, which is the module."""
    positional = [*given.posonlyargs, *given.args]
    missing = [None] * (len(positional) - len(given.defaults))
    pairs = [*zip(positional, [*missing, *given.defaults], strict=True)][1:]
    pairs += zip(given.kwonlyargs, given.kw_defaults, strict=True)
    for argument, default in pairs:
        yield argument.arg, "" if default is None else ast.unparse(default), default is None or _is_literal(default)
    for star, each in (("*", given.vararg), ("**", given.kwarg)):
        if each is not None:
            yield f"{star}{each.arg}", "", True


def _is_literal(default: ast.expr) -> bool:
    return _left_open(default) is not default


def _left_open(default: ast.expr) -> ast.expr:
    """`...` in place of a literal."""
    try:
        literal_value(ast.unparse(default))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return default
    return ast.Constant(...)


def _goes_up(node: ast.AST, method: str) -> bool:
    """`super`, or `Base.forward`."""
    if isinstance(node, ast.Attribute):
        return node.attr == method and isinstance(node.value, ast.Name) and node.value.id != "self"
    return isinstance(node, ast.Name) and node.id == "super"


def _strip(node: FunctionNode) -> None:
    """Take away what says nothing of what a function does."""
    if ast.get_docstring(node, clean=False) is not None:
        node.body = node.body[1:] or [ast.Pass()]
    node.returns = None
    for argument in _arguments(node.args):
        argument.annotation = None


def _arguments(given: ast.arguments) -> Iterator[ast.arg]:
    yield from (*given.posonlyargs, *given.args, *given.kwonlyargs)
    yield from (each for each in (given.vararg, given.kwarg) if each is not None)


def _reached(methods: Mapping[str, Sequence[_Method]], names: Iterable[str]) -> set[str]:
    """These methods, and those that they may call, directly or through others."""
    found: set[str] = set()
    pending = [name for name in names if name in methods]
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending.extend(other for method in methods[name] for other in method.names if other in methods)
    return found
