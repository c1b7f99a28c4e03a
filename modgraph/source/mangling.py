"""Names as Python itself spells them: a private name with its class before it, `__x` in `class Net` is `_Net__x`, and
every name in its normal form (NFKC). Trees are spelled so where they are read, in place."""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Iterable

_PRIVATE = re.compile(r"\b__(?=_*[^\W_])\w+\b(?<!__)")
_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_BOUND = "_bound_as"


def mangled(name: str, class_name: str | None) -> str:
    """The name as it is spelled inside a class of that name; `name` itself outside of classes.

    >>> mangled("__x", "_Net"), mangled("__x__", "Net"), mangled("__x", "__")
    ('_Net__x', '__x__', '__x')
    """
    owner = (class_name or "").lstrip("_")
    if not owner or not name.startswith("__") or name.endswith("__") or "." in name:
        return name
    return f"_{owner}{name}"


def spelled(name: str, class_name: str | None) -> str:
    """The same, after what Python does to every name: letters that only look different become one."""
    return mangled(name if name.isascii() else unicodedata.normalize("NFKC", name), class_name)


def as_written(text: str, class_names: Iterable[str]) -> str:
    """A text for people, with the attributes that are private to these classes as they stand in them.

    >>> as_written("`self._Net__x` is never used", ["Net"])
    '`self.__x` is never used'
    """
    for owner in {name.lstrip("_") for name in class_names} - {""}:
        text = re.sub(rf"(?<=\.)_{re.escape(owner)}(?=__\w*[^\W_])", "", text)
    return text


def has_private(text: str) -> bool:
    """Whether a name that is private to a class may stand in the text."""
    return "__" in text and _PRIVATE.search(text) is not None


def mangle_syntax(tree: ast.AST, class_name: str | None = None) -> None:
    """Spells out the private names of a tree; definitions keep theirs, and `bound_as` says what they bind."""
    pending: list[tuple[ast.AST, str | None]] = [(tree, class_name)]
    while pending:
        node, owner = pending.pop()
        _spell(node, owner)
        if isinstance(node, ast.ClassDef):
            pending.extend((each, node.name) for each in node.body)
            outside = (*node.bases, *node.keywords, *node.decorator_list)
            pending.extend((each, owner) for each in outside)
        else:
            pending.extend((each, owner) for each in ast.iter_child_nodes(node))


def bound_as(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """The name that a definition binds."""
    return str(getattr(node, _BOUND, node.name))


def _spell(node: ast.AST, owner: str | None) -> None:
    if isinstance(node, _DEFINITIONS):
        setattr(node, _BOUND, mangled(node.name, owner))
    elif isinstance(node, (ast.Global, ast.Nonlocal)):
        node.names = [mangled(name, owner) for name in node.names]
    elif isinstance(node, ast.Import):
        for alias in node.names:
            top, dot, _ = alias.name.partition(".")
            if dot and alias.asname is None:
                setattr(alias, _BOUND, mangled(top, owner))
    elif isinstance(node, ast.ImportFrom):
        node.module = None if node.module is None else mangled(node.module, owner)
    for field in _FIELDS.get(type(node), ()):
        name = getattr(node, field)
        if isinstance(name, str):
            setattr(node, field, mangled(name, owner))


_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Name: ("id",),
    ast.Attribute: ("attr",),
    ast.arg: ("arg",),
    ast.alias: ("name", "asname"),
    ast.ExceptHandler: ("name",),
    ast.MatchAs: ("name",),
    ast.MatchStar: ("name",),
    ast.MatchMapping: ("rest",),
}
"""Names of keyword arguments, and of attributes in patterns, are left as they are written: Python leaves them too."""


def imported_as(alias: ast.alias) -> str:
    """The name that one part of `import ...` binds."""
    return alias.asname or str(getattr(alias, _BOUND, alias.name.partition(".")[0]))
