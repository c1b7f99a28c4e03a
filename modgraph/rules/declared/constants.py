"""What a variable certainly holds, as it stands in the source: it is given a value once, and nothing changes that.

Where it may be another value, or may have been changed, the name stays a name, and of a name nothing is said.
"""

from __future__ import annotations

import ast
import copy
import os
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from modgraph.rules.declared.carriers import files_of_package
from modgraph.rules.declared.functions import FUNCTIONS, inside, locals_of, parameters_of
from modgraph.rules.declared.harmless import Where, changes
from modgraph.rules.declared.sources import Sources, is_of_python
from modgraph.source.dotted_names import dotted
from modgraph.source.territory import is_installed
from modgraph.source.torch_place import is_of_torch

Plain = ast.FunctionDef | ast.AsyncFunctionDef
Variable = tuple[str, str]
"""A variable at the top of a file: the file, and its name."""
MAX_PARTS = 5_000
"""Of what a variable holds, beyond which it is not looked at."""
MAX_DEPTH = 8
"""Variables that stand for each other."""
_COPYING = frozenset(("list", "tuple", "set", "frozenset", "dict", "sorted"))


class Held(NamedTuple):
    """What an expression certainly is."""

    node: ast.expr
    variables: tuple[tuple[Variable, ast.expr], ...]
    """Those at the top of files that say so, with what each is given there."""


