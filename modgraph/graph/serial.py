"""A graph as JSON of schema `modgraph/1`, the same bytes every time; `parsing.py` reads it back.

`modgraph-1.schema.json` beside this file describes the form. The fixed fields are always there; a further one (`gaps`,
`direct`, `alias_of` of a parameter, `statistics`, ...) only where it says something. Statistics that are no finite
number are the texts "NaN", "Infinity" and "-Infinity", because JSON has no number for them.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from modgraph.doors.data import MAX_GRAPH_MEMORY, TooLargeError, require_json_in_memory
from modgraph.doors.printing import json_text
from modgraph.doors.reading import GRAPH_BYTES, INSTEAD_OF_A_PIPE, irregular, read
from modgraph.errors import GraphError
from modgraph.graph.json_fields import CODEC
from modgraph.graph.lfs import refuse_pointer
from modgraph.graph.model import Graph
from modgraph.graph.parsing import SCHEMA, parse_graph

Record = dict[str, Any]

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)

LINE_WIDTH = 120
"""A record or list stands on one line where it fits into so many characters, else one entry to a line."""


def to_json(graph: Graph) -> str:
    """The graph as JSON text; equal graphs give equal text."""
    text = _dump({"schema": SCHEMA, **CODEC.encode(graph)}, indent=0, prefix=0) + "\n"
    return json_text(text)


def from_json(text: str) -> Graph:
    """The graph that `text` holds.

    Raises:
        GraphError: the text is no JSON, no graph of a schema known here, or a graph that contradicts itself.
    """
    return parse_graph(text)


def load(path: str | Path) -> Graph:
    """The graph saved in a JSON file.

    Raises:
        GraphError: the file cannot be read, or holds no graph of a schema known here.
    """
    try:
        data = read(path, GRAPH_BYTES)
        require_json_in_memory(data, MAX_GRAPH_MEMORY)
        text = data.decode("utf-8-sig")
        del data
    except OSError as error:
        raise unreadable(error, path) from error
    except TooLargeError as error:
        raise GraphError(f"this graph is not read: {error}", file=str(path)) from error
    except UnicodeDecodeError as error:
        raise GraphError("this is no graph: the file is not UTF-8 text", file=str(path)) from error
    try:
        return from_json(text)
    except GraphError as error:
        refuse_pointer(path)
        error.file = str(path)
        raise


def unreadable(error: OSError, path: str | Path) -> GraphError:
    """What is said of a graph that is not read."""
    if str(path) == "-":
        return GraphError("cannot read the graph: standard input is not read", hint=INSTEAD_OF_A_PIPE)
    if isinstance(error, FileNotFoundError):
        return GraphError("cannot read the graph: there is no such file", file=str(path))
    hint = None if irregular(path) is None else INSTEAD_OF_A_PIPE
    return GraphError(f"cannot read the graph: {error.strerror or error}", file=str(path), hint=hint)


def schema() -> Record:
    """The published JSON Schema (draft 2020-12) of what `to_json` writes."""
    text = resources.files("modgraph.graph").joinpath("modgraph-1.schema.json").read_text(encoding="utf-8")
    loaded: Record = json.loads(text)
    return loaded


def _dump(value: Any, *, indent: int, prefix: int) -> str:
    """JSON text of `value`, which begins `prefix` characters after its line's `indent`."""
    is_plain = not isinstance(value, dict | list) or not value
    if is_plain or (indent and _least(value) < LINE_WIDTH):
        compact = _plain(value) if is_plain else _ENCODER.encode(value)
        if is_plain or indent + prefix + len(compact) < LINE_WIDTH:
            return compact
    inner = indent + 2
    if isinstance(value, dict):
        keys = [_key(key) for key in value]
        entries = [
            key + _dump(entry, indent=inner, prefix=len(key)) for key, entry in zip(keys, value.values(), strict=True)
        ]
        opening, closing = "{}"
    else:
        entries = [_dump(entry, indent=inner, prefix=0) for entry in value]
        opening, closing = "[]"
    separator = ",\n" + " " * inner
    return f"{opening}\n{' ' * inner}{separator.join(entries)}\n{' ' * indent}{closing}"


def _least(value: Any) -> int:
    """Characters that a list or an object takes at least: of an object, each name with its signs, and one behind it."""
    return sum(map(len, value)) + 7 * len(value) if isinstance(value, dict) else len(value)


def _plain(value: Any) -> str:
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    return repr(value) if type(value) is int else _ENCODER.encode(value)


@lru_cache(maxsize=4096)
def _key(key: str) -> str:
    return _ENCODER.encode(key) + ": "
