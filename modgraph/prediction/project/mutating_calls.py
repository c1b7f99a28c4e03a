"""Statements of a module that hand an object to a function which changes it: `freeze(net)`, `weight_norm(net.fc)`; and
those that change it under another name, `other = net`.

The former only in modules that are asked for by the user, and only where the function, by its syntax, changes what a
module registers: a training loop that is given the model leaves that as it is, and is not run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from modgraph.prediction.domain.limits import MAX_HANDED_DEPTH, MAX_OTHER_NAMES
from modgraph.prediction.domain.objects import DictObject, EnvironmentObject, ListObject, ModuleObject, SetObject
from modgraph.prediction.domain.values import Address, FunctionValue, Value
from modgraph.source import containers, torch_names
from modgraph.source.changed_objects import stored_in
from modgraph.source.index import Definition, Statement
from modgraph.source.modules import SourceModule
from modgraph.source.quiet import tree_of_lines

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_METHODS = frozenset(
    {
        *("requires_grad_", "__setattr__", "half", "double", "bfloat16"),
        *torch_names.REGISTERING,
        *containers.LIST,
        *containers.DICT,
    }
)
"""Methods that change what a module, or a container of it, registers."""

_OF_TORCH = frozenset(
    {
        *("weight_norm", "remove_weight_norm", "spectral_norm", "remove_spectral_norm", "orthogonal"),
        *("register_parametrization", "remove_parametrizations", "setattr", "delattr"),
    }
)
"""Functions of torch, and of Python, that change the object they are given."""

_SAME_ITEMS = frozenset({"list", "tuple", "reversed", "iter", "next", "enumerate", "zip", "sorted", "dict", "getattr"})
"""What they give is, or holds, what they are given."""

_ALIAS = re.compile(r"(\w+)\s*=\s*(\w+)\s*(?:#.*)?")

_same: WeakKeyDictionary[SourceModule, _Aliases] = WeakKeyDictionary()
_handed: WeakKeyDictionary[SourceModule, dict[str, list[Statement]]] = WeakKeyDictionary()


def including(machine: Machine, source: SourceModule, name: str, statements: list[Statement]) -> list[Statement]:
    """The statements that make up a name, with those between and after them that hand its object on."""
    if not statements:
        return statements
    given = _table(source).get(name, []) if source.name in machine.modules.roots else []
    others = _other_names(source).of(name)
    given = [*given, *(each for other in others for each in source.index.statements[other] if other in each.touched)]
    first = statements[0].first_line
    further = {each.first_line: each for each in given if each not in statements and each.first_line > first}
    return sorted([*statements, *further.values()], key=lambda each: each.first_line) if further else statements


def concerns(
    machine: Machine, source: SourceModule, statement: Statement, name: str, environment: EnvironmentObject
) -> bool:
    """The statement changes the object of the name: by this name, by another that stands for it and is bound in
    `environment` then, or as an argument."""
    value = environment.names[name]
    item = machine.state.read(value) if isinstance(value, Address) else None
    is_container = isinstance(item, (ListObject, DictObject, SetObject))  # whose changes `registries.py` follows
    others = None if is_container else _other_names(source)
    if others is not None and name in others.names:
        return False  # done already by the name that it stands for
    if name in statement.touched:
        return True
    touched = [other for other in others.of(name) if other in statement.touched] if others is not None else []
    environment.names.update(dict.fromkeys(touched, value))
    return bool(touched) or (isinstance(item, ModuleObject) and changes(machine, source, statement, name))


class _Aliases:
    """Names that statements `other = name` make stand for the same object throughout."""

    def __init__(self, source: SourceModule) -> None:
        self._given: dict[str, list[str]] = {}
        """By name: the others that are given it itself."""
        self.names: set[str] = set()
        once = {
            name for name, bound in source.index.statements.items() if sum(name in each.names for each in bound) == 1
        }
        for statement in source.index.body:
            match = _ALIAS.fullmatch(source.lines[statement.first_line - 1]) if statement.kind == "assign" else None
            if match is not None and {match[1], match[2]} <= once:
                self._given.setdefault(match[2], []).append(match[1])
                self.names.add(match[1])

    def of(self, name: str) -> list[str]:
        """The names that stand for what `name` does; of very many the first."""
        found = dict.fromkeys(self._given.get(name, ()))
        pending = list(found)
        for other in pending:  # grows meanwhile
            if len(found) >= MAX_OTHER_NAMES:
                break
            further = [each for each in self._given.get(other, ()) if each not in found]
            found.update(dict.fromkeys(further))
            pending += further
        return list(found)[:MAX_OTHER_NAMES]


def _other_names(source: SourceModule) -> _Aliases:
    if source not in _same:
        _same[source] = _Aliases(source)
    return _same[source]


def changes(machine: Machine, source: SourceModule, statement: Statement, name: str) -> bool:
    """A function to which the statement hands the object changes what it is given."""
    return any(
        _function_changes(machine, source, call, place)
        for call in _calls(tree_of_lines(source.lines, statement.first_line, statement.last_line))
        for place in _places(call, {name})
    )


def is_done(machine: Machine, source: SourceModule, statement: Statement) -> bool:
    """The statement changes an object that it is given, and has run with those that make up a name of the object."""
    if source.name not in machine.modules.roots:
        return False
    for name in (each for each, found in _table(source).items() if statement in found):
        value = machine.global_name(source.name, name) if name in source.index.bound else None
        item = machine.state.read(value) if isinstance(value, Address) else None
        if isinstance(item, ModuleObject) and changes(machine, source, statement, name):
            return True
    return False


def _table(source: SourceModule) -> dict[str, list[Statement]]:
    """By name: the statements in which it is an argument of a call whose result is not kept."""
    if source not in _handed:
        found: dict[str, list[Statement]] = {}
        for statement in source.index.body:
            if statement.kind in ("expression", "compound"):
                tree = tree_of_lines(source.lines, statement.first_line, statement.last_line)
                given = {_root(argument) for call in _calls(tree) for argument in _arguments(call).values()}
                for name in sorted(each for each in given if each):
                    found.setdefault(name, []).append(statement)
        _handed[source] = found
    return _handed[source]


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield node.value


def _arguments(call: ast.Call) -> dict[int | str, ast.expr]:
    """The arguments by place or name."""
    found: dict[int | str, ast.expr] = dict(enumerate(call.args))
    found.update({each.arg: each.value for each in call.keywords if each.arg})
    return found


def _places(call: ast.Call, objects: set[str]) -> list[int | str]:
    """Where one of the objects, or a part of one, is an argument."""
    return [place for place, argument in _arguments(call).items() if _root(argument) in objects]


def _root(node: ast.AST) -> str | None:
    """The name in a.b[...].c(...)."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        if isinstance(node, ast.Call) and not isinstance(node.func, ast.Attribute):
            return None
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def _function_changes(machine: Machine, source: SourceModule, call: ast.Call, place: int | str) -> bool:
    last = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if last in _OF_TORCH:
        return True
    function = _value(machine, source.name, call.func)
    if not isinstance(function, FunctionValue):
        return False
    home = machine.finder.source(function.definition.module)
    definition = home.index.definitions.get(function.definition.qualname) if home is not None else None
    return home is not None and definition is not None and _changes_argument(home, definition, place, 0)


