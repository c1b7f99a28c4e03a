"""Whether modules of a class have something to learn, or to remember: asked of the interpreter, once for each class."""

from __future__ import annotations

import ast

from modgraph.rules.reading import Reader
from modgraph.source import torch_names

TOLD_NOT_TO = {
    "LayerNorm": ("elementwise_affine",),
    "RMSNorm": ("elementwise_affine",),
    "GroupNorm": ("affine",),
    "BatchNorm1d": ("affine", "track_running_stats"),
    "BatchNorm2d": ("affine", "track_running_stats"),
    "BatchNorm3d": ("affine", "track_running_stats"),
}
"""Arguments without which there is no state."""


def learns(reader: Reader, call: ast.Call) -> bool:
    """The module that the call makes certainly has parameters of its own."""
    name = reader.torch_class(call.func)
    if name == "Sequential":
        return any(isinstance(each, ast.Call) and learns(reader, each) for each in call.args)
    if name is not None:
        return name in torch_names.LEARNING and not _is_told_not_to(name, call)
    homes = [home for home in _homes(reader, call.func) if home[0]]
    return len(homes) == 1 and reader.project.answered(
        (*homes[0], "learns"), lambda: _has_parameters(reader, *homes[0])
    )


def _is_told_not_to(name: str, call: ast.Call) -> bool:
    given = {word.arg: word.value for word in call.keywords}
    words = TOLD_NOT_TO.get(name, ())
    return bool(words) and any(
        None in given or (word in given and not (isinstance(given[word], ast.Constant) and given[word].value is True))  # type: ignore[attr-defined]
        for word in words
    )


def _homes(reader: Reader, node: ast.expr) -> list[tuple[str, str]]:
    from modgraph.source.dotted_names import dotted

    name = dotted(node)
    if name is None:
        return []
    nested = f"{reader.qualname}.{name}"
    return list(reader.project.homes(reader.file, nested if nested in reader.summary.classes else name))


def _has_parameters(reader: Reader, file: str, qualname: str) -> bool:
    from modgraph.rules.interpretation import interpret

    text = reader.project.text(file)
    state = interpret(reader.project, file, qualname, text) if text is not None else None
    return state is not None and not state.failed and state.learns