class Constants:
    """The names of one scope of a file."""

    def __init__(
        self,
        sources: Sources,
        file: str,
        scope: Plain | None = None,
        outside: Callable[[], frozenset[str]] = frozenset,
        depth: int = 0,
    ) -> None:
        """`scope`: the function; None for what stands at the top of the file. `outside`: names that functions around
        it, or the class in which it stands, bind."""
        self.sources, self.file, self.scope, self.depth = sources, file, scope, depth
        self._outside = outside
        self._known: dict[str, ast.expr | None] = {}
        self.used: dict[Variable, ast.expr] = {}
        """The variables at the top of a file that stood for something."""
        self._locals = locals_of(scope) if scope is not None else frozenset()

    def of(self, node: ast.expr) -> Held:
        """The same, and the variables of files that say so."""
        self.used = {}
        return Held(self.spelled(node), tuple(self.used.items()))

    def spelled(self, node: ast.expr) -> ast.expr:
        """An expression with what its names certainly hold in their place; itself where that is not known."""
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self._held(node) or node
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            parts = [part for each in node.elts for part in self._parts(each)]
            return node if parts == node.elts else _like(node, type(node)(elts=parts))
        if isinstance(node, ast.Dict):
            return self._dict(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.BitOr)):
            return self._sum(node)
        if isinstance(node, ast.JoinedStr):
            return self._joined(node)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in _COPYING and len(node.args) == 1:
            given = self.spelled(node.args[0])
            is_same = given is node.args[0] or node.keywords
            return node if is_same else _like(node, ast.Call(func=node.func, args=[given], keywords=[]))
        return node

    def _parts(self, node: ast.expr) -> list[ast.expr]:
        if not isinstance(node, ast.Starred):
            return [self.spelled(node)]
        held = self.spelled(node.value)
        return list(held.elts) if isinstance(held, (ast.List, ast.Tuple, ast.Set)) else [node]

    def _dict(self, node: ast.Dict) -> ast.expr:
        keys: list[ast.expr | None] = []
        values: list[ast.expr] = []
        for key, value in zip(node.keys, node.values, strict=True):
            held = self.spelled(value)
            if key is None and isinstance(held, ast.Dict):
                keys += held.keys
                values += held.values
            else:
                keys.append(key and self.spelled(key))
                values.append(held)
        return node if keys == node.keys and values == node.values else _like(node, ast.Dict(keys=keys, values=values))

    def _sum(self, node: ast.BinOp) -> ast.expr:
        left, right = self.spelled(node.left), self.spelled(node.right)
        texts = [each.value for each in (left, right) if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        if len(texts) == 2 and isinstance(node.op, ast.Add):
            return _like(node, ast.Constant("".join(texts)))
        is_same = left is node.left and right is node.right
        return node if is_same else _like(node, ast.BinOp(left=left, op=node.op, right=right))

    def _joined(self, node: ast.JoinedStr) -> ast.expr:
        texts: list[str] = []
        for each in node.values:
            is_plain = isinstance(each, ast.FormattedValue) and each.conversion == -1 and each.format_spec is None
            held = self.spelled(each.value) if is_plain and isinstance(each, ast.FormattedValue) else each
            if not isinstance(held, ast.Constant) or type(held.value) not in (str, int):
                return node
            texts.append(str(held.value))
        return _like(node, ast.Constant("".join(texts)))

    # ---- names -------------------------------------------------------------------------------------------------------

    def _held(self, node: ast.Name | ast.Attribute) -> ast.expr | None:
        """What a name certainly holds. What stands in another file is put where the name stands."""
        name = dotted(node)
        first = (name or "").partition(".")[0]
        if name is None or self.depth > MAX_DEPTH:
            return None
        bound = self._imports.get(first)
        if first in self._locals and bound is None:
            if name not in self._known:
                self._known[name] = None  # one that holds itself
                self._known[name] = self._local(name) if isinstance(node, ast.Name) else None
            return self._known[name]
        variable = (
            None
            if first not in self._locals and first in self.outside
            else self.sources.variable(self.file, name, bound)
        )
        held = None if variable is None else self._variable(variable)
        return held if held is None or variable is None or variable[0] == self.file else _like_all(node, held)

    @cached_property
    def outside(self) -> frozenset[str]:
        return self._outside()

    @cached_property
    def _imports(self) -> dict[str, tuple[str, str, int]]:
        """By name: the one import statement of the function that binds it, and that alone."""
        nodes = list(inside(self.scope)) if self.scope is not None else []
        found: dict[str, list[tuple[str, str, int]]] = {}
        for node in nodes:
            for each in node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else ():
                name = each.asname or each.name.partition(".")[0]
                bound = (each.name if each.asname else name, "", 0)
                if isinstance(node, ast.ImportFrom):
                    bound = (node.module or "", each.name, node.level)
                found.setdefault(name, []).append(bound)
        stored = {each.id for each in nodes if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)}
        return {name: bound[0] for name, bound in found.items() if len(bound) == 1 and name not in stored}

    def _local(self, name: str) -> ast.expr | None:
        scope = self.scope
        if scope is None or name in parameters_of(scope):
            return None
        value: ast.expr | None = None
        for node in inside(scope):
            if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
                if value is not None:
                    return None
                value = next((each.value for each in inside(scope) if _target(each) is node), None)  # type: ignore[attr-defined]
                if value is None:
                    return None
        if value is None or _says_outer(scope, name) or changes(scope, name, value, Where.LOCAL, self.is_foreign):
            return None
        self.depth += 1  # a name that holds itself
        try:
            return _if_small(self.spelled(value))
        finally:
            self.depth -= 1

    def _variable(self, variable: Variable) -> ast.expr | None:
        """The same of one at the top of a file, reckoned once."""
        if variable not in self.sources.held:
            self.sources.held[variable] = None, {}  # one that holds itself
            inner = Constants(self.sources, variable[0], depth=self.depth + 1)
            value = inner._value(*variable)
            held = None if value is None else _if_small(inner.spelled(value))
            used = {} if value is None else {variable: value, **inner.used}
            self.sources.held[variable] = held, used
        held, used = self.sources.held[variable]
        self.used |= used
        return held

    def _value(self, file: str, name: str) -> ast.expr | None:
        """What a variable at the top of this file is given, where that is all that happens to it."""
        tree = self.sources.project.tree(file)
        stores = self.sources.project.stores(file, name)
        text = self.sources.text(file)
        if tree is None or text is None or len(stores) != 1:
            return None
        if name in text.functions or name in text.classes or name in text.imports.imports:
            return None
        found = [each for each in ast.walk(stores[0]) if isinstance(each, (ast.Assign, ast.AnnAssign))]
        values = [each.value for each in found if getattr(_target(each), "id", None) == name]
        value = values[0] if len(values) == 1 else None
        if value is None or _is_starred_behind(tree, value):
            return None
        return None if changes(tree, name, value, Where.FILE, self.is_foreign) else value

    def is_foreign(self, function: ast.expr) -> bool:
        """What is called belongs to a package of others, which changes nothing that it is given."""
        module, level = self._imported_anywhere.get((dotted(function) or "").partition(".")[0], ("", 1))
        return not level and self._is_installed(module)

    @cached_property
    def _imported_anywhere(self) -> dict[str, tuple[str, int]]:
        """By name, the module and the level of the first import of it in the file, in functions too."""
        tree = self.sources.project.tree(self.file)
        found: dict[str, tuple[str, int]] = {}
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                for each in node.names:
                    of = (each.name, 0) if isinstance(node, ast.Import) else (node.module or "", node.level)
                    found.setdefault(each.asname or each.name.partition(".")[0], of)
        return found

    def _is_installed(self, module: str) -> bool:
        if is_of_torch(module) or is_of_python(module):
            return True
        home = self.sources.project.find_file(self.file, module, 0)
        return home is None or any(map(is_installed, home.split(os.sep)))


