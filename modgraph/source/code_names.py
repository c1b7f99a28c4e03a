"""The local names of a function as Python keeps them in its code: the text is compiled, and never run."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from types import CodeType

from modgraph.source.mangling import has_private
from modgraph.source.quiet import python_code


def local_names(text: str, function: str, parameters: Sequence[str]) -> tuple[str, ...] | None:
    """`co_varnames` of the function of that name, "<lambda>" for a lambda, with these parameters in this order, which
    stands somewhere in the text; None where Python does not compile it, or several there have different ones.

    What these are depends on the version of Python: a comprehension is no function of its own from 3.12 on.

    >>> local_names("def f(a, *b): c = 1; return a + c", "f", ["a", "b"])
    ('a', 'b', 'c')
    """
    is_indented = text[:1] in (" ", "\t")
    if is_indented and has_private(text):
        return None  # their spelling depends on the class around it
    try:
        code = python_code("class _:\n" + text if is_indented else text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    given = tuple(parameters)
    found = {
        each.co_varnames
        for each in _codes(code)
        if each.co_name == function and each.co_varnames[: len(given)] == given and _n_parameters(each) == len(given)
    }
    return found.pop() if len(found) == 1 else None


def _codes(code: CodeType) -> Iterator[CodeType]:
    pending = [code]
    while pending:
        each = pending.pop()
        yield each
        pending += [inner for inner in each.co_consts if isinstance(inner, CodeType)]


def _n_parameters(code: CodeType) -> int:
    starred = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_argcount + code.co_kwonlyargcount + starred
