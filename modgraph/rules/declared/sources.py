"""Files that are read for it, and what a name at the top of one is."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar, cast

from modgraph.rules.declared.values import (
    NOTHING,
    ONLY_DATA,
    ONLY_NONE,
    ONLY_OPEN,
    Builtin,
    ClassOf,
    Code,
    Elsewhere,
    File,
    Given,
    Kind,
    Values,
)
from modgraph.rules.names import MAX_STEPS, Project
from modgraph.source.dotted_names import dotted
from modgraph.source.module_classes import makes_no_modules
from modgraph.source.outline import Outline, Part
from modgraph.source.quiet import python_tree
from modgraph.source.summaries import Summary, blocks, read_import
from modgraph.source.torch_place import is_of_torch

MAX_STARS = 8
"""Star imports of one file; behind more of them, a name is not looked for."""
MAX_FILES = 3_000
Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_TORCH_BASES = ("torch.nn.Module", "torch.nn.modules.module.Module")


Node = TypeVar("Node", bound=ast.stmt)


class Parts(dict[str, list[Node]], Generic[Node]):
    """Classes or functions of a file by name, some of which are parsed where they are asked for."""

    def __init__(self) -> None:
        self.later: dict[str, tuple[Outline, Part]] = {}

    def __missing__(self, name: str) -> list[Node]:
        outline, part = self.later[name]
        try:
            self[name] = [cast("Node", outline.node(part))]
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            self[name] = []
        return self[name]

    def __setitem__(self, name: str, nodes: list[Node]) -> None:
        super().__setitem__(name, nodes)
        self.later.pop(name, None)

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self.later

    def __iter__(self) -> Iterator[str]:
        return iter((*super().__iter__(), *self.later))

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default  # noqa: SIM401 - what is called here is what the other is


class Text:
    """A file that was read."""

    def __init__(self, file: str, source: ast.Module | Outline) -> None:
        self.file = file
        self.source = source
        self.called: dict[int, tuple[str, ...]] = {}
        """By id of the node of a class: the attributes that it calls."""
        self.imports = Summary()
        self.classes: Parts[ast.ClassDef] = Parts()
        """By qualified name; several where branches at the top define one."""
        self.functions: Parts[Function] = Parts()
        self.variables: dict[str, list[ast.expr | None]] = {}
        """What is assigned; None for what is no single expression."""
        self._read(source.body if isinstance(source, ast.Module) else source.rest.body, "")
        for part in source.parts if isinstance(source, Outline) else ():
            self._take(source, part)  # type: ignore[arg-type]

    def _take(self, outline: Outline, part: Part) -> None:
        if not part.is_class:
            self.functions.later[part.name] = outline, part
        elif outline.has_class_inside(part):
            self._read([outline.node(part)], "")
        else:
            self.classes.later[part.name] = outline, part

    def heads(self, name: str) -> Sequence[ast.stmt]:
        """The classes of a name, of which no more than their bases may be there."""
        if name in self.classes.later:
            outline, part = self.classes.later[name]
            try:
                return [outline.head(part)]
            except (SyntaxError, ValueError):
                return ()
        found: Sequence[ast.stmt] = self.classes.get(name, ())
        return found

    def function_at(self, line: int, column: int) -> Function | None:
        for name in list(self.functions):
            _, part = self.functions.later.get(name, (None, None))
            if part is not None and not (not column and part.line <= line <= part.line + part.n_lines):
                continue
            for node in self.functions[name]:
                if (node.lineno, node.col_offset) == (line, column):
                    return node
        return None

    def _read(self, body: Sequence[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                self.classes.setdefault(prefix + node.name, []).append(node)
                self._read([each for each in node.body if isinstance(each, ast.ClassDef)], f"{prefix}{node.name}.")
            elif isinstance(node, _FUNCTIONS):
                self.functions.setdefault(node.name, []).append(node)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                read_import(node, self.imports)
            else:
                for target, value in assigned(node):
                    self._store(target, value)
                for block in blocks(node):
                    self._read(block, prefix)

    def _store(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self.variables.setdefault(target.id, []).append(value)
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            self.variables.setdefault(target.value.id, []).append(value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for each in target.elts:
                self._store(each, None)

    @cached_property
    def bases_of_others(self) -> frozenset[str]:
        """The last names of the bases of classes that stand in functions."""
        known = {id(node) for name in self.classes if name not in self.classes.later for node in self.classes[name]}
        classes = [each for each in self._classes_anywhere() if id(each) not in known]
        names = [dotted(base) or "" for each in classes for base in each.bases]
        return frozenset(name.rpartition(".")[2] for name in names)

    def _classes_anywhere(self) -> Iterator[ast.ClassDef]:
        """All but those at the top of which nothing is parsed: in these there is none."""
        outline = self.source
        trees: list[ast.AST] = [outline]  # type: ignore[list-item]
        if isinstance(outline, Outline):
            inside = [part for part in outline.parts if outline.has_class_inside(part)]
            trees = [outline.rest, *map(outline.node, inside)]
        for tree in trees:
            yield from (each for each in ast.walk(tree) if isinstance(each, ast.ClassDef))


def assigned(node: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """What a simple statement stores, and where."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield target, node.value
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign)) and node.value is not None:
        yield node.target, node.value
    elif isinstance(node, (ast.For, ast.AsyncFor)):
        yield node.target, None
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        for item in node.items:
            if item.optional_vars is not None:
                yield item.optional_vars, None


