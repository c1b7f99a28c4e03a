"""The parameters of a function: those that `inspect.signature` gives, without the time that it takes."""

from __future__ import annotations

import inspect
import types
from typing import Any

Parameter = tuple[str, Any, Any]
"""Name, kind as in `inspect.Parameter`, and default; `inspect.Parameter.empty` for none."""

_POSITIONAL_ONLY = inspect.Parameter.POSITIONAL_ONLY
_POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_EMPTY = inspect.Parameter.empty


def parameters_of(function: Any) -> list[Parameter]:
    """The parameters in their order; none where they cannot be told."""
    if type(function) is types.FunctionType and not vars(function):  # nothing there that says something else of it
        return _of_code(function)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return []
    return [(each.name, each.kind, each.default) for each in parameters]


def _of_code(function: types.FunctionType) -> list[Parameter]:
    code = function.__code__
    names, n_positional = code.co_varnames, code.co_argcount
    n_named = n_positional + code.co_kwonlyargcount
    defaults = function.__defaults__ or ()
    first = n_positional - len(defaults)
    by_keyword = function.__kwdefaults__ or {}
    found: list[Parameter] = [
        (
            name,
            _POSITIONAL_ONLY if place < code.co_posonlyargcount else _POSITIONAL,
            defaults[place - first] if place >= first else _EMPTY,
        )
        for place, name in enumerate(names[:n_positional])
    ]
    following = n_named
    if code.co_flags & inspect.CO_VARARGS:
        found.append((names[following], inspect.Parameter.VAR_POSITIONAL, _EMPTY))
        following += 1
    found += [(name, _KEYWORD, by_keyword.get(name, _EMPTY)) for name in names[n_positional:n_named]]
    if code.co_flags & inspect.CO_VARKEYWORDS:
        found.append((names[following], inspect.Parameter.VAR_KEYWORD, _EMPTY))
    return found
