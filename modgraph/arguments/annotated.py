"""A configuration class that builds without arguments, for a parameter that is annotated with it, or that reads what it
has.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from modgraph.arguments.constructor import Constructor
from modgraph.names import last_name
from modgraph.prediction.code.whole_modules import is_of_project
from modgraph.source.dotted_names import dotted
from modgraph.source.integers import parse
from modgraph.source.modules import SourceError, SourceModule
from modgraph.source.syntax import FunctionNode, callable_bare, classes_in, is_own_attribute

_MAX_CLASSES = 100
"""Classes that a parameter without an annotation is compared with."""
_MAX_BASES = 8
_WORDS = ("config", "cfg", "conf", "args", "param", "option", "opt", "setting", "hparam", "spec")
"""In the names of classes that hold a configuration."""


@dataclass(frozen=True)
class ConfigClass:
    """A class that holds values, and where it stands."""

    source: SourceModule
    name: str
    node: ast.ClassDef

    @property
    def path(self) -> str:
        """Its import path."""
        return f"{self.source.name}.{self.name}"


def config_classes(constructor: Constructor) -> dict[str, ConfigClass]:
    """By parameter that needs a value: the class whose defaults it may be given."""
    found: dict[str, ConfigClass] = {}
    known = _Classes(constructor)
    for parameter in constructor.required:
        annotated = _annotated(parameter, known)
        beside = annotated if annotated is not None else _beside(constructor, parameter.arg, known)
        if beside is not None:
            found[parameter.arg] = beside
    return found


def classes_with_fields(constructor: Constructor) -> dict[str, tuple[ConfigClass, tuple[ast.arg, ...]]]:
    """By parameter that needs a value: the class with which it is annotated, where its fields are declared and some of
    them need values; these as parameters."""
    found: dict[str, tuple[ConfigClass, tuple[ast.arg, ...]]] = {}
    known = _Classes(constructor)
    for parameter in constructor.required:
        each = _named(parameter, known)
        if each is not None and _is_data(each.node) and not _has_constructor(each.node):
            fields = tuple(
                ast.arg(field.target.id, field.annotation)
                for field in each.node.body
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and field.value is None
            )
            if fields:
                found[parameter.arg] = each, fields
    return found


def _has_constructor(node: ast.ClassDef) -> bool:
    return any(isinstance(each, FunctionNode) and each.name == "__init__" for each in node.body)


class _Classes:
    """The classes that the names of a file stand for, its own and those of the project that it imports."""

    def __init__(self, constructor: Constructor) -> None:
        self._file = constructor.file
        self._finder = constructor.finder
        self._modules = set(constructor.file.module_classes)

    def named(self, name: str, *, modules: bool = False) -> ConfigClass | None:
        """The class of a name in the file; one that is a model holds no configuration.

        Args:
            modules: such a one counts too.
        """
        if name in self._file.classes:
            return (
                None
                if name in self._modules and not modules
                else ConfigClass(self._file.module, name, self._file.classes[name])
            )
        first, _, rest = name.partition(".")
        for imported in self._file.module.index.imports_of.get(first, ()):
            home = self._file.module.absolute(imported.module, imported.level)
            wanted = rest if imported.attribute is None else imported.attribute
            source = self._finder.readable(home)
            if source is not None and wanted:
                node = class_in(source, wanted)
                if node is not None:
                    return ConfigClass(source, wanted, node)
        return None

    def all(self) -> Iterator[ConfigClass]:
        """Those that could hold a configuration by what they are called."""
        names = [*self._file.classes, *self._file.module.index.imports_of]
        for name in [name for name in names if any(word in name.lower() for word in _WORDS)][:_MAX_CLASSES]:
            found = self.named(name)
            if found is not None and is_of_project(found.source):
                yield found


def class_named(constructor: Constructor, name: str) -> ConfigClass | None:
    """The class that a name stands for in the file of a constructor."""
    return _Classes(constructor).named(name, modules=True)


def names_for_bases(constructor: Constructor) -> frozenset[str]:
    """What the constructors of the bases take that may be meant by the `**options` of a class: those of the project, as
    far as the file of each names them."""
    found: set[str] = set()
    pending = [constructor.target.name]
    seen: set[str] = set()
    known = _Classes(constructor)
    while pending and len(seen) < _MAX_BASES:
        name = pending.pop(0)
        each = known.named(name, modules=True) if name not in seen else None
        seen.add(name)
        if each is None:
            continue
        for node in each.node.body:
            if isinstance(node, FunctionNode) and node.name == "__init__":
                found.update(one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs))
        pending += [base for base in map(dotted, each.node.bases) if base is not None]
    return frozenset(found)


def class_in(source: SourceModule, name: str) -> ast.ClassDef | None:
    """The class of that name in a module; None where there is none, or the file cannot be read."""
    try:
        definition = source.index.definitions.get(name)
        if definition is None or definition.kind != "class":
            return None
        return dict(classes_in(parse(source.text).body)).get(name)
    except (SourceError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _annotated(parameter: ast.arg, known: _Classes) -> ConfigClass | None:
    found = _named(parameter, known)
    return found if found is not None and _builds_bare(found.node) else None


def _named(parameter: ast.arg, known: _Classes) -> ConfigClass | None:
    """The class with which a parameter is annotated."""
    node = parameter.annotation
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return known.named(node.value.strip())
    name = None if node is None else dotted(node)
    return None if name is None else known.named(name)


def _beside(constructor: Constructor, parameter: str, known: _Classes) -> ConfigClass | None:
    """The class without an annotation to it that has all which is read from the parameter: the one called after the
    model, if there are several."""
    wanted = constructor.reads(parameter)
    if not wanted:
        return None
    fitting = [each for each in known.all() if _builds_bare(each.node) and wanted <= _attributes(each.node)]
    model = last_name(constructor.target.name).lower()
    return min(fitting, key=lambda each: not each.name.lower().startswith(model), default=None)


def _builds_bare(node: ast.ClassDef) -> bool:
    """Building it needs no arguments, as far as its own text says: the prediction finds out."""
    for statement in node.body:
        if isinstance(statement, FunctionNode) and statement.name == "__init__":
            return callable_bare(statement, bound=1)
    if not _is_data(node):
        return True
    return all(
        each.value is not None or "ClassVar" in ast.unparse(each.annotation)
        for each in node.body
        if isinstance(each, ast.AnnAssign)
    )


def _is_data(node: ast.ClassDef) -> bool:
    """Its annotations are its fields."""
    names = [ast.unparse(each) for each in (*node.decorator_list, *node.bases)]
    return any(word in name for name in names for word in ("dataclass", "attr.", "define", "NamedTuple", "BaseModel"))


def _attributes(node: ast.ClassDef) -> set[str]:
    """Names that the class, or its constructor, gives its objects."""
    found: set[str] = set()
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign | ast.Assign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            found.update(each.id for each in targets if isinstance(each, ast.Name))
        elif isinstance(statement, FunctionNode):
            found.add(statement.name)
            found.update(inner.attr for inner in ast.walk(statement) if is_own_attribute(inner, statement))
    return found
