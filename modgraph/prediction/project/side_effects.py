"""Statements of modules that may change an object that another statement made: registrations, by their syntax.

A name stands for the object. What mentions it in a way that may change it is found in all modules that are imported:
functions and classes that do so when they are called or derived from, names that are bound to its methods, and then the
statements that use these when a module is imported.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from modgraph.prediction.code.import_order import Imported
from modgraph.source import containers
from modgraph.source.changed_objects import bound_by, stored_in
from modgraph.source.index import Definition, Statement
from modgraph.source.modules import SourceError, SourceModule
from modgraph.source.quiet import python_tree
from modgraph.source.walking import walk

_READING = containers.READING | {"format", "join", "startswith"}
"""Methods of containers and texts that leave them as they are."""

_METACLASSES = frozenset({"type", "ABCMeta", "EnumMeta", "EnumType"})

_WHEN_DERIVED = frozenset({"__init_subclass__", "__new__", "__init__", "__prepare__"})


_CLASS_MAKERS = frozenset({"type", "new_class", "make_dataclass"})


_AT_MARGIN = r"^(?:@(?:\w+\.)*|(?:\w+\.)*|class \w+\([^)\n]*\b)(?:{})\b(?!\s*=[^=])"
"""A decorator, statement or class at the left margin that begins with one of these names, or derives from it."""


class FarEffectError(Exception):
    """A module may change the object, of which that is not followed: the file."""


@dataclass(frozen=True)
class Effect:
    """A statement of a module that may change the object."""

    source: SourceModule
    statement: Statement
    plain: bool = False
    """It is one of those that make up the name of the object, and changes it in place."""


@dataclass
class _Words:
    """Names by what they mean, in whatever module."""

    objects: set[str]
    """Lead to the object."""
    callables: set[str] = field(default_factory=set)
    """May change it when they are called, or used as a decorator."""
    bases: set[str] = field(default_factory=set)
    """Classes that change it when a class derives from them."""
    metaclasses: set[str] = field(default_factory=set)
    makers: set[str] = field(default_factory=set)
    """Metaclasses that change it when a class of theirs is called."""
    changers: Callable[[str], bool] = lambda _: False
    """Whether a function of that name changes what it is given."""

    def all(self) -> frozenset[str]:
        return frozenset(self.objects | self.callables | self.bases | self.metaclasses | self.makers)


def effects_on(home: str, names: Iterable[str], imported: Imported) -> tuple[list[Effect], bool]:
    """The statements that may change what `names` of module `home` lead to, in the order in which they run, those that
    make it left out; and whether something is there with which others might.

    Raises:
        FarEffectError: a module that is not followed may change it as well.
    """
    words = _Words(set(names), changers=_changers(imported))
    own = set(words.objects)
    carriers = {home}
    learned: dict[str, frozenset[str]] = {}
    while True:
        before = words.all(), len(carriers)
        modules = []
        for name, source in imported.modules.items():
            near = name in carriers or any(other in carriers for _, other in imported.imports.get(name, ()))
            if near and _mentions(source, before[0]):
                modules.append(source)
                carriers.add(name)
        for source in modules:
            # What a statement tells is another thing only with a word that it mentions.
            if fresh := before[0] - learned.get(source.name, frozenset()):
                learned[source.name] = before[0]
                _learn(source, words, _pattern(fresh))
        if (words.all(), len(carriers)) == before:
            break
    _refuse_far(imported, words)
    effects = {source.name: list(_effects(source, words, own if source.name == home else set())) for source in modules}
    ordered: list[Effect] = []
    seen: set[str] = set()
    for name in imported.modules:
        in_order(name, imported, effects, seen, ordered)
    registering = any(not each.plain for each in ordered)
    return ordered, bool(registering or words.callables or words.bases or words.metaclasses)


def changes_in_place(statement: Statement, name: str) -> bool:
    """It changes the object that the name stands for, which is the same object after it: `x[...] = y`, `x += y`."""
    return name in statement.touched and (name not in statement.names or statement.kind == "assign")


def _refuse_far(imported: Imported, words: _Words) -> None:
    if imported.far:
        at_margin = re.compile(_AT_MARGIN.format("|".join(sorted(map(re.escape, words.all())))), re.M)
        for source in imported.far.values():
            if at_margin.search(source.text):
                raise FarEffectError(source.file)


def _changers(imported: Imported) -> Callable[[str], bool]:
    def changes(name: str) -> bool:
        if name not in imported.changers:
            imported.changers[name] = name == "partial" or any(
                _changes_given(source, source.index.definitions[name])
                for source in imported.modules.values()
                if name in source.words and name in source.facts.defined and name in source.index.definitions
            )
        return imported.changers[name]

    return changes


def _changes_given(source: SourceModule, definition: Definition) -> bool:
    """A function that changes an argument, or gives a function that does."""
    try:
        tree = python_tree(_slice(source, definition.first_line, definition.last_line))
    except (SyntaxError, ValueError):
        return False
    given = {node.arg for node in walk(tree) if isinstance(node, ast.arg)}
    return any(_changes_object(node, _Words(given), passed=False) for node in walk(tree))


def in_order(
    name: str, imported: Imported, effects: dict[str, list[Effect]], seen: set[str], ordered: list[Effect]
) -> None:
    """What importing a module runs: at each of its imports what that runs, in between its own."""
    if name in seen:
        return
    seen.add(name)
    own = list(reversed(effects.get(name, ())))
    for line, other in imported.imports.get(name, ()):
        while own and own[-1].statement.first_line < line:
            ordered.append(own.pop())
        in_order(other, imported, effects, seen, ordered)
    ordered.extend(reversed(own))


@functools.lru_cache(maxsize=64)
def _pattern(words: frozenset[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, words)))})\b")


def _mentions(source: SourceModule, words: frozenset[str]) -> bool:
    try:
        return not source.words.isdisjoint(words) and bool(source.index.body)
    except SourceError:
        return False


def _slice(source: SourceModule, first: int, last: int) -> str:
    return "\n".join(source.lines[first - 1 : last])


def _tree(source: SourceModule, statement: Statement) -> list[ast.stmt]:
    try:
        return python_tree(_slice(source, statement.first_line, statement.last_line)).body
    except (SyntaxError, ValueError):
        return []


# ---- which names lead to a change ------------------------------------------------------------------------------------


def _learn(source: SourceModule, words: _Words, pattern: re.Pattern[str]) -> None:
    """Adds the names of this module that lead to the object, or to a change of it."""
    for statement in source.index.body:
        if not pattern.search(_slice(source, statement.first_line, statement.last_line)):
            continue
        if statement.kind == "import":
            _learn_aliases(statement, words)
        elif statement.kind == "function":
            if any(_changes(node, _seen_in(node, words)) for node in _tree(source, statement)):
                words.callables.update(statement.names)
        elif statement.kind == "class" and statement.definition is not None:
            _learn_class(source, statement, statement.definition, words)
        elif any(_leads_on(node, words) for node in _tree(source, statement)):
            words.objects.update(statement.names)


def _learn_aliases(statement: Statement, words: _Words) -> None:
    for imported in statement.imports:
        for known in (words.objects, words.callables, words.bases, words.metaclasses, words.makers):
            if imported.attribute in known:
                known.add(imported.name)


def _learn_class(source: SourceModule, statement: Statement, definition: Definition, words: _Words) -> None:
    for node in _tree(source, statement):
        if not isinstance(node, ast.ClassDef):
            continue
        parts = {part for base in node.bases for part in _chain(base)}
        metaclass = {part for keyword in node.keywords if keyword.arg == "metaclass" for part in _chain(keyword.value)}
        if metaclass & (words.metaclasses | words.callables):
            words.metaclasses.add(node.name)
        if parts & words.metaclasses:
            words.metaclasses.add(node.name)
        if (metaclass | parts) & words.makers:
            (words.makers if parts & _METACLASSES else words.callables).add(node.name)
        if parts & words.bases:
            words.bases.add(node.name)
        own = node.name in words.objects
        for method in node.body:
            if not isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            inside = own and _changes(method, _Words({"cls", "self", node.name}))
            if not inside and not _changes(method, _seen_in(method, words)):
                continue
            if method.name == "__init_subclass__":
                words.bases.add(node.name)
            elif method.name in _WHEN_DERIVED and parts & _METACLASSES:
                words.metaclasses.add(node.name)
            elif method.name == "__call__" and parts & _METACLASSES:
                words.makers.add(node.name)
            elif method.name != "forward" and (method.decorator_list or method.name in ("__call__", "__new__") or own):
                words.callables.add(node.name)


def _seen_in(function: ast.AST, words: _Words) -> _Words:
    """The names without those that are the function's own."""
    own: set[str] = set()
    shared: set[str] = set()
    for node in walk(function):
        if isinstance(node, ast.arg):
            own.add(node.arg)
        elif (name := bound_by(node)) is not None:
            own.add(name)
        elif isinstance(node, ast.Global):
            shared.update(node.names)
    own -= shared
    return _Words(
        words.objects - own,
        words.callables - own,
        words.bases - own,
        words.metaclasses - own,
        words.makers - own,
        words.changers,
    )