class Sources:
    """The files in reach."""

    def __init__(self, project: Project, parsed: dict[str, Text | None] | None = None) -> None:
        self.project = project
        self._texts: dict[str, Text | None] = {} if parsed is None else parsed
        self._named: dict[tuple[str, str], Values | tuple[str, str]] = {}
        self._lines: dict[Kind, tuple[tuple[Kind, ...], bool]] = {}
        self._modules: dict[Kind, bool | None] = {}
        self._own: dict[Kind, Mapping[str, Sequence[ast.stmt]]] = {}
        self.held: dict[tuple[str, str], tuple[ast.expr | None, dict[tuple[str, str], ast.expr]]] = {}
        """By file and name: what a variable certainly holds, and the variables that say so."""

    def text(self, file: str) -> Text | None:
        """A file as it was read; None where it cannot be."""
        self.project.read[file] = None
        if file in self._texts:
            found = self._texts.pop(file)
        else:
            found = self._parsed(file) if len(self._texts) < MAX_FILES else None
        self._texts[file] = found  # the last that was asked for is the last one
        return found

    def _parsed(self, file: str) -> Text | None:
        text = self.project.text(file)
        if text is None:
            return None
        outline = self.project.outline(file)
        try:
            if outline is not None:
                return Text(file, outline)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass  # as far as it was parsed: the whole of it says whether it is Python
        tree = self.project.tree(file)
        return None if tree is None else Text(file, tree)

    # ---- names -------------------------------------------------------------------------------------------------------

    def named(self, file: str, name: str, steps: int = MAX_STEPS) -> Values | tuple[str, str]:
        """What a name at the top of a file is; (file, name) of a variable."""
        key = file, name
        if key not in self._named:
            self._named[key] = ONLY_OPEN  # a name that is imported in a circle
            self._named[key] = self._name(file, name, steps)
        return self._named[key]

    def _name(self, file: str, name: str, steps: int) -> Values | tuple[str, str]:
        text = self.text(file)
        if text is None or steps <= 0:
            return ONLY_OPEN
        if name in text.classes:
            return frozenset([ClassOf(Kind(file, name))])
        if name in text.functions:
            return frozenset(code_of(file, node) for node in text.functions[name])
        if name in text.variables:
            return file, name
        if name in text.imports.imports:
            return self.imported(file, text.imports.imports[name], steps)
        for module, level in text.imports.stars if len(text.imports.stars) <= MAX_STARS else ():
            found = self.imported(file, (module, name, level), steps)
            if found != ONLY_OPEN:
                return found
        if hasattr(builtins, name):
            return frozenset([Builtin(name)])
        return ONLY_OPEN

    def variable(self, file: str, name: str, bound: tuple[str, str, int] | None = None) -> tuple[str, str] | None:
        """The variable at the top of a file, (file, name), that a dotted name is; `bound`: by what import statement,
        where a function has one."""
        first, *rest = name.split(".")
        found = self.named(file, first) if bound is None else self.imported(file, bound)
        for each in rest:
            if isinstance(found, tuple):
                return None
            found = self._attribute(found, each)
        return found if isinstance(found, tuple) else None

    def imported(self, file: str, bound: tuple[str, str, int], steps: int = MAX_STEPS) -> Values | tuple[str, str]:
        """What an import statement binds."""
        module, attribute, level = bound
        if not level and (is_of_torch(module) or is_of_python(module) or makes_no_modules(module)):
            return frozenset([Elsewhere(f"{module}.{attribute}" if attribute else module)])
        home = self.project.find_file(file, module, level)
        if not attribute:
            return frozenset([File(home) if home is not None else Elsewhere(module)])
        below = self.project.find_file(file, f"{module}.{attribute}" if module else attribute, level)
        if home is not None:
            found = self.named(home, attribute, steps - 1)
            if found != ONLY_OPEN or below is None:
                return found
        if below is not None:
            return frozenset([File(below)])
        return ONLY_OPEN if level else frozenset([Elsewhere(f"{module}.{attribute}")])

    def below(self, file: str, name: str) -> Values | tuple[str, str]:
        """An attribute of a module of Python."""
        found = self.named(file, name)
        if found == ONLY_OPEN and file.endswith("__init__.py"):
            home = self.project.find_file(file, name, 1)
            return frozenset([File(home)]) if home is not None else found
        return found

    # ---- classes -----------------------------------------------------------------------------------------------------

    def nodes(self, kind: Kind) -> Sequence[ast.ClassDef]:
        text = self.text(kind.file) if kind.file else None
        return text.classes.get(kind.name, ()) if text is not None else ()

    def bases(self, kind: Kind) -> Iterator[Values]:
        """What each base of a class is."""
        for node in self._heads(kind):
            for base in getattr(node, "bases", ()):
                yield self.dotted(kind, base)

    def _heads(self, kind: Kind) -> Sequence[ast.stmt]:
        text = self.text(kind.file) if kind.file else None
        return text.heads(kind.name) if text is not None else ()

    def dotted(self, kind: Kind, node: ast.expr) -> Values:
        """A name that stands in the head or body of a class."""
        while isinstance(node, ast.Subscript):
            node = node.value
        name = dotted(node)
        if name is None:
            return ONLY_OPEN
        outer = kind.name.rpartition(".")[0]
        while outer:
            if self.nodes(Kind(kind.file, f"{outer}.{name}")):
                return frozenset([ClassOf(Kind(kind.file, f"{outer}.{name}"))])
            outer = outer.rpartition(".")[0]
        return self.path(kind.file, name)

    def path(self, file: str, name: str, steps: int = 8) -> Values:
        """A dotted name at the top of a file, variables that stand for one followed."""
        first, *rest = name.split(".")
        found = self.named(file, first)
        for last in (*rest, None):
            if isinstance(found, tuple):
                text = self.text(found[0])
                values = text.variables[found[1]] if text is not None else [None]
                names = {None if value is None else dotted(value) for value in values}
                only = names.pop() if len(names) == 1 else None
                if only is None or steps <= 0 or only == found[1]:
                    return ONLY_OPEN
                found = self.path(found[0], only, steps - 1)
            if last is not None:
                found = self._attribute(found, last)
        return found if isinstance(found, frozenset) else ONLY_OPEN

    def _attribute(self, values: Values, name: str) -> Values | tuple[str, str]:
        if len(values) != 1:
            return ONLY_OPEN
        (only,) = values
        if isinstance(only, Elsewhere):
            return frozenset([Elsewhere(f"{only.path}.{name}")])
        if isinstance(only, File):
            return self.below(only.file, name)
        if isinstance(only, ClassOf) and self.nodes(Kind(only.kind.file, f"{only.kind.name}.{name}")):
            return frozenset([ClassOf(Kind(only.kind.file, f"{only.kind.name}.{name}"))])
        return ONLY_OPEN

    def line(self, kind: Kind) -> tuple[tuple[Kind, ...], bool]:
        """The classes in which an attribute is looked up, and whether these are all."""
        if kind not in self._lines:
            self._lines[kind] = ((kind,), False)  # a class that is, by mistake, its own base
            self._lines[kind] = self._line(kind)
        return self._lines[kind]

    def _line(self, kind: Kind) -> tuple[tuple[Kind, ...], bool]:
        if not kind.file:
            return (kind,), kind.torch is not None or makes_no_modules(kind.name)
        found: list[Kind] = []
        is_whole = bool(self._heads(kind))
        for values in self.bases(kind):
            for value in values:
                if isinstance(value, ClassOf):
                    above, is_known = self.line(value.kind)
                elif isinstance(value, Elsewhere):
                    above, is_known = self.line(Kind("", value.path))
                else:
                    above, is_known = (), isinstance(value, Builtin)
                found = [each for each in found if each not in above] + list(above)
                is_whole = is_whole and is_known
        return (kind, *found), is_whole

    def is_module(self, kind: Kind) -> bool | None:
        """Whether a class derives from torch's `Module`; None where that is not known."""
        if kind not in self._modules:
            line, is_whole = self.line(kind)
            has = any(each.torch is not None for each in line)
            self._modules[kind] = True if has else False if is_whole else None
        return self._modules[kind]

    # ---- what is given -----------------------------------------------------------------------------------------------

    def by_annotation(self, kind: Kind, annotation: ast.expr | None) -> Values | None:
        """What an annotation in a class or its methods lets something be, where that is no module; else None."""
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            try:
                annotation = python_tree(annotation.value, mode="eval").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return None
        parts = [] if annotation is None else [self._by_part(kind, each) for each in _named(annotation)]
        if not parts or None in parts:
            return None
        return NOTHING.union(*(each for each in parts if each is not None))

    def _by_part(self, kind: Kind, node: ast.expr) -> Values | None:
        found: Values = NOTHING
        for value in self.dotted(kind, node):
            if isinstance(value, Builtin) and value.name in _SCALARS:
                found |= ONLY_NONE
            elif isinstance(value, Builtin) and value.name in _HOLDING:
                found |= ONLY_DATA
            elif isinstance(value, ClassOf) and self.is_module(value.kind) is False:
                found |= frozenset([Given(value.kind)])
            elif isinstance(value, Elsewhere) and _is_plain(value.path):
                found |= ONLY_NONE
            elif isinstance(value, Elsewhere) and value.path.startswith(("typing.", "collections.abc.")):
                found |= NOTHING if value.path.rpartition(".")[2] in ("Optional", "Union", "Literal") else ONLY_DATA
            else:
                return None
        return found

    def field(self, kind: Kind, name: str) -> Values:
        """An attribute of a configuration that somebody gives: no module, where its class says so."""
        for owner, node in self.members(kind, name):
            if isinstance(node, ast.AnnAssign):
                return self.by_annotation(owner, node.annotation) or ONLY_DATA
        for owner, node in self.members(kind, "__init__"):
            taken = node.args if isinstance(node, _FUNCTIONS) else None
            for each in (*taken.args, *taken.kwonlyargs) if taken is not None else ():
                if each.arg == name:
                    return self.by_annotation(owner, each.annotation) or ONLY_DATA
        return ONLY_DATA

    def members(self, kind: Kind, name: str) -> Iterator[tuple[Kind, ast.stmt]]:
        """Statements in the bodies of a class and its bases that define an attribute, of the first that has any."""
        for each in self.line(kind)[0]:
            found = self.own(each).get(name)
            if found:
                yield from ((each, node) for node in found)
                return

    def own(self, kind: Kind) -> Mapping[str, Sequence[ast.stmt]]:
        """By name: the statements in the body of a class itself that define it."""
        if kind not in self._own:
            found: dict[str, list[ast.stmt]] = {}
            for body in self.nodes(kind):
                for node in members_of(body):
                    for name in _bound(node):
                        found.setdefault(name, []).append(node)
            self._own[kind] = found
        return self._own[kind]


