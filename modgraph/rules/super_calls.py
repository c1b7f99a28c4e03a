"""Calls of `super` that do not come to the constructor of `nn.Module`: past it, of another class, or not bound."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from modgraph.rules.facts import Method
from modgraph.rules.initialising import is_super_init
from modgraph.rules.subject import Subject
from modgraph.source.dotted_names import dotted
from modgraph.source.torch_names import torch_class


def past_the_constructor(subject: Subject, method: Method, call: ast.Call) -> str | None:
    """Why `super(...).__init__()` does not run it, in words; None where it does, or where that is not certain."""
    misspelt = _misspelt(subject, call)
    if misspelt is not None:
        return (
            f"super().{misspelt}() is no constructor: nn.Module has no such method, and that raises an AttributeError"
        )
    if not is_super_init(call):
        return None
    made = call.func.value  # type: ignore[attr-defined]
    if made.keywords or not made.args or "super" in method.values:
        return None
    name = dotted(made.args[0])
    if name is None or name.partition(".")[0] in {*method.values, *method.parameters}:
        return None
    if len(made.args) == 1:
        return f"super({name}) is bound to no object, so that no constructor of a base is called"
    if subject.reads.torch_class(made.args[0]) == "Module":
        return f"super({name}, ...) goes past the constructor of nn.Module"
    if "." not in name and _is_bound_nowhere(subject, name):
        return f"super({name}, ...) raises a NameError, as there is no {name}"
    if _is_no_base(subject, name):
        return f"super({name}, ...) raises a TypeError, as {subject.facts.node.name} does not derive from {name}"
    return None


def _misspelt(subject: Subject, call: ast.Call) -> str | None:
    """ "_init_", for `super()._init_()` in a class whose one base is `nn.Module`, which has nothing of that name."""
    function = call.func
    made = function.value if isinstance(function, ast.Attribute) else None
    if not (isinstance(made, ast.Call) and isinstance(made.func, ast.Name) and made.func.id == "super"):
        return None
    name, bases = function.attr, subject.facts.node.bases  # type: ignore[attr-defined]
    if len(bases) != 1 or subject.reads.torch_class(bases[0]) != "Module" or name.strip("_") not in _MEANT:
        return None
    return None if name == "__init__" else name


_MEANT = frozenset(["init", "int", "inti", "ini", "initialize"])
"""What is written in place of `__init__`, its underscores apart: none is a method of `nn.Module`, nor of `object`."""


def _is_bound_nowhere(subject: Subject, name: str) -> bool:
    """No statement of the file binds the name, in whichever scope, and no import could."""
    notes = subject.file.notes
    if "bound names" not in notes:
        notes["bound names"] = set(_all_bound(subject.file.tree))
    summary = subject.file.summary
    bound: set[str] = notes["bound names"]
    if summary.stars or not bound.isdisjoint(("globals", "exec", "vars")):  # these may bind anything
        return False
    return name not in bound and not hasattr(builtins, name)


def _all_bound(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and (
            not isinstance(node.ctx, ast.Load) or node.id in ("globals", "exec", "vars")
        ):
            yield node.id
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (each.asname or each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.Global):
            yield from node.names


def is_alone(statement: ast.stmt) -> bool:
    """`super()`, of which nothing is called."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "super"


def _is_no_base(subject: Subject, name: str) -> bool:
    """The name is that of another class of the file, and the class certainly does not derive from it."""
    file, own = subject.file, subject.facts.qualname
    if "." in own or name == own or name not in file.summary.classes or name in file.summary.aliases:
        return False
    known = dict(_line(subject, own))
    return name not in known and all(known.values())


def _line(subject: Subject, own: str) -> Iterator[tuple[str, bool]]:
    """A class and what it derives from, each with whether all of its bases are known: of the file, or torch's."""
    project, summary = subject.file.project, subject.file.summary
    classes = summary.classes
    pending, seen = [own], {own}
    while pending:
        each = pending.pop()
        bases = [base for base in classes[each] if base in classes]
        others = [base for base in classes[each] if base not in classes]
        yield each, all(base and torch_class(project.absolute(summary, base) or "") for base in others)
        pending += [base for base in bases if base not in seen]
        seen.update(bases)
