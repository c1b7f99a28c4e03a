"""What a model reads from an object that it is given, `config.n_layer`, and such an object with values that these names
suggest: for a picture of a model whose configuration is nowhere.

It is looked for where the object goes: in the classes and functions of the project that it is handed to, and in what
`self.config` is read for.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from modgraph.arguments.assumed import ends_of, suggested
from modgraph.arguments.config_files import namespace
from modgraph.arguments.constructor import Constructor, constructor_of
from modgraph.prediction.code.whole_modules import is_of_project
from modgraph.source.dotted_names import dotted
from modgraph.source.integers import parse
from modgraph.source.modules import ModuleFinder, SourceError, SourceModule
from modgraph.source.syntax import FunctionNode, classes_in
from modgraph.source.targets import Target

MAX_FUNCTIONS = 200
"""Functions and methods that are looked at."""
_MAX_BASES = 8

Path = tuple[str, ...]

_MORE: tuple[tuple[Any, str], ...] = (
    ("relu", "activation act hidden_act act_fn activation_function nonlinearity"),
    (0.0, "pdrop"),
    (0.02, "initializer_range init_std"),
    (10000.0, "rope_theta"),
    (4, "mlp_ratio"),
    (2, "expand expansion"),
)
"""What the attributes of a configuration are called, and a parameter seldom."""
_BY_END: Mapping[str, Any] = {name: value for value, names in _MORE for name in names.split()}
_FLAGS = ("use", "is", "with", "has", "do", "no", "bias", "tie", "enable", "share")
"""First words of the names of flags."""


def assumed_object(constructor: Constructor, parameter: str) -> tuple[Any, tuple[str, ...]] | None:
    """An object to give for a parameter from which only attributes, or only keys, are read, and what is assumed in it;
    None where that is not so, or the name of one says nothing."""
    reader = _Reader(constructor.finder)
    reader.follow(_Given(constructor.file.module, constructor.node, {parameter: ()}, _Owner.of(constructor)))
    found = reader.found
    if found.is_open or len(found.by_attribute) != 1:
        return None
    held: dict[str, Any] = {}
    names: list[str] = []
    for path in found.leaves():
        value = _value_of(path[-1], is_flag=path in found.tested and path not in found.used)
        if value is None:
            if path in found.needed:
                return None
            continue
        inside = held
        for name in path[:-1]:
            inside = inside.setdefault(name, {})
        inside[path[-1]] = value
        names.append(".".join((parameter, *path)))
    if not names:
        return None
    return namespace(held) if found.by_attribute == {True} else held, tuple(names)


def wants_object(target: Target) -> bool:
    """Attributes are read from one of the parameters that have to be given: no literal has these."""
    constructor = constructor_of(target)
    for parameter in constructor.required if constructor is not None else ():
        assert constructor is not None
        reader = _Reader(constructor.finder)
        names: dict[str, Path] = {parameter.arg: ()}
        reader.follow(_Given(constructor.file.module, constructor.node, names, _Owner.of(constructor)))
        if True in reader.found.by_attribute:
            return True
    return False


def _value_of(name: str, *, is_flag: bool) -> Any:
    value = suggested(ast.arg(name))
    if value is None:
        value = next((_BY_END[end] for end in ends_of(name) if end in _BY_END), None)
    if value is None and (is_flag or name.lower().split("_")[0] in _FLAGS):
        return False
    return value


@dataclass
class _Found:
    """All that is read, by the path from the object."""

    needed: set[Path] = field(default_factory=set)
    """Read while the model is built."""
    late: set[Path] = field(default_factory=set)
    """Read in `forward` alone, as far as is seen."""
    tested: set[Path] = field(default_factory=set)
    """Read as a truth value."""
    used: set[Path] = field(default_factory=set)
    """Read as something else."""
    by_attribute: set[bool] = field(default_factory=set)
    is_open: bool = False
    """There was too much to look at."""

    def leaves(self) -> Iterator[Path]:
        """The paths from which nothing further is read."""
        read = self.needed | self.late
        inner = {path[:end] for path in read for end in range(1, len(path))}
        yield from sorted(read - inner)


@dataclass(frozen=True)
class _Owner:
    """The class of a method."""

    source: SourceModule
    node: ast.ClassDef

    @classmethod
    def of(cls, constructor: Constructor) -> _Owner | None:
        node = constructor.file.classes.get(constructor.target.name)
        return None if node is None else cls(constructor.file.module, node)


@dataclass(frozen=True)
class _Given:
    """A function, and which of its names hold the object or a part of it."""

    source: SourceModule
    function: FunctionNode
    names: Mapping[str, Path]
    owner: _Owner | None = None
    attributes: Mapping[str, Path] = field(default_factory=dict)
    """Those of `self` that hold it."""
    is_late: bool = False

    @property
    def key(self) -> object:
        return self.source.path, self.function.lineno, tuple(self.names.items()), tuple(self.attributes.items())


class _Reader:
    """Follows the object into all that it is given to."""

    def __init__(self, finder: ModuleFinder) -> None:
        self.finder = finder
        self.found = _Found()
        self._seen: set[object] = set()
        self._trees: dict[object, ast.Module | None] = {}

    def follow(self, first: _Given) -> None:
        pending = [first]
        while pending:
            given = pending.pop()
            if given.key in self._seen:
                continue
            self._seen.add(given.key)
            if len(self._seen) > MAX_FUNCTIONS:
                self.found.is_open = True
                return
            pending += self._read(given)

    def _read(self, given: _Given) -> Iterator[_Given]:
        """Notes what one function reads; yields the functions that it hands the object to."""
        given = _with_aliases(given)
        tests = set(_tests(given.function))
        methods = {
            id(node.func) for node in ast.walk(given.function) if isinstance(node, ast.Call)
        }  # `config.get(...)`: a method, whose name suggests nothing
        for node in ast.walk(given.function):
            if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Load):
                path = _path(node, given)
                if path and _own(node, given) is None:
                    self._note(path, node, given, is_test=id(node) in tests, is_method=id(node) in methods)
            elif isinstance(node, ast.Call):
                yield from self._handed(node, given)
        if given.attributes and given.owner is not None and given.function.name == "__init__":
            for each in given.owner.node.body:
                if isinstance(each, FunctionNode) and each is not given.function:
                    late = each.name.startswith("forward") or given.is_late
                    yield replace(given, function=each, names={}, is_late=late)

    def _note(self, path: Path, node: ast.expr, given: _Given, *, is_test: bool, is_method: bool) -> None:
        found = self.found
        found.by_attribute.add(isinstance(node, ast.Attribute))
        found.is_open = found.is_open or is_method
        (found.late if given.is_late else found.needed).add(path)
        (found.tested if is_test else found.used).add(path)

    def _handed(self, call: ast.Call, given: _Given) -> Iterator[_Given]:
        where = {
            place: path
            for place, value in (*enumerate(call.args), *((each.arg, each.value) for each in call.keywords))
            if place is not None and (path := _path(value, given)) is not None
        }
        if not where:
            return
        for source, function, owner, is_bound in self._called(call.func, given):
            names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)][int(is_bound) :]
            named = {*names, *(each.arg for each in function.args.kwonlyargs)}
            taken = {
                name: path
                for place, path in where.items()
                if (name := place if isinstance(place, str) else names[place] if place < len(names) else "") in named
            }
            if taken:
                yield _Given(source, function, taken, owner, is_late=given.is_late)

    def _called(
        self, called: ast.expr, given: _Given
    ) -> Iterator[tuple[SourceModule, FunctionNode, _Owner | None, bool]]:
        """The functions behind a call, with the class of a method, and whether its first parameter is filled."""
        if isinstance(called, ast.Attribute) and given.owner is not None:
            is_super = isinstance(called.value, ast.Call) and dotted(called.value.func) == "super"
            if is_super or (isinstance(called.value, ast.Name) and called.value.id == _first(given.function)):
                found = self._method(given.owner, called.attr, own=not is_super)
                if found is not None:
                    yield found[0].source, found[1], found[0] if is_super else given.owner, True
                return
        name = dotted(called)
        definition = None if name is None else self._definition(given.source, name)
        if definition is None:
            return
        source, node = definition
        if isinstance(node, ast.ClassDef):
            found = self._method(_Owner(source, node), "__init__", own=True)
            if found is not None:
                yield found[0].source, found[1], found[0], True
        else:
            yield source, node, None, False

    def _method(self, owner: _Owner, name: str, *, own: bool) -> tuple[_Owner, FunctionNode] | None:
        """A method of a class, or of the first of its bases in the project that has it."""
        pending, n_seen = ([owner] if own else list(self._bases(owner))), 0
        while pending and n_seen < _MAX_BASES:
            each = pending.pop(0)
            n_seen += 1
            for node in each.node.body:
                if isinstance(node, FunctionNode) and node.name == name:
                    return each, node
            pending += self._bases(each)
        return None

    def _bases(self, owner: _Owner) -> Iterator[_Owner]:
        for base in owner.node.bases:
            name = dotted(base)
            found = None if name is None else self._definition(owner.source, name)
            if found is not None and isinstance(found[1], ast.ClassDef):
                yield _Owner(found[0], found[1])

    def _definition(
        self, source: SourceModule, name: str, depth: int = 4
    ) -> tuple[SourceModule, ast.ClassDef | FunctionNode] | None:
        """What a name of a file stands for, of the project."""
        tree = self._tree(source)
        if tree is None or depth == 0:
            return None
        if (cls := dict(classes_in(tree.body)).get(name)) is not None:
            return source, cls
        for node in tree.body:
            if isinstance(node, FunctionNode) and node.name == name:
                return source, node
        first, _, rest = name.partition(".")
        for imported in source.index.imports_of.get(first, ()):
            home = self.finder.readable(source.absolute(imported.module, imported.level))
            wanted = rest if imported.attribute is None else imported.attribute
            if home is not None and wanted and is_of_project(home):
                found_there = self._definition(home, wanted, depth - 1)
                if found_there is not None:
                    return found_there
        return None

    def _tree(self, source: SourceModule) -> ast.Module | None:
        key = source.path
        if key not in self._trees:
            try:
                self._trees[key] = parse(source.text)
            except (SourceError, SyntaxError, ValueError, RecursionError, MemoryError):
                self._trees[key] = None
        return self._trees[key]


def _with_aliases(given: _Given) -> _Given:
    """With the names and the attributes of `self` to which the object, or a part of it, is assigned."""
    names, attributes = dict(given.names), dict(given.attributes)
    assigned = [node for node in ast.walk(given.function) if isinstance(node, ast.Assign)]
    for node in sorted(assigned, key=lambda each: each.lineno):
        path = _path(node.value, replace(given, names=names, attributes=attributes))
        for target in node.targets if path is not None else ():
            if isinstance(target, ast.Name):
                names[target.id] = path or ()
            elif isinstance(target, ast.Attribute) and _is_of_self(target, given.function):
                attributes[target.attr] = path or ()
    return replace(given, names=names, attributes=attributes)


def _path(node: ast.expr, given: _Given) -> Path | None:
    """The path of an expression from the object; None of what does not come from it."""
    if isinstance(node, ast.Name):
        return given.names.get(node.id)
    own = _own(node, given)
    if own is not None:
        return own
    if isinstance(node, ast.Attribute):
        inner = _path(node.value, given)
        return None if inner is None else (*inner, node.attr)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        inner = _path(node.value, given)
        return None if inner is None else (*inner, node.slice.value)
    return None


def _own(node: ast.expr, given: _Given) -> Path | None:
    """The path of an attribute of `self` that holds the object."""
    if not isinstance(node, ast.Attribute) or not _is_of_self(node, given.function):
        return None
    return given.attributes.get(node.attr)


def _is_of_self(node: ast.Attribute, function: FunctionNode) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == _first(function)


def _first(function: FunctionNode) -> str | None:
    given = [*function.args.posonlyargs, *function.args.args]
    return given[0].arg if given else None


def _tests(function: FunctionNode) -> Iterator[int]:
    """Expressions whose truth alone is asked."""
    for node in ast.walk(function):
        if isinstance(node, ast.If | ast.IfExp | ast.While):
            yield id(node.test)
        elif isinstance(node, ast.BoolOp):
            yield from map(id, node.values)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield id(node.operand)
        elif isinstance(node, ast.keyword) and node.arg is not None and node.arg.split("_")[0] in _FLAGS:
            yield id(node.value)