def members_of(node: ast.ClassDef) -> Iterator[ast.stmt]:
    """The statements of a class's body, those of branches too."""
    pending: list[ast.stmt] = list(reversed(node.body))
    while pending:
        each = pending.pop()
        yield each
        if not isinstance(each, (*_FUNCTIONS, ast.ClassDef)):
            pending.extend(below for block in blocks(each) for below in reversed(block))


def _bound(node: ast.stmt) -> Sequence[str]:
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        return (node.name,)
    if isinstance(node, ast.AnnAssign):
        return (node.target.id,) if isinstance(node.target, ast.Name) else ()
    return [target.id for target, _ in assigned(node) if isinstance(target, ast.Name)]


_SCALARS = frozenset(("int", "float", "str", "bool", "bytes", "complex", "None"))
_HOLDING = frozenset(("list", "tuple", "dict", "set", "frozenset"))


def _is_plain(path: str) -> bool:
    """A class of torch or Python of which no instance holds modules."""
    return path in (
        "torch.Tensor",
        "torch.dtype",
        "torch.device",
        "torch.Size",
        "torch.LongTensor",
        "torch.FloatTensor",
    )


def _named(node: ast.expr) -> Iterator[ast.expr]:
    """The classes that an annotation speaks of; a constant for what is no name."""
    if isinstance(node, ast.BinOp):
        yield from (*_named(node.left), *_named(node.right))
    elif isinstance(node, ast.Subscript):
        yield node.value
        is_literal = (dotted(node.value) or "").rpartition(".")[2] == "Literal"
        inner = node.slice
        parts = [] if is_literal else inner.elts if isinstance(inner, ast.Tuple) else [inner]
        yield from (each for part in parts for each in _named(part))
    elif not (isinstance(node, ast.Constant) and (node.value is None or node.value is Ellipsis)):
        yield node


def is_of_python(module: str) -> bool:
    """It belongs to Python's own library."""
    return module.partition(".")[0] in sys.stdlib_module_names


def code_of(file: str, node: Function | ast.Lambda, owner: Kind | None = None) -> Code:
    return Code(file, node.lineno, node.col_offset, owner)


__all__ = ["NOTHING", "Sources", "Text", "assigned", "code_of", "members_of"]