def _changes(tree: ast.AST, words: _Words) -> bool:
    """Running this code may change the object, or hands it or a way to change it out."""
    for node in walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in words.callables:
            return True
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and node.attr in words.callables:
            return True
        if _changes_object(node, words) or _derives(node, words):
            return True
    return False


def _derives(node: ast.AST, words: _Words) -> bool:
    """A class is made by a call, `type(name, (Base,), {...})`, of a base that hears of it."""
    if not isinstance(node, ast.Call):
        return False
    called = _chain(node.func)
    if called & words.metaclasses or not called & _CLASS_MAKERS:
        return bool(called & words.metaclasses)
    hears = words.bases | words.metaclasses
    given = (inner for argument in node.args for inner in walk(argument))
    return any(_chain(inner) & hears for inner in given if isinstance(inner, (ast.Name, ast.Attribute)))


def _changes_object(node: ast.AST, words: _Words, passed: bool = True) -> bool:
    objects = words.objects
    if (changed := stored_in(node)) is not None:
        return bool(_chain(changed) & objects)
    if isinstance(node, ast.AugAssign):
        return bool(_chain(node.target) & objects)
    if isinstance(node, ast.Call):
        if (
            isinstance(node.func, ast.Attribute)
            and node.func.attr not in _READING
            and _chain(node.func.value) & objects
        ):
            return True
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        if not passed or not any(_is_object(argument, objects) for argument in given):
            return False
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return words.changers(called)
    if passed and isinstance(node, (ast.Return, ast.Assign, ast.AnnAssign)) and node.value is not None:
        return _is_object(node.value, objects)
    return isinstance(node, (ast.Global, ast.Nonlocal)) and bool(objects.intersection(node.names))


