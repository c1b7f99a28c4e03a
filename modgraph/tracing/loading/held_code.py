"""Whether code of the project can be reached from an object of Python or of a package that is called or written to."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import Any

from modgraph.tracing.basics.origins import is_own
from modgraph.tracing.loading.project_texts import is_of_project, is_project_file

_PLAIN = (type(None), bool, int, float, complex, str, bytes, range)
_MOST = 400
"""Objects that are looked at from one."""
_FORWARDS = ("__wrapped__", "buffer", "raw", "stream")
"""Where objects without a `__dict__` hold what they hand on to."""


def holds_project_code(value: Any) -> bool:
    """It is of the project, or something that it calls, wraps or holds is; also where that is too much to be told."""
    pending, seen = [value], dict[int, Any]()
    while pending:
        each = pending.pop()
        if type(each) in _PLAIN or id(each) in seen:
            continue
        seen[id(each)] = each
        if len(seen) > _MOST or _is_itself(each):
            return True
        pending += _held_by(each)
    return False


def _is_itself(value: Any) -> bool:
    if isinstance(value, types.FunctionType):
        return is_project_file(value.__code__.co_filename)
    if isinstance(value, types.ModuleType):
        return is_of_project(type(value))
    return is_of_project(value if isinstance(value, type) else type(value))


def _held_by(value: Any) -> Iterator[Any]:
    match value:
        case types.ModuleType() | type():
            return
        case types.FunctionType():
            if not is_own(value.__code__.co_filename):
                yield from map(_content, value.__closure__ or ())
                yield from (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values())
                yield from vars(value).values()
        case types.MethodType():
            yield from (value.__func__, value.__self__)
        case types.BuiltinMethodType():
            yield value.__self__
        case classmethod() | staticmethod():
            yield value.__func__
        case property():
            yield from (value.fget, value.fset, value.fdel)
        case functools.partial() | functools.partialmethod():
            yield from (value.func, *value.args, *value.keywords.values())
        case dict():
            yield from (*value, *value.values())
        case list() | tuple() | set() | frozenset():
            yield from value
        case _:
            yield from _of_object(value)


def _of_object(value: Any) -> Iterator[Any]:
    if _is_own_kind(type(value)):
        return
    held = getattr(value, "__dict__", {})
    yield from held.values()
    for name in _FORWARDS:
        if hasattr(type(value), name) or name in held:
            yield getattr(value, name, None)


def _is_own_kind(kind: type) -> bool:
    return str(kind.__module__).partition(".")[0] == "modgraph"


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty as yet
        return None
