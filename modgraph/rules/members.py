"""What the body of a class defines under which name: methods, properties, values."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from modgraph.names import last_name
from modgraph.rules.facts import ClassFacts
from modgraph.rules.names import Project
from modgraph.source.dotted_names import dotted
from modgraph.source.mangling import bound_as
from modgraph.source.summaries import Summary

_DIRECT = ("_modules", "_parameters", "_buffers", "__dict__", "__getattr__")


class Member(NamedTuple):
    """One name in the body of a class."""

    kind: str
    """ "method", "property" or "attribute"."""
    line: int
    reads_stores: bool
    """A property that gives what is registered."""
    is_none: bool = False
    """An attribute that is None."""


def names(node: ast.ClassDef) -> set[str]:
    """What a class defines in its body; an annotation alone defines nothing."""
    found: set[str] = set()
    for statement in node.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.add(bound_as(statement))
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
            found.update(_assigned(statement))
    return found


def _assigned(statement: ast.Assign | ast.AnnAssign) -> list[str]:
    if statement.value is None:
        return []
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def member(node: ast.ClassDef, name: str) -> Member | None:
    found: Member | None = None
    for statement in _statements(node).get(name, ()):
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found = _function(statement, found)
        else:
            is_none = isinstance(statement.value, ast.Constant) and statement.value.value is None
            found = Member("attribute", statement.lineno, False, is_none)
    return found


_Defining = ast.FunctionDef | ast.AsyncFunctionDef | ast.Assign | ast.AnnAssign


@lru_cache(maxsize=64)
def _statements(node: ast.ClassDef) -> dict[str, list[_Defining]]:
    """What defines each name of a class's body."""
    found: dict[str, list[_Defining]] = {}
    for statement in node.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.setdefault(bound_as(statement), []).append(statement)
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
            for name in dict.fromkeys(_assigned(statement)):
                found.setdefault(name, []).append(statement)
    return found


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, before: Member | None) -> Member:
    names = [dotted(each.func if isinstance(each, ast.Call) else each) or "" for each in node.decorator_list]
    reads = any(isinstance(each, ast.Attribute) and each.attr in _DIRECT for each in ast.walk(node))
    if any(name.endswith((".setter", ".deleter", ".getter")) for name in names):
        return Member("property", node.lineno, True)
    if any(last_name(name).endswith("property") for name in names):
        return Member("property", node.lineno, reads or (before is not None and before.reads_stores))
    overload = any(last_name(name) == "overload" for name in names)
    return Member("method", node.lineno, reads or overload or bool(set(names) - _KEEPING))


_KEEPING = frozenset(["staticmethod", "classmethod", "torch.no_grad", "abstractmethod", "abc.abstractmethod"])
"""Decorators after which a function is a method still; of others it is not known."""


def inherited(project: Project, file: str, facts: ClassFacts, name: str) -> Member | None:
    """The member of that name of a class or of a base in the same file or one import away; torch's own are left out."""
    own = member(facts.node, name)
    if own is not None:
        return own
    for home, node in ancestors(project, file, facts.node):
        found = member(node, name)
        if found is not None:
            return found if home == file else found._replace(line=0)
    return None


def ancestors(project: Project, file: str, node: ast.ClassDef) -> Iterator[tuple[str, ast.ClassDef]]:
    """Its bases and theirs as (file, class), as far as files are found; torch's own are left out."""
    pending = [(file, node)]
    seen = {(file, node.name)}
    while pending and len(seen) < 20:
        at, cls = pending.pop(0)
        for base in cls.bases:
            name = dotted(base.value if isinstance(base, ast.Subscript) else base)
            for home, qualname in project.homes(at, name) if name else ():
                if home and "torch/nn" not in home.replace("\\", "/") and (home, qualname) not in seen:
                    seen.add((home, qualname))
                    found = project.class_node(home, qualname)
                    if found is not None:
                        yield home, found
                        pending.append((home, found))


def may_be_inherited(project: Project, file: str, summary: Summary, node: ast.ClassDef) -> frozenset[str]:
    """Names that a base may define, by the look of the files that the bases are imported from; what is behind these is
    left out. Cheap: no file is parsed for it."""
    found: set[str] = set()
    for base in node.bases:
        name = dotted(base.value if isinstance(base, ast.Subscript) else base)
        first = (name or "").partition(".")[0]
        if not name:
            continue
        if first in summary.imports:
            module, attribute, level = summary.imports[first]
            if module.partition(".")[0] == "torch" and not level:
                continue
            home = project.find_file(file, module, level)
            if home is None and attribute:
                home = project.find_file(file, f"{module}.{attribute}", level)
            if home is not None:
                found.update(project.members_named(home))
        else:
            found.update(project.members_named(file))
    return frozenset(found)