def _is_object(node: ast.AST, objects: set[str]) -> bool:
    """The expression is the object, or an attribute of it."""
    return isinstance(node, (ast.Name, ast.Attribute)) and bool(_chain(node) & objects)


def _leads_on(tree: ast.AST, words: _Words) -> bool:
    """A statement binds its names to the object, to a method of it, or to something made of what changes it."""
    if not isinstance(tree, (ast.Assign, ast.AnnAssign)) or tree.value is None:
        return False
    return _is_object(tree.value, words.objects) or _changes(tree.value, words) or _calls(tree.value, words.objects)


def _calls(tree: ast.AST, names: set[str]) -> bool:
    return any(isinstance(node, ast.Call) and _chain(node.func) & names for node in walk(tree))


def _chain(node: ast.AST) -> set[str]:
    """The names in a.b[...].c(...), whatever the items and arguments."""
    found: set[str] = set()
    while True:
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
            node = node.value
        elif isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        else:
            return found | ({node.id} if isinstance(node, ast.Name) else set())


# ---- which statements use them ---------------------------------------------------------------------------------------


def _effects(source: SourceModule, words: _Words, made: set[str]) -> Iterable[Effect]:
    """The statements of a module that may change the object; not those that make it."""
    mentioned = _pattern(words.all())
    own = {id(statement) for name in made for statement in source.index.statements.get(name, ())}
    kinds: dict[str, Callable[[SourceModule, Statement, _Words], Effect | None]] = {
        "class": _of_class,
        "function": _of_definition,
        "import": lambda *_: None,
    }
    for statement in source.index.body:
        if id(statement) in own:
            if any(changes_in_place(statement, name) for name in made):
                yield Effect(source, statement, plain=True)
            continue
        if not mentioned.search(_slice(source, statement.first_line, statement.last_line)):
            continue
        effect = kinds.get(statement.kind, _of_statement)(source, statement, words)
        if effect is not None:
            yield effect


def _of_definition(source: SourceModule, statement: Statement, words: _Words) -> Effect | None:
    used = words.objects | words.callables
    for node in _tree(source, statement):
        for decorator in getattr(node, "decorator_list", ()):
            if any(_chain(part) & used for part in walk(decorator)):
                return Effect(source, statement)
    return None


def _of_class(source: SourceModule, statement: Statement, words: _Words) -> Effect | None:
    for node in _tree(source, statement):
        if isinstance(node, ast.ClassDef):
            parts = {part for base in node.bases for part in _chain(base)}
            keywords = {part for keyword in node.keywords for part in _chain(keyword.value)}
            if parts & (words.bases | words.callables | words.metaclasses) or keywords & words.metaclasses:
                return Effect(source, statement)
    return _of_definition(source, statement, words)


def _of_statement(source: SourceModule, statement: Statement, words: _Words) -> Effect | None:
    for node in _tree(source, statement):
        if _changes(node, words):
            return Effect(source, statement)
    return None
