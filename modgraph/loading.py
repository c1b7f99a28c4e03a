"""A file that holds a model as it was saved -> Graph: a graph of ours, ONNX, weights, an exported program."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from modgraph.doors.reading import irregular
from modgraph.errors import TargetError
from modgraph.graph.model import Graph
from modgraph.source.kinds import GRAPH, ONNX, Kind, kind_of


def load_file(path: str | os.PathLike[str], kind: Kind | None = None) -> Graph:
    """The graph in a file, by what is in it.

    Raises:
        GraphError: it cannot be read, or is damaged.
        TargetError: it is of a kind that is not read, or is source.
    """
    shown = os.fspath(path)
    file = Path(path)
    kind = kind or _kind(file, shown)
    if kind is ONNX:
        from modgraph.graph.onnx_reading import load_onnx

        return load_onnx(file)
    if kind is GRAPH:
        from modgraph.graph.serial import load

        return load(file)
    if kind.reads == "source":
        article = "an" if kind.called[0] in "aeiou" else "a"
        raise TargetError(
            f"{shown} is {article} {kind.called}, which holds no graph yet",
            file=shown,
            hint=f"make one of it: modgraph analyze {shlex.quote(shown)}",
        )
    from modgraph.stored.reading import load_stored

    return load_stored(file, kind, shown)


def _kind(file: Path, shown: str) -> Kind:
    """What the file is; where it cannot be read, the reader that its name asks for says so."""
    by_name = ONNX if shown.lower().endswith(ONNX.endings) else GRAPH
    if shown == "-" or not os.path.isfile(file) or irregular(file) is not None:
        return by_name
    try:
        found = kind_of(file, shown)
    except TargetError:
        if shown.lower().endswith(GRAPH.endings):
            return GRAPH
        raise
    except (OSError, ValueError):
        return by_name
    return found
