"""The parameters of torch's layers, in their order, from the source of torch that comes with modgraph."""

from __future__ import annotations

import ast
import os
import re
from functools import cache
from typing import cast

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
        LookupError: there is no source of it, or it is a container.
    """
    return {name: default is None for name, default in _parameters(kind).items()}


@cache
def layer_defaults(kind: str) -> dict[str, object]:
    """By name, the numbers, texts and truth values that parameters have where nobody gives them.

    Raises:
        LookupError: there is no source of it, or it is a container.
    """
    found = {name: _plain(default) for name, default in _parameters(kind).items()}
    return {name: value for name, value in found.items() if value is not None}


def _plain(node: ast.expr | None) -> object:
    """None of what is no number, text or truth value."""
    if isinstance(node, ast.Constant | ast.UnaryOp):
        return cast(object, ast.literal_eval(node))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):  # 1.0 / 8
        above, below = _plain(node.left), _plain(node.right)
        return above / below if isinstance(above, int | float) and isinstance(below, int | float) else None
    return None


@cache
def _parameters(kind: str) -> dict[str, ast.expr | None]:
    home = re.search(rf"\nfrom torch\.nn\.modules\.(\w+) import {kind} as", _text("__init__"))
    if home is None:
        raise LookupError(kind)
    return _of_class(kind, _text(home[1]))


@cache
def _text(module: str) -> str:
    return read(os.path.join(_MODULES, f"{module}.py")).decode("utf-8")


def _of_class(kind: str, text: str) -> dict[str, ast.expr | None]:
    """Only the head of one function is parsed: a file of layers is long."""
    if kind == "Module":
        return {}
    start = text.find(f"\nclass {kind}(")
    if start < 0:
        home = re.search(rf"\nfrom torch\.nn\.modules\.(\w+) import .*\b{kind}\b", text)
        if home is None:
            raise LookupError(kind)
        return _of_class(kind, _text(home[1]))
    body = text[start + 1 : text.find("\nclass ", start + 1)]
    base = re.split(r"[(,)]", body, maxsplit=2)[1]
    first = body.find("    def __init__(")
    if first < 0:
        return _of_class(base, text)
    end = body.find("):\n", first)
    if end < 0:  # a container, whose parameters are annotated
        raise LookupError(kind)
    head = body[first:end].strip()
    function = python_tree(f"{head}): ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    arguments = function.args
    if arguments.vararg is not None:  # it hands on what it is given, behind a word of its own
        return dict(list(_of_class(base, text).items())[1:])
    names = [each.arg for each in arguments.args[1:]]
    needed = [None] * (len(names) - len(arguments.defaults))
    words = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return dict(zip(names, [*needed, *arguments.defaults], strict=True)) | {
        each.arg: each_is for each, each_is in words
    }