def _value(machine: Machine, module: str, node: ast.AST) -> Value | None:
    if isinstance(node, ast.Name):
        return machine.global_name(module, node.id)
    if isinstance(node, ast.Attribute):
        owner = _value(machine, module, node.value)
        return machine.find_attribute(owner, node.attr) if owner is not None else None
    return None


def _changes_argument(source: SourceModule, definition: Definition, place: int | str, depth: int) -> bool:
    tree = tree_of_lines(source.lines, definition.first_line, definition.last_line)
    function = next((each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)), None)
    if function is None or depth > MAX_HANDED_DEPTH:
        return False
    parameters = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    if isinstance(place, int):
        rest = [function.args.vararg.arg] if function.args.vararg is not None else []
        parameter = [*parameters, *rest][min(place, len(parameters) + len(rest) - 1)] if parameters or rest else ""
    else:
        parameter = place
    objects = _derived(function, {parameter})
    return any(_changes_one(source, node, objects, depth) for node in ast.walk(function))


def _derived(function: ast.AST, objects: set[str]) -> set[str]:
    """The names that lead to a part of the objects."""
    before: set[str] = set()
    while before != objects:
        before = set(objects)
        for node in ast.walk(function):
            if isinstance(node, (ast.For, ast.comprehension)):
                given, targets = node.iter, [node.target]
            elif isinstance(node, ast.Assign):
                given, targets = node.value, node.targets
            else:
                continue
            if _leads_to(given, objects):
                objects |= {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
    return objects


def _leads_to(node: ast.AST, objects: set[str]) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _SAME_ITEMS:
        return any(_leads_to(argument, objects) for argument in node.args)
    return _root(node) in objects


def _changes_one(source: SourceModule, node: ast.AST, objects: set[str], depth: int) -> bool:
    if (changed := stored_in(node)) is not None:
        return _root(changed) in objects
    if not isinstance(node, ast.Call):
        return False
    places = _places(node, objects)
    if isinstance(node.func, ast.Attribute):
        if _root(node.func.value) in objects:
            return node.func.attr in _METHODS or (node.func.attr == "apply" and _applies(source, node, depth))
        return bool(places) and node.func.attr in _OF_TORCH
    name = getattr(node.func, "id", "")
    definition = source.index.definitions.get(name)
    if places and definition is not None and definition.kind == "function":
        return any(_changes_argument(source, definition, place, depth + 1) for place in places)
    return bool(places) and name in _OF_TORCH


def _applies(source: SourceModule, call: ast.Call, depth: int) -> bool:
    """`net.apply(function)` of a function that changes the module it is given."""
    name = call.args[0].id if call.args and isinstance(call.args[0], ast.Name) else ""
    definition = source.index.definitions.get(name)
    return definition is not None and _changes_argument(source, definition, 0, depth + 1)
