"""The parameters of torch's layers, in their order, from the source of torch that comes with modgraph."""

from __future__ import annotations

import ast
import os
import re
from functools import cache

from modgraph.doors.reading import read
from modgraph.source.quiet import python_tree

_HERE = os.path.dirname(os.path.abspath(__file__))
BUNDLED_SOURCE = os.path.join(os.path.dirname(_HERE), "prediction", "knowledge", "torch_stubs")
"""Source of torch's modules that comes with modgraph: read where torch itself is not on the path, never imported."""
_MODULES = os.path.join(BUNDLED_SOURCE, "torch", "nn", "modules")


@cache
def layer_parameters(kind: str) -> dict[str, bool]:
    """By name, whether one has to be given: of a class of `torch.nn`.

    Raises:
        LookupError: there is no source of it, or it derives from what stands in another file.
    """
    home = re.search(rf"\nfrom torch\.nn\.modules\.(\w+) import {kind} as", _text("__init__"))
    if home is None:
        raise LookupError(kind)
    return _of_class(kind, _text(home[1]))


@cache
def _text(module: str) -> str:
    return read(os.path.join(_MODULES, f"{module}.py")).decode("utf-8")


def _of_class(kind: str, text: str) -> dict[str, bool]:
    """Only the head of one function is parsed: a file of layers is long."""
    if kind == "Module":
        return {}
    start = text.find(f"\nclass {kind}(")
    if start < 0:
        raise LookupError(kind)
    body = text[start + 1 : text.find("\nclass ", start + 1)]
    base = re.split(r"[(,)]", body, maxsplit=2)[1]
    first = body.find("    def __init__(")
    if first < 0:
        return _of_class(base, text)
    head = body[first : body.index("):\n", first)].strip()
    function = python_tree(f"{head}): ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    arguments = function.args
    if arguments.vararg is not None:  # it hands on what it is given, behind a word of its own
        return dict(list(_of_class(base, text).items())[1:])
    names = [each.arg for each in arguments.args[1:]]
    needed = len(names) - len(arguments.defaults)
    kept = {name: place < needed for place, name in enumerate(names)}
    words = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return kept | {each.arg: default is None for each, default in words}
