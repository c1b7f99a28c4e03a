"""What is told of a model, by its process or by a manifest: taken where each field is of the type that is shown.

The user's code runs in that process, and a manifest may have come with a repository.
"""

from __future__ import annotations

from typing import Any

_MAYBE_INT = (int, type(None))
_MAYBE_STR = (str, type(None))
_TYPES: dict[str, tuple[type[Any], ...]] = {
    "traced": (bool,),
    "forward": _MAYBE_STR,
    "assumed": _MAYBE_STR,
    "class": _MAYBE_STR,
    "parameters": _MAYBE_INT,
    "modules": (int,),
    "calls": _MAYBE_INT,
    "thumbnail": _MAYBE_STR,
    "fails": (bool,),
}
_FINDING: dict[str, tuple[type[Any], ...]] = {
    "code": (str,),
    "message": (str,),
    "file": _MAYBE_STR,
    "line": _MAYBE_INT,
}
_MODULE = {"module": (str,)}
"""Of a finding, where the manifest is of a version that says it."""


def are_facts(value: object) -> bool:
    """Whether these are facts of a model as `child.py` writes them; of a model that failed there may be none."""
    return type(value) is dict and all(_is_fact(name, each) for name, each in value.items())


def is_list_of_text(value: object) -> bool:
    """Whether it is a list, and each item a string."""
    return type(value) is list and all(type(each) is str for each in value)


def _is_fact(name: object, value: object) -> bool:
    if name == "findings":
        return type(value) is list and all(map(_is_finding, value))
    if name == "problems":
        return is_list_of_text(value)
    return isinstance(name, str) and type(value) in _TYPES.get(name, ())


def _is_finding(value: object) -> bool:
    return (
        type(value) is dict
        and value.keys() >= _FINDING.keys()
        and all(type(each) in (_FINDING | _MODULE).get(name, ()) for name, each in value.items())
    )
