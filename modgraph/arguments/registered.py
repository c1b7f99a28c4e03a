"""The names under which a project registers a class: the keys of the tables into which its own file, or one that
imports it, puts it. Files that may do so are interpreted, as `prediction/registered_names.py` says.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from modgraph.arguments.constructor import Constructor
from modgraph.arguments.kept_answers import kept
from modgraph.arguments.project_files import ProjectFiles, script_of
from modgraph.names import last_name
from modgraph.prediction.registered_names import registered_names
from modgraph.source.dotted_names import dotted

MAX_FILES = 4
"""Files that are interpreted."""
_OF_PYTHON = frozenset(("dataclass", "final", "runtime_checkable", "total_ordering", "compile", "script"))
"""Decorators that put a class into no table."""


@dataclass(frozen=True, slots=True)
class Registered:
    """What is known of the tables of a project that hold a class."""

    names: frozenset[str]
    """The keys."""
    files: tuple[Path, ...]
    """Where they are filled."""


def registered(constructor: Constructor, files: ProjectFiles) -> Registered:
    """The names of a class in tables, its own aside."""
    target = constructor.target
    name = last_name(target.name)
    assert target.file is not None
    wanted = (target.file, target.name)
    found: set[str] = set()
    filled: list[Path] = []
    for path in islice(_registering(constructor, files, name), MAX_FILES):
        script = target if path == target.file else script_of(path, target)
        keys = registered_names(script, wanted) - {name} if script is not None else frozenset[str]()
        if keys:
            found |= keys
            filled.append(path)
    return Registered(frozenset(found), tuple(filled))


def _registering(constructor: Constructor, files: ProjectFiles, name: str) -> Iterator[Path]:
    file = constructor.target.file
    assert file is not None
    text = constructor.file.module.text
    if kept(text, ("puts_into_table", name), lambda: puts_into_table(constructor.file.tree, name)):
        yield file
    for each in files.naming([name], own=False, in_strings=False):
        if each.asked(("puts_into_table", name), lambda tree: puts_into_table(tree, name)):
            yield each.path


def puts_into_table(tree: ast.Module, name: str) -> bool:
    """Whether a file may put the class of that name into a table, as far as its text says: a decorator of the class, a
    dict or an item that is it, a call that is given it and nothing else but texts."""
    return any(_may_put(node, name) for node in ast.walk(tree))


def _may_put(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.ClassDef):
        return node.name == name and any(_decorates(each) for each in node.decorator_list)
    if isinstance(node, ast.Dict):
        return any(_is_class(value, name) for value in node.values)
    if isinstance(node, ast.Assign):
        return _is_class(node.value, name) and any(isinstance(target, ast.Subscript) for target in node.targets)
    if isinstance(node, ast.Call):
        given = [*node.args, *(each.value for each in node.keywords)]
        others = [each for each in given if not _is_class(each, name)]
        return len(others) < len(given) and all(isinstance(each, ast.Constant) for each in others)
    return False


def _decorates(node: ast.expr) -> bool:
    called = node.func if isinstance(node, ast.Call) else node
    return last_name(dotted(called) or "") not in _OF_PYTHON


def _is_class(node: ast.expr, name: str) -> bool:
    return last_name(dotted(node) or "") == name
