"""Names as Python itself spells them: a private name with its class before it, `__x` in `class Net` is `_Net__x`, and
every name in its normal form (NFKC). Trees are spelled so where they are read, in place."""

from __future__ import annotations

import ast
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Sequence

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


def spell_private(tree: ast.Module, text: str) -> None:
    """Spells out the private names of the tree of a text as `mangle_syntax` does: only what stands in lines that have
    such a name is walked over."""
    if "__" not in text:
        return
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines, line, at = [], 1, 0
    for found in _PRIVATE.finditer(text):
        line += text.count("\n", at, found.start())
        at = found.start()
        lines.append(line)
    if lines:
        _walk(tree, None, lines)


def _has_line(node: ast.AST, lines: Sequence[int]) -> bool:
    """Whether one of these lines is among those of the node; of what has no place, its parts are asked."""
    first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
    if first is None or last is None:
        return True
    decorators = getattr(node, "decorator_list", None)
    at = bisect_left(lines, min(first, decorators[0].lineno) if decorators else first)
    return at < len(lines) and lines[at] <= last


def mangle_syntax(tree: ast.AST, class_name: str | None = None) -> None:
    """Spells out the private names of a tree; definitions keep theirs, and `bound_as` says what they bind."""
    _walk(tree, class_name)


def _walk(tree: ast.AST, class_name: str | None, lines: Sequence[int] | None = None) -> None:
    pending: list[tuple[ast.AST, str | None]] = [(tree, class_name)]
    while pending:
        node, owner = pending.pop()
        if lines is not None and not _has_line(node, lines):
            continue
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
