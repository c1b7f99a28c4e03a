"""Files of a graph as the user would type them from where he stands.

A graph names files from the directory from which the model's module is imported, so that it reads the same on every
machine. On a terminal that is a name that leads nowhere: `graphcnn.py:196` of `models/graphcnn.py`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar

from modgraph.errors import ConfigError, ModgraphError
from modgraph.graph.model import Graph
from modgraph.source.targets import Target

_T = TypeVar("_T")
_OF_OURS = re.compile(r"(?<=\bas )[\w./-]+\.py:\d+(?= raised )|(?<=\bimporting )[\w./-]+\.py(?=[ :])")
"""Files in messages of our own."""
_NAMING = ("file", "started_by", "with_files")
"""Fields that name a file, with a line or without."""


def seen_from_here(graph: Graph, target: Target) -> Graph:
    """The graph with the files that it tells of named from the working directory, or by absolute paths where the target
    was; those that are not there, as of installed packages, keep their names."""
    root = target.root
    if target.file is None or root is None:
        return graph
    is_absolute, home = os.path.isabs(target.written or ""), os.path.dirname(target.file)

    def shown(name: str) -> str:
        file, colon, line = name.rpartition(":")
        if not line.isdecimal():
            file, colon, line = name, "", ""
        if os.path.isabs(file):
            return name
        for folder in (root, home):  # a run names a file by the folder on the search path that has it
            path = os.path.normpath(os.path.join(folder, file))
            if os.path.isfile(path):
                return f"{path if is_absolute else os.path.relpath(path)}{colon}{line}"
        return name

    model = _renamed(graph.model, shown)
    if model.target is not None:
        file, colon, name = model.target.partition(":")
        model = replace(model, target=f"{shown(file)}{colon}{name}")
    return replace(
        graph,
        model=model,
        problems=tuple(
            replace(each, message=_OF_OURS.sub(lambda found: shown(found[0]), each.message))
            for each in _renamed(graph.problems, shown)
        ),
        findings=_renamed(graph.findings, shown),
    )


def error_seen_from_here(error: ModgraphError, target: str | None) -> ModgraphError:
    """An error about a model, with its file named from the working directory: one that lies in a folder around the file
    of the target is that one.

    Args:
        target: as the user wrote it.
    """
    file, written = error.file, (target or "").partition(".py:")[0]
    written = written if written.endswith(".py") or written == target else f"{written}.py"
    if isinstance(error, ConfigError) or file is None or os.path.isabs(file) or not os.path.isfile(written):
        return error
    folder = os.path.dirname(written)
    while folder:
        there = os.path.join(folder, file)
        if os.path.isfile(there):
            error.file = there
            if error.message.startswith(f"{file} "):
                error.message = f"{there}{error.message.removeprefix(file)}"
            break
        folder = os.path.dirname(folder) if os.path.dirname(folder) != folder else ""
    return error


def _shown(held: object, shown: Callable[[str], str]) -> object:
    if isinstance(held, tuple):
        return tuple(shown(each) for each in held)
    return shown(held) if isinstance(held, str) else held


def _renamed(value: _T, shown: Callable[[str], str]) -> _T:
    """The value with every file in it renamed."""
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return type(value)(_renamed(each, shown) for each in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changes = {}
    for each in fields(value):
        held = getattr(value, each.name)
        new = _shown(held, shown) if each.name in _NAMING else _renamed(held, shown)
        if new != held:
            changes[each.name] = new
    return replace(value, **changes) if changes else value