def is_changed_elsewhere(sources: Sources, variable: Variable, value: ast.expr, file: str) -> bool:
    """Another file of the package of a variable, or of the file in which it is used, changes it or binds it anew."""
    home, name = variable
    for start in dict.fromkeys((home, file)):
        files = files_of_package(sources, start)
        if files is None:
            return True
        for each in dict.fromkeys((*files, file)):
            text = None if each == home else sources.project.text(each)
            tree = sources.project.tree(each) if text is not None and name in text else None
            beside = Constants(sources, each)
            if tree is not None and changes(tree, name, value, Where.OTHER, beside.is_foreign):
                return True
    return False


def names_around(tree: ast.Module, scope: ast.AST) -> frozenset[str]:
    """The names that functions around a scope bind."""
    around = (each for each in ast.walk(tree) if isinstance(each, FUNCTIONS) and each is not scope)
    return frozenset().union(*(locals_of(each) for each in around if any(below is scope for below in ast.walk(each))))


def _target(statement: ast.AST) -> ast.expr | None:
    """What an assignment binds, where that is one thing."""
    if isinstance(statement, ast.Assign):
        return statement.targets[0] if len(statement.targets) == 1 else None
    return statement.target if isinstance(statement, ast.AnnAssign) else None


def _if_small(node: ast.expr) -> ast.expr | None:
    """None for a value of too many parts: lists that are made of each other grow without end."""
    return None if len(list(islice(ast.walk(node), MAX_PARTS + 1))) > MAX_PARTS else node


def _is_starred_behind(tree: ast.Module, value: ast.expr) -> bool:
    """A star import behind it may bind the name anew."""
    stars = (each for each in ast.walk(tree) if isinstance(each, ast.ImportFrom) and each.names[0].name == "*")
    return any(each.lineno > value.lineno for each in stars)


def _says_outer(scope: Plain, name: str) -> bool:
    """It may be bound in a way that is no `Name`: by a function inside, an import, a pattern, an exception."""
    for each in ast.walk(scope):
        if isinstance(each, (ast.Global, ast.Nonlocal)) and name in each.names:
            return True
        names: Sequence[str | None] = [getattr(each, "name", None), getattr(each, "rest", None)]
        if isinstance(each, ast.alias):
            names = [each.asname or each.name.partition(".")[0]]
        if name in names and each is not scope:
            return True
    return False


def _like(place: ast.expr, node: ast.expr) -> ast.expr:
    """A node that stands where another does."""
    return ast.copy_location(node, place)


def _like_all(place: ast.expr, node: ast.expr) -> ast.expr:
    """A copy of an expression of another file, all of which stands where a name does."""
    found = copy.deepcopy(node)
    for each in ast.walk(found):
        if isinstance(each, ast.expr):
            ast.copy_location(each, place)
    return found
